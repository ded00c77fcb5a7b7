/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_tensor.c - tensors and programs on a device: the simulated one (tests/cuda/sim), whose
 * memory the host cannot touch.
 *
 * Programs run on the CPU and on the device, as written and fused, and must agree.
 */
#include "cuda_support.h"

#include "tensor/device.h"

/* ---- copies ---------------------------------------------------------------------------------- */

enum { CUDA0 = 1 };

static tensor *counted(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t;
    CHILD_CHECK(tensor_new(NULL, dt, ndim, sizes, &t) == CTSC_OK);
    char *p = tensor_data(t);
    for (int64_t i = 0; i < t->numel; i++, p += dtype_size(dt)) {
        if (dtype_is_complex(dt)) dtype_store_complex(dt, p, (double)i, 1);
        else if (dtype_is_float(dt)) dtype_store_float(dt, p, (double)i - 3.25);
        else dtype_store_int(dt, p, dt == DT_BOOL ? i % 2 : i);
    }
    return t;
}

static bool same(const tensor *a, const tensor *b) {
    strbuf why = STRBUF_INIT;
    value x = {.tag = V_TENSOR, .u.tensor = (tensor *)a},
          y = {.tag = V_TENSOR, .u.tensor = (tensor *)b};
    bool ok = value_close(x, y, 0, 0, &why);
    if (!ok) fprintf(stderr, "%s\n", sb_str(&why));
    sb_free(&why);
    return ok;
}

static tensor *moved(tensor *t, int device) {
    tensor *there;
    diag d = {0};
    ctsc_status s = tensor_to_device(&d, t, device, &there);
    if (s != CTSC_OK) fprintf(stderr, "%s\n", diag_message(&d));
    CHILD_CHECK(s == CTSC_OK);
    CHILD_CHECK(tensor_device(there) == device);
    return there;
}

static const dtype copied_dtypes[] = {DT_UINT8,    DT_INT8,    DT_INT16,     DT_INT32,
                                      DT_INT64,    DT_FLOAT16, DT_FLOAT32,   DT_FLOAT64,
                                      DT_BFLOAT16, DT_BOOL,    DT_COMPLEX64, DT_COMPLEX128};
enum { COPIED = sizeof copied_dtypes / sizeof *copied_dtypes };

/* Where the copy converts: the host's result and the device's. */
static void check_conversion(tensor *host, tensor *device, dtype to) {
    tensor *here, *there;
    diag d = {0};
    CHILD_CHECK(tensor_to_dtype(NULL, host, to, &here) == CTSC_OK);
    ctsc_status s = tensor_to_dtype(&d, device, to, &there);
    if (s != CTSC_OK) fprintf(stderr, "%s\n", diag_message(&d));
    CHILD_CHECK(s == CTSC_OK && tensor_device(there) == CUDA0 && there->dtype == to);
    CHILD_CHECK(same(there, here));
    tensor_unref(here);
    tensor_unref(there);
}

static void conversions(void) {
    const int64_t sizes[] = {2, 3};
    sim_use();
    for (int i = 0; i < COPIED; i++) {
        tensor *host = counted(copied_dtypes[i], 2, sizes), *device = moved(host, CUDA0),
               *back = moved(device, DEVICE_HOST);
        CHILD_CHECK(same(back, host));
        for (int k = 0; k < COPIED; k++) check_conversion(host, device, copied_dtypes[k]);
        tensor_unref(host);
        tensor_unref(device);
        tensor_unref(back);
    }
}

/* Both sides in the same odd geometry: a transposed slice; copied to one that is transposed, too,
 * and broadcast from one row. */
static void geometries(void) {
    const int64_t sizes[] = {4, 6, 5}, swapped[] = {5, 3, 4};
    sim_use();
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++) {
            tensor *host = counted(DT_FLOAT32, 3, sizes), *t = moved(host, from), *half, *turned,
                   *out, *back, *row;
            CHILD_CHECK(tensor_slice(NULL, t, 1, 1, 6, 2, &half) == CTSC_OK);
            CHILD_CHECK(tensor_transpose(NULL, half, 0, 2, &turned) == CTSC_OK); /* 5, 3, 4 */
            CHILD_CHECK(tensor_zeros_on(NULL, to, DT_FLOAT32, 3, swapped, &out) == CTSC_OK);
            CHILD_CHECK(tensor_transpose(NULL, out, 0, 1, &back) == CTSC_OK);
            tensor *turned_again;
            CHILD_CHECK(tensor_transpose(NULL, turned, 0, 1, &turned_again) == CTSC_OK);
            CHILD_CHECK(tensor_copy(NULL, back, turned_again) == CTSC_OK);
            CHILD_CHECK(same(out, turned));
            CHILD_CHECK(tensor_select(NULL, turned, 0, 2, &row) == CTSC_OK);
            CHILD_CHECK(tensor_copy(NULL, out, row) == CTSC_OK);
            tensor *first;
            CHILD_CHECK(tensor_select(NULL, out, 0, 4, &first) == CTSC_OK);
            CHILD_CHECK(same(first, row));
            tensor *const all[] = {host, t, half, turned, out, back, turned_again, row, first};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
        }
}

static void test_copies(void **state) {
    (void)state;
    in_child(conversions);
    in_child(geometries);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* forward(x, i): x float32 (3, 4), i int64 (2) */
static const char *const programs[] = {
    "    return torch.relu(x * 2.5 - 1) + x.sigmoid()\n",
    "    y = x.clone()\n    y[1] = 7.0\n    y.mul_(2).add_(x)\n    y[:, 1:3] += 1\n    return y, "
    "y.t().contiguous()\n",
    "    return x.sum(), x.mean(1), x.max(0), x.argmax(-1), torch.softmax(x, 1), x.std(0)\n",
    "    return torch.cat([x, x * 2], 1), torch.stack([x, x]), torch.cat([x.half(), x.half()]), "
    "torch.zeros_like(x).dtype\n",
    "    return x.view(2, 6).unsqueeze(0).expand(3, 2, 6), x.chunk(2, 1), x.unbind(0), "
    "x.flatten().size(0)\n",
    "    return torch.zeros(2, 3), torch.ones(2), torch.full((2, 2), 7), torch.arange(5), "
    "torch.eye(3), torch.tensor([1., 2.])\n",
    "    return int(x.sum()), float(x[0, 1]), bool(x[0, 0] < 1), x.sum().item()\n",
    "    n = 0\n    while bool((x.sum() + n) < 70):\n        n += 1\n    return n, "
    "x.to(torch.float64), x.int(), x.bool()\n",
    "    return torch.where(x > 2, x, torch.tensor(0.5)), x.masked_fill(x > 5, -1.), x.clamp(1, "
    "3), x + torch.tensor(2)\n",
    "    y = torch.empty(0)\n    torch.add(x, 1, out=y)\n    z = torch.zeros(2)\n    "
    "z.resize_(3)\n    return y, z.size(), x.fill_(3), x.zero_()\n",
    "    return x[i], x.index_select(0, i), torch.nonzero(x > 8), x.gather(1, "
    "i.unsqueeze(1).expand(2, 2)), x.cumsum(0)\n",
    "    return x @ x.t(), torch.nn.functional.linear(x, x, x.sum(1)), torch.bmm(x.unsqueeze(0), "
    "x.t().unsqueeze(0))\n",
    "    d = {'a': x}\n    l = [x, x + 1]\n    l.append(d['a'])\n    return l, d, (x, (x,)), "
    "str(x.dtype), x.dim()\n",
    "    y = torch.nn.functional.linear(x, x, x.sum(1))\n    z = torch.relu(torch.mm(x, x.t()) + "
    "y)\n"
    "    return torch.nn.functional.gelu(torch.addmm(x[:, 0], x, x.t())), z, "
    "torch.relu(torch.mm(x, x.t()) + x[0, 1]), torch.relu(y @ y + y)\n",
    "    q = x.unsqueeze(0)\n    s = (q @ q.transpose(-2, -1) / 2.5).masked_fill(x[:, :3] > 9, "
    "float('-inf'))\n"
    "    return torch.softmax(s, -1) @ q, torch.softmax(torch.bmm(q, q.transpose(1, 2)) + x[:, "
    ":3], -1).bmm(q)\n",
    "    torch.manual_seed(3)\n    return torch.rand(3), torch.randn_like(x), "
    "torch.nn.functional.dropout(x, 0.5, True)\n",
};

static ctsc_value *example(bool ints) {
    const int64_t sizes[] = {3, 4}, two = 2;
    ctsc_value *v;
    CHILD_CHECK((ints ? ctsc_tensor_new(CTSC_INT64, 1, &two, &v, NULL)
                      : ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &v, NULL)) == CTSC_OK);
    if (ints) memcpy(ctsc_tensor_data(v), (const int64_t[]){2, 0}, 16);
    for (int k = 0; !ints && k < 12; k++) ((float *)ctsc_tensor_data(v))[k] = (float)k;
    return v;
}

static ctsc_module *module_of(const char *body, int opt, const char *device) {
    char text[1024];
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m;
    snprintf(
        text, sizeof text,
        "import torch\n\n@torch.jit.script\ndef forward(x: torch.Tensor, i: torch.Tensor):\n%s",
        body);
    if (ctsc_module_compile_text("test.py", text, strlen(text), NULL, &m, e) != CTSC_OK ||
        ctsc_module_set_opt(m, opt, e) != CTSC_OK || ctsc_module_to(m, device, e) != CTSC_OK) {
        fprintf(stderr, "%s\n%s\n", body, ctsc_error_message(e));
        _exit(1);
    }
    ctsc_error_free(e);
    return m;
}

/* The result, or the error's text in *message. */
static ctsc_value *result_of(ctsc_module *m, const char *device, const char *second, char *message,
                             size_t size) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *host[] = {example(false), example(true)}, *args[2], *out = NULL;
    CHILD_CHECK(ctsc_value_to(host[0], device, &args[0], e) == CTSC_OK &&
                ctsc_value_to(host[1], second, &args[1], e) == CTSC_OK);
    if (ctsc_module_run(m, "forward", 2, args, NULL, &out, e) != CTSC_OK)
        snprintf(message, size, "%s", ctsc_error_message(e));
    for (int i = 0; i < 2; i++) ctsc_value_free(host[i]), ctsc_value_free(args[i]);
    ctsc_error_free(e);
    return out;
}

static void check_program(const char *body, int opt) {
    char message[512] = "", *why = NULL;
    ctsc_module *here = module_of(body, opt, "cpu"), *there = module_of(body, opt, "cuda");
    ctsc_value *want = result_of(here, "cpu", "cpu", message, sizeof message);
    for (int again = 0; again < 2; again++) {
        ctsc_value *got = result_of(there, "cuda:0", "cuda", message, sizeof message);
        bool ok = got && want && ctsc_value_close(got, want, 1e-5, 1e-6, &why);
        if (!ok) fprintf(stderr, "at level %d:\n%s%s%s\n", opt, body, message, why ? why : "");
        CHILD_CHECK(ok);
        ctsc_value_free(got);
    }
    ctsc_value_free(want);
    ctsc_module_free(here);
    ctsc_module_free(there);
}

static void programs_agree(void) {
    sim_use();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_program(programs[i], 0);
        check_program(programs[i], 2);
    }
}

static void test_programs(void **state) {
    (void)state;
    in_child(programs_agree);
}

/* ---- devices that do not fit ----------------------------------------------------------------- */

static void check_refused(const char *body, int opt, const char *text) {
    char message[512] = "";
    ctsc_module *m = module_of(body, opt, "cuda");
    ctsc_value *v = result_of(m, "cuda", "cpu", message, sizeof message);
    if (v || !strstr(message, text))
        fprintf(stderr, "%s: '%s' instead of '%s'\n", body, message, text);
    CHILD_CHECK(!v && strstr(message, text));
    ctsc_module_free(m);
}

static void devices_differ(void) {
    static const char plain[] = "Expected all tensors to be on the same device, but found at least "
                                "two devices, cuda:0 and cpu!";
    sim_use();
    for (int opt = 0; opt <= 2; opt += 2) {
        check_refused("    return x[:2, 0] + i\n", opt, plain);
        check_refused(
            "    return x @ i.to(torch.float32).expand(4, 2)\n", opt,
            "cuda:0 and cpu! (when checking argument for argument mat2 in method wrapper_mm)");
        check_refused(
            "    return torch.cat([x[0], i.float()])\n", opt,
            "cuda:0 and cpu! (when checking argument for argument tensors in method wrapper_cat)");
        check_refused(
            "    return torch.cat([x[0]] * 64 + [i.float()])\n", opt,
            "cuda:0 and cpu! (when checking argument for argument tensors in method wrapper_cat)");
    }
    check_refused("    return torch.nextafter(x, x)\n", 0, "nextafter is not supported on CUDA");
}

static void without_driver(void) {
    setenv("CTSC_CUDA_DRIVER", "/nonexistent/libcuda.so", 1);
    ctsc_error *e = ctsc_error_new();
    ctsc_value *v = example(false), *there = NULL;
    CHILD_CHECK(ctsc_cuda_device_count(e) == 0);
    CHILD_CHECK(strstr(ctsc_error_message(e), "/nonexistent/libcuda.so"));
    CHILD_CHECK(ctsc_value_to(v, "cuda", &there, e) == CTSC_ENVIRONMENT && !there);
    CHILD_CHECK(ctsc_value_to(v, "tpu", &there, e) == CTSC_USAGE);
    CHILD_CHECK(ctsc_value_to(v, "cpu", &there, e) == CTSC_OK);
    ctsc_value_free(v);
    ctsc_value_free(there);
    ctsc_error_free(e);
}

static void test_refusals(void **state) {
    (void)state;
    in_child(devices_differ);
    in_child(without_driver);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void count_device(void *ctx, const ctsc_attribute_info *a) {
    int *counts = ctx;
    if (ctsc_value_kind(a->value) == CTSC_KIND_TENSOR) counts[ctsc_tensor_device(a->value) + 1]++;
}

static ctsc_value *digits(const ctsc_module *m, const char *device) {
    const int64_t sizes[] = {2, 1, 8, 8};
    ctsc_value *x, *there, *y = NULL;
    ctsc_error *e = ctsc_error_new();
    CHILD_CHECK(ctsc_tensor_new(CTSC_FLOAT32, 4, sizes, &x, e) == CTSC_OK);
    for (int i = 0; i < 128; i++) ((float *)ctsc_tensor_data(x))[i] = (float)(i % 17);
    CHILD_CHECK(ctsc_value_to(x, device, &there, e) == CTSC_OK);
    CHILD_CHECK((ctsc_tensor_data(there) != NULL) == !strcmp(device, "cpu"));
    if (ctsc_module_run(m, "forward", 1, &there, NULL, &y, e) != CTSC_OK)
        fprintf(stderr, "%s\n", ctsc_error_message(e));
    CHILD_CHECK(y);
    ctsc_value_free(x);
    ctsc_value_free(there);
    ctsc_error_free(e);
    return y;
}

/* There and back, having run before and after: what was compiled for one device does not
 * serve the other. */
static void module_moves(void) {
    static const char *const way[] = {"cpu", "cuda", "cpu", "cuda:0"};
    ctsc_module *m;
    ctsc_value *first = NULL;
    sim_use();
    CHILD_CHECK(ctsc_module_load("models/digits_cnn.pt", &m, NULL) == CTSC_OK);
    for (int i = 0; i < 4; i++) {
        int counts[2] = {0};
        char *why = NULL;
        CHILD_CHECK(ctsc_module_to(m, way[i], NULL) == CTSC_OK);
        ctsc_module_attributes(m, count_device, counts);
        CHILD_CHECK(counts[i % 2] > 0 && counts[1 - i % 2] == 0);
        ctsc_value *y = digits(m, way[i]);
        CHILD_CHECK(ctsc_tensor_device(y) == (i % 2) - 1);
        if (!first) first = ctsc_value_copy(y);
        if (!ctsc_value_close(y, first, 1e-4, 1e-4, &why)) fprintf(stderr, "%s\n", why);
        CHILD_CHECK(!why);
        ctsc_value_free(y);
    }
    ctsc_value_free(first);
    ctsc_module_free(m);
}

static void fallback(void) {
    char message[256] = "";
    static const char body[] = "    return torch.nextafter(x + 2, x + 1)\n";
    sim_use();
    ctsc_set_device_fallback(true);
    ctsc_module *here = module_of(body, 0, "cpu"), *there = module_of(body, 0, "cuda");
    ctsc_value *want = result_of(here, "cpu", "cpu", message, sizeof message),
               *got = result_of(there, "cuda", "cuda", message, sizeof message);
    CHILD_CHECK(want && got && ctsc_tensor_device(got) == 0 &&
                ctsc_value_close(got, want, 0, 0, NULL));
    ctsc_value_free(want);
    ctsc_value_free(got);
    ctsc_module_free(here);
    ctsc_module_free(there);
}

static void test_modules(void **state) {
    (void)state;
    in_child(module_moves);
    in_child(fallback);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
