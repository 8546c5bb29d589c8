/* Which language a text is in, by CLD2 (Compact Language Detector 2). */
#ifndef TR_DETECT_DETECT_H
#define TR_DETECT_DETECT_H

#ifdef __cplusplus
extern "C" {
#endif

#include "util/error.h"

typedef struct tr_detected {
    const char *code; /* one of codes, else CLD2's: "zh", "zh-Hant", "iw", see tokenizer/language_codes.h; lives as long as
                         codes. NULL: there is nothing to tell by */
    bool reliable;    /* else the best guess */
} tr_detected;

/* The language of text[0..size), in which anything that is not UTF-8 is passed over. codes[0..count), in any spelling, are
 * those that may be expected: another one is the result only where CLD2 is sure of it and sees none of them. count 0: all.
 * Guesses are reliable, too, where the script leaves no other of codes. Any number of threads may call it.
 * TR_ERROR_MEMORY: or a failure inside CLD2. */
tr_status tr_detect(const char *text, size_t size, const char *const *codes, size_t count, tr_detected *detected,
                    tr_error *error);

#ifdef __cplusplus
}
#endif
#endif
