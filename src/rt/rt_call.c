/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_call.c - a call of a compiled function: arguments become tensors, results are copied to the
 * caller's memory.
 * Tests: tests/aot/
 */
#include "cpu/isa.h"
#include "rt/rt_internal.h"

typedef struct rt_ports {
    const rt_port *at;
    const void *const *in;
    void *const *out;
    const int64_t *dims;
    int ndims;
} rt_ports;

static int64_t rt_size(const rt_ports *x, const rt_port *p, int k) {
    int64_t n = p->sizes[k];
    for (int i = 0; i < x->ndims; i++) n += p->factors[k][i] * x->dims[i];
    return p->divisors[k] > 1 ? n / p->divisors[k] : n;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static ctsc_status rt_read_tensor(diag *d, rt_ports *x, const rt_port *p, value *out) {
    int64_t sizes[RT_SIZES], bytes = (int64_t)dtype_size((dtype)p->dtype);
    tensor *t;
    for (int k = 0; k < p->ndim; k++) bytes *= sizes[k] = rt_size(x, p, k);
    storage *s = storage_borrow((void *)(uintptr_t)*x->in++, (size_t)bytes, NULL, NULL);
    if (!s) return diag_no_memory(d);
    s->read_only = true;
    int64_t strides[RT_SIZES], step = 1;
    for (int k = p->ndim - 1; k >= 0; k--) {
        strides[k] = step;
        if (sizes[k]) step *= sizes[k];
    }
    ctsc_status st = tensor_on_storage(d, s, (dtype)p->dtype, p->ndim, sizes, strides, 0, &t);
    storage_unref(s);
    if (st == CTSC_OK) *out = value_tensor_take(t);
    return st;
}

static ctsc_status rt_read(diag *d, rt_ports *x, value *out) {
    const rt_port *p = x->at++;
    *out = value_none();
    switch (p->tag) {
    case V_TENSOR: return rt_read_tensor(d, x, p, out);
    case V_INT: *out = value_int(*(const int64_t *)*x->in++); return CTSC_OK;
    case V_FLOAT: *out = value_float(*(const double *)*x->in++); return CTSC_OK;
    case V_BOOL: *out = value_bool(*(const uint8_t *)*x->in++ != 0); return CTSC_OK;
    case V_TUPLE: {
        tuple *t = tuple_new((size_t)p->count, NULL);
        if (!t) return diag_no_memory(d);
        *out = value_tuple_take(t);
        for (int i = 0; i < p->count; i++) TRY(rt_read(d, x, &t->items[i]));
        return CTSC_OK;
    }
    case V_LIST: {
        list *l = list_new((list_kind)p->dtype, NULL, (size_t)p->count);
        if (!l) return diag_no_memory(d);
        *out = value_list_take(l);
        for (int i = 0; i < p->count; i++) {
            value item = value_none();
            TRY(rt_read(d, x, &item));
            if (!list_append_take(l, item)) return diag_no_memory(d);
        }
        return CTSC_OK;
    }
    default: return CTSC_OK;
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static ctsc_status rt_other(diag *d) {
    return rt_say(d, CTSC_BAD_FILE, "a result has other sizes, or another type, than stated");
}

static ctsc_status rt_write_tensor(diag *d, rt_ports *x, const rt_port *p, const tensor *t) {
    int64_t sizes[RT_SIZES], strides[RT_SIZES], step = 1;
    void *to = *x->out++;
    if (t->dtype != p->dtype || t->ndim != p->ndim) return rt_other(d);
    for (int k = 0; k < p->ndim; k++)
        if ((sizes[k] = rt_size(x, p, k)) != t->sizes[k]) return rt_other(d);
    size_t bytes = (size_t)t->numel * dtype_size((dtype)t->dtype);
    if (tensor_is_contiguous(t)) {
        memcpy(to, tensor_data(t), bytes);
        return CTSC_OK;
    }
    for (int k = p->ndim - 1; k >= 0; k--) {
        strides[k] = step;
        step *= sizes[k] ? sizes[k] : 1;
    }
    storage *s = storage_borrow(to, bytes, NULL, NULL);
    tensor *target = NULL;
    if (!s) return diag_no_memory(d);
    ctsc_status st = tensor_on_storage(d, s, (dtype)p->dtype, p->ndim, sizes, strides, 0, &target);
    storage_unref(s);
    if (st == CTSC_OK) st = tensor_copy(d, target, t);
    tensor_unref(target);
    return st;
}

static ctsc_status rt_write(diag *d, rt_ports *x, const value *v) {
    if (v->tag == V_NONE) return CTSC_OK;
    if (v->tag == V_TUPLE) {
        for (size_t i = 0; i < v->u.tuple->len; i++) TRY(rt_write(d, x, &v->u.tuple->items[i]));
        return CTSC_OK;
    }
    if (v->tag == V_DICT) {
        for (size_t i = 0; i < v->u.dict->used; i++)
            if (v->u.dict->entries[i].key.tag != V_UNINIT)
                TRY(rt_write(d, x, &v->u.dict->entries[i].val));
        return CTSC_OK;
    }
    if (v->tag == V_LIST) {
        ctsc_status st = CTSC_OK;
        for (size_t i = 0; i < v->u.list->len && st == CTSC_OK; i++) {
            value item = list_get(v->u.list, i);
            st = rt_write(d, x, &item);
            value_unref(item);
        }
        return st;
    }
    if (!x->at || x->at->tag != v->tag) return rt_other(d);
    const rt_port *p = x->at++;
    switch (v->tag) {
    case V_TENSOR: return rt_write_tensor(d, x, p, v->u.tensor);
    case V_INT: *(int64_t *)*x->out++ = v->u.i; return CTSC_OK;
    case V_FLOAT: *(double *)*x->out++ = v->u.f; return CTSC_OK;
    case V_BOOL: *(uint8_t *)*x->out++ = v->u.b; return CTSC_OK;
    default: return rt_other(d);
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

enum { RT_PARAMS = 64 };

static ctsc_status rt_run(rt_state *s, rt_ports *x, diag *d) {
    const rt_program *p = s->program;
    op_ctx cx = {.diag = d};
    value args[RT_PARAMS], out = value_none();
    ctsc_status st = CTSC_OK;
    int n = 0;
    for (; n < p->nparams && st == CTSC_OK; n++) st = rt_read(d, x, &args[n]);
    if (st != CTSC_OK) {
        while (n > 0) value_unref(args[--n]);
        return st;
    }
    TRY(rt_run_code(&cx, p->code, args, &out));
    const rt_port none = {.tag = V_UNINIT};
    x->at = p->noutputs ? p->outputs : &none;
    st = rt_write(d, x, &out);
    if (st == CTSC_OK && p->noutputs && x->at != p->outputs + p->noutputs) st = rt_other(d);
    value_unref(out);
    return st;
}

ctsc_status rt_say(diag *d, ctsc_status status, const char *message) {
    rt_state *s = *ctsc_rt_current();
    if (d->status == CTSC_OK) s->message = message;
    return rt_fail(d, status);
}

static int rt_status_of(const rt_state *s, ctsc_status st) {
    if (st == CTSC_OK) return RT_OK;
    if (s->full) return RT_WORKSPACE;
    if (st == CTSC_UNSUPPORTED || st == CTSC_INTERNAL) return RT_UNSUPPORTED;
    return st == CTSC_BAD_FILE ? RT_RESULT : RT_RAISED;
}

static int rt_tell(char *workspace, size_t room, const char *message, int status) {
    size_t n = strlen(message);
    if (room && n >= room) n = room - 1;
    if (room) {
        memmove(workspace, message, n);
        workspace[n] = 0;
    }
    return status;
}

int ctsc_rt_call(const rt_program *p, const void *const *in, void *const *out, void *workspace,
                 const int64_t *dims) {
    rt_state **current = ctsc_rt_current(), *outer = *current;
    enum { ALIGN = 64, ROOM = 160 };
    if (p->version != RT_VERSION || !isa_has((isa)p->isa))
        return rt_tell(workspace, p->workspace < ROOM ? 0 : ROOM,
                       "compiled for another version of the library, or another processor",
                       RT_VERSION_MISMATCH);
    for (int i = 0; i < p->ndims; i++)
        if (dims[i] < p->least[i] || dims[i] > p->most[i])
            return rt_tell(workspace, ROOM, "a dim is out of the range that it was compiled for",
                           RT_WORKSPACE);
    char *base = (char *)workspace + (-(uintptr_t)workspace & (ALIGN - 1));
    rt_state *s = (rt_state *)(void *)base;
    size_t head = (sizeof *s + ALIGN - 1) / ALIGN * ALIGN;
    *s = (rt_state){.program = p};
    rt_heap_init(&s->heap, base + head, p->workspace - (size_t)(base - (char *)workspace) - head);
    rt_ports x = {.at = p->inputs, .in = in, .out = out, .dims = dims, .ndims = p->ndims};
    diag d = {0};
    *current = s;
    ctsc_status st = rt_run(s, &x, &d);
    int status = rt_status_of(s, st);
    const char *message = s->message;
    *current = outer;
    static const char *const texts[] = {
        [RT_RAISED] = "an operator failed",
        [RT_WORKSPACE] = "the workspace is too small",
        [RT_UNSUPPORTED] = "an operator was given what it was not compiled for",
        [RT_RESULT] = "a result is not as stated",
    };
    if (status == RT_OK) return status;
    return rt_tell(workspace, ROOM, message ? message : texts[status], status);
}
