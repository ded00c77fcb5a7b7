/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_onnx.c - the part of ctsc.h that writes models of ONNX.
 *
 * Tests: tests/onnx
 */
#include "runtime/api/api.h"
#include "runtime/save/check_onnx.h"
#include "runtime/save/save_onnx.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a written file, compared with the method ------------------------------------------------ */

typedef struct onnx_check {
    ctsc_module *written;
    size_t nargs, ntensors;
    ctsc_value **args, **tensors; /* what the method takes; those of them that the model takes */
    double tolerance, largest;
} onnx_check;

static void check_print(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

static ctsc_status check_clones(const onnx_check *x, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; s == CTSC_OK && i < x->nargs; i++) {
        tensor *t = NULL;
        if (!(out[i] = ctsc_value_copy(x->args[i]))) s = diag_no_memory(d);
        else if (out[i]->v.tag == V_TENSOR &&
                 (s = tensor_clone(d, out[i]->v.u.tensor, &t)) == CTSC_OK)
            value_set(&out[i]->v, value_tensor_take(t));
    }
    return api_leave(e, &own, s);
}

/* Both, with these arguments. */
static ctsc_status check_run(const ctsc_module *m, const char *method, onnx_check *x,
                             ctsc_error *e) {
    const ctsc_run_options quiet = {.size = sizeof quiet, .print = check_print};
    ctsc_value *want = NULL, *got = NULL, **own = mem_zalloc(sizeof *own * (x->nargs + 1));
    ctsc_status s = own ? check_clones(x, own, e) : CTSC_LIMIT; /* it may write its arguments */
    if (s == CTSC_OK) s = ctsc_module_run(m, method, x->nargs, own, &quiet, &want, e);
    if (s == CTSC_OK)
        s = ctsc_module_run(x->written, "forward", x->ntensors, x->tensors, &quiet, &got, e);
    if (s == CTSC_OK) {
        diag own, *d = api_enter(e, &own);
        s = api_leave(e, &own, check_onnx_results(d, got->v, want->v, x->tolerance, &x->largest));
    }
    for (size_t i = 0; own && i < x->nargs; i++) ctsc_value_free(own[i]);
    mem_free(own);
    ctsc_value_free(want);
    ctsc_value_free(got);
    return s;
}

/* The arguments with longer axes, in place of the handles' values. */
static ctsc_status check_longer(const ctsc_onnx_options *o, onnx_check *x, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; s == CTSC_OK && i < o->naxes; i++)
        s = check_onnx_longer(d, &x->args[o->axes[i].input]->v, o->axes[i].dim);
    return api_leave(e, &own, s);
}

/* Has it quantised layers, whose rounding differs by steps? */
static bool check_is_quantised(const char *path) {
    static const char word[] = "QuantizeLinear";
    char block[1 << 12];
    size_t n = 0, got;
    bool found = false;
    FILE *f = fopen(path, "rbe");
    while (f && !found && (got = fread(block + n, 1, sizeof block - n, f)) > 0) {
        n += got;
        found = memmem(block, n, word, sizeof word - 1) != NULL;
        size_t keep = n < sizeof word ? n : sizeof word;
        memmove(block, block + n - keep, keep);
        n = keep;
    }
    if (f) fclose(f);
    return found;
}

static ctsc_status check_file(const ctsc_module *m, const char *path, size_t nargs,
                              ctsc_value *const *args, const ctsc_onnx_options *o, ctsc_error *e) {
    const char *method = o->method ? o->method : "forward";
    onnx_check x = {.nargs = nargs,
                    .args = mem_zalloc(sizeof *x.args * (nargs + 1)),
                    .tensors = mem_zalloc(sizeof *x.tensors * (nargs + 1)),
                    .tolerance = o->tolerance > 0           ? o->tolerance
                                 : check_is_quantised(path) ? 5e-2
                                                            : 1e-3};
    ctsc_status s = x.args && x.tensors ? CTSC_OK : CTSC_LIMIT;
    for (size_t i = 0; s == CTSC_OK && i < nargs; i++) {
        if (!(x.args[i] = ctsc_value_copy(args[i]))) s = CTSC_LIMIT;
        else if (x.args[i]->v.tag == V_TENSOR) x.tensors[x.ntensors++] = x.args[i];
    }
    if (s == CTSC_OK) s = ctsc_module_load(path, &x.written, e);
    if (s == CTSC_OK) s = check_run(m, method, &x, e);
    if (s == CTSC_OK && o->naxes) s = check_longer(o, &x, e);
    if (s == CTSC_OK && o->naxes) s = check_run(m, method, &x, e);
    if (s == CTSC_OK && o->difference) *o->difference = x.largest;
    for (size_t i = 0; x.args && i < nargs; i++) ctsc_value_free(x.args[i]);
    mem_free(x.args);
    mem_free(x.tensors);
    ctsc_module_free(x.written);
    return s;
}

/* Written under another name, which it loses where it is right. */
static ctsc_status save_checked(const ctsc_module *m, const char *path, size_t nargs,
                                ctsc_value *const *args, ctsc_onnx_options o, ctsc_error *e) {
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s.%08x.unchecked", path, (unsigned)getpid());
    char *other = sb_take(&sb);
    o.check = false;
    o.size = sizeof o;
    ctsc_status s = other ? ctsc_module_save_onnx(m, other, nargs, args, &o, e) : CTSC_LIMIT;
    if (s == CTSC_OK) {
        if (o.progress) o.progress(o.ctx, "comparing the results");
        s = check_file(m, other, nargs, args, &o, e);
        if (s == CTSC_OK && rename(other, path)) {
            diag own, *d = api_enter(e, &own);
            s = api_leave(e, &own, diag_fail(d, CTSC_ENVIRONMENT, "cannot write %s", path));
        }
        if (s != CTSC_OK) unlink(other);
    }
    mem_free(other);
    return s;
}

ctsc_status ctsc_module_save_onnx(const ctsc_module *m, const char *path, size_t nargs,
                                  ctsc_value *const *args, const ctsc_onnx_options *given,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_onnx_options o = {0};
    function *f = NULL;
    if (given) memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    if (o.check && path) return save_checked(m, path, nargs, args, o, e);
    save_onnx_axis *axes = mem_zalloc(sizeof *axes * (o.naxes + 1));
    value *in = mem_zalloc(sizeof *in * (nargs + 1));
    ctsc_status s = axes && in ? api_given(d, path, "the path") : diag_no_memory(d);
    if (s == CTSC_OK) s = api_method(m, d, o.method ? o.method : "forward", &f);
    for (size_t i = 0; s == CTSC_OK && i < o.naxes; i++)
        axes[i] = (save_onnx_axis){o.axes[i].input, o.axes[i].dim, o.axes[i].name};
    save_onnx_options own_options = {.opset = o.opset,
                                     .naxes = (int)o.naxes,
                                     .axes = axes,
                                     .ninputs = o.ninput_names,
                                     .inputs = o.input_names,
                                     .noutputs = o.noutput_names,
                                     .outputs = o.output_names,
                                     .warn = {o.warn, o.progress, o.ctx}};
    if (s == CTSC_OK) {
        in[0] = m->m->root;
        for (size_t i = 0; i < nargs; i++) in[i + 1] = args[i]->v;
        s = save_onnx(d, f, (int)nargs + 1, in, &own_options, path);
    }
    mem_free(axes);
    mem_free(in);
    return api_leave(e, &own, s);
}
