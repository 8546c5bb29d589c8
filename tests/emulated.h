/* Whether a test runs in an emulator (tools/emulate.sh), where it does less. */
#ifndef TR_TESTS_EMULATED_H
#define TR_TESTS_EMULATED_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_emulated(void)
{
#ifdef TR_EMULATED
    return true;
#else
    return getenv("TR_EMULATED") != NULL;
#endif
}

#endif
