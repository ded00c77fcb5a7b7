/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.h - conversions between numbers of one element's size, without undefined behaviour.
 */
#ifndef CTSC_TENSOR_ELEMENT_H
#define CTSC_TENSOR_ELEMENT_H

#include <stdint.h>

#ifdef __CUDACC_RTC__
#define ELEMENT_FN static __device__ __forceinline__
#else
#define ELEMENT_FN static inline
#endif

/* Truncates; NaN and what does not fit give the most negative number, as cvttsd2si does. */
ELEMENT_FN int64_t element_to_int64(double v) {
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
ELEMENT_FN int32_t element_to_int32(double v) {
    return v > -0x1p31 - 1 && v < 0x1p31 ? (int32_t)v : INT32_MIN;
}

#endif
