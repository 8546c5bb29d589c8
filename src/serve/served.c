#define _GNU_SOURCE
#include "serve/served.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/model.h"
#include "formats/xxh64.h"
#include "serve/loop.h"
#include "util/folder.h"

typedef enum served_state { SERVED_CLOSED, SERVED_OPENING, SERVED_OPEN, SERVED_CLOSING } served_state;

/* A caller of served_open that waits. */
typedef struct waiter {
    struct waiter *next;
    void (*ready)(void *argument, const tr_error *error);
    void *argument;
} waiter;

typedef struct submission {
    struct submission *next; /* in its bucket */
    tr_ticket ticket;
    size_t texts; /* whose event has not come */
    void (*call)(void *argument, tr_event *event);
    void *argument;
} submission;

enum { BUCKETS = 256 }; /* tickets are successive numbers, so that they share them evenly */

struct served {
    served *next; /* in the list */
    served_list *list;
    char *path, *reverse; /* reverse: of the model that ranks its translations; NULL: none */
    uint64_t stamp, generation;
    size_t users, submissions, texts; /* texts: that wait for their events */
    bool retired;
    served_state state;
    /* While it is being opened or closed, the other thread alone uses these. */
    tr_model *model;
    tr_model *own_reverse; /* NULL: it is the model itself, or there is none */
    tr_queue *queue;
    tr_status status; /* of the last opening */
    tr_error error;
    tr_error unranked; /* why translations are not ranked, though there is reverse; its status is TR_OK if they are */
    uint64_t bytes;    /* of its files, when they were last looked at */
    int descriptor;    /* of the queue */
    waiter *waiters, **last_waiter;
    loop_timer idle;
    submission *buckets[BUCKETS];
};

/* ----------------------------------------------------------------------------------------------------------------- files */

static void add_stamp(tr_xxh64 *hash, const struct stat *st)
{
    const uint64_t fields[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                               (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec};
    tr_xxh64_add(hash, fields, sizeof fields);
}

/* Whether another model than itself ranks its translations. */
static bool has_own_reverse(const served *s)
{
    return s->reverse && strcmp(s->reverse, s->path) != 0;
}

/* The stamp of a file, or of a directory with all in it, and the bytes of these files. */
static uint64_t look_at_files(const char *path, uint64_t *bytes)
{
    struct stat st;
    tr_xxh64 hash;
    tr_folder_names names = {0};
    tr_xxh64_init(&hash);
    *bytes = 0;
    if (stat(path, &st) < 0)
        return 0;
    add_stamp(&hash, &st);
    if (!S_ISDIR(st.st_mode))
        *bytes = (uint64_t)st.st_size;
    else if (tr_folder_list(path, &names, NULL) == TR_OK)
        for (size_t i = 0; i < names.count; i++) {
            char file[TR_PATH];
            if (tr_path_join(file, path, names.names[i], NULL) != TR_OK || stat(file, &st) < 0)
                continue;
            add_stamp(&hash, &st);
            *bytes += (uint64_t)st.st_size;
        }
    tr_folder_names_free(&names);
    return tr_xxh64_result(&hash);
}

/* Of all that the model needs. */
static uint64_t look_at_models(const served *s, uint64_t *bytes)
{
    uint64_t more;
    const uint64_t stamp = look_at_files(s->path, bytes);
    if (!has_own_reverse(s))
        return stamp;
    const uint64_t both[] = {stamp, look_at_files(s->reverse, &more)};
    tr_xxh64 hash;
    tr_xxh64_init(&hash);
    tr_xxh64_add(&hash, both, sizeof both);
    *bytes += more;
    return tr_xxh64_result(&hash);
}

uint64_t served_stamp(const char *path)
{
    uint64_t bytes;
    return look_at_files(path, &bytes);
}

/* ------------------------------------------------------------------------------------------------------------------ list */

served *served_add(served_list *list, const char *path, const char *reverse, uint64_t stamp)
{
    served *const s = calloc(1, sizeof *s);
    char *const copy = strdup(path), *const other = reverse ? strdup(reverse) : NULL;
    if (!s || !copy || (reverse && !other)) {
        free(s);
        free(copy);
        free(other);
        return NULL;
    }
    *s = (served){.next = list->first,
                  .list = list,
                  .path = copy,
                  .reverse = other,
                  .stamp = stamp,
                  .generation = ++list->generation,
                  .last_waiter = &s->waiters};
    return list->first = s;
}

static void close_model(void *argument)
{
    served *const s = argument;
    tr_queue_destroy(s->queue);
    tr_model_close(s->model);
    tr_model_close(s->own_reverse);
    s->queue = NULL;
    s->model = s->own_reverse = NULL;
}

static void free_served(served *s)
{
    loop *const l = s->list->server->loop;
    loop_forget(l, &s->idle);
    if (s->state == SERVED_OPEN)
        loop_unwatch(l, s->descriptor);
    close_model(s);
    for (size_t i = 0; i < BUCKETS; i++)
        for (submission *sub; (sub = s->buckets[i]);) {
            s->buckets[i] = sub->next;
            free(sub);
        }
    free(s->path);
    free(s->reverse);
    free(s);
}

static void remove_served(served *s)
{
    served **at = &s->list->first;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free_served(s);
}

/* --------------------------------------------------------------------------------------------------------------- closing */

static void start_opening(served *s);
static void take_events(void *argument);
static void settle(served *s);

static void model_closed(void *argument)
{
    served *const s = argument;
    s->state = SERVED_CLOSED;
    if (s->waiters)
        start_opening(s);
    else
        settle(s);
}

/* In another thread: those of the queue end after their next step. */
static void start_closing(void *argument)
{
    served *const s = argument;
    loop *const l = s->list->server->loop;
    loop_unwatch(l, s->descriptor); /* before the other thread closes it */
    if (loop_work(l, close_model, model_closed, s))
        s->state = SERVED_CLOSING;
    else if (!loop_watch(l, s->descriptor, false, take_events, s)) /* it stays open */
        cli_warn(s->list->server->settings, "%s: out of memory", s->path);
}

/* Whether opening it again may bring the model that ranks: files and memory come and go. */
static bool may_rank_later(const served *s)
{
    return s->unranked.status == TR_ERROR_IO || s->unranked.status == TR_ERROR_MEMORY;
}

/* Decides what becomes of a model that nobody uses any more. It may be freed. */
static void settle(served *s)
{
    const int seconds = s->list->server->settings->idle_close;
    const unsigned longest = UINT_MAX / 1000;
    if (s->users || s->submissions || s->state == SERVED_OPENING || s->state == SERVED_CLOSING)
        return;
    if (s->retired && s->state == SERVED_CLOSED)
        remove_served(s);
    else if (s->retired || (s->state == SERVED_OPEN && may_rank_later(s)))
        start_closing(s);
    else if (s->state == SERVED_OPEN && seconds > 0)
        loop_after(s->list->server->loop, &s->idle, ((unsigned)seconds < longest ? (unsigned)seconds : longest) * 1000,
                   start_closing, s);
}

void served_hold(served *s)
{
    if (s->users++ == 0)
        loop_forget(s->list->server->loop, &s->idle);
}

void served_release(served *s)
{
    s->users--;
    settle(s);
}

void served_retire(served *s)
{
    s->retired = true;
    loop_forget(s->list->server->loop, &s->idle);
    settle(s);
}

/* ---------------------------------------------------------------------------------------------------------------- events */

/* Where the pointer to a ticket's submission is, or to NULL. */
static submission **find_submission(served *s, tr_ticket ticket)
{
    submission **at = &s->buckets[ticket % BUCKETS];
    while (*at && (*at)->ticket != ticket)
        at = &(*at)->next;
    return at;
}

/* The caller frees the event. */
static void hand_over(served *s, tr_event *event)
{
    submission **const at = find_submission(s, tr_event_ticket(event)), *const sub = *at;
    if (!sub) {
        tr_event_free(event);
        return;
    }
    const submission found = *sub;
    if (tr_event_last(event)) {
        s->submissions--;
        s->texts -= sub->texts;
        *at = sub->next;
        free(sub);
    } else if (!tr_event_token(event)) {
        s->texts--;
        sub->texts--;
    }
    found.call(found.argument, event);
}

static void take_events(void *argument)
{
    served *const s = argument;
    served_hold(s);
    for (tr_event *event; (event = tr_queue_poll(s->queue));)
        hand_over(s, event);
    served_release(s);
}

/* The callers of submissions get their last events, with which they free what they have. */
static void end_submissions(served *s)
{
    for (tr_event *event; s->submissions && (event = tr_queue_wait(s->queue, 0, -1));)
        hand_over(s, event);
}

void served_end_all(served_list *list)
{
    for (served *s = list->first; s; s = s->next)
        served_hold(s); /* so that none is freed before served_free_all */
    for (served *s = list->first; s; s = s->next)
        end_submissions(s);
}

void served_free_all(served_list *list)
{
    while (list->first)
        remove_served(list->first);
}

tr_status served_submit(served *model, const char *const *texts, const size_t *sizes, size_t count, tr_options *options,
                        void (*call)(void *argument, tr_event *event), void *argument, tr_ticket *ticket, tr_error *error)
{
    submission *const sub = malloc(sizeof *sub);
    if (!sub)
        return tr_fail_memory(error, "submission");
    const tr_status status = tr_queue_submit(model->queue, texts, sizes, count, options, ticket, error);
    if (status != TR_OK) {
        free(sub);
        return status;
    }
    submission **const bucket = &model->buckets[*ticket % BUCKETS];
    *sub = (submission){*bucket, *ticket, count, call, argument};
    *bucket = sub;
    model->submissions++;
    model->texts += count;
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- opening */

/* With the model that ranks; without it, if it cannot be used. */
static tr_status create_queue(served *s, tr_options *options)
{
    const tr_model *const reverse = s->own_reverse ? s->own_reverse : s->reverse ? s->model : NULL;
    if (reverse && s->unranked.status == TR_OK) {
        tr_options_set_reverse_model(options, reverse);
        if (tr_queue_create(s->model, options, &s->queue, &s->unranked) == TR_OK)
            return TR_OK;
        tr_options_set_reverse_model(options, NULL);
        tr_model_close(s->own_reverse);
        s->own_reverse = NULL;
    }
    return tr_queue_create(s->model, options, &s->queue, &s->error);
}

static tr_status make_queue(served *s)
{
    const cli_settings *const settings = s->list->server->settings;
    tr_options *options;
    tr_status status = tr_options_create(&options, &s->error);
    if (status != TR_OK)
        return status;
    if ((status = tr_options_set_int(options, "threads", settings->threads, &s->error)) == TR_OK &&
        (status = tr_options_set_int(options, "batch_size", settings->batch_size, &s->error)) == TR_OK &&
        (status = tr_options_set_int(options, "max_texts", settings->queue_limit, &s->error)) == TR_OK)
        status = create_queue(s, options);
    tr_options_free(options);
    if (status == TR_OK && (s->descriptor = tr_queue_fd(s->queue)) < 0)
        status = tr_fail(&s->error, TR_ERROR_IO, "%s: too many open files", s->path);
    return status;
}

/* Copied, since a file that is mapped must not be cut short while it is in use. */
static void open_model(void *argument)
{
    served *const s = argument;
    const cli_settings *const settings = s->list->server->settings;
    tr_model_options options = tr_model_default_options();
    options.load = TR_LOAD_COPY;
    options.compute = (tr_compute)settings->compute;
    options.shortlist = settings->shortlist;
    options.full_vocabulary = settings->full_vocabulary;
    options.attention_windows = settings->attention;
    s->unranked.status = TR_OK;
    s->status = tr_open_model(s->path, &options, &s->model, &s->error);
    if (s->status == TR_OK && has_own_reverse(s)) {
        cli_reverse_options(&options);
        tr_open_model(s->reverse, &options, &s->own_reverse, &s->unranked);
    }
    if (s->status == TR_OK)
        s->status = make_queue(s);
    if (s->status != TR_OK)
        close_model(s);
}

/* For clients: which model, but neither where it is nor what is in it. */
static tr_error shown_error(const served *s)
{
    tr_error error;
    char name[TR_PATH] = "model";
    tr_path_name(s->path, name, sizeof name);
    tr_fail(&error, s->status == TR_ERROR_MEMORY ? TR_ERROR_MEMORY : TR_ERROR_IO, "%.100s: the model cannot be opened",
            name);
    return s->status == TR_ERROR_CANCELLED ? s->error : error;
}

static void tell_waiters(served *s)
{
    const tr_error error = shown_error(s);
    waiter *w = s->waiters;
    s->waiters = NULL;
    s->last_waiter = &s->waiters;
    for (waiter *next; w; w = next) {
        next = w->next;
        w->ready(w->argument, s->status == TR_OK ? NULL : &error);
        free(w);
    }
}

static void model_opened(void *argument)
{
    served *const s = argument;
    const server *const owner = s->list->server;
    if (s->status == TR_OK && !loop_watch(owner->loop, s->descriptor, false, take_events, s)) {
        s->status = tr_fail(&s->error, TR_ERROR_MEMORY, "%s: out of memory or descriptors", s->path);
        close_model(s);
    }
    s->state = s->status == TR_OK ? SERVED_OPEN : SERVED_CLOSED;
    if (s->status != TR_OK && s->status != TR_ERROR_CANCELLED)
        cli_warn(owner->settings, "%s", s->error.message);
    if (s->status == TR_OK && s->unranked.status != TR_OK)
        cli_warn(owner->settings, "%s (it would rank translations)", s->unranked.message);
    served_hold(s);
    tell_waiters(s);
    served_release(s);
}

/* Kilobytes that programs can still have, as Linux tells; UINT64_MAX: it does not. */
static uint64_t available_memory(void)
{
    char line[128];
    unsigned long long kilobytes = UINT64_MAX / 1024;
    FILE *const file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu kB", &kilobytes) != 1)
        ;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static bool is_memory_short(const served *opened)
{
    const uint64_t limit = (uint64_t)opened->list->server->settings->model_memory << 20;
    uint64_t sum = opened->bytes;
    if (!limit)
        return available_memory() / 2 < opened->bytes; /* a queue takes memory, too */
    for (const served *s = opened->list->first; s; s = s->next)
        sum += s != opened && s->state == SERVED_OPEN ? s->bytes : 0;
    return sum > limit;
}

/* Models that nobody uses give way to one that is wanted. */
static void make_room(const served *opened)
{
    for (served *s = opened->list->first; s && is_memory_short(opened); s = s->next)
        if (s->state == SERVED_OPEN && !s->users && !s->submissions) {
            loop_forget(s->list->server->loop, &s->idle);
            start_closing(s);
        }
}

static void start_opening(served *s)
{
    const uint64_t stamp = look_at_models(s, &s->bytes);
    if (stamp != s->stamp)
        s->generation = ++s->list->generation;
    s->stamp = stamp;
    make_room(s);
    s->state = SERVED_OPENING;
    s->status = tr_fail(&s->error, TR_ERROR_CANCELLED, "the server ends"); /* if it is not run */
    if (!loop_work(s->list->server->loop, open_model, model_opened, s))
        model_opened(s);
}

/* Whether opening it again would fail again. */
static bool is_damaged(const served *s)
{
    return (s->status == TR_ERROR_FORMAT || s->status == TR_ERROR_UNSUPPORTED || s->status == TR_ERROR_NUMERIC) &&
           look_at_models(s, &(uint64_t){0}) == s->stamp;
}

void served_open(served *model, void (*ready)(void *argument, const tr_error *error), void *argument)
{
    if (model->state == SERVED_OPEN) {
        ready(argument, NULL);
        return;
    }
    if (model->state == SERVED_CLOSED && is_damaged(model)) {
        const tr_error error = shown_error(model);
        ready(argument, &error);
        return;
    }
    waiter *const w = malloc(sizeof *w);
    if (!w) {
        tr_error error;
        tr_fail_memory(&error, model->path);
        ready(argument, &error);
        return;
    }
    *w = (waiter){NULL, ready, argument};
    *model->last_waiter = w;
    model->last_waiter = &w->next;
    if (model->state == SERVED_CLOSED)
        start_opening(model);
}

/* --------------------------------------------------------------------------------------------------------------- reading */

const char *served_path(const served *s)
{
    return s->path;
}

const char *served_reverse(const served *s)
{
    return s->reverse;
}

bool served_is(const served *s, const char *path, uint64_t stamp)
{
    return s->stamp == stamp && strcmp(s->path, path) == 0;
}

bool served_ranks(const served *model)
{
    return model->reverse && model->unranked.status == TR_OK;
}

tr_queue *served_queue(const served *model)
{
    return model->queue;
}

const tr_model *served_model(const served *model)
{
    return model->model;
}

uint64_t served_generation(const served *s)
{
    return s->generation;
}

bool served_is_open(const served *s)
{
    return s->state == SERVED_OPEN;
}

size_t served_waiting(const served_list *list)
{
    size_t texts = 0;
    for (const served *s = list->first; s; s = s->next)
        texts += s->texts;
    return texts;
}

size_t served_fullest(const served_list *list)
{
    size_t texts = 0;
    for (const served *s = list->first; s; s = s->next)
        texts = s->texts > texts ? s->texts : texts;
    return texts;
}

void served_fill(const served_list *list, size_t *sentences, size_t *places)
{
    *sentences = *places = 0;
    for (const served *s = list->first; s; s = s->next) {
        size_t taken, all;
        if (s->state != SERVED_OPEN)
            continue;
        tr_queue_fill(s->queue, &taken, &all);
        *sentences += taken;
        *places += all;
    }
}
