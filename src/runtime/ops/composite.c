/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite.c - operators that are written in TorchScript (composite_texts.h has the files).
 *
 * Method. The files are read like code files of an archive, `__torch__.operators` and
 * `__torch__.operators.NAME`, in a unit that lives as long as the process: functions
 * are parsed when the first operator of a file is needed, and compiled one by one,
 * helpers inlined. aten::diff is diff there, aten::trapezoid.dx is trapezoid__dx. The
 * interpreter calls the function as the operator's; the pass `decompose` replaces the
 * node by its body, so that it is optimised and fused with the nodes around it. An
 * error inside is one of the operator: its message is kept, its location is not.
 * Tests: tests/unit/test_composite.c
 */
#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "ir/op/op_family.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "runtime/ops/composite_texts.h"
#include "runtime/ops/registry.h"

#include <stdio.h>
#include <string.h>

/* of the unit's making alone: compiling may need other operators */
static pthread_mutex_t composite_lock = PTHREAD_MUTEX_INITIALIZER;
static unit *composite_unit; /* never freed: operators point to its functions */

static ctsc_status composite_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    size_t len;
    const char *path = strstr(name, "__torch__/");
    const char *text = path ? composite_text(path + strlen("__torch__/"), &len) : NULL;
    if (!text) return CTSC_OK;
    *out = source_new("<operators>", text, len);
    return *out ? CTSC_OK : diag_no_memory(d);
}

/* "__torch__.operators.prims.prims_mul": the function in the module of the file that defines it. */
static void composite_qualified(const char *function_name, char *out, size_t size) {
    char module[64];
    const char *path = composite_path(function_name);
    size_t n = path ? strlen(path) - strlen(".py") : 0;
    snprintf(module, sizeof module, "%.*s", path ? (int)n : (int)strlen("operators"),
             path ? path : "operators");
    for (char *p = module; (p = strchr(p, '/'));) *p = '.';
    snprintf(out, size, "__torch__.%s.%s", module, function_name);
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
static function *composite_compile(unit *u, const char *function_name, diag *d) {
    char name[192];
    type *cls = NULL;
    function *f = NULL;
    composite_qualified(function_name, name, sizeof name);
    if (unit_resolve(u, d, name, &cls, &f) == CTSC_OK && !f)
        diag_fail(d, CTSC_INTERNAL, "no function %s for an operator", function_name);
    if (!f || function_ensure_compiled(f, d) != CTSC_OK) return NULL;
    return pass_run_list(&(pass_ctx){.diag = d}, f->graph, "inline", NULL) == CTSC_OK ? f : NULL;
}

/* "mul__Tensor", "prims_mul" */
static void composite_name(const char *key, char *out, size_t size) {
    const char *name = strstr(key, "::"), *overload = strchr(key, '.');
    name = name ? name + 2 : key;
    bool prims = !strncmp(key, "prims::", strlen("prims::"));
    snprintf(out, size, "%s%.*s%s%s", prims ? "prims_" : "",
             overload ? (int)(overload - name) : (int)strlen(name), name, overload ? "__" : "",
             overload ? overload + 1 : "");
}

static function *composite_find(unit *u, const op *o, diag *d) {
    char function_name[128], key[OP_KEY_LENGTH];
    if (op_derived_from(o, key)) o = op_find(key); /* another name of the operator */
    composite_name(o->key, function_name, sizeof function_name);
    return composite_compile(u, function_name, d);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* The functions' names do not tell aten::conv2d from quantized::conv2d. */
static bool composite_is_named(const char *key) {
    return !strncmp(key, "aten::", 6) || !strncmp(key, "torchvision::", 13) ||
           !strncmp(key, "ctsc::", 6) || !strncmp(key, "_c10d_functional", 16);
}

const char *composite_derivative(const char *key, int i) {
    char stem[160];
    if (!composite_is_named(key)) return NULL;
    composite_name(key, stem, sizeof stem);
    return composite_derivative_of(stem, i);
}

function *composite_library_function(const char *name, diag *d) {
    unit *u = composite_unit_get(d);
    if (!u) return NULL;
    pthread_mutex_lock(&u->lock);
    function *f = composite_compile(u, name, d);
    pthread_mutex_unlock(&u->lock);
    return f;
}

function *op_written_body(const op *o, const char *prefix, diag *d) {
    char stem[128], name[160];
    bool packed = !strncmp(o->key, "quantized::", 11); /* "quantized_NAME" */
    if (!composite_is_named(o->key) && !packed) return NULL;
    composite_name(o->key, stem, sizeof stem);
    snprintf(name, sizeof name, "%s%s%s", prefix, packed ? "quantized_" : "", stem);
    if (!composite_path(name)) {
        char *overload = strstr(name + strlen(prefix) + 1, "__");
        const char *key = strchr(o->key, '.');
        if (!key || !overload) return NULL;
        name[strlen(name) - strlen(key) - 1] = '\0'; /* "__OVERLOAD" of ".OVERLOAD" */
        if (!composite_path(name)) return NULL;
    }
    return composite_library_function(name, d);
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
