/* The server's own interface for documents: /v1/documents. */
#include "serve/files.h"
#include "serve/glossaries.h"
#include "serve/routes.h"

static const char *state_name(file_state state)
{
    static const char *const names[] = {
        [FILE_WAITS] = "waiting", [FILE_RUNS] = "running", [FILE_DONE] = "done", [FILE_FAILED] = "failed"};
    return names[state];
}

static void answer_status(request *r, unsigned status, const file *f)
{
    const file_view view = files_look(f);
    json_t *const json = json_pack("{s: s, s: s, s: s, s: I, s: I, s: I}", "id", view.id, "status", state_name(view.state),
                                   "name", view.name, "characters", (json_int_t)view.characters, "texts",
                                   (json_int_t)view.units, "texts_done", (json_int_t)view.units_done);
    bool good = json != NULL;
    if (good && view.seconds_left >= 0)
        good = json_object_set_new(json, "seconds_left", json_integer(view.seconds_left)) == 0;
    if (good && view.message)
        good = json_object_set_new(json, "error", v1_error(500, view.message)) == 0;
    answer_json(r, status, json);
}

static void added(request *r, const file *f)
{
    answer_status(r, 202, f);
}

static void add_document(request *r)
{
    const char *const format = request_text(r, "format"), *const id = request_text(r, "glossary");
    dictionary *terms;
    if (!glossaries_read_terms(r, &terms))
        return;
    const file_options options = {.source = request_text(r, "source"),
                                  .target = request_text(r, "target"),
                                  .format = format && *format ? format : NULL,
                                  .glossary = id && *id ? id : NULL,
                                  .terms = terms,
                                  .bilingual = request_flag(r, "bilingual")};
    files_add(r, &options, added);
    dictionary_release(terms);
}

/* The document that the path names; NULL: there is none, which has been answered. */
static const file *find_document(request *r)
{
    const file *const f = files_find(r, request_part(r));
    if (!f)
        answer_error(r, 404, "there is no such document; it may have been forgotten");
    return f;
}

static void show_document(request *r)
{
    const file *const f = find_document(r);
    if (f)
        answer_status(r, 200, f);
}

static void give_result(request *r)
{
    const file *const f = find_document(r);
    const file_state state = f ? files_look(f).state : FILE_WAITS;
    if (f && (state == FILE_DONE || state == FILE_FAILED))
        files_answer(r, f);
    else if (f)
        answer_error(r, 409, "the document is not translated yet");
}

static void remove_document(request *r)
{
    if (!find_document(r))
        return;
    files_remove(r, request_part(r));
    answer_bytes(r, 204, NULL, NULL, 0);
}

const route documents_routes[] = {
    {"POST", "/v1/documents", add_document, v1_error, ROUTE_UPLOAD},
    {"GET", "/v1/documents/*", show_document, v1_error, ROUTE_FREE},
    {"DELETE", "/v1/documents/*", remove_document, v1_error, ROUTE_FREE},
    {"GET", "/v1/documents/*/result", give_result, v1_error, 0},
    {0},
};
