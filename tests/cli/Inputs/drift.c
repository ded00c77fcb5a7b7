/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drift.c - for bench-agreement.test: test::drift, whose result depends on how often it was called,
 * which no operator's may. x * DRIFT in the calls DRIFT_CALLS ("13-18", counted from 1), x in all
 * others; float32 and float64.
 */
#include <ctsc.h>

#include <stdio.h>
#include <stdlib.h>

static ctsc_status drift_shape(void *ctx, size_t nargs, ctsc_value *const *args, size_t i,
                               ctsc_tensor_shape *out, ctsc_error *e) {
    (void)ctx, (void)nargs, (void)i, (void)e;
    out->dtype = ctsc_tensor_dtype(args[0]);
    out->ndim = ctsc_tensor_ndim(args[0]);
    for (int k = 0; k < out->ndim; k++) out->sizes[k] = ctsc_tensor_sizes(args[0])[k];
    return CTSC_OK;
}

static ctsc_status drift(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results,
                         ctsc_error *e) {
    static int calls;
    int from = 0, to = 0;
    int64_t n = 1;
    ctsc_value *in = NULL;
    (void)ctx, (void)nargs;
    sscanf(getenv("DRIFT_CALLS"), "%d-%d", &from, &to);
    calls++;
    double factor = calls >= from && calls <= to ? atof(getenv("DRIFT")) : 1;
    ctsc_status s = ctsc_tensor_contiguous(args[0], &in, e);
    if (s != CTSC_OK) return s;
    for (int k = 0; k < ctsc_tensor_ndim(in); k++) n *= ctsc_tensor_sizes(in)[k];
    const void *x = ctsc_tensor_data(in);
    void *y = ctsc_tensor_data(results[0]);
    for (int64_t i = 0; i < n; i++) {
        if (ctsc_tensor_dtype(in) == CTSC_FLOAT64)
            ((double *)y)[i] = ((const double *)x)[i] * factor;
        else ((float *)y)[i] = (float)(((const float *)x)[i] * factor);
    }
    ctsc_value_free(in);
    return CTSC_OK;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
ctsc_status
ctsc_library_init(ctsc_error *e);
ctsc_status ctsc_library_init(ctsc_error *e) {
    ctsc_op_options options = {.size = sizeof options, .shape = drift_shape};
    return ctsc_register_op("test::drift(Tensor x) -> Tensor", drift, NULL, &options, e);
}
