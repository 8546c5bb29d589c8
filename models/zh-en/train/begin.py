"""Begins a run from a published Marian model instead of from nothing:

    begin.py MODEL DATA OUT [--encoder-layers N]

MODEL is a Hugging Face directory, or a file that `translate convert` wrote, such as the default model, zh-en.gguf.
Writes OUT/last.pt, where train.py goes on: the model's weights, no steps. The model keeps its pieces: they replace those
of DATA/spm.model, of which the rules of normalisation stay (a model that has seen simplified characters only learns to
read traditional ones so). The model must have the form that export.py writes: one embedding, post-norm, swish. It may
become deeper: further encoder layers begin as copies of its last ones.
"""
import argparse
import dataclasses
import pathlib
from collections.abc import Mapping

import torch
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from export import layer_tensors, marian_config
from model import Layer, Marian, Shape
from model_file import ModelFile
from train import write_checkpoint


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


def with_rules_of(rules: bytes, pieces: bytes) -> bytes:
    """The tokenizer `pieces` with the normalisation of the tokenizer `rules`."""
    models = []
    for file in (rules, pieces):
        models.append(sentencepiece_model_pb2.ModelProto())
        models[-1].ParseFromString(file)
    models[1].normalizer_spec.CopyFrom(models[0].normalizer_spec)
    return models[1].SerializeToString()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=pathlib.Path)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--encoder-layers", type=int, default=0, help="at least as many as the model has")
    options = arguments.parse_args()
    begun = options.out / "last.pt"
    if begun.exists():
        raise SystemExit(f"{begun} is there already: train.py goes on with it; begin in another folder, or remove it")

    published = read_directory(options.model) if options.model.is_dir() else read_file(options.model)
    model = from_published(published)
    if options.encoder_layers > model.shape.encoder_layers:
        model = deeper(model, options.encoder_layers)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    options.out.mkdir(parents=True, exist_ok=True)
    nothing_done = {"step": 0, "seconds": 0.0, "epoch": 0, "chunk": -1, "optimizer": None}
    state = {"shape": dataclasses.asdict(model.shape), "weights": weights, "ema": weights, **nothing_done}
    write_checkpoint(begun, state)
    tokenizer = options.data / "spm.model"
    tokenizer.write_bytes(with_rules_of(tokenizer.read_bytes(), published.pieces))


if __name__ == "__main__":
    main()
