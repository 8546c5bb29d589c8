#define _GNU_SOURCE
#include "api/model.h"

#include <stdlib.h>
#include <string.h>

#include "api/stand_ins.h"
#include "formats/import.h"
#include "formats/open.h"
#include "formats/shortlist.h"
#include "kernels/dispatch.h"
#include "model/transformer.h"
#include "text/language_pair.h"
#include "util/team.h"

/* ---------------------------------------------------------------------------------------------------------- tokenizers */

/* Adds what both sides share: the target vocabulary, and the tokens that are no text. */
static tr_status create_tokenizer(const tr_package *package, tr_tokenizer_parts *parts, tr_tokenizer **tokenizer,
                                  tr_error *error)
{
    const tr_config *config = &package->config;
    *tokenizer = NULL;
    if (!parts->source_spm && !parts->words)
        return TR_OK;
    parts->target = package->target;
    /* <s> is SentencePiece's own start token, which some networks emit */
    const int32_t config_ids[] = {config->start_id, config->eos_id, config->pad_id,
                                  tr_vocabulary_find(package->target, "<s>", 3)};
    tr_ids special = {0};
    tr_status status = TR_ERROR_MEMORY;
    if (!tr_ids_append(&special, config_ids, sizeof config_ids / sizeof *config_ids) ||
        !tr_ids_append(&special, package->special.data, package->special.size)) {
        tr_fail_memory(error, "tokenizer");
        if (parts->words)
            parts->words->destroy(parts->words);
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
                                .source = &package->source,
                                .unk_id = package->config.unk_id};
    if (package->source_bpe.data) {
        const tr_import *import = tr_import_part();
        if (!import)
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "the tokenizer is BPE, which needs a build with -Dimport=enabled");
        const tr_status status = import->create_words(package->source_bpe, package->source_language,
                                                      package->target_language, &parts.words, error);
        if (status != TR_OK)
            return status;
    }
    return create_tokenizer(package, &parts, tokenizer, error);
}

tr_status tr_target_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error)
{
    tr_tokenizer_parts parts = {.source_spm = package->target_spm.data,
                                .source_spm_size = package->target_spm.size,
                                .source = package->target,
                                .unk_id = package->config.target_unk_id};
    return create_tokenizer(package, &parts, tokenizer, error);
}

tr_status tr_model_needs_tokenizer(const tr_model *model, tr_error *error)
{
    if (model->tokenizer)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
}

tr_status tr_model_target_tokenizer(const tr_model *model, const tr_tokenizer **tokenizer, tr_error *error)
{
    const tr_package *package = &model->package;
    tr_model *owner = (tr_model *)(uintptr_t)model; /* made once and kept: the model looks unchanged */
    tr_tokenizer *made = NULL, *there = atomic_load(&owner->target_tokenizer);
    const tr_status needed = tr_model_needs_tokenizer(model, error);
    *tokenizer = there;
    if (needed != TR_OK)
        return needed;
    if (package->target_spm.data && package->target_spm.data == package->source_spm.data &&
        package->target == &package->source)
        *tokenizer = model->tokenizer;
    if (*tokenizer)
        return TR_OK;
    const tr_status status = tr_target_tokenizer(package, &made, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, model->path);
    if (!made)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "model: it has no tokenizer for its target language; give it tokens");
    if (atomic_compare_exchange_strong(&owner->target_tokenizer, &there, made))
        there = made;
    else
        tr_tokenizer_destroy(made); /* another thread was faster */
    *tokenizer = there;
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

/* Reads from disk the weights that decoding needs at once: not the screen, which is used later (TR_SCREEN_AFTER). */
static void bring_in_weights(const tr_network *network)
{
    for (size_t i = 0; i < network->span_count; i++)
        tr_pages_populate(network->spans[i].data, network->spans[i].size);
}

static tr_status open_network(tr_model *model, const tr_model_options *options, const tr_kernels *kernels, tr_error *error)
{
    const tr_package *package = &model->package;
    tr_compute compute = options->compute;
    if (compute == TR_COMPUTE_AUTO && package->directory)
        compute = TR_COMPUTE_F32;
    tr_config config = package->config;
    if (options->full_vocabulary)
        config.allowed = NULL;
    const tr_status status = tr_network_create(&config, &package->weights, compute, kernels, &model->network, error);
    if (status != TR_OK)
        return status;
    if (options->attention_windows) {
        const tr_status limited = tr_network_limit_attention(model->network, options->attention_windows, error);
        if (limited != TR_OK)
            return limited;
    }
    /* half-precision weights stay as they are if f32 is asked for: widening them is exact */
    const tr_type type = compute == TR_COMPUTE_F32 ? TR_TYPE_F32 : model->network->type;
    model->compute = type == TR_TYPE_I8 ? "int8" : tr_type_name(type);
    bring_in_weights(model->network);
    return TR_OK;
}

static tr_status open_shortlist(tr_model *model, const tr_model_options *options, tr_error *error)
{
    const char *wanted = options->shortlist ? options->shortlist : "auto";
    if (strcmp(wanted, "auto") != 0 && strcmp(wanted, "off") != 0) {
        const tr_status status = tr_package_shortlist(&model->package, wanted, options->load, error);
        if (status != TR_OK)
            return status;
    }
    if (strcmp(wanted, "off") != 0 && model->package.shortlist.offsets)
        model->shortlist = &model->package.shortlist;
    return TR_OK;
}

/* The network is made on another thread while the tokenizer, which takes longest, is loaded. */
typedef struct network_task {
    tr_task task;
    tr_model *model;
    const tr_model_options *options;
    const tr_kernels *kernels;
    tr_status status;
    tr_error error;
} network_task;

static void run_network_task(void *argument)
{
    network_task *t = argument;
    t->status = open_network(t->model, t->options, t->kernels, &t->error);
}

/* Fills a zeroed model; the caller closes it on failure. */
static tr_status open_parts(tr_model *model, const tr_model_options *options, const tr_kernels *kernels, tr_error *error)
{
    network_task network = {.model = model, .options = options, .kernels = kernels};
    tr_task_start(&network.task, run_network_task, &network);
    const tr_status status = tr_source_tokenizer(&model->package, &model->tokenizer, error);
    tr_task_wait(&network.task);
    if (network.status != TR_OK)
        *error = network.error;
    return network.status != TR_OK ? network.status : status;
}

static tr_status check_model_options(const tr_model_options *options, tr_error *error)
{
    if (options->shortlist && !*options->shortlist)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open: shortlist is empty");
    if ((int)options->load < TR_LOAD_MAP || options->load > TR_LOAD_COPY)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open: load %d is unknown", (int)options->load);
    if ((int)options->compute < TR_COMPUTE_AUTO || options->compute > TR_COMPUTE_INT8)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open: compute %d is unknown", (int)options->compute);
    return TR_OK;
}

/* Opens the model at path, or, if memory.data is set, the one in these bytes. */
static tr_status open_model(const char *path, tr_bytes memory, const tr_model_options *options, tr_model **model,
                            tr_error *error)
{
    const tr_model_options chosen = options ? *options : tr_model_default_options();
    const tr_kernels *kernels;
    tr_status status = check_model_options(&chosen, error);
    if (status == TR_OK)
        status = tr_kernels_select(chosen.cpu, &kernels, error);
    if (status != TR_OK)
        return status;
    tr_model *m = calloc(1, sizeof *m);
    if (!m)
        return tr_fail_memory(error, path);
    m->path = strdup(path);
    if (!m->path)
        status = tr_fail_memory(error, path);
    else
        status = memory.data ? tr_package_open_memory(memory, chosen.load, &m->package, error)
                             : tr_package_open(path, chosen.load, &m->package, error);
    if (status != TR_OK) {
        free(m->path);
        free(m);
        return status;
    }
    tr_error inner = {0};
    status = open_shortlist(m, &chosen, &inner);
    if (status == TR_OK) {
        status = open_parts(m, &chosen, kernels, &inner);
        if (status != TR_OK)
            tr_fail_in(&inner, status, path);
    }
    if (status != TR_OK) {
        tr_model_close(m);
        if (error)
            *error = inner;
        return status;
    }
    *model = m;
    return TR_OK;
}

tr_status tr_open_model(const char *path, const tr_model_options *options, tr_model **model, tr_error *error)
{
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open: model is NULL");
    *model = NULL;
    if (!path || !*path)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open: path is %s", path ? "empty" : "NULL");
    return open_model(path, (tr_bytes){0}, options, model, error);
}

tr_status tr_open_model_memory(const void *data, size_t size, const tr_model_options *options, tr_model **model,
                               tr_error *error)
{
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open_memory: model is NULL");
    *model = NULL;
    if (!data)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_open_memory: data is NULL");
    return open_model("memory", (tr_bytes){data, size}, options, model, error);
}

const char *tr_default_model_path(void)
{
    return TR_MODEL_PATH;
}

const char *tr_cpu_level(int index)
{
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    return index >= 0 && index < count ? levels[index]->level : NULL;
}

void tr_model_close(tr_model *model)
{
    if (!model)
        return;
    tr_tokenizer_destroy(model->tokenizer);
    tr_tokenizer_destroy(atomic_load(&model->target_tokenizer));
    tr_stand_ins_free(atomic_load(&model->stand_ins));
    tr_network_destroy(model->network);
    tr_package_close(&model->package);
    free(model->path);
    free(model);
}

void tr_model_get_info(const tr_model *model, tr_model_info *info)
{
    const tr_package *package = &model->package;
    const tr_config *config = &package->config;
    *info = (tr_model_info){
        .format = package->format,
        .architecture = package->architecture,
        .name = package->name,
        .source_language = package->source_language,
        .target_language = package->target_language,
        .compute = model->compute,
        .cpu = model->network->kernels->level,
        .d_model = config->d_model,
        .encoder_layers = config->encoder_layers,
        .decoder_layers = config->decoder_layers,
        .encoder_heads = config->encoder_heads,
        .decoder_heads = config->decoder_heads,
        .encoder_ffn = config->encoder_ffn,
        .decoder_ffn = config->decoder_ffn,
        .source_vocabulary = config->source_vocabulary,
        .target_vocabulary = config->target_vocabulary,
        .max_source_length = config->max_positions,
        .max_target_length = config->max_positions,
        .start_id = config->start_id,
        .eos_id = config->eos_id,
        .pad_id = config->pad_id,
        .unk_id = config->unk_id,
        .parameters = model->network->parameters,
        .file_size = package->file_size,
        .has_tokenizer = model->tokenizer != NULL,
        .has_shortlist = model->shortlist != NULL,
        .vocabulary_subset = model->network->output_tokens ? model->network->output.weight.outputs : 0,
        .languages = (int)package->languages.count,
    };
}

const char *tr_model_language(const tr_model *model, int index)
{
    const tr_languages *languages = &model->package.languages;
    return index >= 0 && (size_t)index < languages->count ? languages->items[index].code : NULL;
}

tr_status tr_model_check_languages(const tr_model *model, const char *source, const char *target, tr_error *error)
{
    tr_language_pair pair;
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_check_languages: model is NULL");
    return tr_language_pair_choose(&model->package, model->tokenizer, model->package.config.max_positions, source, target,
                                   &pair, error);
}
