/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc.h - run PyTorch's TorchScript archives from C, without PyTorch.
 *
 * This is the whole public interface of libctsc. It is C11 and can be included from C++.
 *
 * Conventions
 *   Errors     Every function that can fail returns a ctsc_status. On failure it fills the
 *              ctsc_error the caller passed (which may be NULL) and leaves its out-parameters
 *              untouched. The library never prints, exits or jumps. NULL for a required path,
 *              text, array or value is CTSC_USAGE; makers return NULL for it.
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

/* The outcome of a call. The numbers are also the exit codes of the `ctsc` command.
 *      name          code  meaning */
/* clang-format off */
#define CTSC_STATUS_MAP(X)                                                                         \
    X(OK,             0,    "success")                                                             \
    X(FAILED,         1,    "the work failed: a script raised, a source did not compile")          \
    X(USAGE,          2,    "wrong usage: an argument does not fit the call")                      \
    X(BAD_FILE,       3,    "a file is missing, damaged, or not what it should be")                \
    X(UNSUPPORTED,    4,    "an operator or a feature is not supported")                           \
    X(LIMIT,          5,    "a resource limit was reached, memory included")                       \
    X(ENVIRONMENT,    6,    "the environment lacks something, or a file cannot be written")        \
    X(INTERNAL,       70,   "a bug in ctsc")
/* clang-format on */

typedef enum ctsc_status {
#define CTSC_STATUS_ENUM(name, code, text) CTSC_##name = code,
    CTSC_STATUS_MAP(CTSC_STATUS_ENUM)
#undef CTSC_STATUS_ENUM
} ctsc_status;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Describes a failed call: message, source location, chain of calls. One object
 * can be passed to any number of calls in sequence; each call clears it first. */
typedef struct ctsc_error ctsc_error;

CTSC_API ctsc_error *ctsc_error_new(void); /* NULL if out of memory */
CTSC_API void ctsc_error_free(ctsc_error *e);
CTSC_API ctsc_status ctsc_error_status(const ctsc_error *e);
/* One line, without the location. Valid until the next call that takes e. Never NULL. */
CTSC_API const char *ctsc_error_message(const ctsc_error *e);
/* Python class of an exception that the script raised ("builtins.ValueError"), or NULL. */
CTSC_API const char *ctsc_error_exception(const ctsc_error *e);
/* The full text for a person to read: message, source line with a caret, chain of calls. Free with
 * ctsc_string_free; NULL if out of memory. colour: with terminal escapes. */
CTSC_API char *ctsc_error_render(const ctsc_error *e, bool colour);
CTSC_API const char *ctsc_status_text(ctsc_status s);
/* For callbacks that a program passes to the library:
 * describes the failure and returns s. e may be NULL. */
CTSC_API ctsc_status ctsc_error_set(ctsc_error *e, ctsc_status s, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Frees a string that a function of this header returned. s may be NULL. */
CTSC_API void ctsc_string_free(char *s);

/* ---- library --------------------------------------------------------------------------------- */

/* The header's version, and the number that changes
 * when programs have to be recompiled and relinked. */
#define CTSC_VERSION_STRING "0.2.0"
#define CTSC_ABI_VERSION 0

CTSC_API const char *ctsc_version(void); /* the library's: "0.2.0" */
/* Whether the library can serve a program that was compiled with a header of this version: the same
 * ABI, and a library that is not older.
 * Use: ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION). */
CTSC_API bool ctsc_compatible(const char *version, int abi);
/* Number of threads one call may use, for its kernels and for what the program forks
 * (torch.jit.fork); 0: one per core the process may use (the default). Results do not depend
 * on it: forked functions that print, draw random numbers or write what others see run in the
 * program's order, and so do all of a call that has max_steps, max_bytes or a profiler. */
CTSC_API void ctsc_set_threads(int n);

/* Treats denormal numbers, those below 2^-126 in float32 and 2^-1022 in float64, as zero: as
 * operands and as results, in operators, native kernels and backward passes, on all threads
 * of a call. Many processors are a hundred times slower on denormals than on other numbers
 * (ctsc_profile_entry.denormal says where they occur). The default is false. Returns false,
 * and changes nothing, where the processor has no such mode. Process-wide, for calls that
 * begin afterwards on any thread; a call restores its thread's own mode when it returns. The
 * calling thread enters the mode at once and keeps it between calls, as with
 * torch.set_flush_denormal. (Calls on a thread that has set the mode itself, in MXCSR or
 * FPCR, flush in any case.) Constants are folded in the mode of the call that optimises the
 * method, the first one at a level; kernels do not depend on it. May be called at any time,
 * on any thread. bfloat16 products by vdpbf16ps and AMX flush always; GPUs never do. */
CTSC_API bool ctsc_set_flush_denormals(bool on);
/* Allows Winograd's minimal filtering for convolutions with 3x3 kernels: two to three
 * times as fast, with up to three times the rounding error and four times the memory
 * for weights. Where a number is not finite, the direct sum is used. The default is
 * true; false: always the direct sum. Process-wide, for calls that begin afterwards. */
CTSC_API void ctsc_set_winograd(bool on);
/* Selects the algorithm of a convolution by measurement instead of a cost model: for a tenth
 * of a second when a size is first seen. The choice is kept for later processes in the
 * kernel cache (CTSC_CACHE). Algorithms round differently: results may differ in the last
 * bits from those without tuning, and between machines or cache folders, but not with the
 * number of threads. The default is false. Process-wide, for calls that begin afterwards. */
CTSC_API void ctsc_set_tuning(bool on);
/* Keeps the constant weights of convolutions, linear and recurrent layers in the packed form
 * that their kernels read, made at first use. The archive's copy stays; its pages are released
 * where the archive is a mapped file. The default is true; false: only the archive's copy is in
 * memory, and each call packs what it needs. Process-wide, for calls that begin afterwards. */
CTSC_API void ctsc_set_packing(bool on);

/* Where native kernels are compiled (ctsc_module_set_opt). With CTSC_COMPILE_BACKGROUND, the
 * default, calls do not wait: a thread of the library, which exists only while there is
 * something to compile and does not count for ctsc_set_threads, compiles what calls request;
 * until a kernel is ready, calls interpret that code. Only loops wait, for at most a tenth of
 * a second per call in total. Which call is the first native one then depends on timing, and
 * native results may differ from interpreted ones by rounding. With CTSC_COMPILE_IN_CALLS,
 * and at level 3, calls compile what they need (also where no thread can be started, or where
 * a thread other than the main one opened the library): the same calls in the same order give
 * the same results, to the last bit. Process-wide. The end of the main thread waits for a
 * kernel being compiled; other threads call ctsc_wait_for_kernels before they call exit. */
typedef enum ctsc_compiling { CTSC_COMPILE_BACKGROUND, CTSC_COMPILE_IN_CALLS } ctsc_compiling;
CTSC_API void ctsc_set_compiling(ctsc_compiling c);
/* Returns when no kernel is being compiled; false: one still is after timeout_us
 * microseconds (0: no limit). Kernels are requested when code runs for the second
 * time, so a method is warm after two or three calls with a wait after each. */
CTSC_API bool ctsc_wait_for_kernels(uint64_t timeout_us);

/* Sets the allocator for all memory of the library, tensors included: resize(ctx, p, size)
 * returns a block of size bytes, aligned to 16, with the contents of p (NULL: a new block);
 * size 0 frees p and returns NULL. NULL for another size: out of memory, and p is
 * unchanged. Called from any thread. NULL restores malloc. Call it only before the first
 * handle is made, or after the last one is freed and ctsc_wait_for_kernels has returned. */
typedef void *(*ctsc_resize_fn)(void *ctx, void *p, size_t size);
CTSC_API void ctsc_set_allocator(ctsc_resize_fn resize, void *ctx);

/* Sets the receiver of log messages, one line each without a newline: kernels
 * compiled or loaded, code that continues without a kernel, a cache folder that
 * cannot be written. CTSC_LOG_ALERT: something is missing from the installation,
 * and what to do about it, once for each such thing. NULL, the default: no
 * messages; CTSC_LOG in the environment prints them in any case. fn may be called
 * from any thread, never while ctsc_set_log runs; it must not call the library. */
typedef enum ctsc_log_level {
    CTSC_LOG_DEBUG,
    CTSC_LOG_INFO,
    CTSC_LOG_WARNING,
    CTSC_LOG_ALERT
} ctsc_log_level;
typedef void (*ctsc_log_fn)(void *ctx, ctsc_log_level level, const char *text);
CTSC_API void ctsc_set_log(ctsc_log_level least, ctsc_log_fn fn, void *ctx);

/* ---- element types --------------------------------------------------------------------------- */

/* Element types; the numbers are PyTorch's. */
typedef enum ctsc_dtype {
    CTSC_UINT8 = 0,
    CTSC_INT8 = 1,
    CTSC_INT16 = 2,
    CTSC_INT32 = 3,
    CTSC_INT64 = 4,
    CTSC_FLOAT16 = 5,
    CTSC_FLOAT32 = 6,
    CTSC_FLOAT64 = 7,
    CTSC_COMPLEX64 = 9,
    CTSC_COMPLEX128 = 10,
    CTSC_BOOL = 11,
    CTSC_BFLOAT16 = 15,
    /* Operators do not compute with these; they are stored, converted (aten::to), compared and
     * moved about. */
    CTSC_FLOAT8_E5M2 = 23,
    CTSC_FLOAT8_E4M3FN = 24,
    CTSC_FLOAT8_E5M2FNUZ = 25,
    CTSC_FLOAT8_E4M3FNUZ = 26,
    CTSC_UINT16 = 27,
    CTSC_UINT32 = 28,
    CTSC_UINT64 = 29,
    CTSC_FLOAT8_E8M0FNU = 44
} ctsc_dtype;

typedef enum ctsc_dtype_kind {
    CTSC_DTYPE_BOOL,
    CTSC_DTYPE_UNSIGNED,
    CTSC_DTYPE_SIGNED,
    CTSC_DTYPE_FLOAT,
    CTSC_DTYPE_COMPLEX,
    CTSC_DTYPE_QUANTISED
} ctsc_dtype_kind;

/* How far the library supports an element type. */
typedef enum ctsc_dtype_use {
    /* programs name it; ctsc_tensor_new does not make it, or no
     * operator computes with it: quantised types and complex32 */
    CTSC_DTYPE_NAMED,
    CTSC_DTYPE_STORED,  /* see CTSC_FLOAT8_E5M2 and what follows it */
    CTSC_DTYPE_COMPUTED /* operators compute with it */
} ctsc_dtype_use;

/* An element type, and its names in programs, files and protocols. A name
 * is NULL where there is none. Later versions add fields at the end. */
typedef struct ctsc_dtype_info {
    ctsc_dtype dtype; /* or a number that the enumeration lacks: of CTSC_DTYPE_NAMED */
    ctsc_dtype_kind kind;
    ctsc_dtype_use use;
    size_t bytes;            /* of an element */
    const char *name;        /* PyTorch's: "float32" */
    const char *other_name;  /* PyTorch's second one: "float" */
    const char *type_name;   /* in names of types and storages: "Float", of FloatTensor */
    const char *method;      /* of Tensor, converts to it: "float" */
    const char *brief;       /* what ctsc's command line takes: "f32" */
    const char *format;      /* of Python's buffer protocol: "f" */
    const char *typestr;     /* NumPy's: "<f4" */
    const char *safetensors; /* in the header of a .safetensors file: "F32" */
    const char *wire;        /* datatype of the Open Inference Protocol: "FP32" */
    int onnx;                /* TensorProto.DataType; 0: none that the library reads or writes */
} ctsc_dtype_info;

/* What these return is the library's, never changes and is never freed: any thread may read it. */
/* By number; NULL: there is no such element type. */
CTSC_API const ctsc_dtype_info *ctsc_dtype_describe(int64_t number);
/* By name, other_name or brief; NULL: none, or name is NULL. */
CTSC_API const ctsc_dtype_info *ctsc_dtype_find(const char *name);
/* Number i of them, counted from 0, in the order of their numbers; NULL at the end. */
CTSC_API const ctsc_dtype_info *ctsc_dtype_at(size_t i);

/* ---- values ---------------------------------------------------------------------------------- */

/* A TorchScript value: number, string, tensor, list, ... A handle is one reference to it; lists,
 * dicts and tensors are shared between the handles that refer to them. */
typedef struct ctsc_value ctsc_value;

typedef enum ctsc_kind {
    CTSC_KIND_NONE,
    CTSC_KIND_BOOL,
    CTSC_KIND_INT,
    CTSC_KIND_FLOAT,
    CTSC_KIND_COMPLEX,
    CTSC_KIND_STRING,
    CTSC_KIND_TENSOR,
    CTSC_KIND_LIST,
    CTSC_KIND_DICT,
    CTSC_KIND_TUPLE,
    CTSC_KIND_OBJECT,
    CTSC_KIND_OTHER,
    CTSC_KIND_FUTURE /* what torch.jit.fork gives */
} ctsc_kind;

CTSC_API void ctsc_value_free(ctsc_value *v);              /* v may be NULL */
CTSC_API ctsc_value *ctsc_value_copy(const ctsc_value *v); /* another handle on the same value */
/* Whether both are handles to the same value, like Python's
 * `is`: a tensor and a view of it are not. false for NULL. */
CTSC_API bool ctsc_value_is(const ctsc_value *a, const ctsc_value *b);
CTSC_API ctsc_kind ctsc_value_kind(const ctsc_value *v);

/* Constructors: NULL if out of memory. */
CTSC_API ctsc_value *ctsc_none_new(void);
CTSC_API ctsc_value *ctsc_bool_new(bool b);
CTSC_API ctsc_value *ctsc_int_new(int64_t i);
CTSC_API ctsc_value *ctsc_float_new(double f);
CTSC_API ctsc_value *ctsc_complex_new(double real, double imaginary);
CTSC_API ctsc_value *ctsc_string_new(const char *bytes, size_t len);
/* A tuple or a list of n values (borrowed; the new value takes its own references). */
CTSC_API ctsc_value *ctsc_tuple_new(size_t n, ctsc_value *const *items);
CTSC_API ctsc_value *ctsc_list_new(size_t n, ctsc_value *const *items);
/* A dict of n pairs, in this order. Keys: strings, ints, floats, bools, complex numbers or tensors.
 * NULL for others. */
CTSC_API ctsc_value *ctsc_dict_new(size_t n, ctsc_value *const *keys, ctsc_value *const *items);

/* A future whose result the caller's function gives: the result of an operator of the program's own
 * (ctsc_register_op) whose schema says "-> Future(Tensor)" or "-> RRef(Tensor)", or an argument of
 * such a type. A script that waits for it calls wait, from any thread, as often as the script
 * waits: *result is a new handle, of which that type says what it is, or the status is that of an
 * error in e. free(ctx), when nobody has the
 * future any more; it may be NULL. NULL if out of memory: ctx is then the caller's still. */
CTSC_API ctsc_value *ctsc_future_new(ctsc_status (*wait)(void *ctx, ctsc_value **result,
                                                         ctsc_error *e),
                                     void (*free)(void *ctx), void *ctx);
/* The ctx of a future that ctsc_future_new made with that function; NULL for all other values. */
CTSC_API void *ctsc_future_context(const ctsc_value *v,
                                   ctsc_status (*wait)(void *ctx, ctsc_value **result,
                                                       ctsc_error *e));
/* Whether ctsc_future_wait will return at once; false for other kinds of values. */
CTSC_API bool ctsc_future_done(const ctsc_value *v);
/* The result, a new handle, when it is there. Errors: those of what was forked; CTSC_USAGE for
 * another kind of value. */
CTSC_API ctsc_status ctsc_future_wait(const ctsc_value *v, ctsc_value **result, ctsc_error *e);

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
/* The item of a dict with a string key, the attribute of an object (or a Final constant
 * of its class) or the field of a NamedTuple; a new handle, NULL if there is none. */
CTSC_API ctsc_value *ctsc_value_get(const ctsc_value *v, const char *name);
/* The name of attribute i of an object, of field i of a NamedTuple; borrowed, NULL
 * if there is none. */
CTSC_API const char *ctsc_value_name(const ctsc_value *v, size_t i);
/* The value's type as in Python: "Tensor", "List[int]", "__torch__.Point". Free with
 * ctsc_string_free; NULL if out of memory. */
CTSC_API char *ctsc_value_type(const ctsc_value *v);

/* Tensors. Sizes and strides count elements; data is row-major unless strides say otherwise. */

/* A new tensor with its own zeroed memory. */
CTSC_API ctsc_status ctsc_tensor_new(ctsc_dtype dtype, int ndim, const int64_t *sizes,
                                     ctsc_value **out, ctsc_error *e);
/* A tensor on the caller's memory, not copied: `data` (aligned to the element size, at least as
 * many bytes as the sizes need, contiguous) must stay valid until release(ctx, data) is called,
 * which happens when the last reference is freed; release may be NULL. */
CTSC_API ctsc_status ctsc_tensor_borrow(ctsc_dtype dtype, int ndim, const int64_t *sizes,
                                        void *data, void (*release)(void *ctx, void *data),
                                        void *ctx, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_dtype ctsc_tensor_dtype(const ctsc_value *t);
CTSC_API int ctsc_tensor_ndim(const ctsc_value *t);
CTSC_API const int64_t *ctsc_tensor_sizes(const ctsc_value *t);   /* borrowed, ndim numbers */
CTSC_API const int64_t *ctsc_tensor_strides(const ctsc_value *t); /* borrowed, ndim numbers */
/* The name of a dim, as PyTorch 1.13's named tensors have them: borrowed until t gets others. NULL:
 * it has none. */
CTSC_API const char *ctsc_tensor_dim_name(const ctsc_value *t, int dim);
/* element (0, ..., 0); NULL where it is not on the CPU */
CTSC_API void *ctsc_tensor_data(const ctsc_value *t);
/* Whether t's elements are the conjugates or the negatives of what ctsc_tensor_data
 * returns, as with aten::conj, which shares its argument's memory; aten::clone resolves
 * such a tensor. Results of ctsc_module_run are not lazy unless this is requested. */
CTSC_API bool ctsc_tensor_is_lazy(const ctsc_value *t);
/* Size in bytes of the storage that t and all views of it share; 0 if t is not a tensor. */
CTSC_API size_t ctsc_tensor_storage_bytes(const ctsc_value *t);
CTSC_API bool ctsc_tensor_is_contiguous(const ctsc_value *t);
/* Whether a program may write through ctsc_tensor_data: false for
 * a mapped file's memory and for memory borrowed read-only. */
CTSC_API bool ctsc_tensor_is_writable(const ctsc_value *t);
/* A row-major tensor with the same contents; a new handle to t itself if it is row-major. */
CTSC_API ctsc_status ctsc_tensor_contiguous(const ctsc_value *t, ctsc_value **out, ctsc_error *e);

/* Reads what torch.save wrote, or a .npy/.npz file. */
CTSC_API ctsc_status ctsc_value_load(const char *path, ctsc_value **out, ctsc_error *e);
/* Writes v as torch.save does. The file appears whole or not at all. */
CTSC_API ctsc_status ctsc_value_save(const ctsc_value *v, const char *path, ctsc_error *e);
/* Reads weights: a dict of tensors by name, of a state_dict or a checkpoint of torch.save, of
 * a .safetensors file or the index of several (model.safetensors.index.json), or of an
 * archive. In a checkpoint it has to be the only dict of tensors. Data stored in the in-memory
 * layout is mapped, not copied: the file must not be changed while a tensor of it lives. */
CTSC_API ctsc_status ctsc_state_load(const char *path, ctsc_value **out, ctsc_error *e);
/* The same for a model that is a part of a larger one: of an index, only the tensors whose names
 * are keys of the dict `names` (ctsc_module_state), and scales beside them; only files that have
 * such are opened. Of any other file all tensors. */
CTSC_API ctsc_status ctsc_state_load_part(const char *path, const ctsc_value *names,
                                          ctsc_value **out, ctsc_error *e);
/* What print(v) writes in TorchScript. Free with ctsc_string_free; NULL if out of memory. */
CTSC_API char *ctsc_value_print(const ctsc_value *v);
/* True if |got - want| <= atol + rtol * |want| for every floating-point element
 * and everything else is equal: types, dtypes, shapes, keys. Otherwise *why (may
 * be NULL) describes the first difference; free it with ctsc_string_free. */
CTSC_API bool ctsc_value_close(const ctsc_value *got, const ctsc_value *want, double rtol,
                               double atol, char **why);

/* ---- formats of files ------------------------------------------------------------------------ */

/* What files of a format hold. */
enum {
    CTSC_FORMAT_PROGRAM = 1, /* what ctsc_module_load reads */
    CTSC_FORMAT_WEIGHTS = 2, /* what ctsc_state_load reads */
    CTSC_FORMAT_SOURCE = 4   /* what ctsc_module_compile reads */
};

/* Later versions add fields at the end. */
typedef struct ctsc_format {
    const char *name;         /* "torchscript", "safetensors", ... */
    const char *endings;      /* ".torchscript .ts .ptl": file extensions, the usual one first */
    const char *model_ending; /* of models in a folder for ctsc serve: ".pt2"; NULL: none */
    const char *text;         /* for a person: "archive of torch.jit.save" */
    unsigned holds;           /* CTSC_FORMAT_..., any of them */
} ctsc_format;

/* What these return is the library's, never changes and is never freed: any thread may read it. */
/* Number i, counted from 0; NULL at the end. */
CTSC_API const ctsc_format *ctsc_format_at(size_t i);
/* By name; NULL: none, or name is NULL. */
CTSC_API const ctsc_format *ctsc_format_find(const char *name);
/* The format by a file's extension (the longest one that matches): "pt" for .pt, a program
 * or weights. *len (may be NULL): the extension's length. NULL: it is not a format's. */
CTSC_API const ctsc_format *ctsc_format_by_ending(const char *path, size_t *len);
/* The format of a file by its content, whatever its name. *out is NULL for source and for a format
 * that the library does not know. The file may still be damaged further on. Errors: CTSC_BAD_FILE
 * and CTSC_LIMIT where it cannot be read, or begins as an archive that cannot be opened. */
CTSC_API ctsc_status ctsc_file_format(const char *path, const ctsc_format **out, ctsc_error *e);

/* ---- safetensors ----------------------------------------------------------------------------- */

/* An open .safetensors file: tensors by name, numbered in the order of their data,
 * and metadata. Opening checks the whole header but reads no tensor. Thread-safe. */
typedef struct ctsc_safetensors ctsc_safetensors;

CTSC_API ctsc_status ctsc_safetensors_open(const char *path, ctsc_safetensors **out, ctsc_error *e);
CTSC_API void ctsc_safetensors_free(ctsc_safetensors *f); /* f may be NULL */
CTSC_API size_t ctsc_safetensors_count(const ctsc_safetensors *f);
/* Name, element type ("F32", "BF16", "F8_E4M3", as the file has it) and shape of tensor i, borrowed
 * from f; NULL and 0 if out of range. ctsc may lack the type. */
CTSC_API const char *ctsc_safetensors_name(const ctsc_safetensors *f, size_t i);
CTSC_API const char *ctsc_safetensors_dtype(const ctsc_safetensors *f, size_t i);
CTSC_API int ctsc_safetensors_ndim(const ctsc_safetensors *f, size_t i);
CTSC_API const int64_t *ctsc_safetensors_sizes(const ctsc_safetensors *f, size_t i);
/* The number of the tensor of that name; the count if there is none. */
CTSC_API size_t ctsc_safetensors_find(const ctsc_safetensors *f, const char *name);
/* Tensor i, a new handle that may outlive f: its memory is the file's mapping
 * (and read-only, as ctsc_tensor_is_writable says) where elements are aligned
 * there, else a copy. CTSC_UNSUPPORTED for a type that ctsc does not have. */
CTSC_API ctsc_status ctsc_safetensors_tensor(const ctsc_safetensors *f, size_t i, ctsc_value **out,
                                             ctsc_error *e);
/* Text i of the metadata, and its key (key may be NULL), borrowed from f; NULL if out of range. */
CTSC_API const char *ctsc_safetensors_metadata(const ctsc_safetensors *f, size_t i,
                                               const char **key);
/* Writes a dict of tensors, with n texts under their keys as metadata. A tensor that is in it
 * under several names is written once, and the metadata say OTHER = NAME; ctsc_state_load
 * gives both back.
 * The file appears whole or not at all. */
CTSC_API ctsc_status ctsc_safetensors_save(const ctsc_value *tensors, size_t n,
                                           const char *const *keys, const char *const *texts,
                                           const char *path, ctsc_error *e);

/* ---- tensors of other libraries (DLPack) ----------------------------------------------------- */

/* As dlpack.h declares them; include it to look inside. Versions 1.x and, without
 * a version, 0.x. */
struct DLManagedTensorVersioned;
struct DLManagedTensor;
/* Exports a tensor without copying: *out holds a reference to t's memory
 * until its deleter is called. Complex numbers, bool and bfloat16 have
 * DLPack types; quantised tensors fail with CTSC_UNSUPPORTED. Memory of a
 * mapped file is marked read-only; the unversioned form fails for it. */
CTSC_API ctsc_status ctsc_tensor_to_dlpack(const ctsc_value *t,
                                           struct DLManagedTensorVersioned **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_tensor_to_dlpack_unversioned(const ctsc_value *t,
                                                       struct DLManagedTensor **out, ctsc_error *e);
/* The other direction: *out takes t over and calls its deleter when the last value that shares
 * the memory is freed, on whichever thread that happens. Memory marked read-only is copied
 * when it is first written. On failure t stays the caller's, except for an unknown major
 * version: its deleter has then been called. CPU memory only; strides must not be negative. */
CTSC_API ctsc_status ctsc_tensor_from_dlpack(struct DLManagedTensorVersioned *t, ctsc_value **out,
                                             ctsc_error *e);
CTSC_API ctsc_status ctsc_tensor_from_dlpack_unversioned(struct DLManagedTensor *t,
                                                         ctsc_value **out, ctsc_error *e);

/* ---- modules --------------------------------------------------------------------------------- */

/* A loaded TorchScript archive. Running it from several threads at once is safe as long as the
 * program itself does not change the module's attributes. */
typedef struct ctsc_module ctsc_module;

/* Reads an archive written by torch.jit.save. Weights stored uncompressed are mapped, not copied:
 * the file must not be changed while the module lives. */
CTSC_API ctsc_status ctsc_module_load(const char *path, ctsc_module **out, ctsc_error *e);
/* The same from an open file that contains only the archive;
 * fd stays the caller's, who may close it right away. */
CTSC_API ctsc_status ctsc_module_load_fd(int fd, ctsc_module **out, ctsc_error *e);
/* The same from memory, which must stay valid and unchanged until ctsc_module_free. */
CTSC_API ctsc_status ctsc_module_load_memory(const void *data, size_t len, ctsc_module **out,
                                             ctsc_error *e);
CTSC_API void ctsc_module_free(ctsc_module *m); /* m may be NULL */

/* Optimisation level: 0, methods are interpreted as written; 1, their graphs
 * are optimised first; 2, the default, operators are also fused into native
 * kernels (ctsc_set_compiling tells when); 3, the first call that can use a
 * kernel makes it. Results are the same at every level, except for rounding.
 * Fails with CTSC_USAGE for other levels. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_opt(ctsc_module *m, int level, ctsc_error *e);
/* Precision of layers with constant weights at levels 2 and 3, on the host:
 * "float32", as written, the default; "bf16", linear layers and convolutions multiply
 * factors rounded to bfloat16 and sum in float32; "int8w", linear layers and
 * embeddings store their weights in a byte each, with a scale per output feature;
 * "int4w", in 4 bits each, with a scale for each group of 32 weights of a feature,
 * and activations of linear layers in a byte each: "int4w:GROUP" for groups of 32, 64
 * or 128, "int4w:GROUP,asym" with zero points; "auto", each layer in the fastest way
 * on this processor whose error is at most 0.01 of its products, "auto:ERROR" with
 * another bound. docs/precision.md has the error bounds. ctsc_module_save does not
 * write this setting. Fails with CTSC_USAGE for other names (NULL among them), with
 * CTSC_UNSUPPORTED where "bf16" is not faster on the processor. Modules made from
 * parts of m follow. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_precision(ctsc_module *m, const char *name, ctsc_error *e);
/* Methods run as within torch.autocast("cpu", dtype), at every level, with gradients and without:
 * products, convolutions and attention are given tensors of this dtype, CTSC_BFLOAT16 or
 * CTSC_FLOAT16, losses such of float32, by PyTorch's lists (docs/language.md). Parameters stay as
 * they are, and so do the dtypes of their gradients. CTSC_FLOAT32, the default: nothing is
 * converted. Not a part of what ctsc_module_save writes. Fails with CTSC_USAGE for other dtypes.
 * Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_autocast(ctsc_module *m, ctsc_dtype dtype, ctsc_error *e);

typedef struct ctsc_compile_options {
    size_t size;       /* sizeof(ctsc_compile_options), for later growth */
    const char *entry; /* function or class to compile; NULL: see ctsc_module_compile */
    /* file with the parameters and buffers to use: a state_dict of torch.save, or an archive; NULL:
     * as the constructors initialise them */
    const char *weights;
    uint64_t seed; /* torch.manual_seed before the module is built */
    /* leave modules in training mode, as constructors make them; else .eval() is called, since ctsc
     * is for inference: dropout does nothing, batch norm uses its running statistics */
    bool training;
    /* leave weights uninitialised (zero) where random numbers would fill them: for a
     * look at the code */
    bool skip_init;
    /* statements, calls and kilo-items of data the program may take while it is set
     * up; 0: 50 million */
    uint64_t max_steps;
    /* print() while the program is set up; NULL: stdout */
    void (*print)(void *ctx, const char *text, size_t len);
    void (*warn)(void *ctx, const char *text); /* its warnings; NULL: dropped */
    void *ctx;
    /* memory for the tensors and other data it makes meanwhile; 0: three quarters
     * of the machine's */
    uint64_t max_bytes;
    /* folders in which imports are looked for after that of the program's file, separated
     * by ':'; NULL: none */
    const char *path;
    /* trace the entry as torch.jit.trace does, instead of compiling it: its forward is run once as
     * Python, with trace_inputs, and what it computes is recorded; then once more, and compared
     * with what was recorded */
    bool trace;
    size_t trace_count;
    /* tensors, numbers, and tuples, lists and dicts of tensors; they are copied */
    struct ctsc_value *const *trace_inputs;
    /* trace_names[i]: the parameter to pass input i as; NULL array or entry: by position */
    const char *const *trace_names;
    bool skip_trace_check; /* do not compare */
    /* 2: initialisers draw random numbers as PyTorch 2 does
     * where that differs (trunc_normal_); else as 1.13 does */
    int rng;
    /* a dict with string keys: names that the program sees as globals of
     * its file, and their values; tensors are not copied. NULL: none */
    const struct ctsc_value *globals;
    /* ctsc_module_compile_text: the text may load archives (torch.jit.load) from paths */
    bool archives;
} ctsc_compile_options;

/* Compiles a Python file: functions as torch.jit.script compiles them, or a class
 * derived from torch.nn.Module, which is constructed at compile time. The entry is
 * `o->entry`, else the function `forward`, else the class `Main` (built without
 * arguments), else the only module class that no other one uses, else the only scripted
 * function. A function named in `o->entry` that returns a module when called without
 * arguments is called; any other function becomes the method `forward` of a module.
 * Imports are searched next to the file, archives that it loads (torch.jit.load) in the
 * working directory. o may be NULL. Errors: CTSC_FAILED with the source locations,
 * several where errors are independent; CTSC_USAGE if o->entry does not exist. */
CTSC_API ctsc_status ctsc_module_compile(const char *path, const ctsc_compile_options *o,
                                         ctsc_module **out, ctsc_error *e);
/* The same for source in memory, which is copied. name: the file name
 * in messages and class names ("net.py"). Imports find only what ctsc
 * itself has, and archives cannot be loaded unless o->archives. */
CTSC_API ctsc_status ctsc_module_compile_text(const char *name, const char *text, size_t len,
                                              const ctsc_compile_options *o, ctsc_module **out,
                                              ctsc_error *e);
/* Writes an archive that ctsc and PyTorch's torch.jit.load read. The file appears whole or not at
 * all: a failed or interrupted save leaves an older file unchanged. */
CTSC_API ctsc_status ctsc_module_save(const ctsc_module *m, const char *path, ctsc_error *e);
/* A dim of argument `input` (from 0, self not counted) that may have any size. */
typedef struct ctsc_onnx_axis {
    int input, dim;
    const char *name; /* "batch" */
} ctsc_onnx_axis;
typedef struct ctsc_onnx_options {
    size_t size;        /* sizeof(ctsc_onnx_options), for later growth */
    const char *method; /* NULL: forward */
    int opset;          /* version of ONNX's operators, 13 to 28; 0: 20 */
    size_t naxes;
    const ctsc_onnx_axis *axes;
    /* a value that depends on the size of an axis, but
     * is fixed as in the arguments; NULL: dropped */
    void (*warn)(void *ctx, const char *text);
    void *ctx;
    /* names of the model's inputs and outputs, in order, without None and values that hold
     * no tensor; the rest are named like the arguments, and "output", "output_1", ... */
    size_t ninput_names, noutput_names;
    const char *const *input_names, *const *output_names;
    /* Read the file back and run it, with the arguments and, where there are axes, with longer
     * ones: it is kept only if its results equal the method's to `tolerance` times the largest
     * element (0: 1e-3, for models with quantised layers 5e-2; 20 times that in 16 bits; other
     * dtypes than floats have to be equal). *difference (may be NULL) gets the largest
     * difference as a fraction of the largest element. CTSC_FAILED says what differs. */
    bool check;
    double tolerance, *difference;
    /* what is being done, with ctx: "node 12 of 160, aten::conv2d". Often; NULL: dropped */
    void (*progress)(void *ctx, const char *text);
} ctsc_onnx_options;
/* Writes a method as an ONNX model. The method is run with these arguments; the model has
 * their dtypes and sizes (except along the axes), and the path that they take through
 * branches and loops. CTSC_UNSUPPORTED, with the operator and its location: it cannot be
 * written. o may be NULL. The file appears whole or not at all. See docs/onnx.md. */
CTSC_API ctsc_status ctsc_module_save_onnx(const ctsc_module *m, const char *path, size_t nargs,
                                           ctsc_value *const *args, const ctsc_onnx_options *o,
                                           ctsc_error *e);
/* Freezes a module in eval mode, as torch.jit.freeze: only forward remains, with parameters
 * and other attributes that nothing changes as constants. fold_weights: batch norms and
 * constant factors are folded into the weights of the layers before them, which changes
 * results by rounding. Nobody else may use m meanwhile. On failure m is unchanged. */
CTSC_API ctsc_status ctsc_module_freeze(ctsc_module *m, bool fold_weights, ctsc_error *e);
/* ---- quantisation (docs/quantize.md) --------------------------------------------------------- */

typedef struct ctsc_quantize_options {
    size_t size; /* sizeof(ctsc_quantize_options), for later growth */
    /* NULL, "static": convolutions, linear layers and the operators between them in 8
     * bits, with activation scales from the examples; "dynamic": linear layers, with
     * the scale of the input found at each call; "int8w", "int4w", "int4w:64,asym":
     * weights of linear layers and embeddings; "bf16": layers in bfloat16 */
    const char *method;
    /* how activation ranges are computed from the examples: NULL, "minmax", "percentile:99.99",
     * "entropy" */
    const char *observer;
    bool per_tensor;   /* one scale for a weight, not one for each output channel */
    bool symmetric;    /* activations have zero point 128 */
    bool reduce_range; /* activations have 7 bits */
    /* store grouped weights in a form that ONNX can express; else in one that PyTorch can */
    bool for_onnx;
    size_t nkeep_float; /* layers whose names fit one of these patterns (* and ?) stay float */
    const char *const *keep_float;
    /* the layers with the largest errors also stay float, until
     * the error of the results is at most this; 0: none */
    double max_error;
    int timed_calls; /* of the float and the quantised program, with the first example; 0: none */
    /* what is being done, layer by layer: "error of layer 3 of 21, layer1.0.conv1". Often;
     * NULL: dropped */
    void (*progress)(void *ctx, const char *text);
    void *progress_ctx;
} ctsc_quantize_options;

/* The result for one layer. The report owns the names. */
typedef struct ctsc_quantize_layer {
    size_t size;
    const char *name, *kind; /* "layer1.0.conv1", "conv2d" */
    bool quantized;
    /* why not: "its name", "its error", "its kind" (the method has no form of it), "its numbers",
     * "not reached" (by an example); else NULL */
    const char *reason;
    int ndim;
    const int64_t *sizes;           /* of the weight */
    int64_t bytes, bytes_quantized; /* of weight, bias and scales */
    /* |y' - y| / |y| (Euclidean) of this layer's result when
     * only this layer is quantised; below 0: unknown */
    double error;
    double us, us_quantized; /* of a call; below 0: not known */
} ctsc_quantize_layer;

typedef struct ctsc_quantize_summary {
    size_t size;
    size_t layers, quantized, examples;
    int64_t bytes, bytes_quantized; /* of all weights and constants */
    double error;                   /* of the results, over all examples; below 0: not known */
    double us, us_quantized;        /* of a call; below 0: not known */
} ctsc_quantize_summary;

typedef struct ctsc_quantize_report ctsc_quantize_report;

/* Quantises forward of a module in eval mode, which is frozen as by ctsc_module_freeze.
 * examples: tuples of arguments; methods other than static can do without, but then
 * nothing is measured. The module runs, and can be saved as an archive for PyTorch
 * (unless for_onnx) and as an ONNX model. o and report may be NULL. On failure m may be
 * frozen, but computes the same as before. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_quantize(ctsc_module *m, size_t nexamples,
                                          ctsc_value *const *examples,
                                          const ctsc_quantize_options *o,
                                          ctsc_quantize_report **report, ctsc_error *e);
/* The caller sets size; fields that the library does not know are untouched. false: no layer i. */
CTSC_API bool ctsc_quantize_report_layer(const ctsc_quantize_report *r, size_t i,
                                         ctsc_quantize_layer *out);
CTSC_API void ctsc_quantize_report_summary(const ctsc_quantize_report *r,
                                           ctsc_quantize_summary *out);
/* The state_dict that the module had, with integers in place of quantised
 * weights plus NAME_scale; bfloat16 where that is the method. CTSC_UNSUPPORTED:
 * a state_dict has no place for the zero points of groups. */
CTSC_API ctsc_status ctsc_quantize_report_state(const ctsc_quantize_report *r, ctsc_value **out,
                                                ctsc_error *e);
CTSC_API void ctsc_quantize_report_free(ctsc_quantize_report *r); /* r may be NULL */

/* Methods of the top-level module, in the order of the archive. */
CTSC_API size_t ctsc_module_method_count(const ctsc_module *m);
/* NULL out of range */
CTSC_API const char *ctsc_module_method_name(const ctsc_module *m, size_t i);
/* "forward(Tensor x, int k=2) -> Tensor", without self. Free with ctsc_string_free. */
CTSC_API char *ctsc_module_method_schema(const ctsc_module *m, const char *method);
CTSC_API const char *ctsc_module_class(const ctsc_module *m); /* "__torch__.Net" */
CTSC_API int64_t ctsc_module_version(const ctsc_module *m);   /* the archive's format version */

/* Cancels calls from another thread. Any number of calls may share one; setting and
 * clearing it is safe at any time while it exists, and it must outlive the calls. */
typedef struct ctsc_cancel ctsc_cancel;
CTSC_API ctsc_cancel *ctsc_cancel_new(void);    /* NULL if out of memory */
CTSC_API void ctsc_cancel_free(ctsc_cancel *c); /* c may be NULL */
CTSC_API void ctsc_cancel_set(ctsc_cancel *c);
CTSC_API void ctsc_cancel_clear(ctsc_cancel *c);
CTSC_API bool ctsc_cancel_is_set(const ctsc_cancel *c);

/* Limits of a call, and its callbacks. A call that reaches a limit fails with
 * CTSC_LIMIT; the module can be run again (in-place writes in progress may be partly
 * done). Time and cancellation are checked between operators, within the program's own
 * loops, and within long-running operators and kernels. With max_steps the program's
 * loops run in the interpreter, not as native code; loops in operators whose length is
 * an argument count one step per 64 iterations, large new tensors one for 64 KiB. */
typedef struct ctsc_run_options {
    size_t size;        /* sizeof(ctsc_run_options), for later growth */
    uint64_t max_steps; /* bytecode instructions; 0: no limit */
    /* print() in the script; NULL: stdout */
    void (*print)(void *ctx, const char *text, size_t len);
    void (*warn)(void *ctx, const char *text); /* warnings; NULL: dropped */
    void *ctx;
    const ctsc_cancel *cancel; /* when set, the call fails; NULL: cannot be cancelled */
    uint64_t timeout_us;       /* from the start of the call, microseconds; 0: no limit */
    /* most memory the call may hold at a time, beyond what the module
     * keeps for its next call, with the default allocator; 0: no limit */
    uint64_t max_bytes;
    /* counts and times the call (see profiling below); NULL: no profile */
    struct ctsc_profiler *profiler;
    /* for a module with gradients (ctsc_module_set_gradients):
     * do not record this call, as under torch.no_grad */
    bool no_gradients;
    /* the random number generator, whose state carries over from call to call;
     * nobody else may use it meanwhile. NULL: a fresh generator for each call */
    struct ctsc_scope *random;
    /* results may be lazy (ctsc_tensor_is_lazy), as the
     * program made them; else lazy ones are resolved */
    bool lazy_results;
} ctsc_run_options;

/* Calls a method. args: nargs values, borrowed; missing ones take their defaults. o may be NULL. */
CTSC_API ctsc_status ctsc_module_run(const ctsc_module *m, const char *method, size_t nargs,
                                     ctsc_value *const *args, const ctsc_run_options *o,
                                     ctsc_value **out, ctsc_error *e);

/* Calls a method so that calls like this one (same sizes, module in the same
 * mode) are optimised, and then restores the module's tensors and attributes
 * (but not lists and dicts in them). Nothing is printed, and no shared random
 * state changes. Afterwards, at level 3, such calls give the same results to
 * the last bit whether they are the first or a later one: a resumed training
 * run equals one that was not interrupted. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_warm_up(ctsc_module *m, const char *method, size_t nargs,
                                         ctsc_value *const *args, bool gradients, ctsc_error *e);

/* The graph of a method as PyTorch prints it. */
enum {
    CTSC_GRAPH_INLINED = 1,
    /* calls replaced by bodies */ CTSC_GRAPH_LOCATIONS = 2 /* "# file:line:col" */
};
CTSC_API ctsc_status ctsc_module_graph(const ctsc_module *m, const char *method, unsigned flags,
                                       char **out, ctsc_error *e);
/* The graph of a method as it runs at the module's optimisation level, for arguments like these:
 * calls method with args and returns the optimised graph, in which tensors have the types seen
 * during that call (what differed between iterations is "*"), and the graphs of its fusion groups.
 * Without arguments (nargs 0) for a method that needs some, nothing is called and no types are
 * known. What the method prints and warns is dropped. Free *out with ctsc_string_free. */
enum {
    /* after the graph: each group's kernel as a loop nest and as LLVM IR */
    CTSC_GRAPH_KERNELS = 4,
    CTSC_GRAPH_ASM = 8,  /* ... and in assembly language */
    CTSC_GRAPH_DOT = 16, /* instead of text a Graphviz drawing; the two above do not apply */
};
CTSC_API ctsc_status ctsc_module_graph_for(const ctsc_module *m, const char *method, size_t nargs,
                                           ctsc_value *const *args, unsigned flags, char **out,
                                           ctsc_error *e);
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
                                     void (*visit)(void *ctx, const ctsc_attribute_info *a),
                                     void *ctx);

/* A submodule, "layer1.0", as a module: it shares the objects, the tensors and the code, may
 * outlive m, and runs its own methods. Optimisations of m as a whole (constant and packed
 * weights) do not apply to a part. It starts with m's options (level, gradients); later
 * changes to m's options do not affect it. Fails with CTSC_USAGE where there is none. */
CTSC_API ctsc_status ctsc_module_submodule(const ctsc_module *m, const char *name,
                                           ctsc_module **out, ctsc_error *e);
/* The module's object: an attribute is ctsc_value_get of it, its name ctsc_value_name. A new
 * handle; NULL if out of memory. */
CTSC_API ctsc_value *ctsc_module_object(const ctsc_module *m);
/* Sets the attribute "layer1.weight" to another value of its type. Compiled
 * code of the module is recompiled. Nobody else may use m meanwhile. Fails with
 * CTSC_USAGE where there is no such attribute, or the value does not fit it. */
CTSC_API ctsc_status ctsc_module_set_attribute(ctsc_module *m, const char *name,
                                               const ctsc_value *v, ctsc_error *e);

/* Visits every operator call reachable from the module's methods (all are compiled for it). */
typedef struct ctsc_operator_use {
    const char *key; /* "aten::add.Tensor" */
    bool supported;
    const char *function; /* qualified name of the function that uses it */
    const char *file;     /* original source file, or the archive's record */
    unsigned line;
} ctsc_operator_use;
CTSC_API ctsc_status ctsc_module_operators(const ctsc_module *m,
                                           void (*visit)(void *ctx, const ctsc_operator_use *u),
                                           void *ctx, ctsc_error *e);

/* ---- devices --------------------------------------------------------------------------------- */

/* Tensors are on the CPU, or on a CUDA device; operators run where their tensors
 * are, and do not mix devices. The driver and the kernel compiler (NVRTC) are opened
 * when a device is first requested; nothing else needs them. Calls on a device's
 * tensors return before the work is done; reading elements waits for it. */

/* How many CUDA devices there are. 0: none, or no driver; e says why. */
CTSC_API int ctsc_cuda_device_count(ctsc_error *e);
/* The index of the CUDA device that a tensor is on; -1: the CPU; CTSC_DEVICE_META: it has sizes,
 * strides and a dtype, and no elements. Operators compute what these of their results are; reading
 * elements fails. */
enum { CTSC_DEVICE_META = -2 };
CTSC_API int ctsc_tensor_device(const ctsc_value *t);
/* device: "cpu", "cuda" (the first one), "cuda:1" or "meta". *out: v with all tensors in it on that
 * device: tensors that are already there are shared; lists, tuples and dicts are copied.
 * Fails with CTSC_ENVIRONMENT where there is no such device. */
CTSC_API ctsc_status ctsc_value_to(const ctsc_value *v, const char *device, ctsc_value **out,
                                   ctsc_error *e);
/* Moves a module: parameters, buffers, other attributes that are tensors, and the
 * constants of its code. Tensors that shared memory still do. New tensors that
 * the code makes without naming a device, or on "cpu" as traced code does, are
 * made there too; aten::to is unaffected. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_to(ctsc_module *m, const char *device, ctsc_error *e);
/* Returns when all work queued on the device ("cuda:1") is done; at once
 * for "cpu". For measurements; reading a tensor waits by itself. */
CTSC_API ctsc_status ctsc_device_wait(const char *device, ctsc_error *e);
/* Whether the operator ("aten::add.Tensor") has an implementation for the
 * device. It may still refuse some arguments, such as a dtype, when it runs. */
CTSC_API bool ctsc_operator_runs_on(const char *key, const char *device);
/* What happens to operators that have no CUDA implementation: they fail
 * with CTSC_UNSUPPORTED, which is the default, or run on the CPU with
 * copies there and back and one warning for each operator. Process-wide. */
CTSC_API void ctsc_set_device_fallback(bool allow);
/* The arithmetic that quantised layers follow, as torch.backends.quantized.engine: "x86"
 * (the default on x86, as in PyTorch's releases) and "fbgemm", which are the same, or "qnnpack"
 * (the default elsewhere). Process-wide; archives do not store it. */
CTSC_API ctsc_status ctsc_set_quantized_engine(const char *name, ctsc_error *e);

/* ---- signatures ------------------------------------------------------------------------------ */

/* The arguments and results of a method. A signature is a copy: it
 * may outlive the module. Reading it is safe from any thread. */
typedef struct ctsc_signature ctsc_signature;

typedef struct ctsc_argument {
    const char *name; /* of a result: the field of a NamedTuple, else "" */
    const char *type; /* as in Python: "Tensor", "Optional[int]", "List[Tensor]" */
    /* the kind of the type's values; for an Optional, the kind of those that are not None */
    ctsc_kind kind;
    bool optional;                   /* the type is Optional: None is possible */
    const ctsc_value *default_value; /* borrowed; NULL: the argument must be given */
    /* What torch.export and ONNX programs say about a tensor; others say nothing. label:
     * its name in that program ("input.1") if it differs from `name`, else NULL. */
    const char *label;
    bool typed;           /* the dtype is known */
    ctsc_dtype dtype;     /* where it is */
    int ndim;             /* -1: not known */
    const int64_t *sizes; /* ndim of them; -1: any size */
    /* dtype is inferred from operators (ctsc_signature_find_dtypes), not stated by the program */
    bool likely;
} ctsc_argument;

/* Free *out with ctsc_signature_free. Fails with CTSC_USAGE if there is no such method. */
CTSC_API ctsc_status ctsc_module_signature(const ctsc_module *m, const char *method,
                                           ctsc_signature **out, ctsc_error *e);
/* Infers dtypes that the program does not state from the operators that use the tensors: int64
 * for an embedding's indices, the dtype of the weights for a convolution's input (`likely`).
 * s: the signature of that method of m. Optimises the method, which may take a while. */
CTSC_API ctsc_status ctsc_signature_find_dtypes(ctsc_signature *s, const ctsc_module *m,
                                                const char *method, ctsc_error *e);
CTSC_API void ctsc_signature_free(ctsc_signature *s); /* s may be NULL */
/* Arguments without self, in the order in which ctsc_module_run takes them. */
CTSC_API size_t ctsc_signature_argument_count(const ctsc_signature *s);
/* Borrowed until ctsc_signature_free; NULL out of range. */
CTSC_API const ctsc_argument *ctsc_signature_argument(const ctsc_signature *s, size_t i);
/* Results: the items of a tuple, or the single value. */
CTSC_API size_t ctsc_signature_result_count(const ctsc_signature *s);
CTSC_API const ctsc_argument *ctsc_signature_result(const ctsc_signature *s, size_t i);
/* The values in the result, with tuples, lists and dicts flattened, under
 * the names that programs of torch.export and of ONNX give them: the key
 * or field where there is one, all distinct. None for other programs. */
CTSC_API size_t ctsc_signature_output_count(const ctsc_signature *s);
CTSC_API const ctsc_argument *ctsc_signature_output(const ctsc_signature *s, size_t i);
/* The qualified name of the NamedTuple that the method returns, or NULL. */
CTSC_API const char *ctsc_signature_result_class(const ctsc_signature *s);

/* ---- profiling ------------------------------------------------------------------------------- */

/* Collects profiles of calls: by operator and kernel, by source line, by method; and,
 * on request, a timeline. Pass it to any number of calls (ctsc_run_options.profiler),
 * on any number of threads at the same time; calls without one have no overhead. It
 * must outlive the calls, and keeps the code of modules it has seen in memory until it
 * is freed. Results cover calls that have ended; reading them is safe at any time.
 * Operations on plain numbers that the interpreter does itself (additions, comparisons)
 * have no entry: their time counts for "(interpreter)" or for the call around them. */
typedef struct ctsc_profiler ctsc_profiler;

typedef struct ctsc_profiler_options {
    size_t size; /* sizeof(ctsc_profiler_options), for later growth */
    /* how many events of the timeline (ctsc_profiler_trace) are kept, about 72 bytes
     * each; 0: no timeline */
    size_t max_events;
} ctsc_profiler_options;

/* o may be NULL. Returns NULL if out of memory */
CTSC_API ctsc_profiler *ctsc_profiler_new(const ctsc_profiler_options *o);
CTSC_API void ctsc_profiler_free(ctsc_profiler *p); /* p may be NULL */
/* Discards what was collected. Calls still running count when they end. */
CTSC_API void ctsc_profiler_reset(ctsc_profiler *p);

typedef struct ctsc_profile_summary {
    size_t size; /* sizeof(ctsc_profile_summary) */
    uint64_t calls;
    /* of the calls, in microseconds: the sum of self_us over the entries of each kind of table */
    double total_us;
    uint64_t events, events_dropped; /* of the timeline; those beyond max_events are dropped */
    bool incomplete;                 /* memory ran out: some entries are missing */
} ctsc_profile_summary;
CTSC_API void ctsc_profiler_summary(const ctsc_profiler *p, ctsc_profile_summary *out);

typedef enum ctsc_profile_by {
    CTSC_PROFILE_OPERATORS,
    CTSC_PROFILE_LINES,
    CTSC_PROFILE_METHODS
} ctsc_profile_by;

typedef struct ctsc_profile_entry {
    /* "aten::conv2d"; "fused_mul_add" of a kernel; a file; "__torch__.Net.forward";
     * "(compiling kernels)" */
    const char *name;
    /* "operator", "kernel" (of a fusion group), "call" (of a method), "other"; "line"; "method" */
    const char *kind;
    const char *file; /* of a line; for a kernel, where its group begins; else NULL */
    unsigned line;    /* from 1 */
    uint64_t count;   /* executions; of a method: calls, 0 where it was inlined */
    double self_us;   /* microseconds, without callees */
    double total_us;  /* with callees; recursion counts once */
    /* of tensors read and written by operators and kernels; views move none */
    int64_t bytes;
    /* floating-point operations, as ctsc_module_count_work counts them (ctsc_compiler.h) */
    int64_t flops;
    uint64_t uncounted; /* executions whose operations are not known and not in flops */
    /* blocks allocated for tensors and other values by the
     * calling thread, including ones reused from earlier calls */
    uint64_t allocations;
    uint64_t allocated_bytes;
    /* most that one execution held at a time, beyond what was held before it */
    uint64_t peak_bytes;
    /* executions whose own arithmetic met denormal numbers, by the processor's flags:
     * as operands, except where they count as zero (ctsc_set_flush_denormals), or as
     * rounded results. Their cost depends on the processor; 0 for GPUs */
    uint64_t denormal;
} ctsc_profile_entry;
/* Visits the entries of a table, those with the largest self_us first. Strings live as long as p;
 * the entry itself during the visit. Fails with CTSC_LIMIT if out of memory. */
CTSC_API ctsc_status ctsc_profiler_visit(const ctsc_profiler *p, ctsc_profile_by by,
                                         void (*visit)(void *ctx, const ctsc_profile_entry *entry),
                                         void *ctx);
/* All of it as JSON: {"calls", "total_us", "operators": [entry, ...],
 * "lines": [...], "methods": [...]}; flops that are not all known are
 * null. Free with ctsc_string_free; NULL if out of memory. */
CTSC_API char *ctsc_profiler_json(const ctsc_profiler *p);
/* The timeline in the Trace Event Format, which Perfetto and Chrome's about:tracing open: a
 * complete event for each execution, per thread, with the arguments' dtypes and shapes, file, line,
 * bytes and flops. Free with ctsc_string_free; NULL if out of memory. */
CTSC_API char *ctsc_profiler_trace(const ctsc_profiler *p);

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct ctsc_operator_info {
    const char *key;    /* "aten::add.Tensor" */
    const char *schema; /* "aten::add.Tensor(Tensor self, ...) -> Tensor" */
    bool supported;
} ctsc_operator_info;
/* Visits every operator overload that ctsc knows. */
CTSC_API void ctsc_operators(void (*visit)(void *ctx, const ctsc_operator_info *o), void *ctx);

/* ---- calling operators ----------------------------------------------------------------------- */

/* Calls an operator by name. op: "aten::mul", where the values' types choose the
 * overload as they do in a script (order of overloads, implicit conversions,
 * defaults for what is missing), or one overload, "aten::mul.Tensor". args: nargs
 * values, borrowed. *out: the result, a new handle; several results come as a
 * tuple, none as None. In-place operators change their argument and return it.
 * Each call looks up its operator; a ctsc_scope caches the look-ups, so use one
 * for many calls. Safe from several threads. Errors: CTSC_FAILED, the arguments
 * fit no overload or the operator failed, in PyTorch's words; CTSC_UNSUPPORTED. */
CTSC_API ctsc_status ctsc_call(const char *op, size_t nargs, ctsc_value *const *args,
                               ctsc_value **out, ctsc_error *e);
/* The same with keywords: names has nargs entries, NULL for positional arguments, which come first.
 * names may be NULL. */
CTSC_API ctsc_status ctsc_call_with(const char *op, size_t nargs, const char *const *names,
                                    ctsc_value *const *args, ctsc_value **out, ctsc_error *e);

/* What ctsc_call_with would return, without computing it: tensors are of device meta and have the
 * sizes, strides and dtypes of the results. Tensors among args may be on any device; nothing of
 * their elements is read. The operator fails as it would if the shapes do not fit.
 * CTSC_UNSUPPORTED, and CTSC_FAILED for numbers: the result depends on elements, as that of
 * aten::nonzero and aten::item does. */
CTSC_API ctsc_status ctsc_shape_of_call(const char *op, size_t nargs, const char *const *names,
                                        ctsc_value *const *args, ctsc_value **out, ctsc_error *e);

/* A scope owns every value that is made through it and keeps the first error:
 * later calls do nothing and return NULL, and a NULL argument gives NULL. A
 * computation is thus written without checks, and checked once at the end:
 *
 *     ctsc_value *h = ctsc_relu(s, ctsc_linear(s, x, w, b));
 *     if (ctsc_scope_status(s) != CTSC_OK) puts(ctsc_error_message(ctsc_scope_error(s)));
 *
 * Values owned elsewhere (from ctsc_tensor_new, ctsc_module_run, ...) can be arguments as well.
 * Values of a scope live until ctsc_scope_reset or ctsc_scope_free; do not free them;
 * ctsc_value_copy keeps one for longer. A scope is used by one thread at a time. */
typedef struct ctsc_scope ctsc_scope;

CTSC_API ctsc_scope *ctsc_scope_new(void);    /* NULL if out of memory */
CTSC_API void ctsc_scope_free(ctsc_scope *s); /* s may be NULL; a trace that has begun is dropped */
/* Frees the scope's values and clears its error; cached
 * operators stay. Ends a trace in progress without a result. */
CTSC_API void ctsc_scope_reset(ctsc_scope *s);
CTSC_API ctsc_status ctsc_scope_status(const ctsc_scope *s); /* CTSC_LIMIT for NULL */
/* borrowed, until reset; its message is "" without an error */
CTSC_API const ctsc_error *ctsc_scope_error(const ctsc_scope *s);

/* ctsc_call_with through a scope: the result is the scope's; NULL after an error. */
CTSC_API ctsc_value *ctsc_scope_call(ctsc_scope *s, const char *op, size_t nargs,
                                     const char *const *names, ctsc_value *const *args);
/* ctsc_call_with, with the scope's cached operators: the caller owns the result
 * and gets the error; the scope is unchanged. For programs that own their values,
 * such as other languages' bindings. While the scope traces: CTSC_USAGE. */
CTSC_API ctsc_status ctsc_scope_invoke(ctsc_scope *s, const char *op, size_t nargs,
                                       const char *const *names, ctsc_value *const *args,
                                       ctsc_value **out, ctsc_error *e);
/* ctsc_scope_call with n arguments in place: ctsc_op(s, "aten::mul", 2, x, y). */
CTSC_API ctsc_value *ctsc_op(ctsc_scope *s, const char *op, int n, ...);
/* A method of a loaded or compiled module, as ctsc_module_run. While tracing, the call is
 * recorded and keeps its control flow: the module becomes a submodule of the trace's, a copy that
 * shares its tensors. */
CTSC_API ctsc_value *ctsc_run(ctsc_scope *s, const ctsc_module *m, const char *method, size_t nargs,
                              ctsc_value *const *args);
/* Gives v to the scope, which frees it; returns v. v NULL: an error of the scope. */
CTSC_API ctsc_value *ctsc_take(ctsc_scope *s, ctsc_value *v);
/* Values as arguments. The items of lists and tuples are borrowed. */
CTSC_API ctsc_value *ctsc_none(ctsc_scope *s);
CTSC_API ctsc_value *ctsc_bool(ctsc_scope *s, bool b);
CTSC_API ctsc_value *ctsc_int(ctsc_scope *s, int64_t i);
CTSC_API ctsc_value *ctsc_float(ctsc_scope *s, double f);
CTSC_API ctsc_value *ctsc_string(ctsc_scope *s, const char *text);
CTSC_API ctsc_value *ctsc_ints(ctsc_scope *s, size_t n, const int64_t *ints);
CTSC_API ctsc_value *ctsc_list(ctsc_scope *s, size_t n, ctsc_value *const *items);
CTSC_API ctsc_value *ctsc_tuple(ctsc_scope *s, size_t n, ctsc_value *const *items);
/* Item i of a list or tuple (of several results). */
CTSC_API ctsc_value *ctsc_item(ctsc_scope *s, ctsc_value *v, size_t i);
/* Attribute "layer1.weight" of a module, not copied. While tracing, it is an attribute of that
 * name, unless ctsc_parameter gives it another. */
CTSC_API ctsc_value *ctsc_attribute(ctsc_scope *s, const ctsc_module *m, const char *name);

/* The common operators. Tensors are ctsc_value; a negative dim
 * counts from the back; NULL omits what is marked "or NULL". */
#define CTSC_FN(name, op, params, ...)                                                             \
    static inline ctsc_value *ctsc_##name params {                                                 \
        ctsc_value *args[] = {__VA_ARGS__};                                                        \
        return ctsc_scope_call(s, "aten::" op, sizeof args / sizeof *args, NULL, args);            \
    }
#define CTSC_X ctsc_scope *s, ctsc_value *x
#define CTSC_I(i) ctsc_int(s, i)
#define CTSC_OR_NONE(v) ((v) ? (v) : ctsc_none(s))
#define CTSC_OP1(name) CTSC_FN(name, #name, (CTSC_X), x)
#define CTSC_OP2(name) CTSC_FN(name, #name, (CTSC_X, ctsc_value * y), x, y)
#define CTSC_OP_DIM(name) CTSC_FN(name, #name, (CTSC_X, int64_t dim), x, CTSC_I(dim))
#define CTSC_OP_OVER(name)                                                                         \
    CTSC_FN(name##_dim, #name, (CTSC_X, int64_t dim, bool keep), x, ctsc_ints(s, 1, &dim),         \
            ctsc_bool(s, keep))
#define CTSC_OP_INTS(name)                                                                         \
    CTSC_FN(name, #name, (CTSC_X, size_t n, const int64_t *ints), x, ctsc_ints(s, n, ints))
/* Elementwise. relu_ and the like change x. */
/* clang-format off */
CTSC_OP1(relu) CTSC_OP1(gelu) CTSC_OP1(silu) CTSC_OP1(sigmoid) CTSC_OP1(tanh) CTSC_OP1(exp) CTSC_OP1(log) CTSC_OP1(sqrt) CTSC_OP1(rsqrt)
CTSC_OP1(abs) CTSC_OP1(neg) CTSC_OP1(sin) CTSC_OP1(cos) CTSC_OP1(erf) CTSC_OP1(floor) CTSC_OP1(round) CTSC_OP1(softplus)
CTSC_OP1(relu_) CTSC_OP1(sigmoid_) CTSC_OP1(tanh_) CTSC_OP1(zero_)
    /* clang-format on */
    /* y may be a number: ctsc_mul(s, x, ctsc_float(s, 0.5)). add_ and the like change x. */
    CTSC_OP2(add) CTSC_OP2(sub) CTSC_OP2(mul) CTSC_OP2(div) CTSC_OP2(pow) CTSC_OP2(add_)
        CTSC_OP2(sub_) CTSC_OP2(mul_) CTSC_OP2(div_) CTSC_OP2(copy_) CTSC_OP2(minimum)
            CTSC_OP2(maximum) CTSC_OP2(eq) CTSC_OP2(ne) CTSC_OP2(lt) CTSC_OP2(le) CTSC_OP2(gt)
                CTSC_OP2(ge)
                    CTSC_FN(where, "where",
                            (ctsc_scope * s, ctsc_value *condition, ctsc_value *x, ctsc_value *y),
                            condition, x, y)
                        CTSC_FN(masked_fill, "masked_fill", (CTSC_X, ctsc_value *mask, double v), x,
                                mask, ctsc_float(s, v))
                            CTSC_FN(clamp, "clamp", (CTSC_X, double min, double max), x,
                                    ctsc_float(s, min), ctsc_float(s, max))
                                CTSC_FN(to, "to.dtype", (CTSC_X, ctsc_dtype type), x, CTSC_I(type))
    /* Matrix products; new tensors like x; copies; the transpose of a matrix. */
    CTSC_OP2(matmul) CTSC_OP2(mm) CTSC_OP2(bmm) CTSC_OP1(zeros_like) CTSC_OP1(ones_like)
        CTSC_OP1(clone) CTSC_OP1(contiguous) CTSC_OP1(detach) CTSC_OP1(t)
            CTSC_FN(arange, "arange", (ctsc_scope * s, int64_t end), CTSC_I(end))
    /* Reductions: of everything; over one dimension, which stays with size 1 if keep. */
    CTSC_OP1(sum) CTSC_OP1(mean) CTSC_OP1(max) CTSC_OP1(min) CTSC_OP1(argmax) CTSC_OP_OVER(sum)
        CTSC_OP_OVER(mean) CTSC_OP_OVER(amax) CTSC_OP_OVER(amin)
            CTSC_FN(argmax_dim, "argmax", (CTSC_X, int64_t dim, bool keep), x, CTSC_I(dim),
                    ctsc_bool(s, keep))
    /* By dimension; ctsc_size is an int value, which a trace records; ctsc_unbind and
 * ctsc_chunk give lists. */
    CTSC_OP_DIM(softmax) CTSC_OP_DIM(log_softmax) CTSC_OP_DIM(cumsum) CTSC_OP_DIM(squeeze)
        CTSC_OP_DIM(unsqueeze) CTSC_OP_DIM(size) CTSC_OP_DIM(unbind)
            CTSC_FN(chunk, "chunk", (CTSC_X, int64_t n, int64_t dim), x, CTSC_I(n), CTSC_I(dim))
                CTSC_FN(cat, "cat", (ctsc_scope * s, size_t n, ctsc_value *const *xs, int64_t dim),
                        ctsc_list(s, n, xs), CTSC_I(dim))
                    CTSC_FN(stack, "stack",
                            (ctsc_scope * s, size_t n, ctsc_value *const *xs, int64_t dim),
                            ctsc_list(s, n, xs), CTSC_I(dim))
                        CTSC_FN(gather, "gather", (CTSC_X, int64_t dim, ctsc_value *index), x,
                                CTSC_I(dim), index)
                            CTSC_FN(index_select, "index_select",
                                    (CTSC_X, int64_t dim, ctsc_value *index), x, CTSC_I(dim), index)
    /* Views and shapes. ints: n sizes or dimensions; one size may be -1 in reshape and view. */
    CTSC_OP_INTS(reshape) CTSC_OP_INTS(view) CTSC_OP_INTS(permute) CTSC_OP_INTS(expand)
        CTSC_FN(transpose, "transpose", (CTSC_X, int64_t dim0, int64_t dim1), x, CTSC_I(dim0),
                CTSC_I(dim1)) CTSC_FN(flatten, "flatten", (CTSC_X, int64_t first, int64_t last), x,
                                      CTSC_I(first), CTSC_I(last))
            CTSC_FN(select, "select", (CTSC_X, int64_t dim, int64_t i), x, CTSC_I(dim), CTSC_I(i))
                CTSC_FN(narrow, "narrow", (CTSC_X, int64_t dim, int64_t begin, int64_t n), x,
                        CTSC_I(dim), CTSC_I(begin), CTSC_I(n))
                    CTSC_FN(slice, "slice",
                            (CTSC_X, int64_t dim, int64_t begin, int64_t end, int64_t step), x,
                            CTSC_I(dim), CTSC_I(begin), CTSC_I(end), CTSC_I(step))
    /* Layers. w, b: weight and bias; kernels, strides and paddings are the same
     * in all dimensions. */
    CTSC_FN(linear, "linear", (CTSC_X, ctsc_value *w, ctsc_value *b /* or NULL */), x, w,
            CTSC_OR_NONE(b)) CTSC_FN(conv1d, "conv1d",
                                     (CTSC_X, ctsc_value *w, ctsc_value *b /* or NULL */,
                                      int64_t stride, int64_t padding),
                                     x, w, CTSC_OR_NONE(b), CTSC_I(stride), CTSC_I(padding))
        CTSC_FN(conv2d, "conv2d",
                (CTSC_X, ctsc_value *w, ctsc_value *b /* or NULL */, int64_t stride,
                 int64_t padding),
                x, w, CTSC_OR_NONE(b), CTSC_I(stride), CTSC_I(padding))
            CTSC_FN(max_pool2d, "max_pool2d",
                    (CTSC_X, int64_t kernel, int64_t stride, int64_t padding), x, CTSC_I(kernel),
                    CTSC_I(stride), CTSC_I(padding))
                CTSC_FN(avg_pool2d, "avg_pool2d",
                        (CTSC_X, int64_t kernel, int64_t stride, int64_t padding), x,
                        CTSC_I(kernel), CTSC_I(stride), CTSC_I(padding))
                    CTSC_FN(adaptive_avg_pool2d, "adaptive_avg_pool2d", (CTSC_X, int64_t size), x,
                            CTSC_I(size))
    /* For inference: with the statistics given. */
    CTSC_FN(batch_norm, "batch_norm",
            (CTSC_X, ctsc_value *w /* or NULL */, ctsc_value *b /* or NULL */, ctsc_value *mean,
             ctsc_value *var, double eps),
            x, CTSC_OR_NONE(w), CTSC_OR_NONE(b), mean, var, ctsc_bool(s, false), ctsc_float(s, 0.1),
            ctsc_float(s, eps), ctsc_bool(s, true))
    /* Over the last n dimensions, whose sizes are in shape. */
    CTSC_FN(layer_norm, "layer_norm",
            (CTSC_X, size_t n, const int64_t *shape, ctsc_value *w /* or NULL */,
             ctsc_value *b /* or NULL */, double eps),
            x, ctsc_ints(s, n, shape), CTSC_OR_NONE(w), CTSC_OR_NONE(b), ctsc_float(s, eps))
        CTSC_FN(embedding, "embedding", (ctsc_scope * s, ctsc_value *w, ctsc_value *index), w,
                index) static inline ctsc_value *ctsc_zeros(ctsc_scope *s, ctsc_dtype type,
                                                            size_t n, const int64_t *sizes) {
    const char *const names[] = {NULL, "dtype"};
    ctsc_value *args[] = {ctsc_ints(s, n, sizes), ctsc_int(s, type)};
    return ctsc_scope_call(s, "aten::zeros", 2, names, args);
}
#undef CTSC_FN
#undef CTSC_X
#undef CTSC_I
#undef CTSC_OR_NONE
#undef CTSC_OP1
#undef CTSC_OP2
#undef CTSC_OP_DIM
#undef CTSC_OP_OVER
#undef CTSC_OP_INTS

/* ---- tracing --------------------------------------------------------------------------------- */

/* A trace records the calls made through a scope and makes a module
 * of them, whose method forward computes the same for other inputs.
 *
 *     ctsc_trace_begin(s, NULL);
 *     ctsc_value *x = ctsc_input(s, "x", example), *w = ctsc_parameter(s, "fc.weight", weight);
 *     ctsc_value *y = ctsc_relu(s, ctsc_linear(s, x, w, NULL));
 *     ctsc_module *m;
 *     if (ctsc_trace_end(s, y, &m, e) == CTSC_OK) ctsc_module_save(m, "net.pt", e);
 *
 * The module runs, prints, freezes and saves like a loaded one. Loops and branches of the C
 * program are not recorded, only the calls that were made; sizes are constants unless they
 * come from ctsc_size; in-place calls and views are recorded as such. See docs/trace.md. */
typedef struct ctsc_trace_options {
    size_t size;      /* sizeof(ctsc_trace_options), for later growth */
    const char *name; /* of the module's class; NULL: "Traced" */
    /* what may make the trace wrong for other inputs: the program read a traced value
     * (ctsc_value_int, ctsc_tensor_data, ...), a tensor became a constant; NULL: dropped */
    void (*warn)(void *ctx, const char *text);
    void *ctx;
    /* The rest is for ctsc_trace. One per input; NULL: "input", or "input_1", "input_2", ... */
    const char *const *input_names;
    size_t check_count;                     /* how many further sets of inputs to check with */
    ctsc_value *const *const *check_inputs; /* check_count sets, of as many inputs each */
    bool skip_check;   /* no check at all; else the example inputs are checked as well */
    double rtol, atol; /* for results of checks; both 0: 1e-5 and 1e-6 */
} ctsc_trace_options;

/* Begins to record. o may be NULL. Fails (the scope's error) if the scope already traces
 * or has an error. */
CTSC_API ctsc_status ctsc_trace_begin(ctsc_scope *s, const ctsc_trace_options *o);
/* Declares the next argument of forward. Returns the value to compute with; a tensor is
 * also recognised through v itself, a number only through the returned value. Containers
 * of tensors are allowed. Without a trace: another handle to v, as for the next two. */
CTSC_API ctsc_value *ctsc_input(ctsc_scope *s, const char *name, const ctsc_value *v);
/* Declares a parameter (or a buffer, which optimisers leave alone) of the module:
 * "layer1.weight". It becomes one if it is used. The tensor is not copied. If it
 * is declared under several names, the last one before the first use counts. */
CTSC_API ctsc_value *ctsc_parameter(ctsc_scope *s, const char *name, const ctsc_value *v);
CTSC_API ctsc_value *ctsc_buffer(ctsc_scope *s, const char *name, const ctsc_value *v);
/* Ends the trace: result is what forward returns, a tensor or a tuple, list
 * or dict. *out: the module, the caller's. If the scope has an error, the
 * call fails with it. The trace ends in any case; the scope's values stay. */
CTSC_API ctsc_status ctsc_trace_end(ctsc_scope *s, const ctsc_value *result, ctsc_module **out,
                                    ctsc_error *e);

/* The program to trace as a function: computes with inputs (the scope's, already declared) through
 * s and returns the result. */
typedef ctsc_value *(*ctsc_trace_fn)(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *inputs);
/* Traces fn with example inputs, then checks: fn runs again with the same and with the
 * check inputs (copies of them), and what it computes, call by call, is compared with
 * what the trace computes. Fails with CTSC_FAILED, naming the first operator whose result
 * differs, or the first call of fn that the trace lacks; *out is then untouched. */
CTSC_API ctsc_status ctsc_trace(ctsc_trace_fn fn, void *ctx, size_t n, ctsc_value *const *inputs,
                                const ctsc_trace_options *o, ctsc_module **out, ctsc_error *e);

/* ---- gradients ------------------------------------------------------------------------------- */

/* Calls are recorded for gradients, at a cost, only on request: for a module with
 * ctsc_module_set_gradients; for operators called by name with ctsc_scope_set_gradients.
 * (Programs that take gradients themselves, with torch.autograd.grad or backward, need
 * neither.) The same values require gradients as in PyTorch: parameters as saved,
 * tensors marked by ctsc_value_set_requires_grad, and what is computed from these.
 *
 *     ctsc_module_set_gradients(m, true, e);
 *     ctsc_scope_set_gradients(s, true);
 *     ctsc_value *loss = ctsc_op(s, "aten::mse_loss", 2, ctsc_run(s, m, "forward", 1, &x), y);
 *     ctsc_backward(loss, NULL, 0, NULL, e);   gradients: ctsc_value_grad of the parameters
 *     ctsc_optimizer_step(o, e);
 *     ctsc_optimizer_zero_grad(o);
 *     ctsc_scope_clear(s);                     the graph of the step is freed
 */

/* On: calls of m's methods are recorded, and weights may change between calls; weights are
 * not treated as constants, and nothing is fused. Off (the default): calls run as optimised
 * programs again, compiled anew with the current weights. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_set_gradients(ctsc_module *m, bool on, ctsc_error *e);
/* On: operators called through s are recorded, and so are calls of modules
 * that record (ctsc_run), whose random state then carries over from call to
 * call, as for operators. Off: neither is recorded, as under torch.no_grad. */
CTSC_API void ctsc_scope_set_gradients(ctsc_scope *s, bool on);
/* Frees the scope's values and clears its error, like
 * ctsc_scope_reset, but keeps its random state. */
CTSC_API void ctsc_scope_clear(ctsc_scope *s);
/* torch.manual_seed for the scope. */
CTSC_API void ctsc_scope_seed(ctsc_scope *s, uint64_t seed);
/* The state of its random number generator as a tensor of bytes, in the
 * form of torch.get_rng_state and torch.set_rng_state, and the reverse. */
CTSC_API ctsc_status ctsc_scope_random_state(ctsc_scope *s, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_scope_set_random_state(ctsc_scope *s, const ctsc_value *state,
                                                 ctsc_error *e);

/* t.requires_grad_(on). Fails with PyTorch's message for dtypes other
 * than floating-point and complex ones, and for results of operators. */
CTSC_API ctsc_status ctsc_value_set_requires_grad(ctsc_value *t, bool on, ctsc_error *e);
CTSC_API bool ctsc_value_requires_grad(const ctsc_value *t);
/* t.is_leaf: no operator that was recorded made it. */
CTSC_API bool ctsc_value_is_leaf(const ctsc_value *t);
/* The name of t.grad_fn, "AddBackward0"; NULL: there is none, or out of memory. Free with
 * ctsc_string_free. */
CTSC_API char *ctsc_value_grad_fn(const ctsc_value *t);
/* t.grad: a new handle; NULL: there is none. */
CTSC_API ctsc_value *ctsc_value_grad(const ctsc_value *t);
/* t.grad = grad; NULL: None. */
CTSC_API ctsc_status ctsc_value_set_grad(ctsc_value *t, const ctsc_value *grad, ctsc_error *e);

enum {
    CTSC_RETAIN_GRAPH = 1, /* the recorded graph is kept for another pass */
    /* the pass is recorded as well, for gradients of gradients; implies the one above */
    CTSC_CREATE_GRAPH = 2,
    /* ctsc_grad: inputs that the outputs do not depend on get NULL, instead of an error */
    CTSC_ALLOW_UNUSED = 4,
    /* a node that makes a gradient with nan elements is an error that names it */
    CTSC_CHECK_NAN = 8,
};
/* root.backward(grad): adds gradients to those of all leaves. grad: NULL for 1, where root has
 * one element. o: the pass's limits (max_steps, cancel, timeout_us, max_bytes) and its print
 * and warn callbacks; NULL: no limits, defaults as in calls. A pass that ends at a limit has
 * added to some of the leaves, and the recorded graph is freed unless it was to be retained. */
CTSC_API ctsc_status ctsc_backward(const ctsc_value *root, const ctsc_value *grad, unsigned flags,
                                   const ctsc_run_options *o, ctsc_error *e);
/* torch.autograd.grad: grads[i] is the gradient with respect to inputs[i], a new handle.
 * grad_outputs: one per output, NULL entries for 1; or NULL. o: as above. */
CTSC_API ctsc_status ctsc_grad(size_t noutputs, ctsc_value *const *outputs,
                               ctsc_value *const *grad_outputs, size_t ninputs,
                               ctsc_value *const *inputs, unsigned flags, const ctsc_run_options *o,
                               ctsc_value **grads, ctsc_error *e);

/* Functions with gradients of your own. A function computes outputs from its inputs by
 * any means, unrecorded; ctsc_record then attaches a history to them: a backward pass
 * calls fn with the gradients of the outputs and takes from it those of the inputs. */
typedef struct ctsc_gradient_call {
    size_t size; /* of this struct in the library */
    size_t ngrads, nsaved, ninputs;
    /* per output; NULL where there is none (with CTSC_GRADIENT_MISSING), else zeros */
    ctsc_value *const *grads;
    ctsc_value *const *saved; /* as they were; parts of the graph under create_graph */
    bool create_graph;        /* fn's computation must be differentiable: record it */
} ctsc_gradient_call;
/* out: ninputs entries, initially NULL; set to new handles, NULL for no gradient. Runs on
 * the pass's thread. Sizes that differ from the input's by broadcasting are summed over. */
typedef ctsc_status (*ctsc_gradient_fn)(void *ctx, const ctsc_gradient_call *call, ctsc_value **out,
                                        ctsc_error *e);
enum { CTSC_GRADIENT_MISSING = 1 /* gradients that are missing are NULL, not zeros */ };
typedef struct ctsc_gradient {
    size_t size;      /* sizeof(ctsc_gradient) */
    const char *name; /* of the outputs' grad_fn; copied */
    ctsc_gradient_fn fn;
    void *ctx;
    void (*free)(void *ctx); /* when the history is gone, in any thread; may be NULL */
    unsigned flags;
    size_t noutputs, nsaved;
    /* An output that is also an input is one that the function has modified. */
    ctsc_value *const *outputs;
    const bool *differentiable; /* per output; NULL: all of floating-point and complex dtypes */
    ctsc_value *const *saved;   /* kept for fn; freed by a pass that does not retain the graph */
} ctsc_gradient;
/* ctx is the library's from here on, also on failure. */
CTSC_API ctsc_status ctsc_record(const ctsc_gradient *g, size_t ninputs, ctsc_value *const *inputs,
                                 ctsc_error *e);

/* t.register_hook: fn receives the gradient of t in each backward pass once it is
 * complete, and may replace it (*out: a new handle). flags of fn: CTSC_CREATE_GRAPH. */
typedef ctsc_status (*ctsc_hook_fn)(void *ctx, const ctsc_value *grad, unsigned flags,
                                    ctsc_value **out, ctsc_error *e);
typedef struct ctsc_hook ctsc_hook;
/* register_post_accumulate_grad_hook: fn gets the leaf, once t.grad has the gradient */
enum { CTSC_HOOK_AFTER = 1 };
/* ctx is the library's from here on, also on failure: free_ctx (may be NULL) is called when the
 * hook is gone, in any thread. out may be NULL. */
CTSC_API ctsc_status ctsc_value_add_hook(ctsc_value *t, unsigned flags, ctsc_hook_fn fn, void *ctx,
                                         void (*free_ctx)(void *), ctsc_hook **out, ctsc_error *e);
CTSC_API void ctsc_hook_remove(ctsc_hook *h); /* not called again */
CTSC_API void ctsc_hook_free(ctsc_hook *h);   /* the handle; the hook stays unless it was removed */

/* Controls how tensors saved for backward passes are stored: pack converts each tensor that
 * an operator saves (to a reduced copy, a file name, a recipe to recompute it), and unpack
 * converts it back each time a pass needs it. Called by the threads of calls and passes; what
 * they compute is not recorded. Does not apply to what programs save that run as one node. */
typedef struct ctsc_saved_hooks {
    size_t size; /* sizeof(ctsc_saved_hooks) */
    void *ctx;
    ctsc_status (*pack)(void *ctx, const ctsc_value *t, void **packed, ctsc_error *e);
    ctsc_status (*unpack)(void *ctx, void *packed, ctsc_value **out, ctsc_error *e);
    void (*drop)(void *ctx, void *packed); /* no longer needed; in any thread; may be NULL */
    void (*free)(void *ctx); /* nothing is packed any more; in any thread; may be NULL */
} ctsc_saved_hooks;
/* Hooks of this thread until they are popped; only the innermost ones are called. ctx is the
 * library's from here on, also on failure. */
CTSC_API ctsc_status ctsc_saved_hooks_push(const ctsc_saved_hooks *h, ctsc_error *e);
CTSC_API void ctsc_saved_hooks_pop(void);

/* The node of the backward graph that computed a tensor, or the end of the graph
 * at a leaf ("AccumulateGrad"). A handle keeps the node and its history alive. */
typedef struct ctsc_grad_node ctsc_grad_node;
/* t.grad_fn; NULL: there is none, or out of memory. */
CTSC_API ctsc_grad_node *ctsc_grad_node_of(const ctsc_value *t);
CTSC_API void ctsc_grad_node_free(ctsc_grad_node *n);
/* The same for all handles to a node, as long as one exists. */
CTSC_API const void *ctsc_grad_node_id(const ctsc_grad_node *n);
/* "AddBackward0"; free with ctsc_string_free. NULL: out of memory. */
CTSC_API char *ctsc_grad_node_name(const ctsc_grad_node *n);
/* The number of tensors that may receive gradients. */
CTSC_API size_t ctsc_grad_node_edges(const ctsc_grad_node *n);
/* Where the i-th gradient goes: output *output of the node. NULL: nowhere, or out of memory. */
CTSC_API ctsc_grad_node *ctsc_grad_node_next(const ctsc_grad_node *n, size_t i, size_t *output);
/* The leaf, as a new handle; NULL: n is not a leaf's. */
CTSC_API ctsc_value *ctsc_grad_node_leaf(const ctsc_grad_node *n);

/* m.parameters(): a list of the tensors themselves, a dict by name
 * ("layer1.weight"). */
CTSC_API ctsc_status ctsc_module_parameters(const ctsc_module *m, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_module_named_parameters(const ctsc_module *m, ctsc_value **out,
                                                  ctsc_error *e);
/* m.state_dict(): a dict of parameters and buffers by name, not copied. */
CTSC_API ctsc_status ctsc_module_state(const ctsc_module *m, ctsc_value **out, ctsc_error *e);
/* m.load_state_dict(state): copies elements into m's tensors. Fails, with m unchanged, where
 * names are missing, unexpected or of another shape. Nobody else may use m meanwhile. */
CTSC_API ctsc_status ctsc_module_load_state(ctsc_module *m, const ctsc_value *state, ctsc_error *e);
/* m.train() and m.eval(): sets `training` of m and its submodules. Nobody else may
 * use m meanwhile. */
CTSC_API void ctsc_module_train(ctsc_module *m);
CTSC_API void ctsc_module_eval(ctsc_module *m);
/* Gradients of a list of tensors become None. */
CTSC_API void ctsc_zero_grad(ctsc_value *parameters);

/* torch.nn.utils.clip_grad_norm_ and clip_grad_value_ of a list of tensors: gradients are scaled so
 * that their norm is at most max_norm (norm_type 2; INFINITY for the largest element), or clamped
 * to -limit .. limit. *norm (may be NULL): the norm before scaling. */
CTSC_API ctsc_status ctsc_clip_grad_norm(ctsc_value *parameters, double max_norm, double norm_type,
                                         double *norm, ctsc_error *e);
CTSC_API ctsc_status ctsc_clip_grad_value(ctsc_value *parameters, double limit, ctsc_error *e);

/* ---- optimisers and schedulers --------------------------------------------------------------- */

/* A hyperparameter by its name in PyTorch; for pairs: beta1, beta2 (betas), eta_minus, eta_plus
 * (etas), step_min, step_max (step_sizes). Flags are 0 or 1. */
typedef struct ctsc_setting { const char *name; double value; } ctsc_setting;

/* torch.optim: "sgd", "adagrad", "rmsprop", "adadelta", "adam", "adamw", "adamax", "nadam",
 * "radam", "asgd", "rprop", "lbfgs", with PyTorch's hyperparameters and defaults ("amsgrad" is
 * adam's or adamw's flag, "strong_wolfe" lbfgs's line search). One step is one pass over all
 * parameters. A handle is used by one thread at a time, while nobody runs the module whose
 * parameters it changes. */
typedef struct ctsc_optimizer ctsc_optimizer;
/* parameters: a list of tensors (ctsc_module_parameters), the
 * first group. Errors: CTSC_USAGE for invalid names and values. */
CTSC_API ctsc_status ctsc_optimizer_new(const char *name, const ctsc_value *parameters,
                                        size_t nsettings, const ctsc_setting *settings,
                                        ctsc_optimizer **out, ctsc_error *e);
CTSC_API void ctsc_optimizer_free(ctsc_optimizer *o); /* o may be NULL */
/* Adds a group with its own settings; the rest are the first group's defaults. */
CTSC_API ctsc_status ctsc_optimizer_add_group(ctsc_optimizer *o, const ctsc_value *parameters,
                                              size_t nsettings, const ctsc_setting *settings,
                                              ctsc_error *e);
CTSC_API size_t ctsc_optimizer_group_count(const ctsc_optimizer *o);
CTSC_API ctsc_status ctsc_optimizer_set(ctsc_optimizer *o, size_t group, const char *name,
                                        double value, ctsc_error *e);
/* NaN: there is none */
CTSC_API double ctsc_optimizer_get(const ctsc_optimizer *o, size_t group, const char *name);
/* Changes the parameters that have gradients. Not for lbfgs, which needs a closure. */
CTSC_API ctsc_status ctsc_optimizer_step(ctsc_optimizer *o, ctsc_error *e);
/* The closure zeroes gradients, computes the loss and its gradients, and returns the
 * loss in *loss; lbfgs calls it several times. *loss (may be NULL): the first loss. */
typedef ctsc_status (*ctsc_closure_fn)(void *ctx, double *loss, ctsc_error *e);
CTSC_API ctsc_status ctsc_optimizer_step_closure(ctsc_optimizer *o, ctsc_closure_fn closure,
                                                 void *ctx, double *loss, ctsc_error *e);
CTSC_API void ctsc_optimizer_zero_grad(ctsc_optimizer *o);
/* state_dict() as PyTorch's optimisers have it: ctsc_value_save writes it, torch.load and
 * load_state_dict read it, and the reverse. Its tensors are not copied. */
CTSC_API ctsc_status ctsc_optimizer_state(const ctsc_optimizer *o, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_optimizer_load_state(ctsc_optimizer *o, const ctsc_value *state,
                                               ctsc_error *e);

/* torch.optim.lr_scheduler: "step" (step_size, gamma), "multistep" (milestone, repeated;
 * gamma), "exponential" (gamma), "linear" (start_factor, end_factor, total_iters), "cosine"
 * (t_max, eta_min), "onecycle" (max_lr, total_steps, pct_start, ...), "plateau" (factor,
 * patience, threshold, cooldown, min_lr, maximize, absolute), "lambda" (a callback). It changes
 * the lr of the optimiser's groups, and must not outlive it. As in PyTorch it makes its first
 * step when it is made. */
typedef struct ctsc_scheduler ctsc_scheduler;
/* the factor of the initial lr */
typedef double (*ctsc_lambda_fn)(void *ctx, size_t group, int64_t epoch);
CTSC_API ctsc_status ctsc_scheduler_new(const char *name, ctsc_optimizer *o, size_t nsettings,
                                        const ctsc_setting *settings, ctsc_lambda_fn fn, void *ctx,
                                        ctsc_scheduler **out, ctsc_error *e);
CTSC_API void ctsc_scheduler_free(ctsc_scheduler *s); /* s may be NULL */
/* metric: for "plateau"; others ignore it. */
CTSC_API ctsc_status ctsc_scheduler_step(ctsc_scheduler *s, double metric, ctsc_error *e);
/* As PyTorch's state_dict(), without fields that only serve messages. */
CTSC_API ctsc_status ctsc_scheduler_state(const ctsc_scheduler *s, ctsc_value **out, ctsc_error *e);
CTSC_API ctsc_status ctsc_scheduler_load_state(ctsc_scheduler *s, const ctsc_value *state,
                                               ctsc_error *e);

/* ---- batches --------------------------------------------------------------------------------- */

/* Batches as torch.utils.data.DataLoader yields them from a TensorDataset, in its
 * order for the same seed: tuples of tensors with rows of those given. A separate
 * thread makes the next batch while the program works on the current one. */
typedef struct ctsc_loader ctsc_loader;
typedef struct ctsc_loader_options {
    size_t size;    /* sizeof(ctsc_loader_options), for later growth */
    int64_t batch;  /* rows; 0: 1 */
    bool shuffle;   /* in a new order each epoch, from a generator seeded with `seed` */
    bool drop_last; /* drop a last batch with fewer rows */
    uint64_t seed;
    bool no_prefetch; /* no thread */
} ctsc_loader_options;
/* data: a list or tuple of tensors with the same number of rows. o may be NULL. */
CTSC_API ctsc_status ctsc_loader_new(const ctsc_value *data, const ctsc_loader_options *o,
                                     ctsc_loader **out, ctsc_error *e);
CTSC_API void ctsc_loader_free(ctsc_loader *l);             /* l may be NULL */
CTSC_API int64_t ctsc_loader_batches(const ctsc_loader *l); /* in an epoch */
/* Starts epoch number `epoch` (from 0) at its batch number `batch`. Any order is
 * possible: the rows of a batch depend only on the seed and these two numbers. */
CTSC_API ctsc_status ctsc_loader_begin(ctsc_loader *l, int64_t epoch, int64_t batch, ctsc_error *e);
/* *out: a tuple, a new handle; NULL after the last batch of the epoch. */
CTSC_API ctsc_status ctsc_loader_next(ctsc_loader *l, ctsc_value **out, ctsc_error *e);

/* ---- operators of a program's own ------------------------------------------------------------ */

/* The implementation of a custom operator. args: one borrowed value per argument of the
 * schema, defaults filled in. results: one entry per return of the schema, NULL, to be set
 * to new handles that the library takes over; with a shape function, tensors to be
 * written. A failing operator reports why with ctsc_error_set; results that it has set are
 * released. In-place operators return ctsc_value_copy of the argument they changed. */
typedef ctsc_status (*ctsc_op_fn)(void *ctx, size_t nargs, ctsc_value *const *args,
                                  ctsc_value **results, ctsc_error *e);

typedef struct ctsc_tensor_shape {
    ctsc_dtype dtype;
    int ndim;
    int64_t sizes[64];
} ctsc_tensor_shape;

enum {
    /* calls are never removed, merged or moved: it
     * prints, counts, uses its own random source */
    CTSC_OP_EFFECTS = 1,
    /* two calls with the same arguments may give different
     * results: never merged, never constant-folded */
    CTSC_OP_RANDOM = 2,
};

typedef struct ctsc_op_options {
    size_t size;    /* sizeof(ctsc_op_options), for later growth */
    unsigned flags; /* CTSC_OP_... */
    /* The dtype and sizes of result i, a tensor, from the arguments: the library makes it and the
     * operator writes it. */
    ctsc_status (*shape)(void *ctx, size_t nargs, ctsc_value *const *args, size_t i,
                         ctsc_tensor_shape *out, ctsc_error *e);
    /* What the operator computes for one element, in C: it is then fused into a
     * native kernel with the operators around it, and fn may be NULL. The text, which
     * is copied, is a function whose parameters are the schema's arguments in order,
     *
     *     float clip(float x, float limit) { float a = fabsf(x); return a < limit ? x : copysignf(limit + log1pf(a - limit), x); }
     *
     * or an expression alone, over the names of the schema's arguments. A function has
     * float or double parameters (int for what the schema calls an int), locals with a
     * value each, and one return at the end. Expressions: decimal numbers, names, INFINITY,
     * NAN, M_PI and the like, + - * / ! && || ?: comparisons, parentheses, casts to float,
     * and from math.h, with or without suffix f: fabs sqrt exp exp2 expm1 log log2 log10
     * log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma
     * floor ceil trunc round rint nearbyint pow atan2 hypot fmod copysign fmin fmax isnan
     * isinf isfinite signbit. Both sides of ?: are computed. Integer division is refused
     * (write 2.0 for 2). The schema: Tensor (1 to 7; more than 5 are not fused), float,
     * int, bool or Scalar arguments, one Tensor as result, no aliases, no flags. Tensors
     * are broadcast and promoted to one dtype as in aten::add, integers and bools to
     * float32; the result has that dtype. The computation is in float, whatever types the
     * text names, or in double if that dtype is float64; float16 and bfloat16 are computed
     * in float and rounded at the end. Complex and quantised tensors are refused. If fn is
     * given too, it runs where the operator is not fused and must compute the same. */
    const char *scalar;
} ctsc_op_options;

/* Adds an operator, or replaces one of the same name and overload: "cv::warp(Tensor image,
 * Tensor matrix, int mode=0) -> Tensor". Scripts and sources call it as torch.ops.cv.warp;
 * archives that use it load. Programs compiled earlier keep the operator that they have.
 * fn is called from any thread that runs a program, from several at once; it and ctx must
 * stay valid forever. o may be NULL. Errors: CTSC_FAILED for a schema or a scalar
 * definition (with its line and column) that cannot be read, CTSC_USAGE. */
CTSC_API ctsc_status ctsc_register_op(const char *schema, ctsc_op_fn fn, void *ctx,
                                      const ctsc_op_options *o, ctsc_error *e);
/* Opens a shared library that registers operators: it has a function `ctsc_status
 * ctsc_library_init(ctsc_error *e)`, which is called once. It stays open. path: as dlopen
 * takes it; a name with a slash, or one that the loader finds. Errors: CTSC_ENVIRONMENT, or
 * what the function says. */
CTSC_API ctsc_status ctsc_load_library(const char *path, ctsc_error *e);

#ifdef __cplusplus
}
#endif
#endif /* CTSC_H */
