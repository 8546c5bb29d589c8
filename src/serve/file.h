/* A document of files.h, as files.c keeps it and file_run.c translates it. */
#ifndef TR_SERVE_FILE_H
#define TR_SERVE_FILE_H

#include <stdatomic.h>

#include "serve/dictionary.h"
#include "serve/files.h"
#include "serve/ids.h"
#include "serve/languages.h"
#include "serve/models.h"
#include "translate/document.h"

typedef struct file_run file_run;
typedef struct file_waiter file_waiter;

struct file {
    struct file *next;
    server *server;
    char id[ID + 1];
    char *name, *result_name, *key; /* key NULL: none */
    const char *format;
    char source[LANGUAGE], target[LANGUAGE]; /* source "": to be detected */
    bool bilingual;
    char *glossary_id;      /* NULL: none */
    dictionary *dictionary; /* of it, or the request's own; NULL: none */
    char *data;             /* as it was uploaded; when it is done, its translation */
    size_t size;
    size_t characters, units;
    way way; /* of no step if both languages are the same */
    file_state state;
    tr_error error; /* FILE_FAILED; that of the last work otherwise */
    file_run *run;  /* NULL: nothing is being done */
    file_waiter *waiters;
    int pending;   /* calls that will come from threads and models: it lives until then */
    bool known;    /* it has been read: requests may know of it */
    bool fleeting; /* it is removed if the request that waits for it goes away */
    bool removed;
    atomic_bool given_up; /* threads need not begin with it */
    uint64_t until;       /* tr_nanoseconds */
};

/* file_run.c: each of the two ends with one call of the functions below, perhaps at once. */

/* Reads a document: whether it is one, its language and the way to its target, its characters. Then calls file_read. */
void file_read_start(file *f);
/* Translates it. Then calls file_done. */
void file_run_start(file *f);
/* Seconds that it will still take, by what is done; -1: not known. */
int file_run_seconds(const file *f);
/* Units that are translated. */
size_t file_run_done(const file *f);
/* Gives up what the queue has of it, and what waits for a thread. */
void file_run_cancel(file *f);
/* Frees what it needs while it runs. Nothing may be pending, or the loop has ended. */
void file_run_free(file *f);

/* files.c: the file may be gone after each. */

void file_read(file *f);
/* Takes data, the translation. */
void file_done(file *f, char *data, size_t size);
/* For f->error. */
void file_failed(file *f);
/* Ends what has ended, after a pending call. */
void file_settle(file *f);

#endif
