/* libFuzzer target: Marian's binary shortlist, from memory. Seeds: lex.*.s2t.bin of small models. The checksum of an input
 * that is long enough is corrected, as otherwise nothing after it would be read. */
#include <stdlib.h>
#include <string.h>

#include "decoding/shortlist.h"
#include "formats/shortlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TARGETS = 1000, SOURCES = 16 };

static void repair(unsigned char *file, size_t size)
{
    uint64_t seed = 0;
    for (size_t i = 16; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, file + i, sizeof word);
        seed ^= word + 0x9e3779b9 + (seed << 6) + (seed >> 2);
    }
    if (size >= 16)
        memcpy(file + 8, &seed, sizeof seed);
}

/* The ids that an accepted list allows some sources must be valid and ascending. */
static void use(const tr_shortlist *shortlist)
{
    static uint64_t marks[(TARGETS + 63) / 64];
    static int32_t ids[TARGETS];
    tr_network network = {.config.target_vocabulary = TARGETS};
    tr_shortlist_outputs choices = {.shortlist = shortlist, .marks = marks};
    tr_shortlist_output output = {.outputs = ids};
    int32_t sources[SOURCES];
    for (int i = 0; i < SOURCES; i++)
        sources[i] = (int32_t)((int64_t)i * shortlist->sources / (SOURCES - 1)); /* the last one is out of range */
    tr_shortlist_output_list(&choices, &output, &network, sources, SOURCES);
    if (output.count > TARGETS)
        abort();
    for (int i = 1; i < output.count; i++)
        if (ids[i] <= ids[i - 1] || ids[i] >= TARGETS)
            abort();
}

static void read_once(const unsigned char *file, size_t size)
{
    tr_shortlist shortlist = {0};
    tr_error error = {0};
    const tr_bytes bytes = {file, size};
    tr_status status = tr_shortlist_read(bytes, &shortlist, &error);
    if (status == TR_OK) {
        const tr_config config = {.source_vocabulary = shortlist.sources, .target_vocabulary = TARGETS};
        status = tr_shortlist_check(&shortlist, &config, &error);
    }
    if (status == TR_OK)
        use(&shortlist);
    else if (!*error.message || strchr(error.message, '\n'))
        abort();
    tr_shortlist_free(&shortlist);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = calloc(size ? size : 1, 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    read_once(copy, size);
    repair(copy, size);
    read_once(copy, size);
    free(copy);
    return 0;
}
