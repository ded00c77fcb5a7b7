/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out.c - walks a graph with example arguments, in one world or two, and has what depends on
 * the arguments written.
 *
 *     %n : int = aten::size(%x, %0)       the same in all worlds: a constant; else Shape, Gather
 *     %y = aten::relu(%x)                 %x has a name: its row writes a node
 *     %z = aten::relu(%w)                 %w is a constant: computed here
 *     %y = aten::add_(%x, %a, %1)         add.Tensor is written, and %x is called after its result from here on
 *
 * Operators without a row that are made of others (TorchScript) are walked into. Writes in place
 * change the names of all values that are the same elements; what shares only some of them is read
 * again from the value that has them all, where sizes are fixed, when it is needed next.
 */
#include "frontend/onnx/onnx_out_internal.h"
#include "ir/op/op_family.h"

/* ---- messages -------------------------------------------------------------------------------- */

bool out_failed(const onnx_out *o) { return o->d->status != CTSC_OK || arena_failed(&o->scratch); }

bool out_no_memory(onnx_out *o) {
    if (o->d->status == CTSC_OK) diag_no_memory(o->d);
    return false;
}

bool out_refuse(onnx_out *o, const char *fmt, ...) {
    strbuf sb = STRBUF_INIT;
    va_list ap;
    if (o->d->status != CTSC_OK) return false;
    va_start(ap, fmt);
    sb_vprintf(&sb, fmt, ap);
    va_end(ap);
    /* the place is the program's: within a body it is that of the call */
    const node *place = o->bodies ? o->bodies->at : o->at;
    for (const out_body *b = o->bodies; b; b = b->outer) place = b->at;
    if (place && place != o->at && o->at->op) {
        const char *name = node_kind_text(place), *inner = node_kind_text(o->at);
        bool same = !strcmp(name, inner);
        diag_fail_at(o->d, CTSC_UNSUPPORTED, place->range, "ONNX: %s: %s%s%s", name,
                     same ? "" : inner, same ? "" : ": ", sb_str(&sb));
    } else {
        diag_fail_at(o->d, CTSC_UNSUPPORTED, place ? place->range : (source_range){0},
                     "ONNX: %s%s%s", place ? node_kind_text(place) : "", place ? ": " : "",
                     sb_str(&sb));
    }
    sb_free(&sb);
    for (const call_site *c = place ? place->call : NULL; c; c = c->caller)
        diag_frame(o->d, c->range, c->callee);
    return false;
}

/* Once for each place: the walk comes there as often as a loop runs. */
static bool out_warn(onnx_out *o, const char *what) {
    strbuf sb = STRBUF_INIT;
    source_range r = o->at->range;
    uint32_t line, column;
    if (!o->opt->warn || ptrmap_get(&o->warned, o->at)) return true;
    sb_puts(&sb, "ONNX: ");
    if (r.src) {
        source_position(r.src, r.begin, &line, &column);
        sb_printf(&sb, "%s:%u:%u: ", r.src->name, (unsigned)line, (unsigned)column);
    }
    sb_printf(&sb, "%s: %s follows from the size of a dynamic axis, and is taken as in the example",
              node_kind_text(o->at), what);
    bool ok = !sb.failed && ptrmap_put(&o->warned, o->at, o);
    if (ok) o->opt->warn(o->opt->warn_ctx, sb_str(&sb));
    sb_free(&sb);
    return ok || out_no_memory(o);
}

/* ---- values ---------------------------------------------------------------------------------- */

out_value *out_new(onnx_out *o) {
    out_value *x = arena_new(&o->scratch, out_value);
    if (arena_failed(&o->scratch) || !vec_push(&o->values, x)) return out_no_memory(o), NULL;
    x->frame = o->frame;
    return x;
}

bool out_is_dynamic(const out_value *x) { return x->name || x->items; }

out_value *out_get(onnx_out *o, const ir_value *v) {
    out_value *x = ptrmap_get(&o->env, v);
    return x ? x : (out_refuse(o, "a value is not known"), NULL);
}

bool out_put(onnx_out *o, const ir_value *v, out_value *x) {
    return x && (ptrmap_put(&o->env, v, x) || out_no_memory(o));
}

/* The same constant in all worlds. Takes v. */
out_value *out_constant(onnx_out *o, value v) {
    out_value *x = out_new(o);
    if (!x) return value_unref(v), NULL;
    x->v[0] = v;
    if (o->worlds > 1) x->v[1] = value_ref(v);
    return x;
}

static bool walk_same(const onnx_out *o, const out_value *x) {
    value a = x->v[0], b = x->v[1];
    return o->worlds == 1 || (a.tag == b.tag && value_equal(a, b));
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Element i of a container, whichever way it is kept. */
out_value *out_item(onnx_out *o, const out_value *x, size_t i) {
    if (x->items) return x->items[i];
    out_value *item = out_new(o);
    if (item) item->frame = x->frame;
    for (int w = 0; item && w < o->worlds; w++)
        item->v[w] = x->v[w].tag == V_LIST ? list_get(x->v[w].u.list, i)
                                           : value_ref(x->v[w].u.tuple->items[i]);
    return item;
}

size_t out_len(const out_value *x) {
    return x->v[0].tag == V_LIST    ? x->v[0].u.list->len
           : x->v[0].tag == V_TUPLE ? x->v[0].u.tuple->len
                                    : 0;
}

static bool container_items(onnx_out *o, out_value *x, int room) {
    if (x->nitems + room <= x->cap) return true;
    int cap = 2 * (x->nitems + room) + 4;
    out_value **items = arena_array(&o->scratch, out_value *, cap);
    if (arena_failed(&o->scratch) || !items) return out_no_memory(o);
    if (x->nitems) memcpy(items, x->items, sizeof *items * (size_t)x->nitems);
    x->items = items;
    x->cap = cap;
    return true;
}

/* From now on it may hold what is not a constant. */
static bool container_open(onnx_out *o, out_value *x) {
    size_t n = out_len(x);
    if (x->items) return true;
    out_value **items = arena_array(&o->scratch, out_value *, n + 4);
    if (!items) return out_no_memory(o);
    for (size_t i = 0; i < n; i++)
        if (!(items[i] = out_item(o, x, i))) return false;
    x->items = items;
    x->nitems = (int)n;
    x->cap = (int)n + 4;
    return true;
}

/* A list or tuple of these. */
out_value *out_container(onnx_out *o, bool tuple, type *t, size_t n, out_value *const *items) {
    out_value *x = out_new(o);
    bool dynamic = false;
    for (size_t i = 0; i < n; i++) dynamic = dynamic || out_is_dynamic(items[i]);
    for (int w = 0; x && w < o->worlds; w++) {
        if (tuple) {
            struct tuple *made = tuple_new(n, t && t->name ? t : NULL);
            if (!made) return out_no_memory(o), NULL;
            for (size_t i = 0; i < n; i++) made->items[i] = value_ref(items[i]->v[w]);
            x->v[w] = value_tuple_take(made);
        } else {
            list *made = list_new(type_list_kind(t), t, n);
            if (!made) return out_no_memory(o), NULL;
            x->v[w] = value_list_take(made);
            for (size_t i = 0; i < n; i++) {
                if (!list_fits((list_kind)made->kind, items[i]->v[w]))
                    return out_refuse(o, "a list of values of several types"), NULL;
                if (!list_append_take(made, value_ref(items[i]->v[w])))
                    return out_no_memory(o), NULL;
            }
        }
    }
    if (!x || !dynamic) return x;
    if (!(x->items = arena_array(&o->scratch, out_value *, n + 4))) return out_no_memory(o), NULL;
    memcpy(x->items, items, sizeof *items * n);
    x->nitems = (int)n;
    x->cap = (int)n + 4;
    return x;
}

static bool walk_construct(onnx_out *o, const node *n) {
    size_t count = n->inputs.len;
    bool tuple = n->kind == N_TUPLE_CONSTRUCT;
    type *t = n->outputs.data[0]->type;
    out_value **items = arena_array(&o->scratch, out_value *, count + 1);
    if (!items) return out_no_memory(o);
    for (size_t i = 0; i < count; i++)
        if (!(items[i] = out_get(o, n->inputs.data[i]))) return false;
    return out_put(o, n->outputs.data[0],
                   out_container(o, tuple, tuple ? t : type_elem(t), count, items));
}

static bool walk_unpack(onnx_out *o, const node *n) {
    out_value *x = out_get(o, n->inputs.data[0]);
    if (!x) return false;
    if (x->seq) return out_refuse(o, "of a list whose length the model computes");
    if (out_len(x) != n->outputs.len)
        return out_refuse(o, "%zu elements where %zu are expected", out_len(x), n->outputs.len);
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!out_put(o, n->outputs.data[i], out_item(o, x, i))) return false;
    return true;
}

static bool walk_tuple_index(onnx_out *o, const node *n) {
    out_value *x = out_get(o, n->inputs.data[0]), *at = x ? out_get(o, n->inputs.data[1]) : NULL;
    if (!at) return false;
    int64_t i = at->v[0].u.i, len = (int64_t)out_len(x);
    if (at->v[0].tag != V_INT || out_is_dynamic(at))
        return out_refuse(o, "an index is not a constant");
    if (i < 0) i += len;
    if (i < 0 || i >= len) return out_refuse(o, "an index is out of range");
    return out_put(o, n->outputs.data[0], out_item(o, x, (size_t)i));
}

/* Dicts: keys are constants, values parallel to them. */
static bool walk_dict(onnx_out *o, const node *n) {
    out_value *x = out_new(o);
    type *t = n->outputs.data[0]->type;
    if (!x || t->nelems != 2) return out_no_memory(o);
    for (int w = 0; w < o->worlds; w++) {
        dict *made = dict_new(t->elems[0], t->elems[1]);
        if (!made) return out_no_memory(o);
        x->v[w] = value_dict_take(made);
    }
    if (!(x->items = arena_array(&o->scratch, out_value *, n->inputs.len + 4)))
        return out_no_memory(o);
    x->cap = (int)n->inputs.len + 4;
    for (size_t i = 0; i + 1 < n->inputs.len; i += 2) {
        out_value *key = out_get(o, n->inputs.data[i]),
                  *item = key ? out_get(o, n->inputs.data[i + 1]) : NULL;
        if (!item) return false;
        for (int w = 0; w < o->worlds; w++)
            if (!dict_set_take(x->v[w].u.dict, value_ref(key->v[0]), value_ref(item->v[w])))
                return out_no_memory(o);
        x->items[x->nitems++] = item;
    }
    return out_put(o, n->outputs.data[0], x);
}

/* ---- attributes of the module ---------------------------------------------------------------- */

static bool attribute_note(onnx_out *o, const object *obj, const char *path, int depth) {
    if (depth > OUT_MAX_DEPTH) return true;
    for (size_t i = 0; i < obj->nslots && i < obj->cls->cls->attributes.len; i++) {
        const char *name = arena_printf(&o->scratch, "%s%s%s", path, *path ? "." : "",
                                        obj->cls->cls->attributes.data[i].name);
        value v = obj->slots[i];
        if (!name) return out_no_memory(o);
        if (v.tag == V_OBJECT && v.u.object != obj &&
            !attribute_note(o, v.u.object, name, depth + 1))
            return false;
        if (v.tag != V_TENSOR) continue;
        if (!ptrmap_put(&o->attributes, v.u.tensor->storage, v.u.tensor) ||
            (!ptrmap_get(&o->attribute_names, v.u.tensor) &&
             !ptrmap_put(&o->attribute_names, v.u.tensor, (void *)(uintptr_t)name)))
            return out_no_memory(o);
    }
    return true;
}

static bool walk_get_attr(onnx_out *o, const node *n) {
    out_value *x = out_get(o, n->inputs.data[0]);
    if (!x) return false;
    if (x->v[0].tag != V_OBJECT) return out_refuse(o, "an attribute of what is not an object");
    const object *obj = x->v[0].u.object;
    int slot = class_find_attribute(obj->cls, node_str(n, "name"));
    if (slot < 0 || (size_t)slot >= obj->nslots) return out_refuse(o, "there is no such attribute");
    return out_put(o, n->outputs.data[0], out_constant(o, value_ref(obj->slots[slot])));
}

/* ---- views and writes ------------------------------------------------------------------------ */

bool out_is_exact(const tensor *a, const tensor *b) {
    if (a->storage != b->storage || a->offset != b->offset || a->ndim != b->ndim ||
        a->dtype != b->dtype)
        return false;
    return !memcmp(a->sizes, b->sizes, sizeof *a->sizes * a->ndim) &&
           !memcmp(a->strides, b->strides, sizeof *a->strides * a->ndim);
}

/* Positions of the elements of t among those of root, which is contiguous: a tensor of int64. */
static ctsc_status alias_indices(diag *d, const tensor *t, const tensor *root, tensor **out) {
    int64_t at[TENSOR_MAX_DIMS] = {0};
    TRY(tensor_new(d, DT_INT64, t->ndim, t->sizes, out));
    int64_t *to = TENSOR_AT(*out, int64_t);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t sum = t->offset - root->offset;
        for (int k = 0; k < t->ndim; k++) sum += at[k] * t->strides[k];
        to[i] = sum;
        for (int k = t->ndim - 1; k >= 0 && ++at[k] == t->sizes[k]; k--) at[k] = 0;
    }
    return CTSC_OK;
}

/* The value that has all elements of x's storage that are in use. */
static out_value *alias_root(onnx_out *o, const out_value *x) {
    const tensor *t = x->v[0].u.tensor;
    out_value *best = NULL;
    for (size_t i = 0; i < o->values.len; i++) {
        out_value *y = o->values.data[i];
        const tensor *u = y->v[0].u.tensor;
        if (y->v[0].tag == V_TENSOR && u->storage == t->storage && !y->stale && !y->gone &&
            y != x && u->dtype == t->dtype && tensor_is_contiguous(u) &&
            (!best || u->numel > best->v[0].u.tensor->numel))
            best = y;
    }
    return best;
}

static bool alias_fixed(const onnx_out *o, const out_value *x) {
    return o->worlds == 1 || tensor_same_shape(x->v[0].u.tensor, x->v[1].u.tensor);
}

/* x's elements are read again from the value that has them all. */
bool out_refresh(onnx_out *o, out_value *x) {
    static const int64_t all = -1;
    out_value *root = alias_root(o, x);
    tensor *at = NULL;
    const tensor *t = x->v[0].u.tensor, *r = root ? root->v[0].u.tensor : NULL;
    if (dtype_is_complex((dtype)t->dtype))
        return out_refuse(o, "complex numbers that were written through another view");
    if (!root || !alias_fixed(o, root) || !alias_fixed(o, x) ||
        (t->numel && (t->offset < r->offset || r->numel < t->numel)))
        return out_refuse(o, "its argument was written through another view, of dynamic sizes");
    if (alias_indices(o->d, t, r, &at) != CTSC_OK) return false;
    const char *flat = OUT(o, "Reshape", out_name(o, root), out_const_ints(o, 1, &all)),
               *indices = flat ? out_tensor(o, at) : NULL;
    tensor_unref(at);
    x->name = indices ? OUT(o, "Gather", flat, indices) : NULL;
    x->stale = false;
    return x->name != NULL;
}

/* What was written into x is called `name`: so are all values that are x; others have to be read
 * again. */
static bool alias_write(onnx_out *o, out_value *x, const char *name) {
    static const int64_t all = -1;
    const tensor *t = x->v[0].u.tensor;
    out_value *root = alias_root(o, x);
    if (root && (out_is_exact(root->v[0].u.tensor, t) || root->v[0].u.tensor->numel <= t->numel))
        root = NULL;
    const char *before = root ? out_name(o, root) : NULL;
    for (size_t i = 0; i < o->values.len; i++) {
        out_value *y = o->values.data[i];
        if (y->gone || y->v[0].tag != V_TENSOR || y->v[0].u.tensor->storage != t->storage) continue;
        bool exact = out_is_exact(y->v[0].u.tensor, t);
        if (exact) y->name = name;
        else if (!y->name) y->name = "";
        y->stale = !exact;
    }
    if (!root) return true;
    tensor *at = NULL;
    if (!alias_fixed(o, root) || !alias_fixed(o, x))
        return out_refuse(o, "a part of a tensor of dynamic sizes is written");
    if (alias_indices(o->d, t, root->v[0].u.tensor, &at) != CTSC_OK) return false;
    int64_t numel = at->numel;
    tensor *row = NULL;
    ctsc_status s = tensor_reshape(o->d, at, 1, &numel, &row);
    tensor_unref(at);
    if (s != CTSC_OK) return false;
    const char *flat = OUT(o, "Reshape", before, out_const_ints(o, 1, &all)),
               *new = flat ? OUT(o, "Reshape", name, out_const_ints(o, 1, &all)) : NULL,
               *indices = new ? out_tensor(o, row) : NULL;
    tensor_unref(row);
    const char *merged = indices ? OUT(o, "ScatterElements", flat, indices, new) : NULL;
    out_int(o, "axis", 0);
    const tensor *rt = root->v[0].u.tensor;
    const char *whole = merged ? OUT(o, "Reshape", merged, out_const_ints(o, rt->ndim, rt->sizes))
                               : NULL;
    for (size_t i = 0; whole && i < o->values.len; i++) {
        out_value *y = o->values.data[i];
        if (!y->gone && y->v[0].tag == V_TENSOR && out_is_exact(y->v[0].u.tensor, rt)) {
            y->name = whole;
            y->stale = false;
        }
    }
    return whole != NULL;
}

/* ---- operators ------------------------------------------------------------------------------- */

bool out_run(onnx_out *o, const op *op, int w, int nargs, out_value *const *args, int nres,
             out_value **res, type *const *out_types) {
    value in[64], out[16] = {{0}};
    if (nargs > 64 || nres > 16) return out_refuse(o, "too many arguments");
    for (int i = 0; i < nargs; i++) in[i] = args[i]->v[w];
    op_ctx cx = {.diag = o->d, .op = op, .rt = o->opt->rt, .nargs = nargs, .out_types = out_types};
    op_fn fn = op_function(op, nargs, in);
    if (!fn) return out_refuse(o, "the operator is not supported");
    if (fn(&cx, in, out) != CTSC_OK) {
        diag_locate(o->d, o->at->range);
        return false;
    }
    for (int i = 0; i < nres; i++) value_set(&res[i]->v[w], out[i]);
    return true;
}

/* Is the result a number that follows from elements of tensors? */
static bool call_reads_elements(int nargs, out_value *const *args, const op *o) {
    bool tensor = false;
    for (int i = 0; i < nargs; i++) {
        if (args[i]->tainted) return true;
        tensor = tensor || (args[i]->v[0].tag == V_TENSOR && args[i]->name);
    }
    switch (o->name_symbol) {
    case SYM_ITEM:
    case SYM__LOCAL_SCALAR_DENSE:
    case SYM_INT:
    case SYM_FLOAT:
    case SYM_BOOL:
    case SYM_INTIMPLICIT:
    case SYM_FLOATIMPLICIT:
    case SYM_SCALARIMPLICIT:
    case SYM_EQUAL:
    case SYM_IS_NONZERO:
    case SYM_ALLCLOSE: return tensor;
    default: return false;
    }
}

/* Is there a number among the arguments that may change, or follows from one? */
static bool call_is_fixed(int nargs, out_value *const *args) {
    bool fixed = false;
    for (int i = 0; i < nargs; i++)
        fixed = fixed || args[i]->fixed || (args[i]->name && args[i]->v[0].tag != V_TENSOR);
    return fixed;
}

/* Are all results numbers, or None, that are the same in all worlds? Those are constants. */
static bool call_is_settled(onnx_out *o, const out_call *c, bool tainted) {
    bool fixed = call_is_fixed(c->nargs, c->args);
    for (int i = 0; i < c->nres; i++) {
        uint8_t tag = c->res[i]->v[0].tag;
        c->res[i]->tainted = tainted && tag != V_TENSOR;
        if (tag == V_TENSOR || tag == V_DICT || tainted) return false;
        if (tag == V_LIST && c->res[i]->v[0].u.list->kind == LIST_TENSOR) return false;
        if (tag == V_LIST && c->res[i]->v[0].u.list->kind == LIST_VALUE) return false;
        if (!walk_same(o, c->res[i])) return false;
        c->res[i]->fixed = fixed;
        if (fixed && (tag == V_INT || tag == V_FLOAT) && !out_warn(o, "this number")) return false;
    }
    return true;
}

/* Before it writes: not into the module; what it writes into has a name by then. key: of the form
 * that returns instead. */
static bool call_writes(onnx_out *o, const op *op, out_value *const *args, int nargs, bool *dynamic,
                        char *key) {
    for (int i = 0; i < nargs && i < op->schema->nargs; i++) {
        const alias_info *a = op->schema->args[i].alias;
        uint8_t tag = args[i]->v[0].tag;
        if (!a || !a->write) continue;
        if (tag != V_TENSOR) continue;
        if (ptrmap_get(&o->attributes, args[i]->v[0].u.tensor->storage))
            return out_refuse(o, "the method writes an attribute of the module");
        if (!flow_writes(o, args[i], dynamic)) return false;
    }
    if (*dynamic && !op_twin_of(op, key))
        return out_refuse(o, "writes of this operator are not supported");
    for (int i = 0; *dynamic && i < nargs && i < op->schema->nargs; i++) {
        const alias_info *a = op->schema->args[i].alias;
        if (a && a->write && args[i]->v[0].tag == V_TENSOR && !out_name(o, args[i])) return false;
    }
    return true;
}

/* What the written argument is called now. */
static bool call_written(onnx_out *o, const op *op, out_call *c) {
    for (int i = 0; i < c->nargs && i < op->schema->nargs; i++) {
        const alias_info *a = op->schema->args[i].alias;
        if (a && a->write && c->args[i]->v[0].tag == V_TENSOR && c->res[0]->name)
            return alias_write(o, c->args[i], c->res[0]->name);
    }
    return true;
}

static bool call_refresh(onnx_out *o, int nargs, out_value *const *args) {
    for (int i = 0; i < nargs; i++) {
        if (args[i]->stale && !out_refresh(o, args[i])) return false;
        for (int k = 0; k < args[i]->nitems; k++)
            if (args[i]->items[k]->stale && !out_refresh(o, args[i]->items[k])) return false;
    }
    return true;
}

static bool call_dynamic(out_call *c, const op *op, char *key) {
    onnx_out *o = c->o;
    /* a copy of a view is written as the view is */
    if (!op->schema->has_alias_write && (out_find_row(op->schema->name) || !op_twin_of(op, key)))
        memcpy(key, op->key, strlen(op->key) + 1);
    c->key = key;
    const struct op *base = op_find(key);
    if (!base) return out_refuse(o, "the operator is not known");
    bool tainted = call_reads_elements(c->nargs, c->args, base);
    const out_row *row = out_find_row(base->schema->name);
    bool quantised = out_is_quantised(c), paired = out_are_complex(c->nargs, c->args);
    if (paired && op->schema->has_alias_write) return out_refuse(o, "writes of complex numbers");
    function *body = quantised && strncmp(key, "quantized::", 11) != 0
                         ? NULL
                         : body_find(o, base, paired, row != NULL);
    if (o->d->status != CTSC_OK) return false;
    if (body) return body_walk(c, op, base, body) && call_written(o, op, c);
    if (!sized_before(c, base)) return false;
    for (int w = 0; w < o->worlds; w++)
        if (!out_run(o, op, w, c->nargs, c->args, c->nres, c->res, c->out_types)) return false;
    if (!sized_after(c, base, tainted)) return false;
    if (call_is_settled(o, c, tainted)) return true;
    if (!row && !quantised) return out_refuse(o, "the operator has no form in ONNX");
    return (quantised ? out_quantised(c) : out_by_row(c, row)) && !out_failed(o) &&
           call_written(o, op, c);
}

/* Does it draw random numbers, which would be the same in each call of the model? Layers that are
 * told not to train draw none. */
static bool call_draws(const op *op, int nargs, out_value *const *args) {
    int train = schema_find_arg(op->schema, "train");
    if (train < 0) train = schema_find_arg(op->schema, "training");
    return op->traits.draws && (train < 0 || train >= nargs || args[train]->v[0].u.b);
}

static bool container_call(onnx_out *o, const node *n, out_value **args, bool *done);

static bool walk_op(onnx_out *o, const node *n) {
    const op *op = n->op;
    char key[OP_KEY_LENGTH];
    int nargs = (int)n->inputs.len, nres = (int)n->outputs.len;
    out_value **args = arena_array(&o->scratch, out_value *, nargs + 1),
              **res = arena_array(&o->scratch, out_value *, nres + 1);
    type **types = arena_array(&o->scratch, type *, nres + 1);
    bool dynamic = false, done = false;
    if (!args || !res || !types) return out_no_memory(o);
    if (!op) return out_refuse(o, "the operator is not known");
    for (int i = 0; i < nargs; i++) {
        if (!(args[i] = out_get(o, n->inputs.data[i]))) return false;
        dynamic = dynamic || out_is_dynamic(args[i]);
    }
    for (int i = 0; i < nres; i++) {
        types[i] = n->outputs.data[i]->type;
        if (!(res[i] = out_new(o))) return false;
    }
    if (op->name_symbol == SYM_WARN) return true;
    if (op->schema->has_alias_write && nargs && args[0]->v[0].tag != V_TENSOR && !args[0]->seq &&
        args[0]->frame != o->frame)
        return out_refuse(o, "a branch or loop that is written changes what is outside of it");
    bool grows = nargs && (args[0]->seq || (op->name_symbol == SYM_ADD && args[1]->seq));
    if (dynamic && !(grows ? lists_call(o, n, args, &done) : container_call(o, n, args, &done)))
        return false;
    if (done) return true;
    for (int i = 1; i < nargs; i++)
        if (args[i]->seq) return out_refuse(o, "of a list whose length the model computes");
    out_call c = {
        .o = o, .nargs = nargs, .nres = nres, .args = args, .res = res, .out_types = types};
    if (!call_refresh(o, nargs, args)) return false;
    if (op->schema->has_alias_write && !call_writes(o, op, args, nargs, &dynamic, key))
        return false;
    if (dynamic) {
        if (!call_dynamic(&c, op, key)) return false;
    } else if (call_draws(op, nargs, args)) {
        return out_refuse(o, "random numbers");
    } else {
        for (int w = 0; w < o->worlds; w++)
            if (!out_run(o, op, w, nargs, args, nres, res, types)) return false;
        for (int i = 0; i < nres; i++) res[i]->fixed = call_is_fixed(nargs, args);
        if (!out_weight_note(&c, op->key)) return false;
    }
    for (int i = 0; i < nres; i++)
        if (!out_put(o, n->outputs.data[i], c.res[i])) return false;
    return true;
}

/* ---- operators of containers ----------------------------------------------------------------- */

static bool container_index(onnx_out *o, const out_value *at, int n, int *out) {
    int64_t i = at->v[0].u.i;
    if (at->name || at->v[0].tag != V_INT) return out_refuse(o, "an index is not a constant");
    if (i < 0) i += n;
    if (i < 0 || i >= n) return out_refuse(o, "an index is out of range");
    *out = (int)i;
    return true;
}

/* Where the key is in the dict, -1: nowhere. */
static int dict_place(const out_value *x, const out_value *key) {
    const dict *d = x->v[0].u.dict;
    int at = 0;
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        if (value_equal(d->entries[i].key, key->v[0])) return at;
        at++;
    }
    return -1;
}

static bool container_set_dict(onnx_out *o, out_value **args) {
    int at = dict_place(args[0], args[1]);
    if (!container_items(o, args[0], 1)) return false;
    for (int w = 0; w < o->worlds; w++)
        if (!dict_set_take(args[0]->v[w].u.dict, value_ref(args[1]->v[0]),
                           value_ref(args[2]->v[w])))
            return out_no_memory(o);
    if (at >= 0) args[0]->items[at] = args[2];
    else args[0]->items[args[0]->nitems++] = args[2];
    return true;
}

static bool container_append(onnx_out *o, out_value **args) {
    out_value *x = args[0], *item = args[1];
    if (!container_open(o, x) || !container_items(o, x, 1)) return false;
    for (int w = 0; w < o->worlds; w++) {
        list *l = x->v[w].u.list;
        if (!list_fits((list_kind)l->kind, item->v[w]) ||
            !list_append_take(l, value_ref(item->v[w])))
            return out_no_memory(o);
    }
    x->items[x->nitems++] = item;
    return true;
}

/* What an in-place operator on a container returns is the container. */
static bool container_changed(onnx_out *o, const node *n, out_value *x) {
    return !n->outputs.len || out_put(o, n->outputs.data[0], x);
}

static bool container_put(onnx_out *o, const node *n, size_t count, out_value **items) {
    const ir_value *out = n->outputs.data[0];
    return out_put(o, out, out_container(o, false, type_elem(out->type), count, items));
}

/* a + b of lists, or a += b. */
static bool container_join(onnx_out *o, const node *n, out_value **args) {
    size_t a = out_len(args[0]), b = out_len(args[1]);
    out_value **all = arena_array(&o->scratch, out_value *, a + b + 1);
    if (!all) return out_no_memory(o);
    for (size_t i = 0; i < a + b; i++)
        if (!(all[i] = out_item(o, args[i >= a], i < a ? i : i - a))) return false;
    if (n->op->name_symbol == SYM_ADD) return container_put(o, n, a + b, all);
    for (size_t i = a; i < a + b; i++)
        if (!container_append(o, (out_value *[]){args[0], all[i]})) return false;
    return container_changed(o, n, args[0]);
}

static bool container_slice(onnx_out *o, const node *n, out_value **args) {
    int64_t len = (int64_t)out_len(args[0]),
            from = args[1]->v[0].tag == V_INT ? args[1]->v[0].u.i : 0,
            to = args[2]->v[0].tag == V_INT ? args[2]->v[0].u.i : len, by = args[3]->v[0].u.i;
    if (from < 0) from += len;
    if (to < 0) to += len;
    from = from < 0 ? 0 : from > len ? len : from;
    to = to < 0 ? 0 : to > len ? len : to;
    if (by < 1) return out_refuse(o, "a slice of a list with such a step");
    out_value **some = arena_array(&o->scratch, out_value *, len + 1);
    size_t count = 0;
    if (!some) return out_no_memory(o);
    for (int64_t i = from; i < to; i += by)
        if (!(some[count++] = out_item(o, args[0], (size_t)i))) return false;
    return container_put(o, n, count, some);
}

static bool container_set_list(onnx_out *o, const node *n, out_value **args) {
    out_value *x = args[0];
    int at;
    if (!container_open(o, x) || !container_index(o, args[1], x->nitems, &at)) return false;
    for (int w = 0; w < o->worlds; w++)
        list_set_take(x->v[w].u.list, (size_t)at, value_ref(args[2]->v[w]));
    x->items[at] = args[2];
    return container_changed(o, n, x);
}

static bool container_call_list(onnx_out *o, const node *n, out_value **args, bool *done) {
    out_value *x = args[0];
    int at;
    switch (n->op->name_symbol) {
    case SYM_APPEND: return container_append(o, args) && container_changed(o, n, x);
    case SYM___GETITEM__:
        return container_index(o, args[1], (int)out_len(x), &at) &&
               out_put(o, n->outputs.data[0], out_item(o, x, (size_t)at));
    case SYM__SET_ITEM: return container_set_list(o, n, args);
    case SYM_LEN:
        return out_put(o, n->outputs.data[0], out_constant(o, value_int((int64_t)out_len(x))));
    case SYM_ADD:
    case SYM_ADD_:
    case SYM_EXTEND:
        if (args[1]->v[0].tag == V_LIST) return container_join(o, n, args);
        break;
    case SYM_SLICE:
        if (!args[1]->name && !args[2]->name && !args[3]->name) return container_slice(o, n, args);
        break;
    default: break;
    }
    *done = false;
    return true;
}

static bool container_call_dict(onnx_out *o, const node *n, out_value **args, bool *done) {
    out_value *x = args[0];
    int at;
    switch (x->items ? n->op->name_symbol : SYM_NONE) {
    case SYM_LEN: return out_put(o, n->outputs.data[0], out_constant(o, value_int(x->nitems)));
    case SYM___GETITEM__:
        at = dict_place(x, args[1]);
        return at >= 0 ? out_put(o, n->outputs.data[0], x->items[at])
                       : out_refuse(o, "there is no such key");
    case SYM__SET_ITEM: return container_set_dict(o, args);
    case SYM___CONTAINS__:
        return out_put(o, n->outputs.data[0],
                       out_constant(o, value_bool(dict_place(x, args[1]) >= 0)));
    case SYM_VALUES: return container_put(o, n, (size_t)x->nitems, x->items);
    default: *done = false; return true;
    }
}

/* Operators of lists and dicts, whose elements are names: *done says whether n is one. */
static bool container_call(onnx_out *o, const node *n, out_value **args, bool *done) {
    op_symbol name = n->op->name_symbol;
    uint8_t tag = n->inputs.len ? args[0]->v[0].tag : V_NONE;
    *done = true;
    if (name == SYM___IS__ || name == SYM___ISNOT__) {
        bool is = value_is(args[0]->v[0], args[1]->v[0]);
        return out_put(o, n->outputs.data[0],
                       out_constant(o, value_bool(is == (name == SYM___IS__))));
    }
    if (tag == V_LIST) return container_call_list(o, n, args, done);
    if (tag == V_DICT) return container_call_dict(o, n, args, done);
    *done = false;
    return true;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static bool flow_raises(const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (n->kind == N_RAISE) return true;
    return false;
}

static bool walk_if(onnx_out *o, const node *n) {
    out_value *cond = out_get(o, n->inputs.data[0]);
    if (!cond) return false;
    bool yes = cond->v[0].u.b;
    /* what only fails is not written: the model does not check */
    if (cond->name && !flow_raises(n->blocks.data[yes ? 1 : 0])) return flow_if(o, n, cond);
    const block *b = n->blocks.data[yes ? 0 : 1];
    if (cond->fixed && !flow_raises(n->blocks.data[yes ? 1 : 0]) && !out_warn(o, "this branch"))
        return false;
    if (!out_walk(o, b)) return false;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!out_put(o, n->outputs.data[i], out_get(o, b->returns.data[i]))) return false;
    return true;
}

/* Iterations in a row, as long as it is known that there is another. */
static bool walk_loop(onnx_out *o, const node *n) {
    const block *b = n->blocks.data[0];
    out_value *trips = out_get(o, n->inputs.data[0]),
              *cond = trips ? out_get(o, n->inputs.data[1]) : NULL;
    size_t carried = n->inputs.len - 2;
    out_value **now = arena_array(&o->scratch, out_value *, carried + 1);
    if (!cond || !now) return false;
    for (size_t i = 0; i < carried; i++)
        if (!(now[i] = out_get(o, n->inputs.data[i + 2]))) return false;
    for (int64_t k = 0;; k++) {
        if (!trips->name && k >= trips->v[0].u.i) break;
        if (trips->name || cond->name) return flow_loop(o, n, k, trips, cond, now);
        if (!cond->v[0].u.b) break;
        if (!out_put(o, b->params.data[0], out_constant(o, value_int(k)))) return false;
        for (size_t i = 0; i < carried; i++)
            if (!out_put(o, b->params.data[i + 1], now[i])) return false;
        if (!out_walk(o, b) || !(cond = out_get(o, b->returns.data[0]))) return false;
        o->at = n;
        for (size_t i = 0; i < carried; i++)
            if (!(now[i] = out_get(o, b->returns.data[i + 1]))) return false;
    }
    for (size_t i = 0; i < carried; i++)
        if (!out_put(o, n->outputs.data[i], now[i])) return false;
    return true;
}

static bool walk_isinstance(onnx_out *o, const node *n) {
    out_value *x = out_get(o, n->inputs.data[0]);
    const attr *a = node_attr(n, "types");
    bool is = false;
    if (!x || !a) return out_refuse(o, "of what?");
    for (int i = 0; i < a->u.types.n; i++)
        is = is || type_admits_value(a->u.types.data[i], x->v[0]);
    return out_put(o, n->outputs.data[0], out_constant(o, value_bool(is)));
}

static bool walk_raise(onnx_out *o, const node *n) {
    out_value *text = n->inputs.len ? out_get(o, n->inputs.data[0]) : NULL;
    if (o->bodies && text && text->v[0].tag == V_STR)
        return out_refuse(o, "%s", text->v[0].u.str->bytes);
    diag_fail_at(o->d, CTSC_FAILED, n->range, "%s",
                 text && text->v[0].tag == V_STR ? text->v[0].u.str->bytes : "an exception");
    return false;
}

static bool walk_node(onnx_out *o, const node *n) {
    value v;
    o->at = n;
    if (++o->steps > OUT_MAX_STEPS) return out_refuse(o, "the program is too long");
    out_tell(o, n);
    switch (n->kind) {
    case N_CONSTANT:
        if (!ir_value_constant(n->outputs.data[0], &v)) return out_refuse(o, "of unknown kind");
        return out_put(o, n->outputs.data[0], out_constant(o, value_ref(v)));
    case N_LIST_CONSTRUCT:
    case N_TUPLE_CONSTRUCT: return walk_construct(o, n);
    case N_LIST_UNPACK:
    case N_TUPLE_UNPACK: return walk_unpack(o, n);
    case N_TUPLE_INDEX: return walk_tuple_index(o, n);
    case N_DICT_CONSTRUCT: return walk_dict(o, n);
    case N_GET_ATTR: return walk_get_attr(o, n);
    case N_UNCHECKED_CAST: return out_put(o, n->outputs.data[0], out_get(o, n->inputs.data[0]));
    case N_UNINITIALIZED: return out_put(o, n->outputs.data[0], out_constant(o, value_uninit()));
    case N_ISINSTANCE: return walk_isinstance(o, n);
    case N_IF: return walk_if(o, n);
    case N_LOOP: return walk_loop(o, n);
    case N_RAISE: return walk_raise(o, n);
    case N_PRINT: return true;
    case N_OP: return walk_op(o, n);
    default: return n->op ? walk_op(o, n) : out_refuse(o, "this has no form in ONNX");
    }
}

bool out_walk(onnx_out *o, const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (!walk_node(o, n) || out_failed(o)) return out_no_memory(o);
    return true;
}

/* ---- arguments and results ------------------------------------------------------------------- */

/* What the next input is called: argument i. */
static const char *begin_name(const onnx_out *o, int i) {
    const onnx_out_options *opt = o->opt;
    return o->inputs.len < opt->ninputs ? opt->inputs[o->inputs.len] : opt->names[i];
}

/* Names that were asked for are those, or an error. */
static bool out_check_names(onnx_out *o, const char *what, size_t n, const char *const *names,
                            size_t made_n, Onnx__ValueInfoProto *const *made) {
    ctsc_status s = CTSC_OK;
    if (n > made_n) s = diag_fail(o->d, CTSC_USAGE, "%zu names for %zu %s", n, made_n, what);
    for (size_t i = 0; i < n && s == CTSC_OK; i++)
        if (strcmp(names[i], made[i]->name))
            s = diag_fail(o->d, CTSC_USAGE, "%s: the name '%s' is taken", what, names[i]);
    return s == CTSC_OK;
}

static bool begin_argument(onnx_out *o, int i, const ir_value *param) {
    const onnx_out_options *opt = o->opt;
    out_value *x = out_new(o);
    value v[] = {opt->args[i], opt->second ? opt->second[i] : value_none()};
    if (!x) return false;
    for (int w = 0; w < o->worlds; w++) {
        tensor *t = NULL;
        x->v[w] = value_ref(v[w]);
        if (v[w].tag != V_TENSOR) continue;
        if (tensor_clone(o->d, v[w].u.tensor, &t) != CTSC_OK) return false;
        value_set(&x->v[w], value_tensor_take(t));
    }
    if (v[0].tag == V_LIST || v[0].tag == V_TUPLE || v[0].tag == V_DICT)
        return out_refuse(
            o, "argument '%s' is a container: only tensors, numbers, strings and None can be given",
            opt->names[i]);
    if (v[0].tag == V_TENSOR && !out_input(o, x, begin_name(o, i), i)) return false;
    return out_put(o, param, x);
}

static bool end_leaf(onnx_out *o, out_value *x, const char *name) {
    tensor *made[OUT_WORLDS] = {NULL, NULL};
    if (x->stale && !out_refresh(o, x)) return false;
    if (x->v[0].tag == V_TENSOR && dtype_is_quantised((dtype)x->v[0].u.tensor->dtype))
        return out_refuse(o, "a result is a quantised tensor, which ONNX has not: dequantize it");
    for (int w = 0; w < o->worlds; w++) {
        value v = x->v[w];
        ctsc_status s = v.tag == V_TENSOR  ? (made[w] = tensor_ref(v.u.tensor), CTSC_OK)
                        : v.tag == V_INT   ? tensor_scalar_int(o->d, DT_INT64, v.u.i, &made[w])
                        : v.tag == V_BOOL  ? tensor_scalar_int(o->d, DT_BOOL, v.u.b, &made[w])
                        : v.tag == V_FLOAT ? tensor_scalar_float(o->d, DT_FLOAT32, v.u.f, &made[w])
                                           : diag_fail(o->d, CTSC_UNSUPPORTED,
                                                       "ONNX: a result is not a tensor or number");
        if (s != CTSC_OK) return tensor_unref(made[0]), false;
    }
    /* of its own name, whatever it is */
    const onnx_out_options *opt = o->opt;
    if (o->outputs.len < opt->noutputs) name = opt->outputs[o->outputs.len];
    const char *from = out_name(o, x), *own = out_fresh(o, name), *to = OUT(o, "Identity", from);
    bool ok = from && own && to;
    if (ok) {
        *vec_last(&o->nodes)->output = (char *)(uintptr_t)own;
        ok = out_output(o, own, made[0], o->worlds > 1 ? made[1] : NULL);
    }
    tensor_unref(made[0]);
    tensor_unref(made[1]);
    return ok;
}

static bool end_result(onnx_out *o, out_value *x, const char *name, int depth) {
    uint8_t tag = x->v[0].tag;
    size_t n = out_len(x);
    if (depth > OUT_MAX_DEPTH) return out_refuse(o, "results nest too deeply");
    if (x->seq) return lists_result(o, x, name);
    if (tag == V_NONE) return true;
    if (tag == V_DICT) {
        const dict *d = x->v[0].u.dict;
        for (size_t i = 0, at = 0; i < d->used; i++) {
            value key = d->entries[i].key;
            if (key.tag == V_UNINIT) continue;
            if (!x->items || key.tag != V_STR) return out_refuse(o, "a dict of such keys");
            if (!end_result(o, x->items[at++], key.u.str->bytes, depth + 1)) return false;
        }
        return true;
    }
    if (tag != V_LIST && tag != V_TUPLE) return end_leaf(o, x, name);
    for (size_t i = 0; i < n; i++) {
        out_value *item = out_item(o, x, i);
        const struct type *t = tag == V_TUPLE ? x->v[0].u.tuple->type : NULL;
        const char *own = t && t->field_names ? t->field_names[i] : name;
        if (!item || !end_result(o, item, own, depth + 1)) return false;
    }
    return true;
}

static void out_end(onnx_out *o) {
    for (size_t i = 0; i < o->values.len; i++)
        for (int w = 0; w < OUT_WORLDS; w++) value_unref(o->values.data[i]->v[w]);
    for (size_t i = 0; i < o->held.len; i++) tensor_unref(o->held.data[i]);
    vec_free(&o->values);
    vec_free(&o->held);
    vec_free(&o->links);
    while (o->frame) flow_drop(o, o->frame);
    vec_free(&o->nodes);
    vec_free(&o->tensors);
    vec_free(&o->inputs);
    vec_free(&o->outputs);
    strmap_free(&o->names);
    strmap_free(&o->constants);
    ptrmap *maps[] = {&o->attributes, &o->attribute_names, &o->initializers, &o->env,
                      &o->listed,     &o->made_of_ints,    &o->warned};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_free(maps[i]);
    arena_free(&o->scratch);
}

/* *again: it has to be done in two worlds. *sized: with distinguishable sizes. */
static ctsc_status write_walk(diag *d, const graph *g, const onnx_out_options *options,
                              out_shift shift, bool *again, bool *sized) {
    onnx_out o = {.d = d,
                  .opt = options,
                  .worlds = options->second ? 2 : 1,
                  .opset = options->opset,
                  .shift = shift};
    bool ok = arena_init(&o.scratch);
    if (!ok) diag_no_memory(d);
    if (ok && (o.opset < ONNX_OUT_MIN_OPSET || o.opset > ONNX_OUT_MAX_OPSET))
        ok = diag_fail(d, CTSC_USAGE, "ONNX's operator set %d: %d to %d can be written", o.opset,
                       ONNX_OUT_MIN_OPSET, ONNX_OUT_MAX_OPSET) == CTSC_OK;
    if (ok && options->args[0].tag == V_OBJECT)
        ok = attribute_note(&o, options->args[0].u.object, "", 0);
    for (int i = 0; ok && i < options->nargs; i++)
        ok = begin_argument(&o, i, g->root->params.data[i]);
    ok = ok && out_walk(&o, g->root);
    o.at = NULL;
    out_value *r = ok ? out_get(&o, g->root->returns.data[0]) : NULL;
    if (r && end_result(&o, r, "output", 0) &&
        out_check_names(&o, "inputs", options->ninputs, options->inputs, o.inputs.len,
                        o.inputs.data) &&
        out_check_names(&o, "outputs", options->noutputs, options->outputs, o.outputs.len,
                        o.outputs.data))
        out_finish(&o);
    if (d->status == CTSC_OK && !r) diag_no_memory(d);
    if (d->status == CTSC_OK && arena_failed(&o.scratch)) diag_no_memory(d);
    *again = o.two;
    *sized = o.sized;
    out_end(&o);
    return d->status;
}

ctsc_status onnx_write(diag *d, const graph *g, const onnx_out_options *options) {
    onnx_out_options two = *options;
    bool again = false, sized = false;
    ctsc_status s = write_walk(d, g, options, SHIFT_NONE, &again, &sized);
    if (again && !two.second) {
        diag_clear(d);
        two.second = two.args;
        s = write_walk(d, g, &two, SHIFT_NONE, &again, &sized);
    }
    if (!sized) return s;
    if (!two.second) two.second = two.args;
    int reason = SHIFT_NONE; /* which refusal is not just of a number that was made up */
    bool not_again, not_sized;
    for (int shift = SHIFT_MORE; shift < SHIFT_COUNT; shift++) {
        diag_clear(d);
        s = write_walk(d, g, &two, (out_shift)shift, &not_again, &not_sized);
        if (s == CTSC_OK || s == CTSC_LIMIT) return s;
        if (s == CTSC_UNSUPPORTED && !reason) reason = shift;
    }
    diag_clear(d);
    return write_walk(d, g, &two, (out_shift)reason, &not_again, &not_sized);
}
