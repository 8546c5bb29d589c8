/* Results of searches through the public functions: log-probabilities, samples, alternatives, limits; options out of range.
 * On tiny models. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine_fixture.h"
#include "../opening.h"
#include "../sanitized.h"
#include "formats/gguf/gguf.h"
#include "formats/open.h"

enum { SOURCES = 40, LONGEST = 20 };

static const char *const models[] = {"relu-1x1-f32/model", "gelu-4x2-bf16-untied/model", "mbart-2x2-f32/model"};

typedef struct fixture {
    tr_model *model;
    tr_model_info info;
    int32_t ids[SOURCES][LONGEST];
    tr_tokens sources[SOURCES];
} fixture;

static void open_fixture(fixture *f, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", TR_FIXTURES, name);
    f->model = open_model(path);
    tr_model_get_info(f->model, &f->info);
    uint32_t chance = 7;
    for (int i = 0; i < SOURCES; i++) {
        f->sources[i] = (tr_tokens){f->ids[i], (size_t)(i * 7 % LONGEST)};
        for (int t = 0; t < LONGEST; t++) {
            chance = chance * 1664525 + 1013904223;
            f->ids[i][t] = (int32_t)((chance >> 8) % (uint32_t)f->info.source_vocabulary);
        }
    }
}

static tr_hypotheses *search(tr_context *context, const fixture *f, const tr_tokens *prefixes, const tr_translate_options *o)
{
    tr_hypotheses *found;
    tr_error error;
    if (tr_search_tokens(context, f->sources, prefixes, SOURCES, o, &found, &error))
        fail_msg("%s", error.message);
    return found;
}

static void check_same(const tr_hypotheses *a, const tr_hypotheses *b)
{
    for (int i = 0; i < SOURCES; i++) {
        assert_int_equal(a[i].count, b[i].count);
        for (size_t h = 0; h < a[i].count; h++) {
            const tr_hypothesis *x = &a[i].items[h], *y = &b[i].items[h];
            assert_true(x->count == y->count && x->finished == y->finished && x->score == y->score &&
                        x->log_probability == y->log_probability);
            assert_memory_equal(x->ids, y->ids, x->count * sizeof *x->ids);
            if (x->log_probabilities)
                assert_memory_equal(x->log_probabilities, y->log_probabilities, (x->count + x->finished) * sizeof(float));
        }
    }
}

/* Scores do not change the tokens, with any batch and threads. */
static void scores_change_no_token(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        fixture f;
        open_fixture(&f, models[m]);
        tr_translate_options options = tr_translate_default_options();
        options.max_length = 24;
        tr_context *context = open_context(f.model, 1, 1);
        tr_tokens *plain;
        tr_error error;
        assert_int_equal(tr_translate_ids(context, f.sources, SOURCES, &options, &plain, &error), TR_OK);
        options.scores = true;
        tr_hypotheses *alone = search(context, &f, NULL, &options);
        for (int i = 0; i < SOURCES; i++) {
            const tr_hypothesis *h = alone[i].items;
            assert_int_equal(alone[i].count, 1);
            assert_int_equal(h->count, plain[i].count);
            assert_memory_equal(h->ids, plain[i].ids, h->count * sizeof *h->ids);
            float sum = 0;
            for (size_t t = 0; t < h->count + h->finished; t++) {
                assert_true(h->log_probabilities[t] <= 0 && h->log_probabilities[t] > -30);
                sum += h->log_probabilities[t];
            }
            assert_true(sum == h->log_probability && fabsf(h->score - sum / (float)(h->count + h->finished)) < 1e-5f);
        }
        for (int threads = 1; threads <= 3; threads++)
            for (int batch = 1; batch <= 64; batch *= 8) {
                tr_context *other = open_context(f.model, threads, batch);
                tr_hypotheses *found = search(other, &f, NULL, &options);
                check_same(alone, found);
                tr_hypotheses_free(found, SOURCES);
                tr_context_destroy(other);
            }
        tr_hypotheses_free(alone, SOURCES);
        tr_tokens_array_free(plain, SOURCES);
        tr_context_destroy(context);
        tr_model_close(f.model);
    }
}

/* Kinds of search. */
enum { KINDS = 8 };

static tr_translate_options kind_of_search(int kind)
{
    tr_translate_options o = tr_translate_default_options();
    tr_search_options *s = &o.search;
    o.max_length = 40; /* more than a block of positions */
    s->beam = kind < 4 ? 2 + kind : 1;
    s->n_best = s->beam;
    s->patience = kind == 1 ? 2 : 1;
    s->coverage_penalty = kind % 3 == 1 ? 0.3f : 0;
    s->no_repeat_ngram = kind == 2 ? 2 : 0;
    s->repetition_penalty = kind == 3 || kind == 5 ? 1.3f : 1;
    s->sample = kind == 4 || kind == 5;
    s->temperature = kind == 5 ? 0.7f : 1;
    s->top_k = kind == 5 ? 20 : 0;
    s->top_p = kind == 5 ? 0.9f : 1;
    s->alternatives = kind >= 6;
    if (kind == 7)
        s->beam = 3;
    if (kind >= 4)
        s->n_best = 5;
    o.min_length = kind == 0 ? 6 : 0;
    return o;
}

/* Hypotheses are sorted, and depend on neither threads nor batch. */
static void others_change_nothing(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        fixture f;
        open_fixture(&f, models[m]);
        tr_context *alone = open_context(f.model, 1, 1), *many = open_context(f.model, 3, 5),
                   *two = open_context(f.model, 2, 64);
        for (int kind = SANITIZED ? (int)m % 3 : 0; kind < KINDS; kind += SANITIZED ? 3 : 1) {
            const tr_translate_options o = kind_of_search(kind);
            tr_hypotheses *a = search(alone, &f, NULL, &o), *b = search(many, &f, NULL, &o), *c = search(two, &f, NULL, &o);
            check_same(a, b);
            check_same(a, c);
            for (int i = 0; i < SOURCES; i++) {
                assert_true(a[i].count >= 1 && a[i].count <= (size_t)o.search.n_best);
                for (size_t h = 0; h < a[i].count; h++) {
                    const tr_hypothesis *x = &a[i].items[h];
                    assert_true(x->count <= 40 && x->count >= (size_t)o.min_length && x->log_probability < 0);
                    assert_true(h == 0 || a[i].items[h - 1].score >= x->score);
                }
            }
            tr_hypotheses_free(a, SOURCES);
            tr_hypotheses_free(b, SOURCES);
            tr_hypotheses_free(c, SOURCES);
        }
        tr_context_destroy(alone);
        tr_context_destroy(many);
        tr_context_destroy(two);
        tr_model_close(f.model);
    }
}

/* Targets begin with their prefix; a prefix that the search finds anyhow does not change the rest. */
static void prefixes_come_first(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, models[0]);
    tr_context *context = open_context(f.model, 2, 8);
    tr_translate_options options = tr_translate_default_options();
    options.max_length = 24;
    tr_hypotheses *free_ones = search(context, &f, NULL, &options);
    tr_tokens own[SOURCES], foreign[SOURCES];
    int32_t others_begin[] = {5, 9, 9, 30};
    for (int i = 0; i < SOURCES; i++) {
        const tr_hypothesis *h = free_ones[i].items;
        own[i] = (tr_tokens){h->ids, h->count / 2};
        foreign[i] = (tr_tokens){others_begin, (size_t)i % 5};
    }
    tr_hypotheses *same = search(context, &f, own, &options), *others = search(context, &f, foreign, &options);
    check_same(free_ones, same);
    for (int i = 0; i < SOURCES; i++) {
        assert_true(others[i].items->count >= foreign[i].count);
        assert_memory_equal(others[i].items->ids, foreign[i].ids, foreign[i].count * sizeof(int32_t));
    }
    tr_error error;
    tr_hypotheses *none;
    foreign[3] = (tr_tokens){&f.info.eos_id, 1};
    assert_int_equal(tr_search_tokens(context, f.sources, foreign, SOURCES, &options, &none, &error), TR_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "prefix 3"));
    tr_hypotheses_free(free_ones, SOURCES);
    tr_hypotheses_free(same, SOURCES);
    tr_hypotheses_free(others, SOURCES);
    tr_context_destroy(context);
    tr_model_close(f.model);
}

/* ------------------------------------------------------------------------------------------------------------- sampling */

enum { DRAWS = 64, SEEDS = SANITIZED ? 50 : 150, MOST_TOKENS = 256 };

/* The network's probability of each token as the first one of a source (EOS: index end_id). */
static void first_probabilities(tr_context *context, const fixture *f, const tr_tokens *source, double *probability)
{
    tr_error error;
    assert_true(f->info.target_vocabulary <= MOST_TOKENS);
    for (int32_t id = 0; id < f->info.target_vocabulary; id++) {
        const bool end = id == f->info.eos_id;
        const tr_tokens target = {&id, end ? 0 : 1};
        tr_score *score;
        if (tr_score_ids(context, source, &target, 1, NULL, &score, &error))
            fail_msg("%s", error.message);
        probability[id] = id == f->info.pad_id ? 0 : exp((double)score->log_probabilities[0]);
        tr_score_array_free(score, 1);
    }
}

/* Applies the sampling options to the probabilities, in another way: a token stays if the more likely ones do not yet reach
 * the limit. */
static void restrict_to(const tr_search_options *s, int n, double *p)
{
    double sum = 0, left[MOST_TOKENS];
    for (int i = 0; i < n; i++)
        sum += p[i] = p[i] > 0 ? pow(p[i], 1 / (double)s->temperature) : 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++) {
            double above = 0;
            int more = 0;
            for (int k = 0; k < n; k++)
                if (p[k] > p[i] || (p[k] == p[i] && k < i)) {
                    above += p[k];
                    more++;
                }
            const bool stays = pass == 0 ? !s->top_k || more < s->top_k : above < (double)s->top_p * sum || more == 0;
            left[i] = stays ? p[i] : 0;
        }
        sum = 0;
        for (int i = 0; i < n; i++)
            sum += p[i] = left[i];
    }
    for (int i = 0; i < n; i++)
        p[i] /= sum;
}

/* Pearson's chi-squared test; rare tokens are counted together. The bound is five standard deviations. */
static void check_distribution(const double *p, const int *count, int n)
{
    double chi = 0, rare = 0;
    int freedom = -1, rare_count = 0;
    const double all = (double)DRAWS * SEEDS;
    for (int i = 0; i < n; i++) {
        if (p[i] == 0 && count[i])
            fail_msg("token %d came %d times, but may not come", i, count[i]);
        if (p[i] * all < 8) {
            rare += p[i] * all;
            rare_count += count[i];
            continue;
        }
        chi += (count[i] - p[i] * all) * (count[i] - p[i] * all) / (p[i] * all);
        freedom++;
    }
    if (rare >= 8) {
        chi += (rare_count - rare) * (rare_count - rare) / rare;
        freedom++;
    }
    if (freedom > 0 && chi > freedom + 5 * sqrt(2.0 * freedom))
        fail_msg("chi-square is %g with %d degrees of freedom", chi, freedom);
}

static void draws_follow_the_network(void **unused)
{
    (void)unused;
    static const struct {
        float temperature, top_p;
        int top_k;
    } settings[] = {{1, 1, 0}, {2, 1, 0}, {1, 1, 4}, {1, 0.8f, 0}, {1.5f, 0.7f, 12}};
    fixture f;
    open_fixture(&f, models[0]);
    tr_context *context = open_context(f.model, 2, 8);
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        const tr_tokens *source = &f.sources[2 + k];
        double p[MOST_TOKENS];
        int count[MOST_TOKENS] = {0};
        tr_translate_options o = tr_translate_default_options();
        o.max_length = 1;
        o.search.sample = true;
        o.search.n_best = DRAWS;
        o.search.temperature = settings[k].temperature;
        o.search.top_p = settings[k].top_p;
        o.search.top_k = settings[k].top_k;
        first_probabilities(context, &f, source, p);
        restrict_to(&o.search, f.info.target_vocabulary, p);
        for (o.search.seed = 0; o.search.seed < SEEDS; o.search.seed++) {
            tr_hypotheses *found;
            tr_error error;
            if (tr_search_tokens(context, source, NULL, 1, &o, &found, &error))
                fail_msg("%s", error.message);
            assert_int_equal(found->count, DRAWS);
            for (int h = 0; h < DRAWS; h++)
                count[found->items[h].count ? found->items[h].ids[0] : f.info.eos_id]++;
            tr_hypotheses_free(found, 1);
        }
        check_distribution(p, count, f.info.target_vocabulary);
    }
    tr_context_destroy(context);
    tr_model_close(f.model);
}

/* ------------------------------------------------------------------------------------------------- limits and bad values */

/* Alternatives differ in the token after the prefix; there are as many as are likely enough. */
static void alternatives_differ_at_once(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, models[0]);
    tr_context *context = open_context(f.model, 2, 8);
    tr_translate_options o = tr_translate_default_options();
    tr_tokens prefixes[SOURCES];
    int32_t begin[] = {9, 14, 3};
    for (int i = 0; i < SOURCES; i++)
        prefixes[i] = (tr_tokens){begin, (size_t)i % 4};
    o.max_length = 20;
    o.search.beam = 2;
    o.search.n_best = 6;
    o.search.alternatives = true;
    tr_hypotheses *all = search(context, &f, prefixes, &o);
    o.search.alternatives_min = 0.1f;
    tr_hypotheses *likely = search(context, &f, prefixes, &o);
    for (int i = 0; i < SOURCES; i++) {
        const size_t at = prefixes[i].count;
        size_t enough = 0;
        assert_int_equal(all[i].count, 6);
        for (size_t h = 0; h < 6; h++) {
            const tr_hypothesis *x = &all[i].items[h];
            assert_memory_equal(x->ids, begin, at * sizeof *begin);
            enough += x->log_probabilities[at] >= logf(0.1f);
            for (size_t k = 0; k < h; k++) {
                const tr_hypothesis *y = &all[i].items[k];
                const int32_t a = x->count > at ? x->ids[at] : -1, b = y->count > at ? y->ids[at] : -1;
                assert_true(a != b);
            }
        }
        assert_int_equal(likely[i].count, enough ? enough : 1);
    }
    tr_hypotheses_free(all, SOURCES);
    tr_hypotheses_free(likely, SOURCES);
    tr_context_destroy(context);
    tr_model_close(f.model);
}

/* The maximum length is a number of target tokens for each source token, and a constant. */
static void lengths_follow_the_source(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, models[0]);
    tr_context *context = open_context(f.model, 2, 8);
    tr_translate_options o = tr_translate_default_options();
    o.search.max_length_factor = 0.5f;
    o.search.max_length_offset = 2;
    tr_hypotheses *found = search(context, &f, NULL, &o);
    int at_limit = 0;
    for (int i = 0; i < SOURCES; i++) {
        const size_t limit = f.sources[i].count / 2 + 2;
        assert_true(found[i].items->count <= limit);
        at_limit += found[i].items->count == limit;
    }
    assert_true(at_limit > SOURCES / 4);
    tr_hypotheses_free(found, SOURCES);
    tr_context_destroy(context);
    tr_model_close(f.model);
}

/* Writes a model whose unknown token has another id in the source vocabulary, above all target ids; path is a template. */
static void write_model_with_far_unknown(char *path)
{
    tr_package p;
    tr_error error;
    close(mkstemp(path));
    if (tr_package_open(TR_FIXTURES "/../../ctranslate2/fixtures/opennmt-float32", TR_LOAD_MAP, &p, &error))
        fail_msg("%s", error.message);
    tr_piece *last = &p.source.pieces[p.source.size - 1], *unknown = &p.source.pieces[p.config.unk_id], kept = *last;
    assert_true(p.source.size > p.target->size + 8);
    *last = *unknown;
    *unknown = kept;
    p.config.unk_id = (int)p.source.size - 1;
    if (tr_gguf_write(&p, path, TR_TYPE_F32, NULL, NULL, &error))
        fail_msg("%s", error.message);
    tr_package_close(&p);
}

/* The source's unknown token has another id than the target's. */
static void the_unknown_token_can_be_forbidden(void **unused)
{
    (void)unused;
    char path[] = TEMPORARY_FILE;
    fixture f;
    write_model_with_far_unknown(path);
    f.model = open_model(path);
    unlink(path);
    tr_context *context = open_context(f.model, 2, 8);
    int32_t source[] = {5, 6, 7};
    const tr_tokens sources = {source, 3};
    const int32_t unknown = tr_target_id(f.model, "<unk>", 5);
    int found[2] = {0};
    for (int forbid = 0; forbid < 2; forbid++) {
        tr_translate_options o = tr_translate_default_options();
        tr_hypotheses *draws;
        tr_error error;
        o.max_length = 40;
        o.search.sample = true;
        o.search.temperature = 100;
        o.search.n_best = TR_MAX_BEAM;
        o.search.forbid_unknown = forbid;
        if (tr_search_tokens(context, &sources, NULL, 1, &o, &draws, &error))
            fail_msg("%s", error.message);
        for (size_t h = 0; h < draws->count; h++)
            for (size_t t = 0; t < draws->items[h].count; t++)
                found[forbid] += draws->items[h].ids[t] == unknown;
        tr_hypotheses_free(draws, 1);
    }
    assert_true(unknown >= 0 && found[0] > 0);
    assert_int_equal(found[1], 0);
    tr_context_destroy(context);
    tr_model_close(f.model);
}

static void expect_refusal(tr_context *context, tr_translate_options options, const char *field)
{
    tr_hypotheses *found = (tr_hypotheses *)&field;
    tr_error error;
    assert_int_equal(tr_search_tokens(context, NULL, NULL, 0, &options, &found, &error), TR_ERROR_ARGUMENT);
    assert_null(found);
    if (strncmp(error.message, field, strlen(field)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", error.message, field);
}

#define REFUSE(member, given, field)                                                                                        \
    do {                                                                                                                    \
        tr_translate_options o = tr_translate_default_options();                                                            \
        o.search.member = given;                                                                                            \
        expect_refusal(context, o, field);                                                                                  \
    } while (0)

static void values_out_of_range_are_named(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, models[0]);
    tr_context *context = open_context(f.model, 1, 1);
    REFUSE(beam, 0, "beam: 0 is not between 1 and 64");
    REFUSE(beam, 10000, "beam: 10000");
    REFUSE(n_best, 2, "n_best: 2 is not between 1 and 1");
    REFUSE(n_best, 0, "n_best");
    REFUSE(length_penalty, NAN, "length_penalty");
    REFUSE(length_penalty, 11, "length_penalty");
    REFUSE(coverage_penalty, -1, "coverage_penalty");
    REFUSE(coverage_penalty, NAN, "coverage_penalty");
    REFUSE(patience, 0.5f, "patience");
    REFUSE(stopping, (tr_stopping)3, "stopping");
    REFUSE(temperature, 0, "temperature");
    REFUSE(top_k, -1, "top_k");
    REFUSE(top_k, 1025, "top_k");
    REFUSE(top_p, 0, "top_p");
    REFUSE(top_p, 1.5f, "top_p");
    REFUSE(no_repeat_ngram, -1, "no_repeat_ngram");
    REFUSE(repetition_penalty, 0.5f, "repetition_penalty");
    REFUSE(forbidden_count, 1, "forbidden");
    REFUSE(max_length_factor, -1, "max_length_factor");
    REFUSE(max_length_offset, -1, "max_length_offset");
    REFUSE(alternatives_min, 2, "alternatives_min");
    tr_context_destroy(context);
    tr_model_close(f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_change_no_token),
        cmocka_unit_test(others_change_nothing),
        cmocka_unit_test(prefixes_come_first),
        cmocka_unit_test(draws_follow_the_network),
        cmocka_unit_test(alternatives_differ_at_once),
        cmocka_unit_test(lengths_follow_the_source),
        cmocka_unit_test(the_unknown_token_can_be_forbidden),
        cmocka_unit_test(values_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
