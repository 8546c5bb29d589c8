/* Peeks at a Hugging Face directory: settings and languages, without weights and vocabularies. */
#include <string.h>

#include "import/hf/hf.h"
#include "import/readers.h"

static tr_status peek_fairseq(const tr_directory *d, bool words, tr_json_fields *settings)
{
    const int rows = d->package->config.source_vocabulary;
    tr_hf_tokenizer tokenizer;
    tr_added added = {0};
    if (!tr_hf_tokenizer_choose(settings, d->package->architecture, words, rows, &tokenizer))
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "its tokenizer is not supported");
    tr_status status = tr_hf_list_added(d, settings->object, &tokenizer, 0, &added);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_hf_added_languages(&added, &tokenizer, d->package, d->error));
    tr_added_free(&added);
    return status;
}

static tr_status peek_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family,
                             bool *has_tokenizer)
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
        case TR_HF_MARIAN: status = tr_directory_find_languages(d, "vocab.json", ">>", "<<"); break;
        case TR_HF_PIECES:
            status = tr_directory_find_languages(d, files->pieces ? "spiece.model" : TR_HF_TOKENIZER_JSON, "<2", ">");
            break;
        case TR_HF_FAIRSEQ:
            *has_tokenizer = files->fairseq || (!files->words && files->library);
            if (*has_tokenizer)
                status = peek_fairseq(d, files->words, &fields);
            break;
        case TR_HF_WORDS: break;
        }
    json_decref(json);
    return status;
}

/* The size of the weight file, or the one that the index of several files gives. */
static tr_status measure_weights(const tr_directory *d, const char *name)
{
    tr_bytes bytes;
    json_t *index = NULL;
    if (strstr(name, ".json")) {
        const tr_status status = tr_directory_json(d, name, &index);
        const json_int_t total = json_integer_value(json_object_get(json_object_get(index, "metadata"), "total_size"));
        d->package->file_size = total > 0 ? (uint64_t)total : 0;
        json_decref(index);
        return status;
    }
    const tr_status status = tr_directory_file(d, name, &bytes);
    if (status != TR_OK)
        return status;
    d->package->file_size = bytes.size;
    tr_package_close_last(d->package);
    return bytes.size ? TR_OK : tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s is empty", d->path, name);
}

tr_status tr_peek_hf(const tr_directory *d, bool *has_tokenizer)
{
    const tr_hf_family *family;
    tr_hf_ties ties;
    tr_hf_files files;
    tr_status status = tr_hf_find_files(d, &files);
    if (status == TR_OK)
        status = tr_hf_read_config(d, &files, &family, &ties);
    if (status == TR_OK)
        status = tr_hf_check_tokens(d, &files, family);
    if (status == TR_OK)
        status = measure_weights(d, files.weights);
    if (status == TR_OK)
        status = peek_tokens(d, &files, family, has_tokenizer);
    return status == TR_OK ? tr_hf_read_traditional(d) : status;
}
