#include "kernels/levels.h"
#include "kernels/arm/part_neon.h"

#define TR_DOT         "kernels/arm/dot_dotprod.h" /* for one row or two */
#define TR_TILES       "kernels/arm/tiles_i8mm.h"
#define TR_LEVEL       tr_kernels_i8mm
#define TR_LEVEL_NAME  "i8mm"
#define TR_LEVEL_FUSED true
#include "kernels/level_tmpl.h"
