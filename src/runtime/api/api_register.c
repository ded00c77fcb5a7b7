/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_register.c - the part of ctsc.h about operators of a program's own.
 *
 * They are in the same registry as the built-in ones (ir/op/op.h): the only difference is
 * op_custom, their common function, which wraps arguments in handles and unwraps results.
 * Results are checked against the schema: the interpreter relies on their types.
 * Tests: tests/unit/test_register.c, test_scalar_text.c, tests/cli/custom-op.test
 */
#include "ir/scalar/scalar_text.h"
#include "ir/type.h"
#include "runtime/api/api.h"
#include "runtime/kernels/pointwise/scalar_eval.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Never freed: programs compiled with an operator that was replaced keep it. */
typedef struct custom_op {
    ctsc_op_fn fn;
    void *ctx;
    ctsc_op_options options;
} custom_op;

enum { CUSTOM_MAX = 64 }; /* arguments, and results */

ctsc_status api_fail_as(diag *d, const char *who, ctsc_status s, const ctsc_error *said) {
    const char *text = diag_message(&said->d);
    return diag_fail(d, s, "%s: %s", who, *text ? text : ctsc_status_text(s));
}
static ctsc_status custom_fail(op_ctx *cx, ctsc_status s, const ctsc_error *said) {
    return api_fail_as(cx->diag, cx->op->key, s, said);
}

static ctsc_status custom_result(op_ctx *cx, const custom_op *c, size_t nargs,
                                 ctsc_value *const *args, size_t i, ctsc_value **out,
                                 ctsc_error *said) {
    ctsc_tensor_shape shape = {0};
    tensor *t = NULL;
    ctsc_status s = c->options.shape(c->ctx, nargs, args, i, &shape, said);
    if (s != CTSC_OK) return custom_fail(cx, s, said);
    if (!dtype_valid(shape.dtype) || dtype_is_quantised((dtype)shape.dtype) || shape.ndim < 0 ||
        shape.ndim > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_USAGE,
                         "%s: its shape function gave a tensor that is not possible", cx->op->key);
    TRY(tensor_new(cx->diag, (dtype)shape.dtype, shape.ndim, shape.sizes, &t));
    *out = api_wrap_take(value_tensor_take(t));
    return *out ? CTSC_OK : diag_no_memory(cx->diag);
}

/* The type of the i-th result. One that is a variable, as t in "RRef(t) self -> t", is what the
 * argument was said to give when it came. */
static const type *custom_type(const schema *s, const value *args, int i) {
    type *t = s->returns[i].type;
    for (int k = 0; t->kind == T_VAR && k < s->nargs; k++) {
        const type *given = s->args[k].type;
        bool gives = (given->kind == T_RREF || given->kind == T_FUTURE) && type_elem(given) == t;
        const future_source *of = gives && args[k].tag == V_FUTURE ? args[k].u.future->source
                                                                   : NULL;
        if (of && of->elem) return of->elem;
    }
    return t;
}

static ctsc_status custom_check(op_ctx *cx, const value *args, int i, const ctsc_value *v) {
    const type *t = custom_type(cx->op->schema, args, i);
    strbuf sb = STRBUF_INIT;
    if (v && type_takes_value(t, v->v)) return CTSC_OK;
    type_print_python(t, &sb);
    ctsc_status st = diag_fail(cx->diag, CTSC_USAGE,
                               "%s: its function gave %s as result %d, not %s", cx->op->key,
                               v ? "a value of another type" : "nothing", i, sb_str(&sb));
    sb_free(&sb);
    return st;
}

static ctsc_status op_custom(op_ctx *cx, const value *args, value *results) {
    const custom_op *c = cx->op->fn_ctx;
    const schema *s = cx->op->schema;
    struct ctsc_value given[CUSTOM_MAX];
    ctsc_value *handles[CUSTOM_MAX], *made[CUSTOM_MAX] = {0};
    ctsc_error said = {{0}};
    ctsc_status st = CTSC_OK;
    if (s->nargs > CUSTOM_MAX || s->nreturns > CUSTOM_MAX)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "%s has more than %d arguments or results",
                         cx->op->key, CUSTOM_MAX);
    for (int i = 0; i < s->nargs; i++) {
        given[i] = (struct ctsc_value){.v = args[i]};
        handles[i] = &given[i];
    }
    for (int i = 0; c->options.shape && i < s->nreturns && st == CTSC_OK; i++)
        st = custom_result(cx, c, (size_t)s->nargs, handles, (size_t)i, &made[i], &said);
    if (st == CTSC_OK && (st = c->fn(c->ctx, (size_t)s->nargs, handles, made, &said)) != CTSC_OK)
        custom_fail(cx, st, &said);
    for (int i = 0; i < s->nreturns && st == CTSC_OK; i++) st = custom_check(cx, args, i, made[i]);
    for (int i = 0; i < s->nreturns; i++) {
        if (st == CTSC_OK) results[i] = value_ref(made[i]->v);
        ctsc_value_free(made[i]);
    }
    diag_clear(&said.d);
    return st;
}

/* The definition in C text, checked against the schema, which is read once more for it: it must be
 * known before others can find the operator. */
static ctsc_status custom_definition(diag *d, const char *schema_text, const custom_op *c,
                                     bool has_effects, scalar_text **out) {
    arena a;
    schema *s = NULL;
    if (!c->options.scalar) return CTSC_OK;
    if (has_effects)
        return diag_fail(
            d, CTSC_USAGE,
            "an operator with effects or random results cannot have a scalar definition");
    ctsc_status st = arena_init(&a) ? schema_parse(d, &a, schema_text, strlen(schema_text), &s)
                                    : diag_no_memory(d);
    if (st == CTSC_OK) {
        st = scalar_text_parse(d, s, c->options.scalar, out);
        schema_free_values(s);
    }
    arena_free(&a);
    return st;
}

ctsc_status ctsc_register_op(const char *schema_text, ctsc_op_fn fn, void *ctx,
                             const ctsc_op_options *o, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    bool defined = o && o->size >= offsetof(ctsc_op_options, scalar) + sizeof o->scalar &&
                   o->scalar;
    if (!schema_text || (!fn && !defined))
        return api_leave(
            e, &own,
            diag_fail(d, CTSC_USAGE,
                      "an operator needs a schema, and a function or a scalar definition"));
    custom_op *c = mem_zalloc(sizeof *c);
    if (!c) return api_leave(e, &own, diag_no_memory(d));
    c->fn = fn;
    c->ctx = ctx;
    if (o) memcpy(&c->options, o, o->size < sizeof *o ? o->size : sizeof *o);
    bool effects = c->options.flags & CTSC_OP_EFFECTS, random = c->options.flags & CTSC_OP_RANDOM;
    scalar_text *scalar = NULL;
    ctsc_status s = custom_definition(d, schema_text, c, effects || random, &scalar);
    c->options.scalar = NULL; /* the caller's */
    op_traits traits = scalar ? scalar->traits : (op_traits){0};
    traits.side_effect = effects;
    traits.draws = random;
    traits.foreign = fn != NULL;
    if (s == CTSC_OK)
        s = op_register_scalar(d, schema_text, fn ? op_custom : op_scalar_eval, c, traits, scalar);
    if (s != CTSC_OK) scalar_text_free(scalar), mem_free(c);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_load_library(const char *path, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    union { void *object; ctsc_status (*fn)(ctsc_error *e); } init = {NULL};
    ctsc_error said = {{0}};
    /* dlopen would open the program itself */
    if (api_given(d, path, "the path") != CTSC_OK) return api_leave(e, &own, CTSC_USAGE);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return api_leave(e, &own, diag_fail(d, CTSC_ENVIRONMENT, "cannot load %s", dlerror()));
    init.object = dlsym(handle, "ctsc_library_init");
    ctsc_status s =
        init.object
            ? init.fn(&said)
            : diag_fail(d, CTSC_ENVIRONMENT,
                        "%s is not a library of operators: it has no function ctsc_library_init",
                        path);
    if (init.object && s != CTSC_OK) diag_fail(d, s, "%s: %s", path, diag_message(&said.d));
    diag_clear(&said.d);
    return api_leave(e, &own, s); /* not closed: it may have registered something */
}
