/* Who may use the server, and how much: API keys and limits of the rate. Keys are never shown in logs or answers. */
#ifndef TR_SERVE_KEYS_H
#define TR_SERVE_KEYS_H

#include "serve/http.h"

/* Reads --api-keys: a key a line, optionally requests per minute and characters per minute after it (0 or none: the
 * server's); blank lines and lines that begin with # are skipped. Without the option everybody may use the server. */
keys *keys_create(const server *s, tr_error *error);
void keys_free(keys *k);
/* Reads the file again; what was used stays counted. A failure keeps the old keys. */
tr_status keys_reload(keys *k, tr_error *error);
bool keys_required(const keys *k);
size_t keys_count(const keys *k);

/* Whether the request has a valid key, or there are none. */
bool keys_shown(const keys *k, const request *r);
/* Whether the request has a valid key, or needs none. */
bool keys_know(const keys *k, const request *r);
/* Whether the request may go on: it has a valid key where one is needed, and its key or address has not used up its rate
 * (--rate-limit). If not, it has been answered: 403, or 429 with Retry-After. */
bool keys_allow(keys *k, request *r);
/* Counts the characters that a request wants to translate: --char-limit each (400), the key's limit in a minute (429).
 * False: it has been answered. */
bool keys_take(keys *k, request *r, size_t characters);
/* The characters that keys_take has let through since the server started: of the request's key, or, where there are no keys,
 * of everybody. */
uint64_t keys_characters(const keys *k, const request *r);

#endif
