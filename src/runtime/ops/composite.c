/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite.c - operators that are written in TorchScript: frontend/prelude/operators.py and operators/NAME.py, embedded.
 *
 * Method. The files are read like code files of an archive, `__torch__.operators` and `__torch__.operators.NAME`, in a unit that lives as long as the
 * process: functions are parsed when the first operator of a file is asked for, and compiled one by one, helpers inlined. aten::diff is diff there,
 * aten::trapezoid.dx is trapezoid__dx; which file has it, its text says. The
 * interpreter calls the function as the operator's; the pass `decompose` puts its body in the node's place, so that it is optimised
 * and fused with what stands around it. An error inside is one of the operator: its message counts, its place does not.
 * Tests: tests/unit/test_composite.c
 */
#include "base/embed.h"
#include "runtime/ops/registry.h"
#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "ir/op/op_family.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "runtime/kernels/engine/kernel.h"

#include <stdio.h>
#include <string.h>

/* COMPOSITE_FILE(symbol, module, path) */
#define COMPOSITE_FILES                                                                           \
    COMPOSITE_FILE(prelude_operators, "__torch__.operators", "operators.py")                      \
    COMPOSITE_FILE(prelude_backward, "__torch__.operators.backward", "operators/backward.py")     \
    COMPOSITE_FILE(prelude_layers, "__torch__.operators.layers", "operators/layers.py")           \
    COMPOSITE_FILE(prelude_resample, "__torch__.operators.resample", "operators/resample.py")     \
    COMPOSITE_FILE(prelude_assorted, "__torch__.operators.assorted", "operators/assorted.py")     \
    COMPOSITE_FILE(prelude_recent, "__torch__.operators.recent", "operators/recent.py")           \
    COMPOSITE_FILE(prelude_exported, "__torch__.operators.exported", "operators/exported.py")     \
    COMPOSITE_FILE(prelude_device, "__torch__.operators.device", "operators/device.py")           \
    COMPOSITE_FILE(prelude_quantized, "__torch__.operators.quantized", "operators/quantized.py")

#define COMPOSITE_FILE(symbol, module, path) EMBED(symbol, "src/frontend/prelude/" path)
COMPOSITE_FILES
#undef COMPOSITE_FILE

static const struct composite_file {
    const char *module, *path;
    embedded *text;
} composite_files[] = {
#define COMPOSITE_FILE(symbol, module, path) {module, path, &symbol},
    COMPOSITE_FILES
#undef COMPOSITE_FILE
};
enum { COMPOSITE_NFILES = sizeof composite_files / sizeof *composite_files };

static pthread_mutex_t composite_lock = PTHREAD_MUTEX_INITIALIZER; /* of the unit's making alone: compiling may need other operators */
static unit *composite_unit; /* never freed: operators point to its functions */

static ctsc_status composite_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    const char *path = strstr(name, "__torch__/");
    for (int i = 0; path && i < COMPOSITE_NFILES; i++) {
        const struct composite_file *f = &composite_files[i];
        if (strcmp(path + strlen("__torch__/"), f->path)) continue;
        size_t len;
        const char *text = embedded_text(f->text, &len);
        *out = text ? source_new("<operators>", text, len) : NULL;
        return *out ? CTSC_OK : diag_no_memory(d);
    }
    return CTSC_OK;
}

/* The module whose text defines the function. */
static const char *composite_module(const char *function_name) {
    char line[160];
    snprintf(line, sizeof line, "\ndef %s(", function_name);
    for (int i = 0; i < COMPOSITE_NFILES; i++) {
        size_t len;
        const char *text = embedded_text(composite_files[i].text, &len);
        if (text && strstr(text, line)) return composite_files[i].module;
    }
    return composite_files[0].module;
}

static unit *composite_unit_new(diag *d) {
    static const importer_host host = {.read_code = composite_read};
    unit *u = unit_new();
    if (!u || importer_attach(d, u, &host, INT64_MAX) != CTSC_OK) {
        diag_no_memory(d);
        if (u) unit_unref(u);
        return NULL;
    }
    u->compile = irgen_function;
    u->simplify = pipeline_simplify;
    return u;
}

static unit *composite_unit_get(diag *d) {
    pthread_mutex_lock(&composite_lock);
    if (!composite_unit) composite_unit = composite_unit_new(d);
    unit *u = composite_unit;
    pthread_mutex_unlock(&composite_lock);
    return u;
}

/* Compiled, the calls of helpers inlined. Under the unit's lock. */
static function *composite_find(unit *u, const op *o, diag *d) {
    char function_name[128], name[192], key[OP_KEY_LENGTH];
    type *cls = NULL;
    function *f = NULL;
    if (op_derived_from(o, key)) o = op_find(key); /* another name of the operator */
    const schema *s = o->schema;
    snprintf(function_name, sizeof function_name, "%s%s%s", strstr(s->name, "::") + 2, *s->overload ? "__" : "", s->overload);
    snprintf(name, sizeof name, "%s.%s", composite_module(function_name), function_name);
    if (unit_resolve(u, d, name, &cls, &f) == CTSC_OK && !f) diag_fail(d, CTSC_INTERNAL, "no function for operator %s", o->key);
    if (!f || function_ensure_compiled(f, d) != CTSC_OK) return NULL;
    return pass_run_list(&(pass_ctx){.diag = d}, f->graph, "inline", NULL) == CTSC_OK ? f : NULL;
}

function *op_composite_body(const op *o, diag *d) {
    void **known = &((op *)o)->fn_ctx;
    function *f = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (f) return f;
    unit *u = composite_unit_get(d);
    if (!u) return NULL;
    pthread_mutex_lock(&u->lock);
    f = *known; /* meanwhile another thread may have been here */
    if (!f) f = composite_find(u, o, d);
    __atomic_store_n(known, f, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&u->lock);
    return f;
}

/* Takes out. */
static ctsc_status composite_results(op_ctx *cx, value out, value *results) {
    int n = cx->op->schema->nreturns;
    if (n == 1) return results[0] = out, CTSC_OK;
    for (int i = 0; i < n; i++) results[i] = value_ref(out.u.tuple->items[i]);
    value_unref(out);
    return CTSC_OK;
}

ctsc_status op_composite(op_ctx *cx, const value *args, value *results) {
    diag own = {.max_tensor = cx->diag ? cx->diag->max_tensor : 0};
    value out = value_none();
    function *f = op_composite_body(cx->op, cx->diag);
    if (!f) return cx->diag ? cx->diag->status : CTSC_INTERNAL;
    op_ctx inner = *cx;
    inner.diag = &own;
    runtime rt;
    if (!cx->interp && !cx->rt) { /* constants are being folded */
        runtime_init(&rt);
        inner.rt = &rt;
    }
    ctsc_status st = interp_call_from_op(&inner, f, cx->op->schema->nargs, args, &out);
    if (st == CTSC_OK) return composite_results(cx, out, results);
    diag_fail(cx->diag, st, "%s", diag_message(&own));
    diag_clear(&own);
    return st;
}

/* ctsc::fail(message): how a body refuses its arguments. */
ctsc_status op_fail(op_ctx *cx, const value *args, value *results);
ctsc_status op_fail(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return diag_fail(cx->diag, CTSC_FAILED, "%s", args[0].u.str->bytes);
}

/* ctsc::type_name(t): "Float", as messages name dtypes. */
ctsc_status op_type_name(op_ctx *cx, const value *args, value *results);
ctsc_status op_type_name(op_ctx *cx, const value *args, value *results) {
    const char *name = dtype_table[args[0].u.tensor->dtype].ir_name;
    str *s = str_new(name, strlen(name));
    if (!s) return diag_no_memory(cx->diag);
    return op_return(results, value_str_take(s));
}
