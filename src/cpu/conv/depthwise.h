/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise.h - spans of depthwise convolutions whose channels come last
 * (kernels/conv/conv_last_depthwise.h), as records of functions.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#ifndef CTSC_CPU_CONV_DEPTHWISE_H
#define CTSC_CPU_CONV_DEPTHWISE_H

#include "cpu/conv/conv_shape.h"
#include "cpu/isa.h"

/* One input row: where its column 0 is, and the weights of the first of those taps that it is
 * multiplied with for the first row of outputs, and for the second one; NULL: none. All at the
 * block's first channel. */
typedef struct depthwise_line {
    const float *in, *weight[2];
} depthwise_line;

/* One output row or two, if the kernels take two: columns [0, end), channels [0, channels) from
 * where the pointers are. */
typedef struct depthwise_span {
    const conv_shape *s;
    const depthwise_line *lines; /* in the order of the sum */
    int64_t in_step;             /* elements between columns of a line */
    int64_t nlines, end, channels;
    const float *bias; /* NULL: none */
    float *out[2];     /* where column 0's first channel goes; NULL: no such row */
    int64_t out_step;  /* elements between columns of out */
    float low, high;   /* bounds of what is stored */
} depthwise_span;

typedef struct depthwise_kernels {
    isa isa;
    int lanes, rows; /* channels that a span has at least, rows at most */
    void (*span)(const depthwise_span *p);
} depthwise_kernels;

#endif
