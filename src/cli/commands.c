/* The commands: what they are called, and the parts of their help. */
#include "cli/cli.h"
#include "cli/config.h"

const cli_command cli_commands[] = {
    {"translate", CMD_TRANSLATE, cli_translate, 0, -1, NULL,
     "translate [OPTIONS] [TEXT...]\n       translate COMMAND [OPTIONS] ...",
     "Translates TEXT, or standard input line by line if there is none.\n"
     "Arguments are joined by a space; -- ends options, so that TEXT may begin with a\n"
     "dash or with the name of a command. A later option overrides an earlier one.\n",
     "  translate \"今天天气很好\"              one sentence / 翻译一句话\n"
     "  translate \"Good morning\"              English to Chinese / 英译中\n"
     "  translate -i book.txt -o book.en.txt  a whole file / 翻译整个文件\n"
     "  translate -i a.docx -o a.en.docx      a document / 翻译文档\n"
     "  translate < zh.txt > en.txt           through a pipe / 通过管道翻译\n"
     "  translate --models DIR -s auto -t en  by the text's language / 自动识别语言\n",
     "Files that exist: -o FILE replaces an older FILE, once the new one is complete;\n"
     "never a directory, the input, a model or a shortlist. A new model or shortlist\n"
     "replaces only its like, or with --force any file.\n"
     "\nExit status: 0 done, 1 failed, 2 wrong usage. Environment: TRANSLATE_MODEL, the\n"
     "default model; TRANSLATE_MODELS, a folder of models; TRANSLATE_CPU, the kernels\n"
     "to use (portable, avx2, avx512, ...).\n"},
#if TR_IMPORT
    {"translate attention", CMD_ATTENTION, cli_attention, 1, -1, "draw a network's attention",
     "translate attention [OPTIONS] TEXT... -o FILE",
     "Translates TEXT, one sentence, and shows the attention of every layer and head:\n"
     "within the source, within the translation, and from the translation to the\n"
     "source. FILE is a page for the browser (.html), a picture for print (.svg) or\n"
     "arrays for numpy (.npz), by its ending.\n",
     "  translate attention \"动物没有过马路，因为它太累了\" -o view.html\n"
     "  translate attention \"今天天气很好\" --translation \"Nice weather.\" -o view.svg\n",
     NULL},
#endif
    {"translate bench", CMD_BENCH, cli_bench, 0, 0, "measure a model's speed", "translate bench [OPTIONS]",
     "Measures how fast a model translates on this machine. Text is cut into tokens\n"
     "first; the network is timed, from token numbers to token numbers: the median of\n"
     "--rounds passes over all lines, after one pass that does not count.\n",
     "  translate bench                                    the default model\n"
     "  translate bench -i zh.txt --batch-size 1 -T 1      your own lines\n"
     "  translate bench -T 1,2 --batch-size 1,32           a table / 几种设置的表格\n"
     "  translate bench --fixed-length 30 --json           to compare engines\n",
     NULL},
    {"translate calibrate", CMD_CALIBRATE, cli_calibrate, 0, 0, "find when to doubt a model",
     "translate calibrate [OPTIONS] [-i FILE]",
     "Translates the sources of a text with references, and shows for thresholds of\n"
     "the mean log-probability how many translations are below (doubtful), how many of\n"
     "them are wrong (precision), and how many of the wrong ones are among them\n"
     "(recall). Wrong is what has little in common with its reference, by chrF. A line\n"
     "of FILE is a source, a TAB and a reference.\n",
     "  translate calibrate -i pairs.tsv\n"
     "  translate convert --doubtful-below -0.4 zh-en.gguf new.gguf  store it / 写入\n",
     NULL},
    {"translate convert", CMD_CONVERT, cli_convert, 2, 2, "pack a model into one file",
     "translate convert [OPTIONS] IN OUT.gguf",
     "Writes the model IN, a published directory or a GGUF file, as one GGUF file and\n"
     "reads it back to verify it. OUT.gguf appears complete or not at all, in place of\n"
     "an older model.\n",
     "  translate convert opus-mt-zh-en zh-en.gguf --compute int8\n"
     "  translate convert hf:Helsinki-NLP/opus-mt-zh-en zh-en.gguf --compute int8\n",
     NULL},
    {"translate info", CMD_INFO, cli_info, 0, 1, "describe or verify a model", "translate info [OPTIONS] [FILE]",
     "Shows the content of the model FILE (or directory): its shape, languages,\n"
     "tokenizer, special tokens, weights and checksum. For a folder of models, lists\n"
     "them with their languages.\n",
     "  translate info --verify zh-en.gguf\n", NULL},
#if TR_IMPORT
    {"translate pull", CMD_PULL, cli_pull, 0, 1, "download a model", "translate pull [OPTIONS] OWNER/NAME[@REVISION]",
     "Downloads the files that a model needs from Hugging Face into the cache, where\n"
     "-m hf:OWNER/NAME finds them; or with -o into a folder. -m hf:OWNER/NAME also\n"
     "downloads a missing model itself. Of files that exist already, only those that\n"
     "changed are downloaded; an interrupted download continues. REVISION is a branch,\n"
     "tag or commit; default main.\n",
     "  translate pull Helsinki-NLP/opus-mt-zh-en      download / 下载模型\n"
     "  translate -m hf:Helsinki-NLP/opus-mt-zh-en \"你好\"\n"
     "  translate pull Helsinki-NLP/opus-mt-zh-en -o opus-mt-zh-en\n"
     "  translate pull --list                          list models / 查看已有模型\n"
     "  translate pull --remove Helsinki-NLP/opus-mt-zh-en\n",
     "Without a network: pull with -o DIR elsewhere, copy DIR here, and use -m DIR.\n"
     "\nEnvironment: HF_TOKEN, for models that are gated or private; HF_ENDPOINT,\n"
     "another server, such as a mirror; HTTPS_PROXY; TRANSLATE_CACHE, the cache\n"
     "(default ~/.cache/translate).\n"},
#endif
    {"translate score", CMD_SCORE, cli_score, 0, 2, "rate given translations",
     "translate score [OPTIONS] SOURCE TARGET\n       translate score [OPTIONS] [-i FILE]",
     "Prints the natural logarithm of the model's probability of TARGET, given SOURCE;\n"
     "or that of each line of a file, a source, a TAB and a target. A pair is scored\n"
     "as a whole, not sentence by sentence.\n",
     "  translate score \"今天天气很好。\" \"The weather is nice today.\"\n"
     "  translate score -i pairs.tsv > scores.txt     one number a line / 每行一个分数\n"
     "  translate score --alignment \"你好\" \"Hello\"    with word alignment / 词对齐\n"
     "  translate score --json -i pairs.tsv           token by token / 逐词元概率\n",
     NULL},
#if TR_IMPORT
    {"translate serve", CMD_SERVE, cli_serve, 0, 0, "answer programs over HTTP", "translate serve [OPTIONS]",
     "Answers programs that speak to LibreTranslate, DeepL, Google Translate, Immersive\n"
     "Translate and others, at http://127.0.0.1:5000, until it is interrupted. Texts are\n"
     "never logged, and nothing is written to the disk.\n",
     "  translate serve                                the models that come with it\n"
     "  translate serve --models DIR --port 8000       your own / 自己的模型\n"
     "  curl localhost:5000/translate -d q=今天天气很好 -d source=zh -d target=en\n",
     "SIGTERM finishes what was accepted and ends; SIGHUP reads models, keys and\n"
     "glossaries again.\n"
     "\nEnvironment: each option as TRANSLATE_NAME, such as TRANSLATE_API_KEYS.\n"},
#endif
    {"translate shortlist", CMD_SHORTLIST, cli_shortlist, 2, 2, "learn a lexical shortlist",
     "translate shortlist [OPTIONS] SOURCE.txt TARGET.txt -o FILE.bin",
     "Learns which target tokens translate each source token, from a parallel text in\n"
     "two files whose lines i belong together, by alignment models of both directions.\n"
     "FILE.bin is a lexical shortlist in Marian's binary format: with --shortlist\n"
     "FILE.bin only the target tokens that the source allows are computed, which is\n"
     "faster.\n",
     "  translate shortlist zh.txt en.txt -m zh-en.gguf -o lex.bin\n"
     "  translate -m zh-en.gguf --shortlist lex.bin < in.txt\n",
     NULL},
    {"translate tokenize", CMD_TOKENIZE, cli_tokenize, 0, -1, "show the tokens of a text",
     "translate tokenize [OPTIONS] [TEXT...]",
     "Shows the tokens of TEXT, or of each line of standard input, separated by\n"
     "spaces. EOS, which is added later, is not among them.\n",
     "  translate tokenize \"今天天气很好\"\n"
     "  translate tokenize --ids < zh.txt\n"
     "  translate tokenize --decode \"▁The ▁weather\"\n",
     NULL},
};

const int cli_command_count = sizeof cli_commands / sizeof *cli_commands;
