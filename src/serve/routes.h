/* The routes of each interface; an empty one ends each table. */
#ifndef TR_SERVE_ROUTES_H
#define TR_SERVE_ROUTES_H

#include "serve/http.h"

extern const route libretranslate_routes[];
extern const route v1_routes[];

json_t *v1_error(unsigned status, const char *message); /* {"error": {"code", "message"}} */

#endif
