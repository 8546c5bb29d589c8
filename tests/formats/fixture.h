/* A tiny Marian model in a temporary directory, and files made from it by damaging them. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "formats/package.h"

enum { PATH_SIZE = 512, D_MODEL = 8, FFN = 12, PIECES = 11, TARGET_PIECES = 9, ENCODER_LAYERS = 2, DECODER_LAYERS = 1 };

typedef enum fixture_ties {
    SHARED,   /* one matrix for both embeddings and the output */
    SEPARATE, /* two vocabularies; the output is tied to the target embedding */
    UNTIED,   /* two vocabularies and an output matrix of its own */
} fixture_ties;

/* The directory of the running test: one function makes it, the other removes it with all that is in it. */
extern char directory[PATH_SIZE];
int set_up(void **state);
int tear_down(void **state);

const char *in_directory(const char *name); /* DIRECTORY/name; the last four results stay valid */
void write_file(const char *name, const void *data, size_t size);
void write_text(const char *name, const char *text);
unsigned char *read_file(const char *path, size_t *size); /* to be freed */
void remove_file(const char *name);
#ifdef TR_FIXTURES
unsigned char *read_fixture(const char *folder, const char *file, size_t *size); /* the test's own copy; for free() */
void copy_fixture(const char *folder, const char *file, const char *name);       /* into the directory */
#endif
bool has_leftovers(const char *prefix); /* number of files in the directory whose names begin like that */

/* Writes a whole model. Its weights are small multiples of 1/64: exact in every type. type: "F32", "F16", "BF16". */
void make_model(fixture_ties ties, const char *type);
/* Sets keys of a JSON file to those of patch, an object in text; null removes a key. */
void patch_json(const char *name, const char *patch);
/* Replaces model.safetensors by a header and data of zeros. */
void write_safetensors(const char *header, size_t data);
void patch_header(const char *patch);                      /* the header of model.safetensors; the data is kept */
void patch_header_at(const char *patch, size_t remainder); /* the same, with the data at this offset modulo 8 */

/* These fail the test where the library fails. */
void open_package(const char *path, tr_package *package);
void write_package(const tr_package *package, const char *path, tr_type type);

/* path must be refused with this status and a one-line message that begins with the path and holds needle. */
void expect_failure(const char *path, tr_status status, const char *needle);

#endif
