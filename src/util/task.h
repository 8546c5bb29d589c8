/* One function beside the caller, on a thread of its own. */
#ifndef TR_UTIL_TASK_H
#define TR_UTIL_TASK_H

#include <pthread.h>
#include <stdbool.h>

typedef struct tr_task {
    void (*function)(void *argument);
    void *argument;
    pthread_t thread;
    bool beside; /* it has a thread; else it has run already */
} tr_task;

/* Starts function(argument); where the system gives no thread, runs it at once. */
void tr_task_start(tr_task *task, void (*function)(void *argument), void *argument);
/* Returns when it is done. Once for each start. */
void tr_task_wait(tr_task *task);

#endif
