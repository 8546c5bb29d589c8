#!/usr/bin/env python3
"""Makes the fixtures of test_argos.c: tiny random Argos Translate packages, and what CTranslate2 and SentencePiece make of
texts as Argos calls them.

    python3 tests/argos/make_models.py
    python3 tests/argos/make_models.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs ctranslate2, sentencepiece and numpy, and what tests/ctranslate2/make_models.py needs; the test itself needs none of them.
Each is fixtures/NAME.argosmodel and NAME.json: texts, their pieces, the pieces of greedy decoding, and the text that they are.
An installed package is fixtures/folder; BAD-*.argosmodel are to be refused.
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
from ctranslate2.specs import transformer_spec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
from make_fixtures import engines, train_pieces  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
TEXTS, MAX_LENGTH, PIECES, MARGIN = 24, 20, 100, 2e-3
WHEN = (2020, 1, 1, 0, 0, 0)

PACKAGES = {
    "deflated-int8": dict(quantization="int8", compression=zipfile.ZIP_DEFLATED),
    "stored-float32": dict(quantization=None, compression=zipfile.ZIP_STORED),
    "prefix-float16": dict(quantization="float16", compression=zipfile.ZIP_DEFLATED, prefix="__de__"),
}


def make_spec(seed, sources, targets):
    """As OpenNMT-py's converter has them: norms before the blocks, no end mark behind a source."""
    generator = np.random.default_rng(seed)
    d, ffn = 24, 32
    spec = transformer_spec.TransformerSpec.from_config((1, 1), 3)

    def normal(deviation, *size):
        return (generator.standard_normal(size) * deviation).astype(np.float32)

    def linear(layer, outputs, inputs, deviation):
        layer.weight, layer.bias = normal(deviation, outputs, inputs), normal(0.1, outputs)

    def norm(layer):
        layer.gamma, layer.beta = 1 + normal(0.3, d), normal(0.1, d)

    for side in (spec.encoder, spec.decoder):
        deviation = 0.4 if side is spec.encoder else 0.5
        norm(side.layer_norm)
        for layer in side.layer:
            for attention in [layer.self_attention] + ([layer.attention] if side is spec.decoder else []):
                norm(attention.layer_norm)
                stacked = [3] if attention is layer.self_attention else [1, 2]
                for part, count in zip(attention.linear, stacked):
                    linear(part, count * d, d, deviation)
                linear(attention.linear[-1], d, d, deviation)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, ffn, d, deviation)
            linear(layer.ffn.linear_1, d, ffn, deviation)
    spec.encoder.embeddings[0].weight = normal(0.5, len(sources), d)
    spec.decoder.embeddings.weight = normal(0.2, len(targets), d)
    spec.decoder.projection.weight = spec.decoder.embeddings.weight
    spec.decoder.projection.bias = normal(0.5, len(targets))
    spec.decoder.projection.bias[0] = -9  # Argos replaces unknown tokens by source tokens; here there are none
    spec.register_source_vocabulary(sources)
    spec.register_target_vocabulary(targets)
    return spec


def translate(translator, spm, text, prefix):
    """As apply_packaged_translation does it with one hypothesis and a beam of one: pieces, tokens, text, margin."""
    pieces = spm.encode(text, out_type=str)
    result = translator.translate_batch([pieces], target_prefix=[[prefix]] if prefix else None, replace_unknowns=True,
                                        beam_size=1, num_hypotheses=1, length_penalty=0.2, return_scores=True,
                                        max_decoding_length=MAX_LENGTH, return_logits_vocab=True)[0]
    margin = float("inf")
    for step in result.logits[0]:
        values = np.sort(np.array(step.to(ctranslate2.DataType.float32)).reshape(-1))
        margin = min(margin, float(values[-1] - values[-2]))
    tokens = result.hypotheses[0]
    value = spm.decode_pieces(tokens).replace("▁", " ").replace("_", " ")
    if prefix and value.startswith(prefix.replace("_", " ")):
        value = value[len(prefix):]
    return pieces, tokens, value.strip(), margin


def record(directory, spm, targets, prefix):
    translator = ctranslate2.Translator(directory, compute_type="float32", intra_threads=1)
    chooser = random.Random(1)
    words = [spm.IdToPiece(i) for i in range(3, PIECES)]
    lines = []
    for attempt in range(600):
        text = "".join(chooser.choice(words) for _ in range(2 + attempt % 16)).replace("▁", " ").replace(".", "").strip()
        pieces, tokens, value, margin = translate(translator, spm, text, prefix)
        # a prefix once more among the tokens stays a text in Argos
        if len(lines) < TEXTS and margin >= MARGIN and len(set(tokens)) > 3 and text and prefix not in tokens[1:]:
            lines.append({"text": text, "pieces": pieces, "tokens": [targets.index(token) for token in tokens], "value": value})
    return lines if len(lines) == TEXTS and len({line["value"] for line in lines}) > TEXTS // 2 else None


def write_zip(path, entries, compression):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = compression
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)


def make(name, spec, spm_data):
    spm = sentencepiece.SentencePieceProcessor(model_proto=spm_data)
    prefix = spec.get("prefix", "")
    sources = ["<unk>", "<s>", "</s>"] + [spm.IdToPiece(i) for i in range(3, PIECES)]
    targets = sources[:90] + ([prefix] if prefix else [])
    for seed in range(1, 60):
        with tempfile.TemporaryDirectory() as directory:
            network = make_spec(seed, sources, targets)
            network.validate()
            network.optimize(quantization=spec["quantization"])
            network.save(directory)
            lines = record(directory, spm, targets, prefix)
            files = {entry: open(os.path.join(directory, entry), "rb").read() for entry in sorted(os.listdir(directory))}
        if lines:
            break
    else:
        raise SystemExit(f"{name}: no seed gives translations that differ")
    top = "translate-aa_de-1_0"
    facts = {"package_version": "1.0", "argos_version": "1.9", "from_code": "aa", "from_name": "Aaish", "to_code": "de",
             "to_name": "German", **({"target_prefix": prefix} if prefix else {})}
    entries = [(f"{top}/", b""), (f"{top}/metadata.json", json.dumps(facts).encode()), (f"{top}/README.md", b"# A package\n"),
               (f"{top}/sentencepiece.model", spm_data), (f"{top}/stanza/aa.pt", b"not looked at")]
    entries += [(f"{top}/model/{entry}", data) for entry, data in files.items()]
    path = os.path.join(HERE, name + ".argosmodel")
    write_zip(path, entries, spec["compression"])
    with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as file:
        file.write(json.dumps({"seed": seed, "ctranslate2": ctranslate2.__version__, "max_length": MAX_LENGTH})[:-1] +
                   ', "lines": [\n' + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]}\n")
    print(f"{name}: seed {seed}, {os.path.getsize(path)} bytes", flush=True)
    return entries


def make_bad(entries):
    """Variants of a good package, each with one thing wrong."""
    top = "translate-aa_de-1_0"
    named = dict(entries)

    def bad(name, changed, compression=zipfile.ZIP_DEFLATED):
        write_zip(os.path.join(HERE, f"bad-{name}.argosmodel"), changed, compression)

    def without(*suffixes):
        return [entry for entry in entries if not entry[0].endswith(suffixes)]

    bad("no-model", without("model.bin"))
    bad("no-vocabulary", without("vocabulary.json"))
    bad("no-tokenizer", without("sentencepiece.model"))
    bad("bpe", without("sentencepiece.model") + [(f"{top}/bpe.model", b"#version: 0.2\n")])
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
    return os.path.join(to, "translate-aa_de-1_0")


def check(to, name, path):
    """CTranslate2 and SentencePiece as Argos calls them, and this project's program, on a committed package."""
    with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as file:
        expected = json.load(file)
    lines, what = expected["lines"], os.path.basename(path)
    with tempfile.TemporaryDirectory() as folder:
        installed = unpack(path, folder)
        with open(os.path.join(installed, "metadata.json"), encoding="utf-8") as file:
            prefix = json.load(file).get("target_prefix", "")
        with open(os.path.join(installed, "model", "target_vocabulary.json"), encoding="utf-8") as file:
            targets = json.load(file)
        spm = sentencepiece.SentencePieceProcessor(model_file=os.path.join(installed, "sentencepiece.model"))
        translator = ctranslate2.Translator(os.path.join(installed, "model"), compute_type="float32", intra_threads=1)
        found = [translate(translator, spm, line["text"], prefix) for line in lines]
    to.each(f"{what}: sentencepiece", [line["pieces"] for line in lines], [pieces for pieces, *_ in found])
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
    if engines.wanted():
        to = engines.Check()
        for name in to.names or PACKAGES:
            check(to, name, os.path.join(HERE, name + ".argosmodel"))
            if name == "deflated-int8":
                check(to, name, os.path.join(HERE, "folder"))
        to.finish()
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(HERE)
    path = os.path.join(HERE, "pieces.tmp")
    train_pieces(path, PIECES, unk_id=0, bos_id=1, eos_id=2)
    with open(path, "rb") as file:
        spm_data = file.read()
    os.remove(path)
    made = {name: make(name, spec, spm_data) for name, spec in PACKAGES.items()}
    for name, data in made["deflated-int8"]:
        if not name.endswith("/"):
            target = os.path.join(HERE, "folder", name.split("/", 1)[1])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)
    make_bad(made["deflated-int8"])


if __name__ == "__main__":
    main()
