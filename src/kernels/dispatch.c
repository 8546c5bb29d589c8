#include "kernels/kernels.h"
#include "kernels/levels.h"

#include "util/amx.h"

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

static bool has_avxvnni(void)
{
    enum { AVX_VNNI = 1 << 4 }; /* of leaf 7.1, eax */
    unsigned a, b, c, d;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI);
}

static bool has_avx512(void)
{
    unsigned a, b, c, d;
    const unsigned needed = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    return has_avx2() && (saved_registers() & 0xe6) == 0xe6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && !(~b & needed);
}

static bool has_avx512vnni(void)
{
    unsigned a, b, c, d;
    return has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_AVX512VNNI);
}

static bool has_avx512bf16(void)
{
    enum { AVX512_BF16 = 1 << 5 }; /* of leaf 7.1, eax */
    unsigned a, b, c, d;
    return has_avx512vnni() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16);
}

static bool has_amx(void)
{
    enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, SAVED = 3 << 17 };
    unsigned a, b, c, d;
    return has_avx512vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && !(~d & (AMX_TILE | AMX_INT8)) &&
           (saved_registers() & SAVED) == SAVED && tr_request_amx();
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

/* Bits of Linux's AT_HWCAP and AT_HWCAP2 (Documentation/arm64/elf_hwcaps.rst). */
static bool has_dotprod(void)
{
    const unsigned long asimddp = 1ul << 20;
    return getauxval(AT_HWCAP) & asimddp;
}

static bool has_i8mm(void)
{
    const unsigned long i8mm = 1ul << 13;
    return has_dotprod() && (getauxval(AT_HWCAP2) & i8mm);
}
#endif

static bool always(void)
{
    return true;
}

int tr_kernels_available(const tr_kernels *levels[TR_LEVELS])
{
    static const struct {
        const tr_kernels *level;
        bool (*available)(void);
    } all[] = {
        {&tr_kernels_portable, always},
#if defined(__x86_64__)
        {&tr_kernels_avx2, has_avx2},
        {&tr_kernels_avxvnni, has_avxvnni},
        {&tr_kernels_avx512, has_avx512},
        {&tr_kernels_avx512vnni, has_avx512vnni},
        {&tr_kernels_avx512bf16, has_avx512bf16},
        {&tr_kernels_amx, has_amx},
#elif defined(__aarch64__)
        {&tr_kernels_neon, always},
        {&tr_kernels_dotprod, has_dotprod},
        {&tr_kernels_i8mm, has_i8mm},
#endif
    };
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].available())
            levels[count++] = all[i].level;
    return count;
}

tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error)
{
    if (!name || !*name)
        name = getenv("TRANSLATE_CPU");
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
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
