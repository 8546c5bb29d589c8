#include "cli/programs.h"

#include "cli/config.h"
#include "util/process.h"

/* Looks beside the tool (in a build folder), in an installation relative to the tool (it may have been moved), and where the
 * build was to be installed. */
int cli_program_find(char path[TR_PATH], const char *name, const char *what)
{
    char folder[TR_PATH], installed[TR_PATH];
    const bool known = tr_program_folder(folder, sizeof folder);
    if (known && tr_path_join(path, folder, name, NULL) == TR_OK && tr_file_runs(path))
        return CLI_DONE;
    if (known && tr_path_join(installed, folder, "../libexec/translate", NULL) == TR_OK &&
        tr_path_join(path, installed, name, NULL) == TR_OK && tr_file_runs(path))
        return CLI_DONE;
    if (tr_path_join(path, TR_LIBEXEC, name, NULL) == TR_OK && tr_file_runs(path))
        return CLI_DONE;
    return cli_fail("%s: %s is neither beside this program nor in " TR_LIBEXEC, what, name);
}
