/* What was probably meant: misspelt commands, files given as text, models that are not there. */
#define _GNU_SOURCE
#include "cli/suggest.h"

#include "document/module.h"
#include "cli/config.h"

#include "cli/model.h"
#include "hub/cache.h"
#include "model/config.h"
#include "tokenizer/language_codes.h"
#include "util/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------------- commands */

/* Words that are no commands, and what to type instead. */
static const struct {
    const char *word, *instead;
} strangers[] = {
    {"help", "translate -h"},          {"version", "translate -V"},           {"translate", "translate TEXT"},
#if TR_IMPORT
    {"list", "translate pull --list"}, {"models", "translate pull --list"},   {"download", "translate pull"},
    {"install", "translate pull"},     {"remove", "translate pull --remove"},
#else
    {"list", "translate info"},      {"models", "translate info"},
#endif
    {"languages", "translate info"},   {"benchmark", "translate bench"},      {"align", "translate score --alignment"},
};

/* Whether a word can be part of a sentence in Latin letters: not a file, a number, an option's value or Chinese. */
static bool is_plain_word(const char *word)
{
    const size_t size = strlen(word), letters = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'");
    return size && (letters == size || (letters && letters + 1 == size && strchr(".,;:!?", word[letters])));
}

/* Two edits in a long word, one in others. In a short one that is no other letter: "into", "store" and "full" are words. */
static bool is_near(const char *word, size_t size, const char *command)
{
    const int distance = cli_distance(word, size, command);
    bool same = size == strlen(command);
    for (const char *c = word; *c && same; c++)
        same = strchr(command, *c) != NULL;
    return distance <= (size > 6 ? 2 : size > 5 || same || size != strlen(command));
}

/* Finds what to type instead of the word. False: it is near to nothing. */
static bool find_meant(const char *word, const char **instead)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (strcasecmp(word, strangers[i].word) == 0) {
            *instead = strangers[i].instead;
            return true;
        }
    for (int i = 1; size > 2 && i < cli_command_count; i++)
        if (is_near(word, size, cli_command_word(&cli_commands[i]))) {
            *instead = cli_commands[i].name;
            return true;
        }
    *instead = "translate TEXT";
    return size > 2 && is_near(word, size, "translate");
}

int cli_check_command(char *const words[], int count)
{
    const char *first = count ? words[0] : "";
    for (const char *c = first; *c; c++)
        if (!isascii((unsigned char)*c) || !isalpha((unsigned char)*c))
            return CLI_DONE;
    if (strcmp(first, "help") == 0 && count == 2)
        for (int i = 1; i < cli_command_count; i++)
            if (strcmp(words[1], cli_command_word(&cli_commands[i])) == 0) {
                cli_fail("help: no such command, type %s -h", cli_commands[i].name);
                return CLI_USAGE;
            }
    const char *instead;
    int plain = 0; /* more plain words than others are a sentence */
    for (int i = 1; i < count; i++)
        plain += words[i][0] == '-' ? 0 : is_plain_word(words[i]) ? 1 : -1;
    if (plain > 0 || !find_meant(first, &instead))
        return CLI_DONE;
    cli_fail("%s: no such command, did you mean '%s'? (for the word itself: translate -- %s)", first, instead, first);
    return CLI_USAGE;
}

/* ----------------------------------------------------------------------------------------------------- files as text */

/* Whether text is the name of a file rather than a word that happens to be one, as a file named in Chinese may be. */
static bool names_file(const char *text)
{
    struct stat st;
    bool ascii = true, dotted = false;
    for (const char *c = text; *c; c++) {
        ascii = ascii && isascii((unsigned char)*c);
        dotted = dotted || *c == '.' || *c == '/';
    }
    return (ascii || dotted) && stat(text, &st) == 0 && S_ISREG(st.st_mode);
}

static void refuse_file(const cli_settings *s, const char *file)
{
    const char *name = s->command->name, *document = tr_document_find_format(file);
    if (tr_ends_with(file, ".gguf"))
        cli_fail("%s: is a file; a model is given with -m: %s -m %s TEXT", file, name, file);
    else if (s->command->bit == CMD_ATTENTION || s->command->bit == CMD_SCORE)
        cli_fail("%s: is a file, where a sentence should be (for the word itself: %s -- %s)", file, name, file);
    else if (s->command->bit == CMD_TRANSLATE && document && strcmp(document, "text") != 0)
        cli_fail("%s: is a file; it is translated with: %s -i %s -o FILE (for the word itself: %s -- %s)", file, name, file,
                 name, file);
    else
        cli_fail("%s: is a file; its lines are read with: %s -i %s (for the word itself: %s -- %s)", file, name, file, name,
                 file);
}

int cli_check_text(const cli_settings *s)
{
    const bool takes_text = s->command->bit & (CMD_TRANSLATE | CMD_TOKENIZE | CMD_SCORE | CMD_ATTENTION);
    const bool runs = !s->help && !s->short_help && !s->version && !s->completion;
    const char *name = s->command->name, *first = s->argument_count ? s->arguments[0] : "";
    const char *second = s->argument_count > 1 ? s->arguments[1] : "";
    int files = 0;
    const bool one_word = s->command->bit == CMD_TRANSLATE && runs && s->argument_count == 1 && !s->literal;
    for (int i = 1; one_word && i < cli_command_count; i++)
        if (strcmp(first, cli_command_word(&cli_commands[i])) == 0)
            return cli_usage(s, "%s: a command comes first: %s [OPTIONS] (for the word itself: -- %s)", first,
                             cli_commands[i].name, first);
    for (int i = 0; takes_text && runs && !s->literal && i < s->argument_count; i++)
        files += names_file(s->arguments[i]);
    if (!files || files < s->argument_count || s->output_dir)
        return CLI_DONE;
    if (s->input && strcmp(s->input, "-") != 0 && s->command->bit == CMD_TRANSLATE)
        cli_fail("%s: is another file beside -i %s; several are translated with: %s -O DIR %s %s", first, s->input, name,
                 s->input, first);
    else if (s->input && strcmp(s->input, "-") != 0)
        cli_fail("%s: is another file beside -i %s; several are read with: cat %s %s | %s", first, s->input, s->input, first,
                 name);
    else if (files == 1)
        refuse_file(s, first);
    else if (s->command->bit == CMD_SCORE)
        cli_fail("%s, %s: are files; their lines are scored with: paste %s %s | %s", first, second, first, second, name);
    else if (s->command->bit == CMD_TRANSLATE)
        cli_fail("%s, %s: are files; they are translated with: %s -O DIR %s %s%s", first, second, name, first, second,
                 files > 2 ? " ..." : "");
    else
        cli_fail("%s, %s: are files; their lines are read with: cat %s %s%s | %s", first, second, first, second,
                 files > 2 ? " ..." : "", name);
    return CLI_USAGE;
}

/* ------------------------------------------------------------------------------------------------------------- models */

/* A list of names for a message, which has room for some. */
typedef struct names {
    char text[512];
    size_t size;
    int count;
} names;

static void add_name(names *list, const char *before, const char *name)
{
    enum { MOST = 3 };
    if (list->count >= MOST)
        return;
    const int size =
        snprintf(list->text + list->size, sizeof list->text - list->size, "%s%s%s", list->count ? ", " : "", before, name);
    if (size < 0 || (size_t)size >= sizeof list->text - list->size) {
        list->text[list->size] = 0;
        return;
    }
    list->size += (size_t)size;
    list->count++;
}

static void add_cached(void *context, const tr_hub_entry *entry)
{
    if (entry->whole)
        add_name(context, "hf:", entry->name.label);
}

static bool is_model_name(const char *name)
{
    static const char *const endings[] = {".gguf", ".npz", ".bin", ".argosmodel"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (tr_ends_with(name, endings[i]))
            return true;
    return false;
}

/* Lists models in the folder of the file that is not there: the one with the nearest name, else some. */
static void look_around(const char *missing, names *list)
{
    char folder[TR_PATH], nearest[256] = "";
    const char *slash = strrchr(missing, '/');
    const char *name = slash ? slash + 1 : missing;
    const int prefix = slash ? (int)(slash + 1 - missing) : 0;
    int best = 2 + (int)strlen(name) / 5; /* edits that are too many */
    names some = {.size = 0};
    const struct dirent *entry;
    if (snprintf(folder, sizeof folder, "%.*s", prefix ? prefix : 1, prefix ? missing : ".") >= TR_PATH)
        return;
    DIR *d = opendir(folder);
    while (d && (entry = readdir(d))) {
        const int distance = cli_distance(name, strlen(name), entry->d_name);
        if (*entry->d_name == '.' || strlen(entry->d_name) >= sizeof nearest)
            continue;
        const bool folder_or_link = entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
        if (distance < best && (folder_or_link || is_model_name(entry->d_name))) {
            best = distance;
            strcpy(nearest, entry->d_name);
        }
        if (is_model_name(entry->d_name))
            add_name(&some, prefix ? folder : "", entry->d_name);
    }
    if (d)
        closedir(d);
    if (*nearest)
        add_name(list, prefix ? folder : "", nearest);
    else
        *list = some;
}

int cli_fail_no_model(const char *name)
{
    names around = {.size = 0}, cached = {.size = 0};
    tr_hub_name repository;
    const char *slash = strchr(name, '/');
    if (TR_IMPORT && slash && !strchr(slash + 1, '/') && name[0] != '.' && !is_model_name(name) &&
        tr_hub_parse(name, &repository, NULL) == TR_OK)
        return cli_fail("%s: No such file or directory; from Hugging Face: hf:%s, or translate pull %s", name, name, name);
    look_around(name, &around);
    if (!TR_IMPORT && !around.count)
        return cli_fail("%s: No such file or directory", name);
    if (!TR_IMPORT || tr_hub_cache_list(add_cached, &cached, NULL) != TR_OK)
        cached.count = 0;
    return cli_fail("%s: No such file or directory; %s%s%s%s%s", name, around.count ? "there is " : "", around.text,
                    around.count && cached.count ? "; " : "",
                    cached.count                     ? "the cache has "
                    : !around.count && !cached.count ? "translate pull OWNER/NAME downloads a model"
                                                     : "",
                    cached.count ? cached.text : "");
}

/* Codes of countries and names that people write for a language. */
static const char *meant_language(const char *wanted)
{
    static const char *const pairs[][2] = {{"cn", "zh"},       {"chinese", "zh"}, {"mandarin", "zh"}, {"jp", "ja"},
                                           {"japanese", "ja"}, {"kr", "ko"},      {"korean", "ko"},   {"ua", "uk"},
                                           {"gr", "el"},       {"cz", "cs"},      {"dk", "da"},       {"english", "en"},
                                           {"german", "de"},   {"french", "fr"},  {"spanish", "es"},  {"russian", "ru"},
                                           {"gb", "en"},       {"us", "en"},      {"italian", "it"},  {"portuguese", "pt"}};
    for (size_t i = 0; wanted && i < sizeof pairs / sizeof *pairs; i++)
        if (strcasecmp(wanted, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

int cli_fail_languages(const cli_settings *settings, const tr_model_info *model, const char *message)
{
    const char *wanted[2] = {settings->source, settings->target}, *has[2] = {model->source_language, model->target_language};
    char codes[2][4];
    bool known = true;
    for (int i = 0; i < 2; i++)
        if (meant_language(wanted[i]))
            return cli_usage(settings, "%s; %s is no code of a language, did you mean %s?", message, wanted[i],
                             meant_language(wanted[i]));
    for (int i = 0; i < 2; i++) {
        /* The other language of a pair that is wanted the other way around; else the model's. */
        const bool reverse = !wanted[i] && tr_language_match(wanted[!i] ? wanted[!i] : "", has[i]);
        known = tr_language_base(wanted[i] ? wanted[i] : has[reverse ? !i : i], codes[i]) && known;
    }
    if (!TR_IMPORT || !known || strcmp(codes[0], codes[1]) == 0)
        return cli_usage(settings, "%s", message);
    cli_fail("%s; another model may do: translate pull Helsinki-NLP/opus-mt-%s-%s, or --models DIR", message, codes[0],
             codes[1]);
    return CLI_USAGE;
}
