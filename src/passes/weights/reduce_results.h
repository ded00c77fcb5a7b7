/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_results.h - results of convolutions with factors of bfloat16 that only such convolutions
 * read are stored as bfloat16: they are rounded where they are made instead of where they are
 * read, which gives the same factors, and moves half the bytes.
 */
#ifndef CTSC_PASSES_WEIGHTS_REDUCE_RESULTS_H
#define CTSC_PASSES_WEIGHTS_REDUCE_RESULTS_H

#include "ir/graph/graph.h"

/* Of all ctsc::conv_channels_last_bf16 in g. sums: results to which a convolution adds its own
 * (residual connections) are rounded as well. True: g changed. */
bool reduce_results(graph *g, bool sums);

#endif
