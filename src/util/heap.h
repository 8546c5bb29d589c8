/* The C library's heap, for programs (not for the library: these settings belong to a whole process). */
#ifndef TR_UTIL_HEAP_H
#define TR_UTIL_HEAP_H

#include <stddef.h>

/* Makes the heap start with this many bytes in huge pages where the system has them, and keep what it has: a program that
 * builds tables of some megabytes and ends soon saves thousands of page faults. Call it first thing in main(). */
void tr_heap_prepare(size_t bytes);

#endif
