/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_args.h - where ctsc::conv_channels_last has its arguments: for the passes that make and
 * change it and for its function (runtime/kernels/conv/conv.c, which says what they are).
 *
 * The overloads `scaled` and `placed` have further arguments after these.
 */
#ifndef CTSC_IR_OP_CONV_LAST_ARGS_H
#define CTSC_IR_OP_CONV_LAST_ARGS_H

enum {
    CONV_LAST_INPUT,
    CONV_LAST_WEIGHT,
    CONV_LAST_BIAS,
    CONV_LAST_STRIDE,
    CONV_LAST_PADDING,
    CONV_LAST_DILATION,
    CONV_LAST_TRANSPOSED,
    CONV_LAST_OUTPUT_PADDING,
    CONV_LAST_GROUPS,
    CONV_LAST_BATCHED,
    CONV_LAST_OTHER,
    CONV_LAST_ACTIVATION,
    CONV_LAST_WRITTEN,
    CONV_LAST_FACTORS,
    CONV_LAST_ARGS,
    /* of ctsc::conv_channels_last_bf16 */
    CONV_LAST_HALF_INPUT = CONV_LAST_ARGS,
    CONV_LAST_HALF_RESULT,
    CONV_LAST_BF16_ARGS
};

#endif
