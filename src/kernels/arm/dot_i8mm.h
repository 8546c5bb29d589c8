/* int8 products for CPUs with smmla: one row or two are read with sdot, line by line, more go through tiles_i8mm.h. */
#include "kernels/arm/dot_dotprod.h"

#define I8_OWN_TILES "kernels/arm/tiles_i8mm.h"
