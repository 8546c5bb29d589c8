#include "text/pair.h"

#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "text/sources.h"
#include "tokenizer/language_codes.h"

/* ------------------------------------------------------------------------------------------------------------ choosing */

/* One side of a pair that the model is made for: what it calls the language, if it says. */
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

static tr_status find(const tr_languages *languages, const char *side, const char *wanted, int *index, tr_error *error)
{
    char codes[300];
    *index = tr_languages_find(languages, wanted);
    if (*index >= 0)
        return TR_OK;
    list_codes(languages, codes, sizeof codes);
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s language %.40s: the model does not have it, but %s", side, wanted, codes);
}

static tr_status must_name(const tr_languages *languages, const char *side, char letter, tr_error *error)
{
    return tr_fail(error, TR_ERROR_ARGUMENT,
                   "%s language: the model has %zu, name one (-%c LANG; translate info lists them)", side, languages->count,
                   letter);
}

static tr_status choose_source(tr_pair *c, const char *wanted, bool texts, tr_error *error)
{
    const tr_package *p = &c->model->package;
    if (p->languages.source == TR_LANGUAGE_NOWHERE)
        return check_side(p, "source", wanted, p->source_language, error);
    if (!wanted && texts && *p->source_language)
        wanted = p->source_language;
    if (wanted)
        return find(&p->languages, "source", wanted, &c->source, error);
    return texts ? must_name(&p->languages, "source", 's', error) : TR_OK;
}

/* The language that the model's settings choose where nobody does. */
static int settled_target(const tr_package *p)
{
    const int32_t id = p->languages.target == TR_LANGUAGE_TARGET_FIRST   ? p->config.forced_first_id
                       : p->languages.target == TR_LANGUAGE_TARGET_START ? p->config.start_id
                                                                         : -1;
    for (size_t i = 0; id >= 0 && i < p->languages.count; i++)
        if (p->languages.items[i].id == id)
            return (int)i;
    return -1;
}

static tr_status choose_target(tr_pair *c, const char *wanted, bool texts, tr_error *error)
{
    const tr_package *p = &c->model->package;
    c->target_code = p->target_language;
    if (p->languages.target == TR_LANGUAGE_NOWHERE)
        return check_side(p, "target", wanted, p->target_language, error);
    /* a code that the model does not have among its own ("ROMANCE") chooses nothing */
    if (!wanted && texts && tr_languages_find(&p->languages, p->target_language) >= 0)
        wanted = p->target_language;
    if (wanted) {
        const tr_status status = find(&p->languages, "target", wanted, &c->target, error);
        if (status != TR_OK)
            return status;
    } else {
        c->target = settled_target(p);
        if (c->target < 0 && texts && p->languages.target != TR_LANGUAGE_SOURCE_FIRST)
            return must_name(&p->languages, "target", 't', error);
    }
    if (c->target >= 0)
        c->target_code = p->languages.items[c->target].code;
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------ placing */

static void place(tr_pair *c, tr_language_place where, int language)
{
    const tr_languages *languages = &c->model->package.languages;
    if (language < 0)
        return;
    const int32_t id = languages->items[language].id;
    switch (where) {
    case TR_LANGUAGE_NOWHERE: break;
    case TR_LANGUAGE_SOURCE_FIRST: c->prefix[c->prefix_count++] = id; break;
    case TR_LANGUAGE_SOURCE_LAST:
        c->suffix = id;
        c->has_suffix = true;
        break;
    case TR_LANGUAGE_TARGET_START: c->start = (tr_decoder_start){id, -1}; break;
    case TR_LANGUAGE_TARGET_FIRST: c->start.first_id = id; break;
    }
}

static void place_both(tr_pair *c)
{
    const tr_package *p = &c->model->package;
    c->prefix_count = 0;
    c->has_suffix = false;
    c->start = (tr_decoder_start){p->config.start_id, p->config.forced_first_id};
    place(c, p->languages.source, c->source);
    place(c, p->languages.target, c->target);
}

tr_status tr_pair_choose(const tr_model *model, const char *source, const char *target, bool texts, tr_pair *pair,
                         tr_error *error)
{
    *pair = (tr_pair){
        .model = model, .max_positions = model->package.config.max_positions, .source = -1, .target = -1, .target_code = ""};
    tr_status status = choose_source(pair, source, texts, error);
    if (status == TR_OK)
        status = choose_target(pair, target, texts, error);
    place_both(pair);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ encoding */

static tr_status encode(const void *argument, const char *text, size_t size, tr_ids *ids, tr_error *error)
{
    return tr_tokenizer_encode(argument, text, size, ids, error);
}

static void take_marks(const tr_pair *pair, tr_source_template *encoder)
{
    memcpy(encoder->prefix, pair->prefix, sizeof encoder->prefix);
    encoder->prefix_count = pair->prefix_count;
    encoder->suffix = pair->suffix;
    encoder->has_suffix = pair->has_suffix;
    encoder->limit = pair->max_positions - tr_source_marks(&pair->model->package.config, pair);
    encoder->unspaced = tr_language_is_unspaced(pair->target_code);
}

static size_t take_typed(const tr_source_template *encoder, const char *text, size_t size, tr_source_template *own)
{
    const tr_pair *pair = encoder->typed_argument;
    const tr_package *p = &pair->model->package;
    tr_pair typed = *pair;
    size_t length;
    typed.target = tr_languages_typed(&p->languages, &p->source, text, size, &length);
    if (typed.target < 0)
        return 0;
    place_both(&typed);
    typed.target_code = p->languages.items[typed.target].code;
    *own = *encoder;
    take_marks(&typed, own);
    return own->limit > 0 ? length : 0;
}

tr_status tr_pair_template(const tr_pair *pair, tr_source_template *encoder, tr_error *error)
{
    const tr_model *model = pair->model;
    *encoder = (tr_source_template){.encode = encode,
                                    .argument = model->tokenizer,
                                    .eos_id = model->package.config.no_source_eos ? -1 : model->package.config.eos_id,
                                    .typed_argument = pair};
    if (!model->tokenizer)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
    take_marks(pair, encoder);
    if (model->package.languages.target == TR_LANGUAGE_SOURCE_FIRST)
        encoder->typed = take_typed;
    if (encoder->limit < 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it takes no token besides the end mark");
    return TR_OK;
}
