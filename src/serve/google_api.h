/* Codes of languages as Google Translate has them, which other programs took over: "zh-CN", "zh-TW", "no". */
#ifndef TR_SERVE_GOOGLE_API_H
#define TR_SERVE_GOOGLE_API_H

/* Of a code in the spelling of languages.h: Google's, or the same. */
const char *google_code(const char *code);

#endif
