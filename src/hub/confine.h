/* What a download needs of the system, and no more. */
#ifndef TR_HUB_CONFINE_H
#define TR_HUB_CONFINE_H

/* From now on this process writes in the folder alone, and reads there and what names of servers and certificates take; above:
 * a folder below which empty folders may be removed, or NULL (see util/sandbox.h). Before the first connection: libcurl's
 * threads are to inherit it. */
void tr_hub_confine(const char *folder, const char *above);

#endif
