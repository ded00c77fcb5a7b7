/* SPDX-License-Identifier: Apache-2.0 */
/* check_onnx.h - does a model of ONNX that was written give what the method gives? */
#ifndef CTSC_RUNTIME_SAVE_CHECK_ONNX_H
#define CTSC_RUNTIME_SAVE_CHECK_ONNX_H

#include "tensor/value.h"

/* Compares results, nested as they may be: CTSC_FAILED says where they differ by more than
 * tolerance times the largest element (by anything where they are not floats). *largest, which
 * starts as 0, becomes the largest difference as a part of the largest element. */
ctsc_status check_onnx_results(diag *d, value got, value want, double tolerance, double *largest);

/* An argument whose dim is twice as long, of the same elements twice: what the writer takes for
 * another example of a dynamic axis. */
ctsc_status check_onnx_longer(diag *d, value *v, int dim);

#endif
