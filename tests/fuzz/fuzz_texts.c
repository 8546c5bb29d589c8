/* libFuzzer target: a glossary and, after a NUL, a text. Protected spans, numbers and terms of any text lie in it in order,
 * on the boundaries of characters, and numbers can be written and agree with themselves. */
#include <string.h>

#include "text/figures.h"
#include "text/tags.h"
#include "text/terms.h"
#include "util/utf8.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void expect_place(const char *text, size_t size, size_t last, size_t begin, size_t end)
{
    if (begin < last || end <= begin || end > size || ((unsigned char)text[begin] & 0xc0) == 0x80 ||
        (end < size && ((unsigned char)text[end] & 0xc0) == 0x80))
        __builtin_trap();
}

static void check_spans(const char *text, size_t size)
{
    tr_buffer spans = {0};
    if (tr_spans_find(text, size, &spans, NULL) == TR_OK) {
        tr_kept_span *span = (tr_kept_span *)(void *)spans.data;
        const size_t count = spans.size / sizeof *span;
        size_t last = 0, open = 0;
        tr_tags_pair(text, size, span, count);
        for (size_t i = 0; i < count; i++) {
            const bool paired = tr_is_tag(&span[i]) && span[i].partner != SIZE_MAX;
            if (paired && (span[i].kind == TR_SPAN_OPEN) != (span[i].partner > span[i].begin))
                __builtin_trap();
            open += paired && span[i].kind == TR_SPAN_OPEN;
            if (paired && span[i].kind == TR_SPAN_CLOSE && !open--)
                __builtin_trap();
            expect_place(text, size, last, span[i].begin, span[i].end);
            if (memchr(text + span[i].begin, '\n', span[i].end - span[i].begin))
                __builtin_trap();
            last = span[i].end;
        }
        if (open)
            __builtin_trap();
    }
    tr_buffer_free(&spans);
}

static void check_figures(const char *text, size_t size, tr_figure_language language)
{
    static const tr_figure_language others[] = {TR_FIGURES_DIGITS, TR_FIGURES_ENGLISH, TR_FIGURES_CHINESE};
    tr_figures figures = {0};
    tr_buffer written = {0};
    size_t last = 0;
    if (tr_figures_find(language, text, size, &figures, NULL) == TR_OK && figures.count < 60) {
        for (size_t i = 0; i < figures.count; i++) {
            bool known;
            expect_place(text, size, last, figures.items[i].begin, figures.items[i].end);
            last = figures.items[i].end;
            if (!tr_figure_write(text, &figures.items[i], language, others[language], &written, &known))
                break;
        }
        if (!tr_figures_agree(text, &figures, text, &figures))
            __builtin_trap();
    }
    tr_buffer_free(&written);
    tr_figures_free(&figures);
}

static void check_terms(const char *glossary, size_t glossary_size, const char *text, size_t size)
{
    tr_terms *terms;
    tr_term_match match;
    tr_buffer plural = {0};
    size_t last = 0;
    if (tr_terms_parse("fuzz", glossary, glossary_size, &terms, NULL) != TR_OK)
        return;
    while (tr_terms_next(terms, text, size, last, &match)) {
        expect_place(text, size, last, match.begin, match.end);
        if (!tr_append_plural(match.target, match.target_size, &plural))
            break;
        (void)tr_wants_plural(text, size, match.begin, match.end);
        last = match.end;
    }
    tr_buffer_free(&plural);
    tr_terms_free(terms);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *const glossary = (const char *)data;
    const char *const mark = size ? memchr(glossary, 0, size) : NULL;
    const size_t length = mark ? (size_t)(mark - glossary) : size;
    tr_buffer text = {0};
    if (!tr_utf8_clean(glossary + length, size - length, &text))
        return 0;
    check_spans(text.data, text.size);
    check_figures(text.data, text.size, TR_FIGURES_DIGITS);
    check_figures(text.data, text.size, TR_FIGURES_CHINESE);
    check_figures(text.data, text.size, TR_FIGURES_ENGLISH);
    check_terms(glossary, length, text.data, text.size);
    tr_buffer_free(&text);
    return 0;
}
