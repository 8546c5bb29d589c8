/* --access-log: a line for each answer, without texts, keys and names of documents. The loop only collects lines; another
 * thread writes them. */
#ifndef TR_SERVE_ACCESS_LOG_H
#define TR_SERVE_ACCESS_LOG_H

#include "serve/http.h"

/* Opens the file of --access-log, or standard output for "-". */
access_log *access_log_open(const server *s, tr_error *error);
/* Whether a thread writes lines, for two seconds at most where nobody reads them. l may be NULL. */
bool access_log_writes(const access_log *l);
/* Writes what is left. No thread writes any more. */
void access_log_close(access_log *l);
/* Opens the file again, after somebody has renamed it. A failure goes on with the old one. */
tr_status access_log_reopen(access_log *l, tr_error *error);

/* route NULL: there was none for its path. status 0: the client left before the answer. seconds since the first byte. */
void access_log_add(access_log *l, const char *address, const char *method, const route *answered, unsigned status,
                    uint64_t bytes, double seconds);

#endif
