/* Opening models and creating contexts in tests; failures end the running test. Include cmocka first. */
#ifndef TR_TESTS_OPENING_H
#define TR_TESTS_OPENING_H

#include "api/engine.h"

static inline tr_model *open_model(const char *path)
{
    tr_model *model;
    tr_error error;
    if (tr_open_model(path, NULL, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

static inline tr_context *open_context(const tr_model *model, int threads, int batch_size)
{
    tr_context_options options = tr_context_default_options();
    tr_context *context;
    tr_error error;
    options.threads = threads;
    options.batch_size = batch_size;
    if (tr_make_context(model, &options, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

#endif
