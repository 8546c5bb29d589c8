/* Removes the folder that a test made, with all that is in it. Links are not followed. */
#ifndef TR_TESTS_SCRATCH_H
#define TR_TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static inline int remove_tree(const char *folder)
{
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
