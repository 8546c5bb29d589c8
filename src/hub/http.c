#include "hub/http.h"

#include "hub/token.h"
#include "util/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_REDIRECTS = 8, SLOWEST = 100 /* bytes a second */, FIRST_WAIT = 200, LONGEST_WAIT = 30000 /* ms */ };
enum { LONGEST_ASKED_WAIT = 300 /* seconds */, MAX_SKIPPED = 1 << 16 /* bytes */ };
/* Bytes of headers in one exchange, including trailers and 1xx answers. libcurl keeps headers in memory; its own limit, 300
 * kB in newer versions, does not count trailers. A hub and its CDN send a few kB. */
enum { MAX_HEADERS = 1 << 18 };

tr_status tr_http_open(tr_http *http, const tr_hub_options *options, tr_error *error)
{
    *http = (tr_http){.options = options};
    tr_status status = tr_hub_endpoint(options->endpoint, &http->endpoint, error);
    if (status == TR_OK)
        status = tr_hub_token(&http->token, error);
    if (status == TR_OK && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        http->easy = curl_easy_init();
        http->multi = curl_multi_init();
    }
    if (status == TR_OK && (!http->easy || !http->multi))
        status = tr_fail(error, TR_ERROR_MEMORY, "libcurl: cannot be started");
    if (status != TR_OK)
        tr_http_close(http);
    return status;
}

void tr_http_close(tr_http *http)
{
    curl_easy_cleanup(http->easy);
    curl_multi_cleanup(http->multi);
    free(http->endpoint);
    free(http->token);
    *http = (tr_http){0};
}

/* ------------------------------------------------------------------------------------------------------------ headers */

/* One exchange: a request and its answer, or a redirect. */
typedef struct exchange {
    tr_http *http;
    tr_http_get *get;
    tr_http_answer *answer;
    tr_error *error;
    tr_status status; /* set by the callbacks */
    bool begun;
    size_t headers; /* bytes in this exchange */
    size_t skipped; /* bytes of content that was not wanted */
    uint64_t since; /* begin of the interval in which bytes are counted, in nanoseconds */
    size_t recent;  /* bytes received since then */
} exchange;

/* If line (not NUL-terminated) is the header name (lower case), stores its value and returns true. */
static bool header(const char *line, size_t size, const char *name, char *value, size_t room)
{
    const size_t length = strlen(name);
    if (size <= length || line[length] != ':' || strncasecmp(line, name, length) != 0)
        return false;
    const char *from = line + length + 1, *end = line + size;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if ((size_t)(end - from) < room) /* a value that is too long is ignored */
        snprintf(value, room, "%.*s", (int)(end - from), from);
    return true;
}

static uint64_t number(const char *text, const char **end)
{
    char *after = (char *)text;
    errno = 0;
    const unsigned long long value = *text >= '0' && *text <= '9' ? strtoull(text, &after, 10) : 0;
    *end = after;
    return after == text || errno ? TR_HTTP_UNKNOWN : value;
}

/* bytes 100-199/200; bytes 100-199/'*'; bytes '*'/200 */
static void read_range(tr_http_answer *a, const char *text)
{
    const char *end = text;
    if (strncasecmp(text, "bytes ", 6) == 0)
        a->first = number(text + 6, &end);
    const char *slash = strchr(text, '/');
    if (slash)
        a->total = number(slash + 1, &end);
}

static void read_header(tr_http_answer *a, const char *line, size_t size)
{
    char value[TR_HTTP_TAG] = "";
    const char *end;
    if (header(line, size, "etag", a->tag, sizeof a->tag) ||
        header(line, size, "x-error-code", a->problem, sizeof a->problem))
        return;
    if (header(line, size, "x-linked-etag", value, sizeof value)) {
        if (!*a->linked_tag)
            memcpy(a->linked_tag, value, sizeof value);
    } else if (header(line, size, "x-linked-size", value, sizeof value)) {
        if (a->linked_size == TR_HTTP_UNKNOWN)
            a->linked_size = number(value, &end);
    } else if (header(line, size, "content-range", value, sizeof value)) {
        read_range(a, value);
    }
}

static void clear_answer(tr_http_answer *a)
{
    a->first = a->total = a->length = TR_HTTP_UNKNOWN;
    a->retry_after = -1;
    a->tag[0] = a->problem[0] = 0;
}

static size_t on_header(char *line, size_t one, size_t size, void *context)
{
    exchange *x = context;
    tr_http_answer *a = x->answer;
    (void)one;
    x->recent += size;
    x->headers += size;
    if (x->headers > MAX_HEADERS) {
        x->status = tr_fail(x->error, TR_ERROR_FORMAT, "the server sends more than %d kB of headers", MAX_HEADERS >> 10);
        return 0;
    }
    if (size > 5 && strncasecmp(line, "HTTP/", 5) == 0)
        clear_answer(a); /* "100 Continue" may precede it */
    else
        read_header(a, line, size);
    return size;
}

/* ------------------------------------------------------------------------------------------------------------ content */

static bool is_content(long status)
{
    return status == 200 || status == 206;
}

static void read_facts(exchange *x)
{
    curl_off_t length = -1, wait = 0;
    curl_easy_getinfo(x->http->easy, CURLINFO_RESPONSE_CODE, &x->answer->status);
    curl_easy_getinfo(x->http->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(x->http->easy, CURLINFO_RETRY_AFTER, &wait);
    x->answer->length = length < 0 ? TR_HTTP_UNKNOWN : (uint64_t)length;
    x->answer->retry_after = wait > 0 ? (int64_t)wait : -1;
}

static bool begin_content(exchange *x)
{
    read_facts(x);
    if (is_content(x->answer->status) && !x->begun)
        x->status = x->get->begin(x->get->context, x->answer, x->error);
    x->begun = true;
    return x->status == TR_OK;
}

static size_t on_data(char *data, size_t one, size_t size, void *context)
{
    exchange *x = context;
    (void)one;
    x->recent += size;
    if (!x->begun && !begin_content(x))
        return 0;
    if (!is_content(x->answer->status)) { /* an error page; a short one is read, so that the connection stays open */
        x->skipped += size;
        return x->skipped <= MAX_SKIPPED ? size : 0;
    }
    x->status = x->get->data(x->get->context, data, size, x->error);
    return x->status == TR_OK ? size : 0;
}

/* ----------------------------------------------------------------------------------------------------------- requests */

/* scheme://host:port of an address, allocated; NULL if it is not an address. */
static char *origin(const char *url)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    tr_buffer out = {0};
    const bool good = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                      curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                      curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                      curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                      tr_buffer_string(&out, scheme) && tr_buffer_string(&out, "://") && tr_buffer_string(&out, host) &&
                      tr_buffer_string(&out, ":") && tr_buffer_string(&out, port);
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    if (!good)
        tr_buffer_free(&out);
    return out.data;
}

static bool same_origin(const char *a, const char *b)
{
    char *first = origin(a), *second = origin(b);
    const bool same = first && second && strcasecmp(first, second) == 0;
    free(first);
    free(second);
    return same;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    tr_buffer line = {0};
    struct curl_slist *longer = NULL;
    if (tr_buffer_string(&line, name) && tr_buffer_string(&line, value))
        longer = curl_slist_append(*list, line.data);
    tr_buffer_free(&line);
    *list = longer ? longer : *list;
    return longer != NULL;
}

static bool make_headers(const exchange *x, struct curl_slist **list)
{
    char range[32];
    const tr_http_get *get = x->get;
    if (!add_header(list, "Accept-Encoding: ", "identity")) /* sizes and digests are those of the file itself */
        return false;
    if (x->answer->at_endpoint && x->http->token && !add_header(list, "Authorization: Bearer ", x->http->token))
        return false;
    if (!get->from)
        return true;
    snprintf(range, sizeof range, "%" PRIu64 "-", get->from);
    return add_header(list, "Range: bytes=", range) && (!*get->validator || add_header(list, "If-Range: ", get->validator));
}

/* Own certificates of a site, as the curl command and OpenSSL find them; libcurl reads neither variable. */
static const char *certificates(void)
{
    const char *curl = getenv("CURL_CA_BUNDLE"), *openssl = getenv("SSL_CERT_FILE");
    if (curl && *curl)
        return curl;
    return openssl && *openssl ? openssl : NULL;
}

static void set_options(exchange *x, const char *url, struct curl_slist *headers, char why[CURL_ERROR_SIZE])
{
    CURL *easy = x->http->easy;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    char agent[64];
    snprintf(agent, sizeof agent, "translate/%s", tr_version());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, agent); /* libcurl copies it */
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, (void *)x);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)x);
    if (certificates())
        curl_easy_setopt(easy, CURLOPT_CAINFO, certificates());
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 1L << 18);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)x->http->options->timeout);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static bool stopped(const tr_http *http)
{
    return http->options->stop(http->options->context);
}

/* Waits for the network, or for the wake descriptor. */
static void poll_network(const tr_http *http, int milliseconds)
{
    struct curl_waitfd wake = {.fd = http->options->wake, .events = CURL_WAIT_POLLIN};
    const bool wakes = wake.fd >= 0;
    curl_multi_poll(http->multi, wakes ? &wake : NULL, wakes, milliseconds, NULL);
}

/* libcurl's own limit takes five seconds longer. */
static bool stalls(exchange *x)
{
    const uint64_t now = tr_nanoseconds(), timeout = (uint64_t)x->http->options->timeout;
    if (x->recent >= SLOWEST * timeout) {
        x->recent = 0;
        x->since = now;
    }
    return now - x->since > timeout * 1000000000u;
}

static CURLcode perform(exchange *x)
{
    const tr_http *http = x->http;
    int running = 1, left;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    if (curl_multi_add_handle(http->multi, http->easy) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    x->recent = 0;
    x->since = tr_nanoseconds();
    while (running && !stopped(http) && curl_multi_perform(http->multi, &running) == CURLM_OK) {
        if (running && stalls(x)) {
            code = CURLE_OPERATION_TIMEDOUT;
            break;
        }
        if (running)
            poll_network(http, 500);
    }
    const CURLMsg *message;
    while ((message = curl_multi_info_read(http->multi, &left)))
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    curl_multi_remove_handle(http->multi, http->easy);
    return code;
}

/* ----------------------------------------------------------------------------------------------------------- outcomes */

static bool may_pass(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return true;
    default: return false;
    }
}

/* libcurl reports a line beyond its own limit (100 kB, in trailers 4 kB) as a lack of memory: CURLE_OUT_OF_MEMORY, in newer
 * versions CURLE_TOO_LARGE (100), in trailers CURLE_RECV_ERROR with this text. A true lack of memory looks the same. */
static bool is_long_line(const exchange *x, CURLcode code, const char *why)
{
    curl_off_t answered = 0;
    curl_easy_getinfo(x->http->easy, CURLINFO_STARTTRANSFER_TIME_T, &answered);
    return answered > 0 && (code == CURLE_OUT_OF_MEMORY || (int)code == 100 || strncmp(why, "Out of memory", 13) == 0);
}

static tr_http_outcome explain(const exchange *x, const char *url, CURLcode code, const char *why)
{
    char *host = origin(url);
    const char *name = host ? host : url;
    tr_http_outcome outcome = may_pass(code) ? TR_HTTP_LOST : TR_HTTP_FAILED;
    if (x->status != TR_OK)
        outcome = TR_HTTP_FAILED; /* *error is set */
    else if (stopped(x->http))
        outcome = TR_HTTP_FAILED, tr_fail(x->error, TR_ERROR_CANCELLED, "interrupted");
    else if (is_long_line(x, code, why))
        outcome = TR_HTTP_FAILED,
        tr_fail(x->error, TR_ERROR_FORMAT, "%s: the server sends a header line that is too long, or out of memory", name);
    else if (code == CURLE_OUT_OF_MEMORY)
        tr_fail(x->error, TR_ERROR_MEMORY, "out of memory");
    else if (code == CURLE_OPERATION_TIMEDOUT)
        tr_fail(x->error, TR_ERROR_IO, "%s: no data for %d s", name, x->http->options->timeout);
    else
        tr_fail(x->error, TR_ERROR_IO, "%s: %s", name, *why ? why : curl_easy_strerror(code));
    free(host);
    return outcome;
}

static tr_http_outcome judge_status(const exchange *x)
{
    const long status = x->answer->status;
    tr_fail(x->error, TR_ERROR_IO, "the server answers %ld", status);
    return status >= 500 || status == 429 || status == 408 ? TR_HTTP_LOST : TR_HTTP_REFUSED;
}

static tr_http_outcome exchange_once(exchange *x, const char *url)
{
    struct curl_slist *headers = NULL;
    char why[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OUT_OF_MEMORY;
    clear_answer(x->answer);
    x->begun = false;
    x->headers = x->skipped = 0;
    x->answer->status = 0;
    if (make_headers(x, &headers)) {
        set_options(x, url, headers, why);
        x->http->asked = true;
        code = perform(x);
    }
    curl_slist_free_all(headers);
    if (code == CURLE_OK && !x->begun)
        begin_content(x); /* there was no content */
    const long status = x->answer->status;
    x->http->answered = x->http->answered || status;
    if (x->status != TR_OK || (code != CURLE_OK && (status < 300 || is_content(status) || stopped(x->http))))
        return explain(x, url, code, why);
    read_facts(x);
    return is_content(status) ? TR_HTTP_DONE : judge_status(x);
}

/* The address that a redirect leads to, allocated; NULL with *error if it is missing or refused. */
static char *next_address(const exchange *x, const char *from)
{
    const char *to = NULL;
    curl_easy_getinfo(x->http->easy, CURLINFO_REDIRECT_URL, &to);
    const bool secure = strncasecmp(from, "https:", 6) == 0;
    if (!to)
        tr_fail(x->error, TR_ERROR_IO, "the server answers %ld without an address", x->answer->status);
    else if (strncasecmp(to, "https:", 6) != 0 && (secure || strncasecmp(to, "http:", 5) != 0))
        tr_fail(x->error, TR_ERROR_IO, "the server redirects to '%.200s', which is refused", to);
    else {
        tr_buffer copy = {0};
        if (tr_buffer_string(&copy, to))
            return copy.data;
        tr_fail(x->error, TR_ERROR_MEMORY, "out of memory");
    }
    return NULL;
}

static bool is_redirect(const tr_http_answer *a)
{
    return a->status == 301 || a->status == 302 || a->status == 303 || a->status == 307 || a->status == 308;
}

tr_http_outcome tr_http_get_url(tr_http *http, const char *url, tr_http_get *get, tr_http_answer *answer, tr_error *error)
{
    *answer = (tr_http_answer){.linked_size = TR_HTTP_UNKNOWN};
    exchange x = {.http = http, .get = get, .answer = answer, .error = error};
    char *at = NULL;
    tr_http_outcome outcome;
    for (int redirects = 0;; redirects++) {
        const char *here = at ? at : url;
        answer->at_endpoint = same_origin(here, http->endpoint);
        outcome = exchange_once(&x, here);
        if (outcome != TR_HTTP_REFUSED || !is_redirect(answer))
            break;
        char *next = redirects < MAX_REDIRECTS ? next_address(&x, here) : NULL;
        if (redirects == MAX_REDIRECTS)
            tr_fail(error, TR_ERROR_IO, "the server redirects in circles");
        free(at);
        at = next;
        outcome = TR_HTTP_FAILED;
        if (!next || (get->redirected && get->redirected(get->context, get, answer, error) != TR_OK))
            break;
    }
    free(at);
    return outcome;
}

/* ------------------------------------------------------------------------------------------------------------- waiting */

bool tr_http_wait(const tr_http *http, int milliseconds)
{
    for (; milliseconds > 0 && !stopped(http); milliseconds -= 500)
        poll_network(http, milliseconds < 500 ? milliseconds : 500);
    return !stopped(http);
}

bool tr_http_again(const tr_http *http, int *losses, const tr_http_answer *answer, tr_error *error)
{
    const tr_hub_options *o = http->options;
    char line[TR_MESSAGE_SIZE + 64];
    int wait = *losses < 6 ? FIRST_WAIT << *losses : LONGEST_WAIT;
    if (answer->retry_after > LONGEST_ASKED_WAIT) {
        snprintf(line, sizeof line, "%s and asks to wait %lld s", error->message, (long long)answer->retry_after);
        tr_fail(error, TR_ERROR_IO, "%s", line);
        return false;
    }
    if (++*losses > o->retries) {
        snprintf(line, sizeof line, "%s; given up after %d %s", error->message, *losses, *losses == 1 ? "try" : "tries");
        tr_fail(error, TR_ERROR_IO, "%s", line);
        return false;
    }
    if (answer->retry_after > 0)
        wait = (int)answer->retry_after * 1000;
    snprintf(line, sizeof line, "%s; trying again in %.1f s", error->message, wait / 1000.0);
    o->note(o->context, line);
    if (tr_http_wait(http, wait))
        return true;
    tr_fail(error, TR_ERROR_CANCELLED, "interrupted");
    return false;
}
