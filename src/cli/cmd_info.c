/* translate info FILE */
#include "cli/cli.h"
#include "cli/info_models.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/signals.h"
#include "formats/gguf/gguf.h"
#include "formats/int8.h"
#include "formats/open.h"
#include "util/folder.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = TR_TYPE_BLOCKS + 1 };

typedef struct summary {
    const tr_package *package;
    uint64_t parameters;
    uint64_t tensors[TYPES], bytes[TYPES]; /* by type */
    tr_type type;                          /* of the matrices, as they are computed with */
    bool verified;
} summary;

/* An int8 matrix counts as one tensor with its scales and sums, and as many parameters as its shape, without padding. */
static void count_tensor(summary *s, const tr_tensor *t)
{
    char name[TR_TENSOR_NAME];
    tr_matrix matrix;
    const tr_packed_part part = tr_packed_part_of(&s->package->weights, t, name);
    s->bytes[part == TR_PACKED_NONE ? t->type : TR_TYPE_I8] += t->bytes;
    if (part == TR_PACKED_BESIDE)
        return;
    s->tensors[t->type]++;
    if (part == TR_PACKED_NONE)
        s->parameters += tr_tensor_elements(t);
    else if (tr_packed_matrix(&s->package->weights, &s->package->config, t, &matrix, NULL) == TR_OK)
        s->parameters += (uint64_t)matrix.outputs * (uint64_t)matrix.inputs;
}

static summary summarise(const tr_package *package)
{
    summary s = {.package = package, .type = package->directory ? TR_TYPE_F32 : tr_lossless_type(&package->weights)};
    for (size_t i = 0; i < package->weights.count; i++)
        count_tensor(&s, package->weights.tensors[i]);
    return s;
}

static const tr_piece *target_piece(const tr_package *package, int id)
{
    const bool known = id >= 0 && (size_t)id < package->target->size && package->target->pieces[id].data;
    return known ? &package->target->pieces[id] : NULL;
}

/* --------------------------------------------------------------------------------------------------------------- JSON */

static json_t *json_id(int id)
{
    return id < 0 ? json_null() : json_integer(id);
}

static json_t *json_weights(const summary *s)
{
    json_t *object = json_object();
    for (int type = 0; type < TYPES; type++)
        if (s->tensors[type])
            object = tr_json_set(
                object, cli_type_name((tr_type)type),
                json_pack("{s:I, s:I}", "tensors", (json_int_t)s->tensors[type], "bytes", (json_int_t)s->bytes[type]));
    return object;
}

static json_t *json_tokens(const tr_config *c)
{
    json_t *forbidden = json_array();
    for (int i = 0; i < c->forbidden_count; i++)
        forbidden = tr_json_append(forbidden, json_integer(c->forbidden[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "start", json_id(c->start_id), "end", json_id(c->eos_id), "pad",
                     json_id(c->pad_id), "unk", json_id(c->unk_id), "forced_first", json_id(c->forced_first_id),
                     "forced_last", json_id(c->forced_last_id), "forbidden", forbidden);
}

static json_t *json_shape(const tr_config *c)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:s, s:s, s:i, s:b, s:b, s:b, s:b, s:s, s:f}",
                     "d_model", c->d_model, "encoder_layers", c->encoder_layers, "decoder_layers", c->decoder_layers,
                     "encoder_heads", c->encoder_heads, "decoder_heads", c->decoder_heads, "encoder_head_size",
                     tr_config_head_size(c, c->encoder_heads), "decoder_head_size", tr_config_head_size(c, c->decoder_heads),
                     "encoder_ffn", c->encoder_ffn, "decoder_ffn", c->decoder_ffn, "norm", tr_norm_name(c->norm), "gated",
                     c->gated, "activation", tr_activation_name(c->activation), "positions", tr_positions_name(c->positions),
                     "max_positions", c->max_positions, "pre_norm", c->pre_norm, "post_norm", c->post_norm, "final_norm",
                     c->final_norm, "embedding_norm", c->embedding_norm, "history", tr_decoder_mixer_name(c->mixer),
                     "embedding_scale", (double)c->embedding_scale);
}

static json_t *json_languages(const tr_languages *l)
{
    json_t *codes = json_array();
    for (size_t i = 0; i < l->count; i++)
        codes = tr_json_append(codes, json_string(l->items[i].code));
    return codes;
}

/* Whether the path and the model's own texts are UTF-8, which JSON needs. */
static bool has_valid_texts(const char *path, const tr_package *p)
{
    bool good = tr_utf8_valid(path, strlen(path)) && tr_utf8_valid(p->architecture, strlen(p->architecture)) &&
                tr_utf8_valid(p->name, strlen(p->name)) && tr_utf8_valid(p->source_language, strlen(p->source_language)) &&
                tr_utf8_valid(p->target_language, strlen(p->target_language));
    for (size_t i = 0; i < p->languages.count; i++)
        good = good && tr_utf8_valid(p->languages.items[i].code, strlen(p->languages.items[i].code));
    return good;
}

static int print_json(const char *path, const summary *s)
{
    const tr_package *p = s->package;
    char checksum[17];
    if (!has_valid_texts(path, p))
        return cli_fail("%s: its name or one of its texts is not UTF-8", path);
    snprintf(checksum, sizeof checksum, "%016" PRIx64, p->checksum);
    const bool bpe = p->source_bpe.data != NULL;
    json_t *tokenizer = p->source_spm.data || bpe
                            ? json_pack("{s:s, s:I, s:b}", "type", bpe ? "bpe" : "sentencepiece", "source_pieces",
                                        (json_int_t)p->source.size, "target_model", p->target_spm.data != NULL)
                            : json_null();
    json_t *object = json_pack(
        "{s:s%, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:i, s:i, s:b, s:o, s:o, s:o, s:s, s:I, s:s?, s:b, s:b, s:i}",
        "file", path, strlen(path), "format", p->format, "architecture", p->architecture, "name", p->name, "source_language",
        p->source_language, "target_language", p->target_language, "languages", json_languages(&p->languages), "parameters",
        (json_int_t)s->parameters, "shape", json_shape(&p->config), "source_vocabulary", p->config.source_vocabulary,
        "target_vocabulary", p->config.target_vocabulary, "shared_vocabulary", p->target == &p->source, "tokenizer",
        tokenizer, "tokens", json_tokens(&p->config), "weights", json_weights(s), "compute", cli_type_name(s->type), "size",
        (json_int_t)p->file_size, "checksum", p->has_checksum ? checksum : NULL, "verified", s->verified, "shortlist",
        p->shortlist.offsets != NULL, "allowed_tokens", p->config.allowed_count);
    return cli_print_json(object, JSON_COMPACT);
}

/* --------------------------------------------------------------------------------------------------------------- text */

static void print_token(const tr_package *p, const char *label, int id)
{
    const tr_piece *piece = target_piece(p, id);
    if (id >= 0)
        cli_print("  %s%d%s%.*s", label, id, piece ? " " : "", piece ? (int)piece->size : 0, piece ? piece->data : "");
}

static void print_tokens(const tr_package *p)
{
    const tr_config *c = &p->config;
    printf("special     ");
    print_token(p, "start ", c->start_id);
    print_token(p, "end ", c->eos_id);
    print_token(p, "padding ", c->pad_id);
    print_token(p, "unknown ", c->target_unk_id);
    printf("\nforced      ");
    print_token(p, "first ", c->forced_first_id);
    print_token(p, "last ", c->forced_last_id);
    if (c->forced_first_id < 0 && c->forced_last_id < 0)
        printf("  none");
    printf("\nforbidden   ");
    for (int i = 0; i < c->forbidden_count; i++)
        print_token(p, "", c->forbidden[i]);
    puts(c->forbidden_count ? "" : "  none");
    if (c->doubtful_below < 0)
        printf("doubtful      below a mean log-probability of %g\n", (double)c->doubtful_below);
    if (*p->stand_ins)
        printf("stand-ins     %s\n", p->stand_ins);
}

static void print_shape(const tr_config *c)
{
    printf("shape         d_model %d, %d encoder and %d decoder layers, heads %d and %d", c->d_model, c->encoder_layers,
           c->decoder_layers, c->encoder_heads, c->decoder_heads);
    if (c->head_size)
        printf(" of %d", c->head_size);
    printf(",\n              feed-forward %d and %d (%s%s), %s %s each block%s%s\n", c->encoder_ffn, c->decoder_ffn,
           c->gated ? "gated " : "", tr_activation_name(c->activation), c->norm == TR_NORM_RMS ? "RMS norm" : "norm",
           c->post_norm  ? "before and after"
           : c->pre_norm ? "before"
                         : "after",
           c->final_norm ? ", final norm" : "", c->embedding_norm ? ", embedding norm" : "");
    if (c->mixer != TR_MIXER_SELF_ATTENTION)
        printf("decoder       %s in place of self-attention\n", tr_decoder_mixer_name(c->mixer));
    printf("positions     %s, %d\n", tr_positions_name(c->positions), c->max_positions);
}

static void print_vocabulary(const tr_package *p)
{
    const tr_config *c = &p->config;
    printf("vocabulary    ");
    if (p->target == &p->source)
        printf("%d tokens, shared by source and target\n", c->source_vocabulary);
    else
        printf("%d source and %d target tokens\n", c->source_vocabulary, c->target_vocabulary);
    printf("tokenizer     %s\n", p->source_bpe.data   ? "Moses' words, BPE of subword-nmt"
                                 : p->source_spm.data ? "SentencePiece"
                                                      : "none: --tokens only");
    if (p->shortlist.offsets && p->shortlist.first)
        printf("shortlist     the first %d tokens, and at most %d for each source token\n", p->shortlist.first,
               p->shortlist.best);
    else if (p->shortlist.offsets)
        printf("shortlist     at most %d tokens for each source token, and those that EOS allows\n", p->shortlist.best);
    if (c->allowed)
        printf("allowed       %d of the target tokens\n", c->allowed_count);
}

static void print_weights(const summary *s)
{
    printf("weights     ");
    const char *comma = "  ";
    for (int type = 0; type < TYPES; type++)
        if (s->tensors[type]) {
            printf("%s%" PRIu64 " tensors in %s (%.1f MB)", comma, s->tensors[type], cli_type_name((tr_type)type),
                   (double)s->bytes[type] / 1e6);
            comma = ", ";
        }
    printf("\ncompute       %s\n", cli_type_name(s->type));
    printf("parameters    %" PRIu64 " (%.1f million)\n", s->parameters, (double)s->parameters / 1e6);
}

/* In a model with language tokens, source and target may be any of its languages. */
static void print_languages(const tr_package *p)
{
    const tr_languages *l = &p->languages;
    const bool many = l->count != 0, from = many && l->source != TR_LANGUAGE_NOWHERE;
    cli_print("languages     %s to %s\n",
              from                  ? "-s LANG"
              : *p->source_language ? p->source_language
                                    : "unknown",
              many                  ? "-t LANG"
              : *p->target_language ? p->target_language
                                    : "unknown");
    if (!many)
        return;
    int column = printf("             ");
    for (size_t i = 0; i < l->count; i++)
        cli_print_code(&column, l->items[i].code);
    putchar('\n');
}

static void print_text(const char *path, const summary *s)
{
    const tr_package *p = s->package;
    cli_print("file          %s\n", path);
    cli_print("format        %s, architecture %s\n", p->format, p->architecture);
    cli_print("name          %s\n", *p->name ? p->name : "unknown");
    print_languages(p);
    print_shape(&p->config);
    print_vocabulary(p);
    print_tokens(p);
    print_weights(s);
    printf("size          %" PRIu64 " bytes\n", p->file_size);
    if (p->has_checksum)
        printf("checksum      %016" PRIx64 "%s\n", p->checksum, s->verified ? ", verified" : "");
    else
        puts("checksum      none");
}

int cli_info(const cli_settings *settings)
{
    char path[TR_PATH];
    cli_settings named = *settings;
    tr_model_index *models;
    const char *folder;
    int status = cli_info_folder(settings, &folder, &models);
    if (status)
        return status;
    if (folder)
        return cli_info_models(settings, folder, models);
    if (settings->argument_count)
        named.model = settings->arguments[0];
    status = cli_model_find(path, &named);
    if (status)
        return status;
    tr_package package;
    tr_path_kind place;
    tr_error error;
    uint64_t checksum;
    if (settings->verify && tr_path_look(path, &place, &error) != TR_OK)
        return cli_fail_error(&error);
    if (settings->verify && place == TR_PATH_DIRECTORY)
        return cli_fail("%s: is a directory, which holds no checksum; only GGUF files can be verified", path);
    cli_guard_model_file(path, NULL);
    if (settings->verify && tr_gguf_verify(path, &checksum, &error))
        return cli_fail_error(&error);
    if (tr_package_open(path, TR_LOAD_MAP, &package, &error))
        return cli_fail_error(&error);
    summary s = summarise(&package);
    s.verified = settings->verify;
    if (settings->json)
        status = print_json(path, &s);
    else
        print_text(path, &s);
    tr_package_close(&package);
    return status;
}
