/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused_fallback.c - a fusion group without a kernel: its operators, in smaller groups where
 * pass_split_group finds some, else one by one.
 *
 * Tests: tests/ir/split-group/, tests/corpus at every level
 */
#include "runtime/exec/fused_internal.h"

#include "base/log.h"
#include "passes/passes.h"

void fused_make_split(fused *f) {
    diag d = {0};
    code *split = NULL;
    if (f->tried_split || f->has_loop) return;
    f->tried_split = true;
    if ((f->parts = graph_clone(f->g)) && pass_split_group(&(pass_ctx){.diag = &d}, f->parts) &&
        !arena_failed(&f->parts->arena) &&
        code_new(&d, f->fallback->name, f->parts, &split) == CTSC_OK)
        atomic_store_explicit(&f->split, split, memory_order_release);
    diag_clear(&d);
}

void fused_give_up(fused *f, int key_at, diag *d) {
    log_event(CTSC_LOG_WARNING, "%s: no kernel for these arguments, its operators are called: %s",
              f->fallback->name, diag_message(d));
    fused_make_split(f);
    atomic_store_explicit(&f->keys[key_at].negative, true, memory_order_relaxed);
}

const code *fused_operators(const code_group *g) {
    const fused *f = (const fused *)g;
    code *split = atomic_load_explicit(&f->split, memory_order_acquire);
    return split ? split : f->fallback;
}

ctsc_status fused_interpret(fused *f, interp *in, const value *args, value *results) {
    value own[FUSED_MAX_VALUES], out = value_none();
    for (int i = 0; i < f->group.nparams; i++) own[i] = value_ref(args[i]);
    code *split = atomic_load_explicit(&f->split, memory_order_acquire);
    TRY(interp_run(in, split ? split : f->fallback, f->group.nparams, own, &out));
    if (f->group.nresults == 1) {
        results[0] = out;
        return CTSC_OK;
    }
    for (int i = 0; i < f->group.nresults; i++) results[i] = value_ref(out.u.tuple->items[i]);
    value_unref(out);
    return CTSC_OK;
}

bool fused_profile_run(code_group *g, interp *in, value *args) {
    fused *f = (fused *)g;
    value results[FUSED_MAX_VALUES];
    diag own = {0};
    for (int i = 0; i < f->group.nresults; i++) results[i] = value_none();
    if (f->has_loop) return false;
    diag *outer = diag_redirect(&in->d, &own);
    ctsc_status s = fused_interpret(f, in, args, results);
    diag_restore(&in->d, outer);
    if (s == CTSC_OK) fused_drop(f, results);
    diag_clear(&own);
    return s == CTSC_OK;
}
