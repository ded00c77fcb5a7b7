/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytecode.c - graph to register code.
 *
 * Method: each value gets a register for as long as it lives; constants are operands.
 * bytecode_live.c has found where each value is used last. Blocks are laid out in order:
 *
 *     prim::If           JUMP_FALSE else; then block; its returns to the outputs' registers; JUMP
 * end; else: else block; the same; end: prim::Loop         count = 0; the carried registers = the
 * initial values LOOP_TEST exit; JUMP_FALSE exit, cond top: i = count; body; carried = its returns,
 * as if at once JUMP_FALSE exit, cond; LOOP_NEXT top; exit:
 *
 * A loop's outputs are its carried registers themselves. Conditions known to be true are left out.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/code/bytecode_internal.h"

static void tr_block(translator *tr, block *b);

/* ---- emitting -------------------------------------------------------------------------------- */

bool tr_no_memory(translator *tr) {
    if (tr->status == CTSC_OK) tr->status = diag_no_memory(tr->d);
    return false;
}

static void tr_broken(translator *tr, const node *n, const char *what) {
    if (tr->status == CTSC_OK)
        tr->status = diag_fail_at(tr->d, CTSC_INTERNAL, n->range, "cannot translate %s: %s",
                                  node_kind_text(n), what);
}

static void tr_place(translator *tr, const node *n) {
    tr->range = n->range;
    tr->call = n->call;
}

/* Returns the instruction's place, for patching. */
static int tr_emit(translator *tr, opcode op, int32_t a, int32_t b, int32_t c) {
    code *k = tr->c;
    instr i = {.op = (uint16_t)op, .a = a, .b = b, .c = c};
    if (!vec_push(&k->ranges, tr->range) || !vec_push(&k->calls, tr->call) ||
        !vec_push(&k->instrs, i)) {
        tr_no_memory(tr);
        return 0;
    }
    return (int)k->instrs.len - 1;
}

static int tr_here(const translator *tr) { return (int)tr->c->instrs.len; }

static void tr_patch(translator *tr, int at) {
    if (tr->status == CTSC_OK) tr->c->instrs.data[at].a = tr_here(tr);
}

static int32_t tr_register_new(translator *tr) {
    if (tr->free_registers.len > 0) return vec_pop(&tr->free_registers);
    if (tr->c->nregisters >= OPERAND_REGISTER) {
        tr->status = diag_fail(tr->d, CTSC_LIMIT, "this function has too many variables");
        return 0;
    }
    return tr->c->nregisters++;
}

static void tr_register_free(translator *tr, int32_t r) {
    if (!vec_push(&tr->free_registers, r)) tr_no_memory(tr);
}

/* The scratch field of a value: 0 nothing yet, r + 1 a register, -(k + 1) a constant. */
static void tr_set_operand(ir_value *v, int32_t operand) {
    v->scratch = (void *)(intptr_t)(operand >= 0 ? operand + 1 : operand);
}

static bool tr_has_operand(const ir_value *v) { return v->scratch != NULL; }

static int32_t tr_operand(translator *tr, const ir_value *v) {
    intptr_t s = (intptr_t)v->scratch;
    if (s == 0 && tr->status == CTSC_OK)
        tr->status = diag_fail_at(tr->d, CTSC_INTERNAL, tr->range,
                                  "value %%%d is used before it is defined", v->id);
    return (int32_t)(s > 0 ? s - 1 : s);
}

/* A register for an output; SITE_UNUSED when nothing reads it. */
static int32_t tr_define(translator *tr, ir_value *v) {
    if (v->uses.len == 0) return SITE_UNUSED;
    int32_t r = tr_register_new(tr);
    tr_set_operand(v, r);
    return r;
}

static int32_t tr_constant(translator *tr, value v) {
    if (!vec_push(&tr->c->constants, v)) {
        tr_no_memory(tr);
        return -1;
    }
    value_ref(v);
    return ~(int32_t)(tr->c->constants.len - 1);
}

/* Input i of n, with the mark of a last use. */
static int32_t tr_input(translator *tr, const node *n, int i) {
    int32_t v = tr_operand(tr, n->inputs.data[i]);
    const node_life *life = n->scratch;
    return v >= 0 && life->last_use[i] ? v | OPERAND_LAST_USE : v;
}

/* R[dst] = operand, moved at its last use. */
static void tr_assign(translator *tr, int32_t dst, int32_t operand) {
    if (!operand_last_use(operand)) {
        if (dst != SITE_UNUSED && dst != operand) tr_emit(tr, BC_COPY, dst, operand, 0);
        return;
    }
    int32_t src = operand & OPERAND_REGISTER;
    if (dst == SITE_UNUSED) tr_emit(tr, BC_DROP, src, 0, 0);
    else if (dst != src) tr_emit(tr, BC_MOVE, dst, src, 0);
}

static bool tr_is_scalar(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_NONE;
}

static void tr_drop_values(translator *tr, const value_list *values) {
    for (size_t i = 0; i < values->len; i++) {
        ir_value *v = values->data[i];
        if (tr_is_scalar(v->type)) continue; /* nothing to release */
        if (tr_has_operand(v) && tr_operand(tr, v) >= 0)
            tr_emit(tr, BC_DROP, tr_operand(tr, v), 0, 0);
    }
}

/* ---- sites ----------------------------------------------------------------------------------- */

static void tr_window(translator *tr, int slots) {
    if (slots > tr->c->window) tr->c->window = slots;
}

static bool tr_push_operand(translator *tr, int32_t v) {
    return vec_push(&tr->c->operands, v) || tr_no_memory(tr);
}

/* A site with n's inputs from `first` on as arguments, and its outputs as results. */
static site tr_site(translator *tr, node *n, int first) {
    site s = {.operands = (int)tr->c->operands.len, .nresults = (int)n->outputs.len};
    for (int i = first; i < (int)n->inputs.len; i++) tr_push_operand(tr, tr_input(tr, n, i));
    s.nargs = (int)n->inputs.len - first;
    return s;
}

static void tr_site_types(translator *tr, site *s, int n, type *const *types) {
    s->types = (int)tr->c->types.len;
    s->ntypes = n;
    for (int i = 0; i < n; i++)
        if (!vec_push(&tr->c->types, types[i])) tr_no_memory(tr);
}

/* Completes a site with the registers of n's outputs, and emits its instruction. */
static void tr_site_emit(translator *tr, opcode op, site *s, node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        tr_push_operand(tr, tr_define(tr, n->outputs.data[i]));
    tr_window(tr, s->nargs + s->nresults);
    if (!vec_push(&tr->c->sites, *s)) tr_no_memory(tr);
    tr_emit(tr, op, (int32_t)tr->c->sites.len - 1, 0, 0);
}

static void tr_unsupported(translator *tr, node *n, const char *name) {
    site s = {.operands = (int)tr->c->operands.len, .nresults = (int)n->outputs.len, .name = name};
    tr_site_emit(tr, BC_UNSUPPORTED, &s, n);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* The instruction that does o on scalars, if there is one. */
static opcode tr_fast_opcode(const op *o) {
    for (int i = 0; i < BC_COUNT && o->symbol != SYM_NONE; i++)
        if (opcode_table[i].replaces == o->symbol) return (opcode)i;
    return BC_COUNT;
}

/* Operands at their last use would have to be released: those are
 * left to CALL_OP, except for scalars, which need no release. */
static bool tr_fast_operand(translator *tr, const node *n, int i) {
    return tr_is_scalar(n->inputs.data[i]->type) || !operand_last_use(tr_input(tr, n, i));
}

static int tr_fast(translator *tr, const node *n, const op *o) {
    opcode fast = tr_fast_opcode(o);
    int inputs = (int)n->inputs.len;
    if (fast == BC_COUNT || inputs < 1 || inputs > 2 || n->outputs.len != 1) return -1;
    if (n->outputs.data[0]->uses.len == 0) return -1;
    for (int i = 0; i < inputs; i++)
        if (!tr_fast_operand(tr, n, i)) return -1;
    int32_t b = tr_operand(tr, n->inputs.data[0]);
    int32_t c = inputs > 1 ? tr_operand(tr, n->inputs.data[1]) : b;
    return tr_emit(tr, fast, 0, b, c);
}

/* Arguments left out are the schema's defaults. */
static bool tr_defaults(translator *tr, const node *n, const op *o, site *s) {
    const schema *sc = o->schema;
    if (sc->vararg) return true;
    if (s->nargs > sc->nargs) return tr_broken(tr, n, "it has too many inputs"), false;
    for (; s->nargs < sc->nargs; s->nargs++) {
        const argument *a = &sc->args[s->nargs];
        if (!a->has_default) return tr_broken(tr, n, "it has too few inputs"), false;
        tr_push_operand(tr, tr_constant(tr, a->default_value));
    }
    return true;
}

static const op *tr_resolve(const node *n) {
    if (n->op || !n->op_name) return n->op;
    int count = 0;
    const op *const *all = op_overloads(n->op_name, &count);
    return count == 1 ? all[0] : NULL;
}

/* prim::unchecked_unwrap_optional and the like: the value as it is. */
static void tr_pass_through(translator *tr, node *n) {
    int32_t in = tr_input(tr, n, 0);
    tr_assign(tr, tr_define(tr, n->outputs.data[0]), in);
}

/* ---- doubtful values --------------------------------------------------------------------------

   Code of an archive may say uninitialized(T), and unchecked_cast(T, x) of an x that is no T. PyTorch writes both where nothing goes wrong: the first
   is never read, the second follows a check. A damaged or hostile file may mean something else. So a cast gives Uninitialized for what
   does not fit, and wherever a value that may be Uninitialized is read, other than passed on, a CHECK comes first. */

static bool tr_doubt_value(translator *tr, const ir_value *v) {
    bool added = !ptrmap_get(&tr->doubtful, v);
    if (added && !ptrmap_put(&tr->doubtful, v, tr)) return tr_no_memory(tr);
    return added;
}

static bool tr_doubts(const translator *tr, const ir_value *v) {
    return tr->doubtful.used && ptrmap_get(&tr->doubtful, v);
}

/* Operators that are casts may occur in an archive, too (ops.prim). */
static bool tr_is_cast(const node *n) {
    if (n->inputs.len != 1 || n->outputs.len != 1) return false;
    return n->kind == N_UNCHECKED_CAST || node_is_op(n, SYM_PRIM_UNCHECKED_UNWRAP_OPTIONAL) ||
           node_is_op(n, SYM_PRIM_UNCHECKED_CAST);
}

static bool tr_is_doubtful(const node *n) {
    return n->doubtful || (n->kind == N_OP && tr_is_cast(n) &&
                           !type_is_subtype(n->inputs.data[0]->type, n->outputs.data[0]->type));
}

/* Does n only pass on what it is given? */
static bool tr_passes(const node *n) {
    return n->kind == N_IF || n->kind == N_LOOP || n->kind == N_UNINITIALIZED || tr_is_cast(n);
}

/* Marks what is doubtful in b; whether something was added. */
static bool tr_doubt(translator *tr, const block *b) {
    bool more = false;
    for (const node *n = b->first; n && tr->status == CTSC_OK; n = n->next) {
        bool given = tr_is_doubtful(n) || (tr_is_cast(n) && tr_doubts(tr, n->inputs.data[0]));
        for (size_t i = 0; i < n->blocks.len; i++) more |= tr_doubt(tr, n->blocks.data[i]);
        for (size_t i = 0; i < n->outputs.len; i++) {
            bool doubt = given;
            const block *body = n->kind == N_LOOP && n->blocks.len ? n->blocks.data[0] : NULL;
            if (body && i + 2 < n->inputs.len && i + 1 < body->returns.len &&
                i + 1 < body->params.len) {
                doubt = tr_doubts(tr, n->inputs.data[i + 2]) ||
                        tr_doubts(tr, body->returns.data[i + 1]);
                if (doubt) more |= tr_doubt_value(tr, body->params.data[i + 1]);
            }
            for (size_t k = 0; n->kind == N_IF && k < n->blocks.len; k++)
                if (i < n->blocks.data[k]->returns.len)
                    doubt |= tr_doubts(tr, n->blocks.data[k]->returns.data[i]);
            if (doubt) more |= tr_doubt_value(tr, n->outputs.data[i]);
        }
    }
    return more;
}

static void tr_check(translator *tr, const ir_value *v) {
    if (!tr_doubts(tr, v)) return;
    site s = {.operands = (int)tr->c->operands.len, .nargs = 1};
    tr_push_operand(tr, tr_operand(tr, v));
    if (!vec_push(&tr->c->sites, s)) tr_no_memory(tr);
    tr_window(tr, 1);
    tr_emit(tr, BC_CHECK, (int32_t)tr->c->sites.len - 1, 0, 0);
}

/* Loops that became native code are handed what their first iteration writes: numbers there
 * are as good as any. */
static void tr_check_inputs(translator *tr, const node *n) {
    if (!tr->doubtful.used) return;
    /* conditions, and how often */
    size_t read = !tr_passes(n) ? n->inputs.len : n->kind == N_IF ? 1 : n->kind == N_LOOP ? 2 : 0;
    for (size_t i = 0; i < read && i < n->inputs.len; i++)
        if (n->kind != N_FUSION_GROUP || !tr_is_scalar(n->inputs.data[i]->type))
            tr_check(tr, n->inputs.data[i]);
}

static void tr_cast(translator *tr, node *n) {
    if (!tr_is_doubtful(n)) return tr_pass_through(tr, n);
    type *from = n->inputs.data[0]->type, *to = n->outputs.data[0]->type;
    site s = tr_site(tr, n, 0);
    if (from->kind != T_OPTIONAL || !type_is_subtype(type_elem(from), to))
        tr_site_types(tr, &s, 1, &to);
    tr_site_emit(tr, BC_CAST, &s, n);
}

static void tr_special_op(translator *tr, node *n, const op *o) {
    bool one = n->inputs.len == 1 && n->outputs.len == 1;
    if (one && o->symbol == SYM_WAIT) {
        site s = tr_site(tr, n, 0);
        tr_site_emit(tr, BC_WAIT, &s, n);
    } else {
        tr_unsupported(tr, n, o->key);
    }
}

static void tr_op(translator *tr, node *n) {
    const op *o = tr_resolve(n);
    if (o && tr_is_cast(n)) return tr_cast(tr, n);
    if (o && o->traits.special) {
        tr_special_op(tr, n, o);
        return;
    }
    if (!o || !o->fn) {
        const char *call = node_str(n, "call"); /* of one whose arguments no schema admits */
        tr_unsupported(tr, n,
                       o            ? o->key
                       : *call      ? call
                       : n->op_name ? n->op_name
                                    : node_kind_text(n));
        return;
    }
    int fast = tr_fast(tr, n, o);
    site s = tr_site(tr, n, 0);
    s.op = o;
    if (!tr_defaults(tr, n, o, &s)) return;
    s.types = (int)tr->c->types.len;
    s.ntypes = (int)n->outputs.len;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!vec_push(&tr->c->types, n->outputs.data[i]->type)) tr_no_memory(tr);
    if (!o->schema->varret && o->schema->nreturns != s.nresults && s.nresults != 0) {
        tr_broken(tr, n, "it has the wrong number of outputs");
        return;
    }
    /* The results of an operator whose outputs the node leaves out still need room. */
    if (o->schema->nreturns > s.nresults) tr_window(tr, s.nargs + o->schema->nreturns);
    tr_site_emit(tr, tr->taped ? BC_CALL_OP_TAPED : BC_CALL_OP, &s, n);
    if (fast >= 0 && tr->status == CTSC_OK)
        tr->c->instrs.data[fast].a = tr_operand(tr, n->outputs.data[0]);
}

/* ---- control flow ---------------------------------------------------------------------------- */

static int32_t tr_return_operand(translator *tr, const block *b, int i, const block_life *life) {
    int32_t v = tr_operand(tr, b->returns.data[i]);
    return v >= 0 && life->last_use[i] ? v | OPERAND_LAST_USE : v;
}

/* The registers of values that a block defines and returns are free once the returns are read. */
static void tr_end_returns(translator *tr, const block *b, const block_life *life) {
    for (size_t i = 0; i < b->returns.len; i++) {
        const ir_value *v = b->returns.data[i];
        if (!life->last_use[i] || !v->def || v->def->owner != b) continue;
        int32_t r = tr_operand(tr, v);
        if (r >= 0) tr_register_free(tr, r);
    }
}

/* Is v the constant True? */
static bool tr_is_true(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_BOOL && c.u.b;
}

static void tr_branch(translator *tr, node *n, int which) {
    block *b = n->blocks.data[which];
    const node_life *life = n->scratch;
    tr_block(tr, b);
    if (tr->status != CTSC_OK) return;
    tr_place(tr, n);
    for (size_t i = 0; i < b->returns.len; i++) {
        const ir_value *out = n->outputs.data[i];
        int32_t dst = out->uses.len ? tr_operand(tr, out) : SITE_UNUSED;
        tr_assign(tr, dst, tr_return_operand(tr, b, (int)i, &life->blocks[which]));
    }
    tr_end_returns(tr, b, &life->blocks[which]);
}

static void tr_if(translator *tr, node *n) {
    if (n->inputs.len != 1 || n->blocks.len != 2 ||
        n->blocks.data[0]->returns.len != n->outputs.len ||
        n->blocks.data[1]->returns.len != n->outputs.len) {
        tr_broken(tr, n, "it has the wrong shape");
        return;
    }
    int32_t condition = tr_operand(tr, n->inputs.data[0]);
    for (size_t i = 0; i < n->outputs.len; i++) tr_define(tr, n->outputs.data[i]);
    int to_else = tr_emit(tr, BC_JUMP_FALSE, 0, condition, 0);
    tr_branch(tr, n, 0);
    int to_end = tr_emit(tr, BC_JUMP, 0, 0, 0);
    tr_patch(tr, to_else);
    tr_branch(tr, n, 1);
    tr_patch(tr, to_end);
}

/* carried = returns, as if at once: what would be overwritten before it is read goes through a
 * register of its own. Most loops need none: a carried value that stays, or one that the body has
 * made. */
static void tr_carry(translator *tr, const block *b, const block_life *life, const int32_t *carried,
                     int ncarried) {
    int32_t *from = arena_array(&tr->scratch, int32_t, ncarried + 1);
    int32_t *temps = arena_array(&tr->scratch, int32_t, ncarried + 1);
    /* Per register: 1 carried, 2 carried and returned in its own place. */
    char *role = arena_alloc(&tr->scratch, (size_t)tr->c->nregisters + 1);
    if (!from || !temps || !role || arena_failed(&tr->scratch)) {
        tr_no_memory(tr);
        return;
    }
    int ntemps = 0;
    for (int i = 0; i < ncarried; i++) {
        from[i] = tr_return_operand(tr, b, i + 1, life);
        bool stays = from[i] >= 0 && (from[i] & OPERAND_REGISTER) == carried[i];
        role[carried[i]] = stays ? 2 : 1;
    }
    for (int i = 0; i < ncarried; i++) {
        int32_t r = from[i] & OPERAND_REGISTER;
        if (from[i] < 0 || r == carried[i] || !role[r]) continue;
        int32_t t = tr_register_new(tr);
        tr_assign(tr, t, role[r] == 2 ? r : from[i]);
        from[i] = t | OPERAND_LAST_USE;
        temps[ntemps++] = t;
    }
    for (int i = 0; i < ncarried; i++) tr_assign(tr, carried[i], from[i]);
    for (int i = 0; i < ntemps; i++) tr_register_free(tr, temps[i]);
}

typedef struct loop_registers {
    int32_t count, limit, condition; /* condition: SITE_UNUSED when always true */
    int32_t *carried;
    int ncarried;
} loop_registers;

static bool tr_loop_begin(translator *tr, node *n, loop_registers *l) {
    block *b = n->blocks.data[0];
    l->count = tr_register_new(tr);
    l->limit = tr_register_new(tr);
    bool always = tr_is_true(n->inputs.data[1]) && tr_is_true(b->returns.data[0]);
    l->condition = always ? SITE_UNUSED : tr_register_new(tr);
    l->ncarried = (int)n->outputs.len;
    l->carried = arena_array(&tr->scratch, int32_t, l->ncarried + 1);
    if (!l->carried || arena_failed(&tr->scratch)) return tr_no_memory(tr);
    tr_emit(tr, BC_COPY, l->count, tr_constant(tr, value_int(0)), 0);
    tr_assign(tr, l->limit, tr_input(tr, n, 0));
    if (!always) tr_assign(tr, l->condition, tr_input(tr, n, 1));
    for (int i = 0; i < l->ncarried; i++) {
        l->carried[i] = tr_register_new(tr);
        tr_assign(tr, l->carried[i], tr_input(tr, n, i + 2));
        tr_set_operand(b->params.data[i + 1], l->carried[i]);
        if (n->outputs.data[i]->uses.len) tr_set_operand(n->outputs.data[i], l->carried[i]);
    }
    return tr->status == CTSC_OK;
}

/* Registers are given back; carried ones that nothing reads afterwards are emptied. */
static void tr_loop_end(translator *tr, node *n, const loop_registers *l) {
    for (int i = 0; i < l->ncarried; i++) {
        if (n->outputs.data[i]->uses.len) continue;
        tr_emit(tr, BC_DROP, l->carried[i], 0, 0);
        tr_register_free(tr, l->carried[i]);
    }
    tr_register_free(tr, l->count);
    tr_register_free(tr, l->limit);
    if (l->condition != SITE_UNUSED) tr_register_free(tr, l->condition);
}

static void tr_loop(translator *tr, node *n) {
    size_t carried = n->outputs.len;
    block *b = n->blocks.len == 1 ? n->blocks.data[0] : NULL;
    if (!b || n->inputs.len != carried + 2 || b->params.len != carried + 1 ||
        b->returns.len != carried + 1) {
        tr_broken(tr, n, "it has the wrong shape");
        return;
    }
    loop_registers l;
    if (!tr_loop_begin(tr, n, &l)) return;
    int over = tr_emit(tr, BC_LOOP_TEST, 0, l.count, l.limit), over_cond = -1, over_next = -1;
    if (l.condition >= 0) over_cond = tr_emit(tr, BC_JUMP_FALSE, 0, l.condition, 0);
    int top = tr_here(tr);
    ir_value *index = b->params.data[0];
    int32_t i = tr_define(tr, index);
    if (i != SITE_UNUSED) tr_emit(tr, BC_COPY, i, l.count, 0);
    tr_block(tr, b);
    if (tr->status != CTSC_OK) return;
    tr_place(tr, n);
    const node_life *life = n->scratch;
    /* Before the carried ones are written: the condition may be one of them. */
    tr_check(tr, b->returns.data[0]);
    if (l.condition >= 0) tr_assign(tr, l.condition, tr_return_operand(tr, b, 0, &life->blocks[0]));
    tr_carry(tr, b, &life->blocks[0], l.carried, l.ncarried);
    tr_end_returns(tr, b, &life->blocks[0]);
    if (l.condition >= 0) over_next = tr_emit(tr, BC_JUMP_FALSE, 0, l.condition, 0);
    tr_emit(tr, BC_LOOP_NEXT, top, l.count, l.limit);
    tr_patch(tr, over);
    if (over_cond >= 0) tr_patch(tr, over_cond);
    if (over_next >= 0) tr_patch(tr, over_next);
    if (i != SITE_UNUSED) tr_register_free(tr, i);
    tr_loop_end(tr, n, &l);
}

/* ---- the other kinds ------------------------------------------------------------------------- */

static void tr_constant_node(translator *tr, node *n) {
    value v;
    if (n->outputs.len != 1 || !ir_value_constant(n->outputs.data[0], &v)) v = value_none();
    for (size_t i = 0; i < n->outputs.len; i++)
        tr_set_operand(n->outputs.data[i], tr_constant(tr, v));
}

static void tr_attribute(translator *tr, node *n, opcode op) {
    const type *cls = n->inputs.len ? n->inputs.data[0]->type : NULL;
    const char *name = node_str(n, "name");
    int slot = cls && cls->kind == T_CLASS ? class_find_attribute(cls, name) : -1;
    if (slot < 0) {
        if (tr->status == CTSC_OK)
            tr->status = diag_fail_at(tr->d, CTSC_INTERNAL, n->range, "there is no attribute '%s'",
                                      name);
        return;
    }
    site s = tr_site(tr, n, 0);
    s.name = name;
    s.imm = slot;
    tr_site_emit(tr, op, &s, n);
}

static void tr_call_function(translator *tr, node *n) {
    value f;
    if (!n->inputs.len || !ir_value_constant(n->inputs.data[0], &f) || f.tag != V_FUNCTION) {
        tr_broken(tr, n, "it does not name a function");
        return;
    }
    site s = tr_site(tr, n, 1);
    s.fn = f.u.function;
    tr_site_emit(tr, BC_CALL, &s, n);
}

static void tr_call_method(translator *tr, node *n) {
    const type *cls = n->inputs.len ? n->inputs.data[0]->type : NULL;
    site s = tr_site(tr, n, 0);
    s.name = node_str(n, "name");
    s.fn = cls && cls->kind == T_CLASS ? class_find_method(cls, s.name) : NULL;
    tr_site_emit(tr, s.fn ? BC_CALL : BC_CALL_METHOD, &s, n);
}

static void tr_fork(translator *tr, node *n) {
    attr *a = node_attr(n, "Subgraph");
    site s = tr_site(tr, n, 0);
    s.imm = !tr->taped && fork_runs_apart(n);
    if (tr->forking && fork_ends_before(tr->forking, n, s.imm)) tr_emit(tr, BC_JOIN, 0, 0, 0);
    if (tr->status != CTSC_OK) return;
    if (a && a->kind == ATTR_GRAPH) {
        tr->status = code_new(tr->d, "forked function", a->u.g, &s.sub);
        if (tr->status != CTSC_OK) return;
        if (!vec_push(&tr->c->subs, s.sub)) {
            code_free(s.sub);
            tr_no_memory(tr);
            return;
        }
    } else if (a && a->kind == ATTR_VALUE && a->u.v.tag == V_FUNCTION) {
        s.fn = a->u.v.u.function;
    } else {
        tr_broken(tr, n, "it has no subgraph");
        return;
    }
    tr_site_emit(tr, BC_FORK, &s, n);
}

static void tr_group(translator *tr, node *n) {
    attr *a = node_attr(n, "Subgraph");
    if (!a || a->kind != ATTR_GRAPH || n->inputs.len > CODE_GROUP_VALUES ||
        n->outputs.len > CODE_GROUP_VALUES) {
        tr_broken(tr, n, "it has no subgraph, or too many values");
        return;
    }
    site s = tr_site(tr, n, 0);
    if (tr->status != CTSC_OK) return;
    tr->status = code_host_installed->group_new(tr->d, tr->c->name, a->u.g, &s.group);
    if (tr->status != CTSC_OK) return;
    if (!vec_push(&tr->c->groups, s.group)) {
        s.group->free(s.group);
        tr_no_memory(tr);
        return;
    }
    if (s.group->nparams != s.nargs || s.group->nresults != s.nresults) {
        tr_broken(tr, n, "its subgraph has other parameters or returns");
        return;
    }
    tr_site_emit(tr, BC_FUSED, &s, n);
}

static void tr_isinstance(translator *tr, node *n) {
    attr *a = node_attr(n, "types");
    site s = tr_site(tr, n, 0);
    if (a && a->kind == ATTR_TYPES) tr_site_types(tr, &s, a->u.types.n, a->u.types.data);
    else if (a && a->kind == ATTR_TYPE) tr_site_types(tr, &s, 1, &a->u.t);
    tr_site_emit(tr, BC_ISINSTANCE, &s, n);
}

static void tr_new(translator *tr, node *n, opcode op) {
    if (n->outputs.len != 1) {
        tr_broken(tr, n, "it must have one output");
        return;
    }
    site s = tr_site(tr, n, 0);
    s.type = n->outputs.data[0]->type;
    tr_site_emit(tr, op, &s, n);
}

/* How many inputs and outputs the kinds need that become a site without further ado; -1: any
 * number. */
typedef struct plain_kind {
    node_kind kind;
    opcode op;
    int inputs, outputs;
} plain_kind;

static const plain_kind plain_kinds[] = {
    {N_LIST_UNPACK, BC_UNPACK_LIST, 1, -1},
    {N_TUPLE_UNPACK, BC_UNPACK_TUPLE, 1, -1},
    {N_TUPLE_INDEX, BC_TUPLE_INDEX, 2, 1},
    {N_RAISE, BC_RAISE, -1, 0},
    {N_PRINT, BC_PRINT, -1, -1},
    {N_CONTAINER_INDEX, BC_CONTAINER_INDEX, 2, 1},
    {N_ENTER, BC_ENTER, 1, 1},
    {N_EXIT, BC_EXIT, 1, -1},
};

static bool tr_plain(translator *tr, node *n) {
    for (size_t i = 0; i < sizeof plain_kinds / sizeof *plain_kinds; i++) {
        const plain_kind *p = &plain_kinds[i];
        if (p->kind != n->kind) continue;
        if ((p->inputs >= 0 && (int)n->inputs.len != p->inputs) ||
            (p->outputs >= 0 && (int)n->outputs.len != p->outputs)) {
            tr_broken(tr, n, "it has the wrong number of inputs or outputs");
            return true;
        }
        site s = tr_site(tr, n, 0);
        tr_site_emit(tr, p->op, &s, n);
        return true;
    }
    return false;
}

static void tr_tuple_slice(translator *tr, node *n) {
    if (n->inputs.len != 1 || n->outputs.len != 1) {
        tr_broken(tr, n, "it has the wrong number of inputs or outputs");
        return;
    }
    site s = tr_site(tr, n, 0);
    s.imm = node_int(n, "beg");
    s.imm2 = node_int(n, "end");
    tr_site_emit(tr, BC_TUPLE_SLICE, &s, n);
}

static void tr_uninitialized(translator *tr, node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        tr_set_operand(n->outputs.data[i], tr_constant(tr, value_uninit()));
}

static void tr_node(translator *tr, node *n) {
    if (tr->forking && n->kind != N_FORK && fork_ends_before(tr->forking, n, false))
        tr_emit(tr, BC_JOIN, 0, 0, 0);
    switch (n->kind) {
    case N_OP: tr_op(tr, n); return;
    case N_CONSTANT: tr_constant_node(tr, n); return;
    case N_UNINITIALIZED: tr_uninitialized(tr, n); return;
    case N_IF: tr_if(tr, n); return;
    case N_LOOP: tr_loop(tr, n); return;
    case N_LIST_CONSTRUCT: tr_new(tr, n, BC_NEW_LIST); return;
    case N_TUPLE_CONSTRUCT: tr_new(tr, n, BC_NEW_TUPLE); return;
    case N_DICT_CONSTRUCT: tr_new(tr, n, BC_NEW_DICT); return;
    case N_CREATE_OBJECT: tr_new(tr, n, BC_NEW_OBJECT); return;
    case N_TOLIST: tr_new(tr, n, BC_TOLIST); return;
    case N_TUPLE_SLICE: tr_tuple_slice(tr, n); return;
    case N_GET_ATTR: tr_attribute(tr, n, BC_GET_ATTR); return;
    case N_SET_ATTR: tr_attribute(tr, n, BC_SET_ATTR); return;
    case N_CALL_FUNCTION: tr_call_function(tr, n); return;
    case N_CALL_METHOD: tr_call_method(tr, n); return;
    case N_FORK: tr_fork(tr, n); return;
    case N_FUSION_GROUP: tr_group(tr, n); return;
    case N_ISINSTANCE: tr_isinstance(tr, n); return;
    case N_UNCHECKED_CAST:
        if (tr_is_cast(n)) tr_cast(tr, n);
        else tr_broken(tr, n, "it has the wrong number of inputs or outputs");
        return;
    default:
        if (!tr_plain(tr, n)) tr_unsupported(tr, n, node_kind_text(n));
    }
}

/* The nodes of a block; its returns are the caller's, which releases their registers. */
static void tr_block(translator *tr, block *b) {
    const block_life *life = tr_block_life(tr, b);
    if (b->parent) tr_place(tr, b->parent);
    tr_drop_values(tr, &life->drops);
    for (node *n = b->first; n && tr->status == CTSC_OK; n = n->next) {
        const node_life *nl = n->scratch;
        tr_place(tr, n);
        tr_check_inputs(tr, n);
        tr_node(tr, n);
        if (tr->status != CTSC_OK) return;
        tr_place(tr, n);
        tr_drop_values(tr, &nl->drops);
        for (size_t i = 0; i < nl->ends.len; i++) {
            ir_value *v = nl->ends.data[i];
            if (tr_has_operand(v) && tr_operand(tr, v) >= 0)
                tr_register_free(tr, tr_operand(tr, v));
        }
    }
}

/* ---- the function ---------------------------------------------------------------------------- */

static void tr_return(translator *tr, graph *g) {
    block *b = g->root;
    for (size_t i = 0; tr->doubtful.used && i < b->returns.len; i++)
        tr_check(tr, b->returns.data[i]);
    if (b->returns.len == 1) {
        tr_emit(tr, BC_RETURN, tr_operand(tr, b->returns.data[0]), 0, 0);
        return;
    }
    if (b->returns.len == 0) {
        tr_emit(tr, BC_RETURN, tr_constant(tr, value_none()), 0, 0);
        return;
    }
    site s = {.operands = (int)tr->c->operands.len, .nargs = (int)b->returns.len, .nresults = 1};
    for (int i = 0; i < s.nargs; i++) tr_push_operand(tr, tr_operand(tr, b->returns.data[i]));
    int32_t r = tr_register_new(tr);
    tr_push_operand(tr, r);
    if (!vec_push(&tr->c->sites, s)) tr_no_memory(tr);
    tr_window(tr, s.nargs + 1);
    tr_emit(tr, BC_NEW_TUPLE, (int32_t)tr->c->sites.len - 1, 0, 0);
    tr_emit(tr, BC_RETURN, r, 0, 0);
}

/* Where the parameters of a group begin that is all there is of g; -1: there is more, or it takes
 * them in another order. */
static int tr_whole_group(const graph *g) {
    const block *b = g->root;
    const node *n = b->first;
    bool whole = n && !n->next && n->kind == N_FUSION_GROUP && n->inputs.len &&
                 n->outputs.len == 1 && b->returns.len == 1 &&
                 b->returns.data[0] == n->outputs.data[0];
    for (size_t i = 0; whole && i < n->inputs.len; i++) {
        const ir_value *v = n->inputs.data[i];
        whole = !v->def && v->index == n->inputs.data[0]->index + (int)i;
    }
    return whole ? n->inputs.data[0]->index : -1;
}

static void tr_function(translator *tr, graph *g) {
    code *c = tr->c;
    tr->range = g->range;
    c->whole_group = tr_whole_group(g);
    c->nparams = (int)g->root->params.len;
    for (int i = 0; i < c->nparams; i++) {
        ir_value *param = g->root->params.data[i];
        tr_set_operand(param, tr_register_new(tr));
        if (i < 64 && !param->uses.len) c->unread |= UINT64_C(1) << i;
    }
    while (tr_doubt(tr, g->root)) {
    }
    if (tr->status == CTSC_OK) tr_block(tr, g->root);
    if (tr->status == CTSC_OK) tr_return(tr, g);
    if (tr->status == CTSC_OK && arena_failed(&tr->scratch)) tr_no_memory(tr);
}

static ctsc_status tr_run(diag *d, const char *name, graph *g, bool taped, struct code **out) {
    translator tr = {.d = d, .taped = taped};
    bool scratch = arena_init(&tr.scratch);
    tr.c = mem_zalloc(sizeof *tr.c);
    if (!scratch || !tr.c) {
        tr.status = diag_no_memory(d);
    } else {
        tr.c->name = name;
        tr_find_lives(&tr, g);
        if (tr.status == CTSC_OK && block_holds(g->root, N_FORK) && !(tr.forking = alias_new(g)))
            tr_no_memory(&tr);
        if (tr.status == CTSC_OK) tr_function(&tr, g);
    }
    if (tr.forking) alias_free(tr.forking);
    vec_free(&tr.free_registers);
    ptrmap_free(&tr.doubtful);
    arena_free(&tr.scratch);
    if (tr.status == CTSC_OK) *out = tr.c;
    else code_free(tr.c);
    return tr.status;
}

ctsc_status code_new(diag *d, const char *name, graph *g, struct code **out) {
    return tr_run(d, name, g, false, out);
}

ctsc_status code_new_taped(diag *d, const char *name, graph *g, struct code **out) {
    return tr_run(d, name, g, true, out);
}
