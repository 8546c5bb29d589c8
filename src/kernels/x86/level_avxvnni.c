#include "kernels/levels.h"
#include "kernels/x86/part_avx2.h"

#define TR_DOT "kernels/x86/dot_avxvnni.h"
#ifndef TR_LEVEL
#define TR_LEVEL      tr_kernels_avxvnni
#define TR_LEVEL_NAME "avxvnni"
#endif
#define TR_LEVEL_FUSED true
#include "kernels/level_tmpl.h"
