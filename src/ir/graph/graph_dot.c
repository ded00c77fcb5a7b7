/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_dot.c - a graph as a drawing: what Graphviz's dot reads.
 *
 * Nodes are boxes named by the address-free number of their visit, so equal graphs give equal text.
 * A value is an arrow from the box that makes it to each box that takes it, with its name and type
 * (of tensors without strides). Constants are written into the boxes that take them, "_" standing
 * for what arrives by arrow. A block is a frame inside the picture with a box for its parameters
 * and one for its returns; the node that owns blocks is the frame's label and a box of its own,
 * from which its outputs go. A fusion group is a coloured frame around what it computes.
 * Tests: tests/cli/graph-for.test
 */
#include "ir/graph/graph_dot.h"

#include <string.h>

enum { DOT_DEPTH = 100, DOT_LABEL_MAX = 60 };

typedef struct dot_printer {
    strbuf *out;
    ptrmap boxes;   /* ir_value -> number of the box it comes from, + 1 */
    int next;       /* number of the next box or frame */
    int next_group; /* as graph_print numbers nodes with subgraphs */
    int depth;
} dot_printer;

/* ---- text ------------------------------------------------------------------------------------ */

static void dot_escape(const char *s, size_t len, strbuf *out) {
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"' || s[i] == '\\') sb_putc(out, '\\');
        if (s[i] == '\n') sb_puts(out, "\\n");
        else if ((unsigned char)s[i] >= ' ') sb_putc(out, s[i]);
    }
}

static void dot_name(const ir_value *v, strbuf *out) {
    if (value_has_name(v)) dot_escape(v->name, strlen(v->name), out);
    else sb_printf(out, "%d", v->id);
}

/* Of what is known of a tensor only dtype and sizes: the rest would make arrows
 * longer than boxes. */
static void dot_type(const type *t, strbuf *out) {
    strbuf text = STRBUF_INIT;
    const tensor_info *known = t->kind == T_TENSOR ? t->tensor : NULL;
    if (known && known->dtype >= 0 && known->ndim >= 0) {
        tensor_info shape = {.dtype = known->dtype,
                             .ndim = known->ndim,
                             .requires_grad = -1,
                             .device = -1,
                             .sizes = known->sizes};
        t = type_tensor_details(&shape);
    }
    type_print(t, &text);
    dot_escape(sb_str(&text), text.len, out);
    out->failed |= text.failed;
    sb_free(&text);
}

/* What a constant is, in a few characters: tensors and long texts by their type. */
static void dot_constant(const ir_value *v, strbuf *out) {
    value c;
    strbuf text = STRBUF_INIT;
    if (!ir_value_constant(v, &c)) c = value_none();
    if (c.tag != V_TENSOR) value_print(c, &text);
    if (c.tag == V_TENSOR || text.len > DOT_LABEL_MAX) dot_type(v->type, out);
    else dot_escape(sb_str(&text), text.len, out);
    sb_free(&text);
}

/* The name that attributes give it: prim::GetAttr[weight]. */
static void dot_kind(const node *n, strbuf *out) {
    sb_puts(out, node_kind_text(n));
    const char *name = node_str(n, "name");
    if (!*name) return;
    sb_putc(out, '[');
    dot_escape(name, strlen(name), out);
    sb_putc(out, ']');
}

/* ---- boxes and arrows ------------------------------------------------------------------------ */

static void dot_from(dot_printer *p, size_t n, ir_value *const *values, int box) {
    for (size_t i = 0; i < n; i++)
        if (!ptrmap_put(&p->boxes, values[i], (void *)(intptr_t)(box + 1))) p->out->failed = true;
}

static void dot_arrow(dot_printer *p, const ir_value *v, int to) {
    strbuf *out = p->out;
    intptr_t from = (intptr_t)ptrmap_get(&p->boxes, v);
    if (!from) return;
    sb_printf(out, "  n%d -> n%d [label=\"%%", (int)from - 1, to);
    dot_name(v, out);
    sb_puts(out, " : ");
    dot_type(v->type, out);
    sb_puts(out, "\"];\n");
}

/* The values that a box takes, if constants are among them. */
static void dot_constants(size_t n, ir_value *const *values, strbuf *out) {
    size_t constants = 0;
    for (size_t i = 0; i < n; i++)
        constants += values[i]->def && values[i]->def->kind == N_CONSTANT;
    for (size_t i = 0; i < n && constants; i++) {
        sb_puts(out, i ? ", " : "\\n(");
        if (values[i]->def && values[i]->def->kind == N_CONSTANT) dot_constant(values[i], out);
        else sb_putc(out, '_');
    }
    if (constants) sb_putc(out, ')');
}

/* A box of another kind than a node's, with the values that it takes. */
static int dot_box(dot_printer *p, const char *label, size_t n, ir_value *const *values) {
    int box = p->next++;
    sb_printf(p->out, "  n%d [shape=ellipse, label=\"%s", box, label);
    dot_constants(n, values, p->out);
    sb_puts(p->out, "\"];\n");
    for (size_t i = 0; i < n; i++) dot_arrow(p, values[i], box);
    return box;
}

static void dot_frame(dot_printer *p, const char *label, const char *style) {
    sb_printf(p->out, "  subgraph cluster_%d {\n  label=\"%s\"; %s\n", p->next++, label, style);
}

static void dot_block(dot_printer *p, const block *b);

/* The group's parameters are its inputs, its returns its outputs: arrows cross the frame. */
static void dot_group(dot_printer *p, const node *n, const graph *g) {
    char label[80];
    snprintf(label, sizeof label, "%s_%d", node_kind_text(n), p->next_group++);
    for (size_t i = 0; i < n->inputs.len && i < g->root->params.len; i++) {
        void *from = ptrmap_get(&p->boxes, n->inputs.data[i]);
        if (from) dot_from(p, 1, &g->root->params.data[i], (int)(intptr_t)from - 1);
    }
    dot_frame(p, label, "style=filled; color=lightblue;");
    dot_block(p, g->root);
    sb_puts(p->out, "  }\n");
    for (size_t i = 0; i < n->outputs.len && i < g->root->returns.len; i++) {
        void *from = ptrmap_get(&p->boxes, g->root->returns.data[i]);
        if (from) dot_from(p, 1, &n->outputs.data[i], (int)(intptr_t)from - 1);
    }
}

static void dot_nested(dot_printer *p, const node *n, size_t i) {
    const block *b = n->blocks.data[i];
    char label[80];
    snprintf(label, sizeof label, "%s, block %zu", node_kind_text(n), i);
    dot_frame(p, label, "color=gray;");
    if (b->params.len)
        dot_from(p, b->params.len, b->params.data, dot_box(p, "parameters", 0, NULL));
    dot_block(p, b);
    if (b->returns.len) dot_box(p, "returns", b->returns.len, b->returns.data);
    sb_puts(p->out, "  }\n");
}

static void dot_node(dot_printer *p, const node *n) {
    if (n->kind == N_CONSTANT) return;
    const attr *sub = node_attr(n, "Subgraph");
    bool grouped = sub && sub->kind == ATTR_GRAPH;
    if (grouped && n->kind == N_FUSION_GROUP) {
        dot_group(p, n, sub->u.g);
        return;
    }
    p->next_group += grouped;
    int box = p->next++;
    sb_printf(p->out, "  n%d [label=\"", box);
    dot_kind(n, p->out);
    dot_constants(n->inputs.len, n->inputs.data, p->out);
    sb_puts(p->out, "\"];\n");
    for (size_t i = 0; i < n->inputs.len; i++) dot_arrow(p, n->inputs.data[i], box);
    for (size_t i = 0; i < n->blocks.len; i++) dot_nested(p, n, i);
    dot_from(p, n->outputs.len, n->outputs.data, box);
}

static void dot_block(dot_printer *p, const block *b) {
    if (++p->depth < DOT_DEPTH)
        for (const node *n = b->first; n; n = n->next) dot_node(p, n);
    p->depth--;
}

void graph_dot(const graph *g, strbuf *out) {
    dot_printer p = {.out = out};
    sb_puts(out, "digraph graph_for {\n  node [shape=box, style=filled, fillcolor=white, "
                 "fontname=\"sans-serif\"];\n"
                 "  edge [fontsize=9, fontname=\"sans-serif\"];\n  fontname=\"sans-serif\";\n");
    for (size_t i = 0; i < g->root->params.len; i++) {
        sb_printf(out, "  n%d [shape=ellipse, label=\"%%", p.next);
        dot_name(g->root->params.data[i], out);
        sb_puts(out, "\"];\n");
        dot_from(&p, 1, &g->root->params.data[i], p.next++);
    }
    dot_block(&p, g->root);
    dot_box(&p, "return", g->root->returns.len, g->root->returns.data);
    sb_puts(out, "}\n");
    ptrmap_free(&p.boxes);
}
