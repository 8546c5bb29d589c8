"""Writes a pre-norm model of Hugging Face Transformers (mBART, M2M100) as the project's model file, docs/formats.md, with
the gguf package. The project itself does not read these models' directories; the fixtures show that its network computes
them."""
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
TYPES = {"float32": np.float32, "float16": np.float16}


def our_name(name):
    """model.encoder.layers.0.self_attn.q_proj.weight -> enc.blk.0.attn_q.weight"""
    stem, kind = name.removeprefix("model.").rsplit(".", 1)
    if stem in OUTER:
        return f"{OUTER[stem]}.{kind}"
    side, _, layer, part = stem.split(".", 3)
    return f"{side[:3]}.blk.{layer}.{INNER[part]}.{kind}"


def add_settings(writer, model, embedding_norm):
    config, generation = model.config, model.generation_config
    numbers = {"version": 1, "d_model": config.d_model, "encoder_layers": config.encoder_layers,
               "decoder_layers": config.decoder_layers, "encoder_heads": config.encoder_attention_heads,
               "decoder_heads": config.decoder_attention_heads, "encoder_ffn": config.encoder_ffn_dim,
               "decoder_ffn": config.decoder_ffn_dim, "source_vocabulary": config.vocab_size,
               "target_vocabulary": config.vocab_size, "max_positions": config.max_position_embeddings, "position_offset": 2}
    for key, value in numbers.items():
        writer.add_uint32("translate." + key, value)
    ids = {"start_id": config.decoder_start_token_id, "end_id": config.eos_token_id, "pad_id": config.pad_token_id,
           "forced_first_id": generation.forced_bos_token_id, "forced_last_id": generation.forced_eos_token_id}
    for key, value in ids.items():
        writer.add_int32("translate." + key, -1 if value is None else value)
    for key, value in {"pre_norm": True, "final_norm": True, "embedding_norm": embedding_norm}.items():
        writer.add_bool("translate." + key, value)
    writer.add_float32("translate.embedding_scale", math.sqrt(config.d_model) if config.scale_embedding else 1.0)
    writer.add_float32("translate.layer_norm_epsilon", model.model.encoder.layer_norm.eps)
    writer.add_string("translate.activation", config.activation_function)
    writer.add_string("translate.positions", "learned")
    writer.add_array("tokenizer.ggml.tokens", [f"piece{i}" for i in range(config.vocab_size)])


def write(model, path, dtype):
    writer = gguf.GGUFWriter(path, "marian")
    writer.add_custom_alignment(64)
    names = [name for name, _ in model.named_parameters()]
    add_settings(writer, model, any("layernorm_embedding" in name for name in names))

    def add(name, tensor, kind=np.float32):
        writer.add_tensor(name, tensor.detach().to(torch.float32).numpy().astype(kind))

    add("token_embd.weight", model.model.shared.weight, TYPES[dtype])
    if hasattr(model, "final_logits_bias"):
        add("output.bias", model.final_logits_bias[0])
    for side, stack in (("enc", model.model.encoder), ("dec", model.model.decoder)):
        table = stack.embed_positions
        add(f"{side}.position_embd.weight", table.weight if hasattr(table, "weight") else table.weights)
    for name, parameter in model.named_parameters():
        if "embed" not in name.replace("layernorm_embedding", "") and "shared" not in name and "lm_head" not in name:
            add(our_name(name), parameter, TYPES[dtype] if parameter.dim() == 2 else np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
