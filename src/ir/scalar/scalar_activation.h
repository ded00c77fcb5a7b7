/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_activation.h - the activations that products and convolutions apply to their sums.
 * Programs for devices have this file in front of them, so it uses no header and nothing but C
 * that is C++ as well.
 */
#ifndef CTSC_IR_SCALAR_SCALAR_ACTIVATION_H
#define CTSC_IR_SCALAR_SCALAR_ACTIVATION_H

enum dense_activation {
    DENSE_PLAIN,
    DENSE_RELU,
    DENSE_GELU,
    DENSE_GELU_TANH, /* those of devices end here */
    DENSE_RELU6,
    DENSE_HARDSIGMOID,
    DENSE_HARDSWISH,
    DENSE_SIGMOID,
    DENSE_SILU
};

#endif
