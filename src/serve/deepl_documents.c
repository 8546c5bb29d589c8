#define _GNU_SOURCE
#include "serve/deepl.h"

#include <string.h>
#include <strings.h>

#include "serve/files.h"
#include "serve/ids.h"

enum { PATIENCE = 1000 }; /* milliseconds */

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
    const char *const id = request_part(r), *key;
    if (!deepl_text(r, "document_key", &key))
        return NULL;
    const file *const found = key && secret_is(key, id) ? files_find(r, id) : NULL;
    if (!found)
        answer_error(r, 404, "Document not found");
    return found;
}

static bool is_over(const file *f)
{
    const file_state state = files_look(f).state;
    return state == FILE_DONE || state == FILE_FAILED;
}

static void answer_status(request *r, const file *f)
{
    static const char *const names[] = {
        [FILE_WAITS] = "queued", [FILE_RUNS] = "translating", [FILE_DONE] = "done", [FILE_FAILED] = "error"};
    const file_view view = files_look(f);
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

/* DeepL's clients ask at once, and then every five seconds: the first answer waits for a short document. */
void deepl_document_status(request *r)
{
    const file *const f = find_document(r);
    if (f)
        files_wait(r, f, PATIENCE, answer_status);
}

/* As with DeepL, a document can be fetched once. */
void deepl_document_result(request *r)
{
    const file *const found = find_document(r);
    if (found && !is_over(found)) {
        answer_header(r, "Retry-After", "1");
        answer_error(r, 503, "Document translation is not done");
    } else if (found) {
        files_answer(r, found);
        files_remove(r, request_part(r));
    }
}
