/* BPE codes from anywhere, and behind a NUL a text: what loads must cut any text, by a language's rules, into pieces that
 * together are its words, and join any pieces. */
#include "tokenizer/bpe.h"
#include "tokenizer/words.h"
#include "util/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool keep_piece(void *argument, const char *piece, size_t size)
{
    tr_buffer *const pieces = argument;
    if (size == 0 || !tr_utf8_valid(piece, size)) /* never so */
        __builtin_trap();
    return (!pieces->size || tr_buffer_string(pieces, " ")) && tr_buffer_append(pieces, piece, size);
}

static void cut_and_join(const tr_words *words, const char *text, size_t size)
{
    tr_buffer pieces = {0}, joined = {0};
    tr_error error;
    if (tr_words_encode(words, text, size, keep_piece, &pieces, &error) == TR_OK)
        tr_words_decode(words, pieces.data, pieces.size, &joined, &error);
    if (tr_words_decode(words, text, size, &joined, &error) == TR_OK && !tr_utf8_valid(joined.data, joined.size))
        __builtin_trap();
    tr_buffer_free(&pieces);
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
    if ((tr_words_create(codes, length, language, language, &words, &error) == TR_OK) != good)
        __builtin_trap();
    if (good)
        cut_and_join(words, text.data, text.size);
    tr_words_destroy(words);
    check_cut(codes, length, text.data, text.size);
    tr_buffer_free(&text);
    return 0;
}
