/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last.c - see conv_last.h.
 * Tests: tests/unit/test_conv_last.c
 */
#include "runtime/kernels/conv/conv_last.h"

bool conv_last_fits(const conv_shape *s) {
    (void)s;
    return false;
}

ctsc_status conv_last_compute(diag *d, const conv_shape *s, const tensor *in, const tensor *weight, const tensor *bias, epilogue *e, tensor *t) {
    (void)s, (void)in, (void)weight, (void)bias, (void)e, (void)t;
    return diag_fail(d, CTSC_INTERNAL, "conv_last_compute: no kernel");
}
