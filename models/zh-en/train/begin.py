"""Begins a run from a published Marian model instead of from nothing:

    begin.py MARIAN_DIRECTORY DATA OUT [--encoder-layers N]

Writes OUT/last.pt, where train.py goes on: the model's weights, no steps. The model keeps its pieces: they replace those
of DATA/spm.model, of which the rules of normalisation stay (a model that has seen simplified characters only learns to
read traditional ones so). The model must have the form that export.py writes: one embedding, post-norm, swish. It may
become deeper: further encoder layers begin as copies of its last ones.
"""
import argparse
import dataclasses
import pathlib

import torch
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from export import layer_tensors, marian_config
from model import Layer, Marian, Shape
from train import write_checkpoint


def shape_of(config: MarianConfig) -> Shape:
    shape = Shape(config.vocab_size, config.d_model, config.encoder_ffn_dim, config.encoder_layers, config.decoder_layers)
    ours = marian_config(shape)
    for name in ("pad_token_id", "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads", "activation_function"):
        if getattr(config, name) != getattr(ours, name):
            raise SystemExit(f"{name} is {getattr(config, name)}, where this recipe has {getattr(ours, name)}")
    return shape


def load_layer(ours: Layer, layer: str, theirs: dict[str, Tensor]) -> None:
    """Fills a layer of ours with what `layer_tensors` would make of it."""
    state = ours.state_dict()
    for name in state:
        state[name].copy_(torch.cat([theirs[their_name] for their_name in layer_tensors(layer, {name: state[name]})]))


@torch.no_grad()
def from_marian(theirs: MarianMTModel) -> Marian:
    model, state = Marian(shape_of(theirs.config)), theirs.state_dict()
    model.embedding.weight.copy_(state["model.shared.weight"])
    model.logit_bias.copy_(state["final_logits_bias"][0])
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


def with_pieces_of(rules: pathlib.Path, pieces: pathlib.Path) -> bytes:
    """The tokenizer `pieces` with the normalisation of the tokenizer `rules`."""
    models = []
    for path in (rules, pieces):
        models.append(sentencepiece_model_pb2.ModelProto())
        models[-1].ParseFromString(path.read_bytes())
    models[1].normalizer_spec.CopyFrom(models[0].normalizer_spec)
    return models[1].SerializeToString()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("marian", type=pathlib.Path)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--encoder-layers", type=int, default=0, help="at least as many as the model has")
    options = arguments.parse_args()
    begun = options.out / "last.pt"
    if begun.exists():
        raise SystemExit(f"{begun} is there already: train.py goes on with it; begin in another folder, or remove it")

    model = from_marian(MarianMTModel.from_pretrained(options.marian, dtype=torch.float32))
    if options.encoder_layers > model.shape.encoder_layers:
        model = deeper(model, options.encoder_layers)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    options.out.mkdir(parents=True, exist_ok=True)
    nothing_done = {"step": 0, "seconds": 0.0, "epoch": 0, "chunk": -1, "optimizer": None}
    state = {"shape": dataclasses.asdict(model.shape), "weights": weights, "ema": weights, **nothing_done}
    write_checkpoint(begun, state)
    tokenizer = options.data / "spm.model"
    tokenizer.write_bytes(with_pieces_of(tokenizer, options.marian / "source.spm"))


if __name__ == "__main__":
    main()
