#include "util/task.h"

#include <stddef.h>

static void *run(void *argument)
{
    const tr_task *task = argument;
    task->function(task->argument);
    return NULL;
}

void tr_task_start(tr_task *task, void (*function)(void *argument), void *argument)
{
    task->function = function;
    task->argument = argument;
    task->beside = pthread_create(&task->thread, NULL, run, task) == 0;
    if (!task->beside)
        function(argument);
}

void tr_task_wait(tr_task *task)
{
    if (task->beside)
        pthread_join(task->thread, NULL);
}
