#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

/* Whether a terminal shows a character where it stands: not so control characters, line separators, and marks that turn the
 * direction of what follows. */
static bool is_plain(int32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

/* What is not UTF-8, as a character that was cut off, goes as well. */
static void one_line(char *s)
{
    const char *from = s;
    for (size_t left = strlen(s), length; left; from += length, left -= length) {
        const bool plain = is_plain(tr_utf8_decode(from, left, &length));
        for (size_t i = 0; i < (plain ? length : 1); i++)
            *s++ = plain ? from[i] : '?';
    }
    *s = 0;
}

tr_status tr_fail(tr_error *error, tr_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
            *error->message = 0;
        va_end(arguments);
        one_line(error->message);
        error->status = status;
    }
    return status;
}

tr_status tr_fail_in(tr_error *error, tr_status status, const char *prefix)
{
    if (!error || status == TR_OK)
        return status;
    char message[TR_MESSAGE_SIZE];
    memcpy(message, error->message, sizeof message);
    return tr_fail(error, status, "%s: %s", prefix, message);
}

const char *tr_version(void)
{
    return TR_VERSION;
}

const char *tr_status_name(tr_status status)
{
    switch (status) {
    case TR_OK: return "ok";
    case TR_ERROR_ARGUMENT: return "argument";
    case TR_ERROR_MEMORY: return "memory";
    case TR_ERROR_IO: return "io";
    case TR_ERROR_FORMAT: return "format";
    case TR_ERROR_UNSUPPORTED: return "unsupported";
    case TR_ERROR_NUMERIC: return "numeric";
    case TR_ERROR_CANCELLED: return "cancelled";
    }
    return "unknown";
}
