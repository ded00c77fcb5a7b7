/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - the parts of the CUDA driver's and NVRTC's binary interfaces that we use: types,
 * constants, and a table of functions for each.
 *
 * Written after NVIDIA's documentation (CUDA Driver API and NVRTC reference manuals), so that
 * building needs no CUDA. Names are NVIDIA's, for the reader who looks them up; each table's row is
 * the name in our code, the symbol in the library (with the version of its signature), the
 * parameters. Everything exists since CUDA 11.4. library.c opens the libraries; tests/cuda/sim/
 * implements the same tables without a device.
 */
#ifndef CTSC_CUDA_ABI_H
#define CTSC_CUDA_ABI_H

#include <stddef.h>

/* ---- the driver ------------------------------------------------------------------------------ */

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
};

enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,

    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

/* CUDA_KERNEL_NODE_PARAMS of CUDA 11. */
typedef struct cuda_kernel_node {
    CUfunction function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} cuda_kernel_node;

/* cuLaunchKernel's `extra`: a list of these and their values. */
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

#define CUDA_DRIVER_FUNCTIONS(F)                                                                   \
    F(cuInit, cuInit, (unsigned flags))                                                            \
    F(cuDriverGetVersion, cuDriverGetVersion, (int *version))                                      \
    F(cuGetErrorName, cuGetErrorName, (CUresult error, const char **name))                         \
    F(cuGetErrorString, cuGetErrorString, (CUresult error, const char **text))                     \
    F(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                            \
    F(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                  \
    F(cuDeviceGetName, cuDeviceGetName, (char *name, int len, CUdevice device))                    \
    F(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *nbytes, CUdevice device))                    \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))    \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))  \
    F(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                                       \
    F(cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                         \
    F(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                                 \
    F(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags))                             \
    F(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                              \
    F(cuEventSynchronize, cuEventSynchronize, (CUevent event))                                     \
    F(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                                          \
    F(cuMemGetInfo, cuMemGetInfo_v2, (size_t *available, size_t *total))                           \
    F(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * p, size_t nbytes))                                 \
    F(cuMemFree, cuMemFree_v2, (CUdeviceptr p))                                                    \
    F(cuMemHostAlloc, cuMemHostAlloc, (void **p, size_t nbytes, unsigned flags))                   \
    F(cuMemFreeHost, cuMemFreeHost, (void *p))                                                     \
    F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                     \
      (CUdeviceptr to, const void *from, size_t nbytes, CUstream stream))                          \
    F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                     \
      (void *to, CUdeviceptr from, size_t nbytes, CUstream stream))                                \
    F(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                     \
      (CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream))                          \
    F(cuMemsetD8Async, cuMemsetD8Async,                                                            \
      (CUdeviceptr to, unsigned char byte, size_t nbytes, CUstream stream))                        \
    F(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void *image))                  \
    F(cuModuleUnload, cuModuleUnload, (CUmodule module))                                           \
    F(cuModuleGetFunction, cuModuleGetFunction,                                                    \
      (CUfunction * function, CUmodule module, const char *name))                                  \
    F(cuFuncGetAttribute, cuFuncGetAttribute, (int *value, int attribute, CUfunction function))    \
    F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction function, int attribute, int value))     \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,    \
      (int *blocks, CUfunction function, int threads, size_t shared))                              \
    F(cuLaunchKernel, cuLaunchKernel,                                                              \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
       unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,        \
       void **extra))                                                                              \
    F(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, int mode))                  \
    F(cuStreamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                  \
    F(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2,                                           \
      (CUstream stream, int *status, unsigned long long *id, CUgraph *graph,                       \
       const CUgraphNode **nodes, size_t *count))                                                  \
    F(cuGraphInstantiate, cuGraphInstantiateWithFlags,                                             \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                               \
    F(cuGraphLaunch, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                           \
    F(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams,                              \
      (CUgraphExec exec, CUgraphNode node, const cuda_kernel_node *params))                        \
    F(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec))                                  \
    F(cuGraphDestroy, cuGraphDestroy, (CUgraph graph))

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
};

#define CUDA_NVRTC_FUNCTIONS(F)                                                                    \
    F(nvrtcVersion, nvrtcVersion, (int *major, int *minor))                                        \
    F(nvrtcGetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int *count))                          \
    F(nvrtcGetSupportedArchs, nvrtcGetSupportedArchs, (int *archs))                                \
    F(nvrtcCreateProgram, nvrtcCreateProgram,                                                      \
      (nvrtcProgram * program, const char *text, const char *name, int nheaders,                   \
       const char *const *headers, const char *const *header_names))                               \
    F(nvrtcDestroyProgram, nvrtcDestroyProgram, (nvrtcProgram * program))                          \
    F(nvrtcCompileProgram, nvrtcCompileProgram,                                                    \
      (nvrtcProgram program, int noptions, const char *const *options))                            \
    F(nvrtcGetProgramLogSize, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *size))        \
    F(nvrtcGetProgramLog, nvrtcGetProgramLog, (nvrtcProgram program, char *log))                   \
    F(nvrtcGetCUBINSize, nvrtcGetCUBINSize, (nvrtcProgram program, size_t *size))                  \
    F(nvrtcGetCUBIN, nvrtcGetCUBIN, (nvrtcProgram program, char *image))                           \
    F(nvrtcGetPTXSize, nvrtcGetPTXSize, (nvrtcProgram program, size_t *size))                      \
    F(nvrtcGetPTX, nvrtcGetPTX, (nvrtcProgram program, char *text))

#endif
