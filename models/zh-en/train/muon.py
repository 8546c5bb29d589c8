"""Muon (Jordan 2024) for the matrices of layers, AdamW for embeddings, biases and norms.

A matrix moves along the orthogonal matrix next to its momentum, so that all directions learn at one speed. The steps have
AdamW's usual size (Liu et al. 2025): one learning rate serves both.
"""
import collections
from collections.abc import Iterable

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
STEP_SIZE = 0.2  # root mean square of what AdamW adds to a matrix at a learning rate of 1
A, B, C = 3.4445, -4.7750, 2.0315  # of x -> A x + B x^3 + C x^5, which brings singular values near 1 in five steps


def is_matrix(name: str, weight: Tensor) -> bool:
    return weight.dim() == 2 and not name.startswith("embedding")


def blocks(name: str, weight: Tensor) -> Tensor:
    """[N, short, long]: the matrices of a weight, which it shares its memory with. Keys and values are two."""
    short = min(weight.shape)
    if name.endswith("key_value.weight"):
        return weight.view(2, short, short)
    return (weight if len(weight) == short else weight.mT)[None]


def orthogonal(x: Tensor) -> Tensor:
    """[N, D, *]: near U V^T where x is U S V^T, by the iteration of Newton and Schulz. bf16 is precise enough."""
    x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(5):
        square = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=B, alpha=C), x, beta=A)
    return x


class Muon(torch.optim.AdamW):
    def __init__(self, weights: Iterable[tuple[str, nn.Parameter]], **options):
        """weights: by their names in the model; options: AdamW's"""
        weights = list(weights)
        self.matrices = [(name, weight) for name, weight in weights if is_matrix(name, weight)]
        self.momentum = [torch.zeros_like(weight) for _, weight in self.matrices]
        super().__init__([weight for name, weight in weights if not is_matrix(name, weight)], **options)

    @torch.no_grad()
    def step(self) -> None:
        super().step()
        gradients = [weight.grad for _, weight in self.matrices]
        torch._foreach_lerp_(self.momentum, gradients, 1 - MOMENTUM)
        directions = torch._foreach_lerp(gradients, self.momentum, MOMENTUM)  # Nesterov's
        alike = collections.defaultdict(list)
        for (name, weight), direction in zip(self.matrices, directions):
            target = blocks(name, weight)
            alike[target.shape[1:]].append((target, blocks(name, direction)))
        rate, decay = self.param_groups[0]["lr"], self.param_groups[0]["weight_decay"]
        for (_, long), group in alike.items():
            targets, parts = zip(*group)
            found = orthogonal(torch.cat(parts)).float().split([len(target) for target in targets])
            for target, direction in zip(targets, found):
                target.mul_(1 - rate * decay).add_(direction, alpha=-rate * STEP_SIZE * long**0.5)

    def state_dict(self) -> dict:
        return {**super().state_dict(), "momentum": self.momentum}

    def load_state_dict(self, state: dict) -> None:
        state = dict(state)
        torch._foreach_copy_(self.momentum, state.pop("momentum"))
        super().load_state_dict(state)
