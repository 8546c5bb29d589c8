#define _GNU_SOURCE
#include "text/protect.h"

#include <string.h>

#include "text/capitals.h"
#include "text/span_scan.h"
#include "tokenizer/language_codes.h"
#include "util/utf8.h"

const tr_stand_ins tr_common_stand_ins = {
    .names = {"Q7", "Zx", "Q8", "X1", "USB", "Z9", "X5", "K8", "W3", "Y6", "T4", "R2", "V8", "J5", "GPS", "M9"},
    .count = 16,
};

tr_protection tr_protection_of(const tr_language_pair *pair)
{
    const tr_figure_language from = pair->source_figures, to = pair->target_figures;
    return (tr_protection){.source = pair->source_letters,
                           .target = pair->target_letters,
                           .from = to == TR_FIGURES_DIGITS ? to : from,
                           .to = from == TR_FIGURES_DIGITS ? from : to,
                           .spaces = pair->source_unspaced && !pair->unspaced,
                           .symbols = pair->package->copy_symbols.size >= TR_CHUNK_WORDS};
}

const tr_stand_in_use *tr_uses_of(const tr_text_chunk *chunk)
{
    const tr_stand_in_use *all = (const tr_stand_in_use *)(const void *)(chunk->plan ? chunk->plan->uses.data : NULL);
    return chunk->use_count ? all + chunk->first_use : NULL;
}

bool tr_use_append(const tr_text_chunk *chunk, const char *text, const tr_stand_in_use *use, bool plural, tr_buffer *out)
{
    const tr_kept_span *span = &use->span;
    const char *written = chunk->plan->written.data + span->written;
    if (!span->is_written)
        return tr_buffer_append(out, text + span->begin, span->end - span->begin);
    return plural && span->is_term ? tr_append_plural(written, span->written_size, out)
                                   : tr_buffer_append(out, written, span->written_size);
}

/* -------------------------------------------------------------------------------------------------------------- the source
 */

/* Numbers that stand for numbers: networks copy small ones, and words around them fit. */
static const char *const numbers[] = {"37", "58", "46", "29", "63", "84", "52", "79", "36", "47", "68", "93"};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

typedef struct stand_in_name {
    char text[TR_STAND_IN_SIZE + 2];
    size_t size;
} stand_in_name;

static stand_in_name name_of(const tr_text_chunk *chunk, tr_stand_in_kind kind, int stand_in)
{
    stand_in_name name = {.size = 0};
    const char *from = kind == TR_STAND_IN_WORD ? chunk->plan->stand_ins->names[stand_in] : numbers[stand_in];
    name.size = strlen(from);
    memcpy(name.text, from, name.size + 1);
    if (kind == TR_STAND_IN_PERCENT) {
        name.text[name.size++] = '%';
        name.text[name.size] = 0;
    }
    return name;
}

/* A stand-in that neither the text nor a use before holds; -1: there is none. */
static int choose_stand_in(const tr_stand_ins *words, int attempt, const char *text, size_t size, tr_stand_in_kind kind,
                           const tr_stand_in_use *uses, int count)
{
    const bool word = kind == TR_STAND_IN_WORD;
    const int all = word ? words->count : NUMBERS, first = attempt * all / TR_ATTEMPTS;
    for (int i = 0; i < all; i++) {
        const int candidate = (first + i) % all;
        const char *name = word ? words->names[candidate] : numbers[candidate];
        bool used = memmem(text, size, name, strlen(name)) != NULL;
        for (int k = 0; k < count && !used; k++)
            used = (uses[k].span.stand_in == TR_STAND_IN_WORD) == word && uses[k].stand_in == candidate;
        if (!used)
            return candidate;
    }
    return -1;
}

tr_status tr_uses_add(tr_plan *plan, const tr_protection *protection, const char *text, const tr_kept_span *spans,
                      size_t count, size_t begin, size_t end, tr_text_chunk *chunk, tr_error *error)
{
    tr_stand_in_use uses[TR_CHUNK_SPANS];
    tr_status status = TR_OK;
    for (size_t i = 0; i < count && !plan->stand_ins && status == TR_OK; i++)
        if (tr_has_stand_in(&spans[i]) && spans[i].stand_in == TR_STAND_IN_WORD)
            status = protection->find_stand_ins(protection->argument, &plan->stand_ins, error);
    if (status != TR_OK)
        return status;
    chunk->plan = plan;
    chunk->first_use = plan->uses.size / sizeof(tr_stand_in_use);
    chunk->use_count = 0;
    for (size_t i = 0; i < count && i < TR_CHUNK_SPANS; i++) {
        const bool has_none = !tr_has_stand_in(&spans[i]);
        const int chosen = has_none ? -1
                                    : choose_stand_in(plan->stand_ins, protection->attempt, text + begin, end - begin,
                                                      spans[i].stand_in, uses, chunk->use_count);
        if (chosen < 0 && !has_none)
            break;
        uses[chunk->use_count++] = (tr_stand_in_use){spans[i], chosen};
    }
    const size_t size = (size_t)chunk->use_count * sizeof *uses;
    return !size || tr_buffer_append(&plan->uses, uses, size) ? TR_OK : tr_fail_memory(error, "protected spans");
}

static bool append_text(const tr_text_chunk *chunk, const char *text, size_t begin, size_t end, bool first, tr_buffer *out)
{
    return chunk->capitals ? tr_append_small(text, begin, end, first, out)
                           : tr_buffer_append(out, text + begin, end - begin);
}

/* A stand-in does not grow together with letters and digits around it, nor do those on both sides of a tag. */
tr_status tr_uses_mask(const tr_text_chunk *chunk, const char *text, size_t begin, size_t end, tr_buffer *out,
                       tr_span *places, tr_error *error)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    size_t at = begin;
    bool good = true;
    for (int i = 0; good && i < chunk->use_count; i++) {
        const tr_kept_span *span = &uses[i].span;
        const bool is_tag = tr_is_aligned(span);
        const bool before = span->begin > begin && tr_is_identifier(text[span->begin - 1]);
        const bool after = span->end < end && tr_is_identifier(text[span->end]);
        const stand_in_name name =
            !tr_has_stand_in(span) ? (stand_in_name){.size = 0} : name_of(chunk, span->stand_in, uses[i].stand_in);
        good = append_text(chunk, text, at, span->begin, at == begin, out);
        if (places)
            places[i].begin = out->size;
        if (good && before && (after || !is_tag))
            good = tr_buffer_string(out, " ");
        if (span->kind == TR_SPAN_DIGITS)
            good = good && tr_use_append(chunk, text, &uses[i], false, out);
        good = good && tr_buffer_append(out, name.text, name.size);
        if (good && after && !is_tag)
            good = tr_buffer_string(out, " ");
        if (places)
            places[i].end = out->size;
        at = span->end;
    }
    return good && append_text(chunk, text, at, end, at == begin, out) ? TR_OK : tr_fail_memory(error, "protected spans");
}

/* --------------------------------------------------------------------------------------------------------- the translation
 */

/* Whether what lies around a stand-in in a translation makes another word or number of it. */
static bool is_glued(const char *text, size_t size, size_t begin, size_t end)
{
    const bool digits = tr_is_ascii_digit(text[begin]);
    if (begin && tr_is_identifier(text[begin]) && tr_is_identifier(text[begin - 1]))
        return true;
    if (end < size && tr_is_identifier(text[end]) && tr_is_identifier(text[end - 1]))
        return true;
    if (digits && begin > 1 && (text[begin - 1] == '.' || text[begin - 1] == ',') && tr_is_ascii_digit(text[begin - 2]))
        return true;
    return digits && end + 1 < size && (text[end] == '.' || text[end] == ',') && tr_is_ascii_digit(text[end + 1]);
}

/* The stand-in's only place in the translation; false: it has none, or several. */
static bool find_stand_in(stand_in_name name, const char *translation, size_t size, tr_use_place *place)
{
    int found = 0;
    for (size_t from = 0; from + name.size <= size;) {
        const char *at = memmem(translation + from, size - from, name.text, name.size);
        if (!at)
            break;
        place->begin = (size_t)(at - translation);
        place->end = place->begin + name.size;
        from = place->end;
        if (is_glued(translation, size, place->begin, place->end))
            return false;
        found++;
    }
    return found == 1;
}

bool tr_is_copied(const char *name, const char *translation, size_t size)
{
    stand_in_name own = {.size = strlen(name)};
    tr_use_place place;
    memcpy(own.text, name, own.size + 1);
    return find_stand_in(own, translation, size, &place);
}

/* Format directives without numbers take arguments in the order in which they stand. */
static bool is_in_order(const tr_stand_in_use *uses, const tr_use_place *places, int count)
{
    int last = -1;
    for (int i = 0; i < count; i++) {
        if (uses[places[i].use].span.kind != TR_SPAN_PRINTF)
            continue;
        if (places[i].use < last)
            return false;
        last = places[i].use;
    }
    return true;
}

bool tr_uses_find(const tr_text_chunk *chunk, const char *text, const char *translation, size_t size, tr_use_place *places,
                  int *count)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    bool all = true;
    *count = 0;
    for (int i = 0; i < chunk->use_count; i++) {
        const tr_kept_span *span = &uses[i].span;
        tr_use_place place = {.use = i};
        if (!tr_has_stand_in(span))
            continue;
        if (!find_stand_in(name_of(chunk, span->stand_in, uses[i].stand_in), translation, size, &place)) {
            all = false;
            continue;
        }
        all = all && (span->is_written || span->is_target ||
                      !memmem(translation, size, text + span->begin, span->end - span->begin));
        int k = (*count)++;
        for (; k && places[k - 1].begin > place.begin; k--)
            places[k] = places[k - 1];
        places[k] = place;
    }
    return all && is_in_order(uses, places, *count);
}
