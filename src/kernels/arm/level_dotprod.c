#include "kernels/levels.h"
#include "kernels/arm/part_neon.h"

#define TR_DOT         "kernels/arm/dot_dotprod.h"
#define TR_LEVEL       tr_kernels_dotprod
#define TR_LEVEL_NAME  "dotprod"
#define TR_LEVEL_FUSED true
#include "kernels/level_tmpl.h"
