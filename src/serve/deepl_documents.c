#define _GNU_SOURCE
#include "serve/deepl.h"

#include <string.h>
#include <strings.h>

#include "serve/files.h"

/* Whether the translation shall have the format that the upload has; the clients ask otherwise for what only DeepL can. */
static bool keeps_format(request *r)
{
    const char *wanted, *const end = r->upload.name ? strrchr(r->upload.name, '.') : NULL;
    if (!deepl_text(r, "output_format", &wanted))
        return false;
    if (!wanted || (end && strcasecmp(end + 1, wanted) == 0))
        return true;
    answer_error(r, 400, "Value for 'output_format' not supported: it is not the format of the file.");
    return false;
}

/* The id is as secret as DeepL's key, so it is both. */
static void answer_added(request *r, const file *f)
{
    const file_view view = files_look(f);
    answer_json(r, 200, json_pack("{s: s, s: s}", "document_id", view.id, "document_key", view.id));
}

void deepl_document_create(request *r)
{
    deepl_options o;
    if (!deepl_read_options(r, &o) || !keeps_format(r))
        return;
    if (!r->upload.data) {
        answer_error(r, 400, "Invalid file data: parameter 'file' not specified.");
        return;
    }
    const file_options options = {.source = o.source, .target = o.target, .glossary = o.glossary};
    files_add(r, &options, answer_added);
}

/* The document that the path names, if the key belongs to it. NULL: it has been answered. */
static const file *find_document(request *r)
{
    const char *const id = request_part(r, 0), *key;
    if (!deepl_text(r, "document_key", &key))
        return NULL;
    const file *const found = key && strcmp(key, id) == 0 ? files_find(r, id) : NULL;
    if (!found)
        answer_error(r, 404, "Document not found");
    return found;
}

void deepl_document_status(request *r)
{
    static const char *const names[] = {
        [FILE_WAITS] = "queued", [FILE_RUNS] = "translating", [FILE_DONE] = "done", [FILE_FAILED] = "error"};
    const file *const found = find_document(r);
    if (!found)
        return;
    const file_view view = files_look(found);
    json_t *const answer = json_pack("{s: s, s: s}", "document_id", view.id, "status", names[view.state]);
    if (view.state == FILE_DONE)
        json_object_set_new(answer, "billed_characters", json_integer((json_int_t)view.characters));
    if (view.state == FILE_FAILED) { /* older clients read the latter */
        json_object_set_new(answer, "error_message", json_string(view.message));
        json_object_set_new(answer, "message", json_string(view.message));
    } else if (view.seconds_left >= 0) {
        json_object_set_new(answer, "seconds_remaining", json_integer(view.seconds_left));
    }
    answer_json(r, 200, answer);
}

/* As with DeepL, a document can be fetched once. */
void deepl_document_result(request *r)
{
    const file *const found = find_document(r);
    if (!found)
        return;
    const file_view view = files_look(found);
    if (view.state == FILE_FAILED) {
        answer_error(r, 400, "%s", view.message);
    } else if (view.state != FILE_DONE) {
        answer_header(r, "Retry-After", "1");
        answer_error(r, 503, "Document translation is not done");
    } else {
        answer_bytes(r, 200, view.type, view.data, view.size);
        files_remove(r, request_part(r, 0));
    }
}
