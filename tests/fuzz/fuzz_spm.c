/* libFuzzer target: a SentencePiece model file. A file that the check accepts must load or be refused with a message, and
 * encode. */
#include "tokenizer/sentencepiece.h"
#include "tokenizer/spm_check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Encodes a text with a vocabulary that has no piece: all ids are 0. */
static void encode_text(const tr_sentencepiece *model, const char *text)
{
    const tr_vocabulary none = {0};
    const size_t size = strlen(text);
    tr_ids ids = {0};
    tr_buffer spans = {0};
    tr_error error;
    const tr_status status = tr_sentencepiece_encode(model, text, size, &none, 0, &ids, &spans, &error);
    const tr_span *const span = (const tr_span *)(const void *)spans.data;
    if (status == TR_OK && spans.size != ids.size * sizeof *span)
        __builtin_trap();
    for (size_t i = 0; i < spans.size / sizeof *span; i++)
        if (span[i].begin > span[i].end || span[i].end > size)
            __builtin_trap();
    tr_ids_free(&ids);
    tr_buffer_free(&spans);
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
    size_t offset, length;
    if (tr_spm_check(data, size, &error) != TR_OK)
        return 0;
    tr_spm_self_test(data, size, &offset, &length);
    if (length || tr_sentencepiece_create(data, size, &model, &error) != TR_OK)
        return 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        encode_text(model, texts[i]);
    tr_sentencepiece_destroy(model);
    return 0;
}
