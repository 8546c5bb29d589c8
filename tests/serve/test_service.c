/* What a service manager says and hears. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "serve/service.h"
#include "util/clock.h"

enum { MAX = 3 };

static char folder[] = "/tmp/translate-test-XXXXXX";
static char path[sizeof folder + 16], abstract[64];

/* --------------------------------------------------------------------------------------------------------------- sockets */

typedef struct passed {
    const char *process, *count; /* variables; NULL: not set; process "own": this one's */
    tr_status status;
    size_t sockets;
    const char *message; /* NULL: any */
} passed;

static int listening(int family, int type)
{
    const struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    const socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(sa_family_t);
    const int s = socket(family, type, 0);
    if (s < 0 || bind(s, (const struct sockaddr *)&address, size) < 0 || (type == SOCK_STREAM && listen(s, 1) < 0))
        _exit(2);
    return s;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Descriptors 3 and 4 are sockets that listen; 5 is one of datagrams. */
static int take_sockets(const passed *p)
{
    char own[16];
    int sockets[MAX] = {-1, -1, -1};
    size_t count = 99;
    tr_error error = {0};
    const int made[] = {listening(AF_INET, SOCK_STREAM), listening(AF_UNIX, SOCK_STREAM), listening(AF_INET, SOCK_DGRAM)};
    for (int i = 0; i < 3; i++)
        if (fcntl(made[i], F_DUPFD, 20 + i) != 20 + i)
            return 2;
    for (int i = 0; i < 3; i++)
        if (dup2(20 + i, 3 + i) < 0)
            return 2;
    snprintf(own, sizeof own, "%d", getpid());
    set("LISTEN_PID", p->process && strcmp(p->process, "own") == 0 ? own : p->process);
    set("LISTEN_FDS", p->count);
    set("LISTEN_FDNAMES", "http:local");
    bool good = service_sockets(sockets, MAX, &count, &error) == p->status && count == p->sockets;
    good = good && !getenv("LISTEN_PID") && !getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES");
    for (size_t i = 0; i < p->sockets && good; i++)
        good =
            sockets[i] == 3 + (int)i && fcntl(sockets[i], F_GETFD) == FD_CLOEXEC && fcntl(sockets[i], F_GETFL) & O_NONBLOCK;
    good = good && (!p->message || strcmp(error.message, p->message) == 0);
    if (!good)
        fprintf(stderr, "%s %s: %zu '%s'\n", p->process ? p->process : "", p->count ? p->count : "", count, error.message);
    return !good;
}

static void test_sockets(void **unused)
{
    static const passed cases[] = {
        {NULL, NULL, TR_OK, 0, NULL},
        {NULL, "2", TR_OK, 0, NULL},
        {"1", "2", TR_OK, 0, NULL}, /* another program's */
        {"own", "0", TR_OK, 0, NULL},
        {"own", "1", TR_OK, 1, NULL},
        {"own", "2", TR_OK, 2, NULL},
        {"own", "3", TR_ERROR_ARGUMENT, 0, "LISTEN_FDS: descriptor 5 is not a stream socket that listens"},
        {"own", "4", TR_ERROR_ARGUMENT, 0, "LISTEN_FDS: is not a number up to 3"},
        {"own", NULL, TR_ERROR_ARGUMENT, 0, "LISTEN_FDS: is not a number up to 3"},
        {"own", "", TR_ERROR_ARGUMENT, 0, NULL},
        {"own", "-1", TR_ERROR_ARGUMENT, 0, NULL},
        {"own", "2x", TR_ERROR_ARGUMENT, 0, NULL},
        {"own", "18446744073709551618", TR_ERROR_ARGUMENT, 0, NULL},
        {"x", "2", TR_ERROR_ARGUMENT, 0, "LISTEN_PID: is not a number"},
        {"", "2", TR_ERROR_ARGUMENT, 0, "LISTEN_PID: is not a number"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(take_sockets(&cases[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* ----------------------------------------------------------------------------------------------------------------- state */

static int receiver(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name == '/'));
    memcpy(address.sun_path, name, strlen(name));
    if (*name == '@')
        *address.sun_path = 0;
    const int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(s >= 0 && bind(s, (const struct sockaddr *)&address, size) == 0);
    return s;
}

/* The next message; "": there is none. */
static const char *heard(int s)
{
    static char text[2048];
    const ssize_t size = recv(s, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    return text;
}

static void hear_states(const char *name)
{
    char long_status[2000];
    service s;
    tr_error error;
    const int socket = receiver(name);
    set("NOTIFY_SOCKET", name);
    assert_int_equal(service_open(&s, &error), TR_OK);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_int_equal(s.watchdog, 0);
    service_ready(&s, "serving at http://127.0.0.1:5000");
    assert_string_equal(heard(socket), "STATUS=serving at http://127.0.0.1:5000");
    assert_string_equal(heard(socket), "READY=1");
    service_status(&s, "two\nREADY=0\x1b");
    assert_string_equal(heard(socket), "STATUS=two?READY=0?");
    memset(long_status, 'x', sizeof long_status - 1);
    long_status[sizeof long_status - 1] = 0;
    service_status(&s, long_status);
    assert_int_equal(strlen(heard(socket)), strlen("STATUS=") + 511);
    const unsigned long long before = tr_nanoseconds() / 1000;
    service_reloading(&s);
    unsigned long long at = 0;
    assert_int_equal(sscanf(heard(socket), "RELOADING=1\nMONOTONIC_USEC=%llu", &at), 1);
    assert_true(before <= at && at <= tr_nanoseconds() / 1000);
    service_stopping(&s);
    assert_string_equal(heard(socket), "STOPPING=1");
    service_alive(&s);
    assert_string_equal(heard(socket), "WATCHDOG=1");
    close(socket);
    service_alive(&s); /* nobody is there any more */
    service_close(&s);
    service_alive(&s);
    unlink(name);
}

static void test_states_are_heard(void **unused)
{
    (void)unused;
    hear_states(path);
    hear_states(abstract);
}

/* Somebody who does not read does not stop the service. */
static void test_nothing_waits(void **unused)
{
    (void)unused;
    service s;
    tr_error error;
    const int socket = receiver(path);
    set("NOTIFY_SOCKET", path);
    assert_int_equal(service_open(&s, &error), TR_OK);
    for (int i = 0; i < 20000; i++)
        service_alive(&s);
    service_close(&s);
    close(socket);
    unlink(path);
}

static void test_bad_sockets_are_refused(void **unused)
{
    char long_name[200] = "/";
    memset(long_name + 1, 'x', sizeof long_name - 2);
    const char *const bad[] = {"relative", "@", "/", "vsock:2:1", long_name, "/none/notify", "@translate-test-none"};
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        service s;
        tr_error error = {0};
        set("NOTIFY_SOCKET", bad[i]);
        assert_int_equal(service_open(&s, &error), i < 5 ? TR_ERROR_ARGUMENT : TR_ERROR_IO);
        assert_memory_equal(error.message, "NOTIFY_SOCKET: ", 15);
        assert_int_equal(s.notify, -1);
        service_ready(&s, "");
        service_close(&s);
    }
    service s;
    set("NOTIFY_SOCKET", NULL);
    assert_int_equal(service_open(&s, NULL), TR_OK);
    assert_int_equal(s.notify, -1);
    set("NOTIFY_SOCKET", "");
    assert_int_equal(service_open(&s, NULL), TR_OK);
}

static void test_watchdog(void **unused)
{
    static const struct {
        const char *time, *process;
        unsigned milliseconds;
    } cases[] = {
        {NULL, NULL, 0},
        {"0", NULL, 0},
        {"30000000", NULL, 15000},
        {"30000000", "own", 15000},
        {"30000000", "1", 0},
        {"30000000", "x", 0},
        {"1", NULL, 1},
        {"x", NULL, 0},
        {"-5", NULL, 0},
        {" 5000", NULL, 0},
        {"18446744073709551615", NULL, INT32_MAX},
    };
    char own[16];
    (void)unused;
    snprintf(own, sizeof own, "%d", getpid());
    const int socket = receiver(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        service s;
        tr_error error;
        set("NOTIFY_SOCKET", path);
        set("WATCHDOG_USEC", cases[i].time);
        set("WATCHDOG_PID", cases[i].process && strcmp(cases[i].process, "own") == 0 ? own : cases[i].process);
        assert_int_equal(service_open(&s, &error), TR_OK);
        assert_int_equal(s.watchdog, cases[i].milliseconds);
        assert_true(!getenv("WATCHDOG_USEC") && !getenv("WATCHDOG_PID"));
        service_close(&s);
    }
    service s;
    set("WATCHDOG_USEC", "30000000"); /* without a socket nobody would hear it */
    assert_int_equal(service_open(&s, NULL), TR_OK);
    assert_int_equal(s.watchdog, 0);
    close(socket);
    unlink(path);
}

static int make_folder(void **unused)
{
    (void)unused;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/notify", folder);
    snprintf(abstract, sizeof abstract, "@%s", folder);
    return 0;
}

static int remove_folder(void **unused)
{
    (void)unused;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets),       cmocka_unit_test(test_states_are_heard),
        cmocka_unit_test(test_nothing_waits), cmocka_unit_test(test_bad_sockets_are_refused),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
