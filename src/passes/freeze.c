/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeze.c - turns attributes of a module that nothing changes into constants.
 *
 *     graph(%self : __torch__.Net, %x : Tensor):              graph(%self : __torch__.Net, %x : Tensor):
 *       %fc = prim::GetAttr[name="fc"](%self)                   %self.fc.weight : Float(2, 3, ...) = prim::Constant[value=<Tensor>]()
 *       %w = prim::GetAttr[name="weight"](%fc)         ->       %y = aten::linear(%x, %self.fc.weight, ...)
 *       %y = aten::linear(%x, %w, ...)
 *
 * Method. The module is known (cx->self), so every prim::GetAttr that begins at %self names one
 * slot of one object. A slot stays an attribute if the graph may change it: by prim::SetAttr, by
 * an operator that writes the tensor or list, through another slot with the same storage, or
 * because its module goes where it cannot be followed (a call that was not inlined). All of this
 * is decided before anything is changed. Submodules with an interface type are known as well: their
 * calls are inlined first.
 *
 * Parameters lose requires_grad: a constant is not trained.
 * Tests: tests/cli/freeze.test, tests/interop/freeze.py
 */
#include "ir/native.h"
#include "passes/pass/value_analysis.h"
#include "passes/passes.h"

#include <string.h>

enum { FREEZE_DEPTH = 64, FREEZE_ROUNDS = 8, FREEZE_LIST = 256 };

typedef struct freeze_read { node *n; object *o; int slot; } freeze_read;

typedef struct freezer {
    pass_ctx *cx;
    graph *g;
    ptrmap objects;   /* value -> the module it is */
    ptrmap paths;     /* module -> "self.layer1" */
    ptrmap kept;      /* address of a slot -> itself */
    ptrmap escaped;   /* modules whose slots all stay */
    strmap set_names; /* attributes set on objects that are not known */
    ptrmap constants; /* address of a slot -> its constant */
    VEC(freeze_read) reads;
    bool failed, resolved; /* out of memory; an interface's class became known */
} freezer;

static void freeze_keep(freezer *f, const value *slot) {
    if (!ptrmap_put(&f->kept, slot, (void *)slot)) f->failed = true;
}

static void freeze_escape(freezer *f, object *o, int depth) {
    if (ptrmap_get(&f->escaped, o)) return;
    if (!ptrmap_put(&f->escaped, o, o)) f->failed = true;
    for (size_t i = 0; i < o->nslots && depth < FREEZE_DEPTH; i++) {
        freeze_keep(f, &o->slots[i]);
        if (o->slots[i].tag == V_OBJECT) freeze_escape(f, o->slots[i].u.object, depth + 1);
    }
}

static bool freeze_is_module(value v) {
    return v.tag == V_OBJECT && v.u.object->cls->cls->is_module;
}

/* ---- what is read ---------------------------------------------------------------------------- */

static void freeze_note_object(freezer *f, ir_value *v, object *o, const char *path) {
    if (!ptrmap_put(&f->objects, v, o)) f->failed = true;
    if (!ptrmap_get(&f->paths, o) && !ptrmap_put(&f->paths, o, (void *)path)) f->failed = true;
}

static void freeze_get(freezer *f, node *n, object *o) {
    int slot = class_find_attribute(o->cls, node_str(n, "name"));
    if (slot < 0 || (size_t)slot >= o->nslots) {
        freeze_escape(f, o, 0);
        return;
    }
    ir_value *out = n->outputs.data[0];
    if (!freeze_is_module(o->slots[slot])) {
        freeze_read r = {n, o, slot};
        if (!vec_push(&f->reads, r)) f->failed = true;
        return;
    }
    object *sub = o->slots[slot].u.object;
    freeze_note_object(f, out, sub,
                       arena_printf(&f->g->arena, "%s.%s", (const char *)ptrmap_get(&f->paths, o),
                                    node_str(n, "name")));
    if (out->type != sub->cls && out->type->kind == T_INTERFACE) {
        out->type = sub->cls;
        f->resolved = true;
    }
}

static void freeze_scan_node(freezer *f, node *n) {
    object *o = n->inputs.len ? ptrmap_get(&f->objects, n->inputs.data[0]) : NULL;
    if (n->kind == N_SET_ATTR) {
        int slot = o ? class_find_attribute(o->cls, node_str(n, "name")) : -1;
        if (slot >= 0) freeze_keep(f, &o->slots[slot]);
        else if (!strmap_put(&f->set_names, node_str(n, "name"), f)) f->failed = true;
        object *set = ptrmap_get(&f->objects, n->inputs.data[1]);
        if (set) freeze_escape(f, set, 0);
        return;
    }
    if (n->kind == N_GET_ATTR) {
        if (o) freeze_get(f, n, o);
        return;
    }
    for (size_t i = 0; i < n->inputs.len; i++)
        if ((o = ptrmap_get(&f->objects, n->inputs.data[i]))) freeze_escape(f, o, 0);
}

static void freeze_scan(freezer *f, block *b) {
    for (node *n = b->first; n; n = n->next) {
        freeze_scan_node(f, n);
        for (size_t i = 0; i < n->blocks.len; i++) freeze_scan(f, n->blocks.data[i]);
    }
    for (size_t i = 0; i < b->returns.len; i++) {
        object *o = ptrmap_get(&f->objects, b->returns.data[i]);
        if (o) freeze_escape(f, o, 0);
    }
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* Tensors inside containers cannot be constants of an archive that PyTorch loads. */
static bool freeze_can_be_constant(value v, int depth) {
    if (depth > FREEZE_DEPTH) return false;
    switch (v.tag) {
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_COMPLEX:
    case V_STR:
    case V_DEVICE: return true;
    case V_TENSOR: return depth == 0;
    case V_LIST:
        if (v.u.list->kind == LIST_TENSOR) return false;
        for (size_t i = 0; v.u.list->kind == LIST_VALUE && i < v.u.list->len; i++)
            if (!freeze_can_be_constant(v.u.list->u.values[i], depth + 1)) return false;
        return true;
    case V_TUPLE:
        for (size_t i = 0; i < v.u.tuple->len; i++)
            if (!freeze_can_be_constant(v.u.tuple->items[i], depth + 1)) return false;
        return !v.u.tuple->type; /* a named tuple's name would be lost */
    case V_DICT:
        for (size_t i = 0; i < v.u.dict->used; i++)
            if (v.u.dict->entries[i].key.tag != V_UNINIT &&
                !freeze_can_be_constant(v.u.dict->entries[i].val, depth + 1))
                return false;
        return true;
    case V_OBJECT: return depth == 0 && type_is_native(v.u.object->cls); /* nothing changes them */
    default: return false;
    }
}

/* What two slots can share: a storage, a list, a dict. */
static const void *freeze_shared(const freeze_read *r) {
    value v = r->o->slots[r->slot];
    return v.tag == V_TENSOR                    ? (const void *)v.u.tensor->storage
           : v.tag == V_LIST || v.tag == V_DICT ? (const void *)v.u.refs
                                                : NULL;
}

static bool freeze_is_kept(const freezer *f, const freeze_read *r) {
    return ptrmap_get(&f->kept, &r->o->slots[r->slot]) != NULL;
}

/* A list of tensors that is only read is made anew from constants at each read. */
static bool freeze_is_tensor_list(const freeze_read *r) {
    value v = r->o->slots[r->slot];
    return v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && v.u.list->len <= FREEZE_LIST &&
           known_list_kept(r->n->outputs.data[0]);
}

static void freeze_decide(freezer *f) {
    bool writes = known_graph_writes(f->g);
    for (size_t i = 0; i < f->reads.len; i++) {
        const freeze_read *r = &f->reads.data[i];
        value v = r->o->slots[r->slot];
        bool immutable = (v.tag < V_TENSOR && v.tag != V_UNINIT) || v.tag == V_OBJECT;
        if (strmap_get(&f->set_names, node_str(r->n, "name")) ||
            !(freeze_can_be_constant(v, 0) || freeze_is_tensor_list(r)) ||
            (!immutable && writes && !known_only_read(r->n->outputs.data[0])))
            freeze_keep(f, &r->o->slots[r->slot]);
    }
    /* A value that shares memory with a kept attribute sees its changes. */
    ptrmap shared = {0};
    for (size_t i = 0; i < f->reads.len; i++) {
        const void *st = freeze_shared(&f->reads.data[i]);
        if (st && freeze_is_kept(f, &f->reads.data[i]) && !ptrmap_put(&shared, st, (void *)st))
            f->failed = true;
    }
    for (size_t i = 0; i < f->reads.len; i++) {
        const void *st = freeze_shared(&f->reads.data[i]);
        if (st && ptrmap_get(&shared, st))
            freeze_keep(f, &f->reads.data[i].o->slots[f->reads.data[i].slot]);
    }
    ptrmap_free(&shared);
}

/* ---- what goes ------------------------------------------------------------------------------- */

/* The value, with tensors that want no gradient. A new reference; V_UNINIT without memory. */
static value freeze_value(freezer *f, value v) {
    tensor *t;
    if (v.tag != V_TENSOR || !v.u.tensor->requires_grad) return value_ref(v);
    if (tensor_alias(f->cx->diag, v.u.tensor, &t) != CTSC_OK) return value_uninit();
    t->requires_grad = false;
    return value_tensor_take(t);
}

/* At the top of the graph. */
static ir_value *freeze_insert(freezer *f, value v, const char *name) {
    graph *g = f->g;
    if (v.tag == V_UNINIT) return NULL;
    graph_set_insert(g, g->root, g->root->first);
    g->range = (source_range){0};
    ir_value *c = graph_constant_take(g, v, v.tag == V_TENSOR ? NULL : type_of_value(v));
    graph_set_insert(g, g->root, NULL);
    value_set_name(c, name);
    return c;
}

static const char *freeze_name(const freezer *f, const freeze_read *r) {
    const char *path = ptrmap_get(&f->paths, r->o);
    return arena_printf(&f->g->arena, "%s.%s", path ? path : "self",
                        r->o->cls->cls->attributes.data[r->slot].name);
}

/* A list of tensors in front of the read. */
static ir_value *freeze_tensor_list(freezer *f, const freeze_read *r) {
    const list *l = r->o->slots[r->slot].u.list;
    ir_value *items[FREEZE_LIST];
    for (size_t i = 0; i < l->len; i++) {
        value v = {.tag = V_TENSOR, .u.tensor = l->u.tensors[i]};
        if (!(items[i] = freeze_insert(f, freeze_value(f, v),
                                       arena_printf(&f->g->arena, "%s.%zu", freeze_name(f, r), i))))
            return NULL;
    }
    node *made = node_new(f->g, N_LIST_CONSTRUCT, (int)l->len, items, 1);
    made->outputs.data[0]->type = r->n->outputs.data[0]->type;
    node_insert_before(made, r->n);
    return made->outputs.data[0];
}

static ir_value *freeze_constant(freezer *f, const freeze_read *r) {
    value *slot = &r->o->slots[r->slot];
    ir_value *c = ptrmap_get(&f->constants, slot);
    if (c) return c;
    if (freeze_is_tensor_list(r)) return freeze_tensor_list(f, r);
    c = freeze_insert(f, freeze_value(f, *slot), freeze_name(f, r));
    if (c && !ptrmap_put(&f->constants, slot, c)) f->failed = true;
    return c;
}

static bool freeze_replace(freezer *f) {
    bool changed = false;
    for (size_t i = 0; i < f->reads.len && !f->failed; i++) {
        const freeze_read *r = &f->reads.data[i];
        if (freeze_is_kept(f, r)) continue;
        ir_value *c = freeze_constant(f, r);
        if (!c || arena_failed(&f->g->arena)) {
            f->failed = true;
            break;
        }
        value_replace_uses(r->n->outputs.data[0], c);
        node_remove(r->n);
        changed = true;
    }
    return changed;
}

static void freeze_clear(freezer *f) {
    ptrmap_free(&f->objects);
    ptrmap_free(&f->paths);
    ptrmap_free(&f->kept);
    ptrmap_free(&f->escaped);
    ptrmap_free(&f->constants);
    strmap_free(&f->set_names);
    vec_free(&f->reads);
}

static void freeze_look(freezer *f, object *self) {
    freeze_note_object(f, f->g->root->params.data[0], self, "self");
    freeze_scan(f, f->g->root);
}

bool pass_freeze(pass_ctx *cx, graph *g) {
    if (!cx->self || !g->root->params.len || g->root->params.data[0]->type != cx->self->cls)
        return false;
    freezer f = {.cx = cx, .g = g};
    freeze_look(&f, cx->self);
    bool changed = false;
    for (int round = 0; f.resolved && !f.failed && round < FREEZE_ROUNDS; round++) {
        freeze_clear(&f);
        f = (freezer){.cx = cx, .g = g};
        changed |= pass_inline(cx, g);
        if (cx->diag->status != CTSC_OK || arena_failed(&g->arena)) return changed;
        freeze_look(&f, cx->self);
    }
    if (!f.failed) freeze_decide(&f);
    if (!f.failed) changed |= freeze_replace(&f);
    if (f.failed && cx->diag->status == CTSC_OK) diag_no_memory(cx->diag);
    freeze_clear(&f);
    return changed;
}
