/* The models of the server's folder: found by languages, opened with the first text, closed when nobody used them for some
 * time. A model's file may be replaced at any time: models_reload takes the new one for texts that come later. */
#ifndef TR_SERVE_MODELS_H
#define TR_SERVE_MODELS_H

#include <jansson.h>

#include "serve/server.h"
#include "tokenizer/vocabulary.h"

typedef struct served served; /* a model with its queue */

/* The folder of models that settings name: --models, else that of the default model. */
tr_status models_folder(const cli_settings *settings, char folder[TR_PATH], tr_error *error);

/* The folder must have a model. With settings->model it is that model alone. */
models *models_create(server *s, tr_error *error);
/* After loop_end_work, when all that was submitted is cancelled: hands over its last events. */
void models_end(models *m);
void models_free(models *m); /* after models_end, when nobody uses a model any more */
/* Reads the folder again. The models in use serve until their texts are done. A folder without models is an error, which
 * keeps the old ones. */
tr_status models_reload(models *m, tr_error *error);
size_t models_count(const models *m);

/* The languages, in the spelling of languages.h: an array of codes, which the caller borrows. */
const json_t *models_sources(const models *m);
const json_t *models_targets(const models *m);
/* The targets that a source leads to, directly or by way of another language; NULL: no such source. */
const json_t *models_targets_of(const models *m, const char *source);
/* The sources that lead to a target; NULL: no such target. */
const json_t *models_sources_of(const models *m, const char *target);
/* Whether there is a way between two languages, in any spelling. */
tr_status models_check(const models *m, const char *source, const char *target, tr_error *error);

/* A way from source to target: one model or two. */
enum { MODELS_STEPS = 2 };
typedef struct way {
    int count;
    struct {
        served *model;                                 /* held until way_release */
        char source[TR_LANGUAGE], target[TR_LANGUAGE]; /* the model's own codes */
    } steps[MODELS_STEPS];
} way;
/* Finds the way and holds its models, which may not be open yet. ranks: one model ranks its translations by one that
 * translates back, if there is one. TR_ERROR_ARGUMENT: there is no way. */
tr_status models_find(models *m, const char *source, const char *target, bool ranks, way *found, tr_error *error);
void way_release(way *w);
/* The held model must outlive the result. What the way does with a text is the same as long as this text is the same: its
 * models' files and languages. */
void way_name(const way *w, char name[128]);

/* Opens a model if it is not open, and calls ready(argument, error) in the loop, perhaps at once; error NULL: it is open. */
void served_open(served *model, void (*ready)(void *argument, const tr_error *error), void *argument);
tr_queue *served_queue(const served *model); /* of an open model */
const tr_model *served_model(const served *model);
bool served_ranks(const served *model); /* whether an open model ranks the hypotheses of a beam */
/* Submits texts as tr_queue_submit does; each event of the submission comes to call in the loop, which frees it. */
tr_status served_submit(served *model, const char *const *texts, const size_t *sizes, size_t count, tr_options *options,
                        void (*call)(void *argument, tr_event *event), void *argument, tr_ticket *ticket, tr_error *error);

/* For each model: name, open, sources, targets, bytes; a new array. */
json_t *models_list(const models *m);
/* Texts in all queues whose events have not been taken. */
size_t models_waiting(const models *m);
/* Of the fullest of these queues. */
size_t models_fullest(const models *m);
/* As tr_queue_fill, of all open models together. */
void models_fill(const models *m, size_t *sentences, size_t *places);

#endif
