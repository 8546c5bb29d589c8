/* Detects the language of a text with CLD2 (Compact Language Detector 2). */
#ifndef TR_DETECT_DETECT_H
#define TR_DETECT_DETECT_H

#ifdef __cplusplus
extern "C" {
#endif

#include "util/error.h"

typedef struct tr_detected {
    const char *code; /* one of codes, else CLD2's: "zh", "zh-Hant", "iw", see tokenizer/language_codes.h; lives as long as
                         codes. NULL: too little text */
    bool reliable;    /* else the best guess */
} tr_detected;

/* Detects the language of text[0..size); bytes that are not UTF-8 are ignored. codes[0..count), in any spelling, are the
 * expected languages: another one is returned only if CLD2 is sure of it and finds none of them. count 0: all are expected.
 * A guess is reliable, too, if only one of codes uses the script. Thread-safe. TR_ERROR_MEMORY: out of memory, or a failure
 * inside CLD2. */
tr_status tr_detect(const char *text, size_t size, const char *const *codes, size_t count, tr_detected *detected,
                    tr_error *error);

#ifdef __cplusplus
}
#endif
#endif
