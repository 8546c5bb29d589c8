/* The language of a text: by CLD2 where the build has it, else by its letters. */
#include "serve/languages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/models.h"
#include "tokenizer/scripts.h"
#include "util/utf8.h"
#ifdef SERVE_DETECT
#include "detect/detect.h"
#endif

enum { SAMPLE = 1 << 14 };                   /* bytes of a text that are looked at */
enum { UNKNOWN = 0, GUESS = 50, SURE = 95 }; /* per cent */
enum { WORD = 4 };                           /* letters of other scripts */

/* ------------------------------------------------------------------------------------------------------------ candidates */

typedef struct candidates {
    const char **codes; /* [count] the likelier ones first */
    size_t count;
} candidates;

/* Of languages that share a script, most texts are in the first of these. */
static const char *const frequent[] = {"en", "zh-Hans", "ru", "ar", "hi"};

static bool is_frequent(const char *code)
{
    for (size_t i = 0; i < sizeof frequent / sizeof *frequent; i++)
        if (strcmp(frequent[i], code) == 0)
            return true;
    return false;
}

static bool has_code(const json_t *codes, const char *code)
{
    size_t i;
    json_t *item;
    json_array_foreach(codes, i, item) if (strcmp(json_string_value(item), code) == 0) return true;
    return false;
}

/* The sources, and last the target: a text may be in it already. */
static candidates list_candidates(const json_t *sources, const char *target)
{
    candidates c = {malloc((json_array_size(sources) + 1) * sizeof *c.codes), 0};
    size_t i;
    json_t *item;
    if (!c.codes)
        return c;
    for (i = 0; i < sizeof frequent / sizeof *frequent; i++)
        if (has_code(sources, frequent[i]))
            c.codes[c.count++] = frequent[i];
    json_array_foreach(sources, i, item) if (!is_frequent(json_string_value(item))) c.codes[c.count++] =
        json_string_value(item);
    if (*target && !has_code(sources, target))
        c.codes[c.count++] = target;
    return c;
}

/* --------------------------------------------------------------------------------------------------------------- scripts */

static bool is_word(tr_script script)
{
    return script == TR_HAN || script == TR_HIRAGANA || script == TR_KATAKANA || script == TR_HANGUL;
}

/* letters: [TR_SCRIPTS] receives how many the text has of each script; a character that is most of a word counts as several.
 * Returns their sum. */
static size_t count_letters(const char *data, size_t size, size_t *letters)
{
    size_t sum = 0;
    for (size_t at = 0, length; at < size; at += length) {
        const int32_t c = tr_utf8_decode(data + at, size - at, &length);
        const tr_script script = c < 0 ? TR_NO_LETTER : tr_script_of(c);
        const size_t weight = script == TR_NO_LETTER ? 0 : is_word(script) ? WORD : 1;
        letters[script] += weight;
        sum += weight;
    }
    return sum;
}

static size_t letters_of(const char *code, const size_t *letters)
{
    const tr_scripts scripts = tr_scripts_of_language(code);
    size_t sum = 0;
    for (int script = 0; script < TR_SCRIPTS; script++)
        if (scripts & tr_script_bit((tr_script)script))
            sum += letters[script];
    return sum;
}

/* The first candidate with most letters in its scripts. It is sure if no other has as many, and few languages use the
 * script. */
static void detect_by_script(const size_t *letters, const candidates *c, detected *found)
{
    const tr_scripts widespread = tr_script_bit(TR_LATIN) | tr_script_bit(TR_CYRILLIC) | tr_script_bit(TR_ARABIC);
    size_t best = 0, most = 0, alike = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t sum = letters_of(c->codes[i], letters);
        alike = sum > most ? 1 : alike + (sum == most);
        if (sum > most) {
            best = i;
            most = sum;
        }
    }
    const bool sure = alike == 1 && !(tr_scripts_of_language(c->codes[best]) & widespread);
    snprintf(found->code, sizeof found->code, "%s", c->codes[best]);
    found->confidence = !most ? UNKNOWN : sure ? SURE : GUESS;
}

/* ------------------------------------------------------------------------------------------------------------- detection */

static bool is_candidate(const candidates *c, const char *code)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->codes[i], code) == 0)
            return true;
    return false;
}

/* In short and mixed texts the scripts tell more than a guess by words: Chinese has Latin names in it, and no kana. */
static bool is_likelier(const detected *by_words, const detected *by_script, const size_t *letters)
{
    const size_t most = letters_of(by_script->code, letters);
    return by_script->confidence != UNKNOWN && letters_of(by_words->code, letters) == most && most != letters[TR_HAN];
}

#ifdef SERVE_DETECT
static bool detect_by_words(const char *data, size_t size, const candidates *c, detected *found)
{
    tr_detected result;
    if (tr_detect(data, size, c->codes, c->count, &result, NULL) != TR_OK || !result.code ||
        !language_of(result.code, found->code))
        return false;
    found->confidence = result.reliable ? SURE : GUESS;
    return true;
}
#else
static bool detect_by_words(const char *data, size_t size, const candidates *c, detected *found)
{
    (void)data, (void)size, (void)c, (void)found;
    return false;
}
#endif

void language_detect(const server *s, const char *data, size_t size, const char *target, detected *found)
{
    char to[LANGUAGE] = "";
    const json_t *sources = target && language_of(target, to) ? models_sources_of(s->models, to) : NULL;
    if (!sources)
        sources = models_sources(s->models);
    candidates c = list_candidates(sources, to);
    *found = (detected){.code = "en"};
    size_t letters[TR_SCRIPTS] = {0};
    size = size < SAMPLE ? size : SAMPLE;
    if (c.count) {
        const size_t sum = count_letters(data, size, letters);
        detect_by_script(letters, &c, found);
        detected guess;
        if (sum && detect_by_words(data, size, &c, &guess) &&
            (guess.confidence == SURE || (is_candidate(&c, guess.code) ? is_likelier(&guess, found, letters) : !target)))
            *found = guess;
    }
    free(c.codes);
}
