#define _GNU_SOURCE
#include "util/team.h"

#include <sched.h>
#include <stdatomic.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}
#else
static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    (void)word, (void)value;
    sched_yield();
}

static void wake_all(_Atomic uint32_t *word)
{
    (void)word;
}
#endif

/* Takes 40 to 140 cycles. */
void tr_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void tr_yield(void)
{
    sched_yield();
}

void tr_barrier_init(tr_barrier *barrier, int count)
{
    atomic_init(&barrier->arrived, 0);
    atomic_init(&barrier->generation, 0);
    atomic_init(&barrier->sleepers, 0);
    barrier->count = (uint32_t)count;
}

void tr_barrier_wait(tr_barrier *barrier)
{
    if (barrier->count == 1)
        return;
    const uint32_t generation = atomic_load_explicit(&barrier->generation, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->count) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        /* Sequentially consistent with a sleeper's increment: either it sees the new generation or we see it. */
        atomic_fetch_add(&barrier->generation, 1);
        if (atomic_load(&barrier->sleepers))
            wake_all(&barrier->generation);
        return;
    }
    for (int spin = 0; spin < TR_SPINS; spin++) {
        if (atomic_load_explicit(&barrier->generation, memory_order_acquire) != generation)
            return;
        tr_pause();
    }
    atomic_fetch_add(&barrier->sleepers, 1);
    while (atomic_load(&barrier->generation) == generation)
        sleep_while(&barrier->generation, generation);
    atomic_fetch_sub(&barrier->sleepers, 1);
}
