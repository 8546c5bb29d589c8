"""The Marian Transformer in PyTorch: post-norm, swish, sinusoidal positions, one embedding table for both sides and the
output.

Sentences are packed: a row holds several pairs one after the other, so that every batch has the same shape and little
padding. A token carries the number of its pair within the row (0 is padding) and its position in the sentence;
attention sees tokens of the same pair only.

Shapes: B rows, S source and T target tokens a row, D = d_model, H heads of 64.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

HEAD_SIZE = 64  # what the AMX and AVX-512 kernels like best; Marian models have it too
MAX_POSITIONS = 512


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a checkpoint must know to build its model again."""

    vocabulary: int  # SentencePiece pieces and <pad>, which comes last
    d_model: int = 256
    ffn: int = 1024
    encoder_layers: int = 6
    decoder_layers: int = 2

    @property
    def pad(self) -> int:
        return self.vocabulary - 1


def sinusoids(positions: int, d_model: int) -> Tensor:
    """[positions, D] as Hugging Face's Marian has it: sines in the first half, cosines in the second."""
    rate = torch.pow(10000, -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


class Dropout:
    """Drops at `rate`, or deals out ready masks (0, or 1 / (1 - rate)): on a CPU drawing fresh random numbers takes a
    fifth of a step's time. `masks` is a stretch of a pool, another one at each step. Without either nothing is dropped.
    """

    def __init__(self, masks: Tensor | None = None, rate: float = 0.0):
        self.masks, self.rate, self.used = masks, rate, 0

    def __call__(self, x: Tensor) -> Tensor:
        if self.masks is None:
            return F.dropout(x, self.rate) if self.rate > 0 else x
        first, self.used = self.used, self.used + x.numel()
        return x * self.masks[first : self.used].view(x.shape)


class Attention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        """[B, L, D] to [B, H, L, 64]."""
        return x.unflatten(-1, (-1, HEAD_SIZE)).transpose(1, 2)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        k, v = self.key_value(memory).chunk(2, dim=-1)
        return self.split(k), self.split(v)

    def forward(self, x: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        """x [B, T, D] looks at memory [B, S, D]; bias [B, 1, T, S] is 0 where it may and very negative where not."""
        return self.attend(x, *self.keys_values(memory), bias)

    def attend(self, x: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        """x [B, T, D]; k, v [B, H, S, 64]."""
        q = self.split(self.query(x) * HEAD_SIZE**-0.5)
        # Written out: for short rows on a CPU this is twice as fast, forward and back, as PyTorch's fused kernel; on a
        # GPU a row's scores are hardly more bytes than its queries.
        weights = (q @ k.transpose(2, 3) + bias).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """An encoder layer, or a decoder layer, which also looks at the encoder's output."""

    def __init__(self, shape: Shape, crosses: bool):
        super().__init__()
        d = shape.d_model
        self.self_attention, self.self_norm = Attention(d), nn.LayerNorm(d)
        if crosses:
            self.cross_attention, self.cross_norm = Attention(d), nn.LayerNorm(d)
        self.up, self.down, self.ffn_norm = nn.Linear(d, shape.ffn), nn.Linear(shape.ffn, d), nn.LayerNorm(d)

    def forward(
        self, x: Tensor, bias: Tensor, drop: Dropout, memory: Tensor | None = None, memory_bias: Tensor | None = None
    ) -> Tensor:
        x = self.self_norm(x + drop(self.self_attention(x, x, bias)))
        if memory is not None:
            x = self.cross_norm(x + drop(self.cross_attention(x, memory, memory_bias)))
        return self.ffn_norm(x + drop(self.down(F.silu(self.up(x)))))


def same_pair(queries: Tensor, keys: Tensor) -> Tensor:
    """[B, T], [B, S] numbers of pairs to [B, 1, T, S]: true where a query may look at a key."""
    return queries[:, None, :, None] == keys[:, None, None, :]


def as_bias(allowed: Tensor, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, -1e4)


class Marian(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.d_model, padding_idx=shape.pad)
        self.logit_bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.encoder = nn.ModuleList(Layer(shape, crosses=False) for _ in range(shape.encoder_layers))
        self.decoder = nn.ModuleList(Layer(shape, crosses=True) for _ in range(shape.decoder_layers))
        self.register_buffer("sinusoids", sinusoids(MAX_POSITIONS, shape.d_model), persistent=False)
        self.start()

    @torch.no_grad()
    def start(self) -> None:
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.xavier_uniform_(weight)
            elif name.endswith(".bias"):
                nn.init.zeros_(weight)
        nn.init.normal_(self.embedding.weight, 0, self.shape.d_model**-0.5)
        # Marian's decoder starts from a zero embedding: <pad> is its start token, so the row stays zero.
        self.embedding.weight[self.shape.pad] = 0
        # What goes into the residual sum shrinks with depth: deep post-norm stacks train stably so (Zhang et al. 2019).
        for stack in (self.encoder, self.decoder):
            for depth, layer in enumerate(stack, 1):
                for name, weight in layer.named_parameters():
                    if name.endswith(("out.weight", "down.weight")):
                        weight /= math.sqrt(depth)

    def embed(self, tokens: Tensor, positions: Tensor, drop: Dropout) -> Tensor:
        return drop(self.embedding(tokens) * math.sqrt(self.shape.d_model) + self.sinusoids[positions])

    def encode(self, tokens: Tensor, positions: Tensor, bias: Tensor, drop: Dropout) -> Tensor:
        x = self.embed(tokens, positions, drop)
        for layer in self.encoder:
            x = layer(x, bias, drop)
        return x

    def decode(
        self, tokens: Tensor, positions: Tensor, bias: Tensor, memory: Tensor, memory_bias: Tensor, drop: Dropout
    ) -> Tensor:
        x = self.embed(tokens, positions, drop)
        for layer in self.decoder:
            x = layer(x, bias, drop, memory, memory_bias)
        return x

    def logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embedding.weight, self.logit_bias)
