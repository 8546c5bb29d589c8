/* A library for LD_PRELOAD that lets a call of the program fail, from the start of main() to its end. faults.py sets, in the
 * environment:
 *   FAULT_CLASS  count    nothing fails; at the end FAULT_LOG tells how many calls of each class there were
 *                alloc    allocations that our own code asks for, itself or through libc and libstdc++ (strdup, fopen, ...)
 *                foreign  allocations that other libraries ask for
 *                thread   pthread_create() by our own code
 *                read, write, mmap (of files), fsync, file (opening, looking at, renaming, removing ...): system calls
 *                of libc, whoever asks for them
 *   FAULT_N      the call of that class that fails, from 1 on
 *   FAULT_MODE   once: that call alone; on: that one and all after it; short (read, write): every call is done for half of
 *                its size; interrupted (read, write): every second call by our own code ends with EINTR (stdio takes that
 *                for an error, but a program that has no handler after which it goes on never sees it)
 *   FAULT_ERROR  the error number of a system call that fails; default EIO
 *   FAULT_LOG    a file; "failed NAME MODULE+OFFSET ..." is appended for the first call that fails, with its callers
 *   FAULT_TIME   seconds after which the process is ended by SIGALRM
 *
 * Our own code is that of the main program: libtranslate is linked into it. System calls are seen by a seccomp filter, so
 * that those inside of libc (stdio) count, too; it traps what comes from libc's text, so that this library can do the real
 * call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { NONE, COUNT, ALLOC, FOREIGN, THREAD, READ, WRITE, MAP, SYNC, NAMED, CLASSES };
static const char *const classes[] = {"",      "count", "alloc", "foreign", "thread", "read",
                                      "write", "mmap",  "fsync", "file",    NULL};
enum { ONCE, ON, SHORT, INTERRUPTED };

static int wanted, mode, failure = EIO;
static long target, calls[CLASSES];
static const char *log_path;
static bool running; /* whether main() is running */
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* ------------------------------------------------------------------------------------------------------------ modules */

enum { PROGRAM, LIBC, THIS, PASSED /* libstdc++ and the sanitizers: their calls count as their caller's */, OTHER };

typedef struct module {
    uintptr_t first, last; /* bounds of its text section */
    uintptr_t base;
    int kind;
    char name[64];
} module;

static module modules[128];
static int module_count;

static int add_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    const bool first = module_count == 0;
    for (int i = 0; i < info->dlpi_phnum && module_count < (int)(sizeof modules / sizeof *modules); i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        module *m = &modules[module_count++];
        m->base = info->dlpi_addr;
        m->first = info->dlpi_addr + p->p_vaddr;
        m->last = m->first + p->p_memsz;
        const char *name = strrchr(info->dlpi_name, '/');
        snprintf(m->name, sizeof m->name, "%s", first ? "program" : name ? name + 1 : info->dlpi_name);
        const uintptr_t libc = (uintptr_t)gnu_get_libc_version, this = (uintptr_t)add_module;
        m->kind = first                                                                                    ? PROGRAM
                  : libc >= m->first && libc < m->last                                                     ? LIBC
                  : this >= m->first && this < m->last                                                     ? THIS
                  : strstr(m->name, "libstdc++") || strstr(m->name, "asan") || strstr(m->name, "libgcc_s") ? PASSED
                                                                                                           : OTHER;
    }
    return 0;
}

static const module *module_of(uintptr_t address)
{
    for (int i = 0; i < module_count; i++)
        if (address >= modules[i].first && address < modules[i].last)
            return &modules[i];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- calls and the log */

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "which instruction calls the system?"
#endif
}

static void append_log(const char *text, size_t size)
{
    const long fd = log_path ? raw(SYS_openat, AT_FDCWD, (long)log_path, O_WRONLY | O_APPEND | O_CREAT, 0666, 0, 0) : -1;
    if (fd < 0)
        return;
    raw(SYS_write, fd, (long)text, (long)size, 0, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

typedef struct trace {
    char text[1024];
    size_t size;
} trace;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
    trace *t = argument;
    const uintptr_t at = _Unwind_GetIP(context);
    const module *m = module_of(at);
    if (m && m->kind == THIS)
        return _URC_NO_REASON;
    if (t->size + 100 > sizeof t->text)
        return _URC_END_OF_STACK;
    t->size += (size_t)snprintf(t->text + t->size, 90, " %s+%lx", m ? m->name : "?", (unsigned long)(m ? at - m->base : at));
    return _URC_NO_REASON;
}

static void log_failure(const char *name)
{
    trace t;
    inside = true;
    t.size = (size_t)snprintf(t.text, sizeof t.text, "failed %.30s", name);
    _Unwind_Backtrace(add_frame, &t);
    t.text[t.size++] = '\n';
    append_log(t.text, t.size);
    inside = false;
}

/* Counts a call; returns true if it must fail. */
static bool is_to_fail(int class, const char *name)
{
    const long n = __atomic_add_fetch(&calls[class], 1, __ATOMIC_RELAXED);
    if (wanted != class)
        return false;
    if (n == target)
        log_failure(name);
    return n == target || (mode == ON && n > target);
}

/* -------------------------------------------------------------------------------------------------------- who allocates */

static _Unwind_Reason_Code find_asker(struct _Unwind_Context *context, void *found)
{
    const module *m = module_of(_Unwind_GetIP(context));
    if (m && m->kind != PROGRAM && m->kind != OTHER)
        return _URC_NO_REASON;
    *(const module **)found = m;
    return _URC_END_OF_STACK;
}

/* PROGRAM or OTHER. */
static int asker(void *caller)
{
    const module *m = module_of((uintptr_t)caller);
    if (!m || m->kind == PROGRAM || m->kind == OTHER)
        return m ? m->kind : OTHER;
    inside = true;
    m = NULL;
    _Unwind_Backtrace(find_asker, &m);
    inside = false;
    return m ? m->kind : OTHER;
}

static bool allocation_fails(const char *name, void *caller)
{
    if (!running || inside || wanted > FOREIGN || !is_to_fail(asker(caller) == PROGRAM ? ALLOC : FOREIGN, name))
        return false;
    errno = ENOMEM;
    return true;
}

#define FAILS(name) allocation_fails(name, __builtin_return_address(0))

/* --------------------------------------------------------------------------------------------------------- allocations */

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t),
    *(*real_aligned_alloc)(size_t, size_t), *(*real_mmap)(void *, size_t, int, int, int, off_t);
static int (*real_posix_memalign)(void **, size_t, size_t),
    (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static void (*real_free)(void *);

/* Serves dlsym(), which allocates before the addresses of the real functions are known. */
static _Alignas(16) char early[1 << 16];
static size_t early_size;
static bool finding;

static void *early_alloc(size_t size)
{
    void *memory = early + early_size;
    early_size += (size + 15) & ~(size_t)15;
    if (early_size > sizeof early)
        abort();
    return memory;
}

static bool is_early(const void *memory)
{
    return (uintptr_t)memory >= (uintptr_t)early && (uintptr_t)memory < (uintptr_t)(early + sizeof early);
}

static void take(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* Returns false while the addresses of the real functions are being looked up. */
static bool find(void)
{
    if (real_free)
        return true;
    if (finding)
        return false;
    finding = true;
    take(&real_malloc, "malloc");
    take(&real_calloc, "calloc");
    take(&real_realloc, "realloc");
    take(&real_aligned_alloc, "aligned_alloc");
    take(&real_posix_memalign, "posix_memalign");
    take(&real_mmap, "mmap");
    take(&real_create, "pthread_create");
    take(&real_free, "free");
    finding = false;
    return true;
}

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void *malloc(size_t size)
{
    return !find() ? early_alloc(size) : FAILS("malloc") ? NULL : real_malloc(size);
}

PUBLIC void *calloc(size_t count, size_t size)
{
    return !find() ? early_alloc(count * size) : FAILS("calloc") ? NULL : real_calloc(count, size);
}

static void *resize(void *memory, size_t size)
{
    if (!is_early(memory))
        return real_realloc(memory, size);
    void *moved = real_malloc(size);
    const size_t most = (size_t)(early + sizeof early - (char *)memory);
    return moved ? memcpy(moved, memory, size < most ? size : most) : NULL;
}

PUBLIC void *realloc(void *memory, size_t size)
{
    return !find() ? early_alloc(size) : FAILS("realloc") ? NULL : resize(memory, size);
}

PUBLIC void *reallocarray(void *memory, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return !find() || FAILS("reallocarray") ? NULL : resize(memory, count * size);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    return !find() || FAILS("aligned_alloc") ? NULL : real_aligned_alloc(alignment, size);
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return !find() || FAILS("posix_memalign") ? ENOMEM : real_posix_memalign(memory, alignment, size);
}

PUBLIC void free(void *memory)
{
    if (memory && !is_early(memory) && find())
        real_free(memory);
}

static void *map(void *address, size_t size, int protection, int flags, int file, off_t offset, void *caller)
{
    if (!find())
        abort();
    return flags & MAP_ANONYMOUS && allocation_fails("mmap", caller)
               ? MAP_FAILED
               : real_mmap(address, size, protection, flags, file, offset);
}

PUBLIC void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    return map(address, size, protection, flags, file, offset, __builtin_return_address(0));
}

PUBLIC void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    return map(address, size, protection, flags, file, offset, __builtin_return_address(0));
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
    const module *m = module_of((uintptr_t)__builtin_return_address(0));
    if (!find())
        abort();
    return running && m && m->kind == PROGRAM && is_to_fail(THREAD, "pthread_create")
               ? EAGAIN
               : real_create(thread, attributes, function, argument);
}

/* --------------------------------------------------------------------------------------------------------- system calls */

typedef struct call {
    int number, kind;
    const char *name;
} call;

static const call seen[] = {
    {SYS_read, READ, "read"},
    {SYS_pread64, READ, "pread"},
    {SYS_readv, READ, "readv"},
    {SYS_write, WRITE, "write"},
    {SYS_pwrite64, WRITE, "pwrite"},
    {SYS_writev, WRITE, "writev"},
    {SYS_mmap, MAP, "mmap"},
    {SYS_fsync, SYNC, "fsync"},
    {SYS_fdatasync, SYNC, "fdatasync"},
    {SYS_openat, NAMED, "openat"},
    {SYS_newfstatat, NAMED, "newfstatat"},
    {SYS_fstat, NAMED, "fstat"},
    {SYS_statx, NAMED, "statx"},
    {SYS_statfs, NAMED, "statfs"},
    {SYS_fstatfs, NAMED, "fstatfs"},
    {SYS_faccessat, NAMED, "faccessat"},
    {SYS_faccessat2, NAMED, "faccessat2"},
    {SYS_ftruncate, NAMED, "ftruncate"},
    {SYS_fallocate, NAMED, "fallocate"},
    {SYS_unlinkat, NAMED, "unlinkat"},
    {SYS_mkdirat, NAMED, "mkdirat"},
    {SYS_renameat, NAMED, "renameat"},
    {SYS_renameat2, NAMED, "renameat2"},
    {SYS_readlinkat, NAMED, "readlinkat"},
    {SYS_linkat, NAMED, "linkat"},
    {SYS_symlinkat, NAMED, "symlinkat"},
    {SYS_fchmod, NAMED, "fchmod"},
    {SYS_fchown, NAMED, "fchown"},
    {SYS_flock, NAMED, "flock"},
    {SYS_getdents64, NAMED, "getdents64"},
    {SYS_lseek, NAMED, "lseek"},
    {SYS_close, NAMED, "close"},
    {SYS_memfd_create, NAMED, "memfd_create"},
    {SYS_pipe2, NAMED, "pipe2"},
#if defined(__x86_64__)
    {SYS_open, NAMED, "open"},
    {SYS_stat, NAMED, "stat"},
    {SYS_lstat, NAMED, "lstat"},
    {SYS_access, NAMED, "access"},
    {SYS_rename, NAMED, "rename"},
    {SYS_unlink, NAMED, "unlink"},
    {SYS_mkdir, NAMED, "mkdir"},
    {SYS_rmdir, NAMED, "rmdir"},
    {SYS_readlink, NAMED, "readlink"},
#endif
};

static const call *find_call(int number)
{
    const call *c = seen;
    while (c->number != number)
        c++;
    return c;
}

static _Unwind_Reason_Code find_depth(struct _Unwind_Context *context, void *argument)
{
    int *depth = argument;
    const module *m = module_of(_Unwind_GetIP(context));
    *depth += m && m->kind == LIBC;
    if (!m || m->kind == OTHER)
        *depth = 100;
    return m && (m->kind == THIS || m->kind == LIBC) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Above a signal handler: its caller, the function of the system call, perhaps one that checks sizes, and the program. */
static bool is_direct(void)
{
    int depth = 0;
    _Unwind_Backtrace(find_depth, &depth);
    return depth <= 3;
}

/* The return value of the real call. */
static long answer(int number, long a[6])
{
    const call *c = find_call(number);
    const bool message = c->kind == WRITE && a[0] == STDERR_FILENO; /* there is no other way to report the failure */
    if (!running || message)
        return raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (mode == INTERRUPTED && !is_direct())
        return raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const bool fails = is_to_fail(c->kind, c->name), vector = number == SYS_readv || number == SYS_writev;
    if (mode == INTERRUPTED && calls[wanted] % 2)
        return -EINTR;
    if (mode == SHORT && !vector)
        a[2] -= a[2] / 2;
    else if (mode == SHORT && a[2] > 1)
        a[2]--;
    if (!fails || mode == SHORT || mode == INTERRUPTED)
        return raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_close)
        raw(number, a[0], 0, 0, 0, 0, 0); /* it is closed all the same */
    return -failure;
}

static void on_call(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    ucontext_t *u = context;
#if defined(__x86_64__)
    greg_t *g = u->uc_mcontext.gregs;
    long a[6] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]};
    g[REG_RAX] = answer(info->si_syscall, a);
#else
    unsigned long long *x = u->uc_mcontext.regs;
    long a[6] = {(long)x[0], (long)x[1], (long)x[2], (long)x[3], (long)x[4], (long)x[5]};
    x[0] = (unsigned long long)answer(info->si_syscall, a);
#endif
}

/* Offsets of the halves of a 64-bit value in the filter program's data. */
#define LOW(field)  ((unsigned)offsetof(struct seccomp_data, field))
#define HIGH(field) (LOW(field) + 4)

/* Traps the calls of the class that come from libc's text. Both ends of that text have the same upper half of their
 * addresses, except for one start in some thousand: then only the part above the border is trapped. */
static bool trap_calls(void)
{
    const module *libc = NULL;
    struct sock_filter program[20 + 2 * sizeof seen / sizeof *seen];
    unsigned short n = 0;
    for (int i = 0; i < module_count; i++)
        if (modules[i].kind == LIBC)
            libc = &modules[i];
    if (!libc)
        return false;
    const uint32_t upper = (uint32_t)((libc->last - 1) >> 32), last = (uint32_t)(libc->last - 1),
                   first = (uint32_t)(libc->first >> 32) == upper ? (uint32_t)libc->first : 0;
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HIGH(instruction_pointer));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, upper, 1, 0);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(instruction_pointer));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1);
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 0, 1);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(args[4])); /* the file of mmap */
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 3);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(nr));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(nr));
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        if (wanted != COUNT && seen[i].kind != wanted)
            continue;
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)seen[i].number, 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {n, program};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* --------------------------------------------------------------------------------------------------------------- main() */

static int find_word(const char *name, const char *const *words)
{
    const char *value = getenv(name);
    for (int i = 0; value && words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return 0;
}

static long number(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

static void log_counts(void)
{
    char text[64];
    for (int i = ALLOC; i < CLASSES; i++)
        append_log(text, (size_t)snprintf(text, sizeof text, "calls %s %ld\n", classes[i], calls[i]));
}

static int (*real_main)(int, char **, char **);

static int wrapped_main(int count, char **arguments, char **environment)
{
    static const char *const modes[] = {"once", "on", "short", "interrupted", NULL};
    wanted = find_word("FAULT_CLASS", classes);
    mode = find_word("FAULT_MODE", modes);
    target = number("FAULT_N", 0);
    failure = (int)number("FAULT_ERROR", EIO);
    log_path = getenv("FAULT_LOG");
    alarm((unsigned)number("FAULT_TIME", 0));
    dl_iterate_phdr(add_module, NULL);
    const module *unused;
    _Unwind_Backtrace(find_asker, &unused); /* its first call may allocate */
    if ((wanted == COUNT || wanted >= READ) && !trap_calls())
        append_log("no seccomp\n", 11);
    running = wanted != 0;
    const int status = real_main(count, arguments, environment);
    running = false;
    if (wanted == COUNT)
        log_counts();
    return status;
}

PUBLIC int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments, void (*start)(void),
                             void (*finish)(void), void (*loader_finish)(void), void *stack_end)
{
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    take(&real, "__libc_start_main");
    real_main = main;
    return real(wrapped_main, count, arguments, start, finish, loader_finish, stack_end);
}
