#define _GNU_SOURCE
#include "cli/lines.h"

#include "cli/cli.h"
#include "cli/signals.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16 };

int cli_reader_open(cli_reader *reader, const cli_settings *settings, const char *path)
{
    *reader = (cli_reader){.descriptor = STDIN_FILENO, .name = "standard input"};
    if (path && strcmp(path, "-") != 0) {
        reader->name = path;
        reader->descriptor = open(path, O_RDONLY | O_CLOEXEC);
        if (reader->descriptor < 0)
            return cli_fail("%s: %s", path, strerror(errno));
    }
    reader->decoder.settings = settings;
    reader->decoder.name = reader->name;
    struct stat st;
    if (fstat(reader->descriptor, &st) < 0)
        return cli_fail("%s: %s", reader->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        cli_reader_close(reader);
        return cli_fail("%s: is a directory", reader->name);
    }
    const off_t at = S_ISREG(st.st_mode) ? lseek(reader->descriptor, 0, SEEK_CUR) : -1;
    if (at >= 0)
        reader->file_start = at;
    if (at >= 0 && st.st_size > at)
        reader->file_size = (uint64_t)(st.st_size - at);
    return CLI_DONE;
}

void cli_reader_close(cli_reader *reader)
{
    if (reader->descriptor > STDERR_FILENO)
        close(reader->descriptor);
    reader->descriptor = -1;
    cli_decoder_free(&reader->decoder);
    tr_buffer_free(&reader->decoded);
    free(reader->data);
    free(reader->lines);
    reader->data = NULL;
    reader->lines = NULL;
}

/* True if read() would not block, now or within so many seconds: there is data, the end, or an error. */
static bool is_ready(const cli_reader *reader, double seconds)
{
    struct pollfd p = {.fd = reader->descriptor, .events = POLLIN};
    const int n = poll(&p, 1, seconds > 0 ? (int)(seconds * 1e3) : 0);
    return n > 0 || (n < 0 && errno != EINTR); /* read() will report the error */
}

/* Waits until read() would not block. False: interrupted. */
static bool wait_ready(const cli_reader *reader)
{
    struct pollfd p[2] = {{.fd = reader->descriptor, .events = POLLIN},
                          {.fd = cli_interrupt_descriptor(), .events = POLLIN}};
    while (!cli_interrupted()) {
        const int n = poll(p, 2, -1); /* poll() ignores a descriptor of -1 */
        if (n > 0 && p[0].revents)
            return !cli_interrupted();
        if (n < 0 && errno != EINTR)
            return true; /* read() will report the error */
    }
    return false;
}

/* Reserves size bytes after data[end). */
static bool reserve_data(cli_reader *reader, size_t size)
{
    if (reader->capacity - reader->end >= size)
        return true;
    size_t capacity = reader->capacity ? reader->capacity * 2 : 2 * READ_SIZE;
    while (capacity - reader->end < size)
        capacity *= 2;
    char *data = capacity > reader->capacity ? realloc(reader->data, capacity) : NULL;
    if (!data)
        return false;
    reader->data = data;
    reader->capacity = capacity;
    return true;
}

/* Takes the bytes that were read to data[end): as they are, or as the text that they stand for. */
static int take_bytes(cli_reader *reader, size_t size)
{
    const char *text = reader->data + reader->end;
    reader->at_end = size == 0;
    if (reader->raw) {
        reader->end += size;
        return CLI_DONE;
    }
    const int status = cli_decoder_take(&reader->decoder, &text, &size, reader->at_end, &reader->decoded);
    if (status)
        return status;
    if (text != reader->data + reader->end) {
        const size_t offset = (size_t)(text - reader->data);
        const bool own = text == reader->decoded.data;
        if (own && !reserve_data(reader, size))
            return cli_fail("%s: out of memory for a line", reader->name);
        if (size)
            memmove(reader->data + reader->end, own ? reader->decoded.data : reader->data + offset, size);
    }
    reader->end += size;
    return CLI_DONE;
}

static int read_more(cli_reader *reader)
{
    if (!reserve_data(reader, READ_SIZE))
        return cli_fail("%s: out of memory for a line", reader->name);
    for (;;) {
        const ssize_t n = read(reader->descriptor, reader->data + reader->end, reader->capacity - reader->end);
        if (n >= 0)
            return take_bytes(reader, (size_t)n);
        if (errno == EINTR && !cli_interrupted())
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_ready(reader))
                continue;
            return CLI_FAILED;
        }
        return cli_interrupted() ? CLI_FAILED : cli_fail("%s: cannot read: %s", reader->name, strerror(errno));
    }
}

/* Appends the line data[begin..begin + size), which `ending` bytes of line end follow. Its text is set later: data may move.
 */
static bool add_line(cli_reader *reader, size_t *count, size_t size, size_t ending)
{
    if (*count == reader->line_capacity) {
        const size_t capacity = reader->line_capacity ? reader->line_capacity * 2 : 64;
        cli_line *lines = realloc(reader->lines, capacity * sizeof *lines);
        if (!lines)
            return false;
        reader->lines = lines;
        reader->line_capacity = capacity;
    }
    const bool cr = size && reader->data[reader->begin + size - 1] == '\r';
    reader->lines[(*count)++] = (cli_line){NULL, size - cr, cr};
    reader->begin += size + ending;
    reader->consumed += size + ending;
    reader->scanned = 0;
    return true;
}

/* The size of the line at data[begin), or false if its end has not been read yet. */
static bool complete_line(cli_reader *reader, size_t *size)
{
    const size_t unread = reader->end - reader->begin;
    if (unread == reader->scanned)
        return false;
    const char *from = reader->data + reader->begin;
    const char *newline = memchr(from + reader->scanned, '\n', unread - reader->scanned);
    reader->scanned = unread;
    if (newline)
        *size = (size_t)(newline - from);
    return newline != NULL;
}

int cli_reader_next(cli_reader *reader, size_t max_lines, size_t max_bytes, const cli_line **lines, size_t *count)
{
    if (reader->begin) /* moves the unread bytes to the front */
        memmove(reader->data, reader->data + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
    size_t n = 0;
    *count = 0;
    while (n < max_lines && reader->begin < max_bytes) {
        size_t size;
        if (complete_line(reader, &size)) {
            if (!add_line(reader, &n, size, 1))
                return cli_fail_memory();
            continue;
        }
        if (reader->at_end) {
            if (reader->end > reader->begin && !add_line(reader, &n, reader->end - reader->begin, 0))
                return cli_fail_memory();
            break;
        }
        if (n ? !is_ready(reader, 0) : !wait_ready(reader))
            break;
        const int status = read_more(reader);
        if (status)
            return status;
    }
    const char *text = reader->data; /* the lines are contiguous */
    for (size_t i = 0; i < n; i++) {
        reader->lines[i].text = text;
        text += reader->lines[i].size + reader->lines[i].carriage_return + 1;
    }
    *lines = reader->lines;
    *count = n;
    return n == 0 && cli_interrupted() ? CLI_FAILED : CLI_DONE;
}

enum { SAMPLE = 1 << 16 }; /* bytes */

/* Bytes of whole lines, or of all that is unread if it is enough or the input has ended; 0 while they are blank. */
static size_t sample_size(const cli_reader *reader)
{
    const char *from = reader->data + reader->begin;
    const size_t unread = reader->end - reader->begin;
    size_t size = unread < SAMPLE ? unread : SAMPLE;
    while (!reader->at_end && unread < SAMPLE && size && from[size - 1] != '\n')
        size--;
    for (size_t i = 0; i < size; i++)
        if (!memchr(" \t\r\n", from[i], 4))
            return size;
    return 0;
}

int cli_reader_sample(cli_reader *reader, double patience, const char **text, size_t *size)
{
    int status = CLI_DONE;
    double until = 0;
    *size = 0;
    while (!status && !reader->at_end && reader->end - reader->begin < SAMPLE) {
        if (*size && patience >= 0 ? !is_ready(reader, until - tr_seconds()) : !wait_ready(reader))
            break;
        if (!*size)
            until = tr_seconds() + patience;
        status = read_more(reader);
        *size = sample_size(reader);
    }
    *text = *size ? reader->data + reader->begin : "";
    return cli_interrupted() ? CLI_FAILED : status;
}

int cli_reader_all(cli_reader *reader, bool raw, uint64_t max_bytes, const char **data, size_t *size)
{
    int status = CLI_DONE;
    bool fits = reader->file_size <= max_bytes;
    reader->raw = raw;
    while (!status && fits && !reader->at_end && wait_ready(reader)) {
        status = read_more(reader);
        fits = reader->end - reader->begin <= max_bytes;
    }
    if (!status && !fits)
        return cli_fail("%s: more than %" PRIu64 " bytes; a document has fewer%s", reader->name, max_bytes,
                        max_bytes < UINT32_MAX ? ", unless --max-content allows them" : "");
    reader->consumed += reader->end - reader->begin;
    *data = reader->end > reader->begin ? reader->data + reader->begin : "";
    *size = reader->end - reader->begin;
    return cli_interrupted() ? CLI_FAILED : status;
}

void cli_keep_one_line(char *text, size_t size, bool tabs)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n' || (tabs && text[i] == '\t'))
            text[i] = ' ';
}
