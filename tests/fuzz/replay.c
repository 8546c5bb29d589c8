/* Runs a fuzz target without libFuzzer: on each of the given files, then on variants of each that are the same in every run:
 * truncated, with bytes changed, and with a part repeated. A target aborts if something is wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 88172645463325252u;

static size_t below(size_t bound) /* xorshift64 */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return bound ? (size_t)(state % bound) : 0;
}

/* Each input has a buffer of its own, so that AddressSanitizer sees a read beyond it. */
static void try(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void vary(const uint8_t *data, size_t size, uint8_t *room)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '"', '{'};
    memcpy(room, data, size);
    size_t length = size;
    switch (below(4)) {
    case 0: length = below(size); break;
    case 1:
        for (size_t n = 1 + below(4); n; n--)
            room[below(size)] = (uint8_t)below(256);
        break;
    case 2: /* near the front, where sizes and counts are */
        for (size_t n = 1 + below(8), at = below(size < 256 ? size : 256); n && at < size; n--, at++)
            room[at] = telling[below(sizeof telling)];
        break;
    default: {
        const size_t from = below(size), to = below(size), most = size - (from > to ? from : to);
        memmove(room + to, room + from, below(most + 1));
    }
    }
    try(room, length);
}

static int run(const char *path, int variants)
{
    FILE *file = fopen(path, "rb");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t *data = size < 0 ? NULL : malloc((size_t)size + 1), *room = size < 0 ? NULL : malloc((size_t)size + 1);
    const int good = data && room && fseek(file, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)size, file) == (size_t)size;
    if (!good)
        fprintf(stderr, "%s: cannot be read\n", path);
    else
        try(data, (size_t)size);
    for (int i = 0; good && size && i < variants; i++)
        vary(data, (size_t)size, room);
    free(data);
    free(room);
    if (file)
        fclose(file);
    return good ? 0 : 1;
}

int main(int count, char **arguments)
{
    const int variants = count > 1 ? atoi(arguments[1]) : 0;
    int failed = count < 3;
    for (int i = 2; i < count; i++)
        failed |= run(arguments[i], variants);
    if (count < 3)
        fprintf(stderr, "usage: %s VARIANTS FILE...\n", count ? arguments[0] : "replay");
    return failed;
}
