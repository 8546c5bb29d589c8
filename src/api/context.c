/* The context: its models, which decode together, and its working memory. */
#include "api/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"

/* ------------------------------------------------------------------------------------------------------------ ensemble */

static tr_status fail_differing(const tr_model *a, const tr_model *b, const char *what, tr_error *error)
{
    return tr_fail(error, TR_ERROR_ARGUMENT, "ensemble: %.180s and %.180s differ in %s", a->path, b->path, what);
}

/* Returns the first id whose pieces differ, or -1. Vocabularies without pieces do not differ; the caller compares sizes. */
static int64_t first_difference(const tr_vocabulary *a, const tr_vocabulary *b)
{
    for (size_t i = 0; i < a->size && i < b->size; i++)
        if (a->pieces[i].size != b->pieces[i].size ||
            (a->pieces[i].size && memcmp(a->pieces[i].data, b->pieces[i].data, a->pieces[i].size) != 0))
            return (int64_t)i;
    return -1;
}

static tr_status compare_vocabularies(const tr_model *a, const tr_model *b, const char *side, const tr_vocabulary *of_a,
                                      const tr_vocabulary *of_b, int size_a, int size_b, tr_error *error)
{
    if (size_a != size_b)
        return tr_fail(error, TR_ERROR_ARGUMENT, "ensemble: %.180s and %.180s differ in their %s tokens: %d and %d", a->path,
                       b->path, side, size_a, size_b);
    const int64_t id = first_difference(of_a, of_b);
    if (id < 0)
        return TR_OK;
    const tr_piece *p = &of_a->pieces[id], *q = &of_b->pieces[id];
    return tr_fail(error, TR_ERROR_ARGUMENT,
                   "ensemble: %.150s and %.150s differ in their %s tokens: number %d is '%.*s' and '%.*s'", a->path, b->path,
                   side, (int)id, (int)(p->size < 40 ? p->size : 40), p->size ? p->data : "",
                   (int)(q->size < 40 ? q->size : 40), q->size ? q->data : "");
}

/* Tokens that a model of several languages is given for them. */
static bool same_languages(const tr_languages *a, const tr_languages *b)
{
    if (a->source != b->source || a->target != b->target || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        size_t k = 0;
        while (k < b->count && strcmp(a->items[i].code, b->items[k].code) != 0)
            k++;
        if (k == b->count || a->items[i].id != b->items[k].id)
            return false;
    }
    return true;
}

static bool same_allowed(const tr_network *a, const tr_network *b)
{
    const size_t outputs = (size_t)a->output.weight.outputs;
    if (!a->output_tokens || !b->output_tokens)
        return a->output_tokens == b->output_tokens;
    return a->output.weight.outputs == b->output.weight.outputs &&
           memcmp(a->output_tokens, b->output_tokens, outputs * sizeof *a->output_tokens) == 0;
}

static tr_status compare_settings(const tr_model *a, const tr_model *b, tr_error *error)
{
    const tr_config *p = &a->package.config, *q = &b->package.config;
    if (p->start_id != q->start_id || p->start_zeros != q->start_zeros)
        return fail_differing(a, b, "the token that targets start with", error);
    if (p->eos_id != q->eos_id || p->no_source_eos != q->no_source_eos)
        return fail_differing(a, b, "their EOS", error);
    if (p->source_start_id != q->source_start_id)
        return fail_differing(a, b, "the token that sources start with", error);
    if (p->forced_first_id != q->forced_first_id)
        return fail_differing(a, b, "the first token that they force", error);
    if (!same_languages(&a->package.languages, &b->package.languages))
        return fail_differing(a, b, "the tokens that languages are given as", error);
    if (!same_allowed(a->network, b->network))
        return fail_differing(a, b, "the lists of tokens that can come; leave these out (--allowed off)", error);
    return TR_OK;
}

static tr_status compare_models(const tr_model *a, const tr_model *b, tr_error *error)
{
    const tr_config *p = &a->package.config, *q = &b->package.config;
    tr_status status = compare_vocabularies(a, b, "target", a->package.target, b->package.target, p->target_vocabulary,
                                            q->target_vocabulary, error);
    if (status == TR_OK)
        status = compare_vocabularies(a, b, "source", &a->package.source, &b->package.source, p->source_vocabulary,
                                      q->source_vocabulary, error);
    return status == TR_OK ? compare_settings(a, b, error) : status;
}

static tr_status refuse_shortlist(const tr_model *model, tr_error *error)
{
    if (!model->shortlist)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT,
                   "ensemble: %.300s has a shortlist, which ensembles do without (--shortlist off)", model->path);
}

static tr_status set_weights(const float *weights, tr_ensemble *e, tr_error *error)
{
    double sum = 0;
    for (int m = 0; m < e->count; m++) {
        const float weight = weights ? weights[m] : 1;
        if (!(weight > 0) || !isfinite(weight))
            return tr_fail(error, TR_ERROR_ARGUMENT, "ensemble: the weight %g of model %d is not a number above 0",
                           (double)weight, m + 1);
        sum += weight;
    }
    for (int m = 0; m < e->count; m++)
        e->weights[m] = (float)((weights ? weights[m] : 1) / sum);
    return TR_OK;
}

static tr_status make_ensemble(const tr_model *model, const tr_context_options *options, tr_ensemble *ensemble,
                               tr_error *error)
{
    *ensemble = tr_ensemble_of(model->network);
    if (options->ensemble_count < 0 || options->ensemble_count >= TR_MAX_ENSEMBLE)
        return tr_fail(error, TR_ERROR_ARGUMENT, "ensemble_count: %d is not between 0 and %d", options->ensemble_count,
                       TR_MAX_ENSEMBLE - 1);
    if (!options->ensemble_count)
        return TR_OK;
    tr_status status = refuse_shortlist(model, error);
    for (int i = 0; i < options->ensemble_count && status == TR_OK; i++) {
        const tr_model *other = options->ensemble ? options->ensemble[i] : NULL;
        if (!other)
            return tr_fail(error, TR_ERROR_ARGUMENT, "ensemble: model %d is NULL", i);
        status = refuse_shortlist(other, error);
        if (status == TR_OK)
            status = compare_models(model, other, error);
        ensemble->networks[ensemble->count++] = other->network;
    }
    return status == TR_OK ? set_weights(options->ensemble_weights, ensemble, error) : status;
}

/* ------------------------------------------------------------------------------------------------------------- context */

static tr_status check_context_options(const tr_context_options *options, tr_error *error)
{
    if (options->threads < 0 || options->threads > TR_TEAM_MAX)
        return tr_fail(error, TR_ERROR_ARGUMENT, "threads: %d is not between 0 and %d", options->threads, TR_TEAM_MAX);
    if (options->batch_size < 1 || options->batch_size > TR_MAX_BATCH)
        return tr_fail(error, TR_ERROR_ARGUMENT, "batch_size: %d is not between 1 and %d", options->batch_size,
                       TR_MAX_BATCH);
    if ((int)options->backend < TR_THREADS_OPENMP || options->backend > TR_THREADS_POSIX)
        return tr_fail(error, TR_ERROR_ARGUMENT, "backend: %d is unknown", (int)options->backend);
    return TR_OK;
}

/* "" is unknown. */
static bool may_be_same(const char *a, const char *b)
{
    char base_a[TR_LANGUAGE], base_b[TR_LANGUAGE];
    return !tr_language_base(a, base_a) || !tr_language_base(b, base_b) || strcmp(base_a, base_b) == 0;
}

/* Models of several languages are asked when a call names some. */
static tr_status check_way_back(const tr_model *model, const tr_model *reverse, tr_error *error)
{
    const tr_package *p = &model->package, *q = &reverse->package;
    if (p->languages.count || q->languages.count)
        return TR_OK;
    if (may_be_same(p->source_language, q->target_language) && may_be_same(p->target_language, q->source_language))
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%.200s: translates %s to %s, not %s back to %s", reverse->path,
                   q->source_language, q->target_language, p->target_language, p->source_language);
}

/* The context of the model that translates back: it scores, and keeps no translations. */
static tr_status make_reverse(const tr_model *model, const tr_context_options *options, tr_context **reverse,
                              tr_error *error)
{
    tr_context_options o = tr_context_default_options();
    o.threads = options->threads;
    o.backend = options->backend;
    o.batch_size = options->batch_size;
    o.cache_bytes = 0;
    tr_status status = check_way_back(model, options->reverse, error);
    const tr_tokenizer *target;
    tr_error own;
    if (status != TR_OK)
        return status;
    status = tr_model_needs_tokenizer(options->reverse, &own);
    if (status == TR_OK)
        status = tr_model_target_tokenizer(options->reverse, &target, &own);
    if (status != TR_OK)
        return tr_fail(error, status, "%.200s: %.250s", options->reverse->path, own.message);
    return tr_make_context(options->reverse, &o, reverse, error);
}

tr_status tr_make_context(const tr_model *model, const tr_context_options *options, tr_context **context, tr_error *error)
{
    const tr_context_options chosen = options ? *options : tr_context_default_options();
    if (!context)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_context_create: context is NULL");
    *context = NULL;
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_context_create: model is NULL");
    tr_ensemble models;
    tr_status status = check_context_options(&chosen, error);
    if (status == TR_OK)
        status = make_ensemble(model, &chosen, &models, error);
    if (status != TR_OK)
        return status;
    tr_context *c = calloc(1, sizeof *c);
    if (!c)
        return tr_fail_memory(error, "context");
    c->model = model;
    c->cache.limit = chosen.cache_bytes;
    c->config = model->package.config;
    for (int m = 1; m < models.count; m++)
        if (models.networks[m]->config.max_positions < c->config.max_positions)
            c->config.max_positions = models.networks[m]->config.max_positions;
    c->threads = chosen.threads ? chosen.threads : tr_usable_cores();
    c->threads = c->threads < TR_TEAM_MAX ? c->threads : TR_TEAM_MAX;
    c->plans = calloc((size_t)c->threads, sizeof *c->plans);
    if (!c->plans)
        status = tr_fail_memory(error, "context");
    else
        status = tr_scheduler_create(&models, c->threads, chosen.backend, chosen.batch_size, &c->scheduler, error);
    if (status == TR_OK)
        tr_scheduler_set_shortlist(c->scheduler, model->shortlist);
    if (status == TR_OK && chosen.reverse)
        status = make_reverse(model, &chosen, &c->reverse, error);
    if (status != TR_OK) {
        tr_context_destroy(c);
        return status;
    }
    *context = c;
    return TR_OK;
}

void tr_context_destroy(tr_context *context)
{
    if (!context)
        return;
    tr_context_destroy(context->reverse);
    tr_scheduler_destroy(context->scheduler);
    for (int t = 0; context->plans && t < context->threads; t++)
        tr_plan_free(&context->plans[t]);
    free(context->plans);
    tr_translation_cache_free(&context->cache);
    free(context);
}

void tr_context_cancel(tr_context *context)
{
    if (!context)
        return;
    tr_scheduler_cancel(context->scheduler);
    if (context->reverse)
        tr_scheduler_cancel(context->reverse->scheduler);
}

tr_status tr_context_languages(const tr_context *context, const char *source, const char *target, bool texts,
                               tr_language_pair *pair, tr_error *error)
{
    const tr_model *model = context->model;
    const tr_status status = texts ? tr_model_needs_tokenizer(model, error) : TR_OK;
    if (status != TR_OK)
        return status;
    return tr_language_pair_choose(&model->package, texts ? model->tokenizer : NULL, context->config.max_positions, source,
                                   target, pair, error);
}
