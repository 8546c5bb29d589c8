/* Text in other encodings than UTF-8, which files from Chinese Windows have: recognised, and converted as it is read. */
#ifndef TR_CLI_ENCODING_H
#define TR_CLI_ENCODING_H

#include "cli/cli.h"
#include "util/buffer.h"

/* A zeroed struct with settings and name has read nothing. */
typedef struct cli_decoder {
    const cli_settings *settings;
    const char *name; /* of the input, for messages */
    bool begun, known;
    bool marked;     /* the input begins with the byte order mark of UTF-8, which is not passed on */
    void *converter; /* iconv_t; NULL: the text is UTF-8, or nothing but ASCII so far */
    bool converts;
    tr_buffer raw; /* the begin of a character */
} cli_decoder;

void cli_decoder_free(cli_decoder *decoder);

/* Takes the bytes that were read next, *size of them, and turns them into UTF-8. What is no text of the encoding becomes the
 * byte 0xff. at_end: no more will come. *text, *size: in: the bytes; out: the text, in out if it was converted. Prints a
 * message and returns CLI_FAILED if the input is no text or the encoding is not known. */
int cli_decoder_take(cli_decoder *decoder, const char **text, size_t *size, bool at_end, tr_buffer *out);

#endif
