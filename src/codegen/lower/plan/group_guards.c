/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_guards.c - whether arguments fit a plan, and the numbers that follow from them: at every
 * call of a group, so unlike the rest of this folder compiled for speed.
 *
 * Slots refer to earlier slots only, so one pass computes them. Arithmetic wraps: sizes that fit a
 * tensor never do.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/plan/group_plan.h"

static inline int64_t plan_compute(const group_slot *s, const value *args, const int64_t *slots) {
    switch (s->kind) {
    case SLOT_SIZE: return args[s->a].u.tensor->sizes[s->b];
    case SLOT_STRIDE: return args[s->a].u.tensor->strides[s->b];
    case SLOT_NUMEL: return args[s->a].u.tensor->numel;
    case SLOT_INT: return args[s->a].tag == V_BOOL ? args[s->a].u.b : args[s->a].u.i;
    case SLOT_CONST: return s->k;
    case SLOT_ADD: return (int64_t)((uint64_t)slots[s->a] + (uint64_t)slots[s->b]);
    case SLOT_SUB: return (int64_t)((uint64_t)slots[s->a] - (uint64_t)slots[s->b]);
    case SLOT_MUL: return (int64_t)((uint64_t)slots[s->a] * (uint64_t)slots[s->b]);
    case SLOT_MIN: return slots[s->a] < slots[s->b] ? slots[s->a] : slots[s->b];
    case SLOT_MAX: return slots[s->a] > slots[s->b] ? slots[s->a] : slots[s->b];
    case SLOT_DIV: {
        int64_t x = slots[s->a], y = slots[s->b];
        if (y == 0 || (y == -1 && x == INT64_MIN)) return 0;
        return x / y - (x % y != 0 && (x < 0) != (y < 0));
    }
    }
    return 0;
}

int64_t plan_slot_value(const group_plan *p, int slot, const value *args, const int64_t *slots) {
    return plan_compute(&p->slots.data[slot], args, slots);
}

static inline bool plan_argument_fits(const group_argument *g, const value *v) {
    if (v->tag != g->tag) return false;
    if (g->tag == V_TENSOR) {
        const tensor *t = v->u.tensor;
        if (t->dtype != g->dt || t->ndim != g->ndim) return false;
        return !g->contiguous || tensor_is_contiguous(t);
    }
    return !g->specialised || (g->tag == V_BOOL ? v->u.b : v->u.i) == g->known;
}

/* Nobody else may see what the kernel writes while it runs, and it must be writable. */
static bool plan_writes_alone(const group_plan *p, const value *args, size_t written) {
    const storage *s = args[written].u.tensor->storage;
    if (s->read_only) return false;
    for (size_t i = 0; i < p->arguments.len; i++)
        if (i != written && args[i].tag == V_TENSOR && args[i].u.tensor->storage->data == s->data &&
            s->nbytes)
            return false;
    return !tensor_may_overlap(args[written].u.tensor);
}

static inline bool plan_guard_holds(const group_guard *r, const int64_t *slots) {
    switch (r->kind) {
    case SLOTS_EQUAL: return slots[r->a] == slots[r->b];
    case SLOTS_ASCEND: return slots[r->a] < slots[r->b];
    case SLOT_IS: return slots[r->a] == r->k;
    case SLOT_POSITIVE: return slots[r->a] > 0;
    case SLOT_SMALL: return slots[r->a] > -((int64_t)1 << 30) && slots[r->a] < (int64_t)1 << 30;
    }
    return false;
}

bool plan_guards_hold(const group_plan *p, const value *args, int64_t *slots) {
    for (size_t i = 0; i < p->arguments.len; i++) {
        const group_argument *g = &p->arguments.data[i];
        if (!plan_argument_fits(g, &args[i]) || (g->written && !plan_writes_alone(p, args, i)))
            return false;
    }
    const group_slot *s = p->slots.data;
    /* most are */
    for (size_t i = 0, n = p->slots.len; i < n; i++)
        slots[i] = s[i].kind == SLOT_CONST ? s[i].k : plan_compute(&s[i], args, slots);
    for (size_t i = 0; i < p->guards.len; i++)
        if (!plan_guard_holds(&p->guards.data[i], slots)) return false;
    return true;
}

void plan_output_layout(const group_output *o, const int64_t *slots, int64_t *sizes,
                        int64_t *strides) {
    int64_t step = 1;
    for (int i = o->ndim - 1; i >= 0; i--) {
        int d = o->permuted ? o->order[i] : i;
        sizes[d] = slots[o->sizes[i]];
        strides[d] = step;
        if (sizes[d]) step *= sizes[d];
    }
}
