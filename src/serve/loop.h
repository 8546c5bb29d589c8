/* The loop: waits for descriptors, times, and calls that other threads post. */
#ifndef TR_SERVE_LOOP_H
#define TR_SERVE_LOOP_H

#include <stdint.h>

#include "serve/server.h"

typedef void loop_call(void *argument);

loop *loop_create(tr_error *error);
/* No work begins after it; waits so many milliseconds for the work that runs, and calls done for what has ended. False: some
 * still runs. */
bool loop_stop_work(loop *l, unsigned milliseconds);
/* Waits for the work that runs, however long, and calls done for all work, also for what was not run. No work comes after
 * it. */
void loop_end_work(loop *l);
void loop_free(loop *l);
/* Runs until loop_stop. */
void loop_run(loop *l);
void loop_stop(loop *l);

/* Calls call(argument) in the loop whenever the descriptor is readable, or with `hangup` only when its other side closed its
 * connection or its sending half. One watch for each descriptor. False: out of memory or descriptors. */
bool loop_watch(loop *l, int descriptor, bool hangup, loop_call *call, void *argument) TR_CHECKED;
void loop_unwatch(loop *l, int descriptor);

/* Calls call(argument) once, after so many milliseconds at least. The timer belongs to the caller, who zeroed it; setting it
 * again replaces the time. */
typedef struct loop_timer {
    struct loop_timer *next;
    uint64_t at; /* tr_nanoseconds */
    loop_call *call;
    void *argument;
} loop_timer;
void loop_after(loop *l, loop_timer *timer, unsigned milliseconds, loop_call *call, void *argument);
void loop_forget(loop *l, loop_timer *timer); /* may be called when it is not set */

/* Before each wait: how many milliseconds it may take, -1 for any number. One such call. */
void loop_before_wait(loop *l, int (*call)(void *argument), void *argument);

/* Work that takes long: run(argument) in another thread, then done(argument) in the loop. A few threads take what waits in
 * turn. False: out of memory, or the server ends. */
bool loop_work(loop *l, loop_call *run, loop_call *done, void *argument) TR_CHECKED;
/* The same for what takes so long, or so much memory, that all else shall not wait for it: one after the other, in a thread
 * of its own for each kind. False also if some dozens of requests for attention wait already. */
typedef enum loop_apart { LOOP_DOCUMENTS, LOOP_ATTENTION, LOOP_APART } loop_apart;
bool loop_work_apart(loop *l, loop_apart kind, loop_call *run, loop_call *done, void *argument) TR_CHECKED;

#endif
