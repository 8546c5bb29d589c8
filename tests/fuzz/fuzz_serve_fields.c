/* libFuzzer target: a query, a content type and a body, as one text with a newline after the first two. libmicrohttpd reads
 * forms with the headers of a connection, so each input goes over one. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/exchange.h"
#include "util/utf8.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MOST_CHARGED = 1 << 20 };

/* What the handler gets of an input, and what it has done. */
typedef struct trial {
    char *query;
    const char *body;
    size_t size;
    bool done;
} trial;

static unsigned answers;

void answer_error(request *r, unsigned status, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    (void)r;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    answers++;
    if ((status != 400 && status != 503) || !*message)
        __builtin_trap();
}

void answer_header(request *r, const char *name, const char *value)
{
    (void)r, (void)name, (void)value;
}

const char *request_header(const request *r, const char *name)
{
    return MHD_lookup_connection_value(r->exchange->connection->mhd, MHD_HEADER_KIND, name);
}

bool exchange_charge(exchange *x, uint64_t bytes)
{
    x->charged += bytes;
    return x->charged <= MOST_CHARGED;
}

/* All ways to ask, of each field. */
static void ask(request *r)
{
    const char *name, *value;
    json_t *field;
    json_object_foreach(r->fields, name, field)
    {
        source_text *items;
        size_t count;
        bool valid;
        (void)request_flag(r, name);
        const int64_t number = request_number(r, name, -7, &valid);
        if (!valid && number != -7)
            __builtin_trap();
        if (request_option(r, name, &value) && value && request_text(r, name) != value)
            __builtin_trap();
        if (request_texts(r, name, &items, &count, NULL)) {
            for (size_t i = 0; i < count; i++)
                if (!tr_utf8_valid(items[i].data, strlen(items[i].data)))
                    __builtin_trap();
            free(items);
        }
    }
    if (r->upload.data && r->upload.name && strpbrk(r->upload.name, "/\\"))
        __builtin_trap();
}

static void try_fields(trial *t, struct MHD_Connection *mhd)
{
    connection c = {.mhd = mhd};
    exchange x = {.connection = &c};
    x.request.exchange = &x;
    answers = 0;
    bool good = fields_begin(&x, t->query) && tr_buffer_append(&x.body, t->body, t->size);
    fields_count(&x.values, t->body, t->size / 2);
    fields_count(&x.values, t->body + t->size / 2, t->size - t->size / 2);
    good = good && fields_may_parse(&x);
    if (good)
        fields_parse(&x);
    good = good && fields_end(&x);
    if (good == (answers > 0))
        __builtin_trap();
    if (good)
        ask(&x.request);
    tr_buffer_free(&x.body);
    fields_free(&x.request);
    t->done = true;
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *mhd, const char *path, const char *method,
                                  const char *version, const char *data, size_t *size, void **request_of)
{
    (void)path, (void)method, (void)version, (void)data, (void)size, (void)request_of;
    try_fields(*(trial **)argument, mhd);
    return MHD_NO;
}

/* The headers of a request of this type; false: it cannot be one. */
static bool send_request(int socket, const char *type, size_t size)
{
    char head[512];
    for (size_t i = 0; i < size; i++)
        if (type[i] >= 0 && type[i] < ' ')
            return false;
    const int length = snprintf(head, sizeof head, "POST / HTTP/1.1\r\nHost: a\r\n%s%.*s\r\n\r\n",
                                size ? "Content-Type: " : "X: ", (int)size, type);
    return length < (int)sizeof head && write(socket, head, (size_t)length) == length;
}

static void over_connection(trial *t, const char *type, size_t size)
{
    static struct MHD_Daemon *daemon;
    static trial *current;
    int pair[2];
    if (!daemon)
        daemon = MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, &current, MHD_OPTION_END);
    if (!daemon || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    current = t;
    const struct sockaddr none = {.sa_family = AF_UNIX};
    if (send_request(pair[0], type, size) && MHD_add_connection(daemon, pair[1], &none, sizeof none) == MHD_YES)
        for (int i = 0; i < 4 && !t->done; i++)
            MHD_run(daemon);
    else
        close(pair[1]);
    close(pair[0]);
    MHD_run(daemon);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *const text = (const char *)data, *const end = text + size;
    const char *const first = size ? memchr(text, '\n', size) : NULL;
    const char *const second = first ? memchr(first + 1, '\n', (size_t)(end - first - 1)) : NULL;
    if (!second)
        return 0;
    trial t = {.query = strndup(text, (size_t)(first - text)), .body = second + 1, .size = (size_t)(end - second - 1)};
    over_connection(&t, first + 1, (size_t)(second - first - 1));
    free(t.query);
    return 0;
}
