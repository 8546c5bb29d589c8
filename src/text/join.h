/* From the hypotheses of a text's requests back to its translations, with scores and alignments where they are wanted. */
#ifndef TR_TEXT_JOIN_H
#define TR_TEXT_JOIN_H

#include "text/plan.h"

/* The settings of a call, and memory that its texts use one after the other. */
typedef struct tr_joiner {
    const tr_tokenizer *tokenizer;
    tr_bytes traditional; /* rules that change translations (tokenizer/traditional.h); empty: none */
    int32_t eos_id;
    int given;                       /* tokens that the network is given at the front of each target: a language */
    int after;                       /* tokens after each source's own */
    bool scores;                     /* results get log-probabilities */
    bool align;                      /* results get alignments */
    float align_threshold;           /* see tr_align_options */
    size_t ranks;                    /* hypotheses that results get at most; 1: the text alone */
    float doubtful_below;            /* mean log-probability of a doubtful text; 0: none is */
    const tr_protection *protection; /* NULL: none */
    tr_buffer scratch;               /* the text that is being joined */
    tr_buffer spans;                 /* with align: of tr_span, the bytes in scratch of each of its target tokens */
    tr_buffer restored;              /* a translation whose stand-ins have become spans again */
    tr_figures said, written;        /* figures of a source and of a translation */
} tr_joiner;

void tr_joiner_free(tr_joiner *joiner);

/* Writes to joiner->scratch what stands between the translation of a chunk that has a request and that of the one before it:
 * the text's white space (none between sentences of Chinese), and chunks without tokens. *space: a space follows, unless
 * the chunk's translation is empty. chunks [text->count]: the text's. TR_ERROR_MEMORY */
tr_status tr_join_front(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, size_t chunk, bool *space,
                        tr_error *error);

/* Writes to joiner->scratch the whole translation, and to places [text->count] the bytes of each chunk in it.
 * TR_ERROR_MEMORY */
tr_status tr_join_whole(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_span *places,
                        tr_error *error);

/* Checks the hypotheses of a chunk's request, if they are to be checked: sets check and kept.
 * TR_ERROR_MEMORY */
tr_status tr_check_chunk(tr_joiner *joiner, const tr_text *text, tr_text_chunk *chunk, tr_error *error);

/* Makes the result of a text whose requests are all complete. chunks [text->count]: the text's. On failure *result may be
 * filled in part; it is to be freed either way. result: zeroed. */
tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_result *result, tr_error *error);

#endif
