#define _GNU_SOURCE
#include "serve/translation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <translate/document.h>

#include "serve/cache.h"
#include "serve/keys.h"
#include "serve/languages.h"
#include "serve/loop.h"
#include "serve/metrics.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/utf8.h"

enum {
    LARGE_HTML = 4 << 10, /* bytes that are read and written in another thread */
    MOST_ALTERNATIVES = 16,
    MILLISECOND = 1000000, /* in nanoseconds */
};

typedef struct job job;

/* What one submission translates: a text is one piece, and HTML has one for each unit. */
typedef struct piece {
    char *data;
    size_t size;
    unsigned flags;
} piece;

/* A text of the request. */
typedef struct item {
    job *job;
    const char *text; /* the source, in the job's memory */
    size_t size;
    char source[LANGUAGE];
    int confidence;
    way way;
    int step;              /* of the way */
    tr_error error;        /* of work in another thread, which uses document and pieces alone while it runs */
    bool waits;            /* for a model to open, or for the events of a ticket */
    tr_ticket ticket;      /* 0: none */
    tr_document *document; /* NULL: plain text */
    piece *pieces;         /* [piece_count] */
    size_t piece_count;
    tr_event *event; /* that brought the last results */
    tr_buffer key;   /* for the cache; empty: it is not asked */
    char *result;    /* allocated; NULL: not done */
    size_t result_size;
    unsigned flags;
    const char **alternatives; /* [alternative_count], allocated as one block with their texts, or from event */
    size_t alternative_count;
} item;

struct job {
    request *request; /* NULL: it was answered, or the client left */
    translation_options options;
    char target[LANGUAGE];
    void (*done)(request *r, const translated *results, size_t count);
    item *items; /* [count] */
    size_t count, items_left;
    size_t waiting; /* items that wait, and 1 while the job is begun */
    size_t characters;
    uint64_t deadline; /* tr_nanoseconds */
    char *texts;
};

size_t text_characters(const char *data, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)data[i] & 0xc0) != 0x80;
    return count;
}

/* ------------------------------------------------------------------------------------------------------------------ ends */

static void free_pieces(item *it)
{
    for (size_t i = 0; i < it->piece_count; i++)
        free(it->pieces[i].data);
    free(it->pieces);
    it->pieces = NULL;
    it->piece_count = 0;
}

static void free_item(item *it)
{
    free_pieces(it);
    way_release(&it->way);
    tr_document_free(it->document);
    tr_event_free(it->event);
    tr_buffer_free(&it->key);
    free(it->result);
    free(it->alternatives);
}

/* Frees a job that is over, when nothing will call it any more. */
static void drop_job(job *j)
{
    if (j->request || j->waiting)
        return;
    for (size_t i = 0; i < j->count; i++)
        free_item(&j->items[i]);
    free(j->items);
    free(j->texts);
    tr_options_free(j->options.more);
    dictionary_release(j->options.glossary);
    free(j);
}

/* Gives up what is not done. */
static void cancel_job(job *j)
{
    j->request = NULL;
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].waits && j->items[i].ticket)
            tr_queue_cancel(served_queue(j->items[i].way.steps[j->items[i].step].model), j->items[i].ticket);
}

static void on_leave(void *argument)
{
    job *const j = argument;
    cancel_job(j);
    drop_job(j);
}

static void fail_job(job *j, const tr_error *error)
{
    request *const r = j->request;
    if (!r)
        return;
    request_on_leave(r, NULL, NULL);
    cancel_job(j);
    answer_failure(r, error);
}

static void fail_memory(job *j)
{
    const tr_error error = {TR_ERROR_MEMORY, "out of memory"};
    fail_job(j, &error);
}

static void finish_job(job *j)
{
    request *const r = j->request;
    translated *const results = calloc(j->count + 1, sizeof *results);
    if (!results) {
        fail_memory(j);
        return;
    }
    for (size_t i = 0; i < j->count; i++) {
        const item *const it = &j->items[i];
        results[i] = (translated){.text = it->result,
                                  .size = it->result_size,
                                  .source = it->source,
                                  .target = j->target,
                                  .confidence = it->confidence,
                                  .alternatives = it->alternatives,
                                  .alternative_count = it->alternative_count,
                                  .flags = it->flags,
                                  .results = it->event ? tr_event_results(it->event) : NULL,
                                  .direct = it->way.count == 1};
    }
    j->request = NULL;
    request_on_leave(r, NULL, NULL);
    j->done(r, results, j->count);
    free(results);
}

static void end_item(item *it)
{
    if (--it->job->items_left == 0)
        finish_job(it->job);
}

/* ----------------------------------------------------------------------------------------------------------------- cache */

/* What a cached translation depends on; no key where options or glossaries say more than the cache knows. */
static bool make_key(item *it)
{
    const job *const j = it->job;
    char name[128], options[64];
    if (!j->request->server->cache || j->options.more || j->options.glossary || j->options.on_token)
        return true;
    way_name(&it->way, name);
    snprintf(options, sizeof options, "%d %d", j->options.html, j->options.alternatives);
    return tr_buffer_append(&it->key, name, strlen(name) + 1) && tr_buffer_append(&it->key, options, strlen(options) + 1) &&
           tr_buffer_append(&it->key, it->text, it->size);
}

/* A cached value: the flags, the size of the translation, then that and its alternatives, each with its NUL. */
static bool keep_alternatives(item *it, const char *texts, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += !texts[i];
    if (!count)
        return true;
    const char **const list = malloc(count * sizeof *list + size);
    if (!list)
        return false;
    char *const copy = (char *)(list + count);
    memcpy(copy, texts, size);
    size_t n = 0;
    for (const char *at = copy; at < copy + size; at += strlen(at) + 1)
        list[n++] = at;
    it->alternatives = list;
    it->alternative_count = n;
    return true;
}

/* Whether the item is done already. */
static bool find_cached(item *it)
{
    cache *const known = it->job->request->server->cache;
    size_t size;
    const char *const value = it->key.size ? cache_find(known, it->key.data, it->key.size, &size) : NULL;
    if (it->key.size)
        metrics_cached(it->job->request->server->metrics, value != NULL);
    if (!value)
        return false;
    memcpy(&it->flags, value, sizeof it->flags);
    memcpy(&it->result_size, value + sizeof it->flags, sizeof it->result_size);
    const size_t head = sizeof it->flags + sizeof it->result_size, before = head + it->result_size + 1;
    it->result = tr_copy_bytes(value + head, it->result_size + 1); /* HTML may have NULs */
    if (it->result && keep_alternatives(it, value + before, size - before))
        return true;
    free(it->result);
    it->result = NULL;
    return false;
}

static void cache_item(const item *it, const char *alternatives, size_t size)
{
    tr_buffer value = {0};
    if (it->key.size && tr_buffer_append(&value, &it->flags, sizeof it->flags) &&
        tr_buffer_append(&value, &it->result_size, sizeof it->result_size) &&
        tr_buffer_append(&value, it->result, it->result_size + 1) && tr_buffer_append(&value, alternatives, size))
        cache_add(it->job->request->server->cache, it->key.data, it->key.size, value.data, value.size);
    tr_buffer_free(&value);
}

/* --------------------------------------------------------------------------------------------------------------- results */

/* The further hypotheses that differ from each other and from the translation. */
static bool collect_alternatives(item *it)
{
    const tr_results *const results = it->event ? tr_event_results(it->event) : NULL;
    tr_buffer texts = {0};
    const char *seen[MOST_ALTERNATIVES + 1] = {it->result};
    size_t count = 1;
    bool good = true;
    const int64_t hypotheses = results && it->job->options.alternatives ? tr_results_int(results, 0, "hypotheses") : 0;
    for (int64_t h = 1; good && h < hypotheses && count <= MOST_ALTERNATIVES; h++) {
        const char *const text = tr_results_hypothesis_text(results, 0, (size_t)h, NULL);
        bool new = text != NULL;
        for (size_t i = 0; new &&i < count; i++)
            new = strcmp(seen[i], text) != 0;
        if (!new)
            continue;
        seen[count++] = text;
        good = tr_buffer_append(&texts, text, strlen(text) + 1);
    }
    good = good && keep_alternatives(it, texts.data, texts.size);
    if (good)
        cache_item(it, texts.data, texts.size);
    tr_buffer_free(&texts);
    return good;
}

static tr_status write_document(item *it, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < it->piece_count; i++) {
        const piece *const p = &it->pieces[i];
        it->flags |= p->flags;
        status = tr_document_set(it->document, i, p->data, p->size, p->flags, error);
    }
    if (status == TR_OK)
        status = tr_document_bytes(it->document, &it->result, &it->result_size, error);
    char *const ended = status == TR_OK ? realloc(it->result, it->result_size + 1) : NULL;
    if (!ended)
        return status == TR_OK ? tr_fail(error, TR_ERROR_MEMORY, "out of memory") : status;
    it->result = ended;
    ended[it->result_size] = 0;
    return TR_OK;
}

static void write_in_thread(void *argument)
{
    item *const it = argument;
    it->error.status = write_document(it, &it->error);
}

static void finish_item(item *it)
{
    free_pieces(it);
    if (collect_alternatives(it))
        end_item(it);
    else
        fail_memory(it->job);
}

static void on_written(void *argument)
{
    item *const it = argument;
    job *const j = it->job;
    if (j->request && it->error.status != TR_OK)
        fail_job(j, &it->error);
    else if (j->request)
        finish_item(it);
    j->waiting--;
    drop_job(j);
}

/* In another thread, if the item has much HTML; false: at once, in the loop. The job waits for done. */
static bool work_apart(item *it, loop_call *run, loop_call *done)
{
    if (!it->job->options.html || it->size < LARGE_HTML)
        return false;
    tr_fail(&it->error, TR_ERROR_CANCELLED, "the server ends"); /* if it is not run */
    if (!loop_work(it->job->request->server->loop, run, done, it))
        return false;
    it->job->waiting++;
    return true;
}

/* All pieces have gone through all steps. */
static void complete_item(item *it)
{
    if (it->document && work_apart(it, write_in_thread, on_written))
        return;
    tr_error error;
    if (it->document && write_document(it, &error) != TR_OK) {
        fail_job(it->job, &error);
        return;
    }
    if (!it->document) {
        it->result = it->pieces[0].data;
        it->result_size = it->pieces[0].size;
        it->flags = it->pieces[0].flags;
        it->pieces[0].data = NULL;
    }
    finish_item(it);
}

/* ----------------------------------------------------------------------------------------------------------------- steps */

static void begin_step(item *it);

static void take_result(item *it, tr_event *event)
{
    const tr_results *const results = tr_event_results(event);
    piece *const p = &it->pieces[tr_event_text(event)];
    size_t size;
    const char *const text = tr_results_text(results, 0, &size);
    char *const copy = tr_copy_bytes(text, size + 1);
    if (!copy) {
        fail_memory(it->job);
        return;
    }
    free(p->data);
    p->data = copy;
    p->size = size;
    p->flags |= (unsigned)tr_results_int(results, 0, "flags");
    metrics_translated(it->job->request->server->metrics, tr_results_int(results, 0, "source_tokens"),
                       tr_results_int(results, 0, "target_tokens"), tr_results_int(results, 0, "sentences"));
}

static bool is_last_step(const item *it)
{
    return it->step + 1 == it->way.count;
}

static int milliseconds_of(const job *j)
{
    return j->options.deadline ? j->options.deadline : j->request->server->settings->timeout * 1000;
}

static tr_status fail_late(const job *j, tr_error *error)
{
    return tr_fail(error, TR_ERROR_DEADLINE, "the translation was not done in %d ms", milliseconds_of(j));
}

static void on_event(void *argument, tr_event *event)
{
    item *const it = argument;
    job *const j = it->job;
    const bool last = tr_event_last(event);
    bool keep = false;
    if (j->request && tr_event_token(event)) {
        if (is_last_step(it))
            j->options.on_token(j->request, tr_event_token(event));
    } else if (j->request && tr_event_status(event) == TR_OK) {
        take_result(it, event);
        keep = last && is_last_step(it) && !it->document;
    } else if (j->request) {
        tr_error error;
        if (tr_event_status(event) == TR_ERROR_DEADLINE)
            fail_late(j, &error);
        else
            tr_fail(&error, tr_event_status(event), "%s", tr_event_message(event));
        fail_job(j, &error);
    }
    if (last) {
        it->waits = false;
        it->ticket = 0;
    }
    if (keep && j->request)
        it->event = event;
    else
        tr_event_free(event);
    if (!last)
        return;
    if (j->request && !is_last_step(it)) {
        it->step++;
        begin_step(it);
    } else if (j->request) {
        complete_item(it);
    }
    j->waiting--; /* at last: what was called may fail at once, and drop the job */
    drop_job(j);
}

/* Sets what the submission needs besides the caller's own options. */
static tr_status set_options(const item *it, tr_options *o, tr_error *error)
{
    const translation_options *const wanted = &it->job->options;
    const cli_settings *const s = it->job->request->server->settings;
    const bool bulk = wanted->bulk || it->job->characters > LONG_REQUEST;
    const bool last = is_last_step(it), ranked = served_ranks(it->way.steps[it->step].model);
    const uint64_t now = tr_nanoseconds();
    tr_status status = tr_options_set_string(o, "source_language", it->way.steps[it->step].source, error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "target_language", it->way.steps[it->step].target, error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "priority", bulk ? "low" : "normal", error);
    if (status == TR_OK && now >= it->job->deadline)
        status = fail_late(it->job, error);
    if (status == TR_OK)
        status = tr_options_set_int(o, "deadline", (int64_t)((it->job->deadline - now) / MILLISECOND) + 1, error);
    const int beam = ranked ? CLI_BEAM_RANKED : s->search.beam;
    if (status == TR_OK && !wanted->has_beam)
        status = tr_options_set_int(o, "beam", beam > wanted->least_beam ? beam : wanted->least_beam, error);
    if (status == TR_OK && wanted->on_token && !ranked)
        status = tr_options_set_int(o, "tokens", last, error);
    if (status == TR_OK && wanted->alternatives && !wanted->html)
        status = tr_options_set_int(o, "alternatives", last, error);
    if (status == TR_OK && wanted->alternatives && !wanted->html)
        status = tr_options_set_int(o, "n_best", last ? wanted->alternatives + 1 : 1, error);
    if (status == TR_OK && wanted->prefix)
        status = tr_options_set_strings(o, "prefixes", &wanted->prefix, last, error);
    tr_options_set_glossary(o, wanted->glossary ? wanted->glossary->glossary : NULL);
    return status;
}

static tr_status submit(item *it, tr_error *error)
{
    tr_options *options = it->job->options.more;
    tr_status status = options ? TR_OK : tr_options_create(&options, error);
    const char **const texts = malloc(it->piece_count * sizeof *texts);
    size_t *const sizes = malloc(it->piece_count * sizeof *sizes);
    if (!texts || !sizes)
        status = tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; status == TR_OK && i < it->piece_count; i++) {
        texts[i] = it->pieces[i].data;
        sizes[i] = it->pieces[i].size;
    }
    if (status == TR_OK)
        status = set_options(it, options, error);
    if (status == TR_OK)
        status = served_submit(it->way.steps[it->step].model, texts, sizes, it->piece_count, options, on_event, it,
                               &it->ticket, error);
    free(texts);
    free(sizes);
    if (options != it->job->options.more)
        tr_options_free(options);
    return status;
}

static void on_open(void *argument, const tr_error *error)
{
    item *const it = argument;
    job *const j = it->job;
    tr_error failure;
    if (j->request && error)
        fail_job(j, error);
    else if (j->request && submit(it, &failure) != TR_OK)
        fail_job(j, &failure);
    else if (j->request)
        return; /* it goes on waiting */
    it->waits = false;
    j->waiting--;
    drop_job(j);
}

static void begin_step(item *it)
{
    it->waits = true;
    it->job->waiting++;
    served_open(it->way.steps[it->step].model, on_open, it);
}

/* ----------------------------------------------------------------------------------------------------------------- begin */

static tr_status read_pieces(item *it, tr_error *error)
{
    const bool html = it->job->options.html;
    tr_options *options = NULL;
    tr_status status = TR_OK;
    if (html && (status = tr_options_create(&options, error)) == TR_OK)
        status = tr_options_set_string(options, "format", "html", error);
    if (html && status == TR_OK)
        status = tr_document_parse("the text", it->text, it->size, options, &it->document, error);
    tr_options_free(options);
    if (status != TR_OK)
        return status;
    it->piece_count = html ? tr_document_units(it->document) : 1;
    it->pieces = calloc(it->piece_count + 1, sizeof *it->pieces);
    if (!it->pieces) {
        it->piece_count = 0;
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    }
    for (size_t i = 0; html && status == TR_OK && i < it->piece_count; i++)
        status = tr_document_unit(it->document, i, &it->pieces[i].data, &it->pieces[i].size, error);
    if (!html && !(it->pieces[0].data = tr_copy_bytes(it->text, it->size + 1)))
        status = tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    if (!html)
        it->pieces[0].size = it->size;
    return status;
}

static void read_in_thread(void *argument)
{
    item *const it = argument;
    it->error.status = read_pieces(it, &it->error);
}

static void begin_pieces(item *it)
{
    if (it->piece_count)
        begin_step(it);
    else
        complete_item(it);
}

static void on_read(void *argument)
{
    item *const it = argument;
    job *const j = it->job;
    if (j->request && it->error.status != TR_OK)
        fail_job(j, &it->error);
    else if (j->request)
        begin_pieces(it);
    j->waiting--; /* at last, as in on_event */
    drop_job(j);
}

/* Detects the language of a text; of HTML without its tags. */
static tr_status detect_source(item *it, tr_error *error)
{
    const job *const j = it->job;
    tr_buffer plain = {0};
    detected found;
    bool good = true;
    for (size_t at = 0, size; good && j->options.html && at < it->size; at += size) {
        const char *const from = it->text + at;
        const bool tag = from[0] == '<' && (tr_is_ascii_letter(from[1]) || strchr("/!?", from[1]));
        size = tag ? strcspn(from, ">") + 1 : strcspn(from + 1, "<") + 1;
        good = tag ? tr_buffer_append(&plain, " ", 1) : tr_buffer_append(&plain, from, size);
    }
    if (good) {
        const bool html = plain.size;
        language_detect(j->request->server, html ? plain.data : it->text, html ? plain.size : it->size, j->target, &found);
        memcpy(it->source, found.code, sizeof it->source);
        it->confidence = found.confidence;
    }
    tr_buffer_free(&plain);
    return good ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

/* The source language, as it was given or detected. */
static tr_status find_source(item *it, tr_error *error)
{
    const char *const given = it->job->options.source;
    it->confidence = -1;
    if (!given || !*given || strcmp(given, "auto") == 0)
        return detect_source(it, error);
    if (!language_of(given, it->source))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.40s: is not a language code", given);
    return TR_OK;
}

/* The text stays as it is. */
static void pass_through(item *it)
{
    it->result_size = it->size;
    it->result = tr_copy_bytes(it->text, it->size + 1);
    it->flags = TR_FLAG_PASSED_THROUGH;
    if (it->result)
        end_item(it);
    else
        fail_memory(it->job);
}

/* One text among others in a language that no model has, such as a quotation: the others are translated all the same. */
static bool is_foreign(const item *it)
{
    const job *const j = it->job;
    return it->confidence >= 0 && j->count > 1 &&
           json_array_size(models_sources_of(j->request->server->models, j->target)) > 0;
}

/* A short text may be taken for one in the target language, which must be one that a model knows. */
static bool is_known(const models *m, const char *code)
{
    return models_sources_of(m, code) || models_targets_of(m, code);
}

static void begin_item(item *it)
{
    tr_error error;
    job *const j = it->job;
    tr_status status = find_source(it, &error);
    if (status == TR_OK && !is_known(j->request->server->models, j->target))
        status = tr_fail(&error, TR_ERROR_ARGUMENT, "%s: no model has it", j->target);
    else if (status == TR_OK && language_same(it->source, j->target)) {
        pass_through(it);
        return;
    }
    if (status == TR_OK)
        status = models_find(j->request->server->models, it->source, j->target, j->options.ranks, &it->way, &error);
    if (status == TR_ERROR_ARGUMENT && is_foreign(it)) {
        pass_through(it);
        return;
    }
    if (status == TR_OK && j->options.glossary && it->way.count > 1)
        status = tr_fail(&error, TR_ERROR_ARGUMENT, "a glossary needs a model for the pair of languages");
    if (status == TR_OK && !make_key(it))
        status = tr_fail(&error, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK && find_cached(it)) {
        end_item(it);
        return;
    }
    if (status == TR_OK && work_apart(it, read_in_thread, on_read))
        return;
    if (status == TR_OK)
        status = read_pieces(it, &error);
    if (status == TR_OK)
        begin_pieces(it);
    else
        fail_job(j, &error);
}

/* Copies what the job outlives. */
static job *create_job(request *r, const source_text *texts, size_t count, const translation_options *options)
{
    job *const j = calloc(1, sizeof *j);
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += texts[i].size + 1;
    if (!j || !(j->items = calloc(count + 1, sizeof *j->items)) || !(j->texts = malloc(size))) {
        free(j ? j->items : NULL);
        free(j);
        return NULL;
    }
    j->request = r;
    j->options = *options;
    if (options->glossary)
        dictionary_hold(options->glossary);
    j->count = j->items_left = count;
    j->characters = options->prefix ? text_characters(options->prefix, strlen(options->prefix)) : 0;
    char *at = j->texts;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, texts[i].data, texts[i].size);
        at[texts[i].size] = 0;
        j->items[i] = (item){.job = j, .text = at, .size = texts[i].size};
        at += texts[i].size + 1;
        j->characters += text_characters(texts[i].data, texts[i].size);
    }
    return j;
}

void translate_texts(request *r, const source_text *texts, size_t count, const translation_options *options,
                     void (*done)(request *r, const translated *results, size_t count))
{
    const cli_settings *const s = r->server->settings;
    char target[LANGUAGE];
    job *j = NULL;
    if (s->batch_limit && count > (size_t)s->batch_limit)
        answer_error(r, 400, "%zu texts, more than the %d that are allowed", count, s->batch_limit);
    else if (!options->target || !language_of(options->target, target))
        answer_error(r, 400, "%.40s: is not a language code", options->target ? options->target : "");
    else if (options->alternatives < 0 || options->alternatives > MOST_ALTERNATIVES)
        answer_error(r, 400, "%d alternatives, more than the %d that are allowed", options->alternatives, MOST_ALTERNATIVES);
    else if (!(j = create_job(r, texts, count, options)))
        answer_failure(r, &(tr_error){TR_ERROR_MEMORY, "out of memory"});
    if (!j || !keys_take(r->server->keys, r, j->characters)) {
        if (j) {
            j->request = NULL;
            drop_job(j);
        } else {
            tr_options_free(options->more);
        }
        return;
    }
    memcpy(j->target, target, sizeof target);
    j->done = done;
    j->deadline = tr_nanoseconds() + (uint64_t)milliseconds_of(j) * MILLISECOND;
    request_on_leave(r, on_leave, j);
    j->waiting++;
    for (size_t i = 0; j->request && i < count; i++)
        begin_item(&j->items[i]);
    j->options.source = NULL; /* the caller's may not last */
    if (!count && j->request)
        finish_job(j);
    j->waiting--;
    drop_job(j);
}
