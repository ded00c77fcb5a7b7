/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.c - sampling at the positions of a grid (grid_sampler), and affine grids.
 *
 * A grid position is (x, y) or (x, y, z) in [-1, 1] per dim, the last dim of the input first.
 * What one output position is says sampling.h; on a device runtime/cuda/sampling.c takes the
 * place of the loops here.
 * Tests: tests/unit/test_resample.c
 */
#include "runtime/kernels/engine/wide.h"

#include "runtime/kernels/engine/device_kernels.h"

#include <math.h>

#define TEMPLATE "runtime/kernels/vision/sampling.h"
#include "runtime/kernels/engine/each_real.h"

/* ---- sampling -------------------------------------------------------------------------------- */

typedef struct grid_job {
    dtype dt;
    dense_grid p;
} grid_job;

/* A chunk is an output position of one batch item. */
static void grid_range(void *ctx, int64_t begin, int64_t end) {
    const grid_job *j = ctx;
    int64_t positions = j->p.out[0] * j->p.out[1] * j->p.out[2];
    for (int64_t i = begin; i < end; i++) {
        if (j->dt == DT_FLOAT64) grid_point_double(&j->p, i / positions, i % positions);
        else grid_point_float(&j->p, i / positions, i % positions);
    }
}

static ctsc_status grid_check(op_ctx *cx, const tensor *x, const tensor *grid, int64_t mode) {
    sizes_text a, b;
    if (x->ndim < 1 || grid->ndim < 1 || x->sizes[0] != grid->sizes[0])
        return kernel_fail(
            cx,
            "grid_sampler(): expected grid and input to have same batch size, but got "
            "input with sizes %s and grid with sizes %s",
            shape_print(x, &a), shape_print(grid, &b));
    if (grid->sizes[grid->ndim - 1] != x->ndim - 2)
        return kernel_fail(
            cx,
            "grid_sampler(): expected grid to have size %d in last dimension, but got "
            "grid with sizes %s",
            x->ndim - 2, shape_print(grid, &b));
    for (int i = 2; i < x->ndim; i++)
        if (x->sizes[i] == 0)
            return kernel_fail(
                cx,
                "grid_sampler(): expected input to have non-empty spatial dimensions, "
                "but input has sizes %s with dimension %d being empty",
                shape_print(x, &a), i);
    if ((x->ndim != 4 && x->ndim != 5) || x->ndim != grid->ndim)
        return kernel_fail(cx,
                           "grid_sampler(): expected 4D or 5D input and grid with same number of "
                           "dimensions, but got input with sizes %s and grid with sizes %s",
                           shape_print(x, &a), shape_print(grid, &b));
    if (mode < DENSE_BILINEAR || mode > DENSE_BICUBIC)
        return kernel_fail(cx, "grid_sampler(): unknown interpolation mode %lld", (long long)mode);
    if (!dtype_is_float((dtype)x->dtype))
        return diag_fail(cx->diag,
                         dtype_is_integral((dtype)x->dtype) ? CTSC_FAILED : CTSC_UNSUPPORTED,
                         "grid_sampler_%dd_cpu not implemented for %s", x->ndim - 2,
                         dtype_table[x->dtype].ir_name);
    if (x->dtype != grid->dtype)
        return kernel_fail(cx, "expected scalar type %s but found %s",
                           dtype_table[x->dtype].ir_name, dtype_table[grid->dtype].ir_name);
    return CTSC_OK;
}

/* input, grid, interpolation_mode, padding_mode, align_corners */
ctsc_status op_grid_sampler(op_ctx *cx, const value *args, value *results) {
    tensor *input = arg_tensor(&args[0]), *grid = arg_tensor(&args[1]);
    tensor *x = NULL, *g = NULL, *y = NULL;
    ctsc_status st;
    TRY(grid_check(cx, input, grid, arg_int(&args[2])));
    int n = input->ndim - 2;
    int64_t sizes[5] = {input->sizes[0], input->sizes[1]};
    grid_job j = {.p = {.batch = input->sizes[0],
                        .channels = input->sizes[1],
                        .in = {1, 1, 1},
                        .out = {1, 1, 1},
                        .dims = n,
                        .mode = (int)arg_int(&args[2]),
                        .align = arg_bool(&args[4])}};
    dense_grid *p = &j.p;
    p->padding = arg_int(&args[3]) == DENSE_BORDER || arg_int(&args[3]) == DENSE_REFLECTION
                     ? (int)arg_int(&args[3])
                     : DENSE_ZEROS;
    for (int i = 0; i < n; i++) {
        p->in[3 - n + i] = input->sizes[2 + i];
        p->out[3 - n + i] = sizes[2 + i] = grid->sizes[1 + i];
    }
    TRY(wide_input(cx, "grid_sampler", input, &x));
    TRY_OUT(wide_input(cx, "grid_sampler", grid, &g));
    TRY_OUT(tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, input->ndim, sizes, &y));
    j.dt = (dtype)x->dtype;
    p->x = tensor_data(x), p->grid = tensor_data(g), p->y = tensor_data(y);
    int64_t positions = y->numel ? p->batch * p->out[0] * p->out[1] * p->out[2] : 0;
    if (tensor_cuda(y)) TRY_OUT(on_device->grid(cx->diag, y, p));
    else if (positions)
        TRY_OUT(op_for(cx, positions, kernel_grain(p->channels * 8 + 32), grid_range, &j));
    st = wide_finish(cx, args, y, (dtype)input->dtype, results), y = NULL;
out:
    tensor_unref(x);
    tensor_unref(g);
    tensor_unref(y);
    return st;
}

/* ---- affine grids ---------------------------------------------------------------------------- */

static void affine_fill(dtype dt, const dense_affine *p) {
    int64_t positions = p->size[0] * p->size[1] * p->size[2];
    WIDE_DISPATCH(dt, {
        T *out = p->y;
        for (int64_t r = 0; r < p->batch * positions; r++) {
            const dense_int at[3] = {r / p->size[2] / p->size[1] % p->size[0],
                                     r / p->size[2] % p->size[1], r % p->size[2]};
            for (int i = 0; i < p->dims; i++)
                *out++ = dt == DT_FLOAT64 ? (T)affine_point_double(p, r / positions, at, i)
                                          : (T)affine_point_float(p, r / positions, at, i);
        }
    });
}

ctsc_status op_affine_grid_generator(op_ctx *cx, const value *args, value *results) {
    tensor *theta = arg_tensor(&args[0]), *x, *y = NULL;
    const int64_t *size;
    int n = arg_ints(&args[1], &size) - 2;
    sizes_text text;
    if (n != 2 && n != 3)
        return kernel_fail(cx, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
    if (theta->ndim != 3 || theta->sizes[0] != size[0] || theta->sizes[1] != n ||
        theta->sizes[2] != n + 1)
        return kernel_fail(cx,
                           "Expected a batch of affine matrices of shape %lldx%dx%d, but got %s.",
                           (long long)size[0], n, n + 1, shape_print(theta, &text));
    int64_t sizes[5] = {size[0]};
    dense_affine p = {.batch = size[0], .size = {1, 1, 1}, .dims = n, .align = arg_bool(&args[2])};
    for (int i = 0; i < n; i++) sizes[1 + i] = p.size[3 - n + i] = size[2 + i];
    sizes[1 + n] = n;
    TRY(wide_input(cx, "affine_grid_generator", theta, &x));
    ctsc_status st = tensor_new_on(cx->diag, tensor_device(x), (dtype)x->dtype, n + 2, sizes, &y);
    if (st == CTSC_OK) {
        p.theta = tensor_data(x), p.y = tensor_data(y);
        if (tensor_cuda(y)) st = on_device->affine(cx->diag, y, &p);
        else if (y->numel) affine_fill((dtype)x->dtype, &p);
        if (st != CTSC_OK) tensor_unref(y);
    }
    tensor_unref(x);
    return st == CTSC_OK ? wide_finish(cx, args, y, (dtype)theta->dtype, results) : st;
}
