/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_kernels.c - the kernels of a graph's fusion groups as text.
 *
 * Each group is lowered anew for the arguments it was seen with; the result
 * is the kernel that runs, since lowering depends on nothing else, not even
 * on where the tensors are: kernels for a GPU can be inspected without one.
 * Lines that are not code begin with ';', which LLVM reads as comments.
 * Tests: tests/cli/graph-for.test, tests/cli/graph-for-cuda.test
 */
#include "runtime/observe/graph_kernels.h"

#include "codegen/cache/cache.h"
#include "runtime/observe/graph_kernels_cuda.h"

ctsc_status group_record(group_records *r, const node *n, const value *args, diag *d) {
    for (size_t i = 0; i < r->seen.len; i++)
        if (r->seen.data[i].n == n) return CTSC_OK;
    group_seen g = {n, mem_zalloc((n->inputs.len + 1) * sizeof *g.args)};
    if (!g.args || !vec_push(&r->seen, g)) {
        mem_free(g.args);
        return diag_no_memory(d);
    }
    for (size_t i = 0; i < n->inputs.len; i++) g.args[i] = value_ref(args[i]);
    return CTSC_OK;
}

void group_records_free(group_records *r) {
    for (size_t i = 0; i < r->seen.len; i++) {
        const group_seen *g = &r->seen.data[i];
        for (size_t k = 0; k < g->n->inputs.len; k++) value_unref(g->args[k]);
        mem_free(g->args);
    }
    vec_free(&r->seen);
}

static void group_comment(const char *text, strbuf *out) {
    for (bool start = true; *text; text++) {
        if (start) sb_puts(out, "; ");
        start = *text == '\n';
        sb_putc(out, *text);
    }
}

static ctsc_status group_code(nest *n, codegen_text what, strbuf *out, diag *d) {
    codegen *c = codegen_shared();
    char *text = NULL;
    ctsc_status s = c ? codegen_describe(c, n, what, &text, d) : diag_no_memory(d);
    if (s == CTSC_OK) sb_puts(out, text);
    mem_free(text);
    return s;
}

static bool group_is_cuda(group_text what) { return what >= GROUP_TEXT_CUDA; }

static ctsc_status group_describe_plan(group_plan *p, const char *name, int number, group_text what,
                                       strbuf *out, diag *d) {
    static const char *const titles[] = {[GROUP_TEXT_LLVM] = "loop nest and LLVM IR",
                                         [GROUP_TEXT_ASSEMBLY] = "assembly",
                                         [GROUP_TEXT_CUDA] = "loop nest and CUDA C++",
                                         [GROUP_TEXT_PTX] = "PTX",
                                         [GROUP_TEXT_SASS] = "SASS"};
    if (!p) {
        sb_printf(out,
                  "\n; %s_%d: no kernel for these arguments, its operators are called one by one\n",
                  name, number);
        return CTSC_OK;
    }
    sb_printf(out, "\n; %s_%d: %s\n", name, number, titles[what]);
    if (what == GROUP_TEXT_ASSEMBLY) return group_code(p->nest, CODEGEN_ASSEMBLY, out, d);
    if (what == GROUP_TEXT_LLVM || what == GROUP_TEXT_CUDA) {
        strbuf text = STRBUF_INIT;
        nest_print(p->nest, &text);
        group_comment(sb_str(&text), out);
        sb_free(&text);
    }
    return group_is_cuda(what) ? group_cuda_code(p->nest, what, out, d)
                               : group_code(p->nest, CODEGEN_IR, out, d);
}

static ctsc_status group_describe_node(const group_records *r, const node *n, int number,
                                       group_text what, strbuf *out, diag *d) {
    const group_options options = {.target = group_is_cuda(what) ? GROUP_CUDA : GROUP_HOST};
    const value *args = NULL;
    for (size_t i = 0; i < r->seen.len; i++)
        if (r->seen.data[i].n == n) args = r->seen.data[i].args;
    if (!args) {
        sb_printf(out, "\n; %s_%d: not reached\n", node_kind_text(n), number);
        return CTSC_OK;
    }
    arena a;
    group_plan *p = NULL;
    if (!arena_init(&a)) return diag_no_memory(d);
    ctsc_status s = group_lower(&a, node_attr(n, "Subgraph")->u.g, args, &options, &p, d);
    if (s == CTSC_OK) s = group_describe_plan(p, node_kind_text(n), number, what, out, d);
    arena_free(&a);
    return s;
}

static ctsc_status group_describe_block(const group_records *r, const block *b, int *number,
                                        group_text what, strbuf *out, diag *d) {
    ctsc_status s = CTSC_OK;
    for (const node *n = b->first; n && s == CTSC_OK; n = n->next) {
        const attr *sub = node_attr(n, "Subgraph");
        if (n->kind == N_FUSION_GROUP) s = group_describe_node(r, n, *number, what, out, d);
        *number += sub && sub->kind == ATTR_GRAPH;
        for (size_t i = 0; i < n->blocks.len && s == CTSC_OK; i++)
            s = group_describe_block(r, n->blocks.data[i], number, what, out, d);
    }
    return s;
}

ctsc_status group_describe(const group_records *r, const graph *g, group_text what, strbuf *out,
                           diag *d) {
    int number = 0;
    return group_describe_block(r, g->root, &number, what, out, d);
}
