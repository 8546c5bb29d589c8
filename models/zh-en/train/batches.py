"""Turns pairs into packed batches, in an order that only the seed and the place in it decide."""
import dataclasses
import random
from collections.abc import Iterator

import numpy
import sentencepiece
import torch
from torch import Tensor

from corpus import Pair
from weights import draw

CHUNK = 4096  # pairs that are segmented and packed at a time: a run continues at a chunk's start
OPEN_ROWS = 48  # rows that still take short pairs while they are packed
Encoded = tuple[list[int], list[int]]  # the ids of a pair's sides, each ended by END
END = 0


@dataclasses.dataclass
class Batch:
    """Tensors [rows, row length]. `pair` numbers a row's pairs from 1 (0: padding), `position` counts within a sentence."""

    source: Tensor
    source_pair: Tensor
    source_position: Tensor
    target: Tensor  # what the decoder reads: <pad> first, then the label before
    target_pair: Tensor
    target_position: Tensor
    label: Tensor  # -1: padding

    def __len__(self) -> int:
        return len(self.source)

    def part(self, first: int, last: int) -> "Batch":
        return Batch(*(getattr(self, field.name)[first:last] for field in dataclasses.fields(self)))

    def to(self, device: str) -> "Batch":
        return Batch(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))

    def tokens(self) -> int:
        return int((self.label >= 0).sum())


def pack(pairs: list[Encoded], length: int) -> list[list[Encoded]]:
    """Rows of pairs that together fit into `length` tokens on each side, first fit; too long pairs are left out."""
    done, rows, room = [], [], []
    for pair in pairs:
        need = tuple(map(len, pair))
        if max(need) > length:
            continue
        for i, (source_room, target_room) in enumerate(room):
            if need[0] <= source_room and need[1] <= target_room:
                rows[i].append(pair)
                room[i] = (source_room - need[0], target_room - need[1])
                break
        else:
            if len(rows) == OPEN_ROWS:
                fullest = min(range(OPEN_ROWS), key=lambda i: min(room[i]))
                done.append(rows.pop(fullest))
                room.pop(fullest)
            rows.append([pair])
            room.append((length - need[0], length - need[1]))
    return done + rows


def make_batch(rows: list[list[Encoded]], length: int, pad: int) -> Batch:
    shape = (len(rows), length)
    batch = {f.name: numpy.zeros(shape, numpy.int64) for f in dataclasses.fields(Batch)}
    batch["source"][:], batch["target"][:], batch["label"][:] = pad, pad, -1
    for r, row in enumerate(rows):
        s = t = 0
        for number, (source, target) in enumerate(row, 1):
            s_end, t_end = s + len(source), t + len(target)
            batch["source"][r, s:s_end] = source
            batch["source_pair"][r, s:s_end] = number
            batch["source_position"][r, s:s_end] = range(len(source))
            batch["target"][r, t + 1 : t_end] = target[:-1]
            batch["target_pair"][r, t:t_end] = number
            batch["target_position"][r, t:t_end] = range(len(target))
            batch["label"][r, t:t_end] = target
            s, t = s_end, t_end
    return Batch(**{name: torch.from_numpy(array) for name, array in batch.items()})


class Segmenter:
    """Text to ids. Some sides get a sampled segmentation (Kudo 2018): the model sees more spellings than the corpus has."""

    def __init__(self, model: str, source_share: float = 0.0, target_share: float = 0.0):
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=model)
        self.source_share, self.target_share = source_share, target_share

    def side(self, texts: list[str], share: float, alpha: float, rng: random.Random) -> list[list[int]]:
        sampled = [rng.random() < share for _ in texts]
        ids = self.pieces.encode(texts, num_threads=1)
        for i in (i for i, is_sampled in enumerate(sampled) if is_sampled):
            ids[i] = self.pieces.encode(texts[i], enable_sampling=True, nbest_size=-1, alpha=alpha)
        return [sentence + [END] for sentence in ids]

    def pairs(self, pairs: list[Pair], rng: random.Random) -> list[Encoded]:
        sentencepiece.set_random_generator_seed(rng.getrandbits(32))
        sources = self.side([pair[0] for pair in pairs], self.source_share, 0.2, rng)
        targets = self.side([pair[1] for pair in pairs], self.target_share, 0.3, rng)
        return list(zip(sources, targets))


def without_final_mark(text: str, rng: random.Random) -> str:
    """People often leave the last full stop out; the translation keeps its own."""
    return text[:-1] if len(text) > 1 and text[-1] in "。." and rng.random() < 0.4 else text


class Batches:
    """An endless stream of batches of `tokens` tokens a side, padding included; `epoch` and `chunk` say where it stands.

    Pairs that fit go into rows of a short length, since attention's work grows with its square, the others into longer rows.
    """

    def __init__(self, pairs: list[Pair], segmenter: Segmenter, tokens: int, lengths: list[int], pad: int, seed: int = 0):
        self.all_pairs, self.segmenter = pairs, segmenter
        self.tokens, self.lengths, self.pad, self.seed = tokens, sorted(lengths), pad, seed
        self.epoch = self.chunk = 0

    def __iter__(self) -> Iterator[Batch]:
        waiting: dict[int, list[list[Encoded]]] = {length: [] for length in self.lengths}
        while True:
            pairs = draw(self.all_pairs, random.Random(f"{self.seed} {self.epoch}"))
            while (first := self.chunk * CHUNK) < len(pairs):
                encoded = self.encode(pairs[first : first + CHUNK])
                for length, rows in waiting.items():
                    rows += pack(encoded[length], length)
                yield from self.take(waiting)
                self.chunk += 1
            self.epoch, self.chunk = self.epoch + 1, 0

    def encode(self, pairs: list[Pair]) -> dict[int, list[Encoded]]:
        """By the length of row that each pair goes to."""
        rng = random.Random(f"{self.seed} {self.epoch} {self.chunk}")
        pairs = [(without_final_mark(source, rng), target, origin) for source, target, origin in pairs]
        encoded = self.segmenter.pairs(pairs, rng)
        shorter = [0, *self.lengths]
        return {
            length: [pair for pair in encoded if low < max(map(len, pair)) <= length]
            for low, length in zip(shorter, self.lengths)
        }

    def take(self, waiting: dict[int, list[list[Encoded]]]) -> Iterator[Batch]:
        """The batches that are full, those of short and of long rows mixed."""
        full = [
            (length, waiting[length][first : first + size])
            for length in self.lengths
            for size in (self.tokens // length,)
            for first in range(0, len(waiting[length]) - size + 1, size)
        ]
        for length in self.lengths:
            done = sum(len(rows) for row_length, rows in full if row_length == length)
            del waiting[length][:done]
        random.Random(f"{self.seed} {self.epoch} {self.chunk}").shuffle(full)
        for length, rows in full:
            yield make_batch(rows, length, self.pad)
