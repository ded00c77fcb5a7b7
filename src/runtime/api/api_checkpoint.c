/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_checkpoint.c - the part of ctsc_compiler.h about gradient checkpointing.
 * Tests: tests/unit/test_checkpoint.c
 */
#include "ctsc_compiler.h"
#include "runtime/api/api.h"
#include "runtime/autograd/grad_checkpoint.h"

ctsc_status ctsc_module_set_checkpoints(ctsc_module *m, int64_t segments, uint64_t max_bytes,
                                        ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK && segments < 0)
        s = diag_fail(d, CTSC_USAGE, "there are no %lld segments", (long long)segments);
    if (s != CTSC_OK) return api_leave(e, &own, s);
    checkpoints *c = segments == 1 ? NULL : mem_zalloc(sizeof *c);
    if (segments != 1 && !c) return api_leave(e, &own, diag_no_memory(d));
    if (c) *c = (checkpoints){.segments = segments, .max_bytes = segments ? 0 : max_bytes};
    mem_free(m->m->checkpoints);
    m->m->checkpoints = c;
    return api_leave(e, &own, CTSC_OK);
}

void ctsc_module_checkpoints(const ctsc_module *m, ctsc_checkpoints *out) {
    const checkpoints *c = m->m->checkpoints;
    ctsc_checkpoints is = {.size = sizeof is};
    if (c)
        is = (ctsc_checkpoints){.size = sizeof is,
                                .segments = c->chosen,
                                .bytes = c->peak,
                                .bytes_without = c->peak_without,
                                .refused = c->why[0] ? c->why : NULL};
    memcpy(out, &is, out->size < sizeof is ? out->size : sizeof is);
}
