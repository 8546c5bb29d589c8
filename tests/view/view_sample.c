/* Writes a sample to standard output: view_sample html|svg|npz SOURCES TARGETS LAYERS HEADS [hostile]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    tr_view v = (argc > 6 ? sample_make_hostile : sample_make)(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    tr_buffer out = {0};
    tr_error error;
    const tr_status status = strcmp(argv[1], "html") == 0  ? tr_view_page(&v, &out, &error)
                             : strcmp(argv[1], "svg") == 0 ? tr_view_svg(&v, &out, &error)
                                                           : tr_view_npz(&v, &out, &error);
    if (status != TR_OK)
        fprintf(stderr, "%s\n", error.message);
    const size_t written = out.size ? fwrite(out.data, 1, out.size, stdout) : 0;
    const int failed = status != TR_OK || written != out.size || fflush(stdout) != 0;
    tr_buffer_free(&out);
    sample_free(&v);
    return failed;
}
