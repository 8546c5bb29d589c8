#include "formats/peek.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "util/utf8.h"

typedef tr_status peek_format(const tr_directory *d, bool *has_tokenizer);

/* The function for a file; NULL: it is no model. Nothing but a regular file is opened. */
static tr_status choose_for_file(const tr_directory *d, const struct stat *st, peek_format **chosen)
{
    tr_file head;
    if (!S_ISREG(st->st_mode))
        return TR_OK;
    const tr_status status = tr_file_open(d->path, TR_LOAD_MAP, &head, d->error);
    if (status != TR_OK)
        return status;
    if (head.size >= 4 && memcmp(head.data, "GGUF", 4) == 0)
        *chosen = tr_peek_gguf;
    else if (head.size >= 4 && memcmp(head.data, "PK\3\4", 4) == 0 && tr_is_argos_archive(head.data, head.size))
        *chosen = tr_peek_argos;
    else if (tr_marian_recognise(head.data, head.size))
        *chosen = tr_peek_marian;
    tr_file_close(&head);
    if (!*chosen && tr_ends_with(d->path, ".gguf"))
        return tr_directory_fail(d, TR_ERROR_FORMAT, "is named as a GGUF file, but is none");
    return TR_OK;
}

static void choose_for_directory(const tr_directory *d, peek_format **chosen)
{
    if (tr_is_argos(d->path))
        *chosen = tr_peek_argos;
    else if (tr_is_ctranslate2(d->path))
        *chosen = tr_peek_ctranslate2;
    else if (tr_is_marian(d->path))
        *chosen = tr_peek_marian;
    else if (tr_directory_has(d, "config.json"))
        *chosen = tr_peek_hf;
}

static tr_status choose(const tr_directory *d, peek_format **chosen, bool *foreign)
{
    struct stat st;
    *chosen = NULL;
    if (stat(d->path, &st) < 0)
        return tr_directory_fail(d, TR_ERROR_IO, strerror(errno));
    tr_status status = TR_OK;
    if (S_ISDIR(st.st_mode))
        choose_for_directory(d, chosen);
    else
        status = choose_for_file(d, &st, chosen);
    *foreign = status == TR_OK && !*chosen;
    return *foreign ? tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "is no model") : status;
}

tr_status tr_package_peek(const char *path, tr_peek *peek, tr_error *error)
{
    tr_error local;
    tr_package package = {0};
    peek_format *format;
    const tr_directory d = {path, TR_LOAD_MAP, &package, error ? error : &local};
    *peek = (tr_peek){0};
    tr_directory_name(path, package.name, sizeof package.name);
    tr_status status = choose(&d, &format, &peek->foreign);
    if (status == TR_OK)
        status = format(&d, &peek->has_tokenizer);
    if (status == TR_OK) {
        peek->format = package.format;
        peek->file_size = package.file_size;
        memcpy(peek->name, package.name, sizeof peek->name);
        memcpy(peek->source_language, package.source_language, TR_LANGUAGE);
        memcpy(peek->target_language, package.target_language, TR_LANGUAGE);
        peek->languages = package.languages;
        package.languages = (tr_languages){0};
    }
    tr_package_close(&package);
    return status;
}

void tr_peek_free(tr_peek *peek)
{
    tr_languages_free(&peek->languages);
}
