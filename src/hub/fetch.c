#include "hub/fetch.h"

#include "hub/digest.h"
#include "hub/listing.h"
#include "util/file.h"
#include "util/partial_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUCH = 1 << 20 }; /* bytes after which losing the connection does not count as a failure */

/* Limits for files of unknown size: bytes of all such files of a download, bytes after which the free space is checked
 * again, and the space that must stay free: 5 %, or RESERVE if that is less. A hub tells the sizes of large files; only
 * those of settings and vocabularies are unknown. */
static const uint64_t MAX_UNSIZED = (uint64_t)4 << 30, LOOK_AGAIN = 64 << 20, RESERVE = 1 << 30;

typedef struct fetch {
    const tr_hub_options *options;
    const tr_hub_name *name;
    const tr_folder *folder;
    tr_hub_file *file;
    tr_hub_file expected; /* the file before the first answer */
    tr_hub_meter *meter;
    tr_partial_file part;
    char part_path[TR_PATH], tag_path[TR_PATH];
    char identity[TR_HTTP_TAG]; /* of the file that the part belongs to: its digest or tag at the endpoint; "": none */
    char tag[TR_HTTP_TAG];      /* its tag at the host that sends it */
    uint64_t received;          /* bytes of this connection */
    uint64_t has_room;          /* unknown size: bytes that fit on the disk */
    bool restart;               /* the part cannot be continued: request the whole file */
} fetch;

/* ---------------------------------------------------------------------------------------------------------------- tags */

/* Without W/ and quotes. */
static void bare_tag(const char *tag, char out[TR_HTTP_TAG])
{
    if (strncmp(tag, "W/", 2) == 0)
        tag += 2;
    size_t size = strlen(tag);
    if (size >= 2 && tag[0] == '"' && tag[size - 1] == '"')
        tag++, size -= 2;
    snprintf(out, TR_HTTP_TAG, "%.*s", (int)size, tag);
}

/* Copies the line at *text, and moves *text after it. */
static void take_line(const char **text, const char *end, char out[TR_HTTP_TAG])
{
    const char *newline = memchr(*text, '\n', (size_t)(end - *text));
    const size_t size = newline ? (size_t)(newline - *text) : 0;
    if (size < TR_HTTP_TAG)
        snprintf(out, TR_HTTP_TAG, "%.*s", (int)size, *text);
    *text = newline ? newline + 1 : end;
}

/* Reads identity and tag, which stay empty if they are missing or invalid. */
static tr_status read_tags(fetch *f, tr_error *error)
{
    char name[TR_PATH];
    tr_buffer content;
    bool found;
    snprintf(name, sizeof name, "%s" TR_HUB_TAG, f->file->name);
    const tr_status status = tr_folder_read(f->folder, name, &content, &found, error);
    if (status == TR_OK && content.size && content.size < 2 * TR_HTTP_TAG) {
        const char *text = content.data, *end = text + content.size;
        take_line(&text, end, f->identity);
        take_line(&text, end, f->tag);
    }
    tr_buffer_free(&content);
    return status;
}

static tr_status write_tags(const fetch *f, tr_error *error)
{
    char text[2 * TR_HTTP_TAG + 2];
    const int size = snprintf(text, sizeof text, "%s\n%s\n", f->identity, f->tag);
    return tr_file_write_own(f->tag_path, 0666, text, (size_t)size, error);
}

static bool strong(const char *tag)
{
    return tag[0] == '"';
}

/* ----------------------------------------------------------------------------------------------------------- the part */

/* Empties the part, and forgets the file that it belonged to. */
static tr_status start_over(fetch *f, tr_error *error)
{
    if (f->file->size != f->expected.size)
        f->meter->total -= f->file->size;
    *f->file = f->expected;
    f->identity[0] = f->tag[0] = 0;
    tr_file_remove(f->tag_path);
    return tr_partial_file_clear(&f->part, error);
}

static void drop_part(const fetch *f)
{
    tr_file_remove(f->part_path);
    tr_file_remove(f->tag_path);
}

/* Opens the part of an earlier run; empties it if it cannot belong to the wanted file. */
static tr_status open_part(fetch *f, tr_error *error)
{
    tr_status status = tr_partial_file_open(&f->part, f->part_path, error);
    if (status == TR_OK && f->part.size)
        status = read_tags(f, error);
    if (status != TR_OK || f->part.size == 0)
        return status;
    const bool known = f->file->digest != TR_HUB_NO_DIGEST;
    const bool other = known && strcmp(f->identity, f->file->hex) != 0;
    if (other || (!known && !strong(f->tag)) || f->part.size > f->file->size)
        status = start_over(f, error);
    return status;
}

/* ----------------------------------------------------------------------------------------------- while the server talks */

/* The file's digest or tag at the endpoint; "" if this answer has none. */
static void identity_of(const tr_http_answer *a, char out[TR_HTTP_TAG])
{
    out[0] = 0;
    if (*a->linked_tag)
        bare_tag(a->linked_tag, out);
    else if (a->at_endpoint)
        bare_tag(a->tag, out);
}

/* A redirect may already tell that the file has changed. */
static tr_status on_redirect(void *context, tr_http_get *get, const tr_http_answer *a, tr_error *error)
{
    fetch *f = context;
    char identity[TR_HTTP_TAG] = "";
    if (*a->linked_tag)
        bare_tag(a->linked_tag, identity);
    if (f->part.size == 0 || !*identity || strcmp(identity, f->identity) == 0)
        return TR_OK;
    get->from = 0;
    get->validator[0] = 0;
    return start_over(f, error);
}

static tr_status check_size(fetch *f, uint64_t size, tr_error *error)
{
    uint64_t space;
    if (size == TR_HTTP_UNKNOWN || size == f->file->size)
        return TR_OK;
    if (f->file->size != TR_HUB_UNKNOWN)
        return tr_fail(error, TR_ERROR_FORMAT, "the server has %" PRIu64 " bytes, but %" PRIu64 " are expected", size,
                       f->file->size);
    if (tr_folder_space(f->part_path, &space) && size > space && size - space > f->part.size)
        return tr_fail(error, TR_ERROR_IO, "the disk has room for %.1f MB, it needs %.1f", (double)space / 1e6,
                       (double)size / 1e6);
    f->file->size = size;
    f->meter->total += size;
    return TR_OK;
}

/* Compares the headers with the expected size and digest, or stores them if nothing is expected. */
static tr_status check_file(fetch *f, const tr_http_answer *a, tr_error *error)
{
    tr_hub_file claimed = {0};
    const uint64_t offset = a->status == 206 ? a->first : 0;
    char identity[TR_HTTP_TAG];
    identity_of(a, identity);
    if (tr_hub_set_digest(&claimed, identity)) {
        if (f->file->digest == claimed.digest && strcmp(f->file->hex, claimed.hex) != 0)
            return tr_fail(error, TR_ERROR_FORMAT, "the repository has just changed, or the server is wrong: try again");
        if (f->file->digest == TR_HUB_NO_DIGEST)
            tr_hub_set_digest(f->file, claimed.hex);
    }
    tr_status status = check_size(f, a->linked_size, error);
    if (status == TR_OK && a->status == 206)
        status = check_size(f, a->total, error);
    if (status == TR_OK && a->length != TR_HTTP_UNKNOWN && a->length <= UINT64_MAX - 1 - offset)
        status = check_size(f, a->length + offset, error);
    return status;
}

/* Writes the identity of the part's file, before the first byte. */
static tr_status note_tags(fetch *f, const tr_http_answer *a, tr_error *error)
{
    identity_of(a, f->identity);
    if (f->file->digest != TR_HUB_NO_DIGEST)
        snprintf(f->identity, sizeof f->identity, "%s", f->file->hex);
    snprintf(f->tag, sizeof f->tag, "%s", a->tag);
    return write_tags(f, error);
}

static tr_status on_begin(void *context, const tr_http_answer *a, tr_error *error)
{
    fetch *f = context;
    if (a->status == 206) {
        const bool other = strong(f->tag) && strong(a->tag) && strcmp(f->tag, a->tag) != 0;
        if (a->first == f->part.size && !other)
            return check_file(f, a, error);
        f->restart = true;
        return tr_fail(error, TR_ERROR_FORMAT, "the server continues another file");
    }
    tr_status status = f->part.size ? start_over(f, error) : TR_OK;
    if (status == TR_OK)
        status = check_file(f, a, error);
    return status == TR_OK ? note_tags(f, a, error) : status;
}

/* Before size more bytes of a file of unknown size, which could fill the disk. */
static tr_status check_unsized(fetch *f, size_t size, tr_error *error)
{
    uint64_t space = UINT64_MAX;
    const uint64_t before = f->meter->unsized + f->part.size, wanted = f->part.size + size;
    if (before > MAX_UNSIZED || size > MAX_UNSIZED - before) {
        if (start_over(f, error) != TR_OK) /* the part is useless */
            return error->status;
        return tr_fail(error, TR_ERROR_FORMAT, "the server sends more than %d GB without telling the size",
                       (int)(MAX_UNSIZED >> 30));
    }
    if (wanted <= f->has_room)
        return TR_OK;
    tr_folder_space(f->part_path, &space);
    const uint64_t share = space / 20 + before / 20, reserve = share < RESERVE ? share : RESERVE;
    if (space < reserve || space - reserve < size)
        return tr_fail(error, TR_ERROR_IO, "the disk has room for %.1f MB, and the server does not tell the size",
                       (double)space / 1e6);
    const uint64_t more = space - reserve - size;
    f->has_room = wanted + (more < LOOK_AGAIN ? more : LOOK_AGAIN);
    return TR_OK;
}

static tr_status on_data(void *context, const void *data, size_t size, tr_error *error)
{
    fetch *f = context;
    if (size > f->file->size - f->part.size)
        return tr_fail(error, TR_ERROR_FORMAT, "the server sends more than the %" PRIu64 " bytes that are expected",
                       f->file->size);
    tr_status status = f->file->size == TR_HUB_UNKNOWN ? check_unsized(f, size, error) : TR_OK;
    if (status != TR_OK)
        return status;
    status = tr_partial_file_append(&f->part, data, size, error);
    f->received += size;
    f->options->progress(f->options->context, f->meter->before + f->part.size, f->meter->total);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- receiving */

static bool is_whole(const fetch *f)
{
    return f->file->size != TR_HUB_UNKNOWN && f->part.size == f->file->size;
}

/* "Range not satisfiable": the part may be the whole file. */
static tr_status judge_range(fetch *f, const tr_http_answer *a, tr_error *error)
{
    if (a->total != f->part.size || a->total == 0)
        return start_over(f, error);
    tr_hub_set_digest(f->file, f->identity);
    return check_size(f, a->total, error);
}

/* One request. *again: another request may get more. */
static tr_status receive_once(fetch *f, tr_http *http, const char *url, int *losses, bool *again, tr_error *error)
{
    tr_http_answer answer;
    tr_http_get get = {.from = f->part.size, .context = f, .redirected = on_redirect, .begin = on_begin, .data = on_data};
    if (get.from && strong(f->tag))
        snprintf(get.validator, sizeof get.validator, "%s", f->tag);
    f->received = 0;
    f->restart = false;
    tr_http_outcome outcome = tr_http_get_url(http, url, &get, &answer, error);
    *losses = f->received >= MUCH ? 0 : *losses;
    *again = true;
    if (f->restart && get.from)
        return start_over(f, error);
    if (outcome == TR_HTTP_REFUSED && answer.status == 416 && get.from)
        return judge_range(f, &answer, error);
    if (outcome == TR_HTTP_DONE && f->file->size == TR_HUB_UNKNOWN)
        f->meter->unsized += f->part.size;
    if (outcome == TR_HTTP_DONE && f->file->size != TR_HUB_UNKNOWN && !is_whole(f)) {
        tr_fail(error, TR_ERROR_IO, "the connection ended after %" PRIu64 " of %" PRIu64 " bytes", f->part.size,
                f->file->size);
        outcome = TR_HTTP_LOST;
    }
    if (outcome == TR_HTTP_LOST && tr_http_again(http, losses, &answer, error))
        return TR_OK;
    *again = false;
    if (outcome == TR_HTTP_REFUSED && answer.at_endpoint)
        return tr_hub_explain(http, f->name, &answer, error);
    return outcome == TR_HTTP_DONE ? check_size(f, f->part.size, error) : error->status;
}

static tr_status receive(fetch *f, tr_http *http, const char *url, tr_error *error)
{
    int losses = 0, requests = 0;
    bool again = !is_whole(f) || f->file->digest == TR_HUB_NO_DIGEST;
    tr_status status = TR_OK;
    while (again && status == TR_OK) {
        status = receive_once(f, http, url, &losses, &again, error);
        again = again && !is_whole(f);
        if (again && ++requests > 10000) /* each one got data, but too little */
            return tr_fail(error, TR_ERROR_IO, "the server closes the connection again and again");
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ verifying */

static tr_status verify(fetch *f, bool *good, tr_error *error)
{
    char hex[TR_HUB_HEX];
    *good = true;
    if (f->file->digest == TR_HUB_NO_DIGEST)
        return TR_OK;
    const tr_status status = tr_hub_digest_file(f->part_path, f->file->digest, f->part.size, f->options, hex, error);
    if (status != TR_OK || strcmp(hex, f->file->hex) == 0)
        return status;
    *good = false;
    return tr_fail(error, TR_ERROR_FORMAT, "its %s is %s, not %s as the repository says; nothing was kept",
                   f->file->digest == TR_HUB_SHA256 ? "SHA-256" : "SHA-1", hex, f->file->hex);
}

static tr_status receive_and_verify(fetch *f, tr_http *http, const char *url, tr_error *error)
{
    bool good;
    bool continued = f->part.size > 0;
    tr_status status;
    for (;; continued = false) {
        status = receive(f, http, url, error);
        if (status != TR_OK)
            return status;
        status = verify(f, &good, error);
        if (good || !continued)
            break;
        status = start_over(f, error); /* the part of the earlier run may be damaged */
        if (status != TR_OK)
            return status;
    }
    if (!good)
        drop_part(f);
    return status;
}

tr_status tr_hub_fetch(tr_http *http, const tr_hub_name *name, const tr_folder *folder, tr_hub_file *file,
                       tr_hub_meter *meter, tr_error *error)
{
    fetch f = {.options = http->options, .name = name, .folder = folder, .file = file, .expected = *file, .meter = meter};
    if (snprintf(f.part_path, sizeof f.part_path, "%s/%s" TR_HUB_PART, folder->path, file->name) >= TR_PATH ||
        snprintf(f.tag_path, sizeof f.tag_path, "%s/%s" TR_HUB_TAG, folder->path, file->name) >= TR_PATH)
        return tr_fail(error, TR_ERROR_IO, "its name is too long");
    char *url = tr_hub_address(http, name, file->name);
    if (!url)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    tr_status status = open_part(&f, error);
    if (status == TR_OK)
        status = receive_and_verify(&f, http, url, error);
    if (status == TR_OK)
        status = tr_partial_file_finish(&f.part, error);
    else if (f.part.descriptor >= 0 && f.part.size == 0)
        drop_part(&f);
    tr_partial_file_close(&f.part);
    free(url);
    return status;
}
