#define _GNU_SOURCE
#include "serve/hosts.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME = 256, HTTP_PORT = 80 };

/* Splits NAME[:PORT]; a dot at the name's end says nothing. False: it is longer than any name. */
static bool split_host(const char *host, char name[NAME], unsigned *port)
{
    const char *const colon = strchr(host, ':');
    size_t size = colon ? (size_t)(colon - host) : strlen(host);
    *port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : HTTP_PORT;
    if (size && host[size - 1] == '.')
        size--;
    if (size >= NAME)
        return false;
    memcpy(name, host, size);
    name[size] = 0;
    return true;
}

static bool is_own_name(const char *name)
{
    static const char local[] = "localhost";
    const size_t size = strlen(name), end = sizeof local - 1;
    struct in_addr address;
    return inet_pton(AF_INET, name, &address) == 1 ||
           (size >= end && strcasecmp(name + size - end, local) == 0 && (size == end || name[size - end - 1] == '.'));
}

/* Whether a list with commas has it, or "*". */
static bool is_listed(const char *names, const char *name)
{
    for (size_t size; *names; names += size + (names[size] == ',')) {
        size = strcspn(names, ",");
        const size_t begin = strspn(names, " ");
        size_t end = size;
        while (end > begin && names[end - 1] == ' ')
            end--;
        if (begin < end && ((end - begin == strlen(name) && strncasecmp(names + begin, name, end - begin) == 0) ||
                            (end - begin == 1 && names[begin] == '*')))
            return true;
    }
    return false;
}

bool host_is_allowed(const char *host, const char *names, const unsigned *own_ports, size_t count)
{
    char name[NAME];
    unsigned port;
    if (!host || !*host || *host == '[') /* an address of IPv6 */
        return true;
    if (!split_host(host, name, &port))
        return false;
    if (is_own_name(name))
        return true;
    if (names)
        return is_listed(names, name);
    for (size_t i = 0; i < count; i++)
        if (port == own_ports[i])
            return false;
    return true;
}
