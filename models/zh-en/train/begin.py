"""Begins a run from a published Marian model instead of from nothing:

    begin.py MODEL DATA OUT [--encoder-layers N] [--renew] [--rules FILE]

MODEL is a Hugging Face directory, or a file that `translate convert` wrote, such as the default model, zh-en.gguf.
Writes OUT/last.pt, where train.py goes on: the model's weights, no steps; and DATA/spm.model, the model's pieces. The
model must have the form that export.py writes: one embedding, post-norm, swish. It may become deeper: further encoder
layers begin as copies of its last ones. With --renew the pieces that DATA/train.tsv uses least give way to symbols.py's
SYMBOLS and SIGNS and to characters that the text has and the model spells in bytes; their embeddings begin anew.
With --rules, which are those of simplify.py --into-chinese, it becomes the tokenizer of a model into Chinese, whose text
chinese.py has made as it is printed. Such a model may begin from one out of Chinese: the embeddings know both languages.
"""
import argparse
import collections
import dataclasses
import io
import pathlib
import random
import unicodedata
from collections.abc import Mapping

import sentencepiece
import torch
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from chinese import printed
from corpus import Pair, load
from export import layer_tensors, marian_config
from model import Layer, Marian, Shape
from model_file import ModelFile
from symbols import BRACKETS, SIGNS, SYMBOLS
from train import write_checkpoint
from weights import draw

MISSED = 10  # times in an epoch that a character comes which then gets a piece


def shape_of(config: MarianConfig) -> Shape:
    shape = Shape(config.vocab_size, config.d_model, config.encoder_ffn_dim, config.encoder_layers, config.decoder_layers)
    ours = marian_config(shape)
    for name in (
        "pad_token_id", "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads", "activation_function",
        "normalize_before", "normalize_embedding",
    ):  # fmt: skip
        if getattr(config, name) != getattr(ours, name):
            raise SystemExit(f"{name} is {getattr(config, name)}, where this recipe has {getattr(ours, name)}")
    return shape


@dataclasses.dataclass
class Published:
    """A model as others have it: its tensors by Hugging Face's names, and its SentencePiece file."""

    shape: Shape
    tensors: Mapping[str, Tensor] | ModelFile
    pieces: bytes


def read_directory(path: pathlib.Path) -> Published:
    """Hugging Face's form."""
    model = MarianMTModel.from_pretrained(path, dtype=torch.float32)
    return Published(shape_of(model.config), model.state_dict(), (path / "source.spm").read_bytes())


def read_file(path: pathlib.Path) -> Published:
    """What `translate convert` writes."""
    file = ModelFile(path)
    return Published(shape_of(file.config()), file, file.pieces())


def load_layer(ours: Layer, layer: str, theirs: Mapping[str, Tensor] | ModelFile) -> None:
    """Fills a layer of ours with what `layer_tensors` would make of it."""
    state = ours.state_dict()
    for name in state:
        state[name].copy_(torch.cat([theirs[their_name] for their_name in layer_tensors(layer, {name: state[name]})]))


@torch.no_grad()
def from_published(published: Published) -> Marian:
    model, state = Marian(published.shape), published.tensors
    model.embedding.weight.copy_(state["model.shared.weight"])
    model.logit_bias.copy_(state["final_logits_bias"].flatten())
    for side in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(model, side)):
            load_layer(layer, f"model.{side}.layers.{i}", state)
    return model


def deeper(model: Marian, encoder_layers: int) -> Marian:
    """Further encoder layers begin as copies of the last ones, behind them in the same order (stacking, Gong et al. 2019).
    Layers that change nothing would be no way: each norm divides by its input's spread, which the gains before it set."""
    have = model.shape.encoder_layers
    grown = Marian(dataclasses.replace(model.shape, encoder_layers=encoder_layers))
    grown.load_state_dict(model.state_dict(), strict=False)
    for layer in range(have, encoder_layers):
        grown.encoder[layer].load_state_dict(grown.encoder[max(layer - (encoder_layers - have), 0)].state_dict())
    return grown


def with_rules(pieces: bytes, rules: pathlib.Path) -> bytes:
    """The tokenizer with other normalisation, which SentencePiece compiles for a model that it trains."""
    trained, model = io.BytesIO(), ModelProto()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["any text"]), model_writer=trained, model_type="char", vocab_size=20,
        hard_vocab_limit=False, normalization_rule_tsv=str(rules), minloglevel=2,
    )  # fmt: skip
    compiled = ModelProto()
    compiled.ParseFromString(trained.getvalue())
    model.ParseFromString(pieces)
    model.normalizer_spec.name = compiled.normalizer_spec.name
    model.normalizer_spec.precompiled_charsmap = compiled.normalizer_spec.precompiled_charsmap
    return model.SerializeToString()


def renewed(pieces: bytes, pairs: list[Pair], into_chinese: bool = False) -> tuple[bytes, dict[int, str]]:
    """The tokenizer with new pieces in the place of those of several characters that an epoch of `pairs` uses least, and
    the new pieces by their ids."""
    model, segmenter = ModelProto(), sentencepiece.SentencePieceProcessor(model_proto=pieces)
    model.ParseFromString(pieces)
    finished = printed if into_chinese else str
    texts = [finished(side) for pair in draw(pairs, random.Random(0)) for side in pair[:2]]
    uses = collections.Counter(i for ids in segmenter.encode(texts, num_threads=1) for i in ids)
    have = {piece.piece for piece in model.pieces}
    characters = collections.Counter(c for text in texts for c in segmenter.normalize(text) if c not in have and c != " ")
    missed = [c for c, count in characters.items() if count >= MISSED]
    wanted = {*SIGNS, *missed} - {*BRACKETS}
    new = [symbol for symbol in SYMBOLS if symbol not in have] + sorted(wanted - have)
    kind = model.SentencePiece
    old = [i for i, piece in enumerate(model.pieces) if piece.type == kind.NORMAL and len(piece.piece.strip("▁")) > 1]
    places = dict(zip(sorted(old, key=lambda i: uses[i]), new))
    lowest = min(piece.score for piece in model.pieces if piece.type == kind.NORMAL)
    for i, text in places.items():
        piece = model.pieces[i]
        piece.piece, piece.score, piece.type = text, lowest, kind.NORMAL
        if text in SYMBOLS:
            piece.score, piece.type = 0, kind.USER_DEFINED
    return model.SerializeToString(), places


def is_piece(segmenter: sentencepiece.SentencePieceProcessor, text: str) -> bool:
    return segmenter.piece_to_id(text) != segmenter.unk_id()


@torch.no_grad()
def renew(model: Marian, pieces: bytes, places: dict[int, str]) -> None:
    """New embeddings: a character's begins near the mean of its bytes', or as that of its narrow form where this is a
    piece; a symbol's by chance alone."""
    weight, segmenter = model.embedding.weight, sentencepiece.SentencePieceProcessor(model_proto=pieces)
    spread = weight[segmenter.get_piece_size() // 2 :].std()
    for i, text in places.items():
        spelled, narrow = [f"<0x{byte:02X}>" for byte in text.encode()], unicodedata.normalize("NFKC", text)
        spelled = [segmenter.piece_to_id(piece) for piece in ([narrow] if is_piece(segmenter, narrow) else spelled)]
        weight[i] = torch.randn(weight.shape[1], generator=torch.Generator().manual_seed(i)) * spread
        if text not in SYMBOLS:
            weight[i] = weight[i] * 0.5 + weight[spelled].mean(dim=0)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=pathlib.Path)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--encoder-layers", type=int, default=0, help="at least as many as the model has")
    arguments.add_argument("--renew", action="store_true", help="new pieces in the place of some")
    arguments.add_argument("--rules", type=pathlib.Path, metavar="FILE", help="a tokenizer into Chinese, by these rules")
    options = arguments.parse_args()
    begun = options.out / "last.pt"
    if begun.exists():
        raise SystemExit(f"{begun} is there already: train.py goes on with it; begin in another folder, or remove it")

    published = read_directory(options.model) if options.model.is_dir() else read_file(options.model)
    model, pieces = from_published(published), published.pieces
    if options.rules:
        pieces = with_rules(pieces, options.rules)
    if options.renew:
        pieces, places = renewed(pieces, load(options.data / "train.tsv"), bool(options.rules))
        renew(model, published.pieces, places)
        print(f"{len(places)} new pieces")
    if options.encoder_layers > model.shape.encoder_layers:
        model = deeper(model, options.encoder_layers)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    options.out.mkdir(parents=True, exist_ok=True)
    nothing_done = {"step": 0, "seconds": 0.0, "epoch": 0, "chunk": -1, "optimizer": None}
    state = {"shape": dataclasses.asdict(model.shape), "weights": weights, "ema": weights, **nothing_done}
    write_checkpoint(begun, state)
    (options.data / "spm.model").write_bytes(pieces)


if __name__ == "__main__":
    main()
