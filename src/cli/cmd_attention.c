/* translate attention TEXT -o FILE: attention weights as a page, a picture or arrays. */
#define _GNU_SOURCE
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/pieces.h"
#include "cli/signals.h"
#include "api/model.h"
#include "text/language_pair.h"
#include "util/utf8.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------------ the form */

typedef struct form {
    const char *ending, *name;
    uint64_t max_weights;
    tr_status (*make)(const tr_view *view, tr_buffer *out, tr_error *error);
} form;

static const form forms[] = {
    {".html", "the page", TR_VIEW_MAX_PAGE, tr_view_page},
    {".svg", "a picture", TR_VIEW_MAX_SVG, tr_view_svg},
    {".npz", "an archive", TR_VIEW_MAX_NPZ, tr_view_npz},
};

static const form *find_form(const char *file)
{
    for (size_t i = 0; file && i < sizeof forms / sizeof *forms; i++)
        if (tr_ends_with(file, forms[i].ending))
            return &forms[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ the text */

typedef struct look {
    const cli_settings *settings;
    const form *form;
    cli_model model;
    tr_language_pair pair;
    const char *source_language, *target_language; /* codes for the library */
    tr_buffer text;
    char *translation;
    tr_tokens source, target;
    tr_score *score;
    int32_t *rows;       /* [row_count] token ids of the encoder: the source and the special tokens around it */
    tr_view_text *names; /* [row_count + 2 steps] */
    int32_t *alignment;  /* [steps] */
    int row_count;
    bool cut; /* the translation was stopped before EOS */
} look;

/* The model's code of the language at an index; NULL: the model has no choice. */
static const char *code_of(const look *l, int index)
{
    return index < 0 ? NULL : l->model.model->package.languages.items[index].code;
}

static int choose_languages(look *l)
{
    const cli_settings *s = l->settings;
    tr_error error;
    const tr_model *model = l->model.model;
    if (tr_language_pair_choose(&model->package, s->tokens ? NULL : model->tokenizer, model->package.config.max_positions,
                                s->source, s->target, &l->pair, &error))
        return error.status == TR_ERROR_ARGUMENT ? cli_usage(s, "%s", error.message) : cli_fail_error(&error);
    l->source_language = code_of(l, l->pair.source);
    l->target_language = code_of(l, l->pair.target);
    return CLI_DONE;
}

/* Tokens of a text, or, with --tokens, of pieces. */
static int parse_tokens(look *l, cli_side side, const char *text, size_t size, tr_tokens *tokens)
{
    tr_error error;
    if (!l->settings->tokens) {
        const tr_status status = side == CLI_SOURCE ? tr_source_tokens(l->model.model, text, size, tokens, &error)
                                                    : tr_target_tokens(l->model.model, text, size, tokens, &error);
        return status == TR_OK ? CLI_DONE : cli_fail_error(&error);
    }
    tr_ids ids = {0};
    const int status = cli_parse_pieces(&l->model, side, text, size, 0, &ids);
    *tokens = (tr_tokens){ids.data, ids.size};
    return status;
}

/* Puts the token of the language before the target, if the model needs it and the text does not have it. */
static int prepend_language(look *l)
{
    const int32_t first = l->pair.start.first_id;
    tr_ids ids = {0};
    if (first < 0 || (l->target.count && l->target.ids[0] == first))
        return CLI_DONE;
    const bool good = tr_ids_append(&ids, &first, 1) && tr_ids_append(&ids, l->target.ids, l->target.count);
    tr_tokens_free(&l->target);
    l->target = (tr_tokens){ids.data, ids.size};
    return good ? CLI_DONE : cli_fail_memory();
}

static int translate_source(look *l)
{
    tr_error error;
    tr_tokens *targets;
    tr_translate_options options = tr_translate_default_options();
    options.source_language = l->source_language;
    options.target_language = l->target_language;
    if (tr_translate_ids(l->model.context, &l->source, 1, &options, &targets, &error))
        return cli_fail_error(&error);
    const size_t model_max = (size_t)l->model.info.max_target_length, max = (size_t)options.max_length;
    l->target = targets[0];
    l->cut = l->target.count == (max < model_max ? max : model_max);
    free(targets);
    return CLI_DONE;
}

static int find_tokens(look *l)
{
    const char *given = l->settings->translation;
    int status = cli_join_arguments(l->settings, &l->text);
    if (!status)
        status = parse_tokens(l, CLI_SOURCE, l->text.data, l->text.size, &l->source);
    if (!status && !l->source.count)
        return cli_fail("TEXT: has no tokens to show");
    if (!status && given)
        status = parse_tokens(l, CLI_TARGET, given, strlen(given), &l->target);
    if (status)
        return status;
    return given ? prepend_language(l) : translate_source(l);
}

/* -------------------------------------------------------------------------------------------------------- the numbers */

/* Steps of the decoder: the target's tokens and EOS, if it was generated. */
static int count_steps(const look *l)
{
    return (int)l->target.count + !l->cut;
}

/* Refuses maps that are too large for the form before they are computed. A target that is too long for the model is reported
 * by tr_score_tokens. */
static int check_size(const look *l)
{
    const tr_model_info *i = &l->model.info;
    const int rows = l->row_count, steps = count_steps(l);
    if (l->target.count > (size_t)i->max_target_length)
        return CLI_DONE;
    const tr_view view = {.encoder = {i->encoder_layers, i->encoder_heads, rows, rows, NULL},
                          .decoder = {i->decoder_layers, i->decoder_heads, steps, steps, NULL},
                          .cross = {i->decoder_layers, i->decoder_heads, steps, rows, NULL}};
    tr_error error;
    return tr_view_fits(&view, l->form->max_weights, l->form->name, &error) ? cli_fail_error(&error) : CLI_DONE;
}

static int compute_attention(look *l)
{
    tr_error error;
    tr_score_options options = tr_score_default_options();
    options.source_language = l->source_language;
    options.target_language = l->target_language;
    options.no_end = l->cut;
    options.encoder_attention = options.decoder_attention = options.cross_attention = options.align = true;
    l->rows = calloc(l->source.count + (size_t)tr_source_added(&l->pair) + 1, sizeof *l->rows);
    if (!l->rows)
        return cli_fail_memory();
    l->row_count = tr_source_lay_out(&l->pair, &l->source, l->rows);
    const int status = check_size(l);
    if (!status && tr_score_ids(l->model.context, &l->source, &l->target, 1, &options, &l->score, &error))
        return cli_fail_error(&error);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ the view */

static tr_view_text piece_of(const look *l, cli_side side, int32_t id)
{
    tr_view_text text = {"", 0};
    const char *piece = side == CLI_SOURCE ? tr_source_piece(l->model.model, id, &text.size)
                                           : tr_target_piece(l->model.model, id, &text.size);
    if (piece)
        text.data = piece;
    return text;
}

/* A map that the model does not have (recurrent decoders have no self-attention) gets no layers. */
static tr_attention_map map_of(const tr_attention_map *map, int rows, int columns)
{
    return map->weights ? *map : (tr_attention_map){0, 0, rows, columns, NULL};
}

/* A link's source counts the source's own tokens, without special ones. Each target token has at most one link. */
static void fill_alignment(const look *l)
{
    for (int i = 0; i < count_steps(l); i++)
        l->alignment[i] = -1;
    for (size_t i = 0; i < l->score->alignment.count; i++) {
        const tr_link *link = &l->score->alignment.links[i];
        l->alignment[link->target] = link->source + l->score->first_source;
    }
}

static bool fill_names(look *l)
{
    const size_t rows = (size_t)l->row_count, steps = (size_t)count_steps(l), targets = l->target.count;
    l->names = calloc(rows + 2 * steps + 1, sizeof *l->names);
    l->alignment = calloc(steps + 1, sizeof *l->alignment);
    if (!l->names || !l->alignment)
        return false;
    tr_view_text *target = l->names + rows, *inputs = target + steps;
    for (size_t i = 0; i < rows; i++)
        l->names[i] = piece_of(l, CLI_SOURCE, l->rows[i]);
    for (size_t i = 0; i < steps; i++) {
        target[i] = piece_of(l, CLI_TARGET, i < targets ? l->target.ids[i] : l->model.info.eos_id);
        inputs[i] = i ? target[i - 1] : piece_of(l, CLI_TARGET, l->pair.start.id);
    }
    fill_alignment(l);
    return true;
}

static tr_view_text text_of(const char *s)
{
    return (tr_view_text){s, strlen(s)};
}

/* The model's name, else that of its file. */
static tr_view_text model_name(const look *l)
{
    const char *slash = strrchr(l->model.path, '/');
    return text_of(*l->model.info.name ? l->model.info.name : slash && slash[1] ? slash + 1 : l->model.path);
}

static int set_translation(look *l)
{
    tr_error error;
    tr_buffer pieces = {0};
    if (l->settings->translation)
        l->translation = strdup(l->settings->translation);
    else if (!l->settings->tokens) {
        if (tr_tokens_text(l->model.model, l->target.ids, l->target.count, &l->translation, NULL, &error))
            return cli_fail_error(&error);
    } else if (cli_print_pieces(&l->model, CLI_TARGET, l->target.ids, l->target.count, &pieces) &&
               tr_buffer_string(&pieces, ""))
        l->translation = pieces.data;
    else
        tr_buffer_free(&pieces);
    return l->translation ? CLI_DONE : cli_fail_memory();
}

static int render_view(look *l, tr_buffer *out)
{
    if (!fill_names(l))
        return cli_fail_memory();
    const int rows = l->row_count, steps = count_steps(l);
    const tr_view view = {.model = model_name(l),
                          .text = {l->text.data, l->text.size},
                          .translation = text_of(l->translation),
                          .source = l->names,
                          .target = l->names + rows,
                          .inputs = l->names + rows + steps,
                          .source_count = (size_t)rows,
                          .target_count = (size_t)steps,
                          .log_probabilities = l->score->log_probabilities,
                          .alignment = l->alignment,
                          .encoder = map_of(&l->score->encoder, rows, rows),
                          .decoder = map_of(&l->score->decoder, steps, steps),
                          .cross = map_of(&l->score->cross, steps, rows)};
    tr_error error;
    return l->form->make(&view, out, &error) ? cli_fail_error(&error) : CLI_DONE;
}

/* ----------------------------------------------------------------------------------------------------------- the whole */

static int write_file(const cli_settings *settings, const tr_buffer *file)
{
    cli_output output;
    if (!cli_catch_interrupts())
        return cli_fail("signals: cannot be caught, too many open files");
    int status = cli_output_open(&output, settings, -1);
    if (!status)
        status = cli_output_write(&output, file->data, file->size);
    if (!status && cli_interrupted())
        status = CLI_FAILED;
    if (!status)
        status = cli_output_finish(&output);
    if (status)
        cli_output_abandon(&output);
    return status && cli_interrupted() ? 128 + cli_interrupted() : status;
}

static int show_attention(look *l, tr_buffer *file)
{
    int status = choose_languages(l);
    if (!status)
        status = find_tokens(l);
    if (!status)
        status = compute_attention(l);
    if (!status)
        status = set_translation(l);
    if (!status)
        status = render_view(l, file);
    return status ? status : write_file(l->settings, file);
}

int cli_attention(const cli_settings *settings)
{
    look l = {.settings = settings, .form = find_form(settings->output)};
    tr_buffer file = {0};
    if (!l.form)
        return cli_usage(settings, "--output %s: give a file that ends in .html (a page), .svg (a picture) or .npz (arrays)",
                         settings->output ? settings->output : "FILE");
    int status = cli_model_open(&l.model, settings, true);
    if (status)
        return status;
    if (!settings->tokens && !l.model.info.has_tokenizer)
        status = cli_fail("%s: the model has no tokenizer; give it pieces, with --tokens", l.model.path);
    if (!status)
        status = cli_check_no_model(settings, settings->output, &l.model.model->package);
    if (!status)
        status = show_attention(&l, &file);
    tr_score_array_free(l.score, 1);
    tr_tokens_free(&l.source);
    tr_tokens_free(&l.target);
    tr_buffer_free(&l.text);
    tr_buffer_free(&file);
    tr_free(l.translation);
    free(l.rows);
    free(l.names);
    free(l.alignment);
    cli_model_close(&l.model);
    return status;
}
