#include "hub/choose.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Forms of weights, the best first: the file that must be there, and the shards that it names, if it is an index. */
static const char *const weights[][2] = {
    {"model.safetensors", NULL}, {"model.safetensors.index.json", "model-*-of-*.safetensors"},
    {"pytorch_model.bin", NULL}, {"pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"},
    {"model.bin", NULL}, /* CTranslate2 */
};

/* Settings, vocabularies and tokenizers of all families. */
static const char *const companions[] = {
    "config.json",
    "generation_config.json",
    "vocab*.json",
    "target_vocab.json",
    "*.spm",
    "sentencepiece*.model",
    "spiece.model",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "shared_vocabulary.*",
    "source_vocabulary.*",
    "target_vocabulary.*",
};

enum { AT_TOP = FNM_PATHNAME | FNM_PERIOD }; /* a star matches no slash and no leading dot */

static tr_status add_file(tr_hub_files *chosen, const tr_hub_file *file, tr_error *error)
{
    if (chosen->count == TR_HUB_MAX_FILES)
        return tr_fail(error, TR_ERROR_FORMAT, "more than %d files are too many", TR_HUB_MAX_FILES);
    return tr_hub_files_add(chosen, file) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

/* Appends the files that match and are not in chosen yet. */
static tr_status add_matching(const tr_hub_files *listed, const char *pattern, int flags, tr_hub_files *chosen,
                              tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < listed->count; i++)
        if (fnmatch(pattern, listed->items[i].name, flags) == 0 && !tr_hub_files_find(chosen, listed->items[i].name))
            status = add_file(chosen, &listed->items[i], error);
    return status;
}

/* Appends the index and its shards, or the one file; nothing if the repository does not have this form. */
static tr_status add_weights(const tr_hub_files *listed, const char *const form[2], tr_hub_files *chosen, tr_error *error)
{
    if (!tr_hub_files_find(listed, form[0]))
        return TR_OK;
    tr_status status = form[1] ? add_matching(listed, form[1], AT_TOP, chosen, error) : TR_OK;
    if (status == TR_OK && form[1] && chosen->count == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "there is %s but none of its parts, %s", form[0], form[1]);
    return status == TR_OK ? add_matching(listed, form[0], AT_TOP, chosen, error) : status;
}

static tr_status add_model(const tr_hub_files *listed, tr_hub_files *chosen, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && chosen->count == 0 && i < sizeof weights / sizeof *weights; i++)
        status = add_weights(listed, weights[i], chosen, error);
    if (chosen->count == 0)
        return status;
    for (size_t i = 0; status == TR_OK && i < sizeof companions / sizeof *companions; i++)
        status = add_matching(listed, companions[i], AT_TOP, chosen, error);
    return status;
}

static tr_status fail_several(const tr_hub_files *ggufs, tr_error *error)
{
    char names[320] = "";
    size_t size = 0;
    for (size_t i = 0; i < ggufs->count && size + strlen(ggufs->items[i].name) + 8 < sizeof names; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", i ? ", " : "", ggufs->items[i].name);
    return tr_fail(error, TR_ERROR_ARGUMENT, "holds several GGUF files, choose one with --file: %s", names);
}

tr_status tr_hub_choose(const tr_hub_files *listed, const char *pattern, tr_hub_files *chosen, tr_error *error)
{
    tr_status status = TR_OK;
    if (pattern) {
        status = add_matching(listed, pattern, FNM_PERIOD, chosen, error);
        if (status == TR_OK && chosen->count == 0)
            status = tr_fail(error, TR_ERROR_ARGUMENT, "holds no file that matches '%s'", pattern);
        return status;
    }
    if (tr_hub_files_find(listed, "config.json"))
        status = add_model(listed, chosen, error);
    if (status != TR_OK || chosen->count)
        return status;
    status = add_matching(listed, "*.gguf", AT_TOP, chosen, error);
    if (status == TR_OK && chosen->count > 1)
        return fail_several(chosen, error);
    if (status == TR_OK && chosen->count == 0)
        status = tr_fail(error, TR_ERROR_UNSUPPORTED,
                         "holds no model that can be used: neither config.json with model.safetensors, pytorch_model.bin or "
                         "model.bin, nor a .gguf file");
    return status;
}
