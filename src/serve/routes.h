/* The routes of each interface; an empty one ends each table. */
#ifndef TR_SERVE_ROUTES_H
#define TR_SERVE_ROUTES_H

#include "serve/http.h"

extern const route attention_routes[];
extern const route documents_routes[];
extern const route extensions_routes[];
extern const route google_routes[];
extern const route deepl_routes[];
extern const route libretranslate_routes[];
extern const route openapi_routes[];
extern const route page_routes[];
extern const route v1_routes[];

/* What "*" stands for in a path; data NULL: the route has none. */
typedef struct path_part {
    const char *data;
    size_t size;
} path_part;

/* The route of a path, perhaps with what "*" in it stands for. NULL: there is none; *known then tells whether there is one
 * for another method. */
const route *route_find(const char *path, const char *method, path_part *part, bool *known);
/* The path after a prefix, which is whole parts of it; "": there is no more; NULL: it has another beginning. */
const char *path_without(const char *prefix, const char *path);

json_t *v1_error(unsigned status, const char *message); /* {"error": {"code", "message"}} */

void libretranslate_health(request *r); /* also of other interfaces that ask whether the server lives */

/* MTranServer's POST /translate. LibreTranslate's handler, which has the same address, calls it when the fields are
 * MTranServer's: `text`, and no `q`. */
void mtran_translate(request *r);

#endif
