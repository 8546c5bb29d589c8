#include "formats/shortlist.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t magic = 0xF11A48D5013417F5;

enum { HEADER = 48, CHECKED_FROM = 16 }; /* bytes: magic, checksum, first, best, number of offsets, of words */

static uint64_t u64_at(const unsigned char *data, size_t i)
{
    uint64_t value;
    memcpy(&value, data + 8 * i, sizeof value);
    return value;
}

bool tr_shortlist_recognise(const void *data, size_t size)
{
    return size >= sizeof magic && u64_at(data, 0) == magic;
}

/* Of whole 64-bit words: a last odd id is not covered. */
static uint64_t checksum_of(const unsigned char *data, size_t size)
{
    uint64_t seed = 0;
    for (size_t i = 0; i < size / 8; i++)
        seed ^= u64_at(data, i) + 0x9e3779b9 + (seed << 6) + (seed >> 2);
    return seed;
}

static tr_status check_header(tr_bytes file, uint64_t offsets, uint64_t words, tr_error *error)
{
    const unsigned char *data = file.data;
    const uint64_t rest = file.size - HEADER;
    if (offsets < 2 || offsets - 1 > TR_MAX_VOCABULARY || offsets > rest / 8)
        return tr_fail(error, TR_ERROR_FORMAT, "claims %llu offsets, which it cannot have", (unsigned long long)offsets);
    if (words < 1 || words > INT32_MAX || words * 4 != rest - offsets * 8)
        return tr_fail(error, TR_ERROR_FORMAT,
                       "claims %llu offsets and %llu words, which do not make the %zu bytes that it has",
                       (unsigned long long)offsets, (unsigned long long)words, file.size);
    const uint64_t stored = u64_at(data, 1), actual = checksum_of(data + CHECKED_FROM, file.size - CHECKED_FROM);
    if (stored != actual)
        return tr_fail(error, TR_ERROR_FORMAT, "is damaged: checksum %016llx, must be %016llx", (unsigned long long)actual,
                       (unsigned long long)stored);
    return TR_OK;
}

tr_status tr_shortlist_read(tr_bytes file, tr_shortlist *shortlist, tr_error *error)
{
    const unsigned char *data = file.data;
    if (!tr_shortlist_recognise(data, file.size))
        return tr_fail(error, TR_ERROR_FORMAT, "is not a binary shortlist of Marian's");
    if (file.size < HEADER)
        return tr_fail(error, TR_ERROR_FORMAT, "is truncated");
    const uint64_t first = u64_at(data, 2), best = u64_at(data, 3), offsets = u64_at(data, 4), words = u64_at(data, 5);
    const tr_status status = check_header(file, offsets, words, error);
    if (status != TR_OK)
        return status;
    if (first > TR_MAX_VOCABULARY || best > TR_MAX_VOCABULARY)
        return tr_fail(error, TR_ERROR_FORMAT, "claims %llu first and %llu best words, out of range",
                       (unsigned long long)first, (unsigned long long)best);
    int32_t *narrow = malloc((size_t)offsets * sizeof *narrow);
    if (!narrow)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < offsets; i++) {
        const uint64_t offset = u64_at(data + HEADER, i);
        narrow[i] = offset > words ? -1 : (int32_t)offset; /* refused below */
    }
    *shortlist = (tr_shortlist){.first = (int)first,
                                .best = (int)best,
                                .sources = (int)(offsets - 1),
                                .offsets = narrow,
                                .words = (const void *)(data + HEADER + 8 * (size_t)offsets),
                                .count = (int64_t)words,
                                .owned = narrow};
    return TR_OK;
}

static void put_u64(unsigned char *data, size_t i, uint64_t value)
{
    memcpy(data + 8 * i, &value, sizeof value);
}

tr_status tr_shortlist_write(const tr_shortlist *shortlist, const char *path, tr_error *error)
{
    const size_t offsets = (size_t)shortlist->sources + 1, words = (size_t)shortlist->count;
    const size_t size = HEADER + 8 * offsets + 4 * words;
    unsigned char *file = malloc(size);
    if (!file)
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    const uint64_t head[] = {magic, 0, (uint64_t)shortlist->first, (uint64_t)shortlist->best, offsets, words};
    memcpy(file, head, sizeof head);
    for (size_t i = 0; i < offsets; i++)
        put_u64(file + HEADER, i, (uint64_t)shortlist->offsets[i]);
    if (words)
        memcpy(file + HEADER + 8 * offsets, shortlist->words, 4 * words);
    put_u64(file, 1, checksum_of(file + CHECKED_FROM, size - CHECKED_FROM));
    const tr_status status = tr_file_write(path, file, size, error);
    free(file);
    return status;
}

tr_status tr_package_shortlist(tr_package *package, const char *path, tr_load load, tr_error *error)
{
    tr_bytes file;
    tr_error local;
    tr_shortlist shortlist = {0};
    error = error ? error : &local;
    tr_status status = tr_package_file(package, path, load, &file, error);
    if (status != TR_OK)
        return status;
    status = tr_shortlist_read(file, &shortlist, error);
    if (status == TR_OK)
        status = tr_shortlist_check(&shortlist, &package->config, error);
    if (status != TR_OK) {
        tr_shortlist_free(&shortlist);
        tr_package_close_last(package);
        return tr_fail_in(error, status, path);
    }
    tr_shortlist_free(&package->shortlist);
    package->shortlist = shortlist;
    package->shortlist.shared = package->target == &package->source;
    return TR_OK;
}
