/* The texts of a request, translated: each detects its language if it has to, goes through one model or two, and comes back
 * as one of several results. HTML goes through as a document. */
#ifndef TR_SERVE_TRANSLATION_H
#define TR_SERVE_TRANSLATION_H

#include "serve/dictionary.h"
#include "serve/http.h"
#include "serve/models.h"

enum { LONG_REQUEST = 2000 }; /* characters: it waits for shorter ones, and the page has it translated without ranking */

typedef struct translation_options {
    const char *source; /* in any spelling; NULL, "" or "auto": detected, text by text */
    const char *target;
    bool html;
    int alternatives;     /* further translations of each text; 0: none */
    dictionary *glossary; /* NULL: none; held as long as it is needed */
    const char *prefix;   /* that the translation of the only text begins with; NULL: none; the request's */
    bool bulk;            /* waits for others; set for long requests, too */
    int deadline;         /* milliseconds; 0: the server's --timeout */
    bool ranks;           /* by the model that translates back, where there is one: then no token is final */
    bool has_beam;        /* more says which; else the server decides, */
    int least_beam;       /* this at least */
    /* Options of the library besides, such as align or beam; taken, and freed at the end. NULL: none. */
    tr_options *more;
    /* Called in the loop with each token of text 0 by the last model as it is found, unless it is ranked; NULL: nobody. */
    void (*on_token)(request *r, const tr_token_event *token);
} translation_options;

/* A text when it is done. All belongs to the translation. */
typedef struct translated {
    const char *text; /* NUL-terminated */
    size_t size;
    const char *source, *target; /* in the spelling of languages.h */
    int confidence;              /* of a detected source, per cent; -1: it was given */
    const char *const *alternatives;
    size_t alternative_count;
    unsigned flags;            /* TR_FLAG_... */
    const tr_results *results; /* of the last model, as text 0; NULL: of HTML, from the cache, or nothing was translated */
    bool direct;               /* by one model: results speak of the text itself */
} translated;

/* Translates count texts, which are copied, and calls done in the loop, with results [count] in the same order. What fails
 * is answered in the interface's shape, and done is not called. If the client goes away, all of it is given up. */
void translate_texts(request *r, const source_text *texts, size_t count, const translation_options *options,
                     void (*done)(request *r, const translated *results, size_t count));

/* Code points of a text, which limits and bills count. */
size_t text_characters(const char *data, size_t size);

#endif
