/* Paths: joining them, what is at one, and where this program is. */
#ifndef TR_UTIL_PATH_H
#define TR_UTIL_PATH_H

#include "util/error.h"

enum { TR_PATH = 4096 }; /* maximum bytes of a path on Linux, with its NUL */

/* Writes FOLDER/NAME. TR_ERROR_IO if that is too long. path and folder must not overlap. */
tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error);

/* What is at a path, after following links. */
typedef enum tr_path_kind { TR_PATH_NOTHING, TR_PATH_FILE, TR_PATH_DIRECTORY, TR_PATH_OTHER } tr_path_kind;
/* Sets *kind. Fails if that is not known: a folder above it may not be searched, links form a circle, or the disk fails. */
tr_status tr_path_look(const char *path, tr_path_kind *kind, tr_error *error) TR_CHECKED;

/* Whether there is a file at path that this user may execute. */
bool tr_file_runs(const char *path);
/* Writes the folder that contains the running program, without a slash at the end. Returns false if the system does not
 * know. */
bool tr_program_folder(char *folder, size_t size);

#endif
