/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - running a call on tensors that do not exist (record.h).
 *
 * Ownership: a recording holds references on the tensors and texts among its conditions, none on
 * objects: they own the code it belongs to.
 * Tests: tests/unit/test_cuda_recording.c
 */
#include "runtime/cuda/record.h"

#include "base/map.h"
#include "runtime/cuda/cuda_copy.h"
#include "runtime/cuda/cuda_ops.h"
#include "runtime/interp/watch.h"

#include <string.h>

/* One of the two runs. */
typedef struct record {
    watch watched; /* what the interpreter calls */
    recording *r;
    cuda_capture *capture;
    const object *self; /* the module, or NULL */
    ptrmap seen;        /* tensors and attributes that are among the conditions */
    /* storages of the host that the call has made of what is the same each time; references */
    ptrmap made;
    signature *given; /* of the arguments that do not exist */
    value *args;      /* they */
    int nargs;
} record;

static ctsc_status record_refuse(diag *d, const char *what) {
    ctsc_status s = cuda_capture_refuse(d, what);
    return s != CTSC_OK ? s : diag_fail(d, CTSC_INTERNAL, "there is nothing to refuse");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static ctsc_status record_condition_tensor(record *r, diag *d, tensor *t) {
    record_tensor c = {.t = t, .data = t->storage->data};
    if (tensor_device(t) == DEVICE_HOST)
        return ptrmap_get(&r->made, t->storage)
                   ? CTSC_OK
                   : record_refuse(d, "a tensor of the host takes part");
    if (cuda_capture_has(r->capture, t->storage->data) || ptrmap_get(&r->seen, t)) return CTSC_OK;
    TRY(tensor_alias(d, t, &c.was));
    if (!vec_push(&r->r->tensors, c)) {
        tensor_unref(c.was);
        return diag_no_memory(d);
    }
    tensor_ref(t);
    return ptrmap_put(&r->seen, t, t) ? CTSC_OK : diag_no_memory(d);
}

static ctsc_status record_condition_value(record *r, diag *d, value v) {
    if (v.tag == V_TENSOR) return record_condition_tensor(r, d, v.u.tensor);
    const list *l = v.tag == V_LIST ? v.u.list : NULL;
    for (size_t i = 0; l && l->kind == LIST_TENSOR && i < l->len; i++)
        TRY(record_condition_tensor(r, d, l->u.tensors[i]));
    for (size_t i = 0; l && l->kind == LIST_VALUE && i < l->len; i++)
        TRY(record_condition_value(r, d, l->u.values[i]));
    return CTSC_OK;
}

/* Is o the module, or an attribute that was read before? */
static bool record_knows(const record *r, const object *o) {
    for (size_t i = r->r->attributes.len; o != r->self && i-- > 0;)
        if (r->r->attributes.data[i].v.tag == V_OBJECT && r->r->attributes.data[i].v.u.object == o)
            return true;
    return o == r->self;
}

static ctsc_status record_attribute_read(record *r, diag *d, const value *of, const site *s) {
    object *o = of->tag == V_OBJECT ? of->u.object : NULL;
    if (!o || (uint64_t)s->imm >= o->nslots || !record_knows(r, o))
        return record_refuse(d, "an attribute of an object is read that is not part of the module");
    value v = o->slots[s->imm];
    if (v.tag == V_UNINIT ||
        (v.tag > V_FUNCTION && v.tag != V_STR && v.tag != V_TENSOR && v.tag != V_OBJECT))
        return record_refuse(d, "an attribute is read that is a container");
    if (ptrmap_get(&r->seen, &o->slots[s->imm])) return CTSC_OK;
    if (v.tag == V_TENSOR) TRY(record_condition_tensor(r, d, v.u.tensor));
    if (!vec_push(&r->r->attributes, ((record_attribute){o, (size_t)s->imm, v})) ||
        !ptrmap_put(&r->seen, &o->slots[s->imm], o))
        return diag_no_memory(d);
    if (v.tag != V_OBJECT) value_ref(v);
    return CTSC_OK;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* dropout and the like do not draw where nothing is trained. */
static bool record_draws_nothing(frame *f, const site *s) {
    const schema *sc = s->op->schema;
    for (int i = 0; i < sc->nargs && i < s->nargs; i++) {
        const value *v = site_arg(f, s, i);
        if ((!strcmp(sc->args[i].name, "train") || !strcmp(sc->args[i].name, "training")) &&
            v->tag == V_BOOL)
            return !v->u.b;
    }
    return false;
}

/* Of operators that write to their argument `at`: does o leave the handle as it is? Others resize
 * it, turn it, give it other memory. */
static bool record_writes_elements(const op *o, int at) {
    if (o->name_symbol == SYM_COPY_ || o->name_symbol == SYM_FILL_ || o->name_symbol == SYM_ZERO_)
        return true;
    bool derived = o->fn == op_host_installed->derived_write || (o->fn_ctx && o->traits.into);
    return derived && at == 0; /* out= may resize */
}

/* What an operator makes on the host of numbers, or of tensors that were so made. */
static ctsc_status record_made(record *r, diag *d, tensor *t) {
    if (tensor_device(t) != DEVICE_HOST || ptrmap_get(&r->made, t->storage)) return CTSC_OK;
    if (!ptrmap_put(&r->made, t->storage, t->storage)) return diag_no_memory(d);
    storage_ref(t->storage);
    return CTSC_OK;
}

/* Constants of the code that are on the host: nothing writes to them, unless it is seen here. */
static ctsc_status record_constants(record *r, frame *f, const site *s) {
    for (int i = 0; i < s->nargs; i++) {
        const value *v = site_arg(f, s, i);
        if (site_operands(f, s)[i] < 0 && v->tag == V_TENSOR)
            TRY(record_made(r, f->in->d, v->u.tensor));
    }
    return CTSC_OK;
}

static ctsc_status record_operator(record *r, frame *f, const site *s) {
    const op *o = s->op;
    diag *d = f->in->d;
    if (o->traits.unsafe || o->traits.foreign) return record_refuse(d, o->key);
    if ((o->traits.side_effect || op_traits_differ(o->traits)) && !record_draws_nothing(f, s))
        return record_refuse(d, o->key);
    TRY(record_constants(r, f, s));
    for (int i = 0; i < s->nargs; i++) {
        value v = *site_arg(f, s, i);
        bool written = i < o->schema->nargs && o->schema->args[i].alias &&
                       o->schema->args[i].alias->write;
        TRY(record_condition_value(r, d, v));
        if (written && site_operands(f, s)[i] < 0) return record_refuse(d, o->key);
        if (written && v.tag == V_TENSOR &&
            !cuda_capture_has(r->capture, v.u.tensor->storage->data) &&
            !record_writes_elements(o, i))
            return record_refuse(d, o->key);
    }
    return CTSC_OK;
}

static ctsc_status record_arguments(record *r, frame *f, const site *s) {
    TRY(record_constants(r, f, s));
    for (int i = 0; i < s->nargs; i++) TRY(record_condition_value(r, f->in->d, *site_arg(f, s, i)));
    return CTSC_OK;
}

static ctsc_status record_results(record *r, frame *f, const site *s) {
    for (int i = 0; i < s->nresults; i++) {
        int32_t at = site_operands(f, s)[s->nargs + i];
        value v = at == SITE_UNUSED ? value_none() : f->regs[at];
        if (v.tag == V_TENSOR) TRY(record_made(r, f->in->d, v.u.tensor));
        for (size_t k = 0; v.tag == V_LIST && v.u.list->kind == LIST_TENSOR && k < v.u.list->len;
             k++)
            TRY(record_made(r, f->in->d, v.u.list->u.tensors[k]));
    }
    return CTSC_OK;
}

static ctsc_status record_site(watch *w, frame *f, const instr *i, site_fn fn) {
    record *r = (record *)w;
    const site *s = &f->c->sites.data[i->a];
    switch (i->op) {
    case BC_CALL_OP: TRY(record_operator(r, f, s)); break;
    case BC_FUSED: TRY(record_arguments(r, f, s)); break;
    case BC_GET_ATTR: TRY(record_attribute_read(r, f->in->d, site_arg(f, s, 0), s)); break;
    case BC_CALL:
    case BC_CALL_METHOD:
    case BC_NEW_LIST:
    case BC_NEW_TUPLE:
    case BC_NEW_DICT:
    case BC_UNPACK_LIST:
    case BC_UNPACK_TUPLE:
    case BC_TUPLE_INDEX:
    case BC_TUPLE_SLICE:
    case BC_CAST:
    case BC_CHECK:
    case BC_ISINSTANCE:
    case BC_RAISE: break;
    default: return record_refuse(f->in->d, opcode_table[i->op].meaning);
    }
    TRY(fn(f, s));
    return i->op == BC_CALL_OP || i->op == BC_FUSED ? record_results(r, f, s) : CTSC_OK;
}

/* ---- arguments that do not exist ------------------------------------------------------------- */

/* Views of s's storages at addresses that captures make up. */
static ctsc_status record_make_tensors(record *r, diag *d, cuda *c, const signature *s,
                                       storage **storages, tensor **tensors) {
    for (int i = 0; i < s->nstorages; i++) {
        void *at;
        TRY(cuda_capture_input(r->capture, d, s->storages[i]->data, s->storages[i]->nbytes, &at));
        TRY(device_take(d, c, at, s->storages[i]->nbytes, &storages[i]));
    }
    for (int i = 0; i < s->ntensors; i++) {
        const tensor *t = s->tensors[i];
        int k = 0;
        while (s->storages[k] != t->storage) k++;
        TRY(tensor_view_raw(d, &(tensor){.dtype = t->dtype, .storage = storages[k]}, t->ndim,
                            t->sizes, t->strides, t->offset, &tensors[i]));
        tensors[i]->requires_grad = t->requires_grad;
    }
    return CTSC_OK;
}

static ctsc_status record_make_arguments(record *r, diag *d, cuda *c, const signature *s, int n,
                                         const value *args) {
    storage *storages[SIGNATURE_TENSORS] = {NULL};
    tensor *tensors[SIGNATURE_TENSORS] = {NULL};
    ctsc_status st = record_make_tensors(r, d, c, s, storages, tensors);
    if (st == CTSC_OK && (!(r->args = mem_zalloc((size_t)n * sizeof *r->args)) ||
                          !(r->given = mem_alloc(sizeof *r->given))))
        st = diag_no_memory(d);
    for (; r->nargs < n && st == CTSC_OK; r->nargs++)
        if (!signature_substitute(s, tensors, args[r->nargs], &r->args[r->nargs]))
            st = diag_no_memory(d);
    for (int i = 0; i < s->nstorages; i++) storage_unref(storages[i]);
    for (int i = 0; i < s->ntensors; i++) tensor_unref(tensors[i]);
    if (st == CTSC_OK && !signature_of(r->given, n, r->args))
        st = diag_fail(d, CTSC_INTERNAL, "arguments that do not exist differ from those that do");
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

static const watch_functions record_functions = {.site = record_site};

/* Calls f with r's arguments, in a runtime of its own. */
static ctsc_status record_execute(record *r, const runtime *rt, function *f, diag *d,
                                  value *result) {
    runtime own;
    runtime_init(&own);
    own.root = rt->root;
    own.opt = rt->opt;
    own.depth = rt->depth;
    own.cancelled = rt->cancelled;
    own.deadline = rt->deadline;
    r->watched.fn = &record_functions;
    own.watch = &r->watched;
    ctsc_status s = interp_call(&own, f, r->nargs, r->args, d, result);
    bool drawn = own.rng.left != 0 || own.rng.seeded;
    return s == CTSC_OK && drawn ? record_refuse(d, "random numbers are drawn") : s;
}

/* Lists that were appended to, tensors that were resized. */
static ctsc_status record_check_arguments(const record *r, diag *d) {
    signature *after = mem_alloc(sizeof *after);
    if (!after) return diag_no_memory(d);
    bool same = signature_of(after, r->nargs, r->args) &&
                signature_equal(after, r->given->nwords, r->given->words);
    mem_free(after);
    return same ? CTSC_OK
                : diag_fail(d, CTSC_UNSUPPORTED,
                            "a call cannot be recorded: it changes its arguments");
}

static ctsc_status record_check_result(const record *r, diag *d) {
    const signature *shape = r->r->result_shape;
    bool known = signature_of(r->r->result_shape, 1, &r->r->result) && r->r->result.tag != V_OBJECT;
    for (int i = 0; i < shape->nstorages && known; i++)
        known = cuda_capture_has(r->capture, shape->storages[i]->data);
    for (int i = 0; i < shape->ncontainers && known; i++)
        for (int k = 0; k < r->given->ncontainers; k++)
            known &= shape->containers[i] != r->given->containers[k];
    return known ? CTSC_OK
                 : diag_fail(d, CTSC_UNSUPPORTED, "a call cannot be recorded: of what it returns");
}

static ctsc_status record_run(record *r, int which, const runtime *rt, function *f,
                              const signature *s, int n, const value *args, diag *d) {
    cuda *c;
    TRY(cuda_of_device(d, s->device, &c));
    if (!(r->r->result_shape = mem_alloc(sizeof *r->r->result_shape))) return diag_no_memory(d);
    r->r->result_shape->nwords = 0;
    TRY(cuda_capture_begin(c, d, which, &r->capture));
    ctsc_status st = record_make_arguments(r, d, c, s, n, args);
    if (st == CTSC_OK) st = record_execute(r, rt, f, d, &r->r->result);
    ctsc_status ended = cuda_capture_end(r->capture, st == CTSC_OK ? d : NULL);
    if (st == CTSC_OK) st = ended;
    if (st == CTSC_OK) st = record_check_arguments(r, d);
    return st == CTSC_OK ? record_check_result(r, d) : st;
}

static void record_clear(record *r) {
    for (int i = 0; i < r->nargs; i++) value_unref(r->args[i]);
    mem_free(r->args);
    mem_free(r->given);
    for (size_t i = 0; i < r->made.cap; i++)
        if (r->made.slots[i].key) storage_unref(r->made.slots[i].value);
    ptrmap_free(&r->made);
    ptrmap_free(&r->seen);
    cuda_capture_free(r->capture);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Where the i-th tensor of the result comes from; slots: of the replay's results so far. */
static ctsc_status record_output_of(const record *r, diag *d, int i, int *slots,
                                    record_output *out) {
    const signature *shape = r->r->result_shape;
    const tensor *t = shape->tensors[i];
    size_t at = 0;
    int slot = cuda_capture_slot(r->capture, t->storage->data, &at);
    *out = (record_output){-1, -1, -1};
    for (int k = 0; k < r->given->ntensors; k++)
        if (r->given->tensors[k] == t) out->argument = k;
    for (int k = 0; k < r->given->nstorages; k++)
        if (r->given->storages[k] == t->storage) out->storage = k;
    if (out->storage >= 0) return CTSC_OK;
    if (slot < r->given->nstorages || at)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "a call cannot be recorded: a result begins within other memory");
    int n = (int)r->r->results.len, k = 0;
    while (k < n && slots[k] != slot) k++;
    if (k == n && !vec_push(&r->r->results, t->storage->nbytes)) return diag_no_memory(d);
    slots[k] = slot;
    out->result = k;
    return CTSC_OK;
}

static ctsc_status record_outputs(const record *r, diag *d, int *slots) {
    for (int i = 0; i < r->r->result_shape->ntensors; i++) {
        record_output o;
        TRY(record_output_of(r, d, i, slots, &o));
        if (!vec_push(&r->r->outputs, o)) return diag_no_memory(d);
    }
    return CTSC_OK;
}

static ctsc_status record_build(const record runs[2], diag *d) {
    int slots[2][SIGNATURE_TENSORS];
    recording *a = runs[0].r, *b = runs[1].r;
    TRY(record_outputs(&runs[0], d, slots[0]));
    TRY(record_outputs(&runs[1], d, slots[1]));
    size_t n = a->results.len;
    bool same = signature_equal(a->result_shape, b->result_shape->nwords, b->result_shape->words) &&
                n == b->results.len && a->attributes.len == b->attributes.len &&
                a->tensors.len == b->tensors.len && !memcmp(slots[0], slots[1], n * sizeof **slots);
    if (!same)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "a call cannot be recorded: it does not return the same each time");
    return cuda_replay_make(d, runs[0].capture, runs[1].capture, (int)n, slots[0], &a->replay);
}

ctsc_status record_call(const runtime *rt, function *f, const signature *s, int n,
                        const value *args, diag *d, recording *out) {
    recording made[2] = {{0}};
    record runs[2] = {{.r = NULL}};
    ctsc_status st = CTSC_OK;
    for (int which = 0; which < 2 && st == CTSC_OK; which++) {
        runs[which].r = &made[which];
        runs[which].self = n && args[0].tag == V_OBJECT ? args[0].u.object : NULL;
        st = record_run(&runs[which], which, rt, f, s, n, args, d);
    }
    if (st == CTSC_OK) st = record_build(runs, d);
    for (int which = 0; which < 2; which++) record_clear(&runs[which]);
    recording_clear(&made[1]);
    if (st == CTSC_OK) *out = made[0];
    else recording_clear(&made[0]);
    return st;
}

void recording_clear(recording *r) {
    cuda_replay_free(r->replay);
    for (size_t i = 0; i < r->attributes.len; i++)
        if (r->attributes.data[i].v.tag != V_OBJECT) value_unref(r->attributes.data[i].v);
    for (size_t i = 0; i < r->tensors.len; i++) {
        tensor_unref(r->tensors.data[i].t);
        tensor_unref(r->tensors.data[i].was);
    }
    vec_free(&r->attributes);
    vec_free(&r->tensors);
    vec_free(&r->outputs);
    vec_free(&r->results);
    value_unref(r->result);
    mem_free(r->result_shape);
    *r = (recording){0};
}
