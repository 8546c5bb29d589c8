#define _GNU_SOURCE
#include "gguf_damage.h"

#include <stdlib.h>
#include <string.h>

#include "formats/gguf/read.h"

tr_status read_copy(const unsigned char *data, size_t size, tr_error *error)
{
    unsigned char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    tr_package package = {0};
    *error = (tr_error){0};
    const tr_status status = tr_gguf_read(copy, size, &package, error);
    tr_package_close(&package);
    free(copy);
    if (status != TR_OK && (!*error->message || error->status != status || strchr(error->message, '\n')))
        fail_msg("no one-line error: %s", error->message);
    return status;
}

unsigned char *find_text(unsigned char *data, size_t size, const char *text)
{
    unsigned char *at = memmem(data, size, text, strlen(text));
    if (!at)
        fail_msg("%s: is not in the file", text);
    return at;
}

unsigned char *after_text(unsigned char *data, size_t size, const char *text)
{
    return find_text(data, size, text) + strlen(text);
}

void expect_refused_copy(const unsigned char *data, size_t size, tr_status status, const char *needle)
{
    tr_error error;
    const tr_status found = read_copy(data, size, &error);
    if (found != status || !strstr(error.message, needle))
        fail_msg("wanted %s \"%s\", got %s \"%s\"", tr_status_name(status), needle, tr_status_name(found), error.message);
}

void apply_damage(unsigned char *data, size_t size, const damage *d)
{
    memcpy(after_text(data, size, d->text) + d->shift, d->bytes, (size_t)d->size);
}

void check_damage(const unsigned char *data, size_t size, const damage *cases, size_t count)
{
    tr_error error;
    unsigned char *copy = malloc(size);
    assert_non_null(copy);
    assert_int_equal(read_copy(data, size, &error), TR_OK);
    for (size_t i = 0; i < count; i++) {
        const damage *d = &cases[i];
        memcpy(copy, data, size);
        apply_damage(copy, size, d);
        if (d->needle)
            expect_refused_copy(copy, size, d->status, d->needle);
        else
            read_copy(copy, size, &error);
    }
    free(copy);
}

int flip_bits(unsigned char *data, size_t size, size_t first, int rounds)
{
    uint32_t seed = 12345;
    int refused = 0;
    for (int round = 0; round < rounds; round++) {
        tr_error error;
        seed = seed * 1664525 + 1013904223;
        const size_t at = (seed >> 8) % first;
        const unsigned char bit = (unsigned char)(1 << (seed & 7));
        data[at] ^= bit;
        refused += read_copy(data, size, &error) != TR_OK;
        data[at] ^= bit;
    }
    return refused;
}
