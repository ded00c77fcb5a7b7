/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense.c - programs of kernels/, and their records of indices out of bounds.
 * Tests: tests/unit/test_cuda_dense.c
 */
#include "runtime/cuda/dense.h"

#include "base/map.h"
#include "cuda/capture.h"

#include <pthread.h>
#include <string.h>

/* ---- programs -------------------------------------------------------------------------------- */

EMBED(activation_text, "src/ir/scalar/scalar_activation.h")
EMBED(dense_params_text, "src/runtime/kernels/engine/dense_params.h")
EMBED(dense_types_text, "src/runtime/cuda/kernels/dense_types.cuh")
embedded *const dense_before[] = {&activation_text, &dense_params_text, &dense_types_text, NULL};

#define DENSE_TYPE(element, compute, is_int, bytes)                                                \
    "#define ELEMENT " element "\n#define COMPUTE " compute "\n#define ELEMENT_IS_INT " is_int     \
    "\n#define ELEMENT_BYTES " bytes "\n"

const char *dense_defines(dtype dt) {
    switch (dt) {
    case DT_UINT8: return DENSE_TYPE("unsigned char", "int", "1", "1");
    case DT_INT8: return DENSE_TYPE("signed char", "int", "1", "1");
    case DT_INT16: return DENSE_TYPE("short", "int", "1", "2");
    case DT_INT32: return DENSE_TYPE("int", "int", "1", "4");
    case DT_INT64: return DENSE_TYPE("long long", "long long", "1", "8");
    case DT_FLOAT16: return DENSE_TYPE("f16", "float", "0", "2");
    case DT_BFLOAT16: return DENSE_TYPE("bf16", "float", "0", "2");
    case DT_FLOAT32: return DENSE_TYPE("float", "float", "0", "4");
    case DT_FLOAT64: return DENSE_TYPE("double", "double", "0", "8");
    case DT_BOOL: return DENSE_TYPE("bool", "bool", "1", "1");
    default: return NULL;
    }
}

const char *dense_defines_of_size(size_t bytes) {
    switch (bytes) {
    case 1: return dense_defines(DT_UINT8);
    case 2: return dense_defines(DT_INT16);
    case 4: return dense_defines(DT_INT32);
    case 8: return dense_defines(DT_INT64);
    default: return DENSE_TYPE("wide16", "wide16", "0", "16");
    }
}

enum { DENSE_THREADS = 256, DENSE_GRID = INT32_MAX };

static ctsc_status dense_start(diag *d, cuda *c, const cuda_kernel *k, int64_t blocks, int threads,
                               const void *params, size_t nbytes) {
    cuda_shape shape = {.grid = {(unsigned)(blocks < DENSE_GRID ? blocks : DENSE_GRID), 1, 1},
                        .block = {(unsigned)threads, 1, 1}};
    return cuda_launch(c, d, k, &shape, params, nbytes);
}

ctsc_status dense_launch(diag *d, cuda *c, const cuda_file *file, const char *defines,
                         const char *symbol, int64_t blocks, int threads, const void *params,
                         size_t nbytes) {
    const cuda_kernel *k;
    if (blocks <= 0) return CTSC_OK;
    TRY(cuda_file_kernel(d, c, file, defines, symbol, 0, &k));
    return dense_start(d, c, k, blocks, threads, params, nbytes);
}

ctsc_status dense_each(diag *d, cuda *c, const cuda_file *file, const char *defines,
                       const char *symbol, int64_t items, const void *params, size_t nbytes) {
    const cuda_kernel *k;
    if (items <= 0) return CTSC_OK;
    TRY(cuda_file_kernel(d, c, file, defines, symbol, 0, &k));
    int64_t blocks = (items + DENSE_THREADS - 1) / DENSE_THREADS,
            most = cuda_resident_blocks(c, k, DENSE_THREADS, 0);
    return dense_start(d, c, k, most > 0 && blocks > most ? most : blocks, DENSE_THREADS, params,
                       nbytes);
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { DENSE_DEVICES = 64 };
static const size_t dense_tables_most = (size_t)16 << 20; /* bytes that are kept for a device */

static pthread_mutex_t dense_table_lock = PTHREAD_MUTEX_INITIALIZER;
/* live as long as the process */
static struct dense_tables { strmap by_content; size_t bytes; } dense_tables_of[DENSE_DEVICES];

/* Keeps memory of the device under a copy of its content; false: it stays the caller's. */
static bool dense_table_keep(struct dense_tables *kept, const void *bytes, size_t n, void *at) {
    char *copy = kept->bytes + n <= dense_tables_most ? mem_alloc(n) : NULL;
    if (!copy) return false;
    memcpy(copy, bytes, n);
    if (strmap_putn(&kept->by_content, copy, n, at)) {
        kept->bytes += n;
        return true;
    }
    mem_free(copy);
    return false;
}

ctsc_status dense_table_get(diag *d, cuda *c, const void *bytes, size_t n, dense_table *out) {
    int index = cuda_index(c);
    struct dense_tables *kept = index < DENSE_DEVICES ? &dense_tables_of[index] : NULL;
    ctsc_status st = CTSC_OK;
    *out = (dense_table){0};
    if (n == 0) return CTSC_OK;
    pthread_mutex_lock(&dense_table_lock);
    void *at = kept ? strmap_getn(&kept->by_content, bytes, n) : NULL;
    if (!at) {
        st = cuda_capture_refuse(d, "a new table of numbers");
        if (st == CTSC_OK) st = cuda_alloc(c, d, n, &at);
        if (st == CTSC_OK && (st = cuda_write(c, d, at, bytes, n)) != CTSC_OK) cuda_free(c, at);
        out->own = st == CTSC_OK && !(kept && dense_table_keep(kept, bytes, n, at));
    }
    pthread_mutex_unlock(&dense_table_lock);
    if (st == CTSC_OK) out->at = at;
    return st;
}

void dense_table_end(cuda *c, dense_table *t) {
    if (t->own) cuda_free(c, t->at);
    *t = (dense_table){0};
}

/* ---- faults ---------------------------------------------------------------------------------- */

static pthread_mutex_t dense_fault_lock = PTHREAD_MUTEX_INITIALIZER;
/* on the device; lives as long as the process */
static _Atomic(dense_fault *) dense_fault_at[DENSE_DEVICES];

ctsc_status dense_faults(diag *d, cuda *c, dense_fault **out) {
    int index = cuda_index(c);
    if (index >= DENSE_DEVICES) return diag_fail(d, CTSC_LIMIT, "cuda:%d: too many devices", index);
    ctsc_status st = CTSC_OK;
    pthread_mutex_lock(&dense_fault_lock);
    dense_fault *at = atomic_load(&dense_fault_at[index]);
    if (!at) {
        void *made;
        st = cuda_capture_refuse(d, "the first indices that are checked");
        if (st == CTSC_OK) st = cuda_alloc(c, d, sizeof *at, &made);
        if (st == CTSC_OK) {
            at = made;
            st = cuda_zero(c, d, at, sizeof *at);
            if (st == CTSC_OK) atomic_store(&dense_fault_at[index], at);
            else cuda_free(c, at);
        }
    }
    pthread_mutex_unlock(&dense_fault_lock);
    if (st == CTSC_OK) *out = at;
    return st;
}

ctsc_status dense_check_faults(diag *d, cuda *c) {
    int index = cuda_index(c);
    dense_fault *at = index < DENSE_DEVICES ? atomic_load(&dense_fault_at[index]) : NULL, f;
    if (!at) return CTSC_OK;
    TRY(cuda_read(c, d, &f, at, sizeof f));
    if (!f.kind) return CTSC_OK;
    TRY(cuda_zero(c, d, at, sizeof f));
    switch (f.kind) {
    case DENSE_FAULT_INDEX:
        return diag_fail(d, CTSC_FAILED,
                         "index %lld is out of bounds for dimension %d with size %lld", f.value,
                         f.dim, f.size);
    case DENSE_FAULT_POSITION:
        return diag_fail(d, CTSC_FAILED,
                         "out of range: tried to access index %lld on a tensor of %lld elements.",
                         f.value, f.size);
    case DENSE_FAULT_IMAGE: {
        double image;
        memcpy(&image, &f.value, sizeof image);
        return diag_fail(d, CTSC_FAILED, "roi %d belongs to image %g of a batch of %lld", f.dim,
                         image, f.size);
    }
    case DENSE_FAULT_SAMPLES:
        return diag_fail(d, CTSC_LIMIT, "out of memory: a region needs too many samples");
    case DENSE_FAULT_CLASS:
        return diag_fail(d, CTSC_FAILED, "Target %lld is out of bounds.", f.value);
    default: return diag_fail(d, CTSC_FAILED, "index out of range in self");
    }
}

/* ---- what kernels ask for -------------------------------------------------------------------- */

const device_kernels cuda_kernels = {
    .attention = dense_attention_run,
    .conv = dense_conv_run,
    .gemm_batch = dense_gemm_batch,
    .gemm = dense_gemm_run,
    .bags = dense_bags_run,
    .blocks_read = dense_blocks_read,
    .blocks_write = dense_blocks_write,
    .coordinates = dense_coordinates_run,
    .gather = dense_gather_run,
    .move = dense_move_run,
    .offsets_add = dense_offsets_add,
    .places = dense_places,
    .rows = dense_rows_run,
    .scatter = dense_scatter_run,
    .cell = dense_cell_run,
    .scan = dense_scan_run,
    .sort = dense_sort_run,
    .triangle = dense_triangle_run,
    .gather3 = dense_gather3_run,
    .pool = dense_pool_run,
    .resample = dense_resample_run,
    .affine = dense_affine_run,
    .deform = dense_deform_run,
    .grid = dense_grid_run,
    .nms = dense_nms,
    .regions = dense_regions_run,
};
