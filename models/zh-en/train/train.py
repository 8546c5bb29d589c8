"""Trains a model: train.py DATA OUT [options]. It continues from OUT/last.pt where that exists; kill it whenever you
like.

The learning rate rises, stays, and falls to zero over the last COOLDOWN steps before STEPS; an average of the weights
(EMA) is kept beside them. So a run whose length is not known yet gets a large --steps, and later a nearer one. With
--minutes the clock decides instead, over all starts of a run together: it falls over the last --cooldown-share of that
time.

With --rdrop each pair passes twice under different dropout, and what the two passes disagree in is part of the loss
(Liang et al. 2021): it costs twice the time and makes more of little text.

On a CPU each worker thread takes a part of each batch, alone on its core: bf16 products through AMX are then so fast
that waiting for other threads inside each of them would take longer than the work. The master weights are f32, the
workers read a bf16 copy; an f32 one on processors without products in bf16.
"""
import argparse
import collections
import ctypes
import dataclasses
import math
import os
import pathlib
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

from batches import Batch, Batches, Chunks, Room, Segmenter, make_batch, pack
from corpus import Pair, load, swapped
from loss import Candidates, Objective, cross_entropy
from model import Dropout, Marian, Shape, as_bias, same_pair
from muon import Muon
from weights import UNSCORED

EMA_EVERY = 8  # steps
WATCH_EVERY = 200  # steps at least: beside other programs a run may do few of them between two saves
PRECISIONS = {"bf16": torch.bfloat16, "f32": torch.float32}


def keep_freed_memory() -> None:
    """Tells glibc not to give large blocks back: taking them again, page by page, costs a third of a step's time."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        m_trim_threshold, m_top_pad, m_mmap_max, m_arena_max = -1, -2, -4, -8
        for option, value in ((m_mmap_max, 0), (m_trim_threshold, 2**31 - 1), (m_top_pad, 2**27), (m_arena_max, 1)):
            libc.mallopt(option, value)


def decoded(model: Marian, batch: Batch, drop: Dropout) -> Tensor:
    """What the logits are made from: [B, T, D]."""
    dtype = model.logit_bias.dtype
    among_source = as_bias(same_pair(batch.source_pair, batch.source_pair), dtype)
    to_source = as_bias(same_pair(batch.target_pair, batch.source_pair), dtype)
    earlier = batch.target_position[:, None, :, None] >= batch.target_position[:, None, None, :]
    among_target = as_bias(same_pair(batch.target_pair, batch.target_pair) & earlier, dtype)
    memory = model.encode(batch.source, batch.source_position, among_source, drop)
    return model.decode(batch.target, batch.target_position, among_target, memory, to_source, drop)


def loss_sum(
    model: Marian, batch: Batch, drop: Dropout, objective: Objective, candidates: Candidates | None = None
) -> Tensor:
    batch = batch.times(objective.passes)
    x = decoded(model, batch, drop)
    labels = batch.label[: len(batch) // objective.passes]
    return cross_entropy(x, model.embedding.weight, model.logit_bias, labels, objective, candidates)


def join_gradients(weight: nn.Parameter, parts: tuple[Tensor, ...]) -> None:
    """Of a batch's parts, in f32."""
    weight.grad = sum((part.float() for part in parts[1:]), parts[0].float())


def write_checkpoint(path: pathlib.Path, state: dict) -> None:
    """It appears complete or not at all."""
    partial = path.with_suffix(".partial")
    with open(partial, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


class MaskPool:
    """Random dropout masks, made once; each use takes another stretch."""

    def __init__(self, shape: Shape, tokens: Room, rate: float, like: Tensor):
        """tokens: of a part of a batch at most, on each side"""
        masks = tokens[0] * (1 + 2 * shape.encoder_layers) + tokens[1] * (1 + 3 * shape.decoder_layers)
        self.used = masks * shape.d_model
        kept = torch.rand(self.used + (1 << 22), generator=torch.Generator().manual_seed(0)) >= rate
        self.pool = kept.to(like.device, like.dtype) / (1 - rate)

    def draw(self, rng: random.Random) -> Dropout:
        first = rng.randrange(len(self.pool) - self.used)
        return Dropout(self.pool[first : first + self.used])


class Trainer:
    def __init__(self, shape: Shape, options: argparse.Namespace, rooms: list[Room]):
        self.options, self.shape, self.on_gpu = options, shape, options.device != "cpu"
        self.objective = Objective(options.smoothing, 2 if options.rdrop > 0 else 1, options.rdrop)
        torch.manual_seed(options.seed)
        self.master = Marian(shape).to(options.device)
        # Two copies, in bf16 or f32: of the weights, to learn with, and of their average, to see how good they are.
        self.worker_model, self.average_model = (Marian(shape).to(options.device, options.precision) for _ in range(2))
        self.ema = [p.detach().clone() for p in self.master.parameters()]
        adam = {"lr": options.rate, "betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": 0.01, "fused": True}
        if options.optimizer == "muon":
            self.optimizer = Muon(self.master.named_parameters(), **adam)
        else:
            self.optimizer = torch.optim.AdamW(self.master.parameters(), **adam)
        self.step, self.seconds_before, self.started = 0, 0.0, time.monotonic()
        self.threads = ThreadPoolExecutor(options.workers, initializer=torch.set_num_threads, initargs=(1,))
        self.map = self.threads.map if options.workers > 1 else map
        if not self.on_gpu:
            target = self.objective.passes * options.tokens // options.parts
            tokens = max(math.ceil(target * source_room / target_room) for source_room, target_room in rooms), target
            self.masks = MaskPool(shape, tokens, options.dropout, self.worker_model.logit_bias)
        if options.compile:
            torch._dynamo.config.cache_size_limit = 64  # layers share their code: two kinds times the shapes of batches
            for layer in (*self.worker_model.encoder, *self.worker_model.decoder):
                layer.compile(dynamic=False)

    def seconds(self) -> float:
        """That this run has taken, with what it took before it was started again."""
        return self.seconds_before + time.monotonic() - self.started

    def cooldowns_left(self) -> float:
        """How much of the run is left, in lengths of its cooldown."""
        if self.options.minutes:
            return (1 - self.seconds() / (60 * self.options.minutes)) / self.options.cooldown_share
        return (self.options.steps - self.step) / self.options.cooldown

    def is_done(self) -> bool:
        return self.cooldowns_left() <= 0

    def rate(self) -> float:
        """The learning rate at this step."""
        return self.options.rate * min(1.0, (self.step + 1) / self.options.warmup, max(0.0, self.cooldowns_left()))

    def dropout(self, rng: random.Random) -> Dropout:
        if self.options.dropout == 0:
            return Dropout()
        if self.on_gpu:
            torch.manual_seed(rng.getrandbits(32))
            return Dropout(rate=self.options.dropout)
        return self.masks.draw(rng)

    def candidates(self, part: Batch, rng: random.Random) -> Candidates | None:
        """A step that looks at a part of the vocabulary looks half of it up among the frequent words."""
        half = self.options.candidates // 2
        if half == 0:
            return None
        return Candidates.draw(part.label.flatten(), self.shape.vocabulary, half, half, rng.getrandbits(32))

    def gradients(self, part: Batch, tokens: int, rng: random.Random) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The loss of a part of a batch of `tokens` tokens, and its gradients."""
        part = part.to(self.options.device)
        candidates = self.candidates(part, rng)
        loss = loss_sum(self.worker_model, part, self.dropout(rng), self.objective, candidates) / tokens
        return loss.detach(), torch.autograd.grad(loss, tuple(self.worker_model.parameters()))

    def descend(self, gradients_of: Callable, parts: list[tuple]) -> tuple[Tensor, ...]:
        """Moves the weights against the gradients of all parts, of which each worker takes some; returns their losses.
        gradients_of takes what a part is, and returns its loss and its gradients."""
        with torch.no_grad():
            torch._foreach_copy_(list(self.worker_model.parameters()), list(self.master.parameters()))
        losses, gradients = zip(*self.map(gradients_of, *zip(*parts)))
        list(self.map(join_gradients, self.master.parameters(), zip(*gradients)))
        self.master.embedding.weight.grad[self.shape.pad] = 0  # the start token stays a zero embedding
        nn.utils.clip_grad_norm_(self.master.parameters(), 1.0)
        self.optimizer.param_groups[0]["lr"] = self.rate()
        self.optimizer.step()
        return losses

    def learn(self, batch: Batch) -> Tensor:
        """One step; returns the loss per token."""
        tokens, rng = batch.tokens(), random.Random(self.step)
        size = len(batch) // self.options.parts
        parts = [(batch.part(i, i + size), tokens, random.Random(rng.random())) for i in range(0, len(batch), size)]
        losses = self.descend(self.gradients, parts)
        self.step += 1
        if self.step % EMA_EVERY == 0:
            self.average()
        return sum(losses)

    @torch.no_grad()
    def average(self) -> None:
        decay = min(self.options.ema**EMA_EVERY, self.step / (self.step + 10 * EMA_EVERY))
        torch._foreach_lerp_(self.ema, list(self.master.parameters()), 1 - decay)

    @torch.no_grad()
    def mean_losses(self, batches: dict[str, Batch]) -> str:
        """Of each batch its name and its loss per token, by the averaged weights and without smoothing."""
        torch._foreach_copy_(list(self.average_model.parameters()), self.ema)
        return ", ".join(f"{name} {self.mean_loss(batch):.3f}" for name, batch in batches.items())

    def mean_loss(self, batch: Batch) -> float:
        parts = [batch.part(first, first + 8) for first in range(0, len(batch), 8)]
        return sum(self.map(self.evaluate, parts)) / batch.tokens()

    @torch.no_grad()
    def evaluate(self, part: Batch) -> float:
        return float(loss_sum(self.average_model, part.to(self.options.device), Dropout(), Objective(smoothing=0.0)))

    def save(self, path: pathlib.Path, stream: Batches) -> None:
        names = [name for name, _ in self.master.named_parameters()]
        state = {
            "shape": dataclasses.asdict(self.shape),
            "step": self.step,
            "seconds": self.seconds(),
            "epoch": stream.epoch,
            "chunk": stream.chunk,
            "weights": dict(zip(names, (p.detach() for p in self.master.parameters()))),
            "ema": dict(zip(names, self.ema)),
            "optimizer": self.optimizer.state_dict(),
        }
        write_checkpoint(path, state)

    def resume(self, path: pathlib.Path, stream: Batches) -> None:
        state = torch.load(path, map_location=self.options.device, weights_only=True)
        if state["shape"] != dataclasses.asdict(self.shape):
            raise SystemExit(f"{path}: a model of another shape: {state['shape']}")
        self.master.load_state_dict(state["weights"])
        self.ema = [state["ema"][name] for name, _ in self.master.named_parameters()]
        if state["optimizer"]:  # begin.py has none
            self.optimizer.load_state_dict(state["optimizer"])
        # The rest of the chunk in which the run stopped is passed over, not learnt twice.
        self.step, stream.epoch, stream.chunk = state["step"], state["epoch"], state["chunk"] + 1
        self.seconds_before = state["seconds"]


def pairs_of(options: argparse.Namespace, name: str) -> list[Pair]:
    pairs = load(options.data / name)
    return swapped(pairs) if options.reverse else pairs


def alike(pairs: list[Pair], others: list[Pair]) -> list[Pair]:
    """As many of `pairs` from each origin as `others` have of it, drawn by chance."""
    by_origin = collections.defaultdict(list)
    for pair in random.Random(0).sample(pairs, len(pairs)):
        by_origin[pair[2]].append(pair)
    return [by_origin[origin].pop() for _, _, origin in others if by_origin[origin]]


def watched(options: argparse.Namespace, train: list[Pair], pad: int) -> dict[str, Batch]:
    """What the run's progress is seen by. Where the two part, the model learns its text by heart: more dropout helps."""
    dev = [pair for pair in pairs_of(options, "dev.tsv") if pair[2] not in UNSCORED][::4]
    segmenter, room = Segmenter(str(options.data / "spm.model"), into_chinese=options.reverse), (max(options.lengths),) * 2

    def batch(pairs: list[Pair]) -> Batch:
        return make_batch(pack(segmenter.pairs(pairs, random.Random(0)), room), room, pad)

    return {"dev loss": batch(dev), "of training text": batch(alike(train, dev))}


def run(trainer: Trainer, stream: Batches, watch: dict[str, Batch]) -> None:
    options = trainer.options
    checkpoint = options.out / "last.pt"
    if checkpoint.exists():
        trainer.resume(checkpoint, stream)
    started = last_log = last_save = time.monotonic()
    first_step, tokens, losses = trainer.step, 0, []
    watched_at = first_step
    for batch in stream:
        if trainer.is_done():
            break
        losses.append(trainer.learn(batch))
        tokens += batch.tokens()
        now = time.monotonic()
        if trainer.step % options.log_every == 0:
            loss = float(sum(losses)) / len(losses)  # on a GPU this waits for it
            now = time.monotonic()
            minutes_left = (options.steps - trainer.step) * (now - started) / (trainer.step - first_step) / 60
            if options.minutes:
                minutes_left = options.minutes - trainer.seconds() / 60
            print(
                f"step {trainer.step} epoch {stream.epoch} loss {loss:.3f} rate {trainer.rate():.1e} "
                f"{tokens / (now - last_log):.0f} tokens/s, {minutes_left:.1f} min left",
                flush=True,
            )
            last_log, tokens, losses = now, 0, []
        if now - last_save > 60 * options.save_minutes:
            trainer.save(checkpoint, stream)
            due = trainer.step - watched_at >= WATCH_EVERY
            watched_at = trainer.step if due else watched_at
            print(f"step {trainer.step} saved" + (f", {trainer.mean_losses(watch)}" if due else ""), flush=True)
            last_save = time.monotonic()
            last_log += last_save - now
    stream.close()
    trainer.save(checkpoint, stream)
    print(f"step {trainer.step} done, {trainer.mean_losses(watch)}", flush=True)


def arguments(description: str) -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = arguments.add_argument
    add("data", type=pathlib.Path, help="what corpus.py and tokenizer.py wrote")
    add("out", type=pathlib.Path, help="where checkpoints go")
    for field in dataclasses.fields(Shape)[1:]:
        add(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    add("--steps", type=int, default=100_000)
    add("--cooldown", type=int, default=6_000, help="steps at the end over which the learning rate falls")
    add("--minutes", type=float, help="how long the run takes, instead of --steps and --cooldown")
    add("--cooldown-share", type=float, default=0.3, help="of --minutes")
    add("--warmup", type=int, default=800)
    add("--rate", type=float, default=1.5e-3, help="the highest learning rate")
    add("--tokens", type=int, default=2048, help="target tokens a batch")
    add("--lengths", type=int, nargs="+", default=[96, 144], help="target tokens of a row: a pair goes to the shortest")
    add("--precision", choices=PRECISIONS, help="of products (default: bf16 where the processor has instructions for it)")
    add("--dropout", type=float, default=0.1)
    add("--rdrop", type=float, default=0.0, help="weight of the disagreement of two passes, such as 5; 0: one pass")
    add("--optimizer", choices=("adamw", "muon"), default="adamw", help="muon: muon.py; a run keeps the one it began with")
    add("--smoothing", type=float, default=0.1)
    add("--candidates", type=int, default=0, help="words that a step looks at besides the labels; 0: all")
    add("--ema", type=float, default=0.9995)
    add("--source-sampling", type=float, default=0.4)
    add("--target-sampling", type=float, default=0.1)
    add("--reverse", action="store_true", help="from the target language to the source language, Chinese as it is printed")
    add("--device", default="cpu", help="cpu or cuda")
    add("--compile", action="store_true", help="let PyTorch compile the layers; for a GPU")
    add("--processes", type=int, default=0, help="processes that segment and pack ahead of time; for a GPU all cores")
    add("--workers", type=int, help="threads (default: one a core; with a GPU one)")
    add("--parts", type=int, help="parts of a batch that the workers share (default: one each)")
    add("--save-minutes", type=float, default=5)
    add("--log-every", type=int, default=100)
    add("--seed", type=int, default=0)
    return arguments


def parse(arguments: argparse.ArgumentParser) -> argparse.Namespace:
    options = arguments.parse_args()
    has_bf16 = options.device != "cpu" or torch.cpu._is_avx512_bf16_supported()
    options.precision = PRECISIONS[options.precision or ("bf16" if has_bf16 else "f32")]
    options.workers = options.workers or (os.cpu_count() if options.device == "cpu" else 1)
    options.parts = options.parts or options.workers
    if options.tokens < max(options.lengths) * options.parts:
        arguments.error(f"--tokens must be at least a row of {max(options.lengths)} for each of {options.parts} parts")
    return options


def train(options: argparse.Namespace, make: Callable[[Shape, list[Room]], Trainer]) -> None:
    """make: the trainer of a shape, for rows of these rooms."""
    if options.device == "cpu":
        keep_freed_memory()
    torch.set_num_threads(options.workers)  # for what this thread does between steps; the workers' own are alone
    options.out.mkdir(parents=True, exist_ok=True)
    segmenter = Segmenter(str(options.data / "spm.model"), options.source_sampling, options.target_sampling, options.reverse)
    shape = Shape(len(segmenter.pieces) + 1, *(getattr(options, field.name) for field in dataclasses.fields(Shape)[1:]))
    chunks = Chunks(pairs_of(options, "train.tsv"), segmenter, options.lengths, shape.pad, options.seed)
    stream = Batches(chunks, options.tokens, options.parts, options.processes)
    trainer = make(shape, chunks.rooms)
    parameters = sum(p.numel() for p in trainer.master.parameters())
    print(f"{parameters / 1e6:.2f} M parameters, {len(chunks.all_pairs)} pairs", flush=True)
    run(trainer, stream, watched(options, chunks.all_pairs, shape.pad))


def main() -> None:
    options = parse(arguments(__doc__))
    train(options, lambda shape, rooms: Trainer(shape, options, rooms))


if __name__ == "__main__":
    main()
