#include "serve/routes.h"

#include <string.h>

static const struct {
    const route *routes;
    const char *prefix; /* that their paths may also begin with; NULL: none */
} tables[] = {{attention_routes, NULL},  {deepl_routes, NULL},       {documents_routes, NULL},
              {extensions_routes, NULL}, {google_routes, "/google"}, {libretranslate_routes, NULL},
              {openapi_routes, NULL},    {page_routes, NULL},        {v1_routes, NULL}};

const char *path_without(const char *prefix, const char *path)
{
    const size_t size = strlen(prefix);
    return strncmp(path, prefix, size) == 0 && (path[size] == '/' || (size && !path[size])) ? path + size : NULL;
}

static bool matches(const route *wanted, const char *path, path_part *part)
{
    *part = (path_part){NULL, 0};
    const char *form = wanted->path;
    for (; *form && *path; form++) {
        if (*form != '*') {
            if (*form != *path++)
                return false;
            continue;
        }
        *part = (path_part){path, strcspn(path, "/")};
        if (!part->size)
            return false;
        path += part->size;
    }
    return !*form && (!*path || (path[0] == '/' && !path[1]));
}

const route *route_find(const char *path, const char *method, path_part *part, bool *known)
{
    *known = false;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const char *const inner = tables[t].prefix ? path_without(tables[t].prefix, path) : NULL;
        for (const route *r = tables[t].routes; r->path; r++) {
            if (!matches(r, inner ? inner : path, part))
                continue;
            *known = true;
            if (strcmp(r->method, method) == 0)
                return r;
        }
    }
    return NULL;
}
