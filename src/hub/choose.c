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

enum { AT_TOP = FNM_PATHNAME | FNM_PERIOD }; /* a star stands for no slash, nor for a dot in front */

static tr_status add(tr_hub_files *chosen, const tr_hub_file *file, tr_error *error)
{
    if (chosen->count == TR_HUB_MAX_FILES)
        return tr_fail(error, TR_ERROR_FORMAT, "more than %d files are too many", TR_HUB_MAX_FILES);
    return tr_hub_files_add(chosen, file) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

/* Appends those that match and are not there yet. */
static tr_status take(const tr_hub_files *listed, const char *pattern, int flags, tr_hub_files *chosen, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < listed->count; i++)
        if (fnmatch(pattern, listed->items[i].name, flags) == 0 && !tr_hub_files_find(chosen, listed->items[i].name))
            status = add(chosen, &listed->items[i], error);
    return status;
}

/* The index and its shards, or the one file. Nothing is appended if the form is not there. */
static tr_status take_form(const tr_hub_files *listed, const char *const form[2], tr_hub_files *chosen, tr_error *error)
{
    if (!tr_hub_files_find(listed, form[0]))
        return TR_OK;
    tr_status status = form[1] ? take(listed, form[1], AT_TOP, chosen, error) : TR_OK;
    if (status == TR_OK && form[1] && chosen->count == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "there is %s but none of its parts, %s", form[0], form[1]);
    return status == TR_OK ? take(listed, form[0], AT_TOP, chosen, error) : status;
}

static tr_status take_model(const tr_hub_files *listed, tr_hub_files *chosen, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && chosen->count == 0 && i < sizeof weights / sizeof *weights; i++)
        status = take_form(listed, weights[i], chosen, error);
    if (chosen->count == 0)
        return status;
    for (size_t i = 0; status == TR_OK && i < sizeof companions / sizeof *companions; i++)
        status = take(listed, companions[i], AT_TOP, chosen, error);
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
        status = take(listed, pattern, FNM_PERIOD, chosen, error);
        if (status == TR_OK && chosen->count == 0)
            status = tr_fail(error, TR_ERROR_ARGUMENT, "holds no file that matches '%s'", pattern);
        return status;
    }
    if (tr_hub_files_find(listed, "config.json"))
        status = take_model(listed, chosen, error);
    if (status != TR_OK || chosen->count)
        return status;
    status = take(listed, "*.gguf", AT_TOP, chosen, error);
    if (status == TR_OK && chosen->count > 1)
        return fail_several(chosen, error);
    if (status == TR_OK && chosen->count == 0)
        status = tr_fail(error, TR_ERROR_UNSUPPORTED,
                         "holds no model that can be used: neither config.json with model.safetensors, pytorch_model.bin or "
                         "model.bin, nor a .gguf file");
    return status;
}
