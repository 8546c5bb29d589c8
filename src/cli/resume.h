/* FILE.part.run: what the lines of FILE.part were made from, so that --resume adds no others to them. */
#ifndef TR_CLI_RESUME_H
#define TR_CLI_RESUME_H

#include "cli/chain.h"
#include "cli/lines.h"
#include "util/buffer.h"

/* Appends all that the output of translate depends on, a line "KEY: VALUE" each: the input, the options, the models, files
 * by their content. The models are open, the input may be anywhere. */
int cli_resume_describe(const cli_settings *settings, const cli_reader *reader, const cli_chain *chain, tr_buffer *lines);

/* Whether it is a description, and not some other file. */
bool cli_resume_is_description(const tr_buffer *lines);

/* Fails, naming part and the first difference, if the two descriptions are not of the same. */
int cli_resume_compare(const tr_buffer *before, const tr_buffer *now, const char *part);

#endif
