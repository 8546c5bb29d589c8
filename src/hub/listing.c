#include "hub/listing.h"

#include "import/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTING = 8 << 20 }; /* bytes: some 30,000 files */

/* ---------------------------------------------------------------------------------------------------------- addresses */

static bool add_path(tr_buffer *b, const tr_http *http, const char *before, const tr_hub_name *name, const char *after)
{
    return tr_buffer_string(b, http->endpoint) && tr_buffer_string(b, before) && tr_buffer_string(b, name->owner) &&
           tr_buffer_string(b, "/") && tr_buffer_string(b, name->name) && tr_buffer_string(b, after) &&
           tr_hub_encode(b, name->revision, false);
}

char *tr_hub_address(const tr_http *http, const tr_hub_name *name, const char *file)
{
    tr_buffer b = {0};
    if (add_path(&b, http, "/", name, "/resolve/") && tr_buffer_string(&b, "/") && tr_hub_encode(&b, file, true))
        return b.data;
    tr_buffer_free(&b);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ refusals */

tr_status tr_hub_explain(const tr_http *http, const tr_hub_name *name, const tr_http_answer *answer, tr_error *error)
{
    const bool gated = strcmp(answer->problem, "GatedRepo") == 0;
    const char *token = http->token ? "a token that may read it" : "your token";
    if (gated || answer->status == 403)
        return tr_fail(
            error, TR_ERROR_IO,
            "it is gated, or closed to you (HTTP %ld): accept its conditions at %.150s/%s/%s and set HF_TOKEN to %s",
            answer->status, http->endpoint, name->owner, name->name, token);
    if (answer->status == 401 && http->token)
        return tr_fail(error, TR_ERROR_IO,
                       "there is no such repository, or your token may not read it (HTTP 401): check the "
                       "name and HF_TOKEN");
    if (answer->status == 401)
        return tr_fail(error, TR_ERROR_IO,
                       "there is no such repository, or it is not public (HTTP 401): check the name, or "
                       "set HF_TOKEN to your token");
    if (strcmp(answer->problem, "RevisionNotFound") == 0)
        return tr_fail(error, TR_ERROR_IO, "the repository has no revision '%s' (HTTP 404)", name->revision);
    if (answer->status == 404)
        return tr_fail(error, TR_ERROR_IO, "not found at %.150s (HTTP 404): check the name and the revision",
                       http->endpoint);
    return tr_fail(error, TR_ERROR_IO, "%.150s answers with HTTP %ld", http->endpoint, answer->status);
}

/* --------------------------------------------------------------------------------------------------------- the request */

static tr_status on_begin(void *context, const tr_http_answer *answer, tr_error *error)
{
    (void)answer;
    (void)error;
    tr_buffer_clear(context);
    return TR_OK;
}

static tr_status on_data(void *context, const void *data, size_t size, tr_error *error)
{
    tr_buffer *body = context;
    if (size > MAX_LISTING - body->size)
        return tr_fail(error, TR_ERROR_FORMAT, "the list of its files has more than %d MB", MAX_LISTING >> 20);
    return tr_buffer_append(body, data, size) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

static tr_status receive(tr_http *http, const tr_hub_name *name, const char *url, tr_buffer *body, tr_error *error)
{
    tr_http_answer answer;
    tr_http_get get = {.context = body, .begin = on_begin, .data = on_data};
    for (int losses = 0;;) {
        switch (tr_http_get_url(http, url, &get, &answer, error)) {
        case TR_HTTP_DONE: return TR_OK;
        case TR_HTTP_REFUSED: return tr_hub_explain(http, name, &answer, error);
        case TR_HTTP_FAILED: return error->status;
        case TR_HTTP_LOST: break;
        }
        if (!tr_http_again(http, &losses, &answer, error))
            return error->status;
    }
}

/* --------------------------------------------------------------------------------------------------------- the answer */

static uint64_t size_of(const json_t *value)
{
    const json_int_t size = json_integer_value(value);
    return json_is_integer(value) && size >= 0 ? (uint64_t)size : TR_HUB_UNKNOWN;
}

/* git only stores a pointer to a large file. */
static void read_facts(const json_t *item, tr_hub_file *file)
{
    const json_t *large = json_object_get(item, "lfs");
    const char *sha256 = json_string_value(json_object_get(large, "sha256"));
    const char *blob = json_string_value(json_object_get(item, "blobId"));
    file->size = size_of(json_object_get(json_is_object(large) ? large : item, "size"));
    if (json_is_object(large) ? sha256 && strlen(sha256) == 64 : blob && strlen(blob) == 40)
        tr_hub_set_digest(file, json_is_object(large) ? sha256 : blob);
}

static tr_status read_siblings(const json_t *siblings, tr_hub_files *files, tr_error *error)
{
    size_t i;
    const json_t *item;
    if (!json_is_array(siblings))
        return tr_fail(error, TR_ERROR_FORMAT, "the server's answer holds no list of files");
    json_array_foreach(siblings, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "rfilename"));
        tr_hub_file file = {.name = (char *)name, .size = TR_HUB_UNKNOWN};
        if (!name)
            return tr_fail(error, TR_ERROR_FORMAT, "the server lists a file without a name");
        if (!tr_hub_safe(name))
            return tr_fail(error, TR_ERROR_FORMAT, "the server lists a file named '%.200s', which is refused", name);
        read_facts(item, &file);
        if (!tr_hub_files_add(files, &file))
            return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    }
    return TR_OK;
}

static tr_status read_listing(const tr_buffer *body, tr_hub_manifest *listing, tr_error *error)
{
    json_t *root;
    tr_hub_file commit = {0};
    tr_status status = tr_json_parse(body->data, body->size, "the server's answer", &root, error);
    if (status != TR_OK)
        return status;
    const char *sha = json_string_value(json_object_get(root, "sha"));
    if (sha && tr_hub_set_digest(&commit, sha))
        memcpy(listing->commit, commit.hex, sizeof listing->commit);
    status = read_siblings(json_object_get(root, "siblings"), &listing->files, error);
    json_decref(root);
    return status;
}

tr_status tr_hub_list(tr_http *http, const tr_hub_name *name, tr_hub_manifest *listing, tr_error *error)
{
    tr_buffer url = {0}, body = {0};
    tr_status status;
    *listing = (tr_hub_manifest){0};
    if (add_path(&url, http, "/api/models/", name, "/revision/") && tr_buffer_string(&url, "?blobs=true"))
        status = receive(http, name, url.data, &body, error);
    else
        status = tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK)
        status = read_listing(&body, listing, error);
    tr_buffer_free(&url);
    tr_buffer_free(&body);
    return status;
}
