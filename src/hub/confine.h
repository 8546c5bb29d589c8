/* What a download needs of the system, and no more. */
#ifndef TR_HUB_CONFINE_H
#define TR_HUB_CONFINE_H

/* From now on this process writes in the folder alone, and reads only there and what it takes to find servers and to check
 * their certificates. above: a folder below which it may remove empty folders, or NULL. To be called before the first
 * connection, as threads inherit it (see util/sandbox.h). */
void tr_hub_confine(const char *folder, const char *above);

#endif
