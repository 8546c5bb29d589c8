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

bool tr_base64_decode(const char *text, size_t size, tr_buffer *out, bool *valid)
{
    *valid = size % 4 == 0;
    if (!tr_buffer_reserve(out, size / 4 * 3))
        return false;
    for (size_t i = 0; *valid && i < size; i += 4) {
        const bool last = i + 4 == size;
        const int padding = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            const int value = k < 4 - padding ? digit(text[i + (size_t)k]) : 0;
            *valid = *valid && value >= 0;
            bits = bits << 6 | ((uint32_t)value & 63);
        }
        const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8 & 255), (char)(bits & 255)};
        if (!tr_buffer_append(out, bytes, (size_t)(3 - padding)))
            return false;
    }
    return true;
}

bool tr_base64_encode(const void *data, size_t size, tr_buffer *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    if (size > SIZE_MAX / 2 || !tr_buffer_reserve(out, (size + 2) / 3 * 4))
        return false;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t bits =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        const char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=',
                              left > 2 ? digits[bits & 63] : '='};
        if (!tr_buffer_append(out, text, 4))
            return false;
    }
    return true;
}
