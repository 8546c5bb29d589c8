#!/usr/bin/env python3
"""The cost of vocabulary subsets and lexical shortlists in quality, and their gain in speed.

    bench/shortlist.py --model MODEL --train TSV... --dev TSV... [--shape MODEL] [--count 1000] [--rounds 5]

TSV files (plain or .xz) hold SOURCE TAB TARGET a line. From the training ones a list by script, one by text and a shortlist
are made for the model; COUNT lines of the development ones are translated with each: BLEU, the difference to all tokens with
the middle 95 % of paired bootstrap resamples, and lines that are the same. Then speed at batch 1 on one thread, alternating:
the median of a run's tokens a second over that with all tokens in the same round. --shape: another model for the speed, such
as one of OPUS-MT's shape with random weights, which decodes --length tokens a line. Needs sacrebleu.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from sacrebleu.metrics import BLEU

from common import answer_lines, machine, read_pairs
from quality import ROOT, difference_range

ALL = 10**9


class Model:
    """The options for all tokens, for lists of allowed tokens and for a shortlist, which are made in a folder."""

    def __init__(self, tool, model, text, script, folder):
        self.tool = tool
        name = os.path.join(folder, os.path.basename(model.rstrip("/")))
        whole, lex = name + ".whole.gguf", name + ".lex.bin"
        self.run("convert", model, whole, "--compute", "int8", "--allowed", "off")
        self.run("shortlist", *text, "-m", whole, "-o", lex)
        self.ways = {"all tokens": ["-m", whole]}
        for how in (script, f"text:{text[1]}"):
            file = f"{name}.{how.split(':')[0]}.gguf"
            self.run("convert", whole, file, "--allowed", how)
            allowed = json.loads(self.run("info", "--json", file))["allowed_tokens"]
            self.ways[f"--allowed {how.replace(text[1], 'FILE')} ({allowed})"] = ["-m", file]
        self.ways["--shortlist"] = ["-m", whole, "--shortlist", lex]
        self.ways["--shortlist, --allowed script"] = ["-m", f"{name}.script.gguf", "--shortlist", lex]

    def run(self, *args):
        return subprocess.run([self.tool, *args], check=True, capture_output=True, encoding="utf-8").stdout


def quality(options, model, dev):
    sources, references = [p[0] for p in dev], [p[1] for p in dev]
    bleu, first = BLEU(), None
    print(f"| {len(dev)} lines | BLEU | difference (95 %) | same |\n|---|---|---|---|")
    for name, way in model.ways.items():
        texts = answer_lines([options.tool, "-q", *way, "--beam", str(options.beam)], sources)
        score = bleu.corpus_score(texts, [references]).score
        first = first or (texts, score)
        low, high = difference_range(bleu, first[0], texts, references, options.seed)
        same = sum(a == b for a, b in zip(first[0], texts))
        print(f"| {name} | {score:.2f} | {score - first[1]:+.2f} ({low:+.2f} to {high:+.2f}) | {same} |", flush=True)
    print(f"\nBLEU {bleu.get_signature()}\n")


def speed(options, model, lines):
    rates = {name: [] for name in model.ways}
    for _ in range(options.rounds):
        for name, way in model.ways.items():
            report = json.loads(model.run("bench", *way, "-i", lines, "--batch-size", "1", "-T", "1", "--rounds", "1",
                                          "--fixed-length", str(options.length), "--json"))
            rates[name].append(report["tokens_per_second"])
    print(f"| batch 1, one thread, {options.length} tokens a line | tokens/s | over all tokens |\n|---|---|---|")
    for name, values in rates.items():
        ratio = statistics.median(v / whole for v, whole in zip(values, rates["all tokens"]))
        print(f"| {name} | {statistics.median(values):.0f} | {ratio:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--shape")
    parser.add_argument("--train", nargs="+", required=True)
    parser.add_argument("--dev", nargs="+", required=True)
    parser.add_argument("--script", default="script", help="the list by script: script, or script:NAMES")
    parser.add_argument("--tool", default=os.path.join(ROOT, "build", "translate"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--length", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=20, help="that speed is measured with")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    dev = read_pairs(options.dev, options.count, options.seed)
    train = read_pairs(options.train, ALL, options.seed)
    print(f"{machine()}; {len(train)} pairs to learn from\n")
    with tempfile.TemporaryDirectory() as folder:
        text = [os.path.join(folder, name) for name in ("source.txt", "target.txt")]
        for side, path in enumerate(text):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(pair[side].replace("\r", " ") + "\n" for pair in train)
        lines = os.path.join(folder, "lines.txt")
        with open(lines, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(source + "\n" for source, _ in dev[:options.lines])
        model = Model(options.tool, options.model, text, options.script, folder)
        quality(options, model, dev)
        speed(options, Model(options.tool, options.shape, text, options.script, folder) if options.shape else model, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
