/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_onnx.c - writes a method as a model of ONNX (frontend/onnx/onnx_out.h): its graph with calls
 * inlined, its arguments once more with other sizes where there are dynamic axes, and the file.
 *
 * A dynamic axis is twice as long in the second example, which has the same elements twice: indices
 * stay in range.
 * Tests: tests/onnx
 */
#include "runtime/save/save_onnx.h"

#include "passes/passes.h"
#include "runtime/archive/file_write.h"
#include "runtime/interp/interp.h"
#include "runtime/save/check_onnx.h"
#ifdef CTSC_ONNX
#include "frontend/onnx/onnx_out.h"

#include <stdio.h>
#endif

#ifdef CTSC_ONNX

typedef struct onnx_file {
    file_writer *f;
    diag *d;
    ctsc_status status;
    const save_onnx_warn *tell;
    size_t written, told; /* bytes */
} onnx_file;

static bool onnx_file_write(void *ctx, const void *data, size_t len) {
    onnx_file *x = ctx;
    x->written += len;
    if (x->tell->progress && x->written - x->told > (8 << 20)) {
        char text[64];
        snprintf(text, sizeof text, "writing, %zu MiB", x->written >> 20);
        x->tell->progress(x->tell->ctx, text);
        x->told = x->written;
    }
    if (x->status == CTSC_OK) x->status = file_write(x->f, x->d, data, len);
    return x->status == CTSC_OK;
}

/* ---- the second example ---------------------------------------------------------------------- */

static ctsc_status second_make(diag *d, const function *f, int nargs, const value *args, int naxes,
                               const save_onnx_axis *axes, value *out) {
    for (int i = 0; i < nargs; i++) out[i] = value_ref(args[i]);
    for (int i = 0; i < naxes; i++) {
        int at = axes[i].input + 1;
        if (at < 1 || at >= nargs || args[at].tag != V_TENSOR || axes[i].dim < 0 ||
            axes[i].dim >= args[at].u.tensor->ndim)
            return diag_fail(d, CTSC_USAGE, "there is no dim %d of argument '%s' to be dynamic",
                             axes[i].dim,
                             at > 0 && at < f->schema->nargs ? f->schema->args[at].name : "?");
        TRY(check_onnx_longer(d, &out[at], axes[i].dim));
    }
    return CTSC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static ctsc_status save_graph(diag *d, const function *f, const graph *g, int nargs,
                              const value *args, const value *second,
                              const save_onnx_options *given, onnx_file *file) {
    const char **names = mem_alloc(sizeof *names * (size_t)nargs);
    onnx_axis *own = mem_alloc(sizeof *own * (size_t)(given->naxes + 1));
    runtime *rt = mem_zalloc(sizeof *rt);
    ctsc_status s = names && own && rt ? CTSC_OK : diag_no_memory(d);
    for (int i = 0; s == CTSC_OK && i < nargs; i++) names[i] = f->schema->args[i].name;
    for (int i = 0; s == CTSC_OK && i < given->naxes; i++)
        own[i] = (onnx_axis){given->axes[i].input + 1, given->axes[i].dim, given->axes[i].name};
    if (s == CTSC_OK) {
        runtime_init(rt);
        onnx_out_options o = {.opset = given->opset ? given->opset : ONNX_OUT_OPSET,
                              .nargs = nargs,
                              .args = args,
                              .second = second,
                              .names = names,
                              .ninputs = given->ninputs,
                              .inputs = given->inputs,
                              .noutputs = given->noutputs,
                              .outputs = given->outputs,
                              .naxes = given->naxes,
                              .axes = own,
                              .rt = rt,
                              .warn = given->warn.warn,
                              .progress = given->warn.progress,
                              .warn_ctx = given->warn.ctx,
                              .write = onnx_file_write,
                              .ctx = file};
        s = onnx_write(d, g, &o);
    }
    mem_free(names);
    mem_free(own);
    mem_free(rt);
    return s;
}

ctsc_status save_onnx(diag *d, function *f, int nargs, const value *args,
                      const save_onnx_options *o, const char *path) {
    onnx_file file = {.d = d, .tell = &o->warn};
    TRY(function_ensure_compiled(f, d));
    int n = f->schema->nargs;
    value *full = mem_zalloc(sizeof *full * (size_t)n),
          *second = mem_zalloc(sizeof *full * (size_t)n);
    graph *g = graph_clone(f->graph);
    ctsc_status s = full && second && g ? CTSC_OK : diag_no_memory(d);
    bool checked = s == CTSC_OK && (s = interp_check_args(f, nargs, args, d, full)) == CTSC_OK;
    if (s == CTSC_OK && o->naxes) s = second_make(d, f, n, full, o->naxes, o->axes, second);
    if (s == CTSC_OK) s = pipeline_inline(g, false, d);
    /* what any level makes of a graph first: dtypes depend on it */
    if (s == CTSC_OK)
        s = pass_run_list(&(pass_ctx){.diag = d}, g, "autocast,scalar-constants", NULL);
    if (s == CTSC_OK) s = file_writer_open(d, path, &file.f);
    if (s == CTSC_OK) s = save_graph(d, f, g, n, full, o->naxes ? second : NULL, o, &file);
    if (s == CTSC_OK) s = file_writer_commit(file.f, d);
    file_writer_free(file.f);
    for (int i = 0; full && second && i < n; i++) {
        if (checked) value_unref(full[i]);
        value_unref(second[i]);
    }
    mem_free(full);
    mem_free(second);
    graph_free(g);
    return s;
}

#else

ctsc_status save_onnx(diag *d, function *f, int nargs, const value *args,
                      const save_onnx_options *o, const char *path) {
    (void)f, (void)nargs, (void)args, (void)o, (void)path;
    return diag_fail(d, CTSC_UNSUPPORTED,
                     "this build of ctsc is without models of ONNX (it was made without "
                     "libprotobuf-c)");
}

#endif
