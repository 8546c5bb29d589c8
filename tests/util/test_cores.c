/* The cores that a process may use: its affinity mask, and CPU limits of cgroups, read from files like Linux's. */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/team.h"

/* Writes a file below root, and makes the folders of its path. */
static void put(const char *root, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(fclose(f), 0);
}

typedef struct tree {
    int cores; /* expected */
    const char *files[8][2];
} tree;

static const tree trees[] = {
    {0, {{NULL, NULL}}},                   /* no cgroups at all */
    {0, {{"proc/self/cgroup", "0::/\n"}}}, /* no controller */
    {3, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "300000 100000\n"}}},
    {0, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}}},
    {2, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}}}, /* one and a half */
    {1, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "1000 100000\n"}}},
    {0, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "garbage\n"}}},
    {0, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "100000 0\n"}}},
    /* the smallest of a group and those above it */
    {2,
     {{"proc/self/cgroup", "0::/a.slice/b.service\n"},
      {"sys/fs/cgroup/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/a.slice/cpu.max", "200000 100000\n"},
      {"sys/fs/cgroup/a.slice/b.service/cpu.max", "800000 100000\n"}}},
    {4, {{"proc/self/cgroup", "0::/not/mounted/here\n"}, {"sys/fs/cgroup/cpu.max", "400000 100000\n"}}},
    /* version 1 */
    {5,
     {{"proc/self/cgroup", "7:memory:/m\n3:cpu,cpuacct:/\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
    {0,
     {{"proc/self/cgroup", "3:cpu,cpuacct:/\n0::/\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
    {3,
     {{"proc/self/cgroup", "1:name=systemd:/\n3:cpuacct,cpu:/docker/x\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "250000\n"},
      {"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n"}}},
};

static void limits_of_cgroups(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char root[] = "/tmp/translate-cores-XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        for (int f = 0; trees[i].files[f][0]; f++)
            put(root, trees[i].files[f][0], trees[i].files[f][1]);
        const int cores = tr_cgroup_cores(root);
        snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
        if (cores != trees[i].cores)
            fail_msg("tree %zu: %d cores, not %d", i, cores, trees[i].cores);
    }
}

static void cpus_have_names(void **unused)
{
    (void)unused;
    static const char *const cases[][2] = {
        {"processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon(R) @ 2.00GHz\nmodel name\t: other\n", "Xeon(R) @ 2.00GHz"},
        {"model name\t: \nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "ARM implementer 0x41, part 0xd40"},
        {"CPU part\t: 0xd08\nCPU implementer\t: 0x41\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n", "Raspberry Pi 4"},
        {"Hardware\t: BCM2835\n", "BCM2835"},
        {"model name\t: a\033[2Jb\n", "a?[2Jb"},
        {"CPU part\t: 0xd08\n", "unknown"},
        {"", "unknown"},
    };
    char name[TR_CPU_NAME];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[] = "/tmp/translate-cores-XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        put(root, "/proc/cpuinfo", cases[i][0]);
        tr_cpu_name(root, name);
        snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
        assert_string_equal(name, cases[i][1]);
    }
    tr_cpu_name("/nowhere", name);
    assert_string_equal(name, "unknown");
}

static void a_mask_of_one_core_is_one_core(void **unused)
{
    (void)unused;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_true(tr_usable_cores() >= 1 && tr_usable_cores() <= CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &before))
            CPU_SET(c, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(tr_usable_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_cgroups),
        cmocka_unit_test(cpus_have_names),
        cmocka_unit_test(a_mask_of_one_core_is_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
