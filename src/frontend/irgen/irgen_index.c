/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_index.c - subscripts: x[...] read, assigned and augmented.
 *
 * Method. A tensor's index is analysed first: indices before an ellipsis count
 * dimensions from the start, those after it from the end (of what the indices to their
 * right leave). Then selects, slices and unsqueezes are emitted from left to right,
 * and index tensors are gathered for one aten::index or aten::index_put_ at the end.
 *     x[i, 1:, None, mask]:  select(x, 0, i); slice(., 0, 1); unsqueeze(., 1); index(., [None, None, mask])
 * Assignments write through the view that reading would make.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen.h"

enum { INDEX_MAX = 64 };

/* One index of a tensor, evaluated. */
typedef enum index_kind {
    INDEX_ELLIPSIS,
    INDEX_SLICE,
    INDEX_NONE,
    INDEX_INT,
    INDEX_TENSOR
} index_kind;
typedef struct index_item {
    index_kind kind;
    ir_value *value;    /* INT, TENSOR */
    ir_value *bound[3]; /* SLICE: start, stop, step; NULL: left out */
    const expr *slice;  /* SLICE as syntax: bounds not evaluated yet */
    int64_t dim;
} index_item;

typedef struct index_list { int n; index_item items[INDEX_MAX]; } index_list;

static ir_value *index_fail_type(emitter *e, source_range r, const char *before, const type *t,
                                 const char *after) {
    strbuf sb = STRBUF_INIT;
    type_print_python(t, &sb);
    irgen_fail(e, r, "%s%s%s", before, sb_str(&sb), after);
    sb_free(&sb);
    return NULL;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static bool index_bounds(emitter *e, const expr *s, ir_value **bound) {
    const expr *parts[] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++) {
        bound[i] = parts[i] ? irgen_expr(e, parts[i], NULL) : NULL;
        if (parts[i] && !bound[i]) return false;
    }
    if (bound[2] && bound[2]->type->kind == T_NONE) bound[2] = NULL;
    return true;
}

/* dim NULL: of a list or string */
static ir_value *index_slice(emitter *e, source_range r, ir_value *base, ir_value *dim,
                             ir_value *const *bound) {
    ir_value *args[5];
    int n = 0;
    e->g->range = r;
    args[n++] = base;
    if (dim) args[n++] = dim;
    for (int i = 0; i < 2; i++) args[n++] = bound[i] ? bound[i] : graph_constant_none(e->g);
    args[n++] = bound[2] ? bound[2] : irgen_constant_take(e, value_int(1), NULL);
    return irgen_builtin_values(e, r, "aten::slice", n, args);
}

static bool index_constant(const ir_value *v, int64_t *out) {
    value c = value_none();
    if (!v || !ir_value_constant(v, &c) || c.tag != V_INT) return false;
    *out = c.u.i;
    return true;
}

/* What is known while compiling, too, where more than PyTorch does is wanted. */
static bool index_known(const emitter *e, const ir_value *v, int64_t *out) {
    return e->lenient ? irgen_known_int(e, v, 0, out) : index_constant(v, out);
}

/* A bound of a tuple's slice by Python's rules, within [low, high]. */
static int64_t index_clamp(int64_t i, int64_t n, int64_t low, int64_t high) {
    if (i < 0) i = i < -n ? -1 : i + n;
    return i < low ? low : i > high ? high : i;
}

static ir_value *index_tuple_element(emitter *e, ir_value *tuple, int64_t i) {
    ir_value *in[] = {tuple, irgen_hidden_int(e, i)};
    node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
    n->outputs.data[0]->type = tuple->type->elems[i];
    return n->outputs.data[0];
}

static ir_value *index_tuple_slice(emitter *e, source_range r, ir_value *tuple,
                                   ir_value *const *bound) {
    int64_t n = tuple->type->nelems, step = 1, start, stop;
    for (int i = 0; i < 3; i++) {
        int64_t ignored;
        if (bound[i] && bound[i]->type->kind != T_NONE && !index_known(e, bound[i], &ignored))
            return irgen_fail(e, r,
                              "a tuple can be sliced by integer literals only, so that the "
                              "result's type is known");
    }
    if (bound[2]) index_known(e, bound[2], &step);
    if (step == 0) return irgen_fail(e, r, "slice step cannot be zero");
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    start = bound[0] && index_known(e, bound[0], &start) ? index_clamp(start, n, low, high)
            : step < 0                                   ? n - 1
                                                         : 0;
    stop = bound[1] && index_known(e, bound[1], &stop) ? index_clamp(stop, n, low, high)
           : step < 0                                  ? -1
                                                       : n;
    ir_value **parts = arena_array(e->scratch, ir_value *, n + 1);
    if (!parts) return diag_no_memory(e->diag), NULL;
    int count = 0;
    e->g->range = r;
    for (int64_t i = start; step < 0 ? i > stop : i < stop; i += step) {
        parts[count++] = index_tuple_element(e, tuple, i);
        if (step > n || step < -n) break; /* the next one is outside, and i + step might overflow */
    }
    return irgen_tuple(e, r, NULL, count, parts);
}

static ir_value *index_sequence_slice(emitter *e, source_range r, ir_value *base,
                                      ir_value *const *bound) {
    if (base->type->kind == T_TUPLE) return index_tuple_slice(e, r, base, bound);
    return index_slice(e, r, base, NULL, bound);
}

/* ---- tensors: analysing an index ------------------------------------------------------------- */

static index_item *index_add(emitter *e, source_range r, index_list *l, index_kind kind) {
    if (l->n == INDEX_MAX) {
        irgen_fail(e, r, "too many indices for a tensor");
        return NULL;
    }
    index_item *it = &l->items[l->n++];
    *it = (index_item){.kind = kind};
    return it;
}

static bool index_add_value(emitter *e, source_range r, index_list *l, ir_value *v) {
    type *t = v->type;
    index_item *it;
    if (t->kind == T_TUPLE) { /* x[t] is x[t[0], t[1], ...] */
        ir_value **parts;
        int n = 0;
        if (!irgen_unpack(e, r, v, 0, &parts, &n)) return false;
        for (int i = 0; i < n; i++)
            if (!index_add_value(e, r, l, parts[i])) return false;
        return true;
    }
    if (t->kind == T_LIST) { /* a list selects as the tensor of it does */
        source_range place = e->g->range;
        e->g->range = (source_range){0};
        actual args[] = {{NULL, v, {0}},
                         {"dtype", irgen_constant_take(e, value_int(4), NULL), {0}}};
        v = irgen_builtin(e, (source_range){0}, "aten::tensor", 2, args);
        e->g->range = place;
        if (!v) return diag_locate(e->diag, r), false;
        t = v->type;
    }
    if (t->kind == T_NONE) return index_add(e, r, l, INDEX_NONE) != NULL;
    bool tensor = t->kind == T_TENSOR || (t->kind == T_OPTIONAL && type_elem(t)->kind == T_TENSOR);
    if (t->kind != T_INT && !tensor)
        return index_fail_type(
                   e, r, "Unsupported operation: indexing tensor with unsupported index type '", t,
                   "'. Only ints, slices, lists and tensors are supported"),
               false;
    it = index_add(e, r, l, tensor ? INDEX_TENSOR : INDEX_INT);
    if (it) it->value = v;
    return it != NULL;
}

static bool index_add_expr(emitter *e, source_range r, index_list *l, const expr *x) {
    index_item *it;
    if (x->kind == E_ELLIPSIS) return index_add(e, r, l, INDEX_ELLIPSIS) != NULL;
    if (x->kind == E_SLICE) {
        it = index_add(e, r, l, INDEX_SLICE);
        if (it) it->slice = x;
        return it != NULL;
    }
    sugar *s = irgen_sugar(e, x, NULL);
    if (!s) return false;
    if (s->kind == SUGAR_SLICE) {
        it = index_add(e, r, l, INDEX_SLICE);
        if (it) it->bound[0] = s->start, it->bound[1] = s->length, it->bound[2] = s->step;
        return it != NULL;
    }
    ir_value *v = irgen_as_value(e, x->range, s);
    return v && index_add_value(e, r, l, v);
}

/* Which dimension each index applies to. Negative ones count from the end, after an ellipsis. */
static bool index_dimensions(emitter *e, source_range r, index_list *l) {
    int i = 0;
    int64_t dim = 0;
    for (; i < l->n && l->items[i].kind != INDEX_ELLIPSIS; i++) {
        l->items[i].dim = dim;
        if (l->items[i].kind != INDEX_INT) dim++;
    }
    dim = -1;
    for (int k = l->n - 1; k > i; k--) {
        index_item *it = &l->items[k];
        it->dim = dim;
        if (it->kind == INDEX_ELLIPSIS || it->kind == INDEX_TENSOR) {
            irgen_fail(e, r,
                       it->kind == INDEX_TENSOR
                           ? "Ellipses followed by tensor indexing is currently not supported"
                           : "An index can only have a single ellipsis ('...')");
            return false;
        }
        if (it->kind != INDEX_NONE) dim--;
    }
    return true;
}

static ir_value *index_apply(emitter *e, source_range r, ir_value *v, index_item *it) {
    e->g->range = r;
    if (it->kind == INDEX_SLICE) {
        ir_value *dim = irgen_hidden_int(e, it->dim);
        if (it->slice && !index_bounds(e, it->slice, it->bound)) return NULL;
        return index_slice(e, r, v, dim, it->bound);
    }
    ir_value *args[] = {v, irgen_constant_take(e, value_int(it->dim), NULL), it->value};
    if (it->kind == INDEX_NONE) return irgen_builtin_values(e, r, "aten::unsqueeze", 2, args);
    return irgen_builtin_values(e, r, "aten::select", 3, args);
}

/* Index tensors by dimension, None where there is none: what aten::index takes. */
typedef struct index_tensors { int n; ir_value *at[INDEX_MAX]; } index_tensors;

static ir_value *index_tensor_list(emitter *e, source_range r, index_tensors *t) {
    return irgen_list(e, r, type_optional(TYPE_TENSOR), t->n, t->at);
}

/* Emits the part of x[items] that makes views, and gathers index tensors. NULL: failed. */
static ir_value *index_views(emitter *e, source_range r, ir_value *v, const expr_list *items,
                             index_tensors *tensors) {
    index_list *l = arena_new(e->scratch, index_list);
    *tensors = (index_tensors){0};
    for (size_t i = 0; i < items->len; i++)
        if (!index_add_expr(e, r, l, items->data[i])) return NULL;
    if (!index_dimensions(e, r, l)) return NULL;
    for (int i = 0; i < l->n; i++) {
        index_item *it = &l->items[i];
        if (it->kind == INDEX_ELLIPSIS) continue;
        if (it->kind == INDEX_TENSOR) {
            tensors->at[it->dim] = it->value;
            tensors->n = (int)it->dim + 1;
        } else if (!(v = index_apply(e, r, v, it))) {
            return NULL;
        }
    }
    for (int i = 0; i < tensors->n; i++)
        if (!tensors->at[i]) tensors->at[i] = graph_constant_none(e->g);
    return v;
}

static ir_value *index_tensor(emitter *e, source_range r, ir_value *base, const expr_list *items) {
    index_tensors tensors;
    ir_value *v = index_views(e, r, base, items, &tensors);
    if (!v || !tensors.n) return v;
    ir_value *args[] = {v, index_tensor_list(e, r, &tensors)};
    return irgen_builtin_values(e, r, "aten::index", 2, args);
}

/* ---- modules --------------------------------------------------------------------------------- */

static sugar *index_module_key(emitter *e, source_range r, ir_value *base,
                               const module_container *m, ir_value *key) {
    value c = value_none();
    if (!ir_value_constant(key, &c) || c.tag != V_STR) {
        irgen_fail(e, r,
                   "Unable to extract string literal index. ModuleDict indexing is only supported "
                   "with string "
                   "literals. Enumeration of ModuleDict is supported, e.g. 'for k, v in "
                   "self.items(): ...'");
        return NULL;
    }
    for (size_t i = 0; i < m->nkeys; i++)
        if (!strcmp(m->keys[i], c.u.str->bytes))
            return irgen_attribute(e, r, sugar_of_value(e, base), m->keys[i]);
    irgen_fail(e, r, "Key Error, %s", c.u.str->bytes);
    suggestion close = {.wanted = c.u.str->bytes};
    strbuf keys = STRBUF_INIT;
    for (size_t i = 0; i < m->nkeys; i++) {
        suggest_try(&close, m->keys[i]);
        if (i < 10) sb_printf(&keys, "%s'%s'", i ? ", " : "", m->keys[i]);
    }
    if (close.best) suggest_note(e->diag, &close);
    else if (m->nkeys)
        diag_note(e->diag, (source_range){0}, "its keys are %s%s", sb_str(&keys),
                  m->nkeys > 10 ? ", ..." : "");
    sb_free(&keys);
    return NULL;
}

static bool index_stores(const node *n, const char *name);

static bool index_stores_in(const block *b, const char *name) {
    for (const node *n = b->first; n; n = n->next)
        if (index_stores(n, name)) return true;
    return false;
}

/* Does n, or a block in it, assign the variable? */
static bool index_stores(const node *n, const char *name) {
    if (n->kind == N_STORE && !strcmp(node_str(n, "name"), name)) return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        if (index_stores_in(n->blocks.data[i], name)) return true;
    return false;
}

/* What node n of block b, or the last before it in a straight line that assigns the variable,
 * stores there; NULL: not known. */
static const ir_value *index_stored(const node *n, const block *b, const char *name) {
    for (;;) {
        for (; n; n = n->prev)
            if (index_stores(n, name)) return n->kind == N_STORE ? n->inputs.data[0] : NULL;
        const node *parent = b ? b->parent : NULL;
        if (!parent || parent->kind != N_IF) return NULL;
        n = parent->prev;
        b = parent->owner;
    }
}

/* i + 1, i - 1, i * n */
static bool index_sum(const emitter *e, const node *n, int depth, int64_t *out) {
    bool add = node_is_op(n, SYM_ADD), sub = node_is_op(n, SYM_SUB);
    int64_t a, b;
    if ((!add && !sub && !node_is_op(n, SYM_MUL)) || n->inputs.len != 2 ||
        !irgen_known_int(e, n->inputs.data[0], depth + 1, &a) ||
        !irgen_known_int(e, n->inputs.data[1], depth + 1, &b))
        return false;
    return add   ? !__builtin_add_overflow(a, b, out)
           : sub ? !__builtin_sub_overflow(a, b, out)
                 : !__builtin_mul_overflow(a, b, out);
}

/* self.n that no method assigns */
static bool index_attribute(const emitter *e, const node *n, int64_t *out) {
    const ir_value *self = n->inputs.data[0];
    return e->lenient && e->scope && self->owner == e->g->root && !self->def && e->fn &&
           self->type == e->fn->cls &&
           e->scope->ops->static_int((emitter *)e, node_str(n, "name"), out);
}

/* What the Load v reads: the value that the variable was last assigned in a straight line before;
 * NULL: not known, or no Load. */
static const ir_value *index_loaded(const ir_value *v) {
    if (!v->def || v->def->kind != N_LOAD) return NULL;
    return index_stored(v->def->prev, v->def->owner, node_str(v->def, "name"));
}

/* t[i], t.name of a tuple whose making is known */
static bool index_element(const emitter *e, const node *n, int depth, int64_t *out) {
    const ir_value *t = n->inputs.data[0], *stored;
    int64_t i;
    value c;
    for (; (stored = index_loaded(t)) && depth <= PARSE_MAX_DEPTH; depth++) t = stored;
    if (!index_constant(n->inputs.data[1], &i) || t->type->kind != T_TUPLE ||
        i < -t->type->nelems || i >= t->type->nelems)
        return false;
    if (i < 0) i += t->type->nelems;
    if (t->def && t->def->kind == N_TUPLE_CONSTRUCT)
        return irgen_known_int(e, t->def->inputs.data[i], depth + 1, out);
    if (!ir_value_constant(t, &c) || c.tag != V_TUPLE || c.u.tuple->items[i].tag != V_INT)
        return false;
    *out = c.u.tuple->items[i].u.i;
    return true;
}

/* The constant that v is: an unrolled loop's counter, sums of it, a part of a tuple. */
bool irgen_known_int(const emitter *e, const ir_value *v, int depth, int64_t *out) {
    if (index_constant(v, out)) return true;
    if (!v->def || depth > PARSE_MAX_DEPTH) return false;
    switch (v->def->kind) {
    case N_OP: return index_sum(e, v->def, depth, out);
    case N_GET_ATTR: return index_attribute(e, v->def, out);
    case N_TUPLE_INDEX: return index_element(e, v->def, depth, out);
    default: break;
    }
    const ir_value *stored = index_loaded(v);
    return stored && irgen_known_int(e, stored, depth + 1, out);
}

bool irgen_known_variable(const emitter *e, const char *name, value *out) {
    const variable *v = irgen_find_variable(e, name);
    e = irgen_variable_home(e, name);
    const block *b = e->g->insert_block;
    const node *last = e->g->insert_before ? e->g->insert_before->prev : b->last;
    const ir_value *stored = v && v->slot && !v->sugar ? index_stored(last, b, v->slot) : NULL;
    if (!stored) return false;
    value c = value_none();
    if (ir_value_constant(stored, &c) &&
        (c.tag == V_STR || c.tag == V_BOOL || c.tag == V_NONE || c.tag == V_FLOAT))
        return *out = c, true;
    *out = value_int(0);
    return irgen_known_int(e, stored, 0, &out->u.i);
}

/* modules[i]: the i-th submodule, or with an interface as hint any of them, at run time */
static sugar *index_module(emitter *e, source_range r, ir_value *base, const expr *x, type *hint) {
    module_container m;
    bool known = e->scope && e->scope->ops->container(base->type, &m);
    ir_value *index = irgen_expr(e, x, NULL);
    if (!index) return NULL;
    value c = value_none();
    if (hint && hint->kind == T_INTERFACE && base->type->cls->is_module &&
        (!base->type->cls->source || !ir_value_constant(index, &c))) {
        ir_value *in[] = {base, index};
        e->g->range = r;
        node *n = graph_insert(e->g, node_new(e->g, N_CONTAINER_INDEX, 2, in, 1));
        n->outputs.data[0]->type = hint;
        return sugar_of_value(e, n->outputs.data[0]);
    }
    if (!known) {
        actual arg = {NULL, index, x->range};
        return sugar_of_value(e, irgen_method(e, r, base, "__getitem__", 1, &arg));
    }
    if (m.keyed) {
        const char *key;
        if (e->lenient && !ir_value_constant(index, &c) && e->scope->ops->static_text(e, x, &key))
            index = graph_constant_str(e->g, key, strlen(key));
        return index_module_key(e, r, base, &m, index);
    }
    int64_t i, n = (int64_t)m.nkeys;
    if (!index_known(e, index, &i)) {
        irgen_fail(
            e, r,
            "Expected integer literal for index. ModuleList/Sequential indexing is only supported "
            "with integer "
            "literals. Enumeration is supported, e.g. 'for index, v in enumerate(self): ...'");
        return NULL;
    }
    if (i < -n || i >= n) {
        irgen_fail(e, r, "Index %lld out of range of length %lld", (long long)i, (long long)n);
        return NULL;
    }
    return irgen_attribute(e, r, sugar_of_value(e, base), m.keys[i < 0 ? i + n : i]);
}

/* ---- sequences known while compiling --------------------------------------------------------- */

/* s[a:b:c] of a SUGAR_TUPLE */
static sugar *index_static_slice(emitter *e, source_range r, const sugar *s,
                                 ir_value *const *bound) {
    int64_t n = s->nitems, b[3] = {0, n, 1};
    for (int i = 0; i < 3; i++)
        if (bound[i] && bound[i]->type->kind != T_NONE && !index_known(e, bound[i], &b[i])) {
            irgen_fail(e, r, "a sequence of modules can be sliced by integer literals only");
            return NULL;
        }
    if (b[2] == 0) return irgen_fail(e, r, "slice step cannot be zero"), NULL;
    int64_t low = b[2] < 0 ? -1 : 0, high = b[2] < 0 ? n - 1 : n;
    bool has_start = bound[0] && bound[0]->type->kind != T_NONE,
         has_stop = bound[1] && bound[1]->type->kind != T_NONE;
    int64_t start = has_start ? index_clamp(b[0], n, low, high) : b[2] < 0 ? n - 1 : 0;
    int64_t stop = has_stop ? index_clamp(b[1], n, low, high) : b[2] < 0 ? -1 : n;
    sugar *out = sugar_new(e, SUGAR_TUPLE);
    out->chain = s->chain;
    out->items = arena_array(e->scratch, sugar *, n + 1);
    if (!out->items) return diag_no_memory(e->diag), NULL;
    for (int64_t i = start; b[2] < 0 ? i > stop : i < stop; i += b[2]) {
        out->items[out->nitems++] = s->items[i];
        if (b[2] > n || b[2] < -n) break;
    }
    return out;
}

static sugar *index_static(emitter *e, const expr *x, const sugar *s) {
    const expr *ix = x->items.data[0];
    ir_value *bound[3];
    if (ix->kind == E_SLICE)
        return index_bounds(e, ix, bound) ? index_static_slice(e, x->range, s, bound) : NULL;
    ir_value *index = irgen_expr(e, ix, NULL);
    int64_t i, n = s->nitems;
    if (!index) return NULL;
    if (!index_known(e, index, &i)) {
        irgen_fail(e, x->range,
                   "Expected integer literal for index. ModuleList/Sequential indexing is only "
                   "supported with "
                   "integer literals. Enumeration is supported, e.g. 'for index, v in "
                   "enumerate(self): ...'");
        return NULL;
    }
    if (i >= -n && i < n) return s->items[i < 0 ? i + n : i];
    irgen_fail(e, x->range, "Index %lld out of range of length %lld", (long long)i, (long long)n);
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static ir_value *index_tuple(emitter *e, source_range r, ir_value *base, ir_value *index) {
    type *t = base->type;
    int64_t i;
    type *out = NULL;
    if (index->type->kind != T_INT) return irgen_fail(e, r, "tuple index must be an integer");
    if (index_known(e, index, &i)) {
        if (i < -t->nelems || i >= t->nelems)
            return irgen_fail(e, r,
                              "Tuple index out of range. Tuple is length %d and index is %lld",
                              t->nelems, (long long)i);
        out = t->elems[i < 0 ? i + t->nelems : i];
    } else {
        out = t->nelems ? t->elems[0] : NULL;
        for (int k = 1; out && k < t->nelems; k++)
            if (!type_is_subtype(t->elems[k], out)) out = NULL;
        if (!out)
            return index_fail_type(
                e, r, "Cannot index into a ", t,
                " with a non-integer literal because we cannot resolve the output type");
    }
    ir_value *in[] = {base, index};
    e->g->range = r;
    node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
    n->outputs.data[0]->type = out;
    return n->outputs.data[0];
}

static bool index_is_module(const type *t) { return t->kind == T_CLASS && t->cls->is_module; }

static ir_value *index_one(emitter *e, const expr *x, ir_value *base) {
    const expr *ix = x->items.data[0];
    source_range r = x->range;
    sugar *s = irgen_sugar(e, ix, NULL);
    if (!s) return NULL;
    if (s->kind == SUGAR_SLICE)
        return index_sequence_slice(e, r, base, (ir_value *[]){s->start, s->length, s->step});
    ir_value *index = irgen_as_value(e, ix->range, s);
    if (!index) return NULL;
    ir_value *args[] = {base, index};
    switch (base->type->kind) {
    case T_TUPLE: return index_tuple(e, r, base, index);
    case T_LIST:
    case T_STR:
    case T_DICT: return irgen_builtin_values(e, r, "aten::__getitem__", 2, args);
    case T_CLASS:
    case T_INTERFACE: {
        actual arg = {NULL, index, ix->range};
        return irgen_method(e, r, base, "__getitem__", 1, &arg);
    }
    default: return index_fail_type(e, r, "'", base->type, "' object is not subscriptable");
    }
}

sugar *irgen_subscript_sugar(emitter *e, const expr *x, type *hint) {
    source_range r = x->range;
    sugar *s = irgen_sugar(e, x->a, NULL);
    if (!s) return NULL;
    if (!x->items.len) return irgen_fail(e, r, "an index is missing"), NULL;
    const expr *ix = x->items.data[0];
    if (s->kind == SUGAR_TUPLE && x->items.len == 1) return index_static(e, x, s);
    sugar *known = s->kind == SUGAR_PY && e->lenient && e->scope ? e->scope->ops->static_sugar(e, x)
                                                                 : NULL;
    if (known || irgen_failed(e)) return known;
    ir_value *base = irgen_as_value(e, x->a->range, s);
    if (!base) return NULL;
    e->g->range = r;
    if (base->type->kind == T_TENSOR) return sugar_of_value(e, index_tensor(e, r, base, &x->items));
    if (x->items.len != 1) {
        /* c[a, b] passes a tuple */
        if (base->type->kind == T_CLASS && !index_is_module(base->type)) {
            ir_value **v = arena_array(e->scratch, ir_value *, x->items.len);
            if (!v) return diag_no_memory(e->diag), NULL;
            for (size_t i = 0; i < x->items.len; i++)
                if (!(v[i] = irgen_expr(e, x->items.data[i], NULL))) return NULL;
            actual arg = {NULL, irgen_tuple(e, r, NULL, (int)x->items.len, v), r};
            return sugar_of_value(e, irgen_method(e, r, base, "__getitem__", 1, &arg));
        }
        irgen_fail(e, r,
                   "Unsupported operation: attempted to use multidimensional indexing on a "
                   "non-tensor type");
        return NULL;
    }
    if (index_is_module(base->type)) {
        if (ix->kind != E_SLICE) return index_module(e, r, base, ix, hint);
        sugar *items = e->scope ? e->scope->ops->sequence(e, r, base) : NULL;
        if (items) return index_static(e, x, items);
        if (irgen_failed(e)) return NULL;
    }
    if (ix->kind != E_SLICE) return sugar_of_value(e, index_one(e, x, base));
    ir_value *bound[3];
    return index_bounds(e, ix, bound) ? sugar_of_value(e, index_sequence_slice(e, r, base, bound))
                                      : NULL;
}

ir_value *irgen_subscript(emitter *e, const expr *x, type *hint) {
    sugar *s = irgen_subscript_sugar(e, x, hint);
    return s ? irgen_as_value(e, x->range, s) : NULL;
}

/* ---- assigning ------------------------------------------------------------------------------- */

/* A number to be written into a tensor becomes a tensor of its dtype, on its device. */
static ir_value *index_as_tensor(emitter *e, source_range r, ir_value *v, ir_value *like) {
    type_kind k = v->type->kind;
    if (k != T_NUMBER && k != T_INT && k != T_BOOL && k != T_FLOAT && k != T_COMPLEX) return v;
    source_range nowhere = {0};
    ir_value *dtype = irgen_builtin_values(e, r, "prim::dtype", 1, &like);
    ir_value *device = dtype ? irgen_builtin_values(e, r, "prim::device", 1, &like) : NULL;
    if (!device) return NULL;
    actual args[] = {{NULL, v, r}, {"dtype", dtype, r}, {"device", device, r}};
    return irgen_builtin(e, nowhere, "aten::tensor", 3, args);
}

static bool index_put(emitter *e, source_range r, ir_value *view, ir_value *indices, ir_value *v) {
    ir_value *args[] = {view, indices ? indices : v, v};
    return irgen_builtin_values(e, r, indices ? "aten::index_put_" : "aten::copy_", indices ? 3 : 2,
                                args) != NULL;
}

/* l[a:b] = m, as PyTorch's operators can say it: the list is rebuilt in place.
 *     before: l[a:b] = m    after: t = l[:a] + m + l[max(a, b):]; l.clear(); l.extend(t)
 * with a and b made absolute as Python does. */
static bool index_assign_slice(emitter *e, source_range r, ir_value *l, const expr *s,
                               ir_value *v) {
    ir_value *bound[3], *c;
    if (!index_bounds(e, s, bound)) return false;
    int64_t step = 1;
    if (bound[2] && (!index_constant(bound[2], &step) || step != 1)) {
        irgen_fail(e, r, "assignment to a slice of a list with a step is not supported");
        return false;
    }
    v = match_convert(e, r, l->type, v, true);
    if (!v) return false;
    if (!type_is_subtype(v->type, l->type))
        return index_fail_type(
                   e, r, "a slice of a list can only be assigned a list of the same type, found ",
                   v->type, ""),
               false;
    ir_value *len = irgen_builtin_values(e, r, "aten::len", 1, &l);
    if (!len) return false;
    bool none[2];
    for (int i = 0; i < 2; i++) none[i] = !bound[i] || bound[i]->type->kind == T_NONE;
    /* how many elements stay before the slice: those of l[:a];
     * after it: those of l[b:], but none of the former */
    ir_value *head[3] = {NULL, none[0] ? irgen_hidden_int(e, 0) : bound[0], NULL};
    ir_value *front = index_slice(e, r, l, NULL, head);
    ir_value *tail[3] = {none[1] ? len : bound[1], NULL, NULL};
    ir_value *back = front ? index_slice(e, r, l, NULL, tail) : NULL;
    ir_value *nf = back ? irgen_builtin_values(e, r, "aten::len", 1, &front) : NULL;
    ir_value *nb = nf ? irgen_builtin_values(e, r, "aten::len", 1, &back) : NULL;
    if (!nb) return false;
    ir_value *sub[] = {len, nb}; /* the slice ends here */
    ir_value *stop = irgen_builtin_values(e, r, "aten::sub", 2, sub);
    ir_value *least[] = {nf, stop};
    stop = stop ? irgen_builtin_values(e, r, "prim::max", 2, least) : NULL;
    ir_value *rest[3] = {stop, NULL, NULL};
    back = stop ? index_slice(e, r, l, NULL, rest) : NULL;
    ir_value *add[] = {front, v};
    front = back ? irgen_builtin_values(e, r, "aten::add", 2, add) : NULL;
    ir_value *more[] = {front, back};
    front = front ? irgen_builtin_values(e, r, "aten::add", 2, more) : NULL;
    c = front ? irgen_builtin_values(e, r, "aten::clear", 1, &l) : NULL;
    ir_value *extend[] = {l, front};
    return c && irgen_builtin_values(e, r, "aten::extend", 2, extend);
}

static bool index_assign(emitter *e, const expr *target, ir_value *base, ir_value *v) {
    source_range r = target->range;
    const expr *ix = target->items.data[0];
    if (base->type->kind == T_TENSOR) {
        index_tensors tensors;
        ir_value *view = index_views(e, r, base, &target->items, &tensors);
        if (view) v = index_as_tensor(e, r, v, view);
        return view && v &&
               index_put(e, r, view, tensors.n ? index_tensor_list(e, r, &tensors) : NULL, v);
    }
    if (target->items.len != 1) {
        irgen_fail(e, r,
                   "Sliced expression not yet supported for subscripted assignment. File a bug if "
                   "you want this");
        return false;
    }
    if (ix->kind == E_SLICE) {
        if (base->type->kind == T_LIST) return index_assign_slice(e, r, base, ix, v);
        return index_fail_type(e, r, "a slice of ", base->type, " cannot be assigned to"), false;
    }
    ir_value *index = irgen_expr(e, ix, NULL);
    if (!index) return false;
    if (base->type->kind == T_CLASS) {
        actual args[] = {{NULL, index, ix->range}, {NULL, v, r}};
        return irgen_method(e, r, base, "__setitem__", 2, args) != NULL;
    }
    ir_value *args[] = {base, index, v};
    return irgen_builtin_values(e, r, "aten::_set_item", 3, args) != NULL;
}

bool irgen_assign_subscript(emitter *e, const expr *target, sugar *s) {
    ir_value *base = irgen_expr(e, target->a, NULL);
    ir_value *v = base ? irgen_as_value(e, target->range, s) : NULL;
    e->g->range = target->range;
    return v && target->items.len && index_assign(e, target, base, v);
}

/* ---- augmented assignment -------------------------------------------------------------------- */

static ir_value *index_augmented(emitter *e, const stmt *st, ir_value *old, ir_value *v,
                                 const type *like) {
    if (old->type->kind == T_CLASS) return irgen_binary_values(e, st->range, st->op, old, v);
    const char *op = irgen_augmented_operator(st->op, like);
    ir_value *args[] = {old, v};
    if (!op)
        return irgen_fail(e, st->range,
                          "unsupported kind of augmented assignment: %s=", operator_text(st->op));
    return irgen_builtin_values(e, st->range, op, 2, args);
}

static bool index_augment_tensor(emitter *e, const stmt *st, const expr *target, ir_value *base) {
    index_tensors tensors;
    ir_value *view = index_views(e, target->range, base, &target->items, &tensors);
    ir_value *v = view ? irgen_expr(e, st->value, NULL) : NULL;
    if (!v) return false;
    source_range r = st->range;
    ir_value *indices = tensors.n ? index_tensor_list(e, r, &tensors) : NULL;
    if (!indices) return index_augmented(e, st, view, v, view->type) != NULL;
    ir_value *in[] = {view, indices};
    ir_value *old = irgen_builtin_values(e, r, "aten::index", 2, in);
    ir_value *now = old ? index_augmented(e, st, old, v, old->type) : NULL;
    return now && index_put(e, r, view, indices, now);
}

bool irgen_aug_subscript(emitter *e, const stmt *st) {
    const expr *target = st->targets.data[0];
    source_range r = st->range;
    ir_value *base = irgen_expr(e, target->a, NULL);
    if (!base || !target->items.len) return false;
    type *t = base->type;
    if (t->kind == T_TENSOR) return index_augment_tensor(e, st, target, base);
    if (target->items.len != 1 || target->items.data[0]->kind == E_SLICE)
        return index_fail_type(e, r, "Sliced expression not yet supported for ", t,
                               " augmented assignment. File a bug if you want this"),
               false;
    if (t->kind != T_LIST && t->kind != T_DICT && t->kind != T_CLASS)
        return index_fail_type(e, r, "", t, " does not support augmented assignment."), false;
    ir_value *index = irgen_expr(e, target->items.data[0], NULL);
    ir_value *v = index ? irgen_expr(e, st->value, NULL) : NULL;
    if (!v) return false;
    actual item[] = {{NULL, index, r}, {0}};
    ir_value *args[3] = {base, index, NULL};
    ir_value *old = t->kind == T_CLASS ? irgen_method(e, r, base, "__getitem__", 1, item)
                                       : irgen_builtin_values(e, r, "aten::__getitem__", 2, args);
    /* as in PyTorch, an element of a dict is replaced, one of a list may change in place */
    ir_value *now = old ? index_augmented(e, st, old, v, t->kind == T_LIST ? old->type : TYPE_INT)
                        : NULL;
    if (!now) return false;
    item[1] = (actual){NULL, now, r};
    args[2] = now;
    return t->kind == T_CLASS ? irgen_method(e, r, base, "__setitem__", 2, item) != NULL
                              : irgen_builtin_values(e, r, "aten::_set_item", 3, args) != NULL;
}
