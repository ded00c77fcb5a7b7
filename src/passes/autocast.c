/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autocast.c - torch.autocast within a graph: casts in front of the operators that it names.
 *
 *     before:  %a : autocast = prim::CreateObject()                    after:
 *               = prim::SetAttr[name="_enabled"](%a, %on) ...
 *              %e : autocast = prim::Enter(%a)
 *              %y = aten::mm(%x, %w)                   %1 = aten::_autocast_to_reduced_precision(%x, %no, %on, %5, %dtype)
 *                                                      %2 = aten::_autocast_to_reduced_precision(%w, %no, %on, %5, %dtype)
 *                                                      %y = aten::mm(%1, %2)
 *              %z : Tensor = prim::Exit(%a)
 *
 * Method. As in PyTorch's pass of this name, on a graph whose calls are inlined: a
 * region is the code between Enter and Exit in a block, and the blocks within. The
 * operators' rows say which are converted: SCRIPT_CAST, since PyTorch's scripts
 * convert others than its autocast does elsewhere (exp, gelu and layer_norm, sums
 * and products of tensors compute in float32). Unlike there, whether a region is
 * enabled, and its dtype, may be known only at run time: they are arguments of the
 * casts. The same pass inserts casts into a whole program (pass_ctx.autocast), by
 * the rows' AUTOCAST. Code that is not understood (an object that is chosen at run
 * time, a call that is not inlined) leaves the graph unchanged, with a reason; the
 * interpreter refuses to enter a remaining autocast. Regions for another type of
 * device than the program's own are removed: nothing is to be converted.
 *
 * Tests: tests/ir/autocast, tests/lang/autocast.py, tests/corpus/autocast
 */
#include "ir/op/autocast.h"
#include "passes/pass/value_analysis.h"
#include "passes/passes.h"

#include <string.h>

/* The region that a node is in. on: a bool; NULL: in none. */
typedef struct cast_region { ir_value *object, *on, *dtype; } cast_region;

typedef struct caster {
    pass_ctx *cx;
    graph *g;
    bool whole; /* by AUTOCAST, all of the program */
    bool changed;
} caster;

enum { CAST_MAX_NESTING = 64 };

static bool cast_fail(caster *c, const node *n, const char *text) {
    diag_fail_at(c->cx->diag, CTSC_UNSUPPORTED, n->range, "%s", text);
    return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

bool pass_autocast_is(const type *t) {
    static const char suffix[] = ".autocast_mode.autocast";
    const char *name = t->kind == T_CLASS ? class_name(t) : "";
    size_t n = strlen(name), k = sizeof suffix - 1;
    return n >= k && !strcmp(name + n - k, suffix);
}

static bool cast_is_region(const node *n) {
    return (n->kind == N_ENTER || n->kind == N_EXIT) && n->inputs.len &&
           pass_autocast_is(n->inputs.data[0]->type);
}

/* What an attribute was set to, once, where the object was made. */
static ir_value *cast_attribute(const ir_value *object, const char *name) {
    ir_value *found = NULL;
    for (size_t i = 0; i < object->uses.len; i++) {
        const node *user = object->uses.data[i].user;
        if (!user || user->kind != N_SET_ATTR || object->uses.data[i].index ||
            strcmp(node_str(user, "name"), name) != 0)
            continue;
        if (found || user->owner != object->owner) return NULL;
        found = user->inputs.data[1];
    }
    while (found && found->def && found->def->kind == N_UNCHECKED_CAST)
        found = found->def->inputs.data[0];
    return found;
}

static bool cast_is_made_here(const ir_value *object) {
    return object->def && object->def->kind == N_CREATE_OBJECT;
}

/* The region that `enter` begins within `around`. */
static bool cast_enter(caster *c, node *enter, cast_region around, cast_region *out) {
    ir_value *object = enter->inputs.data[0];
    value device;
    ir_value *where = cast_is_made_here(object) ? cast_attribute(object, "device") : NULL,
             *on = where ? cast_attribute(object, "_enabled") : NULL,
             *dtype = on ? cast_attribute(object, "fast_dtype") : NULL;
    if (!dtype || !ir_value_constant(where, &device) || device.tag != V_STR)
        return cast_fail(c, enter,
                         "torch.autocast is supported where its arguments are given and the device "
                         "is known when the program is compiled");
    bool ours = !strncmp(device.u.str->bytes, c->cx->device == DEVICE_HOST ? "cpu" : "cuda",
                         c->cx->device == DEVICE_HOST ? 3 : 4);
    *out = (cast_region){object, around.on, around.dtype};
    bool off = false;
    if (!ours) return true;
    if (known_bool(on, &off) && !off) {
        out->on = NULL;
        return true;
    }
    if (on->type->kind != T_BOOL || dtype->type->kind != T_INT)
        return cast_fail(c, enter, "torch.autocast's dtype has to be given where it is enabled");
    out->on = on;
    out->dtype = dtype;
    return true;
}

/* Enter, Exit and, if nothing else is known of it, the object. */
static void cast_leave(caster *c, node *enter, node *exit) {
    ir_value *object = enter->inputs.data[0];
    if (enter->outputs.len) value_replace_uses(enter->outputs.data[0], object);
    graph_set_insert(c->g, exit->owner, exit);
    if (exit->outputs.len && exit->outputs.data[0]->uses.len)
        value_replace_uses(exit->outputs.data[0], graph_constant_none(c->g));
    node_remove(enter);
    node_remove(exit);
    c->changed = true;
    for (size_t i = 0; i < object->uses.len; i++)
        if (object->uses.data[i].user->kind != N_SET_ATTR || object->uses.data[i].index) return;
    while (object->uses.len) node_remove(object->uses.data[object->uses.len - 1].user);
    node_remove(object->def);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static ir_value *cast_op(caster *c, node *at, op_symbol key, int n, ir_value *const *in) {
    const op *o = op_of(key);
    node *made = o ? node_new_op(c->g, o, n, in) : NULL;
    if (!made) return NULL;
    made->range = at->range;
    made->call = at->call;
    made->range_hidden = true;
    made->scope = at->scope;
    node_insert_before(made, at);
    return made->outputs.data[0];
}

static ir_value *cast_tensor(caster *c, node *at, autocast_class class, const cast_region *r,
                             ir_value *x) {
    graph_set_insert(c->g, at->owner, at);
    if (c->whole) {
        ir_value *full = class == AUTOCAST_FULL ? graph_constant_int(c->g, DT_FLOAT32) : r->dtype;
        return cast_op(c, at, SYM_CTSC_AUTOCAST, 2, (ir_value *[]){x, full});
    }
    bool host = c->cx->device == DEVICE_HOST;
    ir_value *no = graph_constant_bool(c->g, false),
             *other = graph_constant_int(c->g, host ? DT_FLOAT16 : DT_BFLOAT16);
    ir_value *in[] = {x, host ? no : r->on, host ? r->on : no, host ? other : r->dtype,
                      host ? r->dtype : other};
    return class == AUTOCAST_FULL ? cast_op(c, at, SYM__AUTOCAST_TO_FULL_PRECISION, 3, in)
                                  : cast_op(c, at, SYM__AUTOCAST_TO_REDUCED_PRECISION, 5, in);
}

/* What may be None, as the bias of a convolution:
 *     %some : bool = aten::__isnot__(%b, %none)
 *     %c : Tensor? = prim::If(%some) block0(): %t : Tensor = prim::unchecked_cast(%b) ... -> (cast of %t) block1(): -> (%b)
 * PyTorch's pass leaves it as it is, and the convolution then refuses its arguments. */
static ir_value *cast_optional(caster *c, node *at, autocast_class class, const cast_region *r,
                               ir_value *x) {
    graph_set_insert(c->g, at->owner, at);
    ir_value *some = cast_op(c, at, SYM___ISNOT__, 2, (ir_value *[]){x, graph_constant_none(c->g)});
    if (!some) return NULL;
    node *either = node_new(c->g, N_IF, 1, &some, 1);
    block *is = node_add_block(either), *is_not = node_add_block(either);
    either->outputs.data[0]->type = x->type;
    either->range = at->range;
    either->range_hidden = true;
    node_insert_before(either, at);
    node *known = node_new(c->g, N_UNCHECKED_CAST, 1, &x, 1);
    block_append(is, known);
    node *end = node_new(c->g, N_UNCHECKED_CAST, 1, &x, 0);
    block_append(is, end);
    ir_value *made = cast_tensor(c, end, class, r, known->outputs.data[0]);
    node_remove(end);
    if (!made) return NULL;
    block_add_return(is, made);
    block_add_return(is_not, x);
    return either->outputs.data[0];
}

/* Each tensor of a list, as in einsum: by AUTOCAST alone. */
static ir_value *cast_list(caster *c, node *at, autocast_class class, const cast_region *r,
                           ir_value *list) {
    node *from = known_fixed_list(list);
    if (!from) {
        graph_set_insert(c->g, at->owner, at);
        ir_value *full = class == AUTOCAST_FULL ? graph_constant_int(c->g, DT_FLOAT32) : r->dtype;
        return cast_op(c, at, SYM_CTSC_AUTOCAST_LIST, 2, (ir_value *[]){list, full});
    }
    node *made = node_new(c->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < from->inputs.len; i++) {
        ir_value *x = cast_tensor(c, at, class, r, from->inputs.data[i]);
        if (x) node_add_input(made, x);
    }
    made->outputs.data[0]->type = list->type;
    made->range = at->range;
    node_insert_before(made, at);
    return made->outputs.data[0];
}

static bool cast_has_dtype(const node *n) {
    int i = schema_find_arg(n->op->schema, "dtype");
    return i >= 0 && (size_t)i < n->inputs.len && n->inputs.data[i]->type->kind != T_NONE;
}

static bool cast_node(caster *c, node *n, const cast_region *r) {
    autocast_class class = c->whole ? n->op->traits.autocast : n->op->traits.script_cast;
    if (class == AUTOCAST_NONE || (class == AUTOCAST_FULL && !c->whole && cast_has_dtype(n)))
        return true;
    if (class == AUTOCAST_WIDEST)
        return c->whole || cast_fail(c, n,
                                     "Unsafe to autocast: use "
                                     "binary_cross_entropy_with_logits instead");
    for (size_t i = 0; i < n->inputs.len; i++) {
        ir_value *x = n->inputs.data[i], *with = x;
        if (x->type->kind == T_TENSOR) with = cast_tensor(c, n, class, r, x);
        else if (x->type->kind == T_OPTIONAL && type_elem(x->type)->kind == T_TENSOR)
            with = cast_optional(c, n, class, r, x);
        else if (c->whole && x->type->kind == T_LIST && type_elem(x->type)->kind == T_TENSOR)
            with = cast_list(c, n, class, r, x);
        if (!with) return diag_no_memory(c->cx->diag), false;
        if (with != x) node_set_input(n, (int)i, with);
    }
    c->changed = true;
    return true;
}

static bool cast_is_call(const node *n) {
    return n->kind == N_CALL_FUNCTION || n->kind == N_CALL_METHOD || n->kind == N_FORK;
}

/* check: nothing is changed, to see whether all can be. */
static bool cast_block(caster *c, block *b, cast_region around, bool check) {
    cast_region open[CAST_MAX_NESTING];
    node *enters[CAST_MAX_NESTING];
    int n = 0;
    for (node *at = b->first, *next; at; at = next) {
        next = at->next;
        const cast_region *r = n ? &open[n - 1] : &around;
        if (cast_is_region(at) && at->kind == N_ENTER) {
            if (n == CAST_MAX_NESTING) return cast_fail(c, at, "with statements nest too deeply");
            if (!cast_enter(c, at, *r, &open[n])) return false;
            enters[n++] = at;
        } else if (cast_is_region(at)) {
            if (!n || open[n - 1].object != at->inputs.data[0])
                return cast_fail(c, at, "a region of torch.autocast ends where it does not begin");
            n--;
            if (!check) cast_leave(c, enters[n], at);
        } else if (cast_is_call(at) && (c->whole ? !r->on : r->on != NULL)) {
            return cast_fail(c, at,
                             "within torch.autocast functions are called that cannot be "
                             "made a part of this one");
        } else if (at->kind == N_OP && at->op && r->on && !check) {
            if (!cast_node(c, at, r)) return false;
        }
        for (size_t i = 0; i < at->blocks.len; i++)
            if (!cast_block(c, at->blocks.data[i], n ? open[n - 1] : around, check)) return false;
    }
    return !n || cast_fail(c, enters[n - 1], "a region of torch.autocast does not end");
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool cast_any(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (cast_is_region(n)) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (cast_any(n->blocks.data[i])) return true;
    }
    return false;
}

bool pass_autocast_wanted(const graph *g) { return cast_any(g->root); }

bool pass_autocast(pass_ctx *cx, graph *g) {
    caster c = {.cx = cx, .g = g, .whole = cx->autocast != 0};
    cast_region all = {0};
    if (!c.whole && !cast_any(g->root)) return false;
    if (c.whole) {
        graph_set_insert(g, g->root, g->root->first);
        all.on = graph_constant_bool(g, true);
        all.dtype = graph_constant_int(g, cx->autocast);
    }
    if (cast_block(&c, g->root, all, true)) cast_block(&c, g->root, all, false);
    return c.changed;
}
