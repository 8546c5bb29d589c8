#include "formats/gguf/keys.h"

#include "model/config.h"

/* clang-format off */
#define FIELD(name, kind, required) {"translate." #name, kind, required, offsetof(tr_config, name), false}
#define LATER(name, kind)           {"translate." #name, kind, false, offsetof(tr_config, name), true}
const tr_gguf_field tr_gguf_fields[] = {
    FIELD(d_model,            TR_GGUF_SIZE,  true),
    FIELD(encoder_layers,     TR_GGUF_SIZE,  true),
    FIELD(decoder_layers,     TR_GGUF_SIZE,  true),
    FIELD(encoder_heads,      TR_GGUF_SIZE,  true),
    FIELD(decoder_heads,      TR_GGUF_SIZE,  true),
    FIELD(encoder_ffn,        TR_GGUF_SIZE,  true),
    FIELD(decoder_ffn,        TR_GGUF_SIZE,  true),
    FIELD(source_vocabulary,  TR_GGUF_SIZE,  true),
    FIELD(target_vocabulary,  TR_GGUF_SIZE,  true),
    FIELD(max_positions,      TR_GGUF_SIZE,  true),
    FIELD(position_offset,    TR_GGUF_SIZE,  false),
    FIELD(pre_norm,           TR_GGUF_FLAG,  false),
    FIELD(final_norm,         TR_GGUF_FLAG,  false),
    FIELD(embedding_norm,     TR_GGUF_FLAG,  false),
    FIELD(embedding_scale,    TR_GGUF_REAL,  false),
    FIELD(layer_norm_epsilon, TR_GGUF_REAL,  false),
    FIELD(start_id,           TR_GGUF_TOKEN, true),
    FIELD(end_id,             TR_GGUF_TOKEN, true),
    FIELD(pad_id,             TR_GGUF_TOKEN, false),
    FIELD(unk_id,             TR_GGUF_TOKEN, false),
    FIELD(forced_first_id,    TR_GGUF_TOKEN, false),
    FIELD(forced_last_id,     TR_GGUF_TOKEN, false),
    LATER(head_size,          TR_GGUF_SIZE),
    LATER(relative_buckets,   TR_GGUF_SIZE),
    LATER(relative_distance,  TR_GGUF_SIZE),
    LATER(gated,              TR_GGUF_FLAG),
    LATER(attention_scale,    TR_GGUF_REAL),
    LATER(logits_scale,       TR_GGUF_REAL),
    LATER(bare_source,        TR_GGUF_FLAG),
    LATER(encoder_ffn_depth,  TR_GGUF_SIZE),
    LATER(decoder_ffn_depth,  TR_GGUF_SIZE),
    LATER(post_norm,          TR_GGUF_FLAG),
    LATER(raw_keys,           TR_GGUF_FLAG),
    LATER(no_projection,      TR_GGUF_FLAG),
    LATER(start_zeros,        TR_GGUF_FLAG),
    LATER(ssru_projection,    TR_GGUF_FLAG),
    LATER(average_ffn,        TR_GGUF_SIZE),
    LATER(average_depth,      TR_GGUF_SIZE),
    LATER(average_ungated,    TR_GGUF_FLAG),
    LATER(marian_int8,        TR_GGUF_FLAG),
    LATER(length_factor,      TR_GGUF_REAL),
    LATER(alignment_layer,    TR_GGUF_SIZE),
    LATER(alignment_head,     TR_GGUF_SIZE),
};
/* clang-format on */
const size_t tr_gguf_field_count = sizeof tr_gguf_fields / sizeof *tr_gguf_fields;
