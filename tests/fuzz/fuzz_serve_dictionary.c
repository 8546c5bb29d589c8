/* libFuzzer target: entries of a client's glossary, and after a NUL those that it had before; a byte first says the format.
 * What is accepted comes out as TSV that means the same, and serves as a glossary. */
#include <string.h>

#include "serve/dictionary.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static dictionary *read_entries(entries_format format, const char *entries, size_t size, const dictionary *before)
{
    dictionary *made;
    tr_error error;
    const tr_status status = dictionary_read("zh", "en", format, entries, size, before, &made, &error);
    if ((status == TR_OK) != (made != NULL) || (status != TR_OK && strchr(error.message, '\n')))
        __builtin_trap();
    return made;
}

static void check(const dictionary *d)
{
    dictionary *const again = read_entries(ENTRIES_TSV, d->tsv.data, d->tsv.size, NULL);
    if (!d->glossary || !d->entries || !again || again->entries != d->entries || again->tsv.size != d->tsv.size ||
        memcmp(again->tsv.data, d->tsv.data, d->tsv.size) != 0)
        __builtin_trap();
    dictionary_release(again);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (!size)
        return 0;
    const char *const entries = (const char *)data + 1;
    const char *const mark = memchr(entries, 0, size - 1);
    const size_t length = mark ? (size_t)(mark - entries) : size - 1;
    dictionary *const before = mark ? read_entries(ENTRIES_TSV, mark + 1, size - length - 2, NULL) : NULL;
    dictionary *const made = read_entries(data[0] & 1 ? ENTRIES_CSV : ENTRIES_TSV, entries, length, before);
    if (made)
        check(made);
    dictionary_release(made);
    dictionary_release(before);
    return 0;
}
