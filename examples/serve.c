/* serve MODEL SOCKET: an event loop that translates lines from a Unix socket: each line that a client sends comes back
 * translated, in order. One thread waits for clients and for the queue at the same time; nothing blocks. A client that goes
 * away has its lines cancelled. SIGINT and SIGTERM end it. A server for programs that exist, over HTTP, is 'translate
 * serve'. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <translate/translate.h>
#include <unistd.h>

enum { CLIENTS = 64, LINE = 4096, WAITING = 256, OUT = 1 << 16 };

/* A line whose translation has not been sent. */
typedef struct line {
    tr_ticket ticket;
    tr_event *event; /* NULL: not done */
} line;

typedef struct client {
    int socket; /* -1: free */
    bool ended; /* it sends no more */
    char in[LINE], out[OUT];
    size_t in_size, out_size;
    line lines[WAITING]; /* a ring: line_count from first_line on */
    size_t first_line, line_count;
} client;

static client clients[CLIENTS];
static tr_queue *queue;
static volatile sig_atomic_t stopping;

static void stop(int number)
{
    (void)number;
    stopping = 1;
}

static line *line_at(client *c, size_t i)
{
    return &c->lines[(c->first_line + i) % WAITING];
}

static void drop_client(client *c)
{
    for (; c->line_count; c->first_line++, c->line_count--) {
        tr_queue_cancel(queue, line_at(c, 0)->ticket); /* its last event comes, and nobody has the ticket any more */
        tr_event_free(line_at(c, 0)->event);
    }
    close(c->socket);
    c->socket = -1;
}

/* Submits the complete lines that a client has sent, as long as there is room. */
static void submit_lines(client *c)
{
    char *end;
    while (c->line_count < WAITING && (end = memchr(c->in, '\n', c->in_size))) {
        const char *text = c->in;
        const size_t size = (size_t)(end - c->in);
        line *added = line_at(c, c->line_count);
        *added = (line){0};
        if (tr_queue_submit(queue, &text, &size, 1, NULL, &added->ticket, NULL) != TR_OK)
            return; /* the queue is full: again after the next event */
        c->line_count++;
        c->in_size -= size + 1;
        memmove(c->in, end + 1, c->in_size);
    }
}

/* Appends the translations of the first lines that are done to what is to be sent. */
static void collect_lines(client *c)
{
    while (c->line_count && line_at(c, 0)->event) {
        const tr_event *event = line_at(c, 0)->event;
        const tr_results *results = tr_event_results(event);
        const char *text = results ? tr_results_text(results, 0, NULL) : tr_event_message(event);
        const size_t size = strlen(text);
        if (size + 1 > OUT - c->out_size && c->out_size)
            return; /* when some has been sent */
        const size_t fits = size + 1 > OUT ? OUT - 1 : size;
        memcpy(c->out + c->out_size, text, fits);
        c->out_size += fits;
        c->out[c->out_size++] = '\n';
        tr_event_free(line_at(c, 0)->event);
        c->first_line++;
        c->line_count--;
    }
}

/* Takes what the queue has done. */
static void take_events(void)
{
    for (tr_event *event; (event = tr_queue_poll(queue));) {
        line *of = NULL;
        for (client *c = clients; c < clients + CLIENTS && !of; c++)
            for (size_t i = 0; c->socket >= 0 && i < c->line_count && !of; i++)
                if (line_at(c, i)->ticket == tr_event_ticket(event))
                    of = line_at(c, i);
        if (of)
            of->event = event;
        else
            tr_event_free(event); /* its client is gone */
    }
}

static void serve_client(client *c, short events)
{
    if (events & POLLOUT) {
        const ssize_t sent = send(c->socket, c->out, c->out_size, MSG_NOSIGNAL);
        if (sent < 0) {
            drop_client(c);
            return;
        }
        c->out_size -= (size_t)sent;
        memmove(c->out, c->out + sent, c->out_size);
    }
    if (events & (POLLIN | POLLHUP | POLLERR) && c->in_size < LINE) {
        const ssize_t got = recv(c->socket, c->in + c->in_size, LINE - c->in_size, 0);
        if (got < 0) {
            drop_client(c);
            return;
        }
        c->ended = got == 0;
        c->in_size += (size_t)got;
        if (c->in_size == LINE && !memchr(c->in, '\n', LINE))
            drop_client(c); /* its line is too long */
    }
}

static void accept_client(int listener)
{
    const int socket = accept(listener, NULL, NULL);
    client *c = clients;
    while (c < clients + CLIENTS && c->socket >= 0)
        c++;
    if (socket < 0 || c == clients + CLIENTS) {
        if (socket >= 0)
            close(socket);
        return;
    }
    memset(c, 0, sizeof *c);
    c->socket = socket;
}

static void serve(int listener)
{
    struct pollfd waits[CLIENTS + 2];
    while (!stopping) {
        waits[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        waits[1] = (struct pollfd){.fd = tr_queue_fd(queue), .events = POLLIN};
        for (int i = 0; i < CLIENTS; i++) {
            const client *c = &clients[i];
            const bool wants_more = !c->ended && c->in_size < LINE && c->line_count < WAITING;
            waits[i + 2] = (struct pollfd){.fd = wants_more || c->out_size ? c->socket : -1,
                                           .events = (short)((wants_more ? POLLIN : 0) | (c->out_size ? POLLOUT : 0))};
        }
        if (poll(waits, CLIENTS + 2, -1) < 0)
            continue; /* a signal */
        take_events();
        for (int i = 0; i < CLIENTS; i++) {
            client *c = &clients[i];
            if (c->socket >= 0 && waits[i + 2].revents)
                serve_client(c, waits[i + 2].revents);
            if (c->socket < 0)
                continue;
            submit_lines(c);
            collect_lines(c);
            if (c->ended && !c->line_count && !c->out_size)
                drop_client(c);
        }
        if (waits[0].revents)
            accept_client(listener);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    tr_model *model = NULL;
    tr_error error;
    if (argc != 3 || strlen(argv[2]) >= sizeof address.sun_path) {
        fprintf(stderr, "usage: %s MODEL SOCKET\n", argv[0]);
        return 2;
    }
    memcpy(address.sun_path, argv[2], strlen(argv[2]) + 1);
    if (tr_model_open(argv[1], NULL, &model, &error) || tr_queue_create(model, NULL, &queue, &error)) {
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
        tr_model_close(model);
        return 1;
    }
    const struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (int i = 0; i < CLIENTS; i++)
        clients[i].socket = -1;
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool listens =
        listener >= 0 && !bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, CLIENTS);
    if (listens)
        serve(listener);
    else
        perror(argv[2]);
    for (int i = 0; i < CLIENTS; i++)
        if (clients[i].socket >= 0)
            drop_client(&clients[i]);
    if (listens)
        unlink(argv[2]);
    if (listener >= 0)
        close(listener);
    tr_queue_destroy(queue);
    tr_model_close(model);
    return !listens;
}
