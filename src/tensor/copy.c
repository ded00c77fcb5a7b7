/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - copying between tensors of any geometry and dtype.
 *
 * Method: iter_run reduces every pair of geometries to runs; a table holds one loop over a run for
 * each pair of dtypes. Equal dtypes move bytes. Complex elements, quantised ones and other rare
 * pairs go through double, element by element. A transposed matrix is moved in tiles, because a
 * run through it would touch a cache line per element.
 * Invariants: a source that shares memory with a destination of another geometry is cloned first.
 * Tests: tests/unit/test_tensor.c
 */
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "cpu/convert/transpose.h"
#include "cpu/vector.h"
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/element.h"
#include "tensor/iter.h"
#include "tensor/quantiser.h"
#include "tensor/strides.h"

#include <string.h>

/* ---- same dtype ------------------------------------------------------------------------------ */

typedef struct copy_16bytes {
    uint64_t word[2];
} copy_16bytes;

#define COPY_MOVE(name, T)                                                                         \
    static void name(void *ctx, int64_t n, char *const *p, const int64_t *s) {                     \
        (void)ctx;                                                                                 \
        char *dst = p[0];                                                                          \
        const char *src = p[1];                                                                    \
        if (s[0] == sizeof(T) && s[1] == sizeof(T)) {                                              \
            memcpy(dst, src, (size_t)n * sizeof(T));                                               \
            return;                                                                                \
        }                                                                                          \
        int64_t ds = s[0], ss = s[1];                                                              \
        for (int64_t i = 0; i < n; i++, dst += ds, src += ss) memcpy(dst, src, sizeof(T));         \
    }
COPY_MOVE(copy_move1, uint8_t)
COPY_MOVE(copy_move2, uint16_t)
COPY_MOVE(copy_move4, uint32_t)
COPY_MOVE(copy_move8, uint64_t)
COPY_MOVE(copy_move16, copy_16bytes)

static iter_kernel copy_mover(size_t size) {
    switch (size) {
    case 1: return copy_move1;
    case 2: return copy_move2;
    case 4: return copy_move4;
    case 8: return copy_move8;
    default: return copy_move16;
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/*
 * How a dtype takes part in a conversion: the C type in memory, the type arithmetic is done in, how
 * to get there, and the conversion of an arithmetic value to it.
 */
#define COPY_TYPES(X, ...)                                                                         \
    X(UINT8, __VA_ARGS__)                                                                          \
    X(INT8, __VA_ARGS__)                                                                           \
    X(INT16, __VA_ARGS__)                                                                          \
    X(INT32, __VA_ARGS__)                                                                          \
    X(INT64, __VA_ARGS__)                                                                          \
    X(FLOAT16, __VA_ARGS__)                                                                        \
    X(FLOAT32, __VA_ARGS__)                                                                        \
    X(FLOAT64, __VA_ARGS__)                                                                        \
    X(BOOL, __VA_ARGS__)                                                                           \
    X(BFLOAT16, __VA_ARGS__)

typedef uint8_t copy_UINT8, copy_BOOL;
typedef int8_t copy_INT8;
typedef int16_t copy_INT16;
typedef int32_t copy_INT32;
typedef int64_t copy_INT64;
typedef float copy_FLOAT32;
typedef double copy_FLOAT64;
typedef float16 copy_FLOAT16;
typedef bfloat16 copy_BFLOAT16;

/* clang-format off */
#define COPY_LOAD_UINT8(x)    ((int32_t)(x))
#define COPY_LOAD_INT8(x)     ((int32_t)(x))
#define COPY_LOAD_INT16(x)    ((int32_t)(x))
#define COPY_LOAD_INT32(x)    ((int32_t)(x))
#define COPY_LOAD_INT64(x)    (x)
#define COPY_LOAD_BOOL(x)     ((int32_t)((x) != 0))
#define COPY_LOAD_FLOAT32(x)  (x)
#define COPY_LOAD_FLOAT64(x)  (x)
#define COPY_LOAD_FLOAT16(x)  float16_to_float(x)
#define COPY_LOAD_BFLOAT16(x) bfloat16_to_float(x)
/* clang-format on */

/* Of an int32_t, an int64_t, a float or a double. */
#define COPY_TO_INT64(x)                                                                           \
    _Generic((x),                                                                                  \
        int32_t: (int64_t)(x),                                                                     \
        int64_t: (int64_t)(x),                                                                     \
        default: element_to_int64((double)(x)))
#define COPY_TO_INT32(x)                                                                           \
    _Generic((x),                                                                                  \
        int32_t: (int64_t)(x),                                                                     \
        int64_t: (int64_t)(x),                                                                     \
        default: (int64_t)element_to_int32((double)(x)))

/* clang-format off */
#define COPY_STORE_UINT8(x)    ((uint8_t)COPY_TO_INT64(x))
#define COPY_STORE_INT8(x)     ((int8_t)COPY_TO_INT32(x))
#define COPY_STORE_INT16(x)    ((int16_t)COPY_TO_INT32(x))
#define COPY_STORE_INT32(x)    ((int32_t)COPY_TO_INT32(x))
#define COPY_STORE_INT64(x)    COPY_TO_INT64(x)
#define COPY_STORE_BOOL(x)     ((uint8_t)((x) != 0))
#define COPY_STORE_FLOAT32(x)  ((float)(x))
#define COPY_STORE_FLOAT64(x)  ((double)(x))
#define COPY_STORE_FLOAT16(x)  float16_from_float((float)(x))
#define COPY_STORE_BFLOAT16(x) bfloat16_from_float((float)(x))
/* clang-format on */

/* Vectors are for conversions from and to float32 and bool; the others are rare. */
#define COPY_HOT_UINT8
#define COPY_HOT_INT8
#define COPY_HOT_INT16
#define COPY_HOT_INT32
#define COPY_HOT_INT64
#define COPY_HOT_FLOAT16
#define COPY_HOT_FLOAT32 VECTOR_LOOPS
#define COPY_HOT_FLOAT64
#define COPY_HOT_BOOL VECTOR_LOOPS
#define COPY_HOT_BFLOAT16

/* Whole runs of half and float have their own loops, with the processor's instructions. */
#define COPY_LOOP(D, S)                                                                            \
    COPY_HOT_##D COPY_HOT_##S static void copy_##D##_from_##S(void *ctx, int64_t n,                \
                                                              char *const *p, const int64_t *s) {  \
        (void)ctx;                                                                                 \
        int64_t ds = s[0], ss = s[1];                                                              \
        if (DT_##D != DT_##S && ds == sizeof(copy_##D) && ss == sizeof(copy_##S)) {                \
            copy_##D *dst = (copy_##D *)p[0];                                                      \
            const copy_##S *src = (const copy_##S *)p[1];                                          \
            if (DT_##D == DT_FLOAT16 && DT_##S == DT_FLOAT32) {                                    \
                float16_from_floats((const float *)p[1], (float16 *)p[0], (size_t)n);              \
                return;                                                                            \
            }                                                                                      \
            if (DT_##D == DT_BFLOAT16 && DT_##S == DT_FLOAT32) {                                   \
                bfloat16_from_floats((const float *)p[1], (bfloat16 *)p[0], (size_t)n);            \
                return;                                                                            \
            }                                                                                      \
            if (DT_##D == DT_FLOAT32 && DT_##S == DT_FLOAT16) {                                    \
                float16_to_floats((const float16 *)p[1], (float *)p[0], (size_t)n);                \
                return;                                                                            \
            }                                                                                      \
            if (DT_##D == DT_FLOAT32 && DT_##S == DT_BFLOAT16) {                                   \
                bfloat16_to_floats((const bfloat16 *)p[1], (float *)p[0], (size_t)n);              \
                return;                                                                            \
            }                                                                                      \
            for (int64_t i = 0; i < n; i++) dst[i] = COPY_STORE_##D(COPY_LOAD_##S(src[i]));        \
            return;                                                                                \
        }                                                                                          \
        char *dst = p[0];                                                                          \
        const char *src = p[1];                                                                    \
        for (int64_t i = 0; i < n; i++, dst += ds, src += ss)                                      \
            *(copy_##D *)dst = COPY_STORE_##D(COPY_LOAD_##S(*(const copy_##S *)src));              \
    }

/* The inner list is spelled out: a macro cannot expand inside itself. */
#define COPY_LOOPS_TO(D, ...)                                                                      \
    COPY_LOOP(D, UINT8)                                                                            \
    COPY_LOOP(D, INT8)                                                                             \
    COPY_LOOP(D, INT16)                                                                            \
    COPY_LOOP(D, INT32)                                                                            \
    COPY_LOOP(D, INT64)                                                                            \
    COPY_LOOP(D, FLOAT16)                                                                          \
    COPY_LOOP(D, FLOAT32)                                                                          \
    COPY_LOOP(D, FLOAT64)                                                                          \
    COPY_LOOP(D, BOOL)                                                                             \
    COPY_LOOP(D, BFLOAT16)
COPY_TYPES(COPY_LOOPS_TO, )

#define COPY_ENTRY(D, S) [DT_##D][DT_##S] = copy_##D##_from_##S,
#define COPY_ENTRIES_TO(D, ...)                                                                    \
    COPY_ENTRY(D, UINT8)                                                                           \
    COPY_ENTRY(D, INT8)                                                                            \
    COPY_ENTRY(D, INT16)                                                                           \
    COPY_ENTRY(D, INT32)                                                                           \
    COPY_ENTRY(D, INT64)                                                                           \
    COPY_ENTRY(D, FLOAT16)                                                                         \
    COPY_ENTRY(D, FLOAT32)                                                                         \
    COPY_ENTRY(D, FLOAT64)                                                                         \
    COPY_ENTRY(D, BOOL)                                                                            \
    COPY_ENTRY(D, BFLOAT16)
static const iter_kernel copy_loops[DT_COMPUTED][DT_COMPUTED] = {COPY_TYPES(COPY_ENTRIES_TO, )};

/* The rare pairs. Both parts of a complex number are dtypes of their own, side by side. */
typedef struct copy_pair {
    dtype dst, src;
} copy_pair;

static dtype copy_part(dtype complex) {
    return complex == DT_COMPLEX32 ? DT_FLOAT16 : complex == DT_COMPLEX64 ? DT_FLOAT32 : DT_FLOAT64;
}

static void copy_rare(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const copy_pair *pair = ctx;
    bool complex = dtype_is_complex(pair->dst), both = complex && dtype_is_complex(pair->src);
    bool ints = dtype_is_integral(pair->src) || dtype_is_quantised(pair->src) ||
                (dtype_is_unsigned(pair->src) && pair->src != DT_UINT64);
    bool to_float = dtype_is_float(pair->dst) || dtype_is_float8(pair->dst);
    if (pair->src == DT_UINT64) ints = !to_float;
    for (int64_t i = 0; i < n; i++) {
        char *dst = p[0] + i * s[0];
        const char *src = p[1] + i * s[1];
        if (ints && !complex) {
            dtype_store_int(pair->dst, dst, dtype_load_int(pair->src, src));
            continue;
        }
        double x = dtype_load_float(pair->src, src);
        if (pair->src == DT_UINT64 && pair->dst != DT_FLOAT64) { /* rounded once */
            uint64_t whole;
            memcpy(&whole, src, sizeof whole);
            x = (double)(float)whole;
        }
        if (pair->dst == DT_BOOL && dtype_is_complex(pair->src)) { /* true if either part is */
            dtype part = copy_part(pair->src);
            x = x != 0 || dtype_load_float(part, src + dtype_size(part)) != 0;
        }
        dtype_store_float(pair->dst, dst, x);
        if (!both) continue;
        dtype dst_part = copy_part(pair->dst), src_part = copy_part(pair->src);
        double im = dtype_load_float(src_part, src + dtype_size(src_part));
        dtype_store_float(dst_part, dst + dtype_size(dst_part), im);
    }
}

/* Elements of 8 bits become floats, or are made of them, a block at a time; on the other side of
 * the block another loop of the table is at work. */
enum { COPY_BLOCK = 256 };

static void copy_from_float8(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const copy_pair *pair = ctx;
    float block[COPY_BLOCK];
    const int64_t steps[2] = {s[0], sizeof *block};
    for (int64_t done = 0; done < n;) {
        int64_t k = n - done < COPY_BLOCK ? n - done : COPY_BLOCK;
        const char *src = p[1] + done * s[1];
        for (int64_t i = 0; i < k; i++)
            block[i] = float8_to_float(pair->src, *(const uint8_t *)(src + i * s[1]));
        char *const ends[2] = {p[0] + done * s[0], (char *)block};
        copy_loops[pair->dst][DT_FLOAT32](NULL, k, ends, steps);
        done += k;
    }
}

static void copy_to_float8(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const copy_pair *pair = ctx;
    float block[COPY_BLOCK];
    const int64_t steps[2] = {sizeof *block, s[1]};
    for (int64_t done = 0; done < n;) {
        int64_t k = n - done < COPY_BLOCK ? n - done : COPY_BLOCK;
        char *dst = p[0] + done * s[0];
        char *const ends[2] = {(char *)block, p[1] + done * s[1]};
        copy_loops[DT_FLOAT32][pair->src](NULL, k, ends, steps);
        for (int64_t i = 0; i < k; i++)
            *(uint8_t *)(dst + i * s[0]) = float8_from_float(pair->dst, block[i]);
        done += k;
    }
}

static bool copy_has_loops(dtype dt) { return !dtype_is_stored(dt) && copy_loops[dt][dt]; }

static iter_kernel copy_kernel(dtype dst, dtype src) {
    if (dst == src) return copy_mover(dtype_size(dst));
    if (copy_has_loops(dst) && copy_has_loops(src)) return copy_loops[dst][src];
    if (dtype_is_float8(src) && copy_has_loops(dst)) return copy_from_float8;
    if (dtype_is_float8(dst) && copy_has_loops(src)) return copy_to_float8;
    return copy_rare;
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* The bytes [*begin, *end) of its storage that t reaches into. t is not empty. */
static void copy_extent(const tensor *t, size_t *begin, size_t *end) {
    size_t item = dtype_size((dtype)t->dtype);
    int64_t last = t->offset;
    for (int i = 0; i < t->ndim; i++) last += (t->sizes[i] - 1) * t->strides[i];
    *begin = (size_t)t->offset * item;
    *end = (size_t)(last + 1) * item;
}

static bool copy_share_memory(const tensor *a, const tensor *b) {
    if (a->storage->data != b->storage->data) return false;
    size_t a_begin, a_end, b_begin, b_end;
    copy_extent(a, &a_begin, &a_end);
    copy_extent(b, &b_begin, &b_end);
    return a_begin < b_end && b_begin < a_end;
}

static bool copy_same_geometry(const tensor *a, const tensor *b) {
    if (a->dtype != b->dtype || a->offset != b->offset || !tensor_same_shape(a, b)) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] != 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

/* A dimension of several elements in one place: what PyTorch refuses to write to. */
static bool copy_is_expanded(const tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] > 1 && t->strides[i] == 0) return true;
    return false;
}

static ctsc_status copy_check_shapes(diag *d, const tensor *dst, const tensor *src) {
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    ctsc_status status = broadcast_sizes(d, dst->ndim, dst->sizes, src->ndim, src->sizes, &ndim,
                                         sizes);
    if (status) return status;
    bool same = ndim == dst->ndim;
    for (int i = 0; same && i < ndim; i++) same = sizes[i] == dst->sizes[i];
    if (same) return CTSC_OK;
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, "output with shape ");
    tensor_print_sizes(dst->ndim, dst->sizes, &sb);
    sb_puts(&sb, " doesn't match the broadcast shape ");
    tensor_print_sizes(ndim, sizes, &sb);
    status = diag_fail(d, CTSC_FAILED, "%s", sb_str(&sb));
    sb_free(&sb);
    return status;
}

/* ---- transposed matrices --------------------------------------------------------------------- */

/* A tile's row is two cache lines long, or 16 elements, or the whole of a narrow matrix; its height
 * fills the buffer that it goes through, so that every line of src and of dst is touched once,
 * however badly their distances suit the cache. */
enum {
    COPY_TILE_BYTES = 8192,
    COPY_TILE_MIN = 32,
    COPY_TILE_MIN_DIRECT = 8, /* the same where transpose.h does it */
    COPY_TILE_NARROW = 2,
    COPY_TILE_NARROW_ROWS = 1024,
    COPY_TILE_COLS = 1024, /* of a piece at least, and fewer than twice as many */
    COPY_TILE_WORK = 32768
};

typedef struct copy_transposed {
    char *dst;
    const char *src;
    int64_t item, height, width; /* of a tile */
    int64_t rows, cols;          /* of a matrix of dst, which is contiguous */
    int64_t src_col;             /* stride in bytes; that of a row is the item's size */
    int64_t row_tiles, col_pieces;
    bool direct; /* transpose.h does it: tiles are as wide as a piece */
    int nbatches;
    /* of src's dims; the first nbatches count the matrices */
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
} copy_transposed;

/* One tile of w x h elements: buffer[i][j] = src[j][i], then the buffer's rows to dst. */
#define COPY_TILE_FILL(T)                                                                          \
    for (int64_t j = 0; j < w; j++) {                                                              \
        const char *from = src + j * c->src_col;                                                   \
        for (int64_t i = 0; i < h; i++)                                                            \
            ((T *)(void *)buffer)[i * w + j] = ((const T *)(const void *)from)[i];                 \
    }

static void copy_one_tile(const copy_transposed *c, char *dst, const char *src, int64_t h,
                          int64_t w) {
    _Alignas(64) char buffer[COPY_TILE_BYTES];
    switch (c->item) {
    case 4: COPY_TILE_FILL(uint32_t) break;
    case 8: COPY_TILE_FILL(uint64_t) break;
    default: COPY_TILE_FILL(copy_16bytes) break;
    }
    if (w == c->cols) memcpy(dst, buffer, (size_t)(h * w * c->item));
    else
        for (int64_t i = 0; i < h; i++)
            memcpy(dst + i * c->cols * c->item, buffer + i * w * c->item, (size_t)(w * c->item));
}

static void copy_direct(const copy_transposed *c, void *dst, const void *src, int64_t h,
                        int64_t w) {
    int64_t step = c->src_col / c->item;
    switch (c->item) {
    case 1: transpose_bytes(dst, c->cols, src, step, h, w); break;
    case 2: transpose_halves(dst, c->cols, src, step, h, w); break;
    default: transpose_words(dst, c->cols, src, step, h, w); break;
    }
}

static const char *copy_tile_source(const copy_transposed *c, int64_t batch) {
    int64_t offset = 0;
    for (int i = c->nbatches - 1; i >= 0; i--) {
        offset += batch % c->sizes[i] * c->strides[i];
        batch /= c->sizes[i];
    }
    return c->src + offset * c->item;
}

/* Pieces are rows of tiles, or parts of them. */
static void copy_tiles(void *ctx, int64_t begin, int64_t end) {
    const copy_transposed *c = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t piece = k % c->col_pieces, tile = k / c->col_pieces;
        int64_t batch = tile / c->row_tiles, row = tile % c->row_tiles * c->height;
        int64_t h = c->rows - row < c->height ? c->rows - row : c->height;
        int64_t first = piece * COPY_TILE_COLS,
                last = piece + 1 < c->col_pieces ? first + COPY_TILE_COLS : c->cols;
        char *dst = c->dst + (batch * c->rows + row) * c->cols * c->item;
        const char *src = copy_tile_source(c, batch) + row * c->item;
        if (c->direct) {
            copy_direct(c, dst + first * c->item, src + first * c->src_col, h, last - first);
            continue;
        }
        for (int64_t col = first; col < last; col += c->width) {
            int64_t w = last - col < c->width ? last - col : c->width;
            copy_one_tile(c, dst + col * c->item, src + col * c->src_col, h, w);
        }
    }
}

/* The dims of src, without those of size 1 and with
 * contiguous neighbours merged into one. Returns how many. */
static int copy_merged(const tensor *src, int64_t *sizes, int64_t *strides) {
    int n = 0;
    for (int i = 0; i < src->ndim; i++) {
        if (src->sizes[i] == 1) continue;
        if (n && strides[n - 1] == src->sizes[i] * src->strides[i]) {
            sizes[n - 1] *= src->sizes[i];
            strides[n - 1] = src->strides[i];
            continue;
        }
        sizes[n] = src->sizes[i];
        strides[n++] = src->strides[i];
    }
    return n;
}

static bool copy_is_direct(int64_t item) { return item < 4 || (item == 4 && transpose_usable()); }

/* The sizes of tiles. */
static void copy_tile_sizes(copy_transposed *c) {
    int64_t line = c->item <= 4 ? 128 / c->item : 16, room = COPY_TILE_BYTES / c->item;
    c->direct = copy_is_direct(c->item);
    c->width = c->direct || c->cols < line ? c->cols : c->rows < line ? room / c->rows : line;
    c->height = !c->direct ? room / c->width : c->cols < 8 ? COPY_TILE_NARROW_ROWS : TRANSPOSE_ROWS;
    c->row_tiles = (c->rows + c->height - 1) / c->height;
    c->col_pieces = c->cols < COPY_TILE_COLS ? 1 : c->cols / COPY_TILE_COLS;
}

/* dst contiguous, src with its last two dimensions exchanged: moves it and returns true. *whole: no
 * limit came between. */
static bool copy_try_tiles(tensor *dst, const tensor *src, bool *whole) {
    if (dst->dtype != src->dtype || src->ndim < 2 || !tensor_same_shape(dst, src) ||
        !tensor_is_contiguous(dst))
        return false;
    copy_transposed c = {.dst = tensor_data(dst),
                         .src = tensor_data(src),
                         .item = (int64_t)dtype_size((dtype)dst->dtype)};
    int n = copy_merged(src, c.sizes, c.strides);
    if (n < 2) return false;
    int64_t rows = c.rows = c.sizes[n - 2], cols = c.cols = c.sizes[n - 1];
    int64_t narrow = rows < cols ? rows : cols, wide = rows < cols ? cols : rows;
    int64_t least = copy_is_direct(c.item) ? COPY_TILE_MIN_DIRECT : COPY_TILE_MIN;
    if (narrow < COPY_TILE_NARROW || wide < least || c.strides[n - 2] != 1 || c.strides[n - 1] == 1)
        return false;
    c.src_col = c.strides[n - 1] * c.item;
    c.nbatches = n - 2;
    copy_tile_sizes(&c);
    int64_t work = cols / c.col_pieces * (rows < c.height ? rows : c.height);
    *whole = pool_for_limited(dst->numel / (rows * cols) * c.row_tiles * c.col_pieces,
                              COPY_TILE_WORK / work + 1, copy_tiles, &c);
    return true;
}

/* ---- the public functions -------------------------------------------------------------------- */

/* dst[...] = src, where they share no memory and the shapes fit. false: a limit came between. */
static bool copy_apart(tensor *dst, const tensor *src) {
    bool whole = true;
    if (copy_try_tiles(dst, src, &whole)) return whole;
    copy_pair pair = {(dtype)dst->dtype, (dtype)src->dtype};
    iter_kernel kernel = copy_kernel(pair.dst, pair.src);
    tensor *operands[] = {dst, (tensor *)src};
    if (!tensor_may_overlap(dst))
        return iter_run_limited(dst->ndim, dst->sizes, 2, operands, kernel, &pair, 0);
    return iter_run_ordered_limited(dst->ndim, dst->sizes, 2, operands, kernel, &pair);
}

/* The integers of quantised tensors are copied together with what they mean, and nothing is made of
 * them in passing. */
static ctsc_status copy_check_quantised(diag *d, const tensor *dst, const tensor *src) {
    if (!dst->quantiser)
        return diag_fail(d, CTSC_FAILED,
                         "Copying from quantized Tensor to non-quantized Tensor is not allowed, "
                         "please use dequantize to get a "
                         "float Tensor from a quantized Tensor");
    if (!src->quantiser)
        return diag_fail(d, CTSC_FAILED, "Quantized copy only works with kFloat as source Tensor");
    if (dst->dtype != src->dtype)
        return diag_fail(d, CTSC_FAILED, "Quantized Copy only works with same dtype");
    if (dst->quantiser->scheme != src->quantiser->scheme)
        return diag_fail(d, CTSC_FAILED, "Quantized Copy only works with same qscheme");
    return CTSC_OK;
}

static ctsc_status copy_elements(diag *d, tensor *dst, const tensor *src) {
    if (tensor_device(dst) != DEVICE_HOST || tensor_device(src) != DEVICE_HOST)
        return device_copy(d, dst, src);
    return copy_apart(dst, src) ? CTSC_OK : limits_fail(d);
}

/* tensor_copy where one of the two is lazy. */
static ctsc_status tensor_copy_lazy(diag *d, tensor *dst, const tensor *src);

ctsc_status tensor_copy(diag *d, tensor *dst, const tensor *src) {
    ctsc_status status = copy_check_shapes(d, dst, src);
    if (status) return status;
    if (dst->quantiser || src->quantiser) {
        status = copy_check_quantised(d, dst, src);
        if (status) return status;
        if (dst->quantiser != src->quantiser)
            tensor_set_quantiser_take(dst, quantiser_ref(src->quantiser));
    }
    if (dst->numel == 0 || src->numel == 0) return CTSC_OK;
    if (tensor_is_lazy(dst) || tensor_is_lazy(src)) return tensor_copy_lazy(d, dst, src);
    if (copy_is_expanded(dst))
        return diag_fail(d, CTSC_FAILED,
                         "unsupported operation: more than one element of the written-to tensor "
                         "refers to a single memory location. Please clone() the tensor before "
                         "performing the operation.");
    tensor *clone = NULL;
    if (copy_share_memory(dst, src)) {
        if (copy_same_geometry(dst, src)) return CTSC_OK;
        status = tensor_clone(d, src, &clone);
        if (status) return status;
    }
    status = tensor_make_writable(d, dst);
    if (!status) status = copy_elements(d, dst, clone ? clone : src);
    tensor_unref(clone);
    return status;
}

static ctsc_status copy_converted(diag *d, const tensor *t, dtype dt, tensor **out) {
    tensor *copy;
    if (t->dtype != dt && (t->quantiser || dtype_is_quantised(dt)))
        return diag_fail(d, CTSC_FAILED,
                         "Creation of quantized tensor requires quantized dtype like torch.quint8");
    ctsc_status status = tensor_new_like(d, t, dt, &copy);
    if (status) return status;
    if (t->quantiser) copy->quantiser = quantiser_ref(t->quantiser);
    copy->requires_grad = t->requires_grad;
    if (t->numel) status = tensor_is_lazy(t) ? tensor_copy(d, copy, t) : copy_elements(d, copy, t);
    if (status) tensor_unref(copy);
    else *out = copy;
    return status;
}

ctsc_status tensor_clone(diag *d, const tensor *t, tensor **out) {
    return copy_converted(d, t, (dtype)t->dtype, out);
}

ctsc_status tensor_contiguous(diag *d, tensor *t, tensor **out) {
    if (!tensor_is_contiguous(t) || tensor_is_lazy(t)) return tensor_clone(d, t, out);
    *out = tensor_ref(t);
    return CTSC_OK;
}

ctsc_status tensor_to_dtype(diag *d, tensor *t, dtype dt, tensor **out) {
    if (t->dtype != dt) return copy_converted(d, t, dt, out);
    *out = tensor_ref(t);
    return CTSC_OK;
}

/* ---- lazily conjugated and negated tensors --------------------------------------------------- */

static void lazy_mark(tensor *t, bool conjugated, bool negated) {
    t->conjugated = conjugated && dtype_is_complex((dtype)t->dtype);
    t->negated = negated;
    if (tensor_is_lazy(t)) tensor_note_kind(TENSOR_KIND_LAZY);
}

ctsc_status tensor_lazy_view(diag *d, const tensor *t, bool conjugate, bool negate, tensor **out) {
    TRY(tensor_alias(d, t, out));
    lazy_mark(*out, t->conjugated != conjugate, t->negated != negate);
    return CTSC_OK;
}

/* The elements in memory, as they are there: a view without the bits. */
static ctsc_status tensor_unlazy_view(diag *d, const tensor *t, tensor **out) {
    return tensor_lazy_view(d, t, t->conjugated, t->negated, out);
}

/* Of every step-th number of n, from the first. Floats change their sign bit, so that zeros and nan
 * become what negation makes of them; integers wrap. */
#define LAZY_NEGATE(name, T, expression)                                                           \
    static void lazy_negate_##name(void *p, int64_t n, int64_t step) {                             \
        T *x = p;                                                                                  \
        for (int64_t i = 0; i < n; i += step) x[i] = (T)(expression);                              \
    }
LAZY_NEGATE(half, uint16_t, x[i] ^ 0x8000u)
LAZY_NEGATE(float, uint32_t, x[i] ^ 0x80000000u)
LAZY_NEGATE(double, uint64_t, x[i] ^ 0x8000000000000000u)
LAZY_NEGATE(int8, uint8_t, 0u - x[i])
LAZY_NEGATE(int16, uint16_t, 0u - x[i])
LAZY_NEGATE(int32, uint32_t, 0u - x[i])
LAZY_NEGATE(int64, uint64_t, 0u - x[i])

/* n numbers of dt, which has no complex ones. */
static void lazy_negate(dtype dt, void *p, int64_t n, int64_t step) {
    static void (*const floats[])(void *, int64_t, int64_t) = {
        [2] = lazy_negate_half, [4] = lazy_negate_float, [8] = lazy_negate_double};
    static void (*const ints[])(void *, int64_t, int64_t) = {[1] = lazy_negate_int8,
                                                             [2] = lazy_negate_int16,
                                                             [4] = lazy_negate_int32,
                                                             [8] = lazy_negate_int64};
    if (dt != DT_BOOL) (dtype_is_float(dt) ? floats : ints)[dtype_size(dt)](p, n, step);
}

/* Gives the elements of t, a dense tensor of its own memory, the signs that like's bits say. */
static void lazy_change_signs(tensor *t, const tensor *like) {
    dtype dt = (dtype)t->dtype;
    if (!dtype_is_complex(dt)) {
        if (like->negated) lazy_negate(dt, tensor_data(t), t->numel, 1);
        return;
    }
    dtype part = dtype_part(dt);
    char *p = tensor_data(t);
    if (like->negated) lazy_negate(part, p, 2 * t->numel, 1);
    if (like->conjugated) lazy_negate(part, p + dtype_size(part), 2 * t->numel - 1, 2);
}

/* Resolving copies the memory as it is, and then changes signs in the copy, which is dense. */
static ctsc_status lazy_copy(diag *d, const tensor *t, const tensor *like, tensor **out) {
    tensor *plain, *copy;
    TRY(tensor_unlazy_view(d, t, &plain));
    ctsc_status s = tensor_clone_like(d, plain, &copy);
    tensor_unref(plain);
    if (s != CTSC_OK) return s;
    lazy_change_signs(copy, like);
    *out = copy;
    return CTSC_OK;
}

ctsc_status tensor_resolve(diag *d, tensor *t, tensor **out) {
    if (tensor_is_lazy(t)) return lazy_copy(d, t, t, out);
    *out = tensor_ref(t);
    return CTSC_OK;
}

/* The source becomes what memory is to have: it is converted before signs change, as PyTorch does,
 * since conversions of negative numbers to unsigned ones are no mirror image. */
static ctsc_status tensor_copy_lazy(diag *d, tensor *dst, const tensor *src) {
    tensor *resolved, *converted = NULL, *signs = NULL, *plain = NULL;
    TRY(tensor_resolve(d, (tensor *)src, &resolved));
    ctsc_status s = tensor_to_dtype(d, resolved, (dtype)dst->dtype, &converted);
    if (s == CTSC_OK && tensor_is_lazy(dst)) s = lazy_copy(d, converted, dst, &signs);
    if (s == CTSC_OK) s = tensor_unlazy_view(d, dst, &plain);
    if (s == CTSC_OK) s = tensor_copy(d, plain, signs ? signs : converted);
    tensor_unref(resolved);
    tensor_unref(converted);
    tensor_unref(signs);
    tensor_unref(plain);
    return s;
}
