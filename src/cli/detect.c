#include "cli/detect.h"

#include "cli/config.h"
#include "cli/programs.h"
#include "util/buffer.h"
#include "util/process.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM "translate-detect"

/* answer: "CODE TAB sure", "CODE TAB guess", or "". */
static int parse_answer(const cli_settings *settings, char *answer, char *code, size_t room)
{
    char *tab = strchr(answer, '\t');
    if (!*answer)
        return cli_fail("-s auto: there is too little text to detect its language; name it with -s LANG");
    if (!tab || (size_t)(tab - answer) >= room)
        return cli_fail("-s auto: " PROGRAM " gave an invalid answer");
    *tab = 0;
    memcpy(code, answer, (size_t)(tab - answer) + 1);
    if (strcmp(tab + 1, "sure\n") != 0)
        cli_warn(settings, "-s auto: the language is probably %s; if not, name it with -s LANG", code);
    else if (settings->verbose)
        cli_note("-s auto: the language is %s", code);
    return CLI_DONE;
}

static int run_detector(const cli_settings *settings, char *const arguments[], const char *text, size_t size, char *code,
                        size_t room)
{
    char path[TR_PATH];
    tr_buffer answer = {0};
    tr_error error;
    int status = cli_program_find(path, PROGRAM, "-s auto");
    if (!status && tr_process_ask(path, arguments, text, size, &answer, &status, &error))
        status = cli_fail_error(&error);
    if (!status)
        status = parse_answer(settings, answer.data ? answer.data : (char[]){0}, code, room);
    tr_buffer_free(&answer);
    return status;
}

int cli_detect(const cli_settings *settings, const char *text, size_t size, const tr_languages *codes, char *code,
               size_t room)
{
    static char program[] = PROGRAM;
    if (*TR_DETECT_MISSING)
        return cli_fail("-s auto: this build cannot detect languages: " TR_DETECT_MISSING "; name it with -s LANG");
    char **arguments = calloc(codes->count + 2, sizeof *arguments);
    if (!arguments)
        return cli_fail_memory();
    arguments[0] = program;
    for (size_t i = 0; i < codes->count; i++)
        arguments[i + 1] = codes->items[i].code;
    const int status = run_detector(settings, arguments, text ? text : "", size, code, room);
    free(arguments);
    return status;
}
