"""Scores a checkpoint on the development set, by origin: evaluate.py DATA CHECKPOINT [--every N] [--show N].

Origins that are public evaluation sets (weights.UNSCORED) are left out, of the score of all lines, too; those that came
later than the first scores (weights.LATER) are left out of "all" only.
"""
import argparse
import collections
import pathlib
import random

import sacrebleu
import sentencepiece

from chinese import printed
from corpus import load, swapped
from decode import load_checkpoint, translate
from weights import LATER, UNSCORED

GROUPS = {
    "everyday": {"tatoeba", "daily", "travel", "people", "hsk_sentences"},
    "prose": {"news", "news2", "explain", "office"},
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("checkpoint", type=pathlib.Path)
    arguments.add_argument("--every", type=int, default=1, help="take each Nth line only")
    arguments.add_argument("--show", type=int, default=0, help="print N translations")
    arguments.add_argument("--weights", choices=("ema", "weights"), default="ema")
    arguments.add_argument("--beam", type=int, default=1)
    arguments.add_argument("--reverse", action="store_true", help="the checkpoint translates targets into sources")
    arguments.add_argument("--device", default="cpu")
    options = arguments.parse_args()

    dev = [pair for pair in load(options.data / "dev.tsv") if pair[2] not in UNSCORED][:: options.every]
    dev = [(source, printed(target), origin) for source, target, origin in swapped(dev)] if options.reverse else dev
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(options.data / "spm.model"))
    model = load_checkpoint(options.checkpoint, options.weights, options.device)
    outputs = translate(model, pieces, [source for source, _, _ in dev], options.beam)
    by_origin = collections.defaultdict(list)
    for (_, reference, origin), output in zip(dev, outputs):
        for name in [origin, *(("all",) if origin not in LATER else ()), *(g for g in GROUPS if origin in GROUPS[g])]:
            by_origin[name].append((output, reference))
    bleu, chrf = sacrebleu.BLEU(tokenize="zh" if options.reverse else "13a"), sacrebleu.CHRF()
    print(f"{'origin':22s} lines  BLEU  chrF")
    for name, pairs in sorted(by_origin.items()):
        hypotheses, references = map(list, zip(*pairs))
        both = [metric.corpus_score(hypotheses, [references]).score for metric in (bleu, chrf)]
        print(f"{name:22s} {len(pairs):5d} {both[0]:5.1f} {both[1]:5.1f}")
    print(bleu.get_signature(), chrf.get_signature(), sep="\n")
    shown = random.Random(0).sample(list(zip(dev, outputs)), options.show)
    for (source, reference, origin), output in shown:
        print(f"\n{origin}: {source}\n  {output}\n  ({reference})")


if __name__ == "__main__":
    main()
