/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile.c - NVRTC by the host's C++ compiler.
 *
 * A program is compiled in a folder of its own, in two steps:
 *
 *   1. The preprocessor reads shim.h and the text. __global__ and __shared__ are still words of the
 *      text then, not macros.
 *   2. compile_rewrite finds the kernels' names after __global__, puts __shared__ variables into a
 *      section of its own, and makes `extern __shared__
 *      T name[]` an ordinary declaration of `name`, which is defined as the block's dynamic shared memory. A table of the kernels is added at the end,
 *      and the compiler makes a shared object of it.
 *
 * An image is a header (sim.h) and the shared object.
 */
#include "sim.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SIM_SHIM: the path of shim.h. */
extern const char compile_shim[], compile_shim_end[];
__asm__(".section .rodata\n"
        ".hidden compile_shim\n.globl compile_shim\ncompile_shim: .incbin \"" SIM_SHIM "\"\n"
        ".hidden compile_shim_end\n.globl compile_shim_end\ncompile_shim_end: .byte 0\n"
        ".previous\n");

const char sim_magic[8] = "ctscsim";

enum { COMPILE_MOST_NAMES = 256, COMPILE_NAME = 128 };

typedef struct names {
    char name[COMPILE_MOST_NAMES][COMPILE_NAME];
    int count;
} names;

struct _nvrtcProgram {
    char *text, *name;
    int nheaders;
    char **headers, **header_names;
    char *log;
    sim_image_header *image; /* and the shared object */
};

/* ---- files ----------------------------------------------------------------------------------- */

/* name may have folders in it ("ir/scalar/scalar_ops.h"), which are made. */
static bool compile_write(const char *folder, const char *name, const char *text, size_t len) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fwrite(text, 1, len, f) == len;
    return fclose(f) == 0 && ok;
}

/* NUL-terminated; NULL: there is none. */
static char *compile_read(const char *folder, const char *name, size_t *len) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    struct stat s;
    if (!f) return NULL;
    char *text = NULL;
    if (fstat(fileno(f), &s) == 0) text = malloc((size_t)s.st_size + 1);
    if (text) {
        *len = fread(text, 1, (size_t)s.st_size, f);
        text[*len] = 0;
    }
    fclose(f);
    return text;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static void compile_add(names *n, const char *begin, const char *end) {
    char name[COMPILE_NAME];
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->name[i], name)) return;
    if (n->count < COMPILE_MOST_NAMES) strcpy(n->name[n->count++], name);
}

static bool compile_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *compile_space(const char *p) {
    while (isspace((unsigned char)*p)) p++;
    return p;
}

/* Is the word at p, of text, this one? */
static bool compile_word(const char *text, const char *p, const char *word) {
    size_t len = strlen(word);
    return !strncmp(p, word, len) && !compile_word_char(p[len]) &&
           (p == text || !compile_word_char(p[-1]));
}

/* The last word before the first `stop` after p. */
static void compile_name_before(names *n, const char *p, char stop) {
    const char *end = strchr(p, stop);
    if (!end) return;
    while (end > p && !compile_word_char(end[-1])) end--;
    const char *begin = end;
    while (begin > p && compile_word_char(begin[-1])) begin--;
    compile_add(n, begin, end);
}

/* Writes the text as C++ to out. */
static void compile_rewrite(const char *text, names *kernels, names *dynamic, FILE *out) {
    for (const char *p = text; *p;) {
        if (compile_word(text, p, "__global__")) {
            p += strlen("__global__");
            compile_name_before(kernels, p, '(');
            fputs("__attribute__((used))", out);
        } else if (compile_word(text, p, "extern") &&
                   compile_word(text, compile_space(p + 6), "__shared__")) {
            p = compile_space(p + 6) + strlen("__shared__");
            compile_name_before(dynamic, p, '[');
            fputs("extern", out);
        } else if (compile_word(text, p, "__shared__")) {
            p += strlen("__shared__");
            fputs("static __attribute__((section(\"sim_shared\"), aligned(16)))", out);
        } else {
            fputc(*p++, out);
        }
    }
}

static void compile_tail(const names *kernels, const names *dynamic, FILE *out) {
    fputs("\nextern \"C\" char __start_sim_shared[] __attribute__((visibility(\"hidden\")));\n"
          "extern \"C\" char __stop_sim_shared[] __attribute__((visibility(\"hidden\")));\n"
          "static __attribute__((section(\"sim_shared\"), used)) char sim_shared_section[16];\n"
          "extern \"C\" __attribute__((visibility(\"hidden\"), aligned(512))) char "
          "sim_dynamic[SIM_DYNAMIC_SHARED];\n"
          "char sim_dynamic[SIM_DYNAMIC_SHARED];\n",
          out);
    for (int i = 0; i < dynamic->count; i++)
        fprintf(out, "__asm__(\".globl %s\\n.hidden %s\\n.set %s, sim_dynamic\");\n",
                dynamic->name[i], dynamic->name[i], dynamic->name[i]);
    fputs("static const sim_kernel sim_kernels[] = {\n", out);
    for (int i = 0; i < kernels->count; i++)
        fprintf(out,
                "    {\"%s\", sim_signature<decltype(%s)>::call<%s>, "
                "sim_signature<decltype(%s)>::size()},\n",
                kernels->name[i], kernels->name[i], kernels->name[i], kernels->name[i]);
    fprintf(
        out,
        "};\nextern \"C\" __attribute__((visibility(\"default\"))) const sim_image "
        "sim_image_of_this = {sim_kernels, %d, &sim_self, __start_sim_shared, __stop_sim_shared, "
        "sim_dynamic};\n",
        kernels->count);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Runs the compiler in the folder; what it says is added to the log. */
static bool compile_run(struct _nvrtcProgram *p, const char *folder, const char *options) {
    char command[4096];
    size_t len = 0;
    const char *cxx = getenv("CXX");
    snprintf(command, sizeof command, "cd '%s' && %s %s >log 2>&1 </dev/null", folder,
             cxx && *cxx ? cxx : "c++", options);
    int status = system(command);
    char *log = compile_read(folder, "log", &len);
    if (log && *log) {
        free(p->log);
        p->log = log;
    } else {
        free(log);
    }
    return status == 0;
}

static bool compile_sources(const struct _nvrtcProgram *p, const char *folder) {
    bool ok = compile_write(folder, "shim.h", compile_shim,
                            (size_t)(compile_shim_end - compile_shim));
    for (int i = 0; i < p->nheaders; i++)
        ok = ok && compile_write(folder, p->header_names[i], p->headers[i], strlen(p->headers[i]));
    size_t size = strlen(p->text) + strlen(p->name) + 64;
    char *text = malloc(size);
    if (!text) return false;
    int n = snprintf(text, size, "#include \"shim.h\"\n#line 1 \"%s\"\n%s\n", p->name, p->text);
    ok = ok && compile_write(folder, "text.cpp", text, (size_t)n);
    free(text);
    return ok;
}

static bool compile_second(const char *folder) {
    static names kernels, dynamic; /* with the lock held */
    char path[512];
    size_t len;
    char *text = compile_read(folder, "text.ii", &len);
    snprintf(path, sizeof path, "%s/kernel.ii", folder);
    FILE *out = fopen(path, "wb");
    bool ok = text && out;
    if (ok) {
        kernels.count = dynamic.count = 0;
        compile_rewrite(text, &kernels, &dynamic, out);
        compile_tail(&kernels, &dynamic, out);
    }
    free(text);
    if (out) ok = fclose(out) == 0 && ok;
    return ok;
}

/* Are kernels to be watched for races (races.c)? */
static bool compile_watched(void) { return sim_setting("CTSC_SIM_RACES", 0) != 0; }

static nvrtcResult compile_in(struct _nvrtcProgram *p, const char *folder, int arch, bool virtual) {
    char options[512];
    size_t len = 0;
    const char *watch = compile_watched() ? "-fsanitize=thread" : "";
    if (!compile_sources(p, folder)) return NVRTC_ERROR_INTERNAL_ERROR;
    snprintf(options, sizeof options,
             "-E -x c++ -std=c++17 -DSIM_ARCH=%d %s -I. text.cpp -o text.ii", arch,
             *watch ? "-DSIM_RACES" : "");
    if (!compile_run(p, folder, options) || !compile_second(folder)) return NVRTC_ERROR_COMPILATION;
    snprintf(options, sizeof options,
             "-c -x c++-cpp-output -std=c++17 -O1 -w -fPIC -fvisibility=hidden -fno-exceptions "
             "-fno-rtti -fno-strict-aliasing "
             "-ffp-contract=off -fno-stack-protector %s kernel.ii -o kernel.o",
             watch);
    if (!compile_run(p, folder, options)) return NVRTC_ERROR_COMPILATION;
    if (!compile_run(p, folder,
                     "-shared -Wl,--no-undefined -nodefaultlibs kernel.o -lm -lc -o kernel.so"))
        return NVRTC_ERROR_COMPILATION;
    char *object = compile_read(folder, "kernel.so", &len);
    sim_image_header *image = object ? malloc(sizeof *image + len) : NULL;
    if (image) {
        *image = (sim_image_header){.arch = arch, .virtual = virtual, .size = len};
        memcpy(image->magic, sim_magic, sizeof sim_magic);
        memcpy(image + 1, object, len);
    }
    free(object);
    p->image = image;
    return image ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

/* ---- NVRTC's functions ----------------------------------------------------------------------- */

/* The minor number distinguishes versions of the shim and this file,
 * and kinds of images, since images on disk are found by it. */
SIM_API nvrtcResult nvrtcVersion(int *major, int *minor) {
    unsigned hash = SIM_BUILD;
    for (const char *p = compile_shim; p < compile_shim_end; p++)
        hash = hash * 31 + (unsigned char)*p;
    *major = compile_watched() ? 901 : 900;
    *minor = (int)(hash % 1000000);
    return NVRTC_SUCCESS;
}

static const int compile_archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

SIM_API nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    long long newest = sim_setting("CTSC_SIM_NEWEST", 120);
    *count = 0;
    for (size_t i = 0; i < sizeof compile_archs / sizeof *compile_archs; i++)
        *count += compile_archs[i] <= newest;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    int count;
    nvrtcGetNumSupportedArchs(&count);
    memcpy(archs, compile_archs, (size_t)count * sizeof *archs);
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name,
                                       int nheaders, const char *const *headers,
                                       const char *const *header_names) {
    nvrtcProgram p = calloc(1, sizeof *p);
    if (!p) return NVRTC_ERROR_OUT_OF_MEMORY;
    p->text = strdup(text);
    p->name = strdup(name ? name : "default_program");
    p->nheaders = nheaders;
    p->headers = calloc((size_t)nheaders + 1, sizeof *p->headers);
    p->header_names = calloc((size_t)nheaders + 1, sizeof *p->header_names);
    for (int i = 0; i < nheaders; i++) {
        p->headers[i] = strdup(headers[i]);
        p->header_names[i] = strdup(header_names[i]);
    }
    *out = p;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    nvrtcProgram p = *program;
    for (int i = 0; i < p->nheaders; i++) {
        free(p->headers[i]);
        free(p->header_names[i]);
    }
    free(p->headers);
    free(p->header_names);
    free(p->text);
    free(p->name);
    free(p->log);
    free(p->image);
    free(p);
    *program = NULL;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int noptions, const char *const *options) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char folder[256], command[300];
    const char *keep = getenv("CTSC_SIM_KEEP"), *tmp = getenv("TMPDIR");
    int arch = 0;
    bool virtual = false;
    for (int i = 0; i < noptions; i++) {
        if (sscanf(options[i], "--gpu-architecture=sm_%d", &arch) == 1) continue;
        if (sscanf(options[i], "--gpu-architecture=compute_%d", &arch) == 1) virtual = true;
        else if (strncmp(options[i], "--std=", 6) != 0) return NVRTC_ERROR_INVALID_OPTION;
    }
    if (!arch) return NVRTC_ERROR_INVALID_OPTION;
    snprintf(folder, sizeof folder, "%s/ctsc-sim-XXXXXX",
             keep && *keep ? keep
             : tmp && *tmp ? tmp
                           : "/tmp");
    if (!mkdtemp(folder)) return NVRTC_ERROR_INTERNAL_ERROR;
    pthread_mutex_lock(&lock);
    nvrtcResult r = NVRTC_ERROR_COMPILATION;
    if (sim_real_compile(p->text, p->name, p->nheaders, (const char *const *)p->headers,
                         (const char *const *)p->header_names, &p->log))
        r = compile_in(p, folder, arch, virtual);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if ((!keep || !*keep) && system(command) != 0) sim_say("cannot remove %s", folder);
    pthread_mutex_unlock(&lock);
    return r;
}

SIM_API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *size) {
    *size = p->log ? strlen(p->log) + 1 : 1;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *log) {
    strcpy(log, p->log ? p->log : "");
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *size) {
    if (!p->image || p->image->virtual) return NVRTC_ERROR_INVALID_PROGRAM;
    *size = sizeof *p->image + p->image->size;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *image) {
    memcpy(image, p->image, sizeof *p->image + p->image->size);
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *size) {
    if (!p->image) return NVRTC_ERROR_INVALID_PROGRAM;
    *size = sizeof *p->image + p->image->size;
    return NVRTC_SUCCESS;
}

SIM_API nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *image) { return nvrtcGetCUBIN(p, image); }
