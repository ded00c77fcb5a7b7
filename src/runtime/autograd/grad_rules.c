/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_rules.c - finds the derivative of an operator, and reads from its functions'
 * signatures what they need.
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/grad_rules.h"

#include "ir/op/op_family.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- formulas -------------------------------------------------------------------------------- */

/* "grad", "grad1", "result", "result1": the number after stem; -1: another name. */
static int rules_numbered(const char *name, const char *stem) {
    size_t n = strlen(stem);
    if (strncmp(name, stem, n) != 0) return -1;
    if (!name[n]) return 0;
    return name[n] >= '0' && name[n] <= '9' && !name[n + 1] ? name[n] - '0' : -1;
}

/* ARG_sizes, ARG_dtype: the argument; -1: something else. */
static int rules_suffixed(const schema *s, const char *name, const char *suffix) {
    size_t n = strlen(name), k = strlen(suffix);
    for (int i = 0; n > k && !strcmp(name + n - k, suffix) && i < s->nargs; i++)
        if (strlen(s->args[i].name) == n - k && !strncmp(s->args[i].name, name, n - k)) return i;
    return -1;
}

static bool rules_param(const schema *s, const argument *a, grad_param *out) {
    *out = (grad_param){.optional = a->type->kind == T_OPTIONAL};
    if ((out->index = schema_find_arg(s, a->name)) >= 0) return out->need = NEED_ARG, true;
    if (!strcmp(a->name, "wanted")) return out->need = NEED_WANTED, true;
    if (!strcmp(a->name, "grads")) return out->index = 0, out->need = NEED_GRADS, true;
    if ((out->index = rules_numbered(a->name, "grad")) >= 0)
        return out->need = NEED_GRAD, out->index < s->nreturns;
    /* not a list, whose length is not known when room is made for what the node saves */
    if ((out->index = rules_numbered(a->name, "result")) >= 0)
        return out->need = NEED_RESULT,
               out->index < s->nreturns && s->returns[out->index].type->kind != T_LIST;
    if ((out->index = rules_suffixed(s, a->name, "_sizes")) >= 0)
        return out->need = NEED_SIZES, true;
    if ((out->index = rules_suffixed(s, a->name, "_dtype")) >= 0)
        return out->need = NEED_DTYPE, true;
    if ((out->index = rules_suffixed(s, a->name, "_layout")) >= 0)
        return out->need = NEED_LAYOUT, s->args[out->index].type->kind == T_TENSOR;
    return false;
}

/* The arguments after "__d_": ARG__ARG2. */
static bool rules_inputs(const schema *s, const char *names, grad_formula *f) {
    while (*names) {
        const char *end = strstr(names, "__");
        size_t n = end ? (size_t)(end - names) : strlen(names);
        int at = -1;
        for (int i = 0; i < s->nargs && at < 0; i++)
            if (strlen(s->args[i].name) == n && !strncmp(s->args[i].name, names, n)) at = i;
        if (at < 0 || f->ninputs == GRAD_MAX_ARGS) return false;
        f->inputs[f->ninputs++] = at;
        names = end ? end + 2 : names + n;
    }
    return f->ninputs > 0;
}

static ctsc_status rules_formula(diag *d, const op *o, const char *name, const char *inputs,
                                 grad_formula *f) {
    f->fn = op_host_installed->library_function(name, d);
    if (!f->fn) return d->status;
    const schema *s = f->fn->schema;
    f->params = mem_zalloc((size_t)s->nargs * sizeof *f->params + 1);
    if (!f->params) return diag_no_memory(d);
    f->nparams = s->nargs;
    bool ok = rules_inputs(o->schema, inputs, f);
    for (int i = 0; ok && i < s->nargs; i++)
        ok = rules_param(o->schema, &s->args[i], &f->params[i]);
    return ok ? CTSC_OK
              : diag_fail(d, CTSC_INTERNAL, "the derivative %s does not fit operator %s", name,
                          o->key);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void rules_free(grad_rule *r) {
    for (int i = 0; r && i < r->nformulas; i++) mem_free(r->formulas[i].params);
    if (r) mem_free(r->formulas);
    mem_free(r);
}

/* Which results' gradients the formulas mention. */
static uint64_t rules_outputs(const grad_rule *r) {
    uint64_t outputs = 0;
    for (int i = 0; i < r->nformulas; i++)
        for (int k = 0; k < r->formulas[i].nparams; k++) {
            grad_param p = r->formulas[i].params[k];
            if (p.need == NEED_GRADS) return UINT64_MAX;
            if (p.need == NEED_GRAD) outputs |= UINT64_C(1) << p.index;
        }
    return outputs ? outputs : UINT64_MAX;
}

static ctsc_status rules_read(diag *d, const op *base, grad_rule *r) {
    const char *name;
    int n = 0;
    while (op_host_installed->derivative(base->key, n)) n++;
    r->formulas = mem_zalloc((size_t)n * sizeof *r->formulas + 1);
    if (!r->formulas) return diag_no_memory(d);
    for (int i = 0; i < n && (name = op_host_installed->derivative(base->key, i)); i++) {
        const char *inputs = strstr(name, "__d_");
        if (!inputs) {
            r->kind = RULE_BODY;
            r->body = op_host_installed->library_function(name, d);
            if (!r->body) return d->status;
            continue;
        }
        grad_formula *f = &r->formulas[r->nformulas++];
        TRY(rules_formula(d, base, name, inputs + 4, f));
        for (int k = 0; k < f->ninputs; k++) r->differentiable |= UINT64_C(1) << f->inputs[k];
        r->kind = RULE_FORMULAS;
    }
    r->outputs = rules_outputs(r);
    return CTSC_OK;
}

static bool rules_writes_out(const op *o) {
    for (int i = 1; i < o->schema->nargs; i++)
        if (o->schema->args[i].alias && o->schema->args[i].alias->write &&
            o->schema->args[i].kwarg_only)
            return true;
    return false;
}

/* The overload that computes the same as o: relu_ -> relu.
 * There may be several steps (multiply_ -> mul_ -> mul). */
static const op *rules_base(const op *o) {
    char key[OP_KEY_LENGTH];
    for (int steps = 0;
         steps < 4 && !op_host_installed->derivative(o->key, 0) && op_twin_of(o, key); steps++) {
        const op *next = op_find(key);
        if (!next) break;
        o = next;
    }
    return o;
}

/* Does a call answer with tensors at all? */
static bool rules_makes_tensors(const schema *s) {
    bool any = false;
    for (int i = 0; i < s->nreturns; i++) {
        type *t = s->returns[i].type;
        while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
        any |= t->kind == T_TENSOR;
    }
    return any;
}

static ctsc_status rules_make(diag *d, const op *o, grad_rule *r) {
    const op *base = r->base = rules_base(o);
    const alias_info *first = o->schema->nargs ? o->schema->args[0].alias : NULL;
    r->in_place = first && first->write && o->schema->args[0].type->kind == T_TENSOR &&
                  !rules_writes_out(o);
    if (rules_writes_out(o)) return r->kind = RULE_OUT, CTSC_OK;
    TRY(rules_read(d, base, r));
    if (r->kind != RULE_MISSING) return CTSC_OK;
    if (base->traits.no_gradient || !rules_makes_tensors(o->schema)) r->kind = RULE_CONSTANT;
    else if (base->traits.composite || base->traits.device_body) {
        r->body = op_host_installed->composite_body(base, d);
        if (!r->body) return d->status;
        r->kind = RULE_BODY;
    }
    return CTSC_OK;
}

ctsc_status grad_rule_of(const op *o, diag *d, const grad_rule **out) {
    _Atomic(const grad_rule *) *known = &((op *)o)->gradient;
    if ((*out = atomic_load_explicit(known, memory_order_acquire))) return CTSC_OK;
    grad_rule *r = mem_zalloc(sizeof *r);
    if (!r) return diag_no_memory(d);
    ctsc_status s = rules_make(d, o, r);
    if (s != CTSC_OK) {
        rules_free(r);
        return s;
    }
    pthread_mutex_lock(&rules_lock);
    if (!(*out = atomic_load(known))) atomic_store_explicit(known, *out = r, memory_order_release);
    pthread_mutex_unlock(&rules_lock);
    if (*out != r) rules_free(r);
    return CTSC_OK;
}
