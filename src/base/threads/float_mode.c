/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float_mode.c - the register of float_mode.h: MXCSR on x86-64, FPCR and FPSR on arm64.
 *
 * x86-64 has denormal operands as zeros (DAZ) and denormal results as zeros (FTZ) as two bits, and
 * notes denormal operands (DE; not under DAZ) and rounded denormal results (UE) in two others.
 * arm64 has one bit for both (FZ) in FPCR, and notes denormal results in FPSR (UFC), and denormal
 * operands only where they are flushed (IDC). Both registers are one float_mode, FPSR above.
 *
 * The x87 unit, that is long double, has no such mode. The tiles of AMX and vdpbf16ps flush always.
 * Tests: tests/unit/test_float_mode.c
 */
#include "base/threads/float_mode.h"

atomic_bool float_mode_flushes;

#if defined(__x86_64__)

#include <xmmintrin.h>

#define FLUSH ((float_mode)(1u << 15 | 1u << 6)) /* FTZ, DAZ */
#define NOTED ((float_mode)(1u << 1 | 1u << 4))  /* DE, UE */

static float_mode mode_read(void) { return _mm_getcsr(); }
static void mode_write(float_mode m) { _mm_setcsr((unsigned)m); }

#elif defined(__aarch64__)

#define FLUSH ((float_mode)1 << 24)                       /* FZ */
#define NOTED ((float_mode)1 << 35 | (float_mode)1 << 39) /* UFC, IDC */

static float_mode mode_read(void) {
    uint64_t control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status));
    return (control & UINT32_MAX) | status << 32;
}

static void mode_write(float_mode m) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(m & UINT32_MAX), "r"(m >> 32));
}

#else

#define FLUSH ((float_mode)0)
#define NOTED ((float_mode)0)

static float_mode mode_read(void) { return 0; }
static void mode_write(float_mode m) { (void)m; }

#endif

bool float_mode_can_flush(void) { return FLUSH != 0; }

bool float_mode_set_flush(bool on) {
    if (!float_mode_can_flush()) return false;
    atomic_store_explicit(&float_mode_flushes, on, memory_order_relaxed);
    if (on) float_mode_flush();
    else float_mode_plain();
    return true;
}

float_mode float_mode_get(void) { return mode_read() & ~NOTED; }

float_mode float_mode_use(float_mode m) {
    float_mode before = mode_read();
    mode_write(m);
    return before;
}

void float_mode_restore(float_mode before) { mode_write(before | (mode_read() & NOTED)); }

/* Writing the register takes longer than reading it. */
static float_mode mode_change(float_mode before, float_mode after) {
    if (after == before) return FLOAT_MODE_SAME;
    mode_write(after);
    return before;
}

float_mode float_mode_flush(void) {
    float_mode m = mode_read();
    return mode_change(m, m | FLUSH);
}

float_mode float_mode_plain(void) {
    float_mode m = mode_read();
    return mode_change(m, m & ~FLUSH);
}

bool float_mode_met(void) { return (mode_read() & NOTED) != 0; }

bool float_mode_take(void) {
    float_mode m = mode_read();
    if (!(m & NOTED)) return false;
    mode_write(m & ~NOTED);
    return true;
}

void float_mode_note(void) {
    float_mode m = mode_read();
    mode_change(m, m | NOTED);
}
