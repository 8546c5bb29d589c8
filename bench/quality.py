#!/usr/bin/env python3
"""What a type of weights, or a search, does to quality: BLEU and chrF of the same lines with each, compared with the first.

    bench/quality.py --model MODEL [--model ...] [--compute f32,bf16,int8] [--search "" --search "-b 4" ...] [--count 1000]
                     [--seed 1] [--tokenize 13a] TSV...

TSV files (plain or .xz) hold SOURCE TAB REFERENCE a line; COUNT lines are drawn from all of them by the seed. A MODEL is
a directory or a file for `translate -m`; it is run with each type and each search (options of translate) in turn. Needs
sacrebleu, whose signatures are printed below the table; `--tokenize zh` for targets in Chinese. "same" counts lines with
exactly the text of the first row. The range after the difference is the middle 95 % of paired bootstrap resamples (Koehn,
2004): if it contains 0, the difference may be chance. Seconds are those of the whole command.
"""
import argparse
import itertools
import os
import random
import shlex
import sys
import time

from sacrebleu.metrics import BLEU, CHRF

from common import answer_lines, read_pairs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESAMPLES = 1000


def translate(options, model, compute, search, lines):
    return answer_lines([options.tool, "-q", "-m", model, "--compute", compute, *shlex.split(search)], lines)


def difference_range(bleu, first, second, references, seed):
    """The range of BLEU(second) - BLEU(first) over resamples that both have in common."""
    # One row of sufficient statistics for each line; those of a corpus are their sum.
    statistics = [bleu._extract_corpus_statistics(texts, [references]) for texts in (first, second)]
    generator, differences = random.Random(seed), []
    for _ in range(RESAMPLES):
        rows = generator.choices(range(len(references)), k=len(references))
        scores = [bleu._aggregate_and_compute([side[i] for i in rows]).score for side in statistics]
        differences.append(scores[1] - scores[0])
    differences.sort()
    return differences[RESAMPLES * 25 // 1000], differences[RESAMPLES * 975 // 1000 - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsv", nargs="+")
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--compute", default="f32,bf16,int8", help="types separated by commas")
    parser.add_argument("--search", action="append", help="options of translate (default: none)")
    parser.add_argument("--tool", default=os.path.join(ROOT, "build", "translate"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokenize", default="13a", help="sacrebleu's tokenizer for BLEU; zh for Chinese")
    options = parser.parse_args()

    pairs = read_pairs(options.tsv, options.count, options.seed)
    sources, references = [p[0] for p in pairs], [p[1] for p in pairs]
    bleu, chrf, first = BLEU(tokenize=options.tokenize), CHRF(), None
    print(f"{len(pairs)} lines, seed {options.seed}\n\n| model | type | search | BLEU | difference (95 %) | chrF | same "
          "| seconds |\n|---|---|---|---|---|---|---|---|")
    for model, compute, search in itertools.product(options.model, options.compute.split(","), options.search or [""]):
        begun = time.monotonic()
        texts = translate(options, model, compute, search, sources)
        seconds = time.monotonic() - begun
        score = bleu.corpus_score(texts, [references]).score
        if first:
            low, high = difference_range(bleu, first[0], texts, references, options.seed)
            beside = f"{score - first[1]:+.2f} ({low:+.2f} to {high:+.2f})"
        else:
            first, beside = (texts, score), ""
        same = sum(a == b for a, b in zip(first[0], texts))
        print(f"| {os.path.basename(model.rstrip('/'))} | {compute} | {search} | {score:.2f} | {beside} | "
              f"{chrf.corpus_score(texts, [references]).score:.2f} | {same} | {seconds:.1f} |", flush=True)
    print(f"\nBLEU {bleu.get_signature()}\nchrF {chrf.get_signature()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
