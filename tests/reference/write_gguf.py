"""Writes a pre-norm model of Hugging Face Transformers (mBART, M2M100, T5) as the project's model file, docs/formats.md, with
the gguf package: the fixtures show that the network computes them, whoever reads their directories."""
import math

import gguf
import numpy as np
import torch

OUTER = {"encoder.layernorm_embedding": "enc.embd_norm", "decoder.layernorm_embedding": "dec.embd_norm",
         "encoder.layer_norm": "enc.output_norm", "decoder.layer_norm": "dec.output_norm"}
INNER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.out_proj": "attn_o", "self_attn_layer_norm": "attn_norm", "encoder_attn.q_proj": "cross_attn_q",
         "encoder_attn.k_proj": "cross_attn_k", "encoder_attn.v_proj": "cross_attn_v",
         "encoder_attn.out_proj": "cross_attn_o", "encoder_attn_layer_norm": "cross_attn_norm",
         "fc1": "ffn_up", "fc2": "ffn_down", "final_layer_norm": "ffn_norm"}
T5_ATTENTION = {"q": "q", "k": "k", "v": "v", "o": "o", "relative_attention_bias": "rel_b"}
T5_FEED_FORWARD = {"wi": "ffn_up", "wi_0": "ffn_gate", "wi_1": "ffn_up", "wo": "ffn_down"}


def t5_name(name):
    """encoder.block.0.layer.0.SelfAttention.q.weight -> enc.blk.0.attn_q.weight"""
    stem, kind = name.rsplit(".", 1)
    if stem.endswith("final_layer_norm"):
        return f"{stem[:3]}.output_norm.{kind}"
    side, _, layer, _, sublayer, *part = stem.split(".")
    if part == ["layer_norm"]:
        part = ("attn_norm" if sublayer == "0" else "cross_attn_norm" if (side, sublayer) == ("decoder", "1") else "ffn_norm")
    elif part[0] == "DenseReluDense":
        part = T5_FEED_FORWARD[part[1]]
    else:
        part = ("attn_" if part[0] == "SelfAttention" else "cross_attn_") + T5_ATTENTION[part[1]]
    return f"{side[:3]}.blk.{layer}.{part}.{kind}"


def our_name(name):
    """model.encoder.layers.0.self_attn.q_proj.weight -> enc.blk.0.attn_q.weight"""
    if ".block." in name or "final_layer_norm" in name and "layers" not in name:
        return t5_name(name)
    stem, kind = name.removeprefix("model.").rsplit(".", 1)
    if stem in OUTER:
        return f"{OUTER[stem]}.{kind}"
    side, _, layer, part = stem.split(".", 3)
    return f"{side[:3]}.blk.{layer}.{INNER[part]}.{kind}"


def add_t5_settings(writer, config):
    numbers = {"encoder_layers": config.num_layers, "decoder_layers": config.num_decoder_layers,
               "encoder_heads": config.num_heads, "decoder_heads": config.num_heads, "head_size": config.d_kv,
               "encoder_ffn": config.d_ff, "decoder_ffn": config.d_ff, "max_positions": 48,
               "relative_buckets": config.relative_attention_num_buckets,
               "relative_distance": config.relative_attention_max_distance}
    for key, value in numbers.items():
        writer.add_uint32("translate." + key, value)
    for key, value in {"pre_norm": True, "final_norm": True, "gated": config.is_gated_act}.items():
        writer.add_bool("translate." + key, value)
    writer.add_float32("translate.layer_norm_epsilon", config.layer_norm_epsilon)
    writer.add_float32("translate.attention_scale", 1.0)
    writer.add_float32("translate.logits_scale", config.d_model ** -0.5 if config.scale_decoder_outputs else 1.0)
    writer.add_string("translate.activation", config.dense_act_fn)
    writer.add_string("translate.positions", "relative")
    writer.add_string("translate.norm", "rms")


def add_common_settings(writer, model):
    config, generation = model.config, model.generation_config
    numbers = {"version": 1, "d_model": config.d_model, "source_vocabulary": config.vocab_size,
               "target_vocabulary": config.vocab_size}
    for key, value in numbers.items():
        writer.add_uint32("translate." + key, value)
    ids = {"start_id": config.decoder_start_token_id, "end_id": config.eos_token_id, "pad_id": config.pad_token_id,
           "forced_first_id": generation.forced_bos_token_id, "forced_last_id": generation.forced_eos_token_id}
    for key, value in ids.items():
        writer.add_int32("translate." + key, -1 if value is None else value)
    writer.add_array("tokenizer.ggml.tokens", [f"piece{i}" for i in range(config.vocab_size)])


def add_settings(writer, model, embedding_norm):
    config = model.config
    numbers = {"encoder_layers": config.encoder_layers, "decoder_layers": config.decoder_layers,
               "encoder_heads": config.encoder_attention_heads, "decoder_heads": config.decoder_attention_heads,
               "encoder_ffn": config.encoder_ffn_dim, "decoder_ffn": config.decoder_ffn_dim,
               "max_positions": config.max_position_embeddings, "position_offset": 2}
    for key, value in numbers.items():
        writer.add_uint32("translate." + key, value)
    for key, value in {"pre_norm": True, "final_norm": True, "embedding_norm": embedding_norm}.items():
        writer.add_bool("translate." + key, value)
    writer.add_float32("translate.embedding_scale", math.sqrt(config.d_model) if config.scale_embedding else 1.0)
    writer.add_float32("translate.layer_norm_epsilon", model.model.encoder.layer_norm.eps)
    writer.add_string("translate.activation", config.activation_function)
    writer.add_string("translate.positions", "learned" if config.model_type == "mbart" else "stretched")


def write(model, path, dtype):
    writer = gguf.GGUFWriter(path, "marian")
    writer.add_custom_alignment(64)
    add_common_settings(writer, model)
    t5 = model.config.model_type == "t5"
    if t5:
        add_t5_settings(writer, model.config)
    else:
        add_settings(writer, model, any("layernorm_embedding" in name for name, _ in model.named_parameters()))

    def add(name, tensor, kind="float32"):
        if kind == "bfloat16":
            data = tensor.detach().to(torch.bfloat16).contiguous().view(torch.uint8).numpy()
            writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, tensor.detach().to(torch.float32).numpy().astype(kind))

    add("token_embd.weight", (model if t5 else model.model).shared.weight, dtype)
    if t5 and model.lm_head.weight is not model.shared.weight:
        add("output.weight", model.lm_head.weight, dtype)
    if hasattr(model, "final_logits_bias"):
        add("output.bias", model.final_logits_bias[0])
    if model.config.model_type == "mbart":
        add("enc.position_embd.weight", model.model.encoder.embed_positions.weight)
        add("dec.position_embd.weight", model.model.decoder.embed_positions.weight)
    for name, parameter in model.named_parameters():
        if "embed" not in name.replace("layernorm_embedding", "") and "shared" not in name and "lm_head" not in name:
            add(our_name(name), parameter, dtype if parameter.dim() == 2 else "float32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
