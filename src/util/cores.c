#define _GNU_SOURCE
#include "util/team.h"
#include "util/utf8.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CGROUP_PATH = 4096 };

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
    const long long cores = quota / period + (quota % period != 0);
    return cores < 1 << 20 ? (int)cores : 0;
}

/* What one group's files say: version 2's cpu.max holds "QUOTA PERIOD" in microseconds, version 1 has a file for each. */
static int group_cores(const char *folder, bool version_2)
{
    long long quota, period, unused;
    char path[CGROUP_PATH + 32];
    if (version_2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        return read_numbers(path, &quota, &period) == 2 ? at_least_one_core(quota, period) : 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (read_numbers(path, &quota, &unused) < 1)
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_numbers(path, &period, &unused) < 1 ? 0 : at_least_one_core(quota, period);
}

/* The smallest limit of a group and of those above it. Inside a container the group that /proc names may not be there: its
 * own is mounted as the top one. */
static int smallest_limit(const char *mount, const char *group, bool version_2)
{
    char folder[CGROUP_PATH];
    const int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    int limit = 0;
    if (n < 0 || n >= CGROUP_PATH)
        return 0;
    for (size_t size = (size_t)n; size >= strlen(mount);) {
        folder[size] = 0;
        const int cores = group_cores(folder, version_2);
        if (cores && (!limit || cores < limit))
            limit = cores;
        while (size && folder[--size] != '/')
            ;
        if (!size)
            break;
    }
    return limit;
}

/* True if a line of /proc/self/cgroup, "NUMBER:CONTROLLERS:GROUP", is version 2's or that of the cpu controller. */
static bool parse_group(char *line, bool *version_2, const char **group)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    *version_2 = controllers[1] == 0;
    *group = strcmp(path, "/") == 0 ? "" : path;
    char *rest;
    for (char *name = strtok_r(controllers + 1, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, "cpu") == 0)
            return true;
    return *version_2;
}

int tr_cgroup_cores(const char *root)
{
    char path[CGROUP_PATH], line[CGROUP_PATH / 2];
    int limit = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        bool version_2;
        const char *group;
        if (!parse_group(line, &version_2, &group))
            continue;
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, version_2 ? "" : "/cpu");
        const int cores = smallest_limit(path, group, version_2);
        if (cores && (!limit || cores < limit))
            limit = cores;
    }
    if (f)
        fclose(f);
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
    const int limit = tr_cgroup_cores("");
    return limit && limit < cores ? limit : cores;
}

/* The value of the first line "KEY : VALUE" of /proc/cpuinfo; false: there is none, or it is empty. */
static bool cpu_value(const char *root, const char *key, char *value, size_t size)
{
    char path[CGROUP_PATH], line[512];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        const size_t length = strlen(key);
        const char *colon = strncmp(line, key, length) == 0 ? line + length + strspn(line + length, "\t ") : "";
        if (*colon != ':')
            continue;
        const char *from = colon + 1 + strspn(colon + 1, " ");
        snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
        found = *value;
    }
    if (f)
        fclose(f);
    return found;
}

void tr_cpu_name(const char *root, char name[TR_CPU_NAME])
{
    static const char *const keys[] = {"model name", "Model", "Hardware"};
    char implementer[TR_CPU_NAME / 4], part[TR_CPU_NAME / 4];
    bool found = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !found; i++)
        found = cpu_value(root, keys[i], name, TR_CPU_NAME);
    if (!found && cpu_value(root, "CPU implementer", implementer, sizeof implementer) &&
        cpu_value(root, "CPU part", part, sizeof part))
        snprintf(name, TR_CPU_NAME, "ARM implementer %s, part %s", implementer, part);
    else if (!found)
        snprintf(name, TR_CPU_NAME, "unknown");
    tr_utf8_make_printable(name);
}
