/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.c - builds and checks the loop nest form (nest.h).
 *
 * The builder never fails in the middle: what passes a limit or has the wrong type is remembered or
 * left in the nest, and nest_verify, the one place of checks, refuses it.
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/nest/nest.h"

#include <stdlib.h>
#include <string.h>

const nest_type_info nest_types[NEST_TYPE_COUNT] = {
#define NEST_TYPE_ROW(e, text, llvm, bytes, is_int, is_signed)                                     \
    {text, llvm, bytes, is_int, is_signed},
    NEST_TYPE_TABLE(NEST_TYPE_ROW)};

const nest_op_info nest_ops[NEST_OP_COUNT] = {
#define NEST_OP_ROW(e, args, cls, text) {text, args, cls},
    NEST_OP_TABLE(NEST_OP_ROW)};

bool nest_type_of(dtype dt, nest_type *out) {
    static const struct {
        dtype dt;
        nest_type type;
    } rows[] = {
        {DT_BOOL, NEST_BOOL},   {DT_UINT8, NEST_U8},     {DT_INT8, NEST_I8},
        {DT_INT16, NEST_I16},   {DT_INT32, NEST_I32},    {DT_INT64, NEST_I64},
        {DT_FLOAT16, NEST_F32}, {DT_BFLOAT16, NEST_F32}, {DT_FLOAT32, NEST_F32},
        {DT_FLOAT64, NEST_F64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dt == dt) {
            *out = rows[i].type;
            return true;
        }
    return false;
}

/* ---- parameters ------------------------------------------------------------------------------ */

nest *nest_new(arena *a, const char *name) {
    nest *n = arena_new(a, nest);
    n->a = a;
    n->buffers = arena_array(a, nest_buffer *, NEST_MAX_BUFFERS);
    n->locals = arena_array(a, nest_buffer *, NEST_MAX_BUFFERS);
    n->ints = arena_array(a, const char *, NEST_MAX_BUFFERS);
    n->floats = arena_array(a, const char *, NEST_MAX_BUFFERS);
    n->name = arena_strdup(a, name);
    return n;
}

static nest_buffer *nest_buffer_new(nest *n, nest_buffer **list, int *count, const char *name,
                                    dtype dt) {
    nest_buffer *b = arena_new(n->a, nest_buffer);
    b->name = arena_strdup(n->a, name);
    b->dt = dt;
    b->index = *count;
    if (*count == NEST_MAX_BUFFERS) n->overflow = true;
    else list[(*count)++] = b;
    return b;
}

nest_buffer *nest_add_buffer(nest *n, const char *name, dtype dt, unsigned flags) {
    nest_buffer *b = nest_buffer_new(n, n->buffers, &n->nbuffers, name, dt);
    b->is_restrict = flags & NEST_RESTRICT;
    return b;
}

nest_buffer *nest_add_local(nest *n, const char *name, dtype dt, int64_t length) {
    nest_buffer *b = nest_buffer_new(n, n->locals, &n->nlocals, name, dt);
    b->is_restrict = b->local = true;
    b->length = length;
    return b;
}

static nest_expr *nest_expr_new(nest *n, nest_op op, nest_type t) {
    nest_expr *e = arena_new(n->a, nest_expr);
    e->op = op;
    e->type = t;
    e->depth = 1;
    return e;
}

static nest_expr *nest_input(nest *n, const char **names, int *count, const char *name,
                             nest_type t) {
    nest_expr *e = nest_expr_new(n, NEST_INPUT, t);
    e->u.input = *count;
    if (*count == NEST_MAX_BUFFERS) n->overflow = true;
    else names[(*count)++] = arena_strdup(n->a, name);
    return e;
}
nest_expr *nest_add_int(nest *n, const char *name) {
    return nest_input(n, n->ints, &n->nints, name, NEST_I64);
}
nest_expr *nest_add_float(nest *n, const char *name) {
    return nest_input(n, n->floats, &n->nfloats, name, NEST_F64);
}

/* ---- expressions ----------------------------------------------------------------------------- */

nest_expr *nest_const_int(nest *n, nest_type t, int64_t i) {
    nest_expr *e = nest_expr_new(n, NEST_CONST, t);
    e->u.i = i;
    return e;
}
nest_expr *nest_int(nest *n, int64_t i) { return nest_const_int(n, NEST_I64, i); }
nest_expr *nest_const_float(nest *n, nest_type t, double f) {
    nest_expr *e = nest_expr_new(n, NEST_CONST, t);
    e->u.f = t == NEST_F32 ? (double)(float)f : f;
    return e;
}

static nest_expr *nest_node(nest *n, nest_op op, nest_type t, int nargs, nest_expr *const *args) {
    nest_expr *e = nest_expr_new(n, op, t);
    if (nargs > NEST_MAX_ARGS) {
        n->overflow = true;
        nargs = NEST_MAX_ARGS;
    }
    e->nargs = (uint16_t)nargs;
    for (int i = 0; i < nargs; i++) {
        e->args[i] = args[i];
        if (args[i]->depth >= e->depth) e->depth = (uint16_t)(args[i]->depth + 1);
    }
    if (e->depth > NEST_MAX_DEPTH) {
        n->overflow = true;
        e->depth = NEST_MAX_DEPTH;
    }
    return e;
}

nest_expr *nest_load(nest *n, nest_buffer *b, nest_expr *index) {
    nest_type t = NEST_BOOL;
    nest_type_of(b->dt, &t);
    nest_expr *e = nest_node(n, NEST_LOAD, t, 1, &index);
    e->u.buffer = b;
    return e;
}
nest_expr *nest_unary(nest *n, nest_op op, nest_expr *x) {
    return nest_node(n, op, x->type, 1, &x);
}

/* The sums and products that index arithmetic is full of when strides are 0 or 1. */
static nest_expr *nest_fold(nest *n, nest_op op, nest_expr *x, nest_expr *y) {
    if (x->type != NEST_I64 || y->type != NEST_I64) return NULL;
    bool cx = x->op == NEST_CONST, cy = y->op == NEST_CONST;
    if (op == NEST_ADD && cx && x->u.i == 0) return y;
    if (op == NEST_ADD && cy && y->u.i == 0) return x;
    if (op == NEST_MUL && ((cx && x->u.i == 1) || (cy && y->u.i == 0))) return y;
    if (op == NEST_MUL && ((cy && y->u.i == 1) || (cx && x->u.i == 0))) return x;
    if (op == NEST_DIV_INDEX && ((cy && y->u.i == 1) || (cx && x->u.i == 0))) return x;
    /* y may be 0: the size of a dim without elements */
    if (op == NEST_MOD_INDEX && cx && x->u.i == 0) return x;
    if (!cx || !cy) return NULL;
    if (op == NEST_ADD) return nest_int(n, (int64_t)((uint64_t)x->u.i + (uint64_t)y->u.i));
    if (op == NEST_MUL) return nest_int(n, (int64_t)((uint64_t)x->u.i * (uint64_t)y->u.i));
    return NULL;
}

nest_expr *nest_binary(nest *n, nest_op op, nest_expr *x, nest_expr *y) {
    nest_expr *folded = nest_fold(n, op, x, y);
    if (folded) return folded;
    return nest_node(n, op, nest_ops[op].cls == 'C' ? NEST_BOOL : x->type, 2,
                     (nest_expr *[]){x, y});
}
nest_expr *nest_select(nest *n, nest_expr *c, nest_expr *x, nest_expr *y) {
    return nest_node(n, NEST_SELECT, x->type, 3, (nest_expr *[]){c, x, y});
}
nest_expr *nest_cast(nest *n, nest_type t, nest_expr *x) {
    return x->type == t ? x : nest_node(n, NEST_CAST, t, 1, &x);
}
nest_expr *nest_call(nest *n, const char *name, int nargs, nest_expr *const *args) {
    nest_expr *e = nest_node(n, NEST_CALL, args[0]->type, nargs, args);
    e->u.name = arena_strdup(n->a, name);
    return e;
}
nest_expr *nest_call1(nest *n, const char *name, nest_expr *x) { return nest_call(n, name, 1, &x); }
nest_expr *nest_test(nest *n, const char *name, nest_expr *x) {
    nest_expr *e = nest_call1(n, name, x);
    e->type = NEST_BOOL;
    return e;
}

/* ---- statements ------------------------------------------------------------------------------ */

static nest_stmt *nest_append(nest *n, nest_stmt_kind kind) {
    nest_stmt *s = arena_new(n->a, nest_stmt);
    s->kind = kind;
    nest_block *b = &n->body;
    if (n->nopen) {
        nest_stmt *o = n->open[n->nopen - 1];
        b = n->in_else[n->nopen - 1] ? &o->other : &o->body;
    }
    if (b->last) b->last->next = s;
    else b->first = s;
    b->last = s;
    return s;
}

static void nest_push(nest *n, nest_stmt *s) {
    if (n->nopen == NEST_MAX_NESTING) {
        n->overflow = true;
        return;
    }
    n->in_else[n->nopen] = false;
    n->open[n->nopen++] = s;
}

static nest_expr *nest_declare(nest *n, nest_stmt *s, const char *name, nest_type t,
                               bool is_mutable) {
    nest_var *v = arena_new(n->a, nest_var);
    *v = (nest_var){arena_strdup(n->a, name), t, is_mutable, n->nvars++};
    s->var = v;
    nest_expr *e = nest_expr_new(n, NEST_VAR, t);
    e->u.var = v;
    return e;
}

static nest_expr *nest_define(nest *n, const char *name, nest_expr *value, bool is_mutable) {
    nest_stmt *s = nest_append(n, NEST_DECLARE);
    s->value = value;
    return nest_declare(n, s, name, value->type, is_mutable);
}
nest_expr *nest_let(nest *n, const char *name, nest_expr *value) {
    if (value->op == NEST_CONST) return value; /* needs no name */
    return nest_define(n, name, value, false);
}
nest_expr *nest_variable(nest *n, const char *name, nest_expr *init) {
    return nest_define(n, name, init, true);
}

void nest_set(nest *n, nest_expr *var, nest_expr *value) {
    nest_stmt *s = nest_append(n, NEST_SET);
    s->var = var->op == NEST_VAR ? var->u.var : NULL;
    s->value = value;
}
void nest_accumulate(nest *n, nest_expr *var, nest_acc acc, nest_expr *value) {
    nest_stmt *s = nest_append(n, NEST_ACCUMULATE);
    s->var = var->op == NEST_VAR ? var->u.var : NULL;
    s->value = value;
    s->acc = acc;
}
void nest_store(nest *n, nest_buffer *b, nest_expr *index, nest_expr *value) {
    nest_stmt *s = nest_append(n, NEST_STORE);
    s->buffer = b;
    s->index = index;
    s->value = value;
    b->written = true;
}

nest_expr *nest_for_step(nest *n, const char *name, nest_expr *begin, nest_expr *end, int64_t step,
                         unsigned flags) {
    nest_stmt *s = nest_append(n, NEST_FOR);
    s->begin = begin;
    s->end = end;
    s->step = step;
    s->flags = flags;
    nest_push(n, s);
    return nest_declare(n, s, name, NEST_I64, false);
}
nest_expr *nest_for(nest *n, const char *name, nest_expr *begin, nest_expr *end, unsigned flags) {
    return nest_for_step(n, name, begin, end, 1, flags);
}
void nest_while(nest *n, nest_expr *condition) {
    nest_stmt *s = nest_append(n, NEST_WHILE);
    s->value = condition;
    nest_push(n, s);
}
void nest_if(nest *n, nest_expr *condition) {
    nest_stmt *s = nest_append(n, NEST_IF);
    s->value = condition;
    nest_push(n, s);
}
void nest_else(nest *n) {
    if (n->nopen) n->in_else[n->nopen - 1] = true;
}
void nest_end(nest *n) {
    if (n->nopen) n->nopen--;
    else n->overflow = true;
}
void nest_break(nest *n) { nest_append(n, NEST_BREAK); }
void nest_continue(nest *n) { nest_append(n, NEST_CONTINUE); }
void nest_fail(nest *n, int64_t code, nest_expr *value) {
    nest_stmt *s = nest_append(n, NEST_FAIL);
    s->code = code;
    s->value = value;
}
void nest_watch(nest *n, int64_t code) { nest_append(n, NEST_WATCH)->code = code; }
void nest_require(nest *n, nest_expr *condition, int64_t code, nest_expr *value) {
    nest_if(n, nest_unary(n, NEST_NOT, condition));
    if (n->nopen) n->open[n->nopen - 1]->unlikely = true;
    nest_fail(n, code, value);
    nest_end(n);
}

/* ---- verifying ------------------------------------------------------------------------------- */

typedef struct verify_state {
    nest *n;
    diag *d;
    bool *known; /* by variable index: declared in an open block */
    uint32_t mark;
    int loops, vectors, parallels;
} verify_state;

static ctsc_status verify_fail(verify_state *v, const char *what, const char *name) {
    return diag_fail(v->d, CTSC_INTERNAL, "loop nest %s: %s%s%s", v->n->name, what, name ? " " : "",
                     name ? name : "");
}

static bool verify_has_buffer(const nest *n, const nest_buffer *b) {
    return b && (b->local ? b->index < n->nlocals && n->locals[b->index] == b
                          : b->index < n->nbuffers && n->buffers[b->index] == b);
}

static ctsc_status verify_types(verify_state *v, const nest_expr *e) {
    nest_type t = e->nargs ? e->args[0]->type : e->type;
    for (int i = 1; i < e->nargs; i++)
        if (e->args[i]->type != t && e->op != NEST_SELECT)
            return verify_fail(v, "operands of two types", nest_ops[e->op].text);
    bool ok = true;
    switch (nest_ops[e->op].cls) {
    case 'N': ok = t != NEST_BOOL || e->op == NEST_MIN || e->op == NEST_MAX; break;
    case 'I': ok = !nest_is_float(t); break;
    case 'F': ok = nest_is_float(t); break;
    default: break;
    }
    if (e->op == NEST_DIV_INDEX || e->op == NEST_MOD_INDEX) ok = t == NEST_I64;
    if (e->op == NEST_LOAD) {
        if (!verify_has_buffer(v->n, e->u.buffer))
            return verify_fail(v, "a load from a buffer of another nest", NULL);
        ok = t == NEST_I64;
    }
    if (e->op == NEST_SELECT) ok = t == NEST_BOOL && e->args[1]->type == e->args[2]->type;
    if (e->op == NEST_CALL) ok = e->nargs > 0 && t != NEST_BOOL;
    return ok ? CTSC_OK
              : verify_fail(v, "an operand of a type it cannot have:",
                            e->op == NEST_CALL ? e->u.name : nest_ops[e->op].text);
}

static ctsc_status verify_expr(verify_state *v, nest_expr *e) {
    if (!e) return verify_fail(v, "an expression is missing", NULL);
    if (e->mark == v->mark) return CTSC_OK;
    e->mark = v->mark;
    if (e->op == NEST_VAR && !v->known[e->u.var->index])
        return verify_fail(v, "a variable outside its block:", e->u.var->name);
    if (e->op == NEST_INPUT && e->u.input >= (e->type == NEST_I64 ? v->n->nints : v->n->nfloats))
        return verify_fail(v, "an input of another nest", NULL);
    for (int i = 0; i < e->nargs; i++) {
        TRY(verify_expr(v, e->args[i]));
    }
    return verify_types(v, e);
}

static ctsc_status verify_typed(verify_state *v, nest_expr *e, nest_type want) {
    v->mark = nest_fresh_mark(v->n);
    ctsc_status st = verify_expr(v, e);
    return st != CTSC_OK || e->type == want
               ? st
               : verify_fail(v, "another type is wanted than", nest_types[e->type].name);
}

static ctsc_status verify_block(verify_state *v, const nest_block *b);

static ctsc_status verify_for(verify_state *v, nest_stmt *s) {
    ctsc_status st = verify_typed(v, s->begin, NEST_I64);
    if (st == CTSC_OK) st = verify_typed(v, s->end, NEST_I64);
    if (st != CTSC_OK) return st;
    if (s->step == 0 || s->step == INT64_MIN) return verify_fail(v, "a loop's step is", "0");
    if (s->flags & NEST_PARALLEL) {
        if (v->loops || v->parallels++ || s->step != 1)
            return verify_fail(v, "only one loop at the top can be", "parallel");
        for (nest_stmt *o = v->n->body.first; o; o = o->next)
            if (o != s && (o->kind != NEST_DECLARE || s->next))
                return verify_fail(v, "statements beside the parallel loop", NULL);
    }
    if (s->flags & NEST_UNROLL && (s->begin->op != NEST_CONST || s->end->op != NEST_CONST))
        return verify_fail(v, "unroll wants constant bounds:", s->var->name);
    v->loops++;
    v->vectors += !!(s->flags & NEST_VECTOR);
    v->known[s->var->index] = true;
    st = verify_block(v, &s->body);
    v->known[s->var->index] = false;
    v->vectors -= !!(s->flags & NEST_VECTOR);
    v->loops--;
    return st;
}

static ctsc_status verify_assigned(verify_state *v, nest_stmt *s) {
    if (!s->var || !s->var->is_mutable || !v->known[s->var->index])
        return verify_fail(v, "only a known variable can be assigned", NULL);
    nest_type t = s->var->type;
    if (s->kind == NEST_ACCUMULATE && t == NEST_BOOL && s->acc != NEST_ACC_MIN &&
        s->acc != NEST_ACC_MAX)
        return verify_fail(v, "bools have no sums", NULL);
    return verify_typed(v, s->value, t);
}

static ctsc_status verify_stmt(verify_state *v, nest_stmt *s) {
    ctsc_status st = CTSC_OK;
    nest_type t = NEST_BOOL;
    switch (s->kind) {
    case NEST_DECLARE:
        st = verify_typed(v, s->value, s->var->type);
        v->known[s->var->index] = true;
        return st;
    case NEST_SET:
    case NEST_ACCUMULATE: return verify_assigned(v, s);
    case NEST_STORE:
        if (!verify_has_buffer(v->n, s->buffer))
            return verify_fail(v, "a store to a buffer of another nest", NULL);
        nest_type_of(s->buffer->dt, &t);
        TRY(verify_typed(v, s->index, NEST_I64));
        return verify_typed(v, s->value, t);
    case NEST_FOR: return verify_for(v, s);
    case NEST_WHILE:
        TRY(verify_typed(v, s->value, NEST_BOOL));
        v->loops++;
        st = verify_block(v, &s->body);
        v->loops--;
        return st;
    case NEST_IF:
        TRY(verify_typed(v, s->value, NEST_BOOL));
        TRY(verify_block(v, &s->body));
        return verify_block(v, &s->other);
    case NEST_BREAK:
    case NEST_CONTINUE:
        if (!v->loops) return verify_fail(v, "break or continue outside a loop", NULL);
        if (v->vectors && s->kind == NEST_BREAK)
            return verify_fail(v, "a vector loop cannot break", NULL);
        return s->next ? verify_fail(v, "statements after break or continue", NULL) : CTSC_OK;
    case NEST_FAIL:
        if (s->code <= 0) return verify_fail(v, "an error code must be positive", NULL);
        if (v->vectors) return verify_fail(v, "a vector loop cannot fail", NULL);
        if (s->next) return verify_fail(v, "statements after fail", NULL);
        return verify_typed(v, s->value, NEST_I64);
    case NEST_WATCH:
        if (s->code <= 0) return verify_fail(v, "an error code must be positive", NULL);
        return v->vectors || v->parallels
                   ? verify_fail(v, "vector and parallel loops cannot be watched", NULL)
                   : CTSC_OK;
    }
    return verify_fail(v, "an unknown statement", NULL);
}

static ctsc_status verify_block(verify_state *v, const nest_block *b) {
    ctsc_status st = CTSC_OK;
    for (nest_stmt *s = b->first; s && st == CTSC_OK; s = s->next) st = verify_stmt(v, s);
    for (nest_stmt *s = b->first; s; s = s->next)
        if (s->kind == NEST_DECLARE) v->known[s->var->index] = false;
    return st;
}

ctsc_status nest_verify(nest *n, diag *d) {
    if (arena_failed(n->a)) return diag_no_memory(d);
    verify_state v = {.n = n, .d = d};
    if (n->overflow) return verify_fail(&v, "a limit of the form was passed", NULL);
    if (n->nopen) return verify_fail(&v, "a block was not ended", NULL);
    if (n->coop && (n->coop < 2 || n->coop > 1024 || n->coop & (n->coop - 1)))
        return verify_fail(&v, "a coop of another size than a power of 2 up to 1024", NULL);
    nest_type t = NEST_BOOL;
    for (int i = 0; i < n->nbuffers; i++)
        if (!nest_type_of(n->buffers[i]->dt, &t))
            return verify_fail(&v, "a dtype without arithmetic in buffer", n->buffers[i]->name);
    for (int i = 0; i < n->nlocals; i++)
        if (!nest_type_of(n->locals[i]->dt, &t) || n->locals[i]->length <= 0 ||
            n->locals[i]->length > 65536)
            return verify_fail(&v, "a bad dtype or length of local buffer", n->locals[i]->name);
    v.known = mem_zalloc((size_t)n->nvars + 1);
    if (!v.known) return diag_no_memory(d);
    ctsc_status st = verify_block(&v, &n->body);
    mem_free(v.known);
    return st;
}
