/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit_pack.c - vector loops: their iterations go to the threads of a cooperative group, and
 * memory that a loop walks through element by element is accessed 16 bytes at a time.
 *
 *     vector for (j = 0; j < m; j += 1)      ->      if (all addresses are aligned)
 *         out[j] = x[j] + 1                              for (j = 4 * lane; j + 4 <= m; j += 4 * lanes) {
 *                                                            w0 = four of x;  for k: w1[k] = w0[k] + 1;  four of out = w1 }
 *                                                    for (what is left)  out[j] = x[j] + 1
 *
 * Iterations are combined so that the smallest element accessed fills 16 bytes, or
 * the largest one 32. The alignment of addresses is tested when the loop begins.
 * Tests: tests/unit/test_cuda_emit.c, tests/ir/cuda-*.test
 */
#include "codegen/cuda/cuda_emit_internal.h"

#include <string.h>

enum { PACK_BYTES = 16, PACK_MAX_BYTES = 32, PACK_MAX_LOADS = 64, STEP_UNKNOWN = -1 };

/* ---- what walks through memory --------------------------------------------------------------- */

/* By how much x, an index, grows with the loop's variable: 0 or 1, else STEP_UNKNOWN. */
static int pack_step(gpu_state *e, nest_expr *x, const nest_stmt *loop) {
    if (x->op == NEST_VAR)
        return x->u.var == loop->var                                         ? 1
               : gpu_declares(&loop->body, x->u.var) || x->u.var->is_mutable ? STEP_UNKNOWN
                                                                             : 0;
    if (!x->nargs) return 0;
    if (x->mark == e->mark) return (int)x->slot - 1;
    int steps[NEST_MAX_ARGS], step = x->op == NEST_LOAD ? STEP_UNKNOWN : 0;
    for (int i = 0; i < x->nargs; i++) {
        steps[i] = pack_step(e, x->args[i], loop);
        if (steps[i] != 0) step = STEP_UNKNOWN;
    }
    if (x->op == NEST_ADD && steps[0] >= 0 && steps[1] >= 0 && steps[0] + steps[1] <= 1)
        step = steps[0] + steps[1];
    if (x->op == NEST_SUB && steps[1] == 0) step = steps[0];
    x->mark = e->mark;
    x->slot = (uint32_t)(step + 1);
    return step;
}

static bool pack_same(const nest_expr *x, const nest_expr *y) {
    if (x == y) return true;
    if (x->op != y->op || x->type != y->type || x->nargs != y->nargs) return false;
    if (x->op == NEST_CONST) return x->type == NEST_I64 && x->u.i == y->u.i;
    if (x->op == NEST_INPUT) return x->u.input == y->u.input;
    if (x->op == NEST_VAR) return x->u.var == y->u.var;
    if (x->op == NEST_LOAD || x->op == NEST_CALL) return false;
    for (int i = 0; i < x->nargs; i++)
        if (!pack_same(x->args[i], y->args[i])) return false;
    return true;
}

int gpu_pack_of(const gpu_state *e, const nest_buffer *b, const nest_expr *index, bool is_store) {
    for (int i = 0; i < e->lanes->npacks; i++) {
        const gpu_pack *p = &e->lanes->packs[i];
        if (p->buffer == b && p->is_store == is_store && pack_same(p->index, index)) return i;
    }
    return -1;
}

/* ---- a loop's accesses ----------------------------------------------------------------------- */

typedef struct pack_accesses {
    gpu_pack all[PACK_MAX_LOADS];
    int n;
    bool too_many;
} pack_accesses;

static void pack_add(pack_accesses *a, nest_buffer *b, nest_expr *index, bool is_store) {
    if (a->n == PACK_MAX_LOADS) a->too_many = true;
    else a->all[a->n++] = (gpu_pack){b, index, is_store};
}

static void pack_find_loads(gpu_state *e, nest_expr *x, pack_accesses *a) {
    if (x->mark == e->mark) return;
    x->mark = e->mark;
    if (x->op == NEST_LOAD) {
        for (int i = 0; i < a->n; i++) /* what the body has stored is to be read after that */
            if (a->all[i].is_store && a->all[i].buffer == x->u.buffer) a->too_many = true;
        pack_add(a, x->u.buffer, x->args[0], false);
    }
    for (int i = 0; i < x->nargs; i++) pack_find_loads(e, x->args[i], a);
}

/* False: the body is more than statements one after the other. */
static bool pack_find_accesses(gpu_state *e, const nest_stmt *loop, pack_accesses *a) {
    for (const nest_stmt *t = loop->body.first; t; t = t->next) {
        if (t->kind != NEST_DECLARE && t->kind != NEST_SET && t->kind != NEST_ACCUMULATE &&
            t->kind != NEST_STORE)
            return false;
        e->mark = nest_fresh_mark(e->n);
        pack_find_loads(e, t->value, a);
        if (t->kind != NEST_STORE) continue;
        pack_find_loads(e, t->index, a);
        pack_add(a, t->buffer, t->index, true);
    }
    return !a->too_many;
}

int cuda_pack_width(size_t least, size_t most) {
    size_t of_least = PACK_BYTES / least, of_most = PACK_MAX_BYTES / most;
    return (int)(of_least < of_most ? of_least : of_most);
}

static bool pack_is_short(const nest_stmt *loop, int width) {
    return loop->begin->op == NEST_CONST && loop->end->op == NEST_CONST &&
           loop->end->u.i - loop->begin->u.i < width;
}

static void pack_find(gpu_state *e, nest_stmt *loop, gpu_lanes *out) {
    pack_accesses a = {.n = 0};
    size_t least = PACK_BYTES, most = 1;
    bool any = false;
    *out = (gpu_lanes){.loop = loop, .width = 1};
    if (loop->step != 1 || !pack_find_accesses(e, loop, &a)) return;
    e->lanes = out;
    e->mark = nest_fresh_mark(e->n);
    for (int i = 0; i < a.n && out->npacks < GPU_MAX_PACKS; i++) {
        const gpu_pack *p = &a.all[i];
        size_t size = dtype_size(p->buffer->dt);
        if (gpu_pack_of(e, p->buffer, p->index, p->is_store) >= 0 ||
            pack_step(e, p->index, loop) != 1)
            continue;
        out->packs[out->npacks++] = *p;
        any |= !p->buffer->local;
        if (size < least) least = size;
        if (size > most) most = size;
    }
    e->lanes = NULL;
    int width = cuda_pack_width(least, most);
    out->width = any && !pack_is_short(loop, width) ? width : 1;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void pack_begin_line(gpu_state *e) {
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    e->at_barrier = false;
}

/* Where the loop begins, are the addresses of all packs aligned? */
static void pack_print_check(gpu_state *e, const gpu_lanes *l, const char *name) {
    char begin[128];
    snprintf(begin, sizeof begin, "%s_begin", name);
    e->replaced = l->loop->var;
    e->replacement = begin;
    nest_expr *indices[GPU_MAX_PACKS];
    for (int i = 0; i < l->npacks; i++) indices[i] = l->packs[i].index;
    gpu_prepare(e, indices, l->npacks, NULL, 0);
    pack_begin_line(e);
    sb_printf(e->out, "const bool %s_fits = ", name);
    for (int i = 0; i < l->npacks; i++) {
        bool again = false; /* read and written */
        for (int k = 0; k < i; k++)
            again |= l->packs[k].buffer == l->packs[i].buffer &&
                     pack_same(l->packs[k].index, l->packs[i].index);
        if (again) continue;
        sb_printf(e->out, "%snest_fits_pack<%d>(", i ? " && " : "", l->width);
        gpu_element(e, l->packs[i].buffer, l->packs[i].index);
        sb_putc(e->out, ')');
    }
    sb_puts(e->out, ";\n");
    e->replaced = NULL;
}

static void pack_print_reads(gpu_state *e, const gpu_lanes *l) {
    nest_expr *indices[GPU_MAX_PACKS];
    for (int i = 0; i < l->npacks; i++) indices[i] = l->packs[i].index;
    gpu_prepare(e, indices, l->npacks, NULL, 0);
    for (int i = 0; i < l->npacks; i++) {
        const gpu_pack *p = &l->packs[i];
        bool fetched = !p->buffer->local && p->buffer->is_restrict && !p->buffer->written;
        pack_begin_line(e);
        sb_printf(e->out, "%snest_pack<%s, %d> w%d", p->is_store ? "" : "const ",
                  gpu_memory_type(p->buffer->dt), l->width, i);
        if (!p->is_store) {
            sb_printf(e->out, " = nest_%s_pack<%d>(", fetched ? "fetch" : "read", l->width);
            gpu_element(e, p->buffer, p->index);
            sb_putc(e->out, ')');
        }
        sb_puts(e->out, ";\n");
    }
}

static void pack_print_writes(gpu_state *e, const gpu_lanes *l) {
    for (int i = 0; i < l->npacks; i++) {
        if (!l->packs[i].is_store) continue;
        gpu_prepare(e, &(nest_expr *){l->packs[i].index}, 1, NULL, 0);
        pack_begin_line(e);
        sb_puts(e->out, "nest_write_pack(");
        gpu_element(e, l->packs[i].buffer, l->packs[i].index);
        sb_printf(e->out, ", w%d);\n", i);
    }
}

/* Rounds `width` at a time, if addresses are aligned; name_rest: where the others begin. */
static void pack_print_packs(gpu_state *e, const gpu_lanes *l, const char *name, int threads) {
    char first[32] = "", index[128];
    pack_print_check(e, l, name);
    gpu_line(e, "nest_index %s_rest = %s_begin;", name, name);
    gpu_open(e, "if (%s_fits)", name);
    if (threads > 1) {
        gpu_line(e, "#pragma unroll 2");
        snprintf(first, sizeof first, " + lane * %d", l->width);
    }
    gpu_open(e, "for (nest_index %s = %s_begin%s; %s + %d <= %s_end; %s += %d)", name, name, first,
             name, l->width, name, name, threads * l->width);
    pack_print_reads(e, l);
    gpu_line(e, "#pragma unroll");
    gpu_open(e, "for (int k = 0; k < %d; k++)", l->width);
    snprintf(index, sizeof index, "(%s + k)", name);
    e->lanes = l;
    e->replaced = l->loop->var;
    e->replacement = index;
    gpu_block(e, &l->loop->body);
    e->lanes = NULL;
    e->replaced = NULL;
    gpu_close(e);
    pack_print_writes(e, l);
    gpu_close(e);
    gpu_line(e, "%s_rest += (%s_end - %s_begin) / %d * %d;", name, name, name, l->width, l->width);
    gpu_close(e);
}

static void pack_print_bounds(gpu_state *e, const nest_stmt *loop, const char *name) {
    nest_expr *bounds[2] = {loop->begin, loop->end};
    gpu_prepare(e, bounds, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        pack_begin_line(e);
        sb_printf(e->out, "const nest_index %s_%s = ", name, i ? "end" : "begin");
        gpu_index(e, bounds[i], true);
        sb_puts(e->out, ";\n");
    }
}

/* Each thread's share of what the loop accumulates begins with nothing; after it the
 * shares are joined. */
static void pack_print_shares(gpu_state *e, const nest_stmt **shares, int n, bool begin) {
    static const char *const operations[] = {"nest_sum", "nest_prod", "nest_least", "nest_most"};
    for (int i = 0; i < n; i++) {
        const nest_var *v = shares[i]->var;
        const char *op = operations[shares[i]->acc];
        e->vars[v->index].partial = begin;
        if (begin)
            gpu_line(e, "%s %s_%d_part = %s;", gpu_type(v->type), v->name, v->index,
                     gpu_identity(shares[i]->acc, v->type));
        else
            gpu_line(e, "%s_%d = %s::join(%s_%d, nest_join<%d, %s>(%s_%d_part, nest_shared));",
                     v->name, v->index, op, v->name, v->index, e->n->coop, op, v->name, v->index);
    }
    if (n && !begin && e->n->coop > 32) e->at_barrier = true; /* joining ends with one */
}

void gpu_print_lanes(gpu_state *e, nest_stmt *loop) {
    char name[96], first[40] = "";
    gpu_lanes l;
    const nest_stmt *shares[GPU_MAX_PARTIALS];
    bool shared = e->n->coop && !e->inside, barrier = shared && gpu_stores_hazard(e, &loop->body);
    int threads = shared ? e->n->coop : 1,
        n = shared ? gpu_accumulated(&loop->body, shares, GPU_MAX_PARTIALS) : 0;
    if (n < 0) e->too_many = true;
    snprintf(name, sizeof name, "%s_%d", loop->var->name, loop->var->index);
    pack_find(e, loop, &l);
    if (barrier) gpu_print_barrier(e);
    pack_print_shares(e, shares, n, true);
    pack_print_bounds(e, loop, name);
    if (shared) e->inside = loop;
    if (l.width > 1) pack_print_packs(e, &l, name, threads);
    if (shared)
        snprintf(first, sizeof first, loop->step == 1 ? " + lane" : " + lane * %lld",
                 (long long)loop->step);
    gpu_open(e, "for (nest_index %s = %s_%s%s; %s %s %s_end; %s += %lld)", name, name,
             l.width > 1 ? "rest" : "begin", first, name, loop->step > 0 ? "<" : ">", name, name,
             (long long)(loop->step * threads));
    gpu_block(e, &loop->body);
    gpu_close(e);
    if (shared) e->inside = NULL;
    if (barrier) gpu_print_barrier(e);
    pack_print_shares(e, shares, n, false);
}
