/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - records a call: its commands to the device,
 * the parts of the module that it read, its results.
 *
 * The function is run twice more on tensors that do not exist (cuda/capture.h). That is the
 * interpreter's usual way, kernels are chosen and memory is taken as ever, but the device does
 * nothing, and nothing else may happen either: before each instruction with a site the recorder
 * looks whether running it now changes only what the call itself has made, and whether running it
 * later would come out the same. It refuses
 *
 *     elements that are read (an `if` on a tensor, item), tensors of the host, random numbers, output, files
 *     attributes that are set, objects that are made, lists and dicts that are attributes, forks
 *     a program's own operators
 *
 * and whatever it does not know. A call that is refused runs in the ordinary way, now and later.
 *
 * What the call read besides its arguments is kept as *conditions*: attributes, which have to hold
 * the same value, and tensors, which have to have the same memory. Elements may change.
 * Tests: tests/unit/test_cuda_recording.c
 */
#ifndef CTSC_RUNTIME_CUDA_RECORD_H
#define CTSC_RUNTIME_CUDA_RECORD_H

#include "base/memory/vec.h"
#include "cuda/replay.h"
#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/context/runtime.h"
#include "runtime/context/signature.h"

/* An attribute that was read. The object is the module or the value of one of the conditions
 * before, so it is alive while those hold. */
typedef struct record_attribute {
    object *of;
    size_t slot;
    value v; /* a reference, but to objects, which may own the recording */
} record_attribute;

/* A tensor that is not the call's own. */
typedef struct record_tensor {
    tensor *t, *was; /* references: the handle, and its geometry then */
    const void *data;
} record_tensor;

/* A tensor of the result. */
typedef struct record_output {
    /* the handle is the call's argument of that number (signature.tensors); -1: a new one */
    int argument;
    int storage; /* of the argument of that number (signature.storages), or -1 */
    int result;  /* else which of the replay's results */
} record_output;

typedef struct recording {
    cuda_replay *replay;
    VEC(record_attribute) attributes;
    VEC(record_tensor) tensors;
    VEC(record_output) outputs; /* as the tensors of result_shape */
    VEC(size_t) results;        /* bytes */
    value result;               /* with tensors that do not exist */
    signature *result_shape;
} recording;

/* s: the signature of args, of f's call at rt's level, borrowed. Fails with CTSC_UNSUPPORTED if it
 * cannot be recorded, which d explains. */
ctsc_status record_call(const runtime *rt, function *f, const signature *s, int n,
                        const value *args, diag *d, recording *out);
void recording_clear(recording *r);

#endif
