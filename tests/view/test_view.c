/* Contents of pages, pictures and arrays (test_forms.py reads them with other programs), and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "sample.h"
#include "util/base64.h"
#include "view/writer.h"

typedef tr_status form(const tr_view *view, tr_buffer *out, tr_error *error);
static form *const forms[] = {tr_view_page, tr_view_svg, tr_view_npz};
enum { FORMS = sizeof forms / sizeof *forms };

static int count_of(const tr_buffer *b, const char *needle)
{
    int count = 0;
    for (const char *p = b->data; (p = strstr(p, needle)); p++)
        count++;
    return count;
}

static tr_view_text text_of(const char *s)
{
    return (tr_view_text){s, strlen(s)};
}

static void expect_escaped(void put(tr_view_writer *, tr_view_text), tr_view_text text, const char *expected)
{
    tr_buffer out = {0};
    tr_view_writer w = {.out = &out};
    put(&w, text);
    assert_false(w.failed);
    assert_string_equal(out.data ? out.data : "", expected);
    tr_buffer_free(&out);
}

static void test_escapes(void **unused)
{
    (void)unused;
    expect_escaped(tr_view_put_markup, text_of("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
    expect_escaped(tr_view_put_markup, text_of("今天\xff\x01\x7f\xc2\x80."), "今天\ufffd\ufffd\ufffd\ufffd.");
    expect_escaped(tr_view_put_markup, text_of("\xf0\x9f\x98\x80\xef\xbf\xbf"), "\U0001f600\ufffd");
    expect_escaped(tr_view_put_markup, (tr_view_text){NULL, 0}, "");
    expect_escaped(tr_view_put_markup, (tr_view_text){"a\0b", 3},
                   "a\ufffd"
                   "b");
    expect_escaped(tr_view_put_json, text_of("</script>&"), "\"\\u003c/script\\u003e\\u0026\"");
    expect_escaped(tr_view_put_json, text_of("\"\\'\n\t"), "\"\\\"\\\\'\ufffd\ufffd\"");
    expect_escaped(tr_view_put_json, text_of("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), "\"\\u2028\\u2029\u202a\"");
    expect_escaped(tr_view_put_json, text_of("\xe4\xbb"), "\"\ufffd\"");
}

/* The JSON in the page. */
static json_t *data_of(const tr_buffer *page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(page->data, begin);
    assert_non_null(from);
    from += sizeof begin - 1;
    json_error_t error;
    json_t *data = json_loadb(from, (size_t)(strstr(from, "</script>") - from), 0, &error);
    if (!data)
        fail_msg("line %d: %s", error.line, error.text);
    return data;
}

static void compare_map(json_t *maps, const char *name, const tr_attention_map *map)
{
    json_t *got = json_object_get(maps, name);
    tr_buffer bytes = {0};
    json_t *text = json_object_get(got, "weights");
    assert_int_equal(json_integer_value(json_object_get(got, "layers")), map->layers);
    assert_int_equal(json_integer_value(json_object_get(got, "heads")), map->heads);
    assert_int_equal(json_integer_value(json_object_get(got, "rows")), map->rows);
    assert_int_equal(json_integer_value(json_object_get(got, "columns")), map->columns);
    bool valid = false;
    assert_true(tr_base64_decode(json_string_value(text), json_string_length(text), &bytes, &valid) && valid);
    assert_int_equal(bytes.size, (size_t)map->layers * (size_t)map->heads * (size_t)map->rows * (size_t)map->columns);
    for (size_t i = 0; i < bytes.size; i++) {
        const float root = (float)(unsigned char)bytes.data[i] / 255;
        assert_true(fabsf(root - sqrtf(map->weights[i])) < 0.5f / 255 + 1e-6f);
    }
    tr_buffer_free(&bytes);
}

static void test_page(void **unused)
{
    (void)unused;
    tr_view v = sample_make(7, 9, 2, 3);
    tr_buffer page = {0};
    assert_int_equal(tr_view_page(&v, &page, NULL), TR_OK);
    assert_int_equal(count_of(&page, "{{"), 0);
    assert_int_equal(count_of(&page, "<title>动物没有过马路，因为它太累了。</title>"), 1);
    assert_null(strstr(page.data, "://")); /* needs no network */
    json_t *data = data_of(&page), *maps = json_object_get(data, "maps");
    assert_int_equal(json_array_size(json_object_get(data, "source")), 7);
    assert_int_equal(json_array_size(json_object_get(data, "target")), 9);
    assert_int_equal(json_array_size(json_object_get(data, "inputs")), 9);
    assert_string_equal(json_string_value(json_array_get(json_object_get(data, "source"), 1)), "动物");
    assert_string_equal(json_string_value(json_array_get(json_object_get(data, "inputs"), 1)), "▁The");
    for (size_t i = 0; i < 9; i++) {
        const double p = json_number_value(json_array_get(json_object_get(data, "probabilities"), i));
        assert_true(fabs(p - exp((double)v.log_probabilities[i])) < 1e-3);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(data, "alignment"), i)), v.alignment[i]);
    }
    compare_map(maps, "encoder", &v.encoder);
    compare_map(maps, "decoder", &v.decoder);
    compare_map(maps, "cross", &v.cross);
    json_decref(data);
    tr_buffer_free(&page);
    sample_free(&v);
}

/* Tokens and texts add no tags to the page. */
static void test_hostile_page(void **unused)
{
    (void)unused;
    tr_view good = sample_make(15, 16, 1, 2), bad = sample_make_hostile(15, 16, 1, 2);
    tr_buffer good_page = {0}, page = {0};
    assert_int_equal(tr_view_page(&good, &good_page, NULL), TR_OK);
    assert_int_equal(tr_view_page(&bad, &page, NULL), TR_OK);
    static const char *const tags[] = {"</script", "<script", "</title", "<!--", "</", "alert(1)</script>"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        assert_int_equal(count_of(&page, tags[i]), count_of(&good_page, tags[i]));
    json_t *data = data_of(&page);
    static const char *const shown[] = {"</script>", "<!--<script>", "\"'`\\", "${alert(1)}", "{{data}}", "]]>&amp;"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_string_equal(json_string_value(json_array_get(json_object_get(data, "source"), i)), shown[i]);
    json_decref(data);
    tr_buffer_free(&page);
    tr_buffer_free(&good_page);
    sample_free(&good);
    sample_free(&bad);
}

/* The buffer keeps what it had before, whatever happens. */
static void expect_refused(const tr_view *v, form *f, tr_status status, const char *needle)
{
    tr_buffer out = {0};
    tr_error error = {0};
    assert_true(tr_buffer_string(&out, "before"));
    assert_int_equal(f(v, &out, &error), status);
    if (!strstr(error.message, needle) || !strstr(error.message, ": "))
        fail_msg("\"%s\" does not say \"%s\"", error.message, needle);
    assert_string_equal(out.data, "before");
    assert_int_equal(out.size, 6);
    tr_buffer_free(&out);
}

static void test_wrong_shapes(void **unused)
{
    (void)unused;
    tr_view v = sample_make(4, 5, 2, 2), changed;
    for (int i = 0; i < FORMS; i++) {
        changed = v;
        changed.source_count = 3;
        expect_refused(&changed, forms[i], TR_ERROR_ARGUMENT, "encoder");
        changed = v;
        changed.target_count = 6;
        expect_refused(&changed, forms[i], TR_ERROR_ARGUMENT, "decoder");
        changed = v;
        changed.cross.rows = -5;
        expect_refused(&changed, forms[i], TR_ERROR_ARGUMENT, "cross");
        changed = v;
        changed.cross.weights = NULL;
        expect_refused(&changed, forms[i], TR_ERROR_ARGUMENT, "no weights");
    }
    sample_free(&v);
}

/* Sizes are checked before weights are read: the pointers are invalid. */
static void test_too_large(void **unused)
{
    (void)unused;
    static float none;
    static const struct {
        int layers, heads, tokens;
        const char *fits_into[FORMS]; /* a part of the message, NULL: it fits */
    } sizes[] = {
        {6, 8, 200, {NULL, "a picture", NULL}},
        {24, 16, 200, {"the page", ".npz", NULL}},
        {24, 16, 1024, {"take a shorter text", "take a shorter text", "an archive"}},
        {INT32_MAX, INT32_MAX, INT32_MAX, {"the page", "a picture", "an archive"}},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int n = sizes[i].tokens;
        const tr_attention_map map = {sizes[i].layers, sizes[i].heads, n, n, &none};
        const tr_view v = {
            .source_count = (size_t)n, .target_count = (size_t)n, .encoder = map, .decoder = map, .cross = map};
        static const uint64_t most[FORMS] = {TR_VIEW_MAX_PAGE, TR_VIEW_MAX_SVG, TR_VIEW_MAX_NPZ};
        for (int f = 0; f < FORMS; f++) {
            assert_int_equal(tr_view_fits(&v, most[f], "it", NULL), sizes[i].fits_into[f] ? TR_ERROR_UNSUPPORTED : TR_OK);
            if (sizes[i].fits_into[f])
                expect_refused(&v, forms[f], TR_ERROR_UNSUPPORTED, sizes[i].fits_into[f]);
        }
    }
}

static void test_strange_numbers(void **unused)
{
    (void)unused;
    tr_view v = sample_make(3, 2, 1, 1);
    float *weights = v.cross.weights, *probabilities = (float *)v.log_probabilities;
    weights[0] = NAN;
    weights[1] = -1;
    weights[2] = 7;
    weights[3] = INFINITY;
    probabilities[0] = -INFINITY;
    probabilities[1] = NAN;
    ((int32_t *)v.alignment)[1] = -1;
    for (int i = 0; i < FORMS; i++) {
        tr_buffer out = {0};
        assert_int_equal(forms[i](&v, &out, NULL), TR_OK);
        if (i == 0) {
            json_t *data = data_of(&out);
            json_t *map = json_object_get(json_object_get(data, "maps"), "cross");
            assert_memory_equal(json_string_value(json_object_get(map, "weights")), "AAD//", 5); /* 0, 0, 255, 255 */
            assert_true(json_number_value(json_array_get(json_object_get(data, "probabilities"), 1)) == 0);
            json_decref(data);
        }
        tr_buffer_free(&out);
    }
    sample_free(&v);
}

/* Without tokens, layers, probabilities or alignment, views show less but do not fail. */
static void test_smallest(void **unused)
{
    (void)unused;
    static const int sizes[][4] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}, {1, 1, 0, 3}, {2, 1, 3, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int f = 0; f < FORMS; f++) {
            tr_view v = sample_make(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]), bare = v;
            bare.log_probabilities = NULL;
            bare.alignment = NULL;
            bare.text = bare.translation = bare.model = (tr_view_text){NULL, 0};
            tr_buffer out = {0}, less = {0};
            assert_int_equal(forms[f](&v, &out, NULL), TR_OK);
            assert_int_equal(forms[f](&bare, &less, NULL), TR_OK);
            assert_true(less.size < out.size);
            tr_buffer_free(&out);
            tr_buffer_free(&less);
            sample_free(&v);
        }
}

/* The same view is the same bytes. */
static void test_same(void **unused)
{
    (void)unused;
    tr_view v = sample_make(8, 8, 2, 2);
    for (int f = 0; f < FORMS; f++) {
        tr_buffer a = {0}, b = {0};
        assert_int_equal(forms[f](&v, &a, NULL), TR_OK);
        assert_int_equal(forms[f](&v, &b, NULL), TR_OK);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        tr_buffer_free(&a);
        tr_buffer_free(&b);
    }
    sample_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),      cmocka_unit_test(test_page),      cmocka_unit_test(test_hostile_page),
        cmocka_unit_test(test_wrong_shapes), cmocka_unit_test(test_too_large), cmocka_unit_test(test_strange_numbers),
        cmocka_unit_test(test_smallest),     cmocka_unit_test(test_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
