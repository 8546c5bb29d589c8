/* Translating texts: they become chunks, chunks requests; a scheduler decodes these, and texts whose requests are complete
 * are joined and handed over. tr_translate does that for all its texts at once, a queue for each text by itself. */
#ifndef TR_API_TEXT_CALL_H
#define TR_API_TEXT_CALL_H

#include "api/rerank.h"
#include "api/rounds.h"
#include "run/stream.h"
#include "text/join.h"

/* One of the caller's texts. */
typedef struct tr_call_text {
    size_t size;                  /* bytes as given */
    size_t same_as;               /* an earlier, equal text of this call; SIZE_MAX: none */
    bool cached;                  /* its result came from the context's cache */
    bool done;                    /* its result is made */
    bool waits;                   /* sentences of it are translated again */
    int plan;                     /* index of the context's plan that has its chunks */
    size_t first, planned;        /* its chunks of the first attempt, in call.chunks */
    tr_text_chunk *const *chunks; /* [text.count] */
    tr_text_chunk **replaced;     /* chunks, if some were translated again; else NULL */
    size_t first_checked; /* with a stream: its first chunk whose text comes when all is known to be right; SIZE_MAX: none */
    tr_text text;         /* only if it is translated */
    tr_ids prefix;        /* target tokens that its translation begins with */
} tr_call_text;

/* The chunk of a request, for the tokens of a stream. */
typedef struct tr_request_origin {
    size_t text, chunk;      /* chunk: one of the text's */
    int sentence, sentences; /* index and count among the sentences of the text that have requests */
} tr_request_origin;

typedef struct tr_text_call {
    const tr_context *context;   /* its model, team and settings */
    tr_plan *plans;              /* [context->threads] the chunks of the texts that each thread prepares */
    tr_translation_cache *cache; /* NULL: none */
    tr_language_pair pair;
    tr_protection protection; /* of options.protect */
    tr_translate_options options;
    tr_reranker reranker;
    const char *const *texts;
    size_t count;
    tr_call_text *entries; /* [count] */
    size_t *todo;          /* [todo_count] texts to translate */
    size_t todo_count;
    int planners;           /* threads that plan texts */
    tr_status *plan_status; /* [planners] */
    tr_error *plan_errors;  /* [planners] */
    tr_text_chunk **chunks; /* [chunk_count] those of all texts to translate, in order */
    const int32_t **bases;  /* [chunk_count] */
    size_t chunk_count;
    tr_job job;           /* of the first attempt, then of each round */
    tr_request *requests; /* [request_count] of the first attempt */
    size_t request_count;
    tr_round *round; /* the newest; NULL: none yet */
    int attempt;     /* at what job holds: 0 is the first */
    tr_completion completion;
    tr_joiner joiner;
    tr_stream stream;
    tr_request_origin *origins; /* [request_count]; NULL: no stream */
    tr_result *results;         /* [count] */
    size_t delivered;           /* results[0 .. delivered) have been handed over */
} tr_text_call;

/* From texts to job.requests. The caller has set context, plans, cache, pair, options (resolved), texts and count; the rest
 * is zero. sizes: bytes of each text; NULL: they are NUL-terminated. Texts that need no request are joined. On failure, too,
 * the call is to be freed. */
tr_status tr_text_call_prepare(tr_text_call *call, const size_t *sizes, tr_error *error);

/* Takes requests that are complete, linked by next: makes the results of the texts that are complete with them. */
tr_status tr_text_call_take(void *call, const tr_request *list, tr_error *error);

/* After all requests of the job: if sentences are to be translated again, job has their requests then, and more is true;
 * else all results are made. */
tr_status tr_text_call_next_round(tr_text_call *call, bool *more, tr_error *error);

/* Frees all but results. */
void tr_text_call_free(tr_text_call *call);

#endif
