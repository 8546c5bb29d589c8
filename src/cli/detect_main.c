/* translate-detect [CODE...]: prints the language of standard input, one of CODE if possible, as "CODE TAB sure" or "CODE
 * TAB guess"; prints nothing if it cannot be detected. translate -s auto runs it as a program of its own, so that other
 * programs start without CLD2. */
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
