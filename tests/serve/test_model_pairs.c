/* The pairs of languages that a folder of models has, against the search for routes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/model_index.h"
#include "serve/model_pairs.h"

/* ------------------------------------------------------------------------------------------------------------ the folder */

typedef struct made {
    const char *sources, *targets; /* codes, separated by spaces */
} made;

static char *copy(const char *text)
{
    char *const copied = malloc(strlen(text) + 1);
    assert_non_null(copied);
    return strcpy(copied, text);
}

static void add_codes(tr_languages *side, const char *codes)
{
    char code[TR_LANGUAGE];
    int used;
    for (const char *at = codes; sscanf(at, "%15s%n", code, &used) == 1; at += used)
        assert_int_equal(tr_languages_add(side, code, strlen(code), 0, NULL), TR_OK);
}

static tr_model_index *make_index(const made *list, size_t count)
{
    tr_model_index *const m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->folder = copy("folder");
    m->items = calloc(count, sizeof *m->items);
    assert_non_null(m->items);
    for (; m->count < count; m->count++) {
        tr_indexed *const item = &m->items[m->count];
        item->path = copy("folder/model");
        item->name = item->path + strlen("folder/");
        add_codes(&item->sources, list[m->count].sources);
        add_codes(&item->targets, list[m->count].targets);
    }
    return m;
}

static void join_codes(const json_t *codes, char *joined, size_t room)
{
    assert_true(json_is_array(codes));
    *joined = 0;
    for (size_t i = 0; i < json_array_size(codes); i++) {
        const size_t used = strlen(joined);
        snprintf(joined + used, room - used, "%s%s", i ? " " : "", json_string_value(json_array_get(codes, i)));
    }
}

static void check(const json_t *codes, const char *expected)
{
    char joined[1000];
    join_codes(codes, joined, sizeof joined);
    assert_string_equal(joined, expected);
}

static bool has(const json_t *codes, const char *code)
{
    for (size_t i = 0; i < json_array_size(codes); i++)
        if (strcmp(json_string_value(json_array_get(codes, i)), code) == 0)
            return true;
    return false;
}

/* ----------------------------------------------------------------------------------------------------------------- tests */

static void languages_have_the_own_spelling_and_come_once(void **state)
{
    (void)state;
    static const made list[] = {{"zho eng", "fra_Latn zh_CN"}, {"zh", "en"}, {"por_Latn pt-BR", "nob ROMANCE mul en-GB"}};
    tr_model_index *const index = make_index(list, 3);
    model_pairs *const p = model_pairs_create(index, NULL);
    assert_non_null(p);
    check(model_pairs_sources(p), "en pt pt-BR zh-Hans");
    check(model_pairs_targets(p), "en fr nb zh-Hans");
    json_t *const sources = model_pairs_of_model(p, 0, false), *const targets = model_pairs_of_model(p, 2, true);
    check(sources, "en zh-Hans");
    check(targets, "en nb");
    json_decref(sources);
    json_decref(targets);
    model_pairs_free(p);
    tr_model_index_close(index);
}

static void ways_go_over_one_model_or_two(void **state)
{
    (void)state;
    static const made list[] = {{"zh", "en"}, {"en", "fr"}, {"fr", "vi"}, {"ja", "ko"}};
    tr_model_index *const index = make_index(list, 4);
    model_pairs *const p = model_pairs_create(index, NULL);
    assert_non_null(p);
    check(model_pairs_from(p, "zh-Hans"), "en fr"); /* vi would need three */
    check(model_pairs_from(p, "en"), "fr vi");
    check(model_pairs_from(p, "ja"), "ko");
    check(model_pairs_to(p, "vi"), "en fr");
    check(model_pairs_to(p, "en"), "zh-Hans");
    assert_ptr_equal(model_pairs_to(p, "en"), model_pairs_to(p, "en"));
    assert_null(model_pairs_from(p, "ko"));
    assert_null(model_pairs_to(p, "zh-Hans"));
    assert_null(model_pairs_from(p, "zh"));
    assert_null(model_pairs_from(p, ""));
    assert_null(model_pairs_from(p, "a code that is much too long"));
    model_pairs_free(p);
    tr_model_index_close(index);
}

static void scripts_must_fit_in_between(void **state)
{
    (void)state;
    static const made list[] = {{"ja", "zh_Hant"}, {"zh_Hans", "ko"}, {"zh_Hant", "vi"}, {"zho_Hans zho_Hant", "zho_Hans"}};
    tr_model_index *const index = make_index(list, 4);
    model_pairs *const p = model_pairs_create(index, NULL);
    assert_non_null(p);
    check(model_pairs_from(p, "ja"), "vi zh-Hant");
    check(model_pairs_from(p, "zh-Hant"), "vi zh-Hans");
    check(model_pairs_from(p, "zh-Hans"), "ko");
    model_pairs_free(p);
    tr_model_index_close(index);
}

/* What is listed has a route, also with codes that match only nearly; and what has one is listed, without those. */
static void check_with_routes(const made *list, size_t count, bool exact)
{
    tr_model_index *const index = make_index(list, count);
    model_pairs *const p = model_pairs_create(index, NULL);
    assert_non_null(p);
    const json_t *const sources = model_pairs_sources(p), *const targets = model_pairs_targets(p);
    for (size_t i = 0; i < json_array_size(sources); i++)
        for (size_t k = 0; k < json_array_size(targets); k++) {
            const char *const source = json_string_value(json_array_get(sources, i));
            const char *const target = json_string_value(json_array_get(targets, k));
            tr_route route;
            const bool way = tr_find_route(index, source, target, &route, NULL) == TR_OK;
            const bool listed = has(model_pairs_from(p, source), target);
            if ((listed && !way) || (exact && way && !listed))
                fail_msg("%s to %s is %slisted, and has %s route", source, target, listed ? "" : "not ", way ? "a" : "no");
            assert_int_equal(listed, has(model_pairs_to(p, target), source));
        }
    model_pairs_free(p);
    tr_model_index_close(index);
}

static void random_folders_list_what_has_routes(void **state)
{
    (void)state;
    static const char *const distinct[] = {"en", "zh", "de", "fra", "ja_XX", "kor", "sr", "nob", "ace_Latn"};
    static const char *const alike[] = {"en", "zh_Hans", "zh_Hant", "pt", "pt_BR", "sr", "sr_Latn", "ace_Arab", "ace_Latn"};
    enum { MODELS = 6, LISTS = 2 * MODELS };
    srand(1);
    for (int run = 0; run < 300; run++) {
        made list[MODELS];
        char codes[LISTS][64];
        const char *const *const pool = run % 2 ? alike : distinct;
        for (size_t i = 0; i < LISTS; i++) {
            codes[i][0] = 0;
            for (int n = rand() % 3; n >= 0; n--) {
                strcat(codes[i], pool[rand() % 9]);
                strcat(codes[i], " ");
            }
        }
        for (size_t i = 0; i < MODELS; i++)
            list[i] = (made){codes[2 * i], codes[2 * i + 1]};
        check_with_routes(list, 1 + (size_t)rand() % MODELS, pool == distinct);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(languages_have_the_own_spelling_and_come_once),
        cmocka_unit_test(ways_go_over_one_model_or_two),
        cmocka_unit_test(scripts_must_fit_in_between),
        cmocka_unit_test(random_folders_list_what_has_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
