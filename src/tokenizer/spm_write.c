#include "tokenizer/spm_write.h"

#include "util/numbers.h"
#include "tokenizer/spm_fields.h"

static bool put_varint(tr_buffer *b, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (char)((value & 0x7f) | 0x80);
    bytes[n++] = (char)value;
    return tr_buffer_append(b, bytes, n);
}

static bool put_tag(tr_buffer *b, unsigned number, unsigned wire)
{
    return put_varint(b, number << 3 | wire);
}

static bool put_number(tr_buffer *b, unsigned number, uint64_t value)
{
    return put_tag(b, number, TR_SPM_WIRE_VARINT) && put_varint(b, value);
}

static bool put_bytes(tr_buffer *b, unsigned number, const void *data, size_t size)
{
    return put_tag(b, number, TR_SPM_WIRE_BYTES) && put_varint(b, size) && (!size || tr_buffer_append(b, data, size));
}

static bool put_float(tr_buffer *b, unsigned number, float value)
{
    const uint32_t bits = tr_float_bits(value);
    const char little[4] = {(char)(bits & 255), (char)(bits >> 8 & 255), (char)(bits >> 16 & 255), (char)(bits >> 24)};
    return put_tag(b, number, TR_SPM_WIRE_32) && tr_buffer_append(b, little, sizeof little);
}

/* Appends a message that was built by itself, for its length, and frees it. */
static bool put_message(tr_buffer *file, unsigned number, tr_buffer *message, bool whole)
{
    whole = whole && put_bytes(file, number, message->data, message->size);
    tr_buffer_free(message);
    return whole;
}

bool tr_spm_write_piece(tr_buffer *file, const char *text, size_t size, float score, int type)
{
    enum { SCORE = 5, TYPE = 2 }; /* their bytes with their tags: the length is known beforehand */
    size_t length_bytes = 1;
    for (uint64_t rest = size; rest >= 0x80; rest >>= 7)
        length_bytes++;
    return put_tag(file, TR_SPM_MODEL_PIECE, TR_SPM_WIRE_BYTES) &&
           put_varint(file, 1 + length_bytes + size + SCORE + TYPE) && put_bytes(file, TR_SPM_PIECE_TEXT, text, size) &&
           put_float(file, TR_SPM_PIECE_SCORE, score) && put_number(file, TR_SPM_PIECE_TYPE, (unsigned)type);
}

bool tr_spm_write_settings(tr_buffer *file, const tr_spm_settings *s)
{
    tr_buffer trainer = {0}, normalizer = {0};
    const bool trained = put_number(&trainer, TR_SPM_TRAINER_MODEL_TYPE, (unsigned)s->model_type) &&
                         put_number(&trainer, TR_SPM_TRAINER_BYTE_FALLBACK, s->byte_fallback);
    const bool normalized =
        (!s->charsmap || put_bytes(&normalizer, TR_SPM_NORMALIZER_CHARSMAP, s->charsmap, s->charsmap_size)) &&
        put_number(&normalizer, TR_SPM_NORMALIZER_DUMMY_PREFIX, s->add_dummy_prefix) &&
        put_number(&normalizer, TR_SPM_NORMALIZER_EXTRA_SPACES, s->remove_extra_whitespaces);
    const bool first = put_message(file, TR_SPM_MODEL_TRAINER, &trainer, trained);
    return put_message(file, TR_SPM_MODEL_NORMALIZER, &normalizer, normalized) && first;
}
