/* SPDX-License-Identifier: Apache-2.0 */
/*
 * through_host.c - the way through the host, for operators without a version for devices and for
 * those whose results the host makes.
 *
 * Method. Each tensor is copied once; what the schema marks as written is copied back. The operator
 * then has no argument on a device, so that its call is one like any other. Results go where they
 * belong: to the argument `device` if there is one, else to the arguments' device.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "runtime/cuda/through_host.h"

#include "base/log.h"
#include "base/map.h"
#include "runtime/cuda/dispatch.h"
#include "runtime/kernels/create/create.h"

#include <pthread.h>
#include <string.h>

ctsc_status through_host_move(diag *d, int n, const value *args, int device, value *out) {
    for (int i = 0; i < n; i++) {
        ctsc_status s = value_to_device(d, args[i], device, &out[i]);
        if (s == CTSC_OK) continue;
        while (i-- > 0) value_unref(out[i]);
        return s;
    }
    return CTSC_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

enum { THROUGH_ARGS = 64 };

/* The device that results go to. */
static int through_device(op_ctx *cx, const value *args) {
    for (int i = 0; i < cx->op->schema->nargs; i++) {
        const list *l = args[i].tag == V_LIST && args[i].u.list->kind == LIST_TENSOR
                            ? args[i].u.list
                            : NULL;
        const tensor *t = args[i].tag == V_TENSOR ? args[i].u.tensor
                          : l && l->len           ? l->u.tensors[0]
                                                  : NULL;
        if (t && tensor_device(t) != DEVICE_HOST) return create_device(cx, args, t);
    }
    return create_device(cx, args, NULL);
}

static const alias_info *through_written(const schema *s, int i) {
    const alias_info *a = s->args[i].alias;
    return a && a->write ? a : NULL;
}

/* Copies what the host's function wrote to host[i] into the argument
 * that it replaces; a result that is the one is the other. */
static ctsc_status through_write_back(op_ctx *cx, const value *args, const value *host,
                                      value *results) {
    const schema *s = cx->op->schema;
    for (int i = 0; i < s->nargs; i++) {
        if (!through_written(s, i) || args[i].tag != V_TENSOR ||
            args[i].u.tensor == host[i].u.tensor)
            continue;
        tensor *target = args[i].u.tensor;
        if (!tensor_same_shape(target, host[i].u.tensor))
            TRY(tensor_resize(cx->diag, target, host[i].u.tensor->ndim, host[i].u.tensor->sizes));
        TRY(tensor_copy(cx->diag, target, host[i].u.tensor));
        for (int k = 0; k < s->nreturns; k++)
            if (results[k].tag == V_TENSOR && results[k].u.tensor == host[i].u.tensor)
                value_set(&results[k], value_ref(args[i]));
    }
    return CTSC_OK;
}

static ctsc_status through_results(op_ctx *cx, int device, value *results) {
    for (int i = 0; i < cx->op->schema->nreturns; i++) {
        value moved;
        TRY(value_to_device(cx->diag, results[i], device, &moved));
        value_set(&results[i], moved);
    }
    return CTSC_OK;
}

static ctsc_status through_call(op_ctx *cx, const value *args, value *host, value *results) {
    const schema *s = cx->op->schema;
    for (int i = 0; i < s->nargs; i++)
        if (host[i].tag == V_DEVICE) host[i] = value_device(DEVICE_HOST);
    ctsc_status st = op_function(cx->op, s->nargs, host)(cx, host, results);
    if (st == CTSC_OK) st = through_write_back(cx, args, host, results);
    if (st == CTSC_OK) st = through_results(cx, through_device(cx, args), results);
    for (int i = 0; st != CTSC_OK && i < s->nreturns; i++) value_set(&results[i], value_none());
    return st;
}

ctsc_status through_host(op_ctx *cx, const value *args, value *results) {
    value host[THROUGH_ARGS];
    int n = cx->op->schema->nargs;
    if (n > THROUGH_ARGS)
        return diag_fail(cx->diag, CTSC_INTERNAL, "%s has too many arguments", cx->op->key);
    TRY(through_host_move(cx->diag, n, args, DEVICE_HOST, host));
    ctsc_status s = through_call(cx, args, host, results);
    for (int i = 0; i < n; i++) value_unref(host[i]);
    return s;
}

/* ---- with the program's consent -------------------------------------------------------------- */

static atomic_bool fallback_allowed;

void device_allow_fallback(bool allow) { atomic_store(&fallback_allowed, allow); }

static pthread_mutex_t fallback_lock = PTHREAD_MUTEX_INITIALIZER;
static ptrmap fallback_warned; /* of op; as long as the process */

static bool fallback_is_first(const op *o) {
    pthread_mutex_lock(&fallback_lock);
    bool first = !ptrmap_get(&fallback_warned, o) && ptrmap_put(&fallback_warned, o, (void *)o);
    pthread_mutex_unlock(&fallback_lock);
    return first;
}

static void fallback_warn(op_ctx *cx) {
    strbuf text = STRBUF_INIT;
    sb_printf(&text,
              "The operator '%s' is not currently supported on the CUDA backend and will fall back "
              "to run on the CPU. This may have "
              "performance implications.",
              cx->op->key);
    log_event(CTSC_LOG_WARNING, "%s", sb_str(&text));
    if (!text.failed && cx->rt && cx->rt->warn) cx->rt->warn(cx->rt->sink_ctx, sb_str(&text));
    sb_free(&text);
}

/* A tensor without elements among the arguments: no kernel is made for such, and hardly ever is
 * there anything to compute. */
static bool through_has_empty(const op_ctx *cx, const value *args) {
    for (int i = 0; i < cx->op->schema->nargs; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->numel == 0) return true;
    return false;
}

ctsc_status through_host_or_refuse(op_ctx *cx, const value *args, value *results) {
    if (through_has_empty(cx, args)) return through_host(cx, args, results);
    if (!atomic_load(&fallback_allowed))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "operator %s is not supported on CUDA devices for these arguments "
                         "(--fallback runs such operators on the CPU)",
                         cx->op->key);
    if (fallback_is_first(cx->op)) fallback_warn(cx);
    return through_host(cx, args, results);
}
