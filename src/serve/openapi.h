/* The description of the interfaces for programs, made of openapi.json at build time. */
#ifndef TR_SERVE_OPENAPI_H
#define TR_SERVE_OPENAPI_H

extern const char openapi_document[]; /* JSON, NUL-terminated */

#endif
