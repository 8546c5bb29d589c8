/* Token ids of expected.json. Include cmocka first. */
#ifndef TR_TESTS_JSON_IDS_H
#define TR_TESTS_JSON_IDS_H

#include <jansson.h>
#include <stdlib.h>

#include "api/engine.h"

/* The list under key; free() the ids. */
static inline tr_tokens read_ids(const json_t *line, const char *key)
{
    const json_t *array = json_object_get(line, key);
    tr_tokens tokens = {calloc(json_array_size(array) + 1, sizeof(int32_t)), json_array_size(array)};
    assert_non_null(tokens.ids);
    for (size_t i = 0; i < tokens.count; i++)
        tokens.ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return tokens;
}

#endif
