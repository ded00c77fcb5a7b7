/* SPDX-License-Identifier: Apache-2.0 */
/* test_dlpack.c - tensors to and from DLPack: no copies, one release, hostile ones refused. */
#include "support.h"

#include "ctsc.h"

typedef struct dl_tensor {
    void *data;
    int32_t device, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor { dl_tensor t; void *ctx; void (*deleter)(struct DLManagedTensor *); };
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *ctx;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    dl_tensor t;
};
typedef struct DLManagedTensorVersioned versioned;

static int dl_deleted;
static void dl_count(versioned *v) {
    (void)v;
    dl_deleted++;
}
static void dl_count_plain(struct DLManagedTensor *v) {
    (void)v;
    dl_deleted++;
}

static void dl_out(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *t = NULL, *n = ctsc_int_new(3);
    int64_t sizes[] = {2, 3};
    versioned *v = NULL;
    (void)state;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT64, 2, sizes, &t, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_to_dlpack(t, &v, e), CTSC_OK);
    assert_ptr_equal(v->t.data, ctsc_tensor_data(t));
    assert_true(v->major == 1 && v->t.device == 1 && v->t.ndim == 2 && v->t.code == 2 &&
                v->t.bits == 64 && v->t.lanes == 1);
    assert_true(v->t.shape[0] == 2 && v->t.shape[1] == 3 && v->t.strides[0] == 3 &&
                v->t.strides[1] == 1 && v->t.byte_offset == 0);
    double *data = v->t.data;
    ctsc_value_free(t);
    data[5] = 7; /* still there */
    v->deleter(v);
    assert_int_equal(ctsc_tensor_to_dlpack(n, &v, e), CTSC_USAGE);
    sizes[0] = 0;
    struct DLManagedTensor *p = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_BOOL, 2, sizes, &t, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_to_dlpack_unversioned(t, &p, e), CTSC_OK);
    assert_true(!p->t.data && p->t.code == 6 && p->t.bits == 8);
    p->deleter(p);
    ctsc_value_free(t), ctsc_value_free(n), ctsc_error_free(e);
}

static ctsc_value *dl_doubled(ctsc_value *x) {
    const char source[] = "import torch\ndef forward(x):\n    x.mul_(2)\n    return x.sum()\n";
    ctsc_module *m = NULL;
    ctsc_value *y = NULL;
    ctsc_error *e = ctsc_error_new();
    assert_int_equal(ctsc_module_compile_text("d.py", source, strlen(source), NULL, &m, e),
                     CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &y, e), CTSC_OK);
    ctsc_module_free(m), ctsc_error_free(e);
    return y;
}

static void dl_in(void **state) {
    ctsc_error *e = ctsc_error_new();
    float data[] = {9, 1, 2, 3, 4, 5, 6};
    int64_t shape[] = {3, 2}, strides[] = {1, 3};
    versioned v = {.major = 1,
                   .deleter = dl_count,
                   .t = {data, 1, 0, 2, 2, 32, 1, shape, strides, sizeof(float)}};
    ctsc_value *t = NULL, *y = NULL;
    (void)state;
    dl_deleted = 0;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_OK);
    assert_ptr_equal(ctsc_tensor_data(t), data + 1);
    y = dl_doubled(t);
    assert_true(*(float *)ctsc_tensor_data(y) == 42 && data[0] == 9 && data[1] == 2 &&
                data[6] == 12);
    ctsc_value *other = ctsc_value_copy(t);
    ctsc_value_free(t), ctsc_value_free(y);
    assert_int_equal(dl_deleted, 0);
    ctsc_value_free(other);
    assert_int_equal(dl_deleted, 1);

    v.flags = 1; /* read-only: written to a copy */
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_OK);
    y = dl_doubled(t);
    assert_true(*(float *)ctsc_tensor_data(y) == 84 && data[1] == 2 && data[6] == 12);
    ctsc_value_free(t), ctsc_value_free(y);
    assert_int_equal(dl_deleted, 2);

    struct DLManagedTensor p = {.t = v.t, .deleter = dl_count_plain};
    p.t.strides = NULL;
    assert_int_equal(ctsc_tensor_from_dlpack_unversioned(&p, &t, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_strides(t)[0], 2);
    ctsc_value_free(t);
    assert_int_equal(dl_deleted, 3);
    ctsc_error_free(e);
}

static void dl_hostile(void **state) {
    ctsc_error *e = ctsc_error_new();
    float data[4] = {0};
    int64_t shape[] = {INT64_MAX, INT64_MAX}, strides[] = {-1, 1}, negative[] = {-1, 2};
    versioned good = {.major = 1,
                      .deleter = dl_count,
                      .t = {data, 1, 0, 2, 2, 32, 1, shape, NULL, 0}},
              v;
    ctsc_value *t = NULL;
    (void)state;
    dl_deleted = 0;
    assert_int_equal(ctsc_tensor_from_dlpack(&good, &t, e), CTSC_USAGE); /* sizes that overflow */
    v = good, v.t.shape = negative;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_USAGE);
    shape[0] = shape[1] = 2;
    v = good, v.t.strides = strides;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_UNSUPPORTED);
    v = good, v.t.device = 2;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_UNSUPPORTED);
    v = good, v.t.ndim = 65;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_USAGE);
    v = good, v.t.bits = 24;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_UNSUPPORTED);
    v = good, v.t.lanes = 4;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_UNSUPPORTED);
    v = good, v.t.byte_offset = 1;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_USAGE);
    v = good, v.t.data = NULL;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_USAGE);
    assert_int_equal(dl_deleted, 0);
    v = good, v.major = 2;
    assert_int_equal(ctsc_tensor_from_dlpack(&v, &t, e), CTSC_UNSUPPORTED);
    assert_int_equal(dl_deleted, 1);
    assert_null(t);
    ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dl_out), cmocka_unit_test(dl_in),
                                       cmocka_unit_test(dl_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
