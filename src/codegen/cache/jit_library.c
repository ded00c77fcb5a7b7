/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_library.c - opens libctsc-jit.so when the first kernel
 * is to be compiled, and says what to do if that fails.
 *
 * CTSC_JIT names the file; else it is searched next to the program or library
 * that contains this code, in ../lib and ../lib64 from there, one and two
 * folders up (programs in the build folder), and then where the loader looks
 * (the run path, LD_LIBRARY_PATH, the system). ctsc works without it.
 *
 * Method. The file that contains this code is read from /proc/self/maps: a whole path without
 * links. dladdr returns argv[0] for a program, which is useless if that was found through
 * PATH, and the text of LD_LIBRARY_PATH for a library, which is useless once the working
 * folder has changed; it is asked second, for the folder of a link that leads to the file.
 * Tests: tests/places.py, tests/install.py, tests/cli/compiler.test
 */
#include "codegen/cache/cache_internal.h"

#include "base/log.h"
#include "base/variables.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char library_name[] = "libctsc-jit.so";

enum { LIBRARY_PATH = 4096, LIBRARY_WHY = 640 };

/* ---- places ---------------------------------------------------------------------------------- */

/* Folders that the library is looked for from: that of the file that contains this code, and that
 * of the name it was opened by. Each ends in '/', or is empty. */
static struct {
    char code[LIBRARY_PATH], name[LIBRARY_PATH];
} library_folders;

/* "address-address rwxp offset device inode   path" */
static bool library_mapped(const char *line, uintptr_t address, char path[LIBRARY_PATH]) {
    uintptr_t from, to;
    int at = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &from, &to, &at) != 2 || !at ||
        address < from || address >= to || line[at] != '/')
        return false;
    snprintf(path, LIBRARY_PATH, "%s", line + at);
    path[strcspn(path, "\n")] = '\0';
    return true;
}

static void library_find_folders(void) {
    char line[LIBRARY_PATH + 128];
    bool found = false;
    Dl_info self;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = library_mapped(line, (uintptr_t)library_name, library_folders.code);
    if (maps) fclose(maps);
    if (dladdr((void *)library_name, &self) && self.dli_fname)
        snprintf(library_folders.name, LIBRARY_PATH, "%s", self.dli_fname);
    char *const folders[] = {library_folders.code, library_folders.name};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *slash = strrchr(folders[i], '/');
        folders[i][slash ? slash - folders[i] + 1 : 0] = '\0';
    }
}

static const char *const library_places[] = {"", "../lib/", "../lib64/", "../", "../../"};
enum { LIBRARY_PLACES = 2 * sizeof library_places / sizeof *library_places };

/* The i-th candidate file for the library next to this one; false: there is no such file. */
static bool library_place(int i, char path[LIBRARY_PATH]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stat s;
    pthread_once(&once, library_find_folders);
    const char *folder = i < LIBRARY_PLACES / 2 ? library_folders.code : library_folders.name;
    return *folder &&
           snprintf(path, LIBRARY_PATH, "%s%s%s", folder, library_places[i % (LIBRARY_PLACES / 2)],
                    library_name) < LIBRARY_PATH &&
           stat(path, &s) == 0;
}

/* Does CTSC_JIT name the library, or disable it ("0")? */
static bool library_given(const char **file) {
    const char *given = variable_get(VARIABLE_JIT);
    if (!given) return false;
    *file = strcmp(given, "0") ? given : NULL;
    return true;
}

/* The file that will be opened, as far as that is known without the loader; NULL: it is not. */
static const char *library_file(char path[LIBRARY_PATH]) {
    const char *file = NULL;
    if (library_given(&file)) return file && access(file, F_OK) == 0 ? file : NULL;
    for (int i = 0; i < LIBRARY_PLACES; i++)
        if (library_place(i, path)) return path;
    return NULL;
}

bool library_identify(const char *path, strbuf *key) {
    char found[LIBRARY_PATH], *whole;
    struct stat s;
    if (!path) path = library_file(found);
    if (!path || stat(path, &s) != 0 || !(whole = realpath(path, NULL))) return false;
    sb_printf(key, "%s %lld %lld.%09ld", whole, (long long)s.st_size, (long long)s.st_mtim.tv_sec,
              s.st_mtim.tv_nsec);
    free(whole);
    return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Why there is none, and what to do about it. */
typedef struct library_lack { char why[LIBRARY_WHY], advice[LIBRARY_ADVICE]; } library_lack;

/* Of several reasons the first one counts. */
static const jit_interface *library_lacks(library_lack *lack, const char *why, const char *advice) {
    if (*lack->why) return NULL;
    snprintf(lack->why, sizeof lack->why, "%s", why);
    snprintf(lack->advice, sizeof lack->advice, "%s", advice);
    return NULL;
}

static const jit_interface *library_try(const char *path, library_lack *lack) {
    char why[LIBRARY_WHY];
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        return library_lacks(lack, text ? text : path,
                             text && strstr(text, "libLLVM")
                                 ? "install LLVM 19 (Debian: libllvm19)"
                                 : "set CTSC_JIT to the place of one that can be opened");
    }
    union {
        void *object;
        jit_entry fn;
    } entry;
    entry.object = dlsym(handle, JIT_ENTRY);
    const jit_interface *found = entry.object ? entry.fn() : NULL;
    if (found && found->version == JIT_INTERFACE) return found;
    snprintf(why, sizeof why, "%s belongs to another version of ctsc", path);
    return library_lacks(lack, why, "install ctsc and libctsc-jit.so of one version");
}

/* Not next to this library: search as the loader does. */
static const jit_interface *library_try_loader(library_lack *lack) {
    char advice[LIBRARY_ADVICE];
    library_lack own = {"", ""};
    const jit_interface *found = library_try(library_name, &own);
    if (found) return found;
    if (strstr(own.why, "libLLVM")) return library_lacks(lack, own.why, own.advice);
    snprintf(advice, sizeof advice,
             "put it into %.200s or its ../lib, or set CTSC_JIT to its place (make builds it where "
             "LLVM 19 is installed, Debian: llvm-19-dev clang-19)",
             *library_folders.code ? library_folders.code : "the program's folder");
    return library_lacks(lack, "libctsc-jit.so was not found", advice);
}

static const jit_interface *library_search(library_lack *lack) {
    char path[LIBRARY_PATH];
    const char *file;
    if (library_given(&file))
        return file ? library_try(file, lack)
                    : library_lacks(lack, "CTSC_JIT=0 turns it off", "unset CTSC_JIT");
    for (int i = 0; i < LIBRARY_PLACES; i++) {
        const jit_interface *found = library_place(i, path) ? library_try(path, lack) : NULL;
        if (found) return found;
    }
    return library_try_loader(lack);
}

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static library_lack library_lack_shared;

/* Once per process, for the people who run it; not to those who asked for this. */
static void library_tell(const library_lack *lack) {
    static bool told;
    const char *file = library_name;
    if (told || (library_given(&file) && !file)) return;
    told = true;
    log_event(CTSC_LOG_ALERT, "no compiler for kernels, operators are not fused: %s; %s", lack->why,
              lack->advice);
}

const jit_interface *library_open(const char *path, diag *d) {
    static const jit_interface *shared;
    library_lack lack = {"", ""};
    const jit_interface *found = NULL;
    pthread_mutex_lock(&library_lock);
    if (path) found = library_try(path, &lack);
    else if (!shared) found = shared = library_search(&lack);
    else found = shared;
    if (!path) library_lack_shared = lack;
    if (!path && !found) library_tell(&lack);
    pthread_mutex_unlock(&library_lock);
    if (!found) diag_fail(d, CTSC_ENVIRONMENT, "no compiler for kernels: %s", lack.why);
    return found;
}

void library_advise(char advice[LIBRARY_ADVICE]) {
    pthread_mutex_lock(&library_lock);
    memcpy(advice, library_lack_shared.advice, LIBRARY_ADVICE);
    pthread_mutex_unlock(&library_lock);
}

void codegen_expect(codegen *c) {
    static atomic_flag looked = ATOMIC_FLAG_INIT;
    char path[LIBRARY_PATH];
    const char *file = NULL;
    if (atomic_flag_test_and_set_explicit(&looked, memory_order_relaxed)) return;
    if (library_file(path) || (library_given(&file) && !file)) return;
    if (codegen_in_calls()) codegen_available(c, NULL);
    else codegen_prepare(c, 0);
}
