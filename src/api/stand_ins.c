#include "api/stand_ins.h"

#include <stdlib.h>
#include <string.h>

#include "api/token_request.h"
#include "run/scheduler.h"

/* What a trial translates, with a word in the place of %. Two texts a word make one batch. */
static const char *const chinese_texts[] = {"请看%。", "%已经到了，谢谢。"},
                         *const english_texts[] = {"Please see %.", "% is here, thank you."},
                         *const other_texts[] = {"%", "1. %"};

enum { TEXTS = 2, MOST_TOKENS = 24, BATCH = 48 };

struct tr_pair_stand_ins {
    struct tr_pair_stand_ins *next;
    int source, target; /* indices of the package's languages */
    tr_stand_ins found;
};

void tr_stand_ins_free(tr_pair_stand_ins *list)
{
    for (tr_pair_stand_ins *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- the trial
 */

typedef struct trial {
    const tr_model *model;
    const tr_language_pair *pair;
    const tr_stand_ins *names;
    tr_ids ids;
    tr_request *requests; /* [names->count, TEXTS] */
    size_t count;
} trial;

static const char *const *texts_for(const tr_language_pair *pair)
{
    return pair->source_figures == TR_FIGURES_CHINESE   ? chinese_texts
           : pair->source_figures == TR_FIGURES_ENGLISH ? english_texts
                                                        : other_texts;
}

/* Tokenises a text with a name in it, and appends it with the tokens around it to the ids. */
static tr_status lay_out(trial *t, const char *text, const char *name, tr_error *error)
{
    char line[64 + TR_STAND_IN_SIZE];
    const char *place = strchr(text, '%');
    const size_t before = (size_t)(place - text), length = strlen(name);
    tr_ids own = {0};
    memcpy(line, text, before);
    memcpy(line + before, name, length);
    memcpy(line + before + length, place + 1, strlen(place + 1) + 1);
    tr_status status = tr_tokenizer_encode(t->model->tokenizer, line, strlen(line), &own, error);
    const tr_tokens source = {own.data, own.size};
    tr_request *request = &t->requests[t->count];
    int32_t *ids = NULL;
    if (status == TR_OK && own.size <= (size_t)t->pair->limit) {
        ids = malloc(tr_token_request_ids(t->pair, &source) * sizeof *ids);
        if (ids)
            tr_token_request_make(t->pair, &source, NULL, ids, request);
        else
            status = tr_fail_memory(error, "trial");
        t->count += ids != NULL;
    } else if (status == TR_OK) {
        status = tr_fail(error, TR_ERROR_UNSUPPORTED, "trial: the model takes too few tokens");
    }
    tr_ids_free(&own);
    return status;
}

static tr_status translate_texts(trial *t, tr_error *error)
{
    const tr_search_options search = tr_search_default_options();
    const tr_ensemble models = tr_ensemble_of(t->model->network);
    const int most = t->model->package.config.max_positions;
    const tr_job job = {.requests = t->requests,
                        .count = t->count,
                        .max_length = most < MOST_TOKENS ? most : MOST_TOKENS,
                        .search = &search,
                        .start = &t->pair->start};
    tr_scheduler *scheduler;
    tr_status status = tr_scheduler_create(&models, 1, TR_THREADS_POSIX, BATCH, &scheduler, error);
    if (status != TR_OK)
        return status;
    tr_scheduler_set_shortlist(scheduler, t->model->shortlist);
    tr_scheduler_begin(scheduler);
    status = tr_scheduler_run(scheduler, &job, error);
    tr_scheduler_destroy(scheduler);
    return status;
}

/* Keeps the names that came out of all texts, and after them those that came out of one. */
static tr_status count_copies(const trial *t, tr_stand_ins *found, tr_error *error)
{
    int copies[TR_MAX_STAND_INS] = {0};
    tr_buffer text = {0};
    tr_status status = TR_OK;
    for (size_t i = 0; i < t->count && status == TR_OK; i++) {
        const tr_hypothesis *best = &t->requests[i].found.items[0];
        tr_buffer_clear(&text);
        status = tr_tokenizer_decode(t->model->tokenizer, best->ids, best->count, &text, error);
        copies[i / TEXTS] += tr_is_copied(t->names->names[i / TEXTS], text.data ? text.data : "", text.size);
    }
    tr_buffer_free(&text);
    *found = (tr_stand_ins){.count = 0};
    for (int wanted = TEXTS; wanted > 0; wanted--)
        for (int i = 0; i < t->names->count; i++)
            if (copies[i] == wanted)
                memcpy(found->names[found->count++], t->names->names[i], TR_STAND_IN_SIZE);
    return status;
}

static tr_status try_names(const tr_model *model, const tr_language_pair *pair, tr_stand_ins *found, tr_error *error)
{
    trial t = {.model = model, .pair = pair, .names = &tr_common_stand_ins};
    const char *const *texts = texts_for(pair);
    *found = (tr_stand_ins){.count = 0};
    t.requests = calloc(TR_MAX_STAND_INS * TEXTS, sizeof *t.requests);
    tr_status status = t.requests ? TR_OK : tr_fail_memory(error, "trial");
    for (int i = 0; i < t.names->count * TEXTS && status == TR_OK; i++)
        status = lay_out(&t, texts[i % TEXTS], t.names->names[i / TEXTS], error);
    if (status == TR_OK)
        status = translate_texts(&t, error);
    if (status == TR_OK)
        status = count_copies(&t, found, error);
    for (size_t i = 0; i < t.count; i++) {
        free((int32_t *)(uintptr_t)t.requests[i].source);
        tr_hypotheses_clear(&t.requests[i].found);
    }
    free(t.requests);
    return status == TR_ERROR_UNSUPPORTED ? TR_OK : status; /* then there are none */
}

/* -------------------------------------------------------------------------------------------------------------- the symbols
 */

static void add_name(tr_stand_ins *found, const char *name, size_t size)
{
    if (size && size < TR_STAND_IN_SIZE && found->count < TR_MAX_STAND_INS)
        memcpy(found->names[found->count++], name, size);
}

/* The symbols that the model's file names, as they are written in a text. */
static void name_symbols(const tr_package *package, tr_stand_ins *found)
{
    static const char space[] = "\xe2\x96\x81"; /* what SentencePiece writes for one */
    for (size_t i = 0; i < package->copy_symbols.size; i++) {
        const tr_piece piece = package->source.pieces[package->copy_symbols.data[i]];
        const size_t skipped = piece.size > 3 && memcmp(piece.data, space, 3) == 0 ? 3 : 0;
        add_name(found, piece.data + skipped, piece.size - skipped);
    }
}

/* The words that it names. */
static void name_words(const tr_package *package, tr_stand_ins *found)
{
    for (const char *at = package->stand_ins; *at; at += strspn(at, " ")) {
        const size_t size = strcspn(at, " ");
        add_name(found, at, size);
        at += size;
    }
}

tr_status tr_model_stand_ins(const tr_model *model, const tr_language_pair *pair, const tr_stand_ins **found,
                             tr_error *error)
{
    tr_model *owner = (tr_model *)(uintptr_t)model; /* made once and kept: the model looks unchanged */
    tr_pair_stand_ins *first = atomic_load(&owner->stand_ins);
    for (const tr_pair_stand_ins *p = first; p; p = p->next)
        if (p->source == pair->source && p->target == pair->target) {
            *found = &p->found;
            return TR_OK;
        }
    tr_pair_stand_ins *made = calloc(1, sizeof *made);
    if (!made)
        return tr_fail_memory(error, "trial");
    made->source = pair->source;
    made->target = pair->target;
    tr_status status = TR_OK;
    if (model->package.copy_symbols.size)
        name_symbols(&model->package, &made->found);
    else if (*model->package.stand_ins && !model->package.languages.count)
        name_words(&model->package, &made->found);
    else
        status = try_names(model, pair, &made->found, error);
    if (status != TR_OK) {
        free(made);
        return status;
    }
    made->next = first;
    while (!atomic_compare_exchange_weak(&owner->stand_ins, &made->next, made))
        ; /* another thread may have made the same: then the list has both */
    *found = &made->found;
    return TR_OK;
}

tr_status tr_model_find_stand_ins(const tr_model *model, char *words, size_t size, tr_error *error)
{
    const tr_package *package = &model->package;
    tr_language_pair pair;
    const tr_stand_ins *found;
    size_t used = 0;
    *words = 0;
    tr_status status = tr_model_needs_tokenizer(model, error);
    if (status == TR_OK && package->copy_symbols.size)
        status = tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: names symbols already", model->path);
    if (status == TR_OK && package->languages.count)
        status =
            tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: has several languages, each pair with words of its own", model->path);
    if (status == TR_OK)
        status = tr_language_pair_choose(package, model->tokenizer, package->config.max_positions, NULL, NULL, &pair, error);
    if (status == TR_OK)
        status = tr_model_stand_ins(model, &pair, &found, error);
    for (int i = 0; status == TR_OK && i < found->count; i++) {
        const size_t length = strlen(found->names[i]);
        if (used + length + 2 > size)
            break;
        if (used)
            words[used++] = ' ';
        memcpy(words + used, found->names[i], length + 1);
        used += length;
    }
    return status;
}
