/* Which tokens of a vocabulary the texts of one language are made of: those of its scripts, or those that a text has. What
 * belongs to no script (digits, punctuation, symbols, bytes) always counts. */
#ifndef TR_TOKENIZER_ALLOWED_H
#define TR_TOKENIZER_ALLOWED_H

#include "tokenizer/tokenizer.h"

enum { TR_MAX_SCRIPTS = 16 };

typedef struct tr_scripts {
    int codes[TR_MAX_SCRIPTS]; /* ICU's */
    int count;
} tr_scripts;

/* The scripts that a language is written in, by the Unicode consortium's data (CLDR), and Latin, since any language's texts
 * have names, units and addresses in it. code is a code of ISO 639 that perhaps names a script: "sr", "zh-Hant", "uzb_Cyrl".
 * False: nothing is known of it. */
bool tr_scripts_of_language(const char *code, tr_scripts *scripts);

/* Scripts by their names in ISO 15924 or Unicode, separated by commas: "Hani,Latn", "Cyrillic". False: one is unknown, or
 * there are too many. */
bool tr_scripts_parse(const char *names, tr_scripts *scripts);

/* Whether all characters of a piece belong to one of these, or to none. A single Greek letter belongs to none: it is a
 * symbol of science. */
bool tr_scripts_spell(const tr_scripts *scripts, const char *piece, size_t size);

/* Sets marks[id] for each piece of the vocabulary that the scripts spell, and for byte pieces. */
void tr_allow_scripts(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks);

/* The letters of a text by script. */
typedef struct tr_script_census {
    uint64_t letters[256]; /* ICU's codes */
} tr_script_census;

/* Counts a text, valid UTF-8. */
void tr_script_count(tr_script_census *census, const char *text, size_t size);
/* Those that at least one in a hundred letters belongs to. */
tr_scripts tr_scripts_of_census(const tr_script_census *census);

/* Sets marks[id] for each piece of a single character that the scripts spell, with or without what says that a word begins
 * or goes on there, and for byte pieces: so any text of the scripts, that the vocabulary can spell, still is. */
void tr_allow_characters(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks);

#endif
