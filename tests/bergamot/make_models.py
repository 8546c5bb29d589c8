#!/usr/bin/env python3
"""Makes the fixtures of test_bergamot.c: tiny random models in Firefox's int8 format, and translations by the int8 reference
of make_bergamot.py.

    python3 tests/bergamot/make_models.py [NAME...]

Needs numpy and sentencepiece; the test itself needs neither. Each fixture is a folder fixtures/NAME with the files that
Firefox or translateLocally download, expected.txt (ids TAB text, a line for each of lines.txt) and, if it has a shortlist,
unlisted.txt, the same without it. logits.bin has the logits of the first steps of three lines in f32.
compare.py --check compares the texts with live engines.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import sentencepiece

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MAKER = HERE / "make_bergamot.py"
LIMIT = 200_000  # bytes of a file
PIECES = 304     # a multiple of 8
LOGITS = (1, 5, 9)  # lines

FIXTURES = {
    "ssru-one-lex": dict(seed=1, shortlist=True),
    "ssru-two": dict(seed=12, two=True),
    "ssru-one-plain": dict(seed=3, alphas=False),
    "ssru-two-plain-lex": dict(seed=4, two=True, alphas=False, shortlist=True),
    "attention-one": dict(seed=5, attention=True),
    "attention-two-lex": dict(seed=6, attention=True, two=True, shortlist=True, encoders=1),
    "attention-one-plain": dict(seed=7, attention=True, alphas=False),
    "package": dict(seed=8, shortlist=True, package=True),
}

# The fixtures' file names, those in translateLocally's packages, and the options of its packages
PACKAGE = {"model.enzh.intgemm.alphas.bin": "model.intgemm.alphas.bin", "vocab.enzh.spm": "vocab.spm",
           "lex.50.50.enzh.s2t.bin": "lex.s2t.bin"}
OPTIONS = """relative-paths: true
models:
  - model.intgemm.alphas.bin
vocabs:
  - vocab.spm
  - vocab.spm
shortlist:
    - lex.s2t.bin
    - false
beam-size: 1
normalize: 1.0
word-penalty: 0
max-length-break: 128
max-length-factor: 2.0
skip-cost: true
gemm-precision: int8shiftAlphaAll
"""


def sentences() -> list[str]:
    """English from this project's own documents."""
    text = " ".join((ROOT / name).read_text(encoding="utf-8") for name in ("docs/guide.md", "docs/architecture.md"))
    text = re.sub(r"```.*?```|\|[^\n]*\||[`*#_\[\]()|]", " ", text, flags=re.S)
    return [s.strip() for s in re.split(r"(?<=[.:;])\s+", " ".join(text.split())) if 12 < len(s) < 400]


def train(path: pathlib.Path, text: list[str]) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_prefix=str(path.with_suffix("")), vocab_size=PIECES, model_type="unigram",
        normalization_rule_name="identity", bos_id=-1, eos_id=0, unk_id=1, pad_id=-1, minloglevel=2, num_threads=1,
        character_coverage=0.999, hard_vocab_limit=True)
    path.with_suffix(".model").rename(path)
    path.with_suffix(".vocab").unlink()


def run(*arguments: str, **options) -> bytes:
    return subprocess.run([sys.executable, str(MAKER), *arguments], check=True, stdout=subprocess.PIPE, **options).stdout


def make(name: str, spec: dict, vocabularies: list[pathlib.Path], lines: bytes) -> None:
    out = HERE / "fixtures" / name
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    arguments = [str(out), "--spm", str(vocabularies[0]), "--arch", "mini", "--ffn", "64", "--pair", "enzh", "--seed",
                 str(spec["seed"])]
    arguments += ["--trg-spm", str(vocabularies[1])] if spec.get("two") else []
    arguments += ["--decoder", "self-attention"] if spec.get("attention") else []
    arguments += ["--enc", str(spec["encoders"])] if "encoders" in spec else []
    arguments += ["--no-alphas"] if not spec.get("alphas", True) else []
    arguments += ["--shortlist"] if spec.get("shortlist") else []
    run(*arguments)
    (out / "expected.txt").write_bytes(run("--decode", str(out), input=lines))
    if spec.get("shortlist"):
        (out / "unlisted.txt").write_bytes(run("--decode", str(out), "--no-shortlist", input=lines))
    some = b"".join(lines.splitlines(keepends=True)[i] for i in LOGITS)
    with tempfile.TemporaryDirectory() as folder:
        logits = os.path.join(folder, "logits.npy")
        firsts = []
        for line in some.splitlines(keepends=True):
            run("--decode", str(out), "--no-shortlist", "--max-length", "1", "--logits", logits, input=line)
            firsts.append(np.load(logits)[0])
    (out / "logits.bin").write_bytes(np.array(firsts, "<f4").tobytes())
    if spec.get("package"):
        for old, new in PACKAGE.items():
            (out / old).rename(out / new)
        (out / "config.intgemm8bitalpha.yml").write_text(OPTIONS)
    for path in out.iterdir():
        if path.stat().st_size > LIMIT:
            sys.exit(f"{path}: has {path.stat().st_size} bytes, more than {LIMIT}")


def prepare(vocabularies: list[pathlib.Path]) -> bytes:
    """Makes lines and vocabularies again, from this project's documents, which change; if only some fixtures are made, it
    keeps those of the others."""
    if len(sys.argv) > 1:
        for path, name in zip(vocabularies, ("srcvocab.enzh.spm", "trgvocab.enzh.spm")):
            path.write_bytes((HERE / "fixtures" / "ssru-two" / name).read_bytes())
        return (HERE / "fixtures" / "lines.txt").read_bytes()
    text = sentences()
    random.Random(1).shuffle(text)
    lines = "".join(" ".join(s.split()[: 3 + i % 12]) + "\n" for i, s in enumerate(text[:100])).encode()
    (HERE / "fixtures").mkdir(exist_ok=True)
    (HERE / "fixtures" / "lines.txt").write_bytes(lines)
    train(vocabularies[0], text)
    train(vocabularies[1], [s.lower() for s in text])
    return lines


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        vocabularies = [pathlib.Path(folder) / "source.spm", pathlib.Path(folder) / "target.spm"]
        lines = prepare(vocabularies)
        for name, spec in FIXTURES.items():
            if len(sys.argv) < 2 or name in sys.argv[1:]:
                make(name, spec, vocabularies, lines)
                print(name)


if __name__ == "__main__":
    main()
