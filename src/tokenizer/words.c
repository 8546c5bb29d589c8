#include "tokenizer/words.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/bpe.h"
#include "tokenizer/languages.h"
#include "tokenizer/moses.h"

struct tr_words {
    tr_bpe *bpe;
    char source[TR_LANGUAGE], target[TR_LANGUAGE];
};

static const char goes_on[] = "@@", joint[] = "@@ ";

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
}

/* A code that is too long is that of no language with rules. */
static void keep_language(const char *code, char kept[TR_LANGUAGE])
{
    if (strlen(code) < TR_LANGUAGE)
        strcpy(kept, code);
}

tr_status tr_words_create(const char *codes, size_t size, const char *source, const char *target, tr_words **words,
                          tr_error *error)
{
    *words = NULL;
    tr_words *const w = calloc(1, sizeof *w);
    if (!w)
        return out_of_memory(error);
    keep_language(source, w->source);
    keep_language(target, w->target);
    const tr_status status = tr_bpe_create(codes, size, &w->bpe, error);
    if (status == TR_OK)
        *words = w;
    else
        free(w);
    return status;
}

void tr_words_destroy(tr_words *words)
{
    if (!words)
        return;
    tr_bpe_destroy(words->bpe);
    free(words);
}

/* What one text needs. */
typedef struct encoding {
    const tr_words *words;
    tr_words_take *take;
    void *argument;
    tr_error *error;
    tr_buffer piece;
    tr_ids ends;
} encoding;

static tr_status give_piece(encoding *e, const char *text, size_t size, bool last)
{
    tr_buffer_clear(&e->piece);
    if (!tr_buffer_append(&e->piece, text, size) || (!last && !tr_buffer_string(&e->piece, goes_on)))
        return out_of_memory(e->error);
    return e->take(e->argument, e->piece.data, e->piece.size) ? TR_OK : TR_ERROR_CANCELLED;
}

static tr_status encode_word(encoding *e, const char *word, size_t size)
{
    tr_status status = TR_OK;
    size_t from = 0;
    e->ends.size = 0;
    if (!tr_bpe_cut(e->words->bpe, word, size, &e->ends))
        return out_of_memory(e->error);
    for (size_t i = 0; status == TR_OK && i < e->ends.size; i++) {
        const size_t to = (size_t)e->ends.data[i];
        status = give_piece(e, word + from, to - from, to == size);
        from = to;
    }
    return status;
}

/* text: words with a space between two. */
static tr_status encode_words(encoding *e, const char *text, size_t size)
{
    tr_status status = TR_OK;
    for (size_t at = 0, length; status == TR_OK && at < size; at += length + 1) {
        const char *const space = memchr(text + at, ' ', size - at);
        length = space ? (size_t)(space - text) - at : size - at;
        if (length)
            status = encode_word(e, text + at, length);
    }
    return status;
}

tr_status tr_words_encode(const tr_words *words, const char *text, size_t size, tr_words_take *take, void *argument,
                          tr_error *error)
{
    encoding e = {.words = words, .take = take, .argument = argument, .error = error};
    tr_rewriting r = {0};
    tr_buffer cut = {0};
    const bool done = tr_characters_read(&r.text, text, size) && tr_moses_normalise(&r, words->source) &&
                      tr_moses_split(&r, words->source, &cut);
    tr_rewriting_free(&r);
    const tr_status status = done ? encode_words(&e, cut.data, cut.size) : out_of_memory(error);
    tr_buffer_free(&cut);
    tr_buffer_free(&e.piece);
    tr_ids_free(&e.ends);
    return status;
}

tr_status tr_words_decode(const tr_words *words, const char *pieces, size_t size, tr_buffer *text, tr_error *error)
{
    static const tr_rule joints[] = {{NULL, joint, NULL, ""}};
    tr_rewriting r = {0};
    const bool done = tr_characters_read(&r.text, pieces, size) && tr_rewrite(&r, joints, 1) &&
                      tr_moses_join(&r, words->target) && tr_characters_write(r.text.data, r.text.size, text);
    tr_rewriting_free(&r);
    return done ? TR_OK : out_of_memory(error);
}
