/* Target texts to tokens: what prefixes and scores need, and translating does not. */
#include "api/model.h"

#include "api/tokenizers.h"
#include "util/utf8.h"

tr_status tr_model_target_tokenizer(const tr_model *model, const tr_tokenizer **tokenizer, tr_error *error)
{
    const tr_package *package = &model->package;
    tr_model *owner = (tr_model *)(uintptr_t)model; /* it is what it was: this is found once, and kept */
    tr_tokenizer *made = NULL, *there = atomic_load(&owner->target_tokenizer);
    *tokenizer = there;
    if (!model->tokenizer)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
    if (package->target_spm.data && package->target_spm.data == package->source_spm.data &&
        package->target == &package->source)
        *tokenizer = model->tokenizer;
    if (*tokenizer)
        return TR_OK;
    const tr_status status = tr_target_tokenizer(package, &made, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, model->path);
    if (!made)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "model: it cannot cut texts of its target language; give it tokens");
    if (atomic_compare_exchange_strong(&owner->target_tokenizer, &there, made))
        there = made;
    else
        tr_tokenizer_destroy(made); /* another thread was faster */
    *tokenizer = there;
    return TR_OK;
}

tr_status tr_tokenize_target(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error)
{
    if (!tokens)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize_target: tokens is NULL");
    *tokens = (tr_tokens){0};
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize_target: %s is NULL", model ? "text" : "model");
    const tr_tokenizer *tokenizer;
    tr_buffer clean = {0};
    tr_ids ids = {0};
    tr_status status = tr_model_target_tokenizer(model, &tokenizer, error);
    if (status == TR_OK && !tr_utf8_clean(text, size, &clean))
        status = tr_fail(error, TR_ERROR_MEMORY, "tokens: out of memory");
    if (status == TR_OK)
        status = tr_tokenizer_encode(tokenizer, clean.data, clean.size, &ids, error);
    tr_buffer_free(&clean);
    if (status != TR_OK) {
        tr_ids_free(&ids);
        return status;
    }
    *tokens = (tr_tokens){ids.data, ids.size};
    return TR_OK;
}
