/* Alignments of translations: they equal those that tr_score_tokens computes for the same tokens, spans contain their
 * tokens' texts, results do not depend on threads, batches, neighbours or the cache; and errors of callers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine_fixture.h"
#include "../opening.h"
#include "../sanitized.h"
#include "util/utf8.h"

static const char *const texts[] = {
    "今天天气很好。",
    "你好。再见！",
    "",
    "  \t ",
    " 他说：“明天上午九点，我们在学校门口见。” \r",
    "第一行。\n第二行。\n\n第三行",
    "今天天气很好。",
    "1. 北京是中国的首都。\u30002. 上海是中国最大的城市。",
    "我的电脑装的是Windows 11，你的呢？",
    "\x01",
    "今天\xff天气很好。他在学校\xe5\xad工作。",
    "Hello, world! This is not Chinese.",
    "哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈", /* the translation loops */
    "虽然他很累，但是他还是坚持把工作做完了；大家都觉得他非常了不起，可是他自己却什么也没有说。",
    "你好。你好。你好。",
    "😀\u200b", /* a character in four tokens */
};
enum { COUNT = sizeof texts / sizeof *texts };

static tr_model *model;
static tr_context *context; /* two threads */

static int set_up(void **state)
{
    (void)state;
    model = open_model(TR_MODEL);
    context = open_context(model, 2, 32);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_context_destroy(context);
    tr_model_close(model);
    return 0;
}

static tr_translate_options aligning(void)
{
    tr_translate_options options = tr_translate_default_options();
    options.align = true;
    options.protect = false;
    return options;
}

static tr_result *translate(tr_context *with, const char *const *lines, size_t count, const tr_translate_options *options)
{
    tr_result *results;
    tr_error error;
    if (tr_translate_texts(with, lines, NULL, count, options, &results, &error))
        fail_msg("%s", error.message);
    return results;
}

/* ---------------------------------------------------------------------------------------------------- what must be alike */

static void expect_links(const tr_alignment *got, const tr_alignment *wanted)
{
    assert_int_equal(got->count, wanted->count);
    for (size_t i = 0; i < got->count; i++) {
        assert_int_equal(got->links[i].source, wanted->links[i].source);
        assert_int_equal(got->links[i].target, wanted->links[i].target);
        assert_memory_equal(&got->links[i].weight, &wanted->links[i].weight, sizeof(float));
    }
}

static void expect_spans(const tr_span *got, const tr_span *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].begin, wanted[i].begin);
        assert_int_equal(got[i].end, wanted[i].end);
    }
}

static void expect_same(const tr_result *got, const tr_result *wanted)
{
    assert_string_equal(got->text, wanted->text);
    assert_true(same_ids(&got->source, &wanted->source) && same_ids(&got->target, &wanted->target));
    expect_spans(got->source_spans, wanted->source_spans, wanted->source.count);
    expect_spans(got->target_spans, wanted->target_spans, wanted->target.count);
    expect_links(&got->alignment, &wanted->alignment);
    assert_int_equal(got->hypothesis_count, wanted->hypothesis_count);
    for (size_t i = 0; i < got->hypothesis_count; i++) {
        const tr_translation *a = &got->hypotheses[i], *b = &wanted->hypotheses[i];
        assert_true(same_ids(&a->target, &b->target));
        expect_spans(a->target_spans, b->target_spans, b->target.count);
        expect_links(&a->alignment, &b->alignment);
    }
}

/* The alignment that tr_score_tokens computes for a sentence that was not divided. */
static void expect_scored(tr_context *with, const tr_translate_options *how, const tr_tokens *source,
                          const tr_tokens *target, const tr_alignment *got)
{
    tr_score_options options = tr_score_default_options();
    tr_score *score;
    tr_error error;
    options.align = options.no_end = true;
    options.alignment = how->alignment;
    options.source_language = how->source_language;
    options.target_language = how->target_language;
    if (tr_score_ids(with, source, target, 1, &options, &score, &error))
        fail_msg("%s", error.message);
    expect_links(got, &score->alignment);
    tr_score_array_free(score, 1);
}

/* ------------------------------------------------------------------------------------------------------ tokens and bytes */

static bool is_boundary(const char *text, size_t size, size_t at)
{
    return at == size || ((unsigned char)text[at] & 0xc0) != 0x80;
}

static bool is_white(const char *text, size_t size, size_t at, size_t *length)
{
    return tr_is_space(tr_character(text, size, at, length));
}

/* Spans lie in the text, in order, on character boundaries and begin with no white space; everything else is in one of
 * them. */
static void expect_covered(const char *text, size_t size, const tr_span *spans, size_t count)
{
    size_t at = 0, length;
    for (size_t i = 0; i < count; i++) {
        assert_true(spans[i].begin <= spans[i].end && spans[i].end <= size);
        assert_true(is_boundary(text, size, spans[i].begin) && is_boundary(text, size, spans[i].end));
        if (spans[i].begin == spans[i].end)
            continue;
        assert_false(is_white(text, size, spans[i].begin, &length));
        for (; at < spans[i].begin; at += length)
            if (!is_white(text, size, at, &length))
                fail_msg("\"%s\": no token for byte %zu", text, at);
        at = spans[i].end > at ? spans[i].end : at;
    }
    for (; at < size; at += length)
        if (!is_white(text, size, at, &length))
            fail_msg("\"%s\": no token for byte %zu", text, at);
}

/* A span's text is the piece of its token. */
static void expect_pieces(const char *text, const tr_tokens *tokens, const tr_span *spans)
{
    for (size_t i = 0; i < tokens->count; i++) {
        size_t size;
        const char *piece = tr_target_piece(model, tokens->ids[i], &size);
        if (size == 6 && memcmp(piece, "<0x", 3) == 0)
            continue; /* a byte of a character */
        const size_t space = size >= 3 && memcmp(piece, "\xe2\x96\x81", 3) == 0 ? 3 : 0;
        assert_int_equal(spans[i].end - spans[i].begin, size - space);
        assert_memory_equal(text + spans[i].begin, piece + space, size - space);
    }
}

/* One link for each target token, by source and then by target. */
static void expect_whole(const tr_alignment *links, const tr_tokens *source, const tr_tokens *target)
{
    bool *linked = calloc(target->count + 1, sizeof *linked);
    assert_int_equal(links->count, target->count);
    for (size_t i = 0; i < links->count; i++) {
        const tr_link *l = &links->links[i];
        assert_true(l->source >= 0 && (size_t)l->source < source->count && l->target >= 0);
        assert_true((size_t)l->target < target->count && !linked[l->target] && l->weight > 0 && l->weight <= 1);
        assert_true(!i || l->source > l[-1].source || (l->source == l[-1].source && l->target > l[-1].target));
        linked[l->target] = true;
    }
    free(linked);
}

static void texts_have_tokens_spans_and_links(void **state)
{
    (void)state;
    const tr_translate_options options = aligning();
    tr_result *results = translate(context, texts, COUNT, &options);
    for (size_t i = 0; i < COUNT; i++) {
        const tr_result *r = &results[i];
        tr_buffer clean = {0};
        assert_int_equal(r->source.count, r->source_tokens);
        assert_int_equal(r->target.count, r->target_tokens);
        expect_whole(&r->alignment, &r->source, &r->target);
        assert_true(tr_utf8_clean(texts[i], strlen(texts[i]), &clean));
        assert_int_equal(!!(r->flags & TR_FLAG_INVALID_UTF8), !!strchr(texts[i], '\xff'));
        if (r->source.count) {
            expect_covered(clean.data, clean.size, r->source_spans, r->source.count);
            expect_covered(r->text, r->size, r->target_spans, r->target.count);
            expect_pieces(r->text, &r->target, r->target_spans);
        } else {
            assert_string_equal(r->text, texts[i]); /* nothing was computed */
        }
        tr_buffer_free(&clean);
    }
    assert_int_equal(results[9].source.count, 0); /* the tokenizer sees nothing in it */
    assert_int_equal(results[2].alignment.count + results[3].alignment.count + results[9].alignment.count, 0);
    static const tr_span all = {0, 4};
    for (size_t i = 1; i < 5; i++)
        expect_spans(&results[COUNT - 1].source_spans[i], &all, 1);
    assert_int_equal(results[12].flags & TR_FLAG_LOOP, TR_FLAG_LOOP);
    tr_result_array_free(results, COUNT);
}

static void a_sentence_is_aligned_as_pairs_are(void **state)
{
    (void)state;
    static const tr_align_options ways[] = {
        {TR_ALIGN_AUTO, TR_ALIGN_AUTO, 1}, {0, 1, 1}, {1, TR_ALIGN_MEAN, 0.1f}, {TR_ALIGN_AUTO, 1, 0}};
    tr_translate_options options = aligning();
    options.split = TR_SPLIT_NEVER;
    size_t as_texts = 0, links = 0;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        options.alignment = ways[w];
        tr_result *results = translate(context, texts, COUNT, &options);
        for (size_t i = 0; i < COUNT; i++) {
            const tr_result *r = &results[i];
            links += r->alignment.count;
            if (!r->source.count)
                continue;
            expect_scored(context, &options, &r->source, &r->target, &r->alignment);
            tr_score_options scoring = tr_score_default_options();
            const char *target = r->text;
            tr_text_score *t;
            scoring.align = true;
            scoring.alignment = ways[w];
            assert_int_equal(tr_score_text_pairs(context, &texts[i], NULL, &target, NULL, 1, &scoring, &t, NULL), TR_OK);
            assert_true(same_ids(&t->source, &r->source));
            expect_spans(r->source_spans, t->source_spans, t->source.count);
            if (same_ids(&t->target, &r->target)) { /* the tokenizer may give other tokens than the search found */
                expect_links(&r->alignment, &t->score.alignment);
                expect_spans(r->target_spans, t->target_spans, t->target.count);
                as_texts++;
            }
            tr_text_scores_free(t, 1);
        }
        tr_result_array_free(results, COUNT);
    }
    assert_true(as_texts > 20 && links > 400);
}

/* Token numbers continue from sentence to sentence; bytes are offsets in the whole texts. */
static void sentences_follow_each_other(void **state)
{
    (void)state;
    static const char *const whole[] = {"  你好。\n他在学校工作！今天天气很好。"}, *const parts[] = {"你好。",
                                                                                                     "他在学校工作！",
                                                                                                     "今天天气很好。"};
    static const size_t starts[] = {2, 12, 33};
    const tr_translate_options options = aligning();
    tr_result *all = translate(context, whole, 1, &options), *each = translate(context, parts, 3, &options);
    size_t source = 0, target = 0, link = 0;
    assert_int_equal(all->sentences, 3);
    for (size_t p = 0; p < 3; p++) {
        const char *found = strstr(all->text, each[p].text);
        assert_non_null(found);
        const size_t start = (size_t)(found - all->text);
        const tr_result *one = &each[p];
        for (size_t i = 0; i < one->source.count; i++) {
            assert_int_equal(all->source.ids[source + i], one->source.ids[i]);
            assert_int_equal(all->source_spans[source + i].begin, starts[p] + one->source_spans[i].begin);
            assert_int_equal(all->source_spans[source + i].end, starts[p] + one->source_spans[i].end);
        }
        for (size_t i = 0; i < one->target.count; i++) {
            assert_int_equal(all->target.ids[target + i], one->target.ids[i]);
            assert_int_equal(all->target_spans[target + i].begin, start + one->target_spans[i].begin);
            assert_int_equal(all->target_spans[target + i].end, start + one->target_spans[i].end);
        }
        for (size_t i = 0; i < one->alignment.count; i++) {
            const tr_link *a = &all->alignment.links[link + i], *b = &one->alignment.links[i];
            assert_int_equal(a->source, (int)source + b->source);
            assert_int_equal(a->target, (int)target + b->target);
            assert_memory_equal(&a->weight, &b->weight, sizeof(float));
        }
        source += one->source.count;
        target += one->target.count;
        link += one->alignment.count;
    }
    assert_int_equal(source, all->source.count);
    assert_int_equal(target, all->target.count);
    assert_int_equal(link, all->alignment.count);
    tr_result_array_free(all, 1);
    tr_result_array_free(each, 3);
}

/* A sentence that is longer than the model takes. */
static void pieces_follow_each_other(void **state)
{
    (void)state;
    char text[16384] = "";
    for (int i = 0; i < 150; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "第%d天我们在学校里学习，", i);
    const char *const lines[] = {text};
    tr_translate_options options = aligning();
    options.max_length = 60;
    tr_result *r = translate(context, lines, 1, &options);
    assert_int_equal(r->flags & TR_FLAG_CUT, TR_FLAG_CUT);
    assert_int_equal(r->sentences, 1);
    assert_true(r->source.count > 600);
    expect_whole(&r->alignment, &r->source, &r->target);
    expect_covered(text, strlen(text), r->source_spans, r->source.count);
    expect_covered(r->text, r->size, r->target_spans, r->target.count);
    expect_pieces(r->text, &r->target, r->target_spans);
    tr_result_array_free(r, 1);
}

static void prefixes_are_aligned(void **state)
{
    (void)state;
    static const char *const lines[] = {"今天天气很好。", "我喜欢读书。"}, *const prefixes[] = {"Outside, the weather",
                                                                                                NULL};
    tr_translate_options options = aligning();
    options.prefixes = prefixes;
    tr_result *results = translate(context, lines, 2, &options);
    assert_memory_equal(results[0].text, prefixes[0], strlen(prefixes[0]));
    for (size_t i = 0; i < 2; i++) {
        expect_whole(&results[i].alignment, &results[i].source, &results[i].target);
        expect_scored(context, &options, &results[i].source, &results[i].target, &results[i].alignment);
        expect_pieces(results[i].text, &results[i].target, results[i].target_spans);
    }
    tr_result_array_free(results, 2);
}

/* ------------------------------------------------------------------------------------------------------ in any other way */

static void threads_and_batches_change_nothing(void **state)
{
    (void)state;
    static const int settings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 32}, {3, 5}, {9, 32}}; /* threads, batch size */
    tr_translate_options options = aligning();
    options.search.beam = options.search.n_best = 3;
    tr_result *reference = translate(context, texts, COUNT, &options);
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s += SANITIZED ? 2 : 1)
        for (int reuse = 0; reuse < 2; reuse++) {
            tr_context *other = open_context(model, settings[s][0], settings[s][1]);
            options.use_cache = reuse;
            for (int again = 0; again <= reuse; again++) {
                tr_result *results = translate(other, texts, COUNT, &options);
                for (size_t i = 0; i < COUNT; i++)
                    expect_same(&results[i], &reference[i]);
                tr_result_array_free(results, COUNT);
            }
            tr_context_destroy(other);
        }
    tr_result_array_free(reference, COUNT);
}

static void each_hypothesis_has_its_own(void **state)
{
    (void)state;
    tr_translate_options options = aligning();
    options.search.beam = options.search.n_best = 4;
    options.split = TR_SPLIT_NEVER;
    options.loop_guard = false;
    options.protect = false;
    size_t several = 0;
    tr_result *results = translate(context, texts, COUNT, &options);
    for (size_t i = 0; i < COUNT; i++) {
        const tr_result *r = &results[i];
        for (size_t h = 0; h < r->hypothesis_count && r->source.count; h++) {
            const tr_translation *one = &r->hypotheses[h];
            assert_int_equal(one->target.count, one->tokens);
            expect_scored(context, &options, &r->source, &one->target, &one->alignment);
            expect_covered(one->text, one->size, one->target_spans, one->target.count);
            several += h > 0;
        }
        if (r->hypothesis_count && r->source.count)
            expect_links(&r->hypotheses[0].alignment, &r->alignment);
    }
    assert_true(several > 20);
    tr_result_array_free(results, COUNT);
}

/* A cached result is not used for a request with other options, or with alignments if it has none. */
static void the_memory_has_them(void **state)
{
    (void)state;
    tr_context *own = open_context(model, 1, 8);
    tr_translate_options options = aligning(), without = tr_translate_default_options(), every = aligning();
    every.alignment.threshold = 0;
    tr_result *first = translate(own, texts, 1, &options), *known = translate(own, texts, 1, &options);
    assert_int_equal(first->flags & TR_FLAG_REPEATED, 0);
    assert_int_equal(known->flags & TR_FLAG_REPEATED, TR_FLAG_REPEATED);
    expect_same(known, first);
    tr_result *all = translate(own, texts, 1, &every), *none = translate(own, texts, 1, &without);
    assert_int_equal(all->flags & TR_FLAG_REPEATED, 0);
    assert_int_equal(all->alignment.count, all->source.count * all->target.count);
    assert_int_equal(none->flags & TR_FLAG_REPEATED, 0);
    assert_null(none->alignment.links);
    assert_null(none->source.ids);
    assert_null(none->source_spans);
    without.alignment.threshold = 0.5f; /* without alignments, the threshold does not matter */
    tr_result *same = translate(own, texts, 1, &without), *again = translate(own, texts, 1, &options);
    assert_int_equal(same->flags & TR_FLAG_REPEATED, TR_FLAG_REPEATED);
    expect_same(again, first);
    tr_result_array_free(first, 1);
    tr_result_array_free(known, 1);
    tr_result_array_free(all, 1);
    tr_result_array_free(none, 1);
    tr_result_array_free(same, 1);
    tr_result_array_free(again, 1);
    tr_context_destroy(own);
}

typedef struct taker {
    const tr_result *reference;
    size_t taken;
    int calls, stop_at;
} taker;

static int take(void *argument, size_t first, const tr_result *results, size_t count)
{
    taker *t = argument;
    assert_int_equal(first, t->taken);
    for (size_t i = 0; i < count; i++)
        expect_same(&results[i], &t->reference[first + i]);
    t->taken += count;
    return ++t->calls == t->stop_at;
}

static int count_reports(void *argument, const tr_progress *progress)
{
    taker *t = argument;
    assert_true(progress->texts_done <= progress->texts);
    t->taken = progress->texts_done;
    return ++t->calls == t->stop_at;
}

/* One thread and one batch, so that the callback runs in this thread: cmocka's asserts do not work in others. */
static void results_are_ready_in_order(void **state)
{
    (void)state;
    tr_context *own = open_context(model, 1, 1);
    tr_translate_options options = aligning();
    tr_result *reference = translate(context, texts, COUNT, &options), *results;
    taker t = {.reference = reference, .stop_at = -1}, reports = {.stop_at = -1};
    options.use_cache = false;
    options.on_result = take;
    options.on_result_argument = &t;
    options.on_progress = count_reports;
    options.on_progress_argument = &reports;
    results = translate(own, texts, COUNT, &options);
    assert_int_equal(t.taken, COUNT);
    assert_int_equal(reports.taken, COUNT);
    assert_true(t.calls > 3); /* before all texts are done */
    tr_result_array_free(results, COUNT);
    const int most = reports.calls;
    for (int stop = 1; stop <= most; stop += SANITIZED ? 3 : 1) { /* during searching, aligning and reporting */
        t = (taker){.reference = reference, .stop_at = -1};
        reports = (taker){.stop_at = stop};
        tr_error error;
        assert_int_equal(tr_translate_texts(own, texts, NULL, COUNT, &options, &results, &error), TR_ERROR_CANCELLED);
        assert_null(results);
        assert_int_equal(reports.calls, stop);
    }
    reports.stop_at = -1;
    t = (taker){.reference = reference, .stop_at = 2};
    assert_int_equal(tr_translate_texts(own, texts, NULL, COUNT, &options, &results, NULL), TR_ERROR_CANCELLED);
    assert_int_equal(t.calls, 2);
    t = (taker){.reference = reference, .stop_at = -1};
    results = translate(own, texts, COUNT, &options); /* and the context can be used again */
    assert_int_equal(t.taken, COUNT);
    tr_result_array_free(results, COUNT);
    tr_result_array_free(reference, COUNT);
    tr_context_destroy(own);
}

/* ------------------------------------------------------------------------------------------------------------- languages */

/* The target's language is a target token without text and without a link; the source's language adds no token. */
static void check_languages(const char *name, const char *source, const char *target, bool in_front, const char *text)
{
    tr_model *many;
    tr_context *own = open_way(path_in(TR_LANGUAGES, name, "/model"), (way){.threads = 1}, &many);
    tr_translate_options options = aligning();
    const char *plain = strstr(text, "<< ") ? strstr(text, "<< ") + 3 : text;
    tr_tokens tokens;
    options.max_length = 24;
    options.loop_guard = false;
    options.protect = false;
    options.split = TR_SPLIT_NEVER;
    options.source_language = source;
    options.target_language = target;
    tr_result *r = translate(own, &text, 1, &options);
    assert_int_equal(tr_source_tokens(many, plain, strlen(plain), &tokens, NULL), TR_OK);
    assert_true(same_ids(&r->source, &tokens));
    for (size_t i = 0; i < r->source.count; i++)
        assert_true(r->source_spans[i].begin >= (size_t)(plain - text) && r->source_spans[i].end <= strlen(text));
    assert_int_equal(r->alignment.count, r->target.count - in_front);
    for (size_t i = 0; i < r->alignment.count; i++)
        assert_true(r->alignment.links[i].target >= in_front);
    if (in_front)
        assert_int_equal(r->target_spans[0].end, 0);
    if (plain == text)
        expect_scored(own, &options, &r->source, &r->target, &r->alignment);
    tr_tokens_free(&tokens);
    tr_result_array_free(r, 1);
    tr_context_destroy(own);
    tr_model_close(many);
}

static void languages_are_not_aligned(void **state)
{
    (void)state;
    static const char text[] = "neg fuko kelo bada fuko.";
    check_languages("m2m100", "en", "fr", true, text);
    check_languages("mbart50", "en", "fr", true, text);
    check_languages("nllb", "en", "fr", true, text);
    check_languages("mbart25", "en", "ro", false, text);
    check_languages("madlad", NULL, "fr", false, text);
    check_languages("marian-many", NULL, "fr", false, text);
    check_languages("marian-many", NULL, NULL, false, ">>deu<< neg fuko kelo bada fuko.");
}

/* ---------------------------------------------------------------------------------------------------------------- tokens */

enum { SOURCES = 5, LONGEST = 9 };

static void search_tokens(const char *path, bool forced)
{
    tr_model *own;
    tr_context *with = open_way(path, (way){.threads = 2, .batch_size = 3}, &own);
    tr_model_info info;
    tr_model_get_info(own, &info);
    int32_t ids[SOURCES][LONGEST];
    tr_tokens sources[SOURCES], *plain;
    tr_translate_options options = aligning();
    tr_hypotheses *found;
    tr_error error;
    size_t links = 0;
    for (int i = 0; i < SOURCES; i++) {
        sources[i] = (tr_tokens){ids[i], (size_t)(2 * i)}; /* one is empty */
        for (int t = 0; t < LONGEST; t++)
            ids[i][t] = (int32_t)((i * 53 + t * 37 + 11) % info.source_vocabulary);
    }
    options.max_length = 12;
    options.search.beam = options.search.n_best = 3;
    if (tr_search_tokens(with, sources, NULL, SOURCES, &options, &found, &error) ||
        tr_translate_ids(with, sources, SOURCES, &options, &plain, &error))
        fail_msg("%s: %s", path, error.message);
    for (size_t i = 0; i < SOURCES; i++) {
        assert_int_equal(found[i].items[0].count, plain[i].count);
        for (size_t h = 0; h < found[i].count; h++) {
            const tr_hypothesis *one = &found[i].items[h];
            const tr_tokens target = {one->ids, one->count};
            assert_int_equal(one->alignment.count, sources[i].count ? one->count - (forced && one->count) : 0);
            expect_scored(with, &options, &sources[i], &target, &one->alignment);
            links += one->alignment.count;
        }
    }
    assert_true(links > 0);
    tr_hypotheses_free(found, SOURCES);
    options.align = false;
    assert_int_equal(tr_search_tokens(with, sources, NULL, SOURCES, &options, &found, NULL), TR_OK);
    assert_null(found[1].items[0].alignment.links);
    tr_hypotheses_free(found, SOURCES);
    tr_tokens_array_free(plain, SOURCES);
    tr_context_destroy(with);
    tr_model_close(own);
}

static void hypotheses_of_tokens_have_them(void **state)
{
    (void)state;
    static const char *const names[] = {"swish-3x3-f16", "gelu-4x2-bf16-untied", "swish-1x2-f16-forced",
                                        "mbart-2x2-f32", "m2m100-1x3-f16",       "t5-2x2-f32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        search_tokens(path_in(TR_REFERENCE, names[i], "/model"), strstr(names[i], "forced") || strstr(names[i], "mbart"));
    search_tokens(path_in(TR_BERGAMOT, "ssru-two", ""), false);          /* recurrent, in int8 */
    search_tokens(path_in(TR_BERGAMOT, "attention-two-lex", ""), false); /* with a shortlist */
}

/* ------------------------------------------------------------------------------------------------------------- bad input */

static void refuse(tr_align_options alignment, const char *says)
{
    tr_translate_options options = aligning();
    tr_result *results = (tr_result *)sizeof *results;
    tr_hypotheses *found = (tr_hypotheses *)sizeof *found;
    tr_error error = {0};
    const tr_tokens source = {0};
    options.alignment = alignment;
    assert_int_equal(tr_translate_texts(context, texts, NULL, 1, &options, &results, &error), TR_ERROR_ARGUMENT);
    assert_null(results);
    if (!strstr(error.message, says))
        fail_msg("\"%s\" does not say \"%s\"", error.message, says);
    assert_int_equal(tr_search_tokens(context, &source, NULL, 1, &options, &found, &error), TR_ERROR_ARGUMENT);
    assert_null(found);
    assert_non_null(strstr(error.message, says));
}

static void options_out_of_range(void **state)
{
    (void)state;
    refuse((tr_align_options){99, 0, 1}, "alignment layer: 99 is not below");
    refuse((tr_align_options){-2, 0, 1}, "alignment layer: -2");
    refuse((tr_align_options){0, 99, 1}, "alignment head: 99 is not below");
    refuse((tr_align_options){0, -3, 1}, "alignment head: -3");
    refuse((tr_align_options){0, 0, 1.5f}, "alignment threshold: 1.5 is not between 0 and 1");
    refuse((tr_align_options){0, 0, -1}, "alignment threshold: -1");
    refuse((tr_align_options){0, 0, NAN}, "alignment threshold: ");
    const tr_translate_options options = aligning();
    tr_result *results = translate(context, NULL, 0, &options);
    tr_result_array_free(results, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_tokens_spans_and_links),
        cmocka_unit_test(a_sentence_is_aligned_as_pairs_are),
        cmocka_unit_test(sentences_follow_each_other),
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(prefixes_are_aligned),
        cmocka_unit_test(threads_and_batches_change_nothing),
        cmocka_unit_test(each_hypothesis_has_its_own),
        cmocka_unit_test(the_memory_has_them),
        cmocka_unit_test(results_are_ready_in_order),
        cmocka_unit_test(languages_are_not_aligned),
        cmocka_unit_test(hypotheses_of_tokens_have_them),
        cmocka_unit_test(options_out_of_range),
    };
    return cmocka_run_group_tests_name("alignments", tests, set_up, tear_down);
}
