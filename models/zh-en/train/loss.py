"""Cross-entropy with label smoothing, straight from the decoder's output; with two passes also what they disagree in.

The logits of a batch, [tokens, vocabulary], are by far the largest thing in a step. Here they exist in f32 for some
rows at a time; what stays are their gradients, made in the same pass. All shapes are fixed: padding counts nothing, but
is not cut out, since asking a GPU how much there is would make it wait.
"""
import torch
import torch.nn.functional as F
from torch import Tensor

CPU_ROWS, GPU_ROWS = 256, 4096  # small enough for the processor's cache; large enough to fill a GPU


class SmoothedCrossEntropy(torch.autograd.Function):
    """The sum over tokens of -log p, with p mixed from the label (1 - smoothing) and all words alike (smoothing).

    x [P, N, D] are one or two passes over the same N tokens under different dropout. The loss is their mean; for two it
    grows by agreement / 4 * (KL(p1 || p2) + KL(p2 || p1)): R-Drop (Liang et al. 2021), halved as a whole.
    """

    @staticmethod
    def forward(context, x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float, agreement: float):
        """x [P, N, D], weight [V, D], bias [V], labels [N], where -1 is padding."""
        passes, tokens, vocabulary = x.shape[0], x.shape[1], weight.shape[0]
        total, z_grad = x.new_zeros((), dtype=torch.float32), x.new_empty(passes, tokens, vocabulary)
        rows = GPU_ROWS if x.is_cuda else CPU_ROWS
        for first in range(0, tokens, rows):
            label = labels[first : first + rows, None].expand(passes, -1, 1)
            real, label = label >= 0, label.clamp(min=0)
            log_p = F.linear(x[:, first : first + rows], weight, bias).float()
            log_p.sub_(log_p.logsumexp(dim=2, keepdim=True))
            loss = -(1 - smoothing) * log_p.gather(2, label) - smoothing * log_p.mean(dim=2, keepdim=True)
            more = disagreement(log_p) if passes == 2 else None
            # d loss / d logits = softmax - the smoothed label
            grad = log_p.exp_().sub_(smoothing / vocabulary)
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
    x: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float, passes: int = 1, agreement: float = 0.0
) -> Tensor:
    """x [P * B, T, D]: the passes one after the other, labels [B, T]."""
    x = x.reshape(passes, -1, x.shape[-1])
    return SmoothedCrossEntropy.apply(x, weight, bias, labels.flatten(), smoothing, agreement)
