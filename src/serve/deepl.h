/* DeepL's interface, v2 and the glossaries of v3: what its parts share. Answers are those that DeepL's own clients read. */
#ifndef TR_SERVE_DEEPL_H
#define TR_SERVE_DEEPL_H

#include "serve/http.h"
#include "serve/languages.h"

json_t *deepl_error(unsigned status, const char *message);

/* The value of a text field; NULL: it is missing, null or empty. False: it has another type, which has been answered. */
bool deepl_text(request *r, const char *name, const char **value);

/* What texts and documents have in common. */
typedef struct deepl_options {
    const char *source; /* NULL: detected */
    const char *target;
    const char *glossary; /* the id of one; NULL: none */
} deepl_options;

/* Reads them and checks those that only have to be valid. False: something is wrong, which has been answered. */
bool deepl_read_options(request *r, deepl_options *options);

/* deepl_glossaries.c: handlers. */
void deepl_glossary_pairs(request *r);
void deepl_glossaries_create(request *r);   /* v2 */
void deepl_glossaries_list(request *r);     /* v2 */
void deepl_glossary_get(request *r);        /* v2 */
void deepl_glossary_entries(request *r);    /* v2 */
void deepl_glossary_delete(request *r);     /* v2, v3 */
void deepl_multilingual_create(request *r); /* this and the others: v3 */
void deepl_multilingual_list(request *r);
void deepl_multilingual_get(request *r);
void deepl_multilingual_patch(request *r);
void deepl_multilingual_entries(request *r);
void deepl_dictionary_put(request *r);
void deepl_dictionary_delete(request *r);

/* deepl_documents.c: handlers. */
void deepl_document_create(request *r);
void deepl_document_status(request *r);
void deepl_document_result(request *r);

#endif
