/* The public interface on top of the engine: options and results by name, token lists as pointers and counts. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/engine.h"
#include "api/tokens.h"
#include "util/error.h"

/* ------------------------------------------------------------------------------------------------------- fields by name */

typedef enum named_kind {
    NAMED_INT,
    NAMED_UNSIGNED,
    NAMED_SIZE,
    NAMED_U64,
    NAMED_BOOL,
    NAMED_FLOAT,
    NAMED_STRING
} named_kind;

typedef struct named {
    const char *name;
    size_t offset;
    named_kind kind;
} named;

#define FIELD(type, name, kind)                                                                                             \
    {                                                                                                                       \
#name, offsetof(type, name), kind                                                                                   \
    }
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The field of a struct; NULL: there is none of the name, or the struct is not there. */
static const void *find_named(const named *list, size_t count, const void *base, const char *name, named_kind *kind)
{
    for (size_t i = 0; base && name && i < count; i++)
        if (strcmp(list[i].name, name) == 0) {
            *kind = list[i].kind;
            return (const char *)base + list[i].offset;
        }
    return NULL;
}

static int64_t named_int(const named *list, size_t count, const void *base, const char *name)
{
    named_kind kind;
    const void *at = find_named(list, count, base, name, &kind);
    if (!at)
        return -1;
    switch (kind) {
    case NAMED_INT: return *(const int *)at;
    case NAMED_UNSIGNED: return *(const unsigned *)at;
    case NAMED_SIZE: return (int64_t) * (const size_t *)at;
    case NAMED_U64: return (int64_t) * (const uint64_t *)at;
    case NAMED_BOOL: return *(const bool *)at;
    case NAMED_FLOAT:
    case NAMED_STRING: break;
    }
    return -1;
}

static double named_float(const named *list, size_t count, const void *base, const char *name)
{
    named_kind kind;
    const void *at = find_named(list, count, base, name, &kind);
    return at && kind == NAMED_FLOAT ? (double)*(const float *)at : 0;
}

static const char *named_string(const named *list, size_t count, const void *base, const char *name)
{
    named_kind kind;
    const void *at = find_named(list, count, base, name, &kind);
    return at && kind == NAMED_STRING ? *(const char *const *)at : NULL;
}

/* An array, if there is one, and its size. */
static const void *give(const void *array, size_t elements, size_t *count)
{
    if (count)
        *count = array ? elements : 0;
    return array;
}

/* -------------------------------------------------------------------------------------------------------------- errors */

tr_error *tr_error_create(void)
{
    return calloc(1, sizeof(tr_error));
}

tr_status tr_error_status(const tr_error *error)
{
    return error ? error->status : TR_OK;
}

const char *tr_error_message(const tr_error *error)
{
    return error ? error->message : "";
}

/* -------------------------------------------------------------------------------------------------------------- models */

tr_status tr_model_open(const char *path, const tr_options *options, tr_model **model, tr_error *error)
{
    return tr_open_model(path, options ? &options->model : NULL, model, error);
}

tr_status tr_model_open_memory(const void *data, size_t size, const tr_options *options, tr_model **model, tr_error *error)
{
    return tr_open_model_memory(data, size, options ? &options->model : NULL, model, error);
}

static const named model_fields[] = {
    FIELD(tr_model_info, format, NAMED_STRING),
    FIELD(tr_model_info, architecture, NAMED_STRING),
    FIELD(tr_model_info, name, NAMED_STRING),
    FIELD(tr_model_info, source_language, NAMED_STRING),
    FIELD(tr_model_info, target_language, NAMED_STRING),
    FIELD(tr_model_info, compute, NAMED_STRING),
    FIELD(tr_model_info, cpu, NAMED_STRING),
    FIELD(tr_model_info, d_model, NAMED_INT),
    FIELD(tr_model_info, encoder_layers, NAMED_INT),
    FIELD(tr_model_info, decoder_layers, NAMED_INT),
    FIELD(tr_model_info, encoder_heads, NAMED_INT),
    FIELD(tr_model_info, decoder_heads, NAMED_INT),
    FIELD(tr_model_info, encoder_ffn, NAMED_INT),
    FIELD(tr_model_info, decoder_ffn, NAMED_INT),
    FIELD(tr_model_info, source_vocabulary, NAMED_INT),
    FIELD(tr_model_info, target_vocabulary, NAMED_INT),
    FIELD(tr_model_info, max_source_length, NAMED_INT),
    FIELD(tr_model_info, max_target_length, NAMED_INT),
    FIELD(tr_model_info, start_id, NAMED_INT),
    FIELD(tr_model_info, eos_id, NAMED_INT),
    FIELD(tr_model_info, pad_id, NAMED_INT),
    FIELD(tr_model_info, unk_id, NAMED_INT),
    FIELD(tr_model_info, parameters, NAMED_U64),
    FIELD(tr_model_info, file_size, NAMED_U64),
    FIELD(tr_model_info, has_tokenizer, NAMED_BOOL),
    FIELD(tr_model_info, has_shortlist, NAMED_BOOL),
    FIELD(tr_model_info, vocabulary_subset, NAMED_INT),
    FIELD(tr_model_info, languages, NAMED_INT),
};

const char *tr_model_string(const tr_model *model, const char *name)
{
    tr_model_info info;
    if (!model)
        return NULL;
    tr_model_get_info(model, &info);
    return named_string(model_fields, COUNT(model_fields), &info, name);
}

int64_t tr_model_int(const tr_model *model, const char *name)
{
    tr_model_info info;
    if (!model)
        return -1;
    tr_model_get_info(model, &info);
    return named_int(model_fields, COUNT(model_fields), &info, name);
}

static const named entry_fields[] = {
    FIELD(tr_model_entry, path, NAMED_STRING),   FIELD(tr_model_entry, name, NAMED_STRING),
    FIELD(tr_model_entry, format, NAMED_STRING), FIELD(tr_model_entry, file_size, NAMED_U64),
    FIELD(tr_model_entry, sources, NAMED_SIZE),  FIELD(tr_model_entry, targets, NAMED_SIZE),
};

const char *tr_model_index_string(const tr_model_index *models, size_t index, const char *name)
{
    tr_model_entry entry;
    const bool found = models && tr_model_index_get(models, index, &entry);
    return named_string(entry_fields, COUNT(entry_fields), found ? &entry : NULL, name);
}

int64_t tr_model_index_int(const tr_model_index *models, size_t index, const char *name)
{
    tr_model_entry entry;
    const bool found = models && tr_model_index_get(models, index, &entry);
    return named_int(entry_fields, COUNT(entry_fields), found ? &entry : NULL, name);
}

tr_status tr_model_index_route(const tr_model_index *models, const char *source, const char *target, tr_route **route,
                               tr_error *error)
{
    if (!route)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_index_route: route is NULL");
    *route = malloc(sizeof **route);
    if (!*route)
        return tr_fail_memory(error, "route");
    const tr_status status = tr_find_route(models, source, target, *route, error);
    if (status != TR_OK) {
        free(*route);
        *route = NULL;
    }
    return status;
}

void tr_route_free(tr_route *route)
{
    free(route);
}

int tr_route_count(const tr_route *route)
{
    return route ? route->count : 0;
}

const char *tr_route_string(const tr_route *route, int step, const char *name)
{
    static const named fields[] = {
        FIELD(tr_route_step, path, NAMED_STRING),
        FIELD(tr_route_step, source, NAMED_STRING),
        FIELD(tr_route_step, target, NAMED_STRING),
    };
    const bool found = route && step >= 0 && step < route->count;
    return named_string(fields, COUNT(fields), found ? &route->steps[step] : NULL, name);
}

/* --------------------------------------------------------------------------------------------------------- translating */

tr_status tr_context_create(const tr_model *model, const tr_options *options, tr_context **context, tr_error *error)
{
    tr_context_options chosen = tr_context_default_options();
    if (options) {
        chosen = options->context;
        chosen.ensemble = options->ensemble;
        chosen.ensemble_weights = options->ensemble_weights;
    }
    return tr_make_context(model, &chosen, context, error);
}

/* tr_options.on_result for the engine's callback. */
static int pass_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    const tr_options *options = argument;
    const tr_results passed = {.count = count, .texts = (tr_result *)(uintptr_t)results};
    return options->on_result(options->on_result_argument, first, &passed, count);
}

tr_status tr_translate(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                       const tr_options *options, tr_results **results, tr_error *error)
{
    if (!results)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: results is NULL");
    *results = NULL;
    tr_translate_options chosen = options ? options->translate : tr_translate_default_options();
    if (chosen.prefixes && options->prefix_count != count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefixes: there are %zu for %zu texts", options->prefix_count, count);
    if (options && options->on_result) {
        chosen.on_result = pass_results;
        chosen.on_result_argument = (void *)(uintptr_t)options;
    }
    tr_results *made = calloc(1, sizeof *made);
    if (!made)
        return tr_fail_memory(error, "results");
    made->count = count;
    const tr_status status = tr_translate_texts(context, texts, sizes, count, &chosen, &made->texts, error);
    if (status == TR_OK)
        *results = made;
    else
        free(made);
    return status;
}

tr_tokens *tr_token_lists(const int32_t *const *ids, const size_t *counts, size_t count)
{
    tr_tokens *lists = calloc(count ? count : 1, sizeof *lists);
    for (size_t i = 0; lists && i < count; i++)
        lists[i] = (tr_tokens){(int32_t *)(uintptr_t)ids[i], counts[i]};
    return lists;
}

tr_status tr_translate_tokens(tr_context *context, const int32_t *const *sources, const size_t *source_counts,
                              const int32_t *const *prefixes, const size_t *prefix_counts, size_t count,
                              const tr_options *options, tr_results **results, tr_error *error)
{
    if (!results)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: results is NULL");
    *results = NULL;
    if (count && (!sources || !source_counts || (prefixes && !prefix_counts)))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: %s is NULL",
                       !sources         ? "sources"
                       : !source_counts ? "source_counts"
                                        : "prefix_counts");
    tr_results *made = calloc(1, sizeof *made);
    tr_tokens *from = made ? tr_token_lists(sources, source_counts, count) : NULL;
    tr_tokens *begin = from && prefixes ? tr_token_lists(prefixes, prefix_counts, count) : NULL;
    tr_status status = TR_OK;
    if (!from || (prefixes && !begin))
        status = tr_fail_memory(error, "tokens");
    else
        status = tr_search_tokens(context, from, begin, count, options ? &options->translate : NULL, &made->tokens, error);
    free(from);
    free(begin);
    if (status == TR_OK) {
        made->count = count;
        *results = made;
    } else {
        free(made);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- results */

void tr_results_free(tr_results *results)
{
    if (!results)
        return;
    tr_result_array_free(results->texts, results->count);
    tr_hypotheses_free(results->tokens, results->count);
    free(results);
}

size_t tr_results_count(const tr_results *results)
{
    return results ? results->count : 0;
}

static const tr_result *text_at(const tr_results *r, size_t i)
{
    return r && r->texts && i < r->count ? &r->texts[i] : NULL;
}

static const tr_hypotheses *tokens_at(const tr_results *r, size_t i)
{
    return r && r->tokens && i < r->count ? &r->tokens[i] : NULL;
}

/* Hypothesis h of a text that has several. */
static const tr_translation *translation_at(const tr_results *r, size_t i, size_t h)
{
    const tr_result *text = text_at(r, i);
    return text && h < text->hypothesis_count ? &text->hypotheses[h] : NULL;
}

static const tr_hypothesis *hypothesis_at(const tr_results *r, size_t i, size_t h)
{
    const tr_hypotheses *tokens = tokens_at(r, i);
    return tokens && h < tokens->count ? &tokens->items[h] : NULL;
}

static const char *give_text(const char *text, size_t bytes, size_t *size)
{
    if (size)
        *size = text ? bytes : 0;
    return text;
}

const char *tr_results_text(const tr_results *results, size_t i, size_t *size)
{
    const tr_result *text = text_at(results, i);
    return give_text(text ? text->text : NULL, text ? text->size : 0, size);
}

int64_t tr_results_int(const tr_results *results, size_t i, const char *name)
{
    static const named fields[] = {
        FIELD(tr_result, sentences, NAMED_INT),
        FIELD(tr_result, source_tokens, NAMED_INT),
        FIELD(tr_result, target_tokens, NAMED_INT),
        FIELD(tr_result, flags, NAMED_UNSIGNED),
    };
    const tr_result *text = text_at(results, i);
    const tr_hypotheses *tokens = tokens_at(results, i);
    if (name && (text || tokens) && strcmp(name, "hypotheses") == 0)
        return tokens ? (int64_t)tokens->count : text->hypothesis_count ? (int64_t)text->hypothesis_count : 1;
    return named_int(fields, COUNT(fields), text, name);
}

double tr_results_float(const tr_results *results, size_t i, const char *name)
{
    static const named fields[] = {
        FIELD(tr_result, score, NAMED_FLOAT),
        FIELD(tr_result, mean_log_probability, NAMED_FLOAT),
        FIELD(tr_result, min_log_probability, NAMED_FLOAT),
    };
    return named_float(fields, COUNT(fields), text_at(results, i), name);
}

const char *tr_results_hypothesis_text(const tr_results *results, size_t i, size_t h, size_t *size)
{
    const tr_translation *translation = translation_at(results, i, h);
    if (!translation && h == 0)
        return tr_results_text(results, i, size);
    return give_text(translation ? translation->text : NULL, translation ? translation->size : 0, size);
}

double tr_results_hypothesis_float(const tr_results *results, size_t i, size_t h, const char *name)
{
    static const named fields[] = {
        FIELD(tr_translation, score, NAMED_FLOAT),
        FIELD(tr_translation, log_probability, NAMED_FLOAT),
    };
    static const named of_tokens[] = {
        FIELD(tr_hypothesis, score, NAMED_FLOAT),
        FIELD(tr_hypothesis, log_probability, NAMED_FLOAT),
    };
    const tr_hypothesis *hypothesis = hypothesis_at(results, i, h);
    if (hypothesis)
        return named_float(of_tokens, COUNT(of_tokens), hypothesis, name);
    const tr_translation *translation = translation_at(results, i, h);
    if (translation || h)
        return named_float(fields, COUNT(fields), translation, name);
    return name && (strcmp(name, "score") == 0 || strcmp(name, "log_probability") == 0)
               ? tr_results_float(results, i, "score")
               : 0;
}

int64_t tr_results_hypothesis_int(const tr_results *results, size_t i, size_t h, const char *name)
{
    static const named fields[] = {FIELD(tr_translation, tokens, NAMED_INT)};
    static const named of_tokens[] = {
        {"tokens", offsetof(tr_hypothesis, count), NAMED_SIZE},
        FIELD(tr_hypothesis, finished, NAMED_BOOL),
    };
    const tr_hypothesis *hypothesis = hypothesis_at(results, i, h);
    if (hypothesis)
        return named_int(of_tokens, COUNT(of_tokens), hypothesis, name);
    const tr_translation *translation = translation_at(results, i, h);
    if (translation || h)
        return named_int(fields, COUNT(fields), translation, name);
    return name && strcmp(name, "tokens") == 0 ? tr_results_int(results, i, "target_tokens") : -1;
}

const int32_t *tr_results_source_ids(const tr_results *results, size_t i, size_t *count)
{
    const tr_result *text = text_at(results, i);
    return give(text ? text->source.ids : NULL, text ? text->source.count : 0, count);
}

/* What is the same for a text's only translation and for each of several. */
typedef struct aligned_part {
    const tr_tokens *target;
    const tr_span *spans;
    const tr_alignment *alignment;
} aligned_part;

static aligned_part part_at(const tr_results *r, size_t i, size_t h)
{
    const tr_translation *translation = translation_at(r, i, h);
    const tr_result *text = text_at(r, i);
    if (translation)
        return (aligned_part){&translation->target, translation->target_spans, &translation->alignment};
    if (text && h == 0)
        return (aligned_part){&text->target, text->target_spans, &text->alignment};
    return (aligned_part){0};
}

const int32_t *tr_results_target_ids(const tr_results *results, size_t i, size_t h, size_t *count)
{
    const tr_hypothesis *hypothesis = hypothesis_at(results, i, h);
    if (hypothesis)
        return give(hypothesis->ids, hypothesis->count, count);
    const aligned_part part = part_at(results, i, h);
    return give(part.target ? part.target->ids : NULL, part.target ? part.target->count : 0, count);
}

const tr_span *tr_results_source_spans(const tr_results *results, size_t i, size_t *count)
{
    const tr_result *text = text_at(results, i);
    return give(text ? text->source_spans : NULL, text ? text->source.count : 0, count);
}

const tr_span *tr_results_target_spans(const tr_results *results, size_t i, size_t h, size_t *count)
{
    const aligned_part part = part_at(results, i, h);
    return give(part.spans, part.target ? part.target->count : 0, count);
}

const tr_link *tr_results_links(const tr_results *results, size_t i, size_t h, size_t *count)
{
    const tr_hypothesis *hypothesis = hypothesis_at(results, i, h);
    const tr_alignment *alignment = hypothesis ? &hypothesis->alignment : part_at(results, i, h).alignment;
    return give(alignment ? alignment->links : NULL, alignment ? alignment->count : 0, count);
}

const tr_span *tr_results_source_sentences(const tr_results *results, size_t i, size_t *count)
{
    const tr_result *text = text_at(results, i);
    return give(text ? text->source_sentences : NULL, text ? (size_t)text->sentences : 0, count);
}

const tr_span *tr_results_target_sentences(const tr_results *results, size_t i, size_t *count)
{
    const tr_result *text = text_at(results, i);
    return give(text ? text->target_sentences : NULL, text ? (size_t)text->sentences : 0, count);
}

int64_t tr_results_sentence_int(const tr_results *results, size_t i, size_t sentence, const char *name)
{
    const tr_result *text = text_at(results, i);
    if (!text || !name || sentence >= (size_t)text->sentences || strcmp(name, "flags") != 0)
        return -1;
    return text->sentence_flags[sentence];
}

const tr_scored_token *tr_results_scored_tokens(const tr_results *results, size_t i, size_t *count)
{
    const tr_result *text = text_at(results, i);
    return give(text ? text->scored : NULL, text ? text->scored_count : 0, count);
}

const float *tr_results_log_probabilities(const tr_results *results, size_t i, size_t h, size_t *count)
{
    const tr_hypothesis *hypothesis = hypothesis_at(results, i, h);
    return give(hypothesis ? hypothesis->log_probabilities : NULL, hypothesis ? hypothesis->count + hypothesis->finished : 0,
                count);
}

/* --------------------------------------------------------------------------------------------------------------- tokens */

tr_status tr_tokenize(const tr_model *model, tr_token_side side, const char *text, size_t size, int32_t **ids, size_t *count,
                      tr_span **spans, tr_error *error)
{
    tr_tokens tokens;
    tr_span *found;
    if (!ids || !count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", ids ? "count" : "ids");
    *ids = NULL;
    *count = 0;
    if (spans)
        *spans = NULL;
    if (side != TR_SOURCE && side != TR_TARGET)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: side %d is unknown", (int)side);
    const tr_status status = tr_tokenize_spans(model, side == TR_TARGET, text, size, &tokens, &found, error);
    if (status != TR_OK)
        return status;
    *ids = tokens.ids;
    *count = tokens.count;
    if (spans)
        *spans = found;
    else
        free(found);
    return TR_OK;
}

tr_status tr_detokenize(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size, tr_span *spans,
                        tr_error *error)
{
    return spans ? tr_detokenize_spans(model, ids, count, text, size, spans, error)
                 : tr_tokens_text(model, ids, count, text, size, error);
}

/* --------------------------------------------------------------------------------------------------------------- scores */

tr_status tr_score_tokens(tr_context *context, const int32_t *const *sources, const size_t *source_counts,
                          const int32_t *const *targets, const size_t *target_counts, size_t count,
                          const tr_options *options, tr_scores **scores, tr_error *error)
{
    if (!scores)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_tokens: scores is NULL");
    *scores = NULL;
    if (count && (!sources || !source_counts || !targets || !target_counts))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_tokens: a list is NULL");
    tr_scores *made = calloc(1, sizeof *made);
    tr_tokens *from = made ? tr_token_lists(sources, source_counts, count) : NULL;
    tr_tokens *to = from ? tr_token_lists(targets, target_counts, count) : NULL;
    tr_status status = to ? TR_OK : tr_fail_memory(error, "scores");
    if (status == TR_OK)
        status = tr_score_ids(context, from, to, count, options ? &options->score : NULL, &made->tokens, error);
    free(from);
    free(to);
    if (status == TR_OK) {
        made->count = count;
        *scores = made;
    } else {
        free(made);
    }
    return status;
}

tr_status tr_score_texts(tr_context *context, const char *const *sources, const size_t *source_sizes,
                         const char *const *targets, const size_t *target_sizes, size_t count, const tr_options *options,
                         tr_scores **scores, tr_error *error)
{
    if (!scores)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_texts: scores is NULL");
    *scores = NULL;
    tr_scores *made = calloc(1, sizeof *made);
    if (!made)
        return tr_fail_memory(error, "scores");
    const tr_status status = tr_score_text_pairs(context, sources, source_sizes, targets, target_sizes, count,
                                                 options ? &options->score : NULL, &made->texts, error);
    if (status == TR_OK) {
        made->count = count;
        *scores = made;
    } else {
        free(made);
    }
    return status;
}

void tr_scores_free(tr_scores *scores)
{
    if (!scores)
        return;
    tr_score_array_free(scores->tokens, scores->count);
    tr_text_scores_free(scores->texts, scores->count);
    free(scores);
}

size_t tr_scores_count(const tr_scores *scores)
{
    return scores ? scores->count : 0;
}

static const tr_score *score_at(const tr_scores *s, size_t i)
{
    if (!s || i >= s->count)
        return NULL;
    return s->texts ? &s->texts[i].score : &s->tokens[i];
}

double tr_scores_float(const tr_scores *scores, size_t i, const char *name)
{
    static const named fields[] = {
        FIELD(tr_score, log_probability, NAMED_FLOAT),
        FIELD(tr_score, mean_log_probability, NAMED_FLOAT),
        FIELD(tr_score, min_log_probability, NAMED_FLOAT),
    };
    return named_float(fields, COUNT(fields), score_at(scores, i), name);
}

int64_t tr_scores_int(const tr_scores *scores, size_t i, const char *name)
{
    static const named fields[] = {
        {"tokens", offsetof(tr_score, count), NAMED_SIZE},
        FIELD(tr_score, first_source, NAMED_INT),
    };
    const tr_score *score = score_at(scores, i);
    if (name && score && strcmp(name, "flags") == 0)
        return scores->texts ? scores->texts[i].flags : 0;
    return named_int(fields, COUNT(fields), score, name);
}

const float *tr_scores_log_probabilities(const tr_scores *scores, size_t i, size_t *count)
{
    const tr_score *score = score_at(scores, i);
    return give(score ? score->log_probabilities : NULL, score ? score->count : 0, count);
}

const float *tr_scores_attention(const tr_scores *scores, size_t i, const char *name, int64_t sizes[4])
{
    const tr_score *score = score_at(scores, i);
    const tr_attention_map *map = NULL;
    if (score && name)
        map = strcmp(name, "encoder") == 0   ? &score->encoder
              : strcmp(name, "decoder") == 0 ? &score->decoder
              : strcmp(name, "cross") == 0   ? &score->cross
                                             : NULL;
    const bool found = map && map->weights;
    if (sizes) {
        sizes[0] = found ? map->layers : 0;
        sizes[1] = found ? map->heads : 0;
        sizes[2] = found ? map->rows : 0;
        sizes[3] = found ? map->columns : 0;
    }
    return found ? map->weights : NULL;
}

const tr_link *tr_scores_links(const tr_scores *scores, size_t i, size_t *count)
{
    const tr_score *score = score_at(scores, i);
    return give(score ? score->alignment.links : NULL, score ? score->alignment.count : 0, count);
}

static const tr_tokens *side_of(const tr_scores *s, size_t i, tr_token_side side, const tr_span **spans)
{
    const tr_text_score *text = s && s->texts && i < s->count ? &s->texts[i] : NULL;
    *spans = !text ? NULL : side == TR_TARGET ? text->target_spans : text->source_spans;
    return !text ? NULL : side == TR_TARGET ? &text->target : &text->source;
}

const int32_t *tr_scores_ids(const tr_scores *scores, size_t i, tr_token_side side, size_t *count)
{
    const tr_span *spans;
    const tr_tokens *tokens = side_of(scores, i, side, &spans);
    return give(tokens ? tokens->ids : NULL, tokens ? tokens->count : 0, count);
}

const tr_span *tr_scores_spans(const tr_scores *scores, size_t i, tr_token_side side, size_t *count)
{
    const tr_span *spans;
    const tr_tokens *tokens = side_of(scores, i, side, &spans);
    return give(spans, tokens ? tokens->count : 0, count);
}
