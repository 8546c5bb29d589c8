/* threads MODEL TEXT...: eight threads translate the texts by one queue and print one line per text. Each thread also
 * submits a long job at low priority and cancels it: that holds up nobody. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <translate/translate.h>

enum { THREADS = 8, LONG = 200 };

typedef struct job {
    tr_queue *queue;
    char **texts;
    tr_event **events; /* [count] */
    int first, count;  /* texts first, first + THREADS, ... below count are this thread's */
} job;

/* Takes the events of a ticket up to the last, which it returns. */
static tr_event *last_event(tr_queue *queue, tr_ticket ticket)
{
    tr_event *event = tr_queue_wait(queue, ticket, -1);
    while (event && !tr_event_last(event)) {
        tr_event_free(event);
        event = tr_queue_wait(queue, ticket, -1);
    }
    return event;
}

static void *translate_texts(void *argument)
{
    job *j = argument;
    tr_options *low = NULL;
    tr_ticket ticket, background = 0;
    const char *many[LONG];
    for (int i = 0; i < LONG; i++)
        many[i] = j->texts[i % j->count];
    if (tr_options_create(&low, NULL) == TR_OK && tr_options_set_string(low, "priority", "low", NULL) == TR_OK)
        tr_queue_submit(j->queue, many, NULL, LONG, low, &background, NULL);
    for (int i = j->first; i < j->count; i += THREADS) {
        const char *text = j->texts[i];
        if (tr_queue_submit(j->queue, &text, NULL, 1, NULL, &ticket, NULL) == TR_OK)
            j->events[i] = last_event(j->queue, ticket);
    }
    tr_queue_cancel(j->queue, background);
    tr_event_free(last_event(j->queue, background));
    tr_options_free(low);
    return NULL;
}

int main(int argc, char **argv)
{
    tr_model *model = NULL;
    tr_queue *queue = NULL;
    tr_error error;
    pthread_t threads[THREADS];
    job jobs[THREADS];
    int started = 0, failures = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL TEXT...\n", argv[0]);
        return 2;
    }
    const int count = argc - 2;
    tr_event **events = calloc((size_t)count, sizeof(tr_event *));
    if (!events || tr_model_open(argv[1], NULL, &model, &error) || tr_queue_create(model, NULL, &queue, &error)) {
        fprintf(stderr, "%s: %s\n", argv[0], events ? error.message : "out of memory");
        tr_model_close(model);
        free(events);
        return 1;
    }
    for (; started < THREADS; started++) {
        jobs[started] = (job){queue, argv + 2, events, started, count};
        if (pthread_create(&threads[started], NULL, translate_texts, &jobs[started]))
            break;
    }
    for (int t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    for (int i = 0; i < count; i++) {
        const tr_results *results = events[i] ? tr_event_results(events[i]) : NULL;
        puts(results ? tr_results_text(results, 0, NULL) : events[i] ? tr_event_message(events[i]) : "not submitted");
        failures += !results;
        tr_event_free(events[i]);
    }
    free(events);
    tr_queue_destroy(queue);
    tr_model_close(model);
    return failures > 0;
}
