/* Alignment models: against figures computed by hand, and on texts whose dictionary is known. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "align/lexicon.h"
#include "formats/shortlist.h"

static tr_team *make_team(int threads)
{
    tr_team *team;
    assert_int_equal(tr_team_create(threads, TR_THREADS_POSIX, &team, NULL), TR_OK);
    return team;
}

static void add(tr_parallel *text, const char *source, const char *target)
{
    int32_t ids[2][8];
    size_t counts[2] = {0, 0};
    for (; *source; source++)
        ids[0][counts[0]++] = *source - 'a';
    for (; *target; target++)
        ids[1][counts[1]++] = *target - 'a';
    assert_true(tr_parallel_add(text, ids[0], counts[0], ids[1], counts[1]));
}

static tr_align_model learn(const tr_parallel *text, int given, int vocabulary, tr_align_settings settings)
{
    const int sizes[2] = {vocabulary, vocabulary};
    tr_team *team = make_team(2);
    tr_align_model model;
    assert_int_equal(tr_align_learn(text, given, sizes, &settings, team, NULL, NULL, &model, NULL), TR_OK);
    tr_team_destroy(team);
    return model;
}

/* The index of a candidate, which must exist. */
static size_t place_of(const tr_align_model *model, char given, char explained)
{
    const tr_align_candidates *c = &model->candidates;
    for (size_t i = c->starts[given - 'a']; i < c->starts[given - 'a' + 1]; i++)
        if (c->ids[i] == explained - 'a')
            return i;
    fail_msg("%c is no candidate of %c", explained, given);
    return 0;
}

static void expect_near(double value, double expected)
{
    if (fabs(value - expected) > 5e-5)
        fail_msg("%.6f, not %.6f", value, expected);
}

/* ------------------------------------------------------------------------------------------------------------- by hand */

/* das Haus, das Buch, ein Buch; the house, the book, a book: Koehn, Statistical Machine Translation (2010), figure 4.4.
 * Columns are iterations 1 to 3. */
static void model_1_matches_koehn(void **unused)
{
    static const struct {
        char given, explained;
        double t[3];
    } figures[] = {{'a', 'a', {.5, .6364, .7479}},  {'a', 'c', {.25, .1818, .1208}}, {'a', 'b', {.25, .1818, .1313}},
                   {'c', 'a', {.25, .1818, .1208}}, {'c', 'c', {.5, .6364, .7479}},  {'c', 'd', {.25, .1818, .1313}},
                   {'d', 'd', {.5, .5714, .6534}},  {'d', 'c', {.5, .4286, .3466}},  {'b', 'a', {.5, .4286, .3466}},
                   {'b', 'b', {.5, .5714, .6534}}};
    (void)unused;
    tr_parallel text = {0};
    add(&text, "ab", "ab");
    add(&text, "ac", "ac");
    add(&text, "dc", "dc");
    for (int iterations = 1; iterations <= 3; iterations++) {
        tr_align_model model = learn(&text, 0, 4, (tr_align_settings){.iterations = iterations});
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            expect_near((double)model.t[place_of(&model, figures[i].given, figures[i].explained)],
                        figures[i].t[iterations - 1]);
        tr_align_free(&model);
    }
    tr_parallel_free(&text);
}

/* With tension 2, positions 1 and 2 of 2: d is 1 on the diagonal and e^-1 beside it. */
static void diagonal_matches_dyer(void **unused)
{
    (void)unused;
    const double on = 1 / (1 + exp(-1)), beside = 1 - on;
    tr_parallel text = {0};
    add(&text, "ab", "cd");
    for (int given = 0; given < 2; given++) {
        const char *g = given ? "cd" : "ab", *e = given ? "ab" : "cd";
        tr_align_model model = learn(&text, given, 4, (tr_align_settings){.iterations = 1, .tension = 2, .null = .25});
        expect_near(tr_align_count(&model, place_of(&model, g[0], e[0])), .75 * on);
        expect_near(tr_align_count(&model, place_of(&model, g[0], e[1])), .75 * beside);
        expect_near(tr_align_count(&model, place_of(&model, g[1], e[1])), .75 * on);
        for (int i = 0; i < 2; i++)
            expect_near((double)atomic_load(&model.null_counts[e[i] - 'a']) / TR_ALIGN_UNIT, .25);
        expect_near((double)model.t[place_of(&model, g[0], e[0])], on);
        tr_align_free(&model);
    }
    tr_parallel_free(&text);
    /* the given token a explains itself only; b, c and b are attributed wholly to it */
    add(&text, "a", "bcb");
    tr_align_model model = learn(&text, 0, 4, (tr_align_settings){.iterations = 1, .tension = 4});
    expect_near(tr_align_count(&model, place_of(&model, 'a', 'b')), 2);
    expect_near(tr_align_count(&model, place_of(&model, 'a', 'c')), 1);
    tr_align_free(&model);
    tr_parallel_free(&text);
}

/* exp(digamma(2.5)) and exp(digamma(1.5)) over exp(digamma(4)), from tables: 0.70315664, 0.03648998, 1.25611767. */
static void priors_use_digamma(void **unused)
{
    (void)unused;
    tr_parallel text = {0};
    add(&text, "a", "bcb");
    tr_align_model model = learn(&text, 0, 4, (tr_align_settings){.iterations = 1, .alpha = .5});
    expect_near((double)model.t[place_of(&model, 'a', 'b')], exp(0.70315664 - 1.25611767));
    expect_near((double)model.t[place_of(&model, 'a', 'c')], exp(0.03648998 - 1.25611767));
    tr_align_free(&model);
    tr_parallel_free(&text);
}

/* ---------------------------------------------------------------------------------------------------------------- text */

static void useless_pairs_are_left_out(void **unused)
{
    (void)unused;
    int32_t ids[TR_PARALLEL_LENGTH + 1] = {0};
    tr_parallel text = {0};
    assert_true(tr_parallel_add(&text, ids, 0, ids, 3));
    assert_true(tr_parallel_add(&text, ids, 3, ids, 0));
    assert_true(tr_parallel_add(&text, ids, TR_PARALLEL_LENGTH + 1, ids, 3));
    assert_true(tr_parallel_add(&text, ids, TR_PARALLEL_LENGTH, ids, TR_PARALLEL_LENGTH));
    assert_int_equal(text.pairs, 1);
    assert_int_equal(text.empty, 2);
    assert_int_equal(text.too_long, 1);
    tr_parallel_free(&text);
}

/* Pair i is made of i alone, in both sides; the source has i % 3 + 1 of them. */
static void memory_is_bounded(void **unused)
{
    enum { PAIRS = 5000, MOST = 1000 };
    (void)unused;
    tr_parallel text = {.max_tokens = MOST};
    for (int32_t i = 0; i < PAIRS; i++) {
        const int32_t ids[3] = {i, i, i};
        assert_true(tr_parallel_add(&text, ids, (size_t)i % 3 + 1, ids, 1));
        assert_true(text.side[0].size + text.side[1].size <= MOST);
    }
    assert_int_equal(text.given, PAIRS);
    assert_true(text.side[0].size + text.side[1].size > MOST / 3);
    assert_int_equal(text.pairs, (PAIRS + text.stride - 1) / text.stride);
    for (size_t p = 0; p < text.pairs; p++) {
        int lengths[2];
        const int32_t expected = (int32_t)(p * text.stride);
        const int32_t *source = tr_parallel_sentence(&text, 0, p, &lengths[0]);
        const int32_t *target = tr_parallel_sentence(&text, 1, p, &lengths[1]);
        assert_int_equal(lengths[0], expected % 3 + 1);
        assert_int_equal(lengths[1], 1);
        assert_int_equal(source[lengths[0] - 1], expected);
        assert_int_equal(target[0], expected);
    }
    tr_parallel_free(&text);
}

/* A token beside more others than a row has room for keeps the most typical ones. */
static void candidates_are_bounded(void **unused)
{
    enum { OTHERS = 2 * TR_ALIGN_CANDIDATES_EACH, OFTEN = TR_ALIGN_CANDIDATES_EACH, VOCABULARY = OTHERS + 1 };
    (void)unused;
    static const int sizes[2] = {VOCABULARY, VOCABULARY};
    tr_parallel text = {0};
    const int32_t token = 0, stranger = 1;
    for (int32_t other = 1; other <= OTHERS; other++)
        for (int times = 0; times < (other > OTHERS - OFTEN ? 2 : 1); times++) {
            assert_true(tr_parallel_add(&text, &token, 1, &other, 1));
            if (other == OTHERS) /* as often, but in other pairs as well */
                assert_true(tr_parallel_add(&text, &stranger, 1, &other, 1));
        }
    tr_team *team = make_team(3);
    tr_align_candidates c;
    assert_int_equal(tr_align_candidates_find(&text, 0, sizes, team, &c, NULL), TR_OK);
    assert_int_equal(c.starts[1] - c.starts[0], TR_ALIGN_CANDIDATES_EACH);
    assert_int_equal(c.starts[2] - c.starts[1], 1);
    assert_int_equal(c.starts[VOCABULARY], TR_ALIGN_CANDIDATES_EACH + 1);
    assert_int_equal(c.ids[c.starts[1]], OTHERS);
    /* rates: 2 for the tokens that occur twice; 1 for OTHERS and those that occur once: the lowest id, then from OTHERS -
     * OFTEN + 1 on */
    assert_int_equal(c.ids[0], 1);
    for (int i = 1; i < TR_ALIGN_CANDIDATES_EACH; i++)
        assert_int_equal(c.ids[i], OTHERS - OFTEN + i);
    tr_align_candidates_free(&c);
    tr_team_destroy(team);
    tr_parallel_free(&text);
}

/* ------------------------------------------------------------------------------------------------------------- lexicon */

enum { WORDS = 60, END = 0, ARTICLE = WORDS + 1, SOURCES = WORDS + 1, TARGETS = WORDS + 2 };

static uint32_t state_of_chance;

static int chance(int below)
{
    state_of_chance = state_of_chance * 1664525 + 1013904223;
    return (int)((state_of_chance >> 8) % (uint32_t)below);
}

static int32_t translation_of(int32_t word)
{
    return (word * 7 + 3) % WORDS + 1;
}

/* Sentences of words 1 to WORDS; neighbours change places now and then, and articles come in. */
static tr_parallel make_text(int pairs)
{
    tr_parallel text = {0};
    state_of_chance = 7;
    for (int p = 0; p < pairs; p++) {
        int32_t source[10], target[24];
        size_t m = 2 + (size_t)chance(8), n = 0;
        for (size_t i = 0; i < m; i++) {
            source[i] = 1 + chance(WORDS);
            if (chance(3) == 0)
                target[n++] = ARTICLE;
            target[n++] = translation_of(source[i]);
            if (n > 1 && chance(4) == 0) {
                const int32_t last = target[n - 1];
                target[n - 1] = target[n - 2];
                target[n - 2] = last;
            }
        }
        assert_true(tr_parallel_add(&text, source, m, target, n));
    }
    return text;
}

static tr_shortlist learn_lists(const tr_parallel *text, tr_lexicon_settings settings, const int32_t *also, int threads)
{
    static const int sizes[2] = {SOURCES, TARGETS};
    tr_team *team = make_team(threads);
    tr_shortlist list;
    tr_error error;
    settings.align = tr_align_default();
    if (tr_lexicon_learn(text, sizes, &settings, also, team, NULL, NULL, &list, &error))
        fail_msg("%s", error.message);
    tr_team_destroy(team);
    assert_int_equal(list.sources, SOURCES);
    assert_int_equal(list.offsets[SOURCES], list.count);
    return list;
}

static bool allows(const tr_shortlist *list, int32_t source, int32_t target)
{
    bool found = false;
    for (int32_t i = list->offsets[source]; i < list->offsets[source + 1]; i++) {
        assert_true(i == list->offsets[source] || list->words[i - 1] < list->words[i]);
        found |= list->words[i] == target;
    }
    return found;
}

static void dictionary_is_found(void **unused)
{
    (void)unused;
    tr_parallel text = make_text(400);
    tr_shortlist list = learn_lists(&text, (tr_lexicon_settings){.first = 1, .best = 1, .end_id = END}, NULL, 1);
    for (int32_t word = 1; word <= WORDS; word++) {
        assert_int_equal(list.offsets[word + 1] - list.offsets[word], 1);
        assert_true(allows(&list, word, translation_of(word)));
    }
    /* the list of EOS: EOS itself and the most frequent token */
    assert_int_equal(list.offsets[END + 1], 2);
    assert_true(allows(&list, END, END) && allows(&list, END, ARTICLE));
    tr_shortlist_free(&list);
    tr_parallel_free(&text);
}

static void threads_change_nothing(void **unused)
{
    (void)unused;
    tr_parallel text = make_text(300);
    const tr_lexicon_settings settings = {.first = 5, .best = 4, .end_id = END};
    tr_shortlist one = learn_lists(&text, settings, NULL, 1), four = learn_lists(&text, settings, NULL, 4);
    assert_int_equal(one.count, four.count);
    assert_memory_equal(one.offsets, four.offsets, (SOURCES + 1) * sizeof *one.offsets);
    assert_memory_equal(one.words, four.words, (size_t)one.count * sizeof *one.words);
    for (int32_t word = 1; word <= WORDS; word++)
        assert_in_range(one.offsets[word + 1] - one.offsets[word], 1, 4);
    tr_shortlist_free(&one);
    tr_shortlist_free(&four);
    tr_parallel_free(&text);
}

/* Vocabularies without EOS: frequent tokens, and tokens that every list must have, also for words that the text never
 * has. */
static void lists_have_frequent_and_required_tokens(void **unused)
{
    (void)unused;
    int32_t also[SOURCES];
    tr_parallel text = {0};
    const int32_t pair[2] = {1, 2};
    assert_true(tr_parallel_add(&text, pair, 1, pair + 1, 1));
    for (int s = 0; s < SOURCES; s++)
        also[s] = s == 9 ? 40 : -1;
    const tr_lexicon_settings bare = {.first = 3, .best = 4, .end_id = END, .bare_source = true};
    tr_shortlist list = learn_lists(&text, bare, also, 1);
    for (int s = 0; s < SOURCES; s++) {
        assert_true(allows(&list, s, END) && allows(&list, s, 2));
        assert_int_equal(list.offsets[s + 1] - list.offsets[s], s == 9 ? 3 : 2);
    }
    assert_true(allows(&list, 9, 40));
    tr_shortlist_free(&list);
    tr_parallel_free(&text);
}

static int stop_at_once(void *argument, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    ++*(int *)argument;
    return 1;
}

static void learning_can_be_stopped(void **unused)
{
    static const int sizes[2] = {SOURCES, TARGETS};
    (void)unused;
    tr_parallel text = make_text(50);
    tr_team *team = make_team(1);
    tr_shortlist list;
    tr_error error;
    int calls = 0;
    const tr_lexicon_settings settings = {.first = 1, .best = 1, .end_id = END, .align = tr_align_default()};
    assert_int_equal(tr_lexicon_learn(&text, sizes, &settings, NULL, team, stop_at_once, &calls, &list, &error),
                     TR_ERROR_CANCELLED);
    assert_int_equal(calls, 1);
    assert_null(list.offsets);
    tr_team_destroy(team);
    tr_parallel_free(&text);
}

/* What is written is Marian's file, as the reader checks it. */
static void lists_are_written(void **unused)
{
    (void)unused;
    char path[] = "/tmp/translate-align-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    tr_parallel text = make_text(100);
    tr_shortlist list = learn_lists(&text, (tr_lexicon_settings){.first = 2, .best = 3, .end_id = END}, NULL, 2), read = {0};
    tr_error error;
    tr_file file;
    const tr_config config = {.source_vocabulary = SOURCES, .target_vocabulary = TARGETS};
    assert_int_equal(tr_shortlist_write(&list, path, &error), TR_OK);
    assert_int_equal(tr_file_open(path, TR_LOAD_COPY, &file, &error), TR_OK);
    if (tr_shortlist_read((tr_bytes){file.data, file.size}, &read, &error) || tr_shortlist_check(&read, &config, &error))
        fail_msg("%s", error.message);
    assert_int_equal(read.first, list.first);
    assert_int_equal(read.best, 3);
    assert_int_equal(read.count, list.count);
    assert_memory_equal(read.offsets, list.offsets, (SOURCES + 1) * sizeof *list.offsets);
    assert_memory_equal(read.words, list.words, (size_t)list.count * sizeof *list.words);
    tr_shortlist_free(&read);
    tr_file_close(&file);
    assert_int_equal(tr_shortlist_write(&list, "/nowhere/at/all.bin", &error), TR_ERROR_IO);
    tr_shortlist_free(&list);
    tr_parallel_free(&text);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_1_matches_koehn),
        cmocka_unit_test(diagonal_matches_dyer),
        cmocka_unit_test(priors_use_digamma),
        cmocka_unit_test(useless_pairs_are_left_out),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(candidates_are_bounded),
        cmocka_unit_test(dictionary_is_found),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(lists_have_frequent_and_required_tokens),
        cmocka_unit_test(learning_can_be_stopped),
        cmocka_unit_test(lists_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
