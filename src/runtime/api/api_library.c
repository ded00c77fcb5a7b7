/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_library.c - the part of ctsc.h about the library as a whole: versions, threads, memory, log.
 *
 * Tests: tests/unit/test_library.c
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/qengine.h"
#include "base/threads/background.h"
#include "base/threads/float_mode.h"
#include "base/threads/thread_pool.h"
#include "codegen/cache/cache.h"
#include "runtime/api/api.h"
#include "runtime/kernels/engine/kernel_settings.h"

#include <stdio.h>

const char *ctsc_version(void) { return CTSC_VERSION_STRING; }

bool ctsc_compatible(const char *version, int abi) {
    int wanted[3], have[3];
    if (abi != CTSC_ABI_VERSION || !version ||
        sscanf(version, "%d.%d.%d", &wanted[0], &wanted[1], &wanted[2]) != 3)
        return false;
    sscanf(CTSC_VERSION_STRING, "%d.%d.%d", &have[0], &have[1], &have[2]);
    for (int i = 0; i < 3; i++)
        if (have[i] != wanted[i]) return have[i] > wanted[i];
    return true;
}

void ctsc_set_threads(int n) { pool_set_threads(n); }

bool ctsc_set_flush_denormals(bool on) { return float_mode_set_flush(on); }

void ctsc_set_winograd(bool on) { atomic_store(&kernel_no_winograd, !on); }

void ctsc_set_tuning(bool on) { atomic_store(&kernel_tunes, on); }

void ctsc_set_packing(bool on) { atomic_store(&kernel_no_packing, !on); }

void ctsc_set_compiling(ctsc_compiling c) { codegen_set_in_calls(c == CTSC_COMPILE_IN_CALLS); }

bool ctsc_wait_for_kernels(uint64_t timeout_us) {
    return background_wait(NULL, timeout_us && timeout_us < UINT64_MAX / 2000
                                     ? clock_now() + timeout_us * 1000
                                     : UINT64_MAX);
}

ctsc_status ctsc_set_quantized_engine(const char *name, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    qengine engine;
    switch (name ? qengine_find(name, &engine) : QENGINE_UNKNOWN) {
    case QENGINE_KNOWN: qengine_set(engine); return api_leave(e, &own, CTSC_OK);
    case QENGINE_UNSUPPORTED:
        return api_leave(
            e, &own, diag_fail(d, CTSC_UNSUPPORTED, "quantized engine %s is not supported", name));
    default:
        return api_leave(e, &own,
                         diag_fail(d, CTSC_USAGE, "%s is not a valid value for quantized engine",
                                   name ? name : "NULL"));
    }
}

void ctsc_set_allocator(ctsc_resize_fn resize, void *ctx) { mem_set_hook(resize, ctx); }

void ctsc_set_log(ctsc_log_level least, ctsc_log_fn fn, void *ctx) { log_set(least, fn, ctx); }
