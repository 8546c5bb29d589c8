/* Documents that clients upload, translated in the background. They and their translations live in memory only, under names
 * that cannot be guessed, for an hour at most. */
#ifndef TR_SERVE_FILES_H
#define TR_SERVE_FILES_H

#include "serve/http.h"

typedef struct file file;

typedef enum file_state { FILE_WAITS, FILE_RUNS, FILE_DONE, FILE_FAILED } file_state;

typedef struct file_view {
    const char *id;   /* 32 hexadecimal digits */
    const char *name; /* of the translation: "report.en.docx" */
    file_state state;
    const char *message;      /* FILE_FAILED: why */
    size_t characters;        /* of the source's text */
    size_t units, units_done; /* texts that are translated by themselves, such as paragraphs */
    int seconds_left;         /* guessed; -1: not known */
} file_view;

files *files_create(server *s, tr_error *error);
void files_end(files *f); /* gives up all documents; their last events are still to come */
void files_free(files *f);

typedef struct file_options {
    const char *source; /* NULL or "auto": detected */
    const char *target;
    const char *format;       /* NULL: by the name */
    const char *glossary;     /* the id of one; NULL: none */
    struct dictionary *terms; /* in its place; held as long as it is needed; NULL: none */
    bool bilingual;
} file_options;

/* Reads r->upload, which it takes, and calls added in the loop when that is known to be a document that can be translated,
 * and that the key may have as many characters; the translation begins then, or when its turn has come. What fails is
 * answered. If the client goes away before, it is given up. */
void files_add(request *r, const file_options *options, void (*added)(request *r, const file *f));
/* The file with an id that a request may see: with the key that uploaded it. NULL: there is none. */
const file *files_find(const request *r, const char *id);
file_view files_look(const file *f);
/* Calls done(r, file) in the loop when it is done or has failed, perhaps at once, or after so many milliseconds; 0: any. */
void files_wait(request *r, const file *f, unsigned milliseconds, void (*done)(request *r, const file *f));
void files_remove(request *r, const char *id);
/* Answers with the translation, to be saved as a file; or with what went wrong. The file is done or has failed. */
void files_answer(request *r, const file *f);

/* The names' ends of the formats: [".txt", ".docx", …], a new array. */
json_t *files_endings(void);

/* The handlers of LibreTranslate's POST /translate_file and GET /download_file/NAME. */
void files_translate(request *r);
void files_download(request *r);

#endif
