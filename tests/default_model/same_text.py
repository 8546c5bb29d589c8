#!/usr/bin/env python3
"""Whether three engines translate lines alike in f32: Hugging Face Transformers, CTranslate2 and this project's program.

    python3 tests/default_model/same_text.py DIR LINES [--count 300] [--tool build/translate]

DIR is a Hugging Face Marian directory, such as models/zh-en/train/export.py writes; LINES holds a source a line, in the
first column. Greedy, and this program with --exact: the others protect no spans, and check no numbers. Prints how many
lines are the same, and those that are not; fails if more than one in a hundred is not. Needs ../engines/requirements.txt.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import ctranslate2
import torch
from transformers import MarianMTModel, MarianTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_LENGTH = 200


def by_transformers(model, tokenizer, line):
    ids = model.generate(**tokenizer(line, return_tensors="pt"), num_beams=1, do_sample=False, max_length=MAX_LENGTH + 2)
    return tokenizer.decode(ids[0], skip_special_tokens=True)


def by_ctranslate2(directory, tokenizer, lines):
    with tempfile.TemporaryDirectory() as out:
        ctranslate2.converters.TransformersConverter(directory).convert(out, force=True)
        translator = ctranslate2.Translator(out, compute_type="float32", inter_threads=1, intra_threads=1)
        sources = [tokenizer.convert_ids_to_tokens(tokenizer(line)["input_ids"]) for line in lines]
        results = translator.translate_batch(sources, beam_size=1, max_batch_size=1, max_decoding_length=MAX_LENGTH)
    return [tokenizer.decode(tokenizer.convert_tokens_to_ids(r.hypotheses[0]), skip_special_tokens=True) for r in results]


def by_translate(tool, directory, lines):
    command = [tool, "-q", "-m", directory, "--exact", "--max-length", str(MAX_LENGTH)]
    env = {key: value for key, value in os.environ.items() if not key.startswith("TRANSLATE_")}
    done = subprocess.run(command, input="".join(line + "\n" for line in lines), text=True, capture_output=True, check=True,
                          env=env)
    return done.stdout.removesuffix("\n").split("\n")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
    arguments.add_argument("directory")
    arguments.add_argument("lines", type=pathlib.Path)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--tool", default=ROOT / "build/translate")
    options = arguments.parse_args()
    lines = [line.split("\t")[0] for line in options.lines.read_text(encoding="utf-8").splitlines()]
    lines = lines[:: max(1, len(lines) // options.count)][: options.count]
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    tokenizer = MarianTokenizer.from_pretrained(options.directory)
    model = MarianMTModel.from_pretrained(options.directory, dtype=torch.float32).eval()
    texts = {
        "transformers": [by_transformers(model, tokenizer, line) for line in lines],
        "ctranslate2": by_ctranslate2(options.directory, tokenizer, lines),
        "translate": by_translate(options.tool, options.directory, lines),
    }
    worst = 0
    for name, found in texts.items():
        if len(found) != len(lines):
            sys.exit(f"{name}: {len(found)} lines for {len(lines)}")
        different = [i for i, (a, b) in enumerate(zip(texts["transformers"], found)) if a != b]
        print(f"{name}: {len(found) - len(different)} of {len(lines)} as transformers")
        for i in different[:10]:
            print(f"  {lines[i]}\n    {texts['transformers'][i]}\n    {found[i]}")
        worst = max(worst, len(different))
    return 1 if worst > len(lines) // 100 else 0  # sums in another order decide between two words that are equally good


if __name__ == "__main__":
    sys.exit(main())
