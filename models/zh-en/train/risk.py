"""Minimum risk training (Shen et al. 2016, Edunov et al. 2018): risk.py DATA OUT PAIRS.tsv NBEST [options of train.py].

It continues OUT/last.pt, which ordinary training has finished. Each ordinary step goes together with one on hypotheses
that the model has found (nbest.py tells what PAIRS.tsv and NBEST are): those that are nearer to their pair's target become
likelier, the others less likely. So what a model says becomes better, with a beam and even more without, while the loss
on what people wrote hardly changes.
"""
import dataclasses
import pathlib
import random
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

import nbest
import train
from batches import Batch, Encoded, Segmenter, make_rows, pack
from loss import CPU_ROWS, GPU_ROWS
from model import Dropout

ROOM = (136, 144)  # tokens of a row's sides: hypotheses of one source stand in one row
PAIRS = 24  # of a row, at most
TELLING = 0.04  # between the costs of the best and the worst hypothesis, at least


@dataclasses.dataclass
class Choice:
    """Hypotheses for one source. Its lengths are those of all of them, as pack wants."""

    pairs: list[Encoded]
    costs: list[float]

    def __getitem__(self, side: int) -> range:
        return range(sum(len(pair[side]) for pair in self.pairs))


class ExpectedCost(torch.autograd.Function):
    """The sum over choices of the expected cost of their hypotheses, each as probable as e^(sharpness * log-probability per
    token), among those of its choice."""

    @staticmethod
    def forward(context, x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, pair: Tensor, choice: Tensor,
                cost: Tensor, sharpness: float):  # fmt: skip
        """x [N, D], weight [V, D], bias [V], labels [N], -1 for padding; pair [N]: the number of each token's hypothesis;
        choice, cost [P]: of each hypothesis."""
        z_grad, log_p = x.new_empty(len(x), len(weight)), torch.zeros(len(x), device=x.device)
        rows = GPU_ROWS if x.is_cuda else CPU_ROWS
        for first in range(0, len(x), rows):
            label = labels[first : first + rows, None].clamp(min=0)
            every = F.linear(x[first : first + rows], weight, bias).float()
            every.sub_(every.logsumexp(dim=1, keepdim=True))
            log_p[first : first + rows] = every.gather(1, label)[:, 0]
            grad = every.exp_().neg_()  # d log p / d logits = the label - softmax
            z_grad[first : first + rows] = grad.scatter_add_(1, label, torch.ones_like(label, dtype=grad.dtype))
        real = (labels >= 0).float()

        def total(values: Tensor, of: Tensor) -> Tensor:
            return torch.zeros_like(cost).index_add_(0, of, values)

        score = total(log_p * real, pair) / total(real, pair).clamp(min=1)
        most = torch.full_like(cost, -torch.inf).scatter_reduce_(0, choice, score, "amax")
        share = (sharpness * (score - most[choice])).exp()
        share = share / total(share, choice)[choice]
        expected = total(share * cost, choice)
        # By a token's log-probability: as if each hypothesis weighed by its length, like the loss of an ordinary step.
        slope = sharpness * share * (cost - expected[choice])
        z_grad.mul_((slope[pair] * real)[:, None].to(z_grad.dtype))
        context.save_for_backward(x, weight, z_grad)
        return expected.sum()

    @staticmethod
    def backward(context, grad: Tensor):
        x, weight, z_grad = context.saved_tensors
        return z_grad @ weight * grad, z_grad.t() @ x * grad, z_grad.sum(dim=0) * grad, *[None] * 5


class Choices:
    """Endless rows of choices, with the numbers of their hypotheses' choices and costs: [rows, PAIRS + 1] each, as a batch
    numbers the pairs of a row, from 1."""

    def __init__(self, found: list[tuple[str, list[str], list[float]]], segmenter: Segmenter, rows: int, pad: int):
        self.found, self.segmenter, self.rows, self.pad = found, segmenter, rows, pad

    def packed(self, rng: random.Random) -> Iterator[list[Choice]]:
        while True:
            rng.shuffle(self.found)
            for first in range(0, len(self.found), 1024):
                part = self.found[first : first + 1024]
                pairs = iter(self.segmenter.pairs([(source, text, "") for source, texts, _ in part for text in texts], rng))
                choices = [Choice([next(pairs) for _ in texts], costs) for _, texts, costs in part]
                for row in pack(choices, ROOM):
                    while row:
                        fits = [sum(len(choice.pairs) for choice in row[:i]) <= PAIRS for i in range(1, len(row) + 1)]
                        yield row[: sum(fits)]
                        row = row[sum(fits) :]

    def batches(self, seed: int) -> Iterator[tuple[Batch, Tensor, Tensor]]:
        packed = self.packed(random.Random(seed))
        while True:
            rows = [next(packed) for _ in range(self.rows)]
            pairs = [[pair for choice in row for pair in choice.pairs] for row in rows]
            numbers, costs = torch.arange(PAIRS + 1).repeat(self.rows, 1), torch.zeros(self.rows, PAIRS + 1)
            for r, row in enumerate(rows):
                at = 1
                for choice in row:
                    end = at + len(choice.costs)
                    numbers[r, at:end], costs[r, at:end] = at, torch.tensor(choice.costs)
                    at = end
            yield Batch(torch.from_numpy(make_rows(pairs, ROOM, self.pad)), ROOM), numbers, costs


class RiskTrainer(train.Trainer):
    def __init__(self, shape, options, rooms, choices: Choices):
        super().__init__(shape, options, rooms)
        self.choices, self.batches, self.costs = choices, None, []

    def risk_gradients(self, part: Batch, numbers: Tensor, costs: Tensor, rng: random.Random):
        part, device = part.to(self.options.device), self.options.device
        candidates, model = self.candidates(part, rng), self.worker_model
        x = train.decoded(model, part, Dropout()).flatten(0, 1)
        weight, bias, labels = model.embedding.weight, model.logit_bias, part.label.flatten()
        if candidates:
            weight, bias = (every.index_select(0, candidates.words) for every in (weight, bias))
            bias, labels = (bias + candidates.log_weight).to(bias.dtype), candidates.labels
        place = torch.arange(len(part), device=device)[:, None] * (PAIRS + 1)
        pair, choice = (part.target_pair + place).flatten(), (numbers.to(device) + place).flatten()
        expected = ExpectedCost.apply(
            x, weight, bias, labels, pair, choice, costs.to(device).flatten(), self.options.sharpness
        )
        per_token = self.options.risk * expected / part.tokens() / self.options.parts
        return expected.detach(), torch.autograd.grad(per_token, tuple(model.parameters()))

    def learn(self, batch: Batch) -> Tensor:
        self.batches = self.batches or self.choices.batches(self.step)  # others after each start
        choices, numbers, costs = next(self.batches)
        size, rng = len(choices) // self.options.parts, random.Random(f"risk {self.step}")
        parts = [
            (choices.part(i, i + size), numbers[i : i + size], costs[i : i + size], random.Random(rng.random()))
            for i in range(0, len(choices), size)
        ]
        self.costs.append(float(sum(self.descend(self.risk_gradients, parts))) / len(choices))
        if len(self.costs) == self.options.log_every:
            print(f"expected cost of a row {sum(self.costs) / len(self.costs):.4f}", flush=True)
            self.costs = []
        return super().learn(batch)


def telling(pairs: pathlib.Path, found: pathlib.Path) -> list[tuple[str, list[str], list[float]]]:
    """Sources with hypotheses of which some are better than others."""
    scored = ((source, texts, nbest.costs(texts, target)) for (source, target, _), texts in nbest.read(pairs, found))
    return [(source, texts, costs) for source, texts, costs in scored if max(costs) - min(costs) >= TELLING]


def main() -> None:
    arguments = train.arguments(__doc__)
    arguments.add_argument("pairs", type=pathlib.Path)
    arguments.add_argument("nbest", type=pathlib.Path)
    arguments.add_argument("--sharpness", type=float, default=10.0)
    arguments.add_argument("--risk", type=float, default=1.0, help="its weight beside the ordinary loss")
    arguments.add_argument("--rows", type=int, default=32, help="of 144 tokens, in a step on hypotheses")
    options = train.parse(arguments)
    if options.reverse:
        arguments.error("--reverse: nbest.py compares words between spaces, which Chinese has not")
    if options.rows % options.parts:
        arguments.error(f"--rows must be a multiple of the {options.parts} parts")
    found = telling(options.pairs, options.nbest)
    print(f"{len(found)} sources with hypotheses", flush=True)
    if not found:
        raise SystemExit(f"{options.nbest}: no source has hypotheses of which some are better than others")

    def make(shape, rooms):
        segmenter = Segmenter(str(options.data / "spm.model"))  # as the model itself spells, and all alike
        return RiskTrainer(shape, options, rooms, Choices(found, segmenter, options.rows, shape.pad))

    train.train(options, make)


if __name__ == "__main__":
    main()
