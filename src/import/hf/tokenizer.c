/* The tokenizer of a Hugging Face directory: vocabularies, SentencePiece models, languages. */
#include <string.h>

#include "import/hf/hf.h"

tr_status tr_hf_check_tokens(const tr_directory *d, const tr_hf_files *f, const tr_hf_family *family)
{
    const char *missing = NULL;
    switch (family->tokens) {
    case TR_HF_MARIAN: missing = !f->words ? "vocab.json" : !f->source ? "source.spm" : NULL; break;
    case TR_HF_PIECES: missing = f->library || f->pieces ? NULL : "spiece.model"; break;
    case TR_HF_WORDS: break; /* without vocab.json it takes ids only */
    case TR_HF_FAIRSEQ:      /* M2M100 with a vocab.json: without its model it takes tokens only */
        missing = f->words || f->library || f->fairseq ? NULL : TR_HF_FAIRSEQ_MODEL;
    }
    if (!missing)
        return TR_OK;
    return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s is missing: a model directory needs its tokenizer", d->path, missing);
}

static tr_status read_vocabulary(const tr_directory *d, const char *name, int rows, tr_vocabulary *vocabulary)
{
    json_t *json;
    tr_status status = tr_directory_json(d, name, &json);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_vocabulary_of_words(json, name, rows, NULL, vocabulary, d->error));
    json_decref(json);
    return status;
}

static tr_status read_separate(const tr_directory *d)
{
    tr_package *p = d->package;
    tr_status status = read_vocabulary(d, "vocab.json", p->config.source_vocabulary, &p->source);
    if (status == TR_OK)
        status = read_vocabulary(d, "target_vocab.json", p->config.target_vocabulary, &p->target_own);
    p->target = &p->target_own;
    p->config.unk_id = tr_vocabulary_find(&p->source, "<unk>", 5);
    return status;
}

/* One vocab.json, parsed, for both sides. */
static tr_status share_words(const tr_directory *d, const json_t *json, const tr_added *added)
{
    tr_package *p = d->package;
    const tr_config *c = &p->config;
    tr_status status =
        tr_directory_in(d, tr_vocabulary_of_words(json, "vocab.json", c->source_vocabulary, added, &p->source, d->error));
    if (status == TR_OK && c->source_vocabulary != c->target_vocabulary)
        status = tr_directory_fail(d, TR_ERROR_FORMAT,
                                   "one vocab.json for embeddings of different sizes (separate_vocabs is not set)");
    p->target = &p->source;
    p->config.unk_id = tr_vocabulary_find(&p->source, "<unk>", 5);
    return status;
}

static tr_status read_shared(const tr_directory *d)
{
    json_t *json;
    tr_status status = tr_directory_json(d, "vocab.json", &json);
    if (status == TR_OK)
        status = share_words(d, json, NULL);
    json_decref(json);
    return status;
}

/* Ids without pieces. */
static tr_status read_none(const tr_directory *d)
{
    json_t *json = json_object();
    const tr_status status = json ? share_words(d, json, NULL) : tr_directory_fail(d, TR_ERROR_MEMORY, "out of memory");
    json_decref(json);
    return status;
}

/* One SentencePiece model for both sides, whose numbers are the ids, or those that fairseq makes of them. */
static tr_status read_numbered(const tr_directory *d, const char *name, bool fairseq, const tr_added *added)
{
    tr_package *p = d->package;
    const tr_status status =
        tr_vocabulary_of_pieces(p->source_spm, p->config.source_vocabulary, fairseq, added, &p->source, d->error);
    p->target = &p->source;
    p->config.unk_id = status == TR_OK ? tr_vocabulary_find(&p->source, "<unk>", 5) : -1;
    return tr_directory_in(d, tr_fail_in(d->error, status, name));
}

/* tokenizer.json in the place of a SentencePiece model. */
static tr_status read_library(const tr_directory *d, tr_added *special)
{
    json_t *root;
    tr_status status = tr_directory_json(d, TR_HF_TOKENIZER_JSON, &root);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_hf_tokenizer_json(root, TR_HF_TOKENIZER_JSON, d->package, special, d->error));
    json_decref(root);
    return status;
}

static tr_status read_t5(const tr_directory *d, const tr_hf_files *files)
{
    tr_added special = {0};
    tr_status status;
    if (!files->pieces) {
        status = read_library(d, &special);
        if (status == TR_OK)
            status = tr_directory_in(d, tr_hf_added_special(&special, d->package, d->error));
    } else {
        status = tr_directory_pieces(d, "spiece.model", NULL);
        if (status == TR_OK)
            status = read_numbered(d, "spiece.model", false, NULL);
    }
    tr_added_free(&special);
    if (status == TR_OK) /* MADLAD-400 */
        status = tr_directory_in(d, tr_languages_collect(&d->package->source, "<2", &d->package->languages, d->error));
    return status;
}

static tr_status read_marian(const tr_directory *d)
{
    json_t *json;
    tr_status status = tr_directory_optional_json(d, "tokenizer_config.json", &json);
    tr_json_fields fields = {json, "tokenizer_config.json", status, d->error};
    if (status == TR_OK) {
        tr_directory_languages(&fields, d->package);
        const bool separate = tr_json_bool(&fields, "separate_vocabs", false);
        status = tr_directory_in(d, fields.status);
        if (status == TR_OK)
            status = separate ? read_separate(d) : read_shared(d);
    }
    json_decref(json);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_languages_collect(&d->package->source, ">>", &d->package->languages, d->error));
    return status == TR_OK ? tr_directory_pieces(d, "source.spm", "target.spm") : status;
}

/* ---------------------------------------------------------------------------------------- M2M100, NLLB, mBART, PLBART */

static bool has_languages(const tr_added *added)
{
    const char *code;
    for (size_t i = 0; i < added->ids.size; i++) {
        const char *token = added->text.data + added->starts.data[i];
        if (tr_language_of_token(token, strlen(token), &code))
            return true;
    }
    return false;
}

tr_status tr_hf_list_added(const tr_directory *d, const json_t *settings, const tr_hf_tokenizer *tokenizer, int32_t first,
                           tr_added *added)
{
    const int rows = d->package->config.source_vocabulary;
    tr_status status = tr_hf_added_read(json_object_get(settings, "added_tokens_decoder"), rows, added, d->error);
    if (status == TR_OK && !has_languages(added)) {
        added->ids.size = added->starts.size = added->text.size = 0;
        status = tr_hf_added_codes(tokenizer, first, rows, added, d->error);
    }
    return tr_directory_in(d, status);
}

/* Languages follow the entries of vocab.json. */
static tr_status read_words_and_added(const tr_directory *d, const json_t *settings, const tr_hf_tokenizer *tokenizer,
                                      tr_added *added)
{
    json_t *json;
    tr_status status = tr_directory_json(d, "vocab.json", &json);
    if (status == TR_OK)
        status = tr_hf_list_added(d, settings, tokenizer, (int32_t)json_object_size(json), added);
    if (status == TR_OK)
        status = share_words(d, json, added);
    json_decref(json);
    return status;
}

static tr_status read_pieces_and_added(const tr_directory *d, const json_t *settings, const tr_hf_tokenizer *tokenizer,
                                       tr_added *added)
{
    int32_t count;
    tr_status status = tr_count_pieces(d->package->source_spm, &count, d->error);
    status = tr_directory_in(d, tr_fail_in(d->error, status, TR_HF_FAIRSEQ_MODEL));
    if (status == TR_OK) /* ids are one more than numbers */
        status = tr_hf_list_added(d, settings, tokenizer, count + 1, added);
    return status == TR_OK ? read_numbered(d, TR_HF_FAIRSEQ_MODEL, true, added) : status;
}

/* A SentencePiece model, and what it lacks. */
static tr_status read_model_and_added(const tr_directory *d, const json_t *settings, bool words,
                                      const tr_hf_tokenizer *tokenizer, tr_added *added)
{
    const tr_status status = tr_directory_pieces(d, TR_HF_FAIRSEQ_MODEL, NULL);
    if (status != TR_OK)
        return status;
    return words ? read_words_and_added(d, settings, tokenizer, added)
                 : read_pieces_and_added(d, settings, tokenizer, added);
}

static tr_status read_with_languages(const tr_directory *d, const tr_hf_files *files, const json_t *settings,
                                     const tr_hf_tokenizer *tokenizer)
{
    tr_added added = {0};
    tr_status status =
        files->fairseq ? read_model_and_added(d, settings, files->words, tokenizer, &added) : read_library(d, &added);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_hf_added_languages(&added, tokenizer, d->package, d->error));
    tr_added_free(&added);
    return status;
}

static tr_status read_fairseq(const tr_directory *d, const tr_hf_files *files)
{
    tr_package *p = d->package;
    tr_hf_tokenizer tokenizer;
    json_t *json;
    if (!files->fairseq && (files->words || !files->library))
        return read_shared(d); /* tokens only */
    tr_status status = tr_directory_optional_json(d, "tokenizer_config.json", &json);
    tr_json_fields fields = {json, "tokenizer_config.json", status, d->error};
    if (status == TR_OK) {
        const bool known =
            tr_hf_tokenizer_choose(&fields, p->architecture, files->words, p->config.source_vocabulary, &tokenizer);
        tr_directory_languages(&fields, p);
        status = tr_directory_in(d, fields.status);
        if (status == TR_OK && !known)
            status = tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "its tokenizer is not supported");
        if (status == TR_OK)
            status = read_with_languages(d, files, json, &tokenizer);
    }
    json_decref(json);
    return status;
}

tr_status tr_hf_read_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family)
{
    switch (family->tokens) {
    case TR_HF_MARIAN: return read_marian(d);
    case TR_HF_PIECES: return read_t5(d, files);
    case TR_HF_FAIRSEQ: return read_fairseq(d, files);
    case TR_HF_WORDS: break;
    }
    return files->words ? read_shared(d) : read_none(d);
}
