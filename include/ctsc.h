/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc.h - run PyTorch's TorchScript archives from C, without PyTorch.
 *
 * This is the whole public interface of libctsc. It is C11 and can be included from C++.
 *
 * Conventions
 *   Errors     Every function that can fail returns a ctsc_status. On failure it fills the
 *              ctsc_error the caller passed (which may be NULL) and leaves its out-parameters
 *              untouched. The library never prints, exits or jumps.
 *   Ownership  A function named ..._new, ..._load, ..._get or with an out-parameter of handle type
 *              gives the caller a reference, to be released with the matching ..._free.
 *              Arguments are borrowed for the call unless the comment says otherwise.
 *   Threads    Distinct handles may be used from distinct threads at the same time. One
 *              ctsc_module may be run by many threads at once; everything else that modifies a
 *              handle needs the caller's own lock.
 */
#ifndef CTSC_H
#define CTSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CTSC_API __attribute__((visibility("default")))
#else
#define CTSC_API
#endif

/* What a call came to. The numbers are also the exit codes of the `ctsc` command.
 *      name          code  meaning */
#define CTSC_STATUS_MAP(X)                                                                         \
    X(OK,             0,    "success")                                                             \
    X(FAILED,         1,    "the work failed: a script raised, a source did not compile")          \
    X(USAGE,          2,    "wrong usage: an argument does not fit the call")                      \
    X(BAD_FILE,       3,    "a file is damaged or not what it should be")                          \
    X(UNSUPPORTED,    4,    "an operator or a feature is not supported")                           \
    X(LIMIT,          5,    "a resource limit was reached, memory included")                       \
    X(ENVIRONMENT,    6,    "the environment lacks something")                                     \
    X(INTERNAL,       70,   "a bug in ctsc")

typedef enum ctsc_status {
#define CTSC_STATUS_ENUM(name, code, text) CTSC_##name = code,
    CTSC_STATUS_MAP(CTSC_STATUS_ENUM)
#undef CTSC_STATUS_ENUM
} ctsc_status;

/* ---- errors ------------------------------------------------------------------------------------ */

/* Describes a failed call: message, place in the source, chain of calls. One object can be
 * passed to any number of calls, one after the other; each call clears it first. */
typedef struct ctsc_error ctsc_error;

CTSC_API ctsc_error *ctsc_error_new(void); /* NULL without memory */
CTSC_API void ctsc_error_free(ctsc_error *e);
CTSC_API ctsc_status ctsc_error_status(const ctsc_error *e);
/* One line, no place. Valid until the next call that is given e. Never NULL. */
CTSC_API const char *ctsc_error_message(const ctsc_error *e);
/* Python class of an exception that the script raised ("builtins.ValueError"), or NULL. */
CTSC_API const char *ctsc_error_exception(const ctsc_error *e);
/* Everything, for a person: message, source line with a caret, chain of calls. Free with ctsc_string_free; NULL
 * without memory. colour: with terminal escapes. */
CTSC_API char *ctsc_error_render(const ctsc_error *e, bool colour);
CTSC_API const char *ctsc_status_text(ctsc_status s);
/* For functions that a program gives to the library: describes the failure and returns s. e may be NULL. */
CTSC_API ctsc_status ctsc_error_set(ctsc_error *e, ctsc_status s, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Frees a string that a function of this header returned. s may be NULL. */
CTSC_API void ctsc_string_free(char *s);

/* ---- library ----------------------------------------------------------------------------------- */

/* The header's version, and the number that changes when programs have to be compiled and linked again. */
#define CTSC_VERSION_STRING "0.1.0"
#define CTSC_ABI_VERSION 0

CTSC_API const char *ctsc_version(void); /* the library's: "0.1.0" */
/* Whether the library can serve a program that was compiled with a header of this version: the same ABI, and a library that is not older.
 * Use: ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION). */
CTSC_API bool ctsc_compatible(const char *version, int abi);
/* Threads one call may spread over; 0: one per core the process may use (the default). */
CTSC_API void ctsc_set_threads(int n);

/* Where all memory of the library comes from, that of tensors included: resize(ctx, p, size) gives a block of size bytes, aligned to 16, with the
 * contents of p (NULL: a new block); size 0 frees p and gives NULL. NULL for another size: there is no memory, and p is as it was. Called
 * from any thread. NULL restores malloc's. Only before the first handle is made or after the last one is freed. */
typedef void *(*ctsc_resize_fn)(void *ctx, void *p, size_t size);
CTSC_API void ctsc_set_allocator(ctsc_resize_fn resize, void *ctx);

/* What the library has to say beside results and errors, a line at a time without a newline: kernels compiled or loaded, what had to go on without one,
 * a cache folder that cannot be written. NULL: nothing is said, the default. fn may be called from any thread, never while ctsc_set_log
 * runs; it must not call the library. */
typedef enum ctsc_log_level { CTSC_LOG_DEBUG, CTSC_LOG_INFO, CTSC_LOG_WARNING } ctsc_log_level;
typedef void (*ctsc_log_fn)(void *ctx, ctsc_log_level level, const char *text);
CTSC_API void ctsc_set_log(ctsc_log_level least, ctsc_log_fn fn, void *ctx);

/* ---- values ------------------------------------------------------------------------------------ */

/* A TorchScript value: number, string, tensor, list, ... A handle is one reference to it; lists, dicts and tensors
 * are shared between the handles that refer to them. */
typedef struct ctsc_value ctsc_value;

typedef enum ctsc_kind {
    CTSC_KIND_NONE, CTSC_KIND_BOOL, CTSC_KIND_INT, CTSC_KIND_FLOAT, CTSC_KIND_COMPLEX,
    CTSC_KIND_STRING, CTSC_KIND_TENSOR, CTSC_KIND_LIST, CTSC_KIND_DICT, CTSC_KIND_TUPLE,
    CTSC_KIND_OBJECT, CTSC_KIND_OTHER
} ctsc_kind;

/* Element types; the numbers are PyTorch's. */
typedef enum ctsc_dtype {
    CTSC_UINT8 = 0, CTSC_INT8 = 1, CTSC_INT16 = 2, CTSC_INT32 = 3, CTSC_INT64 = 4,
    CTSC_FLOAT16 = 5, CTSC_FLOAT32 = 6, CTSC_FLOAT64 = 7, CTSC_COMPLEX64 = 9,
    CTSC_COMPLEX128 = 10, CTSC_BOOL = 11, CTSC_BFLOAT16 = 15
} ctsc_dtype;

CTSC_API void ctsc_value_free(ctsc_value *v); /* v may be NULL */
CTSC_API ctsc_value *ctsc_value_copy(const ctsc_value *v); /* another handle on the same value */
CTSC_API ctsc_kind ctsc_value_kind(const ctsc_value *v);

/* Makers: NULL without memory. */
CTSC_API ctsc_value *ctsc_none_new(void);
CTSC_API ctsc_value *ctsc_bool_new(bool b);
CTSC_API ctsc_value *ctsc_int_new(int64_t i);
CTSC_API ctsc_value *ctsc_float_new(double f);
CTSC_API ctsc_value *ctsc_complex_new(double real, double imaginary);
CTSC_API ctsc_value *ctsc_string_new(const char *bytes, size_t len);
/* A tuple or a list of n values (borrowed; the new value takes its own references). */
CTSC_API ctsc_value *ctsc_tuple_new(size_t n, ctsc_value *const *items);
CTSC_API ctsc_value *ctsc_list_new(size_t n, ctsc_value *const *items);
/* A dict of n pairs, in this order. Keys: strings, ints, floats, bools, complex numbers or tensors. NULL for others. */
CTSC_API ctsc_value *ctsc_dict_new(size_t n, ctsc_value *const *keys, ctsc_value *const *items);

/* Readers. The kind must be right: a wrong one gives 0, false, NULL or "". */
CTSC_API bool ctsc_value_bool(const ctsc_value *v);
CTSC_API int64_t ctsc_value_int(const ctsc_value *v);
CTSC_API double ctsc_value_float(const ctsc_value *v);
CTSC_API double ctsc_value_real(const ctsc_value *v); /* of a complex number */
CTSC_API double ctsc_value_imaginary(const ctsc_value *v);
/* Borrowed, NUL-terminated; *len may be NULL. */
CTSC_API const char *ctsc_value_string(const ctsc_value *v, size_t *len);
/* Items of a list, tuple or dict, attributes of an object. */
CTSC_API size_t ctsc_value_len(const ctsc_value *v);
/* Item i of a list or tuple, value i of a dict: a new handle, NULL if out of range. */
CTSC_API ctsc_value *ctsc_value_item(const ctsc_value *v, size_t i);
/* Key i of a dict: a new handle. */
CTSC_API ctsc_value *ctsc_value_key(const ctsc_value *v, size_t i);
/* The item of a dict under a string, the attribute of an object or the field of a NamedTuple; a new handle, NULL if there is none. */
CTSC_API ctsc_value *ctsc_value_get(const ctsc_value *v, const char *name);
/* The value's type as in Python: "Tensor", "List[int]", "__torch__.Point". Free with ctsc_string_free; NULL without memory. */
CTSC_API char *ctsc_value_type(const ctsc_value *v);

/* Tensors. Sizes and strides count elements; data is row-major unless strides say otherwise. */

/* A new tensor with its own zeroed memory. */
CTSC_API ctsc_status ctsc_tensor_new(ctsc_dtype dtype, int ndim, const int64_t *sizes,
                                     ctsc_value **out, ctsc_error *e);
/* A tensor on the caller's memory, not copied: `data` (aligned to the element size, at least as many bytes as the sizes
 * need, contiguous) must stay valid until release(ctx, data) is called, which happens when the last
 * reference goes; release may be NULL. */
CTSC_API ctsc_status ctsc_tensor_borrow(ctsc_dtype dtype, int ndim, const int64_t *sizes, void *data,
                                        void (*release)(void *ctx, void *data), void *ctx,
                                        ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_dtype ctsc_tensor_dtype(const ctsc_value *t);
CTSC_API int ctsc_tensor_ndim(const ctsc_value *t);
CTSC_API const int64_t *ctsc_tensor_sizes(const ctsc_value *t);   /* borrowed, ndim numbers */
CTSC_API const int64_t *ctsc_tensor_strides(const ctsc_value *t); /* borrowed, ndim numbers */
CTSC_API void *ctsc_tensor_data(const ctsc_value *t);             /* element (0, ..., 0) */
CTSC_API bool ctsc_tensor_is_contiguous(const ctsc_value *t);
/* A row-major tensor with the same contents: a new handle on t itself if it is one already. */
CTSC_API ctsc_status ctsc_tensor_contiguous(const ctsc_value *t, ctsc_value **out, ctsc_error *e);

/* Reads what torch.save wrote, or a .npy/.npz file. */
CTSC_API ctsc_status ctsc_value_load(const char *path, ctsc_value **out, ctsc_error *e);
/* Writes v as torch.save does. The file appears whole or not at all. */
CTSC_API ctsc_status ctsc_value_save(const ctsc_value *v, const char *path, ctsc_error *e);
/* What print(v) writes in TorchScript. Free with ctsc_string_free; NULL without memory. */
CTSC_API char *ctsc_value_print(const ctsc_value *v);
/* True if |got - want| <= atol + rtol * |want| for every floating-point element and everything else is equal: types, dtypes,
 * shapes, keys. Otherwise *why (may be NULL) tells the first difference; free it with ctsc_string_free. */
CTSC_API bool ctsc_value_close(const ctsc_value *got, const ctsc_value *want, double rtol, double atol,
                               char **why);

/* ---- tensors of other libraries (DLPack) --------------------------------------------------------- */

/* As dlpack.h declares them; include it to look inside. Versions 1.x and, without a version, 0.x. */
struct DLManagedTensorVersioned;
struct DLManagedTensor;
/* A tensor as others take it, without copying: *out holds a reference to t's memory until its deleter is called. Complex numbers, bool and bfloat16
 * have DLPack types; quantised tensors fail with CTSC_UNSUPPORTED. Memory of a mapped file is marked read-only, and in the older form it fails. */
CTSC_API ctsc_status ctsc_tensor_to_dlpack(const ctsc_value *t, struct DLManagedTensorVersioned **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_tensor_to_dlpack_unversioned(const ctsc_value *t, struct DLManagedTensor **out, ctsc_error *e);
/* The other direction: *out takes t over and calls its deleter when the last value that shares the memory is freed, from whatever thread that
 * happens on. Memory marked read-only is copied when it is first written. On failure t stays the caller's, but for a foreign major version:
 * then its deleter has been called. Only memory of the CPU; strides must not be negative. */
CTSC_API ctsc_status ctsc_tensor_from_dlpack(struct DLManagedTensorVersioned *t, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_tensor_from_dlpack_unversioned(struct DLManagedTensor *t, ctsc_value **out, ctsc_error *e);

/* ---- modules ----------------------------------------------------------------------------------- */

/* A loaded TorchScript archive. Running it from several threads at once is safe as long as the program itself does not
 * change the module's attributes. */
typedef struct ctsc_module ctsc_module;

/* Reads an archive written by torch.jit.save. Weights stored uncompressed are mapped, not copied: the
 * file must not be changed while the module lives. */
CTSC_API ctsc_status ctsc_module_load(const char *path, ctsc_module **out, ctsc_error *e);
/* The same from an open file, of which the archive is all; fd stays the caller's, who may close it right away. */
CTSC_API ctsc_status ctsc_module_load_fd(int fd, ctsc_module **out, ctsc_error *e);
/* The same from memory, which must stay valid and unchanged until ctsc_module_free. */
CTSC_API ctsc_status ctsc_module_load_memory(const void *data, size_t len, ctsc_module **out,
                                             ctsc_error *e);
CTSC_API void ctsc_module_free(ctsc_module *m); /* m may be NULL */

/* How much is done to make methods fast: 0, they are interpreted as written; 1, their graphs are optimised first; 2, the
 * default, operators are also fused into native kernels; 3, more time may go into compiling. Results are the same at every level.
 * Fails with CTSC_USAGE for other levels. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_opt(ctsc_module *m, int level, ctsc_error *e);

typedef struct ctsc_compile_options {
    size_t size;         /* sizeof(ctsc_compile_options), for later growth */
    const char *entry;   /* function or class to compile; NULL: see ctsc_module_compile */
    const char *weights; /* file with the parameters and buffers to use: a state_dict of torch.save, or an archive; NULL: as
                            the constructors initialise them */
    uint64_t seed;       /* torch.manual_seed before the module is built */
    bool training;       /* leave modules in training mode, as constructors make them; else .eval() is called, since ctsc is for
                            inference: dropout does nothing, batch norm uses its running statistics */
    bool skip_init;      /* leave weights uninitialised (zero) where random numbers would fill them: for a look at the code */
    uint64_t max_steps;  /* statements, calls and kilo-items of data the program may take while it is set up; 0: 50 million */
    void (*print)(void *ctx, const char *text, size_t len); /* print() while the program is set up; NULL: stdout */
    void (*warn)(void *ctx, const char *text);              /* its warnings; NULL: dropped */
    void *ctx;
    uint64_t max_bytes;  /* memory for the tensors and other data it makes meanwhile; 0: three quarters of the machine's */
} ctsc_compile_options;

/* Compiles a Python file: functions as torch.jit.script compiles them, or a class derived from torch.nn.Module, which is
 * constructed at compile time. The entry is `o->entry`, else the function `forward`, else the class `Main` (built without arguments),
 * else the only scripted function or the only module class that no other one uses. A function becomes the method `forward` of a
 * module. Modules that the file imports are searched beside it. o may be NULL.
 * Errors: CTSC_FAILED with the places in the source, several where they are independent. */
CTSC_API ctsc_status ctsc_module_compile(const char *path, const ctsc_compile_options *o, ctsc_module **out, ctsc_error *e);
/* The same for source in memory, which is copied. name: what messages and class names call it ("net.py"). Imports find only
 * what ctsc itself has. */
CTSC_API ctsc_status ctsc_module_compile_text(const char *name, const char *text, size_t len, const ctsc_compile_options *o,
                                              ctsc_module **out, ctsc_error *e);
/* Writes an archive that ctsc and PyTorch's torch.jit.load read. The file appears whole or not at all: a failed or interrupted
 * save leaves an older file as it was. */
CTSC_API ctsc_status ctsc_module_save(const ctsc_module *m, const char *path, ctsc_error *e);
/* Freezes a module in eval mode, as torch.jit.freeze: what is left is forward, with parameters and other attributes that nothing
 * changes as constants. fold_weights: batch norms and constant factors go into the weights of the layers before them, which changes
 * results by rounding. Nobody else may use m meanwhile. On failure m is as it was. */
CTSC_API ctsc_status ctsc_module_freeze(ctsc_module *m, bool fold_weights, ctsc_error *e);
/* Methods of the top-level module, in the order of the archive. */
CTSC_API size_t ctsc_module_method_count(const ctsc_module *m);
CTSC_API const char *ctsc_module_method_name(const ctsc_module *m, size_t i); /* NULL out of range */
/* "forward(Tensor x, int k=2) -> Tensor", without self. Free with ctsc_string_free. */
CTSC_API char *ctsc_module_method_schema(const ctsc_module *m, const char *method);
CTSC_API const char *ctsc_module_class(const ctsc_module *m); /* "__torch__.Net" */
CTSC_API int64_t ctsc_module_version(const ctsc_module *m);   /* the archive's format version */

/* Stops calls from another thread. Any number of calls may be given the same one; setting and clearing it is safe at any time while it
 * lives, which must be longer than the calls. */
typedef struct ctsc_cancel ctsc_cancel;
CTSC_API ctsc_cancel *ctsc_cancel_new(void); /* NULL without memory */
CTSC_API void ctsc_cancel_free(ctsc_cancel *c); /* c may be NULL */
CTSC_API void ctsc_cancel_set(ctsc_cancel *c);
CTSC_API void ctsc_cancel_clear(ctsc_cancel *c);

/* Limits of a call and what it reports to. A call that meets a limit fails with CTSC_LIMIT; the module can be run again. Time and cancellation are looked at
 * between operators: one that has begun ends first. With max_steps, cancel or timeout_us the program's own loops over numbers run in the
 * interpreter, not as native code. */
typedef struct ctsc_run_options {
    size_t size;         /* sizeof(ctsc_run_options), for later growth */
    uint64_t max_steps;  /* bytecode instructions; 0: no limit */
    void (*print)(void *ctx, const char *text, size_t len); /* print() in the script; NULL: stdout */
    void (*warn)(void *ctx, const char *text);              /* warnings; NULL: dropped */
    void *ctx;
    const ctsc_cancel *cancel; /* when set, the call fails; NULL: cannot be cancelled */
    uint64_t timeout_us;       /* from the start of the call, microseconds; 0: no limit */
    uint64_t max_bytes;        /* of memory the call may hold at a time beyond what the module keeps for its next call, with the default
                                  allocator; 0: no limit */
} ctsc_run_options;

/* Calls a method. args: nargs values, borrowed; missing ones take their defaults. o may be NULL. */
CTSC_API ctsc_status ctsc_module_run(const ctsc_module *m, const char *method, size_t nargs,
                                     ctsc_value *const *args, const ctsc_run_options *o,
                                     ctsc_value **out, ctsc_error *e);

/* The graph of a method as PyTorch prints it. */
enum { CTSC_GRAPH_INLINED = 1, /* calls replaced by bodies */ CTSC_GRAPH_LOCATIONS = 2 /* "# file:line:col" */ };
CTSC_API ctsc_status ctsc_module_graph(const ctsc_module *m, const char *method, unsigned flags,
                                       char **out, ctsc_error *e);
/* The graph of a method as it is run at the module's level of optimisation, for arguments like these: calls method with args and
 * gives the optimised graph, in which tensors have the types seen during that call (what differed between rounds of a loop is "*"), and
 * the graphs of its fusion groups. Without arguments (nargs 0) for a method that needs some, nothing is called and no types are known.
 * What the method prints and warns is dropped. Free *out with ctsc_string_free. */
enum {
    CTSC_GRAPH_KERNELS = 4, /* behind the graph: each group's kernel as a loop nest and as LLVM IR */
    CTSC_GRAPH_ASM = 8,     /* ... and in assembly language */
    CTSC_GRAPH_DOT = 16,    /* instead of text a drawing for Graphviz; the two above do not apply */
};
CTSC_API ctsc_status ctsc_module_graph_for(const ctsc_module *m, const char *method, size_t nargs, ctsc_value *const *args,
                                           unsigned flags, char **out, ctsc_error *e);
/* The TorchScript source of a method. */
CTSC_API ctsc_status ctsc_module_code(const ctsc_module *m, const char *method, char **out,
                                      ctsc_error *e);

/* Visits every attribute that holds data, depth first: name "layer1.0.weight". */
typedef struct ctsc_attribute_info {
    const char *name;
    const ctsc_value *value;
    bool is_parameter, is_buffer;
} ctsc_attribute_info;
CTSC_API void ctsc_module_attributes(const ctsc_module *m,
                                     void (*visit)(void *ctx, const ctsc_attribute_info *a), void *ctx);

/* Visits every operator call reachable from the module's methods (all are compiled for it). */
typedef struct ctsc_operator_use {
    const char *key;      /* "aten::add.Tensor" */
    bool supported;
    const char *function; /* qualified name of the function that uses it */
    const char *file;     /* original source file, or the archive's record */
    unsigned line;
} ctsc_operator_use;
CTSC_API ctsc_status ctsc_module_operators(const ctsc_module *m,
                                           void (*visit)(void *ctx, const ctsc_operator_use *u),
                                           void *ctx, ctsc_error *e);

/* ---- operators --------------------------------------------------------------------------------- */

typedef struct ctsc_operator_info {
    const char *key;    /* "aten::add.Tensor" */
    const char *schema; /* "aten::add.Tensor(Tensor self, ...) -> Tensor" */
    bool supported;
} ctsc_operator_info;
/* Visits every operator overload ctsc knows of. */
CTSC_API void ctsc_operators(void (*visit)(void *ctx, const ctsc_operator_info *o), void *ctx);

/* What an operator of a program's own does. args: one value per argument of the schema, those left out as their defaults, borrowed. results: one per
 * return of the schema, NULL, to be set to new handles that the library takes over; with a shape function, tensors to be written. A failing
 * operator says why with ctsc_error_set; what it put into results is released. In-place operators return ctsc_value_copy of the argument they changed. */
typedef ctsc_status (*ctsc_op_fn)(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results, ctsc_error *e);

typedef struct ctsc_tensor_shape { ctsc_dtype dtype; int ndim; int64_t sizes[64]; } ctsc_tensor_shape;

enum {
    CTSC_OP_EFFECTS = 1, /* calls are never left out, merged or moved: it prints, counts, draws from a source of its own */
    CTSC_OP_RANDOM = 2,  /* two calls with the same arguments may give different results: never merged, never run while a program is compiled */
};

typedef struct ctsc_op_options {
    size_t size;     /* sizeof(ctsc_op_options), for later growth */
    unsigned flags;  /* CTSC_OP_... */
    /* The dtype and sizes of result i, a tensor, from the arguments: the library makes it and the operator writes it. */
    ctsc_status (*shape)(void *ctx, size_t nargs, ctsc_value *const *args, size_t i, ctsc_tensor_shape *out, ctsc_error *e);
} ctsc_op_options;

/* Adds an operator, or replaces one of the same name and overload: "cv::warp(Tensor image, Tensor matrix, int mode=0) -> Tensor". Scripts and sources call it as
 * torch.ops.cv.warp, archives that use it load. Programs compiled before keep what they have. fn is called from any thread that runs a
 * program, from several at once; it and ctx must stay valid for good. o may be NULL.
 * Errors: CTSC_FAILED for a schema that cannot be read, CTSC_USAGE. */
CTSC_API ctsc_status ctsc_register_op(const char *schema, ctsc_op_fn fn, void *ctx, const ctsc_op_options *o, ctsc_error *e);
/* Opens a shared library that registers operators: it has a function `ctsc_status ctsc_library_init(ctsc_error *e)`, which is called once. It stays open.
 * path: as dlopen takes it; a name with a slash, or one that the loader finds. Errors: CTSC_ENVIRONMENT, or what the function says. */
CTSC_API ctsc_status ctsc_load_library(const char *path, ctsc_error *e);

#ifdef __cplusplus
}
#endif
#endif /* CTSC_H */
