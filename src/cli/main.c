/* translate: the command. This file picks the subcommand. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/signals.h"
#include "util/arena.h"

#include <translate/translate.h>

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
     "\nCommands (the first word; 'translate COMMAND --help' tells more):\n"
     "  attention  show what the network looks at, as a page\n"
     "  bench      measure the speed of a model on this machine\n"
     "  convert    turn a published model into one GGUF file\n"
     "  info       show what a model file holds, and verify it\n"
     "  pull       download a model from Hugging Face\n"
     "  score      how likely the model finds a translation; word alignments\n"
     "  shortlist  learn from a text which words a source allows, to translate faster\n"
     "  tokenize   show the tokens of a text\n",
     "Exit status: 0 done, 1 failed, 2 wrong usage. Environment: TRANSLATE_MODEL, the\n"
     "default model; TRANSLATE_MODELS, a folder of models; TRANSLATE_CPU, the kernels\n"
     "to use (portable, avx2, avx512, ...).\n"},
    {"translate bench", CMD_BENCH, cli_bench, 0, 0, "translate bench [OPTIONS]",
     "Measures how fast a model translates on this machine. Text is cut into tokens\n"
     "first; what is timed is the network, from token numbers to token numbers: the\n"
     "median of --rounds passes over all lines, after one that does not count.\n",
     "Examples / 示例:\n"
     "  translate bench                                    the default model\n"
     "  translate bench -i zh.txt --batch-size 1 -T 1      your own lines\n"
     "  translate bench --fixed-length 30 --json           to compare engines\n"},
    {"translate attention", CMD_ATTENTION, cli_attention, 1, -1, "translate attention [OPTIONS] TEXT... -o FILE",
     "Translates TEXT, one sentence, and shows what the network looks at meanwhile: the\n"
     "attention of every layer and head, within the source, within the translation and\n"
     "from the translation to the source. FILE is a page for the browser (.html), a\n"
     "picture for print (.svg) or arrays for numpy (.npz), as its ending says.\n",
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
     "Shows what the model FILE (or directory) holds: its shape, languages, tokenizer,\n"
     "special tokens, weights and checksum; or, of a folder of models, what is there\n"
     "for which languages.\n",
     "Example / 示例:\n"
     "  translate info --verify zh-en.gguf\n"},
    {"translate tokenize", CMD_TOKENIZE, cli_tokenize, 0, -1, "translate tokenize [OPTIONS] [TEXT...]",
     "Shows the tokens that the model sees in TEXT, or in each line of standard input,\n"
     "separated by spaces, without the end mark that is added later.\n",
     "Examples / 示例:\n"
     "  translate tokenize \"今天天气很好\"\n"
     "  translate tokenize --ids < zh.txt\n"
     "  translate tokenize --decode \"▁Hello ▁world\"\n"},
    {"translate score", CMD_SCORE, cli_score, 0, 2,
     "translate score [OPTIONS] SOURCE TARGET\n       translate score [OPTIONS] [-i FILE]",
     "Tells how likely the model finds TARGET as a translation of SOURCE: the natural\n"
     "logarithm of its probability; or so of each line of a file, a source, a TAB and a\n"
     "target. A pair is scored whole, not sentence by sentence.\n",
     "Examples / 示例:\n"
     "  translate score \"今天天气很好。\" \"The weather is nice today.\"\n"
     "  translate score -i pairs.tsv > scores.txt          one number a line / 每行一个分数\n"
     "  translate score --alignment \"你好\" \"Hello\"         with word alignment / 词对齐\n"
     "  translate score --json -i pairs.tsv                token by token / 逐词概率\n"},
    {"translate pull", CMD_PULL, cli_pull, 0, 1, "translate pull [OPTIONS] OWNER/NAME[@REVISION]",
     "Downloads a model from Hugging Face, only the files that are needed, into the\n"
     "cache, where -m hf:OWNER/NAME finds it; or with -o into a folder. -m hf:...\n"
     "downloads by itself what is not there. Files that are there already are compared\n"
     "and only those that changed are downloaded; an interrupted download continues.\n"
     "REVISION is a branch, tag or commit; default main.\n",
     "Examples / 示例:\n"
     "  translate pull Helsinki-NLP/opus-mt-zh-en      download / 下载模型\n"
     "  translate -m hf:Helsinki-NLP/opus-mt-zh-en \"你好\"\n"
     "  translate pull Helsinki-NLP/opus-mt-zh-en -o opus-mt-zh-en\n"
     "  translate pull --list                          what is there / 查看已有模型\n"
     "  translate pull --remove Helsinki-NLP/opus-mt-zh-en\n"
     "\nEnvironment: HF_TOKEN, for models that are gated or private; HF_ENDPOINT,\n"
     "another server, such as a mirror; HTTPS_PROXY; TRANSLATE_CACHE, the cache\n"
     "(default ~/.cache/translate).\n"},
    {"translate shortlist", CMD_SHORTLIST, cli_shortlist, 2, 2,
     "translate shortlist [OPTIONS] SOURCE.txt TARGET.txt -o FILE.bin",
     "Learns from a parallel text, line by line in two files, which target tokens the\n"
     "tokens of a source allow, by an alignment model in both directions, and writes\n"
     "them as a lexical shortlist in Marian's binary form: with --shortlist FILE.bin\n"
     "only these are computed, which is faster. Line i of both files belongs together.\n",
     "Example / 示例:\n"
     "  translate shortlist zh.txt en.txt -m zh-en.gguf -o lex.bin\n"
     "  translate -m zh-en.gguf --shortlist lex.bin < in.txt\n"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Words that are kept for later versions. */
static const char *const reserved[] = {"serve"};

/* --------------------------------------------------------------------------------------------------------------- main */

/* A closed standard stream must not become the number of a file that is opened later: reading and writing these fails. */
static void occupy_streams(void)
{
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* The deepest JSON that jansson accepts takes 190 kB of stack; decoding takes 90 kB in each thread, whose stack is as large
 * as the limit. The rest is a margin. */
static int check_stack(void)
{
    enum { NEEDED = 512 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED * 1024)
        return CLI_DONE;
    const uint64_t kilobytes = (uint64_t)limit.rlim_cur / 1024;
    return cli_fail("the stack limit is %" PRIu64 " kB, translate needs %d kB: ulimit -s %d", kilobytes, NEEDED, NEEDED);
}

static int run(const cli_command *command, char **arguments, int count)
{
    cli_settings settings;
    int status = cli_parse(command, arguments, count, &settings);
    if (!status && settings.help)
        cli_help(command);
    else if (!status && settings.version)
        printf("translate %s\n", tr_version());
    else if (!status)
        status = command->run(&settings);
    cli_settings_free(&settings);
    return status;
}

static int close_stdout(int status)
{
    const bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == CLI_DONE)
        return errno == EPIPE ? CLI_FAILED : cli_fail("standard output: cannot write: %s", strerror(errno));
    return status;
}

int main(int argc, char **argv)
{
    occupy_streams();
    cli_outlive_limits();
    if (check_stack())
        return CLI_FAILED;
    tr_heap_prepare(8 << 20); /* what a tokenizer of some ten thousand pieces takes */
    const char *first = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(first, reserved[i]) == 0) {
            cli_fail("%s: not in this version (for the word itself: translate -- %s)", first, first);
            return CLI_USAGE;
        }
    for (int i = 1; i < COMMANDS; i++)
        if (strcmp(first, strchr(commands[i].name, ' ') + 1) == 0)
            return close_stdout(run(&commands[i], argv + 2, argc - 2));
    return close_stdout(run(&commands[0], argv + 1, argc > 1 ? argc - 1 : 0));
}
