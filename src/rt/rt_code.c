/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_code.c - walks the instructions of a compiled program: what runtime/interp does, without
 * calls, limits, hooks and places of errors.
 *
 * Registers are empty (None) before their first and after their last use, so that ending a frame,
 * in whatever way, is releasing its registers.
 * Tests: tests/aot/
 */
#include "rt/rt_internal.h"

typedef struct rt_frame {
    op_ctx *cx;
    const rt_code *c;
    value *regs; /* c->nregisters, then the window of arguments and results */
} rt_frame;

static inline value *rt_at(const rt_frame *f, int32_t v) {
    return v < 0 ? &f->c->constants[~v] : &f->regs[v & OPERAND_REGISTER];
}

static inline const int32_t *rt_operands(const rt_frame *f, const rt_site *s) {
    return f->c->operands + s->operands;
}

static inline value *rt_arg(const rt_frame *f, const rt_site *s, int i) {
    return rt_at(f, rt_operands(f, s)[i]);
}

/* Argument i as a reference of one's own. */
static value rt_take(rt_frame *f, const rt_site *s, int i) {
    int32_t v = rt_operands(f, s)[i];
    value *at = rt_at(f, v), x = *at;
    if (!operand_last_use(v)) return value_ref(x);
    *at = value_none();
    return x;
}

static void rt_release(rt_frame *f, const rt_site *s) {
    const int32_t *operands = rt_operands(f, s);
    for (int i = 0; i < s->nargs; i++)
        if (operand_last_use(operands[i])) value_set(rt_at(f, operands[i]), value_none());
}

/* Stores a result, whose reference is taken. */
static void rt_result(rt_frame *f, const rt_site *s, int i, value v) {
    int32_t r = rt_operands(f, s)[s->nargs + i];
    if (r == SITE_UNUSED) value_unref(v);
    else value_set(&f->regs[r], v);
}

static ctsc_status rt_trap(rt_frame *f, const char *message) {
    return rt_say(f->cx->diag, CTSC_UNSUPPORTED, message);
}

/* ---- operators and groups -------------------------------------------------------------------- */

static ctsc_status rt_call_site(rt_frame *f, const rt_site *s) {
    value *args = f->regs + f->c->nregisters, *results = args + s->nargs;
    for (int i = 0; i < s->nargs; i++) args[i] = *rt_arg(f, s, i);
    int returns = s->nresults;
    if (s->op && s->op->op->schema->nreturns > returns) returns = s->op->op->schema->nreturns;
    for (int i = 0; i < returns; i++) results[i] = value_none();
    ctsc_status st;
    if (s->group) st = rt_run_group(f->cx, s->group, args, results);
    else st = rt_run_op(f->cx, s->op, s->nargs, args, results);
    rt_release(f, s);
    for (int i = 0; i < returns; i++) {
        if (st == CTSC_OK && i < s->nresults) rt_result(f, s, i, results[i]);
        else value_unref(results[i]);
    }
    return st;
}

static ctsc_status rt_call_code(rt_frame *f, const rt_site *s) {
    value *args = f->regs + f->c->nregisters, result = value_none();
    for (int i = 0; i < s->nargs; i++) args[i] = rt_take(f, s, i);
    TRY(rt_run_code(f->cx, s->sub, args, &result));
    if (s->nresults == 1) rt_result(f, s, 0, result);
    else value_unref(result);
    return CTSC_OK;
}

/* ---- containers ------------------------------------------------------------------------------ */

static ctsc_status rt_new_list(rt_frame *f, const rt_site *s) {
    list *l = list_new((list_kind)s->what, NULL, (size_t)s->nargs);
    if (!l) return diag_no_memory(f->cx->diag);
    for (int i = 0; i < s->nargs; i++) {
        if (!list_fits((list_kind)s->what, *rt_arg(f, s, i))) {
            value_unref(value_list_take(l));
            return rt_trap(f, "an element does not fit a list's type");
        }
        if (list_append_take(l, rt_take(f, s, i))) continue;
        value_unref(value_list_take(l));
        return diag_no_memory(f->cx->diag);
    }
    rt_result(f, s, 0, value_list_take(l));
    return CTSC_OK;
}

static ctsc_status rt_new_tuple(rt_frame *f, const rt_site *s) {
    tuple *t = tuple_new((size_t)s->nargs, NULL);
    if (!t) return diag_no_memory(f->cx->diag);
    for (int i = 0; i < s->nargs; i++) t->items[i] = rt_take(f, s, i);
    rt_result(f, s, 0, value_tuple_take(t));
    return CTSC_OK;
}

static ctsc_status rt_new_dict(rt_frame *f, const rt_site *s) {
    dict *d = dict_new(NULL, NULL);
    if (!d) return diag_no_memory(f->cx->diag);
    for (int i = 0; i + 1 < s->nargs; i += 2) {
        value key = rt_take(f, s, i);
        if (dict_set_take(d, key, rt_take(f, s, i + 1))) continue;
        value_unref(value_dict_take(d));
        return diag_no_memory(f->cx->diag);
    }
    rt_result(f, s, 0, value_dict_take(d));
    return CTSC_OK;
}

static ctsc_status rt_unpack(rt_frame *f, const rt_site *s) {
    const value *v = rt_arg(f, s, 0);
    bool is_list = v->tag == V_LIST, is_tuple = v->tag == V_TUPLE;
    size_t n = is_list ? v->u.list->len : is_tuple ? v->u.tuple->len : SIZE_MAX;
    if (n != (size_t)s->nresults)
        return rt_say(f->cx->diag, CTSC_FAILED, "a container has another number of elements");
    for (int i = 0; i < s->nresults; i++)
        rt_result(f, s, i,
                  is_list ? list_get(v->u.list, (size_t)i) : value_ref(v->u.tuple->items[i]));
    rt_release(f, s);
    return CTSC_OK;
}

static ctsc_status rt_tuple_index(rt_frame *f, const rt_site *s) {
    const value *v = rt_arg(f, s, 0), *at = rt_arg(f, s, 1);
    if (v->tag != V_TUPLE || at->tag != V_INT) return rt_trap(f, "the value is not a tuple");
    int64_t n = (int64_t)v->u.tuple->len, k = at->u.i < 0 ? at->u.i + n : at->u.i;
    if (k < 0 || k >= n) return rt_say(f->cx->diag, CTSC_FAILED, "Tuple list index out of range");
    value item = value_ref(v->u.tuple->items[k]);
    rt_release(f, s);
    rt_result(f, s, 0, item);
    return CTSC_OK;
}

static int64_t rt_bound(int64_t k, int64_t n) {
    if (k < 0) k += n;
    return k < 0 ? 0 : k > n ? n : k;
}

static ctsc_status rt_tuple_slice(rt_frame *f, const rt_site *s) {
    const value *v = rt_arg(f, s, 0);
    if (v->tag != V_TUPLE) return rt_trap(f, "the value is not a tuple");
    int64_t n = (int64_t)v->u.tuple->len, begin = rt_bound(s->imm, n), end = rt_bound(s->imm2, n);
    tuple *out = tuple_new(end > begin ? (size_t)(end - begin) : 0, NULL);
    if (!out) return diag_no_memory(f->cx->diag);
    for (size_t i = 0; i < out->len; i++)
        out->items[i] = value_ref(v->u.tuple->items[begin + (int64_t)i]);
    rt_release(f, s);
    rt_result(f, s, 0, value_tuple_take(out));
    return CTSC_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool rt_fits(rt_frame *f, const rt_site *s) { return s->what >> rt_arg(f, s, 0)->tag & 1; }

static ctsc_status rt_isinstance(rt_frame *f, const rt_site *s) {
    bool fits = rt_fits(f, s);
    rt_release(f, s);
    rt_result(f, s, 0, value_bool(fits));
    return CTSC_OK;
}

static ctsc_status rt_cast(rt_frame *f, const rt_site *s) {
    bool fits = rt_fits(f, s);
    value v = rt_take(f, s, 0);
    if (!fits) {
        value_unref(v);
        v = value_uninit();
    }
    rt_result(f, s, 0, v);
    return CTSC_OK;
}

static ctsc_status rt_check(rt_frame *f, const rt_site *s) {
    return rt_arg(f, s, 0)->tag != V_UNINIT ? CTSC_OK
                                            : rt_trap(f, "this reads a value that was never set");
}

static ctsc_status rt_raise(rt_frame *f, const rt_site *s) {
    const value *v = s->nargs > 0 ? rt_arg(f, s, 0) : NULL;
    const char *text = v && v->tag == V_STR ? v->u.str->bytes : "the program raised an exception";
    return rt_say(f->cx->diag, CTSC_FAILED, text);
}

static ctsc_status rt_nothing(rt_frame *f, const rt_site *s) {
    rt_release(f, s);
    for (int i = 0; i < s->nresults; i++) rt_result(f, s, i, value_none());
    return CTSC_OK;
}

/* Where the compiler found an instruction that the library lacks, which no run of its had come
 * to. */
static ctsc_status rt_missing(rt_frame *f, const rt_site *s) {
    (void)s;
    return rt_trap(f, "the program came to an instruction that was not compiled");
}

typedef ctsc_status (*rt_site_fn)(rt_frame *f, const rt_site *s);
static const rt_site_fn rt_sites[BC_COUNT] = {
    [BC_CALL_OP] = rt_call_site,
    [BC_FUSED] = rt_call_site,
    [BC_CALL] = rt_call_code,
    [BC_NEW_LIST] = rt_new_list,
    [BC_NEW_TUPLE] = rt_new_tuple,
    [BC_NEW_DICT] = rt_new_dict,
    [BC_UNPACK_LIST] = rt_unpack,
    [BC_UNPACK_TUPLE] = rt_unpack,
    [BC_TUPLE_INDEX] = rt_tuple_index,
    [BC_TUPLE_SLICE] = rt_tuple_slice,
    [BC_CAST] = rt_cast,
    [BC_CHECK] = rt_check,
    [BC_ISINSTANCE] = rt_isinstance,
    [BC_RAISE] = rt_raise,
    [BC_PRINT] = rt_nothing,
    [BC_UNSUPPORTED] = rt_missing,
};

/* ---- the loop -------------------------------------------------------------------------------- */

#define FAST_OP(name, in_tag, make)                                                                \
    case BC_##name: {                                                                              \
        const value *x = rt_at(f, i->b), *y = rt_at(f, i->c);                                      \
        if (x->tag != (in_tag) || y->tag != (in_tag)) break;                                       \
        value_set(&f->regs[i->a], make);                                                           \
        i++;                                                                                       \
        break;                                                                                     \
    }

static bool rt_get_item(rt_frame *f, const instr *i) {
    const value *x = rt_at(f, i->b), *y = rt_at(f, i->c);
    if (x->tag != V_LIST || y->tag != V_INT) return false;
    int64_t k = y->u.i, n = (int64_t)x->u.list->len;
    if (k < 0) k += n;
    if (k < 0 || k >= n) return false;
    value_set(&f->regs[i->a], list_get(x->u.list, (size_t)k));
    return true;
}

static ctsc_status rt_loop(rt_frame *f, value *out) {
    const instr *code = f->c->instrs, *i = code;
    for (;; i++) {
        switch (i->op) {
        case BC_COPY: value_set(&f->regs[i->a], value_ref(*rt_at(f, i->b))); break;
        case BC_MOVE: {
            value v = f->regs[i->b];
            f->regs[i->b] = value_none();
            value_set(&f->regs[i->a], v);
            break;
        }
        case BC_DROP: value_set(&f->regs[i->a], value_none()); break;
        case BC_JUMP: i = code + i->a - 1; break;
        case BC_JUMP_FALSE: {
            const value *v = rt_at(f, i->b);
            if (v->tag != V_BOOL) return rt_trap(f, "a condition is not a bool");
            if (!v->u.b) i = code + i->a - 1;
            break;
        }
        case BC_LOOP_TEST:
            if (f->regs[i->b].u.i >= f->regs[i->c].u.i) i = code + i->a - 1;
            break;
        case BC_LOOP_NEXT:
            if (++f->regs[i->b].u.i < f->regs[i->c].u.i) i = code + i->a - 1;
            break;
        case BC_JOIN: break;
        case BC_RETURN: {
            value *v = rt_at(f, i->a);
            *out = i->a < 0 ? value_ref(*v) : *v;
            if (i->a >= 0) *v = value_none();
            return CTSC_OK;
        }
#include "runtime/code/fast_ops.def"
        case BC_GET_ITEM:
            if (rt_get_item(f, i)) i++;
            break;
        case BC_LIST_LEN: {
            const value *x = rt_at(f, i->b);
            if (x->tag != V_LIST) break;
            value_set(&f->regs[i->a], value_int((int64_t)x->u.list->len));
            i++;
            break;
        }
        case BC_IS:
        case BC_IS_NOT: {
            bool same = value_is(*rt_at(f, i->b), *rt_at(f, i->c));
            value_set(&f->regs[i->a], value_bool(same == (i->op == BC_IS)));
            i++;
            break;
        }
        default: TRY((rt_sites[i->op] ? rt_sites[i->op] : rt_missing)(f, &f->c->sites[i->a]));
        }
    }
}

ctsc_status rt_run_code(op_ctx *cx, const rt_code *c, value *args, value *out) {
    value *regs = mem_alloc(((size_t)c->nregisters + (size_t)c->window) * sizeof *regs);
    for (int i = 0; i < c->nparams; i++) {
        if (regs) regs[i] = args[i];
        else value_unref(args[i]);
    }
    if (!regs) return diag_no_memory(cx->diag);
    for (int i = c->nparams; i < c->nregisters; i++) regs[i] = value_none();
    rt_frame f = {.cx = cx, .c = c, .regs = regs};
    ctsc_status st = rt_loop(&f, out);
    for (int i = 0; i < c->nregisters; i++) value_unref(regs[i]);
    mem_free(regs);
    return st;
}
