"""Cross-entropy with label smoothing, straight from the decoder's output; with two passes also what they disagree in.

The logits of a batch, [tokens, vocabulary], are by far the largest thing in a step. Here they exist in f32 for some
rows at a time; what stays are their gradients, made in the same pass. All shapes are fixed: padding counts nothing, but
is not cut out, since asking a GPU how much there is would make it wait.

On a CPU the logits are a third of a step's work, so a step may look at a part of the vocabulary only (Candidates).
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import Tensor

CPU_ROWS, GPU_ROWS = 256, 4096  # small enough for the processor's cache; large enough to fill a GPU


@dataclasses.dataclass(frozen=True)
class Objective:
    """What a step learns by: how much of a label goes to all words alike; how often each row passes under other dropout,
    once or twice; how much two passes may disagree."""

    smoothing: float
    passes: int = 1
    agreement: float = 0.0


@dataclasses.dataclass
class Candidates:
    """The words that a step looks at (Jean et al. 2015): the labels, the most frequent words, and some of the others, each
    of which stands for as many as were not drawn. So the sum over the vocabulary that softmax divides by is estimated
    without bias."""

    words: Tensor  # [C] ids
    log_weight: Tensor  # [C] of how many words each stands for
    labels: Tensor  # [N] places in `words`

    @staticmethod
    def draw(labels: Tensor, vocabulary: int, frequent: int, others: int, seed: int) -> "Candidates":
        """labels [N] with -1 for padding. The tokenizer numbers words by frequency, so the first are the frequent ones."""
        always = torch.zeros(vocabulary, dtype=torch.bool, device=labels.device)
        always[:frequent] = True
        always[labels.clamp(min=0)] = True
        rest = (~always).nonzero()[:, 0]
        generator = torch.Generator(labels.device).manual_seed(seed)
        drawn = rest[torch.randperm(len(rest), generator=generator, device=labels.device)[:others]]
        words = torch.cat([always.nonzero()[:, 0], drawn])
        log_weight = torch.zeros(len(words), device=labels.device)
        if len(drawn):
            log_weight[-len(drawn) :] = math.log(len(rest) / len(drawn))
        place = torch.full((vocabulary,), -1, device=labels.device)
        place[words] = torch.arange(len(words), device=labels.device)
        return Candidates(words, log_weight, torch.where(labels >= 0, place[labels.clamp(min=0)], -1))


class SmoothedCrossEntropy(torch.autograd.Function):
    """The sum over tokens of -log p, with p mixed from the label (1 - smoothing) and all words alike (smoothing).

    x [P, N, D] are one or two passes over the same N tokens under different dropout. The loss is their mean; for two it
    grows by agreement / 4 * (KL(p1 || p2) + KL(p2 || p1)): R-Drop (Liang et al. 2021), halved as a whole.
    """

    @staticmethod
    def forward(context, x: Tensor, weight: Tensor, bias: Tensor, log_weight: Tensor, labels: Tensor, objective: Objective):
        """x [P, N, D], weight [V, D], bias and log_weight [V], labels [N], where -1 is padding. A word counts as
        exp(log_weight) words."""
        passes, tokens, words = x.shape[0], x.shape[1], weight.shape[0]
        total, z_grad = x.new_zeros((), dtype=torch.float32), x.new_empty(passes, tokens, words)
        smoothing, agreement = objective.smoothing, objective.agreement
        smooth = log_weight.softmax(dim=0) * smoothing  # what each word gets of it
        smooth_weight = smooth @ log_weight
        weighted_bias = (bias + log_weight).to(bias.dtype)
        rows = GPU_ROWS if x.is_cuda else CPU_ROWS
        for first in range(0, tokens, rows):
            label = labels[first : first + rows, None].expand(passes, -1, 1)
            real, label = label >= 0, label.clamp(min=0)
            log_p = F.linear(x[:, first : first + rows], weight, weighted_bias).float()
            log_p.sub_(log_p.logsumexp(dim=2, keepdim=True))
            loss = -(1 - smoothing) * log_p.gather(2, label) - (log_p @ smooth - smooth_weight)[:, :, None]
            more = disagreement(log_p) if passes == 2 else None
            # d loss / d logits = softmax - the smoothed label
            grad = log_p.exp_().sub_(smooth)
            grad.scatter_add_(2, label, torch.full_like(loss, smoothing - 1))
            if more:
                loss = loss + agreement / 4 * more[0]
                grad.add_(more[1], alpha=agreement / 2)
            total += (loss * real).sum()
            z_grad[:, first : first + rows] = grad.mul_(real)
        context.save_for_backward(x, weight, z_grad)
        return total / passes

    @staticmethod
    def backward(context, grad: Tensor):
        x, weight, z_grad = context.saved_tensors
        grad = grad / len(x)
        x, flat = x.flatten(0, 1), z_grad.flatten(0, 1)
        x_grad = (flat @ weight).view(z_grad.shape[:2] + weight.shape[1:])
        return x_grad * grad, flat.t() @ (x * grad), flat.sum(dim=0) * grad, None, None, None


def disagreement(log_p: Tensor) -> tuple[Tensor, Tensor]:
    """Of log-probabilities [2, N, V]: KL both ways summed, [1, N, 1], and its derivative by the logits, [2, N, V]."""
    p, difference = log_p.exp(), log_p - log_p.flip(0)  # of each pass from the other
    own = (p * difference).sum(dim=2, keepdim=True)  # KL(p1 || p2), KL(p2 || p1)
    return own.sum(dim=0, keepdim=True), p * (difference - own) + p - p.flip(0)


def cross_entropy(
    x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, objective: Objective, candidates: Candidates | None = None
) -> Tensor:
    """x [P * B, T, D]: the passes one after the other, labels [B, T]. With candidates, which were drawn for these labels,
    an estimate of what it is without."""
    x, labels = x.reshape(objective.passes, -1, x.shape[-1]), labels.flatten()
    log_weight = torch.zeros_like(bias, dtype=torch.float32)
    if candidates:
        weight, bias = (every.index_select(0, candidates.words) for every in (weight, bias))
        log_weight, labels = candidates.log_weight, candidates.labels
    return SmoothedCrossEntropy.apply(x, weight, bias, log_weight, labels, objective)
