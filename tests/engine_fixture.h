/* A fixture that another engine made: a model, and the engine's output for some lines. The tests that use one open the
 * model, translate the lines in several ways and compare. Every failure ends the running test. */
#ifndef TR_TESTS_ENGINE_FIXTURE_H
#define TR_TESTS_ENGINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include "api/engine.h"

#include "formats/package.h"
#include "json_ids.h"

/* The path FOLDER/NAMEREST; the last eight results stay valid. */
const char *path_in(const char *folder, const char *name, const char *rest);

#ifdef TR_FIXTURES
static inline const char *fixture_path(const char *name, const char *rest)
{
    return path_in(TR_FIXTURES, name, rest);
}
#endif

/* ------------------------------------------------------------------------------------------------------ what is expected */

/* The engine's own file: {"max_length": N, "lines": [{...}, ...], ...}. */
typedef struct expectation {
    json_t *json;
    const json_t *lines;
    size_t count; /* lines */
    int max_length;
    tr_tokens *sources; /* [count] the ids under "source"; empty ones where a line has none */
} expectation;

/* The file must have at least `least` and at most `most` lines. */
expectation read_expectation(const char *path, size_t least, size_t most);
void free_expectation(expectation *e);

const json_t *line_value(const expectation *e, size_t line, const char *key); /* NULL: the line has none */
tr_tokens *lines_ids(const expectation *e, const char *key);                  /* [count], for tr_tokens_array_free */

/* ------------------------------------------------------------------------------------------------------- ways to compare */

bool same_ids(const tr_tokens *a, const tr_tokens *b);
/* The message names the line, and the first token that differs. */
void expect_ids(const char *where, size_t line, const tr_tokens *got, const tr_tokens *wanted);

/* How to run a model; a field that is 0 has the library's default. */
typedef struct way {
    tr_compute compute;
    tr_load load;
    const char *cpu, *shortlist;
    int threads, batch_size;
} way;

/* The two are to be destroyed and closed. */
tr_context *open_way(const char *path, way w, tr_model **model);
/* The lines' ids under "source" translated: [count], for tr_tokens_array_free. */
tr_tokens *translate_sources(const char *path, way w, const expectation *e);
/* Translates the lines this way; the tokens must equal wanted, [count]. */
void expect_targets(const char *path, way w, const expectation *e, const tr_tokens *wanted);
/* Each line's text under `from`, if it has one, must become that under `to`; returns the number of lines that have one. */
size_t expect_texts(tr_context *context, const tr_translate_options *options, const expectation *e, const char *from,
                    const char *to);

/* ----------------------------------------------------------------------------------------------------------- conversion */

/* Writes the model as a GGUF file with weights of this type. */
void convert_model(const char *model, tr_type type, const char *path);

#define TEMPORARY_FILE "/tmp/translate-test.XXXXXX"

/* The same to a new file; path: TEMPORARY_FILE, whose last six letters are replaced. */
void convert_to_temporary(const char *model, tr_type type, char *path);
/* The file made from the model translates as the model does. */
void expect_converted(const char *model, tr_type type, tr_compute compute, const expectation *e);
/* expect_converted for f32, int8, f16 and bf16. */
void expect_all_converted(const char *model, const expectation *e);

/* --------------------------------------------------------------------------------------------------------------- the run */

/* A test of each fixture. */
typedef struct fixture_test {
    const char *what;
    CMUnitTestFunction function;
} fixture_test;

/* Fixtures are elements of an array that begin with their names (const char *); *state of a test is its fixture. */
typedef struct fixture_suite {
    const char *name;
    const void *fixtures;
    size_t count, size; /* number of fixtures, and bytes of each */
    const fixture_test *kinds;
    size_t kind_count;
    const struct CMUnitTest *others; /* [other_count] tests without a fixture, or with one of their own */
    size_t other_count;
} fixture_suite;

/* "NAME: WHAT" of every fixture and kind, then the others. Returns main's exit status. */
int run_fixture_suite(const fixture_suite *suite);

#endif
