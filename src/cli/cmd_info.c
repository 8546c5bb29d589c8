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

static void put_id(cli_json *j, const char *key, int id)
{
    if (id < 0)
        cli_json_string(j, key, NULL);
    else
        cli_json_whole(j, key, id);
}

static void put_weights(cli_json *j, const summary *s)
{
    cli_json_open(j, "weights", '{');
    for (int type = 0; type < TYPES; type++) {
        if (!s->tensors[type])
            continue;
        cli_json_open(j, cli_type_name((tr_type)type), '{');
        cli_json_whole(j, "tensors", (int64_t)s->tensors[type]);
        cli_json_whole(j, "bytes", (int64_t)s->bytes[type]);
        cli_json_close(j, '}');
    }
    cli_json_close(j, '}');
}

static void put_tokens(cli_json *j, const tr_config *c)
{
    cli_json_open(j, "tokens", '{');
    put_id(j, "start", c->start_id);
    put_id(j, "end", c->eos_id);
    put_id(j, "pad", c->pad_id);
    put_id(j, "unk", c->unk_id);
    put_id(j, "forced_first", c->forced_first_id);
    put_id(j, "forced_last", c->forced_last_id);
    cli_json_open(j, "forbidden", '[');
    for (int i = 0; i < c->forbidden_count; i++)
        cli_json_whole(j, NULL, c->forbidden[i]);
    cli_json_close(j, ']');
    cli_json_close(j, '}');
}

static void put_shape(cli_json *j, const tr_config *c)
{
    cli_json_open(j, "shape", '{');
    cli_json_whole(j, "d_model", c->d_model);
    cli_json_whole(j, "encoder_layers", c->encoder_layers);
    cli_json_whole(j, "decoder_layers", c->decoder_layers);
    cli_json_whole(j, "encoder_heads", c->encoder_heads);
    cli_json_whole(j, "decoder_heads", c->decoder_heads);
    cli_json_whole(j, "encoder_head_size", tr_config_head_size(c, c->encoder_heads));
    cli_json_whole(j, "decoder_head_size", tr_config_head_size(c, c->decoder_heads));
    cli_json_whole(j, "encoder_ffn", c->encoder_ffn);
    cli_json_whole(j, "decoder_ffn", c->decoder_ffn);
    cli_json_string(j, "norm", tr_norm_name(c->norm));
    cli_json_flag(j, "gated", c->gated);
    cli_json_string(j, "activation", tr_activation_name(c->activation));
    cli_json_string(j, "positions", tr_positions_name(c->positions));
    cli_json_whole(j, "max_positions", c->max_positions);
    cli_json_flag(j, "pre_norm", c->pre_norm);
    cli_json_flag(j, "post_norm", c->post_norm);
    cli_json_flag(j, "final_norm", c->final_norm);
    cli_json_flag(j, "embedding_norm", c->embedding_norm);
    cli_json_string(j, "history", tr_decoder_mixer_name(c->mixer));
    cli_json_real(j, "embedding_scale", (double)c->embedding_scale);
    cli_json_close(j, '}');
}

static void put_tokenizer(cli_json *j, const tr_package *p)
{
    const bool bpe = p->source_bpe.data != NULL;
    if (!p->source_spm.data && !bpe) {
        cli_json_string(j, "tokenizer", NULL);
        return;
    }
    cli_json_open(j, "tokenizer", '{');
    cli_json_string(j, "type", bpe ? "bpe" : "sentencepiece");
    cli_json_whole(j, "source_pieces", (int64_t)p->source.size);
    cli_json_flag(j, "target_model", p->target_spm.data != NULL);
    cli_json_close(j, '}');
}

/* NULL: null. */
static const char *known(const char *text)
{
    return *text ? text : NULL;
}

/* Whether the path and the model's own texts are UTF-8, which JSON needs. */
static bool has_valid_texts(const char *path, const tr_package *p)
{
    bool good = tr_utf8_valid(path, strlen(path)) && tr_utf8_valid(p->architecture, strlen(p->architecture)) &&
                tr_utf8_valid(p->name, strlen(p->name)) && tr_utf8_valid(p->source_language, strlen(p->source_language)) &&
                tr_utf8_valid(p->target_language, strlen(p->target_language)); /* p->about is UTF-8 */
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
    tr_buffer out = {0};
    cli_json json = {&out, true, false}, *j = &json;
    snprintf(checksum, sizeof checksum, "%016" PRIx64, p->checksum);
    cli_json_open(j, NULL, '{');
    cli_json_string(j, "file", path);
    cli_json_string(j, "format", p->format);
    cli_json_string(j, "architecture", p->architecture);
    cli_json_string(j, "name", p->name);
    cli_json_string(j, "license", known(p->about.license));
    cli_json_string(j, "date", known(p->about.date));
    cli_json_string(j, "description", known(p->about.description));
    cli_json_string(j, "source_language", p->source_language);
    cli_json_string(j, "target_language", p->target_language);
    cli_json_open(j, "languages", '[');
    for (size_t i = 0; i < p->languages.count; i++)
        cli_json_string(j, NULL, p->languages.items[i].code);
    cli_json_close(j, ']');
    cli_json_whole(j, "parameters", (int64_t)s->parameters);
    put_shape(j, &p->config);
    cli_json_whole(j, "source_vocabulary", p->config.source_vocabulary);
    cli_json_whole(j, "target_vocabulary", p->config.target_vocabulary);
    cli_json_flag(j, "shared_vocabulary", p->target == &p->source);
    put_tokenizer(j, p);
    put_tokens(j, &p->config);
    put_weights(j, s);
    cli_json_string(j, "compute", cli_type_name(s->type));
    cli_json_whole(j, "size", (int64_t)p->file_size);
    cli_json_string(j, "checksum", p->has_checksum ? checksum : NULL);
    cli_json_flag(j, "verified", s->verified);
    cli_json_flag(j, "shortlist", p->shortlist.offsets != NULL);
    cli_json_whole(j, "allowed_tokens", p->config.allowed_count);
    cli_json_close(j, '}');
    return cli_json_print(j);
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
    print_token(p, "first, always: ", c->forced_first_id);
    print_token(p, "last, at the maximum length: ", c->forced_last_id);
    if (c->forced_first_id < 0 && c->forced_last_id < 0)
        printf("  none");
    printf("\nnever made  ");
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
    if (p->traditional.size)
        printf("traditional   -t zh-Hant: by rules, %zu bytes\n", p->traditional.size);
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
    if (*p->about.description)
        cli_print("purpose       %s\n", p->about.description);
    if (*p->about.license)
        cli_print("licence       %s\n", p->about.license);
    if (*p->about.date)
        cli_print("date          %s\n", p->about.date);
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
