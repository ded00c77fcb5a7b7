/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_device.c - the part of ctsc.h about devices.
 *
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "cuda/cuda.h"
#include "runtime/api/api.h"
#include "runtime/cuda/dispatch.h"
#include "tensor/device.h"

#include <string.h>

/* Of text as in torch.device(...): as storage.device. */
static ctsc_status api_parse_device(diag *d, const char *text, int *out) {
    int64_t device;
    if (device_parse(NULL, text, strlen(text), &device) != CTSC_OK)
        return diag_fail(d, CTSC_USAGE, "'%s' is not a device: cpu, cuda, cuda:N and meta are",
                         text);
    *out = device == VALUE_DEVICE_CUDA ? 1 : (int)device;
    return CTSC_OK;
}

int ctsc_cuda_device_count(ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    int n = cuda_device_count(d);
    api_leave(e, &own, d->status);
    return n;
}

int ctsc_tensor_device(const ctsc_value *t) {
    if (!t || t->v.tag != V_TENSOR) return -1;
    return tensor_is_meta(t->v.u.tensor) ? CTSC_DEVICE_META : tensor_device(t->v.u.tensor) - 1;
}

ctsc_status ctsc_value_to(const ctsc_value *v, const char *device, ctsc_value **out,
                          ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    int index = DEVICE_HOST;
    value moved = value_none();
    ctsc_status s = api_parse_device(d, device, &index);
    if (s == CTSC_OK) s = value_to_device(d, v->v, index, &moved);
    ctsc_value *h = s == CTSC_OK ? api_wrap_take(moved) : NULL;
    if (s == CTSC_OK && !h) s = diag_no_memory(d);
    if (h) *out = h;
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_to(ctsc_module *m, const char *device, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    int index = DEVICE_HOST;
    ctsc_status s = api_parse_device(d, device, &index);
    if (s == CTSC_OK) s = module_to_device(d, m->m, index);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_device_wait(const char *device, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    int index = DEVICE_HOST;
    cuda *c = NULL;
    ctsc_status s = api_parse_device(d, device, &index);
    if (s == CTSC_OK && index != DEVICE_HOST && index != DEVICE_META)
        s = cuda_open(d, index - 1, &c);
    if (s == CTSC_OK && c) s = cuda_wait(c, d);
    return api_leave(e, &own, s);
}

bool ctsc_operator_runs_on(const char *key, const char *device) {
    int index = DEVICE_HOST;
    const op *o = op_find(key);
    if (!o || api_parse_device(NULL, device, &index) != CTSC_OK) return false;
    if (o->traits.special) return true;
    if (index == DEVICE_META) return o->fn && !o->traits.sized_by_data;
    return index == DEVICE_HOST ? o->fn != NULL : op_device_support(o) != DEVICE_SUPPORT_NONE;
}

void ctsc_set_device_fallback(bool allow) { device_allow_fallback(allow); }
