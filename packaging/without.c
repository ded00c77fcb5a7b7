/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without.c - what stands for parts that a library is built without (packaging/without.mk). It is
 * included by a file that scripts/without writes, with a macro WITHOUT_part for each of them.
 */
#include "ir/op/op.h"

/* The part's operators are other names of one function. */
#define WITHOUT(part)                                                                              \
    static ctsc_status without_##part(op_ctx *cx, const value *args, value *results) {             \
        (void)args, (void)results;                                                                 \
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,                                               \
                         "%s: this build of ctsc is without the part '" #part "'",                 \
                         cx->op ? cx->op->key : "an operator");                                    \
    }
#define WITHOUT_OP(part, name)                                                                     \
    ctsc_status name(op_ctx *cx, const value *args, value *results)                                \
        __attribute__((alias("without_" #part)));

#ifdef WITHOUT_training
#include "runtime/autograd/autograd.h"
#include "runtime/train/train.h"

void train_drop_grad(tensor *t) {
    if (!t->autograd || !t->autograd->grad) return;
    tensor *g = t->autograd->grad;
    t->autograd->grad = NULL;
    tensor_unref(g);
}
#endif

#ifdef WITHOUT_python
#include "frontend/pyeval/core/py.h"
#include "runtime/api/api.h"

/* Nothing is traced, and names are those of archives. */
void api_note_read(const ctsc_value *v, const char *reader) { (void)v, (void)reader; }
bool py_suggest_qualified(diag *d, const py_env *env, const char *name) {
    return (void)d, (void)env, (void)name, false;
}
const char *py_type_name(const py_object *o) { return (void)o, "object"; }
#endif

#ifdef WITHOUT_quantised
#include "passes/pass/pass.h"
#include "runtime/kernels/quantised/quantized.h"

static ctsc_status without_bytes(op_ctx *cx) {
    return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                     "%s: this build of ctsc is without the part 'quantised'", cx->op->key);
}
const packed *packed_in(const value *v) { return (void)v, NULL; }
ctsc_status packed_of(op_ctx *cx, const value *v, packed_kind kind, const packed **out) {
    return (void)v, (void)kind, (void)out, without_bytes(cx);
}
ctsc_status quant_linear_object(op_ctx *cx, const value *v, tensor *x, bool reduce_range,
                                tensor **out) {
    return (void)v, (void)x, (void)reduce_range, (void)out, without_bytes(cx);
}
bool pass_quantise(pass_ctx *cx, graph *g) { return (void)cx, (void)g, false; }
#endif
