/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_float8.c - rows whose arguments are floats of eight bits.
 *
 *     %z : float8 = aten::cat([%x, %y], 0)      z = Cast<float8>(Concat(Cast<float32>(x), Cast<float32>(y)))
 *
 * Few operators of ONNX take these types. Others get float32, which is exact; a result of the type
 * is cast back, which is exact where elements are moved, and nothing but that is done in these
 * types (docs/pt2.md).
 */
#include "frontend/onnx/onnx_out_internal.h"

typedef struct wide_value { out_value *x; const char *was, *now; } wide_value;

static bool wide_is_float8(const out_value *x) {
    return x->v[0].tag == V_TENSOR && dtype_is_float8((dtype)x->v[0].u.tensor->dtype);
}

/* An argument of the type is called by its cast meanwhile. */
static bool wide_note(onnx_out *o, out_value *x, wide_value *all, int *n) {
    for (int i = 0; i < *n; i++)
        if (all[i].x == x) return true;
    if (!wide_is_float8(x)) return true;
    const char *was = x->name,
               *now = out_cast(o, out_name(o, x), (dtype)x->v[0].u.tensor->dtype, DT_FLOAT32);
    all[(*n)++] = (wide_value){x, was, now};
    x->name = now;
    return now != NULL;
}

bool out_by_row(out_call *c, const out_row *row) {
    onnx_out *o = c->o;
    if ((out_are_complex(c->nargs, c->args) || out_are_complex(c->nres, c->res)) &&
        row->fn != out_op_same && row->fn != out_op_parts)
        return out_refuse(o, "of complex numbers");
    int room = c->nargs, n = 0;
    for (int i = 0; i < c->nargs; i++) room += c->args[i]->nitems;
    wide_value *all = arena_array(&o->scratch, wide_value, room + 1);
    bool ok = all != NULL, native = row->fn == out_op_same;
    for (int i = 0; ok && !native && i < c->nargs; i++) {
        ok = wide_note(o, c->args[i], all, &n);
        for (int k = 0; ok && k < c->args[i]->nitems; k++)
            ok = wide_note(o, c->args[i]->items[k], all, &n);
    }
    ok = ok && row->fn(c, row->text);
    while (n--)
        if (all[n].x->name == all[n].now) all[n].x->name = all[n].was;
    for (int i = 0; ok && !native && i < c->nres; i++) {
        out_value *r = c->res[i];
        if (!wide_is_float8(r) || !r->name) continue;
        r->name = out_cast(o, r->name, DT_FLOAT32, (dtype)r->v[0].u.tensor->dtype);
        ok = r->name != NULL;
    }
    return ok || out_no_memory(o);
}
