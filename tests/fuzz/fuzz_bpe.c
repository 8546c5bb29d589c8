/* libFuzzer target: BPE codes and, after a NUL, a text. Codes that load must divide any text by the rules of a language, and
 * join any pieces. */
#include "import/bpe.h"
#include "import/words.h"
#include "util/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void cut_and_join(const tr_words *words, const char *text, size_t size)
{
    const tr_vocabulary none = {0}; /* all ids are 0 */
    tr_ids ids = {0};
    tr_buffer spans = {0}, joined = {0};
    tr_error error;
    if (words->encode(words, text, size, &none, 0, &ids, &spans, &error) == TR_OK &&
        spans.size != ids.size * sizeof(tr_span))
        __builtin_trap();
    const tr_span *const span = (const tr_span *)(const void *)spans.data;
    for (size_t i = 0; i < spans.size / sizeof *span; i++)
        if (span[i].begin > span[i].end || span[i].end > size)
            __builtin_trap();
    const tr_piece piece = {text, (uint32_t)size};
    tr_span joined_span;
    if (words->decode(words, &piece, 1, &joined, &joined_span, &error) == TR_OK && !tr_utf8_valid(joined.data, joined.size))
        __builtin_trap();
    if (joined_span.begin > joined_span.end || joined_span.end > joined.size)
        __builtin_trap();
    tr_ids_free(&ids);
    tr_buffer_free(&spans);
    tr_buffer_free(&joined);
}

static void check_cut(const char *codes, size_t size, const char *word, size_t length)
{
    tr_bpe *bpe;
    tr_ids ends = {0};
    if (!length || tr_bpe_create(codes, size, &bpe, NULL) != TR_OK)
        return;
    if (tr_bpe_cut(bpe, word, length, &ends) && (!ends.size || (size_t)ends.data[ends.size - 1] != length))
        __builtin_trap();
    tr_ids_free(&ends);
    tr_bpe_destroy(bpe);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const languages[] = {"en", "de", "fr", "cs", "zh", "ja", "ko", "xx"};
    const char *const codes = (const char *)data;
    const char *const mark = size ? memchr(codes, 0, size) : NULL;
    const size_t length = mark ? (size_t)(mark - codes) : size;
    tr_buffer text = {0};
    tr_error error;
    if (!tr_utf8_clean(codes + length, size - length, &text))
        return 0;
    const char *const language = languages[size % (sizeof languages / sizeof *languages)];
    const bool good = tr_bpe_check(codes, length, &error) == TR_OK;
    tr_words *words;
    if ((tr_words_create((tr_bytes){codes, length}, language, language, &words, &error) == TR_OK) != good)
        __builtin_trap();
    if (good) {
        cut_and_join(words, text.data, text.size);
        words->destroy(words);
    }
    check_cut(codes, length, text.data, text.size);
    tr_buffer_free(&text);
    return 0;
}
