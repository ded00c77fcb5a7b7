/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_stdint.h - <stdint.h> for NVRTC, which comes without a C library: what generated
 * kernels need of it. */
#ifndef CTSC_CODEGEN_CUDA_NVRTC_STDINT_H
#define CTSC_CODEGEN_CUDA_NVRTC_STDINT_H

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll

#endif
