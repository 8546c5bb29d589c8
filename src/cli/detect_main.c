/* translate-detect [CODE...]: the language of standard input, one of CODE if it can be, as "CODE TAB sure" or "CODE TAB
 * guess"; nothing if there is nothing to tell by. The part of translate -s auto that needs CLD2, a program of its own so
 * that the others start without it. */
#include "detect/detect.h"

#include "util/buffer.h"
#include "util/sandbox.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    char part[1 << 16];
    tr_buffer text = {0};
    tr_detected detected = {0};
    tr_error error = {.status = TR_OK};
    size_t n;
    bool good = tr_sandbox_compute(&error) == TR_OK;
    while (good && (n = fread(part, 1, sizeof part, stdin)) > 0)
        good = tr_buffer_append(&text, part, n);
    if (!good && error.status == TR_OK)
        tr_fail(&error, TR_ERROR_MEMORY, "translate-detect: out of memory");
    else if (good)
        tr_detect(text.data ? text.data : "", text.size, (const char *const *)(argv + (argc > 0)),
                  (size_t)(argc > 0 ? argc - 1 : 0), &detected, &error);
    if (detected.code)
        printf("%s\t%s\n", detected.code, detected.reliable ? "sure" : "guess");
    tr_buffer_free(&text);
    if (error.status != TR_OK)
        fprintf(stderr, "translate: %s\n", error.message);
    return error.status != TR_OK || fflush(stdout) != 0;
}
