/* Options: their names, defaults and ranges, and how options of calls are checked and compared. */
#include "api/options.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "text/terms.h"

/* -------------------------------------------------------------------------------------------------------- names and fields
 */

/* In C: bool, int, size_t, int64_t, float, const char *, an enum whose values have the names. */
typedef enum field_kind {
    FIELD_FLAG,
    FIELD_WHOLE,
    FIELD_SIZE,
    FIELD_WIDE,
    FIELD_NUMBER,
    FIELD_STRING,
    FIELD_CHOICE,
    FIELD_IDS,
    FIELD_STRINGS,
} field_kind;

_Static_assert(sizeof(tr_stopping) == sizeof(int), "a choice is read as a whole number");
_Static_assert(sizeof(uint64_t) == sizeof(int64_t), "a seed is read as a wide number");

#define PLACE(member)   offsetof(tr_options, member)
#define SEARCH(name)    #name, offsetof(tr_options, translate.search.name)
#define TRANSLATE(name) #name, offsetof(tr_options, translate.name)
#define SCORE(name)     #name, offsetof(tr_options, score.name)

/* A word that an option takes, and the value of the enum that it stands for. */
typedef struct choice {
    const char *word; /* NULL ends the list */
    int value;
} choice;

static const choice load_choices[] = {{"map", TR_LOAD_MAP}, {"copy", TR_LOAD_COPY}, {NULL, 0}};
static const choice compute_choices[] = {
    {"auto", TR_COMPUTE_AUTO}, {"f32", TR_COMPUTE_F32},   {"f16", TR_COMPUTE_F16},
    {"bf16", TR_COMPUTE_BF16}, {"int8", TR_COMPUTE_INT8}, {NULL, 0},
};
static const choice backend_choices[] = {{"openmp", TR_THREADS_OPENMP}, {"posix", TR_THREADS_POSIX}, {NULL, 0}};
static const choice priority_choices[] = {
    {"low", TR_PRIORITY_LOW}, {"normal", TR_PRIORITY_NORMAL}, {"high", TR_PRIORITY_HIGH}, {NULL, 0}};
static const choice split_choices[] = {{"auto", TR_SPLIT_AUTO}, {"never", TR_SPLIT_NEVER}, {NULL, 0}};
static const choice stopping_choices[] = {
    {"heuristic", TR_STOP_HEURISTIC}, {"early", TR_STOP_EARLY}, {"never", TR_STOP_NEVER}, {NULL, 0}};

/* All options; a name that stands here several times is set in several places. */
static const struct field {
    const char *name;
    size_t offset;
    field_kind kind;
    double initial, low, high; /* NaN is in no range; strings have none */
    const choice *choices;     /* FIELD_CHOICE */
} fields[] = {
    {"load", PLACE(model.load), FIELD_CHOICE, TR_LOAD_MAP, TR_LOAD_MAP, TR_LOAD_COPY, load_choices},
    {"compute", PLACE(model.compute), FIELD_CHOICE, TR_COMPUTE_AUTO, TR_COMPUTE_AUTO, TR_COMPUTE_INT8, compute_choices},
    {"cpu", PLACE(model.cpu), FIELD_STRING, 0, 0, 0, NULL},
    {"shortlist", PLACE(model.shortlist), FIELD_STRING, 0, 0, 0, NULL},
    {"full_vocabulary", PLACE(model.full_vocabulary), FIELD_FLAG, 0, 0, 1, NULL},
    {"attention_windows", PLACE(model.attention_windows), FIELD_STRING, 0, 0, 0, NULL},
    {"threads", PLACE(context.threads), FIELD_WHOLE, 0, 0, TR_TEAM_MAX, NULL},
    {"batch_size", PLACE(context.batch_size), FIELD_WHOLE, 32, 1, TR_MAX_BATCH, NULL},
    {"backend", PLACE(context.backend), FIELD_CHOICE, TR_THREADS_POSIX, TR_THREADS_OPENMP, TR_THREADS_POSIX,
     backend_choices},
    {"cache_bytes", PLACE(context.cache_bytes), FIELD_SIZE, TR_TRANSLATION_CACHE_BYTES, 0, 1e18, NULL},
    {"model_weight", PLACE(ensemble_weights[0]), FIELD_NUMBER, 1, 1e-6, 1e6, NULL},
    {"max_texts", PLACE(queue.max_texts), FIELD_SIZE, 1 << 16, 1, 1 << 30, NULL},
    {"max_bytes", PLACE(queue.max_bytes), FIELD_SIZE, 256 << 20, 1, 1e18, NULL},
    {"priority", PLACE(submit.priority), FIELD_CHOICE, TR_PRIORITY_NORMAL, TR_PRIORITY_LOW, TR_PRIORITY_HIGH,
     priority_choices},
    {"deadline", PLACE(submit.deadline), FIELD_WIDE, 0, 0, 1e12, NULL},
    {"ordered", PLACE(submit.ordered), FIELD_FLAG, 0, 0, 1, NULL},
    {"tokens", PLACE(submit.tokens), FIELD_FLAG, 0, 0, 1, NULL},

    {"format", PLACE(document.format), FIELD_STRING, 0, 0, 0, NULL},
    {"columns", PLACE(document.columns), FIELD_STRING, 0, 0, 0, NULL},
    {"keys", PLACE(document.keys), FIELD_STRING, 0, 0, 0, NULL},
    {"bilingual", PLACE(document.bilingual), FIELD_FLAG, false, 0, 1, NULL},
    {"pairs", PLACE(document.pairs), FIELD_STRING, 0, 0, 0, NULL},
    {"paragraphs", PLACE(document.paragraphs), FIELD_FLAG, false, 0, 1, NULL},
    {"line_width", PLACE(document.line_width), FIELD_WHOLE, 0, 0, 1000, NULL},
    {"max_content", PLACE(document.max_content), FIELD_WIDE, 0, 0, 1e18, NULL},
    {"max_text", PLACE(document.max_text), FIELD_WIDE, 0, 0, 1e18, NULL},

    {TRANSLATE(source_language), FIELD_STRING, 0, 0, 0, NULL},
    {SCORE(source_language), FIELD_STRING, 0, 0, 0, NULL},
    {TRANSLATE(target_language), FIELD_STRING, 0, 0, 0, NULL},
    {SCORE(target_language), FIELD_STRING, 0, 0, 0, NULL},
    {TRANSLATE(split), FIELD_CHOICE, TR_SPLIT_AUTO, TR_SPLIT_AUTO, TR_SPLIT_NEVER, split_choices},
    {TRANSLATE(max_length), FIELD_WHOLE, 512, 1, INT_MAX, NULL},
    {TRANSLATE(min_length), FIELD_WHOLE, 0, 0, INT_MAX, NULL},
    {SEARCH(beam), FIELD_WHOLE, 1, 1, TR_MAX_BEAM, NULL},
    {SEARCH(n_best), FIELD_WHOLE, 1, 1, TR_MAX_BEAM, NULL}, /* see check_together */
    {SEARCH(length_penalty), FIELD_NUMBER, 1, -10, 10, NULL},
    {SEARCH(coverage_penalty), FIELD_NUMBER, 0, 0, 10, NULL},
    {SEARCH(patience), FIELD_NUMBER, 1, 1, 10, NULL},
    {SEARCH(stopping), FIELD_CHOICE, TR_STOP_HEURISTIC, TR_STOP_HEURISTIC, TR_STOP_NEVER, stopping_choices},
    {SEARCH(sample), FIELD_FLAG, false, 0, 1, NULL},
    {SEARCH(temperature), FIELD_NUMBER, 1, 0.01F, 100, NULL},
    {SEARCH(top_k), FIELD_WHOLE, 0, 0, TR_MAX_TOP_K, NULL},
    {SEARCH(top_p), FIELD_NUMBER, 1, 1e-6F, 1, NULL},
    {SEARCH(seed), FIELD_WIDE, 0, (double)INT64_MIN, (double)INT64_MAX, NULL},
    {SEARCH(no_repeat_ngram), FIELD_WHOLE, 0, 0, 64, NULL},
    {SEARCH(repetition_penalty), FIELD_NUMBER, 1, 1, 100, NULL},
    {SEARCH(forbid_unknown), FIELD_FLAG, false, 0, 1, NULL},
    {SEARCH(forbidden), FIELD_IDS, 0, 0, 0, NULL},
    {SEARCH(max_length_factor), FIELD_NUMBER, 0, 0, 1e6F, NULL},
    {SEARCH(max_length_offset), FIELD_WHOLE, 0, 0, TR_MAX_POSITIONS, NULL},
    {SEARCH(alternatives), FIELD_FLAG, false, 0, 1, NULL},
    {SEARCH(alternatives_min), FIELD_NUMBER, 0, 0, 1, NULL},
    {TRANSLATE(prefixes), FIELD_STRINGS, 0, 0, 0, NULL},
    {TRANSLATE(scores), FIELD_FLAG, false, 0, 1, NULL},
    {TRANSLATE(align), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(align), FIELD_FLAG, false, 0, 1, NULL},
    {"align_layer", PLACE(translate.alignment.layer), FIELD_WHOLE, TR_ALIGN_AUTO, TR_ALIGN_AUTO, INT_MAX, NULL},
    {"align_layer", PLACE(score.alignment.layer), FIELD_WHOLE, TR_ALIGN_AUTO, TR_ALIGN_AUTO, INT_MAX, NULL},
    {"align_head", PLACE(translate.alignment.head), FIELD_WHOLE, TR_ALIGN_AUTO, TR_ALIGN_MEAN, INT_MAX, NULL},
    {"align_head", PLACE(score.alignment.head), FIELD_WHOLE, TR_ALIGN_AUTO, TR_ALIGN_MEAN, INT_MAX, NULL},
    {"align_threshold", PLACE(translate.alignment.threshold), FIELD_NUMBER, 1, 0, 1, NULL},
    {"align_threshold", PLACE(score.alignment.threshold), FIELD_NUMBER, 1, 0, 1, NULL},
    {TRANSLATE(use_cache), FIELD_FLAG, true, 0, 1, NULL},
    {TRANSLATE(loop_guard), FIELD_FLAG, true, 0, 1, NULL},
    {TRANSLATE(protect), FIELD_FLAG, true, 0, 1, NULL},
    {TRANSLATE(rerank_weight), FIELD_NUMBER, 0.3F, 0, 100, NULL},
    {TRANSLATE(doubtful), FIELD_FLAG, false, 0, 1, NULL},
    {TRANSLATE(doubtful_below), FIELD_NUMBER, 0, -100, 0, NULL},

    {SCORE(no_scores), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(no_end), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(encoder_attention), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(decoder_attention), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(cross_attention), FIELD_FLAG, false, 0, 1, NULL},
    {SCORE(first_number), FIELD_SIZE, 0, 0, 1e18, NULL},
};

#undef PLACE
#undef SEARCH
#undef TRANSLATE
#undef SCORE

enum { FIELDS = sizeof fields / sizeof *fields };

static void *address_of(tr_options *options, const struct field *field)
{
    return (char *)options + field->offset;
}

static void set_number(tr_options *options, const struct field *f, double value, int64_t whole)
{
    void *at = address_of(options, f);
    switch (f->kind) {
    case FIELD_FLAG: *(bool *)at = whole != 0; break;
    case FIELD_WHOLE:
    case FIELD_CHOICE: *(int *)at = (int)whole; break;
    case FIELD_SIZE: *(size_t *)at = (size_t)whole; break;
    case FIELD_WIDE: *(int64_t *)at = whole; break;
    case FIELD_NUMBER: *(float *)at = (float)value; break;
    case FIELD_STRING:
    case FIELD_IDS:
    case FIELD_STRINGS: break;
    }
}

tr_options tr_default_options(void)
{
    tr_options options = {.score.alignment.threshold = 0};
    for (const struct field *f = fields; f < fields + FIELDS; f++)
        set_number(&options, f, f->initial, (int64_t)f->initial);
    return options;
}

tr_model_options tr_model_default_options(void)
{
    return tr_default_options().model;
}

tr_context_options tr_context_default_options(void)
{
    return tr_default_options().context;
}

tr_search_options tr_search_default_options(void)
{
    return tr_default_options().translate.search;
}

tr_align_options tr_align_default_options(void)
{
    return tr_default_options().translate.alignment;
}

tr_translate_options tr_translate_default_options(void)
{
    return tr_default_options().translate;
}

tr_score_options tr_score_default_options(void)
{
    return tr_default_options().score;
}

/* --------------------------------------------------------------------------------------------------------- setting by name
 */

tr_status tr_options_create(tr_options **options, tr_error *error)
{
    if (!options)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_options_create: options is NULL");
    *options = malloc(sizeof **options);
    if (!*options)
        return tr_fail_memory(error, "options");
    **options = tr_default_options();
    return TR_OK;
}

void tr_options_free(tr_options *options)
{
    for (const struct field *f = fields; options && f < fields + FIELDS; f++)
        if (f->kind == FIELD_STRING || f->kind == FIELD_IDS || f->kind == FIELD_STRINGS)
            free(*(void **)address_of(options, f));
    free(options);
}

static const char *type_name(const struct field *f)
{
    static const char *const names[] = {"int", "int", "int", "int", "float", "string", "string", "ids", "strings"};
    return names[f->kind];
}

static const struct field *find_field(const char *name, size_t begin)
{
    for (size_t i = begin; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

const char *tr_options_name(size_t index, const char **type)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (find_field(fields[i].name, 0) == &fields[i] && index-- == 0) {
            if (type)
                *type = type_name(&fields[i]);
            return fields[i].name;
        }
    if (type)
        *type = NULL;
    return NULL;
}

/* The first field of a name, which has the type. */
static tr_status find_option(const tr_options *options, const char *name, const char *type, const struct field **field,
                             tr_error *error)
{
    if (!options || !name)
        return tr_fail(error, TR_ERROR_ARGUMENT, "options: %s is NULL", options ? "name" : "options");
    *field = find_field(name, 0);
    if (!*field)
        return tr_fail(error, TR_ERROR_ARGUMENT, "options: there is no option %.64s", name);
    if (strcmp(type_name(*field), type) != 0)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: is %s, not %s", name, type_name(*field), type);
    return TR_OK;
}

static tr_status check_range(const struct field *f, double value, tr_error *error)
{
    const int digits = f->kind == FIELD_NUMBER ? 6 : 10;
    if (value >= f->low && value <= f->high) /* not NaN */
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %.*g is not between %.*g and %.*g", f->name, digits, value, digits, f->low,
                   digits, f->high);
}

static void set_all(tr_options *options, const char *name, double value, int64_t whole)
{
    for (const struct field *f = fields; f < fields + FIELDS; f++)
        if (strcmp(f->name, name) == 0)
            set_number(options, f, value, whole);
}

tr_status tr_options_set_int(tr_options *options, const char *name, int64_t value, tr_error *error)
{
    const struct field *f;
    tr_status status = find_option(options, name, "int", &f, error);
    if (status == TR_OK)
        status = check_range(f, (double)value, error);
    if (status == TR_OK)
        set_all(options, name, 0, value);
    return status;
}

tr_status tr_options_set_float(tr_options *options, const char *name, double value, tr_error *error)
{
    const struct field *f;
    tr_status status = find_option(options, name, "float", &f, error);
    if (status == TR_OK)
        status = check_range(f, value, error);
    if (status == TR_OK)
        set_all(options, name, value, 0);
    return status;
}

/* The choice of that word; NULL: there is none, and the message lists them. */
static const choice *find_choice(const struct field *f, const char *word, tr_error *error)
{
    char words[64] = "";
    size_t size = 0;
    for (const choice *c = f->choices; c->word; c++) {
        if (strcmp(c->word, word) == 0)
            return c;
        if (size < sizeof words)
            size += (size_t)snprintf(words + size, sizeof words - size, " %s", c->word);
    }
    tr_fail(error, TR_ERROR_ARGUMENT, "%s: '%.64s' is not one of:%s", f->name, word, words);
    return NULL;
}

tr_status tr_options_set_string(tr_options *options, const char *name, const char *value, tr_error *error)
{
    const struct field *f;
    const tr_status status = find_option(options, name, "string", &f, error);
    if (status != TR_OK)
        return status;
    if (f->kind == FIELD_CHOICE) {
        const choice *found = value ? find_choice(f, value, error) : NULL;
        if (value && !found)
            return TR_ERROR_ARGUMENT;
        set_all(options, name, 0, found ? found->value : (int)f->initial);
        return TR_OK;
    }
    for (; f; f = find_field(name, (size_t)(f - fields) + 1)) {
        char *copy = value ? tr_copy_bytes(value, strlen(value) + 1) : NULL;
        if (value && !copy)
            return tr_fail_memory(error, "options");
        char **at = address_of(options, f);
        free(*at);
        *at = copy;
    }
    return TR_OK;
}

tr_status tr_options_set_ids(tr_options *options, const char *name, const int32_t *ids, size_t count, tr_error *error)
{
    const struct field *f;
    const tr_status status = find_option(options, name, "ids", &f, error);
    if (status != TR_OK)
        return status;
    if (!ids && count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: its ids are NULL", name);
    int32_t *copy = count <= SIZE_MAX / sizeof *ids ? tr_copy_bytes(ids, count * sizeof *ids) : NULL;
    if (!copy)
        return tr_fail_memory(error, "options");
    tr_search_options *s = &options->translate.search;
    free((void *)(uintptr_t)s->forbidden);
    s->forbidden = copy;
    s->forbidden_count = count;
    return TR_OK;
}

/* The pointers and the strings are in one block. */
tr_status tr_options_set_strings(tr_options *options, const char *name, const char *const *strings, size_t count,
                                 tr_error *error)
{
    const struct field *f;
    const tr_status status = find_option(options, name, "strings", &f, error);
    if (status != TR_OK)
        return status;
    if (!strings && count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: its strings are NULL", name);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sizeof *strings + (strings[i] ? strlen(strings[i]) + 1 : 0);
    char **copies = malloc(bytes ? bytes : 1);
    if (!copies)
        return tr_fail_memory(error, "options");
    char *at = (char *)(copies + count);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strings[i] ? strlen(strings[i]) + 1 : 0;
        copies[i] = size ? memcpy(at, strings[i], size) : NULL;
        at += size;
    }
    free((void *)(uintptr_t)options->translate.prefixes);
    options->translate.prefixes = count ? (const char *const *)copies : NULL;
    options->prefix_count = count;
    if (!count)
        free(copies);
    return TR_OK;
}

void tr_options_set_glossary(tr_options *options, const tr_glossary *glossary)
{
    if (options)
        options->translate.glossary = glossary;
}

void tr_options_set_reverse_model(tr_options *options, const tr_model *model)
{
    if (options)
        options->context.reverse = model;
}

tr_status tr_options_add_model(tr_options *options, const tr_model *model, double weight, tr_error *error)
{
    if (!options || !model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_options_add_model: %s is NULL", options ? "model" : "options");
    const int at = options->context.ensemble_count;
    if (at == TR_MAX_ENSEMBLE - 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_options_add_model: there are %d models already", at);
    if (!(weight >= 1e-6 && weight <= 1e6))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_options_add_model: the weight %g is not between 1e-06 and 1e+06",
                       weight);
    options->ensemble[at] = model;
    options->ensemble_weights[at + 1] = (float)weight;
    options->context.ensemble_count = at + 1;
    return TR_OK;
}

void tr_options_on_progress(tr_options *options, int (*callback)(void *argument, const tr_progress *progress),
                            void *argument)
{
    if (!options)
        return;
    options->translate.on_progress = options->score.on_progress = callback;
    options->translate.on_progress_argument = options->score.on_progress_argument = argument;
}

void tr_options_on_token(tr_options *options, int (*callback)(void *argument, const tr_token_event *token), void *argument)
{
    if (!options)
        return;
    options->translate.on_token = callback;
    options->translate.on_token_argument = argument;
}

void tr_options_on_result(tr_options *options,
                          int (*callback)(void *argument, size_t first, const tr_results *results, size_t count),
                          void *argument)
{
    if (!options)
        return;
    options->on_result = callback;
    options->on_result_argument = argument;
}

void tr_options_on_event(tr_options *options, void (*callback)(void *argument, const tr_event *event), void *argument)
{
    if (!options)
        return;
    options->submit.on_event = callback;
    options->submit.on_event_argument = argument;
}

/* -------------------------------------------------------------------------------------------------------------- search */

/* The fields of tr_search_options, as those of the tr_options around it. */
static bool is_search_field(const struct field *f)
{
    const size_t begin = offsetof(tr_options, translate.search);
    return f->offset >= begin && f->offset < begin + sizeof(tr_search_options) && f->kind != FIELD_IDS;
}

static const void *search_address(const tr_search_options *options, const struct field *field)
{
    return (const char *)options + (field->offset - offsetof(tr_options, translate.search));
}

static tr_status check_field(const tr_search_options *options, const struct field *f, tr_error *error)
{
    const void *at = search_address(options, f);
    if (!is_search_field(f) || f->kind == FIELD_FLAG || f->kind == FIELD_WIDE)
        return TR_OK;
    return check_range(f, f->kind == FIELD_NUMBER ? (double)*(const float *)at : *(const int *)at, error);
}

static bool is_same_field(const tr_search_options *a, const tr_search_options *b, const struct field *f)
{
    if (!is_search_field(f))
        return true;
    const void *p = search_address(a, f), *q = search_address(b, f);
    switch (f->kind) {
    case FIELD_FLAG: return *(const bool *)p == *(const bool *)q;
    case FIELD_WIDE: return *(const int64_t *)p == *(const int64_t *)q;
    case FIELD_NUMBER: return *(const float *)p == *(const float *)q;
    default: return *(const int *)p == *(const int *)q;
    }
}

static tr_status check_forbidden(const tr_search_options *s, const tr_config *config, tr_error *error)
{
    if (s->forbidden_count && !s->forbidden)
        return tr_fail(error, TR_ERROR_ARGUMENT, "forbidden: its ids are NULL");
    for (size_t i = 0; i < s->forbidden_count; i++)
        if (s->forbidden[i] < 0 || s->forbidden[i] >= config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "forbidden: token %zu is %d, not an id below %d", i,
                           (int)s->forbidden[i], config->target_vocabulary);
    return TR_OK;
}

static tr_status check_together(const tr_search_options *s, tr_error *error)
{
    if (s->n_best > s->beam && !s->sample && !s->alternatives)
        return tr_fail(error, TR_ERROR_ARGUMENT, "n_best: %d is not between 1 and %d", s->n_best, s->beam);
    if (s->sample && s->beam > 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "sample: needs beam 1, not %d", s->beam);
    if (s->sample && s->alternatives)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alternatives: cannot be combined with sampling");
    return TR_OK;
}

tr_status tr_search_check(const tr_search_options *search, const tr_config *config, tr_error *error)
{
    tr_status status = TR_OK;
    for (int i = 0; i < FIELDS && status == TR_OK; i++)
        status = check_field(search, &fields[i], error);
    if (status == TR_OK)
        status = check_forbidden(search, config, error);
    return status == TR_OK ? check_together(search, error) : status;
}

bool tr_search_same(const tr_search_options *a, const tr_search_options *b)
{
    bool same = !a->forbidden_count && !b->forbidden_count && a->valid_utf8 == b->valid_utf8;
    for (int i = 0; i < FIELDS && same; i++)
        same = is_same_field(a, b, &fields[i]);
    return same;
}

/* ----------------------------------------------------------------------------------------------------------- alignment */

static tr_status resolve_alignment(const tr_config *c, tr_align_options *a, tr_error *error)
{
    if (a->layer < TR_ALIGN_AUTO || a->layer >= c->decoder_layers)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment layer: %d is not below %d", a->layer, c->decoder_layers);
    if (a->head < TR_ALIGN_MEAN || a->head >= c->decoder_heads)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment head: %d is not below %d", a->head, c->decoder_heads);
    if (!(a->threshold >= 0 && a->threshold <= 1))
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment threshold: %g is not between 0 and 1", (double)a->threshold);
    int layer, head;
    tr_config_alignment_head(c, &layer, &head);
    if (a->layer == TR_ALIGN_AUTO)
        a->layer = layer;
    if (a->head == TR_ALIGN_AUTO)
        a->head = a->layer == layer && head >= 0 ? head : TR_ALIGN_MEAN;
    return TR_OK;
}

static bool is_same_alignment(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->align == b->align &&
           (!a->align || (a->alignment.layer == b->alignment.layer && a->alignment.head == b->alignment.head &&
                          a->alignment.threshold == b->alignment.threshold));
}

/* --------------------------------------------------------------------------------------------- translating and scoring */

tr_status tr_translate_options_resolve(const tr_config *config, const tr_translate_options *options,
                                       tr_translate_options *resolved, tr_error *error)
{
    const int limit = config->max_positions;
    *resolved = options ? *options : tr_translate_default_options();
    if (resolved->max_length < 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "max_length: %d is not at least 1", resolved->max_length);
    if (resolved->min_length < 0 || resolved->min_length > resolved->max_length)
        return tr_fail(error, TR_ERROR_ARGUMENT, "min_length: %d is not between 0 and max_length (%d)", resolved->min_length,
                       resolved->max_length);
    if (resolved->glossary && !resolved->protect)
        return tr_fail(error, TR_ERROR_ARGUMENT, "glossary: needs protect");
    if ((int)resolved->split < TR_SPLIT_AUTO || resolved->split > TR_SPLIT_NEVER)
        return tr_fail(error, TR_ERROR_ARGUMENT, "split: %d is unknown", (int)resolved->split);
    tr_status status = tr_search_check(&resolved->search, config, error);
    if (status == TR_OK)
        status = resolve_alignment(config, &resolved->alignment, error);
    if (status != TR_OK)
        return status;
    if (resolved->on_token && (resolved->search.beam > 1 || resolved->search.alternatives))
        return tr_fail(error, TR_ERROR_ARGUMENT, "token: with %s, no token is final before the translation is complete",
                       resolved->search.beam > 1 ? "a beam" : "alternatives");
    resolved->max_length = resolved->max_length < limit ? resolved->max_length : limit;
    resolved->min_length = resolved->min_length < limit ? resolved->min_length : limit;
    return TR_OK;
}

float tr_doubtful_below(const tr_translate_options *options, const tr_config *config)
{
    return !options->doubtful ? 0 : options->doubtful_below != 0 ? options->doubtful_below : config->doubtful_below;
}

tr_status tr_score_options_resolve(const tr_config *config, const tr_score_options *options, tr_score_options *resolved,
                                   tr_error *error)
{
    *resolved = options ? *options : tr_score_default_options();
    return resolve_alignment(config, &resolved->alignment, error);
}

bool tr_translate_options_same(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->max_length == b->max_length && a->min_length == b->min_length && a->split == b->split &&
           a->scores == b->scores && a->loop_guard == b->loop_guard && a->protect == b->protect &&
           a->doubtful == b->doubtful && a->doubtful_below == b->doubtful_below && a->rerank_weight == b->rerank_weight &&
           is_same_alignment(a, b) && tr_search_same(&a->search, &b->search);
}
