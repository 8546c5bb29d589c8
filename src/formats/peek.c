#include "formats/peek.h"

#include <string.h>

#include "util/utf8.h"

typedef tr_status peek_format(const tr_directory *d, bool *has_tokenizer);

static tr_status choose(const tr_directory *d, peek_format **chosen, bool *foreign)
{
    static peek_format *const formats[] = {[TR_FORMAT_GGUF] = tr_peek_gguf,
                                           [TR_FORMAT_ARGOS] = tr_peek_argos,
                                           [TR_FORMAT_CTRANSLATE2] = tr_peek_ctranslate2,
                                           [TR_FORMAT_MARIAN] = tr_peek_marian,
                                           [TR_FORMAT_HF] = tr_peek_hf};
    tr_format format;
    tr_path_kind place;
    tr_status status = tr_package_recognise(d->path, &format, d->error);
    *chosen = status == TR_OK ? formats[format] : NULL;
    if (status != TR_OK || *chosen)
        return status;
    status = tr_path_look(d->path, &place, d->error);
    if (status == TR_OK && place == TR_PATH_FILE && tr_ends_with(d->path, ".gguf"))
        return tr_directory_fail(d, TR_ERROR_FORMAT, "is named as a GGUF file, but is none");
    if (status != TR_OK)
        return status;
    *foreign = true;
    return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "is no model");
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
