/* threads MODEL TEXT...: translates each text in a thread of its own. The threads share one model; each has a context. A
 * program with many threads gives each context a single thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <translate/translate.h>

typedef struct job {
    const tr_model *model;
    const char *text;
    tr_result *result;
    tr_error error;
    pthread_t thread;
} job;

static void *translate_text(void *argument)
{
    job *j = argument;
    tr_context_options options = tr_context_default_options();
    tr_context *context;
    options.threads = 1;
    if (tr_context_create(j->model, &options, &context, &j->error))
        return NULL;
    tr_translate(context, &j->text, NULL, 1, NULL, &j->result, &j->error);
    tr_context_destroy(context);
    return NULL;
}

int main(int argc, char **argv)
{
    tr_model *model;
    tr_error error;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL TEXT...\n", argv[0]);
        return 2;
    }
    if (tr_model_open(argv[1], NULL, &model, &error)) {
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
        return 1;
    }
    const int count = argc - 2;
    job *jobs = calloc((size_t)count, sizeof *jobs);
    int started = 0, failures = 0;
    for (; jobs && started < count; started++) {
        jobs[started] = (job){.model = model, .text = argv[started + 2]};
        if (pthread_create(&jobs[started].thread, NULL, translate_text, &jobs[started]))
            break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(jobs[i].thread, NULL);
        puts(jobs[i].result ? jobs[i].result->text : jobs[i].error.message);
        failures += !jobs[i].result;
        tr_results_free(jobs[i].result, 1);
    }
    free(jobs);
    tr_model_close(model);
    return failures || started < count;
}
