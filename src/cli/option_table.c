#include "cli/option_table.h"

#include "util/team.h"

const char *const cli_option_group_titles[] = {
    [GROUP_MODEL] = "Model",   [GROUP_FILES] = "Files", [GROUP_OUTPUT] = "Output",   [GROUP_TRANSLATION] = "Translation",
    [GROUP_SEARCH] = "Search", [GROUP_SPEED] = "Speed", [GROUP_NETWORK] = "Network", [GROUP_GENERAL] = "General",
};

static const cli_choice compute_choices[] = {
    {"auto", TR_COMPUTE_AUTO}, {"f32", TR_COMPUTE_F32},   {"f16", TR_COMPUTE_F16},
    {"bf16", TR_COMPUTE_BF16}, {"int8", TR_COMPUTE_INT8}, {NULL, 0},
};
static const cli_choice load_choices[] = {{"auto", CLI_AUTO}, {"map", TR_LOAD_MAP}, {"copy", TR_LOAD_COPY}, {NULL, 0}};
/* Words that stand in place of a text: their values do not count. */
static const cli_choice exact_word[] = {{"exact", 0}, {NULL, 0}};
static const cli_choice auto_word[] = {{"auto", 0}, {NULL, 0}};
static const cli_choice auto_off_words[] = {{"auto", 0}, {"off", 0}, {NULL, 0}};
static const cli_choice rerank_words[] = {{"auto", 0}, {"on", 0}, {"off", 0}, {NULL, 0}};
static const cli_choice script_off_words[] = {{"script", 0}, {"off", 0}, {NULL, 0}};
static const cli_choice allowed_choices[] = {{"auto", false}, {"off", true}, {NULL, 0}}; /* full_vocabulary */
static const cli_choice beam_choices[] = {{"auto", CLI_AUTO}, {NULL, 0}};
static const cli_choice split_choices[] = {{"auto", TR_SPLIT_AUTO}, {"never", TR_SPLIT_NEVER}, {NULL, 0}};
static const cli_choice table_choices[] = {{"md", BENCH_MARKDOWN}, {"csv", BENCH_CSV}, {"jsonl", BENCH_JSONL}, {NULL, 0}};
static const cli_choice switch_choices[] = {{"on", true}, {"off", false}, {NULL, 0}};
static const cli_choice stopping_choices[] = {
    {"likely", TR_STOP_HEURISTIC}, {"early", TR_STOP_EARLY}, {"never", TR_STOP_NEVER}, {NULL, 0}};
static const cli_choice shell_choices[] = {{"bash", CLI_BASH}, {"zsh", CLI_ZSH}, {"fish", CLI_FISH}, {NULL, 0}};

#define FIELD(name) offsetof(cli_settings, name)
#define WITH_MODEL  (CMD_TRANSLATE | CMD_BENCH | CMD_TOKENIZE | CMD_SCORE | CMD_ATTENTION | CMD_CALIBRATE)
#define SEARCH      (CMD_TRANSLATE | CMD_BENCH)
#define NEUTRAL     CLI_NEUTRAL
#define COMMON      CLI_COMMON
#define EVERY                                                                                                               \
    (CMD_TRANSLATE | CMD_BENCH | CMD_CONVERT | CMD_INFO | CMD_TOKENIZE | CMD_PULL | CMD_SCORE | CMD_ATTENTION |             \
     CMD_SHORTLIST | CMD_CALIBRATE | CMD_SERVE)

const cli_option cli_options[] = {
    {NEUTRAL | COMMON | WITH_MODEL, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0,
     "model: a file, a published directory, hf:OWNER/NAME; a file is GGUF or as published, hf: is Hugging Face; default: "
     "$TRANSLATE_MODEL, else zh-en or en-zh, which come with the program, by -s, -t or the text's letters",
     NULL},
    {NEUTRAL | CMD_TRANSLATE | CMD_BENCH | CMD_SCORE, GROUP_MODEL, KIND_LIST, 0, "ensemble", "PATH[:WEIGHT]",
     FIELD(ensemble), 0, 0,
     "decode together with a second model; each step adds up the models' log-probabilities, times WEIGHT (default 1, "
     "and 1 for the model of -m); can be repeated",
     NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 0, "rerank", "PATH", FIELD(rerank), 0, 0,
     "of the translations that a beam search finds, take the one that a second model most likely translates back to the "
     "source: better, and slower; on: the model for the other direction, of the two that come with the program or of the "
     "folder of models; PATH: this one; auto (default): on for typed lines and for one input of up to 16 KiB of text, if "
     "there is such a model, without --beam and --n-best; off for what is longer, for -O and for pipes that go on",
     rerank_words},
    {NEUTRAL | CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "folder of models: -s and -t choose one of them, or two, mostly by way of English; default: $TRANSLATE_MODELS, if a "
     "language is given and -m is not",
     NULL},
    {COMMON | CMD_SERVE, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "folder of models; each is opened with its first text; default: the folder of those that come with the program", NULL},
    {COMMON | CMD_SERVE, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0, "serve this model alone", NULL},
    {CMD_SERVE, GROUP_MODEL, KIND_NUMBER, 0, "model-memory", "N", FIELD(model_memory), 0, 1 << 24,
     "before a model is opened, close those that nobody uses if all together have more than N MiB; default 0: if the "
     "system has too little memory",
     NULL},
    {CMD_SERVE, GROUP_MODEL, KIND_NUMBER, 0, "idle-close", "N", FIELD(idle_close), 0, 1 << 30,
     "close a model that nobody used for N seconds; default 900; 0: never", NULL},
    {COMMON | CMD_SHORTLIST, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0,
     "the model that uses the shortlist; its tokenizers cut the text; default: as for translate", NULL},
    {COMMON | CMD_INFO, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "list a folder of models by their languages", NULL},
    {COMMON | CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, if there are several; a code such as fr, fra or zh-Hant: zh, zh-CN, zh-Hans and zho are the "
     "same; auto: detected from the first lines",
     auto_word},
    {COMMON | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, if there are several; a code such as fr, fra or zh-Hant: zh, zh-CN, zh-Hans and zho are "
     "the same",
     NULL},
    {COMMON | CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 't', "target", "LANG",
     FIELD(target), 0, 0, "language of the output; translate info lists a model's languages", NULL},
    {CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION | CMD_SERVE, GROUP_MODEL, KIND_CHOICE, 0, "compute", NULL,
     FIELD(compute), 0, 0, "type of the weights; default auto: as stored (a directory: f32)", compute_choices},
    {COMMON | CMD_CONVERT, GROUP_MODEL, KIND_CHOICE, 0, "compute", NULL, FIELD(compute), 0, 0,
     "type of the matrices in OUT.gguf; default auto: as in IN", compute_choices},
    {COMMON | CMD_CONVERT, GROUP_MODEL, KIND_TEXT, 0, "allowed", "script:NAMES|text:FILE", FIELD(allowed), 0, 0,
     "store which target tokens are allowed; decoding computes no others; script: tokens in the target language's "
     "script; script:NAMES, such as script:Latn; text:FILE: the tokens of a text in that language; off: no list; "
     "default: as in IN",
     script_off_words},
    {NEUTRAL | WITH_MODEL, GROUP_MODEL, KIND_CHOICE, 0, "load", NULL, FIELD(load), 0, 0,
     "map the model file, or copy it into memory, which starts slower, runs faster and lets the file change; auto "
     "(default): copy for bench and for whole files of text, else map",
     load_choices},

    {CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 0, "shortlist", "FILE", FIELD(shortlist), 0, 0,
     "target tokens that a source text allows, the only ones that are computed; auto (default): by the model's shortlist, "
     "if it has one; off: all; FILE: by a lexical shortlist in Marian's binary format (translate shortlist makes one)",
     auto_off_words},
    {CMD_TRANSLATE | CMD_BENCH | CMD_SCORE | CMD_ATTENTION, GROUP_MODEL, KIND_TEXT, 0, "attention", "local:W[@HEADS]",
     FIELD(attention), 0, 0,
     "what the encoder compares each source token with; exact (default): all tokens of the sentence; local:W: those at most "
     "W tokens away, which is faster in long sentences; local:W@2 or local:W@1-3: so only in attention head 2, or heads 1 "
     "to 3; several with commas",
     exact_word},
    {CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION, GROUP_MODEL, KIND_CHOICE, 0, "allowed", NULL, FIELD(full_vocabulary), 0, 0,
     "target tokens that may come at all; auto (default): those of the list in the model's file, if it has one (translate "
     "convert --allowed makes one); off: all",
     allowed_choices},

    {NEUTRAL | COMMON | CMD_TRANSLATE | CMD_TOKENIZE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "read FILE; lines, or a document by its name; default: standard input", NULL},
    {COMMON | CMD_SCORE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "read pairs from FILE; lines of a source, a TAB and a target; default without SOURCE and TARGET: standard input", NULL},
    {COMMON | CMD_BENCH, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "lines to translate, without blank ones; default: built-in lines", NULL},
    {CMD_TRANSLATE | CMD_SCORE | CMD_TOKENIZE | CMD_CALIBRATE, GROUP_FILES, KIND_TEXT, 0, "encoding", "NAME",
     FIELD(encoding), 0, 0,
     "the encoding of the input, as iconv names it; default auto: UTF-8, UTF-16, GB18030 and others are recognised",
     auto_word},
    {NEUTRAL | COMMON | CMD_TRANSLATE | CMD_SCORE, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write FILE, in place of an older one; it appears complete or not at all, and is FILE.part until then; a model or "
     "shortlist is not replaced",
     NULL},
    {COMMON | CMD_ATTENTION, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write a page (.html), picture (.svg) or arrays (.npz); in place of an older FILE, complete or not at all", NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_FILES, KIND_TEXT, 'O', "output-dir", "DIR", FIELD(output_dir), 0, 0,
     "translate the files that are named, each to DIR/NAME; DIR is made if it is missing", NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_TEXT, 0, "format", "NAME", FIELD(format), 0, 0,
     "what the input is; by default the end of the file's name tells; text, or a document: csv docx epub html json markdown "
     "odt po pptx srt tsv vtt xliff xlsx xml yaml",
     NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_FLAG, 0, "bilingual", NULL, FIELD(bilingual), 0, 0,
     "keep the source beside its translation; above it in Markdown, HTML, docx and subtitles", NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_FLAG, 0, "paragraphs", NULL, FIELD(paragraphs), 0, 0,
     "lines of text that follow each other are one paragraph; as in mail, and in text from PDF", NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_TEXT, 0, "columns", "LIST", FIELD(columns), 0, 0,
     "the columns of a CSV or TSV file to translate; numbers or names, such as 2,4-6 or title,text; default: all", NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_TEXT, 0, "keys", "LIST", FIELD(keys), 0, 0,
     "the values of a JSON or YAML file to translate, by their keys; such as title,items.*.text; default: all texts", NULL},
    {CMD_TRANSLATE, GROUP_FILES, KIND_NUMBER, 0, "line-width", "N", FIELD(line_width), 0, 1000,
     "columns of a line of subtitles; default 0: 42; a Chinese character takes two", NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_FILES, KIND_NUMBER, 0, "max-content", "N", FIELD(max_content), 0, 1 << 20,
     "the largest HTML, Markdown or YAML file, or content of a zipped document, in MiB; default 0: 16", NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_FILES, KIND_FLAG, 0, "resume", NULL, FIELD(resume), 0, 0,
     "continue an interrupted run from FILE.part", NULL},
    {COMMON | CMD_CONVERT, GROUP_FILES, KIND_FLAG, 'f', "force", NULL, FIELD(force), 0, 0,
     "replace OUT.gguf even if it is no model", NULL},
    {COMMON | CMD_SHORTLIST, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write FILE, in place of an older shortlist; it appears complete or not at all", NULL},
    {CMD_SHORTLIST, GROUP_FILES, KIND_FLAG, 'f', "force", NULL, FIELD(force), 0, 0,
     "replace FILE even if it is no shortlist", NULL},
    {CMD_SHORTLIST, GROUP_TRANSLATION, KIND_NUMBER, 0, "first", "N", FIELD(first), 0, 100000,
     "every source allows the N most frequent target tokens; default 100", NULL},
    {CMD_SHORTLIST, GROUP_TRANSLATION, KIND_NUMBER, 0, "best", "N", FIELD(best), 1, 10000,
     "each source token allows at most N target tokens; default 100", NULL},
    {COMMON | CMD_INFO, GROUP_FILES, KIND_FLAG, 0, "verify", NULL, FIELD(verify), 0, 0,
     "compare the file with the size and checksum stored in it", NULL},

    {COMMON | CMD_PULL, GROUP_FILES, KIND_TEXT, 'o', "output", "DIR", FIELD(output), 0, 0,
     "put the files into DIR instead of the cache", NULL},
    {COMMON | CMD_PULL, GROUP_FILES, KIND_TEXT, 0, "file", "PATTERN", FIELD(file), 0, 0,
     "the files to download, such as '*q8_0.gguf'; those that match, not those that a model needs", NULL},
    {COMMON | CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "list", NULL, FIELD(list), 0, 0,
     "list the models in the cache, with sizes", NULL},
    {COMMON | CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "remove", NULL, FIELD(remove), 0, 0,
     "remove OWNER/NAME from the cache; with @REVISION, only that revision", NULL},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "timeout", "N", FIELD(timeout), 1, 3600,
     "give up a connection after N seconds without data; default 30", NULL},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "retries", "N", FIELD(retries), 0, 1000,
     "how often to try again after a lost connection or an overloaded server; default 5", NULL},

    {COMMON | CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "host", "ADDRESS", FIELD(host), 0, 0,
     "listen at this address; default 127.0.0.1, for programs of this machine alone; 0.0.0.0 for all, :: with IPv6", NULL},
    {COMMON | CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "port", "N", FIELD(port), 0, 65535,
     "default 5000; 0: any that is free", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "unix", "PATH", FIELD(unix_socket), 0, 0, "listen at a Unix socket instead",
     NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "url-prefix", "/PATH", FIELD(url_prefix), 0, 0,
     "what addresses begin with, if a proxy passes a part of them on", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "cors", "ORIGIN", FIELD(cors), 0, 0,
     "web pages from this origin may use the server; * for all; default: none", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "allowed-hosts", "NAMES", FIELD(allowed_hosts), 0, 0,
     "answer only requests to these names, with commas between them; * for all; default: at a loopback address no other "
     "name than localhost with the server's own port",
     NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_FLAG, 0, "trust-proxy", NULL, FIELD(trust_proxy), 0, 0,
     "take the client's address from X-Forwarded-For; only behind a proxy that sets it", NULL},
    {COMMON | CMD_SERVE, GROUP_NETWORK, KIND_TEXT, 0, "api-keys", "FILE", FIELD(api_keys), 0, 0,
     "clients need one of the keys in FILE; a key a line; optionally its requests and characters a minute", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "rate-limit", "N", FIELD(rate_limit), 0, 1 << 30,
     "requests a minute of a key, or of an address; default 0: no limit", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "char-limit", "N", FIELD(char_limit), 0, 1 << 30,
     "characters of a request; default 100000; 0: no limit", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "batch-limit", "N", FIELD(batch_limit), 0, 1 << 20,
     "texts of a request; default 1000; 0: no limit", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "upload-limit", "N", FIELD(upload_limit), 1, 1024,
     "the largest document, in MiB; default 16", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "keep-documents", "N", FIELD(keep_documents), 1, 3600,
     "forget a document and its translation N seconds after it came; default 3600", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "timeout", "N", FIELD(timeout), 1, 3600,
     "give up a request after N seconds; default 120", NULL},
    {CMD_SERVE, GROUP_NETWORK, KIND_NUMBER, 0, "grace", "N", FIELD(grace), 0, 3600,
     "after SIGTERM, finish what was accepted within N seconds; default 30", NULL},
    {CMD_SERVE, GROUP_OUTPUT, KIND_TEXT, 0, "access-log", "FILE", FIELD(access_log), 0, 0,
     "write a line for each answer: time, address, method, route, status, bytes, milliseconds; no texts and keys; -: to "
     "standard output; default: none",
     NULL},
    {COMMON | CMD_SERVE, GROUP_FILES, KIND_TEXT, 0, "config", "FILE", FIELD(config), 0, 0,
     "read options from FILE; lines such as 'port = 5000'; the environment (TRANSLATE_PORT) and the command line come "
     "before it",
     NULL},
    {CMD_SERVE, GROUP_TRANSLATION, KIND_TEXT, 0, "glossaries", "DIR", FIELD(glossaries), 0, 0,
     "folder of glossaries, NAME.tsv or NAME.csv, that requests may name", NULL},
    {CMD_SERVE, GROUP_SPEED, KIND_NUMBER, 0, "cache-size", "N", FIELD(cache), 0, 1 << 20,
     "keep finished translations in N MiB; default 64; 0: none", NULL},
    {CMD_SERVE, GROUP_SPEED, KIND_NUMBER, 0, "queue-limit", "N", FIELD(queue_limit), 1, 1 << 24,
     "texts that may wait, before requests are told to come back later; default 10000", NULL},

    {COMMON | CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "a JSON object a line; its keys: line, source, text, tokens, flags; pivot, if two models translate; with their "
     "options: score, "
     "hypotheses, alignment",
     NULL},
    {COMMON | CMD_INFO, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0, "print one JSON object", NULL},
    {COMMON | CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0, "print a JSON object for each setting",
     NULL},
    {COMMON | CMD_BENCH, GROUP_OUTPUT, KIND_CHOICE, 0, "table", NULL, FIELD(table), 0, 0,
     "print a row for each setting; as Markdown, to paste into reports (default for several settings), CSV, or a "
     "JSON object on each line",
     table_choices},
    {CMD_BENCH, GROUP_SEARCH, KIND_FLAG, 0, "scores", NULL, FIELD(scores), 0, 0,
     "also compute log-probabilities, which --beam 1 does not need", NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "scores", NULL, FIELD(scores), 0, 0,
     "append a TAB and the translation's log-probability; with --json: score, mean, minimum, token_scores", NULL},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_FLAG, 0, "alignment", NULL, FIELD(alignment), 0, 0,
     "append a TAB and the word alignment; pairs S-T of a source and a target token, counted from 0", NULL},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_NUMBER, 0, "alignment-layer", "N", FIELD(alignment_layer), 0, 1 << 20,
     "decoder layer that alignments are taken from, counted from 1; default 0: the one that the model was trained to align "
     "with, else the last",
     NULL},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_NUMBER, 0, "alignment-head", "N", FIELD(alignment_head), 0, 1 << 20,
     "attention head of that layer, counted from 1; default 0: the one that the model was trained to align with, else the "
     "mean of all",
     NULL},
    {CMD_TRANSLATE | CMD_SCORE, GROUP_OUTPUT, KIND_REAL, 0, "alignment-threshold", "X", FIELD(alignment_threshold), 0, 1,
     "link source tokens whose attention exceeds X; default 1: only the strongest", NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "input and output are tokens separated by spaces, for models without a tokenizer; implies --split never", NULL},
    {COMMON | CMD_ATTENTION, GROUP_TRANSLATION, KIND_TEXT, 0, "translation", "TEXT", FIELD(translation), 0, 0,
     "show this translation instead of the model's own", NULL},
    {CMD_ATTENTION, GROUP_TRANSLATION, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "TEXT and the translation are tokens separated by spaces, for models without a tokenizer", NULL},
    {CMD_BENCH, GROUP_FILES, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "the lines of FILE are tokens separated by spaces, for models without a tokenizer", NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0, "with --tokens: numbers instead of pieces",
     NULL},
    {COMMON | CMD_SCORE, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "a JSON object a line; its keys: line, source, target, score, mean, minimum, tokens, log_probabilities, alignment and "
     "more",
     NULL},
    {CMD_SCORE, GROUP_FILES, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "sources and targets are tokens separated by spaces, for models without a tokenizer", NULL},
    {CMD_SCORE, GROUP_FILES, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0, "sources and targets are the numbers of tokens",
     NULL},
    {COMMON | CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0, "show numbers instead of pieces",
     NULL},
    {COMMON | CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 'd', "decode", NULL, FIELD(decode), 0, 0,
     "turn target pieces (with --ids: numbers) into text", NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "stream", NULL, FIELD(stream), 0, 0,
     "print text while it is generated; without the loop guard, as printed text cannot be taken back", NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "stats", NULL, FIELD(stats), 0, 0,
     "finally print one line on stderr: sentences, tokens, time, speed, memory", NULL},

    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "split", NULL, FIELD(split), 0, 0,
     "auto (default): translate a line sentence by sentence; never: as a whole", split_choices},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "max-length", "N", FIELD(max_length), 1, 1 << 20,
     "maximum number of tokens in a sentence's translation; default 512", NULL},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_NUMBER, 0, "min-length", "N", FIELD(min_length), 0, 1 << 20,
     "minimum number of tokens in a sentence's translation; default 0", NULL},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "loop-guard", NULL, FIELD(loop_guard), 0, 0,
     "if a translation repeats itself endlessly, translate again with constraints against repetition; default on (with "
     "--tokens: off)",
     switch_choices},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "protect", NULL, FIELD(protect), 0, 0,
     "keep what must not change: addresses, paths, code, tags, placeholders, identifiers, emoji, numbers, and sentences "
     "without a letter of the source language; default on (with --tokens: off)",
     switch_choices},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_TEXT, 0, "glossary", "FILE", FIELD(glossary), 0, 0,
     "translate words as FILE says: lines with SOURCE TAB TARGET, or CSV, optionally with flags (case nocase word part)",
     NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_TEXT, 0, "mark-doubtful", "TEXT", FIELD(mark_doubtful), 0, 0,
     "put TEXT before translations that are probably wrong; such as '[?] '; by their scores; --json flags them", NULL},
    {COMMON | CMD_CALIBRATE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "lines of a source, a TAB and a reference; default: standard input", NULL},
    {COMMON | CMD_CALIBRATE, GROUP_TRANSLATION, KIND_REAL, 0, "wrong-below", "X", FIELD(wrong_below), 0, 100,
     "translations with a chrF below X are wrong; default 35", NULL},
    {CMD_CONVERT, GROUP_OUTPUT, KIND_REAL, 0, "doubtful-below", "X", FIELD(doubtful_below), -100, 0,
     "write into the file that translations with a mean log-probability below X are doubtful (translate calibrate)", NULL},
    {CMD_CONVERT, GROUP_OUTPUT, KIND_TEXT, 0, "license", "TEXT", FIELD(license), 0, 0,
     "the licence to write into the file; translate info shows it; default: what IN says, in its metadata or the head of "
     "its README.md",
     NULL},
    {CMD_CONVERT, GROUP_OUTPUT, KIND_TEXT, 0, "description", "TEXT", FIELD(description), 0, 0,
     "what the model is for, to write into the file; default: what IN says", NULL},
    {CMD_CONVERT, GROUP_OUTPUT, KIND_TEXT, 0, "date", "TEXT", FIELD(date), 0, 0,
     "the model's date, to write into the file; default: what IN says", NULL},
    {CMD_CONVERT, GROUP_OUTPUT, KIND_FLAG, 0, "stand-ins", NULL, FIELD(stand_ins), 0, 0,
     "try which short words the model copies, and write them into the file; otherwise each run tries when it needs them. "
     "Takes the memory of a translation",
     NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_REAL, 0, "doubtful-below", "X", FIELD(doubtful_below), -100, 0,
     "with --mark-doubtful or --json: translations with a mean log-probability below X are doubtful; default: what the "
     "model's file says, if it does",
     NULL},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_EXPAND, 0, "exact",
     "split=never loop-guard=off protect=off compute=f32 rerank=off", 0, 0, 0,
     "translate as the published program does, to compare with it; the same as --split never --loop-guard off --protect off "
     "--compute f32 --rerank off; with the published directory or an f32 file, because an int8 file holds rounded weights",
     NULL},
    {CMD_SERVE, GROUP_SEARCH, KIND_NUMBER, 'b', "beam", "N", FIELD(search.beam), 1, TR_MAX_BEAM,
     "beam size: hypotheses at each step; default 1: the most likely token at each step (greedy)", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_NUMBER, 'b', "beam", "N", FIELD(search.beam), 1, TR_MAX_BEAM,
     "beam size: hypotheses at each step; 1: the most likely token at each step (greedy); auto (default): 12 with the model "
     "of --rerank, else 1",
     beam_choices},
    {CMD_BENCH, GROUP_SEARCH, KIND_SERIES, 'b', "beam", "N,...", FIELD(beams), 1, TR_MAX_BEAM,
     "beam size: hypotheses at each step; default 1: the most likely token at each step (greedy)", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_NUMBER, 'n', "n-best", "N", FIELD(search.n_best), 1, TR_MAX_BEAM,
     "the N best translations of each line, as 'line TAB rank TAB score TAB text'; default 1: only the best", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "length-penalty", "X", FIELD(search.length_penalty), -10, 10,
     "a hypothesis' score is log-probability / tokens^X; default 1; 0: log-probability", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "coverage-penalty", "X", FIELD(search.coverage_penalty), 0, 10,
     "penalise hypotheses that leave parts of the source untranslated: X times the coverage penalty of Wu et al. (2016); "
     "default 0: no penalty",
     NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "patience", "X", FIELD(search.patience), 1, 10,
     "end the search after X times --beam finished hypotheses; default 1", NULL},
    {SEARCH, GROUP_SEARCH, KIND_CHOICE, 0, "stopping", NULL, FIELD(stopping), 0, 0,
     "end the search: likely (default): when a better hypothesis is unlikely; early: when enough are finished; never: when "
     "a "
     "better one is impossible",
     stopping_choices},
    {SEARCH, GROUP_SEARCH, KIND_FLAG, 0, "sample", NULL, FIELD(search.sample), 0, 0,
     "draw each token by its probability; --n-best N: N draws", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "temperature", "X", FIELD(search.temperature), 0, 100,
     "with --sample: below 1 favours likely tokens, above 1 unlikely ones; 0.01 to 100; default 1", NULL},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "top-k", "N", FIELD(search.top_k), 0, TR_MAX_TOP_K,
     "with --sample: draw from the N most likely tokens; default 0: from all", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "top-p", "X", FIELD(search.top_p), 0, 1,
     "with --sample: draw from the smallest set of tokens whose probability reaches X; default 1: from all", NULL},
    {SEARCH, GROUP_SEARCH, KIND_WHOLE, 0, "seed", "N", FIELD(search.seed), 0, 0,
     "with --sample: the same seed draws the same translations; default 0", NULL},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "no-repeat-ngram", "N", FIELD(search.no_repeat_ngram), 0, 64,
     "never repeat N tokens in a row; default 0: allow it", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "repetition-penalty", "X", FIELD(search.repetition_penalty), 1, 100,
     "above 1: make tokens less likely that are already in the translation; default 1", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_LIST, 0, "forbid", "PIECES", FIELD(forbidden), 0, 0,
     "never generate these tokens, separated by spaces, as --tokens shows them (with --ids: numbers); can be repeated",
     NULL},
    {SEARCH, GROUP_SEARCH, KIND_FLAG, 0, "no-unknown", NULL, FIELD(search.forbid_unknown), 0, 0,
     "never generate the unknown token", NULL},
    {SEARCH, GROUP_SEARCH, KIND_REAL, 0, "max-length-factor", "X", FIELD(search.max_length_factor), 0, 1000,
     "limit the translation to X times the source tokens plus --max-length-more; default 0: --max-length alone", NULL},
    {SEARCH, GROUP_SEARCH, KIND_NUMBER, 0, "max-length-more", "N", FIELD(search.max_length_offset), 0, 1 << 20,
     "see --max-length-factor; default 0", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_TEXT, 0, "prefix", "TEXT", FIELD(prefix), 0, 0, "begin each translation with TEXT",
     NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_FLAG, 0, "tsv", NULL, FIELD(tsv), 0, 0,
     "lines are 'source TAB prefix': begin the line's translation with the prefix", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_FLAG, 0, "alternatives", NULL, FIELD(search.alternatives), 0, 0,
     "--n-best translations that differ in the first token after the prefix", NULL},
    {CMD_TRANSLATE, GROUP_SEARCH, KIND_REAL, 0, "alternatives-min", "X", FIELD(search.alternatives_min), 0, 1,
     "with --alternatives: only first tokens with a probability of at least X; default 0", NULL},

    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "fixed-length", "N", FIELD(fixed_length), 0, 1 << 20,
     "force exactly N tokens for each line; default 0: until EOS", NULL},
    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "rounds", "N", FIELD(rounds), 1, 100000,
     "timed passes; the median counts; default 3", NULL},

    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "score", NULL, FIELD(score), 0, 0,
     "also time scoring each pass's translations, as translate score does; with --limits also its share of the machine's "
     "arithmetic peak",
     NULL},
    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "parts", NULL, FIELD(parts), 0, 0,
     "also report the time of each part of the network", NULL},
    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "limits", NULL, FIELD(limits), 0, 0,
     "also measure the machine's peak arithmetic and memory speed, and report the share reached; implies --parts", NULL},

    {NEUTRAL | CMD_TRANSLATE | CMD_SCORE | CMD_ATTENTION | CMD_SHORTLIST | CMD_CALIBRATE | CMD_SERVE, GROUP_SPEED,
     KIND_NUMBER, 'T', "threads", "N", FIELD(threads), 0, TR_TEAM_MAX, "default 0: one for each usable core", NULL},
    {COMMON | CMD_BENCH, GROUP_SPEED, KIND_SERIES, 'T', "threads", "N,...", FIELD(threads_list), 0, TR_TEAM_MAX,
     "default 0: one for each usable core; several numbers, here and in --batch-size and --beam: every combination is "
     "measured",
     NULL},
    {COMMON | CMD_BENCH, GROUP_SPEED, KIND_SERIES, 0, "batch-size", "N,...", FIELD(batch_sizes), 1, 4096,
     "sentences that a worker decodes together, default 32; 1: one sentence at a time, by all threads", NULL},
    {NEUTRAL | CMD_TRANSLATE | CMD_SCORE | CMD_SERVE, GROUP_SPEED, KIND_NUMBER, 0, "batch-size", "N", FIELD(batch_size), 1,
     4096, "sentences that a worker decodes together, default 32; 1: one sentence at a time, by all threads", NULL},

    {CMD_SERVE, GROUP_GENERAL, KIND_FLAG, 0, "health", NULL, FIELD(health), 0, 0,
     "do not serve, but ask the server of these settings whether it lives; the exit status is 0 if it does", NULL},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'q', "quiet", NULL, FIELD(quiet), 0, 0, "no warnings, no progress bar",
     NULL},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'v', "verbose", NULL, FIELD(verbose), 0, 0, "print details on stderr", NULL},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'h', "", NULL, FIELD(short_help), 0, 0, "the help that fits one screen",
     NULL},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 0, "help", NULL, FIELD(help), 0, 0, "this help", NULL},
    {NEUTRAL | EVERY, GROUP_GENERAL, KIND_FLAG, 'V', "version", NULL, FIELD(version), 0, 0,
     "the version; with -v also the commit, compiler, kernels and model, for reports", NULL},
    {NEUTRAL | CMD_TRANSLATE, GROUP_GENERAL, KIND_CHOICE, 0, "completion", NULL, FIELD(completion), 0, 0,
     "print how the shell completes this command; an installed program has it already", shell_choices},
};

const int cli_option_count = sizeof cli_options / sizeof *cli_options;
