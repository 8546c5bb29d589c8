/* The files of a Marian model, named by the options that it is decoded with, else found by their usual names. */
#ifndef TR_IMPORT_MARIAN_FILES_H
#define TR_IMPORT_MARIAN_FILES_H

#include "import/directory.h"
#include "util/folder.h"

/* Set d, and model if it is given, and zero the rest. */
typedef struct tr_marian_files {
    tr_directory d;        /* the directory that holds the model */
    tr_folder_names names; /* its files; the caller frees them, also on failure */
    char model[TR_PATH], vocabularies[2][TR_PATH], shortlist[TR_PATH]; /* names in it; "" while unknown */
    double length_factor;                                              /* from the options; 0: none */
} tr_marian_files;

/* Lists the directory, reads the options and finds the model. Call it first. */
tr_status tr_marian_find_model(tr_marian_files *files) TR_CHECKED;
tr_status tr_marian_find_vocabularies(tr_marian_files *files) TR_CHECKED;
tr_status tr_marian_find_shortlist(tr_marian_files *files) TR_CHECKED; /* shortlist stays "" if there is none */

/* The PAIR of model.PAIR.intgemm.alphas.bin; "" if the name has none. */
void tr_marian_pair(const char *model, char pair[32]);

#endif
