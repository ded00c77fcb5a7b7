/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_checkpoint.c - see grad_checkpoint.h.
 * Tests: tests/unit/test_checkpoint.c, tests/cli/train-checkpoint-layers.test
 */
#include "runtime/autograd/grad_checkpoint.h"

#include "ir/graph/alias.h"
#include "tensor/dtype.h"

#include <string.h>

_Thread_local checkpoints *checkpoints_current;

enum { CK_MAX_SEGMENTS = 1000 };

/* Memory that values share: views, and what an in-place operator returns. */
typedef struct ck_root {
    uint64_t bytes;
    int first, last;     /* nodes: where it comes about, the last that reads it in the call */
    int end;             /* the last that reads it at all */
    bool saved, counted; /* the gradients read it; it has been added to a sum */
} ck_root;

typedef struct ck {
    graph *g;
    alias_db *db;
    int n, ncall; /* nodes; those of the call */
    node **nodes;
    ck_root **roots; /* of nodes' outputs, by at[node] + output */
    int *at;
    int *segment;      /* of each node of the call; the last one is kept */
    ir_value **copies; /* of outputs, as roots */
    VEC(ck_root *) all;
} ck;

/* ---- what there is --------------------------------------------------------------------------- */

static uint64_t ck_bytes(const ir_value *v) {
    const tensor_info *t = v->type->kind == T_TENSOR ? v->type->tensor : NULL;
    if (!t || t->ndim < 0 || t->dtype < 0 || !t->sizes) return 0;
    uint64_t n = dtype_size((dtype)t->dtype);
    for (int i = 0; i < t->ndim; i++) n *= t->sizes[i] > 0 ? (uint64_t)t->sizes[i] : 0;
    return n;
}

static int ck_slot(const ck *c, const ir_value *v) {
    return v->def ? c->at[v->def->mark] + v->index : -1;
}

static ck_root *ck_root_of(const ck *c, const ir_value *v) {
    return v->def ? c->roots[ck_slot(c, v)] : NULL;
}

/* The input whose memory n's outputs have; NULL: they have their own. */
static const ir_value *ck_base(const ck *c, const node *n) {
    if (n->kind == N_LIST_UNPACK || n->kind == N_UNCHECKED_CAST)
        return ck_root_of(c, n->inputs.data[0]) ? n->inputs.data[0] : NULL;
    if (n->kind != N_OP || !n->inputs.len) return NULL;
    return n->op->schema->has_alias_write || node_makes(n) != RESULT_NEW ? n->inputs.data[0] : NULL;
}

static bool ck_note_outputs(ck *c, int i) {
    node *n = c->nodes[i];
    const ir_value *base = ck_base(c, n);
    bool views = base && (!base->def || ck_root_of(c, base));
    for (size_t k = 0; k < n->outputs.len; k++) {
        ck_root **r = &c->roots[c->at[i] + (int)k];
        if (views) {
            *r = base->def ? ck_root_of(c, base) : NULL;
            continue;
        }
        uint64_t bytes = ck_bytes(n->outputs.data[k]);
        if (!bytes) continue;
        *r = mem_zalloc(sizeof **r);
        if (!*r || !vec_push(&c->all, *r)) return mem_free(*r), false;
        **r = (ck_root){.bytes = bytes, .first = i, .last = i, .end = i};
    }
    return true;
}

/* Lists of tensors keep them. */
static void ck_read(const ck *c, const ir_value *v, int i) {
    ck_root *r = ck_root_of(c, v);
    if (v->def && v->def->kind == N_LIST_CONSTRUCT)
        for (size_t k = 0; k < v->def->inputs.len; k++) ck_read(c, v->def->inputs.data[k], i);
    if (!r) return;
    if (i < c->ncall) r->last = i;
    else r->saved |= r->first < c->ncall;
    r->end = i;
}

static void ck_free(ck *c) {
    for (size_t i = 0; i < c->all.len; i++) mem_free(c->all.data[i]);
    vec_free(&c->all);
    alias_free(c->db);
    mem_free(c->nodes);
    mem_free(c->roots);
    mem_free(c->at);
    mem_free(c->segment);
    mem_free(c->copies);
}

static bool ck_new(ck *c, graph *g, size_t ncall) {
    int outputs = 0;
    *c = (ck){.g = g, .ncall = (int)ncall};
    for (node *n = g->root->first; n; n = n->next) c->n++, outputs += (int)n->outputs.len;
    c->nodes = mem_alloc(((size_t)c->n + 1) * sizeof *c->nodes);
    c->at = mem_alloc(((size_t)c->n + 1) * sizeof *c->at);
    c->segment = mem_zalloc(((size_t)c->n + 1) * sizeof *c->segment);
    c->roots = mem_zalloc(((size_t)outputs + 1) * sizeof *c->roots);
    c->copies = mem_zalloc(((size_t)outputs + 1) * sizeof *c->copies);
    if (!c->nodes || !c->at || !c->segment || !c->roots || !c->copies) return false;
    int i = 0, at = 0;
    for (node *n = g->root->first; n; n = n->next, i++) {
        c->nodes[i] = n;
        c->at[i] = at;
        n->mark = i;
        at += (int)n->outputs.len;
    }
    for (i = 0; i < c->n; i++)
        if (!ck_note_outputs(c, i)) return false;
    for (i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->nodes[i]->inputs.len; k++)
            ck_read(c, c->nodes[i]->inputs.data[k], i);
    for (size_t k = 0; k < g->root->returns.len; k++) {
        ck_root *r = ck_root_of(c, g->root->returns.data[k]);
        if (r) r->end = c->n;
    }
    return true;
}

static uint64_t ck_peak(const ck *c) {
    int64_t *change = mem_zalloc(((size_t)c->n + 2) * sizeof *change), now = 0, most = 0;
    if (!change) return 0;
    for (size_t i = 0; i < c->all.len; i++) {
        const ck_root *r = c->all.data[i];
        change[r->first] += (int64_t)r->bytes;
        change[r->end + 1] -= (int64_t)r->bytes; /* what reads it last has its results already */
    }
    for (int i = 0; i <= c->n; i++) {
        now += change[i];
        if (now > most) most = now;
    }
    mem_free(change);
    return (uint64_t)most;
}

uint64_t checkpoint_peak(const graph *g) {
    ck c;
    bool ok = ck_new(&c, (graph *)g, 0);
    uint64_t peak = ok ? ck_peak(&c) : 0;
    ck_free(&c);
    return peak;
}

/* ---- where segments end ---------------------------------------------------------------------- */

typedef struct ck_ends {
    uint64_t *kept;  /* of each node of the call: bytes of its results that the gradients read */
    uint64_t *cross; /* bytes that nodes before it leave to it and those after it */
    int *ends, n;
} ck_ends;

/* Divides the call so that no segment keeps more than `most` (but single nodes that do). */
static void ck_divide(const ck *c, ck_ends *e, uint64_t most) {
    e->n = 0;
    for (int begin = 0; begin < c->ncall;) {
        uint64_t kept = 0;
        int end = begin, narrow = -1;
        while (end < c->ncall && (end == begin || kept + e->kept[end] <= most)) {
            kept += e->kept[end++];
            bool late = kept >= most - most / 4;
            if (late && (narrow < 0 || e->cross[end] <= e->cross[narrow])) narrow = end;
        }
        if (end == c->ncall) break;
        begin = narrow > 0 ? narrow : end;
        e->ends[e->n++] = begin;
    }
}

static bool ck_find_ends(ck *c, int64_t segments, ck_ends *e) {
    size_t n = (size_t)c->ncall + 2;
    uint64_t total = 0, low = 0, high;
    e->kept = mem_zalloc(n * sizeof *e->kept);
    e->cross = mem_zalloc(n * sizeof *e->cross);
    e->ends = mem_alloc(n * sizeof *e->ends);
    if (!e->kept || !e->cross || !e->ends) return false;
    for (size_t i = 0; i < c->all.len; i++) {
        const ck_root *r = c->all.data[i];
        if (r->first >= c->ncall) continue;
        if (r->saved) e->kept[r->first] += r->bytes, total += r->bytes;
        for (int k = r->first + 1; k <= r->last; k++) e->cross[k] += r->bytes;
    }
    for (high = total; low + 1 < high;) {
        uint64_t most = low + (high - low) / 2;
        ck_divide(c, e, most);
        if (e->n + 1 <= segments) high = most;
        else low = most;
    }
    ck_divide(c, e, high);
    return true;
}

static void ck_number_segments(ck *c, const ck_ends *e) {
    for (int i = 0, s = 0; i < c->ncall; i++) {
        if (s < e->n && i >= e->ends[s]) s++;
        c->segment[i] = s;
    }
}

/* ---- computing again ------------------------------------------------------------------------- */

static bool ck_in_call(const ck *c, const ir_value *v) { return v->def && v->def->mark < c->ncall; }

/* A later segment, or the caller, has v anyway. */
static bool ck_is_kept(const ck *c, const ir_value *v) {
    if (c->segment[v->def->mark] == c->segment[c->ncall - 1]) return true;
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        if (!u->user && u->index == 0) return true;
        if (u->user && u->user->mark < c->ncall &&
            c->segment[u->user->mark] != c->segment[v->def->mark])
            return true;
    }
    return false;
}

/* Would a copy of n, anywhere after the call, compute the same and do nothing else? */
static bool ck_may_repeat(const ck *c, const node *n) {
    if (n->kind == N_CONSTANT || n->kind == N_LIST_CONSTRUCT || n->kind == N_TUPLE_CONSTRUCT) {
        for (size_t i = 0; i < n->inputs.len; i++)
            if (alias_written_after(c->db, n->inputs.data[i], n)) return false;
        return true;
    }
    if (n->kind != N_OP && n->kind != N_LIST_UNPACK) return false;
    if (node_has_visible_effects(n) || node_is_random(n) || alias_writes(c->db, n)) return false;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (alias_written_after(c->db, n->inputs.data[i], n)) return false;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (alias_written_after(c->db, n->outputs.data[i], n)) return false;
    return true;
}

static bool ck_is_tensor(const ir_value *v) { return v->type->kind == T_TENSOR; }

/* Will v, of the call, be computed again? Of what is no tensor, can it be: no graph keeps it. */
static bool ck_repeats(const ck *c, const ir_value *v, int depth) {
    const node *n = v->def;
    if (depth > 64 || (ck_is_tensor(v) && ck_is_kept(c, v)) || !ck_may_repeat(c, n)) return false;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const ir_value *in = n->inputs.data[i];
        if (ck_in_call(c, in) && !ck_is_tensor(in) && !ck_repeats(c, in, depth + 1)) return false;
    }
    return true;
}

/* Marks what has to be computed again for v. */
static bool ck_want(ck *c, ir_value *v, bool *wanted) {
    VEC(ir_value *) todo = {0};
    bool ok = vec_push(&todo, v);
    while (ok && todo.len) {
        v = todo.data[--todo.len];
        if (!ck_in_call(c, v) || wanted[v->def->mark] || !ck_repeats(c, v, 0)) continue;
        wanted[v->def->mark] = true;
        for (size_t i = 0; ok && i < v->def->inputs.len; i++)
            ok = vec_push(&todo, v->def->inputs.data[i]);
    }
    vec_free(&todo);
    return ok;
}

static ir_value *ck_copy_of(void *ctx, ir_value *v) {
    const ck *c = ctx;
    ir_value *copy = ck_in_call(c, v) ? c->copies[ck_slot(c, v)] : NULL;
    return copy ? copy : v;
}

/* Segment s: what is wanted of it, copied before the first reader among the gradients. */
static bool ck_repeat_segment(ck *c, int s, const bool *wanted) {
    int first = c->n;
    for (int i = 0; i < c->ncall; i++) {
        if (!wanted[i] || c->segment[i] != s) continue;
        for (size_t k = 0; k < c->nodes[i]->outputs.len; k++) {
            const ir_value *v = c->nodes[i]->outputs.data[k];
            for (size_t u = 0; u < v->uses.len; u++) {
                const node *user = v->uses.data[u].user;
                if (user && user->mark >= c->ncall && user->mark < first) first = user->mark;
            }
        }
    }
    if (first == c->n) return true;
    for (int i = 0; i < c->ncall; i++) {
        if (!wanted[i] || c->segment[i] != s) continue;
        node *copy = node_clone(c->g, c->nodes[i], ck_copy_of, c);
        if (!copy) return false;
        copy->mark = c->n; /* no node of the call */
        node_insert_before(copy, c->nodes[first]);
        for (size_t k = 0; k < copy->outputs.len; k++)
            c->copies[c->at[i] + (int)k] = copy->outputs.data[k];
    }
    return true;
}

/* The gradients read copies from now on. */
static void ck_read_copies(ck *c) {
    for (int i = c->ncall; i < c->n; i++)
        for (size_t k = 0; k < c->nodes[i]->inputs.len; k++) {
            ir_value *v = c->nodes[i]->inputs.data[k], *copy = ck_copy_of(c, v);
            if (copy != v) node_set_input(c->nodes[i], (int)k, copy);
        }
}

/* Constants and the like that a copy reads may stand in an earlier segment, or in the last. */
static bool ck_repeat(ck *c) {
    bool *wanted = mem_zalloc((size_t)c->n + 1);
    int segments = c->ncall ? c->segment[c->ncall - 1] : 0;
    bool ok = wanted != NULL;
    for (int i = c->ncall; ok && i < c->n; i++)
        for (size_t k = 0; ok && k < c->nodes[i]->inputs.len; k++) {
            ir_value *v = c->nodes[i]->inputs.data[k];
            if (ck_in_call(c, v) && ck_is_tensor(v)) ok = ck_want(c, v, wanted);
        }
    /* what is no tensor belongs to the segment of its reader */
    for (int i = c->ncall - 1; ok && i >= 0; i--) {
        if (!wanted[i]) continue;
        for (size_t k = 0; k < c->nodes[i]->inputs.len; k++) {
            const ir_value *in = c->nodes[i]->inputs.data[k];
            if (ck_in_call(c, in) && !ck_is_tensor(in)) c->segment[in->def->mark] = c->segment[i];
        }
    }
    for (int s = segments; ok && s >= 0; s--) ok = ck_repeat_segment(c, s, wanted);
    if (ok) ck_read_copies(c);
    mem_free(wanted);
    return ok && !arena_failed(&c->g->arena);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static type *ck_bools(const tensor_info *t) {
    tensor_info info = *t;
    info.dtype = DT_BOOL;
    type *made = type_tensor_details(&info);
    return made ? made : TYPE_TENSOR;
}

/* v as another dtype, where graph_set_insert says: five nodes. */
static ir_value *ck_convert(graph *g, ir_value *v, dtype to, type *t) {
    ir_value *in[5] = {v, graph_constant_int(g, to), graph_constant_bool(g, false),
                       graph_constant_bool(g, false), graph_constant_none(g)};
    node *n = graph_insert(g, node_new_op(g, op_of(SYM_TO_DTYPE), 5, in));
    n->outputs.data[0]->type = t;
    return n->outputs.data[0];
}

enum { CK_CONVERSION = 5 };

/* The first of the gradients' nodes that reads v; NULL: none does. */
static node *ck_first_reader(const ir_value *v, size_t ncall) {
    node *first = NULL;
    for (size_t k = 0; k < v->uses.len; k++) {
        node *user = v->uses.data[k].user;
        if (user && user->mark >= (int)ncall && (!first || user->mark < first->mark)) first = user;
    }
    return first;
}

/* Zeros and ones of dropout's noise, which the gradients read: kept as bools. Returns how many
 * nodes that adds to the call. */
static size_t ck_pack_noise(graph *g, size_t ncall) {
    size_t added = 0;
    int i = 0;
    node *end = NULL; /* of the call */
    for (node *n = g->root->first; n; n = n->next, i++) {
        n->mark = i;
        if (i == (int)ncall) end = n;
    }
    for (node *n = g->root->first; n != end; n = n->next) {
        if (n->kind != N_OP || strcmp(n->op->schema->name, "aten::bernoulli_")) continue;
        ir_value *v = n->outputs.data[0];
        node *first = ck_first_reader(v, ncall);
        const tensor_info *t = v->type->kind == T_TENSOR ? v->type->tensor : NULL;
        if (!first || !t || t->dtype < 0 || t->dtype == DT_BOOL) continue;
        graph_set_insert(g, g->root, end);
        ir_value *packed = ck_convert(g, v, DT_BOOL, ck_bools(t));
        graph_set_insert(g, g->root, first);
        ir_value *noise = ck_convert(g, packed, (dtype)t->dtype, v->type);
        packed->def->mark = 0;
        noise->def->mark = first->mark;
        for (size_t k = v->uses.len; k-- > 0;) {
            use u = v->uses.data[k];
            if (u.user && u.user->mark >= (int)ncall) node_set_input(u.user, u.index, noise);
        }
        added += CK_CONVERSION;
    }
    graph_set_insert(g, g->root, NULL);
    return added;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Divides the call of g into at most so many segments. false: out of memory. */
static bool ck_apply(graph *g, size_t *ncall, int64_t segments, int64_t *got, uint64_t *peak) {
    ck c;
    ck_ends e = {0};
    bool ok = ck_new(&c, g, *ncall) && (c.db = alias_new(g)) && ck_find_ends(&c, segments, &e);
    if (ok) {
        ck_number_segments(&c, &e);
        *got = e.n + 1;
        ok = ck_repeat(&c);
    }
    mem_free(e.kept);
    mem_free(e.cross);
    mem_free(e.ends);
    ck_free(&c);
    if (!ok) return false;
    *ncall += ck_pack_noise(g, *ncall);
    *peak = checkpoint_peak(g);
    return !arena_failed(&g->arena);
}

/* What became of a call, where it is the largest so far. */
static void ck_report(checkpoints *c, int64_t chosen, uint64_t peak, uint64_t without) {
    if (without < c->peak_without) return;
    c->chosen = chosen;
    c->peak = peak;
    c->peak_without = without;
}

/* The next number of segments to try. */
static int64_t ck_more(int64_t n) { return n + (n < 6 ? 1 : n / 3); }

/* The fewest segments with which the peak is at most max_bytes; failing that those whose peak is
 * least. */
static bool ck_choose(checkpoints *c, const graph *g, size_t ncall, int64_t *out) {
    uint64_t least = UINT64_MAX;
    for (int64_t n = 1, got = 1;; n = ck_more(n)) {
        graph *copy = graph_clone(g);
        size_t nodes = ncall;
        uint64_t peak = 0;
        bool ok = copy && ck_apply(copy, &nodes, n, &got, &peak);
        graph_free(copy);
        if (!ok) return false;
        if (peak < least) least = peak, *out = n;
        if (least <= c->max_bytes || n > CK_MAX_SEGMENTS || got < n) break;
    }
    return true;
}

bool checkpoint_graph(checkpoints *c, pair_plan *p, graph *g) {
    uint64_t without = checkpoint_peak(g), peak = 0;
    int64_t n = c->segments, got = 1;
    if (!n && !ck_choose(c, g, p->nodes, &n)) return false;
    if (!ck_apply(g, &p->nodes, n, &got, &peak)) return false;
    ck_report(c, got, peak, without);
    return true;
}
