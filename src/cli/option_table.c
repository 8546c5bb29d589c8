#include "cli/option_table.h"

#include "util/team.h"

const char *const cli_option_group_titles[] = {
    [GROUP_MODEL] = "Model",   [GROUP_FILES] = "Files", [GROUP_OUTPUT] = "Output",   [GROUP_TRANSLATION] = "Translation",
    [GROUP_SEARCH] = "Search", [GROUP_SPEED] = "Speed", [GROUP_NETWORK] = "Network", [GROUP_GENERAL] = "General",
};

#define FIELD(name) offsetof(cli_settings, name)
#define WITH_MODEL  (CMD_TRANSLATE | CMD_BENCH | CMD_TOKENIZE | CMD_SCORE | CMD_ATTENTION)
#define SEARCH      (CMD_TRANSLATE | CMD_BENCH)
#define NEUTRAL     CLI_NEUTRAL
#define EVERY                                                                                                               \
    (CMD_TRANSLATE | CMD_BENCH | CMD_CONVERT | CMD_INFO | CMD_TOKENIZE | CMD_PULL | CMD_SCORE | CMD_ATTENTION |             \
     CMD_SHORTLIST)

/* clang-format off */
const cli_option cli_options[] = {
    {NEUTRAL | WITH_MODEL, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0,
     "model file (GGUF), published directory, or hf:OWNER/NAME from Hugging Face; default: $TRANSLATE_MODEL, else the "
     "zh-en model that comes with the program"},
    {NEUTRAL | CMD_TRANSLATE | CMD_BENCH | CMD_SCORE, GROUP_MODEL, KIND_LIST, 0, "ensemble", "PATH[:WEIGHT]",
     FIELD(ensemble), 0, 0,
     "a model that decodes together with that of -m: their log-probabilities are added up at each step, times WEIGHT "
     "(default 1; that of -m: 1); can be repeated"},
    {NEUTRAL | CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "folder of models: the one for -s and -t is chosen, or two, mostly over English; default: $TRANSLATE_MODELS, if a "
     "language is named and -m is not"},
    {CMD_SHORTLIST, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0,
     "the model that the list is for; its tokenizers cut the text; default as of translate"},
    {CMD_INFO, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "list a folder of models by their languages"},
    {CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, where there are several: a code such as fr, fra or zh-Hant; zh, zh-CN, zh-Hans and zho are "
     "one; auto: detected from the first lines"},
    {CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, where the model has several: a code such as fr, fra or zh-Hant; zh, zh-CN, zh-Hans and zho are "
     "one"},
    {CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 't', "target", "LANG", FIELD(target),
     0, 0,
     "language of the output; translate info lists a model's languages"},
    {CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_CHOICE, 0, "compute", "auto|f32|f16|bf16|int8",
     FIELD(compute), 0, 0,
     "type of the weights; default auto: as stored (a directory: f32)"},
    {CMD_CONVERT, GROUP_MODEL, KIND_CHOICE, 0, "compute", "auto|f32|f16|bf16|int8", FIELD(compute), 0, 0,
     "type of the matrices in OUT.gguf; default auto: as in IN"},
    {CMD_CONVERT, GROUP_MODEL, KIND_TEXT, 0, "allowed", "HOW", FIELD(allowed), 0, 0,
     "store which target tokens can come at all, so that decoding reads no others: script: what the target language is "
     "written in; script:NAMES, such as script:Latn; text:FILE, what a text of that language becomes; off: no list; "
     "default: as in IN"},
    {NEUTRAL | WITH_MODEL, GROUP_MODEL, KIND_CHOICE, 0, "load", "auto|map|copy", FIELD(load), 0, 0,
     "map the model file, or read it into memory: slower to start, faster to run, and the file may change meanwhile; auto "
     "(default): copy for bench and for whole files of text, else map"},

    {CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 0, "shortlist", "auto|off|FILE", FIELD(shortlist),
     0, 0,
     "which target tokens a source allows: auto (default): as the model says, if it has a shortlist; off: all; or a lexical "
     "shortlist in Marian's binary form"},
    {CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 0, "attention", "exact|local:W[@HEADS]",
     FIELD(attention), 0, 0,
     "what the encoder's tokens attend to: exact (default): all of the sentence; local:W: those at most W tokens away; "
     "with @2 or @1-3 these heads, the others all; several with commas"},
    {CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION, GROUP_MODEL, KIND_CHOICE, 0, "allowed", "auto|off", FIELD(all_tokens), 0, 0,
     "which target tokens can come at all: auto (default): as the model says, if it has a list (translate convert makes "
     "one); off: all"},

    {NEUTRAL | CMD_TRANSLATE | CMD_TOKENIZE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "read lines from FILE; default standard input"},
    {CMD_SCORE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "read pairs from FILE: a source, a TAB and a target a line; default standard input, if SOURCE and TARGET are not "
     "given"},
    {CMD_BENCH, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "lines to translate, blank ones are left out; default: lines that are built in"},
    {NEUTRAL | CMD_TRANSLATE | CMD_SCORE, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write to FILE, which appears complete or not at all: until the end it is FILE.part"},
    {CMD_ATTENTION, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write FILE, a page (.html), a picture (.svg) or arrays (.npz); it appears complete or not at all"},
    {NEUTRAL | CMD_TRANSLATE, GROUP_FILES, KIND_FLAG, 0, "resume", NULL, FIELD(resume), 0, 0,
     "continue an interrupted run from FILE.part"},
    {CMD_CONVERT, GROUP_FILES, KIND_FLAG, 'f', "force", NULL, FIELD(force), 0, 0,
     "replace OUT.gguf if it exists"},
    {CMD_SHORTLIST, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write to FILE, which appears complete or not at all"},
    {CMD_SHORTLIST, GROUP_FILES, KIND_FLAG, 'f', "force", NULL, FIELD(force), 0, 0,
     "replace FILE if it exists"},
    {CMD_SHORTLIST, GROUP_TRANSLATION, KIND_NUMBER, 0, "first", "N", FIELD(first), 0, 100000,
     "the N most frequent target tokens, which every source allows; default 100"},
    {CMD_SHORTLIST, GROUP_TRANSLATION, KIND_NUMBER, 0, "best", "N", FIELD(best), 1, 10000,
     "target tokens that a source token allows at most; default 100"},
    {CMD_SHORTLIST, GROUP_SPEED, KIND_NUMBER, 'T', "threads", "N", FIELD(threads), 0, TR_TEAM_MAX,
     "default 0: as many as there are usable cores"},
    {CMD_INFO, GROUP_FILES, KIND_FLAG, 0, "verify", NULL, FIELD(verify), 0, 0,
     "compare the file with the size and the checksum that it holds"},

    {CMD_PULL, GROUP_FILES, KIND_TEXT, 'o', "output", "DIR", FIELD(output), 0, 0,
     "put the files into DIR instead of the cache"},
    {CMD_PULL, GROUP_FILES, KIND_TEXT, 0, "file", "PATTERN", FIELD(file), 0, 0,
     "the files to take instead of those that a model needs, such as '*q8_0.gguf'"},
    {CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "list", NULL, FIELD(list), 0, 0, "show what is in the cache, with sizes"},
    {CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "remove", NULL, FIELD(remove), 0, 0,
     "remove OWNER/NAME from the cache; with @REVISION, that one only"},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "timeout", "N", FIELD(timeout), 1, 3600,
     "a connection that brings nothing for N seconds counts as lost; default 30"},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "retries", "N", FIELD(retries), 0, 1000,
     "how often to try again after a lost connection or an overloaded server; default 5"},

    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "a JSON object a line: line, source, text, tokens, flags; pivot, where two models translate; score, hypotheses, "
     "alignment, with the options for them"},
    {CMD_BENCH | CMD_INFO, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "print one JSON object"},
    {CMD_BENCH, GROUP_SEARCH, KIND_FLAG, 0, "scores", NULL, FIELD(scores), 0, 0,
     "also compute log-probabilities, which --beam 1 does without"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "scores", NULL, FIELD(scores), 0, 0,
     "the translation's log-probability behind it, after a TAB; with --json: score, mean, minimum, token_scores"},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_FLAG, 0, "alignment", NULL, FIELD(alignment), 0, 0,
     "also a TAB and which source token each target token is a translation of: pairs S-T of their numbers, from 0 on"},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_NUMBER, 0, "alignment-layer", "N", FIELD(alignment_layer), 0, 1 << 20,
     "decoder layer that alignments are taken from, from 1 on; default 0: the one that the model was trained to align with, "
     "else the last"},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_NUMBER, 0, "alignment-head", "N", FIELD(alignment_head), 0, 1 << 20,
     "attention head of that layer, from 1 on; default 0: the one that the model was trained to align with, else the mean"},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_REAL, 0, "alignment-threshold", "X", FIELD(alignment_threshold), 0, 1,
     "every source token that a target token attends to with more than X; default 1: the one that it attends to most"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "input and output are tokens separated by spaces, for models without a tokenizer; implies --split never"},
    {CMD_ATTENTION, GROUP_TRANSLATION, KIND_TEXT, 0, "translation", "TEXT", FIELD(translation), 0, 0,
     "show this translation instead of the model's own"},
    {CMD_ATTENTION, GROUP_TRANSLATION, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "TEXT and the translation are tokens separated by spaces, for models without a tokenizer"},
    {CMD_BENCH, GROUP_FILES, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "the lines of FILE are tokens separated by spaces, for models without a tokenizer"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0,
     "with --tokens: numbers instead of pieces"},
    {CMD_SCORE, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "a JSON object a line: line, source, target, score, mean, minimum, tokens, log_probabilities, alignment and more"},
    {CMD_SCORE, GROUP_FILES, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "sources and targets are tokens separated by spaces, for models without a tokenizer"},
    {CMD_SCORE, GROUP_FILES, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0,
     "sources and targets are the numbers of tokens"},
    {CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0,
     "show numbers instead of pieces"},
    {CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 'd', "decode", NULL, FIELD(decode), 0, 0,
     "the other way: from target pieces (with --ids: numbers) to text"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "stream", NULL, FIELD(stream), 0, 0,
     "print each translation as it is made, line by line; without the loop guard, since what is printed cannot be taken "
     "back"},
    {NEUTRAL | CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "stats", NULL, FIELD(stats), 0, 0,
     "at the end, one line on stderr: sentences, tokens, time, speed, memory"},

    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "split", "auto|never", FIELD(split), 0, 0,
     "auto (default): translate the sentences of a line one by one; never: lines whole"},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "max-length", "N", FIELD(max_length), 1, 1 << 20,
     "most tokens that a sentence may become; default 512"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_NUMBER, 0, "min-length", "N", FIELD(min_length), 0, 1 << 20,
     "fewest tokens that a sentence becomes; default 0"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "loop-guard", "on|off", FIELD(loop_guard), 0, 0,
     "a sentence whose translation runs in a circle is translated again with constraints against repetition; default on "
     "(with --tokens: off)"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_EXPAND, 0, "exact", "split=never loop-guard=off compute=f32", 0, 0, 0,
     "for comparison with other implementations: --split never --loop-guard off --compute f32; use it on the published "
     "directory or an f32 file, an int8 file holds rounded weights"},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 'b', "beam", "N", FIELD(search.beam), 1, TR_MAX_BEAM,
     "hypotheses that are followed at a time; default 1: the most likely token at each place (greedy)"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_NUMBER, 'n', "n-best", "N", FIELD(search.n_best), 1, TR_MAX_BEAM,
     "the N best translations of each line, as 'line TAB rank TAB score TAB text'; default 1: the best alone"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "length-penalty", "X", FIELD(search.length_penalty), -10, 10,
     "hypotheses are compared by log-probability / tokens^X; default 1; 0: by log-probability"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "coverage-penalty", "X", FIELD(search.coverage_penalty), 0, 10,
     "hypotheses whose tokens attend to too little of the source are worth less, X times as much as Wu et al. (2016) say; "
     "default 0: they are not"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "patience", "X", FIELD(search.patience), 1, 10,
     "the search ends once X times --beam hypotheses are complete; default 1"},
    {SEARCH, GROUP_SEARCH, KIND_CHOICE, 0, "stopping", "likely|early|never", FIELD(stopping), 0, 0,
     "when a search ends: likely (default): once nothing better is to be expected; early: once enough are complete; never: "
     "once nothing better is possible"},
    {SEARCH, GROUP_SEARCH, KIND_FLAG, 0, "sample", NULL, FIELD(search.sample), 0, 0,
     "draw each token by its probability; --n-best N: N draws"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "temperature", "X", FIELD(search.temperature), 0, 100,
     "with --sample: below 1 favours likely tokens, above 1 unlikely ones; 0.01 to 100; default 1"},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "top-k", "N", FIELD(search.top_k), 0, TR_MAX_TOP_K,
     "with --sample: only from the N most likely tokens; default 0: from all"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "top-p", "X", FIELD(search.top_p), 0, 1,
     "with --sample: only from the fewest tokens that have probability X together; default 1: from all"},
    {SEARCH, GROUP_SEARCH, KIND_WHOLE, 0, "seed", "N", FIELD(search.seed), 0, 0,
     "with --sample: the same seed draws the same translations; default 0"},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "no-repeat-ngram", "N", FIELD(search.no_repeat_ngram), 0, 64,
     "no N tokens in a row come twice; default 0: they may"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "repetition-penalty", "X", FIELD(search.repetition_penalty), 1, 100,
     "above 1 makes tokens that came before less likely; default 1"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_LIST, 0, "forbid", "PIECES", FIELD(forbidden), 0, 0,
     "tokens that never come, as --tokens shows them, separated by spaces (with --ids: numbers); can be repeated"},
    {SEARCH, GROUP_SEARCH, KIND_FLAG, 0, "no-unknown", NULL, FIELD(search.forbid_unknown), 0, 0,
     "the unknown token never comes"},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "max-length-factor", "X", FIELD(search.max_length_factor), 0, 1000,
     "a sentence becomes at most X times its tokens, and --max-length-more; default 0: --max-length alone counts"},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "max-length-more", "N", FIELD(search.max_length_offset), 0, 1 << 20,
     "see --max-length-factor; default 0"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_TEXT, 0, "prefix", "TEXT", FIELD(prefix), 0, 0,
     "each translation begins with TEXT"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_FLAG, 0, "tsv", NULL, FIELD(tsv), 0, 0,
     "lines are 'source TAB prefix': what the line's translation begins with"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_FLAG, 0, "alternatives", NULL, FIELD(search.alternatives), 0, 0,
     "--n-best translations that differ in the first token behind the prefix"},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_REAL, 0, "alternatives-min", "X", FIELD(search.alternatives_min), 0, 1,
     "with --alternatives: only first tokens that have probability X at least; default 0"},

    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "fixed-length", "N", FIELD(fixed_length), 0, 1 << 20,
     "force exactly N tokens for each line; default 0: until the end mark"},
    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "rounds", "N", FIELD(rounds), 1, 100000,
     "passes that are timed; the median counts; default 3"},

    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "score", NULL, FIELD(score), 0, 0,
     "also score each pass's translations, as translate score does, and tell how fast that is; with --limits also how much "
     "of what this machine can compute is reached"},
    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "parts", NULL, FIELD(parts), 0, 0,
     "also tell how the time divides between the parts of the network"},
    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "limits", NULL, FIELD(limits), 0, 0,
     "also measure what this machine's cores and memory can do, and tell how much of it is reached; with --parts"},

    {NEUTRAL | CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_SPEED, KIND_NUMBER, 'T', "threads", "N",
     FIELD(threads), 0, TR_TEAM_MAX, "default 0: as many as there are usable cores"},
    {NEUTRAL | CMD_TRANSLATE | CMD_BENCH | CMD_SCORE, GROUP_SPEED, KIND_NUMBER, 0, "batch-size", "N", FIELD(batch_size), 1,
     4096, "sentences side by side in a worker, default 32; 1: one sentence at a time, shared by all threads"},

    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'q', "quiet", NULL, FIELD(quiet), 0, 0, "no warnings, no progress bar"},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'v', "verbose", NULL, FIELD(verbose), 0, 0, "tell on stderr what is used"},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'h', "help", NULL, FIELD(help), 0, 0, "this help"},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'V', "version", NULL, FIELD(version), 0, 0, "the version"},
};
/* clang-format on */

const int cli_option_count = sizeof cli_options / sizeof *cli_options;
