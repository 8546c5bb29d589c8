/* The tables of all levels. A build has only those of its processor family: see dispatch.c. */
#ifndef TR_KERNELS_LEVELS_H
#define TR_KERNELS_LEVELS_H

#include "kernels/kernels.h"

extern const tr_kernels tr_kernels_portable;
extern const tr_kernels tr_kernels_avx2;
extern const tr_kernels tr_kernels_avxvnni;
extern const tr_kernels tr_kernels_avx512;
extern const tr_kernels tr_kernels_avx512vnni;
extern const tr_kernels tr_kernels_avx512bf16;
extern const tr_kernels tr_kernels_amx;
extern const tr_kernels tr_kernels_neon;
extern const tr_kernels tr_kernels_dotprod;
extern const tr_kernels tr_kernels_i8mm;

#endif
