/* The public functions of documents: the module reads and writes, the library translates. */
#define _GNU_SOURCE
#include "translate/document.h"

#include <stdlib.h>
#include <string.h>

#include "api/engine.h"
#include "api/results.h"
#include "document/format.h"
#include "document/module.h"
#include "util/clock.h"
#include "util/file.h"

/* The translation of a unit. */
typedef struct stored {
    size_t text, size; /* of opened.texts */
    unsigned flags;
    bool known;
} stored;

/* What belongs to a document, besides what its format found: tr_document.owner. */
typedef struct opened {
    void *handle;
    const tr_document_module *module;
    tr_file file;
    char *name, *copy; /* copy: of bytes that were given */
    char *format, *languages[2], *columns, *keys, *pairs;
    stored *translations; /* [count] */
    size_t count;
    tr_buffer texts;
} opened;

static opened *owner_of(const tr_document *document)
{
    return document->owner;
}

/* ---------------------------------------------------------------------------------------------------- opening and freeing
 */

static void free_opened(opened *o)
{
    tr_document_unload(o->handle);
    tr_file_close(&o->file);
    free(o->name);
    free(o->copy);
    free(o->format);
    for (int i = 0; i < 2; i++)
        free(o->languages[i]);
    free(o->columns);
    free(o->keys);
    free(o->pairs);
    free(o->translations);
    tr_buffer_free(&o->texts);
    free(o);
}

/* Copies a string that may be NULL. */
static bool copy_string(const char *from, char **to)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static tr_status read_document(opened *o, const char *data, size_t size, const tr_options *options, tr_document **document,
                               tr_error *error)
{
    tr_document_settings settings = options ? options->document : (tr_document_settings){0};
    if (options) {
        settings.source_language = options->translate.source_language;
        settings.target_language = options->translate.target_language;
    }
    if (!copy_string(settings.format, &o->format) || !copy_string(settings.source_language, &o->languages[0]) ||
        !copy_string(settings.target_language, &o->languages[1]) || !copy_string(settings.columns, &o->columns) ||
        !copy_string(settings.keys, &o->keys) || !copy_string(settings.pairs, &o->pairs))
        return tr_fail_memory(error, o->name);
    settings.format = o->format;
    settings.source_language = o->languages[0];
    settings.target_language = o->languages[1];
    settings.columns = o->columns;
    settings.keys = o->keys;
    settings.pairs = o->pairs;
    tr_status status = tr_document_load(&o->module, &o->handle, error);
    if (status == TR_OK)
        status = o->module->read(o->name, data, size, &settings, document, error);
    if (status != TR_OK)
        return status;
    (*document)->owner = o;
    o->count = o->module->count(*document);
    o->translations = calloc(o->count ? o->count : 1, sizeof *o->translations);
    if (o->translations)
        return TR_OK;
    o->module->close(*document);
    return tr_fail_memory(error, o->name);
}

static tr_status make_opened(const char *name, opened **o, tr_error *error)
{
    *o = calloc(1, sizeof **o);
    if (*o && copy_string(name, &(*o)->name))
        return TR_OK;
    free(*o);
    *o = NULL;
    return tr_fail_memory(error, name);
}

tr_status tr_document_open(const char *path, const tr_options *options, tr_document **document, tr_error *error)
{
    opened *o;
    if (!document)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_open: document is NULL");
    *document = NULL;
    if (!path)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_open: path is NULL");
    tr_status status = make_opened(path, &o, error);
    if (status != TR_OK)
        return status;
    status = tr_file_open(path, TR_LOAD_COPY, &o->file, error);
    if (status == TR_OK)
        status = read_document(o, o->file.size ? (const char *)o->file.data : "", o->file.size, options, document, error);
    if (status != TR_OK) {
        *document = NULL;
        free_opened(o);
    }
    return status;
}

tr_status tr_document_parse(const char *name, const void *data, size_t size, const tr_options *options,
                            tr_document **document, tr_error *error)
{
    opened *o;
    if (!document)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_parse: document is NULL");
    *document = NULL;
    if (!name || (!data && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_parse: %s is NULL", name ? "data" : "name");
    if (size >= UINT32_MAX)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: a document has fewer than 4 GiB", name);
    tr_status status = make_opened(name, &o, error);
    if (status != TR_OK)
        return status;
    o->copy = malloc(size + 1);
    if (o->copy && size)
        memcpy(o->copy, data, size);
    status = o->copy ? read_document(o, o->copy, size, options, document, error) : tr_fail_memory(error, name);
    if (status != TR_OK) {
        *document = NULL;
        free_opened(o);
    }
    return status;
}

void tr_document_free(tr_document *document)
{
    if (!document)
        return;
    opened *o = owner_of(document);
    o->module->close(document);
    free_opened(o);
}

/* ------------------------------------------------------------------------------------------------------------------ units
 */

size_t tr_document_units(const tr_document *document)
{
    return document ? owner_of(document)->count : 0;
}

static tr_status check_unit(const tr_document *document, size_t unit, const char *call, tr_error *error)
{
    if (document && unit < owner_of(document)->count)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %s", call, document ? "there is no such unit" : "document is NULL");
}

tr_status tr_document_unit(const tr_document *document, size_t unit, char **text, size_t *size, tr_error *error)
{
    tr_buffer buffer = {0};
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_unit: text is NULL");
    *text = NULL;
    if (size)
        *size = 0;
    tr_status status = check_unit(document, unit, "tr_document_unit", error);
    if (status == TR_OK)
        status = owner_of(document)->module->text(document, unit, &buffer, error);
    if (status != TR_OK) {
        tr_buffer_free(&buffer);
        return status;
    }
    *text = buffer.data;
    if (size)
        *size = buffer.size;
    return TR_OK;
}

tr_status tr_document_set(tr_document *document, size_t unit, const char *text, size_t size, unsigned flags, tr_error *error)
{
    const tr_status status = check_unit(document, unit, "tr_document_set", error);
    if (status != TR_OK)
        return status;
    opened *o = owner_of(document);
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_set: text is NULL");
    const size_t at = o->texts.size;
    if (!tr_buffer_append(&o->texts, text, size) || !tr_buffer_append(&o->texts, "", 1))
        return tr_fail_memory(error, o->name);
    o->translations[unit] = (stored){at, size, flags, true};
    return TR_OK;
}

const char *tr_document_get(const tr_document *document, size_t unit, size_t *size)
{
    const opened *o = document ? owner_of(document) : NULL;
    const bool known = o && unit < o->count && o->translations[unit].known;
    if (size)
        *size = known ? o->translations[unit].size : 0;
    return known ? o->texts.data + o->translations[unit].text : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- translating */

enum { SLICE = 8192, SLICE_BYTES = 4 << 20 }; /* units that are translated together, and their bytes, at most */

/* Some units without a translation. */
typedef struct slice {
    tr_document *document;
    size_t *units;      /* [count] */
    const char **texts; /* [count] */
    size_t *sizes;      /* [count] */
    size_t count, next; /* next: where the following slice begins */
    size_t max_count, max_bytes;
    tr_buffer bytes;
    size_t done, total; /* units of the document with a translation, before this slice; and all */
    const tr_translate_options *options;
    uint64_t source_tokens, target_tokens; /* before this slice */
    tr_progress progress;                  /* of this slice */
    tr_status status;                      /* of storing results */
    tr_error *error;
} slice;

static void free_slice(slice *s)
{
    free(s->units);
    free((void *)s->texts);
    free(s->sizes);
    tr_buffer_free(&s->bytes);
}

static tr_status make_slice(slice *s, tr_document *document, const tr_translate_options *options, tr_error *error)
{
    const opened *o = owner_of(document);
    *s = (slice){.document = document, .total = o->count, .options = options, .max_count = SLICE, .max_bytes = SLICE_BYTES};
    s->units = malloc(SLICE * sizeof *s->units);
    s->texts = malloc(SLICE * sizeof *s->texts);
    s->sizes = malloc(SLICE * sizeof *s->sizes);
    for (size_t i = 0; i < o->count; i++)
        s->done += o->translations[i].known;
    return s->units && s->texts && s->sizes ? TR_OK : tr_fail_memory(error, o->name);
}

/* Takes the next units without a translation; none: the document is done. */
static tr_status fill_slice(slice *s, tr_error *error)
{
    const opened *o = owner_of(s->document);
    tr_status status = TR_OK;
    s->done += s->count;
    s->count = 0;
    s->source_tokens += s->progress.source_tokens;
    s->target_tokens += s->progress.target_tokens;
    s->progress = (tr_progress){0};
    tr_buffer_clear(&s->bytes);
    for (; status == TR_OK && s->next < o->count && s->count < s->max_count; s->next++) {
        const size_t begin = s->bytes.size;
        if (o->translations[s->next].known)
            continue;
        status = o->module->text(s->document, s->next, &s->bytes, error);
        if (s->count && s->bytes.size > s->max_bytes) {
            s->bytes.size = begin; /* the first of the next slice */
            break;
        }
        s->units[s->count] = s->next;
        s->sizes[s->count++] = s->bytes.size - begin;
    }
    const char *text = s->bytes.data;
    for (size_t i = 0; status == TR_OK && i < s->count; i++) {
        s->texts[i] = text;
        text += s->sizes[i];
    }
    return status;
}

static int show_progress(void *argument, const tr_progress *p)
{
    slice *s = argument;
    s->progress = *p;
    const tr_progress whole = {.texts_done = s->done + p->texts_done,
                               .texts = s->total,
                               .source_tokens = s->source_tokens + p->source_tokens,
                               .target_tokens = s->target_tokens + p->target_tokens};
    return s->options->on_progress(s->options->on_progress_argument, &whole);
}

/* on_result: keeps translations as they are done, for a call that is cancelled later. */
static int store_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    slice *s = argument;
    for (size_t i = 0; i < count && s->status == TR_OK; i++)
        s->status =
            tr_document_set(s->document, s->units[first + i], results[i].text, results[i].size, results[i].flags, s->error);
    return s->status != TR_OK;
}

static tr_status translate_slice(slice *s, tr_context *context, const tr_translate_options *options, tr_error *error)
{
    tr_result *results = NULL;
    s->error = error;
    s->status = TR_OK;
    const tr_status status = tr_translate_texts(context, s->texts, s->sizes, s->count, options, &results, error);
    tr_result_array_free(results, s->count);
    return s->status != TR_OK ? s->status : status;
}

/* Options with which marks can be kept. */
static tr_status check_options(const char *call, const tr_document *document, const void *with,
                               const tr_translate_options *options, tr_error *error)
{
    if (!document || !with)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %s is NULL", call, document ? "its second argument" : "document");
    if (!options->protect)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: needs protect", call);
    if (options->prefixes)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: has no prefixes", call);
    return TR_OK;
}

tr_status tr_document_translate(tr_document *document, tr_context *context, const tr_options *options, tr_error *error)
{
    tr_translate_options own = options ? options->translate : tr_translate_default_options();
    const tr_translate_options given = own;
    slice s;
    tr_status status = check_options("tr_document_translate", document, context, &own, error);
    if (status != TR_OK)
        return status;
    status = make_slice(&s, document, &given, error);
    own.on_progress = given.on_progress ? show_progress : NULL;
    own.on_progress_argument = &s;
    own.on_result = store_results;
    own.on_result_argument = &s;
    own.on_token = NULL;
    if (status == TR_OK)
        status = fill_slice(&s, error);
    while (status == TR_OK && s.count) {
        status = translate_slice(&s, context, &own, error);
        const tr_progress done = {s.count, s.count, s.progress.source_tokens, s.progress.target_tokens};
        if (status == TR_OK && given.on_progress && show_progress(&s, &done) != 0) /* cached texts are not counted there */
            status = tr_fail(error, TR_ERROR_CANCELLED, "cancelled");
        if (status == TR_OK)
            status = fill_slice(&s, error);
    }
    free_slice(&s);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- with a queue */

enum { WAIT = 20 }; /* milliseconds after which a full queue is asked again */

/* Takes what became of a text. */
static tr_status take_event(slice *s, const tr_event *event, tr_error *error)
{
    size_t size;
    const size_t text = tr_event_text(event);
    const char *translation = tr_results_text(tr_event_results(event), 0, &size);
    if (tr_event_status(event) != TR_OK)
        return tr_fail(error, tr_event_status(event), "%s", tr_event_message(event));
    if (!translation || text >= s->count)
        return TR_OK;
    const unsigned flags = (unsigned)tr_results_int(tr_event_results(event), 0, "flags");
    const tr_status status = tr_document_set(s->document, s->units[text], translation, size, flags, error);
    s->progress.texts_done++;
    if (status == TR_OK && s->options->on_progress && show_progress(s, &s->progress) != 0)
        return tr_fail(error, TR_ERROR_CANCELLED, "cancelled");
    return status;
}

/* Takes the events of a submission, all of them: the first failure gives up the others. */
static tr_status take_events(slice *s, tr_queue *queue, tr_ticket ticket, tr_error *error)
{
    tr_status status = TR_OK;
    for (bool last = false; !last;) {
        tr_event *event = tr_queue_wait(queue, ticket, -1);
        if (!event)
            return status != TR_OK ? status : tr_fail(error, TR_ERROR_MEMORY, "the queue gave up");
        last = tr_event_last(event);
        if (status == TR_OK) {
            status = take_event(s, event, error);
            if (status != TR_OK)
                tr_queue_cancel(queue, ticket);
        }
        tr_event_free(event);
    }
    return status;
}

tr_status tr_document_translate_queue(tr_document *document, tr_queue *queue, const tr_options *options, tr_error *error)
{
    const tr_translate_options given = options ? options->translate : tr_translate_default_options();
    tr_options own;
    slice s;
    tr_status status = check_options("tr_document_translate_queue", document, queue, &given, error);
    if (status != TR_OK)
        return status;
    if (options) {
        own = *options;
        own.submit.on_event = NULL;
        own.submit.tokens = false;
    }
    status = make_slice(&s, document, &given, error);
    const tr_queue_options limits = tr_queue_limits(queue);
    s.max_count = limits.max_texts < SLICE ? limits.max_texts : SLICE;
    s.max_bytes = limits.max_bytes < SLICE_BYTES ? limits.max_bytes : SLICE_BYTES;
    if (status == TR_OK)
        status = fill_slice(&s, error);
    while (status == TR_OK && s.count) {
        tr_ticket ticket;
        status = tr_queue_submit(queue, s.texts, s.sizes, s.count, options ? &own : NULL, &ticket, error);
        if (status == TR_ERROR_FULL) {
            status = given.on_progress && show_progress(&s, &s.progress) != 0
                         ? tr_fail(error, TR_ERROR_CANCELLED, "cancelled")
                         : TR_OK;
            tr_sleep(WAIT);
            continue;
        }
        if (status == TR_OK)
            status = take_events(&s, queue, ticket, error);
        if (status == TR_OK)
            status = fill_slice(&s, error);
    }
    free_slice(&s);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- writing */

/* Gives stored translations, and the text itself of units without. */
typedef struct giving {
    const tr_document *document;
    tr_buffer text;
} giving;

static tr_status next_stored(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    giving *g = argument;
    const opened *o = owner_of(g->document);
    const stored *t = &o->translations[unit];
    tr_status status = TR_OK;
    tr_buffer_clear(&g->text);
    if (!t->known)
        status = o->module->text(g->document, unit, &g->text, error);
    *translation = t->known ? (tr_document_translation){o->texts.data + t->text, t->size, t->flags}
                            : (tr_document_translation){g->text.data, g->text.size, 0};
    return status;
}

static tr_status write_document(const tr_document *document, const tr_document_sink *sink, tr_error *error)
{
    giving g = {document, {0}};
    const tr_document_source source = {next_stored, &g};
    const tr_status status = owner_of(document)->module->write(document, &source, sink, error);
    tr_buffer_free(&g.text);
    return status;
}

static tr_status write_output(void *argument, const void *data, size_t size, tr_error *error)
{
    return tr_output_write(argument, data, size, error);
}

tr_status tr_document_save(const tr_document *document, const char *path, tr_error *error)
{
    tr_output output;
    if (!document || !path)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_save: %s is NULL", document ? "path" : "document");
    tr_status status = tr_output_open(&output, path, error);
    if (status != TR_OK)
        return status;
    status = write_document(document, &(tr_document_sink){write_output, &output}, error);
    if (status == TR_OK)
        return tr_output_commit(&output, error);
    tr_output_abort(&output);
    return status;
}

static tr_status write_buffer(void *argument, const void *data, size_t size, tr_error *error)
{
    return tr_buffer_append(argument, data, size) ? TR_OK : tr_fail_memory(error, "tr_document_bytes");
}

tr_status tr_document_bytes(const tr_document *document, char **data, size_t *size, tr_error *error)
{
    tr_buffer buffer = {0};
    if (data)
        *data = NULL;
    if (size)
        *size = 0;
    if (!document || !data || !size)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_document_bytes: an argument is NULL");
    tr_status status = write_document(document, &(tr_document_sink){write_buffer, &buffer}, error);
    if (status == TR_OK && !tr_buffer_append(&buffer, "", 0))
        status = tr_fail_memory(error, "tr_document_bytes");
    if (status != TR_OK) {
        tr_buffer_free(&buffer);
        return status;
    }
    *data = buffer.data;
    *size = buffer.size;
    return TR_OK;
}
