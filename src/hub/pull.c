/* A download: makes and locks the folder, gives up all other rights, lists the repository, chooses files, finds those that
 * are missing, fetches them, and renames all of them. */
#include "hub/hub.h"

#include "hub/choose.h"
#include "hub/confine.h"
#include "hub/digest.h"
#include "hub/fetch.h"
#include "hub/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pull {
    const tr_hub_request *request;
    const tr_hub_options *options;
    tr_http http;
    char folder[TR_PATH];
    tr_folder place; /* the same, open */
    bool in_cache;
    bool listed;            /* old and begun were read */
    bool changed;           /* renaming has begun */
    tr_hub_manifest wanted; /* the files of the complete model */
    tr_hub_manifest old;    /* the manifest found in the cache */
    tr_hub_manifest begun;  /* files that unfinished downloads may have left */
    bool *missing;          /* of each wanted file */
} pull;

/* ---------------------------------------------------------------------------------------------- what is there already */

/* Whether the cache has verified this file before, and it still has its size. */
static bool known_before(const pull *p, const tr_hub_file *file, uint64_t size)
{
    const tr_hub_file *old = tr_hub_files_find(&p->old.files, file->name);
    if (!old || old->size != size)
        return false;
    return file->digest != TR_HUB_NO_DIGEST ? file->digest == old->digest && strcmp(file->hex, old->hex) == 0
                                            : *p->wanted.commit && strcmp(p->wanted.commit, p->old.commit) == 0;
}

/* A link is not followed, but replaced by the file. */
static tr_status check_file(pull *p, tr_hub_file *file, bool *missing, tr_error *error)
{
    char path[TR_PATH], hex[TR_HUB_HEX];
    uint64_t size;
    bool found;
    *missing = true;
    tr_status status = tr_folder_size(&p->place, file->name, &size, &found, error);
    if (status == TR_OK)
        status = tr_path_join(path, p->folder, file->name, error);
    if (status != TR_OK || !found || (file->size != TR_HUB_UNKNOWN && file->size != size))
        return status;
    if (known_before(p, file, size)) {
        *missing = false;
    } else if (file->digest != TR_HUB_NO_DIGEST) {
        status = tr_hub_digest_file(path, file->digest, size, p->options, hex, error);
        *missing = status != TR_OK || strcmp(hex, file->hex) != 0;
    }
    if (!*missing)
        file->size = size;
    return status;
}

/* *size: bytes of the part that an earlier run has left. */
static tr_status part_size(const pull *p, const tr_hub_file *file, uint64_t *size, bool *found, tr_error *error)
{
    char name[TR_PATH];
    if (snprintf(name, sizeof name, "%s" TR_HUB_PART, file->name) >= TR_PATH)
        return tr_fail(error, TR_ERROR_IO, "%.300s: the name is too long", file->name);
    const tr_status status = tr_folder_size(&p->place, name, size, found, error);
    *size = *size < file->size ? *size : file->size;
    return status;
}

static tr_status check_space(const pull *p, uint64_t needed, tr_error *error)
{
    uint64_t space;
    if (!tr_folder_space(p->folder, &space) || space >= needed)
        return TR_OK;
    return tr_fail(error, TR_ERROR_IO, "%.200s: the disk has room for %.1f MB, it needs %.1f", p->folder,
                   (double)space / 1e6, (double)needed / 1e6);
}

static tr_status read_lists(pull *p, tr_error *error)
{
    bool found;
    tr_status status = TR_OK;
    if (p->in_cache)
        status = tr_hub_manifest_read(&p->place, TR_HUB_MANIFEST, &p->old, &found, error);
    if (p->in_cache && status == TR_OK)
        status = tr_hub_manifest_read(&p->place, TR_HUB_BEGUN, &p->begun, &found, error);
    p->listed = status == TR_OK;
    return status;
}

/* Finds the missing files, and checks the free space. *total: bytes of the missing files. */
static tr_status find_missing(pull *p, uint64_t *total, size_t *count, tr_error *error)
{
    uint64_t needed = 0;
    *total = *count = 0;
    for (size_t i = 0; i < p->wanted.files.count; i++) {
        tr_hub_file *file = &p->wanted.files.items[i];
        uint64_t part = 0;
        bool found;
        tr_status status = check_file(p, file, &p->missing[i], error);
        if (status == TR_OK && p->missing[i])
            status = part_size(p, file, &part, &found, error);
        if (status != TR_OK)
            return status;
        if (!p->missing[i])
            continue;
        ++*count;
        const uint64_t size = file->size == TR_HUB_UNKNOWN ? 0 : file->size;
        if (size > UINT64_MAX - *total)
            return tr_fail(error, TR_ERROR_FORMAT, "the sizes of its files are impossible");
        *total += size;
        needed += size ? size - part : 0;
    }
    return check_space(p, needed, error);
}

/* ------------------------------------------------------------------------------------------------------------ fetching */

/* Makes the folders of the file; refuses links in their place. */
static tr_status make_folders(const pull *p, const char *name, tr_error *error)
{
    char folders[TR_PATH];
    tr_folder inner;
    tr_hub_file_folders(folders, name);
    if (!*folders)
        return TR_OK;
    const tr_status status = tr_folder_enter(&inner, &p->place, folders, true, error);
    tr_folder_close(&inner);
    return status;
}

static tr_status fetch_file(pull *p, tr_hub_file *file, tr_hub_meter *meter, tr_error *error)
{
    tr_status status = make_folders(p, file->name, error);
    if (status == TR_OK)
        status = tr_hub_fetch(&p->http, p->request->name, &p->place, file, meter, error);
    return status == TR_ERROR_CANCELLED ? status : tr_fail_in(error, status, file->name);
}

/* Appends those that files lacks. */
static bool add_names(tr_hub_files *files, const tr_hub_files *more)
{
    bool good = true;
    for (size_t i = 0; good && i < more->count; i++)
        good = tr_hub_files_find(files, more->items[i].name) || tr_hub_files_add(files, &more->items[i]);
    return good;
}

/* Writes a list of all files that exist or may be downloaded, so that they can be removed if this run fails. */
static tr_status note_begun(pull *p, tr_error *error)
{
    memcpy(p->begun.commit, p->wanted.commit, sizeof p->begun.commit);
    if (!add_names(&p->begun.files, &p->wanted.files) || !add_names(&p->begun.files, &p->old.files))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    return tr_hub_manifest_write(p->folder, TR_HUB_BEGUN, p->request->name, &p->begun, error);
}

static tr_status fetch_missing(pull *p, uint64_t total, tr_error *error)
{
    tr_hub_meter meter = {.total = total};
    for (size_t i = 0; i < p->wanted.files.count; i++) {
        if (!p->missing[i])
            continue;
        const tr_status status = fetch_file(p, &p->wanted.files.items[i], &meter, error);
        if (status != TR_OK)
            return status;
        meter.before += p->wanted.files.items[i].size;
    }
    return TR_OK;
}

/* ----------------------------------------------------------------------------------------------------------- the end */

/* Renames a verified file. */
static tr_status name_file(const pull *p, const tr_hub_file *file, tr_error *error)
{
    char part[TR_PATH], tag[TR_PATH];
    tr_folder_sum removed = {0};
    snprintf(part, sizeof part, "%s" TR_HUB_PART, file->name); /* tr_hub_fetch() has checked the length */
    snprintf(tag, sizeof tag, "%s" TR_HUB_TAG, file->name);
    const tr_status status = tr_folder_rename(&p->place, part, file->name, error);
    if (status == TR_OK)
        tr_folder_unlink(&p->place, tag, &removed, NULL);
    return status;
}

/* Files that another pull of the same commit has downloaded are kept in the manifest; those of an older commit are removed.
 */
static tr_status keep_or_drop_old(pull *p, tr_error *error)
{
    tr_folder_sum removed = {0};
    tr_status status = TR_OK;
    const bool same = *p->old.commit && strcmp(p->old.commit, p->wanted.commit) == 0;
    if (same && !add_names(&p->wanted.files, &p->old.files))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; status == TR_OK && i < p->old.files.count; i++)
        if (!tr_hub_files_find(&p->wanted.files, p->old.files.items[i].name))
            status = tr_hub_file_remove(&p->place, p->old.files.items[i].name, &removed, error);
    return status;
}

/* Files that another pull has begun stay in the list while there are parts of them; others are removed. */
static tr_status settle_begun(pull *p, tr_error *error)
{
    tr_hub_manifest left = {0};
    tr_folder_sum removed = {0};
    tr_status status = TR_OK;
    memcpy(left.commit, p->begun.commit, sizeof left.commit);
    for (size_t i = 0; status == TR_OK && i < p->begun.files.count; i++) {
        const tr_hub_file *file = &p->begun.files.items[i];
        if (tr_hub_files_find(&p->wanted.files, file->name))
            continue;
        uint64_t part;
        bool found;
        status = part_size(p, file, &part, &found, error);
        if (status == TR_OK && !part)
            status = tr_hub_file_remove(&p->place, file->name, &removed, error);
        else if (status == TR_OK && !tr_hub_files_add(&left.files, file))
            status = tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    }
    if (status == TR_OK && left.files.count)
        status = tr_hub_manifest_write(p->folder, TR_HUB_BEGUN, p->request->name, &left, error);
    else if (status == TR_OK)
        status = tr_folder_unlink(&p->place, TR_HUB_BEGUN, &removed, error);
    tr_hub_manifest_free(&left);
    return status;
}

/* Renames the files and writes the manifest. Meanwhile the model counts as incomplete: the manifest is removed before new
 * files are renamed, and names missing files while old ones are removed. */
static tr_status rename_files(pull *p, size_t missing, tr_error *error)
{
    tr_folder_sum removed = {0};
    tr_status status = TR_OK;
    p->changed = true;
    if (missing && p->in_cache)
        status = tr_folder_unlink(&p->place, TR_HUB_MANIFEST, &removed, error);
    for (size_t i = 0; status == TR_OK && i < p->wanted.files.count; i++)
        if (p->missing[i])
            status = name_file(p, &p->wanted.files.items[i], error);
    if (status != TR_OK || !p->in_cache)
        return status;
    status = keep_or_drop_old(p, error);
    if (status == TR_OK)
        status = tr_hub_manifest_write(p->folder, TR_HUB_MANIFEST, p->request->name, &p->wanted, error);
    return status == TR_OK ? settle_begun(p, error) : status;
}

/* ------------------------------------------------------------------------------------------------------------ in order */

static void note_work(const pull *p, uint64_t total, size_t count)
{
    char line[TR_PATH + 1024];
    if (count)
        snprintf(line, sizeof line, "%s: downloading %zu file%s, %.1f MB, to %s", p->request->name->label, count,
                 count == 1 ? "" : "s", (double)total / 1e6, p->folder);
    else
        snprintf(line, sizeof line, "%s: is complete and up to date in %s", p->request->name->label, p->folder);
    p->options->note(p->options->context, line);
}

/* Lists the repository, and chooses the wanted files. */
static tr_status choose_files(pull *p, tr_error *error)
{
    tr_hub_manifest listing = {0};
    tr_status status = tr_hub_list(&p->http, p->request->name, &listing, error);
    if (status == TR_OK)
        status = tr_hub_choose(&listing.files, p->request->pattern, &p->wanted.files, error);
    memcpy(p->wanted.commit, listing.commit, sizeof listing.commit);
    tr_hub_manifest_free(&listing);
    return status;
}

static tr_status pull_locked(pull *p, tr_error *error)
{
    uint64_t total;
    size_t count;
    tr_status status = tr_hub_confine(p->folder, error); /* before any data is received */
    if (status == TR_OK)
        status = read_lists(p, error);
    if (status == TR_OK)
        status = choose_files(p, error);
    if (status != TR_OK)
        return status;
    p->missing = calloc(p->wanted.files.count, sizeof *p->missing);
    if (!p->missing)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    status = find_missing(p, &total, &count, error);
    if (status != TR_OK)
        return status;
    note_work(p, total, count);
    if (count && p->in_cache)
        status = note_begun(p, error);
    if (status == TR_OK)
        status = fetch_missing(p, total, error);
    return status == TR_OK ? rename_files(p, count, error) : status;
}

static tr_status take_lock(const pull *p, tr_lock *lock, tr_error *error)
{
    char line[TR_HUB_LABEL + 64];
    bool taken = false;
    tr_status status = TR_OK;
    for (int tries = 0; status == TR_OK && !taken; tries++) {
        status = tr_lock_try(lock, &p->place, TR_HUB_LOCK, &taken, error);
        if (status != TR_OK || taken)
            break;
        if (tries == 1) {
            snprintf(line, sizeof line, "%s: another process is downloading it; waiting", p->request->name->label);
            p->options->note(p->options->context, line);
        }
        if (!tr_http_wait(&p->http, 200))
            status = tr_fail(error, TR_ERROR_CANCELLED, "interrupted");
    }
    return status;
}

/* Whether there may be a part of a file that only p->begun names. */
static bool is_left(const pull *p, const tr_hub_file *file)
{
    uint64_t size;
    bool found;
    if (part_size(p, file, &size, &found, NULL) != TR_OK || found)
        return true;
    return !tr_hub_files_find(&p->old.files, file->name) &&
           (tr_folder_size(&p->place, file->name, &size, &found, NULL) != TR_OK || found);
}

/* After a failure: removes the list if no file of it has been begun, and the folders that were made for them. */
static void drop_list(const pull *p)
{
    char folders[TR_PATH];
    tr_folder_sum removed = {0};
    bool left = p->changed || !p->listed;
    for (size_t i = 0; !left && i < p->begun.files.count; i++)
        left = is_left(p, &p->begun.files.items[i]);
    for (size_t i = 0; !left && i < p->begun.files.count; i++) {
        tr_hub_file_folders(folders, p->begun.files.items[i].name);
        tr_folder_prune(&p->place, folders);
    }
    if (!left && p->in_cache)
        tr_folder_unlink(&p->place, TR_HUB_BEGUN, &removed, NULL);
}

static tr_status open_folder(pull *p, tr_error *error)
{
    if (p->in_cache)
        return tr_hub_cache_open(&p->place, p->request->name, true, error);
    const tr_status status = tr_folder_make(p->folder, error);
    return status == TR_OK ? tr_folder_open(&p->place, p->folder, error) : status;
}

static tr_status pull_to_folder(pull *p, tr_error *error)
{
    tr_lock lock;
    tr_status status = open_folder(p, error);
    if (status == TR_OK)
        status = take_lock(p, &lock, error);
    if (status == TR_OK) {
        status = pull_locked(p, error);
        if (status != TR_OK)
            drop_list(p);
        tr_lock_release(&lock);
    }
    tr_folder_close(&p->place);
    return status;
}

static tr_status choose_folder(pull *p, tr_error *error)
{
    p->in_cache = !p->request->folder;
    if (p->in_cache)
        return tr_hub_cache_folder(p->folder, p->request->name, error);
    if (snprintf(p->folder, sizeof p->folder, "%s", p->request->folder) >= TR_PATH)
        return tr_fail(error, TR_ERROR_IO, "%.300s: the name is too long", p->request->folder);
    for (size_t n = strlen(p->folder); n > 1 && p->folder[n - 1] == '/'; n--)
        p->folder[n - 1] = 0;
    return TR_OK;
}

/* No server was reached: how to bring the model here all the same. */
static tr_status tell_without_network(const char *label, tr_error *error)
{
    char line[TR_MESSAGE_SIZE];
    snprintf(line, sizeof line, "%s", error->message);
    return tr_fail(
        error, TR_ERROR_IO,
        "%.300s; without a network here: 'translate pull %s -o DIR' elsewhere, copy DIR, then -m DIR (HF_ENDPOINT: a "
        "mirror)",
        line, label);
}

tr_status tr_hub_pull(const tr_hub_request *request, const tr_hub_options *options, tr_error *error)
{
    pull p = {.request = request, .options = options, .place.descriptor = -1};
    tr_status status = tr_http_open(&p.http, options, error);
    if (status != TR_OK)
        return status;
    status = choose_folder(&p, error);
    if (status == TR_OK)
        status = pull_to_folder(&p, error);
    free(p.missing);
    tr_hub_manifest_free(&p.wanted);
    tr_hub_manifest_free(&p.old);
    tr_hub_manifest_free(&p.begun);
    if (status == TR_ERROR_IO && p.http.asked && !p.http.answered)
        status = tell_without_network(request->name->label, error);
    tr_http_close(&p.http);
    return status == TR_ERROR_CANCELLED ? status : tr_fail_in(error, status, request->name->label);
}
