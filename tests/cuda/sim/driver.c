/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - the driver's functions (sim.h).
 *
 * Arguments are checked as the driver's documentation says, and more
 * strictly where a device would continue with nonsense: each range of a copy
 * must be inside one allocation, parameters must have the kernel's size.
 */
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRIVER_MOST_HOST = 1024, DRIVER_SHARED_FREE = 48 << 10 };

struct CUctx_st { CUdevice device; };

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_started;
static struct CUctx_st driver_context;
static _Thread_local CUcontext driver_current;

static struct {
    char *p;
    size_t nbytes;
} driver_host[DRIVER_MOST_HOST]; /* pinned memory */
static int driver_host_count;

long long sim_setting(const char *name, long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

void sim_say(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("cudasim: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/* The beginning of most functions; the caller releases the lock. */
static CUresult driver_begin(void) {
    pthread_mutex_lock(&driver_lock);
    if (!driver_started) return CUDA_ERROR_NOT_INITIALIZED;
    if (!driver_current) return CUDA_ERROR_INVALID_HANDLE;
    return sim_broken;
}

static CUresult driver_end(CUresult r) {
    pthread_mutex_unlock(&driver_lock);
    return r;
}

/* The host waits for all that was asked of the device. */
static CUresult driver_wait(void) {
    sim_count_wait();
    return sim_finish();
}

/* ---- devices --------------------------------------------------------------------------------- */

SIM_API CUresult cuInit(unsigned flags) {
    driver_started = flags == 0;
    if (sim_setting("CTSC_SIM_DEVICES", 1) < 1) return CUDA_ERROR_NO_DEVICE;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

static const struct driver_error {
    CUresult code;
    const char *name, *text;
} driver_errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};

static const struct driver_error *driver_find_error(CUresult error) {
    for (size_t i = 0; i < sizeof driver_errors / sizeof *driver_errors; i++)
        if (driver_errors[i].code == error) return &driver_errors[i];
    return NULL;
}

SIM_API CUresult cuGetErrorName(CUresult error, const char **name) {
    const struct driver_error *e = driver_find_error(error);
    *name = e ? e->name : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuGetErrorString(CUresult error, const char **text) {
    const struct driver_error *e = driver_find_error(error);
    *text = e ? e->text : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuDeviceGetCount(int *count) {
    *count = (int)sim_setting("CTSC_SIM_DEVICES", 1);
    return driver_started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

SIM_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    if (ordinal < 0 || ordinal >= sim_setting("CTSC_SIM_DEVICES", 1))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetName(char *name, int len, CUdevice device) {
    (void)device;
    snprintf(name, (size_t)len, "Simulated GPU");
    return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceTotalMem_v2(size_t *nbytes, CUdevice device) {
    (void)device;
    *nbytes = sim_arena_total();
    return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    int arch = (int)sim_setting("CTSC_SIM_ARCH", 90);
    const struct {
        int attribute, value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, arch / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, arch % 10},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SIM_DYNAMIC_SHARED},
    };
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    driver_context.device = device;
    *context = &driver_context;
    return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxSetCurrent(CUcontext context) {
    driver_current = context;
    return sim_broken;
}

/* ---- streams and events ---------------------------------------------------------------------- */

SIM_API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    CUresult r = driver_begin();
    (void)flags;
    if (r == CUDA_SUCCESS) *stream = calloc(1, sizeof **stream);
    return driver_end(r);
}

SIM_API CUresult cuStreamSynchronize(CUstream stream) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && stream->capture) {
        stream->spoilt = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (r == CUDA_SUCCESS) r = driver_wait();
    return driver_end(r);
}

SIM_API CUresult cuEventCreate(CUevent *event, unsigned flags) {
    CUresult r = driver_begin();
    (void)flags;
    if (r == CUDA_SUCCESS) *event = calloc(1, sizeof **event);
    return driver_end(r);
}

SIM_API CUresult cuEventRecord(CUevent event, CUstream stream) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && stream->capture) {
        stream->spoilt = true;
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (r == CUDA_SUCCESS) r = sim_ask(stream, &(sim_work){.kind = SIM_RECORD, .event = event}, 0);
    return driver_end(r);
}

SIM_API CUresult cuEventSynchronize(CUevent event) {
    CUresult r = driver_begin();
    sim_count_wait();
    if (r == CUDA_SUCCESS && event->pending) r = sim_finish();
    return driver_end(r);
}

SIM_API CUresult cuEventDestroy_v2(CUevent event) {
    CUresult r = driver_begin();
    if (event->pending) sim_finish(); /* a device would free it when it has happened */
    free(event);
    return driver_end(r);
}

/* ---- memory ---------------------------------------------------------------------------------- */

SIM_API CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    CUresult r = driver_begin();
    *total = sim_arena_total();
    *available = *total - sim_arena_used();
    return driver_end(r);
}

SIM_API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t nbytes) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && nbytes == 0) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !(*p = sim_arena_alloc(nbytes))) r = CUDA_ERROR_OUT_OF_MEMORY;
    return driver_end(r);
}

SIM_API CUresult cuMemFree_v2(CUdeviceptr p) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS) r = driver_wait();
    if (r == CUDA_SUCCESS && !sim_arena_free(p)) r = CUDA_ERROR_INVALID_VALUE;
    return driver_end(r);
}

SIM_API CUresult cuMemHostAlloc(void **p, size_t nbytes, unsigned flags) {
    CUresult r = driver_begin();
    (void)flags;
    if (r == CUDA_SUCCESS && (driver_host_count == DRIVER_MOST_HOST ||
                              !(*p = aligned_alloc(4096, (nbytes + 4095) & ~(size_t)4095))))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        driver_host[driver_host_count].p = *p;
        driver_host[driver_host_count++].nbytes = nbytes;
    }
    return driver_end(r);
}

SIM_API CUresult cuMemFreeHost(void *p) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS) r = driver_wait();
    for (int i = 0; i < driver_host_count; i++)
        if (driver_host[i].p == p) driver_host[i] = driver_host[--driver_host_count];
    free(p);
    return driver_end(r);
}

static bool driver_pinned(const void *p) {
    for (int i = 0; i < driver_host_count; i++)
        if ((const char *)p >= driver_host[i].p &&
            (const char *)p < driver_host[i].p + driver_host[i].nbytes)
            return true;
    return false;
}

SIM_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t nbytes,
                                      CUstream stream) {
    CUresult r = driver_begin();
    sim_work w = {.kind = SIM_COPY,
                  .to = (void *)(uintptr_t)to,
                  .from = from,
                  .nbytes = nbytes,
                  .bytes = (void *)from};
    if (r == CUDA_SUCCESS && !sim_arena_has(to, nbytes)) r = CUDA_ERROR_INVALID_VALUE;
    /* Of memory that is not pinned the driver makes a copy before it returns. */
    if (r == CUDA_SUCCESS) r = sim_ask(stream, &w, driver_pinned(from) ? 0 : nbytes);
    return driver_end(r);
}

SIM_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t nbytes, CUstream stream) {
    CUresult r = driver_begin();
    sim_work w = {.kind = SIM_COPY, .to = to, .from = (void *)(uintptr_t)from, .nbytes = nbytes};
    if (r == CUDA_SUCCESS && !sim_arena_has(from, nbytes)) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) r = sim_ask(stream, &w, 0);
    if (r == CUDA_SUCCESS && !driver_pinned(to)) r = driver_wait();
    return driver_end(r);
}

SIM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t nbytes,
                                      CUstream stream) {
    CUresult r = driver_begin();
    sim_work w = {.kind = SIM_COPY,
                  .to = (void *)(uintptr_t)to,
                  .from = (void *)(uintptr_t)from,
                  .nbytes = nbytes};
    if (r == CUDA_SUCCESS && (!sim_arena_has(to, nbytes) || !sim_arena_has(from, nbytes)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) r = sim_ask(stream, &w, 0);
    return driver_end(r);
}

SIM_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t nbytes,
                                 CUstream stream) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && !sim_arena_has(to, nbytes)) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = sim_ask(
            stream,
            &(sim_work){
                .kind = SIM_FILL, .to = (void *)(uintptr_t)to, .byte = byte, .nbytes = nbytes},
            0);
    return driver_end(r);
}

/* ---- modules and launches -------------------------------------------------------------------- */

/* dlopen wants a file; the loader knows libraries by their paths, so no path is used twice. */
static void *driver_dlopen(const void *object, size_t size) {
    char path[] = "/tmp/ctsc-sim-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return NULL;
    bool ok = write(fd, object, size) == (ssize_t)size;
    close(fd);
    void *library = ok ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) sim_say("%s", ok ? dlerror() : "cannot write to /tmp");
    unlink(path);
    return library;
}

SIM_API CUresult cuModuleLoadData(CUmodule *out, const void *data) {
    const sim_image_header *header = data;
    CUresult r = driver_begin();
    CUmodule m = calloc(1, sizeof *m);
    int arch = (int)sim_setting("CTSC_SIM_ARCH", 90);
    if (r == CUDA_SUCCESS && memcmp(header->magic, sim_magic, sizeof sim_magic) != 0)
        r = CUDA_ERROR_INVALID_IMAGE;
    if (r == CUDA_SUCCESS && (header->virtual ? header->arch > arch : header->arch != arch))
        r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (r == CUDA_SUCCESS && !(m->library = driver_dlopen(header + 1, header->size)))
        r = CUDA_ERROR_INVALID_IMAGE;
    if (r == CUDA_SUCCESS && !(m->image = dlsym(m->library, "sim_image_of_this")))
        r = CUDA_ERROR_INVALID_IMAGE;
    if (r == CUDA_SUCCESS) *out = m;
    else free(m);
    return driver_end(r);
}

SIM_API CUresult cuModuleUnload(CUmodule module) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS) r = sim_finish();
    dlclose(module->library);
    for (CUfunction f = module->functions, next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(module);
    return driver_end(r);
}

SIM_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
    CUresult r = driver_begin();
    const struct sim_kernel *kernel = NULL;
    for (unsigned long i = 0; i < module->image->nkernels; i++)
        if (!strcmp(module->image->kernels[i].name, name)) kernel = &module->image->kernels[i];
    if (r == CUDA_SUCCESS && !kernel) r = CUDA_ERROR_NOT_FOUND;
    if (r == CUDA_SUCCESS) {
        CUfunction f = calloc(1, sizeof *f);
        *f = (struct CUfunc_st){module, kernel, DRIVER_SHARED_FREE, module->functions};
        module->functions = f;
        *out = f;
    }
    return driver_end(r);
}

static int driver_fixed_shared(CUfunction f) {
    /* compile.c adds 16 bytes of its own */
    return (int)(f->module->image->shared_end - f->module->image->shared) - 16;
}

SIM_API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    CUresult r = driver_begin();
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) *value = driver_fixed_shared(function);
    else if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = 1024;
    else r = CUDA_ERROR_INVALID_VALUE;
    return driver_end(r);
}

SIM_API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    CUresult r = driver_begin();
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        value > SIM_DYNAMIC_SHARED - driver_fixed_shared(function))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) function->dynamic = value;
    return driver_end(r);
}

SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                             int threads, size_t shared) {
    CUresult r = driver_begin();
    size_t each = shared + (size_t)driver_fixed_shared(function);
    int by_threads = 2048 / (threads > 0 ? threads : 1);
    int by_shared = each ? (int)(SIM_DYNAMIC_SHARED / each) : by_threads;
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    return driver_end(r);
}

/* The parameters' bytes, from either form of the arguments; NULL: neither is right. */
static const void *driver_params(CUfunction f, void **params, void **extra) {
    size_t size = 0;
    const void *bytes = "";
    if (params) return f->kernel->params ? params[0] : "";
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) bytes = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t *)extra[1];
    }
    if (size == f->kernel->params) return bytes;
    sim_say("kernel %s takes %lu bytes of parameters, not %zu", f->kernel->name, f->kernel->params,
            size);
    return NULL;
}

SIM_API CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z,
                                unsigned shared, CUstream stream, void **params, void **extra) {
    CUresult r = driver_begin();
    struct dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
    const void *bytes = driver_params(f, params, extra);
    sim_work w = {
        .kind = SIM_LAUNCH, .launch = {f, grid, block, shared, NULL}, .bytes = (void *)bytes};
    if (r == CUDA_SUCCESS &&
        (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || grid_x > 0x7fffffff ||
         grid_y > 65535 || grid_z > 65535 || block_x > 1024 || block_y > 1024 || block_z > 64 ||
         block_x * block_y * block_z > 1024 || shared > (unsigned)f->dynamic || !bytes))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) r = sim_ask(stream, &w, f->kernel->params ? f->kernel->params : 1);
    return driver_end(r);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

SIM_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && (stream->capture || mode != CU_STREAM_CAPTURE_MODE_RELAXED))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        stream->capture = sim_graph_new();
        stream->spoilt = false;
    }
    return driver_end(r);
}

SIM_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    CUresult r = driver_begin();
    CUgraph g = stream->capture;
    stream->capture = NULL;
    *graph = NULL;
    if (r == CUDA_SUCCESS && !g) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (stream->spoilt || sim_setting("CTSC_SIM_NO_CAPTURE", 0)))
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (r == CUDA_SUCCESS) {
        *graph = g;
    } else if (g) {
        sim_graph_clear(g);
        free(g);
    }
    return driver_end(r);
}

SIM_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, unsigned long long *id,
                                           CUgraph *graph, const CUgraphNode **nodes,
                                           size_t *count) {
    CUresult r = driver_begin();
    *status = stream->capture != NULL;
    *id = 0;
    *graph = stream->capture;
    *count = stream->capture && stream->capture->newest;
    *nodes = *count ? &stream->capture->newest : NULL;
    return driver_end(r);
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                             unsigned long long flags) {
    struct CUstream_st copy = {0};
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS && flags) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        *exec = calloc(1, sizeof **exec);
        copy.capture = &(*exec)->graph;
        r = sim_ask_graph(&copy, graph);
    }
    return driver_end(r);
}

SIM_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS) r = sim_ask_graph(stream, &exec->graph);
    return driver_end(r);
}

/* As the driver does, for kernels alone: the function and how it is launched stay. */
SIM_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const cuda_kernel_node *p) {
    CUresult r = driver_begin();
    sim_work *w = exec->graph.first;
    while (w && w->node != (const sim_work *)node) w = w->next;
    if (r == CUDA_SUCCESS && (!w || w->kind != SIM_LAUNCH || w->launch.function != p->function))
        r = CUDA_ERROR_INVALID_VALUE;
    const void *bytes = r == CUDA_SUCCESS ? driver_params(p->function, p->params, p->extra) : NULL;
    if (r == CUDA_SUCCESS && !bytes) r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && p->function->kernel->params)
        memcpy(w->bytes, bytes, p->function->kernel->params);
    return driver_end(r);
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
    CUresult r = driver_begin();
    sim_graph_clear(&exec->graph);
    free(exec);
    return driver_end(r);
}

SIM_API CUresult cuGraphDestroy(CUgraph graph) {
    CUresult r = driver_begin();
    sim_graph_clear(graph);
    free(graph);
    return driver_end(r);
}

/* ---- for the simulated libraries ------------------------------------------------------------- */

bool sim_ask_call(void *stream, void (*call)(const void *bytes), const void *bytes, size_t nbytes) {
    CUresult r = driver_begin();
    if (r == CUDA_SUCCESS)
        r = sim_ask(stream, &(sim_work){.kind = SIM_CALL, .call = call, .bytes = (void *)bytes},
                    nbytes);
    return driver_end(r) == CUDA_SUCCESS;
}
