/* translate: a small, fast inference engine for encoder-decoder translation models.
 *
 *     tr_error error;
 *     tr_model *model;
 *     tr_context *context;
 *     tr_result *results;
 *     const char *text = "今天天气很好";
 *     if (tr_model_open("models/zh-en.gguf", NULL, &model, &error) ||
 *         tr_context_create(model, NULL, &context, &error) ||
 *         tr_translate(context, &text, NULL, 1, NULL, &results, &error))
 *         fprintf(stderr, "%s\n", error.message);
 *     else
 *         puts(results[0].text);
 *
 * examples/translate.c is a complete program; examples/threads.c uses one model from many threads.
 *
 * The objects
 *
 *   tr_model        The weights, the tokenizer and the settings of one model. Immutable.
 *   tr_context      The working memory and the threads that translate with a model.
 *   tr_model_index  A folder of models, to find the models for a pair of languages.
 *
 *   Most programs call tr_model_open, tr_context_create, tr_translate and tr_results_free. Functions that end in _tokens
 *   take and return token ids instead of text.
 *
 * Conventions
 *
 *   Errors     Every function that can fail returns a tr_status and fills a tr_error (or NULL, if the caller does not
 *              want one) with the status and one line of text, "WHAT: WHY". After a failure the outputs are NULL or
 *              empty and nothing has to be freed. Every such function can return TR_ERROR_ARGUMENT for a NULL argument
 *              and TR_ERROR_MEMORY; the comments below name only the other causes. The library never prints, never
 *              exits and has no global state.
 *
 *   Options    An options argument may be NULL, which stands for the defaults. To change one option, start from
 *              tr_..._default_options(); a zeroed struct does not hold the defaults. The library copies the struct, so it
 *              may be freed when the call returns.
 *
 *   Text       UTF-8, as a pointer and a size in bytes. If an array of sizes is NULL, the texts are NUL-terminated.
 *              Invalid UTF-8 and NUL bytes become U+FFFD and set TR_FLAG_INVALID_UTF8. Text that the library returns is
 *              NUL-terminated; its size does not count the NUL.
 *
 *   Ranges     begin, end: end is exclusive, so a range has end - begin elements. Indexes start at 0.
 *
 *   Numbers    Logarithms are natural.
 *
 *   Same bits  The translation of a sentence does not depend on the number of threads, the batch size, the other texts of
 *              the call or earlier calls. Kernel levels (tr_model_options.cpu) give the same bits as well, with two
 *              exceptions: levels with and without fused multiply-add can differ, and "avx512bf16" differs from the
 *              others with bf16 weights.
 *
 *   Threads    Any number of threads may use one tr_model or tr_model_index at the same time. A tr_context belongs to one
 *              thread at a time: create one per thread. A context starts helper threads of its own (see
 *              tr_context_options.threads), so a program with many threads gives each context one thread. tr_model_open
 *              uses a second thread while it runs.
 *
 *   Callbacks  They run in the calling thread or in a helper thread, never two at a time within one call. Threads of the
 *              call may wait for them, so they should be quick. A callback must not use the context that calls it.
 *
 *   fork       After fork() the child may use models that the parent opened, but has to create its own contexts. With
 *              TR_THREADS_OPENMP the child must not create contexts if the parent has already run one (libgomp does not
 *              survive fork); TR_THREADS_POSIX, the default, has no such limit.
 *
 *   Ownership  The caller destroys what it created: contexts first, then their models. Results belong to the caller;
 *              the comment of each function names the function that frees them.
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

/* ------------------------------------------------------------------------------------------------- errors and version */

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

/* The version of this header. A library of the same major and minor version has everything in it. */
#define TR_VERSION_MAJOR 0
#define TR_VERSION_MINOR 1
#define TR_VERSION_PATCH 0

/* The version of the library that runs, such as "0.1.0". */
TR_API const char *tr_version(void);

/* The name of a status, such as "format". Never NULL. */
TR_API const char *tr_status_name(tr_status status);

/* -------------------------------------------------------------------------------------------------------------- model */

typedef struct tr_model tr_model;

typedef enum tr_load {
    /* Map the file: fast to open, and processes share the memory. If another process truncates the file while
     * it is mapped, touching the lost part raises SIGBUS: the program has to handle that signal, or use
     * TR_LOAD_COPY. */
    TR_LOAD_MAP,
    /* Read the whole file into memory, into huge pages if the system has them. Slower to open; large models run
     * up to 1.5 times as fast. */
    TR_LOAD_COPY,
} tr_load;

/* The element type of the weights in memory. */
typedef enum tr_compute {
    /* The type in the model file. For a published directory with floating-point weights: f32. */
    TR_COMPUTE_AUTO,
    TR_COMPUTE_F32,
    /* Weights are rounded to half precision; the arithmetic is f32. */
    TR_COMPUTE_F16,
    /* Weights are rounded to bfloat16; the arithmetic is f32. On CPUs that multiply bfloat16 by bfloat16,
     * activations are rounded to bfloat16 as well. */
    TR_COMPUTE_BF16,
    /* Weights and activations are rounded to int8, with one scale per output and one per row. Integer sums are
     * exact. */
    TR_COMPUTE_INT8,
} tr_compute;

typedef struct tr_model_options {
    /* Default TR_LOAD_MAP. */
    tr_load load;
    /* Default TR_COMPUTE_AUTO. */
    tr_compute compute;
    /* The kernel level, such as "avx2"; see tr_cpu_level. Default NULL: the environment variable
     * TRANSLATE_CPU, or, if that is unset, the best level that this CPU runs. */
    const char *cpu;
    /* The lexical shortlist, which limits the target tokens of each source sentence. NULL (the default) or
     * "auto": the model's own shortlist, if it has one. "off": no shortlist. Anything else: the path of a
     * shortlist in Marian's binary format that was made for the vocabularies of this model. */
    const char *shortlist;
    /* True: ignore the model's vocabulary subset (tr_model_info.vocabulary_subset), so that every target token
     * is possible. Default false. */
    bool full_vocabulary;
    /* Limits the encoder's self-attention. NULL (the default) or "exact": every token attends to the whole
     * sentence. "local:W": a token attends to at most W tokens on either side (Luong et al., 2015; Beltagy et
     * al., 2020). That is faster for long sources, and changes the output of models that were not trained with
     * it. "local:W@FIRST-LAST" or "local:W@HEAD": only these heads, counted from 1, are limited. Commas
     * separate several such settings. */
    const char *attention_windows;
} tr_model_options;

/* TR_LOAD_MAP, TR_COMPUTE_AUTO, the best CPU level, the model's own shortlist. */
TR_API tr_model_options tr_model_default_options(void);

/* Opens a model as it was published: a GGUF file, a directory of Hugging Face, Marian, CTranslate2 or Firefox,
 * or an Argos package. The contents decide which it is, not the name. On success *model is for tr_model_close.
 *
 * TR_ERROR_IO           A file cannot be opened or read.
 * TR_ERROR_FORMAT       A file is damaged, incomplete or contradictory. The message names the file and the tensor or field.
 * TR_ERROR_UNSUPPORTED  The file holds another kind of network, or is no translation model.
 * TR_ERROR_NUMERIC      A weight is not a finite number, and is to be rounded to int8.
 * TR_ERROR_ARGUMENT     An option is out of range, this CPU does not run the kernel level, or the shortlist was made for
 *                       other vocabularies. */
TR_API tr_status tr_model_open(const char *path, const tr_model_options *options, tr_model **model, tr_error *error);

/* As tr_model_open, for size bytes of a GGUF file in memory. With TR_LOAD_MAP, the default, the model uses the bytes where
 * they are: they must not change, and outlive the model. Bytes at an address that is not divisible by 64 are copied, and
 * with TR_LOAD_COPY all are.
 *
 * TR_ERROR_UNSUPPORTED  As there, or the bytes are not those of a GGUF file. */
TR_API tr_status tr_model_open_memory(const void *data, size_t size, const tr_model_options *options, tr_model **model,
                                      tr_error *error);

/* Where the default model (Chinese to English) was installed with the library. The file may be missing: it is a build
 * option, and packages may have it elsewhere. `pkg-config --variable=model libtranslate` gives the same path. */
TR_API const char *tr_default_model_path(void);

/* The names of the kernel levels that this CPU runs, for tr_model_options.cpu: index 0 is the slowest, "portable". NULL for
 * an index without a level. */
TR_API const char *tr_cpu_level(int index);

/* Closes a model. NULL is allowed. No context may use the model any more. */
TR_API void tr_model_close(tr_model *model);

typedef struct tr_model_info {
    /* The file format: "GGUF", "Hugging Face Marian directory", ... */
    const char *format;
    /* The model family: "marian", "t5", ... */
    const char *architecture;
    /* "" if unknown. */
    const char *name;
    /* ISO 639 codes, or "" if unknown. */
    const char *source_language, *target_language;
    /* The type of the weights in memory: "f32", "f16", "bf16" or "int8". */
    const char *compute;
    /* The kernel level in use: "portable", "avx2", ... */
    const char *cpu;
    int d_model, encoder_layers, decoder_layers, encoder_heads, decoder_heads, encoder_ffn, decoder_ffn;
    /* Sizes in tokens. */
    int source_vocabulary, target_vocabulary;
    /* Tokens, EOS included. */
    int max_source_length;
    /* Tokens, EOS not included. */
    int max_target_length;
    /* -1 if the model has none. */
    int start_id, eos_id, pad_id, unk_id;
    /* The number of weights; tied matrices count once. */
    uint64_t parameters;
    /* The bytes of all weight files. */
    uint64_t file_size;
    bool has_tokenizer;
    /* A shortlist is in use. */
    bool has_shortlist;
    /* The vocabulary subset is the model's list of the target tokens that can occur at all. This is its size in
     * tokens, or 0 if the model has none or it is not in use. Probabilities are normalised over the subset. */
    int vocabulary_subset;
    /* How many languages the model has tokens for. 0: it translates one pair, or the texts name their language. */
    int languages;
} tr_model_info;

/* Fills *info. The strings live as long as the model. */
TR_API void tr_model_get_info(const tr_model *model, tr_model_info *info);

/* The model's own code of one of its languages, such as "fr", "fra_Latn" or "fr_XX". index: 0 ..
 * tr_model_info.languages - 1; for any other index the result is NULL. The string lives as long as the model. */
TR_API const char *tr_model_language(const tr_model *model, int index);

/* Checks whether the model translates texts from source to target. Both are as in tr_translate_options; NULL
 * stands for the model's default.
 *
 * TR_ERROR_ARGUMENT  The model does not have the language, or has several and no default. The message lists them. */
TR_API tr_status tr_model_check_languages(const tr_model *model, const char *source, const char *target, tr_error *error);

/* -------------------------------------------------------------------------------------------------- folders of models */

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

/* One model of an index. It translates from each of its sources to each of its targets, except between two that
 * are the same language. The strings live as long as the index. */
typedef struct tr_model_entry {
    /* FOLDER/NAME. */
    const char *path;
    /* The name of the file or directory. */
    const char *name;
    /* As in tr_model_info. */
    const char *format;
    /* The bytes of its weights. */
    uint64_t file_size;
    /* How many source and target languages it has; see tr_model_index_source. */
    size_t sources, targets;
} tr_model_entry;

/* The number of models. */
TR_API size_t tr_model_index_count(const tr_model_index *models);

/* Fills *entry with the model number index; models are sorted by name. Returns false if index is too large. */
TR_API bool tr_model_index_get(const tr_model_index *models, size_t index, tr_model_entry *entry);

/* A model's own code of its source or target language number language, or NULL if index or language is too
 * large. */
TR_API const char *tr_model_index_source(const tr_model_index *models, size_t index, size_t language);
TR_API const char *tr_model_index_target(const tr_model_index *models, size_t index, size_t language);

/* Why a model was left out, "PATH: WHY". One line per such model; NULL if index is too large. */
TR_API const char *tr_model_index_warning(const tr_model_index *models, size_t index);

enum { TR_MAX_ROUTE_STEPS = 2 };

typedef struct tr_route_step {
    /* The path of the model. */
    const char *path;
    /* The model's own codes, for tr_translate_options. */
    const char *source, *target;
} tr_route_step;

/* The models that lead from one language to another. */
typedef struct tr_route {
    /* [count]. The second model, if there is one, translates the output of the first. */
    tr_route_step steps[TR_MAX_ROUTE_STEPS];
    int count;
} tr_route;

/* Finds the models that translate from source to target, which are as in tr_translate_options. The strings of
 * *route live as long as the index.
 *
 * The route is one model if any model has the pair. Among several, the order is: the model whose languages are
 * nearest to the wanted ones in script and region; a model for a single pair; the larger file; the name. If no
 * model has the pair, the route is two models with English in between. If English does not lead there, the
 * language in between is the one with the nearest languages, then with the fewest and smallest files, then the
 * first code in alphabetical order.
 *
 * TR_ERROR_ARGUMENT  There is no route. The message lists the languages that source leads to and that target is reached
 *                    from. */
TR_API tr_status tr_model_index_route(const tr_model_index *models, const char *source, const char *target, tr_route *route,
                                      tr_error *error);

/* ------------------------------------------------------------------------------------------------------------ context */

typedef struct tr_context tr_context;

typedef enum tr_thread_backend {
    /* The threads of the OpenMP runtime, for programs that use it anyway. Between calls libgomp's threads spin
     * for some milliseconds, unless OMP_WAIT_POLICY or GOMP_SPINCOUNT says otherwise. */
    TR_THREADS_OPENMP,
    /* Threads of the context's own, which sleep between calls. */
    TR_THREADS_POSIX,
} tr_thread_backend;

typedef struct tr_context_options {
    /* 1 .. 1024. Default 0: one per core that this process may use (affinity mask, cgroup limit). */
    int threads;
    /* Default TR_THREADS_POSIX. */
    tr_thread_backend backend;
    /* How many sentences are decoded side by side, 1 .. 4096. Default 32. With 1 all threads work on one
     * sentence. Otherwise the threads split into groups, each with a batch of its own; an estimate of the time
     * chooses the number of groups. */
    int batch_size;
    /* Bytes of the translations that the context keeps, to return them for the same text; least recently used texts
     * are dropped first. Default 64 MiB. 0: none are kept. */
    size_t cache_bytes;
    /* An ensemble: [ensemble_count] further models that decode together with the context's own, as in Marian.
     * At each step a token's log-probability is the weighted sum of those of the models. The search uses and
     * reports that sum; sampling draws from it.
     *
     * The models may differ in architecture, size, weight type and format. They must agree in source and target
     * tokens, start token, forced first token, EOS, languages and vocabulary subset, and none may use a
     * shortlist: otherwise TR_ERROR_ARGUMENT names two models and the difference. The context's own model
     * tokenizes the texts, and gives alignments, attention and all other settings. A token that any model
     * forbids is forbidden. The maximum lengths are those that all models can take.
     *
     * The models must outlive the context. Contexts may share them, and a model may occur more than once.
     * Default NULL. */
    const tr_model *const *ensemble;
    /* 0 .. TR_MAX_ENSEMBLE - 1. Default 0: no ensemble. */
    int ensemble_count;
    /* [1 + ensemble_count], each above 0; the weight of the context's own model is the first. The library
     * divides them by their sum, so that scores have the scale of a single model's. Copied by
     * tr_context_create. Default NULL: equal weights. */
    const float *ensemble_weights;
} tr_context_options;

/* Models in an ensemble, the context's own included. */
enum { TR_MAX_ENSEMBLE = 16 };

TR_API tr_context_options tr_context_default_options(void);

/* Creates the working memory for one caller: key/value caches, activations, helper threads, and a cache of
 * translated texts. Memory is allocated when it is
 * needed and kept until tr_context_destroy. The model must outlive the context.
 *
 * TR_ERROR_ARGUMENT  An option is out of range, or the models of the ensemble differ in what they must agree in. */
TR_API tr_status tr_context_create(const tr_model *model, const tr_context_options *options, tr_context **context,
                                   tr_error *error);

/* Stops the helper threads and frees the memory. NULL is allowed. */
TR_API void tr_context_destroy(tr_context *context);

/* Cancels the call that uses the context at this moment, from another thread or from a signal handler: the call returns
 * TR_ERROR_CANCELLED, at the latest after the next step of the decoder, or what it has if nothing was left to decode.
 * Without such a call it does nothing. The context can be used again. NULL is allowed. */
TR_API void tr_context_cancel(tr_context *context);

/* ----------------------------------------------------------------------------------------------- tokens and alignments */

typedef struct tr_tokens {
    /* [count]. */
    int32_t *ids;
    size_t count;
} tr_tokens;

/* The bytes begin .. end - 1 of a text. */
typedef struct tr_span {
    size_t begin, end;
} tr_span;

/* One link of a word alignment: the target token translates the source token. */
typedef struct tr_link {
    /* Token indexes. For functions on tokens: in the caller's source and the returned target. For functions on
     * texts: in the source and target tokens of the result. */
    int32_t source, target;
    /* The attention weight of the target token on the source token. */
    float weight;
} tr_link;

typedef struct tr_alignment {
    /* [count], sorted by source, then by target. */
    tr_link *links;
    size_t count;
} tr_alignment;

enum {
    /* The layer and head that the model was trained to align with, if its files say so. Otherwise the last
     * layer, and the mean of its heads. */
    TR_ALIGN_AUTO = -1,
    /* The mean of all heads of the layer. */
    TR_ALIGN_MEAN = -2,
};

/* Which cross-attention weights an alignment is made from. */
typedef struct tr_align_options {
    /* Decoder layer, from 0. Default TR_ALIGN_AUTO. */
    int layer;
    /* Head, from 0, or TR_ALIGN_MEAN. Default TR_ALIGN_AUTO. */
    int head;
    /* 1 (the default): each target token is linked to the source token with the largest weight, the first one
     * if several are equal. 0 .. 1: each target token is linked to all source tokens with a weight above the
     * threshold, as with Marian's --alignment 0.3. */
    float threshold;
} tr_align_options;

TR_API tr_align_options tr_align_default_options(void);

/* ------------------------------------------------------------------------------------------------ sentences and search */

/* How a text becomes sentences. */
typedef enum tr_split {
    /* A text is split into sentences, at line breaks as well. They are translated one by one and joined again. */
    TR_SPLIT_AUTO,
    /* A text is one sentence, without the white space around it. It is split only if it is too long for the
     * model. */
    TR_SPLIT_NEVER,
} tr_split;

/* When beam search ends. Names and meanings as Hugging Face's early_stopping. */
typedef enum tr_stopping {
    /* No live hypothesis, ended now, would score above the worst of the finished ones that are kept;
     * early_stopping=False. */
    TR_STOP_HEURISTIC,
    /* patience * beam hypotheses are finished; early_stopping=True. */
    TR_STOP_EARLY,
    /* No live hypothesis can score above them at any length up to max_length; early_stopping="never". */
    TR_STOP_NEVER,
} tr_stopping;

enum { TR_MAX_BEAM = 64, TR_MAX_TOP_K = 1024 };

/* How the decoder searches for a translation. Names and meanings follow Hugging Face's generate() and
 * CTranslate2. The defaults are greedy decoding: the most likely token at each step. */
typedef struct tr_search_options {
    /* Live hypotheses per sentence, 1 .. TR_MAX_BEAM. Default 1: greedy. */
    int beam;
    /* Hypotheses to return, best first: 1 .. beam; with sample or alternatives 1 .. TR_MAX_BEAM. Default 1. */
    int n_best;
    /* The score of a hypothesis is its log-probability / tokens^length_penalty; EOS counts as a token, a prefix
     * does not. -10 .. 10. Default 1. 0: no normalisation by length. Negative values prefer short hypotheses. */
    float length_penalty;
    /* Adds coverage_penalty * sum_i log(min(sum_j p_ij, 1)), which is at most 0, to the score of a finished
     * hypothesis (Wu et al., 2016, eq. 14, applied as in CTranslate2). p_ij is the attention weight of target
     * token j on source token i in the layer and head of TR_ALIGN_AUTO. Target tokens include a prefix, EOS and
     * language tokens. An ensemble takes the attention of the context's own model. TR_STOP_HEURISTIC includes
     * the penalty. 0 .. 10. Default 0: no penalty. */
    float coverage_penalty;
    /* Beam search ends when patience * beam hypotheses are finished (Kasai et al., 2022). 1 .. 10. Default 1. */
    float patience;
    /* Default TR_STOP_HEURISTIC. */
    tr_stopping stopping;

    /* Draw each token at random by its probability. Needs beam 1; n_best is the number of independent draws.
     * Default false. */
    bool sample;
    /* Logits are divided by it before tokens are drawn. 0.01 .. 100. Default 1. */
    float temperature;
    /* Draw from the top_k most likely tokens only, 1 .. TR_MAX_TOP_K. Default 0: from all. */
    int top_k;
    /* Draw from the smallest set of tokens whose probabilities sum to top_p (Holtzman et al., 2020), after
     * top_k. Above 0, at most 1. Default 1: from all. */
    float top_p;
    /* The draws of a sentence depend on the seed and the sentence only. Default 0. */
    uint64_t seed;

    /* No n-gram of this many tokens occurs twice in a translation (Paulus et al., 2018). 0 .. 64. Default 0:
     * off. */
    int no_repeat_ngram;
    /* Makes tokens that already occurred less likely: positive logits are divided by it, negative ones
     * multiplied (Keskar et al., 2019). Beam search multiplies log-probabilities instead, and scores are sums
     * of these, as in Hugging Face's generate(). 1 .. 100. Default 1: off. */
    float repetition_penalty;
    /* Forbid the unknown token. Default false. */
    bool forbid_unknown;
    /* [forbidden_count] target ids that are forbidden, in addition to those that the model forbids. Default
     * NULL. */
    const int32_t *forbidden;
    size_t forbidden_count;

    /* If max_length_factor is above 0, a target has at most max_length_factor * source tokens +
     * max_length_offset tokens; tr_translate_options.max_length still applies. Defaults 0 and 0. */
    float max_length_factor;
    int max_length_offset;

    /* Return n_best hypotheses that differ in their first token after the prefix, each continued by a search
     * with beam, as CTranslate2's return_alternatives. Not with sample. Default false. */
    bool alternatives;
    /* The smallest probability of such a first token, 0 .. 1. Default 0. */
    float alternatives_min;
} tr_search_options;

TR_API tr_search_options tr_search_default_options(void);

/* -------------------------------------------------------------------------------------------------------- translation */

/* Bits of tr_result.flags. */
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
    /* The decoder looped on a sentence, which was decoded again: see tr_translate_options.loop_guard. */
    TR_FLAG_LOOP = 16,
};

/* How far a call is. Tokens count those computed so far, without EOS. */
typedef struct tr_progress {
    size_t texts_done, texts;
    uint64_t source_tokens, target_tokens;
} tr_progress;

/* A target token with its log-probability, as in tr_hypothesis.log_probabilities. */
typedef struct tr_scored_token {
    int32_t id;
    float log_probability;
} tr_scored_token;

/* One of the n_best translations of a text. The translation of rank r joins the hypotheses of rank r of all
 * sentences; a sentence with fewer hypotheses contributes its last one. */
typedef struct tr_translation {
    /* NUL-terminated UTF-8. */
    char *text;
    /* Bytes, without the NUL. */
    size_t size;
    /* Target tokens, without EOS. */
    int tokens;
    /* The sum of the sentences' tr_hypothesis.score. */
    float score;
    /* The sum of the sentences' log-probabilities. */
    float log_probability;
    /* With tr_translate_options.align, otherwise NULL and 0; see tr_result. */
    tr_tokens target;
    tr_span *target_spans;
    tr_alignment alignment;
} tr_translation;

/* The translation of one text. */
typedef struct tr_result {
    /* NUL-terminated UTF-8. */
    char *text;
    /* Bytes, without the NUL. */
    size_t size;
    /* How many sentences the text was split into. 0 for a blank text. */
    int sentences;
    /* Tokens of all sentences, without EOS. */
    int source_tokens, target_tokens;
    /* TR_FLAG_... */
    unsigned flags;

    /* With tr_translate_options.scores, otherwise 0: the log-probability of the translation, which is the sum
     * over its tokens, EOS included. */
    float score;
    /* The same: over its tokens, without those that were given (a language token, a prefix). The mean indicates
     * the quality of the whole, the minimum that of its weakest place. */
    float mean_log_probability, min_log_probability;
    /* The same, otherwise NULL and 0: [scored_count] tokens of all sentences in order, each sentence with its
     * EOS. */
    tr_scored_token *scored;
    size_t scored_count;

    /* With tr_search_options.n_best above 1, otherwise NULL and 0: [hypothesis_count], best first. The first is
     * equal to text. */
    tr_translation *hypotheses;
    size_t hypothesis_count;

    /* The following, with tr_translate_options.align, otherwise NULL and 0. Tokens of all sentences (and of
     * pieces of sentences that were split) are concatenated. Text that is passed through unchanged, such as a
     * blank line, has no tokens. */

    /* The tokens of the text, without language tokens and EOS. */
    tr_tokens source;
    /* The tokens of the translation, without EOS. Each sentence begins with its language token if the decoder is
     * given one. */
    tr_tokens target;
    /* [source.count] The bytes of the caller's text that each token stands for, without the white space before
     * it; empty if it stands for none. With TR_FLAG_INVALID_UTF8 the bytes count in the text after replacement
     * by U+FFFD. */
    tr_span *source_spans;
    /* [target.count] The same for the bytes of text. */
    tr_span *target_spans;
    /* Links between source and target. */
    tr_alignment alignment;
} tr_result;

/* What tr_translate_options.on_token sees: one target token. */
typedef struct tr_token_event {
    /* Index of the text (or source) in the call. */
    size_t text;
    /* Index of the sentence in the text, and how many the text has. They are the inputs of the network: each
     * piece of a split sentence counts, blank lines do not. */
    int sentence, sentences;
    /* With tr_search_options.sample: index of the draw, 0 .. n_best - 1. Draws come in no particular order.
     * Otherwise 0. */
    int sample;
    /* Index of the token in the sentence. Tokens that are given (a language token, a prefix) come first. */
    int step;
    /* EOS included. */
    int32_t id;
    /* As in tr_hypothesis.log_probabilities. */
    float log_probability;
    /* The sentence (or this draw) ends with this token. */
    bool last;
    /* True while the loop guard decodes this sentence again. Steps begin at 0 again: discard the sentence's
     * earlier tokens. The final text may still be the truncated first attempt; see tr_result. */
    bool restarted;
    /* [size] The bytes that this token appends to the text: complete characters that no later token can change.
     * So they may be empty, or more than the token's own; models with Moses tokenization append the text that
     * its rules rewrite with the last token. In tr_translate the bytes of all sentences of a text, in order,
     * are the translation with the white space between sentences, up to the end of the last sentence. */
    const char *bytes;
    /* 0 if the model has no tokenizer. */
    size_t size;
} tr_token_event;

typedef struct tr_translate_options {
    /* Maximum target tokens per sentence, EOS not counted; at least 1. The model's own maximum applies as well.
     * Default 512. */
    int max_length;
    /* Minimum target tokens per sentence; EOS is forbidden before. 0 .. max_length. Default 0. */
    int min_length;
    /* Default TR_SPLIT_AUTO. */
    tr_split split;
    /* The languages of the texts and of the translations. Either the model's own code, or an ISO 639 code with
     * two or three letters, optionally with script and region, in any usual spelling: zh, zho, zh-CN, zh_Hans
     * and cmn_Hans are the same. Default NULL: the pair of the model. A model with several languages
     * (tr_model_info.languages) needs them, except for OPUS models, which choose a target themselves. A text
     * for an OPUS model may begin with the model's own language token (">>fra<< Hello"), which takes
     * precedence. tr_model_check_languages checks them without translating. */
    const char *source_language, *target_language;
    /* Default tr_search_default_options(). */
    tr_search_options search;
    /* Make word alignments for results and hypotheses, the same as those of tr_score_tokens. The translations
     * go through the network once more, some batches at a time, and results are ready after that.
     * tr_translate_tokens ignores it. Default false. */
    bool align;
    /* Default tr_align_default_options(). */
    tr_align_options alignment;
    /* Compute log-probabilities even if the search does not need them (beam 1). Default false: they are 0
     * there, and greedy decoding is faster. */
    bool scores;
    /* Translate a text that the context has translated before with the same options, and a sentence that occurs
     * several times in a call, only once. tr_translate only. Default true. */
    bool use_cache;
    /* tr_translate only. Decode a sentence again if its translation loops: if 1 to 20 tokens repeat at least
     * three times in a row and span at least 12 tokens, or if 32 consecutive tokens hold at most 8 different
     * ones. The second decoding uses no_repeat_ngram 3 and repetition_penalty 1.1, or the caller's values if
     * these are stricter. If it reaches its maximum length or loops as well, the result is the first
     * translation, truncated after the first occurrence of what repeats. Both cases set TR_FLAG_LOOP. Sampling
     * is not guarded. Default true. */
    bool loop_guard;
    /* tr_translate only. NULL, or one entry per text: NULL, or the NUL-terminated beginning of its translation.
     * A text with a prefix is one sentence (TR_SPLIT_NEVER). TR_ERROR_ARGUMENT: the target vocabulary cannot
     * spell the prefix, the prefix has more tokens than max_length, or the text is too long for the model.
     * TR_ERROR_UNSUPPORTED: the model has no tokenizer for its target language. Default NULL. */
    const char *const *prefixes;

    /* Called as sentences are done. A result other than 0 cancels the call with TR_ERROR_CANCELLED. Default
     * NULL. */
    int (*on_progress)(void *argument, const tr_progress *progress);
    void *on_progress_argument;
    /* Called with each target token as it is found. The tokens of a sentence come in order, and before
     * on_result has its text; the tokens of different sentences are interleaved. Texts that need no computing
     * (cached or blank) have no tokens. With this callback equal sentences of different texts are not merged.
     * Needs beam 1 without alternatives, otherwise TR_ERROR_ARGUMENT. step is valid during the callback only.
     * Result 0: continue. Above 0: end this sentence (or this draw) after this token, as max_length does;
     * nothing of the call is cached then. Below 0: cancel the call with TR_ERROR_CANCELLED. Default NULL. */
    int (*on_token)(void *argument, const tr_token_event *step);
    void *on_token_argument;
    /* tr_translate only. Called as soon as results are ready: results[0] .. results[count - 1] are those of the
     * texts first .. first + count - 1. Every result is passed exactly once, in the order of the texts. The
     * library keeps ownership, and the results do not change: tr_translate returns the same ones, or frees them
     * if it fails. A result other than 0 cancels the call with TR_ERROR_CANCELLED. Default NULL. */
    int (*on_result)(void *argument, size_t first, const tr_result *results, size_t count);
    void *on_result_argument;
} tr_translate_options;

TR_API tr_translate_options tr_translate_default_options(void);

/* Translates count texts together, in batches. On success *results is an array of count results in the same
 * order; free it with tr_results_free(*results, count). On failure there are no results, and the context can be
 * used again.
 *
 * sizes: the bytes of each text, or NULL if the texts are NUL-terminated. A text of 0 bytes may be NULL.
 *
 * White space around a text and between its sentences is kept. Where two sentences have none in between, as in
 * Chinese, one space separates their translations, except in Chinese and Japanese. A blank text is returned as
 * it is, and so is a sentence without tokens. A call should have many texts, up to some thousands, to keep all
 * threads busy.
 *
 * TR_ERROR_ARGUMENT   The model has no tokenizer, an option is out of range, or a text is NULL.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback cancelled the call. */
TR_API tr_status tr_translate(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                              const tr_translate_options *options, tr_result **results, tr_error *error);

/* Frees an array of count results and all that they hold. NULL is allowed. */
TR_API void tr_results_free(tr_result *results, size_t count);

/* ------------------------------------------------------------------------------------------------------------- tokens */

/* Source token ids of one text, without EOS and language tokens. The text is one sentence: it is not split.
 * Free *tokens with tr_tokens_free.
 *
 * TR_ERROR_ARGUMENT  The model has no tokenizer. */
TR_API tr_status tr_tokenize(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error);

/* Target token ids of one text in the target language, for prefixes and scores. The first call loads the target
 * tokenizer.
 *
 * TR_ERROR_ARGUMENT     The model has no tokenizer.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
TR_API tr_status tr_tokenize_target(const tr_model *model, const char *text, size_t size, tr_tokens *tokens,
                                    tr_error *error);

/* The text of count target token ids. Start, EOS and padding tokens are left out. *text is NUL-terminated, for
 * tr_free; *size is its bytes without the NUL (size may be NULL).
 *
 * TR_ERROR_ARGUMENT  The model has no tokenizer, or an id is outside its vocabulary. */
TR_API tr_status tr_detokenize(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                               tr_error *error);

/* The piece of one source or target token, as it is in the vocabulary, or NULL if the id is outside. It is not
 * NUL-terminated; *size is its bytes (size may be NULL). It lives as long as the model. */
TR_API const char *tr_source_piece(const tr_model *model, int32_t id, size_t *size);
TR_API const char *tr_target_piece(const tr_model *model, int32_t id, size_t *size);

/* The id of a source or target piece of size bytes, or -1 if the vocabulary does not have it, or piece is NULL. */
TR_API int32_t tr_source_id(const tr_model *model, const char *piece, size_t size);
TR_API int32_t tr_target_id(const tr_model *model, const char *piece, size_t size);

/* Translates count sources, given as token ids without EOS (the library appends it). On success *outputs is an
 * array of count targets, without EOS; free it and all that it holds with tr_tokens_array_free(*outputs,
 * count).
 *
 * An empty source is allowed. If options name languages, the library adds their tokens to sources and targets;
 * otherwise the caller has to. min_length == max_length forces exactly that many tokens. Nothing is split,
 * cached or guarded against loops: every source is computed.
 *
 * TR_ERROR_ARGUMENT   A source has more tokens than tr_model_info.max_source_length (EOS and language tokens count), an
 *                     id is outside the vocabulary, or an option is out of range.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback cancelled the call. */
TR_API tr_status tr_translate_tokens(tr_context *context, const tr_tokens *sources, size_t count,
                                     const tr_translate_options *options, tr_tokens **outputs, tr_error *error);

/* One translation of a source that the search found. */
typedef struct tr_hypothesis {
    /* [count] Target tokens, without EOS. */
    int32_t *ids;
    size_t count;
    /* [count + finished] The log-probability that the network gives each token, given the source and the tokens
     * before it; the last is that of EOS. It is normalised over all target tokens, forbidden ones included, or
     * over the shortlist if one is in use. 0 for tokens that are given: a language token, a prefix. NULL if the
     * search computes none (beam 1) and tr_translate_options.scores is false. */
    float *log_probabilities;
    /* What hypotheses are ranked by; see tr_search_options.length_penalty. 0 without log-probabilities. */
    float score;
    /* The sum of log_probabilities. 0 without them. */
    float log_probability;
    /* True if it ends with EOS, false if it reached max_length. */
    bool finished;
    /* With tr_translate_options.align: links between the caller's source tokens and ids. */
    tr_alignment alignment;
} tr_hypothesis;

typedef struct tr_hypotheses {
    /* [count] Best first. */
    tr_hypothesis *items;
    /* At least 1; tr_search_options.n_best if the search found that many. */
    size_t count;
} tr_hypotheses;

/* As tr_translate_tokens, with all that the search finds: on success (*outputs)[i] holds the hypotheses of
 * sources[i]. Free with tr_hypotheses_free(*outputs, count).
 *
 * prefixes: NULL, or count lists of tokens that the targets begin with, after the language token if there is
 * one. They are part of the hypotheses.
 *
 * Errors as tr_translate_tokens, and
 * TR_ERROR_ARGUMENT  A prefix has more tokens than max_length, an id outside the target vocabulary, or EOS. */
TR_API tr_status tr_search_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                                  const tr_translate_options *options, tr_hypotheses **outputs, tr_error *error);

/* Frees an array of count items and all that they hold. NULL is allowed. */
TR_API void tr_hypotheses_free(tr_hypotheses *hypotheses, size_t count);

/* Frees the ids of one tr_tokens, which the caller owns, and empties it. NULL is allowed. */
TR_API void tr_tokens_free(tr_tokens *tokens);

/* Frees an array of count tr_tokens and their ids. NULL is allowed. */
TR_API void tr_tokens_array_free(tr_tokens *tokens, size_t count);

/* Frees memory that the library returned with no other function to free it. NULL is allowed. */
TR_API void tr_free(void *memory);

/* ------------------------------------------------------------------------------------------------ scores and attention */

/* Attention weights (the output of the softmax) of every layer and head. The weight of row on column is
 * weights[((layer * heads + head) * rows + row) * columns + column]. */
typedef struct tr_attention_map {
    int layers, heads, rows, columns;
    /* NULL if they were not requested, or if the network has no such attention. */
    float *weights;
} tr_attention_map;

typedef struct tr_score_options {
    /* As in tr_translate_options. */
    const char *source_language, *target_language;
    /* Do not compute log-probabilities, which take most of the time. Default false. */
    bool no_scores;
    /* The targets are incomplete: do not append EOS to them. Default false. */
    bool no_end;
    /* Return the attention of the encoder, of the decoder, and of the decoder on the encoder. Default false. */
    bool encoder_attention, decoder_attention, cross_attention;
    /* Make word alignments. Default false. */
    bool align;
    tr_align_options alignment;
    /* The number of the first pair in error messages. Default 0. */
    size_t first_number;
    /* As in tr_translate_options; a pair counts as a text. */
    int (*on_progress)(void *argument, const tr_progress *progress);
    void *on_progress_argument;
} tr_score_options;

TR_API tr_score_options tr_score_default_options(void);

/* How likely a target is as the translation of a source. A token with probability 0 has the log-probability
 * -INFINITY, and so have sums that include it. */
typedef struct tr_score {
    /* The tokens of the target, EOS included unless tr_score_options.no_end. */
    size_t count;
    /* [count] Of each token, given the source and the tokens before it. NULL with tr_score_options.no_scores. */
    float *log_probabilities;
    /* Their sum. */
    float log_probability;
    /* The mean and the minimum over the tokens, without a language token: indicators of quality. 0 if there are no
     * tokens. */
    float mean_log_probability, min_log_probability;
    /* Attention maps.
     *
     * encoder: [source, source]. The source is as the network reads it: the tokens, a language token before or
     * after them if the model has one there, and EOS.
     *
     * decoder: [count, count]. Row r is the step that predicts token r; its input is token r - 1, or the start
     * token. Column c is the input of step c. Weights of later steps are 0.
     *
     * cross: [count, source]. Rows as in decoder, columns as in encoder. */
    tr_attention_map encoder, decoder, cross;
    /* The row of encoder that is the first of the caller's source tokens. */
    int first_source;
    /* Links between the caller's source and target tokens, without language tokens and EOS. */
    tr_alignment alignment;
} tr_score;

/* Scores count targets as translations of count sources, all given as token ids without EOS. On success *scores
 * is an array of count scores; free it with tr_scores_free(*scores, count).
 *
 * All positions of a target are computed at once (forced decoding), which takes a fraction of the time of
 * translating. The log-probabilities have the same bits as those of step-by-step decoding. They are normalised
 * over all target tokens: shortlists and forbidden tokens have no effect. The score of a pair does not depend
 * on other pairs, threads or batches.
 *
 * If the decoder is given the target's first token (a language), that token is part of targets, as it is part
 * of what tr_translate_tokens returns. It has probability 1, and any other token in its place has probability
 * 0. Empty sources and targets are allowed.
 *
 * TR_ERROR_ARGUMENT   An option is out of range, a source is too long (as in tr_translate_tokens), a target with its EOS
 *                     has more than tr_model_info.max_target_length tokens, or an id is outside its vocabulary. The
 *                     message names the pair.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  The callback cancelled the call. */
TR_API tr_status tr_score_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *targets, size_t count,
                                 const tr_score_options *options, tr_score **scores, tr_error *error);

/* Frees an array of count scores and all that they hold. NULL is allowed. */
TR_API void tr_scores_free(tr_score *scores, size_t count);

/* The score of a pair of texts. */
typedef struct tr_text_score {
    /* The tokens of the source text. */
    tr_tokens source;
    /* The tokens of the target text, after a language token if the decoder is given one. */
    tr_tokens target;
    /* [source.count], [target.count] The bytes of the texts that each token stands for, without the white space
     * before it; empty if it stands for none. */
    tr_span *source_spans, *target_spans;
    /* TR_FLAG_INVALID_UTF8: a text held invalid UTF-8, and spans count in the text after replacement by U+FFFD. */
    unsigned flags;
    /* Its alignment links source and target above. */
    tr_score score;
} tr_text_score;

/* As tr_score_tokens, for texts. Each text is one sentence: it is not split. Sizes are as in tr_translate. Free
 * *scores with tr_text_scores_free(*scores, count).
 *
 * Errors as tr_score_tokens, and
 * TR_ERROR_ARGUMENT     The model has no tokenizer, or a text is NULL.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
TR_API tr_status tr_score_texts(tr_context *context, const char *const *sources, const size_t *source_sizes,
                                const char *const *targets, const size_t *target_sizes, size_t count,
                                const tr_score_options *options, tr_text_score **scores, tr_error *error);

/* Frees an array of count scores and all that they hold. NULL is allowed. */
TR_API void tr_text_scores_free(tr_text_score *scores, size_t count);

/* As tr_tokenize (or, with target, tr_tokenize_target) and tr_detokenize, with the bytes of the text that each
 * token stands for. *spans is [tokens->count], for tr_free; spans is an array of count that the caller
 * provides. A span does not include the white space before the token. It is empty if the token stands for no
 * text, and for Moses tokens that the text shows in another form. */
TR_API tr_status tr_tokenize_spans(const tr_model *model, bool target, const char *text, size_t size, tr_tokens *tokens,
                                   tr_span **spans, tr_error *error);
TR_API tr_status tr_detokenize_spans(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                                     tr_span *spans, tr_error *error);

#ifdef __cplusplus
}
#endif
#endif
