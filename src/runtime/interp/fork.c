/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - forked functions and their futures: bodies that run at once, and bodies that run
 * on other threads.
 *
 * Method. A fork has the meaning of running its body at once, to its end; the future holds the
 * result or the error, which aten::wait raises. Where the difference is not observable
 * (passes/forks.h; the translator has asked, and put a JOIN where it is needed) the body is offered
 * to the pool, and belongs to the frame until its result is fetched: by wait, by a JOIN, at the end
 * of the frame. A body that no thread has begun by then runs in the frame's own interpreter, as if
 * it had run at once. So results depend neither on time nor on the number of threads.
 *
 * No deadlock: only the frame that forked waits for a body, and it runs
 * its own bodies, and nested ones, that no thread has begun. So each
 * waiting thread waits for one that runs a body nested in its own.
 *
 * Limits: time and cancellation go with the body. Steps and bytes are counted in the order of the
 * program, and a watch is of one thread: where there is one of these, bodies run at once. A body
 * that meets the end of the whole program (a limit, no memory) ends it when it is fetched, at the
 * place of its fork; other errors of futures that nothing waits for are lost, as in PyTorch.
 *
 * Ownership: a `forked` has references on its future and arguments, and is freed when fetched. The
 * worker touches nothing of the frame.
 * Tests: tests/unit/test_forks.c, tests/unit/test_interp.c
 */
#include "base/threads/thread_pool.h"
#include "runtime/context/workspace.h"
#include "runtime/interp/interp_internal.h"

/* A frame with this many bodies in progress waits for all of
 * them before it continues: their results take memory. */
enum { FORK_MAX_RUNNING = 256 };

typedef struct forked {
    pool_task task;
    struct forked *next; /* of the frame, older first */
    future *result;
    const site *site;  /* the fork */
    const runtime *rt; /* of the forking frame: what does not change while it runs */
    int depth;         /* of the forking frame */
    ctsc_status status;
    value out;
    diag error;
    value args[]; /* site->nargs of them; taken by the run */
} forked;

/* ---- running --------------------------------------------------------------------------------- */

static ctsc_status fork_body(interp *in, const site *s, value *args_take, value *out) {
    if (s->sub) return interp_run(in, s->sub, s->nargs, args_take, out);
    return interp_run_function(in, s->fn, s->nargs, args_take, out);
}

/* On another thread. */
static void fork_run_apart(pool_task *t) {
    forked *k = (forked *)t;
    workspace *w = workspace_take(k->rt->ws->home);
    if (!w) {
        for (int i = 0; i < k->site->nargs; i++) value_unref(k->args[i]);
        k->status = diag_no_memory(&k->error);
        return;
    }
    interp in;
    runtime_init_forked(&w->rt, k->rt, k->depth);
    w->rt.ws = w;
    interp_begin(&in, &w->rt, &k->error);
    k->status = fork_body(&in, k->site, k->args, &k->out);
    interp_end(&in);
    workspace_give(w->home, w);
}

/* In the frame that forked. */
static void fork_run_here(frame *f, forked *k) {
    diag *outer = diag_redirect(&f->in->d, &k->error);
    k->status = fork_body(f->in, k->site, k->args, &k->out);
    diag_restore(&f->in->d, outer);
}

/* ---- fetching -------------------------------------------------------------------------------- */

static bool fork_ends_program(ctsc_status s) { return s == CTSC_LIMIT || s == CTSC_INTERNAL; }

static const instr *fork_instr(const frame *f, const site *s) {
    const instr *i = f->c->instrs.data;
    while (i->op != BC_FORK || &f->c->sites.data[i->a] != s) i++;
    return i;
}

/* k, which is off the frame's list, has ended: its result goes into the future. */
static ctsc_status fork_reconcile(frame *f, forked *k) {
    ctsc_status s = CTSC_OK;
    if (fork_ends_program(k->status) && !fork_ends_program(f->in->d->status)) {
        s = k->status;
        f->blame = fork_instr(f, k->site);
        diag_clear(f->in->d); /* this one comes first in the program's order */
        diag_append(f->in->d, &k->error);
        f->in->d->status = s;
    }
    k->result->done = true;
    k->result->result = k->out;
    k->result->error = k->error;
    value_unref((value){.tag = V_FUTURE, .u.future = k->result});
    mem_free(k);
    return s;
}

/* The result of fu, if its body runs separately. */
static ctsc_status fork_fetch(frame *f, const future *fu) {
    forked **at = &f->forked;
    while (*at && (*at)->result != fu) at = &(*at)->next;
    forked *k = *at;
    if (!k) return CTSC_OK;
    if (pool_take_back(&k->task)) fork_run_here(f, k);
    else pool_wait(&k->task);
    *at = k->next;
    return fork_reconcile(f, k);
}

ctsc_status fork_join(frame *f) {
    ctsc_status s = CTSC_OK;
    while (f->forked) {
        ctsc_status one = fork_fetch(f, f->forked->result);
        if (s == CTSC_OK) s = one;
    }
    return s;
}

/* ---- the instructions ------------------------------------------------------------------------ */

static bool fork_may_run_apart(const frame *f, const site *s) {
    const runtime *rt = f->in->rt;
    return s->imm && rt->ws && !rt->watch && rt->steps_left == UINT64_MAX && !mem_is_bounded() &&
           pool_threads() > 1;
}

/* Offers the body to the pool; *offered: it has been taken from here. */
static ctsc_status fork_offer(frame *f, const site *s, future *fu, bool *offered) {
    int running = 0;
    forked **end = &f->forked;
    for (; *end; end = &(*end)->next) running++;
    if (running >= FORK_MAX_RUNNING) {
        TRY(fork_join(f));
        end = &f->forked;
    }
    forked *k = mem_alloc(sizeof *k + (size_t)s->nargs * sizeof(value));
    if (!k) return CTSC_OK; /* it can run at once */
    *k = (forked){.task = {.run = fork_run_apart, .maker = f},
                  .result = fu,
                  .site = s,
                  .rt = f->in->rt,
                  .depth = f->in->rt->depth,
                  .out = value_none()};
    k->error.max_tensor = f->in->d->max_tensor;
    for (int i = 0; i < s->nargs; i++) k->args[i] = value_ref(*site_arg(f, s, i));
    if (!pool_offer(&k->task)) {
        for (int i = 0; i < s->nargs; i++) value_unref(k->args[i]);
        mem_free(k);
        return CTSC_OK;
    }
    atomic_fetch_add_explicit(&fu->refs, 1, memory_order_relaxed);
    site_release(f, s);
    *end = k;
    *offered = true;
    return CTSC_OK;
}

static ctsc_status fork_at_once(frame *f, const site *s, future *fu) {
    interp *in = f->in;
    value *args = f->regs + f->c->nregisters;
    for (int i = 0; i < s->nargs; i++) args[i] = site_take(f, s, i);
    diag *outer = diag_redirect(&in->d, &fu->error);
    fu->error.max_tensor = outer->max_tensor;
    ctsc_status st = fork_body(in, s, args, &fu->result);
    diag_restore(&in->d, outer);
    fu->done = true;
    if (!fork_ends_program(st)) return CTSC_OK;
    diag_clear(outer);
    diag_append(outer, &fu->error);
    return outer->status = st;
}

ctsc_status bc_fork(frame *f, const site *s) {
    future *fu = mem_zalloc(sizeof *fu);
    if (!fu) return diag_no_memory(f->in->d);
    atomic_init(&fu->refs, 1);
    bool offered = false;
    ctsc_status st = fork_may_run_apart(f, s) ? fork_offer(f, s, fu, &offered) : CTSC_OK;
    if (st == CTSC_OK && !offered) st = fork_at_once(f, s, fu);
    value v = {.tag = V_FUTURE, .u.future = fu};
    if (st == CTSC_OK) site_result(f, s, 0, v);
    else value_unref(v);
    return st;
}

/* A future can be waited for more than once, so its error is copied. */
static ctsc_status wait_raise(diag *d, const diag *error) {
    for (size_t i = 0; i < error->items.len; i++) {
        const diag_item *item = &error->items.data[i];
        const char *text = item->text ? item->text : "";
        if (item->kind == DIAG_ERROR) diag_fail_at(d, error->status, item->range, "%s", text);
        else if (item->kind == DIAG_NOTE) diag_note(d, item->range, "%s", text);
        else diag_frame(d, item->range, text);
    }
    if (error->exception && !d->exception) d->exception = mem_strdup(error->exception);
    return diag_fail(d, error->status, "a forked function failed"); /* what comes first counts */
}

/* Who gives the result may be another program: what it gives is checked. */
static ctsc_status wait_for_source(future_source *source, value *out, diag *d) {
    TRY(source->wait(source, out, d));
    if (!source->elem || type_admits_value(source->elem, *out)) return CTSC_OK;
    strbuf wanted = STRBUF_INIT;
    value_unref(*out);
    *out = value_none();
    type_print_python(source->elem, &wanted);
    ctsc_status st = diag_fail(d, CTSC_FAILED,
                               "the result of a future is a value of another type than %s",
                               sb_str(&wanted));
    sb_free(&wanted);
    return st;
}

ctsc_status future_result(const future *fu, value *out, diag *d) {
    if (fu->source) return wait_for_source(fu->source, out, d);
    if (fu->error.status != CTSC_OK) return wait_raise(d, &fu->error);
    *out = value_ref(fu->result);
    return CTSC_OK;
}

ctsc_status bc_wait(frame *f, const site *s) {
    const value *v = site_arg(f, s, 0);
    if (v->tag != V_FUTURE) return diag_fail(f->in->d, CTSC_INTERNAL, "aten::wait needs a future");
    const future *fu = v->u.future;
    value result;
    TRY(f->forked ? fork_fetch(f, fu) : CTSC_OK);
    TRY(future_result(fu, &result, f->in->d));
    site_release(f, s);
    site_result(f, s, 0, result);
    return CTSC_OK;
}
