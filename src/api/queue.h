/* A queue: one running batch for all callers.
 *
 * Any thread submits texts at any time, with options, a priority and a deadline of their own. The queue's threads decode the
 * sentences of all callers side by side where their options allow it, else in turns. Each submission has a ticket; what
 * becomes of its texts comes as events, to be fetched (tr_queue_poll, tr_queue_wait) or to a callback.
 *
 *     tr_queue_submit(queue, &text, NULL, 1, NULL, NULL, &ticket, &error);
 *     tr_event *event = tr_queue_wait(queue, ticket, -1);
 *     puts(tr_event_result(event)->text);
 *     tr_event_free(event);
 */
#ifndef TR_API_QUEUE_H
#define TR_API_QUEUE_H

#include <translate/translate.h>

typedef struct tr_queue tr_queue;
typedef struct tr_event tr_event;

/* A submission. Never 0, and not used again while the queue lives. */
typedef uint64_t tr_ticket;

/* 0 in any field stands for its default. */
typedef struct tr_queue_options {
    /* Each decodes a batch of its own. Default: one per core that this process may use. */
    int threads;
    /* Sentences in a batch. Default 32. */
    int batch_size;
    /* Texts that were submitted and whose events have not all been taken, and their bytes. Defaults 65,536 and 256 MiB. */
    size_t max_texts, max_bytes;
} tr_queue_options;

typedef enum tr_priority {
    /* Waits until no other text does. */
    TR_PRIORITY_LOW = -1,
    TR_PRIORITY_NORMAL = 0,
    /* Interrupts others at their next step; they go on when no high one is left. */
    TR_PRIORITY_HIGH = 1,
} tr_priority;

/* How a submission is handled; 0 in any field stands for its default. */
typedef struct tr_submit_options {
    /* Default TR_PRIORITY_NORMAL. */
    tr_priority priority;
    /* Milliseconds after which what is not done is given up with TR_ERROR_DEADLINE. Default 0: never. */
    int64_t deadline;
    /* Results come in the order of the texts. Default false: as they are done. */
    bool ordered;
    /* Each target token is an event as well, as tr_translate_options.on_token sees it. */
    bool tokens;
    /* Gets the events of the submission, one at a time, on a thread of the queue that does nothing else. The library frees
     * the event afterwards. It may use the queue but not destroy it. Default NULL: events are fetched. */
    void (*on_event)(void *argument, const tr_event *event);
    void *on_event_argument;
} tr_submit_options;

/* Starts the threads. The model must outlive the queue.
 *
 * TR_ERROR_ARGUMENT  An option is out of range, or the model has no tokenizer. */
TR_API tr_status tr_queue_create(const tr_model *model, const tr_queue_options *options, tr_queue **queue, tr_error *error);

/* Gives up all that is not done, waits for callbacks that run, and frees the queue with all events that were not taken. No
 * other thread may be using the queue. NULL is allowed. */
TR_API void tr_queue_destroy(tr_queue *queue);

/* Submits count >= 1 texts, which are copied with all that the options point to; see tr_translate. on_progress, on_token and
 * on_result of options are not used.
 *
 * TR_ERROR_ARGUMENT  As tr_translate, or the texts would not even fit into an empty queue.
 * TR_ERROR_FULL      The texts do not fit now. */
TR_API tr_status tr_queue_submit(tr_queue *queue, const char *const *texts, const size_t *sizes, size_t count,
                                 const tr_translate_options *options, const tr_submit_options *how, tr_ticket *ticket,
                                 tr_error *error);

/* Gives up what is not done of a submission. Its last event, with TR_ERROR_CANCELLED, comes when its sentences have left
 * their batches, at the latest after a step of the decoder. False: the ticket is over, or there is no such ticket. */
TR_API bool tr_queue_cancel(tr_queue *queue, tr_ticket ticket);

/* The next event of any submission without on_event, without waiting; NULL: there is none now. For tr_event_free. */
TR_API tr_event *tr_queue_poll(tr_queue *queue);

/* Waits for the next event of a ticket (0: of any submission without on_event) for so many milliseconds (below 0: as long as
 * it takes). NULL: the time is over, or no event of the ticket will come. */
TR_API tr_event *tr_queue_wait(tr_queue *queue, tr_ticket ticket, int64_t milliseconds);

/* A descriptor to poll(): readable while tr_queue_poll has an event. It belongs to the queue; do not read from it. -1: the
 * system gives none. */
TR_API int tr_queue_fd(tr_queue *queue);

/* An event says what became of a text, or, with tr_submit_options.tokens, that it got a token. Exactly one event of a
 * submission is the last. If the submission is cancelled or late, that one is for the whole submission. */
TR_API tr_ticket tr_event_ticket(const tr_event *event);
TR_API bool tr_event_last(const tr_event *event);
/* The index of the text; SIZE_MAX: the whole submission. */
TR_API size_t tr_event_text(const tr_event *event);
/* What became of it, and if it failed a line that says why. */
TR_API tr_status tr_event_status(const tr_event *event);
TR_API const char *tr_event_message(const tr_event *event);
/* The translation, or NULL. */
TR_API const tr_result *tr_event_result(const tr_event *event);
/* The token, or NULL. */
TR_API const tr_token_event *tr_event_token(const tr_event *event);
TR_API void tr_event_free(tr_event *event);

#endif
