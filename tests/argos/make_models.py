#!/usr/bin/env python3
"""Makes the fixtures of test_argos.c: tiny random Argos Translate packages, and their output for some texts by CTranslate2
and SentencePiece, or sacremoses and subword-nmt, called as Argos calls them.

    python3 tests/argos/make_models.py
    python3 tests/argos/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs ctranslate2, sentencepiece, sacremoses, subword-nmt and numpy, and what tests/ctranslate2/make_models.py needs; the
test itself needs none of them. Each is fixtures/NAME.argosmodel and NAME.json: texts, their pieces, the pieces of greedy
decoding, and their text; with bpe.model also texts with only their pieces, as two target tokens were about equally likely.
An installed package is fixtures/folder; BAD-*.argosmodel must be refused.
"""
import io
import json
import os
import random
import shutil
import sys
import tempfile
import zipfile

import ctranslate2
import numpy as np
import sentencepiece

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from make_fixtures import engines, train_pieces  # noqa: E402
import opennmt  # noqa: E402
import words  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
TEXTS, MAX_LENGTH, PIECES, MARGIN = 24, 20, 100, 2e-3
WHEN = (2020, 1, 1, 0, 0, 0)

PACKAGES = {
    "deflated-int8": dict(quantization="int8", compression=zipfile.ZIP_DEFLATED),
    "stored-float32": dict(quantization=None, compression=zipfile.ZIP_STORED),
    "prefix-float16": dict(quantization="float16", compression=zipfile.ZIP_DEFLATED, prefix="__de__"),
}

BPE_PACKAGES = {
    "bpe-en-de": dict(quantization="int8", compression=zipfile.ZIP_DEFLATED, pair=("en", "de"), version="0.2"),
    "bpe-ru-en": dict(quantization="float16", compression=zipfile.ZIP_STORED, pair=("ru", "en"), version="0.1"),
    "bpe-zh-fr": dict(quantization="int8", compression=zipfile.ZIP_DEFLATED, pair=("zh", "fr"), version="0.2"),
    "bpe-fr-ru": dict(quantization=None, compression=zipfile.ZIP_DEFLATED, pair=("fr", "ru"), version="0.2"),
}


class SentencePiece:
    """argostranslate.tokenizer.SentencePieceTokenizer."""

    def __init__(self, **model):
        self.spm = sentencepiece.SentencePieceProcessor(**model)

    def encode(self, text):
        return self.spm.encode(text, out_type=str)

    def decode(self, tokens):
        return self.spm.decode_pieces(tokens).replace("▁", " ").replace("_", " ")


def make_spec(seed, sources, targets):
    spec = opennmt.random_spec(seed, 3, 24, 32, len(sources), len(targets))
    spec.decoder.projection.bias[0] = -9  # Argos replaces unknown tokens by source tokens; here there are none
    spec.register_source_vocabulary(sources)
    spec.register_target_vocabulary(targets)
    return spec


def translate(translator, tokenizer, text, prefix):
    """Translates as apply_packaged_translation does with one hypothesis and a beam of one: pieces, tokens, text, margin."""
    pieces = tokenizer.encode(text)
    result = translator.translate_batch([pieces], target_prefix=[[prefix]] if prefix else None, replace_unknowns=True,
                                        beam_size=1, num_hypotheses=1, length_penalty=0.2, return_scores=True,
                                        max_decoding_length=MAX_LENGTH, return_logits_vocab=True)[0]
    margin = float("inf")
    for step in result.logits[0]:
        values = np.sort(np.array(step.to(ctranslate2.DataType.float32)).reshape(-1))
        margin = min(margin, float(values[-1] - values[-2]))
    tokens = result.hypotheses[0]
    value = tokenizer.decode(tokens)
    if prefix and value.startswith(prefix.replace("_", " ")):
        value = value[len(prefix):]
    return pieces, tokens, value.strip(), margin


def record(directory, tokenizer, targets, prefix):
    translator = ctranslate2.Translator(directory, compute_type="float32", intra_threads=1)
    chooser = random.Random(1)
    syllables = [tokenizer.spm.IdToPiece(i) for i in range(3, PIECES)]
    lines = []
    for attempt in range(600):
        text = "".join(chooser.choice(syllables) for _ in range(2 + attempt % 16))
        text = text.replace("▁", " ").replace(".", "").strip()
        pieces, tokens, value, margin = translate(translator, tokenizer, text, prefix)
        # a prefix once more among the tokens stays a text in Argos
        if len(lines) < TEXTS and margin >= MARGIN and len(set(tokens)) > 3 and text and prefix not in tokens[1:]:
            lines.append({"text": text, "pieces": pieces, "tokens": [targets.index(token) for token in tokens],
                          "value": value})
    return lines if len(lines) == TEXTS and len({line["value"] for line in lines}) > TEXTS // 2 else None


def record_texts(directory, tokenizer, sources, targets, texts):
    """Lines as above for all texts; only the pieces of texts whose margins are too small. None: too few texts have a
    margin."""
    translator = ctranslate2.Translator(directory, compute_type="float32", intra_threads=1)
    lines, pieces_alone = [], []
    for text in texts:
        pieces, tokens, value, margin = translate(translator, tokenizer, text, "")
        line = {"text": text, "pieces": [piece if piece in sources else "<unk>" for piece in pieces]}
        if margin >= MARGIN:
            lines.append({**line, "tokens": [targets.index(token) for token in tokens], "value": value})
        else:
            pieces_alone.append(line)
    varied = len({line["value"] for line in lines}) > len(lines) * 2 // 3
    return (lines, pieces_alone) if len(lines) > len(texts) * 2 // 3 and varied else (None, None)


def write_zip(path, entries, compression):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = compression
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)


def save(seed, spec, sources, targets, directory):
    network = make_spec(seed, sources, targets)
    network.validate()
    network.optimize(quantization=spec["quantization"])
    network.save(directory)


def files_of(directory):
    files = {}
    for entry in sorted(os.listdir(directory)):
        with open(os.path.join(directory, entry), "rb") as file:
            files[entry] = file.read()
    return files


def write_package(name, spec, seed, tokenizer_file, files, recorded):
    """The package, and the recorded results; returns the package's entries."""
    source, target = spec.get("pair", ("aa", "de"))
    prefix, top = spec.get("prefix", ""), f"translate-{source}_{target}-1_0"
    facts = {"package_version": "1.0", "argos_version": "1.9", "from_code": source, "from_name": "Aaish", "to_code": target,
             "to_name": "German", **({"target_prefix": prefix} if prefix else {})}
    entries = [(f"{top}/", b""), (f"{top}/metadata.json", json.dumps(facts).encode()),
               (f"{top}/README.md", b"# A package\n"),
               (f"{top}/{tokenizer_file[0]}", tokenizer_file[1]), (f"{top}/stanza/aa.pt", b"not looked at")]
    entries += [(f"{top}/model/{entry}", data) for entry, data in files.items()]
    path = os.path.join(HERE, name + ".argosmodel")
    write_zip(path, entries, spec["compression"])
    with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as file:
        file.write(json.dumps({"seed": seed, "ctranslate2": ctranslate2.__version__, "max_length": MAX_LENGTH})[:-1] +
                   "".join(f', "{key}": [\n' + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]"
                           for key, lines in recorded.items()) + "}\n")
    print(f"{name}: seed {seed}, {os.path.getsize(path)} bytes", flush=True)
    return entries


def make(name, spec, spm_data):
    tokenizer = SentencePiece(model_proto=spm_data)
    prefix = spec.get("prefix", "")
    sources = ["<unk>", "<s>", "</s>"] + [tokenizer.spm.IdToPiece(i) for i in range(3, PIECES)]
    targets = sources[:90] + ([prefix] if prefix else [])
    for seed in range(1, 60):
        with tempfile.TemporaryDirectory() as directory:
            save(seed, spec, sources, targets, directory)
            lines = record(directory, tokenizer, targets, prefix)
            if lines:
                return write_package(name, spec, seed, ("sentencepiece.model", spm_data), files_of(directory),
                                     {"lines": lines})
    raise SystemExit(f"{name}: no seed gives translations that differ")


def make_bpe(name, spec):
    source, target = spec["pair"]
    codes = words.learn(source, target, spec["version"])
    tokenizer = words.Words(codes, source, target)
    texts, special = words.TEXTS[source], ["<unk>", "<s>", "</s>"]
    sources = special + words.pieces_of(tokenizer, texts, words.UNKNOWN)
    targets = special + words.pieces_of(words.Words(codes, target, source), words.TEXTS[target], "")
    for seed in range(1, 60):
        with tempfile.TemporaryDirectory() as directory:
            save(seed, spec, sources, targets, directory)
            lines, pieces_alone = record_texts(directory, tokenizer, sources, targets, texts)
            if lines:
                return write_package(name, spec, seed, ("bpe.model", codes.encode()), files_of(directory),
                                     {"lines": lines, "pieces": pieces_alone})
    raise SystemExit(f"{name}: no seed gives translations that differ")


def make_bad(entries):
    """Variants of a valid package, each with one fault."""
    top = "translate-aa_de-1_0"
    named = dict(entries)

    def bad(name, changed, compression=zipfile.ZIP_DEFLATED):
        write_zip(os.path.join(HERE, f"bad-{name}.argosmodel"), changed, compression)

    def without(*suffixes):
        return [entry for entry in entries if not entry[0].endswith(suffixes)]

    bad("no-model", without("model.bin"))
    bad("no-vocabulary", without("vocabulary.json"))
    bad("no-tokenizer", without("sentencepiece.model"))
    for what, codes in {"bpe-empty": b"", "bpe-none": b"#version: 0.2\n", "bpe-version": b"#version: 0.3\na b\n",
                        "bpe-line": b"#version: 0.2\na b</w>\r\na b c\n", "bpe-half": b"a b\nab\n",
                        "bpe-gap": b"a b\n\nc d\n", "bpe-binary": b"a b\nc \xff\n"}.items():
        bad(what, without("sentencepiece.model", "model.bin") + [(f"{top}/bpe.model", codes)])
    bad("two-folders", without("model.bin") + [("other/metadata.json", b"{}")])
    bad("leads-out", without("model.bin") + [("../evil", b"x")])
    bad("leads-out-inside", without("model.bin") + [(f"{top}/../../evil", b"x")])
    bad("sbd", [(name, data) for name, data in without("metadata.json", "model.bin")] +
        [(f"{top}/metadata.json", b'{"type": "sbd"}')])
    bad("prefix", without("metadata.json") + [(f"{top}/metadata.json", b'{"target_prefix": "__xx__"}')])
    bad("metadata", without("metadata.json", "model.bin") + [(f"{top}/metadata.json", b'{"from_code": 7}')])
    bad("json", without("metadata.json", "model.bin") + [(f"{top}/metadata.json", b'{"from_code": ')])
    bad("bomb", without("model.bin") + [(f"{top}/model/model.bin", bytes(40 << 20))])
    # flags and sizes that zipfile would not write
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name, WHEN), content, zipfile.ZIP_DEFLATED)
        offset = archive.getinfo(f"{top}/model/model.bin").header_offset
    raw = bytearray(data.getvalue())
    central = raw.rindex(b"PK\1\2", 0, raw.rindex(f"{top}/model/model.bin".encode()))
    raw[offset + 6] |= 1  # encrypted
    raw[central + 8] |= 1
    with open(os.path.join(HERE, "bad-encrypted.argosmodel"), "wb") as file:
        file.write(raw)
    assert named


def unpack(path, to):
    """The folder of an installed package."""
    if os.path.isdir(path):
        return path
    with zipfile.ZipFile(path) as archive:
        archive.extractall(to)
    return os.path.join(to, next(name for name in os.listdir(to)))


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def tokenizer_of(installed, metadata):
    path = os.path.join(installed, "bpe.model")
    if not os.path.exists(path):
        return SentencePiece(model_file=os.path.join(installed, "sentencepiece.model"))
    with open(path, encoding="utf-8") as file:
        return words.Words(file.read(), metadata["from_code"], metadata["to_code"])


def check(to, name):
    for path in [name + ".argosmodel"] + (["folder"] if name == "deflated-int8" else []):
        check_package(to, name, os.path.join(HERE, path))


def check_package(to, name, path):
    """Argos's engines, called as Argos calls them, and this project's program, on a committed package."""
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        expected = json.load(file)
    lines, what = expected["lines"], os.path.basename(path)
    with tempfile.TemporaryDirectory() as folder:
        installed = unpack(path, folder)
        metadata, sources, targets = (read_json(os.path.join(installed, *path)) for path in (
            ["metadata.json"], ["model", "source_vocabulary.json"], ["model", "target_vocabulary.json"]))
        tokenizer = tokenizer_of(installed, metadata)
        translator = ctranslate2.Translator(os.path.join(installed, "model"), compute_type="float32", intra_threads=1)
        found = [translate(translator, tokenizer, line["text"], metadata.get("target_prefix", "")) for line in lines]
    to.each(f"{what}: pieces", [line["pieces"] for line in lines],
            [[piece if piece in sources else "<unk>" for piece in pieces] for pieces, *_ in found])
    to.each(f"{what}: ctranslate2", [line["tokens"] for line in lines],
            [[targets.index(token) for token in tokens] for _, tokens, *_ in found])
    to.each(f"{what}: ctranslate2, text", [line["value"] for line in lines], [value for *_, value, _ in found])
    texts, options = [line["text"] for line in lines], ("--exact", "--max-length", expected["max_length"])
    to.each(f"{what}: translate tokenize", [" ".join(line["pieces"]) for line in lines],
            to.run("tokenize", "-m", path, lines=texts))
    sources = [line.split() for line in to.run("tokenize", "--ids", "-m", path, lines=texts)]
    to.each(f"{what}: translate", [line["tokens"] for line in lines], to.translate(path, sources, *options))
    to.each(f"{what}: translate, text", [line["value"] for line in lines], to.run("-m", path, *options, lines=texts))


def main():
    ctranslate2.set_log_level(40)
    engines.check_where_asked(check, (*PACKAGES, *BPE_PACKAGES))
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(HERE)
    path = os.path.join(HERE, "pieces.tmp")
    train_pieces(path, PIECES, unk_id=0, bos_id=1, eos_id=2)
    with open(path, "rb") as file:
        spm_data = file.read()
    os.remove(path)
    made = {name: make(name, spec, spm_data) for name, spec in PACKAGES.items()}
    for name, spec in BPE_PACKAGES.items():
        make_bpe(name, spec)
    for name, data in made["deflated-int8"]:
        if not name.endswith("/"):
            target = os.path.join(HERE, "folder", name.split("/", 1)[1])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)
    make_bad(made["deflated-int8"])


if __name__ == "__main__":
    main()
