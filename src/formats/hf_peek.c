/* What a Hugging Face directory says of itself without being read: the languages that its tokens stand for are found by
 * their spelling in the bytes of the vocabulary. */
#include <string.h>

#include "formats/hf.h"
#include "formats/peek.h"

enum { TOKEN = TR_LANGUAGE + 4 }; /* bytes of the longest token of a language: ">>", its code, "<<" */

static tr_status add_token(const tr_directory *d, const char *token, size_t size)
{
    const char *code;
    const size_t length = tr_hf_language_code(token, size, &code);
    return length ? tr_languages_add(&d->package->languages, code, length, 0, d->error) : TR_OK;
}

/* The token at text, that begins with open and ends with close; its size, 0 if there is none. */
static size_t token_at(const char *text, const char *end, const char *open, const char *close)
{
    const size_t before = strlen(open), behind = strlen(close);
    const size_t most = (size_t)(end - text) < TOKEN ? (size_t)(end - text) : TOKEN;
    if (most < before || memcmp(text, open, before) != 0)
        return 0;
    for (size_t i = before + 1; i + behind <= most; i++)
        if (memcmp(text + i, close, behind) == 0)
            return i + behind;
    return 0;
}

/* Tokens among the bytes of a file: in JSON, with quotation marks around them; in a SentencePiece model, with their size in
 * front. */
static tr_status scan(const tr_directory *d, const char *file, const char *open, const char *close, bool json)
{
    tr_bytes bytes;
    tr_status status = tr_package_file(d->package, d->path, file, TR_LOAD_MAP, &bytes, d->error);
    if (status != TR_OK)
        return status;
    const char *begin = bytes.data, *end = bytes.size ? begin + bytes.size : begin;
    for (const char *p = begin; status == TR_OK && p < end && (p = memchr(p, open[0], (size_t)(end - p))); p++) {
        const size_t size = p > begin ? token_at(p, end, open, close) : 0;
        const bool whole = json ? p[-1] == '"' && p + size < end && p[size] == '"' : (unsigned char)p[-1] == size;
        if (size && whole)
            status = add_token(d, p, size);
    }
    tr_package_close_last(d->package);
    if (d->package->languages.count)
        d->package->languages.target = TR_LANGUAGE_SOURCE_FIRST;
    return tr_directory_in(d, status);
}

static tr_status peek_fairseq(const tr_directory *d, tr_json_fields *settings)
{
    const int rows = d->package->config.source_vocabulary;
    tr_hf_tokenizer tokenizer;
    tr_hf_added added = {0};
    const bool words = tr_directory_has(d, "vocab.json");
    if (!tr_hf_tokenizer_choose(settings, d->package->architecture, words, rows, &tokenizer))
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "its tokenizer is not supported");
    tr_status status = tr_hf_list_added(d, settings->object, &tokenizer, 0, &added);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_hf_added_languages(&added, &tokenizer, d->package, d->error));
    tr_hf_added_free(&added);
    return status;
}

static tr_status peek_tokens(const tr_directory *d, const tr_hf_family *family, bool *has_tokenizer)
{
    json_t *json;
    tr_status status = tr_directory_optional_json(d, "tokenizer_config.json", &json);
    tr_json_fields fields = {json, "tokenizer_config.json", status, d->error};
    *has_tokenizer = family->tokens != TR_HF_WORDS;
    if (status == TR_OK)
        tr_directory_languages(&fields, d->package);
    if (status == TR_OK)
        status = tr_directory_in(d, fields.status);
    if (status == TR_OK)
        switch (family->tokens) {
        case TR_HF_MARIAN: status = scan(d, "vocab.json", ">>", "<<", true); break;
        case TR_HF_PIECES: status = scan(d, "spiece.model", "<2", ">", false); break;
        case TR_HF_FAIRSEQ:
            *has_tokenizer = tr_directory_has(d, TR_HF_FAIRSEQ_MODEL);
            if (*has_tokenizer)
                status = peek_fairseq(d, &fields);
            break;
        case TR_HF_WORDS: break;
        }
    json_decref(json);
    return status;
}

/* Their size: of the one file, or what the index of several says. */
static tr_status measure_weights(const tr_directory *d)
{
    static const char pointer[] = "version https://git-lfs";
    const char *name = tr_hf_find_weights(d);
    tr_bytes bytes;
    json_t *index = NULL;
    if (strstr(name, ".json")) {
        const tr_status status = tr_directory_json(d, name, &index);
        const json_int_t total = json_integer_value(json_object_get(json_object_get(index, "metadata"), "total_size"));
        d->package->file_size = total > 0 ? (uint64_t)total : 0;
        json_decref(index);
        return status;
    }
    const tr_status status = tr_package_file(d->package, d->path, name, TR_LOAD_MAP, &bytes, d->error);
    if (status != TR_OK)
        return status;
    const bool is_pointer = bytes.size >= sizeof pointer && memcmp(bytes.data, pointer, sizeof pointer - 1) == 0;
    d->package->file_size = bytes.size;
    tr_package_close_last(d->package);
    if (bytes.size && !is_pointer)
        return TR_OK;
    return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s %s", d->path, name,
                   is_pointer ? "is a Git LFS pointer, not the weights themselves: run git lfs pull" : "is empty");
}

tr_status tr_peek_hf(const tr_directory *d, bool *has_tokenizer)
{
    const tr_hf_family *family;
    tr_hf_ties ties;
    tr_status status = tr_hf_read_config(d, &family, &ties);
    if (status == TR_OK)
        status = tr_hf_check_tokens(d, family);
    if (status == TR_OK)
        status = measure_weights(d);
    return status == TR_OK ? peek_tokens(d, family, has_tokenizer) : status;
}
