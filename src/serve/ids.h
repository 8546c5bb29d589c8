/* Ids of what clients make, which cannot be guessed, and comparing what is secret. */
#ifndef TR_SERVE_IDS_H
#define TR_SERVE_IDS_H

#include <stdbool.h>

enum { ID = 32 };

/* The digits of a random UUID (RFC 9562, version 4). False: the system has no random numbers. */
bool id_make(char id[ID + 1]);

/* Whether two texts are the same; of texts of one size, it takes the same time wherever they differ. NULL is the
 * same as NULL only. */
bool secret_is(const char *a, const char *b);

#endif
