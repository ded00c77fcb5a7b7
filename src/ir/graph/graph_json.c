/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_json.c - graphs as JSON; graph_json.h has the form.
 *
 * Method. One walk in execution order fills a text per list; a value gets its number where it is
 * defined. The body of a fusion group is walked in the group's place, its parameters and returns
 * mapped to the group's inputs and outputs, so that a drawing shows operators in their modules,
 * and a number on those of one kernel. Boxes of calls are found by the call's place below the
 * box around it (passes may leave equal chains of calls that are not the same pointer).
 *
 * Everything a graph says about itself may be hostile: names of any length and bytes, constants of
 * any size. Texts are cut (JSON_NAME, JSON_TEXT), containers that are not small are told by
 * their type.
 * Tests: tests/unit/test_view.c, tests/cli/view.test, tests/view
 */
#include "ir/graph/graph_json.h"

#include "base/text/json.h"
#include "ir/op/op_family.h"

#include <string.h>

enum { JSON_NAME = 1000, JSON_TEXT = 200, JSON_ITEMS = 16, JSON_PATH = 4000 };

/* What a value is known to be: the module, or an attribute of it. */
typedef struct json_known { value v; const char *path; } json_known;

typedef struct json_printer {
    const graph_json_options *options;
    arena arena;
    ptrmap values; /* ir_value -> its number + 1 */
    ptrmap known;  /* ir_value -> json_known */
    ptrmap ops;    /* op -> its number + 1 */
    strmap lines;  /* the bytes of a place -> its number + 1 */
    strmap boxes;  /* parent, place and name of a call -> its number + 1 */
    strbuf op_text, line_text, box_text, value_text, node_text, group_text, control_text;
    size_t nvalues, nnodes, nops, nlines, nboxes, ngroups;
    size_t visited; /* nodes of the graph so far, as graph_number counts */
    int64_t flops;  /* of them */
    bool failed;
} json_printer;

/* The place of a node. */
typedef struct json_place {
    int box;               /* of the block */
    const call_site *base; /* the call that the block's owner came by */
    int group;             /* -1: of no group */
} json_place;

static void json_number(json_printer *p, ptrmap *m, const void *key, size_t number) {
    if (!ptrmap_put(m, key, (void *)(uintptr_t)(number + 1))) p->failed = true;
}

static void json_begin(strbuf *out) { sb_puts(out, out->len ? ",\n{" : "{"); }

/* ---- texts ----------------------------------------------------------------------------------- */

static void json_tensor_text(int dt, int ndim, const int64_t *sizes, strbuf *out) {
    sb_puts(out, dt >= 0 && dtype_valid(dt) ? dtype_table[dt].torch_name : "Tensor");
    if (ndim < 0) return;
    sb_putc(out, '[');
    for (int i = 0; i < ndim; i++) {
        if (i) sb_putc(out, ',');
        if (sizes && sizes[i] >= 0) sb_printf(out, "%lld", (long long)sizes[i]);
        else sb_putc(out, '*');
    }
    sb_putc(out, ']');
}

/* Tensors as arguments of the command are written, "float32[1,3,224,224]", the rest as in Python:
 * "bool[]" is a tensor, "List[bool]" is none. */
static void json_type_text(const type *t, strbuf *out) {
    const tensor_info *i = t->kind == T_TENSOR ? t->tensor : NULL;
    if (i) json_tensor_text(i->dtype, i->ndim, i->sizes, out);
    else type_print_python(t, out);
}

static bool json_is_short(value v) {
    return v.tag < V_COMPLEX || v.tag == V_STR || v.tag == V_COMPLEX;
}

/* What a constant is, in a few characters. */
static void json_value_text(value v, strbuf *out) {
    bool brief = json_is_short(v);
    size_t n = v.tag == V_LIST ? v.u.list->len : v.tag == V_TUPLE ? v.u.tuple->len : 0;
    if (v.tag == V_LIST)
        brief = n <= JSON_ITEMS && v.u.list->kind != LIST_VALUE && v.u.list->kind != LIST_TENSOR;
    if (v.tag == V_TUPLE) {
        brief = n <= JSON_ITEMS;
        for (size_t i = 0; i < n && brief; i++) brief = json_is_short(v.u.tuple->items[i]);
    }
    if (v.tag == V_TENSOR) {
        json_tensor_text(v.u.tensor->dtype, v.u.tensor->ndim, v.u.tensor->sizes, out);
    } else if (v.tag == V_STR) {
        sb_putc(out, '\'');
        sb_write(out, v.u.str->bytes, v.u.str->len < JSON_TEXT ? v.u.str->len : JSON_TEXT);
        sb_puts(out, v.u.str->len < JSON_TEXT ? "'" : "...'");
    } else if (v.tag == V_FUNCTION || v.tag == V_UNINIT) {
        sb_puts(out, v.tag == V_FUNCTION ? "function" : "uninitialized");
    } else if (v.tag == V_OBJECT) {
        sb_puts(out, v.u.object->cls->cls->name);
    } else if (brief || v.tag == V_ENUM) {
        value_print(v, out);
    } else {
        sb_printf(out, n ? "%zu elements" : "...", n);
    }
}

/* Writes ,"key":"text" and empties text. */
static void json_field(json_printer *p, strbuf *out, const char *key, strbuf *text, size_t most) {
    sb_printf(out, ",\"%s\":", key);
    json_clipped(out, sb_str(text), most);
    p->failed |= text->failed;
    sb_free(text);
}

static void json_name_text(const ir_value *v, strbuf *out) {
    if (value_has_name(v)) sb_puts(out, v->name);
    else sb_printf(out, "%d", v->id);
}

/* ---- what values are ------------------------------------------------------------------------- */

static void json_know(json_printer *p, const ir_value *v, value x, const char *path) {
    json_known *k = arena_new(&p->arena, json_known);
    *k = (json_known){x, path};
    if (arena_failed(&p->arena) || !ptrmap_put(&p->known, v, k)) p->failed = true;
}

/* An attribute of what is known. */
static void json_know_attribute(json_printer *p, const node *n) {
    const json_known *of = ptrmap_get(&p->known, n->inputs.data[0]);
    const char *name = node_str(n, "name");
    if (!of || of->v.tag != V_OBJECT || strlen(of->path) + strlen(name) > JSON_PATH) return;
    int slot = class_find_attribute(of->v.u.object->cls, name);
    if (slot < 0 || (size_t)slot >= of->v.u.object->nslots) return;
    const char *path = arena_printf(&p->arena, "%s%s%s", of->path, *of->path ? "." : "", name);
    if (path) json_know(p, n->outputs.data[0], of->v.u.object->slots[slot], path);
    else p->failed = true;
}

static void json_define(json_printer *p, const ir_value *v) {
    strbuf *out = &p->value_text, text = STRBUF_INIT;
    const json_known *k = ptrmap_get(&p->known, v);
    value c;
    json_begin(out);
    sb_puts(out, "\"name\":");
    json_name_text(v, &text);
    json_clipped(out, sb_str(&text), JSON_NAME);
    sb_free(&text);
    if (k && k->v.tag == V_TENSOR) json_value_text(k->v, &text);
    else json_type_text(v->type, &text);
    json_field(p, out, "type", &text, JSON_TEXT);
    const char *declared = p->options->declared ? strmap_get(p->options->declared, v->name) : NULL;
    if (declared) {
        sb_puts(&text, declared);
        json_field(p, out, "declared", &text, JSON_TEXT);
    }
    if (v->def && v->def->kind == N_CONSTANT) {
        if (!ir_value_constant(v, &c)) c = value_none();
        json_value_text(c, &text);
        json_field(p, out, "text", &text, JSON_TEXT);
    } else if (k && *k->path) {
        if (k->v.tag != V_TENSOR && k->v.tag != V_OBJECT) {
            json_value_text(k->v, &text);
            json_field(p, out, "text", &text, JSON_TEXT);
        }
        sb_puts(&text, k->path);
        json_field(p, out, "parameter", &text, JSON_NAME);
    }
    sb_putc(out, '}');
    json_number(p, &p->values, v, p->nvalues++);
}

/* ---- operators, lines, boxes ----------------------------------------------------------------- */

static size_t json_op(json_printer *p, const op *o) {
    size_t known = (size_t)(uintptr_t)ptrmap_get(&p->ops, o);
    if (known) return known - 1;
    strbuf *out = &p->op_text, text = STRBUF_INIT;
    json_begin(out);
    sb_puts(out, "\"key\":");
    json_clipped(out, o->key, JSON_NAME);
    schema_print(o->schema, &text);
    json_field(p, out, "schema", &text, JSON_NAME);
    sb_printf(out, ",\"family\":\"%s\",\"args\":[", op_family(o));
    for (int i = 0; i < o->schema->nargs; i++) {
        if (i) sb_putc(out, ',');
        json_clipped(out, o->schema->args[i].name, JSON_NAME);
    }
    sb_puts(out, "]}");
    json_number(p, &p->ops, o, p->nops);
    return p->nops++;
}

/* The number of the line that r begins in, as a person wrote it; -1: none. */
static int json_line(json_printer *p, source_range r) {
    r = source_original(r);
    if (!r.src || !r.src->name[0]) return -1;
    struct { const source *src; uint64_t begin; } key = {r.src, r.begin};
    size_t known = (size_t)(uintptr_t)strmap_getn(&p->lines, (const char *)&key, sizeof key);
    if (known) return (int)known - 1;
    uint32_t line, column;
    source_position(r.src, r.begin, &line, &column);
    size_t from = r.begin < r.src->len ? r.begin : r.src->len, to = from;
    while (from && r.src->text[from - 1] != '\n') from--;
    while (to < r.src->len && r.src->text[to] != '\n') to++;
    while (from < to && (r.src->text[from] == ' ' || r.src->text[from] == '\t')) from++;
    strbuf text = STRBUF_INIT;
    sb_write(&text, r.src->text + from, to - from < JSON_TEXT ? to - from : JSON_TEXT);
    json_begin(&p->line_text);
    sb_puts(&p->line_text, "\"file\":");
    json_clipped(&p->line_text, r.src->name, JSON_NAME);
    sb_printf(&p->line_text, ",\"line\":%u,\"column\":%u", line, column);
    json_field(p, &p->line_text, "text", &text, JSON_TEXT);
    sb_putc(&p->line_text, '}');
    void *own = arena_alloc(&p->arena, sizeof key);
    if (own) memcpy(own, &key, sizeof key);
    if (!own || !strmap_putn(&p->lines, own, sizeof key, (void *)(uintptr_t)(p->nlines + 1)))
        p->failed = true;
    return (int)p->nlines++;
}

/* name, class: may be NULL. */
static int json_box_new(json_printer *p, int parent, const char *kind, const char *name,
                        const char *class_name) {
    strbuf *out = &p->box_text;
    json_begin(out);
    sb_printf(out, "\"parent\":%d,\"kind\":\"%s\",\"name\":", parent, kind);
    json_clipped(out, name ? name : "", JSON_NAME);
    if (class_name) {
        sb_puts(out, ",\"class\":");
        json_clipped(out, class_name, JSON_NAME);
    }
    sb_putc(out, '}');
    return (int)p->nboxes++;
}

/* Calls that make no box: of a module's own methods, and of functions that come with torch. */
static bool json_is_transparent(const call_site *c) {
    if (c->path) return !*c->path;
    return strncmp(c->callee, "__torch__.", 10) || !strncmp(c->callee, "__torch__.torch.", 16);
}

/* The box that the call made: below that of the block at, whose owner came by at->base. */
static int json_box_of(json_printer *p, const json_place *at, const call_site *call) {
    if (!call || call == at->base) return at->box;
    int parent = json_box_of(p, at, call->caller);
    if (json_is_transparent(call)) return parent;
    char *key = arena_printf(&p->arena, "%d %p %u %s %s", parent, (const void *)call->range.src,
                             call->range.begin, call->path ? call->path : "", call->callee);
    size_t known = key ? (size_t)(uintptr_t)strmap_get(&p->boxes, key) : 0;
    if (known) return (int)known - 1;
    if (!key || !strmap_put(&p->boxes, key, (void *)(uintptr_t)(p->nboxes + 1))) p->failed = true;
    /* "__torch__.nets.Block.forward": the class is the part before the method */
    const char *dot = strrchr(call->callee, '.');
    char *class_name = arena_strndup(&p->arena, call->callee,
                                     dot && call->path ? (size_t)(dot - call->callee)
                                                       : strlen(call->callee));
    return json_box_new(p, parent, call->path ? "module" : "function", call->path, class_name);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool json_is_number(const type *t) {
    switch (t->kind) {
    case T_INT:
    case T_FLOAT:
    case T_BOOL:
    case T_STR:
    case T_COMPLEX:
    case T_NONE:
    case T_NUMBER:
    case T_DEVICE:
    case T_QSCHEME: return true;
    case T_LIST:
    case T_OPTIONAL:
    case T_TUPLE:
        for (int i = 0; i < t->nelems; i++)
            if (!json_is_number(t->elems[i])) return false;
        return t->nelems > 0;
    default: return false;
    }
}

/* Why a drawing may leave the node out; NULL: it may not. */
static const char *json_hide(const node *n) {
    switch (n->kind) {
    case N_CONSTANT:
    case N_GET_ATTR:
    case N_UNINITIALIZED: return "constant";
    case N_LIST_CONSTRUCT:
    case N_LIST_UNPACK:
    case N_TUPLE_CONSTRUCT:
    case N_TUPLE_UNPACK:
    case N_TUPLE_INDEX:
    case N_TUPLE_SLICE:
    case N_DICT_CONSTRUCT:
    case N_UNCHECKED_CAST: return "carrier";
    case N_OP:
    case N_ISINSTANCE: break;
    default: return NULL;
    }
    if (node_is_op(n, SYM_PRIM_NUMTOTENSOR)) return "number";
    if (!n->outputs.len || n->blocks.len || node_has_side_effects(n)) return NULL;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!json_is_number(n->outputs.data[i]->type)) return NULL;
    return "number";
}

static void json_values(json_printer *p, const char *key, size_t n, ir_value *const *values) {
    strbuf *out = &p->node_text;
    bool first = true;
    sb_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        size_t number = (size_t)(uintptr_t)ptrmap_get(&p->values, values[i]);
        if (!number) continue;
        sb_printf(out, "%s%zu", first ? "" : ",", number - 1);
        first = false;
    }
    sb_putc(out, ']');
}

static void json_attribute(json_printer *p, const attr *a) {
    strbuf text = STRBUF_INIT;
    switch (a->kind) {
    case ATTR_INT: sb_printf(&text, "%lld", (long long)a->u.i); break;
    case ATTR_FLOAT: print_float(a->u.f, &text); break;
    case ATTR_STR: sb_puts(&text, a->u.s); break;
    case ATTR_TYPE: json_type_text(a->u.t, &text); break;
    case ATTR_TYPES: sb_printf(&text, "%d types", a->u.types.n); break;
    case ATTR_VALUE: json_value_text(a->u.v, &text); break;
    case ATTR_GRAPH: sb_puts(&text, "graph"); break;
    case ATTR_INTS:
        for (int i = 0; i < a->u.ints.n && i < JSON_ITEMS; i++)
            sb_printf(&text, i ? ", %lld" : "%lld", (long long)a->u.ints.data[i]);
        if (a->u.ints.n > JSON_ITEMS) sb_puts(&text, ", ...");
        break;
    }
    json_clipped(&p->node_text, a->name, JSON_NAME);
    sb_putc(&p->node_text, ':');
    json_clipped(&p->node_text, sb_str(&text), JSON_TEXT);
    p->failed |= text.failed;
    sb_free(&text);
}

static void json_attributes(json_printer *p, const node *n) {
    if (!n->attrs) return;
    sb_puts(&p->node_text, ",\"attributes\":{");
    for (const attr *a = n->attrs; a; a = a->next) {
        if (a != n->attrs) sb_putc(&p->node_text, ',');
        json_attribute(p, a);
    }
    sb_putc(&p->node_text, '}');
}

static void json_us(strbuf *out, int64_t ns) {
    sb_printf(out, ",\"us\":%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
}

static int64_t json_ns(const json_printer *p, size_t number) {
    return p->options->ns && number < p->options->nns ? p->options->ns[number] : -1;
}

/* Of what is counted. */
static void json_flops(json_printer *p, size_t number) {
    int64_t flops = number < p->options->nflops ? p->options->flops[number] : 0;
    if (flops < 0) sb_puts(&p->node_text, ",\"flops\":null");
    if (flops <= 0) return;
    sb_printf(&p->node_text, ",\"flops\":%lld", (long long)flops);
    if (__builtin_add_overflow(p->flops, flops, &p->flops)) p->flops = INT64_MAX;
}

/* The first half of any node; json_values and '}' end it. */
static size_t json_node_begin(json_printer *p, const char *kind, int box, const char *role) {
    json_begin(&p->node_text);
    sb_puts(&p->node_text, "\"kind\":");
    json_clipped(&p->node_text, kind, JSON_NAME);
    sb_printf(&p->node_text, ",\"box\":%d", box);
    if (role) sb_printf(&p->node_text, ",\"role\":\"%s\"", role);
    return p->nnodes++;
}

/* A node that the graph has not: parameters or returns of something. */
static size_t json_pseudo(json_printer *p, const char *kind, int box, const char *role, size_t nin,
                          ir_value *const *in, size_t nout, ir_value *const *out) {
    for (size_t i = 0; i < nout; i++) json_define(p, out[i]);
    size_t number = json_node_begin(p, kind, box, role);
    json_values(p, "in", nin, in);
    json_values(p, "out", nout, out);
    sb_putc(&p->node_text, '}');
    return number;
}

static void json_control(json_printer *p, size_t from, size_t to) {
    sb_printf(&p->control_text, "%s[%zu,%zu]", p->control_text.len ? "," : "", from, to);
}

/* box: of the owner, for a node with blocks; its outputs come later then. */
static size_t json_node(json_printer *p, const node *n, const json_place *at, int box) {
    const char *hide = json_hide(n);
    if (n->kind == N_GET_ATTR) json_know_attribute(p, n);
    size_t nout = n->blocks.len ? 0 : n->outputs.len;
    for (size_t i = 0; i < nout; i++) json_define(p, n->outputs.data[i]);
    int line = json_line(p, n->range);
    const op *o = n->op;
    size_t op_number = o && o->schema ? json_op(p, o) : 0;
    size_t number = json_node_begin(p, node_kind_text(n), box, NULL);
    strbuf *out = &p->node_text;
    if (o && o->schema) sb_printf(out, ",\"op\":%zu", op_number);
    if (line >= 0) sb_printf(out, ",\"at\":%d", line);
    if (hide) sb_printf(out, ",\"hide\":\"%s\"", hide);
    if (at->group >= 0) sb_printf(out, ",\"group\":%d", at->group);
    if (n->scope) {
        sb_puts(out, ",\"scope\":");
        json_clipped(out, n->scope, JSON_NAME);
    }
    int64_t ns = json_ns(p, p->visited);
    if (ns >= 0) json_us(out, ns);
    json_flops(p, p->visited);
    if (n->kind != N_CONSTANT) json_attributes(p, n);
    json_values(p, "in", n->inputs.len, n->inputs.data);
    json_values(p, "out", nout, n->outputs.data);
    sb_putc(out, '}');
    return number;
}

static void json_block(json_printer *p, const block *b, const json_place *at);

/* prim::If, prim::Loop and the like: a box with the node itself, a box per block, and a
 * node that has the results. */
static void json_nested(json_printer *p, const node *n, const json_place *at) {
    static const char *const branches[] = {"then", "else"};
    int around = json_box_of(p, at, n->call);
    int box = json_box_new(p, around, "node", node_kind_text(n), NULL);
    size_t begin = json_node(p, n, at, box), ends[2] = {0, 0};
    size_t nends = 0;
    p->visited++;
    for (size_t i = 0; i < n->blocks.len; i++) {
        const block *b = n->blocks.data[i];
        bool branch = n->kind == N_IF && i < 2;
        int inner = json_box_new(p, box, "block", branch ? branches[i] : "body", NULL);
        json_place place = {.box = inner, .base = n->call, .group = at->group};
        size_t first = json_pseudo(p, "begin", inner, "begin", 0, NULL, b->params.len,
                                   b->params.data);
        json_control(p, begin, first);
        json_block(p, b, &place);
        size_t last = json_pseudo(p, "end", inner, "end", b->returns.len, b->returns.data, 0, NULL);
        if (!b->first) json_control(p, first, last);
        if (nends < 2) ends[nends++] = last;
    }
    size_t join = json_pseudo(p, node_kind_text(n), box, "join", 0, NULL, n->outputs.len,
                              n->outputs.data);
    for (size_t i = 0; i < nends; i++) json_control(p, ends[i], join);
}

static void json_group(json_printer *p, const node *n, const graph *body, const json_place *at) {
    json_place inner = *at;
    inner.group = (int)p->ngroups++;
    json_begin(&p->group_text);
    sb_printf(&p->group_text, "\"node\":\"%s_%d\"", node_kind_text(n), inner.group);
    int64_t ns = json_ns(p, p->visited);
    if (ns >= 0) json_us(&p->group_text, ns);
    sb_putc(&p->group_text, '}');
    p->visited++;
    for (size_t i = 0; i < n->inputs.len && i < body->root->params.len; i++) {
        void *number = ptrmap_get(&p->values, n->inputs.data[i]);
        if (number && !ptrmap_put(&p->values, body->root->params.data[i], number)) p->failed = true;
    }
    json_block(p, body->root, &inner);
    for (size_t i = 0; i < n->outputs.len && i < body->root->returns.len; i++) {
        void *number = ptrmap_get(&p->values, body->root->returns.data[i]);
        if (number && !ptrmap_put(&p->values, n->outputs.data[i], number)) p->failed = true;
    }
}

static void json_block(json_printer *p, const block *b, const json_place *at) {
    for (const node *n = b->first; n && !p->failed; n = n->next) {
        const attr *sub = node_attr(n, "Subgraph");
        if (n->kind == N_FUSION_GROUP && sub && sub->kind == ATTR_GRAPH) {
            json_group(p, n, sub->u.g, at);
        } else if (n->blocks.len) {
            json_nested(p, n, at);
        } else {
            json_node(p, n, at, json_box_of(p, at, n->call));
            p->visited++;
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void json_list(json_printer *p, strbuf *out, const char *key, strbuf *list, bool last) {
    sb_printf(out, "\"%s\":[", key);
    sb_write(out, sb_str(list), list->len);
    sb_puts(out, last ? "]" : "],\n");
    p->failed |= list->failed;
    sb_free(list);
}

static void json_root(json_printer *p, const graph *g) {
    const block *b = g->root;
    const object *self = p->options->self;
    json_place place = {.box = 0, .base = NULL, .group = -1};
    json_box_new(p, -1, "module", "", self ? self->cls->cls->name : "");
    for (size_t i = 0; i < b->params.len; i++) {
        if (i == 0 && self && b->params.data[0]->type->kind == T_CLASS)
            json_know(p, b->params.data[0],
                      (value){.tag = V_OBJECT, .u.object = (object *)(uintptr_t)self}, "");
        json_pseudo(p, "input", 0, "input", 0, NULL, 1, &b->params.data[i]);
    }
    json_block(p, b, &place);
    json_pseudo(p, "output", 0, "output", b->returns.len, b->returns.data, 0, NULL);
}

void graph_json(const graph *g, const graph_json_options *o, strbuf *out) {
    static const graph_json_options nothing = {0};
    json_printer p = {.options = o ? o : &nothing};
    if (!arena_init(&p.arena)) {
        out->failed = true;
        return;
    }
    json_root(&p, g);
    sb_putc(out, '{');
    json_list(&p, out, "ops", &p.op_text, false);
    json_list(&p, out, "lines", &p.line_text, false);
    json_list(&p, out, "boxes", &p.box_text, false);
    json_list(&p, out, "values", &p.value_text, false);
    json_list(&p, out, "nodes", &p.node_text, false);
    json_list(&p, out, "groups", &p.group_text, false);
    json_list(&p, out, "control", &p.control_text, true);
    if (p.options->ns) json_us(out, p.options->total_ns);
    if (p.options->flops) sb_printf(out, ",\"flops\":%lld", (long long)p.flops);
    sb_putc(out, '}');
    out->failed |= p.failed || arena_failed(&p.arena);
    ptrmap_free(&p.values);
    ptrmap_free(&p.known);
    ptrmap_free(&p.ops);
    strmap_free(&p.lines);
    strmap_free(&p.boxes);
    arena_free(&p.arena);
}

static void number_block(const block *b, void (*visit)(void *ctx, node *n, size_t number),
                         void *ctx, size_t *next) {
    for (node *n = b->first; n; n = n->next) {
        const attr *sub = node_attr(n, "Subgraph");
        visit(ctx, n, (*next)++);
        if (n->kind == N_FUSION_GROUP && sub && sub->kind == ATTR_GRAPH)
            number_block(sub->u.g->root, visit, ctx, next);
        for (size_t i = 0; i < n->blocks.len; i++)
            number_block(n->blocks.data[i], visit, ctx, next);
    }
}

void graph_number(const graph *g, void (*visit)(void *ctx, node *n, size_t number), void *ctx) {
    size_t next = 0;
    number_block(g->root, visit, ctx, &next);
}
