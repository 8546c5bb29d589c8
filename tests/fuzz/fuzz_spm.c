/* A SentencePiece model file from anywhere: what the check accepts must load or be refused properly, and encode. */
#include "tokenizer/sentencepiece.h"
#include "tokenizer/spm_check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool count_piece(void *argument, const char *piece, size_t size, size_t begin, size_t end)
{
    (void)piece;
    size_t *const bytes = argument;
    *bytes += size;
    if (size == 0 || begin > end) /* never so */
        __builtin_trap();
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "a",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                        "今天天气很好，ＡＢＣ　x",
                                        "The weather is fine today  !",
                                        "e\xcc\x81u\xcc\x88\xcc\x81\xef\xb7\xba\xe3\x8d\xbf",
                                        "\xf0\x9f\x98\x80\xf0\x93\x80\x80\xf0\x93\x80\x81",
                                        "http://C++<0x41></s>\xe2\x96\x81"};
    tr_sentencepiece *model;
    tr_error error = {0};
    size_t offset, length, bytes = 0;
    if (tr_spm_check(data, size, &error) != TR_OK)
        return 0;
    tr_spm_self_test(data, size, &offset, &length);
    if (length || tr_sentencepiece_create(data, size, &model, &error) != TR_OK)
        return 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tr_sentencepiece_encode(model, texts[i], strlen(texts[i]), count_piece, &bytes, &error);
    tr_sentencepiece_destroy(model);
    return 0;
}
