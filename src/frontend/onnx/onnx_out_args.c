/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_args.c - how the functions of rows get at arguments, and say what results are called.
 */
#include "base/sorted.h"
#include "frontend/onnx/onnx_out_internal.h"

static const out_row rows[] = {
#define OUT_ROW(name, fn, text) {name, fn, text},
#include "frontend/onnx/onnx_out_rows.def"
#undef OUT_ROW
};

const out_row *out_find_row(const char *name) {
    int at = sorted_find(rows, sizeof rows, sizeof *rows, name);
    return at < 0 ? NULL : &rows[at];
}

static bool value_is_complex(const out_value *x) {
    const value v = x->v[0];
    if (v.tag == V_LIST && v.u.list->kind == LIST_TENSOR)
        return v.u.list->len && dtype_is_complex((dtype)v.u.list->u.tensors[0]->dtype);
    return v.tag == V_TENSOR && dtype_is_complex((dtype)v.u.tensor->dtype);
}

bool out_are_complex(int n, out_value *const *x) {
    for (int i = 0; i < n; i++)
        if (value_is_complex(x[i])) return true;
    return false;
}

bool out_given(const out_call *c, int i) { return i < c->nargs && c->args[i]->v[0].tag != V_NONE; }

const tensor *out_t(const out_call *c, int i) { return c->args[i]->v[0].u.tensor; }
const tensor *out_r(const out_call *c) { return c->res[0]->v[0].u.tensor; }

dtype out_dt(const out_call *c, int i) {
    switch (c->args[i]->v[0].tag) {
    case V_TENSOR: return (dtype)out_t(c, i)->dtype;
    case V_INT: return DT_INT64;
    case V_BOOL: return DT_BOOL;
    default: return DT_FLOAT32;
    }
}

const char *out_arg(out_call *c, int i) {
    return i < c->nargs ? out_name(c->o, c->args[i]) : (out_refuse(c->o, "argument %d", i), NULL);
}

const char *out_arg_as(out_call *c, int i, dtype dt) {
    out_value *x = c->args[i];
    double f = x->v[0].tag == V_INT    ? (double)x->v[0].u.i
               : x->v[0].tag == V_BOOL ? x->v[0].u.b
                                       : x->v[0].u.f;
    bool number = x->v[0].tag == V_INT || x->v[0].tag == V_BOOL || x->v[0].tag == V_FLOAT;
    if (number && !x->name) {
        if (x->v[0].tag == V_INT && dt == DT_INT64) return out_const_int(c->o, x->v[0].u.i);
        return out_const(c->o, dt, f);
    }
    return out_cast(c->o, out_arg(c, i), out_dt(c, i), dt);
}

static bool arg_constant(out_call *c, int i) {
    if (i >= c->nargs) return out_refuse(c->o, "argument %d is missing", i);
    return !out_is_dynamic(c->args[i]) || out_refuse(c->o, "argument %d is not a constant", i);
}

bool out_arg_int(out_call *c, int i, int64_t *v) {
    if (!arg_constant(c, i)) return false;
    value x = c->args[i]->v[0];
    if (x.tag != V_INT && x.tag != V_BOOL)
        return out_refuse(c->o, "argument %d is not an integer", i);
    *v = x.tag == V_INT ? x.u.i : x.u.b;
    return true;
}

bool out_arg_float(out_call *c, int i, double *v) {
    if (!arg_constant(c, i)) return false;
    value x = c->args[i]->v[0];
    if (x.tag != V_INT && x.tag != V_FLOAT && x.tag != V_BOOL)
        return out_refuse(c->o, "argument %d is not a number", i);
    *v = x.tag == V_INT ? (double)x.u.i : x.tag == V_BOOL ? x.u.b : x.u.f;
    return true;
}

bool out_arg_bool(out_call *c, int i, bool *v) {
    if (!arg_constant(c, i)) return false;
    if (c->args[i]->v[0].tag != V_BOOL) return out_refuse(c->o, "argument %d is not a bool", i);
    *v = c->args[i]->v[0].u.b;
    return true;
}

bool out_arg_ints(out_call *c, int i, int want, int *n, int64_t *ints) {
    if (!arg_constant(c, i)) return false;
    value x = c->args[i]->v[0];
    if (x.tag == V_INT) {
        *n = 1;
        ints[0] = x.u.i;
    } else if (x.tag == V_LIST && x.u.list->kind == LIST_INT && x.u.list->len <= TENSOR_MAX_DIMS) {
        *n = (int)x.u.list->len;
        if (*n) memcpy(ints, x.u.list->u.ints, sizeof *ints * (size_t)*n);
    } else {
        return out_refuse(c->o, "argument %d is not a list of integers", i);
    }
    if (want >= 0 && *n == 1)
        for (; *n < want; (*n)++) ints[*n] = ints[0];
    return want < 0 || *n == want || out_refuse(c->o, "argument %d has %d elements", i, *n);
}

const char *out_arg_text(out_call *c, int i) {
    return i < c->nargs && c->args[i]->v[0].tag == V_STR ? c->args[i]->v[0].u.str->bytes : NULL;
}

int out_dim(const tensor *t, int64_t dim) { return (int)(dim < 0 ? dim + t->ndim : dim); }

const char *out_value_1d(onnx_out *o, out_value *x) {
    static const int64_t one = 1;
    if (!x->name && x->v[0].tag == V_INT) return out_const_ints(o, 1, &x->v[0].u.i);
    if (x->v[0].tag != V_INT && x->v[0].tag != V_TENSOR)
        return out_refuse(o, "a number is none of ints"), NULL;
    return OUT(o, "Reshape", out_name(o, x), out_const_ints(o, 1, &one));
}

const char *out_arg_1d(out_call *c, int i) { return out_value_1d(c->o, c->args[i]); }

const char *out_list_1d(onnx_out *o, out_value *x) {
    if (!x->items && x->v[0].tag == V_LIST && x->v[0].u.list->kind == LIST_INT)
        return out_const_ints(o, (int)x->v[0].u.list->len, x->v[0].u.list->u.ints);
    const char **parts = arena_array(&o->scratch, const char *, x->nitems + 1);
    if (!parts || !x->items) return out_refuse(o, "a list is none of ints"), NULL;
    for (int i = 0; i < x->nitems; i++)
        if (!(parts[i] = out_value_1d(o, x->items[i]))) return NULL;
    const char *out = out_node(o, "Concat", x->nitems, parts);
    out_int(o, "axis", 0);
    return out;
}

bool out_set(out_call *c, int i, const char *name) {
    if (!name || out_failed(c->o)) return out_no_memory(c->o);
    c->res[i]->name = name;
    return true;
}

bool out_done(out_call *c, const char *name) { return out_set(c, 0, name); }

bool out_is_fixed(const onnx_out *o, const out_value *x, int i) {
    return o->worlds == 1 || x->v[0].u.tensor->sizes[i] == x->v[1].u.tensor->sizes[i];
}

/* Are these dims the same size in both worlds? */
static bool reshape_copies(const onnx_out *o, const out_value *in, const out_value *like, int i) {
    if (!in || in->v[0].tag != V_TENSOR || i >= in->v[0].u.tensor->ndim) return false;
    for (int w = 0; w < o->worlds; w++)
        if (in->v[w].u.tensor->sizes[i] != like->v[w].u.tensor->sizes[i]) return false;
    return true;
}

const char *out_reshape(onnx_out *o, const char *x, const out_value *in, const out_value *like,
                        out_value *list) {
    int64_t sizes[TENSOR_MAX_DIMS];
    const tensor *t = like->v[0].u.tensor;
    int open = 0;
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        if (out_is_fixed(o, like, i)) continue;
        sizes[i] = reshape_copies(o, in, like, i) ? 0 : -1;
        if (sizes[i] < 0) open++;
    }
    if (open > 1 && list && list->items && list->nitems == t->ndim)
        return OUT(o, "Reshape", x, out_list_1d(o, list));
    if (open > 1) return out_refuse(o, "several sizes of the result are dynamic"), NULL;
    /* 0 says copy: a size that is 0 has to be said otherwise */
    bool empty = false, fixed = true;
    for (int i = 0; i < t->ndim; i++) {
        fixed = fixed && out_is_fixed(o, like, i);
        empty = empty || (!t->sizes[i] && out_is_fixed(o, like, i));
    }
    if (empty && (!fixed || o->opset < 14))
        return out_refuse(o, "a tensor without elements, of dynamic sizes"), NULL;
    const char *y = OUT(o, "Reshape", x, out_const_ints(o, t->ndim, sizes));
    if (empty) out_int(o, "allowzero", 1);
    return y;
}
