/* --help, and -h on one screen. */
#include "cli/cli.h"
#include "cli/option_table.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 79 };

const char *cli_command_word(const cli_command *command)
{
    const char *space = strchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Wraps text[0..size) between HELP_COLUMN and HELP_WIDTH. */
static void print_wrapped(const char *text, size_t size, int column)
{
    const char *end = text + size;
    while (text < end) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        const int length = (int)((space ? space : end) - text);
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length + (space != NULL);
    }
    putchar('\n');
}

static void print_option(const cli_option *o, bool all)
{
    char left[HELP_WIDTH + 1], words[CLI_VALUE_NAME];
    const char letter[] = {'-', o->letter, *o->name ? ',' : 0, ' ', 0};
    const bool value = cli_option_takes_value(o);
    const int size = snprintf(left, sizeof left, "  %s%s%s%s%s", o->letter ? letter : "    ", *o->name ? "--" : "", o->name,
                              value ? " " : "", value ? cli_option_value_name(o, words) : "");
    fputs(left, stdout);
    if (size + 2 > HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - size, "");
    print_wrapped(o->help, all ? strlen(o->help) : strcspn(o->help, ";"), HELP_COLUMN);
}

/* The list in columns of equal height. */
static void print_commands(int columns)
{
    const int rows = (cli_command_count - 1 + columns - 1) / columns;
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            const int i = 1 + column * rows + row;
            const bool last = column + 1 == columns || i + rows >= cli_command_count;
            if (i < cli_command_count)
                printf("  %-10s %-*s%s", cli_command_word(&cli_commands[i]), last ? 0 : 26, cli_commands[i].summary,
                       last ? "\n" : "");
        }
}

static void print_options(const cli_command *command, cli_option_group group, const char *title, bool all)
{
    for (int i = 0; i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        if (!(o->commands & command->bit) || o->group != group || !(all || (o->commands & CLI_COMMON)))
            continue;
        if (title)
            printf("\n%s:\n", title);
        title = NULL;
        print_option(o, all);
    }
}

static void print_all(const cli_command *command)
{
    printf("Usage: %s\n\n%s", command->usage, command->about);
    if (command->examples)
        printf("\nExamples / 示例:\n%s", command->examples);
    if (command->bit == CMD_TRANSLATE) {
        puts("\nCommands (the first word; see 'translate COMMAND -h'):");
        print_commands(1);
    }
    for (cli_option_group group = 0; group <= GROUP_GENERAL; group++)
        print_options(command, group, cli_option_group_titles[group], true);
    if (command->notes)
        printf("\n%s", command->notes);
}

/* At most 25 lines. Translate itself explains itself by examples. */
static void print_screen(const cli_command *command)
{
    const bool main = command->bit == CMD_TRANSLATE;
    printf("Usage: %.*s\n", (int)strcspn(command->usage, "\n"), command->usage);
    if (!main)
        printf("\n%s", command->about);
    printf("\nExamples / 示例:\n%s\nOptions / 选项:\n", command->examples);
    for (cli_option_group group = 0; group <= GROUP_GENERAL; group++)
        print_options(command, group, NULL, false);
    if (main) {
        puts("\nCommands / 命令 (translate COMMAND -h):");
        print_commands(2);
    }
    printf("%sAll options / 全部选项: %s --help; man translate\n", main ? "" : "\n", command->name);
}

void cli_help(const cli_command *command, bool all)
{
    if (all)
        print_all(command);
    else
        print_screen(command);
}
