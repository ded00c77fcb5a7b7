/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_packed.h - constant weights of channels-last
 * convolutions, in the form that their kernels read.
 *
 * Made at the second use and kept with the weight's storage (storage.derived), which has to be
 * a constant's: the pass "layout" gives each convolution's weight a separate storage
 * (tensor_constant). At the first use they are made panel by panel, each discarded after use
 * (where there are no groups): programs that run once need no memory for them, and results are
 * the same. The pages of the original are released each time, if they are those of a file.
 *
 *     CONV_ROWS       outputs in panels of a micro-kernel's nr, or of one vector if they are no more; a panel has one step of nr weights per tap and input channel, taps outermost: the order in which
 *                     rows of pixels are read.
 *     CONV_GROUPS     groups of few channels: those that a vector has room for are a set, one panel of a vector's width whose steps are the taps and, of each, the
 *                     channels of one group: each lane has the weights of its own
 *     CONV_WINOGRAD_4, CONV_WINOGRAD_2   the same for each of the transform's products in place of the taps of a slice, products outermost
 *     CONV_DEPTHWISE  one weight per channel, taps outermost
 *     CONV_SPARSE     1x1, where most weights are zero: a matrix of a pixel's channels (kernels/sparse/sparse_weight.h)
 *
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_PACKED_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_PACKED_H

#include "cpu/gemm/gemm_micro.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/matmul/quad_matrix.h"

typedef enum conv_form {
    CONV_ROWS,
    CONV_GROUPS,
    CONV_WINOGRAD_4, /* conv_winograd.h: tiles of 4 x 4 results, */
    CONV_WINOGRAD_2, /* of 2 x 2 */
    CONV_DEPTHWISE,
    CONV_BF16, /* conv_bf16.h */
    CONV_SPARSE,
    CONV_FORMS
} conv_form;

typedef struct conv_packed {
    const gemm_micro *micro;
    conv_form form;
    /* what multiplies rows of pixels (CONV_ROWS, CONV_GROUPS): by rows, from 1 to
     * mr, panels of nr */
    gemm_rows_fn *const *tiles;
    int64_t mr, nr;
    int64_t sets, in, out;        /* sets of groups; channels of one, the last may have fewer */
    int64_t groups, taps, panels; /* of the convolution; of a set */
    int64_t depth, steps;         /* of a tap, of a panel */
    int32_t lanes[GEMM_MAX_COLS]; /* CONV_GROUPS: where in its set a lane's group begins */
    quad_matrix quads;            /* CONV_BF16: all but form, memory and room is in it */
    struct sparse_weight *sparse; /* CONV_SPARSE: all there is; NULL: it is not worth it */
    float *weights;               /* aligned to 64 bytes */
    void *memory;
    size_t room; /* of it */
} conv_packed;

/* What a weight's storage keeps (storage.derived). */
typedef struct conv_packed_forms {
    /* of the weight this was made of: other views of its storage are not it */
    int64_t offset, strides[CONV_DIMS + 2], groups;
    int ndim;
    _Atomic(conv_packed *) form[CONV_FORMS];
    bool used[CONV_FORMS]; /* once, in turn */
} conv_packed_forms;

/* Groups that CONV_GROUPS puts side by side; less than 2: it is not for these. */
int64_t conv_packed_groups(const conv_shape *s);
/* Each of the rows of w, of n elements together, times its factor: rounded once. */
void conv_packed_factors(const float *w, const double *factors, int64_t rows, int64_t n, float *to);
/* w: as in conv_shape, of 32 or 16 bits; factors: what its rows are multiplied by, a constant that
 * always comes with w, or NULL. NULL: it cannot be kept (its storage is not a constant's, or
 * something else is kept there), or there is no memory. Thread-safe. */
const conv_packed *conv_packed_of(const conv_shape *s, const tensor *w, const tensor *factors,
                                  conv_form form);

/* Is this their first use, and can conv_packed_in_turn handle them? */
bool conv_packed_is_first(const conv_shape *s, const tensor *w, conv_form form);
/* Weights of some outputs, from `first` on, which are there until it returns. */
typedef ctsc_status conv_packed_use(void *ctx, const conv_packed *p, int64_t first);
/* Calls `use` for all outputs, some panels at a time. Fails where that does, and without memory. */
ctsc_status conv_packed_in_turn(diag *d, const conv_shape *s, const tensor *w,
                                const tensor *factors, conv_form form, conv_packed_use *use,
                                void *ctx);

#endif
