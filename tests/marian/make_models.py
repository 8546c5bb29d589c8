#!/usr/bin/env python3
"""Makes the fixtures of test_marian.c: tiny random models in Marian's own files, and Marian's translations with them.

    python3 tests/marian/make_models.py [NAME...]
    python3 tests/marian/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs numpy, PyYAML, sentencepiece and pymarian in the version below; the test itself needs none of them. Each fixture is a
folder fixtures/NAME with the model (model.npz or model.bin), vocabularies, and expected.json: ids of sources and of their
greedy targets (beam 1, no length normalisation, f32).

The models are random numbers under Marian's names, at least one fixture for each option that changes the computation; that
Marian loads and decodes them shows that they are valid. A line is kept only if a copy of the model whose weights differ by
NOISE gives the same tokens: rounding errors, which are a thousand times smaller, cannot change them.
"""
import importlib.metadata
import json
import os
import random
import re
import shutil
import struct
import sys
import tempfile
import zipfile

import numpy as np
import pymarian
import sentencepiece
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "engines"))
import engines  # noqa: E402  (found by the path above)

VERSION = "1.12.42"
HERE = os.path.dirname(os.path.abspath(__file__))
TOKENIZERS = os.path.join(HERE, "..", "tokenizer", "fixtures")
LINES, MAX_LENGTH, LONGEST = 40, 24, 20
NOISE = 1e-3
LIMIT = 200_000
ALIGNMENT = 256

SELF, AAN = dict(), {"transformer-decoder-autoreg": "average-attention"}
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}
FIXTURES = {
    # name: (file, options), see defaults() for what they change
    "plain-npz": ("npz", SELF),
    "plain-bin": ("bin", {"dim-emb": 20, "dec-depth": 1, "transformer-dim-ffn": 36}),
    "deflated-npz": ("deflated", SELF),
    "f16-bin": ("bin16", {"dim-emb": 32}),
    "f16-npz": ("npz16", SSRU),
    "pre-norm": ("npz", PRE),
    "both-norms": ("npz", {**PRE, "transformer-postprocess": "dan", "transformer-postprocess-top": ""}),
    "both-norms-top": ("bin", {**PRE, **SSRU, "transformer-postprocess": "an", "transformer-preprocess": "dn"}),
    "post-norm-top": ("bin", {"transformer-postprocess-top": "dn", "transformer-postprocess-emb": "nd"}),
    "pre-norm-bare": ("bin", {**PRE, "transformer-postprocess-top": "", "transformer-postprocess-emb": "n",
                              "tied-embeddings-all": False, "tied-embeddings-src": True}),
    "rms": ("npz", {"transformer-preprocess": "r", "transformer-postprocess": "da", "transformer-postprocess-top": "r",
                    "transformer-postprocess-emb": "r"}),
    "rms-post": ("npz", {"transformer-postprocess": "dar"}),
    "ssru": ("npz", SSRU),
    "ssru-bin": ("bin", {**SSRU, "dim-emb": 24, "tied-embeddings-all": False, "tied-embeddings": True}),
    "ssru-pre-norm": ("npz", {**SSRU, **PRE}),
    "ssru-projection": ("npz", {**SSRU, "transformer-rnn-projection": True}),
    "ssru-projection-pre-norm": ("bin", {**SSRU, **PRE, "transformer-rnn-projection": True}),
    "average": ("npz", AAN),
    "average-pre-norm": ("npz", {**AAN, **PRE}),
    "average-both-norms": ("npz", {**AAN, **PRE, "transformer-postprocess": "dan", "transformer-postprocess-top": ""}),
    "average-ungated": ("bin", {**AAN, "transformer-aan-nogate": True}),
    "average-depth-1": ("bin", {**AAN, "transformer-aan-depth": 1}),
    "average-depth-1-ungated": ("bin", {**AAN, **PRE, "transformer-aan-depth": 1, "transformer-aan-nogate": True}),
    "average-depth-3": ("npz", {**AAN, "transformer-aan-depth": 3, "transformer-aan-activation": "gelu"}),
    "average-depth-4-d": ("npz", {**AAN, "transformer-aan-depth": 4, "transformer-dim-aan": 12,
                                  "transformer-aan-activation": "relu"}),
    "average-d-pre-norm": ("bin", {**AAN, **PRE, "transformer-dim-aan": 12}),
    "tied-layers": ("npz", {"dec-depth": 4, "transformer-tied-layers": [1, 2, 1, 2]}),
    "tied-layers-ssru": ("bin", {**SSRU, "dec-depth": 3, "transformer-tied-layers": [1, 1, 1]}),
    "ffn-depth-1": ("npz", {"transformer-ffn-depth": 1}),
    "ffn-depth-1-pre-norm": ("npz", {**PRE, "transformer-ffn-depth": 1, "transformer-decoder-ffn-depth": 3}),
    "ffn-depth-3": ("npz", {"transformer-ffn-depth": 3, "transformer-decoder-ffn-depth": 4, "transformer-dim-ffn": 24,
                            "transformer-decoder-dim-ffn": 36}),
    "gelu": ("npz", {"transformer-ffn-activation": "gelu"}),
    "swish": ("bin", {"transformer-ffn-activation": "swish", "transformer-heads": 2}),
    "no-projection": ("npz", {"transformer-no-projection": True}),
    "no-projection-pre-norm": ("bin", {**PRE, "transformer-no-projection": True}),
    "positions-said-trained": ("npz", {"transformer-train-position-embeddings": True}),
    "positions-none": ("npz", {"transformer-disable-position-embeddings": True}),
    "tied-src": ("npz", {"tied-embeddings-all": False, "tied-embeddings-src": True}),
    "tied-target": ("npz", {"tied-embeddings-all": False, "tied-embeddings": True, "dim-vocabs": [44, 52]}),
    "untied": ("npz", {"tied-embeddings-all": False, "dim-vocabs": [44, 52]}),
    "untied-untransposed": ("bin", {"tied-embeddings-all": False, "untransposed": True}),
    "no-output-bias": ("npz", {"output-omit-bias": True}),
    "spm": ("npz", {"spm": ["bytes", "bytes"], "dim-vocabs": [555, 555]}),
    "spm-two": ("bin", {**SSRU, "spm": ["plain", "bytes"], "dim-vocabs": [299, 555], "tied-embeddings-all": False,
                        "tied-embeddings": True}),
    "guided": ("npz", {**SSRU, "transformer-guided-alignment-layer": 1, "transformer-depth-scaling": True}),
}


def defaults():
    """The options that Marian writes into a model, as config_parser.cpp has them, and the fixtures' shape."""
    return {
        "type": "transformer", "version": f"v{VERSION} make_models", "dim-vocabs": [48, 48], "dim-emb": 12,
        "enc-depth": 1, "dec-depth": 2, "transformer-heads": 4, "transformer-dim-ffn": 20, "transformer-decoder-dim-ffn": 0,
        "transformer-ffn-depth": 2, "transformer-decoder-ffn-depth": 0, "transformer-ffn-activation": "relu",
        "transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "", "transformer-decoder-autoreg": "self-attention", "dec-cell": "gru",
        "dec-cell-base-depth": 2, "dec-cell-high-depth": 1, "enc-cell": "gru", "enc-cell-depth": 1,
        "enc-type": "bidirectional",
        "dim-rnn": 1024, "layer-normalization": False, "tied-embeddings": False, "tied-embeddings-all": True,
        "tied-embeddings-src": False, "transformer-no-projection": False, "transformer-rnn-projection": False,
        "transformer-pool": False, "transformer-tied-layers": [], "transformer-train-position-embeddings": False,
        "transformer-depth-scaling": False, "transformer-guided-alignment-layer": "last", "transformer-dim-aan": 20,
        "transformer-aan-depth": 2, "transformer-aan-activation": "swish", "transformer-aan-nogate": False,
        "input-types": [],
        "lemma-dim-emb": 0, "lemma-dependency": "", "factors-combine": "sum", "factors-dim-emb": 0, "right-left": False,
        "skip": False, "ulr": False, "ulr-dim-emb": 0, "ulr-trainable-transformation": False, "output-omit-bias": False,
        "transformer-no-bias": False, "transformer-no-affine": False, "bert-train-type-embeddings": True,
        "bert-type-vocab-size": 2,
    }


# ----------------------------------------------------------------------------------------------------------- the weights


class Weights(dict):
    def __init__(self, options, seed):
        super().__init__()
        self.o, self.generator = options, np.random.default_rng(seed)
        self.d = options["dim-emb"]

    def normal(self, deviation, *size):
        return (self.generator.standard_normal(size) * deviation).astype(np.float32)

    def matrix(self, name, inputs, outputs, gain=0.7):
        self[name] = self.normal(gain / np.sqrt(inputs), inputs, outputs)

    def linear(self, prefix, suffix, inputs, outputs, gain=0.7):
        self.matrix(f"{prefix}_W{suffix}", inputs, outputs, gain)
        self[f"{prefix}_b{suffix}"] = self.normal(0.1, 1, outputs)

    def norms(self, ops, prefix, suffix=""):
        for op in ops:
            if op in "nr":
                self[f"{prefix}_{'ln' if op == 'n' else 'rms'}_scale{suffix}"] = 1 + self.normal(0.3, 1, self.d)
            if op == "n":
                self[f"{prefix}_ln_bias{suffix}"] = self.normal(0.1, 1, self.d)

    def around(self, prefix, after=None):
        """The norms of a sublayer: before and after."""
        self.norms(self.o["transformer-preprocess"], prefix, "_pre")
        self.norms(self.o["transformer-postprocess"], after or prefix)

    def attention(self, prefix):
        for letter in "qkvo"[:3 if self.o["transformer-no-projection"] else 4]:
            self.linear(prefix, letter, self.d, self.d, 2 if letter in "qk" else 0.9)
        self.around(prefix + "_Wo")

    def feed_forward(self, prefix, width, depth):
        for i in range(1, depth + 1):
            self.linear(prefix, i, self.d if i == 1 else width, self.d if i == depth else width)
        self.around(prefix + "_ffn")

    def average(self, prefix):
        width, depth = self.o["transformer-dim-aan"], self.o["transformer-aan-depth"]
        for i in range(1, depth):
            self.linear(prefix, i, self.d if i == 1 else width, width, 1.2)
        if depth > 1 and width != self.d:
            self.linear(prefix, depth, width, self.d, 1.2)
        if not self.o["transformer-aan-nogate"]:
            self.linear(prefix, "i", self.d, self.d)
            self.linear(prefix, "f", self.d, self.d)
        self.around(prefix + "_ffn")

    def unit(self, prefix):
        self.matrix(prefix + "_W", self.d, self.d, 1.2)
        self.linear(prefix, "f", self.d, self.d, 1.2)
        if self.o["transformer-rnn-projection"]:
            self.linear(prefix, "o", self.d, self.d)
        self.around(prefix, prefix + "_ffn")

    def layer(self, prefix, decoder):
        o = self.o
        kind = o["transformer-decoder-autoreg"] if decoder else "self-attention"
        if kind == "self-attention":
            self.attention(prefix + "_self")
        elif kind == "rnn":
            self.unit(prefix + "_rnn")
        else:
            self.average(prefix + "_aan")
        if decoder:
            self.attention(prefix + "_context")
        width, depth = o["transformer-dim-ffn"], o["transformer-ffn-depth"]
        if decoder:
            width, depth = o["transformer-decoder-dim-ffn"] or width, o["transformer-decoder-ffn-depth"] or depth
        self.feed_forward(prefix + "_ffn", width, depth)

    def outer(self):
        """Embeddings, output, and the norms of each side."""
        o, (source, target) = self.o, self.o["dim-vocabs"]
        deviation = 1 if o.get("transformer-disable-position-embeddings") else 1 / np.sqrt(self.d)
        shared = o["tied-embeddings-all"] or o["tied-embeddings-src"]
        for name, rows in ([("Wemb", target)] if shared else [("encoder_Wemb", source), ("decoder_Wemb", target)]):
            self[name] = self.normal(deviation, rows, self.d)
        if not (o["tied-embeddings-all"] or o["tied-embeddings"]):
            if o.get("untransposed"):
                self["decoder_ff_logit_out_W"] = self.normal(1 / np.sqrt(self.d), self.d, target)
            else:
                self["decoder_ff_logit_out_Wt"] = self.normal(1 / np.sqrt(self.d), target, self.d)
        if not o["output-omit-bias"]:
            self["decoder_ff_logit_out_b"] = self.normal(0.3, 1, target)
            self["decoder_ff_logit_out_b"][0, :2] += 0.8, 1  # lines end; Marian never emits <unk>
        for side in ("encoder", "decoder"):
            self.norms(o["transformer-postprocess-emb"], side + "_emb", "_pre")
            self.norms(o["transformer-postprocess-top"], side + "_top")

    def all(self):
        o = self.o
        self.outer()
        for i in range(1, o["enc-depth"] + 1):
            self.layer(f"encoder_l{i}", False)
        for i in sorted(set(o["transformer-tied-layers"]) or range(1, o["dec-depth"] + 1)):
            self.layer(f"decoder_l{i}", True)
        # else tied embeddings would only repeat the last token
        signs = self.generator.choice([np.float32(-1), np.float32(1)], (1, self.d))
        last = max(name for name in self if re.fullmatch(r"decoder_(top|l\d+_ffn_ffn)_(ln|rms)_scale", name)) \
            if any(re.fullmatch(r"decoder_(top|l\d+_ffn_ffn)_(ln|rms)_scale", name) for name in self) else None
        if last:
            self[last] *= signs
        return self


# ------------------------------------------------------------------------------------------------------------- the files


def settings(options):
    kept = {key: value for key, value in options.items() if key not in ("untransposed", "spm")}
    return (yaml.dump(kept, default_flow_style=False) + "\0").encode()


def write_bin(path, items):
    """items: (name, type code, shape, data)"""
    names = [name.encode() + b"\0" for name, *_ in items]
    head = struct.pack("<QQ", 1, len(items))
    head += b"".join(struct.pack("<4Q", len(n), kind, len(shape), len(data)) for n,
                     (_, kind, shape, data) in zip(names, items))
    head += b"".join(names) + b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    gap = -(len(head) + 8) % ALIGNMENT or ALIGNMENT
    with open(path, "wb") as file:
        file.write(head + struct.pack("<Q", gap) + bytes(gap) + b"".join(data for *_, data in items))


def save(directory, kind, weights, options, plain=False):
    """Writes the model, and returns its path. plain: f16 becomes f32, and nothing is deflated, as Marian reads neither."""
    text = settings(options)
    kind = "npz" if plain and kind == "deflated" else kind
    halves = kind.endswith("16")
    stored = {name: w.astype("<f2") if halves else w for name, w in weights.items()}
    if plain and halves:
        stored = {name: w.astype("<f4") for name, w in stored.items()}
        halves = False
    if kind.startswith("bin"):
        path = os.path.join(directory, "model.bin")
        items = []
        for name, w in sorted(stored.items()):
            data = w.tobytes()
            items.append((name, 0x0402 if halves else 0x0404, w.shape, data + bytes(-len(data) % ALIGNMENT)))
        write_bin(path, items + [("special:model.yml", 0x0101, (len(text),), text)])
        return path
    path = os.path.join(directory, "model.npz")
    write = np.savez_compressed if kind == "deflated" else np.savez
    write(path, **stored, **{"special:model.yml": np.frombuffer(text, np.int8)})
    with zipfile.ZipFile(path) as archive:  # so that the bytes are the same every time
        contents = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if kind == "deflated" else zipfile.ZIP_STORED) as archive:
        for name, data in contents:
            archive.writestr(zipfile.ZipInfo(name), data, archive.compression)
    return path


def tokens(prefix, size):
    return ["</s>", "<unk>"] + [f"{prefix}{i}" for i in range(size - 2)]


def load(path):
    """The weights that save() wrote, without the settings."""
    if path.endswith(".npz"):
        with np.load(path) as file:
            return {name: file[name] for name in file.files if name != "special:model.yml"}
    with open(path, "rb") as file:
        data = file.read()
    version, count = struct.unpack_from("<QQ", data)
    assert version == 1, path
    heads = [struct.unpack_from("<4Q", data, 16 + 32 * i) for i in range(count)]
    at, names, weights = 16 + 32 * count, [], {}
    for length, *_ in heads:
        names.append(data[at:at + length - 1].decode())
        at += length
    shapes = []
    for _, _, rank, _ in heads:
        shapes.append(struct.unpack_from(f"<{rank}i", data, at))
        at += 4 * rank
    at += 8 + struct.unpack_from("<Q", data, at)[0]
    for name, shape, (_, kind, _, size) in zip(names, shapes, heads):
        if name != "special:model.yml":
            weights[name] = np.frombuffer(data, "<f2" if kind == 0x0402 else "<f4", int(np.prod(shape)), at).reshape(shape)
        at += size
    return weights


def tokens(prefix, size):
    return ["</s>", "<unk>"] + [f"{prefix}{i}" for i in range(size - 2)]


def list_vocabularies(directory, options):
    """Paths and lists of both."""
    if "spm" in options:
        source, target = options["spm"]
        names = ["vocab.spm"] * 2 if source == target else ["vocab.src.spm", "vocab.trg.spm"]
        lists = []
        for name in options["spm"]:
            model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(TOKENIZERS, name + ".spm"))
            lists.append([model.id_to_piece(i) for i in range(model.get_piece_size())])
    else:
        source, target = options["dim-vocabs"]
        shared = options["tied-embeddings-all"] or options["tied-embeddings-src"]
        names = ["vocab.yml"] * 2 if shared else ["vocab.src.yml", "vocab.trg.yml"]
        lists = [tokens("▁", source)] * 2 if shared else [tokens("s", source), tokens("t", target)]
    return [os.path.join(directory, name) for name in names], lists


def write_vocabularies(directory, options):
    """Paths and lists of both."""
    paths, lists = list_vocabularies(directory, options)
    for path, words, name in zip(paths, lists, options.get("spm", ["", ""])):
        if name:
            shutil.copyfile(os.path.join(TOKENIZERS, name + ".spm"), path)
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(word, ensure_ascii=False)}: {i}\n" for i, word in enumerate(words))
    return paths, lists


# -------------------------------------------------------------------------------------------------------- what they decode


def decode(model, vocabularies, lines, longest, **more):
    translator = pymarian.Translator(models=model, vocabs=vocabularies, beam_size=1, normalize=0, cpu_threads=1,
                                     max_length=100,
                                     mini_batch=len(lines), maxi_batch=1, max_length_factor=MAX_LENGTH / longest + 0.1,
                                     quiet=True, quiet_translation=True, **more)
    result = translator.translate(lines)
    return result if isinstance(result, list) else result.split("\n")


def noisy(weights, seed):
    generator = np.random.default_rng(seed)
    return {name: (w * (1 + NOISE * generator.standard_normal(w.shape))).astype(np.float32) for name, w in weights.items()}


def record(directory, kind, options, weights, seed):
    """None if too few translations have a margin, or they are too similar."""
    paths, (source, target) = write_vocabularies(directory, options)
    ids = {token: i for i, token in enumerate(target)}
    chooser = random.Random(seed)
    chosen = [[chooser.randrange(2, len(source)) for _ in range(1 + i % LONGEST)] for i in range(3 * LINES)]
    lines = [" ".join(source[i] for i in line) for line in chosen]
    pieces = {}
    if "spm" in options:  # the vocabulary is given as text, so sources are text as well
        model = sentencepiece.SentencePieceProcessor(model_file=paths[0])
        words = [i for i in range(2, len(source)) if not model.is_byte(i)]
        lines = [model.decode([chooser.choice(words) for _ in range(1 + i % (LONGEST - 8))]) for i in range(3 * LINES)]
        chosen, pieces = [model.encode(line) for line in lines], {"no_spm_decode": True}
        assert max(map(len, chosen)) <= 100
    longest = max(map(len, chosen))
    save(directory, kind, weights, options)
    with tempfile.TemporaryDirectory() as folder:
        model = save(folder, kind, weights, options, plain=True)
        results, texts = decode(model, paths, lines, longest, **pieces), decode(model, paths, lines, longest)
        others = decode(save(folder, kind, noisy(weights, seed), options, plain=True), paths, lines, longest, **pieces)
    kept = []
    for line, text, result, translation, other in zip(chosen, lines, results, texts, others):
        words = result.split()[:MAX_LENGTH]
        if words == other.split()[:MAX_LENGTH] and len(set(words)) >= 3 and len(kept) < LINES:
            kept.append({"source": line, "target": [ids[word] for word in words]})
            if pieces and len(words) < MAX_LENGTH:
                kept[-1].update(text=text, translation=translation)
    alike = len({tuple(line["target"]) for line in kept})
    ends = sum(len(line["target"]) < MAX_LENGTH for line in kept)
    if len(kept) < LINES or alike < LINES * 2 // 3 or ends < (10 if pieces else 4):
        print(f"  {len(kept)} lines, {alike} different, {ends} end", file=sys.stderr)
        return None
    return {"made_with": {"pymarian": VERSION}, "seed": seed, "max_length": MAX_LENGTH, "lines": kept}


def make(name):
    directory = os.path.join(HERE, "fixtures", name)
    kind, changes = FIXTURES[name]
    options = {**defaults(), **changes}
    for seed in range(1, 100):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        expected = record(directory, kind, options, Weights(options, seed).all(), seed)
        if expected:
            break
    with open(os.path.join(directory, "expected.json"), "w", encoding="utf-8") as file:
        head = json.dumps({key: value for key, value in expected.items() if key != "lines"})
        rows = ",\n".join(json.dumps(line) for line in expected["lines"])
        file.write(f'{head[:-1]}, "lines": [\n{rows}\n]}}\n')
    size = sum(os.path.getsize(os.path.join(directory, file)) for file in os.listdir(directory))
    assert size <= LIMIT, size
    print(f"{name}: seed {expected['seed']}, {size:,} bytes")


def check(to, name):
    """Marian, and this project's program, on the committed model. Marian reads no halves and nothing deflated: for it they
    are copied out of the committed file."""
    directory = os.path.join(HERE, "fixtures", name)
    kind, changes = FIXTURES[name]
    options = {**defaults(), **changes}
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    lines = expected["lines"]
    sources, targets = [line["source"] for line in lines], [line["target"] for line in lines]
    paths, (source, target) = list_vocabularies(directory, options)
    ids = {token: i for i, token in enumerate(target)}
    longest = max(map(len, sources))
    texts, pieces = [" ".join(source[i] for i in line) for line in sources], {}
    if "spm" in options:
        model = sentencepiece.SentencePieceProcessor(model_file=paths[0])
        texts, pieces = [line.get("text") or model.decode(line["source"]) for line in lines], {"no_spm_decode": True}
        to.each(f"{name}: sentencepiece", sources, [model.encode(text) for text in texts])
    path = os.path.join(directory, "model.bin" if kind.startswith("bin") else "model.npz")
    with tempfile.TemporaryDirectory() as folder:
        if kind not in ("npz", "bin"):
            path = save(folder, kind, load(path), options, plain=True)
        found = decode(path, paths, texts, longest, **pieces)
        translations = decode(path, paths, texts, longest) if pieces else []
    to.each(f"{name}: marian", targets, [[ids[word] for word in result.split()[:MAX_LENGTH]] for result in found])
    to.each(f"{name}: translate", targets, to.translate(directory, sources, "--exact", "--max-length",
                                                        expected["max_length"]))
    ended = [(line, text) for line, text in zip(lines, translations) if "text" in line]
    if ended:
        wanted = [line["translation"] for line, _ in ended]
        to.each(f"{name}: marian, text", wanted, [text for _, text in ended])
        to.each(f"{name}: translate, text", wanted,
                to.run("-m", directory, "--split", "never", "--loop-guard", "off",
                       lines=[line["text"] for line, _ in ended]))


def main():
    assert importlib.metadata.version("pymarian") == VERSION
    engines.check_or_make(check, make, FIXTURES)


if __name__ == "__main__":
    main()
