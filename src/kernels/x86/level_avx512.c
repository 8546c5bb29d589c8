#include "kernels/levels.h"
#include "kernels/x86/part_avx512.h"

#define TR_DOT         "kernels/x86/dot_avx512.h"
#define TR_LEVEL       tr_kernels_avx512
#define TR_LEVEL_NAME  "avx512"
#define TR_LEVEL_FUSED true
#include "kernels/level_tmpl.h"
