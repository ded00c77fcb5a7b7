/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot_run.c - runs a method to learn what it is compiled to.
 *
 * Runs. With the arguments as they are given; with each named dim at its least, at most and in
 * between, the others at most, since a size of 1 makes other kernels; and with branches forced:
 * where a site that needs arguments to be compiled (a group, an operator that becomes a kernel) was
 * not come to, the jumps in front of it are replaced for one run. The bytecode is structured
 * (runtime/code/bytecode.c), so which jumps these are is seen from their targets alone. What a
 * forced run fails with says nothing of the program.
 *
 * Memory. Runs are without the library's recycler, and each block that is taken and given back is
 * placed in a heap like the run-time library's (rt/rt_heap.h), in addresses that are reserved and
 * never touched but for the heads of blocks. The largest extent, with a margin for what the library
 * takes differently, is the size of the workspace.
 *
 * Tests: tests/aot/
 */
#include "base/memory/recycle.h"
#include "base/threads/thread_pool.h"
#include "runtime/aot/aot_internal.h"
#include "runtime/code/bytecode.h"

#include <string.h>
#include <sys/mman.h>

enum {
    AOT_FORCED_RUNS = 200,
    AOT_FORCED_STEPS = 1 << 20, /* of a forced run: a loop may have become endless */
    AOT_MARGIN = 32 << 10,
};
#define AOT_HEAP ((size_t)1 << 40) /* of addresses */

/* ---- memory ---------------------------------------------------------------------------------- */

static void aot_seen_block(mem_budget *b, const void *freed, const void *given, size_t size) {
    aot *a = (aot *)(void *)((char *)b - offsetof(aot, budget));
    mem_budget *outer = mem_budget_use(NULL); /* the table's own memory */
    void *place = freed ? ptrmap_get(&a->places, freed) : NULL;
    if (place) rt_heap_free(&a->heap, place);
    if (freed) ptrmap_put(&a->places, freed, NULL);
    if (given) ptrmap_put(&a->places, given, rt_heap_alloc(&a->heap, size));
    mem_budget_use(outer);
}

/* ---- what a run comes to --------------------------------------------------------------------- */

static bool *aot_bits(aot *a, const code *c) {
    bool *bits = ptrmap_get(&a->seen, c);
    if (bits) return bits;
    bits = arena_alloc(&a->arena, c->sites.len + 1);
    if (!bits || !ptrmap_put(&a->seen, c, bits) || !vec_push(&a->codes, c)) return NULL;
    return bits;
}

bool aot_saw(const aot *a, const code *c, int site) {
    const bool *bits = ptrmap_get(&a->seen, c);
    return bits && bits[site];
}

static aot_group *aot_group_of(aot *a, const code_group *g) {
    aot_group *x = ptrmap_get(&a->groups, g);
    if (x) return x;
    x = aot_group_new(a, g->nparams, g->nresults);
    return ptrmap_put(&a->groups, g, x) ? x : NULL;
}

static void aot_made(fused_listener *l, const code_group *g, struct nest *n,
                     const struct group_plan *plan) {
    aot *a = (aot *)(void *)((char *)l - offsetof(aot, fused));
    mem_budget *outer = mem_budget_use(NULL);
    aot_group *x = aot_group_of(a, g);
    if (x) aot_group_add(a, x, n, plan);
    mem_budget_use(outer);
}

/* Elements of the result that x computes before it is copied to the argument that it writes, where
 * the library's operator computes in place. */
static size_t aot_copied_bytes(const aot_op *x, int nargs, const value *args) {
    if (x->written < 0 || x->written >= nargs || args[x->written].tag != V_TENSOR) return 0;
    size_t size = sizeof(float); /* of an integer and a number */
    for (int i = 0; i < nargs; i++)
        if (args[i].tag == V_TENSOR && dtype_size((dtype)args[i].u.tensor->dtype) > size)
            size = dtype_size((dtype)args[i].u.tensor->dtype);
    return (size_t)args[x->written].u.tensor->numel * size;
}

/* Notes the operator; what cannot be compiled ends the program's own runs. */
static bool aot_note_op(aot *a, const op *o, int nargs, const value *args) {
    diag own = {0}, *d = a->d;
    a->d = &own;
    const aot_op *x = aot_op_of(a, o, nargs, args, false);
    bool ok = x != NULL;
    a->d = d;
    if (a->copied) rt_heap_free(&a->heap, a->copied);
    size_t copied = ok ? aot_copied_bytes(x, nargs, args) : 0;
    a->copied = copied ? rt_heap_alloc(&a->heap, copied) : NULL;
    if (!ok && !a->forced && d->status == CTSC_OK)
        diag_append(d, &own), d->status = own.status ? own.status : CTSC_UNSUPPORTED;
    diag_clear(&own);
    return ok || a->forced;
}

static void aot_called(op_listener *l, const op *o, int nargs, const value *args) {
    aot *a = (aot *)(void *)((char *)l - offsetof(aot, calls));
    mem_budget *outer = mem_budget_use(NULL);
    a->failed_hard |= !aot_note_op(a, o, nargs, args);
    mem_budget_use(outer);
}

static ctsc_status aot_site(watch *w, frame *f, const instr *i, site_fn fn) {
    aot *a = (aot *)(void *)((char *)w - offsetof(aot, watch));
    const site *s = &f->c->sites.data[i->a];
    mem_budget *outer = mem_budget_use(NULL);
    bool *bits = aot_bits(a, f->c), ok = bits != NULL;
    if (bits) bits[i->a] = true;
    if (ok && i->op == BC_CALL_OP && s->nargs <= 64) {
        value args[64];
        for (int k = 0; k < s->nargs; k++) args[k] = *site_arg(f, s, k);
        ok = aot_note_op(a, s->op, s->nargs, args);
    }
    mem_budget_use(outer);
    if (!ok || a->failed_hard) {
        a->failed_hard = true;
        return diag_fail(f->in->d, CTSC_UNSUPPORTED,
                         "operator %s cannot be compiled ahead of time for libctsc-rt: it has no "
                         "such operator",
                         s->op ? s->op->key : "");
    }
    ctsc_status st = fn(f, s);
    if (i->op == BC_FUSED && st == CTSC_OK) {
        outer = mem_budget_use(NULL);
        aot_group *g = aot_group_of(a, s->group);
        const code *fallback = fused_operators(s->group);
        if (g && ptrmap_get(&a->seen, fallback)) g->fallback = fallback;
        mem_budget_use(outer);
    }
    return st;
}

static const watch_functions aot_watch = {.site = aot_site};

/* ---- runs ------------------------------------------------------------------------------------ */

static void aot_drop_text(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}
static void aot_drop_warning(void *ctx, const char *text) { (void)ctx, (void)text; }

static ctsc_status aot_run(aot *a, const value *args, diag *d, value *result) {
    workspace *w = workspace_take((workspace_pool *)&a->m->workspaces);
    if (!w) return diag_no_memory(d);
    runtime *rt = &w->rt;
    runtime_init(rt);
    rt->ws = w;
    rt->root = a->m->root.u.object;
    rt->opt = 3;
    rt->print = aot_drop_text;
    rt->warn = aot_drop_warning;
    rt->watch = &a->watch;
    if (a->forced) rt->steps_left = AOT_FORCED_STEPS;
    recycler *outer = recycler_use(NULL);
    rt_heap_init(&a->heap, a->heap.base, AOT_HEAP);
    ptrmap_free(&a->places);
    a->places = (ptrmap){0};
    a->copied = NULL;
    a->budget = (mem_budget){.left = INT64_MAX / 2, .seen = aot_seen_block};
    fused_listening = &a->fused;
    op_listening = &a->calls;
    mem_budget *bound = mem_budget_use(&a->budget);
    ctsc_status st = module_call(a->f, rt, (size_t)a->nargs, args, d, result);
    mem_budget_use(bound);
    op_listening = NULL;
    fused_listening = NULL;
    recycler_use(outer);
    workspace_give((workspace_pool *)&a->m->workspaces, w);
    return st;
}

/* ---- dims ------------------------------------------------------------------------------------ */

/* t with other sizes: its elements again and again. */
static ctsc_status aot_resized(diag *d, tensor *t, const int64_t *sizes, tensor **out) {
    tensor *whole;
    TRY(tensor_contiguous(d, t, &whole));
    ctsc_status st = tensor_new(d, (dtype)t->dtype, t->ndim, sizes, out);
    size_t size = dtype_size((dtype)t->dtype);
    for (int64_t i = 0; st == CTSC_OK && t->numel && i < (*out)->numel; i++)
        memcpy((char *)tensor_data(*out) + (size_t)i * size,
               (char *)tensor_data(whole) + (size_t)(i % t->numel) * size, size);
    tensor_unref(whole);
    return st;
}

/* The arguments with these values of the dims; to be released. */
static ctsc_status aot_arguments(aot *a, const int64_t *dims, value *args) {
    for (int i = 0; i < a->nargs; i++) args[i] = value_ref(a->args[i]);
    for (int i = 1; i < a->nargs; i++) {
        int64_t sizes[TENSOR_MAX_DIMS];
        bool other = false;
        if (args[i].tag != V_TENSOR) continue;
        memcpy(sizes, args[i].u.tensor->sizes, (size_t)args[i].u.tensor->ndim * sizeof *sizes);
        for (int k = 0; k < a->o->ndims; k++)
            for (int p = 0; p < a->o->dims[k].nplaces; p++) {
                if (a->o->dims[k].places[p].argument != i - 1) continue;
                int64_t *size = &sizes[a->o->dims[k].places[p].dim];
                other |= *size != dims[k];
                *size = dims[k];
            }
        tensor *t;
        if (!other) continue;
        TRY(aot_resized(a->d, args[i].u.tensor, sizes, &t));
        value_set(&args[i], value_tensor_take(t));
    }
    return CTSC_OK;
}

/* Copies of tensors among the arguments, to see whether the program wrote to them. */
static bool aot_changed(const value *args, const value *before, int n) {
    for (int i = 1; i < n; i++) {
        strbuf why = STRBUF_INIT;
        bool same = value_close(args[i], before[i], 0, 0, &why);
        sb_free(&why);
        if (!same) return true;
    }
    return false;
}

static ctsc_status aot_run_with(aot *a, const int64_t *dims, value *result) {
    value args[64], before[64];
    if (a->nargs > 64) return diag_fail(a->d, CTSC_UNSUPPORTED, "more than 63 arguments");
    for (int i = 0; i < 64; i++) args[i] = before[i] = value_none();
    ctsc_status st = aot_arguments(a, dims, args);
    for (int i = 1; i < a->nargs && st == CTSC_OK; i++) st = value_clone(a->d, args[i], &before[i]);
    /* twice: weights are packed at their second use, and kernels are there from the beginning */
    for (int i = 0; i < 2 && st == CTSC_OK; i++) {
        diag own = {0};
        value_set(result, value_none());
        st = aot_run(a, args, &own, result);
        if (st != CTSC_OK && a->d->status == CTSC_OK) diag_append(a->d, &own), a->d->status = st;
        diag_clear(&own);
        /* the first run's blocks are the compiler's as well */
        if (i && a->heap.peak > a->peak) a->peak = a->heap.peak;
    }
    if (st == CTSC_OK && aot_changed(args, before, a->nargs))
        st = diag_fail(a->d, CTSC_UNSUPPORTED,
                       "the program writes to its arguments, which compiled programs cannot");
    for (int i = 0; i < a->nargs; i++) value_unref(args[i]), value_unref(before[i]);
    return st;
}

/* ---- results, and their sizes as functions of the dims --------------------------------------- */

enum { PORTS_MOST = 256 };

static ctsc_status ports_add(aot *a, const value *v, rt_port *ports, int *n, bool nested) {
    rt_port p = {.tag = v->tag};
    if (*n >= PORTS_MOST) return diag_fail(a->d, CTSC_UNSUPPORTED, "too many arguments or results");
    if (v->tag == V_TENSOR) {
        const tensor *t = v->u.tensor;
        if (t->ndim > RT_SIZES)
            return diag_fail(a->d, CTSC_UNSUPPORTED, "tensors of more than %d dims", RT_SIZES);
        p.dtype = t->dtype, p.ndim = t->ndim;
        for (int i = 0; i < t->ndim; i++) p.sizes[i] = t->sizes[i], p.divisors[i] = 1;
    } else if (v->tag == V_TUPLE || v->tag == V_LIST) {
        size_t len = v->tag == V_TUPLE ? v->u.tuple->len : v->u.list->len;
        p.count = (int)len;
        p.dtype = v->tag == V_LIST ? v->u.list->kind : 0;
        if (nested) ports[(*n)++] = p;
        for (size_t i = 0; i < len; i++) {
            value item = v->tag == V_TUPLE ? value_ref(v->u.tuple->items[i])
                                           : list_get(v->u.list, i);
            ctsc_status st = ports_add(a, &item, ports, n, nested);
            value_unref(item);
            TRY(st);
        }
        return CTSC_OK;
    } else if (v->tag == V_DICT && !nested) {
        for (size_t i = 0; i < v->u.dict->used; i++)
            if (v->u.dict->entries[i].key.tag != V_UNINIT)
                TRY(ports_add(a, &v->u.dict->entries[i].val, ports, n, nested));
        return CTSC_OK;
    } else if (v->tag == V_NONE) {
        if (nested) ports[(*n)++] = p;
        return CTSC_OK;
    } else if (v->tag != V_INT && v->tag != V_FLOAT && v->tag != V_BOOL) {
        return diag_fail(a->d, CTSC_UNSUPPORTED,
                         "what is not a tensor, number, list or tuple cannot be an argument or a "
                         "result of a program that is compiled ahead of time");
    }
    ports[(*n)++] = p;
    return CTSC_OK;
}

static int64_t port_size(const aot *a, const rt_port *p, int k, const int64_t *dims) {
    int64_t n = p->sizes[k];
    for (int i = 0; i < a->o->ndims; i++) n += p->factors[k][i] * dims[i];
    return p->divisors[k] > 1 ? n / p->divisors[k] : n;
}

/* Are the sizes of a result those that its ports say? */
static ctsc_status ports_hold(aot *a, const value *result, const int64_t *dims) {
    rt_port *now = arena_array(&a->arena, rt_port, PORTS_MOST);
    int n = 0;
    TRY(ports_add(a, result, now, &n, false));
    bool same = n == a->noutputs;
    for (int i = 0; i < n && same; i++) {
        same = now[i].tag == a->outputs[i].tag && now[i].dtype == a->outputs[i].dtype &&
               now[i].ndim == a->outputs[i].ndim;
        for (int k = 0; k < now[i].ndim && same; k++)
            same = now[i].sizes[k] == port_size(a, &a->outputs[i], k, dims);
    }
    return same ? CTSC_OK
                : diag_fail(a->d, CTSC_UNSUPPORTED,
                            "the sizes of a result are no linear function of the named dims: they "
                            "depend on data, or in another way on sizes");
}

/* Sizes of an argument that are named dims. */
static void ports_name(const aot *a, rt_port *p, int argument) {
    for (int k = 0; k < a->o->ndims; k++)
        for (int i = 0; i < a->o->dims[k].nplaces; i++) {
            int dim = a->o->dims[k].places[i].dim;
            if (a->o->dims[k].places[i].argument != argument) continue;
            p->sizes[dim] = 0;
            p->factors[dim][k] = 1;
        }
}

/* How sizes of results change with dim k, from a run with it at `at` and all others at most. */
static ctsc_status ports_slope(aot *a, const value *result, int k, int64_t at) {
    rt_port *now = arena_array(&a->arena, rt_port, PORTS_MOST);
    int n = 0;
    int64_t step = a->o->dims[k].most - at;
    TRY(ports_add(a, result, now, &n, false));
    for (int i = 0; i < n && i < a->noutputs; i++)
        for (int j = 0; j < now[i].ndim && j < a->outputs[i].ndim; j++) {
            int64_t most = a->outputs[i].sizes[j], change = most - now[i].sizes[j];
            if (step && change % step == 0) a->outputs[i].factors[j][k] = change / step;
        }
    return CTSC_OK;
}

/* The constant part, once all slopes are known. */
static void ports_settle(aot *a, const int64_t *most) {
    for (int i = 0; i < a->noutputs; i++)
        for (int j = 0; j < a->outputs[i].ndim; j++)
            for (int k = 0; k < a->o->ndims; k++)
                a->outputs[i].sizes[j] -= a->outputs[i].factors[j][k] * most[k];
}

static ctsc_status aot_run_dims(aot *a) {
    int64_t most[AOT_DIMS] = {0}, dims[AOT_DIMS];
    int n = a->o->ndims;
    value result = value_none();
    for (int i = 0; i < n; i++) most[i] = a->o->dims[i].most;
    ctsc_status st = aot_run_with(a, most, &result);
    if (st == CTSC_OK) st = ports_add(a, &result, a->outputs, &a->noutputs, false);
    for (int k = 0; k < n && st == CTSC_OK; k++) {
        int64_t least = a->o->dims[k].least;
        if (least == most[k]) continue;
        memcpy(dims, most, sizeof dims);
        dims[k] = least;
        st = aot_run_with(a, dims, &result);
        if (st == CTSC_OK) st = ports_slope(a, &result, k, least);
    }
    if (st == CTSC_OK) ports_settle(a, most);
    /* in between, all at least, and whether what was found holds */
    for (int k = 0; k <= 2 * n && n && st == CTSC_OK; k++) {
        memcpy(dims, most, sizeof dims);
        for (int i = 0; i < n; i++) {
            const aot_dim *x = &a->o->dims[i];
            if (k == 2 * n) dims[i] = x->least;
            else if (i == k / 2) dims[i] = x->least + (x->most - x->least) / (k % 2 ? 2 : 3);
        }
        st = aot_run_with(a, dims, &result);
        if (st == CTSC_OK) st = ports_hold(a, &result, dims);
    }
    value_unref(result);
    return st;
}

/* ---- branches -------------------------------------------------------------------------------- */

/* The place of the instruction of a site. */
static int aot_instr_of(const code *c, int site) {
    for (size_t i = 0; i < c->instrs.len; i++) {
        uint16_t op = c->instrs.data[i].op;
        if (op >= BC_CALL_OP && c->instrs.data[i].a == site) return (int)i;
    }
    return -1;
}

bool aot_is_doomed(const code *c, size_t at) {
    for (; at < c->instrs.len; at++) {
        uint16_t op = c->instrs.data[at].op;
        if (op == BC_RAISE) return true;
        if (op == BC_CALL_OP && !strcmp(c->sites.data[c->instrs.data[at].a].op->key, "ctsc::fail"))
            return true;
        if (op == BC_JUMP || op == BC_JUMP_FALSE || op == BC_RETURN || op == BC_LOOP_NEXT ||
            op == BC_LOOP_TEST)
            return false;
    }
    return false;
}

/* Replaces the jumps that keep runs from instruction `at`. */
static void aot_force(code *c, int at) {
    for (int i = 0; i < at; i++) {
        instr *x = &c->instrs.data[i];
        int to = x->a;
        if ((x->op != BC_JUMP_FALSE && x->op != BC_LOOP_TEST) || to <= i) continue;
        if (at < to) *x = (instr){.op = BC_JUMP, .a = i + 1};
        else if (x->op == BC_JUMP_FALSE && to > 0 && c->instrs.data[to - 1].op == BC_JUMP &&
                 c->instrs.data[to - 1].a > at && to - 1 > i)
            *x = (instr){.op = BC_JUMP, .a = to};
    }
}

static bool aot_needs_arguments(aot *a, const code *c, const instr *x) {
    const site *s = &c->sites.data[x->a];
    if (x->op == BC_FUSED) return true;
    return x->op == BC_CALL_OP && !aot_op_of(a, s->op, s->nargs, NULL, true);
}

static ctsc_status aot_run_branches(aot *a) {
    int64_t most[AOT_DIMS] = {0};
    int runs = 0;
    for (int i = 0; i < a->o->ndims; i++) most[i] = a->o->dims[i].most;
    a->forced = true;
    for (size_t k = 0; k < a->codes.len; k++) {
        code *c = (code *)a->codes.data[k];
        for (int s = 0; s < (int)c->sites.len && runs < AOT_FORCED_RUNS; s++) {
            int at = aot_instr_of(c, s);
            if (at < 0 || aot_saw(a, c, s) || aot_is_doomed(c, (size_t)at) ||
                !aot_needs_arguments(a, c, &c->instrs.data[at]))
                continue;
            size_t bytes = c->instrs.len * sizeof *c->instrs.data;
            instr *kept = arena_alloc(&a->arena, bytes);
            if (!kept) return diag_no_memory(a->d);
            memcpy(kept, c->instrs.data, bytes);
            aot_force(c, at);
            value result = value_none();
            diag lost = {0}, *outer = a->d;
            a->d = &lost;
            (void)aot_run_with(a, most, &result);
            a->d = outer;
            a->failed_hard = false;
            value_unref(result);
            diag_clear(&lost);
            memcpy(c->instrs.data, kept, bytes);
            runs++;
        }
    }
    a->forced = false;
    return CTSC_OK;
}

/* From now on, or no longer, operators see the micro-kernels of the architecture that is compiled
 * for. */
static void aot_pretend(aot *a, bool there) {
    if (!aot_pretends(a)) return;
    for (const ukernel *u = ukernel_elsewhere; u->record; u++)
        ukernel_pretend(u->family, u->type, there ? u->record : NULL);
    if (there) a->allowed = isa_has(ISA_PLAIN) ? isa_allowed_bits : 0;
    isa_allowed_bits = there ? 1u << ISA_PLAIN | 1u << a->o->isa : a->allowed;
}

ctsc_status aot_explore(aot *a) {
    void *reserved = mmap(NULL, AOT_HEAP, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return diag_no_memory(a->d);
    int threads = pool_threads();
    pool_set_threads(1);
    aot_pretend(a, true);
    a->heap.base = reserved;
    a->watch.fn = &aot_watch;
    a->fused.made = aot_made;
    a->calls.called = aot_called;
    a->inputs = arena_array(&a->arena, rt_port, PORTS_MOST);
    a->outputs = arena_array(&a->arena, rt_port, PORTS_MOST);
    ctsc_status st = CTSC_OK;
    a->inputs[a->ninputs++] = (rt_port){.tag = V_NONE}; /* self */
    for (int i = 1; i < a->nargs && st == CTSC_OK; i++) {
        rt_port *first = &a->inputs[a->ninputs];
        st = ports_add(a, &a->args[i], a->inputs, &a->ninputs, true);
        if (a->args[i].tag == V_TENSOR) ports_name(a, first, i - 1);
    }
    if (st == CTSC_OK) st = aot_run_dims(a);
    if (st == CTSC_OK) st = aot_run_branches(a);
    aot_pretend(a, false);
    pool_set_threads(threads);
    a->peak += a->peak / 16 + AOT_MARGIN;
    ptrmap_free(&a->places);
    (void)munmap(reserved, AOT_HEAP);
    return st;
}
