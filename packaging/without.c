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

#ifdef WITHOUT_export
#include "frontend/export/ep.h"

ctsc_status ep_import(diag *d, unit *u, const char *record, const void *text, size_t len,
                      const ep_host *host, value *root) {
    return (void)u, (void)text, (void)len, (void)host, (void)root,
           diag_fail(d, CTSC_UNSUPPORTED, "%s: this build of ctsc is without the part 'export'",
                     record);
}
ctsc_status ep_read_payloads(diag *d, const char *record, const void *text, size_t len,
                             ctsc_status (*visit)(void *ctx, diag *d, const ep_payload *p),
                             void *ctx) {
    return (void)visit, (void)ctx, ep_import(d, NULL, record, text, len, NULL, NULL);
}
#endif

#if defined(WITHOUT_avx512) && defined(__x86_64__)
#include "cpu/isa.h"
#include "cpu/ukernel.h"

/* Processors are what they are without these sets, so that nothing comes to the records. */
extern const uint32_t isa_left_out;
const uint32_t isa_left_out = ~0u << ISA_AVX512;
const gemm_micro gemm_avx512_f32, gemm_avx512_f64;
const nbits_micro nbits_avx512, nbits_avx512vnni;
const quad_kernels quad_bf16_avx512, quad_bf16_amx, quad_bytes_avx512, quad_bytes_amx;
#endif

#ifdef WITHOUT_cuda
#include "codegen/cuda/cuda_emit.h"
#include "runtime/cuda/dense.h"
#include "runtime/cuda/dispatch.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/recordings.h"
#include "runtime/interp/interp.h"
#include "runtime/observe/graph_kernels_cuda.h"

/* There is no device: none can be opened, so that what would ask one for work has none to ask. */
static ctsc_status without_device(diag *d) {
    return diag_fail(d, CTSC_ENVIRONMENT, "this build of ctsc is without the part 'cuda'");
}
int cuda_device_count(diag *d) { return (void)without_device(d), 0; }
ctsc_status cuda_open(diag *d, int index, cuda **out) {
    return (void)index, (void)out, without_device(d);
}
ctsc_status cuda_of_device(diag *d, int device, cuda **out) { return cuda_open(d, device, out); }
ctsc_status cuda_alloc(cuda *c, diag *d, size_t nbytes, void **out) {
    return (void)c, (void)nbytes, (void)out, without_device(d);
}
void cuda_free(cuda *c, void *p) { (void)c, (void)p; }
ctsc_status cuda_zero(cuda *c, diag *d, void *device, size_t nbytes) {
    return (void)c, (void)device, (void)nbytes, without_device(d);
}
ctsc_status cuda_wait(cuda *c, diag *d) { return (void)c, without_device(d); }
const cuda_properties *cuda_get_properties(const cuda *c) { return (void)c, NULL; }
const char *cuda_compiler(diag *d) { return (void)without_device(d), ""; }
const char *blas_file(void) { return ""; }
const char *dnn_file(void) { return ""; }
void device_allow_fallback(bool allow) { (void)allow; }
static ctsc_status without_alloc(diag *d, int device, size_t nbytes, storage **out) {
    return (void)device, (void)nbytes, (void)out, without_device(d);
}
static ctsc_status without_copy(diag *d, tensor *dst, const tensor *src) {
    return (void)dst, (void)src, without_device(d);
}
const device_functions cuda_device_functions = {without_alloc, without_copy};
const device_kernels cuda_kernels;

/* Groups, and calls of programs. */
int cuda_group_device(int n, const value *args) { /* meta, if any */
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_TENSOR && tensor_device(args[i].u.tensor) != DEVICE_HOST)
            return tensor_device(args[i].u.tensor);
    return DEVICE_HOST;
}
ctsc_status cuda_group_new(diag *d, const graph *g, const char *name, cuda_group **out) {
    return (void)g, (void)name, (void)out, without_device(d);
}
void cuda_group_free(cuda_group *f) { (void)f; }
ctsc_status cuda_group_run(cuda_group *f, diag *d, const value *args, value *results, bool *ran) {
    return (void)f, (void)args, (void)results, (void)ran, without_device(d);
}
ctsc_status recordings_call(runtime *rt, function *f, int n, value *args, diag *d, value *out) {
    return interp_call_take(rt, f, n, args, d, out);
}
int cuda_pack_width(size_t least, size_t most) { return (void)least, (void)most, 1; }
device_support op_device_support(const op *o) { return (void)o, DEVICE_SUPPORT_NONE; }
ctsc_status group_cuda_code(nest *n, group_text what, strbuf *out, diag *d) {
    return (void)n, (void)what, (void)out, without_device(d);
}
ctsc_status group_cuda_set_arch(const char *name, diag *d) { return (void)name, without_device(d); }
#endif
