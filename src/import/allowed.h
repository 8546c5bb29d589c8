/* Selects the tokens of a vocabulary that texts of a language need: those of its scripts, or of the scripts of a sample
 * text. Tokens of no script (digits, punctuation, symbols, bytes) are always selected. */
#ifndef TR_IMPORT_ALLOWED_H
#define TR_IMPORT_ALLOWED_H

#include "tokenizer/tokenizer.h"

enum { TR_MAX_SCRIPTS = 16 };

typedef struct tr_scripts {
    int codes[TR_MAX_SCRIPTS]; /* ICU's */
    int count;
} tr_scripts;

/* The scripts of a language by the Unicode consortium's data (CLDR), and Latin, in which all languages write names, units
 * and addresses. code: a code of ISO 639, optionally with a script: "sr", "zh-Hant", "uzb_Cyrl". False: it is unknown. */
bool tr_scripts_of_language(const char *code, tr_scripts *scripts);

/* Parses names of scripts in ISO 15924 or Unicode, separated by commas: "Hani,Latn", "Cyrillic". False: one is unknown, or
 * there are too many. */
bool tr_scripts_parse(const char *names, tr_scripts *scripts);

/* True if every character of a piece belongs to one of the scripts or to no script. A single Greek letter counts as a
 * symbol, which has no script. */
bool tr_scripts_spell(const tr_scripts *scripts, const char *piece, size_t size);

/* Sets marks[id] for each piece that tr_scripts_spell accepts, and for byte pieces. */
void tr_allow_scripts(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks);

/* Number of letters of a text in each script. */
typedef struct tr_script_census {
    uint64_t letters[256]; /* by ICU's code */
} tr_script_census;

/* Adds the letters of a text, valid UTF-8. */
void tr_script_count(tr_script_census *census, const char *text, size_t size);
/* The scripts that at least one letter in a hundred belongs to. */
tr_scripts tr_scripts_of_census(const tr_script_census *census);

/* Sets marks[id] for each piece of a single character that tr_scripts_spell accepts, with or without a leading "▁" or a
 * trailing "@@", and for byte pieces: so the vocabulary can still spell any text of the scripts that it could before. */
void tr_allow_characters(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks);

#endif
