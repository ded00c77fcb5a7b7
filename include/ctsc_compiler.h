/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc_compiler.h - for people who work on the compiler: graphs as text, passes one by one.
 *
 * What programs need is in ctsc.h; this header may change from version to version.
 */
#ifndef CTSC_COMPILER_H
#define CTSC_COMPILER_H

#include "ctsc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctsc_opt_options {
    size_t size; /* sizeof(ctsc_opt_options) */
    /* What to run, in order: "dce,pool-constants". A group in brackets is repeated until nothing
     * changes: "[peephole,fold-constants,dce],pool-constants". NULL or "" for none. */
    const char *passes;
    bool print_after_all;    /* the graph after each pass, to `print` */
    const char *print_after; /* the graph after the pass of this name; NULL: none */
    bool time_passes;        /* at the end a table: runs, changes and time of each pass */
    bool verify_each;        /* the verifier after each pass; else only at the end */
    void (*print)(void *ctx, const char *text, size_t len); /* NULL discards */
    void *ctx;
} ctsc_opt_options;

/* Parses a graph's text, verifies it, runs the passes, verifies the result
 * and prints it. name: for messages. Free *out with ctsc_string_free. */
CTSC_API ctsc_status ctsc_opt_text(const char *name, const char *text, size_t len,
                                   const ctsc_opt_options *o, char **out, ctsc_error *e);
/* The same for a method of a module: its graph with all calls inlined. */
CTSC_API ctsc_status ctsc_opt_module(const ctsc_module *m, const char *method,
                                     const ctsc_opt_options *o, char **out, ctsc_error *e);
/* Inlines the calls of a method that has not run yet and runs passes on its
 * graph, verifying after each; the method runs that way from now on. */
CTSC_API ctsc_status ctsc_module_apply_passes(ctsc_module *m, const char *method,
                                              const char *passes, ctsc_error *e);
/* The work of one call of a method, independent of the implementation. */
typedef struct ctsc_work {
    size_t size;             /* sizeof(ctsc_work) */
    int64_t parameter_bytes; /* of the parameters, buffers and constant tensors that it reads */
    int64_t flops;           /* floating-point operations */
    /* an operator that was called, but whose operations
     * are unknown and not in flops; NULL: none */
    const char *uncounted;
} ctsc_work;
/* Calls the method once, as written, and counts: two for each multiply-add of matrix products,
 * convolutions (transposed, quantised), attention and recurrent layers; one for each element
 * of the result of pointwise operators and of the input of sums and the like; 5 per element of
 * a softmax, 2 of a batch norm, 7 of other norms; one for each operation on numbers. Moving
 * data counts nothing. */
CTSC_API ctsc_status ctsc_module_count_work(const ctsc_module *m, const char *method, size_t nargs,
                                            ctsc_value *const *args, ctsc_work *out, ctsc_error *e);
/* For a more exact reference: converts a module's floating-point tensors to
 * float64 (complex ones to complex128) in place, in attributes and
 * constants of its code; or those in a value. Code that names a dtype keeps
 * it, and may fail. Fails with CTSC_UNSUPPORTED for quantised tensors. */
CTSC_API ctsc_status ctsc_module_to_float64(ctsc_module *m, ctsc_error *e);
CTSC_API ctsc_status ctsc_value_to_float64(ctsc_value *v, ctsc_error *e);
/* A module in the tree of a module's submodules. */
typedef struct ctsc_layer {
    size_t size;              /* sizeof(ctsc_layer) */
    const char *name;         /* "layer1.0.conv1"; "" of the module itself */
    const char *class_name;   /* "__torch__.torch.nn.modules.conv.Conv2d" */
    int depth;                /* 0: the module itself */
    uint64_t calls;           /* of its methods, by other modules or the program */
    const ctsc_value *result; /* of its last call, borrowed; NULL: it was not called */
    /* floating-point operations of its calls and of what they called, as
     * ctsc_module_count_work counts them */
    int64_t flops;
    bool counted; /* it was called, and flops is all of them */
} ctsc_layer;
/* Visits them, each before its own submodules, in the order of attributes; a shared one
 * once. A given method is first called once, as written; method NULL: nothing is called. */
CTSC_API ctsc_status ctsc_module_layers(const ctsc_module *m, const char *method, size_t nargs,
                                        ctsc_value *const *args,
                                        void (*visit)(void *ctx, const ctsc_layer *l), void *ctx,
                                        ctsc_error *e);
/* ---- ahead of time (docs/aot.md) ------------------------------------------------------------- */

/* A size of some arguments that is a parameter of the compiled function. */
typedef struct ctsc_aot_dim {
    const char *name;    /* an identifier of C */
    int64_t least, most; /* example arguments have `most` */
    size_t place_count;
    int places[16][2]; /* argument, counted without self, and dim */
} ctsc_aot_dim;
typedef struct ctsc_aot_options {
    size_t size;      /* sizeof(ctsc_aot_options) */
    const char *name; /* of the function */
    const char *arch; /* "x86_64", "arm64"; NULL: this one */
    size_t dim_count;
    const ctsc_aot_dim *dims;
} ctsc_aot_options;
typedef struct ctsc_aot_result {
    size_t size;  /* sizeof(ctsc_aot_result) */
    void *object; /* the object file */
    size_t object_size;
    char *header;              /* C */
    char *notes;               /* what the user should know, lines; NULL: nothing */
    size_t workspace, weights; /* bytes */
    int instructions;
    const char *isa; /* static: the instruction set that it needs */
} ctsc_aot_result;
/* Compiles a method to an object file that is linked with libctsc-rt.a. args: examples. The
 * module's level of optimisation does not matter. Fails with CTSC_UNSUPPORTED where the method does
 * what compiled programs cannot. Nobody else may use the library meanwhile. Free with
 * ctsc_aot_result_free. */
CTSC_API ctsc_status ctsc_module_compile_ahead(const ctsc_module *m, const char *method,
                                               const ctsc_aot_options *o, size_t nargs,
                                               ctsc_value *const *args, ctsc_aot_result *out,
                                               ctsc_error *e);
CTSC_API void ctsc_aot_result_free(ctsc_aot_result *r);

/* From now on the library computes as on a processor whose best instruction set is this
 * one: the name of a row of ctsc_isa_at, such as "sse2", "avx2", "avx512", or "host"
 * for no limit. Operators use no better set and give the bits of such a processor, and
 * kernels are compiled for it. Kernels that this machine cannot run can be inspected
 * (ctsc_module_graph_for); calls then run without kernels. Fails with CTSC_USAGE for
 * other names, and after a kernel was requested. The environment variable CTSC_MAX_ISA
 * does the same without a call. Call it before other threads use the library. */
CTSC_API ctsc_status ctsc_set_cpu(const char *name, ctsc_error *e);
/* The instruction sets of this architecture that the library has code for. */
typedef struct ctsc_isa {
    size_t size; /* sizeof(ctsc_isa) */
    const char *name;
    bool present; /* the processor and the operating system have it */
    bool used;    /* and no limit excludes it */
} ctsc_isa;
/* Fills *out with the i-th, weakest first; false after the last. Thread-safe. */
CTSC_API bool ctsc_isa_at(size_t i, ctsc_isa *out);
/* The micro-kernels that products, convolutions and activations are made of. */
typedef struct ctsc_ukernel {
    size_t size;        /* sizeof(ctsc_ukernel) */
    const char *family; /* "gemm", "quad", ... */
    const char *type;   /* of the factors: "float32", "bytes", ... */
    const char *isa;    /* the set that it needs */
    const char *name;   /* in the library's source */
    bool usable;        /* here and now */
    bool chosen;        /* the one that is used for its family and type */
} ctsc_ukernel;
/* Fills *out with the i-th; those of a family and type follow one
 * another, fastest first. False after the last. Thread-safe. */
CTSC_API bool ctsc_ukernel_at(size_t i, ctsc_ukernel *out);
/* The choices of ctsc_module_set_precision's "auto" on this machine (src/cpu/narrow.def). */
typedef struct ctsc_precision_way {
    size_t size;      /* sizeof(ctsc_precision_way) */
    const char *name; /* "bf16" */
    double bits;      /* per weight */
    double rate;      /* speed relative to float32 when multiplying many rows */
    int columns;      /* fewest output features of a linear layer */
} ctsc_precision_way;
/* Fills *out with the i-th; false after the last: there may be none. Thread-safe. */
CTSC_API bool ctsc_precision_way_at(size_t i, ctsc_precision_way *out);
/* Counts of layers with constant weights (linear layers
 * and channels-last convolutions) by precision. */
typedef struct ctsc_precision_counts {
    size_t size;     /* sizeof(ctsc_precision_counts) */
    int64_t written; /* as they are written */
    int64_t bf16, int8w, int4w;
} ctsc_precision_counts;
/* For a method at the module's optimisation level. */
CTSC_API ctsc_status ctsc_module_count_precisions(const ctsc_module *m, const char *method,
                                                  ctsc_precision_counts *out, ctsc_error *e);
/* More flags of ctsc_module_graph_for: each group's kernel for a GPU, which
 * need not be present. The method is called on the device of its arguments. */
enum {
    CTSC_GRAPH_CUDA = 32, /* as a loop nest and as CUDA C++ */
    CTSC_GRAPH_PTX = 64,  /* as PTX, which NVRTC makes */
    CTSC_GRAPH_SASS = 128 /* as the GPU's own code, which nvdisasm or cuobjdump prints */
};
/* The architecture that GPU kernels are shown for: "sm_90"
 * (the default), "sm_80", ...: any that NVRTC supports. */
CTSC_API ctsc_status ctsc_set_cuda_arch(const char *name, ctsc_error *e);
/* A method's graph as JSON, for drawings; src/ir/graph/graph_json.h says what is in it. */
typedef struct ctsc_graph_json_options {
    size_t size; /* sizeof(ctsc_graph_json_options) */
    /* as it runs at the module's optimisation level; else as written, calls inlined */
    bool as_run;
    /* calls of the method to time its nodes, after `warmup` others; 0: no times */
    int calls, warmup;
} ctsc_graph_json_options;
/* With arguments the method is called: once to record the types of
 * tensors, and then as often as o says. What it prints and warns
 * is dropped. o may be NULL. Free *out with ctsc_string_free. */
CTSC_API ctsc_status ctsc_module_graph_json(const ctsc_module *m, const char *method, size_t nargs,
                                            ctsc_value *const *args,
                                            const ctsc_graph_json_options *o, char **out,
                                            ctsc_error *e);
/* The arguments that an archive of torch.export was exported with: a tuple of its arguments and a
 * dict of those by name. *out is NULL where there are none, or the file is no such archive. */
CTSC_API ctsc_status ctsc_archive_sample_inputs(const char *path, ctsc_value **out, ctsc_error *e);
/* Native kernels made in this process so far. */
typedef struct ctsc_kernel_stats {
    size_t size;         /* sizeof(ctsc_kernel_stats) */
    int64_t compiled;    /* by the compiler */
    int64_t from_disk;   /* found in the cache on disk */
    int64_t from_memory; /* requested again */
    double compile_us;   /* the compiler's time */
    int64_t in_making;   /* requested, but not ready yet */
} ctsc_kernel_stats;
CTSC_API void ctsc_get_kernel_stats(ctsc_kernel_stats *out);
/* What the library finds where it runs (`ctsc doctor`). Texts are empty where there is nothing. */
typedef struct ctsc_environment {
    size_t size;              /* sizeof(ctsc_environment) */
    int threads;              /* that a call may use, by default */
    char blas_core[64];       /* processor that OpenBLAS has chosen its kernels for: "SkylakeX" */
    char blas_config[256];    /* its version and how it was built */
    char compiler[4096];      /* file of the library that compiles kernels */
    char compiler_build[128]; /* its LLVM */
    char compiler_cpu[64];    /* the processor it compiles for, in LLVM's words */
    char compiler_error[640]; /* why there is none */
    char cache[4096];         /* folder of compiled kernels */
    /* it is there, or was made, and nobody but the user can write to it */
    bool cache_usable;
    int64_t cache_limit;  /* bytes that the folder may grow to */
    int cuda_devices;     /* how many there are */
    char cuda_driver[32]; /* the newest CUDA that the driver knows: "13.0" */
    /* the first device: "NVIDIA H200, compute capability 9.0, 132 multiprocessors, 139.8 GiB" */
    char cuda_device[512];
    char cuda_error[512];      /* why there is none */
    char nvrtc[64];            /* the compiler for CUDA kernels: "NVRTC 13.0" */
    char nvrtc_error[512];     /* why there is none */
    char cublas[1024];         /* file of cuBLASLt */
    char cudnn[1024];          /* file of cuDNN */
    char compiler_advice[400]; /* what to do where there is no compiler for kernels */
} ctsc_environment;
/* Fills all of it, which loads LLVM and CUDA's libraries and starts the CUDA driver. */
CTSC_API void ctsc_get_environment(ctsc_environment *out);
/* The folder that compiled kernels are kept in, whether it is there or not, in text. False: none is
 * to be kept, or size is too small. */
CTSC_API bool ctsc_kernel_folder(char *text, size_t size);
/* The file of the secret under which kernels are sealed there; it is made if it is not there.
 * False: none are kept, or the secret is in that folder. */
CTSC_API bool ctsc_kernel_secret(char *text, size_t size);
/* A variable of the environment that the library reads (docs/debugging.md). */
typedef struct ctsc_variable {
    const char *name;    /* "CTSC_VERIFY" */
    const char *values;  /* what it may be: "1" */
    const char *meaning; /* one line */
    const char *value;   /* what it is; NULL: it is not set, or empty */
} ctsc_variable;
CTSC_API void ctsc_variables(void (*visit)(void *ctx, const ctsc_variable *v), void *ctx);
/* What the documentation lists for an operator overload. */
typedef struct ctsc_operator_detail {
    size_t size;     /* sizeof(ctsc_operator_detail) */
    const char *key; /* "aten::add.Tensor" */
    const char *schema;
    const char *family; /* "pointwise" */
    bool supported;
    bool functional; /* an aten operator that writes no argument */
    /* "kernel", "TorchScript" (embedded source), "bytecode" (instructions of their own), "derived";
     * NULL: not supported */
    const char *how;
    /* of a derived overload, even if the base is missing: the key of its base; else NULL */
    const char *base;
    /* kind of the results: "new", "view", "in place", "out", "" without tensors */
    const char *alias;
    /* its role in a fused kernel: "pointwise", "view", "reduction", "rows"; else NULL */
    const char *fusible;
} ctsc_operator_detail;
CTSC_API void ctsc_operator_details(void (*visit)(void *ctx, const ctsc_operator_detail *o),
                                    void *ctx);
/* The families in the order of the documentation; NULL after the last. */
CTSC_API const char *ctsc_operator_family(int i);
/* Runs the operator on small tensors of each dtype: bit d for each ctsc_dtype d with
 * which it works, as the dtype of its first tensor arguments. 0: it takes no tensors, or
 * no arguments were found with which it works. Operators with effects are not run. */
CTSC_API uint32_t ctsc_operator_dtypes(const char *key);
/* Gradient checkpointing: calls of m that are recorded (ctsc_module_set_gradients) and become
 * programs keep what crosses between `segments` parts of them, and compute the rest again for
 * their gradients. segments 0: the fewest with which the activations and gradients of a step
 * take at most max_bytes at a time, failing that those with which they take least. segments 1:
 * none, all is kept. A ctsc_module_warm_up takes no memory for elements then. Nobody else may
 * use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_checkpoints(ctsc_module *m, int64_t segments,
                                                 uint64_t max_bytes, ctsc_error *e);
/* What became of that, in the call so far that takes most. */
typedef struct ctsc_checkpoints {
    size_t size;      /* sizeof(ctsc_checkpoints) */
    int64_t segments; /* 0: no call has become a program */
    uint64_t bytes;   /* of activations and gradients at their peak; parameters do not count */
    uint64_t bytes_without;
    const char *refused; /* why a call became no program; NULL: all did. m's */
} ctsc_checkpoints;
CTSC_API void ctsc_module_checkpoints(const ctsc_module *m, ctsc_checkpoints *out);
/* How gradients go through an operator. */
typedef enum ctsc_derivative {
    CTSC_DERIVATIVE_MISSING, /* an error where one is needed */
    CTSC_DERIVATIVE_FORMULA, /* its own, or those of the operators that it is made of */
    CTSC_DERIVATIVE_NONE,    /* its results have none */
} ctsc_derivative;
CTSC_API ctsc_derivative ctsc_operator_derivative(const char *key);
/* Visits the passes in the order of their table. */
CTSC_API void ctsc_passes(void (*visit)(void *ctx, const char *name, const char *text), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
