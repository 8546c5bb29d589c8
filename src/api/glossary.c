/* tr_glossary: the public side of text/terms.h. */
#include "text/terms.h"
#include "util/file.h"

tr_status tr_glossary_parse(const char *name, const char *data, size_t size, tr_glossary **glossary, tr_error *error)
{
    if (!glossary)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_glossary_parse: glossary is NULL");
    *glossary = NULL;
    if (!name || (!data && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_glossary_parse: %s is NULL", name ? "data" : "name");
    return tr_terms_parse(name, size ? data : "", size, glossary, error);
}

tr_status tr_glossary_open(const char *path, tr_glossary **glossary, tr_error *error)
{
    tr_file file;
    if (!glossary)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_glossary_open: glossary is NULL");
    *glossary = NULL;
    if (!path)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_glossary_open: path is NULL");
    tr_status status = tr_file_open(path, TR_LOAD_COPY, &file, error);
    if (status != TR_OK)
        return status;
    status = tr_terms_parse(path, file.size ? (const char *)file.data : "", file.size, glossary, error);
    tr_file_close(&file);
    return status;
}

void tr_glossary_free(tr_glossary *glossary)
{
    tr_terms_free(glossary);
}
