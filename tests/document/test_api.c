/* document.h: opening, units, translations, through a context and a queue, and writing. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "translate/document.h"

static tr_model *model;

static int open_model(void **state)
{
    (void)state;
    return tr_model_open(TR_SMALL_MODEL, NULL, &model, NULL) != TR_OK;
}

static int close_model(void **state)
{
    (void)state;
    tr_model_close(model);
    return 0;
}

static const char mail[] = "> 今天天气\n> 很好。\n\n- 你好\n- 谢谢\n";

static tr_options *paragraphs(void)
{
    tr_options *options;
    assert_int_equal(tr_options_create(&options, NULL), TR_OK);
    assert_int_equal(tr_options_set_string(options, "format", "text", NULL), TR_OK);
    assert_int_equal(tr_options_set_int(options, "paragraphs", 1, NULL), TR_OK);
    return options;
}

static tr_document *parse(const char *text)
{
    tr_options *options = paragraphs();
    tr_document *document;
    tr_error error;
    if (tr_document_parse("mail", text, strlen(text), options, &document, &error) != TR_OK)
        fail_msg("%s", error.message);
    tr_options_free(options);
    return document;
}

static void expect_bytes(const tr_document *document, const char *expected)
{
    char *data;
    size_t size;
    assert_int_equal(tr_document_bytes(document, &data, &size, NULL), TR_OK);
    assert_string_equal(data, expected);
    assert_int_equal(size, strlen(expected));
    tr_free(data);
}

static void formats_have_names(void **state)
{
    (void)state;
    bool text = false;
    for (size_t i = 0; tr_document_format_name(i); i++)
        text |= strcmp(tr_document_format_name(i), "text") == 0;
    assert_true(text);
    assert_string_equal(tr_document_find_format("a/b.TXT"), "text");
    assert_null(tr_document_find_format("a.b/c"));
    assert_null(tr_document_find_format("a.unknown"));
    assert_null(tr_document_find_format(NULL));
}

static void units_are_listed_and_set(void **state)
{
    (void)state;
    tr_document *document = parse(mail);
    char *text;
    size_t size;
    assert_int_equal(tr_document_units(document), 3);
    assert_int_equal(tr_document_unit(document, 0, &text, &size, NULL), TR_OK);
    assert_string_equal(text, "今天天气很好。");
    assert_int_equal(size, strlen(text));
    tr_free(text);
    assert_null(tr_document_get(document, 1, &size));
    assert_int_equal(tr_document_set(document, 1, "- Hello!", 7, 0, NULL), TR_OK);
    assert_string_equal(tr_document_get(document, 1, &size), "- Hello");
    assert_int_equal(size, 7);
    expect_bytes(document, "> 今天天气\n> 很好。\n\n- Hello\n- 谢谢\n");
    assert_int_equal(tr_document_set(document, 3, "x", 1, 0, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_unit(document, 3, &text, NULL, NULL), TR_ERROR_ARGUMENT);
    assert_null(tr_document_get(document, 3, NULL));
    tr_document_free(document);
}

static int count_units(void *argument, const tr_progress *progress)
{
    tr_progress *last = argument;
    *last = *progress;
    return 0;
}

/* After a unit of three. */
static int cancel(void *argument, const tr_progress *progress)
{
    (void)argument;
    return progress->texts_done > 0;
}

/* Both ways give what plain texts give, and leave what is set already. */
static void documents_are_translated(void **state)
{
    (void)state;
    const char *const texts[] = {"今天天气很好。", "- 谢谢"};
    tr_context *context;
    tr_queue *queue;
    tr_results *results;
    tr_options *options;
    tr_error error;
    char expected[512];
    assert_int_equal(tr_context_create(model, NULL, &context, NULL), TR_OK);
    assert_int_equal(tr_queue_create(model, NULL, &queue, NULL), TR_OK);
    assert_int_equal(tr_translate(context, texts, NULL, 2, NULL, &results, NULL), TR_OK);
    snprintf(expected, sizeof expected, "> %s\n\nset\n%s\n", tr_results_text(results, 0, NULL),
             tr_results_text(results, 1, NULL));
    tr_results_free(results);
    for (int i = 0; i < 2; i++) {
        tr_progress last = {0};
        tr_document *document = parse(mail);
        assert_int_equal(tr_options_create(&options, NULL), TR_OK);
        tr_options_on_progress(options, cancel, NULL);
        const tr_status cancelled = i ? tr_document_translate_queue(document, queue, options, &error)
                                      : tr_document_translate(document, context, options, &error);
        assert_int_equal(cancelled, TR_ERROR_CANCELLED);
        size_t kept = 0;
        for (size_t unit = 0; unit < 3; unit++)
            kept += tr_document_get(document, unit, NULL) != NULL;
        assert_true(kept || !i); /* what a queue has done is kept; a context hands texts over in their order */
        tr_document_free(document);
        document = parse(mail);
        assert_int_equal(tr_document_set(document, 1, "set", 3, 0, NULL), TR_OK);
        tr_options_on_progress(options, count_units, &last);
        const tr_status status = i ? tr_document_translate_queue(document, queue, options, &error)
                                   : tr_document_translate(document, context, options, &error);
        if (status != TR_OK)
            fail_msg("%s", error.message);
        expect_bytes(document, expected);
        assert_int_equal(last.texts, 3);
        assert_int_equal(last.texts_done, 3);
        tr_options_free(options);
        tr_document_free(document);
    }
    tr_queue_destroy(queue);
    tr_context_destroy(context);
}

/* A queue that takes two texts at a time, and texts of some bytes. */
static void small_queues_do(void **state)
{
    (void)state;
    tr_options *options;
    tr_queue *queue;
    tr_error error;
    assert_int_equal(tr_options_create(&options, NULL), TR_OK);
    assert_int_equal(tr_options_set_int(options, "max_texts", 2, NULL), TR_OK);
    assert_int_equal(tr_options_set_int(options, "max_bytes", 100, NULL), TR_OK);
    assert_int_equal(tr_queue_create(model, options, &queue, NULL), TR_OK);
    tr_document *document = parse("你好\n\n谢谢\n\n今天\n\n很好\n\n我们\n");
    if (tr_document_translate_queue(document, queue, NULL, &error) != TR_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < tr_document_units(document); i++)
        assert_non_null(tr_document_get(document, i, NULL));
    tr_document_free(document);
    tr_queue_destroy(queue);
    tr_options_free(options);
}

static void pairs_are_written(void **state)
{
    (void)state;
    tr_options *options = paragraphs();
    tr_document *document;
    tr_error error;
    static const char *const expected[] = {
        "你好\tA & B\n",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\">\n<header creationtool=\"translate\" "
        "creationtoolversion=\"0.1.0\" segtype=\"block\" o-tmf=\"translate\" adminlang=\"en\" datatype=\"plaintext\" "
        "srclang=\"zh\"/>\n<body>\n<tu><tuv xml:lang=\"zh\"><seg>你好</seg></tuv><tuv xml:lang=\"und\"><seg>A &amp; "
        "B</seg></tuv></tu>\n</body>\n</tmx>\n"};
    assert_int_equal(tr_options_set_string(options, "source_language", "zh", NULL), TR_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tr_options_set_string(options, "pairs", i ? "tmx" : "tsv", NULL), TR_OK);
        assert_int_equal(tr_document_parse("a", "你好\n\nsame\n", 13, options, &document, NULL), TR_OK);
        assert_int_equal(tr_document_set(document, 0, "A & B", 5, 0, NULL), TR_OK);
        expect_bytes(document, expected[i]);
        tr_document_free(document);
    }
    assert_int_equal(tr_options_set_string(options, "pairs", "xls", NULL), TR_OK);
    assert_int_equal(tr_document_parse("a", "", 0, options, &document, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "pairs xls: is neither tsv nor tmx");
    tr_options_free(options);
}

static void files_are_read_and_saved(void **state)
{
    (void)state;
    char path[] = "/tmp/document-XXXXXX.txt", again[sizeof path + 8];
    tr_options *options = paragraphs();
    tr_document *document;
    const int descriptor = mkstemps(path, 4);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, mail, strlen(mail)), (ssize_t)strlen(mail));
    close(descriptor);
    assert_int_equal(tr_document_open(path, options, &document, NULL), TR_OK);
    assert_int_equal(tr_document_set(document, 0, "A", 1, 0, NULL), TR_OK);
    snprintf(again, sizeof again, "%s.new", path);
    assert_int_equal(tr_document_save(document, again, NULL), TR_OK);
    tr_document_free(document);
    assert_int_equal(tr_document_open(again, options, &document, NULL), TR_OK);
    expect_bytes(document, "> A\n\n- 你好\n- 谢谢\n");
    tr_document_free(document);
    unlink(path);
    unlink(again);
    assert_int_equal(tr_document_open(path, options, &document, NULL), TR_ERROR_IO);
    assert_null(document);
    tr_options_free(options);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    tr_document *document = NULL;
    tr_options *options;
    tr_error error;
    assert_int_equal(tr_options_create(&options, NULL), TR_OK);
    assert_int_equal(tr_document_parse("a.unknown", "", 0, options, &document, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "a.unknown: the end of the name tells no document format");
    assert_int_equal(tr_options_set_string(options, "format", "none", NULL), TR_OK);
    assert_int_equal(tr_document_parse("a.txt", "", 0, options, &document, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "format none: there is none of this name");
    assert_int_equal(tr_options_set_int(options, "line_width", -1, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_open(NULL, NULL, &document, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_parse("a.txt", NULL, 1, NULL, &document, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_translate(NULL, NULL, NULL, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_save(NULL, "x", NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_document_units(NULL), 0);
    tr_document_free(NULL);
    tr_options_free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_have_names),       cmocka_unit_test(units_are_listed_and_set),
        cmocka_unit_test(documents_are_translated), cmocka_unit_test(small_queues_do),
        cmocka_unit_test(pairs_are_written),        cmocka_unit_test(files_are_read_and_saved),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests_name("document.h", tests, open_model, close_model);
}
