/* The context: options, working memory, and their checks. */
#include "api/model.h"

#include <stdlib.h>

#include "run/align.h"
#include "api/ensemble.h"
#include "api/search.h"
#include "util/team.h"

enum { MAX_BATCH = 4096 };

tr_context_options tr_context_default_options(void)
{
    return (tr_context_options){.threads = 0, .backend = TR_THREADS_POSIX, .batch_size = 32};
}

tr_translate_options tr_translate_default_options(void)
{
    return (tr_translate_options){.max_length = 512,
                                  .min_length = 0,
                                  .split = TR_SPLIT_AUTO,
                                  .search = tr_search_default_options(),
                                  .alignment = tr_align_default_options(),
                                  .use_cache = true,
                                  .loop_guard = true};
}

static tr_status check_options(const tr_context_options *options, tr_error *error)
{
    if (options->threads < 0 || options->threads > TR_TEAM_MAX)
        return tr_fail(error, TR_ERROR_ARGUMENT, "threads: %d is not between 0 and %d", options->threads, TR_TEAM_MAX);
    if (options->batch_size < 1 || options->batch_size > MAX_BATCH)
        return tr_fail(error, TR_ERROR_ARGUMENT, "batch_size: %d is not between 1 and %d", options->batch_size, MAX_BATCH);
    if ((int)options->backend < TR_THREADS_OPENMP || options->backend > TR_THREADS_POSIX)
        return tr_fail(error, TR_ERROR_ARGUMENT, "backend: %d is unknown", (int)options->backend);
    return TR_OK;
}

tr_status tr_context_create(const tr_model *model, const tr_context_options *options, tr_context **context, tr_error *error)
{
    const tr_context_options chosen = options ? *options : tr_context_default_options();
    if (!context)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_context_create: context is NULL");
    *context = NULL;
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_context_create: model is NULL");
    tr_ensemble models;
    tr_status status = check_options(&chosen, error);
    if (status == TR_OK)
        status = tr_ensemble_make(model, &chosen, &models, error);
    if (status != TR_OK)
        return status;
    tr_context *c = calloc(1, sizeof *c);
    if (!c)
        return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
    c->model = model;
    c->config = model->package.config;
    for (int m = 1; m < models.count; m++)
        if (models.networks[m]->config.max_positions < c->config.max_positions)
            c->config.max_positions = models.networks[m]->config.max_positions;
    c->threads = chosen.threads ? chosen.threads : tr_usable_cores();
    c->threads = c->threads < TR_TEAM_MAX ? c->threads : TR_TEAM_MAX;
    c->plans = calloc((size_t)c->threads, sizeof *c->plans);
    if (!c->plans)
        status = tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
    else
        status = tr_scheduler_create(&models, c->threads, chosen.backend, chosen.batch_size, &c->scheduler, error);
    if (status == TR_OK)
        tr_scheduler_set_shortlist(c->scheduler, model->shortlist);
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
    tr_scheduler_destroy(context->scheduler);
    for (int t = 0; context->plans && t < context->threads; t++)
        tr_plan_free(&context->plans[t]);
    free(context->plans);
    tr_translation_cache_free(&context->cache);
    free(context);
}

tr_status tr_options_resolve(const tr_context *context, const tr_translate_options *options, tr_translate_options *resolved,
                             tr_error *error)
{
    const int most = context->config.max_positions;
    *resolved = options ? *options : tr_translate_default_options();
    if (resolved->max_length < 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "max_length: %d is not at least 1", resolved->max_length);
    if (resolved->min_length < 0 || resolved->min_length > resolved->max_length)
        return tr_fail(error, TR_ERROR_ARGUMENT, "min_length: %d is not between 0 and max_length (%d)", resolved->min_length,
                       resolved->max_length);
    if ((int)resolved->split < TR_SPLIT_AUTO || resolved->split > TR_SPLIT_NEVER)
        return tr_fail(error, TR_ERROR_ARGUMENT, "split: %d is unknown", (int)resolved->split);
    tr_status status = tr_search_check(&resolved->search, &context->config, error);
    if (status == TR_OK)
        status = tr_align_resolve(&context->config, &resolved->alignment, error);
    if (status != TR_OK)
        return status;
    if (resolved->on_token && (resolved->search.beam > 1 || resolved->search.alternatives))
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "token: with %s nobody knows a translation's tokens before its end; it goes with beam 1 only",
                       resolved->search.beam > 1 ? "a beam" : "alternatives");
    resolved->max_length = resolved->max_length < most ? resolved->max_length : most;
    resolved->min_length = resolved->min_length < most ? resolved->min_length : most;
    return TR_OK;
}
