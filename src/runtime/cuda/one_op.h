/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_op.h - a single fusible operator on a device: a fusion group of one node.
 *
 * So the result of an operator on a device equals its result in a group, and
 * that its result on the host. Graphs are kept by operator and by its
 * constants: arguments that are neither tensors nor numbers to compute with.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cuda
 */
#ifndef CTSC_RUNTIME_CUDA_ONE_OP_H
#define CTSC_RUNTIME_CUDA_ONE_OP_H

#include "ir/op/op.h"

/* *ran: false if the operator, with these arguments, is none that a kernel can be made for. */
ctsc_status one_op_run(op_ctx *cx, const value *args, value *results, bool *ran);
/* t, on a device, in another real dtype: a new contiguous tensor. */
ctsc_status one_op_convert(diag *d, const tensor *t, dtype dt, tensor **out);

#endif
