/* translate: the command. Finds the subcommand and runs it. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/signals.h"
#include "util/arena.h"

#include "api/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------------- commands */

static const cli_command commands[] = {
    {"translate", CMD_TRANSLATE, cli_translate, 0, -1,
     "translate [OPTIONS] [TEXT...]\n       translate COMMAND [OPTIONS] ...",
     "Translates TEXT, or standard input line by line if there is none.\n"
     "Arguments are joined by a space; -- ends options, so that TEXT may begin with a\n"
     "dash or with the name of a command. A later option overrides an earlier one.\n"
     "\nExamples / 示例:\n"
     "  translate \"今天天气很好\"              one sentence / 翻译一句话\n"
     "  translate -i book.txt -o book.en.txt  a whole file / 翻译整个文件\n"
     "  translate < zh.txt > en.txt           through a pipe / 通过管道翻译\n"
     "  translate                             each line as you type it / 逐行翻译\n"
     "  translate --json \"你好。再见。\"       for other programs / 供程序使用\n"
     "  translate -m model.gguf \"你好\"        with another model / 使用其他模型\n"
     "  translate --models DIR -s auto -t en  by the text's language / 自动识别语言\n"
     "\nCommands (the first word; see 'translate COMMAND --help'):\n"
     "  attention  show the network's attention to a sentence, as a page\n"
     "  bench      measure the speed of a model on this machine\n"
     "  convert    turn a published model into one GGUF file\n"
     "  info       show the content of a model file, and verify it\n"
     "  pull       download a model from Hugging Face\n"
     "  score      compute how likely a translation is for the model; word alignments\n"
     "  shortlist  learn a lexical shortlist from a parallel text, to translate faster\n"
     "  tokenize   show the tokens of a text\n",
     "Exit status: 0 done, 1 failed, 2 wrong usage. Environment: TRANSLATE_MODEL, the\n"
     "default model; TRANSLATE_MODELS, a folder of models; TRANSLATE_CPU, the kernels\n"
     "to use (portable, avx2, avx512, ...).\n"},
    {"translate bench", CMD_BENCH, cli_bench, 0, 0, "translate bench [OPTIONS]",
     "Measures how fast a model translates on this machine. Text is cut into tokens\n"
     "first; the network is timed, from token numbers to token numbers: the median of\n"
     "--rounds passes over all lines, after one pass that does not count.\n",
     "Examples / 示例:\n"
     "  translate bench                                    the default model\n"
     "  translate bench -i zh.txt --batch-size 1 -T 1      your own lines\n"
     "  translate bench -T 1,2 --batch-size 1,32           a table / 几种设置的表格\n"
     "  translate bench --fixed-length 30 --json           to compare engines\n"},
    {"translate attention", CMD_ATTENTION, cli_attention, 1, -1, "translate attention [OPTIONS] TEXT... -o FILE",
     "Translates TEXT, one sentence, and shows the attention of every layer and head:\n"
     "within the source, within the translation, and from the translation to the\n"
     "source. FILE is a page for the browser (.html), a picture for print (.svg) or\n"
     "arrays for numpy (.npz), by its ending.\n",
     "Examples / 示例:\n"
     "  translate attention \"动物没有过马路，因为它太累了\" -o view.html\n"
     "  translate attention \"今天天气很好\" --translation \"Nice weather today.\" -o view.svg\n"},
    {"translate convert", CMD_CONVERT, cli_convert, 2, 2, "translate convert [OPTIONS] IN OUT.gguf",
     "Writes the model IN, a published directory or a GGUF file, as one GGUF file and\n"
     "reads it back to verify it. OUT.gguf appears complete or not at all.\n",
     "Example / 示例:\n"
     "  translate convert opus-mt-zh-en zh-en.gguf --compute int8\n"
     "  translate convert hf:Helsinki-NLP/opus-mt-zh-en zh-en.gguf --compute int8\n"},
    {"translate info", CMD_INFO, cli_info, 0, 1, "translate info [OPTIONS] [FILE]",
     "Shows the content of the model FILE (or directory): its shape, languages,\n"
     "tokenizer, special tokens, weights and checksum. For a folder of models, lists\n"
     "them with their languages.\n",
     "Example / 示例:\n"
     "  translate info --verify zh-en.gguf\n"},
    {"translate tokenize", CMD_TOKENIZE, cli_tokenize, 0, -1, "translate tokenize [OPTIONS] [TEXT...]",
     "Shows the tokens of TEXT, or of each line of standard input, separated by\n"
     "spaces. EOS, which is added later, is not among them.\n",
     "Examples / 示例:\n"
     "  translate tokenize \"今天天气很好\"\n"
     "  translate tokenize --ids < zh.txt\n"
     "  translate tokenize --decode \"▁Hello ▁world\"\n"},
    {"translate score", CMD_SCORE, cli_score, 0, 2,
     "translate score [OPTIONS] SOURCE TARGET\n       translate score [OPTIONS] [-i FILE]",
     "Prints the natural logarithm of the model's probability of TARGET, given SOURCE;\n"
     "or that of each line of a file, a source, a TAB and a target. A pair is scored as\n"
     "a whole, not sentence by sentence.\n",
     "Examples / 示例:\n"
     "  translate score \"今天天气很好。\" \"The weather is nice today.\"\n"
     "  translate score -i pairs.tsv > scores.txt          one number a line / 每行一个分数\n"
     "  translate score --alignment \"你好\" \"Hello\"         with word alignment / 词对齐\n"
     "  translate score --json -i pairs.tsv                token by token / 逐词概率\n"},
    {"translate calibrate", CMD_CALIBRATE, cli_calibrate, 0, 0, "translate calibrate [OPTIONS] [-i FILE]",
     "Translates the sources of a text with references, and shows for thresholds of the\n"
     "mean log-probability how many translations are below (doubtful), how many of them\n"
     "are wrong (precision), and how many of the wrong ones are among them (recall).\n"
     "Wrong is what has little in common with its reference, by chrF. A line of FILE is\n"
     "a source, a TAB and a reference.\n",
     "Examples / 示例:\n"
     "  translate calibrate -i pairs.tsv\n"
     "  translate convert --doubtful-below -0.4 zh-en.gguf new.gguf   into the model's file / 写进模型\n"},
    {"translate pull", CMD_PULL, cli_pull, 0, 1, "translate pull [OPTIONS] OWNER/NAME[@REVISION]",
     "Downloads the files that a model needs from Hugging Face into the cache, where\n"
     "-m hf:OWNER/NAME finds them; or with -o into a folder. -m hf:OWNER/NAME also\n"
     "downloads a missing model itself. Of files that exist already, only those that\n"
     "changed are downloaded; an interrupted download continues. REVISION is a branch,\n"
     "tag or commit; default main.\n",
     "Examples / 示例:\n"
     "  translate pull Helsinki-NLP/opus-mt-zh-en      download / 下载模型\n"
     "  translate -m hf:Helsinki-NLP/opus-mt-zh-en \"你好\"\n"
     "  translate pull Helsinki-NLP/opus-mt-zh-en -o opus-mt-zh-en\n"
     "  translate pull --list                          list models / 查看已有模型\n"
     "  translate pull --remove Helsinki-NLP/opus-mt-zh-en\n"
     "\nEnvironment: HF_TOKEN, for models that are gated or private; HF_ENDPOINT,\n"
     "another server, such as a mirror; HTTPS_PROXY; TRANSLATE_CACHE, the cache\n"
     "(default ~/.cache/translate).\n"},
    {"translate shortlist", CMD_SHORTLIST, cli_shortlist, 2, 2,
     "translate shortlist [OPTIONS] SOURCE.txt TARGET.txt -o FILE.bin",
     "Learns which target tokens translate each source token, from a parallel text in\n"
     "two files whose lines i belong together, by alignment models of both directions.\n"
     "FILE.bin is a lexical shortlist in Marian's binary format: with --shortlist\n"
     "FILE.bin only the target tokens that the source allows are computed, which is\n"
     "faster.\n",
     "Example / 示例:\n"
     "  translate shortlist zh.txt en.txt -m zh-en.gguf -o lex.bin\n"
     "  translate -m zh-en.gguf --shortlist lex.bin < in.txt\n"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Words that later versions may use for commands. */
static const char *const reserved[] = {"serve"};

/* --------------------------------------------------------------------------------------------------------------- main */

/* If a standard stream is closed, opens something in its place that fails to be read or written, so that no file opened
 * later gets its descriptor. */
static void occupy_streams(void)
{
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* The deepest JSON that jansson accepts takes 190 kB of stack; decoding takes 90 kB in each thread, and threads get stacks
 * of the limit's size. The rest is a margin. */
static int check_stack(void)
{
    enum { NEEDED = 512 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED * 1024)
        return CLI_DONE;
    const uint64_t kilobytes = (uint64_t)limit.rlim_cur / 1024;
    return cli_fail("the stack limit is %" PRIu64 " kB, translate needs %d kB: ulimit -s %d", kilobytes, NEEDED, NEEDED);
}

static int close_stdout(int status)
{
    const bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == CLI_DONE)
        return errno == EPIPE ? CLI_FAILED : cli_fail("standard output: cannot write: %s", strerror(errno));
    return status;
}

/* NULL: the word is reserved. *words: how many arguments name the command. */
static const cli_command *find_command(const char *first, int *words)
{
    *words = 0;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(first, reserved[i]) == 0)
            return NULL;
    for (int i = 1; i < COMMANDS; i++)
        if (strcmp(first, strchr(commands[i].name, ' ') + 1) == 0) {
            *words = 1;
            return &commands[i];
        }
    return &commands[0];
}

int main(int argc, char **argv)
{
    cli_settings settings;
    int words;
    occupy_streams();
    cli_outlive_limits();
    if (check_stack())
        return CLI_FAILED;
    tr_heap_prepare(8 << 20); /* bytes that a tokenizer of some ten thousand pieces takes */
    const cli_command *command = find_command(argc > 1 ? argv[1] : "", &words);
    if (!command) {
        cli_fail("%s: not in this version (for the word itself: translate -- %s)", argv[1], argv[1]);
        return CLI_USAGE;
    }
    int status = cli_parse(command, argv + 1 + words, argc > 1 ? argc - 1 - words : 0, &settings);
    if (!status && settings.help)
        cli_help(command);
    else if (!status && settings.version)
        printf("translate %s\n", tr_version());
    else if (!status)
        status = command->run(&settings);
    cli_settings_free(&settings);
    return close_stdout(status);
}
