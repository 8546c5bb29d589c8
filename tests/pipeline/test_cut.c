/* Planning texts with a tokenizer made for the test: each character that is not white space is a token, its code point; 漢
 * becomes nine tokens, and U+200D none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/utf8.h"
#include "text/plan.h"

enum { END = 7, WIDE = 0x6f22, NOTHING = 0x200d };

/* Replaces the library's tokenizer, which is not linked. */
struct tr_tokenizer {
    bool fails;
    size_t bytes; /* bytes tokenised so far */
};

tr_status tr_tokenizer_encode(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids, tr_error *error)
{
    ((tr_tokenizer *)(uintptr_t)tokenizer)->bytes += size;
    if (tokenizer->fails)
        return tr_fail(error, TR_ERROR_FORMAT, "fake: fails");
    size_t length;
    for (size_t i = 0; i < size; i += length) {
        const int32_t c = tr_character(text, size, i, &length);
        const int copies = tr_is_space(c) || c == NOTHING ? 0 : c == WIDE ? 9 : 1;
        for (int k = 0; k < copies; k++)
            assert_true(tr_ids_append(ids, &c, 1));
    }
    return TR_OK;
}

/* Plans text; checks that the chunks' ids are those of the text in order, and within bounds. */
static tr_text plan_checked(tr_plan *plan, const char *data, size_t size, int limit, tr_split split, tr_tokenizer *f)
{
    const tr_language_pair pair = {.tokenizer = f, .eos_id = END, .limit = limit};
    tr_text text;
    tr_error error;
    assert_int_equal(tr_plan_text(plan, &pair, NULL, split, data, size, &text, &error), TR_OK);
    tr_ids whole = {0};
    tr_tokenizer uncounted = {0};
    assert_int_equal(tr_tokenizer_encode(&uncounted, text.data, text.size, &whole, NULL), TR_OK);
    size_t at = 0, end = 0;
    for (size_t s = 0; s < text.count; s++) {
        const tr_text_chunk *chunk = &plan->chunks[text.first + s];
        const int32_t *ids = plan->ids.data + chunk->ids;
        assert_true(chunk->begin >= end && chunk->end >= chunk->begin && chunk->end <= text.size);
        assert_int_equal(tr_skip_space(text.data, chunk->begin, end), chunk->begin);
        end = chunk->end;
        assert_true(chunk->length >= 1 && chunk->length <= limit + 1);
        assert_int_equal(ids[chunk->length - 1], END);
        assert_true(at + (size_t)chunk->length - 1 <= whole.size);
        if (chunk->length > 1)
            assert_memory_equal(ids, whole.data + at, ((size_t)chunk->length - 1) * sizeof *ids);
        at += (size_t)chunk->length - 1;
    }
    assert_int_equal(at, whole.size);
    assert_int_equal(tr_skip_space(text.data, text.size, end), text.size);
    tr_ids_free(&whole);
    return text;
}

static tr_text plan_string(tr_plan *plan, const char *data, int limit)
{
    tr_tokenizer f = {0};
    return plan_checked(plan, data, strlen(data), limit, TR_SPLIT_AUTO, &f);
}

static void expect_pieces(const char *data, int limit, const char *const *pieces, size_t count, unsigned flags)
{
    tr_plan plan = {0};
    tr_text text = plan_string(&plan, data, limit);
    assert_int_equal(text.count, count);
    assert_int_equal(text.flags, flags);
    for (size_t i = 0; i < count; i++) {
        const tr_text_chunk *chunk = &plan.chunks[i];
        assert_int_equal(chunk->end - chunk->begin, strlen(pieces[i]));
        assert_memory_equal(text.data + chunk->begin, pieces[i], strlen(pieces[i]));
    }
    tr_text_free(&text);
    tr_plan_free(&plan);
}

#define EXPECT(data, limit, flags, ...)                                                                                     \
    do {                                                                                                                    \
        const char *const pieces_[] = {__VA_ARGS__};                                                                        \
        expect_pieces(data, limit, pieces_, sizeof pieces_ / sizeof *pieces_, flags);                                       \
    } while (0)

static void sentences_that_fit_stay_whole(void **state)
{
    (void)state;
    EXPECT("abcd", 4, 0, "abcd");
    EXPECT(" 你好。再见！ ", 3, 0, "你好。", "再见！");
    EXPECT("a, b, c", 5, 0, "a, b, c");
    expect_pieces("", 4, NULL, 0, 0);
    expect_pieces(" \r", 4, NULL, 0, 0);
}

static void long_ones_are_cut_at_marks(void **state)
{
    (void)state;
    EXPECT("甲乙丙丁，戊己庚辛", 8, TR_FLAG_CUT, "甲乙丙丁，", "戊己庚辛");
    EXPECT("甲乙丙，丁戊己庚辛", 8, TR_FLAG_CUT, "甲乙丙，", "丁戊己庚辛");
    EXPECT("abcd efgh", 7, TR_FLAG_CUT, "abcd", "efgh");
    EXPECT("abcd,efgh", 8, TR_FLAG_CUT, "abcd", ",efgh");
    EXPECT("ab, cd efg", 7, TR_FLAG_CUT, "ab, cd", "efg");
    EXPECT("abcdefgh", 7, TR_FLAG_CUT, "abcd", "efgh");
}

static void a_character_of_many_tokens_is_cut_between_them(void **state)
{
    (void)state;
    EXPECT("漢", 9, 0, "漢");
    EXPECT("漢", 4, TR_FLAG_CUT, "漢", "", "");
    EXPECT("a漢b", 9, TR_FLAG_CUT, "a", "漢", "b");
    EXPECT("漢漢", 1, TR_FLAG_CUT, "漢", "", "", "", "", "", "", "", "", "漢", "", "", "", "", "", "", "", "");
}

static void text_without_tokens_stays(void **state)
{
    (void)state;
    EXPECT("\u200d\u200d", 4, 0, "\u200d\u200d");
    tr_plan plan = {0};
    tr_text text = plan_string(&plan, "\u200d", 4);
    assert_int_equal(plan.chunks[0].length, 1);
    tr_text_free(&text);
    tr_plan_free(&plan);
}

static void bad_utf8_is_replaced(void **state)
{
    (void)state;
    tr_plan plan = {0};
    tr_tokenizer f = {0};
    tr_text text = plan_checked(&plan, "a\xff\0z", 4, 9, TR_SPLIT_AUTO, &f);
    assert_int_equal(text.flags, TR_FLAG_INVALID_UTF8);
    assert_string_equal(text.data, "a\ufffd\ufffdz");
    assert_int_equal(text.count, 1);
    tr_text_free(&text);
    tr_plan_free(&plan);
}

static void split_never_keeps_a_text_whole(void **state)
{
    (void)state;
    tr_plan plan = {0};
    tr_tokenizer f = {0};
    static const char data[] = " 你好。\n再见。 ";
    tr_text text = plan_checked(&plan, data, strlen(data), 9, TR_SPLIT_NEVER, &f);
    assert_int_equal(text.count, 1);
    assert_int_equal(text.sentences, 1);
    tr_text_free(&text);
    text = plan_checked(&plan, data, strlen(data), 4, TR_SPLIT_NEVER, &f);
    assert_int_equal(text.first, 1);
    assert_int_equal(text.count, 2);
    assert_int_equal(text.flags, TR_FLAG_CUT);
    tr_text_free(&text);
    tr_plan_free(&plan);
}

/* Long texts without punctuation: pieces of moderate size, and no byte is tokenised more than a few times. */
static void much_text_is_cut_in_linear_time(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "中", "漢", "ab ", "中，", "a,", " ", "\u200d", "中   "};
    const size_t size = 1 << 18;
    char *data = malloc(size);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t unit = strlen(units[u]);
        size_t n = 0;
        for (; n + unit <= size; n += unit)
            memcpy(data + n, units[u], unit);
        static const int limits[] = {511, 20, 1};
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            tr_plan plan = {0};
            tr_tokenizer f = {0};
            tr_text text = plan_checked(&plan, data, n, limits[l], TR_SPLIT_AUTO, &f);
            assert_true(f.bytes < 20 * n);
            const size_t least = limits[l] < TR_PIECE_TOKENS ? (size_t)limits[l] : TR_PIECE_TOKENS;
            for (size_t s = 0; s < text.count; s++)
                assert_true((size_t)plan.chunks[s].length <= least + 1);
            if (plan.ids.size > 2 * text.count && limits[l] > 1)
                assert_true(text.count <= plan.ids.size / (least / 4 + 1));
            tr_text_free(&text);
            tr_plan_free(&plan);
        }
    }
    free(data);
}

static void random_texts_lose_nothing(void **state)
{
    (void)state;
    static const char *const parts[] = {"a",  "b",      "中", "漢", "，", ", ",  " ",   "。",
                                        "\n", "\u200d", "é",  "😀",  "、", "1,0", "\xff"};
    uint32_t random = 1;
    tr_plan plan = {0};
    for (int round = 0; round < 5000; round++) {
        char data[512] = "";
        random = random * 1664525 + 1013904223;
        const int limit = 1 + (int)(random >> 20) % 30;
        for (int i = 0; i < 80; i++) {
            random = random * 1664525 + 1013904223;
            strcat(data, parts[(random >> 16) % (sizeof parts / sizeof *parts)]);
        }
        tr_text text = plan_string(&plan, data, limit);
        tr_text_free(&text);
        tr_plan_clear(&plan);
    }
    tr_plan_free(&plan);
}

static void failure_is_passed_on(void **state)
{
    (void)state;
    tr_tokenizer failing = {.fails = true};
    const tr_language_pair pair = {.tokenizer = &failing, .eos_id = END, .limit = 9};
    tr_plan plan = {0};
    tr_text text;
    tr_error error;
    assert_int_equal(tr_plan_text(&plan, &pair, NULL, TR_SPLIT_AUTO, "a\xff", 2, &text, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "fake: fails");
    tr_text_free(&text);
    tr_plan_free(&plan);
}

/* Models that were trained without EOS on the source. */
static void sources_may_have_no_eos(void **state)
{
    (void)state;
    tr_tokenizer f = {0};
    const tr_language_pair pair = {.tokenizer = &f, .eos_id = -1, .limit = 100};
    tr_plan plan = {0};
    tr_text text;
    assert_int_equal(tr_plan_text(&plan, &pair, NULL, TR_SPLIT_NEVER, "ab c", 4, &text, NULL), TR_OK);
    assert_int_equal(text.count, 1);
    assert_int_equal(plan.chunks[text.first].length, 3);
    assert_int_equal(plan.ids.data[plan.chunks[text.first].ids + 2], 'c');
    assert_int_equal(tr_plan_text(&plan, &pair, NULL, TR_SPLIT_NEVER, "\xe2\x80\x8d", 3, &text, NULL), TR_OK);
    assert_int_equal(text.count, 1);
    assert_int_equal(plan.chunks[text.first].tokens, 0);
    tr_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_that_fit_stay_whole),
        cmocka_unit_test(long_ones_are_cut_at_marks),
        cmocka_unit_test(a_character_of_many_tokens_is_cut_between_them),
        cmocka_unit_test(text_without_tokens_stays),
        cmocka_unit_test(bad_utf8_is_replaced),
        cmocka_unit_test(split_never_keeps_a_text_whole),
        cmocka_unit_test(much_text_is_cut_in_linear_time),
        cmocka_unit_test(random_texts_lose_nothing),
        cmocka_unit_test(failure_is_passed_on),
        cmocka_unit_test(sources_may_have_no_eos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
