/* translate serve: one process that answers the HTTP interfaces of several translation programs. What its parts share.
 *
 *   main.c            start and end: sockets, signals, the loop
 *   settings.c        options from a file, the environment and the command line
 *   http.c, fields.c  requests and answers over libmicrohttpd, parameters
 *   translation.c     texts of a request go through models and queues
 *   models.c          the folder of models, and the ways between languages
 *   model_pairs.c     which languages lead to which
 *   served.c          a model with its queue: opened on first use, closed when idle
 *   work.c            what takes long runs in threads of its own
 *   languages.c       codes and names of languages
 *   detection.c       the language of a text
 *   *_api.c           the interfaces: a table of routes each
 *
 * All of it runs in one thread, the loop, which never waits for anything but events: no locks are needed. Decoding runs in
 * the threads of the queues. */
#ifndef TR_SERVE_SERVER_H
#define TR_SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

typedef struct loop loop;
typedef struct models models;
typedef struct http http;
typedef struct keys keys;
typedef struct metrics metrics;
typedef struct cache cache;
typedef struct glossaries glossaries;
typedef struct files files;
typedef struct request request;

typedef struct server {
    const cli_settings *settings;
    loop *loop;
    http *http;
    models *models;
    keys *keys;
    metrics *metrics;
    cache *cache; /* NULL: none */
    glossaries *glossaries;
    files *files;
    bool stopping; /* no new work is accepted */
} server;

#endif
