#include "api/tokenizers.h"

/* parts but for the tokens that are no text. */
static tr_status create(const tr_package *package, tr_tokenizer_parts *parts, tr_tokenizer **tokenizer, tr_error *error)
{
    const tr_config *config = &package->config;
    *tokenizer = NULL;
    if (!parts->source_spm && !parts->source_bpe)
        return TR_OK;
    parts->target = package->target;
    /* <s> is SentencePiece's own start mark, which some networks emit */
    const int32_t marks[] = {config->start_id, config->eos_id, config->pad_id,
                             tr_vocabulary_find(package->target, "<s>", 3)};
    tr_ids special = {0};
    tr_status status = TR_ERROR_MEMORY;
    if (!tr_ids_append(&special, marks, sizeof marks / sizeof *marks) ||
        !tr_ids_append(&special, package->special.data, package->special.size)) {
        tr_fail(error, status, "tokenizer: out of memory");
    } else {
        parts->special = special.data;
        parts->special_count = special.size;
        status = tr_tokenizer_create(parts, tokenizer, error);
    }
    tr_ids_free(&special);
    return status;
}

tr_status tr_source_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error)
{
    tr_tokenizer_parts parts = {.source_spm = package->source_spm.data,
                                .source_spm_size = package->source_spm.size,
                                .source_bpe = package->source_bpe.data,
                                .source_bpe_size = package->source_bpe.size,
                                .source_language = package->source_language,
                                .target_language = package->target_language,
                                .source = &package->source,
                                .unk_id = package->config.unk_id};
    return create(package, &parts, tokenizer, error);
}

/* The unknown token is the source's by its number, the target's by its name. */
static int unknown_target(const tr_package *package)
{
    const int id = package->config.unk_id;
    if (id < 0 || package->target == &package->source)
        return id;
    const tr_piece piece = package->source.pieces[id];
    return piece.data ? tr_vocabulary_find(package->target, piece.data, piece.size) : -1;
}

tr_status tr_target_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error)
{
    tr_tokenizer_parts parts = {.source_spm = package->target_spm.data,
                                .source_spm_size = package->target_spm.size,
                                .source_language = package->target_language,
                                .target_language = package->target_language,
                                .source = package->target,
                                .unk_id = unknown_target(package)};
    return create(package, &parts, tokenizer, error);
}
