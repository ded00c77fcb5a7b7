/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_op.c - graphs of one node, their kernels, and the table that keeps them.
 *
 *     aten::add.Tensor(x, 2.5, alpha=1)    ->    graph(%0 : Tensor, %1 : float, %2 : int):
 *                                                  %3 : Tensor = aten::add(%0, %1, %2)
 *                                                  return (%3)
 *
 * Numbers are parameters, or, for operators that no kernel does so (elu has to know its
 * alpha), constants.
 *
 * Method. The key of a graph is the operator's address and, for each argument, its tag, followed by
 * its value where that is a constant of the graph. Entries live as long as the process; when the
 * table is full, a graph is made for the one call.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "runtime/cuda/one_op.h"

#include "ir/graph/fusible.h"
#include "runtime/cuda/launch.h"
#include "runtime/kernels/engine/kernel.h"

#include <pthread.h>
#include <string.h>

enum { ONE_OP_ARGS = 32, ONE_OP_ENTRIES = 4096, ONE_OP_KEY = 512 };

typedef struct one_op {
    graph *g;
    cuda_group *group;
} one_op;

static pthread_mutex_t one_op_lock = PTHREAD_MUTEX_INITIALIZER;
static strmap one_op_table; /* of one_op */

/* ---- keys ------------------------------------------------------------------------------------ */

/* A tensor, or, where numbers are parameters, a number that the operator computes with. */
static bool one_op_is_param(const argument *a, const value *v, bool numbers) {
    const type *t = a->type->kind == T_OPTIONAL ? a->type->elems[0] : a->type;
    if (v->tag == V_TENSOR) return true;
    return numbers && (t->kind == T_NUMBER || t->kind == T_FLOAT) &&
           (v->tag == V_INT || v->tag == V_FLOAT || v->tag == V_BOOL);
}

typedef struct one_op_key { size_t n; bool failed; char bytes[ONE_OP_KEY]; } one_op_key;

static void key_put(one_op_key *k, const void *p, size_t n) {
    if (n > sizeof k->bytes - k->n) {
        k->failed = true;
        return;
    }
    memcpy(k->bytes + k->n, p, n);
    k->n += n;
}

/* Constants of a graph: what no kernel could take as a number. */
static void key_constant(one_op_key *k, const value *v) {
    const list *l = v->tag == V_LIST ? v->u.list : NULL;
    if (v->tag == V_BOOL) {
        key_put(k, &v->u.b, sizeof v->u.b);
    } else if (v->tag == V_INT || v->tag == V_DEVICE || v->tag == V_FLOAT) {
        key_put(k, &v->u, sizeof v->u);
    } else if (v->tag == V_STR) {
        key_put(k, &v->u.str->len, sizeof v->u.str->len);
        key_put(k, v->u.str->bytes, v->u.str->len);
    } else if (l && l->kind == LIST_INT) {
        key_put(k, &l->len, sizeof l->len);
        if (l->len) key_put(k, l->u.ints, l->len * sizeof *l->u.ints);
    } else if (v->tag != V_NONE) {
        k->failed = true;
    }
}

static void key_of(one_op_key *k, const op *o, const value *args, bool numbers) {
    k->n = 0;
    k->failed = o->schema->nargs > ONE_OP_ARGS;
    key_put(k, &o, sizeof o);
    key_put(k, &numbers, sizeof numbers);
    for (int i = 0; i < o->schema->nargs && !k->failed; i++) {
        char tag = (char)args[i].tag;
        key_put(k, &tag, 1);
        if (!one_op_is_param(&o->schema->args[i], &args[i], numbers)) key_constant(k, &args[i]);
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static type *one_op_param_type(const value *v) {
    return v->tag == V_TENSOR  ? TYPE_TENSOR
           : v->tag == V_INT   ? TYPE_INT
           : v->tag == V_FLOAT ? TYPE_FLOAT
                               : TYPE_BOOL;
}

/* NULL: out of memory, or no kernel can hold this node. */
static graph *one_op_graph(const op *o, const value *args, bool numbers) {
    ir_value *inputs[ONE_OP_ARGS];
    graph *g = graph_new();
    if (!g) return NULL;
    for (int i = 0; i < o->schema->nargs; i++) {
        if (one_op_is_param(&o->schema->args[i], &args[i], numbers))
            inputs[i] = block_add_param(g->root, one_op_param_type(&args[i]));
        else
            inputs[i] = args[i].tag == V_NONE ? graph_constant_none(g)
                                              : graph_constant_take(g, value_ref(args[i]), NULL);
    }
    node *n = graph_insert(g, node_new_op(g, o, o->schema->nargs, inputs));
    for (size_t i = 0; i < n->outputs.len; i++) block_add_return(g->root, n->outputs.data[i]);
    if (!arena_failed(&g->arena) && fusible_node(n) != FUSIBLE_NONE) return g;
    graph_free(g);
    return NULL;
}

static void one_op_free(one_op *e) {
    if (!e) return;
    cuda_group_free(e->group);
    graph_free(e->g);
    mem_free(e);
}

/* *out: NULL if no kernel can hold such a node. */
static ctsc_status one_op_new(diag *d, const op *o, const value *args, bool numbers, one_op **out) {
    *out = NULL;
    graph *g = one_op_graph(o, args, numbers);
    if (!g) return CTSC_OK;
    one_op *e = mem_zalloc(sizeof *e);
    ctsc_status s = e ? cuda_group_new(d, g, o->key, &e->group) : diag_no_memory(d);
    if (s != CTSC_OK) {
        graph_free(g);
        mem_free(e);
        return s;
    }
    e->g = g;
    *out = e;
    return CTSC_OK;
}

/* Puts e into the table unless there is one already, which is returned then. *kept: the table has
 * what is returned. */
static one_op *one_op_keep(one_op *e, const one_op_key *k, bool *kept) {
    char *own = mem_alloc(k->n);
    if (own) memcpy(own, k->bytes, k->n);
    pthread_mutex_lock(&one_op_lock);
    one_op *known = strmap_getn(&one_op_table, k->bytes, k->n);
    bool put = own && !known && one_op_table.used < ONE_OP_ENTRIES &&
               strmap_putn(&one_op_table, own, k->n, e);
    pthread_mutex_unlock(&one_op_lock);
    *kept = known || put;
    if (!put) mem_free(own);
    if (known) one_op_free(e);
    return known ? known : e;
}

/* *out: NULL if there is no such graph. *kept: as one_op_keep; else the caller frees it. */
static ctsc_status one_op_get(diag *d, const op *o, const value *args, bool numbers, one_op **out,
                              bool *kept) {
    one_op_key k;
    key_of(&k, o, args, numbers);
    *kept = true;
    *out = NULL;
    if (k.failed) return CTSC_OK;
    pthread_mutex_lock(&one_op_lock);
    *out = strmap_getn(&one_op_table, k.bytes, k.n);
    pthread_mutex_unlock(&one_op_lock);
    if (*out) return CTSC_OK;
    TRY(one_op_new(d, o, args, numbers, out));
    if (*out) *out = one_op_keep(*out, &k, kept);
    return CTSC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static ctsc_status one_op_try(op_ctx *cx, const value *args, bool numbers, value *results,
                              bool *ran) {
    const schema *s = cx->op->schema;
    value params[ONE_OP_ARGS];
    one_op *e;
    bool kept;
    int n = 0;
    *ran = false;
    TRY(one_op_get(cx->diag, cx->op, args, numbers, &e, &kept));
    if (!e) return CTSC_OK;
    for (int i = 0; i < s->nargs; i++)
        if (one_op_is_param(&s->args[i], &args[i], numbers)) params[n++] = args[i];
    ctsc_status st = cuda_group_run(e->group, cx->diag, params, results, ran);
    if (!kept) one_op_free(e);
    return st;
}

ctsc_status one_op_run(op_ctx *cx, const value *args, value *results, bool *ran) {
    TRY(one_op_try(cx, args, true, results, ran));
    return *ran ? CTSC_OK : one_op_try(cx, args, false, results, ran);
}

ctsc_status one_op_convert(diag *d, const tensor *t, dtype dt, tensor **out) {
    op_ctx cx = {.diag = d, .op = op_of(SYM_TO_DTYPE)};
    /* to.dtype(self, dtype, non_blocking, copy, memory_format) */
    const value args[] = {{.tag = V_TENSOR, .u.tensor = (tensor *)t},
                          value_int(dt),
                          value_bool(false),
                          value_bool(true),
                          value_none()};
    value result = value_none();
    bool ran = false;
    if (cx.op) TRY(one_op_run(&cx, args, &result, &ran));
    if (!ran)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "tensors of dtype %s cannot be made %s on a CUDA device",
                         dtype_table[t->dtype].torch_name, dtype_table[dt].torch_name);
    *out = result.u.tensor;
    return CTSC_OK;
}
