/* translate shortlist SOURCE.txt TARGET.txt -o FILE.bin: learns a lexical shortlist. */
#define _GNU_SOURCE
#include "align/lexicon.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/pairs.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "formats/open.h"
#include "formats/shortlist.h"
#include "api/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct learning {
    const cli_settings *settings;
    tr_package package;
    tr_tokenizer *tokenizers[2];
    tr_team *team;
    tr_parallel text;
} learning;

static int check_output(const cli_settings *s)
{
    if (!s->output || strcmp(s->output, "-") == 0)
        return cli_usage(s, "-o FILE is missing: the shortlist to write");
    int status = CLI_DONE;
    for (int i = 0; !status && i < s->argument_count; i++)
        status = cli_check_other_file(s, s->output, s->arguments[i], "is the input and the output");
    return status ? status : cli_check_replaced(s, s->output, CLI_SHORTLIST);
}

static int open_tokenizers(learning *m, const char *model)
{
    tr_error error;
    const int threads = m->settings->threads ? m->settings->threads : tr_usable_cores();
    if (tr_source_tokenizer(&m->package, &m->tokenizers[0], &error) ||
        tr_target_tokenizer(&m->package, &m->tokenizers[1], &error))
        return cli_fail("%s: %s", model, error.message);
    if (!m->tokenizers[0] || !m->tokenizers[1])
        return cli_fail("%s: has no tokenizer for its %s", model, m->tokenizers[0] ? "target" : "source");
    return tr_team_create(threads, TR_THREADS_POSIX, &m->team, &error) ? cli_fail_error(&error) : CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ learning */

static int on_progress(void *argument, uint64_t done, uint64_t total)
{
    const cli_progress now = {.done = done, .total = total};
    bool *running = argument;
    if (!*running) {
        cli_progress_start(&(cli_progress){.total = total}, CLI_UNIT_NONE);
        *running = true;
    }
    cli_progress_update(&now);
    return cli_interrupted() != 0;
}

/* For separate vocabularies: the target token with the same spelling as each source token, as of names and numbers; -1:
 * none. */
static int32_t *find_copies(const tr_package *package)
{
    const size_t count = (size_t)package->config.source_vocabulary;
    int32_t *copies = malloc(count * sizeof *copies);
    for (size_t s = 0; copies && s < count; s++) {
        const tr_piece piece = s < package->source.size ? package->source.pieces[s] : (tr_piece){0};
        copies[s] = piece.data ? tr_vocabulary_find(package->target, piece.data, piece.size) : -1;
    }
    return copies;
}

static int learn_shortlist(learning *m, tr_shortlist *shortlist)
{
    const cli_settings *s = m->settings;
    const tr_config *c = &m->package.config;
    const bool separate = m->package.target != &m->package.source;
    const int vocabulary[2] = {c->source_vocabulary, c->target_vocabulary};
    const tr_lexicon_settings settings = {s->first, s->best, c->eos_id, c->no_source_eos, tr_align_default()};
    int32_t *copies = separate ? find_copies(&m->package) : NULL; /* for a shared vocabulary the reader adds them itself */
    bool running = s->quiet;                                      /* then the bar is never started */
    tr_error error;
    if (separate && !copies)
        return cli_fail_memory();
    const tr_status status =
        tr_lexicon_learn(&m->text, vocabulary, &settings, copies, m->team, on_progress, &running, shortlist, &error);
    cli_progress_stop();
    free(copies);
    if (cli_interrupted())
        return cli_fail("interrupted: nothing was written");
    return status != TR_OK ? cli_fail_error(&error) : CLI_DONE;
}

static void print_counts(const learning *m, const tr_shortlist *shortlist)
{
    const tr_parallel *t = &m->text;
    int covered = 0;
    for (int s = 0; s < shortlist->sources; s++)
        covered += shortlist->offsets[s + 1] > shortlist->offsets[s];
    cli_note("%zu pairs of sentences, of %" PRIu64 "; %" PRIu64 " with an empty side and %" PRIu64
             " with more than %d tokens were ignored",
             t->pairs, t->given, t->empty, t->too_long, TR_PARALLEL_LENGTH);
    cli_note("%d of %d source tokens have a list, with %.1f target tokens on average", covered, shortlist->sources,
             covered ? (double)shortlist->count / covered : 0);
}

static int make_shortlist(learning *m, const char *model)
{
    const cli_settings *s = m->settings;
    tr_shortlist shortlist = {0};
    tr_error error;
    int status = open_tokenizers(m, model);
    if (!status)
        status = cli_read_pairs(s, s->arguments, m->tokenizers, m->team, &m->text);
    if (status && cli_interrupted())
        cli_fail("interrupted: nothing was written");
    if (!status && !m->text.pairs)
        status = cli_fail("%s, %s: hold no pair of sentences to learn from", s->arguments[0], s->arguments[1]);
    if (!status)
        status = learn_shortlist(m, &shortlist);
    if (!status && s->verbose)
        print_counts(m, &shortlist);
    if (!status && tr_shortlist_write(&shortlist, s->output, &error))
        status = cli_fail_error(&error);
    tr_shortlist_free(&shortlist);
    return status;
}

int cli_shortlist(const cli_settings *settings)
{
    char path[TR_PATH];
    learning m = {.settings = settings};
    tr_error error;
    int status = check_output(settings);
    if (!status)
        status = cli_model_find(path, settings);
    if (status)
        return status;
    cli_guard_model_file(path, NULL);
    if (!cli_catch_interrupts())
        return cli_fail("signals: cannot be caught, too many open files");
    if (tr_package_open(path, TR_LOAD_MAP, &m.package, &error))
        return cli_fail_error(&error);
    status = cli_check_no_model(settings, settings->output, &m.package);
    if (!status)
        status = make_shortlist(&m, path);
    tr_parallel_free(&m.text);
    tr_team_destroy(m.team);
    tr_tokenizer_destroy(m.tokenizers[0]);
    tr_tokenizer_destroy(m.tokenizers[1]);
    tr_package_close(&m.package);
    return cli_interrupted() ? 128 + cli_interrupted() : status;
}
