/* The structures behind the options and results of the public interface: what the library, the command and the tests work
 * with. They may change with every version. */
#ifndef TR_UTIL_TYPES_H
#define TR_UTIL_TYPES_H

#include <translate/translate.h>

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

enum { TR_MAX_ROUTE_STEPS = 2 };

typedef struct tr_route_step {
    /* The path of the model. */
    const char *path;
    /* The model's own codes, for tr_translate_options. */
    const char *source, *target;
} tr_route_step;

/* The models that lead from one language to another. */
struct tr_route {
    /* [count]. The second model, if there is one, translates the output of the first. */
    tr_route_step steps[TR_MAX_ROUTE_STEPS];
    int count;
};

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
    /* A model that translates back: it ranks the hypotheses of a beam search of tr_translate; see rerank_weight. It and the
     * context's own model need tokenizers. It must outlive the context; contexts may share it. Default NULL: none. */
    const tr_model *reverse;
} tr_context_options;

/* Models in an ensemble, the context's own included. */
enum { TR_MAX_ENSEMBLE = 16 };

typedef struct tr_tokens {
    /* [count]. */
    int32_t *ids;
    size_t count;
} tr_tokens;

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

/* How a text becomes sentences. */
typedef enum tr_split {
    /* A text is split into sentences, at line breaks and tabs as well. They are translated one by one and joined
     * again. */
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
    /* Byte tokens come only in sequences that are UTF-8. Set for texts by tr_translate_options.protect. Default
     * false. */
    bool valid_utf8;
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

    /* [sentences], NULL if there are none: the bytes of each sentence in the caller's text and in text, and what of
     * flags holds for it. With TR_FLAG_INVALID_UTF8 as source_spans. */
    tr_span *source_sentences, *target_sentences;
    unsigned *sentence_flags;

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
    /* tr_translate only. Set TR_FLAG_DOUBTFUL for texts whose mean log-probability is below doubtful_below, or, if
     * that is 0, below what the model's file says; without both no text is doubtful. Takes as long as scores.
     * Defaults false and 0. */
    bool doubtful;
    float doubtful_below;
    /* tr_translate only. Keep what must not change: protected spans, numbers, sentences without a letter of the
     * source language; see translate.h. Not for texts with a prefix. Default true. */
    bool protect;
    /* tr_translate only, with tr_context_options.reverse and a beam: a hypothesis' rank is its score, plus rerank_weight
     * times the mean log-probability of the source's tokens, given the hypothesis, by the model that translates back.
     * 0: its score. Default 0.3. */
    float rerank_weight;
    /* tr_translate only. NULL, or words and what stands for them in translations. Needs protect. Not owned. Default
     * NULL. */
    const tr_glossary *glossary;
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

typedef struct tr_queue_options {
    /* Texts that were submitted and whose events have not all been taken, and their bytes. */
    size_t max_texts, max_bytes;
} tr_queue_options;

typedef enum tr_priority { TR_PRIORITY_LOW, TR_PRIORITY_NORMAL, TR_PRIORITY_HIGH } tr_priority;

/* How a submission is handled. */
typedef struct tr_submit_options {
    tr_priority priority;
    /* Milliseconds after which what is not done is given up. 0: never. */
    int64_t deadline;
    bool ordered, tokens;
    void (*on_event)(void *argument, const tr_event *event);
    void *on_event_argument;
} tr_submit_options;

/* The options of all functions. */
/* Settings of a document. Strings may be NULL: the default. */
typedef struct tr_document_settings {
    const char *format;          /* a name; NULL: by the name of the file */
    const char *source_language; /* as documents name languages: zh, zh-Hant, en-GB; NULL: unknown */
    const char *target_language;
    const char *columns;  /* CSV, TSV: which columns are translated */
    const char *keys;     /* JSON, YAML: which values are translated */
    bool bilingual;       /* the source stays beside the translation */
    const char *pairs;    /* "tsv", "tmx": what is written are pairs of texts, not the document; else NULL */
    bool paragraphs;      /* text: wrapped lines are one paragraph */
    int line_width;       /* subtitles: columns of a line; 0: the format's default */
    uint64_t max_content; /* bytes of formats that are held in memory as trees; 0: 16 MiB */
    uint64_t max_text;    /* bytes of text without marks; 0: any number */
    bool rewrite;         /* write units anew even if their translation is the text itself (tests) */
} tr_document_settings;

struct tr_options {
    tr_model_options model;
    tr_context_options context; /* its ensemble and weights are set from those below */
    tr_translate_options translate;
    tr_score_options score;
    tr_queue_options queue;
    tr_submit_options submit;
    tr_document_settings document; /* its languages are those of translate */
    int (*on_result)(void *argument, size_t first, const tr_results *results, size_t count);
    void *on_result_argument;
    const tr_model *ensemble[TR_MAX_ENSEMBLE]; /* [context.ensemble_count] */
    float ensemble_weights[TR_MAX_ENSEMBLE];   /* [1 + context.ensemble_count] the context's own model first */
    size_t prefix_count;                       /* of translate.prefixes */
};

/* One of texts and tokens is NULL. */
struct tr_results {
    size_t count;
    tr_result *texts;      /* [count] */
    tr_hypotheses *tokens; /* [count] */
};

struct tr_scores {
    size_t count;
    tr_score *tokens;     /* [count] of tr_score_tokens; else NULL */
    tr_text_score *texts; /* [count] of tr_score_texts; else NULL */
};

/* All defaults. */
tr_options tr_default_options(void);
tr_model_options tr_model_default_options(void);

tr_context_options tr_context_default_options(void);

tr_align_options tr_align_default_options(void);

tr_search_options tr_search_default_options(void);

tr_translate_options tr_translate_default_options(void);

tr_score_options tr_score_default_options(void);

#endif
