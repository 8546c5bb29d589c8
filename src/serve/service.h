/* What systemd and programs like it tell a service by variables, and hear from it: sockets that it begins with
 * (sd_listen_fds(3)), and its state (sd_notify(3)). Without them nothing happens. */
#ifndef TR_SERVE_SERVICE_H
#define TR_SERVE_SERVICE_H

#include "util/error.h"

/* The sockets that the service was started with, which listen; at most max. They become non-blocking, and are closed in
 * other programs. *count 0: there are none. Call it once, before threads start: it removes the variables. */
tr_status service_sockets(int *sockets, size_t max, size_t *count, tr_error *error) TR_CHECKED;

typedef struct service {
    int notify;        /* a connected socket; -1: nobody wants to know */
    unsigned watchdog; /* milliseconds, after which service_alive is due again; 0: never */
} service;

/* Connects to who wants to know, and removes the variables. On failure nobody does. Before threads start, and before
 * tr_sandbox_serve. */
tr_status service_open(service *s, tr_error *error) TR_CHECKED;
void service_close(service *s);

/* status: a line for people. Those who do not listen miss it. */
void service_ready(const service *s, const char *status);
void service_reloading(const service *s); /* service_ready follows */
void service_stopping(const service *s);
void service_status(const service *s, const char *status);
void service_alive(const service *s);

#endif
