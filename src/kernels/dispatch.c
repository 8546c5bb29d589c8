#define _GNU_SOURCE
#include "kernels/dispatch.h"
#include "kernels/compiled_levels.h"
#include "kernels/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A level that the compiler has no flags for is left out. */
#define NOT_ALWAYS_USED __attribute__((unused))

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* CPU features, read once: in a virtual machine each cpuid takes microseconds. */
typedef struct tr_cpu {
    unsigned c1;              /* leaf 1: ecx */
    unsigned b7, c7, d7, a71; /* leaf 7.0: ebx, ecx, edx; leaf 7.1: eax */
    unsigned saved;           /* registers that the system saves: bits 1, 2: SSE and AVX; 5, 6, 7: AVX-512; 17, 18: AMX */
} tr_cpu;

static tr_cpu read_cpu(void)
{
    unsigned a, b, c, d;
    tr_cpu cpu = {0};
    const unsigned leaves = __get_cpuid_max(0, NULL);
    if (leaves < 7)
        return cpu;
    __cpuid(1, a, b, cpu.c1, d);
    if (cpu.c1 & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(cpu.saved), "=d"(d) : "c"(0));
    __cpuid_count(7, 0, a, cpu.b7, cpu.c7, cpu.d7);
    if (a >= 1)
        __cpuid_count(7, 1, cpu.a71, b, c, d);
    return cpu;
}

NOT_ALWAYS_USED static bool has_avx2(const tr_cpu *cpu)
{
    return !(~cpu->c1 & (bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) && (cpu->saved & 0x6) == 0x6 &&
           !(~cpu->b7 & (bit_AVX2 | bit_BMI2));
}

NOT_ALWAYS_USED static bool has_avxvnni(const tr_cpu *cpu)
{
    enum { AVX_VNNI = 1 << 4 }; /* of leaf 7.1, eax */
    return has_avx2(cpu) && (cpu->a71 & AVX_VNNI);
}

NOT_ALWAYS_USED static bool has_avx512(const tr_cpu *cpu)
{
    const unsigned needed = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    return has_avx2(cpu) && (cpu->saved & 0xe6) == 0xe6 && !(~cpu->b7 & needed);
}

NOT_ALWAYS_USED static bool has_avx512vnni(const tr_cpu *cpu)
{
    return has_avx512(cpu) && (cpu->c7 & bit_AVX512VNNI);
}

NOT_ALWAYS_USED static bool has_avx512bf16(const tr_cpu *cpu)
{
    enum { AVX512_BF16 = 1 << 5 }; /* of leaf 7.1, eax */
    return has_avx512vnni(cpu) && (cpu->a71 & AVX512_BF16);
}

/* Asks Linux for the AMX tile registers, for all threads of the process. Calling it again costs little. */
static bool request_amx(void)
{
#if defined(__linux__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* arch/x86/include/uapi/asm/prctl.h */
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

NOT_ALWAYS_USED static bool has_amx(const tr_cpu *cpu)
{
    enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, SAVED = 3 << 17 };
    return has_avx512vnni(cpu) && !(~cpu->d7 & (AMX_TILE | AMX_INT8)) && (cpu->saved & SAVED) == SAVED && request_amx();
}
#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#endif

/* Bits of Linux's AT_HWCAP and AT_HWCAP2 (Documentation/arm64/elf_hwcaps.rst). */
typedef struct tr_cpu {
    unsigned long first, second;
} tr_cpu;

static tr_cpu read_cpu(void)
{
#if defined(__linux__)
    return (tr_cpu){getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
#else
    return (tr_cpu){0, 0};
#endif
}

/* Every 64-bit ARM CPU has it. */
NOT_ALWAYS_USED static bool has_neon(const tr_cpu *cpu)
{
    (void)cpu;
    return true;
}

NOT_ALWAYS_USED static bool has_dotprod(const tr_cpu *cpu)
{
    const unsigned long asimddp = 1ul << 20;
    return cpu->first & asimddp;
}

NOT_ALWAYS_USED static bool has_i8mm(const tr_cpu *cpu)
{
    const unsigned long i8mm = 1ul << 13;
    return has_dotprod(cpu) && (cpu->second & i8mm);
}
#else
typedef struct tr_cpu {
    char nothing;
} tr_cpu;

static tr_cpu read_cpu(void)
{
    return (tr_cpu){0};
}
#endif

NOT_ALWAYS_USED static bool has_portable(const tr_cpu *cpu)
{
    (void)cpu;
    return true;
}

int tr_kernels_available(const tr_kernels *levels[TR_LEVELS])
{
#define LEVEL(name) {&tr_kernels_##name, has_##name},
    static const struct {
        const tr_kernels *level;
        bool (*available)(const tr_cpu *cpu);
    } all[] = {TR_COMPILED_LEVELS}; /* the best one last */
    const tr_cpu cpu = read_cpu();
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].available(&cpu))
            levels[count++] = all[i].level;
    return count;
}

tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error)
{
    if (!name || !*name)
        name = getenv("TRANSLATE_CPU");
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    *kernels = count ? levels[count - 1] : NULL;
    if (!count)
        return tr_fail(
            error, TR_ERROR_UNSUPPORTED,
            "CPU: this build has kernels of another machine alone; remove its folder and build again, or use -Dlevels=all");
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
