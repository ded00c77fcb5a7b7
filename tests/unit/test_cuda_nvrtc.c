/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_nvrtc.c - compiling with the real NVRTC, which needs no device; skipped
 * where there is none. */
#include "cuda_support.h"

static const char text[] = "#include \"scale.h\"\n"
                           "struct params { float *out; const float *x; long long n; };\n"
                           "extern \"C\" __global__ void __launch_bounds__(256) scale(params p) {\n"
                           "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (i < p.n) p.out[i] = SCALE * expf(p.x[i]);\n"
                           "}\n";
static const char *const headers[] = {"scale.h", "#define SCALE 2.0f\n", NULL};
static const cuda_source scale = {text, sizeof text - 1, "scale.cu", headers};

static void compiles(void **state) {
    (void)state;
    static const char *const archs[] = {"sm_80", "sm_90", "sm_90a"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        diag d = {0};
        void *image = NULL;
        size_t size = 0;
        ctsc_status st = cuda_compile(&d, &scale, archs[i], &image, &size);
        if (st != CTSC_OK) fail_msg("%s: %s", archs[i], diag_message(&d));
        assert_true(size > 64 && !memcmp(image, "\177ELF", 4));
        mem_free(image);
    }
}

static void ptx(void **state) {
    (void)state;
    void *image = NULL;
    size_t size = 0;
    assert_int_equal(cuda_compile(NULL, &scale, "compute_80", &image, &size), CTSC_OK);
    assert_true(((char *)image)[size - 1] == 0);
    assert_non_null(strstr(image, ".target sm_80"));
    assert_non_null(strstr(image, ".entry scale("));
    mem_free(image);
}

static void fails(void **state) {
    (void)state;
    diag d = {0};
    void *image = NULL;
    size_t size = 0;
    cuda_source bad = {"extern \"C\" __global__ void f(int *p) {\n    *p = nothing;\n}\n", 0,
                       "bad.cu", NULL};
    bad.len = strlen(bad.text);
    assert_int_equal(cuda_compile(&d, &bad, "sm_80", &image, &size), CTSC_INTERNAL);
    assert_non_null(
        strstr(diag_message(&d), "bad.cu(2): error: identifier \"nothing\" is undefined"));
    diag_clear(&d);
    assert_int_equal(cuda_compile(&d, &scale, "sm_20", &image, &size), CTSC_ENVIRONMENT);
    assert_non_null(strstr(diag_message(&d), "does not compile for sm_20, only for sm_"));
    diag_clear(&d);
    assert_int_equal(cuda_compile(&d, &scale, "avx2", &image, &size), CTSC_USAGE);
    diag_clear(&d);
    assert_null(image);
}

int main(void) {
    diag d = {0};
    setenv("CTSC_CACHE", "0", 1);
    const char *name = cuda_compiler(&d);
    if (!*name) {
        print_message("skipped: %s\n", diag_message(&d));
        diag_clear(&d);
        return 0;
    }
    print_message("%s\n", name);
    const struct CMUnitTest tests[] = {cmocka_unit_test(compiles), cmocka_unit_test(ptx),
                                       cmocka_unit_test(fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
