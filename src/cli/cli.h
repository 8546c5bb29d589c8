/* The command translate: settings, subcommands, messages. */
#ifndef TR_CLI_CLI_H
#define TR_CLI_CLI_H

#include "util/buffer.h"
#include "util/folder.h" /* TR_PATH */

#include "api/engine.h"

#include <stdbool.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit status */

typedef struct cli_command cli_command;

/* The values of an option that can be given several times. */
typedef struct cli_list {
    const char **values; /* allocated */
    int count;
} cli_list;

/* The values of an option that takes several numbers at once: -T 1,2,4. */
enum { CLI_MAX_NUMBERS = 64 };
typedef struct cli_numbers {
    int values[CLI_MAX_NUMBERS];
    int count;
} cli_numbers;

/* What bench prints. BENCH_VALUES: a key and a value on each line. */
typedef enum bench_form { BENCH_VALUES, BENCH_MARKDOWN, BENCH_CSV, BENCH_JSONL } bench_form;

/* The beam whose hypotheses a model that translates back ranks: on development text, more of them change little. */
enum { CLI_BEAM_RANKED = 12 };

enum { CLI_AUTO = -1 }; /* load, loop_guard, protect, search.beam: the program decides */

typedef enum cli_shell { CLI_BASH = 1, CLI_ZSH, CLI_FISH } cli_shell;

/* The parsed command line. Fields of options that a command does not have keep their defaults. */
typedef struct cli_settings {
    const cli_command *command;
    const char *model;                        /* NULL: the default model */
    const char *rerank;                       /* as given, see cli_rerank_of; NULL: auto */
    bool ranks;                               /* the model of --rerank is looked for */
    const char *reverse;                      /* its path; NULL: none */
    cli_list ensemble;                        /* further models, PATH[:WEIGHT], that decode together with it */
    const char *models;                       /* a folder of models; NULL: none */
    const char *source, *target;              /* languages, NULL: the model's */
    const char *input, *output;               /* NULL or "-": the standard streams */
    const char *output_dir;                   /* arguments are files, whose translations go there; NULL: they are text */
    const char *format;                       /* of documents; NULL: by the name of the input */
    const char *columns, *keys;               /* CSV and TSV, JSON and YAML; NULL: all */
    bool bilingual, paragraphs;               /* documents, plain text */
    int line_width, max_content;              /* subtitles: columns; MiB; 0: the format's default */
    int threads, batch_size;                  /* threads 0: the usable cores */
    int compute;                              /* a tr_compute */
    int load;                                 /* a tr_load, or CLI_AUTO */
    const char *shortlist;                    /* NULL: auto */
    const char *allowed;                      /* convert; NULL: the list that IN has */
    const char *attention;                    /* NULL: exact */
    const char *license, *date, *description; /* convert; NULL: what IN says */
    int full_vocabulary;                      /* true: ignore the model's list of allowed target tokens */
    int max_length, min_length;               /* tokens of a sentence's translation */
    int split;                                /* a tr_split */
    int loop_guard, protect;                  /* false, true or CLI_AUTO */
    tr_search_options search;                 /* except forbidden and stopping, which come from the next two: */
    bool chose_beam;                          /* search.beam was CLI_AUTO */
    int stopping;                             /* a tr_stopping */
    cli_list forbidden;                       /* tokens */
    const char *prefix;                       /* NULL: none */
    bool tsv;                                 /* each line brings its own prefix */
    bool scores, stream;
    const char *encoding;      /* of the input; NULL: recognised */
    const char *glossary;      /* NULL: none */
    const char *mark_doubtful; /* NULL: doubtful translations are not marked */
    float doubtful_below;      /* 0: what the model says */
    bool stand_ins;            /* convert: find words that the model copies */
    float wrong_below;         /* calibrate: chrF */
    int fixed_length, rounds;  /* bench */
    bool limits, parts, score; /* bench */
    /* bench: a bench_form, and the settings to measure; count 0: threads, batch_size, search.beam */
    int table;
    cli_numbers threads_list, batch_sizes, beams;
    bool tokens, json, stats, quiet, verbose, short_help, help, version, resume;
    bool verify;                         /* info */
    bool force;                          /* convert, shortlist */
    bool ids, decode;                    /* tokenize */
    bool alignment;                      /* score, translate */
    int alignment_layer, alignment_head; /* counted from 1; 0: the model's */
    float alignment_threshold;
    const char *translation; /* attention; NULL: the model's own */
    const char *file;        /* pull; NULL: the files that a model needs */
    bool list, remove;       /* pull */
    int timeout, retries;    /* pull, serve; timeout in seconds */
    /* serve */
    const char *host, *unix_socket, *config, *api_keys, *cors, *allowed_hosts, *access_log, *glossaries, *url_prefix;
    int port, rate_limit, char_limit, batch_limit; /* limits: 0: none */
    int upload_limit, cache, model_memory;         /* MiB */
    int queue_limit, grace, idle_close;            /* texts; seconds */
    int keep_documents;                            /* seconds */
    bool trust_proxy, health;
    char **given;     /* all arguments as they were given, of this command; not owned */
    int first, best;  /* shortlist */
    int completion;   /* a cli_shell whose completion is to be printed, or 0 */
    bool literal;     /* "--" was given: what follows is text */
    char **arguments; /* the arguments that are no options, in order; the array is allocated */
    int argument_count;
} cli_settings;

/* Commands as bits: an option lists those that have it. */
enum {
    CMD_TRANSLATE = 1,
    CMD_BENCH = 2,
    CMD_CONVERT = 4,
    CMD_INFO = 8,
    CMD_TOKENIZE = 16,
    CMD_PULL = 32,
    CMD_SCORE = 64,
    CMD_ATTENTION = 128,
    CMD_SHORTLIST = 256,
    CMD_CALIBRATE = 512,
    CMD_SERVE = 1024
};

struct cli_command {
    const char *name; /* "translate" or "translate bench" */
    unsigned bit;
    int (*run)(const cli_settings *settings); /* returns the exit status */
    int min_arguments, max_arguments;         /* max -1: any number */
    const char *summary;                      /* in the list of commands, at most 27 columns; NULL for translate itself */
    const char *usage;                        /* lines of the synopsis */
    const char *about;                        /* what it does */
    const char *examples;                     /* NULL: none */
    const char *notes;                        /* the end of --help; NULL: none */
};

extern const cli_command cli_commands[]; /* [cli_command_count], translate itself first (commands.c) */
extern const int cli_command_count;

int cli_translate(const cli_settings *settings);
int cli_bench(const cli_settings *settings);
int cli_convert(const cli_settings *settings);
int cli_info(const cli_settings *settings);
int cli_tokenize(const cli_settings *settings);
int cli_score(const cli_settings *settings);
int cli_calibrate(const cli_settings *settings);
int cli_pull(const cli_settings *settings);
int cli_attention(const cli_settings *settings);
int cli_serve(const cli_settings *settings);
int cli_shortlist(const cli_settings *settings);

/* ------------------------------------------------------------------------------------------------- options (options.c) */

/* Parses arguments[0..count) (without the program's and the command's name). Options and other arguments may be mixed;
 * "--" ends options; a later option overrides an earlier one. Returns CLI_DONE, or prints a message and returns another
 * status. Call cli_settings_free in either case. */
int cli_parse(const cli_command *command, char **arguments, int count, cli_settings *settings);
cli_settings cli_default_settings(const cli_command *command);
/* Insertions, deletions, substitutions and swaps of neighbours between two words; a large number for very long ones. */
int cli_distance(const char *a, size_t a_size, const char *b);
void cli_settings_free(cli_settings *settings);

/* Prints a command's help to stdout: all of it, or one screen with the options that are marked CLI_COMMON (help.c). */
void cli_help(const cli_command *command, bool all);
/* Prints the version, and with --verbose more (version.c). */
int cli_version(const cli_settings *settings);
const char *cli_commit(void); /* that was built, with a + if files differ from it; "unknown" without git */
/* Prints the completion of the command for a cli_shell (completion.c). */
void cli_completion(int shell);
/* "bench", for "translate bench". */
const char *cli_command_word(const cli_command *command);

/* Appends the TEXT arguments, joined by a space. Prints a message on failure. */
int cli_join_arguments(const cli_settings *settings, tr_buffer *text);

/* ----------------------------------------------------------------------------------------------- messages (messages.c) */

/* Prints "translate: ..." as one line on stderr, after removing the progress bar; returns CLI_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for wrong usage, followed by a hint at the command's --help; returns CLI_USAGE. */
int cli_usage(const cli_settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_fail_memory(void);
int cli_fail_error(const tr_error *error); /* prints the library's message */
/* Prints "translate: warning: ..." unless --quiet. */
void cli_warn(const cli_settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "translate: ..." on stderr: information that was asked for. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf() to stdout for names and other text from outside that is no translation: at most a line, and no control
 * characters that a terminal would obey. A newline is printed only where it ends the format. */
int cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

void cli_reset_peak(void);       /* the peak of what follows, where the system allows it (measure.c) */
double cli_peak_megabytes(void); /* peak resident memory of this process so far, in units of 10^6 bytes (measure.c) */

#endif
