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
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
}; /* the kernel's ends here, without padding: it reads 12 bytes */

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
    const int problem = errno;
    close(rule.parent);
    errno = problem;
    return good;
}

/* False: errno says why. What cannot be read anyway stays forbidden, and that is enough. */
static bool allow_all(int rules, const tr_sandbox_paths *paths, uint64_t known)
{
    for (const char *const *p = paths->readable; *p; p++)
        allow(rules, *p, READ_FILE | READ_DIR);
    if (paths->removes_in)
        allow(rules, paths->removes_in, REMOVE_FILE);
    if (paths->adds_to)
        allow(rules, paths->adds_to, WRITE_FILE | MAKE_REGULAR);
    return !paths->writable || allow(rules, paths->writable, CHANGE & known);
}

/* paths NULL: no files at all. A kernel without Landlock is no failure. False: errno says why. */
static bool restrict_files(const tr_sandbox_paths *paths)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, GET_VERSION);
    if (version < 1)
        return true;
    const uint64_t known = known_rights(version);
    const struct ruleset forbidden = {
        .files = known, .network = version >= 4 ? BIND_TCP : 0, .scopes = version >= 6 ? SCOPE_SOCKETS_AND_SIGNALS : 0};
    const int rules = (int)syscall(CREATE_RULESET, &forbidden, sizeof forbidden, 0);
    if (rules < 0)
        return false;
    const bool good = (!paths || allow_all(rules, paths, known)) && syscall(RESTRICT_SELF, rules, 0) == 0;
    const int problem = errno;
    close(rules);
    errno = problem;
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

enum {
    NO_MORE = 449, /* calls that came after Linux 5.15 */
    CLONE3 = 435,
    INSTRUCTIONS = 256,
    NAMESPACES = 0x7e020000 /* all CLONE_NEW... that clone() knows */
};

typedef struct filter {
    struct sock_filter code[INSTRUCTIONS];
    unsigned short count; /* more than INSTRUCTIONS: they did not fit */
} filter;

/* What is no business of downloads and servers. Numbers from 424 on are the same on all processors, and older headers lack
 * some. */
static const unsigned not_for_network[] = {
    /* other programs and processes */
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, 424 /* pidfd_send_signal */, 434 /* pidfd_open */, 438 /* pidfd_getfd */,
    440 /* process_madvise */, 448 /* process_mrelease */, SYS_setpriority, SYS_ioprio_set, SYS_sched_setaffinity,
    SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler, SYS_migrate_pages, SYS_move_pages, SYS_kcmp, SYS_shmget,
    SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semtimedop,
    SYS_semctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr,
#if defined(SYS_fork)
    SYS_fork, SYS_vfork,
#endif
/* what Landlock leaves open: modes, owners, times and attributes of files, watching them, and other views of the file
 * system */
#if defined(SYS_chmod)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_inotify_init,
#endif
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_inotify_init1, SYS_inotify_add_watch, SYS_fanotify_init,
    SYS_fanotify_mark, SYS_open_by_handle_at, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns,
    428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */, 431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */,
    442 /* mount_setattr */,
    /* parts of the kernel in which faults were found again and again; io_uring also goes round this filter */
    425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module};

/* Being a server. Landlock forbids bind(), but a port is also given by listen(). */
static const unsigned not_for_downloads[] = {SYS_listen, SYS_accept, SYS_accept4};

/* Other connections than those that come, and what Landlock leaves open before version 3. */
static const unsigned not_for_servers[] = {SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_truncate};

static const unsigned for_computing[] = {SYS_read,          SYS_readv,          SYS_write,        SYS_writev,
                                         SYS_lseek,         SYS_fstat,          SYS_close, /* what is open */
#if defined(SYS_newfstatat)
                                         SYS_newfstatat, /* as which C libraries call fstat() */
#endif
                                         SYS_brk,           SYS_mmap,           SYS_munmap,       SYS_mremap,
                                         SYS_mprotect,      SYS_madvise,        SYS_futex,        SYS_sched_yield,
                                         SYS_clock_gettime, SYS_gettimeofday,   SYS_getrandom,    SYS_restart_syscall,
                                         SYS_rt_sigaction,  SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_getpid,
                                         SYS_gettid,        SYS_exit,           SYS_exit_group};

static void add(filter *f, struct sock_filter instruction)
{
    if (f->count < INSTRUCTIONS)
        f->code[f->count] = instruction;
    f->count++;
}

static void load(filter *f, unsigned offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void answer(filter *f, unsigned action)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void refuse(filter *f, unsigned problem)
{
    answer(f, SECCOMP_RET_ERRNO | problem);
}

static void keep_bits(filter *f, unsigned bits)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
}

/* If what was loaded is value, what is added before end_if() follows; else it is skipped. */
static unsigned short begin_if(filter *f, unsigned value)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
    return (unsigned short)(f->count - 1);
}

static void end_if(filter *f, unsigned short begin)
{
    if (f->count <= INSTRUCTIONS)
        f->code[begin].jf = (unsigned char)(f->count - begin - 1);
}

/* If what was loaded is one of the values. At most 255. */
static void answer_any(filter *f, const unsigned *values, size_t count, unsigned action)
{
    for (size_t i = 0; i < count; i++)
        add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], (unsigned char)(count - 1 - i),
                                            i + 1 == count));
    answer(f, action);
}

/* If it is none of them. */
static void refuse_others(filter *f, const unsigned *values, size_t count, unsigned problem)
{
    for (size_t i = 0; i < count; i++)
        add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], (unsigned char)(count - i), 0));
    refuse(f, problem);
}

static void refuse_other(filter *f, unsigned value, unsigned problem)
{
    refuse_others(f, &value, 1, problem);
}

/* Other ways to call the same kernel, for programs of 32 bits, have other numbers. Newer calls, and so all of x32's, count
 * as missing: C libraries do without, as on older kernels. */
static void begin_filter(filter *f)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    refuse(f, EPERM);
    load(f, offsetof(struct seccomp_data, nr));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NO_MORE, 0, 1));
    refuse(f, ENOSYS);
}

/* The lower half: what it is asked for are ints, and flags that end there. */
static void load_argument(filter *f, unsigned argument)
{
    const unsigned lower = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
    load(f, (unsigned)(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t)) + lower);
}

/* If it is this call, end_call() ends what is added for it: what was not refused is allowed. */
static unsigned short begin_call(filter *f, unsigned call, unsigned argument)
{
    const unsigned short begin = begin_if(f, call);
    load_argument(f, argument);
    return begin;
}

static void end_call(filter *f, unsigned short begin)
{
    answer(f, SECCOMP_RET_ALLOW);
    end_if(f, begin);
}

/* abort() and the C library's own signals between threads; other processes get none, whatever Landlock knows of scopes. */
static void allow_own_signals(filter *f)
{
    const unsigned short begin = begin_call(f, SYS_tgkill, 0);
    refuse_other(f, (unsigned)getpid(), EPERM);
    end_call(f, begin);
}

/* Threads alone: a process would outlive this one, and could have namespaces in which it has all rights. The flags of
 * clone3() lie in memory, where no filter sees them. */
static void allow_threads(filter *f)
{
    unsigned short begin = begin_if(f, CLONE3);
    refuse(f, ENOSYS); /* C libraries take clone() then */
    end_if(f, begin);
    begin = begin_call(f, SYS_clone, 0);
    keep_bits(f, NAMESPACES | CLONE_THREAD);
    refuse_other(f, CLONE_THREAD, EPERM);
    end_call(f, begin);
}

/* TCP and UDP, and asking for this machine's addresses. Not AF_UNIX: services there start programs. */
static void allow_internet(filter *f)
{
    const unsigned families[] = {AF_INET, AF_INET6}, types[] = {SOCK_STREAM, SOCK_DGRAM};
    const unsigned protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP};
    unsigned short begin = begin_call(f, SYS_socket, 0);
    const unsigned short netlink = begin_if(f, AF_NETLINK);
    load_argument(f, 2);
    refuse_other(f, NETLINK_ROUTE, EPROTONOSUPPORT);
    end_call(f, netlink);
    refuse_others(f, families, 2, EAFNOSUPPORT);
    load_argument(f, 1);
    keep_bits(f, ~(unsigned)(SOCK_NONBLOCK | SOCK_CLOEXEC));
    refuse_others(f, types, 2, ESOCKTNOSUPPORT);
    load_argument(f, 2);
    refuse_others(f, protocols, 3, EPROTONOSUPPORT);
    end_call(f, begin);
    begin = begin_call(f, SYS_socketpair, 1); /* one of datagrams could be connected to a service */
    keep_bits(f, ~(unsigned)(SOCK_NONBLOCK | SOCK_CLOEXEC));
    refuse_other(f, SOCK_STREAM, ESOCKTNOSUPPORT);
    end_call(f, begin);
#if defined(__GLIBC__)                  /* other C libraries bind the sockets by which they ask for names */
    begin = begin_call(f, SYS_bind, 2); /* by its size, which is too small for the address of a port */
    refuse_other(f, sizeof(struct sockaddr_nl), EPERM);
    end_call(f, begin);
#endif
}

/* What both network filters do with calls that are not in their lists. */
static void allow_own_process(filter *f)
{
    const unsigned controls[] = {TIOCSTI, TIOCLINUX,    /* typing into the terminal, as if the user had */
                                 FIOSETOWN, SIOCSPGRP}; /* and whom a descriptor sends signals */
    const unsigned owners[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    allow_own_signals(f);
    allow_threads(f);
    unsigned short begin = begin_call(f, SYS_ioctl, 1);
    answer_any(f, controls, sizeof controls / sizeof *controls, SECCOMP_RET_ERRNO | EPERM);
    end_call(f, begin);
    begin = begin_call(f, SYS_fcntl, 1);
    answer_any(f, owners, sizeof owners / sizeof *owners, SECCOMP_RET_ERRNO | EPERM);
    end_call(f, begin);
    begin = begin_call(f, SYS_prlimit64, 0);
    refuse_other(f, 0, EPERM);
    end_call(f, begin);
}

static void make_download_filter(filter *f)
{
    begin_filter(f);
    answer_any(f, not_for_network, sizeof not_for_network / sizeof *not_for_network, SECCOMP_RET_ERRNO | EPERM);
    answer_any(f, not_for_downloads, sizeof not_for_downloads / sizeof *not_for_downloads, SECCOMP_RET_ERRNO | EPERM);
    allow_own_process(f);
    allow_internet(f);
    answer(f, SECCOMP_RET_ALLOW);
}

static void make_serve_filter(filter *f)
{
    begin_filter(f);
    answer_any(f, not_for_network, sizeof not_for_network / sizeof *not_for_network, SECCOMP_RET_ERRNO | EPERM);
    answer_any(f, not_for_servers, sizeof not_for_servers / sizeof *not_for_servers, SECCOMP_RET_ERRNO | EPERM);
    allow_own_process(f);
    answer(f, SECCOMP_RET_ALLOW);
}

static void make_compute_filter(filter *f)
{
    begin_filter(f);
    answer_any(f, for_computing, sizeof for_computing / sizeof *for_computing, SECCOMP_RET_ALLOW);
    allow_own_signals(f);
    refuse(f, EPERM);
}

/* A kernel without seccomp is no failure. False: errno says why. */
static bool restrict_calls(void (*make)(filter *f))
{
    filter f = {.count = 0};
    make(&f);
    if (f.count > INSTRUCTIONS) {
        errno = E2BIG;
        return false;
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT) /* where it is known, NULL is what fails */
        return true;
    const struct sock_fprog program = {.len = f.count, .filter = f.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

typedef struct filter filter;

static void make_download_filter(filter *f)
{
    (void)f;
}

static void make_serve_filter(filter *f)
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
    return true;
}
#endif

static tr_status enter(const tr_sandbox_paths *paths, void (*make)(filter *f), tr_error *error)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* on failure what follows fails, too */
    if (restrict_files(paths) && restrict_calls(make))
        return TR_OK;
    return tr_fail(error, TR_ERROR_IO, "sandbox: cannot be set up: %s", strerror(errno));
}

tr_status tr_sandbox_download(const tr_sandbox_paths *paths, tr_error *error)
{
    return enter(paths, make_download_filter, error);
}

tr_status tr_sandbox_serve(const tr_sandbox_paths *paths, tr_error *error)
{
    return enter(paths, make_serve_filter, error);
}

tr_status tr_sandbox_compute(tr_error *error)
{
    return enter(NULL, make_compute_filter, error);
}

#else

tr_status tr_sandbox_download(const tr_sandbox_paths *paths, tr_error *error)
{
    (void)paths, (void)error;
    return TR_OK;
}

tr_status tr_sandbox_serve(const tr_sandbox_paths *paths, tr_error *error)
{
    (void)paths, (void)error;
    return TR_OK;
}

tr_status tr_sandbox_compute(tr_error *error)
{
    (void)error;
    return TR_OK;
}
#endif
