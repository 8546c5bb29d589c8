"""How often an epoch sees a pair of each origin: everyday and general text most, law, scripture and manuals little.

Fractions are a chance: of an origin with 0.3 another three tenths come in each epoch.
"""
import random

from corpus import Pair

WEIGHTS = {
    "tatoeba": 1.5, "hsk_sentences": 2.5,
    "daily": 2.5, "travel": 2.5, "people": 2.5, "spoken": 2.5, "written": 2.5,
    "own": 2.5, "patterns": 0.5, "business": 2, "tech": 2, "news": 2.5, "words": 2, "words_late": 2.5, "lexicon": 1,
    "slots": 0.4,
    "3am": 0.6, "xpersona": 1, "xquad": 1.5, "tico19": 1.5, "ud_pud": 2, "mgsm": 1, "xsid": 1,
    "react_docs": 0.6, "rust_book": 0.6, "d2l": 0.7, "tldr_pages": 0.6, "gnome_help": 0.7,
    "python_docs": 0.3, "tw_law": 0.2, "bible_bsb_cuv": 0.08,
}  # fmt: skip
# Public evaluation sets: good text to learn from, but no score on their held-out lines is to be reported.
UNSCORED = {"xsid", "ud_pud", "xquad", "tico19", "mgsm"}


def expected(pairs: list[Pair]) -> int:
    """About how many pairs `draw` draws."""
    return round(sum(WEIGHTS.get(origin, 1) for _, _, origin in pairs))


def draw(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """One epoch's pairs, in random order."""
    drawn = [pair for pair in pairs for _ in range(int(WEIGHTS.get(pair[2], 1) + rng.random()))]
    rng.shuffle(drawn)
    return drawn
