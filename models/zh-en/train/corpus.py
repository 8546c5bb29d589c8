"""Prepares a corpus: normalised, filtered and deduplicated pairs, and a development set that shares no sentence with them.

    corpus.py CORPUS OUT [--more FOLDER...] [--split ORIGIN...] [--avoid FILE...]

CORPUS/train/ORIGIN.tsv[.xz]: source text TAB target text a line, one file per origin. CORPUS/dev/ in the same form is
the development set; where there is none, DEV_LINES pairs per origin are split off. With --split the ORIGINs, too, get
such lines, beside those of CORPUS/dev/; more pairs to train on do not change which lines these are. FOLDERs hold more
such files to train on; the origin of their pairs is FOLDER/FILE, such as own/long. FILEs are the texts of test sets, a
sentence a line. Pairs that share a side with a test set or the development set are dropped, and pairs with a side that
is nearly one of a test set. Writes OUT/train.tsv and OUT/dev.tsv, lines of source, target, origin, and OUT/avoid.txt,
what to keep away from, so that distill.py does, too.
"""
import argparse
import collections
import lzma
import math
import pathlib
import re
import sys
import time
import unicodedata
import zlib
from collections.abc import Iterable, Iterator

import numpy

DEV_LINES = 60
MAX_CHARACTERS = 600
# Longer sides than these are too particular to stand in a test set by chance (as in the corpus's own rule).
COMMON_CHARACTERS, COMMON_WORDS = 4, 3
# Two texts that share this much of their bigrams (Dice 1945) differ in a word only.
NEAR = 0.75
LOOKED_UP = 0.6  # of a text's bigrams: more than 1 - NEAR / (2 - NEAR), so that a near text has some of them

Pair = tuple[str, str, str]  # source text, target text, origin


def normalise(text: str) -> str:
    """NFKC, which the tokenizer applies too, without control and zero-width characters, one space between words."""
    text = re.sub(r"\s", " ", unicodedata.normalize("NFKC", text))
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs"))
    return re.sub(" +", " ", text).strip()


def key(text: str) -> str:
    """What two spellings of one sentence have in common: letters and digits, in small letters."""
    return "".join(c for c in text.lower() if c.isalnum())


def is_good(source: str, target: str) -> bool:
    """Not empty, too long, untranslated, or so unequal in length that one side must say more than the other."""
    if not key(source) or not key(target) or max(len(source), len(target)) > MAX_CHARACTERS:
        return False
    if key(source) == key(target) and len(target) > 12:
        return False
    return len(target) <= 12 * len(source) + 20 and len(source) <= 2 * len(target) + 20


def is_common(text: str) -> bool:
    """Whether a text is so short that anyone may have written it."""
    return len(key(text)) <= COMMON_CHARACTERS or " " in text and len(text.split()) <= COMMON_WORDS


def read(folder: pathlib.Path, within: str = "") -> list[Pair]:
    """All pairs of a folder's files, each file an origin, whose name begins with `within`."""
    pairs = []
    for path in sorted(folder.glob("*.tsv*")):
        opened = lzma.open if path.suffix == ".xz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                source, target = line.rstrip("\n").split("\t")
                pairs.append((normalise(source), normalise(target), within + path.name.split(".")[0]))
    return pairs


def deduplicate(pairs: list[Pair]) -> list[Pair]:
    seen: set[tuple[str, str]] = set()
    kept = []
    for pair in pairs:
        keys = key(pair[0]), key(pair[1])
        if keys not in seen:
            kept.append(pair)
        seen.add(keys)
    return kept


def key_of_pair(pair: Pair) -> bytes:
    return f"{key(pair[0])}\t{key(pair[1])}".encode()


def connected_groups(pairs: list[Pair]) -> list[list[Pair]]:
    """Pairs that share a side, directly or through others, are one group (union-find over both sides)."""
    parent: dict[tuple[int, str], tuple[int, str]] = {}

    def root(node):
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for source, target, _ in pairs:
        parent[root((0, key(source)))] = root((1, key(target)))
    groups = collections.defaultdict(list)
    for pair in pairs:
        groups[root((0, key(pair[0])))].append(pair)
    return list(groups.values())


def split_off_dev(pairs: list[Pair], lines: int, origins: Iterable[str] = ()) -> tuple[list[Pair], list[Pair]]:
    """Moves small whole groups to the development set until each origin, or each of `origins`, has `lines` pairs there, at
    most a tenth of it."""
    counts = collections.Counter(origin for _, _, origin in pairs)
    wanted = {origin: min(lines, counts[origin] // 10) for origin in origins or counts}
    train, dev = [], []
    for group in sorted(connected_groups(pairs), key=lambda group: zlib.crc32(min(map(key_of_pair, group)))):
        origin = group[0][2]
        if len(group) <= 3 and wanted.get(origin, 0) >= len(group) and all(pair[2] == origin for pair in group):
            wanted[origin] -= len(group)
            dev += group
        else:
            train += group
    return train, dev


def with_progress(items: list, what: str) -> Iterator:
    """Says every five seconds how far it is."""
    said = time.monotonic()
    for i, item in enumerate(items):
        if i % 256 == 0 and time.monotonic() - said > 5:
            said = time.monotonic()
            print(f"{what}: {100 * i // len(items)} %", file=sys.stderr, flush=True)
        yield item


def bigrams(text: str) -> set[str]:
    """Of a key."""
    return {text[i : i + 2] for i in range(len(text) - 1)}


class Near:
    """Some texts, given by their keys: a text is in them if it is nearly the same as one, or just the same.

    Only the rarest bigrams are looked up, and only the texts are compared that have enough of these to be near if they had
    all the others (prefix filter, Chaudhuri et al. 2006).
    """

    def __init__(self, texts: set[str]):
        self.texts = sorted(map(bigrams, texts), key=len)
        self.sizes = numpy.array([len(text) for text in self.texts])
        with_bigram: dict[str, list[int]] = collections.defaultdict(list)
        for i, text in enumerate(self.texts):
            for bigram in text:
                with_bigram[bigram].append(i)
        self.with_bigram = {bigram: numpy.array(found) for bigram, found in with_bigram.items()}

    def __contains__(self, text: str) -> bool:
        here = bigrams(text)
        share = NEAR / (2 - NEAR)  # of the larger set's bigrams, at least, the smaller one must have
        known = sorted((len(self.with_bigram[bigram]), bigram) for bigram in here if bigram in self.with_bigram)
        if not known or len(known) < share * len(here):
            return False
        looked_up = known[: max(1, len(known) - math.floor((1 - LOOKED_UP) * len(here)))]
        first, last = numpy.searchsorted(self.sizes, [math.floor(share * len(here)), math.ceil(len(here) / share) + 1])
        shared = numpy.bincount(numpy.concatenate([self.with_bigram[bigram] for _, bigram in looked_up]), minlength=last)
        least = NEAR / 2 * (len(here) + self.sizes[first:last])
        possible = numpy.flatnonzero(shared[first:last] + len(known) - len(looked_up) >= least)
        return any(len(here & self.texts[first + i]) >= least[i] for i in possible)


def without(pairs: list[Pair], dev: set[str], avoid: set[str]) -> list[Pair]:
    """Drops pairs one of whose sides stands in `dev`, or is not a common one and stands, or nearly so, in `avoid` (sets of
    keys)."""
    near = Near(avoid)

    def is_held_out(side: str) -> bool:
        text = key(side)
        return text in dev or not is_common(side) and text in near

    return [pair for pair in with_progress(pairs, "avoiding") if not any(map(is_held_out, pair[:2]))]


def sides(pairs: list[Pair]) -> set[str]:
    """The keys of both sides."""
    return {key(side) for pair in pairs for side in pair[:2]}


def write(path: pathlib.Path, pairs: list[Pair]) -> None:
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")


def load(path: pathlib.Path) -> list[Pair]:
    """Reads what `write` wrote."""
    return [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def swapped(pairs: list[Pair]) -> list[Pair]:
    """For the other direction."""
    return [(target, source, origin) for source, target, origin in pairs]


def load_held_out(data: pathlib.Path) -> tuple[set[str], set[str]]:
    """What `without` wants, of a prepared corpus."""
    return sides(load(data / "dev.tsv")), set((data / "avoid.txt").read_text(encoding="utf-8").splitlines())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("corpus", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--more", type=pathlib.Path, nargs="*", default=[], metavar="FOLDER")
    arguments.add_argument("--split", nargs="*", default=[], metavar="ORIGIN")
    arguments.add_argument("--avoid", type=pathlib.Path, nargs="*", default=[], metavar="FILE")
    options = arguments.parse_args()

    print("reading", file=sys.stderr, flush=True)
    read_pairs = read(options.corpus / "train")
    for folder in options.more:
        read_pairs += read(folder, f"{folder.resolve().name}/")
    train = deduplicate([pair for pair in read_pairs if is_good(*pair[:2])])
    avoid = {key(normalise(line)) for path in options.avoid for line in path.read_text(encoding="utf-8").splitlines()}
    if (options.corpus / "dev").is_dir():
        dev = read(options.corpus / "dev")
        train = without(train, sides(dev), avoid)
        if options.split:
            train, more = split_off_dev(train, DEV_LINES, options.split)
            dev += more
    else:
        train, dev = split_off_dev(without(train, set(), avoid), DEV_LINES)
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "train.tsv", train)
    write(options.out / "dev.tsv", dev)
    (options.out / "avoid.txt").write_text("".join(f"{text}\n" for text in sorted(avoid)), encoding="utf-8")
    print(f"{len(read_pairs)} pairs read, {len(train)} kept to train on, {len(dev)} to develop with")


if __name__ == "__main__":
    main()
