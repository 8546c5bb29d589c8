"""Reads what `translate convert` writes of a Marian model with one vocabulary (GGUF, docs/formats.md), for PyTorch."""
import functools
import os

import gguf
import torch
from torch import Tensor
from transformers import MarianConfig

# Of tensors, from Hugging Face's to the file's, in this order.
RENAMED = {
    "model.encoder.layers": "enc.blk", "model.decoder.layers": "dec.blk", "model.shared": "token_embd",
    "final_logits_bias": "output.bias", "encoder_attn_layer_norm": "cross_attn_norm", "self_attn_layer_norm": "attn_norm",
    "final_layer_norm": "ffn_norm", "encoder_attn.": "cross_attn_", "self_attn.": "attn_", "out_proj": "o",
    "q_proj": "q", "k_proj": "k", "v_proj": "v", "fc1": "ffn_up", "fc2": "ffn_down",
}  # fmt: skip


class ModelFile:
    """Its fields by the file's names; its tensors by Hugging Face's, in f32: int8 weights are as exact as their steps."""

    def __init__(self, path: str | os.PathLike):
        reader = gguf.GGUFReader(path)
        self.fields = {name.removeprefix("translate."): value.contents() for name, value in reader.fields.items()}
        self.stored = {tensor.name: tensor for tensor in reader.tensors}
        if self.fields["general.architecture"] != "marian":
            raise SystemExit(f"{path}: not a Marian model")
        if self.fields["source_vocabulary"] != self.fields["target_vocabulary"]:
            raise SystemExit(f"{path}: a vocabulary for each side, where one is expected")

    def config(self) -> MarianConfig:
        field = self.fields
        sides = {
            f"{side}_{theirs}": field[f"{side}_{ours}"]
            for side in ("encoder", "decoder")
            for theirs, ours in (("layers", "layers"), ("ffn_dim", "ffn"), ("attention_heads", "heads"))
        }
        return MarianConfig(
            vocab_size=field["source_vocabulary"],
            d_model=field["d_model"],
            activation_function=field["activation"],
            max_position_embeddings=field["max_positions"],
            pad_token_id=field["pad_id"],
            eos_token_id=field["end_id"],
            forced_eos_token_id=field["forced_last_id"],
            decoder_start_token_id=field["start_id"],
            normalize_before=field["pre_norm"],
            normalize_embedding=field["embedding_norm"],
            scale_embedding=True,
            tie_word_embeddings=True,
            share_encoder_decoder_embeddings=True,
            **sides,
        )

    def pieces(self) -> bytes:
        """The SentencePiece file."""
        return bytes(self.stored["translate.source.spm"].data)

    def is_int8(self, name: str) -> bool:
        return file_name(name) + ".k4n16" in self.stored

    def int8(self, name: str) -> tuple[Tensor, Tensor]:
        """A matrix as whole numbers [outputs, inputs] and a scale for each output. In the file panels of 16 outputs hold
        four inputs of each side by side."""
        panels, scale = (torch.tensor(self.stored[file_name(name) + part].data).float() for part in (".k4n16", ".scale"))
        whole = panels.unflatten(2, (16, 4)).transpose(1, 2).flatten(2).flatten(0, 1)
        return whole[: len(scale)], scale

    def __getitem__(self, name: str) -> Tensor:
        if self.is_int8(name):
            whole, scale = self.int8(name)
            return whole * scale[:, None]
        if file_name(name) not in self.stored:
            raise SystemExit(f"the model has no {file_name(name)}")
        tensor = self.stored[file_name(name)]
        return torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))


def file_name(name: str) -> str:
    return functools.reduce(lambda text, pair: text.replace(*pair), RENAMED.items(), name)
