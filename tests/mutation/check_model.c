/* Uses a model in every way and checks what it gives, whatever the model's file says.
 *
 *     check_model SCRATCH [MODEL...]        without models: their paths are lines of stdin
 *
 * Prints one line for each model: "refused MESSAGE", "accepted", or "wrong WHY". SCRATCH names a file to write.
 * A refusal is one line that begins with the path. What is accepted must give valid text of a bounded size, finite
 * log-probabilities, links and ids within range; tr_package_peek must agree with it; and the GGUF file that it converts to
 * must give the same. Time, memory and leaks are measured for each model. */
#define _GNU_SOURCE
#include <math.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/engine.h"

#include "formats/gguf/gguf.h"
#include "formats/int8.h"
#include "formats/open.h"
#include "util/utf8.h"

/* As in sanitizer/allocator_interface.h, which GCC does not bring. */
size_t __sanitizer_get_allocated_size(const volatile void *memory);
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

enum { MAX_LENGTH = 12, BEAM = 3, SOURCE_TOKENS = 4 };
static const double max_seconds = 3;         /* CPU time, with sanitizers */
static const long long max_bytes = 48 << 20; /* allocated at once, besides 32 for each byte of the model */
static const float rounding = 1e-3f;         /* a log-probability may exceed 0 by this */

static const char *const texts[] = {"pa luo. Gu na!", "a b", "今天天气很好。", ""};
enum { TEXTS = sizeof texts / sizeof *texts };

/* The first fault of the model; empty: none. */
static char wrong[TR_MESSAGE_SIZE + 256];

static void check(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void check(bool good, const char *format, ...)
{
    if (good || *wrong)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong, sizeof wrong, format, arguments);
    va_end(arguments);
    tr_utf8_make_printable(wrong);
}

/* ------------------------------------------------------------------------------------------------------------- memory */

static atomic_llong allocated, peak;

static void on_malloc(const volatile void *memory, size_t size)
{
    (void)memory;
    const long long now = atomic_fetch_add(&allocated, (long long)size) + (long long)size;
    for (long long before = atomic_load(&peak); now > before && !atomic_compare_exchange_weak(&peak, &before, now);) {
    }
}

static void on_free(const volatile void *memory)
{
    if (memory)
        atomic_fetch_sub(&allocated, (long long)__sanitizer_get_allocated_size(memory));
}

/* The linker puts these in place of the library's mmap and munmap: the rest of a file's last page must not be read either,
 * which only AddressSanitizer can see. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);

static size_t beyond(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (page - size % page) % page;
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    void *memory = __real_mmap64(at, size, protection, flags, file, offset);
    if (memory != MAP_FAILED && file >= 0)
        __asan_poison_memory_region((char *)memory + size, beyond(size));
    return memory;
}

int __wrap_munmap(void *at, size_t size)
{
    __asan_unpoison_memory_region((char *)at + size, beyond(size));
    return __real_munmap(at, size);
}

/* ------------------------------------------------------------------------------------------------------------ answers */

/* A model that is open, and the text of its results, which is compared between a model and the file that it was converted
 * to. */
typedef struct subject {
    const char *path;
    tr_model *model;
    tr_context *context;
    tr_model_info info;
    size_t longest_piece;
    const char *source, *target; /* languages; NULL: none is named */
    FILE *out;
} subject;

static void check_refusal(const char *what, const char *path, tr_status status, const tr_error *error)
{
    const size_t size = strnlen(error->message, sizeof error->message);
    check(error->status == status && size && size < sizeof error->message, "%s: status %d without a message", what, status);
    char shown[sizeof error->message] = "";
    memcpy(shown, error->message, size < sizeof shown ? size : 0);
    tr_utf8_make_printable(shown);
    check(strncmp(shown, error->message, sizeof shown) == 0, "%s: what is no printable UTF-8 in: %s", what, error->message);
    check(!path || strncmp(error->message, path, strlen(path)) == 0, "%s: the message does not name the file: %s", what,
          error->message);
    check(status != TR_ERROR_MEMORY, "%s: a size that the file only claims was allocated: %s", what, error->message);
}

/* Returns whether it was computed. A failure may be TR_ERROR_NUMERIC; or the text is not in a vocabulary without an unknown
 * token; or it does not fit into the model with the language tokens and EOS. s may be NULL. */
static bool computed(const subject *s, const char *what, tr_status status, const tr_error *error)
{
    if (status == TR_OK)
        return true;
    check_refusal(what, NULL, status, error);
    const bool narrow = s && s->info.max_source_length < 2 * SOURCE_TOKENS && status == TR_ERROR_ARGUMENT;
    check(status == TR_ERROR_NUMERIC || narrow || strstr(error->message, "an unknown token"), "%s: %s", what,
          error->message);
    return false;
}

static void check_log_probability(const char *what, float value)
{
    check(isfinite(value) && value <= rounding, "%s: log-probability %g", what, (double)value);
}

/* Checks the scores of a given target, which may be impossible for the network. */
static void check_given(const char *what, float value)
{
    check(value <= rounding, "%s: log-probability %g", what, (double)value);
}

static void check_ids(const char *what, const int32_t *ids, size_t count, int vocabulary)
{
    for (size_t i = 0; i < count; i++)
        check(ids[i] >= 0 && ids[i] < vocabulary, "%s: id %d of %d", what, ids[i], vocabulary);
}

static void check_alignment(const char *what, const tr_alignment *alignment, size_t sources, size_t targets)
{
    for (size_t i = 0; i < alignment->count; i++) {
        const tr_link *link = &alignment->links[i], *before = link - (i > 0);
        check(link->source >= 0 && (size_t)link->source < sources && link->target >= 0 && (size_t)link->target < targets,
              "%s: link %d-%d of %zu and %zu tokens", what, link->source, link->target, sources, targets);
        check(link->weight >= 0 && link->weight <= 1 + rounding, "%s: link with weight %g", what, (double)link->weight);
        check(before->source < link->source || (before->source == link->source && before->target <= link->target),
              "%s: links are not sorted", what);
    }
}

static void check_spans(const char *what, const tr_span *spans, size_t count, size_t size)
{
    for (size_t i = 0; spans && i < count; i++)
        check(spans[i].begin <= spans[i].end && spans[i].end <= size, "%s: span %zu-%zu of %zu bytes", what, spans[i].begin,
              spans[i].end, size);
}

/* A token decodes to its piece, or to a character of 4 bytes if it is unknown, and a space. */
static void check_text(const subject *s, const char *what, const char *text, size_t size, int tokens, const tr_result *of,
                       size_t source_size)
{
    check(tr_utf8_valid(text, size) && !text[size], "%s: the text is not UTF-8", what);
    check(tokens >= 0 && tokens <= (MAX_LENGTH + 2) * (of->source_tokens + of->sentences + 1), "%s: %d tokens from %d", what,
          tokens, of->source_tokens);
    check(size <= (size_t)(tokens + of->sentences) * (s->longest_piece + 4) + source_size, "%s: %zu bytes from %d tokens",
          what, size, tokens);
}

static void take_result(const subject *s, const char *what, const tr_result *r, const char *text,
                        const tr_search_options *search)
{
    const size_t size = strlen(text);
    check_text(s, what, r->text, r->size, r->target_tokens, r, size);
    check_spans(what, r->source_spans, r->source.count, 3 * size);
    check_ids(what, r->source.ids, r->source.count, s->info.source_vocabulary);
    check(r->hypothesis_count <= (size_t)search->n_best, "%s: %zu hypotheses", what, r->hypothesis_count);
    for (size_t i = 0; i < r->scored_count; i++) {
        check_ids(what, &r->scored[i].id, 1, s->info.target_vocabulary);
        check_log_probability(what, r->scored[i].log_probability);
    }
    check_log_probability(what, r->score);
    check_log_probability(what, r->mean_log_probability);
    check_log_probability(what, r->min_log_probability);
    fprintf(s->out, "%s: %s (%a)\n", what, r->text, (double)r->score);
    for (size_t i = 0; i < r->hypothesis_count; i++) {
        const tr_translation *h = &r->hypotheses[i];
        check_text(s, what, h->text, h->size, h->tokens, r, size);
        check_log_probability(what, h->log_probability);
        check(isfinite(h->score) && (i == 0 || r->sentences > 1 || h->score <= h[-1].score),
              "%s: score %g of hypothesis %zu", what, (double)h->score, i);
        check_ids(what, h->target.ids, h->target.count, s->info.target_vocabulary);
        check_alignment(what, &h->alignment, r->source.count, h->target.count);
        check_spans(what, h->target_spans, h->target.count, h->size);
        fprintf(s->out, "%s: %zu %s (%a)\n", what, i, h->text, (double)h->score);
    }
    check(!r->hypothesis_count || strcmp(r->text, r->hypotheses->text) == 0, "%s: the first hypothesis is not the text",
          what);
}

static tr_translate_options translate_options(const subject *s, int beam)
{
    tr_translate_options options = tr_translate_default_options();
    options.max_length = MAX_LENGTH;
    options.source_language = s->source;
    options.target_language = s->target;
    options.search.beam = options.search.n_best = beam;
    options.scores = options.align = beam > 1;
    return options;
}

static void score_texts(const subject *s, const char *const *targets)
{
    tr_score_options options = tr_score_default_options();
    tr_text_score *scores;
    tr_error error;
    options.source_language = s->source;
    options.target_language = s->target;
    options.cross_attention = true;
    const tr_status status = tr_score_text_pairs(s->context, texts, NULL, targets, NULL, TEXTS, &options, &scores, &error);
    /* Allowed failures: a text that is too long, no tokenizer for the target, or one that is damaged and not needed for
     * translating. */
    const bool damaged = status == TR_ERROR_FORMAT && !strstr(error.message, "an unknown token");
    if (status == TR_ERROR_ARGUMENT || status == TR_ERROR_UNSUPPORTED || damaged) {
        check_refusal("score", damaged ? s->path : NULL, status, &error);
        return;
    }
    if (!computed(s, "score", status, &error))
        return;
    for (int i = 0; i < TEXTS; i++) {
        const tr_score *score = &scores[i].score;
        for (size_t t = 0; t < score->count; t++)
            check_given("score", score->log_probabilities[t]);
        check_given("score", score->log_probability);
        check_given("score", score->mean_log_probability);
        check_given("score", score->min_log_probability);
        const tr_attention_map *map = &score->cross;
        const size_t weights = (size_t)map->layers * (size_t)map->heads * (size_t)map->rows * (size_t)map->columns;
        for (size_t w = 0; map->weights && w < weights; w++)
            check(map->weights[w] >= 0 && map->weights[w] <= 1 + rounding, "score: attention %g", (double)map->weights[w]);
        fprintf(s->out, "score: %a\n", (double)score->log_probability);
    }
    tr_text_scores_free(scores, TEXTS);
}

static void translate(const subject *s, int beam)
{
    const char *what = beam > 1 ? "beam" : "greedy", *targets[TEXTS];
    const tr_translate_options options = translate_options(s, beam);
    tr_result *results;
    tr_error error;
    if (!computed(s, what, tr_translate_texts(s->context, texts, NULL, TEXTS, &options, &results, &error), &error))
        return;
    for (int i = 0; i < TEXTS; i++) {
        take_result(s, what, &results[i], texts[i], &options.search);
        targets[i] = results[i].text;
    }
    if (beam == 1)
        score_texts(s, targets);
    tr_result_array_free(results, TEXTS);
}

static void take_hypothesis(const subject *s, const tr_hypothesis *h, size_t sources)
{
    check(h->count <= MAX_LENGTH + 2, "tokens: %zu of them", h->count);
    check_ids("tokens", h->ids, h->count, s->info.target_vocabulary);
    check_alignment("tokens", &h->alignment, sources, h->count);
    for (size_t i = 0; i < h->count + h->finished; i++)
        check_log_probability("tokens", h->log_probabilities[i]);
    check_log_probability("tokens", h->log_probability);
    check(isfinite(h->score), "tokens: score %g", (double)h->score);
    for (size_t i = 0; i < h->count; i++)
        fprintf(s->out, "%d ", h->ids[i]);
    fprintf(s->out, "(%a)\n", (double)h->score);
}

static void search_tokens(const subject *s)
{
    int32_t ids[SOURCE_TOKENS];
    for (int i = 0; i < SOURCE_TOKENS; i++)
        ids[i] = (i + 1) * s->info.source_vocabulary / (SOURCE_TOKENS + 2);
    const tr_tokens source = {ids, SOURCE_TOKENS};
    const tr_translate_options options = translate_options(s, BEAM);
    tr_hypotheses *found;
    tr_error error;
    if (!computed(s, "tokens", tr_search_tokens(s->context, &source, NULL, 1, &options, &found, &error), &error))
        return;
    check(found->count >= 1 && found->count <= BEAM, "tokens: %zu hypotheses", found->count);
    for (size_t i = 0; i < found->count; i++)
        take_hypothesis(s, &found->items[i], source.count);
    tr_hypotheses_free(found, 1);
}

/* ------------------------------------------------------------------------------------------------------------- models */

/* A pair of languages that the model supports. */
static bool choose_languages(subject *s)
{
    const char *const some[] = {NULL, tr_model_language(s->model, 0), tr_model_language(s->model, s->info.languages - 1)};
    tr_error error;
    for (int source = 0; source < 3; source++)
        for (int target = 2; target >= 0; target--)
            if (tr_model_check_languages(s->model, some[source], some[target], &error) == TR_OK) {
                s->source = some[source];
                s->target = some[target];
                return true;
            }
    check_refusal("languages", NULL, error.status, &error);
    return false;
}

static bool open_subject(subject *s, const char *path, tr_compute compute, tr_error *error)
{
    tr_model_options options = tr_model_default_options();
    tr_context_options working = tr_context_default_options();
    s->path = path;
    options.compute = compute;
    working.threads = 1;
    working.batch_size = 4;
    const tr_status status = tr_open_model(path, &options, &s->model, error);
    if (status != TR_OK) {
        check_refusal("open", path, status, error);
        return false;
    }
    tr_model_get_info(s->model, &s->info);
    for (int id = 0; id < s->info.target_vocabulary; id++) {
        size_t size = 0;
        tr_target_piece(s->model, id, &size);
        s->longest_piece = size > s->longest_piece ? size : s->longest_piece;
    }
    const tr_status made = tr_make_context(s->model, &working, &s->context, error);
    check(made == TR_OK, "context: %s", error->message);
    return made == TR_OK;
}

static void close_subject(subject *s)
{
    tr_context_destroy(s->context);
    tr_model_close(s->model);
}

/* The text of all results, for free(); NULL: a fault was found. */
static char *ask(subject *s)
{
    char *said;
    size_t size;
    if (!choose_languages(s))
        return NULL;
    s->out = open_memstream(&said, &size);
    if (s->info.has_tokenizer) {
        translate(s, 1);
        translate(s, BEAM);
    }
    search_tokens(s);
    fclose(s->out);
    return said;
}

/* Whether indexing a folder of models gives what opening the model gives. */
static void compare_peek(const subject *s)
{
    tr_peek peek;
    tr_error error;
    const tr_status status = tr_package_peek(s->path, &peek, &error);
    check(status == TR_OK, "peek: refuses what is accepted: %s", error.message);
    if (status != TR_OK)
        return;
    const bool marian =
        strcmp(peek.format, "Marian model") == 0; /* only the weights distinguish Bergamot's models from Marian's */
    check(strcmp(peek.format, s->info.format) == 0 || (marian && strcmp(s->info.format, "Bergamot model") == 0),
          "peek: format %s, not %s", peek.format, s->info.format);
    check(peek.has_tokenizer == s->info.has_tokenizer, "peek: %s a tokenizer", peek.has_tokenizer ? "sees" : "does not see");
    check(strcmp(peek.source_language, s->info.source_language) == 0 &&
              strcmp(peek.target_language, s->info.target_language) == 0,
          "peek: from %s to %s, not from %s to %s", peek.source_language, peek.target_language, s->info.source_language,
          s->info.target_language);
    char tokenizer[4096]; /* it has tokens for the languages, which another file names */
    snprintf(tokenizer, sizeof tokenizer, "%s/tokenizer.json", s->path);
    const bool same = access(tokenizer, F_OK) < 0;
    check(!same || peek.languages.count == (size_t)s->info.languages, "peek: %zu languages, not %d", peek.languages.count,
          s->info.languages);
    for (size_t i = 0; same && i < peek.languages.count && i < (size_t)s->info.languages; i++) {
        const char *code = tr_model_language(s->model, (int)i);
        check(strcmp(peek.languages.items[i].code, code) == 0, "peek: language %s, not %s", peek.languages.items[i].code,
              code);
    }
    tr_peek_free(&peek);
}

/* As `translate convert` does. Only weights that the wanted type cannot represent may be refused. */
static bool convert(const char *path, const char *scratch)
{
    tr_package package;
    tr_error error;
    tr_status status = tr_package_open(path, TR_LOAD_MAP, &package, &error);
    check(status == TR_OK, "convert: cannot open what is open already: %s", error.message);
    if (status != TR_OK)
        return false;
    status = tr_gguf_write(&package, scratch, tr_lossless_type(&package.weights), NULL, NULL, &error);
    tr_package_close(&package);
    if (!computed(NULL, "convert", status, &error))
        return false;
    status = tr_gguf_verify(scratch, NULL, &error);
    check(status == TR_OK, "convert: %s", error.message);
    return status == TR_OK;
}

static void compare_converted(const char *said, const char *compute, const char *path, const char *scratch)
{
    subject s = {0};
    tr_error error;
    if (!convert(path, scratch))
        return;
    const bool floats = strcmp(compute, "f32") == 0; /* f16 in a directory is computed as f32 */
    if (open_subject(&s, scratch, floats ? TR_COMPUTE_F32 : TR_COMPUTE_AUTO, &error)) {
        char *converted = ask(&s);
        check(converted, "converted: it has no languages any more");
        check(!converted || strcmp(said, converted) == 0, "converted: it says %s in place of %s", converted, said);
        free(converted);
    } else
        check(false, "converted: %s", error.message);
    close_subject(&s);
    unlink(scratch);
}

/* Leaves the line to print in answer. */
static void use(const char *path, const char *scratch, char answer[TR_MESSAGE_SIZE + 32])
{
    subject s = {0};
    tr_error error;
    if (!open_subject(&s, path, TR_COMPUTE_AUTO, &error))
        snprintf(answer, TR_MESSAGE_SIZE + 32, "refused %s", error.message);
    else {
        char *said = ask(&s);
        snprintf(answer, TR_MESSAGE_SIZE + 32, said ? "accepted" : "refused it takes no languages");
        compare_peek(&s);
        if (said)
            compare_converted(said, s.info.compute, path, scratch);
        free(said);
    }
    close_subject(&s);
    tr_peek peek;
    if (tr_package_peek(path, &peek, &error) == TR_OK)
        tr_peek_free(&peek);
    else
        check_refusal("peek", path, error.status, &error);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void run(const char *path, const char *scratch, long long bytes)
{
    char answer[TR_MESSAGE_SIZE + 32];
    *wrong = 0;
    const double start = cpu_seconds();
    const long long before = atomic_load(&allocated);
    atomic_store(&peak, before);
    use(path, scratch, answer);
    const double seconds = cpu_seconds() - start;
    const long long most = atomic_load(&peak) - before;
    check(seconds <= max_seconds, "it took %.1f seconds", seconds);
    check(most <= max_bytes + 32 * bytes, "it took %lld bytes", most);
    /* Libraries keep some memory for later use; LeakSanitizer, which is slow, distinguishes that from leaks. */
    if (atomic_load(&allocated) > before && __lsan_do_recoverable_leak_check())
        check(false, "memory was lost");
    printf("%s%s\n", *wrong ? "wrong " : answer, wrong);
    fflush(stdout);
}

static long long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (long long)st.st_size : 1 << 20; /* a directory is small */
}

int main(int count, char **arguments)
{
    char path[4096];
    if (count < 2) {
        fprintf(stderr, "usage: %s SCRATCH [MODEL...]\n", *arguments);
        return 2;
    }
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    for (int i = 2; i < count; i++)
        run(arguments[i], arguments[1], size_of(arguments[i]));
    while (count == 2 && fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        run(path, arguments[1], size_of(path));
    }
    return 0;
}
