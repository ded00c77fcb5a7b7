/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_program.c - calls that take gradients, as optimised programs (grad_program.h).
 * Tests: tests/corpus/grad at every level, tests/autograd
 */
#include "runtime/autograd/grad_program.h"

#include "base/log.h"
#include "base/memory/unbacked.h"
#include "passes/passes.h"
#include "runtime/autograd/grad_checkpoint.h"
#include "runtime/autograd/grad_pair.h"
#include "runtime/code/bytecode.h"
#include "runtime/context/signature.h"
#include "runtime/exec/executor.h"
#include "tensor/device.h"

#include <string.h>

enum program_state { PROGRAM_NEW, PROGRAM_SEEN, PROGRAM_BUSY, PROGRAM_READY, PROGRAM_REFUSED };

typedef struct program {
    size_t nwords;
    uint64_t *words; /* the signature */
    uint64_t module; /* the state of the module */
    _Atomic(int) state;
    code *code;              /* NULL: it is a pair */
    grad_pair *pair;         /* NULL: its results have no history */
    bool writes;             /* what was there before, or the state of random numbers */
    VEC(tensor *) externals; /* held: the code's last parameters */
} program;

typedef struct programs {
    code_extra extra;
    pthread_mutex_t lock;
    bool refused; /* what the function does cannot be captured */
    int n;
    program all[PROGRAM_MAX];
} programs;

/* ---- life ------------------------------------------------------------------------------------ */

static void program_clear(program *p) {
    mem_free(p->words);
    if (p->code) code_free(p->code);
    pair_unref(p->pair);
    for (size_t i = 0; i < p->externals.len; i++) tensor_unref(p->externals.data[i]);
    vec_free(&p->externals);
}

static void programs_free(code_extra *x) {
    programs *p = (programs *)x;
    for (int i = 0; i < p->n; i++) program_clear(&p->all[i]);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* Objects that the function makes itself are gone when it ends. */
static bool program_makes(const ir_value *v) { return v->def && v->def->kind == N_CREATE_OBJECT; }

/* torch.no_grad and the like: all they do is switch the mode, which the capture has seen. */
static bool program_is_mode(const ir_value *v) {
    static const char modes[] = "__torch__.torch.autograd.grad_mode.";
    return v->type->kind == T_CLASS && !strncmp(class_name(v->type), modes, sizeof modes - 1);
}

/* What a graph of operators does not show. Calls that were not inlined, too: what they
 * do is not known. */
static bool program_block_is_pure(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        switch (n->kind) {
        case N_PRINT:
        case N_TOLIST:
        case N_FORK:
        case N_CALL_FUNCTION:
        case N_CALL_METHOD: return false;
        case N_SET_ATTR:
            if (!program_makes(n->inputs.data[0])) return false;
            break;
        case N_ENTER:
        case N_EXIT:
            if (!program_is_mode(n->inputs.data[0])) return false;
            break;
        default: break;
        }
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!program_block_is_pure(n->blocks.data[i])) return false;
    }
    return true;
}

static programs *programs_of(code *c) {
    code_extra *p = __atomic_load_n(&c->programs, __ATOMIC_ACQUIRE);
    if (p) return (programs *)p;
    programs *made = mem_zalloc(sizeof *made);
    if (!made) return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->extra.free = programs_free;
    made->refused = !c->graph || !program_block_is_pure(c->graph->root);
    if (__atomic_compare_exchange_n(&c->programs, &p, &made->extra, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    programs_free(&made->extra);
    return (programs *)p;
}

/* ---- the module's state ---------------------------------------------------------------------- */

static uint64_t program_mix(uint64_t h, uint64_t x) {
    h ^= x + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    return h * UINT64_C(0xff51afd7ed558ccd);
}

/* Of attributes: which objects and tensors they are, and the numbers; false: something that could
 * change without being seen. */
static bool program_hash_value(uint64_t *h, value v, int depth) {
    *h = program_mix(*h, v.tag);
    if (depth > 64) return false;
    switch ((value_tag)v.tag) {
    case V_OBJECT:
        *h = program_mix(*h, (uintptr_t)v.u.object);
        for (size_t i = 0; i < v.u.object->nslots; i++)
            if (!program_hash_value(h, v.u.object->slots[i], depth + 1)) return false;
        return true;
    case V_TENSOR: {
        const tensor *t = v.u.tensor;
        *h = program_mix(*h, (uintptr_t)t ^ (uint64_t)t->requires_grad);
        for (int i = 0; i < t->ndim; i++) *h = program_mix(*h, (uint64_t)t->sizes[i]);
        return true;
    }
    case V_TUPLE:
        for (size_t i = 0; i < v.u.tuple->len; i++)
            if (!program_hash_value(h, v.u.tuple->items[i], depth + 1)) return false;
        return true;
    case V_LIST:
        *h = program_mix(*h, v.u.list->len);
        for (size_t i = 0; i < v.u.list->len; i++) {
            value item = list_get(v.u.list, i);
            bool ok = program_hash_value(h, item, depth + 1);
            value_unref(item);
            if (!ok) return false;
        }
        return true;
    case V_DICT: return v.u.dict->len == 0;
    /* numbers; texts and the like by their address */
    default: *h = program_mix(*h, (uint64_t)v.u.i); return true;
    }
}

bool program_state(int n, const value *args, uint64_t *out) {
    *out = 0;
    return n == 0 || args[0].tag != V_OBJECT || program_hash_value(out, args[0], 0);
}

/* A flag says whether an argument requires a gradient,
 * but not for a view whose base has been written. */
static bool program_sees_history(const signature *s) {
    for (int i = 0; i < s->ntensors; i++)
        if (!s->tensors[i]->requires_grad && autograd_requires_grad(s->tensors[i])) return false;
    return true;
}

/* ---- making one ------------------------------------------------------------------------------ */

/* Where new tensors are made is known: the call has made them. */
ctsc_status program_compile(const char *name, graph *g, int device, diag *d, code **out) {
    pass_ctx cx = {.diag = d, .device = DEVICE_HOST, .unpacked = true};
    ctsc_status s = pipeline_prepare(&cx, g);
    cx.device = device;
    if (s == CTSC_OK) s = pipeline_level(&cx, g, 2);
    if (s == CTSC_OK) s = code_new(d, name, g, out);
    if (s == CTSC_OK) (*out)->graph = g;
    else graph_free(g);
    return s;
}

static ctsc_status program_run(const program *p, runtime *rt, function *f, const signature *s,
                               int nargs, const value *given, diag *d, value *out) {
    enum { FEW = 64 };
    size_t n = (size_t)s->ntensors + p->externals.len;
    value few[FEW], *args = n <= FEW ? few : mem_alloc(n * sizeof *args);
    if (!args) return diag_no_memory(d);
    for (int i = 0; i < s->ntensors; i++)
        args[i] = (value){.tag = V_TENSOR, .u.tensor = s->tensors[i]};
    for (size_t i = 0; i < p->externals.len; i++)
        args[(size_t)s->ntensors + i] = (value){.tag = V_TENSOR, .u.tensor = p->externals.data[i]};
    ctsc_status st;
    if (p->pair) {
        st = pair_run(p->pair, rt, f, nargs, given, args, d, out);
    } else {
        bool taped = rt->taped, enabled = rt->grad_enabled;
        rt->taped = rt->grad_enabled = false;
        st = interp_call_code(rt, p->code, (int)n, args, d, out);
        rt->taped = taped;
        rt->grad_enabled = enabled;
    }
    if (args != few) mem_free(args);
    return st;
}

/* What the captured graph becomes; taken. Taped code goes on doing it where it becomes nothing. */
static bool program_make(program *p, const char *name, const signature *s, pair_plan *plan,
                         const capture *c, graph *g) {
    diag lost = {0};
    if (checkpoints_current && plan->wanted && !checkpoint_graph(checkpoints_current, plan, g)) {
        graph_free(g);
        return false;
    }
    int device = s->device;
    for (size_t i = 0; i < c->externals.len && device == DEVICE_HOST; i++)
        device = tensor_device(c->externals.data[i]);
    if (plan->wanted) p->pair = pair_new(plan, c, g, name, device, &lost);
    else program_compile(name, g, device, &lost, &p->code);
    diag_clear(&lost);
    return p->pair || p->code;
}

/* The calls of now are made to be captured only. */
static bool program_dry(void) { return checkpoints_current && checkpoints_current->dry; }

/* Runs the call as taped code and records it. */
static ctsc_status program_record(program *p, runtime *rt, function *f, const signature *s, int n,
                                  value *args, diag *d, value *out) {
    capture c, *outer = capture_current;
    pair_plan plan = {0};
    bool begun = capture_begin(&c, s->ntensors, s->tensors);
    bool planned = begun && rt->grad_requested && pair_begin(&plan, s->ntensors, s->tensors);
    bool dry = begun && program_dry();
    size_t limit = d->max_tensor;
    geometry_scope scope;
    capture_current = begun ? &c : NULL;
    if (dry) d->max_tensor = 0, geometry_begin(&scope);
    ctsc_status st = interp_call_take(rt, f, n, args, d, out);
    capture_current = outer;
    if (dry) geometry_end(&scope);
    if (!begun) return st;
    if (st == CTSC_OK)
        capture_return(&c, *out, f->schema->nreturns == 1 ? f->schema->returns[0].type : NULL);
    else capture_fail(&c, "the call failed");
    if (rt->grad_requested && !planned) capture_fail(&c, "out of memory");
    op_ctx cx = {.diag = d, .rt = rt, .op = op_of(SYM_GRAD)};
    if (dry) geometry_begin(&scope);
    if (planned) pair_extend(&plan, &c, &cx, *out);
    if (dry) geometry_end(&scope), d->max_tensor = limit;
    if (c.why && checkpoints_current)
        snprintf(checkpoints_current->why, sizeof checkpoints_current->why, "%s", c.why);
    if (c.why)
        log_event(CTSC_LOG_INFO, "calls of %s that take gradients run as taped code: %s", f->name,
                  c.why);
    graph *g = capture_end(&c);
    bool made = g && program_make(p, f->name, s, &plan, &c, g);
    pair_end(&plan);
    if (made) {
        p->externals.data = c.externals.data;
        p->externals.len = c.externals.len;
        p->externals.cap = c.externals.cap;
        p->writes = c.writes;
    } else if (g) {
        for (size_t i = 0; i < c.externals.len; i++) tensor_unref(c.externals.data[i]);
        vec_free(&c.externals);
    }
    atomic_store(&p->state, made ? PROGRAM_READY : PROGRAM_REFUSED);
    return st;
}

/* At level 3 no call depends on an earlier one: the program answers the call that it was made of,
 * unless the call has changed something. */
static ctsc_status program_record_and_run(program *p, runtime *rt, function *f, const signature *s,
                                          int n, value *args, diag *d, value *out) {
    bool again = rt->opt >= 3 && !program_dry();
    value kept[SIGNATURE_TENSORS],
        *given = again ? mem_alloc(((size_t)n + 1) * sizeof *given) : NULL;
    int nkept = again ? s->ntensors : 0;
    if (again && !given) {
        for (int i = 0; i < n; i++) value_unref(args[i]);
        atomic_store(&p->state, PROGRAM_SEEN);
        return diag_no_memory(d);
    }
    for (int i = 0; i < nkept; i++) kept[i] = value_tensor_take(tensor_ref(s->tensors[i]));
    for (int i = 0; i < n && again; i++) given[i] = value_ref(args[i]);
    ctsc_status st = program_record(p, rt, f, s, n, args, d, out);
    if (st == CTSC_OK && again && atomic_load(&p->state) == PROGRAM_READY && !p->writes) {
        value_set(out, value_none());
        st = program_run(p, rt, f, s, n, given, d, out);
    }
    for (int i = 0; i < n && again; i++) value_unref(given[i]);
    for (int i = 0; i < nkept; i++) value_unref(kept[i]);
    mem_free(given);
    return st;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The program of the signature; a new one if there is room. NULL: there is not. */
static program *program_find(programs *all, const signature *s, uint64_t module) {
    pthread_mutex_lock(&all->lock);
    program *p = NULL;
    for (int i = 0; i < all->n && !p; i++)
        if (all->all[i].module == module &&
            signature_equal(s, all->all[i].nwords, all->all[i].words))
            p = &all->all[i];
    if (!p && all->n < PROGRAM_MAX) {
        uint64_t *words = mem_alloc(s->nwords * sizeof *words + 1);
        if (words) {
            p = &all->all[all->n++];
            memcpy(words, s->words, s->nwords * sizeof *words);
            *p = (program){.nwords = s->nwords, .words = words, .module = module};
            atomic_init(&p->state, PROGRAM_NEW);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return p;
}

static uint64_t program_mode(const runtime *rt, uint64_t module) {
    if (checkpoints_current)
        module = program_mix(program_mix(module, (uint64_t)checkpoints_current->segments),
                             checkpoints_current->max_bytes);
    return program_mix(module, (uint64_t)rt->grad_requested << 1 | rt->grad_enabled);
}

bool program_seen(const runtime *rt, const function *f, int n, const value *args,
                  program_view *out) {
    signature s;
    uint64_t module = 0;
    int level = FUNCTION_TAPED + runtime_level(rt->opt);
    const code *c = __atomic_load_n(&f->code[level], __ATOMIC_ACQUIRE);
    programs *all = c ? (programs *)__atomic_load_n(&c->programs, __ATOMIC_ACQUIRE) : NULL;
    if (!all || all->refused || !signature_of_any(&s, n, args) || !program_state(n, args, &module))
        return false;
    const program *p = program_find(all, &s, program_mode(rt, module));
    if (!p || atomic_load_explicit(&p->state, memory_order_acquire) != PROGRAM_READY) return false;
    *out = (program_view){
        .ntensors = s.ntensors, .nexternals = p->externals.len, .externals = p->externals.data};
    memcpy(out->tensors, s.tensors, (size_t)s.ntensors * sizeof *s.tensors);
    if (p->pair) pair_graphs(p->pair, &out->forward, &out->backward);
    else out->forward = p->code->graph;
    return true;
}

static bool program_may(const runtime *rt) {
    return runtime_level(rt->opt) == 2 && rt->steps_left == UINT64_MAX && !capture_current;
}

ctsc_status program_call(runtime *rt, function *f, int n, value *args, diag *d, value *out) {
    signature s;
    uint64_t module = 0;
    int level = FUNCTION_TAPED + runtime_level(rt->opt);
    diag lost = {0};
    code *c = NULL;
    if (program_may(rt) && (rt->opt < 3 || code_ensure(f, level, NULL, &lost) == CTSC_OK))
        c = __atomic_load_n(&f->code[level], __ATOMIC_ACQUIRE);
    diag_clear(&lost); /* the call itself will meet it */
    programs *all = c ? programs_of(c) : NULL;
    bool fits = all && !all->refused && signature_of_any(&s, n, args) &&
                program_state(n, args, &module) && program_sees_history(&s);
    program *p = fits ? program_find(all, &s, program_mode(rt, module)) : NULL;
    int state = p ? atomic_load_explicit(&p->state, memory_order_acquire) : PROGRAM_REFUSED;
    if (state == PROGRAM_READY) {
        ctsc_status st = program_run(p, rt, f, &s, n, args, d, out);
        for (int i = 0; i < n; i++) value_unref(args[i]);
        return st;
    }
    if (state == PROGRAM_NEW && rt->opt < 3) { /* the first of its kind */
        atomic_store(&p->state, PROGRAM_SEEN);
        return interp_call_take(rt, f, n, args, d, out);
    }
    int seen = state;
    if (state <= PROGRAM_SEEN && atomic_compare_exchange_strong(&p->state, &seen, PROGRAM_BUSY))
        return program_record_and_run(p, rt, f, &s, n, args, d, out);
    return interp_call_take(rt, f, n, args, d, out);
}
