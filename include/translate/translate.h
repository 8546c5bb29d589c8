/* translate: a small, fast inference engine for encoder-decoder translation models.
 *
 *     tr_error error;
 *     tr_model *model;
 *     tr_context *context;
 *     tr_results *results;
 *     const char *text = "今天天气很好";
 *     if (tr_model_open("models/zh-en.gguf", NULL, &model, &error) ||
 *         tr_context_create(model, NULL, &context, &error) ||
 *         tr_translate(context, &text, NULL, 1, NULL, &results, &error))
 *         fprintf(stderr, "%s\n", error.message);
 *     else
 *         puts(tr_results_text(results, 0, NULL));
 *
 * examples/translate.c is a complete program, examples/queue.c and examples/serve.c use a queue.
 *
 * The objects
 *
 *   tr_model        The weights, the tokenizer and the settings of one model. Immutable.
 *   tr_context      The working memory and the threads that translate for one caller at a time.
 *   tr_queue        The same for any number of callers, whose sentences share one running batch.
 *   tr_options      Settings by name, for all of these.
 *   tr_results      Translations, to be read with functions.
 *   tr_model_index  A folder of models, to find the models for a pair of languages.
 *
 * Conventions
 *
 *   Errors     Every function that can fail returns a tr_status and fills a tr_error (or NULL, if the caller does not
 *              want one) with the status and one line of text, "WHAT: WHY". After a failure the outputs are NULL or
 *              empty and nothing has to be freed. Every such function can return TR_ERROR_ARGUMENT for a NULL argument
 *              and TR_ERROR_MEMORY; the comments below name only the other causes. The library never prints, never
 *              exits and has no global state.
 *
 *   Options    An options argument may be NULL: all defaults. A function reads the options that its section of this header
 *              names and ignores the others, so one tr_options can serve all calls of a program. The library copies what
 *              it needs before the call returns.
 *
 *   Growth     A program that was compiled with this header runs with every later library of the same soname. What can
 *              grow is opaque and has functions. The structs of this header are final, but for those that callbacks get
 *              (tr_progress, tr_token_event), which may get further fields at their end.
 *
 *   Text       UTF-8, as a pointer and a size in bytes. If an array of sizes is NULL, the texts are NUL-terminated.
 *              Invalid UTF-8 and NUL bytes become U+FFFD and set TR_FLAG_INVALID_UTF8. Text that the library returns is
 *              NUL-terminated; its size does not count the NUL.
 *
 *   Tokens     Lists of ids that a caller gives are arrays of pointers and counts, which the library only reads.
 *
 *   Ranges     begin, end: end is exclusive, so a range has end - begin elements. Indexes start at 0.
 *
 *   Numbers    Logarithms are natural.
 *
 *   Same bits  The translation of a sentence does not depend on the number of threads, the batch size, the other texts of
 *              the call or of the queue, or earlier calls. Kernel levels (option "cpu") give the same bits as well, with
 *              two exceptions: levels with and without fused multiply-add can differ, and "avx512bf16" differs from the
 *              others with bf16 weights.
 *
 *   Threads    Any number of threads may use one tr_model, tr_queue or tr_model_index at the same time, or read one
 *              tr_options or tr_results. A tr_context belongs to one thread at a time, but any thread may call
 *              tr_context_cancel. Contexts and queues have threads of their own (option "threads"), so a program with many
 *              threads gives each context one, or uses a queue. tr_model_open uses a second thread while it runs.
 *
 *   Callbacks  Those of a context run in the calling thread or in a helper thread, never two at a time within one call.
 *              Threads of the call may wait for them, so they should be quick. They must not use the context that calls
 *              them, but for tr_context_cancel. Those of a queue run in threads that do nothing else.
 *
 *   fork       After fork() the child may use models that the parent opened, but has to create its own contexts and queues,
 *              and must not use or destroy those that it inherited. With backend "openmp" the child must not create
 *              contexts if the parent has already run one (libgomp does not survive fork); "posix", the default, has no
 *              such limit.
 *
 *   Ownership  The caller destroys what it created: contexts and queues first, then their models. Results belong to the
 *              caller; the comment of each function names the function that frees them.
 */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TR_API __attribute__((visibility("default")))
#else
#define TR_API
#endif

/* --------------------------------------------------------------------------------------------------- errors and version */

typedef enum tr_status {
    TR_OK = 0,
    /* An argument or option is out of range, or does not fit the model. */
    TR_ERROR_ARGUMENT,
    /* Memory or address space ran out. */
    TR_ERROR_MEMORY,
    /* A file cannot be opened, read or written. */
    TR_ERROR_IO,
    /* A file is damaged or contradicts itself. */
    TR_ERROR_FORMAT,
    /* A file is valid, but this version cannot run what it holds. */
    TR_ERROR_UNSUPPORTED,
    /* The network produced NaN. The weights are damaged. */
    TR_ERROR_NUMERIC,
    /* A callback or tr_context_cancel cancelled the call. */
    TR_ERROR_CANCELLED,
    /* The queue has no room for the texts now. */
    TR_ERROR_FULL,
    /* The deadline of the submission is over. */
    TR_ERROR_DEADLINE,
} tr_status;

enum { TR_MESSAGE_SIZE = 512 };

typedef struct tr_error {
    tr_status status;
    /* One line, NUL-terminated, without a final full stop or newline. */
    char message[TR_MESSAGE_SIZE];
} tr_error;

/* The same for languages that declare no structs: an error to pass to functions, its status and its line of text. NULL if
 * memory is short, which functions take as well. For tr_free. */
TR_API tr_error *tr_error_create(void);
TR_API tr_status tr_error_status(const tr_error *error);
TR_API const char *tr_error_message(const tr_error *error);

/* The version of this header. A library of the same major and minor version has everything in it. */
#define TR_VERSION_MAJOR 0
#define TR_VERSION_MINOR 1
#define TR_VERSION_PATCH 0

/* The version of the library that runs, such as "0.1.0". */
TR_API const char *tr_version(void);

/* The name of a status, such as "format". Never NULL. */
TR_API const char *tr_status_name(tr_status status);

/* -------------------------------------------------------------------------------------------------------------- options */

typedef struct tr_options tr_options;
typedef struct tr_model tr_model;

/* Options with all defaults, for tr_options_free. */
TR_API tr_status tr_options_create(tr_options **options, tr_error *error);
TR_API void tr_options_free(tr_options *options); /* NULL is allowed */

/* Sets an option by its name. Flags are int, 0 or 1. Strings are copied; NULL stands for the default.
 *
 * TR_ERROR_ARGUMENT  There is no such option, it has another type, or the value is out of range. What depends on the model,
 *                    or on other options, is checked by the function that reads it. */
TR_API tr_status tr_options_set_int(tr_options *options, const char *name, int64_t value, tr_error *error);
TR_API tr_status tr_options_set_float(tr_options *options, const char *name, double value, tr_error *error);
TR_API tr_status tr_options_set_string(tr_options *options, const char *name, const char *value, tr_error *error);

/* Sets "forbidden" to count target ids, which are copied. */
TR_API tr_status tr_options_set_ids(tr_options *options, const char *name, const int32_t *ids, size_t count,
                                    tr_error *error);
/* Sets "prefixes" to count strings, one for each text of the call, NULL for a text without; they are copied. */
TR_API tr_status tr_options_set_strings(tr_options *options, const char *name, const char *const *strings, size_t count,
                                        tr_error *error);

/* The names of all options: index 0, 1, ... until NULL. type: "int", "float", "string", "ids" or "strings" (may be NULL). */
TR_API const char *tr_options_name(size_t index, const char **type);

/* Models: tr_model_open, tr_model_open_memory
 *
 *   load               string  "map"     "map": map the file; fast to open, and processes share the memory. If another
 *                                        process truncates the file meanwhile, touching the lost part raises SIGBUS.
 *                                        "copy": read the file into memory, in huge pages if the system has them. Slower to
 *                                        open; large models run up to 1.5 times as fast.
 *   compute            string  "auto"    The type of the weights in memory. "auto": that of the file; for a published
 *                                        directory with floating-point weights f32. "f32". "f16", "bf16": weights are
 *                                        rounded, the arithmetic is f32 (CPUs that multiply bfloat16 round activations as
 *                                        well). "int8": weights and activations are rounded to int8, with one scale per
 *                                        output and one per row; integer sums are exact.
 *   cpu                string  best      The kernel level; see tr_cpu_level. Default: the environment variable
 *                                        TRANSLATE_CPU, or the best that this CPU runs.
 *   shortlist          string  "auto"    The lexical shortlist, which limits the target tokens of each sentence. "auto": the
 *                                        model's own, if it has one. "off". Or the path of a shortlist in Marian's binary
 *                                        format that was made for the vocabularies of this model.
 *   full_vocabulary    int     0         1: ignore the model's list of target tokens that can occur at all.
 *   attention_windows  string  "exact"   "local:W": in the encoder a token attends to at most W tokens on either side
 *                                        (Luong et al., 2015; Beltagy et al., 2020). Faster for long sources; changes the
 *                                        output of models that were not trained with it. "local:W@FIRST-LAST" or
 *                                        "local:W@HEAD": only these heads, from 1. Commas separate several settings.
 *
 * Contexts and queues: tr_context_create, tr_queue_create
 *
 *   threads            int     0         1 .. 1024. 0: one per core that this process may use (affinity mask, cgroup limit).
 *   batch_size         int     32        Sentences that are decoded side by side, 1 .. 4096. The threads of a context split
 *                                        into groups, each with a batch of its own (1: all threads work on one sentence);
 *                                        each thread of a queue has a batch of its own.
 *   backend            string  "posix"   Of a context. "posix": threads of its own, which sleep between calls. "openmp": the
 *                                        OpenMP runtime's, for programs that use it anyway; between calls libgomp's threads
 *                                        spin for some milliseconds, unless OMP_WAIT_POLICY says otherwise.
 *   cache_bytes        int     64 MiB    Bytes of the translations that a context keeps, to return them for the same text;
 *                                        the least recently used are dropped first. 0: none.
 *   model_weight       float   1         Weight of the context's own model in an ensemble; see tr_options_add_model.
 *   max_texts          int     65536     Texts in a queue whose events have not all been taken, at most.
 *   max_bytes          int     256 MiB   The bytes of these texts.
 *
 * Translating: tr_translate, tr_translate_tokens, tr_queue_submit. Names and meanings as in Hugging Face's generate() and
 * CTranslate2; the defaults are greedy decoding.
 *
 *   source_language    string  model's   The languages: the model's own code, or an ISO 639 code with two or three letters,
 *   target_language    string  model's   optionally with script and region, in any usual spelling (zh, zho, zh-CN, zh_Hans
 *                                        and cmn_Hans are the same). A model of several languages needs them, except for
 *                                        OPUS models, which choose a target themselves; a text for these may begin with the
 *                                        model's own token (">>fra<< Hello"). See tr_model_check_languages. zh-Hant as the
 *                                        target of a model into Chinese that has rules for it ("traditional" in translate
 *                                        info) gives traditional characters; prefixes may have them, too, if the model's
 *                                        tokenizer reads them.
 *   split              string  "auto"    "auto": a text is split into sentences, at line breaks as well, which are
 *                                        translated one by one and joined again. "never": a text is one sentence; it is
 *                                        split only if it is too long for the model.
 *   max_length         int     512       Target tokens per sentence without EOS, at least 1; the model's maximum applies
 *                                        too.
 *   min_length         int     0         EOS is forbidden before. 0 .. max_length; equal to it: exactly that many tokens.
 *   max_length_factor  float   0         Above 0: a target has at most max_length_factor * source tokens +
 *   max_length_offset  int     0         max_length_offset tokens, but no fewer than its prefix and min_length.
 *   beam               int     1         Live hypotheses per sentence, 1 .. 64. 1: greedy.
 *   n_best             int     1         Hypotheses to return, best first: 1 .. beam; with sample or alternatives 1 .. 64.
 *   length_penalty     float   1         The score of a hypothesis is its log-probability / tokens^length_penalty; EOS
 *                                        counts as a token, a prefix does not. -10 .. 10.
 *   coverage_penalty   float   0         Adds coverage_penalty * sum_i log(min(sum_j p_ij, 1)) to the score of a finished
 *                                        hypothesis (Wu et al., 2016, eq. 14, as in CTranslate2); p_ij: the attention of
 *                                        target token j on source token i. 0 .. 10.
 *   patience           float   1         Beam search ends when patience * beam hypotheses are finished (Kasai et al., 2022).
 *                                        1 .. 10.
 *   stopping           string            As early_stopping. "heuristic" (the default): no live hypothesis, ended now, would
 *                                        score above the worst of those kept. "early": patience * beam are finished.
 *                                        "never": no live hypothesis can score above them at any length.
 *   sample             int     0         1: draw each token by its probability. Needs beam 1; n_best: independent draws.
 *                                        With protect, those that keep all spans and numbers.
 *   temperature        float   1         Logits are divided by it before drawing. 0.01 .. 100.
 *   top_k              int     0         Draw from the top_k most likely tokens, 1 .. 1024. 0: from all.
 *   top_p              float   1         Draw from the smallest set of tokens whose probabilities sum to top_p (Holtzman et
 *                                        al., 2020), after top_k. Above 0, at most 1.
 *   seed               int     0         The draws of a sentence depend on the seed and the sentence only.
 *   no_repeat_ngram    int     0         No n-gram of this many tokens occurs twice (Paulus et al., 2018). 0 .. 64, 0: off.
 *   repetition_penalty float   1         Makes tokens that occurred less likely: positive logits are divided by it, negative
 *                                        ones multiplied (Keskar et al., 2019); beam search multiplies log-probabilities, of
 *                                        which scores are sums then. 1 .. 100.
 *   forbid_unknown     int     0         1: the unknown token never comes.
 *   forbidden          ids     none      Target ids that never come, besides those that the model forbids.
 *   alternatives       int     0         1: n_best hypotheses that differ in their first token after the prefix, each
 *                                        continued by a search with beam, as CTranslate2's return_alternatives.
 *   alternatives_min   float   0         The smallest probability of such a first token, 0 .. 1.
 *   prefixes           strings none      Texts that translations begin with. A text with a prefix is one sentence.
 *                                        TR_ERROR_ARGUMENT: the vocabulary cannot spell it, it has more tokens than
 *                                        max_length, or the text is too long for the model. Not for tr_translate_tokens.
 *   scores             int     0         1: log-probabilities even where the search needs none (beam 1), which takes longer.
 *   align              int     0         1: word alignments. The translations go through the network once more.
 *   align_layer        int     -1        The decoder layer, from 0; -1: the one that the model was trained to align with, if
 *                                        its files say so, else the last.
 *   align_head         int     -1        The head, from 0; -2: the mean of all; -1: the one that was trained, else the mean.
 *   align_threshold    float   1         1: each target token is linked to the source token with the largest weight. Below:
 *                                        to all source tokens with a weight above it, as Marian's --alignment 0.3.
 *   use_cache          int     1         Translate a text that the context has translated before with the same options, and
 *                                        a sentence that occurs several times in a call, only once. Not for tokens.
 *   loop_guard         int     1         Decode a sentence again if its translation loops: if 1 to 20 tokens repeat at least
 *                                        three times in a row and span at least 12 tokens, or if 32 consecutive tokens hold
 *                                        at most 8 different ones. The second decoding has no_repeat_ngram 3 and
 *                                        repetition_penalty 1.1, or the caller's values if these are stricter. If it loops
 *                                        as well, or reaches its maximum length, the result is the first translation,
 *                                        truncated after the first occurrence of what repeats. Not for samples and tokens.
 *   doubtful           int     0         1: TR_FLAG_DOUBTFUL for texts that are probably wrong: those whose mean
 *                                        log-probability is below doubtful_below. Takes as long as scores.
 *   doubtful_below     float   0         0: what the model's file says; without that, no text is doubtful.
 *   protect            int     1         Keep what must not change, in each hypothesis. URLs, mail addresses, paths, `code`,
 *                                        placeholders ({x}, ${x}, %s), identifiers, long numbers, hashtags, @names, emoji,
 *                                        tags and characters that the source vocabulary lacks come out as they are. Pairs of
 *                                        tags, **words** and [words](address) go around the words that translate theirs, by
 *                                        word alignment. Numbers keep their value, between Chinese and English in words,
 *                                        too; where no attempt does, TR_FLAG_NUMBER says so. A sentence that lost something
 *                                        is translated again, up to three times; hypotheses that lost something are left
 *                                        out, so that there may be fewer than n_best. A sentence that has no letter of the
 *                                        source language, or is in the target language already, stays as it is
 *                                        (TR_FLAG_PASSED_THROUGH). Not for texts with a prefix, nor for tokens.
 *   rerank_weight      float   0.3       With a model that translates back (tr_options_set_reverse_model) and a beam: a
 *                                        hypothesis' rank is its score, plus rerank_weight times the mean log-probability of
 *                                        the source's tokens given the hypothesis, by that model. Hypotheses are then in the
 *                                        order of their ranks, not of their scores; with loop_guard, those that loop are
 *                                        left out. 0 .. 100; 0: ranks are scores. Not with alternatives, and not for tokens.
 *
 * Submitting: tr_queue_submit, besides those of translating
 *
 *   priority           string  "normal"  "high": interrupts others at their next step; they go on when none of high priority
 *                                        is left. "low": waits until nothing else does.
 *   deadline           int     0         Milliseconds after which what is not done is given up with TR_ERROR_DEADLINE.
 *                                        0: never.
 *   ordered            int     0         1: results come in the order of the texts. 0: as they are done.
 *   tokens             int     0         1: each target token is an event as well. Needs beam 1 without alternatives.
 *
 * Scoring: tr_score_tokens, tr_score_texts; also source_language, target_language, align and align_...
 *
 *   no_scores          int     0         1: no log-probabilities, which take most of the time.
 *   no_end             int     0         1: the targets are incomplete; EOS is not appended to them.
 *   encoder_attention  int     0         1: return the attention of the encoder,
 *   decoder_attention  int     0         of the decoder,
 *   cross_attention    int     0         and of the decoder on the encoder.
 *   first_number       int     0         The number of the first pair in error messages. */

/* Adds a model to the ensemble of contexts, in which models decode together, as in Marian: at each step a token's
 * log-probability is the sum of those of the models, each times its weight. weight: above 0; the weight of the context's own
 * model is "model_weight". They are divided by their sum, so that scores have the scale of a single model's.
 *
 * The models may differ in architecture, size, weight type and format. They must agree in source and target tokens, start
 * token, forced first token, EOS, languages and vocabulary subset, and none may use a shortlist: otherwise tr_context_create
 * returns TR_ERROR_ARGUMENT and names two models and the difference. The context's own model tokenizes the texts, and gives
 * alignments, attention and all other settings. A token that any model forbids is forbidden. The maximum lengths are those
 * that all models can take. At most 15 models; they must outlive the context, contexts may share them, and a model may occur
 * more than once. Queues have no ensembles. */
TR_API tr_status tr_options_add_model(tr_options *options, const tr_model *model, double weight, tr_error *error);

/* The model that translates back from the target language to the source language, for contexts and queues: where option beam
 * is above 1, it ranks the hypotheses of tr_translate and tr_queue_submit by how likely they make the source (the noisy
 * channel of Yee et al., 2019); see rerank_weight. What a translation leaves out or changes costs it its rank. The model
 * must outlive contexts and queues, which may share it. NULL: none.
 *
 * tr_context_create and tr_queue_create fail if it lacks a tokenizer of either side (TR_ERROR_ARGUMENT,
 * TR_ERROR_UNSUPPORTED) or translates another pair (TR_ERROR_ARGUMENT), tr_translate and tr_queue_submit if it lacks the
 * languages of a call (TR_ERROR_ARGUMENT). */
TR_API void tr_options_set_reverse_model(tr_options *options, const tr_model *model);

/* A glossary: words of the source language and what stands for them in translations, for every model. Where a text has
 * several that overlap, the first counts, and of those that begin together the longest. The translation has the given words
 * as they are, in English in the plural after a number or the like where a plain rule gives it; words with capitals, which
 * may be names, have none. Immutable, so threads may share it.
 *
 * A line is SOURCE TAB TARGET, or the same as CSV, and optionally a third field with flags, separated by spaces: case
 * (capitals and small letters differ; of ASCII alone), nocase, word (whole words only), part. Without flags, sources in
 * ASCII letters are whole words, and case counts if they have a capital after their first letter; others stand anywhere.
 * Blank lines, and lines that begin with a hash sign and a space, are skipped. A term takes the place of identifiers,
 * hashtags and names inside it; other protected spans stay as they are. Texts with a prefix do not use it.
 *
 * TR_ERROR_FORMAT names file and line: a wrong number of fields, an empty one, an unknown flag, two targets for one source,
 * text that is not UTF-8, more than 16 MiB. tr_glossary_parse reads bytes; name stands for the file in messages. */
typedef struct tr_glossary tr_glossary;
TR_API tr_status tr_glossary_open(const char *path, tr_glossary **glossary, tr_error *error);
TR_API tr_status tr_glossary_parse(const char *name, const char *data, size_t size, tr_glossary **glossary, tr_error *error);
TR_API void tr_glossary_free(tr_glossary *glossary); /* NULL is allowed */

/* The glossary of calls and submissions with these options, which need option protect; NULL: none. It is not copied and must
 * outlive them. */
TR_API void tr_options_set_glossary(tr_options *options, const tr_glossary *glossary);

typedef struct tr_results tr_results;
typedef struct tr_event tr_event;

/* How far a call is. Tokens count those computed so far, without EOS. */
typedef struct tr_progress {
    size_t texts_done, texts;
    uint64_t source_tokens, target_tokens;
} tr_progress;

/* One target token, as a callback or an event has it. */
typedef struct tr_token_event {
    /* Index of the text (or source) in the call. */
    size_t text;
    /* Index of the sentence in the text, and how many the text has. They are the inputs of the network: each
     * piece of a split sentence counts, blank lines do not. */
    int sentence, sentences;
    /* With sample: index of the draw, 0 .. n_best - 1. Draws come in no particular order.
     * Otherwise 0. */
    int sample;
    /* Index of the token in the sentence. Tokens that are given (a language token, a prefix) come first. */
    int step;
    /* EOS included. -1: no token, but the text of a sentence whose tokens came without: with option protect, of one
     * with protected spans or numbers, which is known when the text is complete, and of those after it. It may have
     * other tokens then. Such an event follows the sentence's last token, and comes before on_result; its step, sample
     * and log_probability are 0. Of several draws it has the text of the best. */
    int32_t id;
    /* Its log-probability, as in tr_results_log_probabilities. */
    float log_probability;
    /* The sentence (or this draw) ends with this token. */
    bool last;
    /* True while the loop guard decodes this sentence again. Steps begin at 0 again: discard the sentence's
     * earlier tokens. The final text may still be the truncated first attempt; see option loop_guard. */
    bool restarted;
    /* [size] The bytes that this token appends to the text: complete characters that no later token can change.
     * So they may be empty, or more than the token's own; models with Moses tokenization append the text that
     * its rules rewrite with the last token. In tr_translate the bytes of all sentences of a text, in order,
     * are the translation with the white space between sentences, up to the end of the last sentence. A sentence that the
     * callback ends lacks what waited for its next token: a part of a character or, in traditional characters, of a word. */
    const char *bytes;
    /* 0 if the model has no tokenizer. */
    size_t size;
} tr_token_event;

/* Callbacks; NULL: none.
 *
 * on_progress  Called as sentences (or pairs to score) are done. A result other than 0 cancels the call.
 *
 * on_token     tr_translate and tr_translate_tokens. Called with each target token as it is found. The tokens of a sentence
 *              come in order, and before on_result has its text; the tokens of different sentences are interleaved. Texts
 *              that need no computing (cached or blank) have no tokens. Equal texts of a call are not merged then. Needs
 *              beam 1 without alternatives, otherwise TR_ERROR_ARGUMENT. token is valid during the callback only. Result 0:
 *              continue. Above 0: end this sentence (or this draw) after this token, as max_length does; nothing of the call
 *              is cached then. Below 0: cancel the call.
 *
 * on_result    tr_translate. Called as soon as results are ready: of the texts first .. first + count - 1, which are number
 *              0 .. count - 1 of results. Every result is passed exactly once, in the order of the texts. The library keeps
 *              ownership; results is valid during the callback only. A result other than 0 cancels the call.
 *
 * on_event     tr_queue_submit. Gets the events of the submission, one at a time, in a thread of the queue that does nothing
 *              else: a slow callback holds up nobody else, as long as fewer than 16 are slow at the same time. The library
 *              frees the event afterwards. The callback may use the queue but not destroy it.
 *
 * A cancelled call returns TR_ERROR_CANCELLED. */
TR_API void tr_options_on_progress(tr_options *options, int (*callback)(void *argument, const tr_progress *progress),
                                   void *argument);
TR_API void tr_options_on_token(tr_options *options, int (*callback)(void *argument, const tr_token_event *token),
                                void *argument);
TR_API void tr_options_on_result(tr_options *options,
                                 int (*callback)(void *argument, size_t first, const tr_results *results, size_t count),
                                 void *argument);
TR_API void tr_options_on_event(tr_options *options, void (*callback)(void *argument, const tr_event *event),
                                void *argument);

/* ---------------------------------------------------------------------------------------------------------------- model */

/* Opens a model as it was published: a GGUF file, a directory of Hugging Face, Marian, CTranslate2 or Firefox,
 * or an Argos package. The contents decide which it is, not the name. On success *model is for tr_model_close.
 *
 * TR_ERROR_IO           A file cannot be opened or read.
 * TR_ERROR_FORMAT       A file is damaged, incomplete or contradictory. The message names the file and the tensor or field.
 * TR_ERROR_UNSUPPORTED  The file holds another kind of network, or is no translation model.
 * TR_ERROR_NUMERIC      A weight is not a finite number, and is to be rounded to int8.
 * TR_ERROR_ARGUMENT     An option is out of range, this CPU does not run the kernel level, or the shortlist was made for
 *                       other vocabularies. */
TR_API tr_status tr_model_open(const char *path, const tr_options *options, tr_model **model, tr_error *error);

/* As tr_model_open, for size bytes of a GGUF file in memory. With load "map", the default, the model uses the bytes where
 * they are: they must not change, and outlive the model. Bytes at an address that is not divisible by 64 are copied, and
 * with "copy" all are.
 *
 * TR_ERROR_UNSUPPORTED  As there, or the bytes are not those of a GGUF file. */
TR_API tr_status tr_model_open_memory(const void *data, size_t size, const tr_options *options, tr_model **model,
                                      tr_error *error);

/* Where the default model from Chinese to English was installed with the library. en-zh.gguf, from English to Chinese, lies
 * beside it. The files may be missing: they are a build option, and packages may have them elsewhere.
 * `pkg-config --variable=model libtranslate` gives the same path. */
TR_API const char *tr_default_model_path(void);

/* The names of the kernel levels that this CPU runs, for the option "cpu": index 0 is the slowest, "portable". NULL for
 * an index without a level. */
TR_API const char *tr_cpu_level(int index);

/* Closes a model. NULL is allowed. No context or queue may use the model any more. */
TR_API void tr_model_close(tr_model *model);

/* What is known of a model, by name; NULL for an unknown name. The strings live as long as the model.
 *
 *   format           The file format: "GGUF", "Hugging Face Marian directory", ...
 *   architecture     The model family: "marian", "t5", ...
 *   name             "" if unknown.
 *   source_language  An ISO 639 code, or "" if unknown.
 *   target_language
 *   compute          The type of the weights in memory: "f32", "f16", "bf16" or "int8".
 *   cpu              The kernel level in use: "portable", "avx2", ... */
TR_API const char *tr_model_string(const tr_model *model, const char *name);

/* The same for numbers; -1 for an unknown name.
 *
 *   d_model, encoder_layers, decoder_layers, encoder_heads, decoder_heads, encoder_ffn, decoder_ffn
 *   source_vocabulary, target_vocabulary  Sizes in tokens.
 *   max_source_length   Tokens, EOS included.
 *   max_target_length   Tokens, EOS not included.
 *   start_id, eos_id, pad_id              Target tokens; -1 if the model has none.
 *   unk_id              The unknown token of a source, or -1.
 *   parameters          The number of weights; tied matrices count once.
 *   file_size           The bytes of all weight files.
 *   has_tokenizer, has_shortlist          0 or 1.
 *   vocabulary_subset   The size of the model's list of the target tokens that can occur at all, over which probabilities
 *                       are normalised; 0 if it has none or it is not in use.
 *   languages           How many languages the model has tokens for. 0: it translates one pair, or the texts name their
 *                       language. */
TR_API int64_t tr_model_int(const tr_model *model, const char *name);

/* The model's own code of one of its languages, such as "fr", "fra_Latn" or "fr_XX". index: 0 ..
 * languages - 1 (tr_model_int); for any other index the result is NULL. The string lives as long as the model. */
TR_API const char *tr_model_language(const tr_model *model, int index);

/* Checks whether the model translates texts from source to target. Both are as in the options; NULL
 * stands for the model's default.
 *
 * TR_ERROR_ARGUMENT  The model does not have the language, or has several and no default. The message lists them. */
TR_API tr_status tr_model_check_languages(const tr_model *model, const char *source, const char *target, tr_error *error);

/* ---------------------------------------------------------------------------------------------------- folders of models */

/* The models of a folder, indexed by their languages. Immutable: any number of threads may use it. */
typedef struct tr_model_index tr_model_index;

/* Lists the models of a folder. On success *models is for tr_model_index_close. A folder without models is not
 * an error.
 *
 * Every entry of the folder (but not of its subfolders) that is a model file or a published directory is taken.
 * The contents decide, and symbolic links are followed. Names that begin with a dot, and entries that are not
 * models, are skipped. Only settings are read, no weights.
 *
 * The languages of a model are those that its settings name or that it has tokens for. If the settings name
 * none, the name of the file or directory gives the pair ("opus-mt-zh-en", "zh-en.gguf", "enzh"). Names of
 * groups such as ROMANCE are ignored. A model whose source language is unknown translates from every language
 * that it has tokens for. A model that cannot be used is left out; tr_model_index_warning tells why.
 *
 * TR_ERROR_IO  The folder cannot be read, or is not a folder. */
TR_API tr_status tr_model_index_open(const char *folder, tr_model_index **models, tr_error *error);

/* Frees an index. NULL is allowed. */
TR_API void tr_model_index_close(tr_model_index *models);

/* The number of models, which are sorted by name. */
TR_API size_t tr_model_index_count(const tr_model_index *models);

/* What is known of the model number index: "path" (FOLDER/NAME), "name" (of the file or directory), "format" (as
 * tr_model_string). NULL if index is too large or the name is another. The strings live as long as the index. */
TR_API const char *tr_model_index_string(const tr_model_index *models, size_t index, const char *name);
/* "file_size": the bytes of its weights. "sources", "targets": how many languages it has; it translates from each source to
 * each target, except between two that are the same language. -1 if index is too large or the name is another. */
TR_API int64_t tr_model_index_int(const tr_model_index *models, size_t index, const char *name);

/* A model's own code of its source or target language number language, or NULL if index or language is too
 * large. */
TR_API const char *tr_model_index_source(const tr_model_index *models, size_t index, size_t language);
TR_API const char *tr_model_index_target(const tr_model_index *models, size_t index, size_t language);

/* Why a model was left out, "PATH: WHY". One line per such model; NULL if index is too large. */
TR_API const char *tr_model_index_warning(const tr_model_index *models, size_t index);

/* The models that lead from one language to another. */
typedef struct tr_route tr_route;

/* Finds the models that translate from source to target, which are as in the options. On
 * success *route is for tr_route_free; its strings live as long as the index.
 *
 * The route is one model if any model has the pair. Among several, the order is: the model whose languages are
 * nearest to the wanted ones in script and region; a model for a single pair; the larger file; the name. If no
 * model has the pair, the route is two models with English in between. If English does not lead there, the
 * language in between is the one with the nearest languages, then with the fewest and smallest files, then the
 * first code in alphabetical order.
 *
 * TR_ERROR_ARGUMENT  There is no route. The message lists the languages that source leads to and that target is reached
 *                    from. */
TR_API tr_status tr_model_index_route(const tr_model_index *models, const char *source, const char *target, tr_route **route,
                                      tr_error *error);
TR_API void tr_route_free(tr_route *route); /* NULL is allowed */

/* The number of models, 1 or 2. The second translates the output of the first. */
TR_API int tr_route_count(const tr_route *route);
/* Of model number step: "path", or "source" or "target", the model's own codes for the options. NULL for another name. */
TR_API const char *tr_route_string(const tr_route *route, int step, const char *name);

/* -------------------------------------------------------------------------------------------------------------- context */

typedef struct tr_context tr_context;

/* Creates the working memory for one caller: key/value caches, activations, helper threads, and a cache of
 * translated texts. Memory is allocated when it is needed
 * and kept until tr_context_destroy. The model must outlive the context.
 *
 * TR_ERROR_ARGUMENT  An option is out of range, or the models of the ensemble differ in what they must agree in. */
TR_API tr_status tr_context_create(const tr_model *model, const tr_options *options, tr_context **context, tr_error *error);

/* Stops the helper threads and frees the memory. NULL is allowed. */
TR_API void tr_context_destroy(tr_context *context);

/* Cancels the call that uses the context at this moment, from another thread or from a signal handler: the call returns
 * TR_ERROR_CANCELLED, at the latest after the next step of the decoder, or what it has if nothing was left to decode.
 * Without such a call it does nothing. The context can be used again. It
 * must not be destroyed meanwhile. NULL is allowed. */
TR_API void tr_context_cancel(tr_context *context);

/* ---------------------------------------------------------------------------------------------------------- translating */

/* Translates count texts together, in batches. On success *results has count results in the same order, for
 * tr_results_free. On failure there are no results, and the context can be used again.
 *
 * sizes: the bytes of each text, or NULL if the texts are NUL-terminated. A text of 0 bytes may be NULL.
 *
 * White space around a text and between its sentences is kept. Where two sentences have none in between, as in Chinese, one
 * space separates their translations; in Chinese and Japanese none does, also where the sentences have one or two. A blank
 * text is returned as it is, and so is a sentence without tokens. A call should have many texts, up to some thousands, to
 * keep all threads busy.
 *
 * TR_ERROR_ARGUMENT   The model has no tokenizer, an option is out of range, or a text is NULL.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback or tr_context_cancel cancelled the call. */
TR_API tr_status tr_translate(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                              const tr_options *options, tr_results **results, tr_error *error);

/* Translates count sources, given as token ids without EOS, which the library appends. counts: the ids of each.
 * prefixes: NULL, or the ids that each target begins with, after the language token if there is one; they are part of the
 * result. Results have tokens and no text.
 *
 * An empty source is allowed. If options name languages, the library adds their tokens to sources and targets; otherwise the
 * caller has to. Nothing is split, cached or guarded against loops: every source is computed.
 *
 * TR_ERROR_ARGUMENT   A source has more tokens than the model's max_source_length (EOS and language tokens count), a prefix
 *                     more than max_length, an id is outside its vocabulary, a prefix has EOS, or an option is out of range.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback or tr_context_cancel cancelled the call. */
TR_API tr_status tr_translate_tokens(tr_context *context, const int32_t *const *sources, const size_t *source_counts,
                                     const int32_t *const *prefixes, const size_t *prefix_counts, size_t count,
                                     const tr_options *options, tr_results **results, tr_error *error);

/* -------------------------------------------------------------------------------------------------------------- results */

/* What a pointer in results points to lives as long as they do. Text i is one of 0 .. tr_results_count() - 1; each has one
 * hypothesis, or with n_best above 1 several, best first: hypothesis h is one of 0 .. "hypotheses" - 1. An index that is too
 * large gives NULL, 0, or -1. */
TR_API void tr_results_free(tr_results *results); /* NULL is allowed */
TR_API size_t tr_results_count(const tr_results *results);

/* The translation: the text of hypothesis 0. *size: its bytes (size may be NULL). NULL: sources were tokens. */
TR_API const char *tr_results_text(const tr_results *results, size_t i, size_t *size);

/* Bits of "flags". */

enum {
    /* A sentence was too long for the model and was translated in pieces, split at clause punctuation, else at
     * white space, else anywhere; nothing is dropped. A piece becomes at most 128 tokens (or min_length), and
     * ends where it begins to loop. */
    TR_FLAG_CUT = 1,
    /* The text held invalid UTF-8 or NUL bytes, which became U+FFFD. */
    TR_FLAG_INVALID_UTF8 = 2,
    /* A sentence, or a piece of one, reached its maximum length before EOS. */
    TR_FLAG_MAX_LENGTH = 4,
    /* The translation came from the context's cache or from an equal text of the same call. */
    TR_FLAG_REPEATED = 8,
    /* The decoder looped on a sentence, which was decoded again: see option loop_guard. */
    TR_FLAG_LOOP = 16,
    /* A number of the source may be another one in the translation: see option protect. */
    TR_FLAG_NUMBER = 32,
    /* No sentence of the text was translated: each has no letter of the source language, or is in the target language
     * already. See option protect. */
    TR_FLAG_PASSED_THROUGH = 64,
    /* The translation is probably wrong: see option doubtful. */
    TR_FLAG_DOUBTFUL = 128,
};

/* Of text i: "hypotheses", "flags" (TR_FLAG_...), "sentences" that it was split into (0: it is blank), "source_tokens" and
 * "target_tokens" of all sentences without EOS. -1 for another name. */
TR_API int64_t tr_results_int(const tr_results *results, size_t i, const char *name);

/* Of text i, with option scores, otherwise 0: "score", the log-probability of the translation, which is the sum over its
 * tokens, EOS included; "mean_log_probability" and "min_log_probability" over its tokens, without those that were given (a
 * language token, a prefix): indicators of the quality of the whole, and of its weakest place. 0 for another name. */
TR_API double tr_results_float(const tr_results *results, size_t i, const char *name);

/* The text of a hypothesis. That of rank h joins the hypotheses of rank h of all sentences; a sentence with fewer
 * contributes its last one. */
TR_API const char *tr_results_hypothesis_text(const tr_results *results, size_t i, size_t h, size_t *size);
/* "score": what hypotheses are ranked by (see length_penalty), the sum over the sentences. "log_probability": the same of
 * their log-probabilities. 0 without log-probabilities, and for another name. */
TR_API double tr_results_hypothesis_float(const tr_results *results, size_t i, size_t h, const char *name);
/* "tokens": target tokens without EOS. "finished": 1 if it ends with EOS, 0 if it reached a maximum length (tokens only,
 * else -1; see TR_FLAG_MAX_LENGTH). */
TR_API int64_t tr_results_hypothesis_int(const tr_results *results, size_t i, size_t h, const char *name);

/* A range of bytes of a text. */
typedef struct tr_span {
    size_t begin, end;
} tr_span;

/* The sentences of text i, "sentences" of them: the bytes of each in the text, without white space at its ends, and of its
 * translation. A sentence that became nothing is empty. Spans count as in tr_results_source_spans. */
TR_API const tr_span *tr_results_source_sentences(const tr_results *results, size_t i, size_t *count);
TR_API const tr_span *tr_results_target_sentences(const tr_results *results, size_t i, size_t *count);
/* "flags" of a sentence: those bits that are not of the whole text (TR_FLAG_INVALID_UTF8, TR_FLAG_REPEATED). -1 for another
 * name, or if there is no such sentence. */
TR_API int64_t tr_results_sentence_int(const tr_results *results, size_t i, size_t sentence, const char *name);

/* One link of a word alignment: the target token translates the source token. */
typedef struct tr_link {
    /* Token indexes. In the caller's source and the returned target, or in the source and target tokens of the
     * result. */
    int32_t source, target;
    /* The attention weight of the target token on the source token. */
    float weight;
} tr_link;

/* A target token with its log-probability, given the source and the tokens before it. It is normalised over all
 * target tokens, forbidden ones included, or over the shortlist if one is in use. 0 for tokens that are given. */
typedef struct tr_scored_token {
    int32_t id;
    float log_probability;
} tr_scored_token;

/* Arrays; *count: their elements (may be NULL). NULL and 0 if there are none. Of texts, only with option align (but for
 * tr_results_scored_tokens): tokens of all sentences (and of pieces of sentences that were split) are concatenated; text
 * that is passed through unchanged, such as a blank line, has no tokens.
 *
 * tr_results_source_ids         The tokens of the text, without language tokens and EOS. NULL if sources were tokens.
 * tr_results_target_ids         The tokens of hypothesis h, without EOS. Each sentence begins with its language token if the
 *                               decoder is given one. If sources were tokens: always.
 * tr_results_source_spans       The bytes of the text that each source token stands for, without the white space before it;
 *                               empty if it stands for none. With TR_FLAG_INVALID_UTF8 they count in the text after
 *                               replacement by U+FFFD.
 * tr_results_target_spans       The same for the bytes of the hypothesis's text.
 * tr_results_links              The word alignment, sorted by source, then by target.
 * tr_results_scored_tokens      With option scores: the tokens of hypothesis 0 of all sentences, each with its EOS.
 * tr_results_log_probabilities  If sources were tokens: of each target token, and of EOS if it is finished. */
TR_API const int32_t *tr_results_source_ids(const tr_results *results, size_t i, size_t *count);
TR_API const int32_t *tr_results_target_ids(const tr_results *results, size_t i, size_t h, size_t *count);
TR_API const tr_span *tr_results_source_spans(const tr_results *results, size_t i, size_t *count);
TR_API const tr_span *tr_results_target_spans(const tr_results *results, size_t i, size_t h, size_t *count);
TR_API const tr_link *tr_results_links(const tr_results *results, size_t i, size_t h, size_t *count);
TR_API const tr_scored_token *tr_results_scored_tokens(const tr_results *results, size_t i, size_t *count);
TR_API const float *tr_results_log_probabilities(const tr_results *results, size_t i, size_t h, size_t *count);

/* ---------------------------------------------------------------------------------------------------------------- queue */

/* A queue translates for any number of callers: their sentences share one running batch where their options allow it, else
 * batches take turns. Each submission has a ticket; what becomes of its texts comes as events, to be fetched or to a
 * callback. Places in the batch go to submissions of the highest priority, and to those of the same priority in turn.
 *
 *     tr_queue_submit(queue, &text, NULL, 1, NULL, &ticket, &error);
 *     tr_event *event = tr_queue_wait(queue, ticket, -1);
 *     puts(tr_results_text(tr_event_results(event), 0, NULL));
 *     tr_event_free(event); */
typedef struct tr_queue tr_queue;

/* A submission. Never 0, and not used again while the queue lives. */
typedef uint64_t tr_ticket;

/* Starts the threads, which sleep while there is nothing to do. The model must outlive the queue.
 *
 * TR_ERROR_ARGUMENT  An option is out of range. */
TR_API tr_status tr_queue_create(const tr_model *model, const tr_options *options, tr_queue **queue, tr_error *error);

/* Gives up all that is not done, waits for callbacks that run, and frees the queue with all events that were not taken. No
 * other thread may be using the queue. NULL is allowed. */
TR_API void tr_queue_destroy(tr_queue *queue);

/* Submits count >= 1 texts, which are copied; see tr_translate. on_progress, on_token, on_result and use_cache play no part.
 *
 * TR_ERROR_ARGUMENT  As tr_translate, or the texts would not even fit into an empty queue.
 * TR_ERROR_FULL      The texts do not fit now. */
TR_API tr_status tr_queue_submit(tr_queue *queue, const char *const *texts, const size_t *sizes, size_t count,
                                 const tr_options *options, tr_ticket *ticket, tr_error *error);

/* The same for token ids; see tr_translate_tokens. */
TR_API tr_status tr_queue_submit_tokens(tr_queue *queue, const int32_t *const *sources, const size_t *source_counts,
                                        const int32_t *const *prefixes, const size_t *prefix_counts, size_t count,
                                        const tr_options *options, tr_ticket *ticket, tr_error *error);

/* Gives up what is not done of a submission. Its last event, with TR_ERROR_CANCELLED, comes when its sentences have left
 * their batches, at the latest after a step of the decoder. False: the ticket is over, or there is no such ticket. */
TR_API bool tr_queue_cancel(tr_queue *queue, tr_ticket ticket);

/* The next event of any submission without on_event, without waiting; NULL: there is none now. For tr_event_free. */
TR_API tr_event *tr_queue_poll(tr_queue *queue);

/* Waits for the next event of a ticket (0: of any submission without on_event) for so many milliseconds (below 0: as long as
 * it takes). NULL: the time is over, or no event of the ticket will come. */
TR_API tr_event *tr_queue_wait(tr_queue *queue, tr_ticket ticket, int64_t milliseconds);

/* A descriptor for poll(): readable while tr_queue_poll has an event. It belongs to the queue; do not read from it. -1: the
 * system gives none. */
TR_API int tr_queue_fd(tr_queue *queue);

/* An event says what became of a text, or, with option tokens, that it got a token. Exactly one event of a submission is the
 * last. If the submission is cancelled or late, that one is for the whole submission. Of NULL, which tr_queue_poll and
 * tr_queue_wait return where there is none, the status is TR_ERROR_ARGUMENT, and there is nothing else. */
TR_API tr_ticket tr_event_ticket(const tr_event *event);
TR_API bool tr_event_last(const tr_event *event);
/* The index of the text; SIZE_MAX: the whole submission. */
TR_API size_t tr_event_text(const tr_event *event);
/* What became of it, and if it failed a line that says why. */
TR_API tr_status tr_event_status(const tr_event *event);
TR_API const char *tr_event_message(const tr_event *event);
/* The translation, as text 0; NULL: there is none. It belongs to the event. */
TR_API const tr_results *tr_event_results(const tr_event *event);
/* The token, or NULL. */
TR_API const tr_token_event *tr_event_token(const tr_event *event);
TR_API void tr_event_free(tr_event *event); /* NULL is allowed */

/* --------------------------------------------------------------------------------------------------------------- tokens */

/* Whose tokens: of the texts that are translated, or of translations. */
typedef enum tr_token_side {
    TR_SOURCE,
    TR_TARGET,
} tr_token_side;

/* The token ids of one text, without EOS and language tokens. The text is one sentence: it is not split. *spans: the bytes
 * of the text that each token stands for, as in results (spans may be NULL). *ids and *spans are for tr_free. The first call
 * with TR_TARGET loads the target tokenizer.
 *
 * TR_ERROR_ARGUMENT     The model has no tokenizer.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
TR_API tr_status tr_tokenize(const tr_model *model, tr_token_side side, const char *text, size_t size, int32_t **ids,
                             size_t *count, tr_span **spans, tr_error *error);

/* The text of count target token ids. Start, EOS and padding tokens are left out. *text is NUL-terminated, for tr_free;
 * *size is its bytes without the NUL (size may be NULL). spans: NULL, or [count], receives the bytes that each token stands
 * for; a span is also empty for Moses tokens that the text shows in another form.
 *
 * TR_ERROR_ARGUMENT  The model has no tokenizer, or an id is outside its vocabulary. */
TR_API tr_status tr_detokenize(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                               tr_span *spans, tr_error *error);

/* The piece of one source or target token, as it is in the vocabulary, or NULL if the id is outside. It is not
 * NUL-terminated; *size is its bytes (size may be NULL). It lives as long as the model. */
TR_API const char *tr_source_piece(const tr_model *model, int32_t id, size_t *size);
TR_API const char *tr_target_piece(const tr_model *model, int32_t id, size_t *size);

/* The id of a source or target piece of size bytes, or -1 if the vocabulary does not have it, or piece is NULL. */
TR_API int32_t tr_source_id(const tr_model *model, const char *piece, size_t size);
TR_API int32_t tr_target_id(const tr_model *model, const char *piece, size_t size);

/* Frees memory that the library returned with no other function to free it. NULL is allowed. */
TR_API void tr_free(void *memory);

/* ------------------------------------------------------------------------------------------------- scores and attention */

/* How likely targets are as the translations of sources. */
typedef struct tr_scores tr_scores;

/* Scores count targets as translations of count sources, all given as token ids without EOS. On success *scores has count
 * scores, for tr_scores_free.
 *
 * All positions of a target are computed at once (forced decoding), which takes a fraction of the time of translating. The
 * log-probabilities have the same bits as those of step-by-step decoding. They are normalised over all target tokens:
 * shortlists and forbidden tokens have no effect. The score of a pair does not depend on other pairs, threads or batches.
 *
 * If the decoder is given the target's first token (a language), that token is part of targets, as it is part of what
 * tr_translate_tokens returns. It has probability 1, and any other token in its place has probability 0. Empty sources and
 * targets are allowed.
 *
 * TR_ERROR_ARGUMENT   An option is out of range, a source is too long (as in tr_translate_tokens), a target with its EOS has
 *                     more than the model's max_target_length tokens, or an id is outside its vocabulary. The message names
 *                     the pair.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback or tr_context_cancel cancelled the call. */
TR_API tr_status tr_score_tokens(tr_context *context, const int32_t *const *sources, const size_t *source_counts,
                                 const int32_t *const *targets, const size_t *target_counts, size_t count,
                                 const tr_options *options, tr_scores **scores, tr_error *error);

/* As tr_score_tokens, for texts. Each text is one sentence: it is not split. Sizes are as in tr_translate.
 *
 * TR_ERROR_ARGUMENT     The model has no tokenizer, or a text is NULL.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
TR_API tr_status tr_score_texts(tr_context *context, const char *const *sources, const size_t *source_sizes,
                                const char *const *targets, const size_t *target_sizes, size_t count,
                                const tr_options *options, tr_scores **scores, tr_error *error);

TR_API void tr_scores_free(tr_scores *scores); /* NULL is allowed */
TR_API size_t tr_scores_count(const tr_scores *scores);

/* Of pair i, over its target tokens, EOS included unless no_end: "log_probability", the sum; "mean_log_probability" and
 * "min_log_probability", without a language token. -INFINITY where a token has probability 0. 0 for another name. */
TR_API double tr_scores_float(const tr_scores *scores, size_t i, const char *name);
/* "tokens": of the target, as above. "first_source": the row of the encoder's attention that is the first of the caller's
 * source tokens. "flags": TR_FLAG_INVALID_UTF8: a text held invalid UTF-8, and spans count in the text after replacement by
 * U+FFFD. -1 for another name. */
TR_API int64_t tr_scores_int(const tr_scores *scores, size_t i, const char *name);
/* [tokens] of each target token, given the source and the tokens before it. */
TR_API const float *tr_scores_log_probabilities(const tr_scores *scores, size_t i, size_t *count);

/* Attention weights (the output of the softmax) of every layer and head: [layers, heads, rows, columns], which sizes [4]
 * receives. NULL if they were not requested, or if the network has no such attention.
 *
 *   "encoder"  [source, source]. The source is as the network reads it: the tokens, a language token before or after them if
 *              the model has one there, and EOS.
 *   "decoder"  [tokens, tokens]. Row r is the step that predicts token r; its input is token r - 1, or the start token.
 *              Column c is the input of step c. Weights of later steps are 0.
 *   "cross"    [tokens, source]. Rows as in decoder, columns as in encoder. */
TR_API const float *tr_scores_attention(const tr_scores *scores, size_t i, const char *name, int64_t sizes[4]);

/* With option align: links between the caller's tokens, without language tokens and EOS. */
TR_API const tr_link *tr_scores_links(const tr_scores *scores, size_t i, size_t *count);

/* Of tr_score_texts: the tokens of a text of either side (a target's after a language token if the decoder is given one),
 * and the bytes that each stands for. NULL of tr_score_tokens. */
TR_API const int32_t *tr_scores_ids(const tr_scores *scores, size_t i, tr_token_side side, size_t *count);
TR_API const tr_span *tr_scores_spans(const tr_scores *scores, size_t i, tr_token_side side, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
