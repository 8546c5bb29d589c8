#define _GNU_SOURCE
#include "util/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZER 1
#endif
#endif

#if defined(__linux__) && !defined(SANITIZER)

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --------------------------------------------------------------------------------------------------- files: Landlock */

/* As in linux/landlock.h, which older headers lack or have without the later parts. All processors have the same numbers. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, GET_VERSION = 1, PATH_BENEATH = 1 };

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REGULAR = 1 << 8,
    REFER = 1 << 13,        /* version 2: renaming from folder to folder */
    TRUNCATE = 1 << 14,     /* version 3 */
    DEVICE_IOCTL = 1 << 15, /* version 5 */
    FIRST_VERSION = REFER - 1,
    CHANGE = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_DIR | MAKE_REGULAR | REMOVE_DIR | REMOVE_FILE | REFER
};

enum { BIND_TCP = 1 /* version 4 */, SCOPE_SOCKETS_AND_SIGNALS = 3 /* version 6 */ };

struct ruleset {
    uint64_t files, network, scopes; /* what is forbidden but where a rule allows it */
};

struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static uint64_t known_rights(long version)
{
    return FIRST_VERSION | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? DEVICE_IOCTL : 0);
}

static bool allow(int rules, const char *path, uint64_t rights)
{
    struct path_rule rule = {.allowed = rights, .parent = path ? open(path, O_PATH | O_CLOEXEC) : -1};
    if (rule.parent < 0)
        return false;
    bool good = syscall(ADD_RULE, rules, PATH_BENEATH, &rule, 0) == 0;
    if (!good && errno == EINVAL) { /* a file has fewer rights than a folder */
        rule.allowed &= READ_FILE;
        good = syscall(ADD_RULE, rules, PATH_BENEATH, &rule, 0) == 0;
    }
    close(rule.parent);
    return good;
}

/* paths NULL: no files at all. */
static bool restrict_files(const tr_sandbox_paths *paths)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, GET_VERSION);
    const uint64_t known = known_rights(version);
    const struct ruleset forbidden = {.files = known,
                                      .network = version >= 4 ? BIND_TCP : 0,
                                      .scopes = version >= 6 ? SCOPE_SOCKETS_AND_SIGNALS : 0};
    const int rules = version < 1 ? -1 : (int)syscall(CREATE_RULESET, &forbidden, sizeof forbidden, 0);
    if (rules < 0)
        return false;
    for (const char *const *p = paths ? paths->readable : NULL; p && *p; p++)
        allow(rules, *p, READ_FILE | READ_DIR);
    if (paths)
        allow(rules, paths->prunable, REMOVE_DIR);
    const bool good = (!paths || allow(rules, paths->writable, CHANGE & known)) && syscall(RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return good;
}

/* --------------------------------------------------------------------------------------------- system calls: seccomp */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#if defined(ARCHITECTURE)

typedef struct filter {
    struct sock_filter code[192];
    unsigned short count;
} filter;

enum { NO_MORE = 449 /* calls that came after Linux 5.15 */ };

/* What is no download's business. Numbers from 424 on are the same on all processors, and older headers lack some. */
static const unsigned not_for_downloads[] = {
    /* other programs and processes */
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, 424 /* pidfd_send_signal */, 438 /* pidfd_getfd */,
    440 /* process_madvise */,
    /* being a server; Landlock forbids bind(), but a port is also given by listen() */
    SYS_listen, SYS_accept, SYS_accept4,
    /* what Landlock leaves open: modes, owners and attributes of files by their paths, and other views of the file system */
#if defined(SYS_chmod)
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
    SYS_fchmodat, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_open_by_handle_at,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, 428 /* open_tree */, 429 /* move_mount */,
    430 /* fsopen */, 431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    /* parts of the kernel in which faults were found again and again; io_uring also goes round this filter */
    425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module};

static const unsigned for_computing[] = {
    SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_lseek, SYS_fstat, SYS_close, /* what is open */
#if defined(SYS_newfstatat)
    SYS_newfstatat, /* as which C libraries call fstat() */
#endif
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom, SYS_restart_syscall,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_tgkill, /* abort() */
    SYS_exit, SYS_exit_group};

static void add(filter *f, struct sock_filter instruction)
{
    f->code[f->count++] = instruction;
}

static void load(filter *f, unsigned offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void answer(filter *f, unsigned action)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* If what was loaded is value, the next instructions follow; else they are skipped. */
static void if_equal(filter *f, unsigned value, unsigned char instructions)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, instructions));
}

static void answer_all(filter *f, const unsigned *calls, size_t count, unsigned action)
{
    for (size_t i = 0; i < count; i++) {
        if_equal(f, calls[i], 1);
        answer(f, action);
    }
}

/* Other ways to call the same kernel, for programs of 32 bits, have other numbers. Newer calls, and so all of x32's, count
 * as missing: C libraries do without, as on older kernels. */
static void begin(filter *f)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    answer(f, SECCOMP_RET_ERRNO | EPERM);
    load(f, offsetof(struct seccomp_data, nr));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NO_MORE, 0, 1));
    answer(f, SECCOMP_RET_ERRNO | ENOSYS);
}

/* The next instructions are for this call, and see the lower half of an argument. */
static void begin_argument(filter *f, unsigned call, unsigned argument, unsigned char instructions)
{
    if_equal(f, call, (unsigned char)(instructions + 1));
    load(f, (unsigned)(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t)));
}

static void make_download_filter(filter *f)
{
    const unsigned typing[] = {TIOCSTI, TIOCLINUX}; /* into the terminal, as if the user had */
    const unsigned families[] = {AF_INET, AF_INET6, AF_NETLINK}; /* not AF_UNIX: services there start programs */
    begin(f);
    answer_all(f, not_for_downloads, sizeof not_for_downloads / sizeof *not_for_downloads, SECCOMP_RET_ERRNO | EPERM);
    begin_argument(f, SYS_ioctl, 1, 5);
    answer_all(f, typing, 2, SECCOMP_RET_ERRNO | EPERM);
    answer(f, SECCOMP_RET_ALLOW);
    begin_argument(f, SYS_socket, 0, 7);
    answer_all(f, families, 3, SECCOMP_RET_ALLOW);
    answer(f, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    answer(f, SECCOMP_RET_ALLOW);
}

static void make_compute_filter(filter *f)
{
    begin(f);
    answer_all(f, for_computing, sizeof for_computing / sizeof *for_computing, SECCOMP_RET_ALLOW);
    answer(f, SECCOMP_RET_ERRNO | EPERM);
}

static bool restrict_calls(void (*make)(filter *f))
{
    filter f = {.count = 0};
    make(&f);
    const struct sock_fprog program = {.len = f.count, .filter = f.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

typedef struct filter filter;

static void make_download_filter(filter *f)
{
    (void)f;
}

static void make_compute_filter(filter *f)
{
    (void)f;
}

static bool restrict_calls(void (*make)(filter *f))
{
    (void)make;
    return false;
}
#endif

static unsigned enter(const tr_sandbox_paths *paths, void (*make)(filter *f))
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return 0;
    const bool files = restrict_files(paths), calls = restrict_calls(make);
    return (files ? TR_SANDBOX_FILES : 0u) | (calls ? TR_SANDBOX_CALLS : 0u);
}

unsigned tr_sandbox_download(const tr_sandbox_paths *paths)
{
    return enter(paths, make_download_filter);
}

unsigned tr_sandbox_compute(void)
{
    return enter(NULL, make_compute_filter);
}

#else

unsigned tr_sandbox_download(const tr_sandbox_paths *paths)
{
    (void)paths;
    return 0;
}

unsigned tr_sandbox_compute(void)
{
    return 0;
}
#endif
