/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa.c - asks the processor and the operating system for instruction sets (isa.h).
 *
 * Method. Two words: the detected sets, and those that are allowed. Detection is idempotent, so
 * two threads that detect at the same time store the same. AMX is available once Linux permits
 * its tile registers, which is requested once per process and holds for all of its threads.
 * Tests: tests/unit/test_isa.c
 */
#include "cpu/isa.h"

#include "base/log.h"
#include "base/variables.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

_Static_assert(ISA_COUNT <= 32, "a bit per row");

#if defined(__x86_64__)
#define ARCH_HERE_X86 1
#else
#define ARCH_HERE_X86 0
#endif
#define ARCH_HERE_ANY 1
#if defined(__aarch64__)
#define ARCH_HERE_ARM64 1
#else
#define ARCH_HERE_ARM64 0
#endif

const isa_row isa_table[ISA_COUNT] = {
#define ISA(id, name, arch, needs, lanes, llvm, has)                                               \
    {name, ISA_##needs, lanes, llvm, ARCH_HERE_##arch},
#include "cpu/isa.def"
};

/* What was measured. */
static const struct {
    isa id;
    const char *vendor;
    double rate;
} isa_rates[] = {
#define ISA(id, name, arch, needs, lanes, llvm, has)
#define ISA_RATE(id, vendor, rate) {ISA_##id, vendor, rate},
#include "cpu/isa.def"
};

/* Sets that a library is built without (packaging/without.c). */
extern const uint32_t isa_left_out;
const uint32_t isa_left_out __attribute__((weak)) = 0;
uint32_t isa_allowed_bits, isa_slow_bits;
static uint32_t isa_detected_bits;
static isa isa_limit_row = ISA_COUNT;

/* ---- what there is --------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* Linux enables the tile data (XFEATURE_XTILEDATA) for processes that ask for it. */
static bool isa_amx_permitted(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static const char *isa_vendor(void) {
    return __builtin_cpu_is("intel") ? "intel" : __builtin_cpu_is("amd") ? "amd" : "";
}

static uint32_t isa_detect(void) {
    uint32_t bits = 0;
#define HAS(feature) __builtin_cpu_supports(feature)
#define DETECT_ANY(id, needs, has) bits |= 1u << ISA_##id;
#define DETECT_X86(id, needs, has)                                                                 \
    if (bits >> ISA_##needs & 1 && (has)) bits |= 1u << ISA_##id;
#define DETECT_ARM64(id, needs, has)
#define ISA(id, name, arch, needs, lanes, llvm, has) DETECT_##arch(id, needs, has)
#include "cpu/isa.def"
    return bits;
}

#elif defined(__aarch64__) && defined(__linux__)

static const char *isa_vendor(void) { return ""; }

/* <asm/hwcap.h>, which older headers have in part. */
#ifndef HWCAP_ASIMD
#define HWCAP_ASIMD (1 << 1)
#endif
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#ifndef HWCAP_FPHP
#define HWCAP_FPHP (1 << 9)
#endif
#ifndef HWCAP_ASIMDHP
#define HWCAP_ASIMDHP (1 << 10)
#endif
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1 << 20)
#endif
#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif
#ifndef HWCAP2_SVE2
#define HWCAP2_SVE2 (1 << 1)
#endif
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM (1 << 13)
#endif
#ifndef HWCAP2_BF16
#define HWCAP2_BF16 (1 << 14)
#endif

static uint32_t isa_detect(void) {
    uint32_t bits = 0;
#define HAS(feature) (getauxval(AT_HWCAP) & (feature))
#define HAS2(feature) (getauxval(AT_HWCAP2) & (feature))
#define DETECT_ANY(id, needs, has) bits |= 1u << ISA_##id;
#define DETECT_X86(id, needs, has)
#define DETECT_ARM64(id, needs, has)                                                               \
    if (bits >> ISA_##needs & 1 && (has)) bits |= 1u << ISA_##id;
#define ISA(id, name, arch, needs, lanes, llvm, has) DETECT_##arch(id, needs, has)
#include "cpu/isa.def"
    return bits;
}

#else

static const char *isa_vendor(void) { return ""; }

static uint32_t isa_detect(void) { return 1u << ISA_PLAIN; }

#endif

/* ---- what may be used ------------------------------------------------------------------------ */

/* id and all that it needs; ISA_COUNT: all there is. */
static uint32_t isa_closure(isa id) {
    if (id == ISA_COUNT) return UINT32_MAX;
    uint32_t bits = 1u << id;
    for (; isa_table[id].needs != id; id = isa_table[id].needs) bits |= 1u << isa_table[id].needs;
    return bits;
}

isa isa_find(const char *name) {
    for (int i = 0; i < ISA_COUNT; i++)
        if (isa_table[i].here && !strcmp(name, isa_table[i].name)) return (isa)i;
    return ISA_COUNT;
}

uint32_t isa_detected(void) {
    uint32_t bits = __atomic_load_n(&isa_detected_bits, __ATOMIC_RELAXED);
    if (!bits) {
        bits = isa_detect() & ~isa_left_out;
        __atomic_store_n(&isa_detected_bits, bits, __ATOMIC_RELAXED);
    }
    return bits;
}

double isa_rate(isa id, const char *vendor) {
    for (size_t i = 0; i < sizeof isa_rates / sizeof *isa_rates; i++)
        if (isa_rates[i].id == id && !strcmp(isa_rates[i].vendor, vendor)) return isa_rates[i].rate;
    return 1;
}

static uint32_t isa_slow(void) {
    uint32_t bits = 0;
    for (int i = 0; i < ISA_COUNT; i++) bits |= (uint32_t)(isa_rate((isa)i, isa_vendor()) < 1) << i;
    return bits;
}

void isa_limit(isa id) {
    isa_limit_row = id;
    __atomic_store_n(&isa_slow_bits, isa_slow(), __ATOMIC_RELAXED);
    __atomic_store_n(&isa_allowed_bits, isa_detected() & isa_closure(id), __ATOMIC_RELAXED);
}

uint32_t isa_start(void) {
    const char *name = variable_get(VARIABLE_MAX_ISA);
    isa id = name ? isa_find(name) : ISA_COUNT;
    if (name && id == ISA_COUNT)
        log_event(CTSC_LOG_WARNING, "CTSC_MAX_ISA: there is no instruction set '%s' here", name);
    isa_limit(id);
    return __atomic_load_n(&isa_allowed_bits, __ATOMIC_RELAXED);
}

isa isa_get_limit(void) {
    isa_has((isa)0);
    return isa_limit_row;
}

isa isa_best(void) {
    for (int i = ISA_COUNT - 1; i > 0; i--)
        if (isa_has((isa)i)) return (isa)i;
    return (isa)0;
}
