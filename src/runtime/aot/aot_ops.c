/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot_ops.c - which operators a compiled program can call: those whose functions are in the
 * run-time library, and those that a kernel computes, of which it then has one for each kind of
 * arguments that the runs came to.
 *
 * The functions of the library are known from its archives: the build lists their names
 * (rt_ops.inc, packaging/rt.mk).
 */
#include "runtime/aot/aot_internal.h"

#include "ir/graph/fusible.h"
#include "runtime/ops/registry.h"

#include <string.h>

/* Functions by key, as the rows of the operators name them. */
#define OP(key, fn, ...) key "\0" #fn "\0"
#define COMPOSITE(key, ...)
#define OP_SPECIAL_ROW(key, ...)
static const char aot_rows[] =
#include "ir/op/ops.def"
    ;
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW

/* Functions of the run-time library: those that multiply matrices, an empty name, others. */
static const char aot_library[] =
#include "rt_ops.inc"
    ;

/* Is it in there, and does it multiply? */
static bool aot_in_library(const char *symbol, bool *multiplies) {
    const char *at = aot_library;
    *multiplies = true;
    while (*at || *multiplies) {
        if (!strcmp(at, symbol)) return true;
        if (!*at) *multiplies = false;
        at += strlen(at) + 1;
    }
    return false;
}

/* The function of an overload with a row; CALLED's name may follow the key. NULL: it has none. */
static const char *aot_row_function(const char *key) {
    size_t n = strlen(key);
    for (const char *at = aot_rows; *at;) {
        bool here = !strncmp(at, key, n) && !at[n];
        at += strlen(at) + 1;
        /* a row is its key, perhaps what CALLED adds, and op_... */
        while (strncmp(at, "op_", 3) != 0 && *at) at += strlen(at) + 1;
        if (here) return at;
        at += strlen(at) + 1;
    }
    return NULL;
}

static const char *aot_function(const op *o, bool *multiplies) {
    const char *symbol = aot_row_function(o->key);
    return symbol && aot_in_library(symbol, multiplies) ? symbol : NULL;
}

/* Why the library's functions do not compute with this argument; NULL: they do. */
static const char *aot_strange(aot *a, const value *v, bool multiplies) {
    if (v->tag == V_LIST && v->u.list->kind == LIST_TENSOR)
        for (size_t i = 0; i < v->u.list->len; i++) {
            const value item = {.tag = V_TENSOR, .u.tensor = v->u.list->u.tensors[i]};
            const char *why = aot_strange(a, &item, multiplies);
            if (why) return why;
        }
    if (v->tag != V_TENSOR) return NULL;
    const tensor *t = v->u.tensor;
    dtype dt = (dtype)t->dtype;
    if (t->quantiser) return "it has no quantised tensors";
    if (multiplies && (dtype_is_complex(dt) || dtype_is_stored(dt)))
        return "it multiplies real numbers alone";
    a->halves |= multiplies && dtype_is_float(dt) && dtype_size(dt) == 2;
    return NULL;
}

/* ---- groups ---------------------------------------------------------------------------------- */

aot_group *aot_group_new(aot *a, int nparams, int nresults) {
    aot_group *g = arena_new(&a->arena, aot_group);
    g->last = &g->first;
    g->nparams = nparams;
    g->nresults = nresults;
    return g;
}

bool aot_group_add(aot *a, aot_group *g, nest *n, const group_plan *plan) {
    strbuf ir = STRBUF_INIT;
    if (codegen_emit(a->cg, n, a->triple, &ir, a->d) != CTSC_OK || ir.failed) {
        sb_free(&ir);
        return false;
    }
    aot_kernel *k = arena_new(&a->arena, aot_kernel);
    k->plan = plan;
    k->ir = ir;
    snprintf(k->symbol, sizeof k->symbol, "kernel_%d", a->kernels++);
    *g->last = k;
    g->last = &k->next;
    return true;
}

static bool aot_is_number(const value *v) {
    return v->tag == V_INT || v->tag == V_FLOAT || v->tag == V_BOOL;
}

/* A graph of this operator alone: its tensors, and with `numbers` its numbers, are parameters.
 * NULL: no kernel can hold it. */
static graph *aot_one_graph(const op *o, const value *args, bool numbers, uint64_t *params) {
    enum { MOST = 32 };
    ir_value *inputs[MOST];
    graph *g = o->schema->nargs <= MOST ? graph_new() : NULL;
    *params = 0;
    for (int i = 0; g && i < o->schema->nargs; i++) {
        const type *t = o->schema->args[i].type;
        if (t->kind == T_OPTIONAL) t = t->elems[0];
        bool number = numbers && aot_is_number(&args[i]) &&
                      (t->kind == T_NUMBER || t->kind == T_FLOAT);
        if (args[i].tag == V_TENSOR || number) {
            *params |= (uint64_t)1 << i;
            inputs[i] = block_add_param(g->root, args[i].tag == V_TENSOR  ? TYPE_TENSOR
                                                 : args[i].tag == V_INT   ? TYPE_INT
                                                 : args[i].tag == V_FLOAT ? TYPE_FLOAT
                                                                          : TYPE_BOOL);
        } else {
            inputs[i] = args[i].tag == V_NONE ? graph_constant_none(g)
                                              : graph_constant_take(g, value_ref(args[i]), NULL);
        }
    }
    if (!g) return NULL;
    node *n = graph_insert(g, node_new_op(g, o, o->schema->nargs, inputs));
    for (size_t i = 0; i < n->outputs.len; i++) block_add_return(g->root, n->outputs.data[i]);
    /* sums of a kernel have another order than the operator's */
    fusible_kind kind = fusible_node(n);
    if (!arena_failed(&g->arena) && (kind == FUSIBLE_POINTWISE || kind == FUSIBLE_VIEW)) return g;
    graph_free(g);
    return NULL;
}

/* A kernel of x's group for these arguments; false: there is none. */
static bool aot_one_kernel(aot *a, aot_op *x, const value *args) {
    value params[64];
    int64_t slots[256];
    int n = 0;
    for (int i = 0; i < x->does->schema->nargs; i++)
        if (x->params >> i & 1) params[n++] = args[i];
    for (const aot_kernel *k = x->group->first; k; k = k->next)
        if (plan_guards_hold(k->plan, params, slots)) return true;
    arena scratch;
    group_plan *plan = NULL;
    bool ok = arena_init(&scratch) && arena_ensure(&scratch, 8 << 20) &&
              group_lower(&scratch, x->graph, params, NULL, &plan, a->d) == CTSC_OK && plan &&
              plan->slots.len <= 256;
    if (ok) ok = aot_group_add(a, x->group, plan->nest, plan_copy(&a->arena, plan));
    arena_free(&scratch);
    return ok && !arena_failed(&a->arena);
}

/* The argument of an in-place or out= overload that is written; -1: none. */
static int aot_written(const schema *s) {
    for (int i = 0; s->has_alias_write && i < s->nargs; i++)
        if (s->args[i].alias && s->args[i].alias->write) return i;
    return -1;
}

static bool aot_one_group(aot *a, aot_op *x, const value *args) {
    for (int numbers = 1; numbers >= 0 && !x->group; numbers--) {
        x->graph = aot_one_graph(x->does, args, numbers != 0, &x->params);
        if (!x->graph) continue;
        x->group = aot_group_new(a, (int)x->graph->root->params.len,
                                 (int)x->graph->root->returns.len);
        if (aot_one_kernel(a, x, args)) return true;
        graph_free(x->graph);
        x->graph = NULL;
        x->group = NULL;
    }
    return false;
}

static bool aot_same_constants(const aot_op *x, const value *args) {
    for (int i = 0; i < x->does->schema->nargs; i++)
        if (x->given[i].tag != args[i].tag ||
            (!(x->params >> i & 1) && !value_equal(x->given[i], args[i])))
            return false;
    return true;
}

/* Parameters are not kept: only what they are. */
static void aot_keep_given(aot *a, aot_op *x, const value *args) {
    int n = x->does->schema->nargs;
    x->given = arena_array(&a->arena, value, n + 1);
    for (int i = 0; i < n; i++)
        x->given[i] = x->params >> i & 1 ? (value){.tag = args[i].tag} : value_ref(args[i]);
}

/* ---- operators ------------------------------------------------------------------------------- */

static aot_op *aot_refuse(aot *a, const op *o, bool quiet, const char *why) {
    if (!quiet)
        diag_fail(a->d, CTSC_UNSUPPORTED,
                  "operator %s cannot be compiled ahead of time for libctsc-rt: %s", o->key, why);
    return NULL;
}

aot_op *aot_op_of(aot *a, const op *o, int nargs, const value *args, bool quiet) {
    const op *does = o;
    char twin[OP_KEY_LENGTH];
    bool multiplies = false;
    const char *symbol = aot_function(o, &multiplies), *strange = NULL;
    int written = -1;
    if (!symbol && aot_written(o->schema) >= 0 && op_twin_of(o, twin) &&
        strcmp(twin, o->key) != 0) {
        const op *base = op_find(twin);
        if (base && base->schema->nreturns == 1) {
            does = base;
            written = aot_written(o->schema);
            symbol = aot_function(does, &multiplies);
        }
    } else if (!symbol && o->fn_ctx && op_twin_of(o, twin)) {
        does = op_find(twin);
        symbol = does ? aot_function(does, &multiplies) : NULL;
    }
    if (!does) does = o;
    for (int i = 0; symbol && args && i < nargs && !strange; i++)
        strange = aot_strange(a, &args[i], multiplies);
    if (strange) return aot_refuse(a, o, quiet, strange);
    for (aot_op *x = a->ops; x; x = x->next) {
        if (x->op != o) continue;
        if (x->symbol || !args) return x;
        if (aot_same_constants(x, args)) return aot_one_kernel(a, x, args) ? x : NULL;
    }
    if (!symbol && !args) return NULL;
    if (!symbol && (does->schema->vararg || nargs < does->schema->nargs))
        return aot_refuse(a, o, quiet, "it has no such operator");
    aot_op *x = arena_new(&a->arena, aot_op);
    *x = (aot_op){.op = o, .does = does, .symbol = symbol, .written = written};
    if (!symbol && !aot_one_group(a, x, args))
        return aot_refuse(a, o, quiet,
                          does->traits.draws ? "it has no random numbers"
                                             : "it has no such operator");
    if (x->group) aot_keep_given(a, x, args);
    x->next = a->ops;
    a->ops = x;
    return x;
}
