"""Writes a checkpoint as a Hugging Face Marian directory: export.py DATA CHECKPOINT OUT --source zh --target en."""
import argparse
import json
import pathlib
import shutil

import sentencepiece
import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from batches import END
from decode import load_checkpoint
from model import HEAD_SIZE, MAX_POSITIONS, Marian, Shape
from symbols import SYMBOLS

ATTENTION = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
NORM = {"self_norm": "self_attn_layer_norm", "cross_norm": "encoder_attn_layer_norm", "ffn_norm": "final_layer_norm"}
FFN = {"up": "fc1", "down": "fc2"}


def marian_config(shape: Shape) -> MarianConfig:
    heads = shape.d_model // HEAD_SIZE
    return MarianConfig(
        vocab_size=shape.vocabulary,
        d_model=shape.d_model,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=shape.ffn,
        decoder_ffn_dim=shape.ffn,
        activation_function="swish",
        max_position_embeddings=MAX_POSITIONS,
        scale_embedding=True,
        static_position_embeddings=True,
        normalize_before=False,
        normalize_embedding=False,
        tie_word_embeddings=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=shape.pad,
        eos_token_id=END,
        bos_token_id=END,
        decoder_start_token_id=shape.pad,
        forced_eos_token_id=END,
    )


def layer_tensors(layer: str, ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """One layer's tensors under Hugging Face's names, which begin with `layer`; the joint key_value becomes two."""
    out = {}
    for name, tensor in ours.items():
        part, *rest = name.split(".")
        if part in ATTENTION:
            projection, kind = rest
            parts = {"query": ("q_proj",), "key_value": ("k_proj", "v_proj"), "out": ("out_proj",)}[projection]
            for theirs, chunk in zip(parts, tensor.chunk(len(parts))):
                out[f"{layer}.{ATTENTION[part]}.{theirs}.{kind}"] = chunk
        else:
            out[f"{layer}.{(NORM | FFN)[part]}.{rest[0]}"] = tensor
    return out


def state_dict(model: Marian) -> dict[str, Tensor]:
    embedding = model.embedding.weight.detach()
    out = {"final_logits_bias": model.logit_bias.detach()[None]}
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        out[f"{name}.weight"] = embedding
    for side in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(model, side)):
            out |= layer_tensors(f"model.{side}.layers.{i}", layer.state_dict())
        out[f"model.{side}.embed_positions.weight"] = model.sinusoids
    return {name: tensor.contiguous() for name, tensor in out.items()}


def write_tokenizer(out: pathlib.Path, spm: pathlib.Path, pad: int, source: str, target: str) -> None:
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    vocabulary = {pieces.id_to_piece(i): i for i in range(len(pieces))} | {"<pad>": pad}
    settings = {"source_lang": source, "target_lang": target, "model_max_length": MAX_POSITIONS, "separate_vocabs": False}
    settings |= {"tokenizer_class": "MarianTokenizer", "unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    (out / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    for name in ("source.spm", "target.spm"):
        shutil.copy(spm, out / name)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("checkpoint", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--source", required=True, help="language code")
    arguments.add_argument("--target", required=True)
    options = arguments.parse_args()

    model = load_checkpoint(options.checkpoint)
    pad = model.shape.pad
    assert not model.embedding.weight[pad].any(), "the start token's embedding must be zero"
    theirs = MarianMTModel(marian_config(model.shape))
    missing, unexpected = theirs.load_state_dict(state_dict(model), strict=False)
    if unexpected or missing:
        raise SystemExit(f"tensors that do not fit: missing {missing}, unexpected {unexpected}")
    theirs.generation_config = GenerationConfig(
        bad_words_ids=[[pad]],
        decoder_start_token_id=pad,
        pad_token_id=pad,
        eos_token_id=END,
        bos_token_id=END,
        forced_eos_token_id=END,
        max_length=MAX_POSITIONS,
        num_beams=1,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(options.data / "spm.model"))
    symbols = map(pieces.piece_to_id, SYMBOLS)
    theirs.config.copy_symbols = [symbol for symbol in symbols if symbol != pieces.unk_id()]
    theirs.to(torch.float16).save_pretrained(options.out)
    write_tokenizer(options.out, options.data / "spm.model", pad, options.source, options.target)
    if options.target == "zh" and (options.data / "traditional.tsv").exists():
        shutil.copy(options.data / "traditional.tsv", options.out)


if __name__ == "__main__":
    main()
