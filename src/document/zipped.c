/* Documents that are zip archives: some of their entries are members, all others are copied. */
#include "document/zipped.h"

#include <stdlib.h>
#include <string.h>

#include "import/zip.h"

typedef struct zipped {
    tr_zip *zip;
    uint64_t content;    /* bytes of the entries that were read */
    tr_buffer inflated;  /* of void *: for free() */
    tr_buffer positions; /* of size_t: which entry each member is */
    bool *is_member;     /* of each entry */
} zipped;

void tr_zipped_close(void *state)
{
    zipped *z = state;
    void **inflated = (void **)(void *)z->inflated.data;
    for (size_t i = 0; i < z->inflated.size / sizeof *inflated; i++)
        free(inflated[i]);
    tr_buffer_free(&z->inflated);
    tr_buffer_free(&z->positions);
    tr_zip_close(z->zip);
    free(z->is_member);
    free(z);
}

/* Fails if some entry could not be written: those that are not translated as well. */
static tr_status check_entries(const tr_document *d, const tr_zip *zip, tr_error *error)
{
    size_t count;
    const tr_zip_entry *entries = tr_zip_entries(zip, &count);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].size >= UINT32_MAX)
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: entry %.100s: has 4 GiB or more", d->name, entries[i].name);
        const tr_status status = tr_zip_check(zip, &entries[i], error);
        if (status != TR_OK)
            return tr_fail_in(error, status, d->name);
    }
    return TR_OK;
}

tr_status tr_zipped_open(tr_document *d, tr_error *error)
{
    static const char ole[] = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
    zipped *z = calloc(1, sizeof *z);
    d->state = z;
    if (!z)
        return tr_fail_memory(error, d->name);
    if (d->size >= sizeof ole - 1 && memcmp(d->data, ole, sizeof ole - 1) == 0)
        return tr_fail(
            error, TR_ERROR_UNSUPPORTED,
            "%s: is a document of Office 97 to 2003, or has a password; save it anew in the format of Office 2007", d->name);
    tr_status status = tr_zip_open(d->data, d->size, &z->zip, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, d->name);
    tr_zip_lift_limit(z->zip); /* read_entry has its own */
    status = check_entries(d, z->zip, error);
    if (status != TR_OK)
        return status;
    size_t count;
    tr_zip_entries(z->zip, &count);
    z->is_member = calloc(count + 1, sizeof *z->is_member);
    return z->is_member ? TR_OK : tr_fail_memory(error, d->name);
}

static tr_status read_entry(tr_document *d, const tr_zip_entry *entry, const char **data, size_t *size, tr_error *error)
{
    zipped *z = d->state;
    void *contents = NULL;
    tr_status status = tr_document_check_content(d, z->content + entry->size, error);
    if (status != TR_OK)
        return status;
    z->content += entry->size;
    *size = (size_t)entry->size;
    *data = (const char *)entry->data;
    if (*data)
        return TR_OK;
    if (!tr_buffer_reserve(&z->inflated, sizeof contents))
        return tr_fail_memory(error, d->name);
    status = tr_zip_inflate(z->zip, entry, &contents, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, d->name);
    *data = contents;
    return tr_buffer_append(&z->inflated, &contents, sizeof contents) ? TR_OK : tr_fail_memory(error, d->name);
}

tr_status tr_zipped_contents(tr_document *d, const char *name, const char **data, size_t *size, tr_error *error)
{
    const tr_zip_entry *entry = tr_zip_find(((zipped *)d->state)->zip, name);
    *data = NULL;
    *size = 0;
    return entry ? read_entry(d, entry, data, size, error) : TR_OK;
}

static bool is_part(const char *name, const char *pattern)
{
    const size_t fixed = strcspn(pattern, "#");
    if (strncmp(name, pattern, fixed) != 0)
        return false;
    name += fixed;
    if (pattern[fixed])
        name += strspn(name, "0123456789");
    return strcmp(name, pattern + fixed + (pattern[fixed] == '#')) == 0;
}

/* Shorter names have smaller numbers. */
static int compare_names(const void *a, const void *b)
{
    const tr_zip_entry *x = *(const tr_zip_entry *const *)a, *y = *(const tr_zip_entry *const *)b;
    const size_t m = strlen(x->name), n = strlen(y->name);
    return m != n ? (m > n) - (m < n) : strcmp(x->name, y->name);
}

static tr_status add_member(tr_document *d, const tr_zip_entry *entry, const tr_document_format *format,
                            tr_document **member, tr_error *error)
{
    zipped *z = d->state;
    size_t count;
    const size_t position = (size_t)(entry - tr_zip_entries(z->zip, &count));
    const char *data = NULL;
    size_t size = 0;
    *member = NULL;
    if (z->is_member[position])
        return TR_OK;
    z->is_member[position] = true;
    tr_status status = read_entry(d, entry, &data, &size, error);
    if (status == TR_OK)
        status = tr_member_add(d, format, entry->name, data, size, member, error);
    if (status == TR_OK && !tr_buffer_append(&z->positions, &position, sizeof position))
        status = tr_fail_memory(error, d->name);
    return status;
}

tr_status tr_zipped_member(tr_document *d, const char *name, const tr_document_format *format, tr_document **member,
                           tr_error *error)
{
    const tr_zip_entry *entry = tr_zip_find(((zipped *)d->state)->zip, name);
    *member = NULL;
    return entry ? add_member(d, entry, format, member, error) : TR_OK;
}

tr_status tr_zipped_add(tr_document *d, const tr_zipped_part *part, tr_error *error)
{
    size_t count, found = 0;
    const tr_zip_entry *entries = tr_zip_entries(((zipped *)d->state)->zip, &count);
    const tr_zip_entry **parts = malloc((count + 1) * sizeof *parts);
    if (!parts)
        return tr_fail_memory(error, d->name);
    for (size_t i = 0; i < count; i++)
        if (is_part(entries[i].name, part->name))
            parts[found++] = &entries[i];
    qsort(parts, found, sizeof *parts, compare_names);
    tr_document *member;
    tr_status status = TR_OK;
    for (size_t i = 0; i < found && part->format && status == TR_OK; i++)
        status = add_member(d, parts[i], part->format, &member, error);
    free(parts);
    if (found || !part->missing)
        return status;
    const int fixed = (int)strcspn(part->name, "#");
    return tr_fail(error, TR_ERROR_FORMAT, "%s: has no %.*s%s: is it %s?", d->name, fixed, part->name,
                   part->name[fixed] ? part->name + fixed + 1 : "", part->missing);
}

tr_status tr_zipped_read(tr_document *d, const tr_zipped_part *parts, tr_error *error)
{
    tr_status status = tr_zipped_open(d, error);
    for (; status == TR_OK && parts->name; parts++)
        status = tr_zipped_add(d, parts, error);
    return status;
}

static tr_status keep(void *argument, const void *data, size_t size, tr_error *error)
{
    return tr_buffer_append(argument, data, size) ? TR_OK : tr_fail_memory(error, "document");
}

tr_status tr_zipped_write(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                          tr_error *error)
{
    const zipped *z = d->state;
    size_t count;
    const size_t members = z->positions.size / sizeof(size_t), *positions = (const size_t *)(const void *)z->positions.data;
    tr_zip_entries(z->zip, &count);
    tr_zip_contents *contents = calloc(count + 1, sizeof *contents);
    tr_buffer *written = calloc(members + 1, sizeof *written), archive = {0};
    tr_status status = contents && written ? TR_OK : tr_fail_memory(error, d->name);
    for (size_t i = 0; i < members && status == TR_OK; i++) {
        const tr_document *member = ((const tr_member *)(const void *)d->members.data)[i].document;
        status = tr_document_write_member(d, i, source, &(tr_document_sink){keep, &written[i]}, error);
        if (status == TR_OK &&
            (written[i].size != member->size || (member->size && memcmp(written[i].data, member->data, member->size) != 0)))
            contents[positions[i]] = (tr_zip_contents){written[i].data, written[i].size};
    }
    if (status == TR_OK) {
        status = tr_zip_rewrite(z->zip, contents, &archive, error);
        if (status != TR_OK)
            tr_fail_in(error, status, d->name);
    }
    if (status == TR_OK)
        status = sink->write(sink->argument, archive.data, archive.size, error);
    for (size_t i = 0; written && i < members; i++)
        tr_buffer_free(&written[i]);
    free(written);
    free(contents);
    tr_buffer_free(&archive);
    return status;
}
