"""Turns pairs into packed batches, in an order that only the seed and the place in it decide."""
import collections
import dataclasses
import functools
import math
import multiprocessing
import os
import random
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy
import sentencepiece
import torch
from torch import Tensor

from chinese import printed
from corpus import Pair
from symbols import vary
from weights import draw, expected

CHUNK = 4096  # pairs that are segmented and packed at a time: a run continues at a chunk's start
JOINED_SHARE = 0.1  # of short pairs that are put behind another
JOINED_CHARACTERS = 160  # of the target side, at most
SOURCE_SLACK = 1.03  # pairs differ in how long their sources are
OPEN_ROWS = 48  # rows that still take short pairs while they are packed
AHEAD = 3  # chunks for each process that are made before they are asked for
Encoded = tuple[list[int], list[int]]  # the ids of a pair's sides, each ended by END
END = 0

# What a batch holds, in this order. `pair` numbers a row's pairs from 1 (0: padding), `position` counts within a sentence.
SOURCE_FIELDS = "source", "source_pair", "source_position"
TARGET_FIELDS = (
    "target",  # what the decoder reads: <pad> first, then the label before
    "target_pair", "target_position",
    "label",  # -1: padding
)  # fmt: skip
Room = tuple[int, int]  # tokens of a row's source and target side


@dataclasses.dataclass
class Batch:
    """The fields beside each other in one tensor [rows, 3 * S + 4 * T]: one copy takes it to a GPU."""

    all: Tensor
    room: Room  # S, T

    def __getattr__(self, name: str) -> Tensor:
        """[rows, S] or [rows, T]"""
        source, target = self.room
        if name in SOURCE_FIELDS:
            return self.all.narrow(1, SOURCE_FIELDS.index(name) * source, source)
        if name in TARGET_FIELDS:
            return self.all.narrow(1, len(SOURCE_FIELDS) * source + TARGET_FIELDS.index(name) * target, target)
        raise AttributeError(name)

    def __len__(self) -> int:
        return len(self.all)

    def part(self, first: int, last: int) -> "Batch":
        return Batch(self.all[first:last], self.room)

    def times(self, passes: int) -> "Batch":
        """The same rows again behind the rows."""
        return Batch(self.all.repeat(passes, 1), self.room) if passes > 1 else self

    def to(self, device: str) -> "Batch":
        """Where and as what the model wants it. From pinned memory a GPU fetches it while this processor goes on."""
        on_gpu = device.startswith("cuda")
        rows = self.all.contiguous().pin_memory() if on_gpu else self.all
        return Batch(rows.to(device, non_blocking=on_gpu).long(), self.room)

    def tokens(self) -> int:
        return int((self.label >= 0).sum())


def fits(pair: Encoded, room: Room) -> bool:
    return len(pair[0]) <= room[0] and len(pair[1]) <= room[1]


def pack(pairs: list[Encoded], room: Room) -> list[list[Encoded]]:
    """Rows of pairs that together fit into the room, first fit; too long pairs are left out."""
    done, rows, free = [], [], []
    for pair in pairs:
        if not fits(pair, room):
            continue
        for i, left in enumerate(free):
            if fits(pair, left):
                rows[i].append(pair)
                free[i] = (left[0] - len(pair[0]), left[1] - len(pair[1]))
                break
        else:
            if len(rows) == OPEN_ROWS:
                fullest = min(range(OPEN_ROWS), key=lambda i: min(free[i]))
                done.append(rows.pop(fullest))
                free.pop(fullest)
            rows.append([pair])
            free.append((room[0] - len(pair[0]), room[1] - len(pair[1])))
    return done + rows


def make_rows(rows: list[list[Encoded]], room: Room, pad: int) -> numpy.ndarray:
    """[rows, 3 * S + 4 * T]: the fields of packed pairs."""
    out = numpy.zeros((len(rows), len(SOURCE_FIELDS) * room[0] + len(TARGET_FIELDS) * room[1]), numpy.int32)
    batch = Batch(torch.from_numpy(out), room)
    field = {name: getattr(batch, name).numpy() for name in SOURCE_FIELDS + TARGET_FIELDS}
    field["source"][:], field["target"][:], field["label"][:] = pad, pad, -1
    for r, row in enumerate(rows):
        s = t = 0
        for number, (source, target) in enumerate(row, 1):
            s_end, t_end = s + len(source), t + len(target)
            field["source"][r, s:s_end] = source
            field["source_pair"][r, s:s_end] = number
            field["source_position"][r, s:s_end] = range(len(source))
            field["target"][r, t + 1 : t_end] = target[:-1]
            field["target_pair"][r, t:t_end] = number
            field["target_position"][r, t:t_end] = range(len(target))
            field["label"][r, t:t_end] = target
            s, t = s_end, t_end
    return out


def make_batch(rows: list[list[Encoded]], room: Room, pad: int) -> Batch:
    return Batch(torch.from_numpy(make_rows(rows, room, pad)), room)


class Segmenter:
    """Text to ids. Some sides get a sampled segmentation (Kudo 2018): the model sees more spellings than the corpus has.
    Targets are first made what the model shall write: Chinese as it is printed."""

    def __init__(self, model: str, source_share: float = 0.0, target_share: float = 0.0, into_chinese: bool = False):
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=model)
        self.source_share, self.target_share = source_share, target_share
        self.finished = printed if into_chinese else str

    def side(self, texts: list[str], share: float, alpha: float, rng: random.Random) -> list[list[int]]:
        sampled = [rng.random() < share for _ in texts]
        ids = self.pieces.encode(texts, num_threads=1)
        for i in (i for i, is_sampled in enumerate(sampled) if is_sampled):
            ids[i] = self.pieces.encode(texts[i], enable_sampling=True, nbest_size=-1, alpha=alpha)
        return [sentence + [END] for sentence in ids]

    def pairs(self, pairs: list[Pair], rng: random.Random) -> list[Encoded]:
        sentencepiece.set_random_generator_seed(rng.getrandbits(32))
        sources = self.side([pair[0] for pair in pairs], self.source_share, 0.2, rng)
        targets = self.side([self.finished(pair[1]) for pair in pairs], self.target_share, 0.3, rng)
        return list(zip(sources, targets))


def as_typed(text: str, rng: random.Random) -> str:
    """A source as people type it: often without the last full stop, and English now and then without capitals, in capitals,
    or with other apostrophes or none."""
    if len(text) > 1 and text[-1] in "。." and rng.random() < 0.4:
        text = text[:-1]
    if not re.match("[A-Za-z]", text) or "⟦" in text or rng.random() < 0.85:
        return text
    if "'" in text:
        return text.replace("'", rng.choice(("’", "’", "")))
    is_short = text.count(" ") < 4
    return text.upper() if is_short and rng.random() < 0.5 else text.lower()


def varied(pair: Pair, rng: random.Random) -> Pair:
    """With symbols and other figures, whichever side is the Chinese one."""
    source, target, origin = pair
    if any("\u4e00" <= c <= "\u9fff" for c in source):
        return *vary(source, target, rng), origin
    target, source = vary(target, source, rng)
    return source, target, origin


def joined(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """Some whole sentences one behind the other: people write several in a line, corpora mostly hold them apart."""
    out: list[Pair] = []
    for pair in pairs:
        before = out[-1] if out else ("", "", "")
        whole = all(side and side[-1] in "。.!?" for one in (before, pair) for side in one[:2])
        if whole and len(before[1]) + len(pair[1]) < JOINED_CHARACTERS and rng.random() < JOINED_SHARE:
            source, target, origin = before
            space = "" if "\u4e00" <= pair[0][0] <= "\u9fff" else " "
            out[-1] = source + space + pair[0], target + " " + pair[1], origin
        else:
            out.append(pair)
    return out


class Chunks:
    """Packed rows by epoch and chunk, whoever makes them: nothing but these numbers and the seed decides what they hold.

    Pairs that fit go into rows of a short length, since attention's work grows with its square, the others into longer rows.
    The lengths are those of the target side; the source side gets as much more or less as the language needs, so that both
    fill.
    """

    def __init__(self, pairs: list[Pair], segmenter: Segmenter, lengths: list[int], pad: int, seed: int):
        self.all_pairs, self.segmenter, self.pad, self.seed = pairs, segmenter, pad, seed
        self.count = max(1, expected(pairs) // CHUNK)  # in an epoch
        self.rooms = source_rooms(self, sorted(lengths))

    @functools.lru_cache(maxsize=1)
    def drawn(self, epoch: int) -> list[Pair]:
        return draw(self.all_pairs, random.Random(f"{self.seed} {epoch}"))

    def encoded(self, epoch: int, chunk: int) -> list[Encoded]:
        """An epoch's last chunk is what is left."""
        rng = random.Random(f"{self.seed} {epoch} {chunk}")
        last = (chunk + 1) * CHUNK if chunk + 1 < self.count else None
        pairs = self.drawn(epoch)[chunk * CHUNK : last]
        pairs = joined([varied(pair, rng) for pair in pairs], rng)
        pairs = [(as_typed(source, rng), target, origin) for source, target, origin in pairs]
        return self.segmenter.pairs(pairs, rng)

    def rows(self, epoch: int, chunk: int) -> dict[Room, numpy.ndarray]:
        """By the room of the rows that each pair goes to."""
        by_room, rest = {}, self.encoded(epoch, chunk)
        for room in self.rooms:
            by_room[room] = make_rows(pack(rest, room), room, self.pad)
            rest = [pair for pair in rest if not fits(pair, room)]
        return by_room


def source_rooms(chunks: Chunks, lengths: list[int]) -> list[Room]:
    """Rows of these target lengths, and what the first chunk's sources need for each token of their targets, in eights."""
    sources, targets = (sum(map(len, side)) for side in zip(*chunks.encoded(0, 0)))
    return [(8 * math.ceil(SOURCE_SLACK * length * sources / targets / 8), length) for length in lengths]


chunks_of_process: Chunks  # a process that makes rows has its own copy, since the beginning


def begin_process(chunks: Chunks) -> None:
    global chunks_of_process
    chunks_of_process = chunks


def rows_of_process(epoch: int, chunk: int) -> dict[Room, numpy.ndarray]:
    return chunks_of_process.rows(epoch, chunk)


class Batches:
    """An endless stream of batches of `tokens` target tokens, padding included, or fewer: whole rows, as many for each of
    `parts`; `epoch` and `chunk` say where it stands.

    `processes` make rows ahead of time; with 0 they are made when they are asked for. Both give the same batches.
    """

    def __init__(self, chunks: Chunks, tokens: int, parts: int = 1, processes: int = 0):
        self.chunks, self.tokens, self.parts, self.processes = chunks, tokens, parts, processes
        self.epoch = self.chunk = 0
        if processes:
            # Forked, so that the pairs are shared; and now, before anything starts threads or a GPU.
            context = multiprocessing.get_context("fork")
            self.pool = ProcessPoolExecutor(processes, context, begin_process, (chunks,))
            self.pool.submit(os.getpid).result()

    def places(self) -> Iterator[tuple[int, int]]:
        epoch, chunk = self.epoch, self.chunk
        while True:
            while chunk < self.chunks.count:
                yield epoch, chunk
                chunk += 1
            epoch, chunk = epoch + 1, 0

    def rows(self) -> Iterator[dict[Room, numpy.ndarray]]:
        if not self.processes:
            for self.epoch, self.chunk in self.places():
                yield self.chunks.rows(self.epoch, self.chunk)
        places, jobs = self.places(), collections.deque()
        while True:
            while len(jobs) < AHEAD * self.processes:
                place = next(places)
                jobs.append((place, self.pool.submit(rows_of_process, *place)))
            (self.epoch, self.chunk), job = jobs.popleft()
            yield job.result()

    def __iter__(self) -> Iterator[Batch]:
        waiting: dict[Room, Tensor] = {}
        for by_room in self.rows():
            for room, rows in by_room.items():
                more = torch.from_numpy(rows)
                waiting[room] = torch.cat([waiting[room], more]) if room in waiting else more
            yield from self.take(waiting)

    def take(self, waiting: dict[Room, Tensor]) -> Iterator[Batch]:
        """The batches that are full, those of short and of long rows mixed."""
        full = []
        for room, rows in waiting.items():
            size = self.tokens // (room[1] * self.parts) * self.parts
            count = len(rows) // size
            full += [Batch(rows[i * size : (i + 1) * size], room) for i in range(count)]
            waiting[room] = rows[count * size :]
        random.Random(f"{self.chunks.seed} {self.epoch} {self.chunk}").shuffle(full)
        yield from full

    def close(self) -> None:
        if self.processes:
            self.pool.shutdown(cancel_futures=True)
