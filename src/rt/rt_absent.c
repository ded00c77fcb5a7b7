/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_absent.c - what operators of the run-time library can turn to in libctsc, and not here: other
 * dtypes, devices, classes. The compiler refuses programs that come to any of these (the names in
 * runtime/aot/aot_ops.c, and the run that it makes); a program that comes here
 * nevertheless, for arguments of another kind, fails.
 */
#include "rt/rt_internal.h"
#include "runtime/kernels/attention/attention_job.h"
#include "runtime/kernels/conv/conv_bf16.h"
#include "runtime/kernels/conv/conv_tune.h"
#include "runtime/kernels/matmul/gemm_bf16.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/quantised/quantized.h"
#include "tensor/quantiser.h"

/* ---- pairs of bfloat16 in convolutions and linear layers ------------------------------------- */

bool conv_bf16_fits(const conv_shape *s) { return (void)s, false; }
bool conv_bf16_suits(const conv_shape *s, const quad_matrix *packed) {
    return (void)s, (void)packed, false;
}
ctsc_status conv_bf16(diag *d, const conv_shape *s, const conv_packed *w, conv_dtypes dt,
                      const void *in, const float *scale, const dense_epilogue *after, void *out) {
    (void)s, (void)w, (void)dt, (void)in, (void)scale, (void)after, (void)out;
    return rt_fail(d, CTSC_UNSUPPORTED);
}
bool gemm_bf16_usable(void) { return false; }
ctsc_status gemm_bf16(diag *d, const gemm_bf16_product *p) {
    return (void)p, rt_fail(d, CTSC_UNSUPPORTED);
}
/* No weight is packed in quads. */
int64_t quad_block_rows(const quad_matrix *m, int64_t bytes) { return (void)m, (void)bytes, 0; }
void quad_strip_run(const quad_matrix *m, int64_t group, int64_t first, int64_t last,
                    const quad_strip *s, quad_hold *h) {
    (void)m, (void)group, (void)first, (void)last, (void)s, (void)h;
}
void quad_release(quad_hold *h) { (void)h; }
static bool absent_fit(attention_job *job) { return (void)job, false; }
const attention_way attention_quads = {absent_fit, NULL};

conv_form conv_tune(const conv_shape *s) { return (void)s, CONV_ROWS; }

/* ---- operands that no kernel has taken ------------------------------------------------------- */

bool quantiser_equal(const quantiser *a, const quantiser *b) { return a == b; }
ctsc_status op_check_promotion(diag *d, dtype a, dtype b) {
    return a == b || !(dtype_is_stored(a) || dtype_is_stored(b)) ? CTSC_OK
                                                                 : rt_fail(d, CTSC_UNSUPPORTED);
}

/* ---- cells of recurrent layers whose weights are bytes --------------------------------------- */

ctsc_status packed_of(op_ctx *cx, const value *v, packed_kind kind, const packed **out) {
    return (void)v, (void)kind, (void)out, rt_fail(cx->diag, CTSC_UNSUPPORTED);
}
ctsc_status quant_linear_object(op_ctx *cx, const value *v, tensor *x, bool reduce_range,
                                tensor **out) {
    (void)v, (void)x, (void)reduce_range, (void)out;
    return rt_fail(cx->diag, CTSC_UNSUPPORTED);
}

/* ---- types and classes ----------------------------------------------------------------------- */

type *type_of_kind(type_kind k) { return (void)k, NULL; }
type *type_of_value(value v) { return (void)v, NULL; }
list_kind type_list_kind(const type *elem) { return (void)elem, LIST_VALUE; }
type *type_tuple(int n, type *const *elems) { return (void)n, (void)elems, NULL; }
void type_print(const type *t, strbuf *out) { (void)t, (void)out; }
void type_print_python(const type *t, strbuf *out) { (void)t, (void)out; }
struct function *class_find_method(const type *cls, const char *name) {
    return (void)cls, (void)name, NULL;
}
const op_host *op_host_installed;

int schema_find_arg(const schema *s, const char *name) {
    for (int i = 0; i < s->nargs; i++)
        if (s->args[i].name && !strcmp(s->args[i].name, name)) return i;
    return -1;
}
