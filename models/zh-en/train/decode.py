"""Translation with a checkpoint: beam search over batches of sentences, with cached keys and values."""
import pathlib

import sentencepiece
import torch
from torch import Tensor

from batches import END
from model import HEAD_SIZE, Dropout, Layer, Marian, Shape, as_bias

MAX_SOURCE = 250  # tokens
ROWS = {"cpu": 32, "cuda": 4096}  # hypotheses a batch
NOTHING = Dropout()


def load_checkpoint(path: pathlib.Path, weights: str = "ema", device: str = "cpu") -> Marian:
    """On a GPU in f16: it tells close candidates apart that bf16 takes for the same."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    model = Marian(Shape(**state["shape"]))
    model.load_state_dict(state[weights])
    return model.to(device, torch.float32 if device == "cpu" else torch.float16).eval()


def most_tokens(width: int) -> int:
    """How long a translation of `width` tokens may become."""
    return min(200, 2 * width + 20)


class Decoder:
    """The decoder's state for N sentences with B hypotheses each: N * B rows, each one's keys and values so far."""

    def __init__(self, model: Marian, sources: list[list[int]], beam: int, most: int):
        weight, pad = model.embedding.weight, model.shape.pad
        width = max(map(len, sources))
        source = torch.tensor([ids + [pad] * (width - len(ids)) for ids in sources], device=weight.device)
        self.model, self.beam, self.step = model, beam, 0
        self.bias = as_bias((source != pad)[:, None, None, :]).to(weight.dtype)
        position = torch.arange(width, device=weight.device).expand(source.shape)
        memory = model.encode(source, position, self.bias, NOTHING)
        self.memory = [layer.cross_attention.keys_values(memory) for layer in model.decoder]
        heads = model.shape.d_model // HEAD_SIZE
        self.past = [weight.new_empty(2, len(sources) * beam, heads, most, HEAD_SIZE) for _ in model.decoder]

    def layer(self, layer: Layer, x: Tensor, past: Tensor, memory: tuple[Tensor, Tensor]) -> Tensor:
        """x [N * B, 1, D]."""
        past[0, :, :, self.step : self.step + 1], past[1, :, :, self.step : self.step + 1] = (
            layer.self_attention.keys_values(x)
        )
        k, v = past[:, :, :, : self.step + 1]
        x = layer.self_norm(x + layer.self_attention.attend(x, k, v, x.new_zeros(())))
        # A sentence's hypotheses look at the same source: as if they were B positions of one row.
        together = x.view(-1, self.beam, x.shape[2])
        x = layer.cross_norm(x + layer.cross_attention.attend(together, *memory, self.bias).view_as(x))
        return layer.ffn_norm(x + layer.down(torch.nn.functional.silu(layer.up(x))))

    def advance(self, tokens: Tensor) -> Tensor:
        """The log-probabilities [N, B, V], in f32, of what follows when each row reads its token of [N, B]."""
        tokens = tokens.view(-1, 1)
        x = self.model.embed(tokens, torch.full_like(tokens, self.step), NOTHING)
        for layer, past, memory in zip(self.model.decoder, self.past, self.memory):
            x = self.layer(layer, x, past, memory)
        self.step += 1
        logits = self.model.logits(x[:, 0]).float().view(-1, self.beam, self.model.shape.vocabulary)
        logits[:, :, self.model.shape.pad] = -torch.inf
        return logits.log_softmax(dim=2)

    def reorder(self, origin: Tensor) -> None:
        """Row b of a sentence goes on from its row origin[n, b]."""
        rows = (origin + torch.arange(len(origin), device=origin.device)[:, None] * self.beam).flatten()
        for past in self.past:
            past[:, :, :, : self.step] = past[:, rows, :, : self.step]


@torch.inference_mode()
def beam_ids(model: Marian, sources: list[list[int]], beam: int = 1, most: int | None = None) -> list[list[int]]:
    """Ids to ids, a batch; sources end with END, results do not. Hypotheses compete by log-probability per token."""
    most = most or most_tokens(max(map(len, sources)))
    decoder = Decoder(model, sources, beam, most)
    shape, device = (len(sources), beam), model.embedding.weight.device
    tokens = torch.full(shape, model.shape.pad, device=device)
    total = torch.zeros(shape, device=device)
    total[:, 1:] = -torch.inf  # all begin alike: only the first counts
    ended, length = torch.zeros(shape, dtype=torch.bool, device=device), torch.zeros(shape, device=device)
    out = torch.full((*shape, most), END, device=device)
    for step in range(most):
        log_p = decoder.advance(tokens)
        # One that has ended goes on with END alone, at no cost.
        at_end = torch.where(ended, 0.0, log_p[:, :, END])
        log_p.masked_fill_(ended[:, :, None], -torch.inf)[:, :, END] = at_end
        length += ~ended
        candidates = total[:, :, None] + log_p
        best = (candidates / length[:, :, None]).flatten(1).topk(beam).indices
        total = candidates.flatten(1).gather(1, best)
        origin, tokens = best // log_p.shape[2], best % log_p.shape[2]
        if beam > 1:
            decoder.reorder(origin)
            ended, length = ended.gather(1, origin), length.gather(1, origin)
            out = out.gather(1, origin[:, :, None].expand_as(out))
        out[:, :, step] = tokens
        ended |= tokens == END
        if step % 4 == 3 and ended.all():
            break
    winner = (total / length).argmax(dim=1)
    rows = out[torch.arange(len(sources), device=device), winner].tolist()
    return [ids[: ids.index(END)] if END in ids else ids for ids in rows]


def batches_by_length(sources: list[list[int]], rows: int) -> list[list[int]]:
    """Numbers of sentences of like length; long ones in smaller batches."""
    order, batches = sorted(range(len(sources)), key=lambda i: len(sources[i])), []
    while order:
        size = max(1, min(rows, rows * 40 // max(40, len(sources[order[-1]]))))
        order, batch = order[:-size], order[-size:]
        batches.append(batch)
    return batches


def translate(
    model: Marian, pieces: sentencepiece.SentencePieceProcessor, lines: list[str], beam: int = 1
) -> list[str]:
    ids = [sentence[:MAX_SOURCE] + [END] for sentence in pieces.encode(lines)]
    out = [""] * len(lines)
    for batch in batches_by_length(ids, ROWS[model.embedding.weight.device.type] // beam):
        for i, result in zip(batch, beam_ids(model, [ids[i] for i in batch], beam)):
            out[i] = pieces.decode(result)
    return out
