/* libFuzzer target: a SentencePiece model file. A file that the check accepts must load, and encode short texts with a part
 * of its pieces as with all of them. */
#include "tokenizer/spm.h"
#include "tokenizer/spm_check.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Encodes a text with a vocabulary that has no piece: all ids are 0. */
static tr_buffer encode_text(tr_spm *spm, const char *text)
{
    const tr_vocabulary none = {0};
    const size_t size = strlen(text);
    tr_ids ids = {0};
    tr_buffer spans = {0};
    tr_error error;
    const tr_status status = tr_spm_encode(spm, text, size, &none, 0, &ids, &spans, &error);
    const tr_span *const span = (const tr_span *)(const void *)spans.data;
    if (status == TR_OK && spans.size != ids.size * sizeof *span)
        __builtin_trap();
    for (size_t i = 0; i < spans.size / sizeof *span; i++)
        if (span[i].begin > span[i].end || span[i].end > size)
            __builtin_trap();
    tr_ids_free(&ids);
    return spans;
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
    tr_error error = {0};
    if (tr_spm_check(data, size, &error) != TR_OK)
        return 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tr_spm *spm;
        if (tr_spm_create(data, size, &spm, &error) != TR_OK)
            return 0;
        tr_buffer first = encode_text(spm, texts[i]);
        if (tr_spm_is_whole(spm) || tr_spm_expect(spm, SIZE_MAX, &error) != TR_OK)
            __builtin_trap();
        tr_buffer whole = encode_text(spm, texts[i]);
        if (whole.size != first.size || (whole.size && memcmp(whole.data, first.data, whole.size) != 0))
            __builtin_trap();
        tr_buffer_free(&whole);
        tr_buffer_free(&first);
        tr_spm_destroy(spm);
    }
    return 0;
}
