/* translate bench: lines, the work of a pass, the limits of the machine, and tables of results. */
#ifndef TR_CLI_BENCH_H
#define TR_CLI_BENCH_H

#include "cli/model.h"
#include "model/profile.h"
#include "run/scheduler.h"
#include "util/buffer.h"

/* -------------------------------------------------------------------------------------------------------------- lines */

typedef struct bench_lines {
    tr_buffer text; /* all lines, concatenated */
    size_t *ends;   /* [count] end of each line in text */
    size_t count, capacity;
    bool tokens;        /* the lines are pieces separated by spaces */
    tr_tokens *sources; /* [count], after tokenizing; cut to the length that the model takes */
    uint64_t source_tokens;
} bench_lines;

/* Reads the lines of --input, or uses the built-in ones. */
int bench_lines_collect(bench_lines *lines, const cli_settings *settings);
/* Stores the tokens of the lines in sources. warn: warn of lines that had to be cut. */
int bench_lines_tokenize(bench_lines *lines, const cli_settings *settings, const cli_model *model, double *seconds,
                         bool warn);
void bench_lines_free(bench_lines *lines);

/* --------------------------------------------------------------------------------------------------------------- work */

enum { BENCH_TYPES = TR_TYPE_I8 + 1 }; /* of matrices, by tr_type */

/* One pass over all lines. */
typedef struct bench_pass {
    uint64_t target_tokens;                       /* without EOS */
    tr_profile counts;                            /* of all threads together */
    int groups;                                   /* of threads that took part */
    double seconds, seconds_of[TR_PROFILE_PARTS]; /* its time, and that of each part */
} bench_pass;

typedef struct bench_span {
    const void *data;
    size_t bytes;
} bench_span;

typedef struct bench_work {
    bench_span *step; /* [step_count] weights that a decoding step reads, in the order of reading */
    size_t step_count, step_capacity;
    double step_bytes;        /* of these and of the caches at mean length */
    double step_rows;         /* mean number of hypotheses in a step */
    double target_macs;       /* mean multiply-adds of a target token */
    double source_macs;       /* of a source token */
    double bytes;             /* that the pass must read */
    double macs[BENCH_TYPES]; /* multiply-adds that the pass must do, by type of weights; attention is F32 */
} bench_work;

/* False: out of memory. */
bool bench_work_make(bench_work *work, const tr_network *network, const bench_pass *pass);
void bench_work_free(bench_work *work);

/* ------------------------------------------------------------------------------------------------------------- limits */

/* Peak speeds of the machine, all threads together. */
typedef struct bench_limits {
    double peak[BENCH_TYPES]; /* multiply-adds a second, by type; 0 where none is needed */
    double step_read;         /* bytes a second of the weights that a decoding step reads, again and again */
    double memory_read;       /* bytes a second from memory, past the caches */
} bench_limits;

int bench_limits_measure(bench_limits *limits, const bench_work *work, const tr_kernels *kernels, tr_team *team, int groups);

/* -------------------------------------------------------------------------------------------------------------- table */

/* A value of a report: a text, or a number. */
typedef struct bench_value {
    const char *key, *text; /* text NULL: a number */
    double number;
    bool whole;
} bench_value;

typedef struct bench_report {
    bench_value values[64];
    int count;
} bench_report;

void bench_add_text(bench_report *report, const char *key, const char *text);
void bench_add_whole(bench_report *report, const char *key, uint64_t number);
void bench_add_real(bench_report *report, const char *key, double number);

/* What comes before the first row. */
void bench_table_begin(bench_form form);
/* Prints the report of a setting, as a row or in its own form. */
int bench_table_add(bench_form form, const bench_report *report);

#endif
