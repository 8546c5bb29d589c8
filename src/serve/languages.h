/* Codes and names of languages as interfaces spell them. The server's own spelling is LibreTranslate's: "en", "zh-Hans",
 * "zh-Hant", "pt-BR"; a language of two letters where there is such a code. */
#ifndef TR_SERVE_LANGUAGES_H
#define TR_SERVE_LANGUAGES_H

#include "serve/server.h"

enum { LANGUAGE = 16 };

/* The own spelling of a code in any spelling, or of a name that HCFY uses ("中文(简体)", "英语"). False: it is no language;
 * "auto" is none. */
bool language_of(const char *any, char code[LANGUAGE]);
/* Whether a and b, in the own spelling, are one language; scripts must be the same where both have one. */
bool language_same(const char *a, const char *b);
/* The English name, "Chinese (Simplified)", and the Chinese one, "中文(简体)"; the code itself if it is unknown. */
const char *language_name(const char *code);
const char *language_chinese_name(const char *code);

/* The language of a text: the own spelling and how sure, per cent. target: the language that it is to be translated into;
 * NULL: any. It is one of the sources that lead to the target, or the target itself, or another one if that is sure; of
 * NULL, a guess may be another one as well. With too little text to tell: the likeliest, confidence 0. */
typedef struct detected {
    char code[LANGUAGE];
    int confidence;
} detected;
void language_detect(const server *s, const char *data, size_t size, const char *target, detected *found);

#endif
