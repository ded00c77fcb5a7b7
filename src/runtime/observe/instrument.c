/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instrument.c - the copy of a graph with probes, and its run.
 *
 * Method. The copy is walked in step with the original, which gives every node of the copy its
 * original. A probe is a node of an operator of this file's own, ctsc::probe(...), whose first
 * argument is the number of a record: the node or block it belongs to. The interpreter calls it
 * like any operator, so loops, branches and lifetimes need no care here. (An interpreter with a
 * hook would do without the copy, but pay for the hook at every instruction of every run.)
 *
 * Fusion groups: the body of the copy's group is put in its place, and walked in step with the
 * original group's graph.
 * Ownership: the copy, its operator and its code live for one instrument_run.
 * Tests: tests/unit/test_optimize.c
 */
#include "runtime/observe/instrument.h"

#include "runtime/interp/interp.h"

#include <string.h>

typedef struct probe_record {
    const node *n;  /* or */
    const block *b; /* the block whose parameters these are */
    int ninputs;
} probe_record;

typedef struct prober {
    const instrument *in;
    graph *g; /* the copy */
    op op;
    VEC(probe_record) records;
    bool failed; /* without memory */
} prober;

static ctsc_status probe_run(op_ctx *cx, const value *args, value *results) {
    (void)results;
    const prober *p = cx->op->fn_ctx;
    const probe_record *r = &p->records.data[args[0].u.i];
    if (r->b) return p->in->block ? p->in->block(p->in->ctx, r->b, args + 1) : CTSC_OK;
    return p->in->node ? p->in->node(p->in->ctx, r->n, args + 1, args + 1 + r->ninputs) : CTSC_OK;
}

static ctsc_status probe_operator(prober *p, diag *d) {
    static const char text[] = "ctsc::probe(...) -> ()";
    schema *s = NULL;
    ctsc_status st = schema_parse(d, &p->g->arena, text, sizeof text - 1, &s);
    p->op = (op){.schema = s,
                 .key = "ctsc::probe",
                 .fn = probe_run,
                 .fn_ctx = p,
                 .traits = {OP_SIDE_EFFECT}};
    return st;
}

/* A probe at the insertion point. */
static void probe_insert(prober *p, probe_record r, size_t ninputs, ir_value *const *inputs,
                         size_t noutputs, ir_value *const *outputs) {
    node *n = node_new(p->g, N_OP, 0, NULL, 0);
    n->op = &p->op;
    n->op_name = p->op.key;
    node_add_input(n, graph_constant_int(p->g, (int64_t)p->records.len));
    for (size_t i = 0; i < ninputs; i++) node_add_input(n, inputs[i]);
    for (size_t i = 0; i < noutputs; i++) node_add_input(n, outputs[i]);
    graph_insert(p->g, n);
    if (!vec_push(&p->records, r)) p->failed = true;
}

static void probe_nodes(prober *p, const block *from, node *at);

static void probe_block(prober *p, const block *from, block *to) {
    node *first = to->first;
    graph_set_insert(p->g, to, first);
    probe_insert(p, (probe_record){.b = from}, 0, NULL, to->params.len, to->params.data);
    probe_nodes(p, from, first);
}

/* at: the copy of a group. Its body takes its place; n: the original. */
static void probe_group(prober *p, const node *n, node *at) {
    const graph *body = node_attr(n, "Subgraph")->u.g;
    ir_value **outs = arena_alloc(&p->g->arena, (at->outputs.len + 1) * sizeof *outs);
    if (!outs || body->root->returns.len != at->outputs.len) {
        p->failed = true;
        return;
    }
    graph_set_insert(p->g, at->owner, at);
    probe_insert(p, (probe_record){.b = body->root}, 0, NULL, at->inputs.len, at->inputs.data);
    node *before = at->prev;
    graph_inline(p->g, at->owner, at, body, at->inputs.data, outs);
    if (arena_failed(&p->g->arena)) return;
    probe_nodes(p, body->root, before->next == at ? NULL : before->next);
    graph_set_insert(p->g, at->owner, at);
    probe_record r = {.n = n, .ninputs = (int)at->inputs.len};
    probe_insert(p, r, at->inputs.len, at->inputs.data, at->outputs.len, outs);
    for (size_t i = 0; i < at->outputs.len; i++) value_replace_uses(at->outputs.data[i], outs[i]);
    node_remove(at);
}

static void probe_node(prober *p, const node *n, node *at) {
    if (n->kind == N_CONSTANT || n->kind == N_UNINITIALIZED) return;
    if (n->kind == N_FUSION_GROUP) {
        probe_group(p, n, at);
        return;
    }
    for (size_t i = 0; i < n->blocks.len; i++)
        probe_block(p, n->blocks.data[i], at->blocks.data[i]);
    size_t ninputs = n->kind == N_OP ? at->inputs.len : 0;
    graph_set_insert(p->g, at->owner, at->next);
    probe_record r = {.n = n, .ninputs = (int)ninputs};
    probe_insert(p, r, ninputs, at->inputs.data, at->outputs.len, at->outputs.data);
}

/* The nodes of `from`, whose copies begin with `at`. */
static void probe_nodes(prober *p, const block *from, node *at) {
    for (const node *n = from->first; n && at && !p->failed && !arena_failed(&p->g->arena);
         n = n->next) {
        node *next = at->next; /* before probes come between */
        probe_node(p, n, at);
        at = next;
    }
}

ctsc_status instrument_run(const instrument *in, const function *f, const graph *g, runtime *rt,
                           int nargs, const value *args, diag *d, value *out) {
    prober p = {.in = in, .g = graph_clone(g)};
    if (!p.g) return diag_no_memory(d);
    ctsc_status s = probe_operator(&p, d);
    if (s == CTSC_OK) {
        probe_block(&p, g->root, p.g->root);
        if (p.failed || arena_failed(&p.g->arena)) s = diag_no_memory(d);
    }
    if (s == CTSC_OK) {
        function copy = *f; /* never seen by others: only its graph is run, as it is */
        copy.graph = p.g;
        memset(copy.code, 0, sizeof copy.code);
        rt->opt = 0;
        s = interp_call(rt, &copy, nargs, args, d, out);
        for (int i = 0; i < FUNCTION_CODES; i++) code_free(copy.code[i]);
    }
    vec_free(&p.records);
    graph_free(p.g);
    return s;
}
