/* Working memory: tr_attention_memory says what a call allocates, and that grows with the length, not with its square. */
#include <stdatomic.h>
#include <stdlib.h>

#include "kinds.h"

/* The linker puts these in place of the allocator (--wrap). They count the bytes that are allocated now, and the maximum. */
static _Atomic size_t held, most;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

enum { PIECES = 64 }; /* number of blocks that can be counted at once */
static struct {
    void *at;
    size_t size;
} pieces[PIECES];
static bool counting;

static void *note(void *memory, size_t size)
{
    if (!counting)
        return memory;
    for (int i = 0; i < PIECES; i++)
        if (!pieces[i].at) {
            pieces[i].at = memory;
            pieces[i].size = size;
            held += size;
            if (held > most)
                most = held;
            return memory;
        }
    abort();
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return note(__real_aligned_alloc(alignment, size), size);
}

void *__wrap_malloc(size_t size)
{
    return note(__real_malloc(size), size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return note(__real_calloc(count, size), count * size);
}

void __wrap_free(void *memory)
{
    for (int i = 0; counting && memory && i < PIECES; i++)
        if (pieces[i].at == memory) {
            held -= pieces[i].size;
            pieces[i].at = NULL;
        }
    __real_free(memory);
}

/* Only the thread of the call allocates; its helpers only compute. */
static size_t peak_of(const trial *t, float *out, float *weights)
{
    tr_error error;
    held = most = 0;
    counting = true;
    const tr_status status =
        tr_attention_forward(&t->shape, &t->options, &t->mask, t->element, t->q, t->k, t->v, out, weights, &error);
    counting = false;
    if (status)
        fail_msg("%s: %s", describe_trial(t), error.message);
    assert_int_equal(held, 0); /* all of it is freed */
    return most;
}

static int64_t memory_of(const trial *t)
{
    int64_t bytes;
    tr_error error;
    if (tr_attention_memory(&t->shape, &t->options, &t->mask, &bytes, &error))
        fail_msg("%s: %s", describe_trial(t), error.message);
    assert_true(bytes >= 0);
    return bytes;
}

static void allocates_what_it_reports(void **state)
{
    (void)state;
    static const tr_attention_shape shapes[] = {{1, 1, 1, 1, 1, 1}, {2, 3, 70, 130, 24, 40}, {1, 2, 600, 1100, 64, 64}};
    const size_t besides = 4096; /* memory of a team of threads */
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int n = 0; n < SOME_KINDS; n++)
            for (int ways = 0; ways < 4; ways++) {
                trial t = make_trial(shapes[s], some_of_each_kind[n], ways & 1 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32, 1, 1);
                if (ways & 2 && s)
                    give_all_masks(&t);
                t.options.threads = 1 + ways;
                float *out = reserve(out_size(&t), sizeof *out), *weights = reserve(weights_size(&t), sizeof *weights);
                const int64_t bytes = memory_of(&t);
                for (int asked = 0; asked < 2; asked++) {
                    const size_t peak = peak_of(&t, out, asked ? weights : NULL);
                    if (peak > (size_t)bytes + besides || peak < (size_t)bytes / 2)
                        fail_msg("%s: takes %zu bytes, says %lld", describe_trial(&t), peak, (long long)bytes);
                }
                free(out), free(weights);
                free_trial(&t);
            }
}

/* From 1,024 to 16,384: twice the length needs at most twice the memory. */
static void grows_with_the_length(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int masked = 0; masked < 2; masked++) {
            int64_t before = 0;
            const bool allowed[1] = {true};
            for (int64_t length = 1024; length <= 16384; length *= 2) {
                /* strides of zero: one row of a mask for all; nothing is read */
                trial t = {.shape = {1, 8, length, length, 64, 64}, .options = some_of_each_kind[n]};
                t.options.threads = 2;
                t.options.key_projection = t.options.value_projection = t.options.rank ? (const float *)&before : NULL;
                t.mask.allowed = masked ? allowed : NULL;
                if (masked && masks_by_query(t.options.kind))
                    t.mask.allowed_stride[2] = length;
                const int64_t bytes = memory_of(&t);
                if (before && bytes > 2 * before)
                    fail_msg("%s: %lld bytes, %lld for half of it", describe_trial(&t), (long long)bytes, (long long)before);
                assert_true(bytes < length * 8 * (64 + 64) * 4 * 4); /* a few times keys and values */
                before = bytes;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocates_what_it_reports),
        cmocka_unit_test(grows_with_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
