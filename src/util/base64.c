#include "util/base64.h"

/* -1: no digit. */
static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool tr_base64_decode(const char *text, size_t size, tr_buffer *out)
{
    if (size % 4 || !tr_buffer_reserve(out, size / 4 * 3))
        return false;
    for (size_t i = 0; i < size; i += 4) {
        const bool last = i + 4 == size;
        const int padding = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            const int value = k < 4 - padding ? digit(text[i + (size_t)k]) : 0;
            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8 & 255), (char)(bits & 255)};
        if (!tr_buffer_append(out, bytes, (size_t)(3 - padding)))
            return false;
    }
    return true;
}
