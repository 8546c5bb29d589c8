/* --completion: scripts that complete the command in a shell, made from the option table. */
#include "cli/cli.h"
#include "cli/option_table.h"

#include <stdio.h>
#include <string.h>

/* What a value may be besides the option's words. */
typedef enum value_files { NO_FILES, ANY_FILES, FOLDERS } value_files;

static value_files files_of(const cli_option *o)
{
    const char *value = o->value ? o->value : "";
    return strcmp(value, "DIR") == 0                                      ? FOLDERS
           : strcmp(value, "FILE") == 0 || strncmp(value, "PATH", 4) == 0 ? ANY_FILES
                                                                          : NO_FILES;
}

/* Whether the arguments that are no options are files. */
static bool takes_files(const cli_command *command)
{
    return command->bit & (CMD_CONVERT | CMD_INFO | CMD_SHORTLIST);
}

static bool has_option(const cli_command *command, const cli_option *o)
{
    return o->commands & command->bit;
}

static void print_words(const cli_option *o)
{
    for (const cli_choice *c = o->choices; c && c->word; c++)
        printf("%s%s", c == o->choices ? "" : " ", c->word);
}

static void print_command_words(const char *between)
{
    for (int i = 1; i < cli_command_count; i++)
        printf("%s%s", i > 1 ? between : "", cli_command_word(&cli_commands[i]));
}

/* The help up to its first semicolon, for text in single quotes. quote: how the shell writes one there. */
static void print_brief(const char *help, const char *quote)
{
    for (size_t i = 0, size = strcspn(help, ";"); i < size; i++)
        if (help[i] == '\'')
            fputs(quote, stdout);
        else
            putchar(help[i]);
}

/* --------------------------------------------------------------------------------------------------------------- bash */

static void print_bash_value(const cli_option *o)
{
    const value_files files = files_of(o);
    printf("        ");
    if (o->letter)
        printf("-%c | ", o->letter);
    printf("--%s) value=yes", o->name);
    if (o->choices) {
        printf(" words='");
        print_words(o);
        putchar('\'');
    }
    if (files != NO_FILES)
        printf(" files=%s", files == FOLDERS ? "-d" : "-f");
    puts(" ;;");
}

static void print_bash_command(const cli_command *command)
{
    printf("    %s)\n        options='", cli_command_word(command));
    for (int i = 0; i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        if (has_option(command, o) && o->letter)
            printf("-%c ", o->letter);
        if (has_option(command, o) && *o->name)
            printf("--%s ", o->name);
    }
    puts("'\n        case $prev in");
    for (int i = 0; i < cli_option_count; i++)
        if (has_option(command, &cli_options[i]) && cli_option_takes_value(&cli_options[i]))
            print_bash_value(&cli_options[i]);
    printf("        *) files=%s ;;\n        esac\n        ;;\n", takes_files(command) ? "-f" : "");
}

static void print_bash(void)
{
    puts("# Completion of translate for bash, as 'translate --completion bash' prints it.\n"
         "_translate() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local command=translate options= value= words= files=\n"
         "    # The = of --option=value is a word of its own.\n"
         "    if [[ $cur == = ]]; then\n"
         "        cur=\n"
         "    elif [[ $prev == = ]]; then\n"
         "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi");
    printf("    case ${COMP_WORDS[1]} in\n    ");
    print_command_words(" | ");
    puts(") ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]} ;;\n"
         "    esac\n"
         "    case $command in");
    for (int i = 0; i < cli_command_count; i++)
        print_bash_command(&cli_commands[i]);
    puts("    esac\n"
         "    if [[ ! $value && $cur == -* ]]; then\n"
         "        words=$options files=");
    printf("    elif [[ ! $value ]] && ((COMP_CWORD == 1)); then\n        words='");
    print_command_words(" ");
    puts("'\n"
         "    fi\n"
         "    [[ ! $files ]] || compopt -o filenames 2>/dev/null\n"
         "    mapfile -t COMPREPLY < <(\n"
         "        [[ ! $words ]] || compgen -W \"$words\" -- \"$cur\"\n"
         "        [[ ! $files ]] || compgen \"$files\" -- \"$cur\"\n"
         "    )\n"
         "}\n"
         "complete -F _translate translate");
}

/* ---------------------------------------------------------------------------------------------------------------- zsh */

static const char zsh_quote[] = "'\\''";

/* What _arguments completes a value with. */
static void print_zsh_value(const cli_option *o)
{
    const char *const files = files_of(o) == FOLDERS ? "_files -/" : files_of(o) == ANY_FILES ? "_files" : "";
    char name[CLI_VALUE_NAME];
    printf(":");
    for (const char *c = cli_option_value_name(o, name); *c; c++)
        printf("%s%c", *c == ':' ? "\\" : "", *c);
    if (o->choices && *files) {
        printf(":{compadd ");
        print_words(o);
        printf("; %s}", files);
    } else if (o->choices) {
        printf(":(");
        print_words(o);
        putchar(')');
    } else {
        printf(":%s", *files ? files : " ");
    }
}

static void print_zsh_option(const cli_option *o)
{
    const bool value = cli_option_takes_value(o), both = o->letter && *o->name;
    printf("            ");
    if (o->kind == KIND_LIST)
        printf("'*'");
    else if (both)
        printf("'(-%c --%s)'", o->letter, o->name);
    if (both)
        printf("{-%c%s,--%s%s}", o->letter, value ? "+" : "", o->name, value ? "=" : "");
    else if (o->letter)
        printf("-%c%s", o->letter, value ? "+" : "");
    else
        printf("--%s%s", o->name, value ? "=" : "");
    printf("'[");
    print_brief(o->help, zsh_quote);
    putchar(']');
    if (value)
        print_zsh_value(o);
    puts("' \\");
}

static void print_zsh(void)
{
    puts("#compdef translate\n"
         "# Completion of translate for zsh, as 'translate --completion zsh' prints it.\n"
         "_translate() {\n"
         "    local command=translate\n"
         "    local -a commands=(");
    for (int i = 1; i < cli_command_count; i++) {
        printf("        '%s:", cli_command_word(&cli_commands[i]));
        print_brief(cli_commands[i].summary, zsh_quote);
        puts("'");
    }
    puts("    )\n"
         "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
         "        _describe -t commands command commands\n"
         "        return\n"
         "    fi\n"
         "    if ((CURRENT > 2 && ${commands[(I)$words[2]:*]})); then\n"
         "        command=$words[2]\n"
         "        shift words\n"
         "        ((CURRENT--))\n"
         "    fi\n"
         "    case $command in");
    for (int i = 0; i < cli_command_count; i++) {
        printf("    %s)\n        _arguments -s -S : \\\n", cli_command_word(&cli_commands[i]));
        for (int k = 0; k < cli_option_count; k++)
            if (has_option(&cli_commands[i], &cli_options[k]))
                print_zsh_option(&cli_options[k]);
        printf("            '*:%s'\n        ;;\n", takes_files(&cli_commands[i]) ? "file:_files" : "text: ");
    }
    /* The first call, by compinit's autoload, defines the function and runs it; a sourced file tells the shell its name. */
    puts("    esac\n"
         "}\n"
         "if [[ $funcstack[1] == _translate ]]; then\n"
         "    _translate \"$@\"\n"
         "else\n"
         "    compdef _translate translate\n"
         "fi");
}

/* --------------------------------------------------------------------------------------------------------------- fish */

static void print_fish_at(unsigned bits)
{
    printf("complete -c translate -n '__translate_at");
    for (int i = 0; i < cli_command_count; i++)
        if (bits & cli_commands[i].bit)
            printf(" %s", cli_command_word(&cli_commands[i]));
    putchar('\'');
}

static void print_fish_option(const cli_option *o)
{
    const value_files files = files_of(o);
    print_fish_at(o->commands);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (*o->name)
        printf(" -l %s", o->name);
    if (cli_option_takes_value(o))
        fputs(files == ANY_FILES ? " -r -F" : " -x", stdout);
    if (files == FOLDERS)
        printf(" -a '(__fish_complete_directories)'");
    if (o->choices) {
        printf(" -a '");
        print_words(o);
        putchar('\'');
    }
    printf(" -d '");
    print_brief(o->help, "\\'");
    puts("'");
}

static void print_fish(void)
{
    unsigned with_files = 0;
    puts("# Completion of translate for fish, as 'translate --completion fish' prints it.\n"
         "function __translate_at\n"
         "    set -l words (commandline -opc)\n"
         "    set -l command translate");
    printf("    if set -q words[2]; and contains -- $words[2] ");
    print_command_words(" ");
    puts("\n        set command $words[2]\n"
         "    end\n"
         "    contains -- $command $argv\n"
         "end\n"
         "complete -c translate -f");
    for (int i = 1; i < cli_command_count; i++) {
        printf("complete -c translate -n 'test (count (commandline -opc)) -eq 1' -a %s -d '",
               cli_command_word(&cli_commands[i]));
        print_brief(cli_commands[i].summary, "\\'");
        puts("'");
        with_files |= takes_files(&cli_commands[i]) ? cli_commands[i].bit : 0;
    }
    for (int i = 0; i < cli_option_count; i++)
        print_fish_option(&cli_options[i]);
    print_fish_at(with_files);
    puts(" -F");
}

void cli_completion(int shell)
{
    switch ((cli_shell)shell) {
    case CLI_BASH: print_bash(); break;
    case CLI_ZSH: print_zsh(); break;
    case CLI_FISH: print_fish(); break;
    }
}
