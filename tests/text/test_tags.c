/* Pairs of tags go around the words of the translation that translate theirs: for given alignments, and with a model, where
 * every tag of random texts comes out once and pairs lie one in the other or side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../opening.h"
#include "../sanitized.h"
#include "text/tags.h"

enum { MOST = 64 };

/* -------------------------------------------------------------------------------------------------- given alignments */

/* Words of a text, separated by spaces, without those in tags. */
static size_t list_words(const char *text, const tr_kept_span *tags, size_t count, tr_span *words)
{
    size_t found = 0, tag = 0;
    for (size_t at = 0; text[at];) {
        if (tag < count && at == tags[tag].begin) {
            at = tags[tag++].end;
            continue;
        }
        if (text[at] == ' ') {
            at++;
            continue;
        }
        const size_t begin = at;
        while (text[at] && text[at] != ' ' && !(tag < count && at == tags[tag].begin))
            at++;
        words[found++] = (tr_span){begin, at};
    }
    return found;
}

static void read_links(const char *links, tr_link *to, size_t *count)
{
    int source, target, length;
    for (*count = 0; sscanf(links, "%d-%d%n", &source, &target, &length) == 2; links += length)
        to[(*count)++] = (tr_link){source, target, 1};
}

/* The translation with the tags of the source in their places. */
static char *place(const char *source, const char *translation, const char *alignment)
{
    tr_plan plan = {0};
    tr_protection protection = {.attempt = 0};
    tr_buffer spans = {0}, out = {0};
    tr_error error;
    tr_text_chunk chunk = {.end = strlen(source)};
    tr_span words[MOST], target[MOST];
    tr_link links[MOST];
    tr_use_place places[TR_CHUNK_SPANS];
    int count = 0;
    size_t at = 0;
    assert_int_equal(tr_spans_find(source, strlen(source), &spans, &error), TR_OK);
    const tr_kept_span *tags = (const tr_kept_span *)(const void *)spans.data;
    const size_t tag_count = spans.size / sizeof *tags;
    assert_int_equal(tr_uses_add(&plan, &protection, source, tags, tag_count, 0, strlen(source), &chunk, &error), TR_OK);
    tr_alignment all = {.links = links};
    read_links(alignment, links, &all.count);
    const tr_tagged tagged = {.translation = translation,
                              .size = strlen(translation),
                              .source = words,
                              .source_count = list_words(source, tags, tag_count, words),
                              .target = target,
                              .target_count = list_words(translation, NULL, 0, target),
                              .alignment = &all};
    assert_int_equal(tr_tags_place(&chunk, source, &tagged, places, &count, &error), TR_OK);
    assert_int_equal(count, tag_count);
    for (int i = 0; i < count; i++) {
        assert_true(places[i].begin >= at && places[i].begin == places[i].end);
        assert_true(tr_buffer_append(&out, translation + at, places[i].begin - at));
        assert_true(tr_use_append(&chunk, source, &tr_uses_of(&chunk)[places[i].use], false, &out));
        at = places[i].begin;
    }
    assert_true(tr_buffer_string(&out, translation + at) && tr_buffer_append(&out, "", 1));
    tr_buffer_free(&spans);
    tr_plan_free(&plan);
    return out.data;
}

static void tags_follow_their_words(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        /* source, translation, alignment, translation with tags */
        {"a <b>b</b> c", "x y z", "0-0 1-1 2-2", "x <b>y</b> z"},
        {"a <b>b</b> c", "y z x", "0-2 1-0 2-1", "<b>y</b> z x"},
        {"<b>a b</b> c", "x y z", "0-1 1-2 2-0", "x <b>y z</b>"},
        /* one inside the other, side by side */
        {"<i>a <b>b</b></i> c", "x y z", "0-1 1-0 2-2", "<i><b>x</b> y</i> z"},
        {"<b>a</b><i>b</i> c", "x y z", "0-1 1-0 2-2", "<i>x</i> <b>y</b> z"},
        {"<b>a</b> <b>b</b> <b>c</b>", "x y z", "0-2 1-1 2-0", "<b>x</b> <b>y</b> <b>z</b>"},
        /* a word that strays is left outside, one that is not aligned inside */
        {"a <b>b c</b> d", "x y z w v", "0-0 1-1 2-2 3-3 1-4", "x <b>y z</b> w v"},
        {"a <b>b c</b>", "x y z w", "0-0 1-1 2-3", "x <b>y z w</b>"},
        /* no word: after what comes before it in the source */
        {"a <b>b</b> c", "x z", "0-0 2-1", "x<b></b> z"},
        {"<b>a</b> b", "y", "1-0", "<b></b>y"},
        {"a <b></b> b", "x y", "0-1 1-0", "x y<b></b>"},
        {"<b><i>a</i></b> b", "y", "1-0", "<b><i></i></b>y"},
        /* an inner pair stays in the outer one */
        {"<a>a <b>b</b></a> c", "x z y", "0-0 1-2 2-1", "<a>x<b></b></a> z y"},
        {"a <b>b <i>c</i></b>", "x y", "0-0 1-1", "x <b>y<i></i></b>"},
        {"<b>a</b> b", "", "", "<b></b>"},
        /* marks after the words stay outside, unless they are inside in the source */
        {"a <b>b</b> .", "x y .", "0-0 1-1 1-2", "x <b>y</b> ."},
        {"a <b>b .</b>", "x y .", "0-0 1-1 2-2", "x <b>y .</b>"},
        /* tags inside a word: the parts are words of their own */
        {"fore<u>see</u>able", "al s zu", "0-2 1-1 2-0", "al <u>s</u> zu"},
        /* tags change places, others' words between them */
        {"he <b>b</b> to <u>d</u> c .", "x d' y b' z .", "0-0 1-3 2-2 3-1 4-4 5-5", "x <u>d'</u> y <b>b'</b> z ."},
        /* no words for one of two pairs */
        {"he <b>b</b> to <u>d</u> c .", "x y d' z .", "0-0 2-1 3-2 4-3 5-4", "x<b></b> y <u>d'</u> z ."},
        /* pairs without words and marks, inside a pair with words */
        {"a <i></i><s><u></u><b></b>c</s>", "x z", "0-0 1-1", "x<i></i> <s><u></u><b></b>z</s>"},
        {"a <u></u>", "x", "0-0", "x<u></u>"},
        {"<u></u>a", "x", "0-0", "<u></u>x"},
        /* a mark right after the pair */
        {"a <b>b</b>, c", "x y , z", "0-0 1-1 2-2 3-3", "x <b>y</b> , z"},
        /* one word becomes two that are apart: the pair goes around one run */
        {"<b>a</b> b", "x y w", "0-0 1-1 0-2", "<b>x</b> y w"},
        /* two words become one; each of two pairs has a part of it */
        {"<b>a</b> <i>b</i> c", "xy z", "0-0 1-0 2-1", "<b>xy</b><i></i> z"},
        /* pairs around all, three in each other */
        {"<a><b><i>a b</i></b></a>", "y x", "0-1 1-0", "<a><b><i>y x</i></b></a>"},
        /* the second of two equal pairs keeps its own words */
        {"<b>a</b> b <b>c</b>", "z y x", "0-2 1-1 2-0", "<b>z</b> y <b>x</b>"},
        /* Markdown */
        {"a **b** c", "y x z", "0-1 1-0 2-2", "**y** x z"},
        {"a [b](http://c.d) e", "y x z", "0-1 1-0 2-2", "[y](http://c.d) x z"},
    };
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *found = place(cases[i][0], cases[i][1], cases[i][2]);
        if (strcmp(found, cases[i][3])) {
            print_message("%s: %s, not %s\n", cases[i][0], found, cases[i][3]);
            wrong++;
        }
        free(found);
    }
    assert_int_equal(wrong, 0);
}

/* ---------------------------------------------------------------------------------------------------------- random texts */

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Words with pairs of tags around runs of them, one in the other and side by side. Tag n is <i n> … </i>. */
static int make_text(uint32_t *seed, tr_buffer *text)
{
    static const char *const words[] = {"我们", "今天", "在", "学校", "里", "学习", "中文", "，",   "老师", "很", "好",
                                        "他",   "喜欢", "吃", "苹果", "和", "北京", "的",   "天气", "{x}",  "。"};
    int open = 0, tags = 0;
    tr_buffer_clear(text);
    for (unsigned k = 0, parts = 4 + draw(seed) % 14; k < parts; k++) {
        char tag[16];
        if (tags < 12 && draw(seed) % 3 == 0) {
            snprintf(tag, sizeof tag, "<i %d>", tags++);
            open++;
            assert_true(tr_buffer_string(text, tag));
        }
        assert_true(tr_buffer_string(text, words[draw(seed) % (sizeof words / sizeof *words)]));
        for (; open && draw(seed) % 2; open--)
            assert_true(tr_buffer_string(text, "</i>"));
    }
    for (; open; open--)
        assert_true(tr_buffer_string(text, "</i>"));
    assert_true(tr_buffer_append(text, "", 1));
    return tags;
}

/* Every tag once, and none closes before it opens. */
static void expect_pairs(const char *source, const char *text, int tags)
{
    int depth = 0, opened = 0;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        depth += at[1] == '/' ? -1 : 1;
        opened += at[1] != '/';
        if (depth < 0)
            fail_msg("%s -> %s", source, text);
    }
    for (int i = 0; i < tags; i++) {
        char tag[16];
        snprintf(tag, sizeof tag, "<i %d>", i);
        const char *at = strstr(text, tag);
        if (!at || strstr(at + 1, tag))
            fail_msg("%s -> %s: %s", source, text, tag);
    }
    if (depth || opened != tags)
        fail_msg("%s -> %s", source, text);
}

/* Whatever is aligned with what, tags come one after the other, which place() checks. */
static void any_alignment_gives_an_order(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int k = 0; k < 20000; k++) {
        char source[128] = "", translation[64] = "", alignment[128] = "", link[16];
        const unsigned words = 1 + draw(&seed) % 5, targets = draw(&seed) % 5, links = draw(&seed) % 7;
        int open = 0;
        for (unsigned i = 0; i < words; i++) {
            for (; open < 4 && draw(&seed) % 3 == 0; open++)
                strcat(source, " <b>");
            strcat(source, draw(&seed) % 4 ? " a" : " .");
            for (; open && draw(&seed) % 2; open--)
                strcat(source, "</b>");
        }
        for (; open && draw(&seed) % 8; open--) /* or it stays open */
            strcat(source, "</b>");
        for (unsigned i = 0; i < targets; i++)
            strcat(translation, draw(&seed) % 3 ? "x " : ". ");
        for (unsigned i = 0; targets && i < links; i++) {
            snprintf(link, sizeof link, "%s%u-%u", i ? " " : "", draw(&seed) % words, draw(&seed) % targets);
            strcat(alignment, link);
        }
        free(place(source + 1, translation, alignment));
    }
}

static void pairs_stay_pairs(void **state)
{
    (void)state;
    enum { TEXTS = SANITIZED ? 24 : 120 };
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *one = open_context(model, 1, 4), *many = open_context(model, 3, 16);
    tr_buffer made[TEXTS] = {0};
    const char *texts[TEXTS];
    int tags[TEXTS];
    uint32_t seed = 7;
    size_t moved = 0;
    for (int i = 0; i < TEXTS; i++) {
        tags[i] = make_text(&seed, &made[i]);
        texts[i] = made[i].data;
    }
    for (int beam = 1; beam <= 3; beam += 2) {
        tr_translate_options o = tr_translate_default_options();
        tr_result *results, *again;
        tr_error error;
        o.search.beam = o.search.n_best = beam;
        o.align = beam == 3;
        if (tr_translate_texts(many, texts, NULL, TEXTS, &o, &results, &error))
            fail_msg("%s", error.message);
        o.align = !o.align; /* which changes no text */
        if (tr_translate_texts(one, texts, NULL, TEXTS, &o, &again, &error))
            fail_msg("%s", error.message);
        for (int i = 0; i < TEXTS; i++) {
            expect_pairs(texts[i], results[i].text, tags[i]);
            for (size_t h = 0; h < results[i].hypothesis_count; h++)
                expect_pairs(texts[i], results[i].hypotheses[h].text, tags[i]);
            assert_string_equal(again[i].text, results[i].text);
            moved += tags[i] > 1 && strstr(results[i].text, "<i 0>") > strstr(results[i].text, "<i 1>");
        }
        tr_result_array_free(results, TEXTS);
        tr_result_array_free(again, TEXTS);
    }
    assert_true(moved > 0); /* they follow the order of English */
    for (int i = 0; i < TEXTS; i++)
        tr_buffer_free(&made[i]);
    tr_context_destroy(one);
    tr_context_destroy(many);
    tr_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tags_follow_their_words),
                                       cmocka_unit_test(any_alignment_gives_an_order), cmocka_unit_test(pairs_stay_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
