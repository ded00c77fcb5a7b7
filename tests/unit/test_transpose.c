/* SPDX-License-Identifier: Apache-2.0 */
/* test_transpose.c - matrices transposed in registers, and the copies of tensors that use them: all
 * small sizes, between pages that must not be touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads/thread_pool.h"
#include "cpu/convert/transpose.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* n bytes that end (or, front, begin) at a page that cannot be touched. */
static char *guarded(size_t n, bool front) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page;
    char *map = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, whole, PROT_READ | PROT_WRITE), 0);
    return map + page + (front ? 0 : whole - n);
}

static void guarded_free(char *p, size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap((char *)((uintptr_t)p / page * page) - page, (n + page - 1) / page * page + 2 * page);
}

static void transpose(size_t item, void *d, int64_t ld, const void *s, int64_t step, int64_t rows,
                      int64_t cols) {
    if (item == 1) transpose_bytes(d, ld, s, step, rows, cols);
    else if (item == 2) transpose_halves(d, ld, s, step, rows, cols);
    else transpose_words(d, ld, s, step, rows, cols);
}

static void check_items(size_t item, int64_t rows, int64_t cols, int64_t gap, bool front) {
    int64_t step = rows + gap, taken = (cols - 1) * step + rows;
    int64_t ld = cols < 8 ? cols : cols + rows % 3; /* the gap between rows is unchanged */
    size_t in = (size_t)taken * item, out = (size_t)((rows - 1) * ld + cols) * item;
    char *s = guarded(in, front), *d = guarded(out, front), kept[4];
    for (size_t i = 0; i < in; i++) s[i] = (char)((i * 2654435761u) >> 13); /* NaN, too */
    memset(d, 77, out), memset(kept, 77, sizeof kept);
    transpose(item, d, ld, s, step, rows, cols);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < (i + 1 < rows ? ld : cols); j++)
            if (memcmp(d + (size_t)(i * ld + j) * item,
                       j < cols ? s + (size_t)(j * step + i) * item : kept, item) != 0)
                fail_msg("%d bytes, %d x %d, gap %d: row %d, column %d", (int)item, (int)rows,
                         (int)cols, (int)gap, (int)i, (int)j);
    guarded_free(s, in);
    guarded_free(d, out);
}

static void check_matrix(int64_t rows, int64_t cols, int64_t gap, bool front) {
    for (size_t item = 1; item <= 4; item *= 2) check_items(item, rows, cols, gap, front);
}

static void test_matrices(void **state) {
    (void)state;
    for (int64_t rows = 1; rows < 70; rows++)
        for (int64_t cols = 1; cols < 50; cols++)
            check_matrix(rows, cols, (rows + cols) % 3 * 5, (rows + cols) % 2);
    check_matrix(2048, 49, 0, false);
    check_matrix(49, 2048, 0, false);
    check_matrix(3, 1000, 0, true);
    check_matrix(1000, 3, 0, true);
}

/* Permuted tensors, every element named by its place. */
static void check_clone(dtype dt, int ndim, const int64_t *sizes, const int64_t *dims) {
    diag d = {0};
    tensor *t, *seen, *copy, *more;
    assert_int_equal(tensor_new(&d, dt, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        dtype_store_int(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt), i % 251);
    assert_int_equal(tensor_permute(&d, t, ndim, dims, &seen), CTSC_OK);
    assert_int_equal(tensor_clone(&d, seen, &copy), CTSC_OK);
    assert_true(tensor_is_contiguous(copy));
    for (int64_t i = 0; i < copy->numel; i++) {
        int64_t rest = i, at = 0;
        for (int k = ndim - 1; k >= 0; k--)
            at += rest % seen->sizes[k] * seen->strides[k], rest /= seen->sizes[k];
        assert_int_equal(dtype_load_int(dt, (char *)tensor_data(copy) + (size_t)i * dtype_size(dt)),
                         at % 251);
    }
    pool_set_threads(3);
    assert_int_equal(tensor_clone(&d, seen, &more), CTSC_OK);
    assert_memory_equal(tensor_data(copy), tensor_data(more), (size_t)copy->numel * dtype_size(dt));
    pool_set_threads(1);
    tensor_unref(t);
    tensor_unref(seen);
    tensor_unref(copy);
    tensor_unref(more);
}

static void test_clones(void **state) {
    (void)state;
    static const dtype dtypes[] = {DT_FLOAT32, DT_INT32, DT_FLOAT64,
                                   DT_UINT8,   DT_INT16, DT_FLOAT32};
    static const int64_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    for (int i = 0; i < 3000; i++) {
        int64_t sizes[4] = {1 + rand() % 3, 1 + rand() % (i % 7 ? 24 : 200), 1 + rand() % 20,
                            1 + rand() % (i % 5 ? 24 : 90)},
                dims[4] = {0, 1, 2, 3};
        for (int k = 3; k > 0; k--) {
            int other = rand() % (k + 1);
            int64_t was = dims[k];
            dims[k] = dims[other], dims[other] = was;
        }
        check_clone(dtypes[i % 6], 4, sizes, i % 3 == 0 ? dims : i % 3 == 1 ? last : first);
    }
    check_clone(DT_FLOAT32, 4, (int64_t[]){1, 512, 40, 40}, last);
    check_clone(DT_FLOAT32, 4, (int64_t[]){2, 40, 40, 512}, first);
    for (int i = 0; i < 6; i++) { /* rows that several threads share */
        check_clone(dtypes[i], 4, (int64_t[]){2, 70, 71, 21 + i}, first);
        check_clone(dtypes[i], 4, (int64_t[]){1, 3, 32, 32 + i}, last);
    }
}

int main(void) {
    srand(4);
    pool_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_clones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
