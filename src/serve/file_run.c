/* Documents are read twice: when they come, to be checked, and when their turn has come, to be translated; so one that waits
 * costs no more than its bytes. Their units go to the queue in chunks, some at a time: other texts never wait for a whole
 * document, and it can be given up at any moment. */
#include "serve/file.h"

#include <stdlib.h>
#include <string.h>

#include "document/module.h"
#include "serve/loop.h"
#include "serve/metrics.h"
#include "serve/translation.h"
#include "util/arena.h"
#include "util/clock.h"

enum {
    CHUNKS = 4, /* in the queue at the same time */
    CHUNK = 64, /* units */
    CHUNK_BYTES = 65536,
    FULL_WAIT = 50,       /* milliseconds after which a full queue is asked again */
    LARGE = 256 << 10,    /* bytes: see is_large */
    SAMPLE = 4096,        /* bytes of text by which a language is detected */
    TEXT = 12,            /* bytes that may be a character, as &#128512; is, */
    OTHER_TEXT = 1 << 20, /* and those of text that is not translated: a document with more has too many characters */
    CONTENT = 16 << 20,   /* max_content, unless --upload-limit is larger */
};

/* Some units on their way through the models: texts are those of the units, then what the first model made of them. */
typedef struct chunk {
    file *file;
    size_t first, count, sizes[CHUNK];
    char *texts[CHUNK];
    int step;         /* of the way */
    bool ready, sent; /* it is to be submitted; its events are awaited */
    tr_ticket ticket;
} chunk;

struct file_run {
    tr_document *document;
    tr_buffer sample;
    chunk chunks[CHUNKS];
    size_t next, done; /* the first unit that no chunk had; translated units */
    int opened;        /* models of the way that are open */
    uint64_t began;    /* tr_nanoseconds; 0: not yet */
    loop_timer retry;
    char *result;
    size_t result_size;
};

static void advance(file *f);

static void free_chunk(chunk *c)
{
    for (size_t i = 0; i < c->count; i++)
        tr_free(c->texts[i]);
    c->count = 0;
}

void file_run_free(file *f)
{
    file_run *const r = f->run;
    if (!r)
        return;
    loop_forget(f->server->loop, &r->retry);
    for (int i = 0; i < CHUNKS; i++)
        free_chunk(&r->chunks[i]);
    tr_document_free(r->document);
    tr_buffer_free(&r->sample);
    tr_free(r->result);
    free(r);
    f->run = NULL;
}

void file_run_cancel(file *f)
{
    atomic_store(&f->given_up, true);
    if (f->run)
        loop_forget(f->server->loop, &f->run->retry);
    for (int i = 0; f->run && i < CHUNKS; i++) {
        const chunk *const c = &f->run->chunks[i];
        if (c->sent)
            tr_queue_cancel(served_queue(f->way.steps[c->step].model), c->ticket);
    }
}

/* -------------------------------------------------------------------------------------------------------------- reading */

static tr_status set_options(tr_options *o, const file *f, tr_error *error)
{
    const int64_t limit = (int64_t)f->server->settings->upload_limit << 20, characters = f->server->settings->char_limit;
    tr_status status = tr_options_set_string(o, "format", f->format, error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "source_language", *f->source ? f->source : NULL, error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "target_language", f->target, error);
    if (status == TR_OK)
        status = tr_options_set_int(o, "bilingual", f->bilingual, error);
    if (status == TR_OK)
        status = tr_options_set_int(o, "max_text", characters ? TEXT * characters + OTHER_TEXT : 0, error);
    return status == TR_OK ? tr_options_set_int(o, "max_content", limit > CONTENT ? limit : CONTENT, error) : status;
}

/* Whether reading it takes seconds and hundreds of megabytes: one such document is read at a time. What is zipped may have
 * any size. */
static bool is_large(const file *f)
{
    return f->size > LARGE || tr_document_traits(f->format) & TR_DOCUMENT_ZIPPED;
}

static void read_document(file *f)
{
    tr_options *options = NULL;
    if (atomic_load(&f->given_up))
        return; /* as if it had not been called */
    f->error.status = tr_options_create(&options, &f->error);
    if (f->error.status == TR_OK)
        f->error.status = set_options(options, f, &f->error);
    if (f->error.status == TR_OK)
        f->error.status = tr_document_parse(f->name, f->data, f->size, options, &f->run->document, &f->error);
    tr_options_free(options);
}

/* The trees of a document leave hundreds of megabytes in small pieces. */
static void trim_heap(const file *f)
{
    if (is_large(f))
        tr_heap_trim();
}

/* In a thread. */
static void parse(void *argument)
{
    file *const f = argument;
    read_document(f);
    trim_heap(f);
}

static tr_status look_at_unit(file *f, size_t unit)
{
    file_run *const r = f->run;
    const int limit = f->server->settings->char_limit;
    char *text;
    size_t size;
    tr_status status = tr_document_unit(r->document, unit, &text, &size, &f->error);
    if (status != TR_OK)
        return status;
    f->characters += text_characters(text, size);
    if (limit && f->characters > (size_t)limit)
        status =
            tr_fail(&f->error, TR_ERROR_ARGUMENT, "%s: has more than %d characters, which is the limit", f->name, limit);
    else if (r->sample.size < SAMPLE && !(tr_buffer_append(&r->sample, text, size) && tr_buffer_append(&r->sample, "\n", 1)))
        status = tr_fail_memory(&f->error, f->name);
    tr_free(text);
    return status;
}

/* In a thread: what must be known before the document is accepted. */
static void look_through(void *argument)
{
    file *const f = argument;
    read_document(f);
    f->units = tr_document_units(f->run->document);
    for (size_t i = 0; i < f->units && f->error.status == TR_OK; i++)
        f->error.status = look_at_unit(f, i);
    tr_document_free(f->run->document);
    f->run->document = NULL;
    trim_heap(f);
}

/* Runs work in a thread, then calls done with what it left in f->error. */
static void begin_work(file *f, loop_call *work, loop_call *done)
{
    tr_fail(&f->error, TR_ERROR_CANCELLED, "the server stops"); /* without having called work */
    f->pending++;
    if (is_large(f) ? loop_work_apart(f->server->loop, LOOP_DOCUMENTS, work, done, f)
                    : loop_work(f->server->loop, work, done, f))
        return;
    f->pending--;
    file_failed(f);
}

/* Whether a file goes on after a pending call; if not, it has been settled. */
static bool goes_on(file *f)
{
    const bool ended = f->removed || f->state == FILE_FAILED;
    f->pending--;
    if (!ended && f->error.status == TR_OK)
        return true;
    if (!ended)
        file_failed(f);
    else
        file_settle(f);
    return false;
}

static tr_status find_way(file *f)
{
    tr_status status = TR_OK;
    if (!*f->source) {
        detected found;
        language_detect(f->server, f->run->sample.data ? f->run->sample.data : "", f->run->sample.size, f->target, &found);
        memcpy(f->source, found.code, sizeof f->source);
    }
    if (!language_same(f->source, f->target))
        status = models_find(f->server->models, f->source, f->target, false, &f->way, &f->error);
    if (status == TR_OK && (f->glossary_id || f->dictionary) && f->way.count > 1)
        status = tr_fail(&f->error, TR_ERROR_ARGUMENT, "glossary: two models translate from %s to %s, which cannot use it",
                         f->source, f->target);
    return status;
}

static void looked_through(void *argument)
{
    file *const f = argument;
    if (!goes_on(f))
        return;
    const tr_status status = find_way(f);
    file_run_free(f);
    if (status == TR_OK)
        file_read(f);
    else
        file_failed(f);
}

static bool begin_run(file *f)
{
    f->run = calloc(1, sizeof *f->run);
    if (f->run)
        return true;
    tr_fail_memory(&f->error, f->name);
    file_failed(f);
    return false;
}

void file_read_start(file *f)
{
    if (begin_run(f))
        begin_work(f, look_through, looked_through);
}

/* --------------------------------------------------------------------------------------------------------------- writing */

/* In a thread. */
static void write_result(void *argument)
{
    file *const f = argument;
    if (!atomic_load(&f->given_up))
        f->error.status = tr_document_bytes(f->run->document, &f->run->result, &f->run->result_size, &f->error);
}

static void written(void *argument)
{
    file *const f = argument;
    if (!goes_on(f))
        return;
    char *const data = f->run->result;
    f->run->result = NULL;
    file_done(f, data, f->run->result_size);
}

/* ---------------------------------------------------------------------------------------------------------- translating */

/* Takes the next units. */
static tr_status fill_chunk(file *f, chunk *c)
{
    file_run *const r = f->run;
    const size_t most = (size_t)f->server->settings->queue_limit;
    *c = (chunk){.file = f, .first = r->next};
    for (size_t bytes = 0; r->next < f->units && c->count < CHUNK && c->count < most && bytes < CHUNK_BYTES; r->next++) {
        const size_t i = c->count;
        const tr_status status = tr_document_unit(r->document, r->next, &c->texts[i], &c->sizes[i], &f->error);
        if (status != TR_OK)
            return status;
        bytes += c->sizes[i];
        c->count++;
    }
    c->ready = c->count > 0;
    return TR_OK;
}

/* Takes the translation of a text: for the next model, or for the document. */
static tr_status take_result(chunk *c, const tr_event *event)
{
    file *const f = c->file;
    const size_t text = tr_event_text(event);
    const tr_results *const results = tr_event_results(event);
    size_t size;
    const char *const translation = tr_results_text(results, 0, &size);
    if (tr_event_status(event) != TR_OK)
        return tr_fail(&f->error, tr_event_status(event), "%s", tr_event_message(event));
    if (!translation || text >= c->count)
        return TR_OK;
    metrics_translated(f->server->metrics, tr_results_int(results, 0, "source_tokens"),
                       tr_results_int(results, 0, "target_tokens"), tr_results_int(results, 0, "sentences"));
    if (c->step + 1 == f->way.count) {
        f->run->done++;
        return tr_document_set(f->run->document, c->first + text, translation, size,
                               (unsigned)tr_results_int(results, 0, "flags"), &f->error);
    }
    char *const copy = tr_copy_bytes(translation, size);
    if (!copy)
        return tr_fail_memory(&f->error, f->name);
    tr_free(c->texts[text]);
    c->texts[text] = copy;
    c->sizes[text] = size;
    return TR_OK;
}

static void take_event(void *argument, tr_event *event)
{
    chunk *const c = argument;
    file *const f = c->file;
    const bool ended = f->removed || f->state == FILE_FAILED;
    f->pending++; /* until this function ends */
    if (tr_event_last(event)) {
        c->sent = false;
        f->pending--;
    }
    if (!ended && take_result(c, event) != TR_OK) {
        file_failed(f);
    } else if (!ended && !c->sent) {
        c->ready = ++c->step < f->way.count;
        if (!c->ready)
            free_chunk(c);
        advance(f);
    }
    tr_event_free(event);
    f->pending--;
    file_settle(f);
}

static tr_status set_queue_options(tr_options *o, const file *f, int step, tr_error *error)
{
    const bool doubts = tr_document_traits(f->format) & TR_DOCUMENT_DOUBTS;
    tr_status status = tr_options_set_string(o, "priority", "low", error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "source_language", f->way.steps[step].source, error);
    if (status == TR_OK)
        status = tr_options_set_string(o, "target_language", f->way.steps[step].target, error);
    if (status == TR_OK)
        status = tr_options_set_int(o, "beam", f->server->settings->search.beam, error);
    if (status == TR_OK)
        status = tr_options_set_int(o, "doubtful", doubts, error);
    tr_options_set_glossary(o, f->dictionary ? f->dictionary->glossary : NULL);
    return status;
}

static tr_status submit(file *f, chunk *c)
{
    tr_options *options = NULL;
    tr_status status = tr_options_create(&options, &f->error);
    if (status == TR_OK)
        status = set_queue_options(options, f, c->step, &f->error);
    if (status == TR_OK)
        status = served_submit(f->way.steps[c->step].model, (const char *const *)c->texts, c->sizes, c->count, options,
                               take_event, c, &c->ticket, &f->error);
    tr_options_free(options);
    if (status == TR_OK) {
        c->ready = false;
        c->sent = true;
        f->pending++;
    }
    return status;
}

static void try_again(void *argument)
{
    advance(argument);
}

/* Keeps the chunks in the queue, and writes the document when there is nothing left for them. */
static void advance(file *f)
{
    file_run *const r = f->run;
    bool busy = false;
    for (int i = 0; i < CHUNKS; i++) {
        chunk *const c = &r->chunks[i];
        tr_status status = c->sent || c->ready || !f->way.count ? TR_OK : fill_chunk(f, c);
        if (status == TR_OK && c->ready)
            status = submit(f, c);
        if (status == TR_ERROR_FULL) {
            loop_after(f->server->loop, &r->retry, FULL_WAIT, try_again, f);
            return;
        }
        if (status != TR_OK) {
            file_failed(f);
            return;
        }
        busy |= c->sent;
    }
    if (!busy)
        begin_work(f, write_result, written);
}

static void parsed(void *argument)
{
    file *const f = argument;
    if (!goes_on(f))
        return;
    f->units = tr_document_units(f->run->document);
    f->run->began = tr_nanoseconds();
    advance(f);
}

static void open_models(file *f);

static void model_opened(void *argument, const tr_error *error)
{
    file *const f = argument;
    f->error = error ? *error : (tr_error){0};
    if (!goes_on(f))
        return;
    f->run->opened++;
    open_models(f);
}

/* One after the other; then the document is read. */
static void open_models(file *f)
{
    if (f->run->opened == f->way.count) {
        begin_work(f, parse, parsed);
        return;
    }
    f->pending++;
    served_open(f->way.steps[f->run->opened].model, model_opened, f);
}

void file_run_start(file *f)
{
    f->state = FILE_RUNS;
    if (begin_run(f))
        open_models(f);
}

int file_run_seconds(const file *f)
{
    const file_run *const r = f->run;
    if (f->state != FILE_RUNS || !r || !r->done)
        return -1;
    const double each = (double)(tr_nanoseconds() - r->began) * 1e-9 / (double)r->done;
    return (int)(each * (double)(f->units - r->done)) + 1;
}

size_t file_run_done(const file *f)
{
    return f->state == FILE_DONE ? f->units : f->state == FILE_RUNS && f->run ? f->run->done : 0;
}
