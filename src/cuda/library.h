/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - libraries that are opened when they are first needed: CUDA's driver and NVRTC, and
 * for others to describe, cuBLASLt and cuDNN.
 *
 * A library is looked for once in the life of a process and never closed; that it is missing is
 * remembered, too. Thread-safe. A variable of the environment (CTSC_CUDA_DRIVER, CTSC_NVRTC, ...)
 * names the file to open instead of those that are looked for.
 */
#ifndef CTSC_CUDA_LIBRARY_H
#define CTSC_CUDA_LIBRARY_H

#include "base/diag.h"
#include "cuda/abi.h"

#include "base/variables.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cuda_symbol {
    const char *name;
    size_t offset; /* of the pointer, in the table */
} cuda_symbol;

/* One library: where it may be, and what is to be found in it. */
typedef struct cuda_library {
    variable variable;        /* of the environment, naming the file */
    const char *const *names; /* ends with NULL */
    /* its name in the folder of a toolkit, which is looked into last; NULL: it is
     * not part of one */
    const char *toolkit_file;
    const cuda_symbol *symbols;
    size_t count;
    void *table; /* of pointers to functions; valid once the library is open */
    enum { LIBRARY_UNKNOWN, LIBRARY_OPEN, LIBRARY_MISSING } state;
    char file[1024]; /* that was opened */
    char why[1024];  /* it is missing */
} cuda_library;

/* False: it is missing, or is not the library it should be. */
bool cuda_library_open(cuda_library *l);

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

/* NULL, with CTSC_ENVIRONMENT and what to do about it in d (which may be NULL),
 * where there is none. */
const cuda_driver *cuda_driver_open(diag *d);
const cuda_nvrtc *cuda_nvrtc_open(diag *d);

#endif
