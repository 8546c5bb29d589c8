/* Selects the tokens of a vocabulary that texts of a language need: those of its scripts, or of the scripts of a sample
 * text. Tokens of no script (digits, punctuation, symbols, bytes) are always selected. */
#ifndef TR_TOKENIZER_ALLOWED_H
#define TR_TOKENIZER_ALLOWED_H

#include "tokenizer/scripts.h"
#include "tokenizer/tokenizer.h"

/* The scripts of a language, and Latin, in which all languages write names, units and addresses. code: as for
 * tr_scripts_of_language. 0: it is unknown. */
tr_scripts tr_allowed_scripts(const char *code);

/* Parses names of scripts, as for tr_scripts_named, separated by commas: "Hani,Latn", "Cyrillic". 0: one is unknown. */
tr_scripts tr_scripts_parse(const char *names);

/* True if every character of a piece belongs to one of the scripts or to no script. A single Greek letter counts as a
 * symbol, which has no script. */
bool tr_scripts_spell(tr_scripts scripts, const char *piece, size_t size);

/* Sets marks[id] for each piece that tr_scripts_spell accepts, and for byte pieces. */
void tr_allow_scripts(const tr_vocabulary *vocabulary, tr_scripts scripts, bool *marks);

/* Number of letters of a text in each script. */
typedef struct tr_script_census {
    uint64_t letters[TR_SCRIPTS];
} tr_script_census;

/* Adds the letters of a text, valid UTF-8. */
void tr_script_count(tr_script_census *census, const char *text, size_t size);
/* The scripts that at least one letter in a hundred belongs to. */
tr_scripts tr_scripts_of_census(const tr_script_census *census);

/* Sets marks[id] for each piece of a single character that tr_scripts_spell accepts, with or without a leading "▁" or a
 * trailing "@@", and for byte pieces: so the vocabulary can still spell any text of the scripts that it could before. */
void tr_allow_characters(const tr_vocabulary *vocabulary, tr_scripts scripts, bool *marks);

#endif
