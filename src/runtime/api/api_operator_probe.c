/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_operator_probe.c - with which dtypes does an operator work? It is run to find out.
 *
 * Method. Arguments are made from the schema: small tensors of one shape, numbers and
 * lists of them; arguments with a default keep it. The shapes and numbers of a
 * *recipe* are tried until the operator accepts them with float32, int64, bool or
 * complex64; with that recipe it is then run in each dtype. Tensors whose names say so
 * (index, mask) keep theirs. Matrices are unit matrices, so that they can be inverted.
 * A table of dtypes next to the operators would be shorter, but would soon be wrong.
 * Tests: tests/unit/test_ops.c
 */
#include "ir/op/op_family.h"
#include "runtime/api/api.h"
#include "runtime/kernels/engine/kernel.h"

#include <string.h>

#include "ctsc_compiler.h"

enum { PROBE_ARGS = 48, PROBE_LIST = 2 };

static const dtype probe_dtypes[] = {DT_FLOAT32, DT_INT64,   DT_BOOL,       DT_COMPLEX64,
                                     DT_UINT8,   DT_INT8,    DT_INT16,      DT_INT32,
                                     DT_FLOAT16, DT_FLOAT64, DT_COMPLEX128, DT_BFLOAT16};
enum { PROBE_DTYPES = sizeof probe_dtypes / sizeof *probe_dtypes, PROBE_FIRST = 4 };

typedef struct probe_recipe {
    int ndim;
    int64_t sizes[5];
    int64_t number; /* of ints */
    int list;       /* length of int[] without a length of its own */
} probe_recipe;

static const probe_recipe probe_recipes[] = {
    {2, {2, 2}, 1, 1},
    {2, {2, 2}, 0, 1},
    {2, {2, 2}, 1, 2},
    {2, {2, 2}, 2, 2},
    {1, {2}, 0, 1},
    {3, {1, 1, 2}, 1, 1},
    {3, {2, 2, 2}, 1, 1},
    {4, {1, 1, 2, 2}, 1, 2},
    {4, {1, 4, 2, 2}, 2, 2},
    {5, {1, 1, 2, 2, 2}, 1, 3},
    {5, {1, 8, 2, 2, 2}, 2, 3},
    {0, {0}, 0, 0},
    {1, {2}, 1, 1},
    {3, {1, 2, 2}, 1, 1},
    {4, {1, 1, 2, 2}, 0, 4},
};
enum { PROBE_RECIPES = sizeof probe_recipes / sizeof *probe_recipes };

/* ---- arguments ------------------------------------------------------------------------------- */

/* Arguments that are not data, by name; of the others nothing is known but what they are called. */
static const struct { const char *name; dtype dt; int ndim; } probe_names[] = {
    {"index", DT_INT64, -1},      {"indices", DT_INT64, -1},     {"mask", DT_BOOL, -1},
    {"condition", DT_BOOL, -1},   {"offsets", DT_INT64, 1},      {"repeats", DT_INT64, 1},
    {"pivots", DT_INT32, 1},      {"LU_pivots", DT_INT32, 1},    {"vec", DT_COUNT, 1},
    {"vec2", DT_COUNT, 1},        {"tau", DT_COUNT, 1},          {"lengths", DT_INT64, 1},
    {"batch_sizes", DT_INT64, 1}, {"running_mean", DT_COUNT, 1}, {"running_var", DT_COUNT, 1},
    {"grid", DT_COUNT, -1}};

static ctsc_status probe_tensor(diag *d, const argument *a, const probe_recipe *r, dtype dt,
                                tensor **out) {
    int ndim = r->ndim;
    for (size_t i = 0; i < sizeof probe_names / sizeof *probe_names; i++) {
        if (strcmp(probe_names[i].name, a->name)) continue;
        if (probe_names[i].dt != DT_COUNT) dt = probe_names[i].dt;
        if (probe_names[i].ndim >= 0 && ndim > probe_names[i].ndim) ndim = probe_names[i].ndim;
    }
    ctsc_status s = tensor_zeros(d, dt, ndim, r->sizes + (r->ndim - ndim), out);
    if (s != CTSC_OK || dt == DT_INT64) return s; /* zeros are indices into anything */
    int64_t n = 1, columns = ndim ? (*out)->sizes[ndim - 1] : 1;
    for (int i = 0; i < ndim; i++) n *= (*out)->sizes[i];
    for (int64_t i = 0; i < n; i++)
        if (i / columns % 2 == i % columns)
            dtype_store_float(dt, (char *)tensor_data(*out) + (size_t)i * dtype_size(dt), 1);
    return CTSC_OK;
}

static ctsc_status probe_list(diag *d, const argument *a, const type *elem, const probe_recipe *r,
                              dtype dt, value *out) {
    if (elem->kind == T_OPTIONAL) elem = type_elem(elem);
    bool tensors = elem->kind == T_TENSOR;
    if (!tensors && elem->kind != T_INT) return diag_fail(d, CTSC_UNSUPPORTED, "no list of these");
    list *l = list_new(tensors ? LIST_TENSOR : LIST_INT, (type *)elem, 0);
    if (!l) return diag_no_memory(d);
    *out = value_list_take(l);
    int n = tensors ? PROBE_LIST : a->fixed_size ? a->fixed_size : r->list;
    if (tensors && !strcmp(a->name, "indices")) n = 1;
    for (int i = 0; i < n; i++) {
        tensor *t;
        if (tensors) TRY(probe_tensor(d, a, r, dt, &t));
        if (!list_append_take(l, tensors ? value_tensor_take(t)
                                         : value_int(strstr(a->name, "dim") ? i : r->number)))
            return diag_no_memory(d);
    }
    return CTSC_OK;
}

static ctsc_status probe_value(diag *d, const argument *a, const probe_recipe *r, dtype dt,
                               value *out) {
    tensor *t;
    const bool is_dtype = a->leaf_text && !strcmp(a->leaf_text, "ScalarType");
    switch (a->type->kind) {
    case T_TENSOR:
        TRY(probe_tensor(d, a, r, dt, &t));
        *out = value_tensor_take(t);
        return CTSC_OK;
    case T_INT:
        *out = value_int(is_dtype                                       ? DT_FLOAT32
                         : !strcmp(a->name, "dim1")                     ? 1
                         : a->leaf_text && !strstr(a->leaf_text, "Sym") ? 0
                                                                        : r->number);
        return CTSC_OK;
    case T_NUMBER: *out = value_int(1); return CTSC_OK;
    case T_FLOAT: *out = value_float(0.5); return CTSC_OK;
    case T_BOOL: *out = value_bool(false); return CTSC_OK;
    case T_DEVICE: *out = value_device(0); return CTSC_OK;
    case T_OPTIONAL: *out = value_none(); return CTSC_OK;
    case T_LIST: return probe_list(d, a, type_elem(a->type), r, dt, out);
    default: return diag_fail(d, CTSC_UNSUPPORTED, "no value of this type");
    }
}

static bool probe_takes_tensor(const argument *a) {
    return a->type->kind == T_TENSOR ||
           (a->type->kind == T_LIST && type_elem(a->type)->kind == T_TENSOR);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool probe_run(const op *o, const probe_recipe *r, dtype dt) {
    const schema *s = o->schema;
    value args[PROBE_ARGS], results[PROBE_ARGS];
    diag d = {.max_tensor = 1 << 20};
    runtime rt;
    runtime_init(&rt);
    ctsc_status st = CTSC_OK;
    int n = 0;
    for (; n < s->nargs && st == CTSC_OK; n++) {
        args[n] = value_none();
        if (s->args[n].has_default) value_set(&args[n], value_ref(s->args[n].default_value));
        else st = probe_value(&d, &s->args[n], r, dt, &args[n]);
    }
    for (int i = 0; i < s->nreturns; i++) results[i] = value_none();
    if (st == CTSC_OK)
        st = o->fn(&(op_ctx){.diag = &d, .op = o, .rt = &rt, .nargs = n}, args, results);
    for (int i = 0; i < s->nreturns; i++) value_set(&results[i], value_none());
    for (int i = 0; i < n; i++) value_set(&args[i], value_none());
    diag_clear(&d);
    return st == CTSC_OK;
}

/* NULL: none of them will do. */
static const probe_recipe *probe_find(const op *o) {
    for (int i = 0; i < PROBE_RECIPES; i++)
        for (int k = 0; k < PROBE_FIRST; k++)
            if (probe_run(o, &probe_recipes[i], probe_dtypes[k])) return &probe_recipes[i];
    return NULL;
}

uint32_t ctsc_operator_dtypes(const char *key) {
    const op *o = op_find(key);
    if (!o || !o->fn || o->traits.side_effect || o->traits.unsafe || o->schema->vararg ||
        o->schema->varret || o->schema->nargs > PROBE_ARGS || o->schema->nreturns > PROBE_ARGS)
        return 0;
    bool tensors = false;
    for (int i = 0; i < o->schema->nargs; i++) tensors |= probe_takes_tensor(&o->schema->args[i]);
    const probe_recipe *r = tensors ? probe_find(o) : NULL;
    uint32_t found = 0;
    for (int k = 0; r && k < PROBE_DTYPES; k++)
        if (probe_run(o, r, probe_dtypes[k])) found |= UINT32_C(1) << probe_dtypes[k];
    return found;
}
