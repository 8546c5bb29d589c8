/* What a sandbox forbids, and what it leaves: tried by child processes, on kernels that know how. */
#define _GNU_SOURCE
#include "util/folder.h"
#include "util/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
static int server, port; /* it listens */

static const char *in_base(const char *name)
{
    static char paths[4][TR_PATH];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, TR_PATH, "%s/%s", base, name);
    return path;
}

static int put(const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || write(file, "text", 4) != 4)
        return errno;
    close(file);
    return 0;
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

static int failed(long result) /* of a call: its errno, or 0 */
{
    return result < 0 ? errno : 0;
}

/* Says in a line what is not as it should be; returns how much that is. */
static int differs(const char *what, int is, int wanted)
{
    if (is != wanted)
        fprintf(stderr, "%s: \"%s\", not \"%s\"\n", what, strerror(is), strerror(wanted));
    return is != wanted;
}

#define EXPECT(wanted, call) faults += differs(#call, (call), (wanted))

/* Runs it in a process of its own: whether nothing was wrong there. */
static void in_child(int (*function)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(function() != 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Which restrictions must be in force: the kernel is asked directly. */
static unsigned possible(void)
{
#if defined(SANITIZER)
    return 0;
#else
    const bool files = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* its version */) > 0;
    const bool calls = prctl(PR_GET_SECCOMP) >= 0 && access("/proc/sys/kernel/seccomp", F_OK) == 0;
    return (files ? TR_SANDBOX_FILES : 0u) | (calls ? TR_SANDBOX_CALLS : 0u);
#endif
}

/* ------------------------------------------------------------------------------------------------------- a download */

static unsigned confine(void)
{
    const char *const readable[] = {in_base("readable"), in_base("none"), "/usr", "/lib", "/lib64", NULL};
    const tr_sandbox_paths paths = {readable, in_base("out"), in_base("above")};
    return tr_sandbox_download(&paths);
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

static int bind_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
    EXPECT(0, failed(rmdir(in_base("above/empty"))));
    EXPECT(0, get(in_base("readable")));
    EXPECT(0, connect_to_server());
    EXPECT(0, start_thread());
    EXPECT(0, failed(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)));
    return faults;
}

static int try_files(void)
{
    int faults = 0;
    EXPECT(EACCES, get(in_base("secret")));
    EXPECT(EACCES, put(in_base("secret")));
    EXPECT(EACCES, put(in_base("new")));
    EXPECT(EACCES, put(in_base("above/new")));
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

static int try_download(void)
{
    const unsigned wanted = possible(), in_force = confine();
    int faults = 0;
    EXPECT((int)wanted, (int)in_force);
    faults += try_allowed();
    if (in_force & TR_SANDBOX_FILES)
        faults += try_files();
    if (in_force & TR_SANDBOX_CALLS)
        faults += try_calls();
    if (syscall(444, NULL, 0, 1) >= 4 && in_force & TR_SANDBOX_FILES)
        EXPECT(EACCES, bind_somewhere());
    return faults;
}

static void test_download(void **unused)
{
    (void)unused;
    in_child(try_download);
}

/* ----------------------------------------------------------------------------------------------------- a computation */

static int try_compute(void)
{
    const unsigned wanted = possible(), in_force = tr_sandbox_compute();
    int faults = 0;
    EXPECT((int)wanted, (int)in_force);
    char *memory = malloc(64 << 20);
    EXPECT(1, memory != NULL);
    memset(memory, 1, 64 << 20);
    free(memory);
    EXPECT(0, failed(write(STDERR_FILENO, "", 0)));
    if (in_force)
        EXPECT(1, open(in_base("readable"), O_RDONLY) < 0);
    if (in_force & TR_SANDBOX_CALLS) {
        EXPECT(EPERM, failed(socket(AF_INET, SOCK_STREAM, 0)));
        EXPECT(EPERM, failed(fork()));
        EXPECT(EPERM, failed(execve("/bin/none", (char *const[]){NULL}, (char *const[]){NULL})));
        EXPECT(EPERM, failed(kill(getppid(), 0)));
    }
    return faults;
}

static void test_compute(void **unused)
{
    (void)unused;
    in_child(try_compute);
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
    return folders && files ? symlink(in_base("secret"), in_base("out/link")) : -1;
}

/* The files that were made, and no others: this may be root. */
static int tear_down(void **unused)
{
    static const char *const files[] = {"out/link", "out/kept", "readable", "secret"};
    static const char *const folders[] = {"out", "above/empty", "above", "empty"};
    (void)unused;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(in_base(files[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rmdir(in_base(folders[i]));
    return rmdir(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_download), cmocka_unit_test(test_compute)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
