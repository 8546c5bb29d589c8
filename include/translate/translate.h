/* clang-format off */
/* translate: a small, fast runtime for encoder-decoder translation models.
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
 * examples/translate.c is a whole program, examples/threads.c one with many threads.
 *
 * Conventions
 *   Errors     Every function that can fail returns a tr_status and takes a tr_error (NULL is allowed) that receives the
 *              status and one line of text, "WHAT: WHY". On failure outputs are set to NULL and nothing needs freeing.
 *              The library never prints, never exits and keeps no global state.
 *   Text       UTF-8, a pointer and a size in bytes; a size array of NULL means NUL-terminated strings. Invalid UTF-8 and
 *              NUL bytes become U+FFFD and set TR_FLAG_INVALID_UTF8. Text that the library returns is NUL-terminated.
 *   Threads    A tr_model is immutable once opened and may be shared by any number of threads. A tr_context belongs to one
 *              thread at a time; create one per thread. A context starts its own helper threads (see
 *              tr_context_options.threads); a program that has many threads gives each context a single one.
 *              tr_model_open uses a second thread while it runs.
 *   Sameness   The translation of a sentence does not depend on the number of threads, the batch size, the other texts of a
 *              call or earlier calls. It depends on the kernel level only between those with and without fused
 *              multiply-add.
 *   fork       After fork() the child may use models opened by the parent. Contexts must be created in the process that
 *              uses them: with TR_THREADS_OPENMP a child must not create contexts if its parent already ran one (libgomp
 * does not survive fork); TR_THREADS_POSIX, the default, has no such limit. Ownership  The caller closes what it opened,
 * contexts before their model.
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
    TR_ERROR_ARGUMENT,    /* a call's argument is out of range */
    TR_ERROR_MEMORY,      /* memory or address space ran out */
    TR_ERROR_IO,          /* a file cannot be opened, read or written */
    TR_ERROR_FORMAT,      /* a file is damaged or contradicts itself */
    TR_ERROR_UNSUPPORTED, /* a file is sound but of a kind that this version does not run */
    TR_ERROR_NUMERIC,     /* the network produced NaN: damaged weights */
    TR_ERROR_CANCELLED,   /* a progress callback asked to stop */
} tr_status;

enum { TR_MESSAGE_SIZE = 512 };

typedef struct tr_error {
    tr_status status;
    char message[TR_MESSAGE_SIZE]; /* one line, NUL-terminated, without a final full stop or newline */
} tr_error;

TR_API const char *tr_version(void);                 /* "0.1.0" */
TR_API const char *tr_status_name(tr_status status); /* "format", never NULL */

/* -------------------------------------------------------------------------------------------------------------- model */

typedef struct tr_model tr_model;

typedef enum tr_load {
    TR_LOAD_MAP,  /* map the file: fast, shared between processes. If the file is truncated while it is mapped, touching
                     the lost part raises SIGBUS; the caller handles that signal or uses TR_LOAD_COPY */
    TR_LOAD_COPY, /* read the whole file into memory first, into huge pages where the system has them: slower to open, and
                     up to half as fast again to run with large models */
} tr_load;

typedef enum tr_compute {
    TR_COMPUTE_AUTO, /* as stored in the file; a published directory: f32 */
    TR_COMPUTE_F32,
    TR_COMPUTE_F16,  /* weights rounded to half precision, arithmetic in f32 */
    TR_COMPUTE_BF16, /* weights rounded to bfloat16; arithmetic in f32, or the other side rounded as well where the CPU
                        multiplies that */
    TR_COMPUTE_INT8, /* weights and activations rounded to int8, a scale for each output and each row; sums are exact */
} tr_compute;

typedef struct tr_model_options {
    tr_load load;          /* default TR_LOAD_MAP */
    tr_compute compute;    /* default TR_COMPUTE_AUTO */
    const char *cpu;       /* kernel level, e.g. "avx2"; default NULL: $TRANSLATE_CPU, else the best that this CPU has */
    const char *shortlist; /* which target tokens a source allows: default NULL or "auto": the model's own list, where it has
                              one; "off": none, every token can come; else the path of a lexical shortlist in Marian's binary
                              form, made for the model's vocabularies */
    bool full_vocabulary; /* default false; true: the model's list of the tokens that can come (tr_model_info.allowed_tokens)
                        is left unused */
    const char *attention_windows; /* of the encoder; default NULL or "exact": every token attends to all of its sentence.
                              "local:W": to those W tokens to either side at most (Luong et al., 2015; Beltagy et al., 2020),
                              which costs less where sources are long, and changes what models say that were not trained so.
                              "local:W@FIRST-LAST" or "local:W@HEAD": these heads, counted from 1, the others all; several
                              with commas between them */
} tr_model_options;

/* TR_LOAD_MAP, TR_COMPUTE_AUTO, the best CPU level, the model's own shortlist. */
TR_API tr_model_options tr_model_default_options(void);

/* Opens what was published: a model file (GGUF), a directory of Hugging Face, Marian, CTranslate2 or Firefox, or an Argos
 * package. options may be NULL.
 * TR_ERROR_IO: cannot be read. TR_ERROR_FORMAT: damaged, incomplete or contradictory; the message names the file and the
 * tensor or field. TR_ERROR_UNSUPPORTED: another architecture. TR_ERROR_ARGUMENT: unknown CPU level, or a shortlist made for
 * other vocabularies. */
TR_API tr_status tr_model_open(const char *path, const tr_model_options *options, tr_model **model, tr_error *error);
TR_API void tr_model_close(tr_model *model); /* NULL is allowed; no context may still use the model */

typedef struct tr_model_info {
    const char *format;                            /* "GGUF", "Hugging Face Marian directory", ... */
    const char *architecture;                      /* "marian", "t5", ... */
    const char *name;                              /* "" if unknown */
    const char *source_language, *target_language; /* ISO 639 codes, "" if unknown */
    const char *compute;                           /* weights as used: "f32", "f16", "bf16", "int8" */
    const char *cpu; /* kernel level in use: "portable", "avx2", ...; see TRANSLATE_CPU in translate(1) */
    int d_model, encoder_layers, decoder_layers, encoder_heads, decoder_heads, encoder_ffn, decoder_ffn;
    int source_vocabulary, target_vocabulary; /* tokens */
    int max_source_length;                    /* tokens, the end mark included */
    int max_target_length;                    /* tokens, the end mark not included */
    int start_id, eos_id, pad_id, unk_id;     /* -1 if the model has none */
    uint64_t parameters;                      /* tied matrices counted once */
    uint64_t file_size;                       /* bytes of all weight files */
    bool has_tokenizer;
    bool has_shortlist;    /* a shortlist is in use */
    int vocabulary_subset; /* target tokens that can come at all, by the model's list of them; 0: there is none, or it is
                           not in use. Probabilities are those among these */
    int languages;         /* that the model has tokens for; 0: it is made for one pair, or texts name theirs */
} tr_model_info;

/* The strings live as long as the model. */
TR_API void tr_model_get_info(const tr_model *model, tr_model_info *info);

/* The model's own codes of its languages: "fr", "fra_Latn", "fr_XX"; index 0 .. tr_model_info.languages - 1, else NULL. They
 * live as long as the model. */
TR_API const char *tr_model_language(const tr_model *model, int index);

/* Whether the model translates texts between these two, which are as in tr_translate_options; NULL: what it does if nobody
 * says. TR_ERROR_ARGUMENT: it has no such language, or must be told one; the message lists what it has. */
TR_API tr_status tr_model_check_languages(const tr_model *model, const char *source, const char *target, tr_error *error);

/* ------------------------------------------------------------------------------------------------------------- models */

/* A folder of models, indexed by the languages that they translate between. Immutable; any number of threads may use it. */
typedef struct tr_model_index tr_model_index;

/* Looks at each entry of a folder, not below: model files and published directories, recognised by content, links as well;
 * names that begin with a dot, and what is no model, are passed over. Nothing but settings is read. A model's languages are
 * those that its settings name or that it has tokens for; where the settings say nothing, the pair in its file's name
 * ("opus-mt-zh-en", "zh-en.gguf", "enzh"); groups such as ROMANCE are none. A source that nothing tells is any language that
 * the model has tokens for. A model that cannot be used is left out, and tr_model_index_warning tells why.
 * A folder without models is no error. TR_ERROR_IO: it cannot be read. TR_ERROR_MEMORY. */
TR_API tr_status tr_model_index_open(const char *folder, tr_model_index **models, tr_error *error);
TR_API void tr_model_index_close(tr_model_index *models); /* NULL is allowed */

/* It translates from each of its sources to each of its targets, but not between two that are one language. All lives as
 * long as the index. */
typedef struct tr_model_entry {
    const char *path;        /* FOLDER/NAME */
    const char *name;        /* the entry's */
    const char *format;      /* as in tr_model_info */
    uint64_t file_size;      /* bytes of its weights */
    size_t sources, targets; /* how many; see tr_model_index_source */
} tr_model_entry;

/* Entries 0 .. tr_model_index_count - 1, sorted by name. False: there is none. */
TR_API size_t tr_model_index_count(const tr_model_index *models);
TR_API bool tr_model_index_get(const tr_model_index *models, size_t index, tr_model_entry *entry);
/* The model's own codes; NULL: there is none. */
TR_API const char *tr_model_index_source(const tr_model_index *models, size_t index, size_t language);
TR_API const char *tr_model_index_target(const tr_model_index *models, size_t index, size_t language);
/* One line on each model that was left out, "PATH: WHY"; NULL behind the last. */
TR_API const char *tr_model_index_warning(const tr_model_index *models, size_t index);

enum { TR_MAX_ROUTE_STEPS = 2 };

typedef struct tr_route_step {
    const char *path;            /* of the model */
    const char *source, *target; /* its own codes, for tr_translate_options */
} tr_route_step;

typedef struct tr_route {
    tr_route_step steps[TR_MAX_ROUTE_STEPS]; /* the second translates what the first gives */
    int count;
} tr_route;

/* The models to translate with from source to target, which are as in tr_translate_options. One model if any has the pair.
 * Among several: the one whose languages are nearest in script and region to those asked for; then one that is made for a
 * single pair; then the largest file; then the first by name. Else two models, over English; else over the language for
 * which they are nearest, the fewest files and the smallest together, then the first by code. Its strings live as long as
 * the index. TR_ERROR_ARGUMENT: there is no way; the message lists where source leads to and target is reached from. */
TR_API tr_status tr_model_index_route(const tr_model_index *models, const char *source, const char *target, tr_route *route,
                                      tr_error *error);

/* ------------------------------------------------------------------------------------------------------------ context */

typedef struct tr_context tr_context;

typedef enum tr_thread_backend {
    TR_THREADS_OPENMP, /* the OpenMP runtime's, for programs that use it anyhow. Between calls they behave as it is told to:
                          libgomp's spin for some milliseconds unless OMP_WAIT_POLICY or GOMP_SPINCOUNT says otherwise */
    TR_THREADS_POSIX,  /* the context's own: they sleep between calls */
} tr_thread_backend;

typedef struct tr_context_options {
    int threads;               /* 1 .. 1024; default 0: the usable cores (affinity mask, cgroup limit) */
    tr_thread_backend backend; /* default TR_THREADS_POSIX */
    int batch_size; /* 1 .. 4096 sentences that are decoded side by side, default 32. 1: exactly one sentence in flight,
                       all threads share it. Else threads decode batches of their own, or, where there is less to do,
                       share them in groups, whichever takes less time */
    /* An ensemble: further models that decode together with the context's own, as in Marian. At each step a token's
     * log-probabilities are added up, each model's times its weight, and that is its log-probability in all that a search
     * compares and tells; for tr_search_options.sample, what tokens are drawn by. The weights are divided by their sum, so
     * that numbers are on the scale of a single model's. Models may differ in architecture, size, type of weights and
     * format. They must have the same source and target tokens, the same tokens that targets start with and are forced to
     * begin with, end marks, languages and lists of allowed tokens, and no shortlist in use; TR_ERROR_ARGUMENT names the two
     * that differ, and in what. The context's own model cuts texts, and settings not named here are its; what any of them
     * forbids does not come; the longest sources and targets are those that all can take. Alignments and attention are the
     * context's own model's. */
    const tr_model *const *ensemble; /* [other_count]; default NULL. They must outlive the context; any number of
                                             contexts may share them, and a model may be there more than once */
    int ensemble_count;              /* 0 .. TR_MAX_ENSEMBLE - 1; default 0: none */
    const float *ensemble_weights;   /* [1 + other_count], each above 0, the context's own model's first; not used after
                               tr_context_create; default NULL: all equal */
} tr_context_options;

enum { TR_MAX_ENSEMBLE = 16 }; /* models */

TR_API tr_context_options tr_context_default_options(void);

/* Working memory for one caller: key/value caches, activations, helper threads, and a memory of texts already translated
 * (at most 64 MB; what has not been asked for longest is forgotten first). It is made as it is needed and kept until the
 * context is destroyed. options may be NULL. TR_ERROR_ARGUMENT: an option is out of range, or the models of an ensemble do
 * not fit. TR_ERROR_MEMORY. */
TR_API tr_status tr_context_create(const tr_model *model, const tr_context_options *options, tr_context **context,
                                   tr_error *error);
TR_API void tr_context_destroy(tr_context *context); /* NULL is allowed */

/* ----------------------------------------------------------------------------------------------- tokens and alignments */

typedef struct tr_tokens {
    int32_t *ids;
    size_t count;
} tr_tokens;

typedef struct tr_span {
    size_t begin, end; /* bytes [first, last) of a text */
} tr_span;

/* A source token that a target token is a translation of. */
typedef struct tr_link {
    int32_t source, target; /* counted from 0, in what tokens functions are given and give, or in those that a text's result
                               has */
    float weight;           /* what the target token's heads attend to the source token with */
} tr_link;

typedef struct tr_alignment {
    tr_link *links; /* [count] by source, then by target */
    size_t count;
} tr_alignment;

enum {
    TR_ALIGN_AUTO = -1, /* what the model was trained to align with, where it says so; else the last layer, and the mean */
    TR_ALIGN_MEAN = -2, /* of all heads of the layer */
};

/* Which cross-attention alignments are taken from, and how. */
typedef struct tr_align_options {
    int layer; /* of the decoder, from 0 on; default TR_ALIGN_AUTO */
    int head;  /* from 0 on, or TR_ALIGN_MEAN; default TR_ALIGN_AUTO */
    float
        threshold; /* default 1: each target token is linked to the source token that it attends to most, the first of equal
                      ones; below 1, 0 .. 1: to all that it attends to with more than this, as Marian's --alignment 0.3 */
} tr_align_options;

TR_API tr_align_options tr_align_default_options(void);

/* -------------------------------------------------------------------------------------------------------- translation */

typedef enum tr_split {
    TR_SPLIT_AUTO,  /* several sentences in a text, and its lines, are translated one by one and joined again */
    TR_SPLIT_NEVER, /* each text goes to the network whole, without the white space around it, cut only if the model cannot
                       take its length */
} tr_split;

/* How a target is searched for among all that the network gives a probability. The defaults find the most likely token at
 * each place, one after the other (greedy). Names and meanings are those of Hugging Face's generate and of CTranslate2. */
typedef enum tr_stopping {
    TR_STOP_HEURISTIC, /* once no hypothesis in the beam, ended as it is now, would be better than the worst that is kept;
                       Hugging Face's early_stopping=False */
    TR_STOP_EARLY,     /* once patience times beam hypotheses are complete; early_stopping=True */
    TR_STOP_NEVER,     /* once none can become better, were it max_length long; early_stopping="never" */
} tr_stopping;

enum { TR_MAX_BEAM = 64, TR_MAX_TOP_K = 1024 };

typedef struct tr_search_options {
    int beam;   /* hypotheses that are followed at a time, 1 .. TR_MAX_BEAM; default 1 */
    int n_best; /* hypotheses that are returned, best first, 1 .. beam (sampling, alternatives: 1 .. TR_MAX_BEAM); default 1
                 */
    float length_penalty;   /* hypotheses are compared by log-probability / tokens^length_penalty, the end mark counted, a
                               prefix not; default 1; 0: by log-probability; negative prefers short ones; -10 .. 10 */
    float coverage_penalty; /* what coverage_penalty * sum_i log(min(sum_j p_ij, 1)) makes less is added to that: p_ij is the
                               attention of target token j to source token i, those of a prefix, end marks and languages
                               among them, in the layer and the heads that TR_ALIGN_AUTO stands for (of several models the
                               first one's). Wu et al., 2016, eq. 14, added to complete hypotheses as in CTranslate2;
                               TR_STOP_HEURISTIC looks at it. 0 .. 10; default 0: none */
    float patience;         /* default 1; the search ends once patience times beam hypotheses are complete: Kasai et al.,
                               2022; 1 .. 10 */
    tr_stopping stopping;   /* default TR_STOP_HEURISTIC */

    bool sample;       /* draws each token by its probability instead; needs beam 1. n_best: so many draws */
    float temperature; /* logits are divided by it; 0.01 .. 100; default 1 */
    int top_k;         /* only the most likely ones, 1 .. TR_MAX_TOP_K; default 0: all */
    float top_p;       /* only the fewest that have this probability together, above 0 .. 1; default 1: all (Holtzman et al.,
                          2020); of what top_k leaves */
    uint64_t seed;     /* default 0. The draws of a sentence depend on it and on the sentence alone */

    int no_repeat_ngram;      /* no n-gram of that many tokens comes twice, 0 .. 64; default 0: any may */
    float repetition_penalty; /* logits of tokens that came before are divided by it if positive, else multiplied: Keskar et
                                 al., 2019; with beams their log-probabilities are multiplied, and score is of these, as in
                                 Hugging Face's generate; 1 .. 100; default 1: none */
    bool forbid_unknown;      /* the unknown token never comes; default false */
    const int32_t *forbidden; /* [forbidden_count] target ids that never come, besides those that the model forbids */
    size_t forbidden_count;

    float max_length_factor; /* default 0: none. Else a sentence ends at max_length_factor times its source's tokens, */
    int max_length_offset;   /* and max_length_more, if max_length does not end it before; default 0 */

    bool alternatives;      /* n_best hypotheses that differ in the first token behind the prefix, each continued as beam
                               says: CTranslate2's return_alternatives; default false */
    float alternatives_min; /* only first tokens that have this probability at least, 0 .. 1; default 0 */
} tr_search_options;

TR_API tr_search_options tr_search_default_options(void);

enum {
    TR_FLAG_CUT = 1,          /* a sentence was longer than the model takes and was translated in pieces: cut at clause
                                 marks, else at white space, else anywhere; nothing is dropped. Each piece becomes at most
                                 128 tokens (or min_length), and ends where it begins to run in a circle */
    TR_FLAG_INVALID_UTF8 = 2, /* the text held invalid UTF-8 or NUL bytes, replaced by U+FFFD */
    TR_FLAG_MAX_LENGTH = 4,   /* a sentence, or a piece of one, was stopped before its end mark */
    TR_FLAG_REPEATED = 8,     /* the text had been translated before by this context and was not computed again */
    TR_FLAG_LOOP = 16,        /* the network ran in a circle on a sentence, which was translated again: see
                                 tr_translate_options.loop_guard */
};

typedef struct tr_progress {
    size_t texts_done, texts;              /* of this call */
    uint64_t source_tokens, target_tokens; /* computed so far in this call, end marks not counted */
} tr_progress;

/* A target token and its log-probability: tr_hypothesis.log_probabilities. */
typedef struct tr_scored_token {
    int32_t id;
    float log_probability;
} tr_scored_token;

/* One of several translations of a text. That of rank r joins the hypotheses of rank r of its sentences, or the last one of
 * a sentence that has fewer. */
typedef struct tr_translation {
    char *text;            /* NUL-terminated, in UTF-8 */
    size_t size;           /* bytes, without the NUL */
    int tokens;            /* end marks not counted */
    float score;           /* what hypotheses are compared by (tr_hypothesis.score), summed over the sentences */
    float log_probability; /* summed over the sentences */
    /* where tr_translate_options.align asks for it; see tr_result */
    tr_tokens target;
    tr_span *target_spans;
    tr_alignment alignment;
} tr_translation;

/* The translation of one text. */
typedef struct tr_result {
    char *text;                       /* NUL-terminated, in UTF-8 */
    size_t size;                      /* bytes, without the NUL */
    int sentences;                    /* that the text was split into; 0 for a blank text */
    int source_tokens, target_tokens; /* of all its sentences, end marks not counted */
    unsigned flags;                   /* TR_FLAG_... */
    /* where tr_translate_options.scores asks for them, else 0 */
    float score; /* the log-probability of text: the sum over its tokens, end marks included */
    float mean_log_probability,
        min_log_probability; /* of its tokens' log-probabilities, those not counted that were given (a language, a prefix):
    signs of its quality, the mean of the whole, the minimum of its weakest place */
    tr_scored_token *scored; /* [scored_count] its tokens and end marks, sentence by sentence; NULL */
    size_t scored_count;
    /* where tr_search_options.n_best is above 1, else none */
    tr_translation *hypotheses; /* [hypothesis_count] best first; the first is text; NULL */
    size_t hypothesis_count;
    /* where tr_translate_options.align asks for it, else NULL and 0: the tokens of all sentences (and pieces of sentences
     * that were cut), one behind the other, as in tr_text_score. What stays as it is, blank texts among it, has none */
    tr_tokens source;       /* the text's own tokens */
    tr_tokens target;       /* those of its translation, in front of each sentence's its language where the model is given it
                               there */
    tr_span *source_spans;  /* [source.count] the bytes of the text that they come from, without the white space in front;
                               empty  where a token is of no text. With TR_FLAG_INVALID_UTF8: of the text with U+FFFD in it */
    tr_span *target_spans;  /* [target.count] likewise, of the bytes of this text */
    tr_alignment alignment; /* links of source and target, counted over all sentences */
} tr_result;

/* A target token, as it is found. */
typedef struct tr_token_event {
    size_t text; /* which of the call's texts, or sources */
    int sentence,
        sentences; /* which of the text's, and how many it has: those that the network sees, pieces of cut ones each */
    int sample;    /* with tr_search_options.sample and n_best: which draw, in no order; else 0 */
    int step;      /* counted from 0 in the sentence; tokens that are given (a language, a prefix) come first */
    int32_t id;    /* the end mark's, where it comes */
    float log_probability; /* as in tr_hypothesis */
    bool last;             /* the sentence (this draw of it) is complete with it */
    bool restarted;        /* the loop guard searches the sentence a second time, from step 0 on: what its steps said before
                          does not count. What it becomes at last may still be the beginning of the first attempt: results
                          tell, as they do of the other sentences */
    const char *bytes;     /* [size] what the token adds to the text: whole characters, and none that a later token could
                              change. So it may be empty, or more than the token's own; what Moses's rules put together comes
                              with a sentence's last token. In tr_translate all of a text's sentences, in order, give its
                              translation with what is between them, up to the end of the last one that the network sees */
    size_t size;           /* 0 where the model has no tokenizer */
} tr_token_event;

typedef struct tr_translate_options {
    int max_length; /* most target tokens a sentence, >= 1, the end mark not counted; default 512; clipped to the model's
                       own */
    int min_length; /* fewest target tokens a sentence, 0 .. max_length: the end mark is forbidden before; default 0 */
    tr_split split; /* default TR_SPLIT_AUTO */
    /* Languages of the texts and of their translations: a code of ISO 639 with two or three letters, perhaps with a script
     * and a region, in any usual spelling (zh, zho, zh-CN, zh_Hans, cmn_Hans are one), or the model's own. Default NULL: the
     * pair that the model is made for. Models with several languages (tr_model_info.languages) must be told, but for those
     * of OPUS, which choose a target themselves; before either, a text may begin with such a model's own token (">>fra<<
     * Hello"). TR_ERROR_ARGUMENT: tr_model_check_languages tells beforehand. */
    const char *source_language, *target_language;
    tr_search_options search; /* default tr_search_default_options() */
    bool align; /* default false; true: results and hypotheses have alignments. They are those that tr_score_tokens gives:
                   what was found goes through the network once more, some batches of sentences at a time, and results are
                   ready then */
    tr_align_options alignment; /* default tr_align_default_options() */
    bool scores; /* log-probabilities are computed where the search does not need them (beam 1); default false: they are 0,
                    and beam 1 is faster */
    bool use_cache; /* default true: a text that this context has translated before (with the same options), and a sentence
                   that a call holds several times, is computed once. false: everything is computed */
    /* tr_translate only, default true. A sentence whose translation runs in a circle (one to twenty tokens come at least
     * three times in a row, and are at least twelve together; or 32 tokens hold at most eight different ones) is stopped and
     * searched again, with no_repeat_ngram and repetition_penalty of at least 3 and 1.1; should that not come to an end, or
     * run in a circle, too, what is repeated stays once, and the rest of the first attempt is cut off. TR_FLAG_LOOP tells of
     * either. Draws (tr_search_options.sample) are left as they are. */
    bool loop_guard;
    /* tr_translate only: NULL, or for each text NULL or what its translation begins with, NUL-terminated. A text with a
     * prefix is translated whole (TR_SPLIT_NEVER). TR_ERROR_ARGUMENT: the target vocabulary cannot spell it, or it has more
     * tokens than max_length, or its text has more than the model takes. */
    const char *const *prefixes;
    /* Called from the calling thread or a helper thread, one at a time, as sentences are done; non-zero cancels the call
     * with TR_ERROR_CANCELLED. It must not use the context. May be NULL. */
    int (*on_progress)(void *argument, const tr_progress *progress);
    void *on_progress_argument;
    /* Takes each token of each sentence as it is found; sentences take turns, the steps of one come in order, before the
     * text is ready. With beam 1, without alternatives, only: else TR_ERROR_ARGUMENT. Texts that need no computing (seen
     * before, or blank) have no steps; equal sentences of different texts are computed each. Returns 0 to go on; above 0 to
     * end the sentence (this draw of it) with this token, as max_length would, and then nothing of the call is remembered
     * for later ones; below 0 to cancel the call with TR_ERROR_CANCELLED. Threads as ready: from the calling thread or a
     * helper thread, never two calls of any callback at a time; decoding waits for it. step lives as long as the call. It
     * must not use the context. May be NULL. */
    int (*on_token)(void *argument, const tr_token_event *step);
    void *on_token_argument;
    /* tr_translate only. Takes results as soon as they and all before them are done: results[0..count) are those of the
     * texts first .. first + count - 1. Each is handed over once, in order, without gaps; those that need no computing come
     * before any other. Threads: from the calling thread or a helper thread, never two calls at a time (nor together with
     * progress); some of the call's threads wait for it. Ownership: they stay the library's, unchanged until tr_translate
     * returns; then they are part of what it returns, or, on failure, freed. It must not use the context. Non-zero cancels
     * the call with TR_ERROR_CANCELLED. May be NULL. */
    int (*on_result)(void *argument, size_t first, const tr_result *results, size_t count);
    void *on_result_argument;
} tr_translate_options;

TR_API tr_translate_options tr_translate_default_options(void);

/* Translates texts[0..count) together, in batches, and returns results[0..count) in the same order.
 * sizes: bytes of each text, NULL if they are NUL-terminated; a text of no bytes may be NULL. options may be NULL.
 * An empty or blank text gives itself, and so does a sentence in which the tokenizer sees nothing. White space around a text
 * and between its sentences is kept; line breaks separate sentences (TR_SPLIT_AUTO). Where the text has none between two
 * sentences, as in Chinese, one space is put between their translations, unless these are Chinese or Japanese.
 * The more texts a call has, the better it fills its threads; a few thousand lines a call are plenty.
 * TR_ERROR_ARGUMENT: the model has no tokenizer, an option is out of range, or a text is NULL. TR_ERROR_NUMERIC: NaN in the
 * network. TR_ERROR_CANCELLED: by the callback. TR_ERROR_MEMORY. All or nothing: on failure there are no results, and the
 * context can be used again. Free with tr_results_free(*results, count). */
TR_API tr_status tr_translate(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                              const tr_translate_options *options, tr_result **results, tr_error *error);
TR_API void tr_results_free(tr_result *results, size_t count); /* NULL is allowed */

/* ------------------------------------------------------------------------------------------------------------- tokens */

/* Token ids of one text, without the end mark. The text is one sentence: no splitting. Free with tr_tokens_free.
 * TR_ERROR_ARGUMENT: the model has no tokenizer. */
TR_API tr_status tr_tokenize(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error);

/* The same of a text in the target language: target ids, for prefixes and for scores. The first call loads what it needs.
 * TR_ERROR_ARGUMENT: the model has no tokenizer. TR_ERROR_UNSUPPORTED: it has none for its target language. */
TR_API tr_status tr_tokenize_target(const tr_model *model, const char *text, size_t size, tr_tokens *tokens,
                                    tr_error *error);

/* Text of target token ids; start, end and padding tokens are left out. *text is NUL-terminated; free with tr_free. size may
 * be NULL. TR_ERROR_ARGUMENT: the model has no tokenizer, or an id is outside its vocabulary. */
TR_API tr_status tr_detokenize(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                               tr_error *error);

/* The piece of one token, not NUL-terminated, and its size in bytes (size may be NULL); NULL if id is outside the
 * vocabulary. Lives as long as the model. */
TR_API const char *tr_source_piece(const tr_model *model, int32_t id, size_t *size);
TR_API const char *tr_target_piece(const tr_model *model, int32_t id, size_t *size);

/* The id of a source or target piece, -1 if there is none. */
TR_API int32_t tr_source_id(const tr_model *model, const char *piece, size_t size);
TR_API int32_t tr_target_id(const tr_model *model, const char *piece, size_t size);

/* Translates sources[0..count), each without its end mark (the library adds it), to outputs[0..count), likewise without.
 * options->split and reuse are ignored: every source is computed; so is align, which is for tr_search_tokens. The tokens of
 * languages are put around sources and targets where options name them; else they are the caller's to give. min_length ==
 * max_length forces exactly that many tokens.
 * An empty source is allowed. TR_ERROR_ARGUMENT: a source is longer than the model takes (tr_model_info.max_source_length
 * less the end mark) or has an id outside the vocabulary.
 * Free each outputs[i] with tr_tokens_free, or all with tr_tokens_array_free(outputs, count). */
TR_API tr_status tr_translate_tokens(tr_context *context, const tr_tokens *sources, size_t count,
                                     const tr_translate_options *options, tr_tokens **outputs, tr_error *error);

/* What was found for a source. */
typedef struct tr_hypothesis {
    int32_t *ids; /* [count], the end mark not included */
    size_t count;
    float *log_probabilities; /* [count + finished], natural logarithms: the network's, of each token given the source and
                                 the tokens before, the end mark's last; over all target tokens, also those that may not come
                                 (with a shortlist: over what that allows). 0 for tokens that were given: a language, a
                                 prefix. NULL where the search has none and tr_translate_options.scores is false */
    float score; /* what hypotheses are compared by (see tr_search_options.length_penalty); 0 without log-probabilities */
    float log_probability;  /* the sum; 0 without */
    bool finished;          /* the end mark came; else max_length did */
    tr_alignment alignment; /* where tr_translate_options.align asks for it: of the source's own tokens and ids */
} tr_hypothesis;

typedef struct tr_hypotheses {
    tr_hypothesis *items; /* [count], best first */
    size_t count;         /* at least 1; tr_search_options.n_best, if so many were found */
} tr_hypotheses;

/* The same with all that the search finds: outputs[i] are the hypotheses of sources[i].
 * prefixes: NULL, or prefixes[0..count): tokens that each target begins with (behind that of its language); they are part of
 * the hypotheses. TR_ERROR_ARGUMENT also where a prefix has more tokens than max_length, or one that is no target token, or
 * the end mark. Free with tr_hypotheses_free(*outputs, count). */
TR_API tr_status tr_search_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                                  const tr_translate_options *options, tr_hypotheses **outputs, tr_error *error);
TR_API void tr_hypotheses_free(tr_hypotheses *hypotheses, size_t count); /* NULL is allowed */
TR_API void tr_tokens_free(tr_tokens *tokens);
TR_API void tr_tokens_array_free(tr_tokens *tokens, size_t count);
TR_API void tr_free(void *memory);

/* ------------------------------------------------------------------------------------------------ scores and attention */

/* What the heads of a network attend to: the softmax's results, weights[((layer heads + head) rows + row) columns + column].
 */
typedef struct tr_attention_map {
    int layers, heads, rows, columns;
    float *weights; /* NULL: not asked for, or there is no such attention */
} tr_attention_map;

typedef struct tr_score_options {
    const char *source_language, *target_language; /* as in tr_translate_options */
    bool no_scores; /* default false; true: no log-probabilities, which most of the time goes into */
    bool no_end;    /* default false; true: targets go on, the end mark is not part of them */
    bool encoder_attention, decoder_attention, cross_attention; /* default false: maps of these are made */
    bool align;                                                 /* default false: alignments are made */
    tr_align_options alignment;
    size_t first_number; /* what messages call the first pair; default 0 */
    /* As in tr_translate_options; a pair is a text. */
    int (*on_progress)(void *argument, const tr_progress *progress);
    void *on_progress_argument;
} tr_score_options;

TR_API tr_score_options tr_score_default_options(void);

/* What a network has to say of a source and a target. Natural logarithms; -INFINITY of a token to which the network gives
 * the probability 0, and of sums over it. */
typedef struct tr_score {
    size_t count;             /* the target's tokens, and its end mark */
    float *log_probabilities; /* [count] of each token, given the source and the tokens before; the end mark's last. NULL:
                                 not asked for */
    float log_probability;    /* their sum */
    float mean_log_probability,
        min_log_probability; /* signs of quality: of a token on average, and of the least likely one; 0 of nothing */
    /* Of the encoder's self-attention: what source token row, in the order that the network reads, attends to; with a
     * language's token in front of or behind the source's own, where the model has one there, and the end mark.
     * Of the decoder's self-attention: row r is the step that yields token r; it reads token r - 1, or what targets start
     * with, and column c is what step c reads. What it does not see is 0.
     * Of the decoder's cross-attention: rows as the decoder's, columns as the encoder's. */
    tr_attention_map encoder, decoder, cross;
    int first_source;       /* of the rows of encoder: the source's first own token */
    tr_alignment alignment; /* of the source's own tokens and the target's own; none with what marks languages or ends */
} tr_score;

/* How likely the network finds targets[0..count) as translations of sources[0..count), all without end marks. All positions
 * of a target are computed at once, so that it takes a fraction of the time of translating; the numbers are what translating
 * step by step gives. Probabilities are those among all tokens: neither shortlists nor what the model forbids play a part. A
 * target's first token that the model is given, not asked for (a language), is part of targets, as it is of
 * tr_translate_tokens' outputs; it has probability 1, and any other token in its place 0. options may be NULL.
 * scores[i] does not depend on the other pairs, on threads or batches. An empty source or target is allowed.
 * TR_ERROR_ARGUMENT: an option is out of range; a source is longer than the model takes, or a target with its end mark
 * longer than tr_model_info.max_target_length; an id is outside its vocabulary; the message names the pair.
 * TR_ERROR_NUMERIC, TR_ERROR_CANCELLED, TR_ERROR_MEMORY as tr_translate. All or nothing. Free with tr_scores_free. */
TR_API tr_status tr_score_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *targets, size_t count,
                                 const tr_score_options *options, tr_score **scores, tr_error *error);
TR_API void tr_scores_free(tr_score *scores, size_t count); /* NULL is allowed */

/* The same of texts, each one sentence, or whatever is to be taken as one. */
typedef struct tr_text_score {
    tr_tokens source;                     /* the text's own tokens */
    tr_tokens target;                     /* likewise, with the language in front where the model is given it there */
    tr_span *source_spans, *target_spans; /* [source.count], [target.count]: the bytes of the texts that they come from,
                                             without the white space in front; empty where a token is of no text */
    unsigned flags; /* TR_FLAG_INVALID_UTF8: a text has U+FFFD where it was invalid, and spans are counted so */
    tr_score score;
} tr_text_score;

/* sizes: bytes of each text, NULL if they are NUL-terminated. An alignment's links are of source and target, and with spans
 * of bytes. TR_ERROR_ARGUMENT: as tr_score_tokens and tr_translate. TR_ERROR_UNSUPPORTED: the model has no tokenizer for
 * texts of its target language. Free with tr_text_scores_free. */
TR_API tr_status tr_score_texts(tr_context *context, const char *const *sources, const size_t *source_sizes,
                                const char *const *targets, const size_t *target_sizes, size_t count,
                                const tr_score_options *options, tr_text_score **scores, tr_error *error);
TR_API void tr_text_scores_free(tr_text_score *scores, size_t count); /* NULL is allowed */

/* As tr_tokenize, tr_tokenize_target and tr_detokenize, and where in the text each token is: *spans, [tokens->count], for
 * tr_free, and spans [count]. White space in front of a token is no part of it; tokens that are of no text, and of Moses's
 * words those that the text shows in another way, have empty spans. */
TR_API tr_status tr_tokenize_spans(const tr_model *model, bool target, const char *text, size_t size, tr_tokens *tokens,
                                   tr_span **spans, tr_error *error);
TR_API tr_status tr_detokenize_spans(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                                     tr_span *spans, tr_error *error);

#ifdef __cplusplus
}
#endif
#endif
