#include "kernels/kernels.h"
#include "kernels/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* What the operating system saves of the registers: bits 1, 2: SSE and AVX; 5, 6, 7: AVX-512. */
static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_avx2(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (~c & (bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)))
        return false;
    return (saved_registers() & 0x6) == 0x6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && !(~b & (bit_AVX2 | bit_BMI2));
}

static bool has_avx512(void)
{
    unsigned a, b, c, d;
    const unsigned needed = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    return has_avx2() && (saved_registers() & 0xe6) == 0xe6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && !(~b & needed);
}
#endif

const tr_kernels *const *tr_kernels_available(int *count)
{
    /* Each level has all that the one before it has. */
    static const tr_kernels *const levels[] = {
        &tr_kernels_portable,
#if defined(__x86_64__)
        &tr_kernels_avx2,
        &tr_kernels_avx512,
#endif
    };
    int n = 1;
#if defined(__x86_64__)
    n += has_avx2();
    n += has_avx512();
#endif
    *count = n;
    return levels;
}

tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error)
{
    if (!name || !*name)
        name = getenv("TRANSLATE_CPU");
    int count;
    const tr_kernels *const *levels = tr_kernels_available(&count);
    *kernels = levels[count - 1];
    if (!name || !*name)
        return TR_OK;
    char list[128] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(levels[i]->level, name) == 0) {
            *kernels = levels[i];
            return TR_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", levels[i]->level);
    }
    *kernels = NULL;
    return tr_fail(error, TR_ERROR_ARGUMENT, "CPU level '%s': not available here; available:%s", name, list);
}
