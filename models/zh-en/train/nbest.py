"""What a model says to training text, and how near it comes: nbest.py PAIRS.tsv NBEST OUT.tsv.

PAIRS.tsv has source, target and origin; NBEST is what `translate -b 4 -n 4 --split never --protect off --loop-guard off`
writes for its sources: number of the line, rank, score, text. OUT.tsv gets pairs whose target is the hypothesis nearest
to their own ("sequence-level interpolation", Kim and Rush 2016): easier to learn than what people wrote, if it says the
same. It must be near, and have no number and no name that the target lacks. Words are looked for between spaces, so
targets must be English or the like.
"""
import argparse
import collections
import pathlib
import re
from collections.abc import Iterator

from corpus import Pair, is_good, load, load_held_out, normalise, without, write

WORD, DIGITS = re.compile(r"\w+|[^\w\s]"), re.compile(r"\d+")
NAME = re.compile(r"(?<![.!?:\"] )(?<!^)\b[A-Z][a-z]+")
NEAR = 0.33
WRONG_NUMBERS = 0.2  # what they add to a cost


def read(pairs: pathlib.Path, nbest: pathlib.Path) -> Iterator[tuple[Pair, list[str]]]:
    """Each pair with the hypotheses for its source, if there are any."""
    found = collections.defaultdict(list)
    for line in nbest.read_text(encoding="utf-8").split("\n"):
        fields = line.split("\t")
        if len(fields) == 4:
            found[int(fields[0])].append(normalise(fields[3]))
    for number, pair in enumerate(load(pairs), 1):
        if number in found:
            yield pair, list(dict.fromkeys(found[number]))


def grams(text: str) -> list[collections.Counter]:
    words = WORD.findall(text)
    return [collections.Counter(zip(*(words[i:] for i in range(n)))) for n in range(1, 5)]


def similarities(hypotheses: list[str], target: str) -> list[float]:
    """The share of one to four words in a row that both have, from 0 to 1 (Dice)."""

    def similarity(one: list[collections.Counter], other: list[collections.Counter]) -> float:
        shares = [2 * (a & b).total() / (a.total() + b.total()) for a, b in zip(one, other) if a or b]
        return sum(shares) / len(shares) if shares else 0.0

    own = grams(target)
    return [similarity(grams(hypothesis), own) for hypothesis in hypotheses]


def costs(hypotheses: list[str], target: str) -> list[float]:
    def has_numbers(text: str) -> bool:
        return sorted(DIGITS.findall(text)) == sorted(DIGITS.findall(target))

    near = similarities(hypotheses, target)
    return [1 - share + (0 if has_numbers(text) else WRONG_NUMBERS) for text, share in zip(hypotheses, near)]


def is_faithful(hypothesis: str, target: str) -> bool:
    named = all(name.lower() in target.lower() for name in NAME.findall(hypothesis))
    return named and set(DIGITS.findall(hypothesis)) <= set(DIGITS.findall(target))


def nearest(pair: Pair, hypotheses: list[str]) -> Pair | None:
    """None: none is near, or the nearest is the target itself."""
    source, target, origin = pair
    near, best = max(zip(similarities(hypotheses, target), hypotheses))
    good = near >= NEAR and best != target and is_faithful(best, target) and is_good(source, best)
    return (source, best, origin) if good else None


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pairs", type=pathlib.Path)
    arguments.add_argument("nbest", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--data", type=pathlib.Path, help="nothing is kept that stands in its held-out texts")
    options = arguments.parse_args()
    made = [new for pair, hypotheses in read(options.pairs, options.nbest) if (new := nearest(pair, hypotheses))]
    kept = without(made, *load_held_out(options.data)) if options.data else made
    write(options.out, kept)
    print(f"{len(kept)} pairs kept", flush=True)


if __name__ == "__main__":
    main()
