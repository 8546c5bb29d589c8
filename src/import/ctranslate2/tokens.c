/* The ids of a CTranslate2 model's special tokens: it names them by their texts. */
#include "import/ctranslate2/ctranslate2.h"

#include <string.h>

static tr_status find_id(const tr_vocabulary *vocabulary, tr_piece piece, const char *what, int *id, tr_error *error)
{
    *id = tr_vocabulary_find(vocabulary, piece.data, piece.size);
    if (*id >= 0)
        return TR_OK;
    return tr_fail(error, TR_ERROR_FORMAT, "%s %.*s: is not in the vocabulary", what,
                   (int)(piece.size < 100 ? piece.size : 100), piece.data);
}

static bool same_piece(tr_piece a, tr_piece b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* The flag add_source_eos is false for models that were trained without EOS after the source (OpenNMT), but also for those
 * converted by way of Transformers, whose tokenizers add EOS. The former start with <s>; Marian's start from zeros. A model
 * that sets add_source_bos was converted with both flags as it was trained. */
static bool is_bare(const tr_ct2_settings *s, bool from_zero)
{
    static const tr_piece begin = {"<s>", 3};
    const bool opennmt = !from_zero && same_piece(s->start, begin) && same_piece(s->bos, begin);
    return !s->source_eos && (opennmt || s->source_bos);
}

static tr_status start(const tr_ct2_settings *s, const tr_vocabulary *target, bool from_zero, tr_config *c, tr_error *error)
{
    c->start_zeros = from_zero;
    if (from_zero)
        return TR_OK;
    if (!s->start.data)
        return tr_fail(error, TR_ERROR_UNSUPPORTED,
                       "decoder_start_token: is null, a start token for each sentence: not supported");
    return find_id(target, s->start, "decoder_start_token", &c->start_id, error);
}

tr_status tr_ct2_ids(const tr_ct2_settings *s, const tr_vocabulary *source, const tr_vocabulary *target, bool from_zero,
                     tr_config *c, tr_error *error)
{
    tr_status status = find_id(target, s->eos, "eos_token", &c->eos_id, error);
    if (status == TR_OK)
        status = start(s, target, from_zero, c, error);
    c->no_source_eos = status == TR_OK && is_bare(s, from_zero);
    if (status == TR_OK && !c->no_source_eos) {
        int source_end;
        status = find_id(source, s->eos, "eos_token", &source_end, error);
        if (status == TR_OK && source_end != c->eos_id)
            return tr_fail(error, TR_ERROR_UNSUPPORTED,
                           "eos_token: has id %d at the source and %d at the target: not supported", source_end, c->eos_id);
    }
    if (status == TR_OK && s->source_bos)
        status = find_id(source, s->bos, "bos_token", &c->source_start_id, error);
    c->unk_id = tr_vocabulary_find(source, s->unk.data, s->unk.size);
    c->pad_id = tr_vocabulary_find(target, "<pad>", 5);
    return status;
}
