/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite.c - operators that are written in TorchScript: frontend/prelude/operators.py, embedded.
 *
 * Method. The file is read like a code file of an archive, `__torch__.operators`, in a unit that lives as long as the process: functions are parsed
 * when the first operator is asked for, and compiled one by one, helpers inlined. aten::diff is diff there, aten::trapezoid.dx is trapezoid__dx. The
 * interpreter calls the function as the operator's; the pass `decompose` puts its body in the node's place, so that it is optimised
 * and fused with what stands around it. An error inside is one of the operator: its message counts, its place does not.
 * Tests: tests/unit/test_composite.c
 */
#include "frontend/importer.h"
#include "passes/passes.h"
#include "runtime/interp.h"
#include "runtime/kernels/kernel.h"

#include <stdio.h>
#include <string.h>

__asm__(".section .rodata\n"
        "prelude_operators:\n"
        ".incbin \"src/frontend/prelude/operators.py\"\n"
        "prelude_operators_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char prelude_operators[] __attribute__((visibility("hidden")));
extern const char prelude_operators_end[] __attribute__((visibility("hidden")));

#define COMPOSITE_MODULE "__torch__.operators"

static pthread_mutex_t composite_lock = PTHREAD_MUTEX_INITIALIZER;
static unit *composite_unit; /* never freed: operators point to its functions */

static ctsc_status composite_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    if (!strstr(name, "__torch__/operators.py")) return CTSC_OK;
    *out = source_new("<operators>", prelude_operators, (size_t)(prelude_operators_end - prelude_operators));
    return *out ? CTSC_OK : diag_no_memory(d);
}

static unit *composite_unit_get(diag *d) {
    static const importer_host host = {.read_code = composite_read};
    if (composite_unit) return composite_unit;
    unit *u = unit_new();
    if (!u || importer_attach(d, u, &host, INT64_MAX) != CTSC_OK) {
        diag_no_memory(d);
        if (u) unit_unref(u);
        return NULL;
    }
    u->simplify = pipeline_simplify;
    return composite_unit = u;
}

/* Compiled, the calls of helpers inlined. */
static ctsc_status composite_compile(unit *u, function *f, diag *d) {
    if (f->graph) return CTSC_OK;
    pthread_mutex_lock(&u->lock);
    ctsc_status s = function_ensure_compiled(f, d);
    if (s == CTSC_OK) s = pass_run_list(&(pass_ctx){.diag = d}, f->graph, "inline", NULL);
    pthread_mutex_unlock(&u->lock);
    return s;
}

static function *composite_find(const op *o, diag *d) {
    char name[160];
    type *cls = NULL;
    function *f = NULL;
    unit *u = composite_unit_get(d);
    if (!u) return NULL;
    const schema *s = o->schema;
    snprintf(name, sizeof name, COMPOSITE_MODULE ".%s%s%s", s->name + 6, *s->overload ? "__" : "", s->overload);
    pthread_mutex_lock(&u->lock);
    if (unit_resolve(u, d, name, &cls, &f) == CTSC_OK && !f) diag_fail(d, CTSC_INTERNAL, "no function for operator %s", o->key);
    pthread_mutex_unlock(&u->lock);
    return f && composite_compile(u, f, d) == CTSC_OK ? f : NULL;
}

function *op_composite_body(const op *o, diag *d) {
    void **known = &((op *)o)->fn_ctx;
    function *f = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (f) return f;
    pthread_mutex_lock(&composite_lock);
    f = composite_find(o, d);
    __atomic_store_n(known, f, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&composite_lock);
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
