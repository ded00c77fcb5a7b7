/* SPDX-License-Identifier: Apache-2.0 */
/* work_dense.h - the operations of products, convolutions, attention and recurrent networks
 * (work_dense.c), for work.c. */
#ifndef CTSC_RUNTIME_OBSERVE_WORK_DENSE_H
#define CTSC_RUNTIME_OBSERVE_WORK_DENSE_H

#include "ir/op/op.h"

typedef struct work_call {
    const op *o;
    int nargs;
    const value *in;
    value out; /* the first result */
} work_call;

/* Of operators from WORK_PRODUCT on, but pooling. -1: out of memory to find out. */
int64_t work_dense(const work_call *c);
/* 1 for what is not a tensor. */
int64_t work_numel(value v);

#endif
