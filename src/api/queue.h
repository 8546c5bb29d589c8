/* The queue's parts, which share these structures: queue.c makes queues, queue_submit.c makes jobs of submissions,
 * queue_text.c takes texts of jobs from beginning to end, queue_run.c decodes their sentences, queue_event.c hands over what
 * became of them.
 *
 * A submission is a job. Jobs whose options allow their sentences to share a batch form a group. A thread runs a group: it
 * takes the next sentence of the group's jobs in turn whenever its batch has room, until the group has none left or it is
 * another group's turn. A text is cut into sentences when its first sentence is taken. Jobs of high priority are run by a
 * second scheduler of the thread, between two steps of the first. There, too, sentences that have left the batch are ranked,
 * by the scheduler of the model that translates back. One lock guards everything but the decoding itself. */
#ifndef TR_API_QUEUE_H
#define TR_API_QUEUE_H

#include <pthread.h>

#include "api/text_call.h"

enum { MAX_CALLBACKS = 16 }; /* that run at the same time */
enum { LEVEL_HIGH, LEVEL_NORMAL, LEVEL_LOW, LEVELS };

typedef struct queue_job queue_job;
typedef struct queue_thread queue_thread;

struct tr_event {
    tr_event *next;
    tr_ticket ticket;
    size_t text, size; /* size: bytes of the text */
    bool last, is_token;
    tr_status status;
    char *message;      /* NULL: the name of the status says enough */
    tr_results results; /* of one text, which is one of those below; or none */
    tr_result translation;
    tr_hypotheses hypotheses;
    tr_token_event token;
    char bytes[]; /* of the token */
};

/* A text that is being translated. */
typedef struct queue_text {
    queue_job *job;
    struct queue_text *previous, *next; /* of the job's */
    struct queue_text *next_open;       /* whose requests are not all taken; or that waits for its alignments */
    size_t index;
    const char *data;
    const char *prefix;
    tr_plan plan;
    tr_text_call call;
    tr_status status; /* of the text so far; its message is in the event */
    tr_event *event;
    atomic_bool cancel;
    bool busy;                  /* a thread prepares or finishes it */
    bool aligned;               /* its alignments have been made, or tried */
    size_t taken, in_flight;    /* requests taken, and those of them that are in a batch, or wait to be ranked */
    pthread_mutex_t token_lock; /* held while a token becomes an event */
} queue_text;

typedef struct queue_group {
    struct queue_group *next;
    tr_job shape; /* what the jobs' sentences have in common; the rest is zero */
    tr_search_options search;
    tr_decoder_start start;
    int32_t *forbidden;      /* of search; NULL: none */
    size_t users;            /* jobs, and threads that run it */
    size_t waiting;          /* texts not begun, and sentences of the others that are not taken */
    queue_job *ring[LEVELS]; /* jobs with sentences to take, the next one first */
} queue_group;

struct queue_job {
    tr_queue *queue;
    queue_group *group;
    int level;
    queue_job *ring_previous, *ring_next; /* NULL: not in its group's ring */
    queue_job *ready_previous, *ready_next;
    bool ready; /* in tr_queue.ready, or in tr_queue.deliveries */
    tr_ticket ticket;
    uint64_t deadline; /* tr_nanoseconds; UINT64_MAX: none */
    tr_translate_options options;
    tr_submit_options how;
    tr_language_pair pair;
    tr_reranker reranker;                   /* each thread takes its own context */
    size_t count, begun, running, finished; /* texts */
    char **texts;                           /* [count]: in one block with their bytes and prefixes; NULL: tokens */
    tr_tokens *sources;                     /* [count]: in one block with the ids of all lists; NULL: texts */
    tr_tokens *source_prefixes;             /* [count], in the same block; NULL: none */
    size_t *sizes;                          /* [count] */
    char **prefixes;                        /* [count]; NULL: none */
    int32_t *forbidden;                     /* of options.search, until its group has it; NULL: none */
    queue_text *begun_texts;                /* [running] */
    queue_text *open, **open_end;           /* whose requests are not all taken */
    tr_event *events, **events_end;
    tr_event **held; /* [count] results that wait for those of earlier texts; NULL: not ordered */
    size_t delivered;
    tr_event *end;                 /* for the whole job, if it is stopped */
    tr_status status;              /* other than TR_OK: it is stopped */
    size_t held_texts, held_bytes; /* what it counts for in the queue's limits */
    bool over, delivering;
    int waiters;
    pthread_cond_t arrived; /* an event; or it is over */
};

struct queue_thread {
    tr_queue *queue;
    pthread_t handle;
    int number;
    bool started;
    tr_context *bulk, *urgent; /* bulk has the context of the model that translates back */
    tr_request *to_rank;       /* a list of those that have left their batches */
    queue_text *to_align;
};

typedef struct ticket_slot {
    queue_job *job; /* NULL: free */
    uint32_t generation;
    size_t next_free;
} ticket_slot;

struct tr_queue {
    const tr_model *model, *reverse; /* reverse: translates back; NULL: none */
    tr_queue_options limits;
    int thread_count, batch_size;
    pthread_mutex_t lock;
    pthread_cond_t work, arrived, deliver;
    queue_thread *threads; /* [thread_count] */
    int idle;              /* threads that sleep */
    size_t batched;        /* sentences in the batches of all threads */
    atomic_bool stop;
    atomic_size_t urgent;      /* jobs in rings of LEVEL_HIGH */
    _Atomic uint64_t earliest; /* of the jobs' deadlines, or before it; UINT64_MAX: none */
    queue_group *groups;       /* the next one to run first */
    ticket_slot *slots;        /* [slot_count] */
    size_t slot_count, first_free;
    size_t texts, bytes;   /* of jobs whose events have not all been taken */
    queue_job *ready;      /* a ring of jobs with events to fetch, the next one first */
    int waiters;           /* for an event of any job */
    int fd;                /* -1: not wanted yet */
    queue_job *deliveries; /* a ring of jobs with events for callbacks */
    int delivery_count;    /* jobs in deliveries */
    pthread_t deliverers[MAX_CALLBACKS];
    int deliverer_count, deliverer_idle;
};

/* All but tr_queue_stop_late_jobs, tr_queue_finish_text and tr_queue_align_texts: under the lock, which tr_queue_begin_text
 * leaves meanwhile. */

/* queue.c */
void tr_queue_init_condition(pthread_cond_t *condition); /* it is waited for by CLOCK_MONOTONIC */

/* queue_event.c */
void tr_queue_free_event(tr_event *event);
/* status: TR_OK: nothing happens. The message stays that of the first failure. */
void tr_queue_fail_event(tr_event *event, tr_status status, const tr_error *error);
/* Hands an event over to who waits for it. */
void tr_queue_post(tr_queue *q, queue_job *job, tr_event *event);
void tr_queue_release_group(tr_queue *q, queue_group *group);
void tr_queue_free_job(tr_queue *q, queue_job *job);
/* NULL: the ticket is over, or there is none. */
queue_job *tr_queue_find_job(const tr_queue *q, tr_ticket ticket);
/* One more thread for callbacks. False: there are enough, or the system gives none. */
bool tr_queue_start_deliverer(tr_queue *q);

/* queue_text.c */
/* A job has sentences to take, or has no more. */
void tr_queue_ring_add(tr_queue *q, queue_job *job);
void tr_queue_ring_remove(tr_queue *q, queue_job *job);
/* Gives up what is not done of a job, or of all that are late. */
void tr_queue_stop_job(tr_queue *q, queue_job *job, tr_status status, const tr_error *error);
void tr_queue_stop_late_jobs(tr_queue *q);
/* Begins the next text of a job: if it has sentences, they can be taken now. */
void tr_queue_begin_text(queue_thread *t, queue_job *job);
/* Requests of a text that are not in a batch will not be decoded any more. */
void tr_queue_drop_text(queue_text *text);
/* A text whose requests are all done, or that needs none, and is busy: it ends, or waits for its alignments. */
void tr_queue_finish_text(queue_thread *t, queue_text *text);
/* Texts that wait for their alignments get them. Not while the urgent scheduler runs. */
void tr_queue_align_texts(queue_thread *t);
/* A text is over: its event comes, unless its job is stopped. */
void tr_queue_end_text(tr_queue *q, queue_text *text);

/* queue_run.c */
/* A thread of the queue; argument: its queue_thread. */
void *tr_queue_thread_main(void *argument);

#endif
