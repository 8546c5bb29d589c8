#include "util/error.h"

#include "util/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tr_status tr_fail(tr_error *error, tr_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
            *error->message = 0;
        va_end(arguments);
        tr_utf8_make_printable(error->message);
        error->status = status;
    }
    return status;
}

tr_status tr_fail_memory(tr_error *error, const char *what)
{
    return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", what);
}

tr_status tr_fail_in(tr_error *error, tr_status status, const char *prefix)
{
    if (!error || status == TR_OK)
        return status;
    char message[TR_MESSAGE_SIZE];
    memcpy(message, error->message, sizeof message);
    return tr_fail(error, status, "%s: %s", prefix, message);
}

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *tr_version(void)
{
    return TEXT(TR_VERSION_MAJOR) "." TEXT(TR_VERSION_MINOR) "." TEXT(TR_VERSION_PATCH);
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
    case TR_ERROR_FULL: return "full";
    case TR_ERROR_DEADLINE: return "deadline";
    }
    return "unknown";
}
