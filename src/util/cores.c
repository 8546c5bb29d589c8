#define _GNU_SOURCE
#include "util/team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads up to two numbers ("max" counts as none) from the first line of a file; returns how many. */
static int read_numbers(const char *path, long long *a, long long *b)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    const int n = fscanf(f, "%lld %lld", a, b);
    fclose(f);
    return n < 0 ? 0 : n;
}

static int at_least_one_core(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    const long long cores = (quota + period - 1) / period;
    return cores < 1 << 20 ? (int)cores : 0;
}

/* The limit of this process's cgroup and of the groups above it (version 2: cpu.max holds "QUOTA PERIOD" in microseconds;
 * version 1: two files). 0: no limit. Inside a container the group is usually mounted as the root. */
static int cgroup_cores(void)
{
    long long quota, period;
    int limit = 0;
    char group[640] = "", path[704];
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (f) {
        char line[600];
        while (fgets(line, sizeof line, f))
            if (strncmp(line, "0::", 3) == 0)
                snprintf(group, sizeof group, "%s", line + 3);
        fclose(f);
        group[strcspn(group, "\n")] = 0;
    }
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        if (read_numbers(path, &quota, &period) == 2) {
            const int cores = at_least_one_core(quota, period);
            if (cores && (!limit || cores < limit))
                limit = cores;
        }
        char *slash = strrchr(group, '/');
        if (!slash)
            break;
        *slash = 0;
    }
    long long unused;
    if (!limit && read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &unused) >= 1 &&
        read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &unused) >= 1)
        limit = at_least_one_core(quota, period);
    return limit;
}

int tr_usable_cores(void)
{
    int cores = 0;
#if defined(__linux__)
    /* Grows the mask until it holds every CPU of the machine. */
    for (int size = 1024; size <= 1 << 16 && !cores; size *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        if (!set)
            break;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)size), set) == 0)
            cores = CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)size), set);
        CPU_FREE(set);
    }
#endif
    if (cores < 1) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        cores = online > 0 ? (int)online : 1;
    }
    const int limit = cgroup_cores();
    return limit && limit < cores ? limit : cores;
}
