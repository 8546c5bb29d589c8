#!/usr/bin/env python3
"""Makes a Marian model of any shape with random weights, as a Hugging Face directory or nearly so.

    random_model.py DIR --tokenizer FROM [--d-model 64] [--heads 2] [--ffn 256] [--layers 2] [--decoder-layers N]
    [--positions 8192]
                    [--seed 0]

DIR gets config.json and model.safetensors, in f32, and FROM's source.spm and vocab.json. Its text is noise: speed and memory
depend on the shape alone. Needs nothing but Python; the same arguments give the same bytes.
"""
import argparse
import array
import json
import pathlib
import random
import shutil
import struct
import sys

POOL = 65521  # numbers drawn; a tensor repeats a part of them, which begins at its own offset


class Weights:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pool = array.array("f", (self.random.gauss(0, 1) for _ in range(POOL)))
        self.tensors = {}

    def add(self, name, *shape, scale=None):
        """Gaussian numbers of a scale; None: zeros."""
        count = 1
        for n in shape:
            count *= n
        if scale is None:
            data = array.array("f", bytes(4 * count))
        else:
            start = self.random.randrange(POOL)
            pool = array.array("f", (scale * x for x in self.pool))
            turn = pool[start:] + pool[:start]
            data = (turn * (count // POOL + 1))[:count]
        self.tensors[name] = (shape, data)

    def linear(self, name, outputs, inputs):
        self.add(f"{name}.weight", outputs, inputs, scale=inputs ** -0.5)
        self.add(f"{name}.bias", outputs, scale=0.02)

    def norm(self, name, width):
        self.add(f"{name}.weight", width)
        self.tensors[f"{name}.weight"][1][:] = array.array("f", [1.0]) * width
        self.add(f"{name}.bias", width)

    def write(self, path):
        header, at = {}, 0
        for name, (shape, data) in self.tensors.items():
            header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + 4 * len(data)]}
            at += 4 * len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, data in self.tensors.values():
                if sys.byteorder == "big":
                    data.byteswap()
                data.tofile(file)


def layer(weights, prefix, d, ffn, attentions):
    for kind in attentions:
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            weights.linear(f"{prefix}.{kind}.{part}", d, d)
        weights.norm(f"{prefix}.{kind}_layer_norm", d)
    weights.linear(f"{prefix}.fc1", ffn, d)
    weights.linear(f"{prefix}.fc2", d, ffn)
    weights.norm(f"{prefix}.final_layer_norm", d)


def make(folder, tokenizer, d_model=64, heads=2, ffn=256, layers=2, decoder_layers=None, positions=8192, seed=0):
    folder, tokenizer = pathlib.Path(folder), pathlib.Path(tokenizer)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = json.loads((tokenizer / "vocab.json").read_text(encoding="utf-8"))
    size = max(vocabulary.values()) + 1
    pad = vocabulary.get("<pad>", size - 1)
    decoder_layers = layers if decoder_layers is None else decoder_layers
    weights = Weights(seed)
    weights.add("model.shared.weight", size, d_model, scale=d_model ** -0.5)
    for i in range(layers):
        layer(weights, f"model.encoder.layers.{i}", d_model, ffn, ("self_attn",))
    for i in range(decoder_layers):
        layer(weights, f"model.decoder.layers.{i}", d_model, ffn, ("self_attn", "encoder_attn"))
    weights.add("final_logits_bias", 1, size)
    weights.write(folder / "model.safetensors")
    config = {"model_type": "marian", "architectures": ["MarianMTModel"], "activation_function": "swish", "d_model": d_model,
              "encoder_layers": layers, "decoder_layers": decoder_layers, "encoder_attention_heads": heads,
              "decoder_attention_heads": heads, "encoder_ffn_dim": ffn, "decoder_ffn_dim": ffn,
              "max_position_embeddings": positions, "scale_embedding": True, "vocab_size": size, "decoder_vocab_size": size,
              "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True, "static_position_embeddings": True,
              "decoder_start_token_id": pad, "eos_token_id": vocabulary["</s>"], "pad_token_id": pad,
              "bad_words_ids": [[pad]]}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for name in ("source.spm", "vocab.json"):
        shutil.copyfile(tokenizer / name, folder / name)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("folder", metavar="DIR")
    a.add_argument("--tokenizer", required=True, metavar="FROM")
    for name, default in (("d-model", 64), ("heads", 2), ("ffn", 256), ("layers", 2), ("decoder-layers", None),
                          ("positions", 8192), ("seed", 0)):
        a.add_argument(f"--{name}", type=int, default=default)
    o = vars(a.parse_args())
    make(o.pop("folder"), o.pop("tokenizer"), **o)


if __name__ == "__main__":
    main()
