#include "files.h"

#include <stdlib.h>
#include <string.h>

void expect_message(const tr_error *error, tr_status status, tr_status wanted, const char *needle)
{
    if (status != wanted || !strstr(error->message, needle) || strchr(error->message, '\n'))
        fail_msg("status %s, not %s with \"%s\": %s", tr_status_name(status), tr_status_name(wanted), needle,
                 status ? error->message : "");
}

void refuse_each(void (*refuse)(const char *text, tr_status wanted, const char *needle), const text_case *cases,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuse(cases[i].text, cases[i].wanted, cases[i].needle);
}

model_file load(const char *fixture, const char *name)
{
    model_file m;
    m.data = read_fixture(fixture, name, &m.size);
    return m;
}

void put_u64(model_file *m, size_t at, uint64_t value)
{
    memcpy(m->data + at, &value, sizeof value);
}

uint64_t u64_at(const model_file *m, size_t at)
{
    uint64_t value;
    memcpy(&value, m->data + at, sizeof value);
    return value;
}

size_t header_of(size_t item)
{
    enum { FILE_HEADER = 16, ITEM_HEADER = 32 };
    return FILE_HEADER + item * ITEM_HEADER;
}

void add_npy(zip_writer *w, const char *name, int version, const char *header, size_t bytes, bool deflate)
{
    tr_buffer npy = {0};
    const size_t length = strlen(header);
    const unsigned char start[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, (unsigned char)length, (unsigned char)(length >> 8), 0, 0};
    void *zeros = calloc(1, bytes + 1);
    assert_true(zeros && tr_buffer_append(&npy, start, version == 1 ? 10 : 12) && tr_buffer_string(&npy, header) &&
                tr_buffer_append(&npy, zeros, bytes));
    zip_add(w, name, strlen(name), npy.data, npy.size, (zip_claims){.deflate = deflate});
    free(zeros);
    tr_buffer_free(&npy);
}
