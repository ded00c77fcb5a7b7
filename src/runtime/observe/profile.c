/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - counts and times what one call does, by operator, kernel, source line and method.
 *
 * Method (profile.h has the idea). Each instruction with a site gets a record when it is first met:
 * the shadows of the rows it counts for. Records stay with the profile, which idle profiles keep
 * for the next call, so that a call of the steady state makes none. A record is found by the code's
 * address and the instruction's number; the profiler holds the units of all code it has seen, and a
 * code that was made anew in the place of an old one (ctsc_module_freeze) is told by its arrays.
 * Tests: tests/unit/test_profile.c
 */
#include "runtime/observe/profile.h"

#include "base/threads/float_mode.h"
#include "runtime/exec/fused.h"
#include "runtime/observe/work.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROFILE_COSTS = 8, PROFILE_CHAIN = 256, PROFILE_SHAPES = 400, PROFILE_NAMES = 4 };

/* A row as one call counts for it. */
typedef struct profile_shadow {
    profile_row *row;
    profile_sums sums;
    int active;   /* spans open that count for it */
    bool touched; /* by this call */
} profile_shadow;

typedef struct profile_record {
    profile_shadow *op;
    int nlines, nmethods;
    /* its location, then the inlined calls around it */
    profile_shadow **lines, **methods;
    bool calls; /* methods[0] is what it calls */
    int ncosts; /* of a kernel: flops for the specialisation keys seen */
    struct { uint64_t kind; int64_t flops; } costs[PROFILE_COSTS];
} profile_record;

typedef struct profile_code {
    const instr *instrs;
    size_t n;
    const char *name;
    profile_record **records;
} profile_code;

/* An instruction that is being done. */
typedef struct profile_span {
    struct profile_span *outer;
    profile_record *r;
    uint64_t begin;
    int64_t inner_ns;
    /* recycle_watch at its begin, and what spans inside took */
    uint64_t blocks, bytes, inner_blocks, inner_bytes;
    int64_t live, outer_peak;
    int64_t moved, flops; /* flops < 0: not known */
    bool denormal;        /* met before the spans inside it */
    const char *shapes;
} profile_span;

typedef struct profile {
    watch watched; /* what the interpreter calls */
    profiler *p;
    arena arena; /* records and shadows */
    strmap shadows[PROFILE_TABLES], texts;
    ptrmap codes, roots;
    const code *last; /* looked up last */
    profile_code *last_code;
    VEC(profile_shadow *) touched;
    VEC(profile_event) events;
    profile_span *top, root;
    recycle_watch watch;
    uint64_t lost;        /* ns that the clock stood still */
    uint64_t sites, mark; /* instructions begun; the number of the one that is being done */
    uint64_t dropped;
    int thread;
    bool noted;      /* the thread had met denormal numbers before the call */
    bool counting;   /* a kernel's operators are being interpreted to count them: */
    int64_t counted; /* their flops; < 0: not known */
    bool failed;
} profile;

/* ---- rows ------------------------------------------------------------------------------------ */

static profile_row *profiler_row(profiler *p, profile_table t, const char *key,
                                 const profile_row *like) {
    profile_row *r = strmap_get(&p->rows[t], key);
    if (r) return r;
    r = arena_new(&p->arena, profile_row);
    char *own = arena_strdup(&p->arena, key);
    *r = (profile_row){
        .name = arena_strdup(&p->arena, like->name), .kind = like->kind, .line = like->line};
    if (like->file) r->file = arena_strdup(&p->arena, like->file);
    if (!own || !r->name || (like->file && !r->file) || arena_failed(&p->arena)) return NULL;
    if (!vec_push(&p->list[t], r)) return NULL;
    /* without memory a second row of the name may come: rows are only sums */
    return strmap_put(&p->rows[t], own, r) ? r : NULL;
}

/* NULL if out of memory. */
static profile_shadow *profile_shadow_of(profile *c, profile_table t, const char *key,
                                         const profile_row *like) {
    profile_shadow *sh = strmap_get(&c->shadows[t], key);
    if (sh) return sh;
    pthread_mutex_lock(&c->p->lock);
    profile_row *row = profiler_row(c->p, t, key, like);
    pthread_mutex_unlock(&c->p->lock);
    sh = arena_new(&c->arena, profile_shadow);
    char *own = arena_strdup(&c->arena, key);
    if (!row || !own || arena_failed(&c->arena) || !strmap_put(&c->shadows[t], own, sh))
        return NULL;
    sh->row = row;
    return sh;
}

/* A string of the profiler with this text; NULL if out of memory. */
static const char *profile_text(profile *c, const char *text) {
    const char *known = strmap_get(&c->texts, text);
    if (known) return known;
    pthread_mutex_lock(&c->p->lock);
    known = strmap_get(&c->p->texts, text);
    char *own = known ? (char *)known : arena_strdup(&c->p->arena, text);
    if (!known && (!own || arena_failed(&c->p->arena) || !strmap_put(&c->p->texts, own, own)))
        own = NULL;
    pthread_mutex_unlock(&c->p->lock);
    if (own && !strmap_put(&c->texts, own, own)) c->failed = true;
    return own;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Operators written in TorchScript: their code is nobody's method. */
static bool profile_is_operator(source_range r) {
    return r.src && !strcmp(r.src->name, "<operators>");
}

/* Where a person wrote r; false for code that comes with ctsc. */
static bool profile_place(source_range r, const char **file, uint32_t *line) {
    uint32_t column;
    r = source_original(r);
    if (!r.src || r.src->library || profile_is_operator(r)) return false;
    *file = r.src->name;
    source_position(r.src, r.begin, line, &column);
    return true;
}

static profile_shadow *profile_line(profile *c, const char *file, uint32_t line) {
    strbuf key = STRBUF_INIT;
    sb_printf(&key, "%s:%u", file, line);
    profile_row like = {.name = file, .kind = "line", .file = file, .line = line};
    profile_shadow *sh = key.failed ? NULL
                                    : profile_shadow_of(c, PROFILE_LINES, sb_str(&key), &like);
    sb_free(&key);
    return sh;
}

static profile_shadow *profile_method(profile *c, const char *name) {
    return profile_shadow_of(c, PROFILE_METHODS, name,
                             &(profile_row){.name = name, .kind = "method"});
}

/* The lines and methods of code at `at` in function, and of the inlined calls around it. callee:
 * what it calls, or NULL. */
static bool profile_places(profile *c, profile_record *r, source_range at, const call_site *call,
                           const char *function, const char *callee) {
    profile_shadow *lines[PROFILE_CHAIN], *methods[PROFILE_CHAIN + 1];
    if (callee) methods[r->nmethods++] = profile_method(c, callee);
    for (int depth = 0; depth < PROFILE_CHAIN; depth++) {
        const char *file;
        uint32_t line;
        if (profile_place(at, &file, &line)) lines[r->nlines++] = profile_line(c, file, line);
        if (!profile_is_operator(at))
            methods[r->nmethods++] = profile_method(c, call ? call->callee : function);
        if (!call) break;
        at = call->range;
        call = call->caller;
    }
    r->lines = arena_array(&c->arena, profile_shadow *, r->nlines + 1);
    r->methods = arena_array(&c->arena, profile_shadow *, r->nmethods + 1);
    if (arena_failed(&c->arena)) return false;
    for (int i = 0; i < r->nlines; i++)
        if (!(r->lines[i] = lines[i])) return false;
    for (int i = 0; i < r->nmethods; i++)
        if (!(r->methods[i] = methods[i])) return false;
    return true;
}

/* Instructions whose name is not an operator's. */
static const char *const profile_names[BC_COUNT] = {
    [BC_CALL] = "prim::CallFunction",
    [BC_CALL_METHOD] = "prim::CallMethod",
    [BC_GET_ATTR] = "prim::GetAttr",
    [BC_SET_ATTR] = "prim::SetAttr",
    [BC_NEW_OBJECT] = "prim::CreateObject",
    [BC_NEW_LIST] = "prim::ListConstruct",
    [BC_NEW_TUPLE] = "prim::TupleConstruct",
    [BC_NEW_DICT] = "prim::DictConstruct",
    [BC_UNPACK_LIST] = "prim::ListUnpack",
    [BC_UNPACK_TUPLE] = "prim::TupleUnpack",
    [BC_TUPLE_INDEX] = "prim::TupleIndex",
    [BC_TUPLE_SLICE] = "prim::TupleSlice",
    [BC_ISINSTANCE] = "prim::isinstance",
    [BC_CAST] = "prim::unchecked_cast",
    [BC_CHECK] = "prim::unchecked_cast",
    [BC_RAISE] = "prim::RaiseException",
    [BC_PRINT] = "prim::Print",
    [BC_TOLIST] = "prim::tolist",
    [BC_CONTAINER_INDEX] = "prim::ModuleContainerIndex",
    [BC_FORK] = "prim::fork",
    [BC_WAIT] = "aten::wait",
    [BC_ENTER] = "prim::Enter",
    [BC_EXIT] = "prim::Exit"};

/* "mul_add_relu" of what a group computes, in order, none twice in a row. */
static void profile_kernel_names(const block *b, strbuf *out) {
    int names = 0, more = 0;
    const char *last = "";
    for (const node *n = b->first; n; n = n->next) {
        const char *name = node_kind_text(n);
        if (n->kind == N_LOOP) name = "aten::loop";
        if (strncmp(name, "aten::", 6) || node_is_op(n, SYM_SIZE) || !strcmp(name, last)) continue;
        last = name;
        size_t len = strlen(name + 6);
        if (name[6 + len - 1] == '_') len--;
        if (names++ < PROFILE_NAMES) sb_printf(out, "_%.*s", (int)len, name + 6);
        else more++;
    }
    if (more) sb_printf(out, "_and_%d_more", more);
}

static profile_shadow *profile_kernel_row(profile *c, const code *code, size_t k, const site *s) {
    strbuf text = STRBUF_INIT;
    profile_row like = {.kind = "kernel"};
    source_range at = code->ranges.data[k];
    const call_site *call = code->calls.data[k];
    sb_puts(&text, "fused");
    profile_kernel_names(fused_graph(s->group)->root, &text);
    size_t len = text.len;
    while (!profile_place(at, &like.file, &like.line) && call) {
        at = call->range;
        call = call->caller;
    }
    sb_printf(&text, " %s:%u", like.file ? like.file : "", like.line);
    char *key = sb_take(&text), *name = key ? mem_strndup(key, len) : NULL;
    like.name = name;
    profile_shadow *sh = name ? profile_shadow_of(c, PROFILE_OPS, key, &like) : NULL;
    mem_free(name);
    mem_free(key);
    return sh;
}

/* What a call instruction calls; NULL: known only when it runs, or comes with ctsc. */
static const function *profile_callee(const instr *i, const site *s) {
    const function *fn = i->op == BC_CALL || i->op == BC_FORK ? s->fn : NULL;
    return fn && fn->qualified ? fn : NULL;
}

static profile_shadow *profile_op_row(profile *c, const code *code, const instr *i, const site *s) {
    if (i->op == BC_FUSED) return profile_kernel_row(c, code, (size_t)(i - code->instrs.data), s);
    bool op = i->op == BC_CALL_OP,
         call = i->op == BC_CALL || i->op == BC_CALL_METHOD || i->op == BC_FORK;
    const char *name = op ? s->op->key : i->op == BC_UNSUPPORTED ? s->name : profile_names[i->op];
    if (i->op == BC_CALL && s->fn->cls) name = profile_names[BC_CALL_METHOD];
    if (!name) name = opcode_table[i->op].name;
    return profile_shadow_of(c, PROFILE_OPS, name,
                             &(profile_row){.name = name,
                                            .kind = op     ? "operator"
                                                    : call ? "call"
                                                           : "other"});
}

static profile_record *profile_record_new(profile *c, const code *code, const instr *i,
                                          const site *s) {
    profile_record *r = arena_new(&c->arena, profile_record);
    size_t k = (size_t)(i - code->instrs.data);
    const function *callee = profile_callee(i, s);
    r->op = profile_op_row(c, code, i, s);
    r->calls = callee != NULL;
    if (!profile_places(c, r, code->ranges.data[k], code->calls.data[k], code->name,
                        callee ? callee->qualified : NULL))
        return NULL;
    return r->op && !arena_failed(&c->arena) ? r : NULL;
}

static profile_code *profile_code_of(profile *c, const code *code) {
    profile_code *k = ptrmap_get(&c->codes, code);
    if (!k && (k = arena_new(&c->arena, profile_code)) && !ptrmap_put(&c->codes, code, k))
        return NULL;
    if (!k || k->instrs != code->instrs.data || k->n != code->instrs.len || k->name != code->name) {
        if (!k) return NULL;
        *k = (profile_code){.instrs = code->instrs.data, .n = code->instrs.len, .name = code->name};
        k->records = arena_array(&c->arena, profile_record *, k->n + 1);
    }
    return k->records && !arena_failed(&c->arena) ? k : NULL;
}

/* NULL if out of memory. */
static profile_record *profile_find(profile *c, const code *code, const instr *i) {
    profile_code *k = c->last_code;
    if (code != c->last || !k) {
        if (arena_failed(&c->arena) || !(k = profile_code_of(c, code))) return NULL;
        c->last = code;
        c->last_code = k;
    }
    profile_record **at = &k->records[i - code->instrs.data];
    if (!*at) *at = profile_record_new(c, code, i, &code->sites.data[i->a]);
    return *at;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void profile_touch(profile *c, profile_shadow *sh) {
    if (sh->touched) return;
    sh->touched = vec_push(&c->touched, sh);
    if (!sh->touched) c->failed = true;
}

static void profile_open(profile *c, profile_span *s, profile_record *r, uint64_t begin) {
    const recycle_watch *w = &c->watch;
    if (float_mode_take() && c->top) c->top->denormal = true;
    *s = (profile_span){.outer = c->top,
                        .r = r,
                        .begin = begin,
                        .blocks = w->blocks,
                        .bytes = w->bytes,
                        .live = w->live,
                        .outer_peak = w->peak};
    c->watch.peak = w->live;
    r->op->active++;
    for (int i = 0; i < r->nlines; i++) r->lines[i]->active++;
    for (int i = 0; i < r->nmethods; i++) r->methods[i]->active++;
    c->top = s;
}

static void profile_add(profile_sums *to, const profile_sums *x) {
    to->count += x->count;
    to->self_ns += x->self_ns;
    to->total_ns += x->total_ns;
    to->bytes += x->bytes;
    to->flops += x->flops;
    to->uncounted += x->uncounted;
    to->denormal += x->denormal;
    to->allocations += x->allocations;
    to->allocated += x->allocated;
    if (x->peak > to->peak) to->peak = x->peak;
}

static void profile_leave(profile *c, profile_shadow *sh, int64_t ns, int64_t peak) {
    profile_touch(c, sh);
    if (--sh->active == 0) sh->sums.total_ns += ns;
    if (peak > sh->sums.peak) sh->sums.peak = peak;
}

/* own: what a span of record s->r did itself; its line and method are those of the code around it
 * where it has none. */
static void profile_count(profile *c, const profile_span *s, const profile_sums *own) {
    const profile_span *line = s, *method = s;
    while (line && !line->r->nlines) line = line->outer;
    while (method && !method->r->nmethods) method = method->outer;
    profile_sums x = *own;
    if (line) {
        profile_touch(c, line->r->lines[0]);
        profile_add(&line->r->lines[0]->sums, &x);
    }
    if (!method) return;
    x.count = method == s && s->r->calls;
    profile_touch(c, method->r->methods[0]);
    profile_add(&method->r->methods[0]->sums, &x);
}

static void profile_event_add(profile *c, const profile_span *s, int64_t ns) {
    profile_event e = {.op = s->r->op->row,
                       .line = s->r->nlines ? s->r->lines[0]->row : NULL,
                       .shapes = s->shapes,
                       .begin = s->begin,
                       .ns = (uint64_t)ns,
                       .bytes = s->moved,
                       .flops = s->flops,
                       .thread = c->thread};
    if (c->events.len >= c->p->max_events || !vec_push(&c->events, e)) c->dropped++;
}

/* The clock stood at `now` when the span ended. Returns what it took. */
static int64_t profile_close(profile *c, profile_span *s, uint64_t now) {
    profile_record *r = s->r;
    int64_t ns = (int64_t)(now - c->lost - s->begin), peak = c->watch.peak - s->live;
    uint64_t blocks = c->watch.blocks - s->blocks, bytes = c->watch.bytes - s->bytes;
    profile_sums own = {.count = 1,
                        .self_ns = ns - s->inner_ns,
                        .bytes = s->moved,
                        .flops = s->flops < 0 ? 0 : s->flops,
                        .uncounted = s->flops < 0,
                        .denormal = float_mode_take() || s->denormal,
                        .allocations = blocks - s->inner_blocks,
                        .allocated = bytes - s->inner_bytes};
    profile_touch(c, r->op);
    profile_add(&r->op->sums, &own);
    profile_count(c, s, &own);
    profile_leave(c, r->op, ns, peak);
    for (int i = 0; i < r->nlines; i++) profile_leave(c, r->lines[i], ns, peak);
    for (int i = 0; i < r->nmethods; i++) profile_leave(c, r->methods[i], ns, peak);
    if (c->p->max_events) profile_event_add(c, s, ns);
    if (s->outer) {
        s->outer->inner_ns += ns;
        s->outer->inner_blocks += blocks;
        s->outer->inner_bytes += bytes;
    }
    if (s->outer_peak > c->watch.peak) c->watch.peak = s->outer_peak;
    c->top = s->outer;
    return ns;
}

static site_fn profile_watched(const instr *i, site_fn fn) {
    return i->op == BC_CALL_OP ? bc_call_op_watched : i->op == BC_FUSED ? bc_fused_watched : fn;
}

static ctsc_status profile_site(watch *w, frame *f, const instr *i, site_fn fn) {
    profile *c = (profile *)w;
    const site *at = &f->c->sites.data[i->a];
    uint64_t entered = clock_now(), mark = c->mark;
    profile_record *r = c->counting ? NULL : profile_find(c, f->c, i);
    profile_span s;
    c->mark = ++c->sites;
    if (r) {
        uint64_t begin = clock_now();
        c->lost += begin - entered;
        profile_open(c, &s, r, begin - c->lost);
    } else if (!c->counting) {
        c->failed = true;
    }
    ctsc_status st = profile_watched(i, fn)(f, at);
    c->mark = mark;
    if (!r) return st;
    uint64_t now = clock_now();
    profile_close(c, &s, now);
    c->lost += clock_now() - now;
    return st;
}

/* ---- operators and kernels ------------------------------------------------------------------- */

static void profile_print_tensor(const tensor *t, strbuf *out) {
    sb_printf(out, "%s[", dtype_table[t->dtype].torch_name);
    for (int i = 0; i < t->ndim; i++)
        sb_printf(out, "%s%lld", i ? "," : "", (long long)t->sizes[i]);
    sb_putc(out, ']');
}

static void profile_print_list(const list *l, strbuf *out) {
    sb_putc(out, '[');
    for (size_t i = 0; i < l->len && out->len < PROFILE_SHAPES; i++) {
        if (i) sb_puts(out, ", ");
        if (l->kind == LIST_TENSOR) profile_print_tensor(l->u.tensors[i], out);
        else if (l->kind == LIST_INT) sb_printf(out, "%lld", (long long)l->u.ints[i]);
        else sb_puts(out, "...");
        if (l->kind != LIST_TENSOR && l->kind != LIST_INT) break;
    }
    sb_putc(out, ']');
}

static void profile_print_value(value v, strbuf *out) {
    switch (v.tag) {
    case V_TENSOR: profile_print_tensor(v.u.tensor, out); break;
    case V_LIST: profile_print_list(v.u.list, out); break;
    case V_INT: sb_printf(out, "%lld", (long long)v.u.i); break;
    case V_FLOAT: sb_printf(out, "%g", v.u.f); break;
    case V_BOOL: sb_puts(out, v.u.b ? "True" : "False"); break;
    case V_NONE: sb_puts(out, "None"); break;
    default: sb_puts(out, "..."); break;
    }
}

/* The arguments as a timeline shows them. */
static const char *profile_shapes(profile *c, int nargs, const value *args) {
    strbuf text = STRBUF_INIT;
    for (int i = 0; i < nargs && text.len < PROFILE_SHAPES; i++) {
        if (i) sb_puts(&text, ", ");
        profile_print_value(args[i], &text);
    }
    const char *s = text.failed ? NULL : profile_text(c, sb_str(&text));
    sb_free(&text);
    return s;
}

static void profile_add_counted(profile *c, int64_t flops) {
    c->counted = c->counted < 0 || flops < 0 ? -1 : c->counted + flops;
}

/* Operators written in TorchScript have run others: those count. */
static void profile_operator(watch *w, const op *o, int nargs, const value *args, int nresults,
                             const value *results) {
    profile *c = (profile *)w;
    uint64_t entered = clock_now();
    profile_span *s = c->top;
    bool leaf = c->sites == c->mark;
    work_cost cost = leaf ? work_of_call(o, nargs, args, nresults, results)
                          : (work_cost){.known = true};
    int64_t flops = cost.known ? cost.flops : -1;
    if (c->counting) {
        profile_add_counted(c, flops);
        return;
    }
    if (!s) return;
    s->moved = cost.bytes;
    s->flops = flops;
    if (c->p->max_events) s->shapes = profile_shapes(c, nargs, args);
    c->lost += clock_now() - entered;
}

static uint64_t profile_kind(int n, const value *args) {
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        h = (h ^ args[i].tag) * 0x100000001b3u;
        if (args[i].tag == V_INT) h = (h ^ (uint64_t)args[i].u.i) * 0x100000001b3u;
        if (args[i].tag != V_TENSOR) continue;
        const tensor *t = args[i].u.tensor;
        h = (h ^ ((uint64_t)t->dtype << 8 | t->ndim)) * 0x100000001b3u;
        for (int k = 0; k < t->ndim; k++) h = (h ^ (uint64_t)t->sizes[k]) * 0x100000001b3u;
    }
    return h;
}

/* What the program does not see: steps and memory are as they were. */
static int64_t profile_run_group(profile *c, interp *in, const site *s, value *args) {
    recycle_watch watch = c->watch;
    uint64_t steps = in->rt->steps_left, sites = c->sites;
    c->counting = true;
    c->counted = 0;
    bool met = float_mode_take(); /* the kernel; not what is done to count it */
    bool done = fused_profile_run(s->group, in, args);
    float_mode_take();
    if (met) float_mode_note();
    c->counting = false;
    c->watch = watch;
    c->sites = sites;
    in->rt->steps_left = steps;
    return done ? c->counted : -1;
}

static int64_t profile_kernel_flops(profile *c, interp *in, profile_record *r, const site *s,
                                    value *args) {
    uint64_t kind = profile_kind(s->nargs, args);
    for (int i = 0; i < r->ncosts && i < PROFILE_COSTS; i++)
        if (r->costs[i].kind == kind) return r->costs[i].flops;
    int64_t flops = profile_run_group(c, in, s, args);
    int at = r->ncosts++ % PROFILE_COSTS;
    r->costs[at].kind = kind;
    r->costs[at].flops = flops;
    return flops;
}

static void profile_kernel(watch *w, interp *in, const site *s, value *args, const value *results,
                           bool native) {
    profile *c = (profile *)w;
    uint64_t entered = clock_now();
    profile_span *span = c->top;
    if (c->counting || !span) return;
    if (native) {
        for (int i = 0; i < s->nargs; i++) span->moved += work_value_bytes(args[i]);
        for (int i = 0; i < s->nresults; i++) span->moved += work_value_bytes(results[i]);
        span->flops = profile_kernel_flops(c, in, span->r, s, args);
    }
    if (c->p->max_events) span->shapes = profile_shapes(c, s->nargs, args);
    c->lost += clock_now() - entered;
}

static uint64_t profile_pause(const watch *w) { return clock_now() - ((const profile *)w)->lost; }

static void profile_resume(watch *w, uint64_t since, const char *what) {
    profile *c = (profile *)w;
    if (c->counting || !c->top) return;
    uint64_t now = clock_now();
    profile_sums own = {.count = 1, .self_ns = (int64_t)(now - c->lost - since)};
    profile_shadow *sh = profile_shadow_of(c, PROFILE_OPS, what,
                                           &(profile_row){.name = what, .kind = "other"});
    if (!sh) {
        c->failed = true;
        return;
    }
    profile_record r = {.op = sh};
    profile_span s = {.outer = c->top, .r = &r, .begin = since};
    profile_touch(c, sh);
    profile_count(c, &s, &own);
    own.total_ns = own.self_ns;
    profile_add(&sh->sums, &own);
    if (c->p->max_events) profile_event_add(c, &s, own.self_ns);
    c->top->inner_ns += own.self_ns;
    c->lost += clock_now() - now;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void profile_free(profile *c) {
    if (!c) return;
    for (int t = 0; t < PROFILE_TABLES; t++) strmap_free(&c->shadows[t]);
    strmap_free(&c->texts);
    ptrmap_free(&c->codes);
    ptrmap_free(&c->roots);
    vec_free(&c->touched);
    vec_free(&c->events);
    arena_free(&c->arena);
    mem_free(c);
}

static const watch_functions profile_functions = {.site = profile_site,
                                                  .operator= profile_operator,
                                                  .kernel = profile_kernel,
                                                  .pause = profile_pause,
                                                  .resume = profile_resume};

static profile *profile_new(profiler *p) {
    profile *c = mem_zalloc(sizeof *c);
    if (!c) return NULL;
    c->watched.fn = &profile_functions;
    c->p = p;
    if (arena_init(&c->arena)) return c;
    profile_free(c);
    return NULL;
}

static bool profiler_hold(profiler *p, unit *u) {
    for (size_t i = 0; i < p->units.len; i++)
        if (p->units.data[i] == u) return true;
    if (!vec_push(&p->units, u)) return false;
    unit_ref(u);
    return true;
}

/* What the call itself does: the interpreter between the instructions with sites. */
static profile_record *profile_root(profile *c, const function *f) {
    static const char name[] = "(interpreter)", nowhere[] = "(no line)";
    profile_record *r = ptrmap_get(&c->roots, f);
    if (r) return r;
    r = arena_new(&c->arena, profile_record);
    const char *method = f->qualified ? f->qualified : f->name;
    r->op = profile_shadow_of(c, PROFILE_OPS, name, &(profile_row){.name = name, .kind = "other"});
    if (!r->op || !profile_places(c, r, (source_range){0}, NULL, method, NULL)) return NULL;
    const char *file;
    uint32_t line;
    r->calls = true;
    r->nlines = 1;
    if (profile_place(f->range, &file, &line)) r->lines[0] = profile_line(c, file, line);
    else
        r->lines[0] = profile_shadow_of(c, PROFILE_LINES, nowhere,
                                        &(profile_row){.name = nowhere, .kind = "line"});
    return r->lines[0] && ptrmap_put(&c->roots, f, r) ? r : NULL;
}

watch *profiler_begin(profiler *p, function *f, recycler *r) {
    pthread_mutex_lock(&p->lock);
    bool held = !f->unit || profiler_hold(p, f->unit);
    profile *c = held && p->idle.len ? vec_pop(&p->idle) : NULL;
    pthread_mutex_unlock(&p->lock);
    if (held && !c) c = profile_new(p);
    profile_record *root = c ? profile_root(c, f) : NULL;
    if (!root) {
        profile_free(c);
        return NULL;
    }
    c->watch = (recycle_watch){0};
    c->lost = c->sites = c->mark = 0;
    c->thread = (int)syscall(SYS_gettid);
    c->last = NULL;
    c->noted = float_mode_take();
    r->watch = &c->watch;
    profile_open(c, &c->root, root, clock_now());
    return &c->watched;
}

void profiler_end(profiler *p, watch *w, recycler *r) {
    profile *c = (profile *)w;
    int64_t ns = profile_close(c, &c->root, clock_now());
    if (c->noted) float_mode_note(); /* it was the program's own */
    r->watch = NULL;
    pthread_mutex_lock(&p->lock);
    p->calls++;
    p->total_ns += ns;
    for (size_t i = 0; i < c->touched.len; i++) {
        profile_shadow *sh = c->touched.data[i];
        profile_add(&sh->row->sums, &sh->sums);
        sh->sums = (profile_sums){0};
        sh->touched = false;
    }
    for (size_t i = 0; i < c->events.len; i++)
        if (p->events.len >= p->max_events || !vec_push(&p->events, c->events.data[i]))
            c->dropped++;
    p->dropped += c->dropped;
    p->failed |= c->failed;
    c->touched.len = c->events.len = 0;
    c->dropped = 0;
    bool keep = !c->failed && !arena_failed(&c->arena) && vec_push(&p->idle, c);
    c->failed = false;
    pthread_mutex_unlock(&p->lock);
    if (!keep) profile_free(c);
}

/* ---- profilers ------------------------------------------------------------------------------- */

profiler *profiler_new(size_t max_events) {
    profiler *p = mem_zalloc(sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->max_events = max_events;
    p->origin = clock_now();
    if (arena_init(&p->arena)) return p;
    profiler_free(p);
    return NULL;
}

void profiler_free(profiler *p) {
    if (!p) return;
    for (size_t i = 0; i < p->idle.len; i++) profile_free(p->idle.data[i]);
    for (size_t i = 0; i < p->units.len; i++) unit_unref(p->units.data[i]);
    for (int t = 0; t < PROFILE_TABLES; t++) {
        strmap_free(&p->rows[t]);
        vec_free(&p->list[t]);
    }
    strmap_free(&p->texts);
    vec_free(&p->idle);
    vec_free(&p->units);
    vec_free(&p->events);
    arena_free(&p->arena);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

void profiler_reset(profiler *p) {
    pthread_mutex_lock(&p->lock);
    for (int t = 0; t < PROFILE_TABLES; t++)
        for (size_t i = 0; i < p->list[t].len; i++) p->list[t].data[i]->sums = (profile_sums){0};
    p->events.len = 0;
    p->calls = p->dropped = 0;
    p->total_ns = 0;
    p->failed = false;
    p->origin = clock_now();
    pthread_mutex_unlock(&p->lock);
}
