#define _GNU_SOURCE
#include "serve/keys.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve/cache.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/siphash.h"
#include "util/utf8.h"

enum { REQUESTS, CHARACTERS, KINDS };
enum {
    MAX_KEYS = 10000, /* all of them are looked at for each request */
    MAX_KEY = 256,    /* bytes */
    MAX_RATE = 1000000000,
    USERS_BYTES = 512 << 10, /* about 4,000 users whose use is known */
};

/* A key's hash, or an address: of IPv6, the part that a site has for itself; of IPv4, the mapped one. */
typedef struct identity {
    unsigned char bytes[16];
} identity;

typedef struct api_key {
    identity id;
    double limits[KINDS]; /* in a minute; 0: the server's */
    uint64_t characters;  /* that it has used */
} api_key;

typedef struct user {
    identity id;
    double limits[KINDS]; /* in a minute; 0: none */
} user;

/* What a user has used: what has flowed out since at the rate of the limit is taken off when it is looked at. */
typedef struct usage {
    uint64_t at; /* tr_nanoseconds */
    double used[KINDS];
} usage;

struct keys {
    const cli_settings *settings;
    tr_siphash_key secrets[2];
    api_key *list; /* [count] by id */
    size_t count;
    uint64_t characters; /* that those without a key have used */
    cache *users;        /* from identity to usage */
};

/* ------------------------------------------------------------------------------------------------------------------ keys */

/* The keys themselves are not kept. Their hashes depend on secrets, so the time that it takes to compare them tells nothing
 * about a key. */
static identity hash_key(const keys *k, const char *text, size_t size)
{
    const uint64_t hash[2] = {tr_siphash(&k->secrets[0], text, size), tr_siphash(&k->secrets[1], text, size)};
    identity id;
    memcpy(id.bytes, hash, sizeof id.bytes);
    return id;
}

/* NULL: there is none, or it is not valid. All keys are looked at. */
static api_key *key_of(const keys *k, const request *r)
{
    api_key *found = NULL;
    if (!r->key)
        return NULL;
    const identity id = hash_key(k, r->key, strlen(r->key));
    for (size_t i = 0; i < k->count; i++) {
        unsigned difference = 0;
        for (size_t b = 0; b < sizeof id.bytes; b++)
            difference |= k->list[i].id.bytes[b] ^ id.bytes[b];
        found = difference ? found : &k->list[i];
    }
    return found;
}

static int compare_keys(const void *a, const void *b)
{
    return memcmp(((const api_key *)a)->id.bytes, ((const api_key *)b)->id.bytes, sizeof(identity));
}

/* ------------------------------------------------------------------------------------------------------------------ file */

typedef struct line {
    const char *at, *end;
    const char *path;
    size_t number;
} line;

static size_t next_word(line *l, const char **word)
{
    while (l->at < l->end && tr_is_ascii_space(*l->at))
        l->at++;
    *word = l->at;
    while (l->at < l->end && !tr_is_ascii_space(*l->at))
        l->at++;
    return (size_t)(l->at - *word);
}

static tr_status fail_line(const line *l, const char *why, tr_error *error)
{
    return tr_fail(error, TR_ERROR_FORMAT, "%.200s:%zu: %s", l->path, l->number, why);
}

static tr_status read_rate(line *l, double *rate, tr_error *error)
{
    const char *word;
    const size_t size = next_word(l, &word);
    *rate = 0;
    for (size_t i = 0; i < size; i++)
        if (!tr_is_ascii_digit(word[i]) || (*rate = *rate * 10 + (word[i] - '0')) > MAX_RATE)
            return fail_line(l, "after the key there are two numbers: requests and characters per minute", error);
    return TR_OK;
}

/* The key of a line that has one at word. No message shows it. */
static tr_status read_key(const keys *k, line *l, const char *word, size_t size, api_key *key, tr_error *error)
{
    for (size_t i = 0; i < size; i++)
        if (word[i] < '!' || word[i] > '~')
            return fail_line(l, "the key has a character that is not printable ASCII", error);
    if (size > MAX_KEY)
        return fail_line(l, "the key is longer than 256 characters", error);
    key->id = hash_key(k, word, size);
    tr_status status = TR_OK;
    for (int kind = 0; kind < KINDS && status == TR_OK; kind++)
        status = read_rate(l, &key->limits[kind], error);
    if (status == TR_OK && next_word(l, &word))
        status = fail_line(l, "has more than a key and two numbers", error);
    return status;
}

/* Appends to list, which has room for MAX_KEYS. */
static tr_status read_keys(const keys *k, const tr_file *file, api_key *list, size_t *count, tr_error *error)
{
    const char *at = file->size ? (const char *)file->data : "", *const end = at + file->size;
    line l = {.path = k->settings->api_keys};
    for (tr_status status; at < end; at = l.end < end ? l.end + 1 : end) {
        const char *word, *newline = memchr(at, '\n', (size_t)(end - at));
        l.at = at;
        l.end = newline ? newline : end;
        l.number++;
        const size_t size = next_word(&l, &word);
        if (!size || *word == '#')
            continue;
        if (*count == MAX_KEYS)
            return fail_line(&l, "there are more than 10000 keys", error);
        if ((status = read_key(k, &l, word, size, &list[*count], error)) != TR_OK)
            return status;
        ++*count;
    }
    if (!*count)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: has no keys", l.path);
    qsort(list, *count, sizeof *list, compare_keys);
    for (size_t i = 1; i < *count; i++)
        if (compare_keys(&list[i - 1], &list[i]) == 0)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: has a key twice", l.path);
    return TR_OK;
}

static void warn_of_readers(const cli_settings *settings)
{
    struct stat about;
    if (stat(settings->api_keys, &about) == 0 && about.st_mode & S_IROTH)
        cli_warn(settings, "%s: every user of this machine can read the keys", settings->api_keys);
}

tr_status keys_reload(keys *k, tr_error *error)
{
    tr_file file;
    size_t count = 0;
    if (!keys_required(k))
        return TR_OK;
    tr_status status = tr_file_open(k->settings->api_keys, TR_LOAD_COPY, &file, error);
    if (status != TR_OK)
        return status;
    warn_of_readers(k->settings);
    api_key *list = calloc(MAX_KEYS, sizeof *list);
    status = list ? read_keys(k, &file, list, &count, error) : tr_fail_memory(error, "keys");
    tr_file_close(&file);
    if (status != TR_OK) {
        free(list);
        return status;
    }
    for (size_t i = 0; i < count && k->count; i++) {
        const api_key *before = bsearch(&list[i], k->list, k->count, sizeof *list, compare_keys);
        list[i].characters = before ? before->characters : 0;
    }
    api_key *smaller = realloc(list, count * sizeof *list);
    free(k->list);
    k->list = smaller ? smaller : list;
    k->count = count;
    return TR_OK;
}

keys *keys_create(const server *s, tr_error *error)
{
    keys *k = calloc(1, sizeof *k);
    tr_status status = k ? TR_OK : tr_fail_memory(error, "keys");
    if (status == TR_OK) {
        k->settings = s->settings;
        k->users = cache_create(USERS_BYTES);
        if (!k->users || !tr_siphash_choose(&k->secrets[0]) || !tr_siphash_choose(&k->secrets[1]))
            status = tr_fail_memory(error, "keys");
    }
    if (status == TR_OK)
        status = keys_reload(k, error);
    if (status == TR_OK)
        return k;
    keys_free(k);
    return NULL;
}

void keys_free(keys *k)
{
    if (!k)
        return;
    cache_free(k->users);
    free(k->list);
    free(k);
}

size_t keys_count(const keys *k)
{
    return k->count;
}

bool keys_required(const keys *k)
{
    return k->settings->api_keys != NULL;
}

/* ---------------------------------------------------------------------------------------------------------------- limits */

/* What is no address, as the "" of a Unix socket, is zero. */
static identity address_of(const request *r)
{
    const char *text = request_address(r);
    char number[INET6_ADDRSTRLEN] = "";
    const size_t size = strcspn(text, "%"); /* after which a link-local address has its interface */
    identity id = {{0}};
    if (size < sizeof number)
        memcpy(number, text, size);
    if (inet_pton(AF_INET, number, &id.bytes[12]) == 1) {
        id.bytes[10] = id.bytes[11] = 0xff;
    } else if (inet_pton(AF_INET6, number, id.bytes) == 1) {
        static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
        if (memcmp(id.bytes, mapped, sizeof mapped) != 0)
            memset(&id.bytes[8], 0, 8);
    }
    return id;
}

static user user_of(const keys *k, const request *r, const api_key *key)
{
    user u = {.id = key ? key->id : address_of(r), .limits = {k->settings->rate_limit, 0}};
    for (int kind = 0; key && kind < KINDS; kind++)
        if (key->limits[kind] > 0)
            u.limits[kind] = key->limits[kind];
    return u;
}

/* Takes an amount, which may be more than the limit once nothing is used, or returns after how many seconds to ask again. */
static unsigned take(keys *k, const user *u, int kind, double amount)
{
    const uint64_t now = tr_nanoseconds();
    const double limit = u->limits[kind], least = fmin(amount, limit);
    usage use = {.at = now};
    size_t size;
    if (limit <= 0)
        return 0;
    const usage *before = cache_find(k->users, &u->id, sizeof u->id, &size);
    for (int i = 0; before && i < KINDS; i++)
        use.used[i] = fmax(0, before->used[i] - (double)(now - before->at) / 60e9 * u->limits[i]);
    const double excess = use.used[kind] + least - limit;
    if (excess > 0)
        return (unsigned)fmin(ceil(excess / limit * 60), 3600);
    use.used[kind] += amount;
    cache_add(k->users, &u->id, sizeof u->id, &use, sizeof use);
    return 0;
}

static bool answer_slower(request *r, const char *what, double limit, unsigned seconds)
{
    char number[16];
    snprintf(number, sizeof number, "%u", seconds);
    answer_header(r, "Retry-After", number);
    answer_error(r, 429, "too many %s: more than %.0f in a minute; try again in %u s", what, limit, seconds);
    return false;
}

bool keys_shown(const keys *k, const request *r)
{
    return !keys_required(k) || key_of(k, r);
}

bool keys_know(const keys *k, const request *r)
{
    return r->route->flags & ROUTE_OPEN || keys_shown(k, r);
}

bool keys_allow(keys *k, request *r)
{
    const bool refused = !keys_know(k, r);
    const user u = user_of(k, r, key_of(k, r));
    if (refused || !(r->route->flags & ROUTE_FREE)) { /* who guesses keys is counted, too */
        const unsigned seconds = take(k, &u, REQUESTS, 1);
        if (seconds)
            return answer_slower(r, "requests", u.limits[REQUESTS], seconds);
    }
    if (refused)
        answer_error(r, 403,
                     r->key ? "API key: is not valid" : "API key: is missing; send 'Authorization: Bearer KEY', or api_key");
    return !refused;
}

bool keys_take(keys *k, request *r, size_t characters)
{
    const int limit = k->settings->char_limit;
    if (limit > 0 && characters > (size_t)limit) {
        answer_error(r, 400, "text: has %zu characters, more than the limit of %d", characters, limit);
        return false;
    }
    api_key *key = key_of(k, r);
    const user u = user_of(k, r, key);
    const unsigned seconds = take(k, &u, CHARACTERS, (double)characters);
    if (seconds)
        return answer_slower(r, "characters", u.limits[CHARACTERS], seconds);
    *(key ? &key->characters : &k->characters) += characters;
    return true;
}

uint64_t keys_characters(const keys *k, const request *r)
{
    const api_key *key = key_of(k, r);
    return key ? key->characters : k->characters;
}
