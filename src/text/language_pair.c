#include "text/language_pair.h"

#include <stdio.h>
#include <string.h>

#include "tokenizer/language_codes.h"

/* ------------------------------------------------------------------------------------------------------------ choosing */

/* A model of one language a side: refuses another one than the model names. */
static tr_status check_side(const tr_package *package, const char *side, const char *wanted, const char *has,
                            tr_error *error)
{
    char base[4];
    if (!wanted || !tr_language_base(has, base) || tr_language_match(wanted, has))
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s language %.40s: this model translates %s to %s", side, wanted,
                   *package->source_language ? package->source_language : "?",
                   *package->target_language ? package->target_language : "?");
}

/* The codes for a message, as many as fit. */
static void list_codes(const tr_languages *languages, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < languages->count; i++) {
        const char *code = languages->items[i].code;
        if (used + strlen(code) + sizeof ", ..." > room) {
            snprintf(out + used, room - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? ", " : "", code);
    }
}

static tr_status find_language(const tr_languages *languages, const char *side, const char *wanted, int *index,
                               tr_error *error)
{
    char codes[300];
    *index = tr_languages_find(languages, wanted);
    if (*index >= 0)
        return TR_OK;
    list_codes(languages, codes, sizeof codes);
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s language %.40s: the model does not have it, but %s", side, wanted, codes);
}

static tr_status fail_unnamed(const tr_languages *languages, const char *side, char letter, tr_error *error)
{
    return tr_fail(error, TR_ERROR_ARGUMENT,
                   "%s language: the model has %zu, name one (-%c LANG; translate info lists them)", side, languages->count,
                   letter);
}

static tr_status choose_source(tr_language_pair *pair, const char *wanted, tr_error *error)
{
    const tr_package *p = pair->package;
    const char *code = wanted ? wanted : p->source_language;
    pair->source_letters = tr_scripts_of_language(code);
    pair->source_figures = tr_figure_language_of(code);
    pair->source_unspaced = tr_language_is_unspaced(code);
    if (p->languages.source == TR_LANGUAGE_NOWHERE)
        return check_side(p, "source", wanted, p->source_language, error);
    if (!wanted && pair->tokenizer && *p->source_language)
        wanted = p->source_language;
    if (wanted) {
        const tr_status status = find_language(&p->languages, "source", wanted, &pair->source, error);
        if (status == TR_OK)
            code = p->languages.items[pair->source].code;
        pair->source_letters = tr_scripts_of_language(code);
        pair->source_figures = tr_figure_language_of(code);
        return status;
    }
    return pair->tokenizer ? fail_unnamed(&p->languages, "source", 's', error) : TR_OK;
}

/* The target language that the model's settings choose by themselves; -1: none. */
static int default_target(const tr_package *p)
{
    const int32_t id = p->languages.target == TR_LANGUAGE_TARGET_FIRST   ? p->config.forced_first_id
                       : p->languages.target == TR_LANGUAGE_TARGET_START ? p->config.start_id
                                                                         : -1;
    for (size_t i = 0; id >= 0 && i < p->languages.count; i++)
        if (p->languages.items[i].id == id)
            return (int)i;
    return -1;
}

/* The target language by the model's own code; "" if unknown. */
static const char *target_code(const tr_language_pair *pair)
{
    const tr_package *p = pair->package;
    return pair->target >= 0 ? p->languages.items[pair->target].code : p->target_language;
}

/* wanted: what the caller calls the target language, for models that do not name it; NULL: nothing. */
static void set_target(tr_language_pair *pair, const char *wanted)
{
    const char *known = target_code(pair), *code = *known || !wanted ? known : wanted;
    pair->target_letters = tr_scripts_of_language(code);
    pair->target_figures = tr_figure_language_of(code);
    pair->unspaced = tr_language_is_unspaced(code);
}

static tr_status choose_target(tr_language_pair *pair, const char *wanted, tr_error *error)
{
    const tr_package *p = pair->package;
    if (p->languages.target == TR_LANGUAGE_NOWHERE)
        return check_side(p, "target", wanted, p->target_language, error);
    /* a code that is none of the model's languages ("ROMANCE") chooses nothing */
    if (!wanted && pair->tokenizer && tr_languages_find(&p->languages, p->target_language) >= 0)
        wanted = p->target_language;
    if (wanted) {
        const tr_status status = find_language(&p->languages, "target", wanted, &pair->target, error);
        if (status != TR_OK)
            return status;
    } else {
        pair->target = default_target(p);
        if (pair->target < 0 && pair->tokenizer && p->languages.target != TR_LANGUAGE_SOURCE_FIRST)
            return fail_unnamed(&p->languages, "target", 't', error);
    }
    return TR_OK;
}

static bool is_traditional(const char *code)
{
    char script[5];
    if (code)
        tr_language_script(code, script);
    return code && strcmp(script, "hant") == 0;
}

/* ------------------------------------------------------------------------------------------------- the languages' tokens */

static void add_language_token(tr_language_pair *pair, tr_language_place place, int language)
{
    if (language < 0)
        return;
    const int32_t id = pair->package->languages.items[language].id;
    switch (place) {
    case TR_LANGUAGE_NOWHERE: break;
    case TR_LANGUAGE_SOURCE_FIRST: pair->prefix[pair->prefix_count++] = id; break;
    case TR_LANGUAGE_SOURCE_LAST:
        pair->suffix = id;
        pair->has_suffix = true;
        break;
    case TR_LANGUAGE_TARGET_START: pair->start = (tr_decoder_start){id, -1}; break;
    case TR_LANGUAGE_TARGET_FIRST: pair->start.first_id = id; break;
    }
}

/* Sets all that follows from the languages. */
static void set_tokens(tr_language_pair *pair, int max_positions)
{
    const tr_package *p = pair->package;
    pair->prefix_count = 0;
    if (p->config.source_start_id >= 0)
        pair->prefix[pair->prefix_count++] = p->config.source_start_id;
    pair->has_suffix = false;
    pair->eos_id = p->config.no_source_eos ? -1 : p->config.eos_id;
    pair->start = (tr_decoder_start){p->config.start_id, p->config.forced_first_id};
    add_language_token(pair, p->languages.source, pair->source);
    add_language_token(pair, p->languages.target, pair->target);
    pair->limit = max_positions - tr_source_added(pair);
    pair->typed = p->languages.target == TR_LANGUAGE_SOURCE_FIRST;
}

tr_status tr_language_pair_choose(const tr_package *package, const tr_tokenizer *tokenizer, int max_positions,
                                  const char *source, const char *target, tr_language_pair *pair, tr_error *error)
{
    *pair = (tr_language_pair){.package = package, .tokenizer = tokenizer, .source = -1, .target = -1};
    tr_status status = choose_source(pair, source, error);
    if (status == TR_OK)
        status = choose_target(pair, target, error);
    set_target(pair, target);
    set_tokens(pair, max_positions);
    const char *code = target_code(pair);
    if (is_traditional(target) && !is_traditional(code) && (!*code || tr_language_match("zh", code)))
        pair->traditional = package->traditional;
    if (status == TR_OK && tokenizer && pair->limit < 1)
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "model: its maximum length leaves no room for text besides EOS and the language tokens");
    return status;
}

size_t tr_language_pair_typed(const tr_language_pair *pair, const char *text, size_t size, tr_language_pair *typed)
{
    const tr_package *p = pair->package;
    size_t length;
    const int target = pair->typed ? tr_languages_typed(&p->languages, &p->source, text, size, &length) : -1;
    if (target < 0)
        return 0;
    *typed = *pair;
    typed->target = target;
    set_target(typed, NULL);
    set_tokens(typed, pair->limit + tr_source_added(pair));
    return typed->limit > 0 ? length : 0;
}

/* --------------------------------------------------------------------------------------------------- sources of tokens */

int tr_source_added(const tr_language_pair *pair)
{
    return pair->prefix_count + tr_source_added_after(pair);
}

int tr_source_added_after(const tr_language_pair *pair)
{
    return (pair->eos_id >= 0) + pair->has_suffix;
}

tr_status tr_source_check(const tr_language_pair *pair, const tr_tokens *source, size_t index, tr_error *error)
{
    const tr_config *config = &pair->package->config;
    const int added = tr_source_added(pair);
    if (!source->ids && source->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: its ids are NULL", index);
    if (pair->limit < 0 || source->count > (size_t)pair->limit)
        return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: %zu tokens%s, but the model takes %d", index, source->count,
                       added == 0                     ? ""
                       : config->source_start_id >= 0 ? " and the start token"
                       : added == 1                   ? " and EOS"
                                                      : ", EOS and those of languages",
                       pair->limit + added);
    for (size_t i = 0; i < source->count; i++)
        if (source->ids[i] < 0 || source->ids[i] >= config->source_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: token %zu is %d, not an id below %d", index, i,
                           (int)source->ids[i], config->source_vocabulary);
    return TR_OK;
}

int tr_source_lay_out(const tr_language_pair *pair, const tr_tokens *source, int32_t *ids)
{
    int n = 0;
    for (int i = 0; i < pair->prefix_count; i++)
        ids[n++] = pair->prefix[i];
    if (source->count)
        memcpy(ids + n, source->ids, source->count * sizeof *ids);
    n += (int)source->count;
    if (pair->eos_id >= 0 || source->count == 0)
        ids[n++] = pair->package->config.eos_id;
    if (pair->has_suffix)
        ids[n++] = pair->suffix;
    return n;
}
