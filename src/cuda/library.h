/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - the functions of CUDA's driver and of NVRTC, from libraries that are opened when they are first needed.
 *
 * A library is looked for once in the life of a process and never closed; that it is missing is remembered, too. Thread-safe.
 * CTSC_CUDA_DRIVER and CTSC_NVRTC in the environment name the file to open instead of those that are looked for.
 */
#ifndef CTSC_CUDA_LIBRARY_H
#define CTSC_CUDA_LIBRARY_H

#include "base/diag.h"
#include "cuda/abi.h"

typedef struct cuda_driver {
#define CUDA_FUNCTION(name, symbol, params) CUresult(*name) params;
    CUDA_DRIVER_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
} cuda_driver;

typedef struct cuda_nvrtc {
#define CUDA_FUNCTION(name, symbol, params) nvrtcResult(*name) params;
    CUDA_NVRTC_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
} cuda_nvrtc;

/* NULL, with CTSC_ENVIRONMENT and what to do about it in d (which may be NULL), where there is none. */
const cuda_driver *cuda_driver_open(diag *d);
const cuda_nvrtc *cuda_nvrtc_open(diag *d);

#endif
