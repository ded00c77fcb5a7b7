/* SPDX-License-Identifier: Apache-2.0 */
/* qengine.c - the process's choice of an engine for quantised layers (qengine.h). */
#include "base/qengine.h"

#include <stdatomic.h>
#include <string.h>

const char *const qengine_names[QENGINE_COUNT] = {"x86", "fbgemm", "qnnpack"};
static const char *const qengine_others[] = {"onednn", "none"};

#if defined(__x86_64__)
static _Atomic int qengine_now = QENGINE_X86;
#else
static _Atomic int qengine_now = QENGINE_QNNPACK;
#endif

qengine qengine_get(void) {
    return (qengine)atomic_load_explicit(&qengine_now, memory_order_relaxed);
}

void qengine_set(qengine e) { atomic_store_explicit(&qengine_now, (int)e, memory_order_relaxed); }

qengine_answer qengine_find(const char *name, qengine *out) {
    for (int i = 0; i < QENGINE_COUNT; i++)
        if (!strcmp(name, qengine_names[i])) return *out = (qengine)i, QENGINE_KNOWN;
    for (size_t i = 0; i < sizeof qengine_others / sizeof *qengine_others; i++)
        if (!strcmp(name, qengine_others[i])) return QENGINE_UNSUPPORTED;
    return QENGINE_UNKNOWN;
}
