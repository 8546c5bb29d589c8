#include "model/windows.h"

#include <string.h>

enum { WINDOW_MOST = 1 << 20 };

/* A number from least to most; *at moves behind it. -1: there is none. */
static int parse_number(const char **at, int least, int most)
{
    const char *s = *at;
    int n = 0;
    if (*s < '0' || *s > '9')
        return -1;
    for (; *s >= '0' && *s <= '9'; s++) {
        n = 10 * n + (*s - '0');
        if (n > most)
            return -1;
    }
    *at = s;
    return n < least ? -1 : n;
}

static bool skip(const char **at, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

tr_status tr_windows_parse(const char *text, int heads, int *windows, tr_error *error)
{
    const char *at = text;
    for (int h = 0; h < heads; h++)
        windows[h] = -1;
    do {
        int window = -1, first = 1, last = heads;
        if (!skip(&at, "exact")) {
            if (!skip(&at, "local:") || (window = parse_number(&at, 0, WINDOW_MOST)) < 0)
                return tr_fail(error, TR_ERROR_ARGUMENT,
                               "attention \"%s\": is neither exact nor local:W, W tokens to either side (0 to %d)", text,
                               WINDOW_MOST);
        }
        if (skip(&at, "@")) {
            first = last = parse_number(&at, 1, heads);
            if (first > 0 && skip(&at, "-"))
                last = parse_number(&at, first, heads);
            if (first < 0 || last < 0)
                return tr_fail(error, TR_ERROR_ARGUMENT,
                               "attention \"%s\": behind @ stands no head or heads FIRST-LAST of 1 to %d", text, heads);
        }
        for (int h = first - 1; h < last; h++)
            windows[h] = window;
    } while (skip(&at, ","));
    if (*at)
        return tr_fail(error, TR_ERROR_ARGUMENT, "attention \"%s\": cannot make sense of \"%s\" in it", text, at);
    return TR_OK;
}
