/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp.c - the interpreter's loop, its frames, and the ways in.
 *
 * Method: one C call per call of the program. A frame is a run of slots on a stack of
 * chunks; registers are empty (None) before their first and after their last use, so
 * that ending a frame, in whatever way, is releasing its registers. Limits: the depth
 * of calls; the runtime's steps: a call takes as many as its code has instructions
 * and a loop's iteration as many as its body has. Tests: tests/unit/test_interp.c
 */
#include "runtime/context/workspace.h"
#include "runtime/interp/watch.h"
#include "tensor/device.h"

/* ---- the stack ------------------------------------------------------------------------------- */

enum { STACK_FIRST = 256, STACK_NEXT = 4096 };

static stack_chunk *stack_add(stack_chunk *prev, size_t need) {
    size_t size = prev ? STACK_NEXT : STACK_FIRST, bytes;
    if (size < need) size = need;
    if (!size_mul(size, sizeof(value), &bytes) || !size_add(bytes, sizeof(stack_chunk), &bytes))
        return NULL;
    stack_chunk *c = mem_alloc(bytes);
    if (!c) return NULL;
    *c = (stack_chunk){.prev = prev, .size = size};
    if (prev) prev->next = c;
    return c;
}

/* The top chunk has no room for n slots: the next one, which has. NULL if out of memory. */
static stack_chunk *stack_grow(interp *in, size_t n) {
    stack_chunk *c = in->top, *next = c ? c->next : NULL;
    if (next && next->size < n) { /* the spare one is too small */
        stack_free_after(c);
        next = NULL;
    }
    c = next ? next : stack_add(c, n);
    if (c) in->top = c;
    return c;
}

/* n slots, not initialised; NULL if out of memory. */
static inline value *stack_push(interp *in, size_t n) {
    stack_chunk *c = in->top;
    if ((!c || c->size - c->used < n) && !(c = stack_grow(in, n))) return NULL;
    value *slots = c->slots + c->used;
    c->used += n;
    return slots;
}

static inline void stack_pop(interp *in, size_t n) {
    stack_chunk *c = in->top;
    c->used -= n;
    /* The emptied chunk is kept as a spare. */
    if (c->used == 0 && c->prev) in->top = c->prev;
}

/* At the end of the outermost call: the first chunk stays for the next one. */
static void stack_leave(interp *in) {
    stack_chunk *c = in->top;
    while (c && c->prev) c = c->prev;
    if (c) stack_free_after(c);
    workspace *w = in->rt->ws;
    if (w && !w->stack) w->stack = c;
    else stack_chunk_free(c);
}

/* ---- budget ---------------------------------------------------------------------------------- */

/* Called before every operator as well: a program without loops has to stop too. */
ctsc_status interp_check_time(const interp *in) {
    const runtime *rt = in->rt;
    if (rt->cancelled && atomic_load_explicit(rt->cancelled, memory_order_relaxed))
        return diag_fail(in->d, CTSC_LIMIT, "the program was cancelled");
    if (rt->deadline && clock_now() > rt->deadline)
        return diag_fail(in->d, CTSC_LIMIT, "the program exceeded its limit of time");
    return CTSC_OK;
}

static ctsc_status interp_charge_slow(interp *in, uint64_t steps) {
    runtime *rt = in->rt;
    ctsc_status s = interp_check_time(in);
    if (s != CTSC_OK || rt->steps_left == UINT64_MAX) return s;
    if (rt->steps_left < steps) {
        rt->steps_left = 0;
        return diag_fail(in->d, CTSC_LIMIT, "the program exceeded its limit of steps");
    }
    rt->steps_left -= steps;
    return CTSC_OK;
}

static inline ctsc_status interp_charge(interp *in, uint64_t steps) {
    if (in->rt->steps_left == UINT64_MAX && !runtime_is_watched(in->rt)) return CTSC_OK;
    return interp_charge_slow(in, steps);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static const site_fn site_functions[BC_COUNT] = {
#define OPCODE(name, form, meaning)
#define FAST(name, key, meaning)
#define SITE(name, function, meaning) [BC_##name] = function,
#include "runtime/code/opcodes.def"
#undef OPCODE
#undef FAST
#undef SITE
};

#define FAST_OP(name, in_tag, make)                                                                \
    case BC_##name: {                                                                              \
        const value *x = operand_at(f, i->b), *y = operand_at(f, i->c);                            \
        if (x->tag != (in_tag) || y->tag != (in_tag)) break;                                       \
        value_set(&f->regs[i->a], make);                                                           \
        i++;                                                                                       \
        break;                                                                                     \
    }

static inline void fast_get_item(frame *f, const instr **at) {
    const instr *i = *at;
    const value *x = operand_at(f, i->b), *y = operand_at(f, i->c);
    if (x->tag != V_LIST || y->tag != V_INT) return;
    const list *l = x->u.list;
    int64_t k = y->u.i, n = (int64_t)l->len;
    if (k < 0) k += n;
    if (k < 0 || k >= n) return; /* the operator words the error */
    value_set(&f->regs[i->a], list_get(l, (size_t)k));
    *at = i + 1;
}

/* Runs until RETURN (*out is set), or until a failure at the instruction left in *at. */
static ctsc_status interp_loop(frame *f, const instr **at, value *out) {
    const instr *code = f->c->instrs.data, *i = code;
    for (;; i++) {
        ctsc_status s = CTSC_OK;
        switch (i->op) {
        case BC_COPY: value_set(&f->regs[i->a], value_ref(*operand_at(f, i->b))); break;
        case BC_MOVE: {
            value v = f->regs[i->b];
            f->regs[i->b] = value_none();
            value_set(&f->regs[i->a], v);
            break;
        }
        case BC_DROP: value_set(&f->regs[i->a], value_none()); break;
        case BC_JUMP: i = code + i->a - 1; break;
        case BC_JUMP_FALSE: {
            const value *v = operand_at(f, i->b);
            if (v->tag != V_BOOL)
                s = diag_fail(f->in->d, CTSC_INTERNAL, "a condition is not a bool");
            else if (!v->u.b) i = code + i->a - 1;
            break;
        }
        case BC_LOOP_TEST:
            if (f->regs[i->b].tag != V_INT || f->regs[i->c].tag != V_INT)
                s = diag_fail(f->in->d, CTSC_INTERNAL, "a loop's limit is not an int");
            else if (f->regs[i->b].u.i >= f->regs[i->c].u.i) i = code + i->a - 1;
            break;
        case BC_LOOP_NEXT:
            if (++f->regs[i->b].u.i >= f->regs[i->c].u.i) break;
            s = interp_charge(f->in, (uint64_t)(i - code - i->a + 1));
            if (s == CTSC_OK) i = code + i->a - 1;
            break;
        case BC_JOIN:
            if (f->forked) s = fork_join(f);
            break;
        case BC_RETURN: {
            value *v = operand_at(f, i->a);
            *out = i->a < 0 ? value_ref(*v) : *v;
            if (i->a >= 0) *v = value_none();
            return CTSC_OK;
        }
#include "runtime/code/fast_ops.def"
        case BC_GET_ITEM: fast_get_item(f, &i); break;
        case BC_LIST_LEN: {
            const value *x = operand_at(f, i->b);
            if (x->tag != V_LIST) break;
            value_set(&f->regs[i->a], value_int((int64_t)x->u.list->len));
            i++;
            break;
        }
        case BC_IS:
        case BC_IS_NOT: {
            bool same = value_is(*operand_at(f, i->b), *operand_at(f, i->c));
            value_set(&f->regs[i->a], value_bool(same == (i->op == BC_IS)));
            i++;
            break;
        }
        default:
            if (runtime_is_watched(f->in->rt)) s = interp_check_time(f->in);
            if (s != CTSC_OK) break;
            if (__builtin_expect(f->in->rt->watch != NULL, 0))
                s = f->in->rt->watch->fn->site(f->in->rt->watch, f, i, site_functions[i->op]);
            else s = site_functions[i->op](f, &f->c->sites.data[i->a]);
            break;
        }
        if (s != CTSC_OK) {
            *at = i;
            return s;
        }
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool interp_has_place(const diag *d) {
    for (size_t i = 0; i < d->items.len; i++)
        if (d->items.data[i].kind == DIAG_ERROR) return d->items.data[i].range.src != NULL;
    return false;
}

/* The error's own place is where it came up; every frame around it says where it called. */
static void interp_note(diag *d, source_range r, const char *function) {
    if (!interp_has_place(d)) diag_locate(d, r);
    else diag_frame(d, r, function);
}

void interp_note_calls(diag *d, const call_site *call, const char *function) {
    for (; call; call = call->caller)
        interp_note(d, call->range, call->caller ? call->caller->callee : function);
}

/* A fusion group is not a call of the program's: its own code has said all. */
static void interp_note_place(frame *f, const instr *at) {
    ptrdiff_t k = at - f->c->instrs.data;
    const call_site *call = f->c->calls.data[k];
    if (at->op == BC_FUSED && interp_has_place(f->in->d)) return;
    interp_note(f->in->d, f->c->ranges.data[k], call ? call->callee : f->c->name);
    interp_note_calls(f->in->d, call, f->c->name);
}

/* After a failure: the __exit__ methods that this frame owes, innermost first. What they raise is
 * lost, as in PyTorch. */
static void interp_leave_entered(interp *in) {
    while (in->entered.len > 0 && vec_last(&in->entered).depth >= in->rt->depth) {
        value object = vec_pop(&in->entered).object, result = value_none();
        diag lost = {0}, *outer = diag_redirect(&in->d, &lost);
        if (interp_call_hook(in, object, "__exit__", &result) == CTSC_OK) value_unref(result);
        diag_restore(&in->d, outer);
        diag_clear(&lost);
        value_unref(object);
    }
}

/* Room for a frame of c's, whose registers are yet to be filled. */
static inline ctsc_status interp_enter(interp *in, const code *c, int n, value **regs) {
    if (n != c->nparams)
        return diag_fail(in->d, CTSC_INTERNAL, "%s takes %d arguments, but is called with %d",
                         c->name, c->nparams, n);
    if (in->rt->depth >= INTERP_MAX_DEPTH)
        return diag_fail(in->d, CTSC_LIMIT, "calls are nested too deeply (more than %d levels)",
                         INTERP_MAX_DEPTH);
    TRY(interp_charge(in, c->instrs.len));
    *regs = stack_push(in, code_frame_slots(c));
    return *regs ? CTSC_OK : diag_no_memory(in->d);
}

/* At the end of a frame, which came to s. */
static ctsc_status interp_join(frame *f, ctsc_status s, value *out) {
    ctsc_status joined = fork_join(f);
    if (joined == CTSC_OK) return s;
    if (s == CTSC_OK) value_unref(*out);
    return joined;
}

/* Runs the frame whose first registers hold the arguments, and leaves it. */
static ctsc_status interp_frame(interp *in, const code *c, value *regs, value *out) {
    for (int i = c->nparams; i < c->nregisters; i++) regs[i] = value_none();
    frame f = {.in = in, .c = c, .regs = regs, .cx = {.diag = in->d, .rt = in->rt, .interp = in}};
    const instr *at = NULL;
    in->rt->depth++;
    ctsc_status s = interp_loop(&f, &at, out);
    if (f.forked) s = interp_join(&f, s, out);
    if (s != CTSC_OK) {
        interp_note_place(&f, f.blame ? f.blame : at);
        interp_leave_entered(in);
    }
    in->rt->depth--;
    for (int i = 0; i < c->nregisters; i++) value_unref(regs[i]);
    stack_pop(in, code_frame_slots(c));
    return s;
}

ctsc_status interp_run(interp *in, const code *c, int n, value *args, value *out) {
    value *regs = NULL; /* for compilers that do not follow s */
    ctsc_status s = interp_enter(in, c, n, &regs);
    for (int i = 0; i < n; i++) {
        if (s == CTSC_OK) regs[i] = args[i];
        else value_unref(args[i]);
    }
    return s == CTSC_OK ? interp_frame(in, c, regs, out) : s;
}

/* A group that is the whole of a function: what it takes is the function's own arguments, and no
 * frame is needed. */
static ctsc_status interp_run_group(interp *in, const code *c, const value *args, value *out) {
    bool native;
    TRY(interp_charge(in, c->instrs.len));
    code_group *g = c->groups.data[0];
    ctsc_status s = g->run(g, in, args + c->whole_group, out, &native);
    if (s == CTSC_OK) return s;
    const instr *at = c->instrs.data;
    while (at->op != BC_FUSED) at++;
    interp_note_place(&(frame){.in = in, .c = c}, at);
    return s;
}

/* interp_run with arguments that stay the caller's. What nothing reads, as a rule the module
 * itself, is not even counted: threads that run one module would pass that count to and fro. */
static inline ctsc_status interp_run_borrowed(interp *in, const code *c, int n, const value *args,
                                              value *out) {
    if (c->whole_group >= 0 && n == c->nparams && !in->rt->watch)
        return interp_run_group(in, c, args, out);
    value *regs = NULL;
    TRY(interp_enter(in, c, n, &regs));
    for (int i = 0; i < n; i++) regs[i] = code_reads(c, i) ? value_ref(args[i]) : value_none();
    return interp_frame(in, c, regs, out);
}

/* The module whose method is called, if it is the one that is run. */
static const object *interp_self(const interp *in, const function *fn, const value *args) {
    return fn->cls && in->rt->root && args[0].tag == V_OBJECT && args[0].u.object == in->rt->root
               ? in->rt->root
               : NULL;
}

static ctsc_status interp_make_code(interp *in, function *fn, int level, const value *args) {
    uint64_t since = watch_pause(in->rt->watch);
    ctsc_status s = code_host_installed->ensure(fn, level, interp_self(in, fn, args), in->d);
    watch_resume(in->rt->watch, since, "(compiling graphs)");
    return s;
}

/* The code that a call of fn runs, made if need be. */
static inline ctsc_status interp_find_code(interp *in, function *fn, const value *args,
                                           const code **out) {
    int level = runtime_level(in->rt->opt) + (in->rt->taped ? FUNCTION_TAPED : 0);
    *out = __atomic_load_n(&fn->code[level], __ATOMIC_ACQUIRE);
    if (*out) return CTSC_OK;
    ctsc_status s = interp_make_code(in, fn, level, args);
    *out = fn->code[level];
    return s;
}

ctsc_status interp_run_function(interp *in, function *fn, int n, value *args, value *out) {
    const code *c;
    ctsc_status s = interp_find_code(in, fn, args, &c);
    if (s == CTSC_OK) return interp_run(in, c, n, args, out);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    return s;
}

/* ---- the ways in ----------------------------------------------------------------------------- */

static ctsc_status interp_call_borrowed(interp *in, function *f, int nargs, const value *args,
                                        value *out) {
    const code *c;
    value result = value_none();
    ctsc_status s = interp_find_code(in, f, args, &c);
    if (s == CTSC_OK) s = interp_run_borrowed(in, c, nargs, args, &result);
    if (s == CTSC_OK) *out = result;
    return s;
}

void interp_begin(interp *in, runtime *rt, diag *d) {
    *in = (interp){.rt = rt, .d = d, .outer_mode = float_mode_begin()};
    /* a program without limits of its own keeps to its caller's */
    in->outer_limits = runtime_is_limited(rt) ? limits_use(runtime_limits(rt, &in->limits))
                                              : limits_current;
    if (!rt->ws) return;
    in->top = rt->ws->stack;
    rt->ws->stack = NULL; /* a call from within this one makes its own */
}

void interp_end(interp *in) {
    float_mode_end(in->outer_mode);
    limits_use(in->outer_limits);
    stack_leave(in);
    while (in->entered.len > 0) value_unref(vec_pop(&in->entered).object);
    if (in->entered.data) vec_free(&in->entered);
}

ctsc_status interp_call(runtime *rt, function *f, int nargs, const value *args, diag *d,
                        value *out) {
    diag own = {0};
    interp in;
    rt->on_meta |= f->unit && f->unit->device == DEVICE_META;
    interp_begin(&in, rt, d ? d : &own);
    ctsc_status s = interp_call_borrowed(&in, f, nargs, args, out);
    interp_end(&in);
    diag_clear(&own);
    return s;
}

ctsc_status interp_call_take(runtime *rt, function *f, int nargs, value *args, diag *d,
                             value *out) {
    interp in;
    interp_begin(&in, rt, d);
    ctsc_status s = interp_run_function(&in, f, nargs, args, out);
    interp_end(&in);
    return s;
}

ctsc_status interp_call_code(runtime *rt, const code *c, int n, const value *args, diag *d,
                             value *out) {
    interp in;
    value result = value_none();
    interp_begin(&in, rt, d);
    ctsc_status s = interp_run_borrowed(&in, c, n, args, &result);
    interp_end(&in);
    if (s == CTSC_OK) *out = result;
    return s;
}

ctsc_status interp_call_from_op(op_ctx *cx, function *f, int nargs, const value *args, value *out) {
    if (!cx->interp) return interp_call(cx->rt, f, nargs, args, cx->diag, out);
    interp *in = cx->interp;
    diag *outer = diag_redirect(&in->d, cx->diag ? cx->diag : in->d);
    ctsc_status s = interp_call_borrowed(in, f, nargs, args, out);
    diag_restore(&in->d, outer);
    return s;
}
