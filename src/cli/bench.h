/* translate bench: what its files share. */
#ifndef TR_CLI_BENCH_H
#define TR_CLI_BENCH_H

#include "cli/model.h"
#include "model/profile.h"
#include "run/scheduler.h"
#include "util/buffer.h"

/* -------------------------------------------------------------------------------------------------------------- lines */

typedef struct bench_lines {
    tr_buffer text; /* all lines, one behind the other */
    size_t *ends;   /* [count]: where each ends in text */
    size_t count, capacity;
    bool tokens;        /* the lines are pieces separated by spaces */
    tr_tokens *sources; /* [count], once tokenized; cut to what the model takes */
    uint64_t source_tokens;
} bench_lines;

/* Reads the lines of --input, or takes those that are built in. */
int bench_lines_collect(bench_lines *lines, const cli_settings *settings);
/* Makes sources. warn: say how many lines had to be cut. */
int bench_lines_tokenize(bench_lines *lines, const cli_settings *settings, const cli_model *model, double *seconds,
                         bool warn);
void bench_lines_free(bench_lines *lines);

/* --------------------------------------------------------------------------------------------------------------- work */

enum { BENCH_TYPES = TR_TYPE_I8 + 1 }; /* of matrices, by tr_type */

/* What one pass over all lines asks of the machine. */
typedef struct bench_pass {
    uint64_t target_tokens;                       /* end marks not counted */
    tr_profile counts;                            /* of all threads together; cache_bytes: their sum */
    int groups;                                   /* of threads, that took part */
    double seconds, seconds_of[TR_PROFILE_PARTS]; /* its time, and how it divides */
} bench_pass;

typedef struct bench_span {
    const void *data;
    size_t bytes;
} bench_span;

typedef struct bench_work {
    bench_span *step; /* [step_count]: the weights that a decoding step reads, in the order of reading */
    size_t step_count, step_capacity;
    double step_bytes;        /* their sum, and the caches at mean length */
    double step_rows;         /* hypotheses in a step, in the mean */
    double target_macs;       /* multiply-adds for a target token, in the mean */
    double source_macs;       /* for a source token, in the mean */
    double bytes;             /* that the pass must read */
    double macs[BENCH_TYPES]; /* multiply-adds that the pass must do, by type of weights; attention is F32 */
} bench_work;

/* False: out of memory. */
bool bench_work_make(bench_work *work, const tr_network *network, const bench_pass *pass);
void bench_work_free(bench_work *work);

/* ------------------------------------------------------------------------------------------------------------- limits */

/* What the machine can do, all threads together. */
typedef struct bench_limits {
    double peak[BENCH_TYPES]; /* multiply-adds a second, by type; 0 where none is needed */
    double step_read;         /* bytes a second of the weights that a decoding step reads, again and again */
    double memory_read;       /* bytes a second out of memory, past the caches */
} bench_limits;

int bench_limits_measure(bench_limits *limits, const bench_work *work, const tr_kernels *kernels, tr_team *team, int groups);

#endif
