#include "api/rerank.h"

#include <math.h>
#include <stdlib.h>

#include "decoding/stopping.h"
#include "run/score.h"
#include "text/protect.h"

/* A language of a call, or the model's own; NULL: unknown. */
static const char *language_of(const char *wanted, const char *own)
{
    return wanted ? wanted : *own ? own : NULL;
}

tr_status tr_reranker_init(const tr_context *context, const tr_translate_options *options, tr_reranker *reranker,
                           tr_error *error)
{
    const tr_search_options *s = &options->search;
    const tr_context *reverse = context->reverse;
    *reranker = (tr_reranker){0};
    if (!reverse || s->beam < 2 || s->alternatives || options->rerank_weight <= 0)
        return TR_OK;
    *reranker = (tr_reranker){.reverse = context->reverse,
                              .translation = context->model->tokenizer,
                              .weight = options->rerank_weight,
                              .wanted = (size_t)s->n_best,
                              .loop_guard = options->loop_guard};
    const tr_package *package = &context->model->package;
    const bool one_pair = !reverse->model->package.languages.count;
    const char *from = one_pair ? NULL : language_of(options->target_language, package->target_language);
    const char *to = one_pair ? NULL : language_of(options->source_language, package->source_language);
    tr_error own;
    const tr_status status = tr_context_languages(reverse, from, to, true, &reranker->pair, &own);
    return status == TR_OK ? status : tr_fail(error, status, "%.200s: %.250s", reverse->model->path, own.message);
}

enum { SHARED_TEXT = 2048 }; /* bytes of all hypotheses together */

/* What is scored: for each request that is ranked again, the source's tokens as a target, and its hypotheses' as sources. */
typedef struct reranking {
    const tr_reranker *reranker;
    const tr_tokenizer *target; /* of the model that translates back */
    tr_request *requests;       /* [count] */
    size_t count;
    tr_ids ids;            /* of all pairs */
    tr_scored_pair *pairs; /* [pair_count] their tokens are set when ids does not grow any more */
    size_t *sources;       /* [pair_count] where in ids the tokens of each begin */
    size_t *targets;       /* [pair_count] */
    size_t pair_count;
    size_t *pair_of;  /* [count] the first pair of each request; SIZE_MAX: it stays as it is */
    tr_buffer source; /* of a request */
    tr_buffer texts;  /* of the hypotheses of all requests that are ranked, in order, a space before each */
    size_t *ends;     /* [hypotheses] their ends in texts */
    size_t taken;     /* hypotheses whose tokens are in ids, or are not wanted */
} reranking;

static bool is_ranked(const tr_request *request)
{
    return request->chunk && request->found.count > 1 && !request->looped && !request->cancelled;
}

/* The source as the search's network sees it, with what stands for spans: both models copy that. */
static tr_status source_text(const tr_text_chunk *chunk, tr_buffer *text, tr_error *error)
{
    tr_buffer_clear(text);
    if (chunk->use_count || chunk->capitals)
        return tr_uses_mask(chunk, chunk->text, chunk->begin, chunk->end, text, NULL, error);
    return tr_buffer_append(text, chunk->text + chunk->begin, chunk->end - chunk->begin) ? TR_OK
                                                                                         : tr_fail_memory(error, "scores");
}

/* Appends one of the decoded hypotheses as a source for the model that translates back. */
static tr_status add_source(reranking *r, size_t hypothesis, tr_scored_pair *pair, tr_error *error)
{
    const size_t begin = (hypothesis ? r->ends[hypothesis - 1] : 0) + 1;
    const tr_language_pair *languages = &r->reranker->pair;
    tr_ids own = {0};
    int32_t *all = NULL;
    tr_status status =
        tr_tokenizer_encode(languages->tokenizer, r->texts.data + begin, r->ends[hypothesis] - begin, &own, error);
    if (status == TR_OK) {
        const tr_tokens tokens = {own.data, own.size};
        *pair = (tr_scored_pair){.first = languages->prefix_count, .tokens = (int)own.size, .finished = true};
        all = calloc(own.size + (size_t)tr_source_added(languages) + 1, sizeof *all);
        pair->source_length = all ? tr_source_lay_out(languages, &tokens, all) : 0;
        if (!all || !tr_ids_append(&r->ids, all, (size_t)pair->source_length))
            status = tr_fail_memory(error, "scores");
    }
    free(all);
    tr_ids_free(&own);
    return status;
}

/* Appends the source of a request as the target that all its hypotheses are to make likely. */
static tr_status add_target(reranking *r, const tr_request *request, size_t *length, tr_error *error)
{
    const int32_t given = r->reranker->pair.start.first_id;
    const size_t first = r->ids.size;
    tr_status status = source_text(request->chunk, &r->source, error);
    if (status == TR_OK && given >= 0 && !tr_ids_append(&r->ids, &given, 1))
        status = tr_fail_memory(error, "scores");
    if (status == TR_OK)
        status = tr_tokenizer_encode(r->target, r->source.data ? r->source.data : "", r->source.size, &r->ids, error);
    *length = r->ids.size - first;
    return status;
}

static tr_status add_request(reranking *r, size_t index, tr_error *error)
{
    const tr_request *request = &r->requests[index];
    const size_t limit = (size_t)r->reranker->reverse->config.max_positions, first_pair = r->pair_count;
    const size_t target = r->ids.size, first_text = r->taken;
    size_t length;
    r->pair_of[index] = SIZE_MAX;
    if (!is_ranked(request))
        return TR_OK;
    r->taken += request->found.count;
    tr_status status = add_target(r, request, &length, error);
    bool fits = length && length < limit;
    for (size_t h = 0; status == TR_OK && fits && h < request->found.count; h++) {
        const size_t at = r->pair_count++;
        r->sources[at] = r->ids.size;
        r->targets[at] = target;
        status = add_source(r, first_text + h, &r->pairs[at], error);
        r->pairs[at].target_length = (int)length;
        fits = r->pairs[at].tokens <= r->reranker->pair.limit;
    }
    if (status == TR_OK && fits) {
        r->pair_of[index] = first_pair;
        return TR_OK;
    }
    r->pair_count = first_pair;
    r->ids.size = target;
    return status == TR_ERROR_MEMORY ? status : TR_OK; /* else a vocabulary cannot spell it */
}

/* A stable sort by rank, the largest first. */
static void sort_hypotheses(tr_hypotheses *found, double *ranks)
{
    for (size_t i = 1; i < found->count; i++) {
        const tr_hypothesis moved = found->items[i];
        const double rank = ranks[i];
        size_t at = i;
        for (; at && ranks[at - 1] < rank; at--) {
            found->items[at] = found->items[at - 1];
            ranks[at] = ranks[at - 1];
        }
        found->items[at] = moved;
        ranks[at] = rank;
    }
}

/* Hypotheses that loop are left out, if there are others; so are those that nobody will ask for. */
static void rank_request(const tr_reranker *reranker, tr_request *request, const tr_score *scores)
{
    double ranks[TR_MAX_BEAM];
    tr_hypotheses *found = &request->found;
    size_t good = 0;
    for (size_t h = 0; h < found->count; h++) {
        const tr_hypothesis *hypothesis = &found->items[h];
        const bool loops = reranker->loop_guard && tr_first_loop_end(hypothesis->ids, (int)hypothesis->count);
        const double rank = (double)hypothesis->score + (double)reranker->weight * (double)scores[h].mean_log_probability;
        ranks[h] = loops || !isfinite(rank) ? -INFINITY : rank;
        good += isfinite(ranks[h]);
    }
    sort_hypotheses(found, ranks);
    if (!good)
        good = found->count;
    tr_hypotheses_cut(found, good > reranker->wanted && !request->checked ? reranker->wanted : good);
    request->target = found->items[0].ids;
    request->target_length = (int)found->items[0].count;
    request->finished = found->items[0].finished;
}

static tr_status score_pairs(reranking *r, tr_score *scores, tr_error *error)
{
    const tr_reranker *reranker = r->reranker;
    tr_score_options options = tr_score_default_options();
    options.on_progress = reranker->on_progress;
    options.on_progress_argument = reranker->on_progress_argument;
    for (size_t i = 0; i < r->pair_count; i++) {
        r->pairs[i].source = r->ids.data + r->sources[i];
        r->pairs[i].target = r->ids.data + r->targets[i];
    }
    tr_status status = tr_score_pairs(reranker->reverse->scheduler, r->pairs, r->pair_count, &reranker->pair.start, &options,
                                      scores, error);
    for (size_t i = 0; status == TR_OK && i < r->count; i++)
        if (r->pair_of[i] != SIZE_MAX)
            rank_request(reranker, &r->requests[i], &scores[r->pair_of[i]]);
    return status;
}

/* Makes the texts of the hypotheses. For few, such as those of one sentence, the tokenizer need not load the pieces of each
 * by itself. */
static tr_status decode_hypotheses(reranking *r, tr_error *error)
{
    tr_status status = TR_OK;
    size_t decoded = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t h = 0; is_ranked(&r->requests[i]) && h < r->requests[i].found.count && status == TR_OK; h++) {
            const tr_hypothesis *found = &r->requests[i].found.items[h];
            status = tr_buffer_string(&r->texts, " ")
                         ? tr_tokenizer_decode(r->reranker->translation, found->ids, found->count, &r->texts, error)
                         : tr_fail_memory(error, "scores");
            r->ends[decoded++] = r->texts.size;
        }
    if (status == TR_OK && r->texts.size <= SHARED_TEXT)
        tr_tokenizer_share(r->reranker->pair.tokenizer, r->texts.data, r->texts.size);
    return status;
}

tr_status tr_rerank(const tr_reranker *reranker, tr_request *requests, size_t count, tr_error *error)
{
    reranking r = {.reranker = reranker, .requests = requests, .count = count};
    size_t hypotheses = 0;
    for (size_t i = 0; i < count; i++)
        hypotheses += is_ranked(&requests[i]) ? requests[i].found.count : 0;
    if (!hypotheses)
        return TR_OK;
    r.pairs = calloc(hypotheses, sizeof *r.pairs);
    r.sources = calloc(hypotheses, sizeof *r.sources);
    r.targets = calloc(hypotheses, sizeof *r.targets);
    r.pair_of = calloc(count, sizeof *r.pair_of);
    r.ends = calloc(hypotheses, sizeof *r.ends);
    tr_score *scores = calloc(hypotheses, sizeof *scores);
    const bool allocated = r.pairs && r.sources && r.targets && r.pair_of && r.ends && scores;
    tr_status status =
        allocated ? tr_model_target_tokenizer(reranker->reverse->model, &r.target, error) : tr_fail_memory(error, "scores");
    if (status == TR_OK)
        status = decode_hypotheses(&r, error);
    for (size_t i = 0; status == TR_OK && i < count; i++)
        status = add_request(&r, i, error);
    if (status == TR_OK)
        status = score_pairs(&r, scores, error);
    tr_scores_clear(scores, hypotheses);
    free(scores);
    free(r.pairs);
    free(r.sources);
    free(r.targets);
    free(r.pair_of);
    tr_ids_free(&r.ids);
    free(r.ends);
    tr_buffer_free(&r.source);
    tr_buffer_free(&r.texts);
    return status;
}
