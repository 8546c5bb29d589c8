#include "kernels/levels.h"
#include "kernels/part_portable.h"

#ifndef TR_LEVEL
#define TR_LEVEL tr_kernels_portable
#define TR_LEVEL_NAME "portable"
#define TR_LEVEL_FUSED false
#endif
#include "kernels/level_tmpl.h"
