"""Greedy translation with a checkpoint, to score it: one sentence a row, the whole target again at each step."""
import pathlib

import sentencepiece
import torch
from torch import Tensor

from batches import END
from model import Dropout, Marian, Shape, as_bias

ROWS = 32
MAX_SOURCE = 250  # tokens


def load_checkpoint(path: pathlib.Path, weights: str = "ema") -> Marian:
    state = torch.load(path, map_location="cpu", weights_only=True)
    model = Marian(Shape(**state["shape"]))
    model.load_state_dict(state[weights])
    return model.eval()


def positions_of(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.shape[1]).expand(tokens.shape)


@torch.inference_mode()
def greedy_ids(model: Marian, sources: list[list[int]], most: int = 200) -> list[list[int]]:
    """Ids to ids, a batch; sources end with END, results do not."""
    pad, drop = model.shape.pad, Dropout()
    width = max(map(len, sources))
    source = torch.tensor([ids + [pad] * (width - len(ids)) for ids in sources])
    to_source = as_bias((source != pad)[:, None, None, :]).to(model.logit_bias.dtype)
    memory = model.encode(source, positions_of(source), to_source, drop)
    target = torch.full((len(sources), 1), pad)
    ended = torch.zeros(len(sources), dtype=torch.bool)
    while target.shape[1] <= min(most, 2 * width + 20) and not ended.all():
        length = target.shape[1]
        earlier = as_bias(torch.ones(length, length).tril().bool()).to(model.logit_bias.dtype)
        x = model.decode(target, positions_of(target), earlier, memory, to_source, drop)
        logits = model.logits(x[:, -1])
        logits[:, pad] = -torch.inf
        best = logits.argmax(dim=1).masked_fill(ended, END)
        ended |= best == END
        target = torch.cat([target, best[:, None]], dim=1)
    return [ids[: ids.index(END)] if END in ids else ids for ids in target[:, 1:].tolist()]


def translate(model: Marian, pieces: sentencepiece.SentencePieceProcessor, lines: list[str]) -> list[str]:
    ids = [pieces.encode(line)[:MAX_SOURCE] + [END] for line in lines]
    order = sorted(range(len(lines)), key=lambda i: len(ids[i]))
    out = [""] * len(lines)
    for first in range(0, len(order), ROWS):
        some = order[first : first + ROWS]
        for i, result in zip(some, greedy_ids(model, [ids[i] for i in some])):
            out[i] = pieces.decode(result)
    return out
