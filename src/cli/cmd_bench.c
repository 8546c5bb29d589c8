/* translate bench: the speed of a model, from token ids to token ids; the time of its parts; and the share of the machine's
 * peak that it reaches. */
#include "cli/bench.h"
#include "cli/translate_options.h"

#include "api/context.h"
#include "util/clock.h"
#include "util/team.h"
#include "util/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    const cli_settings *settings;
    cli_model model;
    bench_lines *lines; /* shared by all settings */
    tr_translate_options options;
    double *seconds, *seconds_text; /* [rounds] */
    double *seconds_score;          /* [rounds] --score */
    uint64_t target_tokens;
    double peak_megabytes; /* before the limits are measured */
    bench_pass pass;       /* --parts, --limits: an additional pass, with a profile */
    bench_work work;       /* --limits */
    bench_limits limits;
    bench_pass score_pass; /* --score: the same for scoring */
    bench_work score_work;
} bench;

/* ------------------------------------------------------------------------------------------------------------- passes */

static int translate_all(bench *b, double *seconds, tr_tokens **outputs)
{
    tr_error error;
    const double start = tr_seconds();
    if (tr_translate_ids(b->model.context, b->lines->sources, b->lines->count, &b->options, outputs, &error))
        return cli_fail_error(&error);
    *seconds = tr_seconds() - start;
    b->target_tokens = 0;
    for (size_t i = 0; i < b->lines->count; i++)
        b->target_tokens += (*outputs)[i].count;
    return CLI_DONE;
}

/* Scores the translations. With --fixed-length they have no EOS; otherwise the model's maximum length includes it. */
static int score_all(bench *b, double *seconds, tr_tokens *outputs)
{
    const size_t longest = (size_t)b->model.info.max_target_length - !b->settings->fixed_length;
    tr_score_options options = tr_score_default_options();
    tr_score *scores;
    tr_error error;
    options.source_language = b->settings->source;
    options.target_language = b->settings->target;
    options.no_end = b->settings->fixed_length != 0;
    for (size_t i = 0; i < b->lines->count; i++)
        outputs[i].count = outputs[i].count < longest ? outputs[i].count : longest;
    const double start = tr_seconds();
    if (tr_score_ids(b->model.context, b->lines->sources, outputs, b->lines->count, &options, &scores, &error))
        return cli_fail_error(&error);
    *seconds = tr_seconds() - start;
    tr_score_array_free(scores, b->lines->count);
    return CLI_DONE;
}

static int run_pass(bench *b, bool first, double *seconds_text, double *seconds, double *seconds_score)
{
    tr_tokens *outputs = NULL;
    int status = bench_lines_tokenize(b->lines, b->settings, &b->model, seconds_text, first);
    if (!status)
        status = translate_all(b, seconds, &outputs);
    if (!status && b->settings->score)
        status = score_all(b, seconds_score, outputs);
    tr_tokens_array_free(outputs, outputs ? b->lines->count : 0);
    return status;
}

static int run_passes(bench *b)
{
    double ignored;
    int status = run_pass(b, true, &ignored, &ignored, &ignored);
    for (int round = 0; !status && round < b->settings->rounds; round++) {
        status = run_pass(b, false, &b->seconds_text[round], &b->seconds[round], &b->seconds_score[round]);
        if (!status && b->settings->verbose)
            cli_note("pass %d: %.3f s, %.1f tokens/s", round + 1, b->seconds[round],
                     (double)b->target_tokens / b->seconds[round]);
    }
    b->peak_megabytes = cli_peak_megabytes();
    return status;
}

/* At any time each thread is in one part: the mean over the groups is the time of a part. */
static void divide_seconds(bench_pass *p, tr_profile *profiles, int threads)
{
    for (int t = 0; t < threads; t++) {
        tr_profile_enter(&profiles[t], TR_PROFILE_REST); /* ends the present part */
        tr_profile_add(&p->counts, &profiles[t]);
        p->groups += profiles[t].steps > 0;
    }
    p->seconds_of[TR_PROFILE_REST] = p->seconds;
    for (int part = TR_PROFILE_REST + 1; part < TR_PROFILE_PARTS; part++) {
        for (int t = 0; t < threads; t++)
            p->seconds_of[part] += 1e-9 * (double)profiles[t].nanoseconds[part] / p->groups;
        p->seconds_of[TR_PROFILE_REST] -= p->seconds_of[part];
    }
}

/* An additional pass with a profile. *outputs NULL: translates and stores outputs; else scores them. */
static int profiled_pass(bench *b, tr_tokens **outputs, bench_pass *p)
{
    tr_scheduler *scheduler = b->model.context->scheduler;
    const int threads = b->model.context->threads;
    tr_profile *profiles = aligned_alloc(64, (size_t)threads * sizeof *profiles);
    double seconds = 0;
    if (!profiles)
        return cli_fail_memory();
    for (int t = 0; t < threads; t++)
        tr_profile_start(&profiles[t]);
    tr_scheduler_profile(scheduler, profiles);
    const int status = *outputs ? score_all(b, &seconds, *outputs) : translate_all(b, &seconds, outputs);
    tr_scheduler_profile(scheduler, NULL);
    if (!status) {
        *p = (bench_pass){.seconds = seconds};
        for (size_t i = 0; i < b->lines->count; i++)
            p->target_tokens += (*outputs)[i].count;
        divide_seconds(p, profiles, threads);
    }
    free(profiles);
    return status;
}

static int profiled_passes(bench *b)
{
    tr_tokens *outputs = NULL;
    int status = profiled_pass(b, &outputs, &b->pass);
    if (!status && b->settings->score)
        status = profiled_pass(b, &outputs, &b->score_pass);
    tr_tokens_array_free(outputs, outputs ? b->lines->count : 0);
    return status;
}

static int measure_limits(bench *b)
{
    const tr_network *network = b->model.model->network;
    if (!bench_work_make(&b->work, network, &b->pass) ||
        (b->settings->score && !bench_work_make(&b->score_work, network, &b->score_pass)))
        return cli_fail_memory();
    return bench_limits_measure(&b->limits, &b->work, network->kernels, tr_scheduler_team(b->model.context->scheduler),
                                b->pass.groups);
}

/* ------------------------------------------------------------------------------------------------------------- report */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double speed_of(const bench *b, int round)
{
    return b->seconds[round] > 0 ? (double)b->target_tokens / b->seconds[round] : 0;
}

/* The sample standard deviation of the rounds' tokens per second; 0 with one round. */
static double deviation(const bench *b)
{
    const int rounds = b->settings->rounds;
    double sum = 0, squares = 0;
    for (int i = 0; i < rounds; i++)
        sum += speed_of(b, i);
    for (int i = 0; i < rounds; i++) {
        const double off = speed_of(b, i) - sum / rounds;
        squares += off * off;
    }
    return rounds > 1 ? sqrt(squares / (rounds - 1)) : 0;
}

/* Seconds of the profiled pass, whose sum differs a little from the median of the timed passes. */
static void report_parts(const bench *b, bench_report *report)
{
    static const char *const keys[TR_PROFILE_PARTS] = {
        [TR_PROFILE_REST] = "seconds_rest",
        [TR_PROFILE_ENCODER] = "seconds_encoder",
        [TR_PROFILE_SELF_ATTENTION] = "seconds_self_attention",
        [TR_PROFILE_CROSS_ATTENTION] = "seconds_cross_attention",
        [TR_PROFILE_FEED_FORWARD] = "seconds_feed_forward",
        [TR_PROFILE_OUTPUT] = "seconds_output",
    };
    bench_add_real(report, "seconds_parts", b->pass.seconds);
    for (int part = TR_PROFILE_REST + 1; part < TR_PROFILE_PARTS; part++)
        bench_add_real(report, keys[part], b->pass.seconds_of[part]);
    bench_add_real(report, keys[TR_PROFILE_REST], b->pass.seconds_of[TR_PROFILE_REST]);
    bench_add_real(report, "cache_mb", 1e-6 * (double)b->pass.counts.cache_bytes);
}

static double max_peak(const double peak[BENCH_TYPES])
{
    double best = 0;
    for (int t = 0; t < BENCH_TYPES; t++)
        best = peak[t] > best ? peak[t] : best;
    return best;
}

/* The time of all multiply-adds of a pass at peak speed. */
static double arithmetic_seconds(const bench_work *w, const bench_limits *l)
{
    double seconds = 0;
    for (int t = 0; t < BENCH_TYPES; t++)
        if (w->macs[t] > 0)
            seconds += w->macs[t] / l->peak[t];
    return seconds;
}

static void report_score(const bench *b, bench_report *report, double seconds)
{
    const double score = median(b->seconds_score, b->settings->rounds);
    bench_add_real(report, "score_seconds", score);
    bench_add_real(report, "score_tokens_per_second", score > 0 ? (double)b->target_tokens / score : 0);
    bench_add_real(report, "score_speedup", score > 0 ? seconds / score : 0);
    if (b->settings->limits)
        bench_add_real(report, "score_arithmetic_percent", 100 * arithmetic_seconds(&b->score_work, &b->limits) / score);
}

/* Two bounds: the speed if the machine only read weights, and if it only multiplied and added; and the shares reached. (Both
 * can overlap, so each is a bound of its own.) */
static void report_limits(const bench *b, bench_report *report, double tokens_per_second)
{
    const bench_work *w = &b->work;
    const bench_limits *l = &b->limits;
    const tr_type type = b->model.model->network->type;
    const double arithmetic = arithmetic_seconds(w, l);
    const double by_memory = (double)b->pass.target_tokens / (w->bytes / l->step_read);
    const double by_arithmetic = (double)b->pass.target_tokens / arithmetic;
    bench_add_real(report, "peak_gmacs", 1e-9 * (l->peak[type] > 0 ? l->peak[type] : max_peak(l->peak)));
    bench_add_real(report, "peak_f32_gmacs", 1e-9 * l->peak[TR_TYPE_F32]);
    bench_add_real(report, "read_gbs", 1e-9 * l->step_read);
    bench_add_real(report, "memory_gbs", 1e-9 * l->memory_read);
    bench_add_real(report, "step_mb", 1e-6 * w->step_bytes);
    bench_add_real(report, "step_rows", w->step_rows);
    bench_add_real(report, "target_token_mmacs", 1e-6 * w->target_macs);
    bench_add_real(report, "source_token_mmacs", 1e-6 * w->source_macs);
    bench_add_real(report, "memory_tokens_per_second", by_memory);
    bench_add_real(report, "memory_percent", 100 * tokens_per_second / by_memory);
    bench_add_real(report, "arithmetic_tokens_per_second", by_arithmetic);
    bench_add_real(report, "arithmetic_percent", 100 * tokens_per_second / by_arithmetic);
}

static int print_report(bench *b, bench_form form)
{
    const cli_settings *s = b->settings;
    const double seconds = median(b->seconds, s->rounds), seconds_text = median(b->seconds_text, s->rounds);
    const double per_second = seconds > 0 ? 1 / seconds : 0, speed = (double)b->target_tokens * per_second;
    if (!tr_utf8_valid(b->model.path, strlen(b->model.path)))
        return cli_fail("%s: its name is not UTF-8", b->model.path);
    char cpu_name[TR_CPU_NAME];
    bench_report report = {0}, *r = &report;
    tr_cpu_name("", cpu_name);
    bench_add_real(r, "tokens_per_second", speed);
    bench_add_real(r, "tokens_per_second_deviation", deviation(b));
    bench_add_real(r, "sentences_per_second", (double)b->lines->count * per_second);
    bench_add_whole(r, "sentences", b->lines->count);
    bench_add_whole(r, "source_tokens", b->lines->source_tokens);
    bench_add_whole(r, "target_tokens", b->target_tokens);
    bench_add_real(r, "seconds", seconds);
    bench_add_real(r, "seconds_text", seconds_text);
    bench_add_real(r, "load_ms", b->model.load_seconds * 1e3);
    bench_add_real(r, "peak_rss_mb", b->peak_megabytes);
    bench_add_whole(r, "threads", (uint64_t)b->model.context->threads);
    bench_add_whole(r, "batch_size", (uint64_t)s->batch_size);
    bench_add_text(r, "compute", b->model.info.compute);
    bench_add_text(r, "cpu", b->model.info.cpu);
    bench_add_text(r, "cpu_name", cpu_name);
    bench_add_whole(r, "beam", (uint64_t)s->search.beam);
    bench_add_whole(r, "fixed_length", (uint64_t)s->fixed_length);
    bench_add_whole(r, "rounds", (uint64_t)s->rounds);
    bench_add_text(r, "model", b->model.path);
    bench_add_text(r, "version", tr_version());
    bench_add_text(r, "commit", cli_commit());
    if (s->parts || s->limits)
        report_parts(b, r);
    if (s->limits)
        report_limits(b, r, speed);
    if (s->score)
        report_score(b, r, seconds);
    return bench_table_add(form, r);
}

static int check_model(const bench *b)
{
    const tr_model_info *info = &b->model.info;
    if (!b->settings->tokens && !info->has_tokenizer)
        return cli_fail("%s: the model has no tokenizer; give lines of tokens, with --tokens -i FILE", b->model.path);
    if (b->settings->fixed_length > info->max_target_length)
        return cli_usage(b->settings, "--fixed-length %d: the model takes at most %d", b->settings->fixed_length,
                         info->max_target_length);
    return CLI_DONE;
}

static int measure_speed(bench *b, bench_form form)
{
    const cli_settings *s = b->settings;
    int status = cli_model_open(&b->model, s, true);
    if (status)
        return status;
    status = check_model(b);
    if (status)
        return status;
    const tr_ids nothing = {0};
    b->options = tr_translate_default_options();
    b->options.max_length = s->max_length;
    b->options.search = cli_search_options(s, &nothing);
    b->options.scores = s->scores;
    b->options.source_language = s->source;
    b->options.target_language = s->target;
    if (s->fixed_length)
        b->options.max_length = b->options.min_length = s->fixed_length;
    b->seconds = calloc((size_t)s->rounds, sizeof *b->seconds);
    b->seconds_text = calloc((size_t)s->rounds, sizeof *b->seconds_text);
    b->seconds_score = calloc((size_t)s->rounds, sizeof *b->seconds_score);
    status = b->seconds && b->seconds_text && b->seconds_score ? run_passes(b) : cli_fail_memory();
    if (!status && (s->parts || s->limits))
        status = profiled_passes(b);
    if (!status && s->limits)
        status = measure_limits(b);
    return status ? status : print_report(b, form);
}

/* Opens the model for it, so that loading and memory are its own. */
static int measure_setting(const cli_settings *setting, bench_lines *lines, bench_form form)
{
    bench b = {.settings = setting, .lines = lines};
    cli_reset_peak();
    const int status = measure_speed(&b, form);
    bench_work_free(&b.work);
    bench_work_free(&b.score_work);
    free(b.seconds);
    free(b.seconds_text);
    free(b.seconds_score);
    cli_model_close(&b.model);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- settings */

enum { MAX_SETTINGS = 64 };

static int count_of(const cli_numbers *numbers)
{
    return numbers->count ? numbers->count : 1;
}

static int count_settings(const cli_settings *s)
{
    return count_of(&s->threads_list) * count_of(&s->batch_sizes) * count_of(&s->beams);
}

/* The i-th combination of threads, batch size and beam. */
static cli_settings setting_of(const cli_settings *all, int i)
{
    cli_settings one = *all;
    const int beam = i % count_of(&all->beams), rest = i / count_of(&all->beams);
    if (all->beams.count)
        one.search.beam = all->beams.values[beam];
    if (all->batch_sizes.count)
        one.batch_size = all->batch_sizes.values[rest % all->batch_sizes.count];
    if (all->threads_list.count)
        one.threads = all->threads_list.values[rest / count_of(&all->batch_sizes)];
    return one;
}

static bench_form choose_form(const cli_settings *s)
{
    if (s->table || s->json)
        return s->json ? BENCH_JSONL : (bench_form)s->table;
    return count_settings(s) > 1 ? BENCH_MARKDOWN : BENCH_VALUES;
}

static int check_settings(const cli_settings *s)
{
    const int count = count_settings(s);
    const bench_form form = choose_form(s);
    if (s->tokens && !s->input)
        return cli_usage(s, "--tokens: needs --input FILE with lines of tokens");
    if (s->limits && s->ensemble.count)
        return cli_usage(s, "--limits: not with --ensemble; limits are those of one model");
    if (s->json && s->table && s->table != BENCH_JSONL)
        return cli_usage(s, "--json: not with --table, which names another form");
    if ((s->parts || s->limits || s->score) && (form == BENCH_MARKDOWN || form == BENCH_CSV))
        return cli_usage(s, "--%s: has no column in the table; --table jsonl prints all values",
                         s->limits  ? "limits"
                         : s->parts ? "parts"
                                    : "score");
    if (count > MAX_SETTINGS)
        return cli_usage(s, "--threads, --batch-size, --beam: %d combinations, at most %d are measured", count,
                         MAX_SETTINGS);
    int status = CLI_DONE;
    for (int i = 0; i < count && !status; i++) {
        const cli_settings one = setting_of(s, i);
        status = cli_check_search_options(&one);
    }
    return status;
}

int cli_bench(const cli_settings *settings)
{
    const bench_form form = choose_form(settings);
    bench_lines lines = {0};
    int status = check_settings(settings);
    if (!status)
        status = bench_lines_collect(&lines, settings);
    for (int i = 0; i < count_settings(settings) && !status; i++) {
        const cli_settings one = setting_of(settings, i);
        if (i == 0)
            bench_table_begin(form);
        fflush(stdout);
        status = measure_setting(&one, &lines, form);
    }
    bench_lines_free(&lines);
    return status;
}
