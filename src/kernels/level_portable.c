#include "kernels/levels.h"
#include "kernels/part_portable.h"

#define TR_DOT "kernels/dot_portable.h"
#ifndef TR_LEVEL
#define TR_LEVEL      tr_kernels_portable
#define TR_LEVEL_NAME "portable"
#if defined(__FP_FAST_FMAF)
#define TR_LEVEL_FUSED true
#else
#define TR_LEVEL_FUSED false
#endif
#endif
#include "kernels/level_tmpl.h"
