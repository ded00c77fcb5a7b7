/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - elements, blame and counters of the simulated libraries (library.h). */
#include "library.h"

#include "codegen/cuda/nest_convert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t sim_type_size(sim_type t) { return t == SIM_F64 ? 8 : t == SIM_F32 ? 4 : 2; }

double sim_load(sim_type t, const void *p, int64_t i) {
    switch (t) {
    case SIM_F32: return (double)((const float *)p)[i];
    case SIM_F64: return ((const double *)p)[i];
    case SIM_F16: return (double)nest_load_f16(((const uint16_t *)p)[i]);
    default: return (double)nest_load_bf16(((const uint16_t *)p)[i]);
    }
}

void sim_store(sim_type t, void *p, int64_t i, double v) {
    switch (t) {
    case SIM_F32: ((float *)p)[i] = (float)v; break;
    case SIM_F64: ((double *)p)[i] = v; break;
    case SIM_F16: ((uint16_t *)p)[i] = nest_store_f16((float)v); break;
    default: ((uint16_t *)p)[i] = nest_store_bf16((float)v); break;
    }
}

_Noreturn void sim_wrong(const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sim_say("%s", text);
    abort();
}

bool sim_refuses(void) { return sim_setting("CTSC_SIM_REFUSE", 0) != 0; }

/* Callers of the libraries hold a lock of their own; tests count from one thread. */
enum { LIBRARY_COUNTERS = 32 };
static struct { const char *what; long long n; } library_counters[LIBRARY_COUNTERS];

void sim_count(const char *what) {
    int i = 0;
    while (i < LIBRARY_COUNTERS - 1 && library_counters[i].what &&
           strcmp(library_counters[i].what, what))
        i++;
    library_counters[i].what = what;
    library_counters[i].n++;
}

SIM_API long long sim_counted(const char *what) {
    for (int i = 0; i < LIBRARY_COUNTERS && library_counters[i].what; i++)
        if (!strcmp(library_counters[i].what, what)) return library_counters[i].n;
    return 0;
}

void sim_use(const char *what, const void *p, size_t nbytes, size_t alignment) {
    if ((uintptr_t)p % alignment)
        sim_wrong("%s: %p is not aligned to %zu bytes", what, p, alignment);
    if (!sim_arena_has((CUdeviceptr)(uintptr_t)p, nbytes))
        sim_wrong("%s: %zu bytes at %p are not in an allocation of the device", what, nbytes, p);
    if (nbytes) sim_arena_touch(p, nbytes);
}
