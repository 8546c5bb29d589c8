#include "serve/ids.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

bool id_make(char id[ID + 1])
{
    unsigned char b[ID / 2];
    if (getrandom(b, sizeof b, 0) != sizeof b)
        return false;
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    for (size_t i = 0; i < sizeof b; i++)
        snprintf(id + 2 * i, 3, "%02x", b[i]);
    return true;
}

bool secret_is(const char *a, const char *b)
{
    const size_t size = a ? strlen(a) : 0;
    unsigned difference = 0;
    if (!a || !b)
        return a == b;
    if (strlen(b) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return !difference;
}
