#include "formats/gguf/keys.h"

#include "model/config.h"

/* clang-format off */
/* A key translate.NAME, and the field of tr_config that it sets. */
#define FIELD(key, field, kind, required) {"translate." key, kind, required, offsetof(tr_config, field), false}
#define LATER(key, field, kind)           {"translate." key, kind, false, offsetof(tr_config, field), true}
const tr_gguf_field tr_gguf_fields[] = {
    FIELD("d_model", d_model, TR_GGUF_SIZE,  true),
    FIELD("encoder_layers", encoder_layers, TR_GGUF_SIZE,  true),
    FIELD("decoder_layers", decoder_layers, TR_GGUF_SIZE,  true),
    FIELD("encoder_heads", encoder_heads, TR_GGUF_SIZE,  true),
    FIELD("decoder_heads", decoder_heads, TR_GGUF_SIZE,  true),
    FIELD("encoder_ffn", encoder_ffn, TR_GGUF_SIZE,  true),
    FIELD("decoder_ffn", decoder_ffn, TR_GGUF_SIZE,  true),
    FIELD("source_vocabulary", source_vocabulary, TR_GGUF_SIZE,  true),
    FIELD("target_vocabulary", target_vocabulary, TR_GGUF_SIZE,  true),
    FIELD("max_positions", max_positions, TR_GGUF_SIZE,  true),
    FIELD("position_offset", position_offset, TR_GGUF_SIZE,  false),
    FIELD("pre_norm", pre_norm, TR_GGUF_FLAG,  false),
    FIELD("final_norm", final_norm, TR_GGUF_FLAG,  false),
    FIELD("embedding_norm", embedding_norm, TR_GGUF_FLAG,  false),
    FIELD("embedding_scale", embedding_scale, TR_GGUF_REAL,  false),
    FIELD("layer_norm_epsilon", layer_norm_epsilon, TR_GGUF_REAL,  false),
    FIELD("start_id", start_id, TR_GGUF_TOKEN, true),
    FIELD("end_id", eos_id, TR_GGUF_TOKEN, true),
    FIELD("pad_id", pad_id, TR_GGUF_TOKEN, false),
    FIELD("unk_id", unk_id, TR_GGUF_TOKEN, false),
    FIELD("forced_first_id", forced_first_id, TR_GGUF_TOKEN, false),
    FIELD("forced_last_id", forced_last_id, TR_GGUF_TOKEN, false),
    LATER("head_size", head_size, TR_GGUF_SIZE),
    LATER("relative_buckets", relative_buckets, TR_GGUF_SIZE),
    LATER("relative_distance", relative_distance, TR_GGUF_SIZE),
    LATER("gated", gated, TR_GGUF_FLAG),
    LATER("attention_scale", attention_scale, TR_GGUF_REAL),
    LATER("logits_scale", logits_scale, TR_GGUF_REAL),
    LATER("bare_source", no_source_eos, TR_GGUF_FLAG),
    LATER("source_start_id", source_start_id, TR_GGUF_TOKEN),
    LATER("encoder_ffn_depth", encoder_ffn_depth, TR_GGUF_SIZE),
    LATER("decoder_ffn_depth", decoder_ffn_depth, TR_GGUF_SIZE),
    LATER("post_norm", post_norm, TR_GGUF_FLAG),
    LATER("raw_keys", unnormalised_kv, TR_GGUF_FLAG),
    LATER("no_projection", no_output_projection, TR_GGUF_FLAG),
    LATER("start_zeros", start_zeros, TR_GGUF_FLAG),
    LATER("ssru_projection", ssru_projection, TR_GGUF_FLAG),
    LATER("average_ffn", aan_ffn, TR_GGUF_SIZE),
    LATER("average_depth", aan_depth, TR_GGUF_SIZE),
    LATER("average_ungated", aan_ungated, TR_GGUF_FLAG),
    LATER("marian_int8", marian_int8, TR_GGUF_FLAG),
    LATER("length_factor", length_factor, TR_GGUF_REAL),
    LATER("doubtful_below", doubtful_below, TR_GGUF_REAL),
    LATER("alignment_layer", alignment_layer, TR_GGUF_SIZE),
    LATER("alignment_head", alignment_head, TR_GGUF_SIZE),
};
/* clang-format on */
const size_t tr_gguf_field_count = sizeof tr_gguf_fields / sizeof *tr_gguf_fields;
