/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_print.c - graphs as text, exactly as PyTorch 1.13 writes them.
 *
 *     graph(%x.1 : Tensor,
 *           %n.1 : int):
 *       %2 : int = prim::Constant[value=1]() # net.py:3:12
 *        = prim::If(%c)
 *         block0():
 *           -> ()
 *       %f : Future[Tensor] = prim::fork_0(%x.1)
 *       return (%f)
 *     with prim::fork_0 = graph(%x.1 : Tensor):
 *       ...
 *
 * Nodes that carry a Subgraph are numbered, and their graphs follow. Constants of up to ten
 * elements are written out, larger ones as <Tensor>.
 * Tests: tests/unit/test_graph.c, tests/ir/
 */
#include "ir/graph/graph.h"

#include <ctype.h>

enum { PRINT_TENSOR_MAX = 10, PRINT_DEPTH = 200 };

typedef struct graph_printer {
    const graph_print_options *options;
    strbuf *out;
    VEC(const node *) groups; /* with subgraphs, in order */
    bool group;               /* number nodes with subgraphs */
    int depth;
} graph_printer;

/* ---- values ---------------------------------------------------------------------------------- */

static void print_name(const ir_value *v, strbuf *out) {
    if (value_has_name(v)) sb_printf(out, "%%%s", v->name);
    else sb_printf(out, "%%%d", v->id);
}

static void print_names(size_t n, ir_value *const *vs, strbuf *out) {
    for (size_t i = 0; i < n; i++) {
        if (i) sb_puts(out, ", ");
        print_name(vs[i], out);
    }
}

static void print_definitions(size_t n, ir_value *const *vs, const char *separator, strbuf *out) {
    for (size_t i = 0; i < n; i++) {
        if (i) sb_puts(out, separator);
        print_name(vs[i], out);
        sb_puts(out, " : ");
        type_print(vs[i]->type, out);
    }
}

/* PyTorch computes with a signed char, so that bytes above 127 come out as three odd characters.
 * The parser undoes exactly this. */
static void print_octal(signed char c, strbuf *out) {
    int s = c;
    char buf[4] = "000";
    for (int i = 2; i >= 0; i--, s /= 8) buf[i] = (char)(buf[i] + s % 8);
    sb_putc(out, '\\');
    sb_write(out, buf, 3);
}

static void print_quoted(const char *s, size_t len, strbuf *out) {
    static const char codes[] = "\\\'\"\n\t\a\b\f\r\v", names[] = "\\'\"ntabfrv";
    sb_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        const char *k = s[i] ? strchr(codes, s[i]) : NULL;
        if (k) sb_printf(out, "\\%c", names[k - codes]);
        else if (s[i] >= ' ' && s[i] < 127) sb_putc(out, s[i]);
        else print_octal((signed char)s[i], out);
    }
    sb_putc(out, '"');
}

static void print_one_element(const tensor *t, strbuf *out) {
    dtype dt = (dtype)t->dtype;
    if (dtype_is_float(dt)) sb_printf(out, "{%g}", tensor_item_float(t));
    else sb_printf(out, "{%lld}", (long long)tensor_item_int(t));
}

static void print_tensor(const tensor *t, strbuf *out) {
    if (t->numel == 1 && !dtype_is_complex((dtype)t->dtype)) {
        print_one_element(t, out);
        return;
    }
    if (t->numel > PRINT_TENSOR_MAX) {
        sb_puts(out, "<Tensor>");
        return;
    }
    strbuf text = STRBUF_INIT;
    tensor_print(t, &text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n') text.data[i] = ' ';
    sb_write(out, sb_str(&text), text.len);
    out->failed |= text.failed;
    sb_free(&text);
}

static void print_device(value v, strbuf *out) {
    strbuf text = STRBUF_INIT;
    value_print(v, &text);
    print_quoted(sb_str(&text), text.len, out);
    out->failed |= text.failed;
    sb_free(&text);
}

static void print_repr(graph_printer *p, value v);

/* Elements that do not tell the container's type call for an annotation; so does having none. */
static bool print_is_annotated(size_t len, const type *elem) {
    if (!elem) return false;
    return len == 0 || elem->kind == T_UNION || elem->kind == T_OPTIONAL ||
           elem->kind == T_NUMBER || elem->kind == T_ANY || elem->kind == T_INTERFACE;
}

static void print_list(graph_printer *p, const list *l) {
    if (l->kind == LIST_TENSOR) {
        sb_puts(p->out, "[<Tensors>]");
        return;
    }
    bool annotated = print_is_annotated(l->len, l->elem);
    if (annotated) {
        sb_puts(p->out, "annotate(List[");
        type_print_python(l->elem, p->out);
        sb_puts(p->out, "], ");
    }
    sb_putc(p->out, '[');
    for (size_t i = 0; i < l->len; i++) {
        if (i) sb_puts(p->out, ", ");
        value v = list_get(l, i);
        print_repr(p, v);
        value_unref(v);
    }
    sb_puts(p->out, annotated ? "])" : "]");
}

static void print_tuple(graph_printer *p, const tuple *t) {
    sb_putc(p->out, '(');
    for (size_t i = 0; i < t->len; i++) {
        if (i) sb_puts(p->out, ", ");
        print_repr(p, t->items[i]);
    }
    sb_puts(p->out, t->len == 1 ? ",)" : ")");
}

static void print_dict(graph_printer *p, const dict *d) {
    bool first = true, annotated = d->key_type && print_is_annotated(d->len, d->val_type);
    if (annotated) {
        sb_puts(p->out, "annotate(Dict[");
        type_print_python(d->key_type, p->out);
        sb_puts(p->out, ", ");
        type_print_python(d->val_type, p->out);
        sb_puts(p->out, "],");
    }
    sb_putc(p->out, '{');
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        if (!first) sb_puts(p->out, ", ");
        first = false;
        print_repr(p, d->entries[i].key);
        sb_puts(p->out, ": ");
        print_repr(p, d->entries[i].val);
    }
    sb_puts(p->out, annotated ? "})" : "}");
}

static void print_object(const object *o, strbuf *out) {
    if (o->cls->cls && o->cls->cls->is_module) sb_puts(out, o->cls->cls->name);
    else sb_printf(out, "object(%p)", (const void *)o);
}

/* Python's repr, as far as constants need it. */
static void print_repr(graph_printer *p, value v) {
    if (p->depth >= PRINT_DEPTH) {
        sb_puts(p->out, "...");
        return;
    }
    p->depth++;
    switch ((value_tag)v.tag) {
    case V_BOOL: sb_puts(p->out, v.u.b ? "True" : "False"); break;
    case V_INT: sb_printf(p->out, "%lld", (long long)v.u.i); break;
    case V_FLOAT: print_float(v.u.f, p->out); break;
    case V_STR: print_quoted(v.u.str->bytes, v.u.str->len, p->out); break;
    case V_TENSOR: print_tensor(v.u.tensor, p->out); break;
    case V_LIST: print_list(p, v.u.list); break;
    case V_DICT: print_dict(p, v.u.dict); break;
    case V_TUPLE: print_tuple(p, v.u.tuple); break;
    case V_OBJECT: print_object(v.u.object, p->out); break;
    case V_ENUM: sb_printf(p->out, "%s.%s", v.u.enumv->cls->cls->name, v.u.enumv->name); break;
    case V_DEVICE:
        sb_puts(p->out, "torch.device(");
        print_device(v, p->out);
        sb_putc(p->out, ')');
        break;
    default: value_print(v, p->out); break;
    }
    p->depth--;
}

/* A constant by itself: bools are 0 and 1, devices strings. */
static void print_constant(graph_printer *p, value v) {
    if (v.tag == V_BOOL) {
        sb_putc(p->out, v.u.b ? '1' : '0');
    } else if (v.tag == V_DEVICE) {
        print_device(v, p->out);
    } else {
        print_repr(p, v);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void print_attr(graph_printer *p, const attr *a) {
    strbuf *out = p->out;
    switch (a->kind) {
    case ATTR_INT: sb_printf(out, "%lld", (long long)a->u.i); break;
    case ATTR_FLOAT: print_float(a->u.f, out); break;
    case ATTR_STR: print_quoted(a->u.s, strlen(a->u.s), out); break;
    case ATTR_TYPE: type_print(a->u.t, out); break;
    case ATTR_VALUE: print_constant(p, a->u.v); break;
    case ATTR_GRAPH: sb_puts(out, "<Graph>"); break;
    case ATTR_INTS:
        sb_putc(out, '[');
        for (int i = 0; i < a->u.ints.n; i++)
            sb_printf(out, i ? ", %lld" : "%lld", (long long)a->u.ints.data[i]);
        sb_putc(out, ']');
        break;
    case ATTR_TYPES:
        sb_putc(out, '[');
        for (int i = 0; i < a->u.types.n; i++) {
            if (i) sb_puts(out, ", ");
            type_print(a->u.types.data[i], out);
        }
        sb_putc(out, ']');
        break;
    }
}

/* A function constant shows its name alone. */
static bool attr_is_function(const attr *a) {
    return a->kind == ATTR_VALUE && a->u.v.tag == V_FUNCTION;
}

static void print_attrs(graph_printer *p, const node *n, bool hide_graph) {
    bool first = true;
    for (const attr *a = n->attrs; a; a = a->next) {
        if ((hide_graph && a->kind == ATTR_GRAPH) || attr_is_function(a)) continue;
        sb_puts(p->out, first ? "[" : ", ");
        first = false;
        sb_printf(p->out, "%s=", a->name);
        print_attr(p, a);
    }
    if (!first) sb_putc(p->out, ']');
}

static void print_kind(graph_printer *p, const node *n) {
    sb_puts(p->out, node_kind_text(n));
    const attr *sub = node_attr(n, "Subgraph");
    bool grouped = p->group && sub && sub->kind == ATTR_GRAPH;
    if (grouped) {
        sb_printf(p->out, "_%zu", p->groups.len);
        if (!vec_push(&p->groups, n)) p->out->failed = true;
    }
    if (!grouped || strcmp(node_kind_text(n), "prim::DifferentiableGraph"))
        print_attrs(p, n, grouped);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void print_location(const node *n, strbuf *out) {
    if (!n->range.src || n->range_hidden) return;
    source_range r = source_original(n->range);
    if (!r.src || !r.src->name[0]) return;
    uint32_t line, column;
    source_position(r.src, r.begin, &line, &column);
    sb_printf(out, " # %s:%u:%u", r.src->name, line, column - 1);
}

static void print_node(graph_printer *p, const node *n, int level);

static void print_block(graph_printer *p, const block *b, size_t index, int level) {
    sb_fill(p->out, ' ', 2 * (size_t)(level + 1));
    sb_printf(p->out, "block%zu(", index);
    print_definitions(b->params.len, b->params.data, ", ", p->out);
    sb_puts(p->out, "):\n");
    for (const node *n = b->first; n; n = n->next) print_node(p, n, level + 2);
    sb_fill(p->out, ' ', 2 * (size_t)(level + 2));
    sb_puts(p->out, "-> (");
    print_names(b->returns.len, b->returns.data, p->out);
    sb_puts(p->out, ")\n");
}

static void print_node(graph_printer *p, const node *n, int level) {
    strbuf *out = p->out;
    sb_fill(out, ' ', 2 * (size_t)level);
    print_definitions(n->outputs.len, n->outputs.data, ", ", out);
    sb_puts(out, " = ");
    print_kind(p, n);
    sb_putc(out, '(');
    print_names(n->inputs.len, n->inputs.data, out);
    sb_putc(out, ')');
    if (n->scope) sb_printf(out, ", scope: %s", n->scope);
    if (p->options->locations) print_location(n, out);
    sb_putc(out, '\n');
    for (size_t i = 0; i < n->blocks.len; i++) print_block(p, n->blocks.data[i], i, level);
}

static const graph_print_options print_defaults = {.locations = true};

static void print_graph(const graph *g, const graph_print_options *o, strbuf *out, int depth) {
    graph_printer p = {.options = o, .out = out, .group = true};
    sb_puts(out, "graph(");
    print_definitions(g->root->params.len, g->root->params.data, ",\n      ", out);
    sb_puts(out, "):\n");
    for (const node *n = g->root->first; n; n = n->next) print_node(&p, n, 1);
    sb_puts(out, "  return (");
    print_names(g->root->returns.len, g->root->returns.data, out);
    sb_puts(out, ")\n");
    for (size_t i = 0; i < p.groups.len && depth < PRINT_DEPTH; i++) {
        sb_printf(out, "with %s_%zu = ", node_kind_text(p.groups.data[i]), i);
        print_graph(node_attr(p.groups.data[i], "Subgraph")->u.g, o, out, depth + 1);
    }
    vec_free(&p.groups);
}

void graph_print(const graph *g, const graph_print_options *o, strbuf *out) {
    print_graph(g, o ? o : &print_defaults, out, 0);
}

void node_print(const node *n, const graph_print_options *o, strbuf *out) {
    graph_printer p = {.options = o ? o : &print_defaults, .out = out};
    print_node(&p, n, 0);
    vec_free(&p.groups);
}
