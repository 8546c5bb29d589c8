/* What the sandbox forbids, and what it allows: tried by child processes, if the kernel supports it. */
#define _GNU_SOURCE
#include "util/folder.h"
#include "util/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER 1
#endif
#endif

static char base[] = "/tmp/translate-test-XXXXXX";
static int server, port; /* the server's socket, which listens */
static pid_t victim;     /* a process of the same user, which the sandboxed process must not reach */

/* No process has this id: a call that is refused for it was refused by seccomp, before the kernel looked for the process.
 * (Landlock's scopes are newer.) */
enum { FILES = 1, CALLS = 2, NOBODY = 65534, NO_PROCESS = INT32_MAX };

static const char *in_base(const char *name)
{
    static char paths[4][TR_PATH];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, TR_PATH, "%s/%s", base, name);
    return path;
}

static int write_text(const char *path, int flags)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (file < 0 || write(file, "text", 4) != 4)
        return errno;
    close(file);
    return 0;
}

static int put(const char *path)
{
    return write_text(path, O_TRUNC);
}

static int append(const char *path)
{
    return write_text(path, O_APPEND);
}

static int get(const char *path)
{
    char text[8];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    const ssize_t n = read(file, text, sizeof text);
    close(file);
    return n == 4 ? 0 : EIO;
}

static int failed(long result) /* result of a system call: its errno, or 0 */
{
    return result < 0 ? errno : 0;
}

/* Prints a line if the values differ; returns whether they do. */
static int differs(const char *what, int is, int wanted)
{
    if (is != wanted)
        fprintf(stderr, "%s: \"%s\", not \"%s\"\n", what, strerror(is), strerror(wanted));
    return is != wanted;
}

#define EXPECT(wanted, call) faults += differs(#call, (call), (wanted))

/* As root, file permissions would forbid nothing here, and calls that are allowed could do harm. */
static void give_up_root(void)
{
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        _exit(2);
}

/* Runs the function in a child process, which must find no fault. */
static void in_child(int (*function)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        give_up_root();
        _exit(function() != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Which restrictions must be in force, from asking the kernel directly. */
static unsigned possible(void)
{
#if defined(SANITIZER)
    return 0;
#else
    const bool files = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* its version */) > 0;
    const bool calls = prctl(PR_GET_SECCOMP) >= 0 && access("/proc/sys/kernel/seccomp", F_OK) == 0;
    return (files ? FILES : 0u) | (calls ? CALLS : 0u);
#endif
}

/* ------------------------------------------------------------------------------------------------------- a download */

static tr_status confine(tr_error *error)
{
    const char *const readable[] = {in_base("readable"), in_base("none"), "/usr", "/lib", "/lib64", NULL};
    const tr_sandbox_paths paths = {.readable = readable, .writable = in_base("out")};
    return tr_sandbox_download(&paths, error);
}

static int connect_to_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = (in_port_t)port};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int result = s < 0 ? errno : failed(connect(s, (struct sockaddr *)&address, sizeof address));
    close(s);
    return result;
}

static int bind_somewhere(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const int s = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    const int result = s < 0 ? errno : failed(bind(s, (struct sockaddr *)&address, sizeof address));
    close(s);
    return result;
}

/* Like the C library when it lists this machine's addresses. */
static int bind_netlink(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    const int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    const int result = s < 0 ? errno : failed(bind(s, (struct sockaddr *)&address, sizeof address));
    close(s);
    return result;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static int start_thread(void)
{
    pthread_t thread;
    const int result = pthread_create(&thread, NULL, do_nothing, NULL);
    return result ? result : pthread_join(thread, NULL);
}

static int try_allowed(void)
{
    int faults = 0, pair[2];
    EXPECT(0, put(in_base("out/new")));
    EXPECT(0, get(in_base("out/new")));
    EXPECT(0, failed(truncate(in_base("out/new"), 2)));
    EXPECT(0, failed(mkdir(in_base("out/inner"), 0777)));
    EXPECT(0, failed(rename(in_base("out/new"), in_base("out/other"))));
    EXPECT(0, failed(unlink(in_base("out/other"))));
    EXPECT(0, failed(rmdir(in_base("out/inner"))));
    EXPECT(0, get(in_base("readable")));
    EXPECT(0, connect_to_server());
    EXPECT(0, bind_netlink());
    EXPECT(0, start_thread());
    EXPECT(0, failed(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0)));
    EXPECT(0, failed(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)));
    return faults;
}

static int try_files(void)
{
    int faults = 0;
    EXPECT(EACCES, get(in_base("secret")));
    EXPECT(EACCES, put(in_base("secret")));
    EXPECT(EACCES, put(in_base("new")));
    EXPECT(EACCES, failed(rmdir(in_base("above/empty"))));
    EXPECT(EACCES, put(in_base("readable")));
    EXPECT(EACCES, put(in_base("out/link")));
    EXPECT(EACCES, get(in_base("out/link")));
    EXPECT(EACCES, failed(unlink(in_base("secret"))));
    EXPECT(EACCES, failed(mkdir(in_base("inner"), 0777)));
    EXPECT(EACCES, failed(rmdir(in_base("empty"))));
    EXPECT(EACCES, failed(symlink("/etc", in_base("out/etc"))));
    EXPECT(1, rename(in_base("secret"), in_base("out/secret")) < 0);
    EXPECT(1, rename(in_base("out/kept"), in_base("kept")) < 0);
    return faults;
}

static int try_calls(void)
{
    char *const none[] = {NULL};
    int faults = 0;
    EXPECT(EPERM, failed(execve("/bin/none", none, none)));
    EXPECT(EPERM, failed(ptrace(PTRACE_TRACEME, 0, NULL, NULL)));
    EXPECT(EPERM, failed(listen(server, 1)));
    EXPECT(EPERM, failed(ioctl(STDERR_FILENO, TIOCSTI, "x")));
    EXPECT(EPERM, failed(kill(getppid(), 0)));
    EXPECT(EPERM, failed(syscall(425 /* io_uring_setup */, 0, NULL)));
    EXPECT(EPERM, failed(unshare(0)));
    EXPECT(EPERM, failed(chmod(in_base("out/kept"), 0644)));
    EXPECT(ENOSYS, failed(syscall(452 /* fchmodat2 */, AT_FDCWD, in_base("out/kept"), 0644, 0)));
    EXPECT(EAFNOSUPPORT, failed(socket(AF_UNIX, SOCK_STREAM, 0)));
    return faults;
}

/* The errno, or 0, of a system call that makes a process, which ends at once. */
static int start_process(unsigned long flags)
{
    const long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(0);
    return child < 0 ? errno : waitpid((pid_t)child, NULL, 0) == child ? 0 : ECHILD;
}

/* The flags are in memory, where no filter sees them. */
static int start_process_3(uint64_t flags)
{
    uint64_t arguments[8] = {flags, 0, 0, 0, SIGCHLD};
    const long child = syscall(435 /* clone3 */, arguments, sizeof arguments);
    if (child == 0)
        _exit(0);
    return child < 0 ? errno : waitpid((pid_t)child, NULL, 0) == child ? 0 : ECHILD;
}

static int try_namespaces(void)
{
    int faults = 0, pair[2];
    EXPECT(EPERM, start_process(0));
    EXPECT(EPERM, start_process(CLONE_NEWUSER | CLONE_NEWNET));
    EXPECT(ENOSYS, start_process_3(0));
    EXPECT(ENOSYS, start_process_3(CLONE_NEWUSER));
    EXPECT(EPROTONOSUPPORT, failed(socket(AF_NETLINK, SOCK_RAW, 12 /* NETLINK_NETFILTER */)));
    EXPECT(ESOCKTNOSUPPORT, failed(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP)));
    EXPECT(EPROTONOSUPPORT, failed(socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_ICMPV6)));
    EXPECT(EAFNOSUPPORT, failed(socket(AF_PACKET, SOCK_DGRAM, 0)));
    EXPECT(ESOCKTNOSUPPORT, failed(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)));
#if defined(__GLIBC__)
    EXPECT(EPERM, bind_somewhere(SOCK_STREAM));
    EXPECT(EPERM, bind_somewhere(SOCK_DGRAM));
#endif
    return faults;
}

static int try_processes(void)
{
    const struct sched_param parameters = {0};
    struct rlimit limit;
    cpu_set_t processors;
    int faults = 0;
    CPU_ZERO(&processors);
    CPU_SET(0, &processors);
    EXPECT(0, failed(prlimit(0, RLIMIT_CPU, NULL, &limit)));
    EXPECT(EPERM, failed(prlimit(victim, RLIMIT_CPU, &limit, NULL)));
    EXPECT(EPERM, failed(setpriority(PRIO_PROCESS, (id_t)victim, 1)));
    EXPECT(EPERM, failed(sched_setaffinity(victim, sizeof processors, &processors)));
    EXPECT(EPERM, failed(sched_setscheduler(victim, SCHED_BATCH, &parameters)));
    EXPECT(EPERM, failed(syscall(SYS_ioprio_set, 1, victim, 3 << 13)));
    EXPECT(EPERM, failed(syscall(448 /* process_mrelease */, -1, 0)));
    EXPECT(EPERM, failed(syscall(434 /* pidfd_open */, victim, 0)));
    EXPECT(EPERM, failed(syscall(SYS_tgkill, victim, victim, 0)));
    EXPECT(EPERM, failed(syscall(SYS_tgkill, NO_PROCESS, NO_PROCESS, 0)));
    EXPECT(EPERM, failed(fcntl(server, F_SETOWN, victim)));
    EXPECT(EPERM, failed(shmget(IPC_PRIVATE, 0, 0)));
    EXPECT(EPERM, failed(msgget(1, 0)));
    EXPECT(EPERM, failed(semget(1, 0, 0)));
    EXPECT(EPERM, failed(syscall(SYS_mq_open, "none", O_RDONLY, 0, NULL)));
    return faults;
}

static int try_attributes(void)
{
    const int file = open(in_base("readable"), O_RDONLY | O_CLOEXEC);
    int faults = 0;
    EXPECT(1, file >= 0);
    EXPECT(EPERM, failed(utimensat(AT_FDCWD, in_base("secret"), NULL, 0)));
    EXPECT(EPERM, failed(utimes(in_base("secret"), NULL)));
    EXPECT(EPERM, failed(futimens(file, NULL)));
    EXPECT(EPERM, failed(fchmod(file, 0600)));
    EXPECT(EPERM, failed(fchown(file, (uid_t)-1, (gid_t)-1)));
    EXPECT(EPERM, failed(fsetxattr(file, "user.none", "x", 1, XATTR_REPLACE)));
    EXPECT(EPERM, failed(fremovexattr(file, "user.none")));
    EXPECT(EPERM, failed(inotify_init1(0)));
    EXPECT(EPERM, failed(syscall(SYS_fanotify_init, 0, 0)));
    close(file);
    return faults;
}

static int try_download(void)
{
    const unsigned wanted = possible();
    tr_error error;
    int faults = 0;
    EXPECT(TR_OK, (int)confine(&error));
    faults += try_allowed();
    if (wanted & FILES)
        faults += try_files();
    if (wanted & CALLS)
        faults += try_calls() + try_namespaces() + try_processes() + try_attributes();
    return faults;
}

/* Only descriptors for standard input and output are allowed: the kernel has Landlock, but it cannot be set up. */
static int try_without_descriptors(tr_status (*enter)(tr_error *error))
{
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};
    tr_error error = {.status = TR_OK};
    int faults = 0;
    EXPECT(0, failed(setrlimit(RLIMIT_NOFILE, &none)));
    if (possible() & FILES) {
        EXPECT(TR_ERROR_IO, (int)enter(&error));
        EXPECT(0, strcmp(error.message, "sandbox: cannot be set up: Too many open files"));
    }
    return faults;
}

/* One descriptor is free: enough for the ruleset, too few for the paths. */
static int try_one_descriptor(void)
{
    const int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct rlimit one = {.rlim_cur = (rlim_t)last + 1, .rlim_max = (rlim_t)last + 1};
    tr_error error = {.status = TR_OK};
    int faults = 0;
    close(last);
    EXPECT(0, failed(setrlimit(RLIMIT_NOFILE, &one)));
    if (possible() & FILES)
        EXPECT(TR_ERROR_IO, (int)confine(&error));
    return faults;
}

static void test_download(void **unused)
{
    (void)unused;
    in_child(try_download);
}

/* ---------------------------------------------------------------------------------------------------------- a server */

static tr_status confine_server(tr_error *error)
{
    const char *const readable[] = {in_base("readable"), in_base("none"), in_base("out"), "/usr", "/lib", "/lib64", NULL};
    const tr_sandbox_paths paths = {.readable = readable};
    return tr_sandbox_serve(&paths, error);
}

static int try_server_files(void)
{
    int faults = 0;
    EXPECT(EACCES, get(in_base("secret")));
    EXPECT(EACCES, get(in_base("out/link")));
    EXPECT(EACCES, put(in_base("readable")));
    EXPECT(EACCES, put(in_base("out/kept")));
    EXPECT(EACCES, put(in_base("out/new")));
    EXPECT(EACCES, failed(unlink(in_base("out/kept"))));
    EXPECT(EACCES, failed(mkdir(in_base("out/inner"), 0777)));
    EXPECT(1, rename(in_base("out/kept"), in_base("out/other")) < 0);
    EXPECT(1, truncate(in_base("out/kept"), 0) < 0);
    return faults;
}

/* unused: a socket that was made before. */
static int try_server_calls(int unused)
{
    const struct sockaddr_in somewhere = {.sin_family = AF_INET};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = (in_port_t)port};
    char *const none[] = {NULL};
    int faults = 0, pair[2];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(EPERM, failed(socket(AF_INET, SOCK_STREAM, 0)));
    EXPECT(EPERM, failed(socket(AF_UNIX, SOCK_DGRAM, 0)));
    EXPECT(EPERM, failed(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)));
    EXPECT(EPERM, failed(connect(unused, (const struct sockaddr *)&address, sizeof address)));
    EXPECT(EPERM, failed(bind(unused, (const struct sockaddr *)&somewhere, sizeof somewhere)));
    EXPECT(EPERM, failed(listen(server, 1)));
    EXPECT(EPERM, failed(execve("/bin/none", none, none)));
    EXPECT(EPERM, failed(ptrace(PTRACE_TRACEME, 0, NULL, NULL)));
    EXPECT(EPERM, failed(kill(getppid(), 0)));
    EXPECT(EPERM, failed(syscall(425 /* io_uring_setup */, 0, NULL)));
    EXPECT(EPERM, failed(unshare(0)));
    EXPECT(EPERM, failed(truncate(in_base("readable"), 0)));
    EXPECT(EPERM, start_process(0));
    EXPECT(ENOSYS, start_process_3(0));
    return faults;
}

/* messages: sockets that were connected before. */
static int try_server_allowed(const int messages[2])
{
    sigset_t signals;
    int faults = 0;
    char message[4];
    sigemptyset(&signals);
    EXPECT(0, get(in_base("readable")));
    EXPECT(0, get(in_base("out/kept")));
    EXPECT(0, start_thread());
    EXPECT(0, failed(accept4(server, NULL, NULL, SOCK_CLOEXEC)));
    EXPECT(0, failed(epoll_create1(EPOLL_CLOEXEC)));
    EXPECT(0, failed(eventfd(0, EFD_CLOEXEC)));
    EXPECT(0, failed(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)));
    EXPECT(0, failed(signalfd(-1, &signals, SFD_CLOEXEC)));
    EXPECT(0, failed(memfd_create("test", MFD_CLOEXEC)));
    EXPECT(0, failed(send(messages[0], "text", 4, MSG_NOSIGNAL)));
    EXPECT(0, failed(recv(messages[1], message, sizeof message, 0)));
    EXPECT(0, failed(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0)));
    return faults;
}

static int try_server(void)
{
    const unsigned wanted = possible();
    const int unused = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int faults = 0, messages[2];
    tr_error error;
    EXPECT(0, failed(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, messages)));
    EXPECT(0, connect_to_server()); /* which is to be accepted */
    EXPECT(TR_OK, (int)confine_server(&error));
    faults += try_server_allowed(messages);
    if (wanted & FILES)
        faults += try_server_files();
    if (wanted & CALLS)
        faults += try_server_calls(unused) + try_processes() + try_attributes();
    return faults;
}

static int try_server_folders(void)
{
    const char *const readable[] = {NULL};
    const tr_sandbox_paths paths = {.readable = readable, .removes_in = in_base("empty"), .adds_to = in_base("above/empty")};
    int faults = 0;
    tr_error error;
    EXPECT(0, put(in_base("empty/old")));
    EXPECT(TR_OK, (int)tr_sandbox_serve(&paths, &error));
    EXPECT(0, failed(unlink(in_base("empty/old"))));
    EXPECT(0, append(in_base("above/empty/log")));
    EXPECT(0, append(in_base("above/empty/log")));
    if (possible() & FILES) {
        EXPECT(EACCES, put(in_base("empty/new")));
        EXPECT(EACCES, failed(rmdir(in_base("empty"))));
        EXPECT(EACCES, failed(unlink(in_base("out/kept"))));
        EXPECT(EACCES, get(in_base("above/empty/log")));
        EXPECT(EACCES, failed(unlink(in_base("above/empty/log"))));
        EXPECT(EACCES, failed(mkdir(in_base("above/empty/inner"), 0777)));
        EXPECT(EACCES, append(in_base("above/log")));
    }
    return faults;
}

static void test_server(void **unused)
{
    (void)unused;
    in_child(try_server);
    in_child(try_server_folders);
}

/* ----------------------------------------------------------------------------------------------------- a computation */

static int try_compute(void)
{
    const unsigned wanted = possible();
    tr_error error;
    int faults = 0;
    EXPECT(TR_OK, (int)tr_sandbox_compute(&error));
    char *memory = malloc(64 << 20);
    EXPECT(1, memory != NULL);
    memset(memory, 1, 64 << 20);
    free(memory);
    EXPECT(0, failed(write(STDERR_FILENO, "", 0)));
    if (wanted)
        EXPECT(1, open(in_base("readable"), O_RDONLY) < 0);
    if (wanted & CALLS) {
        EXPECT(EPERM, failed(socket(AF_INET, SOCK_STREAM, 0)));
        EXPECT(EPERM, failed(fork()));
        EXPECT(EPERM, failed(execve("/bin/none", (char *const[]){NULL}, (char *const[]){NULL})));
        EXPECT(EPERM, failed(kill(getppid(), 0)));
        EXPECT(EPERM, failed(syscall(SYS_tgkill, NO_PROCESS, NO_PROCESS, 0)));
        EXPECT(0, failed(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0)));
    }
    return faults;
}

static void test_compute(void **unused)
{
    (void)unused;
    in_child(try_compute);
}

static int try_download_without_descriptors(void)
{
    return try_without_descriptors(confine);
}

static int try_server_without_descriptors(void)
{
    return try_without_descriptors(confine_server);
}

static int try_compute_without_descriptors(void)
{
    return try_without_descriptors(tr_sandbox_compute);
}

static void test_setup_failure_is_reported(void **unused)
{
    (void)unused;
    in_child(try_download_without_descriptors);
    in_child(try_one_descriptor);
    in_child(try_server_without_descriptors);
    in_child(try_compute_without_descriptors);
}

/* -------------------------------------------------------------------------------------------------------------- main */

static int set_up(void **unused)
{
    (void)unused;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool listens = bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 1) == 0 &&
                         getsockname(server, (struct sockaddr *)&address, &size) == 0;
    port = address.sin_port;
    if (!listens || !mkdtemp(base))
        return -1;
    const bool folders = tr_folder_make(in_base("out"), NULL) == TR_OK && tr_folder_make(in_base("empty"), NULL) == TR_OK &&
                         tr_folder_make(in_base("above/empty"), NULL) == TR_OK;
    const bool files = put(in_base("readable")) == 0 && put(in_base("secret")) == 0 && put(in_base("out/kept")) == 0;
    if (!folders || !files || symlink(in_base("secret"), in_base("out/link")) < 0)
        return -1;
    static const char *const all[] = {".", "out", "empty", "above", "above/empty", "readable", "secret", "out/kept"};
    for (size_t i = 0; geteuid() == 0 && i < sizeof all / sizeof *all; i++)
        if (chown(in_base(all[i]), NOBODY, NOBODY) < 0)
            return -1;
    victim = fork();
    if (victim == 0) {
        give_up_root();
        pause();
        _exit(0);
    }
    return victim < 0 ? -1 : 0;
}

/* Removes the files that were made, and no others: this may run as root. */
static int tear_down(void **unused)
{
    static const char *const files[] = {"out/link", "out/kept", "above/empty/log", "readable", "secret"};
    static const char *const folders[] = {"out", "above/empty", "above", "empty"};
    (void)unused;
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(in_base(files[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rmdir(in_base(folders[i]));
    return rmdir(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_download), cmocka_unit_test(test_server),
                                       cmocka_unit_test(test_compute), cmocka_unit_test(test_setup_failure_is_reported)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
