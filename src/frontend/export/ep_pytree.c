/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_pytree.c - nested arguments and results: a treespec
 * as types, and as nodes that unpack and pack values.
 *
 *     [1, {"type": "builtins.dict", "context": "[\"x\", \"y\"]", "children_spec": [LEAF, LEAF]}]        Dict(str, Tensor)
 *
 * Classes. Named tuples, dataclasses and what else registers itself with the names of its fields
 * are named tuples of their class's name as results; as arguments plain tuples, so that any tuple
 * will do. A list or dict has one type for its items: their union where they differ; what is taken
 * out of it is checked. Lists of items that differ are tuples as arguments: PyTorch cannot tell
 * what such a list is, so that an archive of TorchScript could not be called with it.
 */
#include "frontend/export/ep_internal.h"

enum { TREE_MAX_KEYS = 10000 }; /* each is compared with each */

static ep_tree *tree_new(ep_program *p, ep_tree_kind kind, int n) {
    ep_tree *t = arena_new(&p->scratch, ep_tree);
    t->kind = kind;
    t->n = n;
    t->items = arena_array(&p->scratch, ep_tree *, n ? n : 1);
    return t->items && !arena_failed(&p->scratch) ? t : (ep_no_memory(p), NULL);
}

ep_tree *ep_tree_tuple(ep_program *p, int n, ep_tree **items) {
    ep_tree *t = tree_new(p, EP_TUPLE, n);
    for (int i = 0; t && i < n; i++) {
        if (!(t->items[i] = items ? items[i] : tree_new(p, EP_LEAF, 0))) return NULL;
        if (!items) t->items[i]->leaf = i;
    }
    return t;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool tree_identifier(const char *s) {
    bool ok = *s && !(*s >= '0' && *s <= '9');
    for (; ok && *s; s++)
        ok = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
             *s == '_';
    return ok;
}

/* Names of fields, if that is what the list holds. */
static bool tree_fields(ep_program *p, ep_tree *t, const json_t *names) {
    if (json_array_size(names) != (size_t)t->n || !t->n || t->n > TREE_MAX_KEYS) return false;
    const char **fields = arena_array(&p->unit->arena, const char *, t->n);
    if (!fields) return false;
    for (int i = 0; i < t->n; i++) {
        const char *s = json_string_value(json_array_get(names, (size_t)i));
        if (!s || !tree_identifier(s)) return false;
        for (int k = 0; k < i; k++)
            if (!strcmp(fields[k], s)) return false;
        fields[i] = intern(&p->unit->names, s);
    }
    t->fields = fields;
    return true;
}

static void tree_class(ep_program *p, ep_tree *t, const char *name, const json_t *names) {
    if (!tree_fields(p, t, names)) return;
    char *own = arena_printf(&p->unit->arena, "__torch__.%.200s", name);
    if (!own) return;
    for (char *c = own; *c; c++)
        if (!tree_identifier((char[]){*c, 0}) && *c != '.' && !(*c >= '0' && *c <= '9')) *c = '_';
    t->name = intern(&p->unit->names, own);
}

static bool tree_keys(ep_program *p, ep_tree *t, const json_t *keys) {
    if (t->n > TREE_MAX_KEYS) return ep_unsupported(p, "a treespec has a dict of %d keys", t->n);
    if (json_array_size(keys) != (size_t)t->n)
        return ep_bad(p, "a treespec has a dict of %d values and %zu keys", t->n,
                      json_array_size(keys));
    if (!(t->keys = arena_array(&p->scratch, value, t->n ? t->n : 1))) return ep_no_memory(p);
    for (int i = 0; i < t->n; i++) {
        const json_t *k = json_array_get(keys, (size_t)i);
        if (json_is_string(k)) {
            str *s = str_new(json_string_value(k), json_string_length(k));
            if (!s || !vec_push(&p->held, value_str_take(s))) return ep_no_memory(p);
            t->keys[i] = vec_last(&p->held);
        } else if (json_is_integer(k)) {
            t->keys[i] = value_int(json_integer_value(k));
        } else {
            return ep_unsupported(
                p, "dicts whose keys are neither texts nor integers are not supported");
        }
        if (t->keys[i].tag != t->keys[0].tag)
            return ep_unsupported(p, "dicts whose keys are of several types are not supported");
        for (int j = 0; j < i; j++)
            if (value_equal(t->keys[i], t->keys[j]))
                return ep_bad(p, "a treespec has a dict with a key twice");
    }
    return true;
}

/* Context that is JSON itself; NULL: it is not. */
static json_t *tree_context(const json_t *c) {
    return json_is_string(c)
               ? json_loadb(json_string_value(c), json_string_length(c), JSON_DECODE_ANY, NULL)
               : NULL;
}

static bool tree_dict(ep_program *p, ep_tree *t, const json_t *context) {
    const json_t *inner = json_object_get(context, "dict_context"); /* of a defaultdict */
    if (json_is_array(inner)) return tree_keys(p, t, inner);
    json_t *keys = tree_context(inner ? inner : context);
    const json_t *nested = json_object_get(keys, "dict_context");
    bool ok = json_is_array(nested) ? tree_keys(p, t, nested)
              : json_is_array(keys) ? tree_keys(p, t, keys)
                                    : ep_bad(p, "a treespec has a dict without keys");
    json_decref(keys);
    return ok;
}

static void tree_other(ep_program *p, ep_tree *t, const char *name, const json_t *context) {
    if (!strcmp(name, "collections.namedtuple") && json_is_string(context)) {
        const char *cls = json_string_value(context);
        tree_class(p, t, cls, json_object_get(json_object_get(p->named, cls), "field_names"));
        return;
    }
    json_t *c = tree_context(context);
    const json_t *first = json_array_get(c, 0);
    tree_class(p, t, name, json_is_array(first) ? first : c);
    json_decref(c);
}

static ep_tree *tree_read(ep_program *p, const json_t *spec, int depth, int *leaves) {
    const json_t *name = json_object_get(spec, "type"),
                 *children = json_object_get(spec, "children_spec"),
                 *context = json_object_get(spec, "context");
    if (depth > EP_MAX_TREE) return ep_bad(p, "a treespec nests too deeply"), NULL;
    if (!json_is_object(spec) || !json_is_array(children) ||
        !(json_is_null(name) || json_is_string(name)))
        return ep_bad(p, "a treespec has a node without type or children"), NULL;
    if (json_is_null(name)) {
        ep_tree *leaf = tree_new(p, EP_LEAF, 0);
        if (leaf) leaf->leaf = (*leaves)++;
        return leaf;
    }
    static const struct { const char *name; ep_tree_kind kind; } known[] = {
        {"builtins.tuple", EP_TUPLE},
        {"torch.Size", EP_TUPLE},
        {"builtins.list", EP_LIST},
        {"collections.deque", EP_LIST},
        {"torch.fx.immutable_collections.immutable_list", EP_LIST},
        {"builtins.dict", EP_DICT},
        {"collections.OrderedDict", EP_DICT},
        {"collections.defaultdict", EP_DICT},
        {"torch.fx.immutable_collections.immutable_dict", EP_DICT},
    };
    ep_tree_kind kind = EP_TUPLE;
    const char *text = json_string_value(name);
    bool plain = false;
    for (size_t i = 0; i < sizeof known / sizeof *known && !plain; i++)
        if ((plain = !strcmp(known[i].name, text))) kind = known[i].kind;
    ep_tree *t = tree_new(p, kind, (int)json_array_size(children));
    if (!t || (kind == EP_DICT && !tree_dict(p, t, context))) return NULL;
    if (!plain) tree_other(p, t, text, context);
    for (int i = 0; i < t->n; i++)
        if (!(t->items[i] = tree_read(p, json_array_get(children, (size_t)i), depth + 1, leaves)))
            return NULL;
    return t;
}

ep_tree *ep_tree_parse(ep_program *p, const char *spec, int *leaves) {
    json_t *json = json_loads(spec, 0, NULL);
    int64_t version = json_integer_value(json_array_get(json, 0));
    ep_tree *t = NULL;
    *leaves = 0;
    if (json_array_size(json) != 2) ep_bad(p, "a treespec is not a list of a version and a tree");
    else if (version != 1)
        ep_unsupported(p, "treespecs of version %lld are not supported", (long long)version);
    else t = tree_read(p, json_array_get(json, 1), 0, leaves);
    json_decref(json);
    return t;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* The type of all items. */
static type *tree_items_type(const ep_tree *t) {
    type *all = t->n ? t->items[0]->type : TYPE_TENSOR;
    for (int i = 1; i < t->n && all; i++) all = type_unify(all, t->items[i]->type, true);
    return all ? all : TYPE_ANY;
}

type *ep_tree_type(ep_program *p, ep_tree *t, type *const *leaves) {
    type **types = arena_array(&p->scratch, type *, t->n ? t->n : 1);
    if (!types) return ep_no_memory(p), NULL;
    if (t->kind == EP_LEAF) return t->type = leaves[t->leaf];
    for (int i = 0; i < t->n; i++)
        if (!(types[i] = ep_tree_type(p, t->items[i], leaves))) return NULL;
    for (int i = 1; i < t->n && t->argument && t->kind == EP_LIST; i++)
        if (types[i] != types[0]) t->kind = EP_TUPLE;
    if (t->kind == EP_LIST) t->type = type_list(tree_items_type(t));
    else if (t->kind == EP_DICT)
        t->type = type_dict(t->n && t->keys[0].tag == V_INT ? TYPE_INT : TYPE_STR,
                            tree_items_type(t));
    else if (t->name) t->type = type_named_tuple(p->unit, t->name, t->n, t->fields, types);
    else t->type = type_tuple(t->n, types);
    if (type_is_huge(t->type)) return ep_bad(p, "a treespec is too large"), NULL;
    return t->type;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ir_value *tree_cast(ep_program *p, ir_value *v, type *want) {
    if (v->type == want || want->kind == T_NONE) return v;
    node *n = ep_insert(p, node_new(p->g, N_UNCHECKED_CAST, 1, &v, 1));
    n->doubtful = true;
    n->outputs.data[0]->type = want;
    return n->outputs.data[0];
}

static ir_value *tree_key(ep_program *p, const ep_tree *t, int i) {
    ir_value *k = graph_constant_take(p->g, value_ref(t->keys[i]), NULL);
    return k ? k : (ep_no_memory(p), NULL);
}

static bool tree_apart_dict(ep_program *p, const ep_tree *t, ir_value *v, ir_value **leaves) {
    for (int i = 0; i < t->n; i++) {
        ir_value *in[] = {v, tree_key(p, t, i)};
        ir_value *item = in[1] ? ep_emit_key(p,
                                             t->keys[0].tag == V_INT ? "aten::__getitem__.Dict_int"
                                                                     : "aten::__getitem__.Dict_str",
                                             2, in)
                               : NULL;
        if (!item) return false;
        item->type = t->type->elems[1];
        if (!ep_tree_take_apart(p, t->items[i], tree_cast(p, item, t->items[i]->type), leaves))
            return false;
    }
    return true;
}

bool ep_tree_take_apart(ep_program *p, const ep_tree *t, ir_value *v, ir_value **leaves) {
    if (t->kind == EP_LEAF) return leaves[t->leaf] = v, true;
    if (t->kind == EP_DICT) return tree_apart_dict(p, t, v, leaves);
    node *n = ep_insert(
        p, node_new(p->g, t->kind == EP_LIST ? N_LIST_UNPACK : N_TUPLE_UNPACK, 1, &v, 0));
    for (int i = 0; i < t->n; i++)
        node_add_output(n, t->kind == EP_LIST ? t->type->elems[0] : t->items[i]->type);
    for (int i = 0; i < t->n; i++)
        if (ep_failed(p) ||
            !ep_tree_take_apart(p, t->items[i], tree_cast(p, n->outputs.data[i], t->items[i]->type),
                                leaves))
            return ep_no_memory(p);
    return true;
}

ir_value *ep_tree_build(ep_program *p, const ep_tree *t, ir_value *const *leaves) {
    static const node_kind kinds[] = {
        [EP_TUPLE] = N_TUPLE_CONSTRUCT, [EP_LIST] = N_LIST_CONSTRUCT, [EP_DICT] = N_DICT_CONSTRUCT};
    if (t->kind == EP_LEAF) return leaves[t->leaf];
    node *n = node_new(p->g, kinds[t->kind], 0, NULL, 1);
    for (int i = 0; i < t->n; i++) {
        ir_value *key = t->kind == EP_DICT ? tree_key(p, t, i) : NULL,
                 *item = ep_tree_build(p, t->items[i], leaves);
        if (ep_failed(p) || !item || (t->kind == EP_DICT && !key)) return ep_no_memory(p), NULL;
        if (key) node_add_input(n, key);
        node_add_input(n, item);
    }
    n->outputs.data[0]->type = t->type;
    return ep_insert(p, n)->outputs.data[0];
}
