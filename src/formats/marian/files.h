/* The files of a Marian model: found in a directory by their names, or as its options name them. */
#ifndef TR_FORMATS_MARIAN_FILES_H
#define TR_FORMATS_MARIAN_FILES_H

#include "formats/directory.h"
#include "util/folder.h"

/* Zeroed but for d, and for model where that is given. */
typedef struct tr_marian_files {
    tr_directory d;                                                    /* the directory that holds the model */
    tr_folder_names names;                                             /* what is in it; to be freed in any case */
    char model[TR_PATH], vocabularies[2][TR_PATH], shortlist[TR_PATH]; /* names in it; "" while unknown */
    double length_factor;                                              /* of the options; 0: they have none */
} tr_marian_files;

/* Lists what is there, reads the options, and finds the model. */
tr_status tr_marian_find_model(tr_marian_files *files) TR_CHECKED;
/* Behind it. Without a shortlist its name stays "". */
tr_status tr_marian_find_vocabularies(tr_marian_files *files) TR_CHECKED;
tr_status tr_marian_find_shortlist(tr_marian_files *files) TR_CHECKED;

/* The PAIR of model.PAIR.intgemm.alphas.bin; "" if the name has none. */
void tr_marian_pair(const char *model, char pair[32]);

#endif
