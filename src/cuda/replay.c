/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - makes a replay of two captures of a call, and plays it (replay.h).
 *
 * Making. The commands are compared word by word. A word that differs has to point into the same
 * slot at the same distance in both; it becomes a *patch*: this word is that slot's address and
 * so much more. The slots that the call has for itself get places in one block: two share bytes
 * if no command uses both.
 *
 * Playing. Patches of slots whose address differs from the last play are applied, then the
 * commands are executed in order. Runs of at least REPLAY_RUN commands are CUDA graphs,
 * captured from the stream at the first play. Launches in a graph whose addresses moved are
 * given new parameters before (cuGraphExecKernelNodeSetParams); nothing else in a graph can be
 * updated, so copies and calls of other libraries that touch inputs or results stay outside,
 * between graphs. In the steady state, when freed memory is reused for the next result, nothing
 * is updated. A shorter run is launched kernel by kernel: a graph is no cheaper for so few.
 *
 * Why not capture the call itself, as PyTorch does? Because other threads would have to
 * keep off the stream during the whole call, a failure in it would corrupt the stream's
 * state, and inputs and results would have to be copied to and from fixed places. Here the
 * driver only captures commands that have been recorded, under one lock, from begin to end.
 *
 * Where a graph cannot be made, the commands are launched one by one: results are the same.
 * Ownership: a replay owns its parameters, its graphs, what it has from the host, and its block,
 * which replays_shrink may take away between plays.
 * Tests: tests/unit/test_cuda_replay.c
 */
#include "cuda/replay.h"

#include "base/log.h"
#include "cuda/capture_internal.h"
#include "cuda/cuda_internal.h"

#include <stdlib.h>

enum { REPLAY_RUN = 4, REPLAY_ALIGN = 512 };

/* Byte `at` of the parameters holds slot's address + delta. Sorted by slot. */
typedef struct replay_patch {
    uint32_t slot, step;
    size_t at;
    uintptr_t delta;
} replay_patch;

typedef struct replay_step {
    command what;
    CUgraphNode node; /* of a launch in a graph whose addresses may move */
    bool moves;       /* it touches inputs or results */
    bool stale;       /* its node is to be given other parameters */
} replay_step;

/* Steps [first, end): one graph, or one after the other. */
typedef struct replay_run {
    size_t first, end;
    bool whole; /* to be a graph */
    CUgraph graph;
    CUgraphExec exec; /* NULL: not made yet */
} replay_run;

typedef enum replay_owner { REPLAY_INPUT, REPLAY_RESULT, REPLAY_OWN } replay_owner;

typedef struct replay_slot {
    replay_owner owner;
    size_t index;  /* among inputs, among results; where in the replay's block */
    uintptr_t now; /* where it lay at the last play; 0: there was none */
    size_t patch, patches;
} replay_slot;

struct cuda_replay {
    cuda *device;
    cuda_replay *before, *next; /* of the device */
    VEC(replay_step) steps;
    VEC(replay_patch) patches;
    VEC(replay_slot) slots;
    VEC(replay_run) runs;
    VEC(uint32_t) stale; /* steps */
    char *params;
    void *contents;   /* what the call copied from the host, on the device; NULL: nothing */
    int64_t launches; /* kernels of ctsc's own among the steps */
    size_t scratch_bytes;
    void *scratch;  /* NULL: none at the moment */
    bool graphless; /* the driver could not make a graph */
};

/* ---- comparing ------------------------------------------------------------------------------- */

static ctsc_status replay_differs(diag *d) {
    return diag_fail(d, CTSC_UNSUPPORTED,
                     "a call cannot be recorded: it is not the same each time");
}

static bool replay_same_kind(const command *a, const command *b) {
    return a->kind == b->kind && a->kernel == b->kernel && a->fn == b->fn && a->moved == b->moved &&
           a->nbytes == b->nbytes && a->params == b->params && a->content == b->content &&
           !memcmp(a->shape.grid, b->shape.grid, sizeof a->shape.grid) &&
           !memcmp(a->shape.block, b->shape.block, sizeof a->shape.block) &&
           a->shape.shared == b->shape.shared;
}

static ctsc_status replay_word(cuda_replay *r, diag *d, const cuda_capture *a,
                               const cuda_capture *b, uint32_t step, size_t at) {
    void *x, *y;
    size_t in_x = 0, in_y = 0;
    memcpy(&x, a->bytes.data + at, sizeof x);
    memcpy(&y, b->bytes.data + at, sizeof y);
    if (x == y) return CTSC_OK;
    int slot = cuda_capture_slot(a, x, &in_x);
    if (slot < 0 || cuda_capture_slot(b, y, &in_y) != slot || in_x != in_y)
        return replay_differs(d);
    /* freed memory: an error of ours */
    if (a->slots.data[slot].born > step || a->slots.data[slot].freed <= step)
        return replay_differs(d);
    return vec_push(&r->patches, ((replay_patch){(uint32_t)slot, step, at, in_x}))
               ? CTSC_OK
               : diag_no_memory(d);
}

static ctsc_status replay_compare(cuda_replay *r, diag *d, const cuda_capture *a,
                                  const cuda_capture *b) {
    if (a->commands.len != b->commands.len || a->slots.len != b->slots.len ||
        a->ninputs != b->ninputs || a->commands.len > UINT32_MAX)
        return replay_differs(d);
    if (a->contents.len != b->contents.len ||
        (a->contents.len && memcmp(a->contents.data, b->contents.data, a->contents.len) != 0))
        return replay_differs(d);
    for (size_t i = 0; i < a->commands.len; i++) {
        const command *x = &a->commands.data[i];
        if (!replay_same_kind(x, &b->commands.data[i])) return replay_differs(d);
        size_t words = x->nbytes / sizeof(void *), rest = words * sizeof(void *);
        if (memcmp(a->bytes.data + x->params + rest, b->bytes.data + x->params + rest,
                   x->nbytes - rest) != 0)
            return replay_differs(d);
        for (size_t w = 0; w < words; w++) {
            TRY(replay_word(r, d, a, b, (uint32_t)i, x->params + w * sizeof(void *)));
        }
        if (!vec_push(&r->steps, (replay_step){.what = *x})) return diag_no_memory(d);
        r->launches += x->kind == COMMAND_LAUNCH;
    }
    return CTSC_OK;
}

/* ---- laying out ------------------------------------------------------------------------------ */

static int replay_by_slot(const void *a, const void *b) {
    const replay_patch *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Whose memory each slot is. */
static ctsc_status replay_own(cuda_replay *r, diag *d, const cuda_capture *n, int nkept,
                              const int *kept) {
    for (size_t i = 0; i < n->slots.len; i++) {
        replay_slot s = {.owner = i < (size_t)n->ninputs ? REPLAY_INPUT : REPLAY_OWN, .index = i};
        for (int k = 0; k < nkept; k++)
            if ((size_t)kept[k] == i) s.owner = REPLAY_RESULT, s.index = (size_t)k;
        if (s.owner == REPLAY_OWN && n->slots.data[i].freed == SIZE_MAX)
            return diag_fail(d, CTSC_UNSUPPORTED,
                             "a call cannot be recorded: memory that it took outlives it");
        if (!vec_push(&r->slots, s)) return diag_no_memory(d);
    }
    if (r->patches.len)
        qsort(r->patches.data, r->patches.len, sizeof *r->patches.data, replay_by_slot);
    for (size_t i = 0; i < r->patches.len; i++) {
        replay_slot *s = &r->slots.data[r->patches.data[i].slot];
        if (!s->patches++) s->patch = i;
        if (s->owner != REPLAY_OWN) r->steps.data[r->patches.data[i].step].moves = true;
    }
    return CTSC_OK;
}

/* The lowest place in the block for slot i, beside those before it that are in use when it is. */
static size_t replay_place(const cuda_replay *r, const cuda_capture *n, size_t i) {
    size_t at = 0, bytes = n->slots.data[i].nbytes;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = (size_t)n->ninputs; k < i; k++) {
            size_t begin = r->slots.data[k].index, end = begin + n->slots.data[k].nbytes;
            if (r->slots.data[k].owner != REPLAY_OWN ||
                n->slots.data[k].freed <= n->slots.data[i].born || end <= at || begin >= at + bytes)
                continue;
            at = (end + REPLAY_ALIGN - 1) / REPLAY_ALIGN * REPLAY_ALIGN;
            moved = true;
        }
    }
    return at;
}

static void replay_lay_out(cuda_replay *r, const cuda_capture *n) {
    for (size_t i = (size_t)n->ninputs; i < r->slots.len; i++) {
        if (r->slots.data[i].owner != REPLAY_OWN) continue;
        size_t at = r->slots.data[i].index = replay_place(r, n, i),
               end = at + n->slots.data[i].nbytes;
        if (end > r->scratch_bytes) r->scratch_bytes = end;
    }
}

/* A graph may hold what never moves, and launches. */
static bool replay_suits_graph(const replay_step *s) {
    return !s->moves || s->what.kind == COMMAND_LAUNCH;
}

static ctsc_status replay_cut(cuda_replay *r, diag *d) {
    for (size_t i = 0, end; i < r->steps.len; i = end) {
        bool whole = replay_suits_graph(&r->steps.data[i]);
        for (end = i + 1; end < r->steps.len && replay_suits_graph(&r->steps.data[end]) == whole;)
            end++;
        if (!vec_push(
                &r->runs,
                ((replay_run){.first = i, .end = end, .whole = whole && end - i >= REPLAY_RUN})))
            return diag_no_memory(d);
    }
    return CTSC_OK;
}

/* What came from the host stays on the device: from now on it is a copy within it. */
static ctsc_status replay_keep_contents(cuda_replay *r, diag *d, const cuda_capture *n) {
    if (!n->contents.len) return CTSC_OK;
    ctsc_status st = cuda_alloc(r->device, d, n->contents.len, &r->contents);
    if (st == CTSC_OK)
        st = cuda_write(r->device, d, r->contents, n->contents.data, n->contents.len);
    for (size_t i = 0; i < r->steps.len; i++) {
        command *x = &r->steps.data[i].what;
        if (x->kind != COMMAND_WRITE) continue;
        const char *from = (const char *)r->contents + x->content;
        x->kind = COMMAND_MOVE;
        memcpy(r->params + x->params + sizeof(void *), &from, sizeof from);
    }
    return st;
}

static ctsc_status replay_build(cuda_replay *r, diag *d, const cuda_capture *a,
                                const cuda_capture *b, int nkept, const int *kept) {
    ctsc_status st = replay_compare(r, d, a, b);
    if (st == CTSC_OK) st = replay_own(r, d, a, nkept, kept);
    if (st == CTSC_OK) st = replay_cut(r, d);
    if (st != CTSC_OK) return st;
    replay_lay_out(r, a);
    r->params = mem_alloc(a->bytes.len + 1);
    if (!r->params || !vec_reserve(&r->stale, r->steps.len)) return diag_no_memory(d);
    if (a->bytes.len) memcpy(r->params, a->bytes.data, a->bytes.len);
    return replay_keep_contents(r, d, a);
}

ctsc_status cuda_replay_make(diag *d, const cuda_capture *first, const cuda_capture *second,
                             int nkept, const int *kept, cuda_replay **out) {
    cuda_replay *r = mem_zalloc(sizeof *r);
    if (!r) return diag_no_memory(d);
    cuda *c = r->device = first->device;
    ctsc_status st = replay_build(r, d, first, second, nkept, kept);
    pthread_mutex_lock(&c->lock);
    r->next = c->replays.first;
    if (r->next) r->next->before = r;
    c->replays.first = r;
    c->replays.stats.made += st == CTSC_OK;
    pthread_mutex_unlock(&c->lock);
    if (st == CTSC_OK) *out = r;
    else cuda_replay_free(r);
    return st;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void replay_drop_graphs(cuda_replay *r, bool usable) {
    const cuda_driver *driver = r->device->driver;
    for (size_t i = 0; i < r->runs.len; i++) {
        replay_run *run = &r->runs.data[i];
        if (usable && run->exec) driver->cuGraphExecDestroy(run->exec);
        if (usable && run->graph) driver->cuGraphDestroy(run->graph);
        run->exec = NULL, run->graph = NULL;
    }
}

static ctsc_status replay_ask(cuda_replay *r, diag *d, const replay_step *s) {
    cuda *c = r->device;
    const char *params = r->params + s->what.params;
    CUdeviceptr at[2] = {0, 0};
    CUresult result;
    switch (s->what.kind) {
    case COMMAND_LAUNCH:
        return program_launch(c, d, s->what.kernel, &s->what.shape, params, s->what.nbytes);
    case COMMAND_CALL: return s->what.fn(d, c->stream, params);
    case COMMAND_MOVE:
    case COMMAND_WRITE: /* became a copy when the replay was made */
        memcpy(at, params, sizeof at);
        result = c->driver->cuMemcpyDtoDAsync(at[0], at[1], s->what.moved, c->stream);
        return result == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, result, "cuMemcpyDtoDAsync");
    default:
        memcpy(at, params, sizeof *at);
        result = c->driver->cuMemsetD8Async(at[0], 0, s->what.moved, c->stream);
        return result == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, result, "cuMemsetD8Async");
    }
}

/* The node that has just been captured. */
static CUresult replay_newest_node(cuda *c, CUgraphNode *out) {
    int status;
    unsigned long long id;
    CUgraph graph;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    CUresult r = c->driver->cuStreamGetCaptureInfo(c->stream, &status, &id, &graph, &nodes, &count);
    if (r == CUDA_SUCCESS && count != 1) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (r == CUDA_SUCCESS) *out = nodes[0];
    return r;
}

static bool replay_capture_steps(cuda_replay *r, const replay_run *run) {
    for (size_t i = run->first; i < run->end; i++) {
        replay_step *s = &r->steps.data[i];
        if (replay_ask(r, NULL, s) != CTSC_OK) return false;
        if (s->moves && replay_newest_node(r->device, &s->node) != CUDA_SUCCESS) return false;
    }
    return true;
}

/* False: there is no graph; nothing has happened. */
static bool replay_capture(cuda_replay *r, replay_run *run) {
    cuda *c = r->device;
    if (c->driver->cuStreamBeginCapture(c->stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS)
        return false;
    bool ok = replay_capture_steps(r, run);
    ok &= c->driver->cuStreamEndCapture(c->stream, &run->graph) == CUDA_SUCCESS;
    ok = ok && c->driver->cuGraphInstantiate(&run->exec, run->graph, 0) == CUDA_SUCCESS;
    if (!ok && run->graph) c->driver->cuGraphDestroy(run->graph);
    if (!ok) run->graph = NULL, run->exec = NULL;
    c->replays.stats.graphs += ok;
    return ok;
}

/* ---- playing --------------------------------------------------------------------------------- */

static bool replay_update_node(cuda_replay *r, const replay_run *run, const replay_step *s) {
    const command *w = &s->what;
    size_t nbytes = w->nbytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, r->params + w->params,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &nbytes, CU_LAUNCH_PARAM_END};
    cuda_kernel_node p = {.function = program_function(w->kernel),
                          .shared = (unsigned)w->shape.shared,
                          .extra = extra};
    memcpy(p.grid, w->shape.grid, sizeof p.grid);
    memcpy(p.block, w->shape.block, sizeof p.block);
    r->device->replays.stats.updates++;
    return r->device->driver->cuGraphExecKernelNodeSetParams(run->exec, s->node, &p) ==
           CUDA_SUCCESS;
}

static void replay_apply(cuda_replay *r, replay_slot *s, uintptr_t now) {
    s->now = now;
    for (size_t i = s->patch; i < s->patch + s->patches; i++) {
        const replay_patch *p = &r->patches.data[i];
        uintptr_t address = now + p->delta;
        memcpy(r->params + p->at, &address, sizeof address);
        if (!r->steps.data[p->step].stale) r->stale.data[r->stale.len++] = p->step;
        r->steps.data[p->step].stale = true;
    }
}

/* The parameters for this play. */
static void replay_bind(cuda_replay *r, void *const *inputs, void *const *results) {
    for (size_t i = 0; i < r->slots.len; i++) {
        replay_slot *s = &r->slots.data[i];
        uintptr_t now = s->owner == REPLAY_INPUT    ? (uintptr_t)inputs[s->index]
                        : s->owner == REPLAY_RESULT ? (uintptr_t)results[s->index]
                                                    : (uintptr_t)r->scratch + s->index;
        if (now != s->now) replay_apply(r, s, now);
    }
}

static const replay_run *replay_run_of(const cuda_replay *r, size_t step) {
    size_t low = 0, high = r->runs.len;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->runs.data[middle].first <= step) low = middle;
        else high = middle;
    }
    return &r->runs.data[low];
}

/* There will be none any more. */
static void replay_give_up_graphs(cuda_replay *r) {
    r->graphless = true;
    replay_drop_graphs(r, true);
    log_event(
        CTSC_LOG_WARNING,
        "cuda:%d: the driver makes no graph of a call, whose launches are asked for one by one",
        r->device->index);
}

/* Graphs that are there learn of what moved; others are made with it. */
static void replay_update(cuda_replay *r) {
    bool ok = true;
    for (size_t i = 0; i < r->stale.len; i++) {
        replay_step *s = &r->steps.data[r->stale.data[i]];
        const replay_run *run = replay_run_of(r, r->stale.data[i]);
        s->stale = false;
        if (ok && run->exec) ok = replay_update_node(r, run, s);
    }
    r->stale.len = 0;
    if (!ok) replay_give_up_graphs(r);
}

static ctsc_status replay_play_run(cuda_replay *r, diag *d, replay_run *run) {
    cuda *c = r->device;
    if (run->whole && !run->exec && !r->graphless && !replay_capture(r, run))
        replay_give_up_graphs(r);
    if (run->exec) {
        CUresult result = c->driver->cuGraphLaunch(run->exec, c->stream);
        c->replays.stats.launched++;
        return result == CUDA_SUCCESS ? CTSC_OK : cuda_fail(c, d, result, "cuGraphLaunch");
    }
    ctsc_status st = CTSC_OK;
    for (size_t i = run->first; i < run->end && st == CTSC_OK; i++)
        st = replay_ask(r, d, &r->steps.data[i]);
    return st;
}

/* Memory of its own; what graphs there are have been made for another block. */
static ctsc_status replay_take_scratch(cuda_replay *r, diag *d) {
    if (r->scratch || !r->scratch_bytes) return CTSC_OK;
    replay_drop_graphs(r, true);
    return memory_get(r->device, d, r->scratch_bytes, &r->scratch);
}

ctsc_status cuda_replay_play(cuda_replay *r, diag *d, void *const *inputs, void *const *results) {
    cuda *c = r->device;
    ctsc_status st = cuda_capture_refuse(d, "a replay of another call");
    if (st == CTSC_OK) st = cuda_lock(c, d);
    if (st != CTSC_OK) return st;
    st = replay_take_scratch(r, d);
    if (st == CTSC_OK) {
        replay_bind(r, inputs, results);
        replay_update(r);
        for (size_t i = 0; i < r->runs.len && st == CTSC_OK; i++)
            st = replay_play_run(r, d, &r->runs.data[i]);
        c->launches += st == CTSC_OK ? r->launches : 0;
        c->replays.stats.played += st == CTSC_OK;
    }
    cuda_unlock(c);
    return st;
}

void replays_shrink(cuda *c) {
    for (cuda_replay *r = c->replays.first; r; r = r->next) {
        if (!r->scratch) continue;
        replay_drop_graphs(r, true);
        memory_give_back(c, r->scratch);
        r->scratch = NULL;
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

void cuda_replay_free(cuda_replay *r) {
    if (!r) return;
    cuda *c = r->device;
    bool usable = cuda_enter(c, NULL) == CTSC_OK;
    pthread_mutex_lock(&c->lock);
    if (r->before) r->before->next = r->next;
    else c->replays.first = r->next;
    if (r->next) r->next->before = r->before;
    replay_drop_graphs(r, usable);
    pthread_mutex_unlock(&c->lock);
    cuda_free(c, r->scratch);
    cuda_free(c, r->contents);
    vec_free(&r->steps);
    vec_free(&r->patches);
    vec_free(&r->slots);
    vec_free(&r->runs);
    vec_free(&r->stale);
    mem_free(r->params);
    mem_free(r);
}

size_t cuda_replay_size(const cuda_replay *r) { return r->steps.len; }

size_t cuda_replay_scratch(const cuda_replay *r) { return r->scratch_bytes; }

cuda_replay_stats cuda_get_replay_stats(cuda *c) {
    pthread_mutex_lock(&c->lock);
    cuda_replay_stats s = c->replays.stats;
    pthread_mutex_unlock(&c->lock);
    return s;
}
