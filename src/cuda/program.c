/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - CUDA C++ to loaded kernels.
 *
 * Method: a program's key is a line about the compiler, the architecture and the
 * options, a line per header with the hash of its text, and the program's text. The
 * image of a key comes from the folder of compiled kernels (base/disk.h), else from
 * NVRTC. Each device has a table from key to loaded program: a thread that misses enters
 * a program without a module, makes it without the lock, and wakes those that found it
 * in the meantime. One that failed is kept with its message: it would fail again.
 *
 * An architecture that NVRTC does not know yet gets PTX of the newest one that it does, and the
 * driver compiles that.
 *
 * Ownership: programs and kernels live as long as the process; so do their modules.
 * Tests: tests/unit/test_cuda_device.c, tests/unit/test_cuda_nvrtc.c
 */
#include "cuda/capture_internal.h"
#include "cuda/cuda_internal.h"

#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PROGRAM_ARCHS = 64,
    PROGRAM_SHARED_FREE = 48 << 10, /* bytes of dynamic shared memory that need not be asked for */
    PROGRAM_MAX_PARAMS = 4000,
};

struct cuda_kernel {
    CUfunction function;
    int fixed_shared; /* bytes that its code declares */
    size_t shared;    /* bytes of dynamic shared memory that launches may ask for */
    char *symbol;
    cuda_kernel *next;
};

typedef struct program {
    enum { PROGRAM_WORKING, PROGRAM_READY, PROGRAM_FAILED } state;
    char *key;
    CUmodule module;
    cuda_kernel *kernels;
    ctsc_status status;
    char *message; /* NULL: there was no memory for it */
} program;

void programs_init(programs *p) {
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ready, NULL);
}

/* ---- the compiler ---------------------------------------------------------------------------- */

typedef struct program_compiler {
    const cuda_nvrtc *nvrtc; /* NULL until it is open */
    char name[32];
    int archs[PROGRAM_ARCHS], narchs; /* 75, 80, ... in rising order */
    disk disk;
} program_compiler;

static bool program_open_compiler(program_compiler *p, diag *d) {
    int major = 0, minor = 0, n = 0;
    const cuda_nvrtc *nvrtc = cuda_nvrtc_open(d);
    if (!nvrtc) return false;
    if (nvrtc->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS ||
        nvrtc->nvrtcGetNumSupportedArchs(&n) != NVRTC_SUCCESS || n < 1 || n > PROGRAM_ARCHS ||
        nvrtc->nvrtcGetSupportedArchs(p->archs) != NVRTC_SUCCESS) {
        diag_fail(d, CTSC_ENVIRONMENT, "NVRTC does not say what it is");
        return false;
    }
    p->narchs = n;
    snprintf(p->name, sizeof p->name, "NVRTC %d.%d", major, minor);
    disk_open(&p->disk, NULL, 0);
    p->nvrtc = nvrtc;
    return true;
}

/* The process's own; NULL and why. */
static const program_compiler *program_compiler_get(diag *d) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static program_compiler compiler;
    pthread_mutex_lock(&lock);
    bool open = compiler.nvrtc || program_open_compiler(&compiler, d);
    pthread_mutex_unlock(&lock);
    return open ? &compiler : NULL;
}

const char *cuda_compiler(diag *d) {
    const program_compiler *p = program_compiler_get(d);
    return p ? p->name : "";
}

/* ---- architectures --------------------------------------------------------------------------- */

static bool program_knows(const program_compiler *p, int arch) {
    for (int i = 0; i < p->narchs; i++)
        if (p->archs[i] == arch) return true;
    return false;
}

static ctsc_status program_unknown_arch(const program_compiler *p, diag *d, const char *arch) {
    return diag_fail(d, CTSC_ENVIRONMENT, "%s does not compile for %s, only for sm_%d to sm_%d",
                     p->name, arch, p->archs[0], p->archs[p->narchs - 1]);
}

/* "sm_90", "compute_90", with suffix a or f for
 * code that later architectures need not run. */
static ctsc_status program_check_arch(const program_compiler *p, diag *d, const char *arch) {
    int number = 0, end = 0;
    if (sscanf(arch, "sm_%d%n", &number, &end) != 1 &&
        sscanf(arch, "compute_%d%n", &number, &end) != 1)
        return diag_fail(d, CTSC_USAGE, "no architecture '%s': one is named sm_90", arch);
    if (arch[end] && !((arch[end] == 'a' || arch[end] == 'f') && !arch[end + 1]))
        return diag_fail(d, CTSC_USAGE, "no architecture '%s': one is named sm_90", arch);
    return program_knows(p, number) ? CTSC_OK : program_unknown_arch(p, d, arch);
}

/* What to compile for, for a device. */
static ctsc_status program_device_arch(const program_compiler *p, diag *d,
                                       const cuda_properties *device, char *arch, size_t size) {
    int number = 10 * device->major + device->minor, newest = 0;
    for (int i = 0; i < p->narchs; i++)
        if (p->archs[i] <= number) newest = p->archs[i];
    snprintf(arch, size, newest == number ? "sm_%d" : "compute_%d", newest ? newest : number);
    if (newest) return CTSC_OK;
    diag_note(d, (source_range){0}, "the device is %s, of compute capability %d.%d", device->name,
              device->major, device->minor);
    snprintf(arch, size, "sm_%d", number);
    return program_unknown_arch(p, d, arch);
}

/* ---- images ---------------------------------------------------------------------------------- */

static const char program_standard[] = "--std=c++17";

static bool program_key(const program_compiler *p, const cuda_source *source, const char *arch,
                        strbuf *key) {
    sb_printf(key, "%s %s %s\n", p->name, arch, program_standard);
    for (const char *const *h = source->headers; h && *h; h += 2) {
        size_t len = strlen(h[1]);
        sb_printf(key, "%s %zu %016llx%016llx\n", h[0], len,
                  (unsigned long long)disk_hash(h[1], len, 1),
                  (unsigned long long)disk_hash(h[1], len, 2));
    }
    sb_write(key, source->text, source->len);
    return !key->failed;
}

static ctsc_status program_no_compile(const cuda_nvrtc *nvrtc, diag *d, nvrtcProgram program,
                                      nvrtcResult r, const char *name) {
    size_t size = 0;
    char *log = NULL;
    if (r == NVRTC_ERROR_OUT_OF_MEMORY) return diag_no_memory(d);
    if (program && nvrtc->nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size &&
        (log = mem_zalloc(size + 1)))
        nvrtc->nvrtcGetProgramLog(program, log);
    ctsc_status st = diag_fail(d, CTSC_INTERNAL, "NVRTC cannot compile %s (error %d)%s%s", name, r,
                               log && *log ? ":\n" : "", log ? log : "");
    mem_free(log);
    return st;
}

/* The headers as NVRTC takes them: separate names and
 * texts. Both in one block; NULL if out of memory. */
static const char **program_headers(const cuda_source *source, int *n) {
    int count = 0;
    for (const char *const *h = source->headers; h && *h; h += 2) count++;
    const char **apart = mem_alloc((size_t)(2 * count) * sizeof *apart);
    for (int i = 0; apart && i < count; i++) {
        apart[i] = source->headers[2 * i + 1];
        apart[count + i] = source->headers[2 * i];
    }
    *n = count;
    return apart;
}

static ctsc_status program_get_image(const cuda_nvrtc *nvrtc, diag *d, nvrtcProgram program,
                                     bool ptx, void **image, size_t *size) {
    size_t n = 0;
    nvrtcResult r = ptx ? nvrtc->nvrtcGetPTXSize(program, &n)
                        : nvrtc->nvrtcGetCUBINSize(program, &n);
    if (r != NVRTC_SUCCESS || n == 0)
        return diag_fail(d, CTSC_INTERNAL, "NVRTC gives no code (error %d)", r);
    char *bytes = mem_alloc(n);
    if (!bytes) return diag_no_memory(d);
    r = ptx ? nvrtc->nvrtcGetPTX(program, bytes) : nvrtc->nvrtcGetCUBIN(program, bytes);
    if (r != NVRTC_SUCCESS) {
        mem_free(bytes);
        return diag_fail(d, CTSC_INTERNAL, "NVRTC gives no code (error %d)", r);
    }
    *image = bytes;
    *size = n;
    return CTSC_OK;
}

static ctsc_status program_compile(const cuda_nvrtc *nvrtc, diag *d, const cuda_source *source,
                                   const char *arch, void **image, size_t *size) {
    char option[64], *text = mem_strndup(source->text, source->len);
    int nheaders;
    const char **headers = program_headers(source, &nheaders);
    nvrtcProgram program = NULL;
    ctsc_status st;
    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    if (!text || !headers) {
        st = diag_no_memory(d);
        goto out;
    }
    nvrtcResult r = nvrtc->nvrtcCreateProgram(&program, text, source->name, nheaders, headers,
                                              headers + nheaders);
    if (r == NVRTC_SUCCESS)
        r = nvrtc->nvrtcCompileProgram(program, 2, (const char *const[]){option, program_standard});
    if (r != NVRTC_SUCCESS) st = program_no_compile(nvrtc, d, program, r, source->name);
    else st = program_get_image(nvrtc, d, program, !strncmp(arch, "compute_", 8), image, size);
out:
    if (program) nvrtc->nvrtcDestroyProgram(&program);
    mem_free(headers);
    mem_free(text);
    return st;
}

/* The image of key, from the disk or by compiling (then in *milliseconds how long
 * that took, else 0). */
static ctsc_status program_image(const program_compiler *p, diag *d, const cuda_source *source,
                                 const char *arch, const strbuf *key, void **image, size_t *size,
                                 double *milliseconds) {
    char name[DISK_NAME];
    *milliseconds = 0;
    disk_name(name, 'c', key->data, key->len);
    if (disk_read(&p->disk, name, key->data, key->len, image, size)) return CTSC_OK;
    uint64_t start = clock_now();
    TRY(program_compile(p->nvrtc, d, source, arch, image, size));
    *milliseconds = (double)(clock_now() - start) * 1e-6;
    log_event(CTSC_LOG_INFO, "%s compiled %s for %s in %.1f ms", p->name, source->name, arch,
              *milliseconds);
    disk_write(&p->disk, name, key->data, key->len, *image, *size);
    return CTSC_OK;
}

ctsc_status cuda_compile(diag *d, const cuda_source *source, const char *arch, void **image,
                         size_t *size) {
    const program_compiler *p = program_compiler_get(d);
    strbuf key = STRBUF_INIT;
    double milliseconds;
    if (!p) return CTSC_ENVIRONMENT;
    ctsc_status st = program_check_arch(p, d, arch);
    if (st == CTSC_OK && !program_key(p, source, arch, &key)) st = diag_no_memory(d);
    if (st == CTSC_OK) st = program_image(p, d, source, arch, &key, image, size, &milliseconds);
    sb_free(&key);
    return st;
}

/* ---- loaded programs ------------------------------------------------------------------------- */

static ctsc_status program_load(cuda *c, diag *d, program *g, const void *image) {
    TRY(cuda_enter(c, d));
    CUresult r = c->driver->cuModuleLoadData(&g->module, image);
    if (r == CUDA_SUCCESS) return CTSC_OK;
    ctsc_status st = cuda_fail(c, d, r, "cuModuleLoadData");
    if (r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || r == CUDA_ERROR_INVALID_IMAGE)
        diag_note(d, (source_range){0},
                  "NVRTC is newer than the driver: update the driver or set CTSC_NVRTC to an older "
                  "NVRTC");
    return st;
}

/* Without the lock. */
static void program_make(cuda *c, program *g, const program_compiler *p, const cuda_source *source,
                         const char *arch, const strbuf *key, double *milliseconds) {
    diag d = {0};
    void *image = NULL;
    size_t size;
    g->status = program_image(p, &d, source, arch, key, &image, &size, milliseconds);
    if (g->status == CTSC_OK) g->status = program_load(c, &d, g, image);
    if (g->status != CTSC_OK) g->message = mem_strdup(diag_message(&d));
    mem_free(image);
    diag_clear(&d);
}

/* With the lock held: the program of key; *make: the caller has to make it (program_finish), as it
 * is new or memory ran out the last time.
 * NULL if out of memory. */
static program *program_find(programs *ps, const strbuf *key, bool *make) {
    program *g = strmap_getn(&ps->table, key->data, key->len);
    *make = !g || (g->state == PROGRAM_FAILED && g->status == CTSC_LIMIT);
    if (!*make) return g;
    if (!g) {
        g = mem_zalloc(sizeof *g);
        if (g) g->key = mem_strndup(key->data, key->len);
        if (!g || !g->key || !strmap_putn(&ps->table, g->key, key->len, g)) {
            if (g) mem_free(g->key);
            mem_free(g);
            return NULL;
        }
    }
    mem_free(g->message);
    g->message = NULL;
    g->state = PROGRAM_WORKING;
    return g;
}

/* With the lock held, which is given up meanwhile. */
static void program_finish(cuda *c, program *g, const program_compiler *p,
                           const cuda_source *source, const char *arch, const strbuf *key) {
    programs *ps = &c->programs;
    double milliseconds;
    pthread_mutex_unlock(&ps->lock);
    program_make(c, g, p, source, arch, key, &milliseconds);
    pthread_mutex_lock(&ps->lock);
    g->state = g->status == CTSC_OK ? PROGRAM_READY : PROGRAM_FAILED;
    if (milliseconds > 0) ps->stats.compiled++, ps->stats.compile_ms += milliseconds;
    else if (g->status == CTSC_OK) ps->stats.from_disk++;
    pthread_cond_broadcast(&ps->ready);
}

/* With the lock held: lets launches of k use this many bytes of dynamic shared memory. */
static ctsc_status program_allow_shared(cuda *c, diag *d, cuda_kernel *k, size_t shared) {
    if (shared <= k->shared) return CTSC_OK;
    if ((size_t)k->fixed_shared + shared > c->properties.shared_per_block)
        return diag_fail(
            d, CTSC_UNSUPPORTED,
            "the kernel %s needs %zu bytes of shared memory, a block of this device can have %zu",
            k->symbol, (size_t)k->fixed_shared + shared, c->properties.shared_per_block);
    CUresult r = c->driver->cuFuncSetAttribute(
        k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
    if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuFuncSetAttribute");
    k->shared = shared;
    return CTSC_OK;
}

/* With the lock held. */
static ctsc_status program_kernel(cuda *c, diag *d, program *g, const char *symbol,
                                  cuda_kernel **out) {
    for (cuda_kernel *k = g->kernels; k; k = k->next)
        if (!strcmp(k->symbol, symbol)) {
            *out = k;
            return CTSC_OK;
        }
    TRY(cuda_enter(c, d));
    cuda_kernel *k = mem_zalloc(sizeof *k);
    if (k) k->symbol = mem_strdup(symbol);
    if (!k || !k->symbol) {
        mem_free(k);
        return diag_no_memory(d);
    }
    CUresult r = c->driver->cuModuleGetFunction(&k->function, g->module, symbol);
    if (r == CUDA_SUCCESS)
        r = c->driver->cuFuncGetAttribute(&k->fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                          k->function);
    if (r != CUDA_SUCCESS) {
        mem_free(k->symbol);
        mem_free(k);
        return cuda_fail(c, d, r, "cuModuleGetFunction");
    }
    k->shared = k->fixed_shared < PROGRAM_SHARED_FREE
                    ? (size_t)(PROGRAM_SHARED_FREE - k->fixed_shared)
                    : 0;
    k->next = g->kernels;
    g->kernels = k;
    *out = k;
    return CTSC_OK;
}

ctsc_status cuda_kernel_get(cuda *c, diag *d, const cuda_source *source, const char *symbol,
                            size_t shared, const cuda_kernel **out) {
    char arch[32];
    strbuf key = STRBUF_INIT;
    bool make;
    cuda_kernel *k = NULL;
    const program_compiler *p = program_compiler_get(d);
    if (!p) return CTSC_ENVIRONMENT;
    ctsc_status st = program_device_arch(p, d, &c->properties, arch, sizeof arch);
    if (st == CTSC_OK && !program_key(p, source, arch, &key)) st = diag_no_memory(d);
    if (st != CTSC_OK) goto out;
    pthread_mutex_lock(&c->programs.lock);
    program *g = program_find(&c->programs, &key, &make);
    if (make && g) program_finish(c, g, p, source, arch, &key);
    while (g && g->state == PROGRAM_WORKING)
        pthread_cond_wait(&c->programs.ready, &c->programs.lock);
    if (!g) st = diag_no_memory(d);
    else if (g->state == PROGRAM_FAILED)
        st = diag_fail(d, g->status, "%s", g->message ? g->message : "out of memory");
    else st = program_kernel(c, d, g, symbol, &k);
    if (st == CTSC_OK) st = program_allow_shared(c, d, k, shared);
    pthread_mutex_unlock(&c->programs.lock);
    if (st == CTSC_OK) *out = k;
out:
    sb_free(&key);
    return st;
}

cuda_program_stats cuda_get_program_stats(cuda *c) {
    pthread_mutex_lock(&c->lock);
    int64_t launches = c->launches;
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&c->programs.lock);
    cuda_program_stats s = c->programs.stats;
    pthread_mutex_unlock(&c->programs.lock);
    s.launches = launches;
    return s;
}

/* ---- launches -------------------------------------------------------------------------------- */

ctsc_status program_launch(cuda *c, diag *d, const cuda_kernel *k, const cuda_shape *s,
                           const void *params, size_t nbytes) {
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &nbytes, CU_LAUNCH_PARAM_END};
    CUresult r = c->driver->cuLaunchKernel(
        k->function, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2],
        (unsigned)s->shared, c->stream, NULL, nbytes ? extra : NULL);
    if (r == CUDA_SUCCESS) return CTSC_OK;
    ctsc_status st = cuda_fail(c, d, r, "cuLaunchKernel");
    diag_note(d, (source_range){0}, "the kernel is %s, %u x %u x %u blocks of %u x %u x %u threads",
              k->symbol, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2]);
    return st;
}

CUfunction program_function(const cuda_kernel *k) { return k->function; }

ctsc_status cuda_launch(cuda *c, diag *d, const cuda_kernel *k, const cuda_shape *s,
                        const void *params, size_t nbytes) {
    if (nbytes > PROGRAM_MAX_PARAMS)
        return diag_fail(d, CTSC_UNSUPPORTED, "%zu bytes of parameters for the kernel %s", nbytes,
                         k->symbol);
    if (!s->grid[0] || !s->grid[1] || !s->grid[2]) return CTSC_OK;
    if (cuda_capturing)
        return cuda_capture_add(c, d, (command){.kind = COMMAND_LAUNCH, .kernel = k, .shape = *s},
                                params, nbytes);
    TRY(cuda_lock(c, d));
    ctsc_status st = program_launch(c, d, k, s, params, nbytes);
    if (st == CTSC_OK) c->launches++;
    cuda_unlock(c);
    return st;
}

int cuda_resident_blocks(cuda *c, const cuda_kernel *k, int threads, size_t shared) {
    int per_multiprocessor = 0;
    if (cuda_enter(c, NULL) != CTSC_OK ||
        c->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, k->function,
                                                               threads, shared) != CUDA_SUCCESS)
        return 1;
    return per_multiprocessor > 0 ? per_multiprocessor * c->properties.multiprocessors : 1;
}
