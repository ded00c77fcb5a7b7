/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_expand.c - calls of functions of Python packages that work on text: einops'.
 *
 * Such a function reads its pattern when it is called, by means that have no place in a graph. In
 * compiled code the pattern is a constant, so the call becomes one of a function made for the
 * pattern: prelude/_einops.py writes it in TorchScript, and what it writes is compiled as if it
 * stood in the program. One pattern makes one function. The package itself is the user's (--path).
 * Tests: tests/lang/accepted_einops.py
 */
#include "frontend/program/source.h"

static const char *const expand_functions[] = {"rearrange",   "reduce", "repeat", "einsum",
                                               "parse_shape", "pack",   "unpack"};

bool source_is_expanded(const py_object *o) {
    const char *home = o->kind == PY_FUNCTION && o->u.fn->def && o->u.fn->module
                           ? o->u.fn->module->u.mod.name
                           : "";
    if (strcmp(home, "einops.einops") != 0 && strcmp(home, "einops.packing") != 0) return false;
    for (size_t i = 0; i < sizeof expand_functions / sizeof *expand_functions; i++)
        if (!strcmp(o->u.fn->def->name, expand_functions[i])) return true;
    return false;
}

/* The text in argument `at`, or of that name, which is taken out of the arguments. */
static py_object *expand_text(emitter *e, source_range r, const char *what, int at, actual *args,
                              int *n) {
    value v;
    int i = 0;
    while (i < *n && (args[i].name ? strcmp(args[i].name, what) != 0 : i != at)) i++;
    if (i == *n || !ir_value_constant(args[i].value, &v) || v.tag != V_STR) {
        irgen_fail(e, i < *n ? args[i].range : r,
                   "the %s of this call has to be known while compiling, and a string", what);
        return NULL;
    }
    py_object *o = py_string(&e->scope->prog->py, v.u.str->bytes, v.u.str->len);
    memmove(args + i, args + i + 1, (size_t)(--*n - i) * sizeof *args);
    return o;
}

/* _einops.NAME(args) */
static py_object *expand_run(program *g, source_range r, const char *name, int n,
                             py_object **args) {
    py_object *home = py_import(&g->py, r, "_einops"),
              *fn = home ? py_getattr(&g->py, r, home, name) : NULL;
    for (int i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return fn ? py_call(&g->py, r, fn, n, args, 0, NULL, NULL) : NULL;
}

static sugar *expand_einsum(emitter *e, source_range r, int n, actual *args) {
    program *g = e->scope->prog;
    py_object *pattern = n > 1 ? expand_text(e, r, "pattern", n - 1, args, &n) : NULL;
    py_object *equation = pattern ? expand_run(g, r, "equation", 1, &pattern) : NULL;
    if (!equation)
        return n > 1 ? NULL : (irgen_fail(e, r, "einsum expected tensors and a pattern"), NULL);
    ir_value **tensors = arena_array(e->scratch, ir_value *, n + 1), *in[2];
    if (!tensors) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < n; i++) tensors[i] = args[i].value;
    const char *text = py_as_text(equation);
    in[0] = graph_constant_str(e->g, text, strlen(text));
    in[1] = irgen_list(e, r, TYPE_TENSOR, n, tensors);
    return sugar_of_value(e, irgen_builtin_values(e, r, "aten::einsum", 2, in));
}

/* The function for a text, compiled once. */
static function *expand_function(program *g, source_range r, const char *operation, py_object *text,
                                 const py_object *home) {
    py_object *fn = strmap_get(&g->expansions, py_as_text(text));
    if (!fn) {
        strbuf sb = STRBUF_INIT;
        py_env *env = arena_new(&g->unit->arena, py_env);
        env->module = py_import(&g->py, r, "_einops");
        sb_puts(&sb, py_as_text(text));
        fn = env->module
                 ? source_synthesize(g, arena_printf(&g->unit->arena, "<einops.%s>", operation),
                                     &sb, home->u.fn->module, env)
                 : NULL;
        sb_free(&sb);
        if (fn && !strmap_put(&g->expansions, py_as_text(text), fn))
            return diag_no_memory(g->py.diag), NULL;
    }
    return fn ? source_function(g, r, fn) : NULL;
}

sugar *source_expand_call(emitter *e, const expr *call, const py_object *fn) {
    const char *operation = fn->u.fn->def->name;
    source_range r = call->range;
    actual *args = NULL;
    int n = 0;
    if (!irgen_arguments(e, call, 0, &args, &n)) return NULL;
    program *g = e->scope->prog;
    if (!strcmp(operation, "einsum")) return expand_einsum(e, r, n, args);
    py_object *reduction = g->py.none,
              *pattern = expand_text(e, r, "pattern", strcmp(operation, "unpack") ? 1 : 2, args,
                                     &n);
    /* no lengths among the arguments */
    bool plain = strstr(operation, "pack") || !strcmp(operation, "parse_shape");
    if (pattern && !strcmp(operation, "reduce"))
        reduction = expand_text(e, r, "reduction", 1, args, &n);
    if (!pattern || !reduction || n < 1 || args[0].name)
        return irgen_fail(e, r, "%s expected a tensor and a pattern", operation), NULL;
    py_object *names = py_list(&g->py, 0, NULL), *name;
    for (int i = 1; i < n && names && !plain; i++) {
        if (!args[i].name)
            return irgen_fail(e, args[i].range, "lengths of axes are keyword arguments"), NULL;
        if (!(name = py_text(&g->py, args[i].name)) || !py_append(&g->py, names, name)) return NULL;
    }
    bool stacked = args[0].value->type->kind == T_LIST;
    py_object *given[] = {py_text(&g->py, operation), reduction, pattern, names,
                          py_bool(&g->py, stacked)};
    py_object *text = expand_run(g, r, "expand", 5, given);
    function *f = text ? expand_function(g, r, operation, text, fn) : NULL;
    return f ? sugar_of_value(e, irgen_function_call(e, r, f, n, args)) : NULL;
}
