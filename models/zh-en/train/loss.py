"""Cross-entropy with label smoothing, straight from the decoder's output.

The logits of a batch, [tokens, vocabulary], are by far the largest thing in a step. Here they exist in f32 for a few
rows at a time, small enough for the processor's cache; what stays are their gradients, made in the same pass.
"""
import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 256


class SmoothedCrossEntropy(torch.autograd.Function):
    """The sum over tokens of -log p, with p mixed from the label (1 - smoothing) and all words alike (smoothing)."""

    @staticmethod
    def forward(context, x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        """x [N, D], weight [V, D], bias [V], labels [N]."""
        total, z_grad = 0.0, x.new_empty(len(x), len(weight))
        for first in range(0, len(x), ROWS):
            rows, label = x[first : first + ROWS], labels[first : first + ROWS, None]
            z = F.linear(rows, weight, bias).float()
            log_sum = z.logsumexp(dim=1, keepdim=True)
            total += (log_sum - (1 - smoothing) * z.gather(1, label) - smoothing * z.mean(dim=1, keepdim=True)).sum()
            # d loss / d z = softmax(z) - the smoothed label
            z.sub_(log_sum).exp_().sub_(smoothing / len(weight))
            z_grad[first : first + ROWS] = z.scatter_add_(1, label, torch.full_like(log_sum, smoothing - 1))
        context.save_for_backward(x, weight, z_grad)
        return total

    @staticmethod
    def backward(context, grad: Tensor):
        x, weight, z_grad = context.saved_tensors
        return (z_grad @ weight) * grad, z_grad.t() @ (x * grad), z_grad.sum(dim=0) * grad, None, None


def cross_entropy(x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """x [B, T, D], labels [B, T], where -1 is padding."""
    real = labels >= 0
    return SmoothedCrossEntropy.apply(x[real], weight, bias, labels[real], smoothing)
