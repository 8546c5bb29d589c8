/* Loading the module of formats, only when a document comes: its libraries take time that nothing else should wait for. */
#define _GNU_SOURCE
#include "document/module.h"

#include <dlfcn.h>
#include <string.h>

/* In a program that has the formats linked in, such as a static one, there is nothing to load. */
extern const tr_document_module tr_document_functions __attribute__((weak));

#define MODULE "translate-document.so"
static const char module_name[] = MODULE; /* its address is in the library, or in the program that is linked with it */

/* FOLDER/MODULE, or FOLDER/MORE/MODULE. */
static bool find_in(char path[TR_PATH], const char *folder, const char *more)
{
    char inner[TR_PATH];
    if (*more && tr_path_join(inner, folder, more, NULL) != TR_OK)
        return false;
    return tr_path_join(path, *more ? inner : folder, module_name, NULL) == TR_OK && tr_file_is_trusted(path);
}

/* Looks where the library is, where the build was to be installed, and for the program's folder: in it (a build folder), or
 * in an installation that has been moved. What others could have put there is not taken. */
bool tr_document_find_module(char path[TR_PATH])
{
    char folder[TR_PATH];
    Dl_info here;
    const bool known = dladdr(module_name, &here) && here.dli_fname[0] == '/' && strlen(here.dli_fname) < sizeof folder;
    if (known) {
        strcpy(folder, here.dli_fname);
        *strrchr(folder, '/') = 0;
    }
    if (known && find_in(path, folder, "translate"))
        return true;
    if (tr_program_folder(folder, sizeof folder) &&
        (find_in(path, folder, "") || find_in(path, folder, "../" TR_LIBRARY_FOLDER "/translate")))
        return true;
    return find_in(path, TR_MODULES, "");
}

tr_status tr_document_load(const tr_document_module **module, void **handle, tr_error *error)
{
    char path[TR_PATH];
    *handle = NULL;
    *module = &tr_document_functions;
    if (*module)
        return TR_OK;
    if (!tr_document_find_module(path))
        return tr_fail(error, TR_ERROR_UNSUPPORTED,
                       "documents: " MODULE " is neither beside the program nor in " TR_MODULES "; was it built?");
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: cannot be loaded: %s", path, dlerror());
    *module = dlsym(*handle, TR_DOCUMENT_MODULE);
    if (*module && strcmp((*module)->version, TR_BUILD) == 0 && (*module)->layout == TR_DOCUMENT_LAYOUT)
        return TR_OK;
    tr_document_unload(*handle);
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: belongs to another version of translate", path);
}

void tr_document_unload(void *handle)
{
    if (handle)
        dlclose(handle);
}
