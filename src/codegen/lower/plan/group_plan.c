/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_plan.c - plans: building their slots and guards, keeping them, and wording the faults of
 * their kernels. group_guards.c asks whether arguments fit.
 *
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/plan/group_plan.h"

#include "tensor/strides.h"

#include <stdio.h>
#include <string.h>

/* ---- building -------------------------------------------------------------------------------- */

int plan_slot(group_plan *p, arena *a, slot_kind kind, int x, int y, int64_t k) {
    for (size_t i = 0; i < p->slots.len; i++) {
        const group_slot *s = &p->slots.data[i];
        if (s->kind == kind && s->a == x && s->b == y && s->k == k) return (int)i;
    }
    if (!avec_push(a, &p->slots, ((group_slot){kind, x, y, k}))) return 0;
    return (int)p->slots.len - 1;
}
int plan_size(group_plan *p, arena *a, int argument, int dim) {
    return plan_slot(p, a, SLOT_SIZE, argument, dim, 0);
}
int plan_stride(group_plan *p, arena *a, int argument, int dim) {
    return plan_slot(p, a, SLOT_STRIDE, argument, dim, 0);
}
int plan_const(group_plan *p, arena *a, int64_t k) { return plan_slot(p, a, SLOT_CONST, 0, 0, k); }

void plan_relate(group_plan *p, arena *a, guard_kind kind, int x, int y, int64_t k) {
    if (kind == SLOTS_EQUAL && x == y) return;
    for (size_t i = 0; i < p->guards.len; i++) {
        const group_guard *r = &p->guards.data[i];
        if (r->kind == kind && r->a == x && r->b == y && r->k == k) return;
    }
    avec_push(a, &p->guards, ((group_guard){kind, x, y, k}));
}

nest_expr *plan_expr(group_plan *p, arena *a, int slot) {
    while (p->exprs.len <= (size_t)slot)
        if (!avec_push(a, &p->exprs, NULL)) return nest_int(p->nest, 0);
    nest_expr **e = &p->exprs.data[slot];
    if (*e) return *e;
    if (p->slots.data[slot].kind == SLOT_CONST)
        return *e = nest_int(p->nest, p->slots.data[slot].k);
    char name[16];
    snprintf(name, sizeof name, "s%d", slot);
    avec_push(a, &p->ints, slot);
    return *e = nest_add_int(p->nest, name);
}

static uint64_t key_mix(uint64_t h, uint64_t x) { /* FNV-1a, by words */
    return (h ^ x) * 0x100000001b3u;
}

/* Whether it is dense, which strides are 0, and how they are ordered. */
static uint64_t key_order(const tensor *t) {
    uint64_t h = tensor_is_dense(t);
    for (int k = 0; k < t->ndim; k++) {
        unsigned below = 0;
        for (int i = 0; i < t->ndim; i++) below += t->strides[i] < t->strides[k];
        h = h * 131 + (t->strides[k] ? below + 1 : 0);
    }
    return h;
}

uint64_t group_key(int n, const value *args) {
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        h = key_mix(h, args[i].tag);
        if (args[i].tag != V_TENSOR) continue;
        const tensor *t = args[i].u.tensor;
        uint64_t ones = 0;
        bool contiguous = tensor_is_contiguous(t);
        for (int k = 0; k < t->ndim; k++) ones = ones << 1 | (t->sizes[k] == 1);
        h = key_mix(key_mix(h, (uint64_t)t->dtype << 8 | t->ndim), ones << 1 | contiguous);
        if (!contiguous) h = key_mix(h, key_order(t));
    }
    return h;
}

/* ---- keeping --------------------------------------------------------------------------------- */

#define PLAN_COPY(a, to, from)                                                                     \
    do {                                                                                           \
        (to).data = arena_alloc(a, ((from).len + 1) * sizeof *(from).data);                        \
        (to).len = (to).cap = (to).data ? (from).len : 0;                                          \
        if ((to).len) memcpy((to).data, (from).data, (from).len * sizeof *(from).data);            \
    } while (0)

group_plan *plan_copy(arena *a, const group_plan *p) {
    group_plan *q = arena_new(a, group_plan);
    *q = *p;
    q->nest = NULL;
    q->exprs.data = NULL;
    q->exprs.len = q->exprs.cap = 0;
    PLAN_COPY(a, q->arguments, p->arguments);
    PLAN_COPY(a, q->slots, p->slots);
    PLAN_COPY(a, q->guards, p->guards);
    PLAN_COPY(a, q->buffers, p->buffers);
    PLAN_COPY(a, q->ints, p->ints);
    PLAN_COPY(a, q->barriers, p->barriers);
    PLAN_COPY(a, q->floats, p->floats);
    PLAN_COPY(a, q->outputs, p->outputs);
    PLAN_COPY(a, q->faults, p->faults);
    for (size_t i = 0; i < q->faults.len; i++) {
        group_fault *f = &q->faults.data[i];
        f->message = f->message ? arena_strdup(a, f->message) : NULL;
        f->exception = f->exception ? arena_strdup(a, f->exception) : NULL;
        int *sizes = f->nsizes ? arena_array(a, int, f->nsizes) : NULL;
        if (sizes) memcpy(sizes, f->sizes, (size_t)f->nsizes * sizeof *sizes);
        else f->nsizes = 0;
        f->sizes = sizes;
    }
    return q;
}

/* ---- faults ---------------------------------------------------------------------------------- */

ctsc_status group_describe_fault(const group_plan *p, const int64_t *slots, int64_t code,
                                 int64_t fault, diag *d) {
    for (size_t i = 0; i < p->faults.len; i++) {
        const group_fault *f = &p->faults.data[i];
        if (f->code != code) continue;
        strbuf text = STRBUF_INIT, sizes = STRBUF_INIT;
        int64_t values[TENSOR_MAX_DIMS];
        for (int k = 0; k < f->nsizes; k++) values[k] = slots[f->sizes[k]];
        tensor_print_sizes(f->nsizes, values, &sizes);
        for (const char *m = f->message; *m; m++) {
            if (!strncmp(m, "%lld", 4)) {
                sb_printf(&text, "%lld", (long long)fault);
                m += 3;
            } else if (!strncmp(m, "%s", 2)) {
                sb_puts(&text, sb_str(&sizes));
                m++;
            } else {
                sb_putc(&text, *m);
            }
        }
        ctsc_status st = diag_fail_at(d, CTSC_FAILED, f->range, "%s", sb_str(&text));
        if (f->exception && !d->exception) d->exception = mem_strdup(f->exception);
        sb_free(&text);
        sb_free(&sizes);
        return st;
    }
    return diag_fail(d, CTSC_INTERNAL, "a kernel failed with an unknown code");
}
