#define _GNU_SOURCE
#include "serve/confine.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "document/module.h"
#include "serve/models.h"
#include "util/folder.h"
#include "util/sandbox.h"

/* The libraries of the documents' module and of the C library, and what tells of processors and memory. */
static const char *const system_places[] = {"/etc/ld.so.cache", "/usr",          "/lib",
                                            "/lib64",           "/nix/store",    "/gnu/store",
                                            "/proc/self",       "/proc/meminfo", "/sys/devices/system/cpu",
                                            "/sys/fs/cgroup",   "/dev/null",     "/dev/urandom"};

typedef struct places {
    char **paths; /* [count], then NULL */
    size_t count;
    bool good; /* false: out of memory */
} places;

static void add_place(places *p, const char *path)
{
    char **larger = realloc(p->paths, (p->count + 2) * sizeof *larger);
    if (larger) {
        p->paths = larger;
        larger[p->count] = strdup(path);
        larger[p->count + 1] = NULL;
    }
    p->good = p->good && larger && larger[p->count];
    p->count += larger && larger[p->count];
}

/* What links in a folder, and in the folders that it has, lead to. */
static void add_links(places *p, const char *folder, int depth)
{
    tr_folder_names names;
    char path[TR_PATH];
    struct stat about;
    const bool listed = tr_folder_list(folder, &names, NULL) == TR_OK;
    for (size_t i = 0; listed && i < names.count; i++) {
        if (tr_path_join(path, folder, names.names[i], NULL) != TR_OK || lstat(path, &about) < 0)
            continue;
        if (S_ISLNK(about.st_mode))
            add_place(p, path);
        if (depth > 1 && tr_is_directory(path))
            add_links(p, path, depth - 1);
    }
    tr_folder_names_free(&names);
}

static void add_with_links(places *p, const char *path, int depth)
{
    add_place(p, path);
    add_links(p, path, depth);
}

/* The folder of a path, in buffer; NULL: none was given, or it is too long. */
static const char *folder_of(const char *path, char buffer[TR_PATH])
{
    return path && snprintf(buffer, TR_PATH, "%s", path) < TR_PATH ? dirname(buffer) : NULL;
}

/* With its folder, so that what replaces it can be read. */
static void add_with_folder(places *p, const char *path)
{
    char buffer[TR_PATH];
    const char *const folder = folder_of(path, buffer);
    add_place(p, path);
    if (folder)
        add_place(p, folder);
}

static tr_status add_all(places *p, const cli_settings *settings, tr_error *error)
{
    char path[TR_PATH];
    for (size_t i = 0; i < sizeof system_places / sizeof *system_places; i++)
        add_place(p, system_places[i]);
    if (tr_document_find_module(path))
        add_place(p, path);
    if (settings->api_keys)
        add_with_folder(p, settings->api_keys);
    if (settings->glossaries)
        add_with_links(p, settings->glossaries, 1);
    if (settings->model) {
        add_with_folder(p, settings->model);
        add_links(p, settings->model, 1);
    }
    tr_status status = settings->model ? TR_OK : models_folder(settings, path, error);
    if (status == TR_OK && !settings->model)
        add_with_links(p, path, 2);
    if (status == TR_OK && !p->good)
        status = tr_fail_memory(error, "sandbox");
    return status;
}

tr_status serve_confine(const cli_settings *settings, tr_error *error)
{
    places p = {.good = true};
    char socket_folder[TR_PATH], log_folder[TR_PATH];
    const bool log = settings->access_log && strcmp(settings->access_log, "-") != 0;
    tr_status status = add_all(&p, settings, error);
    if (status == TR_OK) {
        const tr_sandbox_paths paths = {.readable = (const char *const *)p.paths,
                                        .removes_in = folder_of(settings->unix_socket, socket_folder),
                                        .adds_to = folder_of(log ? settings->access_log : NULL, log_folder)};
        status = tr_sandbox_serve(&paths, error);
    }
    for (size_t i = 0; i < p.count; i++)
        free(p.paths[i]);
    free(p.paths);
    return status;
}
