/* translate serve: one process that answers the HTTP interfaces of several translation programs. What its parts share.
 *
 *   main.c             start and end: sockets, signals
 *   settings.c         options from a file, the environment and the command line
 *   loop.c             the loop: descriptors, times, and threads for what takes long
 *   http.c             connections over libmicrohttpd; exchange.c: their requests, answers.c: the answers
 *   routes.c           the routes of all interfaces
 *   hosts.c            names that requests may call the server by
 *   fields.c           parameters of requests
 *   keys.c             who may use the server, and how much
 *   translation.c      texts of a request go through models and queues
 *   cache.c            finished translations
 *   models.c           the folder of models, and the ways between languages
 *   model_pairs.c      which languages lead to which
 *   served.c           a model with its queue: opened on first use, closed when idle
 *   languages.c        codes and names of languages
 *   detection.c        the language of a text
 *   glossaries.c       glossaries of the folder and of clients; dictionary.c: one for a pair of languages
 *   ids.c              their random ids
 *   files.c            documents that clients upload; file_run.c: their way through models and queues
 *   *_api.c            the interfaces: a table of routes each
 *   page.c             the web page, of the files in page/
 *   metrics.c          counters
 *   access_log.c       a line for each answer
 *   service.c          systemd
 *   health.c           asks a server that runs
 *   confine.c          the sandbox
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
typedef struct access_log access_log;
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
    access_log *access_log; /* NULL: none */
    bool stopping;          /* no connection is accepted, and each ends with its answer */
    bool refusing;          /* no new work is accepted either */
} server;

#endif
