/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_device.c - src/cuda on the simulated device (tests/cuda/sim): memory, copies, programs,
 * launches, and each way they can fail. */
#include "cuda_support.h"

#include "cuda/library.h"

#include <sys/stat.h>

static cuda *open_device(void) {
    cuda *c = NULL;
    diag d = {0};
    sim_use();
    if (cuda_open(&d, 0, &c) != CTSC_OK) fprintf(stderr, "%s\n", diag_message(&d));
    CHILD_CHECK(c != NULL);
    return c;
}

/* Kernels on disk from an earlier run must not replace the tested ones. */
static void no_disk(void) { setenv("CTSC_CACHE", "0", 1); }

static bool says(const diag *d, const char *text) {
    if (strstr(diag_message(d), text)) return true;
    fprintf(stderr, "says: %s\n", diag_message(d));
    return false;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void child_missing(void) {
    diag d = {0};
    cuda *c = NULL;
    setenv("CTSC_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    setenv("CTSC_NVRTC", "/nowhere/libnvrtc.so", 1);
    for (int again = 0; again < 2; again++) {
        CHILD_CHECK(cuda_device_count(&d) == 0);
        CHILD_CHECK(d.status == CTSC_ENVIRONMENT &&
                    says(&d, "NVIDIA's driver is missing: /nowhere/libcuda.so.1"));
        diag_clear(&d);
        CHILD_CHECK(cuda_open(&d, 0, &c) == CTSC_ENVIRONMENT && !c);
        diag_clear(&d);
        CHILD_CHECK(!strcmp(cuda_compiler(&d), "") &&
                    says(&d, "NVRTC, the compiler for CUDA kernels, is missing"));
        diag_clear(&d);
    }
    void *image;
    size_t size;
    CHILD_CHECK(cuda_compile(NULL, &(cuda_source){"", 0, "x.cu", NULL}, "sm_90", &image, &size) ==
                CTSC_ENVIRONMENT);
}

static void child_not_a_driver(void) {
    diag d = {0};
    setenv("CTSC_CUDA_DRIVER", "libm.so.6", 1);
    CHILD_CHECK(cuda_device_count(&d) == 0 && says(&d, "has no cuInit"));
    diag_clear(&d);
}

/* A toolkit whose folder the loader does not know. */
static void child_toolkit(void) {
    char root[] = "/tmp/ctsc-toolkit-XXXXXX", folder[64], file[96];
    CHILD_CHECK(mkdtemp(root) != NULL);
    snprintf(folder, sizeof folder, "%s/lib64", root);
    snprintf(file, sizeof file, "%s/libnone.so", folder);
    CHILD_CHECK(mkdir(folder, 0700) == 0 && symlink(sim_file(), file) == 0);
    setenv("CUDA_PATH", root, 1);
    static const char *const names[] = {"libctsc-none.so", NULL};
    static const cuda_symbol symbols[] = {{"cuInit", 0}};
    static void *table;
    cuda_library l = {.variable = VARIABLE_NONE,
                      .names = names,
                      .toolkit_file = "libnone.so",
                      .symbols = symbols,
                      .count = 1,
                      .table = &table};
    bool opened = cuda_library_open(&l);
    CHILD_CHECK(unlink(file) == 0 && rmdir(folder) == 0 && rmdir(root) == 0);
    CHILD_CHECK(opened && table);
}

static void child_no_device(void) {
    diag d = {0};
    sim_use();
    setenv("CTSC_SIM_DEVICES", "0", 1);
    CHILD_CHECK(cuda_device_count(&d) == 0 &&
                says(&d, "no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE"));
    diag_clear(&d);
}

static void child_devices(void) {
    diag d = {0};
    cuda *again = NULL, *c = open_device();
    CHILD_CHECK(cuda_device_count(NULL) == 1 && cuda_index(c) == 0);
    CHILD_CHECK(cuda_open(&d, 0, &again) == CTSC_OK && again == c);
    CHILD_CHECK(cuda_open(&d, 1, &again) == CTSC_ENVIRONMENT &&
                says(&d, "there is no device cuda:1: the driver has 1"));
    diag_clear(&d);
    CHILD_CHECK(cuda_open(NULL, -1, &again) == CTSC_ENVIRONMENT);
    const cuda_properties *p = cuda_get_properties(c);
    CHILD_CHECK(p->major == 9 && p->minor == 0 && p->multiprocessors > 0 &&
                p->shared_per_block > 48 << 10);
    CHILD_CHECK(p->threads_per_block == 1024 && p->driver_version == 13000 &&
                p->memory == (size_t)4 << 30);
}

/* CUDA does not work in a copy of a process that has used it. */
static void child_forked(void) {
    cuda *c = open_device(), *again = NULL;
    pid_t pid = fork();
    CHILD_CHECK(pid >= 0);
    if (pid == 0) {
        diag d = {0};
        CHILD_CHECK(cuda_open(NULL, 0, &again) == CTSC_OK && again == c);
        CHILD_CHECK(cuda_wait(c, &d) == CTSC_ENVIRONMENT &&
                    says(&d, "was opened before this process was forked"));
        diag_clear(&d);
        _exit(0);
    }
    int status = -1;
    CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0 && cuda_wait(c, NULL) == CTSC_OK);
}

static void devices(void **state) {
    (void)state;
    in_child(child_missing);
    in_child(child_not_a_driver);
    in_child(child_toolkit);
    in_child(child_no_device);
    in_child(child_devices);
    in_child(child_forked);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const size_t mib = (size_t)1 << 20;

static void *get(cuda *c, size_t nbytes) {
    void *p = NULL;
    diag d = {0};
    if (cuda_alloc(c, &d, nbytes, &p) != CTSC_OK) fprintf(stderr, "%s\n", diag_message(&d));
    CHILD_CHECK(p != NULL && (uintptr_t)p % 512 == 0);
    return p;
}

static void child_memory(void) {
    cuda *c = open_device();
    void *none = c;
    CHILD_CHECK(cuda_alloc(c, NULL, 0, &none) == CTSC_OK && !none);
    cuda_free(c, NULL);

    /* Small blocks share a segment; a freed one is used again at once, and
     * neighbours are joined. */
    char *a = get(c, 1), *b = get(c, 513), *e = get(c, 512);
    CHILD_CHECK(b == a + 512 && e == b + 1024);
    cuda_memory_stats s = cuda_get_memory_stats(c);
    CHILD_CHECK(s.live == 2048 && s.reserved == 2 * mib && s.allocations == 3 && s.from_cache == 2);
    cuda_free(c, b);
    CHILD_CHECK(get(c, 1000) == b);
    cuda_free(c, a);
    cuda_free(c, b);
    CHILD_CHECK(get(c, 1536) == a);
    cuda_free(c, a);
    /* The smallest hole that is large enough. */
    char *x[4];
    for (int i = 0; i < 4; i++) x[i] = get(c, (size_t)(i == 0 ? 4096 : i == 2 ? 2048 : 2560));
    cuda_free(c, x[0]);
    cuda_free(c, x[2]);
    CHILD_CHECK(get(c, 2048) == x[2] && get(c, 4096) == x[0]);
    for (int i = 0; i < 4; i++) cuda_free(c, x[i]);
    cuda_free(c, e);
    s = cuda_get_memory_stats(c);
    CHILD_CHECK(s.live == 0 && s.reserved == 2 * mib && s.peak_live >= 10 << 10);

    /* Large ones: shared segments up to 10 MiB, their own above. */
    char *l = get(c, 3 * mib), *m = get(c, 4 * mib);
    CHILD_CHECK(m == l + 3 * mib && cuda_get_memory_stats(c).reserved == 22 * mib);
    char *n = get(c, 14 * mib - 1);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 36 * mib);
    cuda_free(c, l);
    cuda_free(c, m);
    cuda_free(c, n);
    CHILD_CHECK(get(c, 20 * mib) == l); /* joined again */
    cuda_free(c, l);
    cuda_free(c, l); /* not handed out: nothing happens */

    cuda_reset_peaks(c);
    cuda_empty_cache(c);
    s = cuda_get_memory_stats(c);
    CHILD_CHECK(s.reserved == 0 && s.live == 0 && s.peak_live == 0 && s.peak_reserved == 36 * mib &&
                s.flushes == 1);
}

/* Random sizes in a random order: blocks never overlap (the bytes written stay), and
 * all comes back. */
static void child_memory_random(void) {
    enum { SLOTS = 200 };
    cuda *c = open_device();
    char *p[SLOTS] = {NULL};
    size_t size[SLOTS] = {0};
    unsigned seed = 7;
    for (int round = 0; round < 4000; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned i = (seed >> 8) % SLOTS;
        if (p[i]) {
            unsigned char first, last;
            CHILD_CHECK(cuda_read(c, NULL, &first, p[i], 1) == CTSC_OK &&
                        cuda_read(c, NULL, &last, p[i] + size[i] - 1, 1) == CTSC_OK);
            CHILD_CHECK(first == i && last == i);
            cuda_free(c, p[i]);
            p[i] = NULL;
        } else {
            size[i] = seed % 5 ? 1 + (seed >> 10) % 5000 : 1 + (seed >> 9) % (3 * mib);
            unsigned char mark = (unsigned char)i;
            p[i] = get(c, size[i]);
            CHILD_CHECK(cuda_write(c, NULL, p[i], &mark, 1) == CTSC_OK &&
                        cuda_write(c, NULL, p[i] + size[i] - 1, &mark, 1) == CTSC_OK);
        }
    }
    for (int i = 0; i < SLOTS; i++) cuda_free(c, p[i]);
    CHILD_CHECK(cuda_get_memory_stats(c).live == 0);
    cuda_empty_cache(c);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 0);
}

/* Without the cache every block is the driver's own. */
static void child_memory_direct(void) {
    setenv("CTSC_CUDA_MEMORY_CACHE", "0", 1);
    cuda *c = open_device();
    char *a = get(c, 700), *b = get(c, 3 * mib);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 700 + 3 * mib &&
                cuda_get_memory_stats(c).from_cache == 0);
    CHILD_CHECK(cuda_zero(c, NULL, a, 700) == CTSC_OK &&
                cuda_zero(c, NULL, a, 701) == CTSC_ENVIRONMENT);
    cuda_free(c, a);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 3 * mib);
    cuda_free(c, b);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 0);
}

static void child_memory_limit(void) {
    diag d = {0};
    void *p = NULL;
    setenv("CTSC_CUDA_MEMORY_LIMIT", "67108864", 1);
    cuda *c = open_device();
    char *a = get(c, 30 * mib);
    CHILD_CHECK(cuda_alloc(c, &d, 40 * mib, &p) == CTSC_LIMIT && !p);
    CHILD_CHECK(says(&d, "CUDA out of memory. Tried to allocate 40.00 MiB (GPU 0; 4.00 GiB total "
                         "capacity; 30.00 MiB already allocated; "
                         "3.97 GiB free; 64.00 MiB allowed; 30.00 MiB reserved in total by ctsc)"));
    diag_clear(&d);
    /* What the cache holds makes room. */
    cuda_free(c, a);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 30 * mib);
    a = get(c, 40 * mib);
    CHILD_CHECK(cuda_get_memory_stats(c).reserved == 40 * mib);
    cuda_set_memory_limit(c, 0);
    cuda_free(c, get(c, 100 * mib));
    /* The device's own limit, and sizes that are nonsense. */
    CHILD_CHECK(cuda_alloc(c, &d, (size_t)5 << 30, &p) == CTSC_LIMIT &&
                says(&d, "Tried to allocate 5.00 GiB"));
    diag_clear(&d);
    CHILD_CHECK(cuda_alloc(c, NULL, SIZE_MAX, &p) == CTSC_LIMIT && !p);
    CHILD_CHECK(cuda_zero(c, NULL, a, 40 * mib) == CTSC_OK && cuda_wait(c, NULL) == CTSC_OK);
}

static void memory(void **state) {
    (void)state;
    in_child(child_memory);
    in_child(child_memory_random);
    in_child(child_memory_direct);
    in_child(child_memory_limit);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void child_copies(void) {
    cuda *c = open_device();
    /* Sizes around the pieces that copies are made in. */
    static const size_t sizes[] = {1, 3, 4096, 1 << 20, (1 << 20) + 1, (5 << 20) + 77, 40 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        unsigned char *from = malloc(n), *to = malloc(n);
        for (size_t k = 0; k < n; k++) from[k] = (unsigned char)(k * 7 + k / 255 + i);
        char *p = get(c, n), *q = get(c, n);
        CHILD_CHECK(cuda_write(c, NULL, p, from, n) == CTSC_OK);
        memset(to, 0, n);
        CHILD_CHECK(cuda_move(c, NULL, q, p, n) == CTSC_OK &&
                    cuda_read(c, NULL, to, q, n) == CTSC_OK);
        CHILD_CHECK(!memcmp(from, to, n));
        CHILD_CHECK(cuda_zero(c, NULL, q, n) == CTSC_OK && cuda_read(c, NULL, to, q, n) == CTSC_OK);
        CHILD_CHECK(to[0] == 0 && to[n - 1] == 0);
        cuda_free(c, p);
        cuda_free(c, q);
        free(from);
        free(to);
    }
    /* Many small writes: the source may change as soon as each returns, also where the device is
     * late and the ring has come round. */
    enum { MANY = 20000, EACH = 250 };
    static int row[EACH], back[MANY * EACH];
    int *many = get(c, sizeof back);
    for (int i = 0; i < MANY; i++) {
        row[0] = row[EACH - 1] = i;
        CHILD_CHECK(cuda_write(c, NULL, many + i * EACH, row, sizeof row) == CTSC_OK);
    }
    CHILD_CHECK(cuda_read(c, NULL, back, many, sizeof back) == CTSC_OK);
    for (int i = 0; i < MANY; i++)
        CHILD_CHECK(back[i * EACH] == i && back[i * EACH + EACH - 1] == i);
    CHILD_CHECK(cuda_read(c, NULL, NULL, NULL, 0) == CTSC_OK &&
                cuda_write(c, NULL, NULL, NULL, 0) == CTSC_OK);
}

static void child_copies_lazy(void) {
    setenv("CTSC_SIM_LAZY", "1", 1);
    child_copies();
}

static void copies(void **state) {
    (void)state;
    in_child(child_copies);
    in_child(child_copies_lazy);
}

/* ---- programs -------------------------------------------------------------------------------- */

static cuda_source source_of(const char *text) {
    return (cuda_source){text, strlen(text), "test.cu", NULL};
}

static const char square_text[] =
    "struct params { float *out; const float *x; long long n; };\n"
    "extern \"C\" __global__ void __launch_bounds__(256) square(params p) {\n"
    "    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += gridDim.x * "
    "blockDim.x)\n"
    "        p.out[i] = p.x[i] * p.x[i];\n"
    "}\n"
    "extern \"C\" __global__ void fill(float *out, int n, double v, char half) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) out[i] = half ? v / 2 : v;\n"
    "}\n";

static void child_launch(void) {
    enum { N = 1000 };
    diag d = {0};
    float x[N], y[N];
    const cuda_kernel *k = NULL, *again = NULL, *fill = NULL;
    no_disk();
    cuda *c = open_device();
    cuda_source s = source_of(square_text);
    if (cuda_kernel_get(c, &d, &s, "square", 0, &k) != CTSC_OK) CHILD_CHECK(says(&d, "?"));
    struct {
        float *out, *x;
        long long n;
    } p = {get(c, sizeof x), get(c, sizeof y), N};
    for (int i = 0; i < N; i++) x[i] = (float)i;
    CHILD_CHECK(cuda_write(c, NULL, p.x, x, sizeof x) == CTSC_OK);
    CHILD_CHECK(cuda_launch(c, &d, k, &(cuda_shape){{3, 1, 1}, {256, 1, 1}, 0}, &p, sizeof p) ==
                CTSC_OK);
    CHILD_CHECK(cuda_read(c, NULL, y, p.out, sizeof y) == CTSC_OK);
    for (int i = 0; i < N; i++) CHILD_CHECK(y[i] == (float)i * (float)i);
    /* Another kernel of the same program: nothing is compiled again. */
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "fill", 0, &fill) == CTSC_OK);
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "square", 0, &again) == CTSC_OK && again == k);
    struct {
        float *out;
        int n;
        double v;
        char half;
    } f = {p.out, 10, 3, 1};
    CHILD_CHECK(cuda_launch(c, &d, fill, &(cuda_shape){{1, 1, 1}, {32, 1, 1}, 0}, &f,
                            offsetof(__typeof__(f), half) + 1) == CTSC_OK);
    CHILD_CHECK(cuda_read(c, NULL, y, p.out, sizeof y) == CTSC_OK && y[9] == 1.5f && y[10] == 100);
    /* No blocks, no work. */
    CHILD_CHECK(cuda_launch(c, &d, k, &(cuda_shape){{0, 1, 1}, {256, 1, 1}, 0}, &p, sizeof p) ==
                CTSC_OK);
    cuda_program_stats stats = cuda_get_program_stats(c);
    CHILD_CHECK(stats.compiled == 1 && stats.from_disk == 0 && stats.launches == 2 &&
                stats.compile_ms > 0);
    CHILD_CHECK(cuda_resident_blocks(c, k, 256, 0) == 8 * 4);

    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "nothing", 0, &k) == CTSC_ENVIRONMENT &&
                says(&d, "named symbol not found"));
    diag_clear(&d);
    /* Wrong shapes leave the device as it is. */
    CHILD_CHECK(cuda_launch(c, &d, again, &(cuda_shape){{1, 1, 1}, {2048, 1, 1}, 0}, &p,
                            sizeof p) == CTSC_ENVIRONMENT);
    CHILD_CHECK(says(&d, "CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE"));
    diag_clear(&d);
    CHILD_CHECK(cuda_wait(c, &d) == CTSC_OK);
}

static void child_shared(void) {
    diag d = {0};
    const cuda_kernel *k = NULL;
    no_disk();
    cuda *c = open_device();
    cuda_source s = source_of(
        "extern __shared__ float all[];\n"
        "extern \"C\" __global__ void reverse(float *x) {\n"
        "    all[threadIdx.x] = x[threadIdx.x];\n"
        "    __syncthreads();\n"
        "    x[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];\n"
        "}\n"
        "extern \"C\" __global__ void sum(const float *x, float *out) {\n"
        "    __shared__ float part[32];\n"
        "    float v = x[threadIdx.x];\n"
        "    for (int by = 16; by; by /= 2) v += __shfl_xor_sync(0xffffffff, v, by);\n"
        "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n"
        "    __syncthreads();\n"
        "    if (threadIdx.x >= 32) return;\n"
        "    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;\n"
        "    for (int by = 16; by; by /= 2) v += __shfl_down_sync(0xffffffff, v, by);\n"
        "    if (threadIdx.x == 0) atomicAdd(out, v);\n"
        "}\n");
    enum { N = 1024 };
    float x[N], total = 5;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    float *p = get(c, sizeof x), *out = get(c, sizeof total);
    CHILD_CHECK(cuda_write(c, NULL, p, x, sizeof x) == CTSC_OK &&
                cuda_write(c, NULL, out, &total, sizeof total) == CTSC_OK);
    /* More than what a launch may ask for without asking before. */
    if (cuda_kernel_get(c, &d, &s, "reverse", 100 << 10, &k) != CTSC_OK) CHILD_CHECK(says(&d, "?"));
    CHILD_CHECK(cuda_launch(c, &d, k, &(cuda_shape){{1, 1, 1}, {N, 1, 1}, 100 << 10}, &p,
                            sizeof p) == CTSC_OK);
    CHILD_CHECK(cuda_read(c, NULL, x, p, sizeof x) == CTSC_OK);
    for (int i = 0; i < N; i++) CHILD_CHECK(x[i] == (float)(N - 1 - i));
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "reverse", 300 << 10, &k) == CTSC_UNSUPPORTED &&
                says(&d, "bytes of shared memory"));
    diag_clear(&d);
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "sum", 0, &k) == CTSC_OK);
    float *both[] = {p, out};
    CHILD_CHECK(cuda_launch(c, &d, k, &(cuda_shape){{1, 1, 1}, {N, 1, 1}, 0}, both, sizeof both) ==
                CTSC_OK);
    CHILD_CHECK(cuda_read(c, NULL, &total, out, sizeof total) == CTSC_OK &&
                total == 5 + N * (N - 1) / 2);
}

static void child_shared_reverse(void) {
    setenv("CTSC_SIM_REVERSE", "1", 1);
    child_shared();
}

static void child_bad_source(void) {
    diag d = {0};
    const cuda_kernel *k = NULL;
    no_disk();
    cuda *c = open_device();
    cuda_source s = source_of(
        "extern \"C\" __global__ void f(int *p) {\n    *p = undeclared;\n}\n");
    for (int again = 0; again < 2; again++) {
        CHILD_CHECK(cuda_kernel_get(c, &d, &s, "f", 0, &k) == CTSC_INTERNAL);
        CHILD_CHECK(says(&d, "NVRTC cannot compile test.cu") && says(&d, "test.cu:2") &&
                    says(&d, "undeclared"));
        diag_clear(&d);
    }
    /* Nothing else suffers. */
    s = source_of(square_text);
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "square", 0, &k) == CTSC_OK);
}

static void child_headers(void) {
    diag d = {0};
    const cuda_kernel *k = NULL;
    int got = 0;
    no_disk();
    cuda *c = open_device();
    static const char *const headers[] = {"one.h",
                                          "#include \"deep/er/two.h\"\n#define ONE (TWO - 1)\n",
                                          "deep/er/two.h", "#define TWO 2\n", NULL};
    cuda_source s = source_of(
        "#include \"one.h\"\nextern \"C\" __global__ void f(int *p) { *p = 10 * TWO + ONE; }\n");
    s.headers = headers;
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "f", 0, &k) == CTSC_OK);
    int *p = get(c, sizeof *p);
    CHILD_CHECK(cuda_launch(c, &d, k, &(cuda_shape){{1, 1, 1}, {1, 1, 1}, 0}, &p, sizeof p) ==
                CTSC_OK);
    CHILD_CHECK(cuda_read(c, NULL, &got, p, sizeof got) == CTSC_OK && got == 21);
}

static void child_old_device(void) {
    diag d = {0};
    const cuda_kernel *k;
    cuda_source s = source_of(square_text);
    setenv("CTSC_SIM_ARCH", "52", 1);
    no_disk();
    cuda *c = open_device();
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "square", 0, &k) == CTSC_ENVIRONMENT);
    CHILD_CHECK(says(&d, "does not compile for sm_52, only for sm_75 to sm_120"));
    diag_clear(&d);
}

/* A device that this NVRTC does not know yet gets PTX. */
static void child_new_device(void) {
    cuda_source s = source_of(square_text);
    const cuda_kernel *k;
    void *image;
    size_t size;
    diag d = {0};
    setenv("CTSC_SIM_ARCH", "100", 1);
    setenv("CTSC_SIM_NEWEST", "90", 1);
    no_disk();
    cuda *c = open_device();
    CHILD_CHECK(cuda_kernel_get(c, &d, &s, "square", 0, &k) == CTSC_OK);
    CHILD_CHECK(cuda_compile(&d, &s, "sm_100", &image, &size) == CTSC_ENVIRONMENT &&
                says(&d, "does not compile for sm_100"));
    diag_clear(&d);
    CHILD_CHECK(cuda_compile(&d, &s, "gfx90a", &image, &size) == CTSC_USAGE);
    diag_clear(&d);
    CHILD_CHECK(cuda_compile(&d, &s, "sm_90x", &image, &size) == CTSC_USAGE);
    diag_clear(&d);
}

static char disk_folder[] = "/tmp/ctsc-test-XXXXXX";

/* Each allocation of a launch fails in turn; afterwards all is well. */
typedef struct fault_cycle {
    cuda *c;
    diag d;
} fault_cycle;

static ctsc_status fault_body(void *ctx) {
    fault_cycle *f = ctx;
    cuda_source s = source_of(square_text);
    const cuda_kernel *k;
    void *p = NULL, *q = NULL;
    float x[100] = {3}, y[100];
    diag_clear(&f->d);
    ctsc_status st = cuda_kernel_get(f->c, &f->d, &s, "square", 0, &k);
    if (st == CTSC_OK) st = cuda_alloc(f->c, &f->d, sizeof x, &p);
    if (st == CTSC_OK) st = cuda_alloc(f->c, &f->d, sizeof x, &q);
    if (st == CTSC_OK) st = cuda_write(f->c, &f->d, p, x, sizeof x);
    struct {
        void *out, *x;
        long long n;
    } params = {q, p, 100};
    if (st == CTSC_OK)
        st = cuda_launch(f->c, &f->d, k, &(cuda_shape){{1, 1, 1}, {128, 1, 1}, 0}, &params,
                         sizeof params);
    if (st == CTSC_OK) st = cuda_read(f->c, &f->d, y, q, sizeof y);
    if (st == CTSC_OK) CHILD_CHECK(y[0] == 9);
    cuda_free(f->c, p);
    cuda_free(f->c, q);
    return st;
}

/* Requests of one call, and more. */
enum { FAULTS = 40 };
static int fault_at;

static void child_faults(void) {
    static counting count;
    fault_cycle f = {0};
    mem_set_hook(counting_hook, &count);
    setenv("CTSC_CACHE", disk_folder, 1);
    f.c = open_device();
    count.requests = 0;
    count.fail_at = fault_at;
    ctsc_status st = fault_body(&f);
    count.fail_at = 0;
    CHILD_CHECK(st == CTSC_OK || st == CTSC_LIMIT);
    CHILD_CHECK(count.requests < FAULTS);
    /* Nothing of the failure stays. */
    CHILD_CHECK(fault_body(&f) == CTSC_OK && cuda_get_memory_stats(f.c).live == 0);
    long live = count.live;
    CHILD_CHECK(fault_body(&f) == CTSC_OK && count.live == live);
}

static int64_t disk_compiled;

static void child_disk(void) {
    cuda_source s = source_of(square_text);
    const cuda_kernel *k;
    setenv("CTSC_CACHE", disk_folder, 1);
    cuda *c = open_device();
    CHILD_CHECK(cuda_kernel_get(c, NULL, &s, "square", 0, &k) == CTSC_OK);
    cuda_program_stats stats = cuda_get_program_stats(c);
    CHILD_CHECK(stats.compiled == disk_compiled && stats.from_disk == 1 - disk_compiled);
}

static void programs(void **state) {
    (void)state;
    in_child(child_launch);
    in_child(child_shared);
    in_child(child_shared_reverse);
    in_child(child_bad_source);
    in_child(child_headers);
    in_child(child_old_device);
    in_child(child_new_device);
    assert_non_null(mkdtemp(disk_folder));
    disk_compiled = 1;
    in_child(child_disk);
    disk_compiled = 0;
    in_child(child_disk);
    for (fault_at = 1; fault_at <= FAULTS; fault_at++) in_child(child_faults);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", disk_folder);
    assert_int_equal(system(command), 0);
}

/* ---- kernels that fail ----------------------------------------------------------------------- */

/* text: of a kernel f(int *p). What the device says at the next wait goes to d. */
static ctsc_status run_failing(cuda *c, const char *text, unsigned threads, diag *d) {
    const cuda_kernel *k;
    cuda_source s = source_of(text);
    int *p = get(c, sizeof *p);
    CHILD_CHECK(cuda_kernel_get(c, d, &s, "f", 0, &k) == CTSC_OK);
    CHILD_CHECK(cuda_launch(c, d, k, &(cuda_shape){{1, 1, 1}, {threads, 1, 1}, 0}, &p, sizeof p) ==
                CTSC_OK);
    return cuda_wait(c, d);
}

static void child_illegal_address(void) {
    diag d = {0};
    void *p;
    no_disk();
    cuda *c = open_device();
    void *before = get(c, 100);
    CHILD_CHECK(run_failing(c, "extern \"C\" __global__ void f(int *p) { p[1 << 28] = 1; }", 1,
                            &d) == CTSC_INTERNAL);
    CHILD_CHECK(says(
        &d, "CUDA error: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS"));
    diag_clear(&d);
    /* From now on each call says so, and none crashes. */
    CHILD_CHECK(cuda_alloc(c, &d, 100, &p) == CTSC_ENVIRONMENT &&
                says(&d, "an illegal memory access was encountered"));
    diag_clear(&d);
    char byte;
    CHILD_CHECK(cuda_read(c, NULL, &byte, before, 1) == CTSC_ENVIRONMENT &&
                cuda_wait(c, NULL) == CTSC_ENVIRONMENT);
    cuda_free(c, before);
    cuda_empty_cache(c);
}

/* One thread reads what another wrote, without and with a barrier between. */
static void child_race(void) {
    diag d = {0};
    no_disk();
    setenv("CTSC_SIM_RACES", "1", 1);
    cuda *c = open_device();
    CHILD_CHECK(run_failing(c,
                            "extern \"C\" __global__ void f(int *p) {\n    __shared__ int x[64], "
                            "n;\n    x[threadIdx.x] = threadIdx.x;\n"
                            "    if (threadIdx.x == 0) n = 0;\n    __syncthreads();\n    "
                            "atomicAdd(&n, x[63 - threadIdx.x]);\n"
                            "    __syncthreads();\n    x[threadIdx.x] = n;\n    __syncwarp();\n    "
                            "*p = x[threadIdx.x ^ 1];\n}",
                            64, &d) == CTSC_OK);
    CHILD_CHECK(run_failing(c,
                            "extern \"C\" __global__ void f(int *p) {\n    extern __shared__ int "
                            "x[];\n    __shared__ int y[64];\n"
                            "    y[threadIdx.x] = threadIdx.x;\n    *p = y[threadIdx.x ^ 1];\n}",
                            64, &d) == CTSC_INTERNAL);
    diag_clear(&d);
}

static void child_stuck_barrier(void) {
    diag d = {0};
    no_disk();
    cuda *c = open_device();
    CHILD_CHECK(
        run_failing(
            c,
            "extern \"C\" __global__ void f(int *p) {\n    if (threadIdx.x % 2) __syncthreads();\n"
            "    else {\n        *p = 1;\n        __syncthreads();\n    }\n}",
            64, &d) == CTSC_INTERNAL);
    diag_clear(&d);
}

static void child_stuck_shuffle(void) {
    diag d = {0};
    no_disk();
    cuda *c = open_device();
    CHILD_CHECK(run_failing(c,
                            "extern \"C\" __global__ void f(int *p) {\n    if (threadIdx.x < 16) "
                            "*p = __shfl_down_sync(0xffffffff, 1, 1);\n"
                            "    else __syncthreads();\n}",
                            32, &d) == CTSC_INTERNAL);
    diag_clear(&d);
}

static void failing_kernels(void **state) {
    (void)state;
    in_child(child_illegal_address);
    in_child(child_race);
    in_child(child_stuck_barrier);
    in_child(child_stuck_shuffle);
}

int main(void) {
    if (access(sim_file(), R_OK) != 0) {
        print_message("skipped: there is no %s\n", sim_file());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices),  cmocka_unit_test(memory),          cmocka_unit_test(copies),
        cmocka_unit_test(programs), cmocka_unit_test(failing_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
