#define _GNU_SOURCE
#include "serve/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/file.h"
#include "serve/file_names.h"
#include "serve/glossaries.h"
#include "serve/ids.h"
#include "serve/keys.h"
#include "serve/loop.h"
#include "translate/document.h"
#include "util/clock.h"

enum {
    TOTAL = 8,   /* documents of the largest size that fit into memory */
    RUNNING = 4, /* documents that are translated at the same time */
};

/* A request that waits for a file: to be read if it is not known yet, otherwise to be done. */
struct file_waiter {
    file_waiter *next;
    file *file;
    request *request;
    void (*done)(request *r, const file *f);
    loop_timer patience; /* after which done is called all the same */
};

struct files {
    server *server;
    file *first, **end; /* the oldest first */
    size_t bytes;
    loop_timer expiry, start;
};

/* ---------------------------------------------------------------------------------------------------------------- memory
 */

static size_t bytes_of(const file *f)
{
    return sizeof *f + f->size;
}

/* Takes data. */
static void set_data(file *f, char *data, size_t size)
{
    files *const all = f->server->files;
    all->bytes -= bytes_of(f);
    free(f->data);
    f->data = data;
    f->size = size;
    all->bytes += bytes_of(f);
}

static void free_file(file *f)
{
    file_run_free(f);
    way_release(&f->way);
    dictionary_release(f->dictionary);
    free(f->name);
    free(f->result_name);
    free(f->key);
    free(f->glossary_id);
    free(f->data);
    free(f);
}

static bool has_ended(const file *f)
{
    return f->removed || f->state == FILE_DONE || f->state == FILE_FAILED;
}

/* Begins to translate those that wait, the oldest first. Each that fails at once calls for the next by the timer. */
static void start_waiting(void *argument)
{
    files *const all = argument;
    int running = 0;
    for (const file *f = all->first; f; f = f->next)
        running += f->known && f->run;
    for (file *f = all->first, *next; f && running < RUNNING; f = next) {
        next = f->next;
        if (!f->known || f->removed || f->state != FILE_WAITS)
            continue;
        running++;
        file_run_start(f);
    }
}

static void start_soon(files *all)
{
    loop_after(all->server->loop, &all->start, 0, start_waiting, all);
}

void file_settle(file *f)
{
    files *const all = f->server->files;
    file **at = &all->first;
    if (!has_ended(f) || f->pending)
        return;
    file_run_free(f);
    way_release(&f->way);
    dictionary_release(f->dictionary); /* it counts no more for those that there may be */
    f->dictionary = NULL;
    start_soon(all);
    if (!f->removed)
        return;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    if (!f->next)
        all->end = at;
    all->bytes -= bytes_of(f);
    free_file(f);
}

static void remove_waiter(file_waiter *w)
{
    file_waiter **at = &w->file->waiters;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    loop_forget(w->file->server->loop, &w->patience);
    free(w);
}

static file_waiter take_waiter(file *f)
{
    const file_waiter taken = *f->waiters;
    remove_waiter(f->waiters);
    request_on_leave(taken.request, NULL, NULL);
    return taken;
}

static void drop(file *f)
{
    f->removed = true;
    file_run_cancel(f);
    while (f->waiters)
        answer_error(take_waiter(f).request, 503, "%s: was removed before it was translated", f->name);
    file_settle(f);
}

static bool has_room(const files *all, size_t size)
{
    return all->bytes + size <= (size_t)TOTAL * (size_t)all->server->settings->upload_limit << 20;
}

/* Drops finished files, the oldest first, until there is room. False: there is none. */
static bool make_room(files *all, size_t size)
{
    for (file *f = all->first, *next; f && !has_room(all, size); f = next) {
        next = f->next;
        if (has_ended(f) && !f->pending)
            drop(f);
    }
    return has_room(all, size);
}

static void expire(void *argument)
{
    files *const all = argument;
    const uint64_t now = tr_nanoseconds();
    for (file *f = all->first, *next; f; f = next) {
        next = f->next;
        if (!f->removed && f->until <= now)
            drop(f);
        else if (!f->removed) {
            loop_after(all->server->loop, &all->expiry, (unsigned)((f->until - now) / 1000000 + 1), expire, all);
            return;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------- requests that wait
 */

/* The client has gone. */
static void leave(void *argument)
{
    file_waiter *const w = argument;
    file *const f = w->file;
    remove_waiter(w);
    if (!f->known || f->fleeting)
        drop(f);
}

static bool add_waiter(request *r, file *f, void (*done)(request *r, const file *f))
{
    file_waiter *const w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (file_waiter){.next = f->waiters, .file = f, .request = r, .done = done};
    f->waiters = w;
    request_on_leave(r, leave, w);
    return true;
}

/* Any of them may remove the file. */
static void call_waiters(file *f)
{
    f->pending++;
    while (f->waiters) {
        const file_waiter w = take_waiter(f);
        w.done(w.request, f);
    }
    f->pending--;
    file_settle(f);
}

/* The request's patience is over: it is called back with the file as it is now. */
static void wait_no_more(void *argument)
{
    const file_waiter w = *(file_waiter *)argument;
    remove_waiter(argument);
    request_on_leave(w.request, NULL, NULL);
    w.done(w.request, w.file);
}

void files_wait(request *r, const file *f, unsigned milliseconds, void (*done)(request *r, const file *f))
{
    file *const own = (file *)f; /* of this part, which hands it out to be looked at only */
    if (f->state == FILE_DONE || f->state == FILE_FAILED)
        done(r, f);
    else if (!add_waiter(r, own, done))
        answer_error(r, 503, "out of memory");
    else if (milliseconds)
        loop_after(f->server->loop, &own->waiters->patience, milliseconds, wait_no_more, own->waiters);
}

void file_failed(file *f)
{
    f->state = FILE_FAILED;
    file_run_cancel(f);
    if (!f->known) {
        if (f->waiters)
            answer_failure(take_waiter(f).request, &f->error);
        f->removed = true;
    }
    set_data(f, NULL, 0);
    call_waiters(f);
}

void file_done(file *f, char *data, size_t size)
{
    f->state = FILE_DONE;
    set_data(f, data, size);
    f->pending++; /* it is not dropped to make room for itself */
    (void)make_room(f->server->files, 0);
    f->pending--;
    call_waiters(f);
}

/* ---------------------------------------------------------------------------------------------------------------- adding
 */

/* Its glossary, and whether its key may have as many characters. */
static bool may_begin(file *f, request *r)
{
    if (f->glossary_id && !(f->dictionary = glossaries_take(r, f->glossary_id, f->source, f->target))) {
        answer_error(r, 400, "glossary: there is no %s from %s to %s", f->glossary_id, f->source, f->target);
        return false;
    }
    return keys_take(f->server->keys, r, f->characters);
}

void file_read(file *f)
{
    const file_waiter w = take_waiter(f); /* that added it; if it had left, the file would have ended */
    if (!may_begin(f, w.request)) {
        drop(f);
        return;
    }
    f->known = true;
    f->pending++;
    w.done(w.request, f);
    f->pending--;
    file_settle(f);
    start_soon(f->server->files);
}

static const char *find_format(const char *wanted, const char *name)
{
    if (!wanted)
        return tr_document_find_format(name);
    for (size_t i = 0; tr_document_format_name(i); i++)
        if (strcmp(tr_document_format_name(i), wanted) == 0)
            return tr_document_format_name(i);
    return NULL;
}

static void refuse_format(request *r, const char *wanted, const char *name)
{
    json_t *const endings = file_name_endings();
    tr_buffer list = {0};
    const char *each;
    bool good = endings != NULL;
    for (size_t i = 0; good && (each = wanted ? tr_document_format_name(i) : json_string_value(json_array_get(endings, i)));
         i++)
        good = tr_buffer_string(&list, " ") && tr_buffer_string(&list, each);
    json_decref(endings);
    if (!good)
        answer_error(r, 503, "out of memory");
    else if (wanted)
        answer_error(r, 400, "format: %.100s is none of%s", wanted, list.data);
    else
        answer_error(r, 400, "%s: its name must end with one of%s", name, list.data);
    tr_buffer_free(&list);
}

/* Sets what the options say. False: it has been answered. */
static bool set_options(file *f, request *r, const file_options *o)
{
    const char *const source = o->source && *o->source && strcmp(o->source, "auto") != 0 ? o->source : NULL;
    if (!o->target || !*o->target)
        answer_error(r, 400, "target: is missing");
    else if (!language_of(o->target, f->target))
        answer_error(r, 400, "target: %.100s is no language", o->target);
    else if (source && !language_of(source, f->source))
        answer_error(r, 400, "source: %.100s is no language", source);
    else if (o->glossary && o->terms)
        answer_error(r, 400, "glossary: not together with terms");
    else if (!source && o->glossary)
        answer_error(r, 400, "glossary: needs a source language");
    else if (!(f->format = find_format(o->format, f->name)))
        refuse_format(r, o->format, f->name);
    else
        return true;
    return false;
}

static bool copy_text(const char *from, char **to)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static bool set_names(file *f, const request *r, const file_options *o)
{
    return id_make(f->id) && (f->name = file_name_clean(r->upload.name)) && copy_text(r->key, &f->key) &&
           copy_text(o->glossary, &f->glossary_id);
}

static void append_file(files *all, file *f)
{
    *all->end = f;
    all->end = &f->next;
    all->bytes += bytes_of(f);
    f->until = tr_nanoseconds() + (uint64_t)all->server->settings->keep_documents * 1000000000;
    expire(all);
}

void files_add(request *r, const file_options *o, void (*added)(request *r, const file *f))
{
    files *const all = r->server->files;
    if (!r->upload.data) {
        answer_error(r, 400, "file: is missing");
        return;
    }
    if (!make_room(all, sizeof(file) + r->upload.size)) {
        answer_header(r, "Retry-After", "60");
        answer_error(r, 503, "too many documents are being translated at this moment");
        return;
    }
    file *const f = calloc(1, sizeof *f);
    if (!f || !set_names(f, r, o)) {
        answer_error(r, 503, "out of memory");
    } else if (set_options(f, r, o)) {
        f->result_name = file_name_translated(f->name, f->target);
        if (f->result_name && add_waiter(r, f, added)) {
            f->server = r->server;
            f->bilingual = o->bilingual;
            f->dictionary = o->terms ? dictionary_hold(o->terms) : NULL;
            f->data = r->upload.data;
            f->size = r->upload.size;
            r->upload.data = NULL;
            append_file(all, f);
            file_read_start(f);
            return;
        }
        answer_error(r, 503, "out of memory");
    }
    if (f)
        free_file(f);
}

/* ----------------------------------------------------------------------------------------------------------------- using
 */

static file *find_file(const request *r, const char *id)
{
    for (file *f = r->server->files->first; f; f = f->next)
        if (f->known && !f->removed && secret_is(f->id, id)) /* LibreTranslate's clients fetch their address without a key */
            return f->fleeting || secret_is(f->key, r->key) ? f : NULL;
    return NULL;
}

const file *files_find(const request *r, const char *id)
{
    return find_file(r, id);
}

file_view files_look(const file *f)
{
    return (file_view){.id = f->id,
                       .name = f->result_name,
                       .state = f->state,
                       .message = f->state == FILE_FAILED ? f->error.message : NULL,
                       .characters = f->characters,
                       .units = f->units,
                       .units_done = file_run_done(f),
                       .seconds_left = f->state == FILE_RUNS    ? file_run_seconds(f)
                                       : f->state == FILE_WAITS ? -1
                                                                : 0};
}

void files_remove(request *r, const char *id)
{
    file *const f = find_file(r, id);
    if (f)
        drop(f);
}

void files_answer(request *r, const file *f)
{
    tr_buffer disposition = {0};
    if (f->state != FILE_DONE) {
        answer_failure(r, &f->error);
    } else if (!file_name_disposition(f->result_name, &disposition)) {
        answer_error(r, 503, "out of memory");
    } else {
        answer_header(r, "Content-Disposition", disposition.data);
        answer_header(r, "Cache-Control", "private, no-store");
        answer_bytes(r, 200, file_name_type(f->result_name), f->data, f->size);
    }
    tr_buffer_free(&disposition);
}

json_t *files_endings(void)
{
    return file_name_endings();
}

files *files_create(server *s, tr_error *error)
{
    files *const all = calloc(1, sizeof *all);
    if (!all) {
        tr_fail_memory(error, "documents");
        return NULL;
    }
    all->server = s;
    all->end = &all->first;
    return all;
}

void files_end(files *all)
{
    for (file *f = all ? all->first : NULL, *next; f; f = next) {
        next = f->next;
        drop(f);
    }
}

void files_free(files *all)
{
    if (!all)
        return;
    loop_forget(all->server->loop, &all->expiry);
    loop_forget(all->server->loop, &all->start);
    for (file *f; (f = all->first);) {
        all->first = f->next;
        free_file(f);
    }
    free(all);
}
