#include "kernels/levels.h"
#include "kernels/x86/part_avx2.h"

#define TR_DOT         "kernels/x86/dot_avx2.h"
#define TR_NIBBLES     "kernels/x86/nibbles_avx2.h"
#define TR_LEVEL       tr_kernels_avx2
#define TR_LEVEL_NAME  "avx2"
#define TR_LEVEL_FUSED true
#include "kernels/level_tmpl.h"
