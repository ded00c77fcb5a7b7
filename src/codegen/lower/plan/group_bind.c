/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_bind.c - what a kernel is called with: pointers to the elements of arguments and of new
 * outputs, and numbers. Of the interpreter's groups (runtime/exec/fused_launch.c) and of those of
 * compiled programs (rt/rt_group.c), at every call, so compiled for speed.
 * Tests: tests/corpus at every level, tests/aot/
 */
#include "codegen/lower/plan/group_plan.h"
#include "tensor/device.h"
#include "tensor/strides.h"

#include <string.h>

/* New tensors for the outputs; None where the output is not a tensor. */
static ctsc_status plan_outputs(const group_plan *p, const int64_t *slots, const value *args,
                                diag *d, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t;
        results[i] = o->alias >= 0 ? value_ref(args[o->alias]) : value_none();
        if (o->alias >= 0 || o->tag != V_TENSOR) continue;
        plan_output_layout(o, slots, sizes, strides);
        if (o->permuted)
            TRY(tensor_new_strided(d, DEVICE_HOST, o->dt, o->ndim, sizes, strides, &t));
        else TRY(tensor_new(d, o->dt, o->ndim, sizes, &t));
        results[i] = value_tensor_take(t);
    }
    return CTSC_OK;
}

ctsc_status plan_bind(const group_plan *p, const int64_t *slots, const value *args,
                      const plan_frame *f, diag *d, value *results) {
    TRY(plan_outputs(p, slots, args, d, results));
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        if (b->kind == BUFFER_SCRATCH) continue;
        if (b->kind == BUFFER_ARGUMENT) f->buffers[i] = tensor_data(args[b->index].u.tensor);
        else if (p->outputs.data[b->index].tag == V_TENSOR)
            f->buffers[i] = tensor_data(results[b->index].u.tensor);
        else f->buffers[i] = &f->scalars[b->index];
    }
    for (size_t i = 0; i < p->ints.len; i++) f->ints[i] = slots[p->ints.data[i]];
    for (size_t i = 0; i < p->floats.len; i++) f->floats[i] = args[p->floats.data[i]].u.f;
    return CTSC_OK;
}

static int64_t plan_buffer_bytes(const group_buffer *b, const int64_t *slots) {
    int64_t bytes = b->kind == BUFFER_SCRATCH ? slots[b->index] : 0;
    return bytes > 0 ? (bytes + PLAN_SCRATCH_ALIGN - 1) / PLAN_SCRATCH_ALIGN * PLAN_SCRATCH_ALIGN
                     : 0;
}

int64_t plan_scratch_bytes(const group_plan *p, const int64_t *slots) {
    int64_t bytes = 0;
    for (size_t i = 0; i < p->buffers.len; i++)
        bytes += plan_buffer_bytes(&p->buffers.data[i], slots);
    return bytes;
}

void plan_bind_scratch(const group_plan *p, const int64_t *slots, char *at, const plan_frame *f) {
    for (size_t i = 0; i < p->buffers.len; i++) {
        if (p->buffers.data[i].kind != BUFFER_SCRATCH) continue;
        f->buffers[i] = at;
        at += plan_buffer_bytes(&p->buffers.data[i], slots);
    }
}

void plan_read_scalars(const group_plan *p, const int64_t *scalars, value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        double number;
        memcpy(&number, &scalars[i], sizeof number);
        if (o->alias >= 0 || o->tag == V_TENSOR) continue;
        results[i] = o->tag == V_INT     ? value_int(scalars[i])
                     : o->tag == V_FLOAT ? value_float(number)
                                         : value_bool(scalars[i] & 1);
    }
}
