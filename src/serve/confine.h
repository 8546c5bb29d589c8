/* Confines the server to what it needs once its sockets listen. */
#ifndef TR_SERVE_CONFINE_H
#define TR_SERVE_CONFINE_H

#include "serve/server.h"

/* From now on this process makes no connections, starts no programs, writes no files but in the folder of --access-log,
 * removes none but in that of --unix, and reads only models, glossaries, keys and what the system's libraries need (see
 * util/sandbox.h). Call it before the first thread, because threads inherit it, and after service_open. */
tr_status serve_confine(const cli_settings *settings, tr_error *error) TR_CHECKED;

#endif
