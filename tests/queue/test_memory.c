/* A queue under failing allocations: whichever fails, each submission is refused or ends with exactly one last event, and
 * the queue works afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../opening.h"

/* The program's allocations are those of the library; they count down to the one that fails. */
static atomic_long countdown = -1;

static bool fails(void)
{
    return atomic_load(&countdown) >= 0 && atomic_fetch_sub(&countdown, 1) == 0;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

static const char *const texts[] = {"今天天气很好", "你好。再见！", "谢谢"};

/* Submits texts and takes all events; true: they were translated. */
static bool translate(tr_queue *queue, const tr_options *options)
{
    tr_ticket ticket;
    int last = 0;
    size_t good = 0;
    if (tr_queue_submit(queue, texts, NULL, 3, options, &ticket, NULL) != TR_OK)
        return false;
    for (tr_event *event; (event = tr_queue_wait(queue, ticket, -1)); tr_event_free(event)) {
        last += tr_event_last(event);
        good += tr_event_results(event) != NULL;
    }
    assert_int_equal(last, 1);
    return good == 3;
}

static void test_allocations(void **state)
{
    tr_model *model = open_model(TR_MODEL);
    tr_options options = tr_default_options();
    tr_error error;
    int kinds = 0;
    (void)state;
    options.context.threads = 1;
    for (int kind = 0; kind < 4; kind++) {
        tr_queue *queue;
        assert_int_equal(tr_queue_create(model, &options, &queue, &error), TR_OK);
        options.submit.ordered = kind % 2;
        options.submit.tokens = kind < 2;
        options.translate.align = kind == 1;
        options.translate.search.beam = kind < 2 ? 1 : 3;
        options.translate.search.n_best = kind < 2 ? 1 : 2;
        for (long n = 0;; n++) {
            atomic_store(&countdown, n);
            const bool done = translate(queue, &options);
            const bool reached = atomic_exchange(&countdown, -1) < 0;
            assert_true(done || reached);
            if (!reached) { /* there are no more allocations */
                assert_true(n > 20);
                kinds++;
                break;
            }
            if (n % 16 == 0)
                assert_true(translate(queue, &options));
        }
        tr_queue_destroy(queue);
    }
    assert_int_equal(kinds, 4);
    tr_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
