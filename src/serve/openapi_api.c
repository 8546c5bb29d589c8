/* The description of the interfaces, OpenAPI 3.1; LibreTranslate has it at /spec. */
#include <string.h>

#include "serve/openapi.h"
#include "serve/routes.h"

static void describe(request *r)
{
    answer_bytes(r, 200, "application/json", openapi_document, strlen(openapi_document));
}

const route openapi_routes[] = {
    {"GET", "/openapi.json", describe, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "/spec", describe, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {0},
};
