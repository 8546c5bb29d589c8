/* bench_kernels [LEVEL [ROUNDS]]: the time of every product of every level, or of one, and the limits of the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kernels/dispatch.h"

#include "model/weights.h"
#include "util/clock.h"

static double seconds(void)
{
    return (double)tr_nanoseconds() * 1e-9;
}

/* What is timed: a product, or a limit of the machine. */
typedef struct timing {
    const tr_kernels *level;
    tr_matmul op;
    const void *weights;
    size_t bytes;
    tr_type type;
    float *scratch;
} timing;

static void run_product(const timing *t)
{
    t->level->matmul(&t->op, 0, t->op.weight->outputs, t->scratch);
}
static void run_reading(const timing *t)
{
    t->level->read_memory(t->weights, t->bytes, 0);
}
static void run_reading_ahead(const timing *t)
{
    t->level->read_memory(t->weights, t->bytes, 2048);
}

/* Seconds of a run: the least of some rounds of 20 ms. */
static double time_run(void (*run)(const timing *t), const timing *t, int rounds)
{
    double best = INFINITY;
    for (int round = 0; round < rounds; round++) {
        const double start = seconds();
        int repeats = 0;
        do {
            run(t);
            repeats++;
        } while (seconds() - start < 0.02);
        best = fmin(best, (seconds() - start) / repeats);
    }
    return best;
}

/* Multiply-adds a second, in units of 10^9. */
static double time_peak(const tr_kernels *level, tr_type type, int rounds)
{
    double best = 0;
    int64_t turns = 1 << 10;
    for (int round = 0; round < rounds;) {
        const double start = seconds(), macs = level->peak(type, turns), taken = seconds() - start;
        if (taken < 0.02) {
            turns *= 2;
            continue;
        }
        best = fmax(best, macs / taken * 1e-9);
        round++;
    }
    return best;
}

static void bench_product(const tr_kernels *level, int rows, int inputs, int outputs, tr_type type, double peak, int rounds)
{
    product p = make_product(rows, inputs, outputs, type, true, false, 0);
    const tr_quantised q = make_quantised(rows, inputs);
    p.op.weight = &p.matrix;
    p.op.q = &q;
    level->quantise(&(tr_quantise){rows, inputs, p.x, p.op.x_stride, &q, 0, false});
    const size_t bytes = (size_t)inputs * (size_t)outputs * tr_type_size(type);
    const timing t = {level, p.op, p.stored, bytes, type, p.scratch};
    const double best = time_run(run_product, &t, rounds), macs = (double)rows * inputs * outputs;
    const double reading = fmin(time_run(run_reading, &t, rounds), time_run(run_reading_ahead, &t, rounds));
    printf("%-10s matmul %-4s %4d x %4d x %5d  %8.1f us  %6.1f of %6.1f GMAC/s  %6.1f of %6.1f GB/s of weights\n",
           level->level, tr_type_name(type), rows, inputs, outputs, best * 1e6, macs / best * 1e-9, peak,
           (double)bytes / best * 1e-9, (double)bytes / reading * 1e-9);
    fflush(stdout);
    free(q.rows), free(q.scale);
    free_product(&p);
}

static void bench_level(const tr_kernels *level, int rounds)
{
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_F16, TR_TYPE_BF16, TR_TYPE_I8};
    static const int shapes[][2] = {{256, 256}, {512, 512}, {512, 2048}, {2048, 512}, {512, 65001}};
    static const int rows[] = {1, 2, 4, 32, 256};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const double peak = time_peak(level, types[t], rounds);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
                if (shapes[s][1] < 10000 || rows[r] <= 32) /* the output projection has no more */
                    bench_product(level, rows[r], shapes[s][0], shapes[s][1], types[t], peak, rounds);
    }
}

int main(int argc, char **argv)
{
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels), rounds = argc > 2 ? atoi(argv[2]) : 7;
    int timed = 0;
    for (int i = 0; i < count; i++)
        if (argc == 1 || strcmp(argv[1], levels[i]->level) == 0) {
            bench_level(levels[i], rounds > 0 ? rounds : 1);
            timed++;
        }
    return timed ? 0 : 2;
}
