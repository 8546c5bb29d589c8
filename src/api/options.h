/* Options of calls: their defaults, ranges and comparison. */
#ifndef TR_API_OPTIONS_H
#define TR_API_OPTIONS_H

#include "model/config.h"

/* TR_ERROR_ARGUMENT names the field that is out of range, or that excludes another one. */
tr_status tr_search_check(const tr_search_options *search, const tr_config *config, tr_error *error);

/* Checks options (NULL: the defaults), clips lengths to config.max_positions, and sets what TR_ALIGN_AUTO stands
 * for: alignment.layer is then a layer, alignment.head a head or TR_ALIGN_MEAN. */
tr_status tr_translate_options_resolve(const tr_config *config, const tr_translate_options *options,
                                       tr_translate_options *resolved, tr_error *error);
tr_status tr_score_options_resolve(const tr_config *config, const tr_score_options *options, tr_score_options *resolved,
                                   tr_error *error);

/* The threshold for resolved options of a model; 0: no translation is called doubtful. */
float tr_doubtful_below(const tr_translate_options *options, const tr_config *config);

/* Whether two resolved options give the same results; languages and prefixes are not compared, and lists of forbidden tokens
 * count as different. */
bool tr_search_same(const tr_search_options *a, const tr_search_options *b);
bool tr_translate_options_same(const tr_translate_options *a, const tr_translate_options *b);

#endif
