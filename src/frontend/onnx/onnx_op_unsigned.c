/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_unsigned.c - operators on unsigned integers of 16, 32 and 64 bits, for which aten's
 * operators have no kernels: computed as int64.
 *
 *     Add(a, b)      to(add(to(a, int64), to(b, int64)), uint32)
 *     Less(a, b)     of uint64: the topmost bits are flipped first, which keeps the order
 *
 * Method. Inputs of such a type are replaced by int64 before the operator's row makes anything of
 * them; its first result, where it is of the same type, is converted back, modulo the type's range.
 * What uint64 needs more for (division, shifts to the right) is TorchScript of its own. All else on
 * uint64 is left to the kernels, which refuse what they do not have.
 */
#include "frontend/onnx/onnx_internal.h"

/* What has to hold of the int64 for the operator: the value modulo 2^64, the order, or the value
 * itself. */
typedef enum { UNSIGNED_MODULO, UNSIGNED_ORDER, UNSIGNED_VALUE } unsigned_need;

static const struct { const char *name; unsigned_need need; } unsigned_ops[] = {
    {"Add", UNSIGNED_MODULO},
    {"Sub", UNSIGNED_MODULO},
    {"Mul", UNSIGNED_MODULO},
    {"Sum", UNSIGNED_MODULO},
    {"BitwiseAnd", UNSIGNED_MODULO},
    {"BitwiseOr", UNSIGNED_MODULO},
    {"BitwiseXor", UNSIGNED_MODULO},
    {"BitwiseNot", UNSIGNED_MODULO},
    {"MatMul", UNSIGNED_MODULO},
    {"CumSum", UNSIGNED_MODULO},
    {"CumProd", UNSIGNED_MODULO},
    {"ReduceSum", UNSIGNED_MODULO},
    {"ReduceProd", UNSIGNED_MODULO},
    {"ReduceSumSquare", UNSIGNED_MODULO},
    {"ReduceL1", UNSIGNED_MODULO},
    {"Max", UNSIGNED_ORDER},
    {"Min", UNSIGNED_ORDER},
    {"Less", UNSIGNED_ORDER},
    {"LessOrEqual", UNSIGNED_ORDER},
    {"Greater", UNSIGNED_ORDER},
    {"GreaterOrEqual", UNSIGNED_ORDER},
    {"TopK", UNSIGNED_ORDER},
    {"ReduceMax", UNSIGNED_ORDER},
    {"ReduceMin", UNSIGNED_ORDER},
    {"ArgMax", UNSIGNED_ORDER},
    {"ArgMin", UNSIGNED_ORDER},
    {"Clip", UNSIGNED_ORDER},
    {"Unique", UNSIGNED_ORDER},
    {"Div", UNSIGNED_VALUE},
    {"Mod", UNSIGNED_VALUE},
    {"BitShift", UNSIGNED_VALUE},
    {"Shrink", UNSIGNED_VALUE},
    {"Pow", UNSIGNED_VALUE},
    {"PRelu", UNSIGNED_VALUE},
    {"ReduceMean", UNSIGNED_VALUE},
    {"ReduceL2", UNSIGNED_VALUE},
    {"ReduceLogSum", UNSIGNED_VALUE},
    {"ReduceLogSumExp", UNSIGNED_VALUE},
    {"Gemm", UNSIGNED_VALUE},
};

static bool unsigned_type(int dt) { return dt == DT_UINT16 || dt == DT_UINT32 || dt == DT_UINT64; }

/* What the node needs; -1: it is none of the operators. */
static int unsigned_find(onnx_node *n) {
    const char *name = n->row->name;
    if (!strncmp(name, "Scatter", 7)) {
        const char *how = onnx_attr_text(n, "reduction", "none");
        return !strcmp(how, "max") || !strcmp(how, "min") ? UNSIGNED_ORDER : UNSIGNED_MODULO;
    }
    for (size_t i = 0; i < sizeof unsigned_ops / sizeof *unsigned_ops; i++)
        if (!strcmp(unsigned_ops[i].name, name)) return (int)unsigned_ops[i].need;
    return -1;
}

/* The operators whose int64 form is one of its own for all 64 bits. */
static const char *unsigned_wide_key(const char *name) {
    return !strcmp(name, "Div")        ? "ctsc::onnx_unsigned_div"
           : !strcmp(name, "Mod")      ? "ctsc::onnx_unsigned_mod"
           : !strcmp(name, "BitShift") ? "ctsc::onnx_unsigned_shift"
                                       : NULL;
}

bool onnx_unsigned_begin(onnx_node *n) {
    onnx_program *p = n->p;
    int need = n->row && !*n->row->domain && n->nin && n->in[0] && unsigned_type(n->in[0]->dt)
                   ? unsigned_find(n)
                   : -1,
        dt = need < 0 ? -1 : n->in[0]->dt;
    if (need < 0) return true;
    if (need == UNSIGNED_VALUE && dt == DT_UINT64 && !unsigned_wide_key(n->row->name)) return true;
    bool flip = need == UNSIGNED_ORDER && dt == DT_UINT64;
    for (int i = 0; i < n->nin; i++) {
        onnx_value *v = n->in[i];
        if (!v || !unsigned_type(v->dt) || onnx_is_sequence(v)) continue;
        ir_value *x = onnx_as_tensor(n->sc, p, v);
        onnx_value *wide = x ? onnx_value_new(n->sc, p, "") : NULL;
        if (!wide) return false;
        wide->ir = ONNX_EMIT(p, "ctsc::onnx_signed", x, onnx_bool(p, flip));
        wide->rank = v->rank;
        wide->dt = DT_INT64;
        if (!wide->ir) return false;
        n->in[i] = wide;
    }
    n->unsigned_dt = dt;
    n->unsigned_flip = flip;
    return true;
}

ir_value *onnx_unsigned_end(onnx_node *n, ir_value *v) {
    return ONNX_EMIT(n->p, "ctsc::onnx_unsigned", v, onnx_int(n->p, n->unsigned_dt),
                     onnx_bool(n->p, n->unsigned_flip));
}

bool onnx_unsigned_wide(onnx_node *n, bool *done) {
    const char *key = n->unsigned_dt == DT_UINT64 ? unsigned_wide_key(n->row->name) : NULL;
    *done = false;
    if (!key || (strstr(key, "shift") && !strcmp(onnx_attr_text(n, "direction", ""), "LEFT")))
        return true;
    ir_value *a = onnx_t(n, 0), *b = a ? onnx_t(n, 1) : NULL;
    *done = true;
    return b && onnx_result(n, ONNX_EMIT(n->p, key, a, b));
}
