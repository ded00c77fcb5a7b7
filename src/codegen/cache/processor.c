/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processor.c - caches LLVM's name of this processor in the folder of compiled kernels.
 *
 * A kernel's key names the build of the compiler that made it and the processor, in LLVM's
 * words; asking LLVM for them costs more than loading a program's kernels. So they are cached,
 * under a key of what they depend on: the library's file, and the processor's own description.
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/cache/cache_internal.h"

#include "cpu/isa.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { TARGET_VERSION = 2 };

#if defined(__x86_64__)
/* CPUID leaves that identify models and features, without what differs from core to core. */
static void target_put_processor(strbuf *key) {
    static const unsigned leaves[][2] = {{0, 0},          {1, 0},         {7, 0},    {7, 1},
                                         {0xd, 1},        {0x14, 0},      {0x19, 0}, {0x24, 0},
                                         {0x80000001, 0}, {0x80000008, 0}};
    unsigned r[4];
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        if (!__get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3])) continue;
        /* the core's number and the size of its state */
        if (leaves[i][0] == 1 || leaves[i][0] == 0xd) r[1] = 0;
        sb_printf(key, " %x.%x:%x,%x,%x,%x", leaves[i][0], leaves[i][1], r[0], r[1], r[2], r[3]);
    }
    /* what the system lets programs use */
    sb_printf(key, " %x", isa_detected());
}

static bool target_key(const char *path, const char *name, strbuf *key) {
    sb_printf(key, "target %d %d %s ", TARGET_VERSION, JIT_INTERFACE, name);
    if (!library_identify(path, key)) return false;
    target_put_processor(key);
    return !key->failed;
}
#else
static bool target_key(const char *path, const char *name, strbuf *key) {
    (void)path, (void)name, (void)key;
    return false;
}
#endif

/* The next line, without its end. */
static bool target_line(const char **at, const char *end, char *to, size_t room) {
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    if (!stop || (size_t)(stop - *at) >= room) return false;
    memcpy(to, *at, (size_t)(stop - *at));
    to[stop - *at] = 0;
    *at = stop + 1;
    return true;
}

static bool target_parse(const char *at, size_t size, cache_target *out) {
    const char *end = at + size;
    return target_line(&at, end, out->build, sizeof out->build) &&
           target_line(&at, end, out->cpu.name, sizeof out->cpu.name) &&
           target_line(&at, end, out->cpu.features, sizeof out->cpu.features);
}

bool target_read(const disk *k, const char *path, const char *name, cache_target *out) {
    char file[DISK_NAME];
    strbuf key = STRBUF_INIT;
    void *data = NULL;
    size_t size;
    bool ok = k->folder && target_key(path, name, &key);
    if (ok) disk_name(file, 'p', sb_str(&key), key.len);
    ok = ok && disk_read(k, file, sb_str(&key), key.len, &data, &size);
    ok = ok && target_parse(data, size, out);
    mem_free(data);
    sb_free(&key);
    return ok;
}

void target_write(const disk *k, const char *path, const char *name, const cache_target *t) {
    char file[DISK_NAME];
    strbuf key = STRBUF_INIT;
    if (k->folder && target_key(path, name, &key)) {
        disk_name(file, 'p', sb_str(&key), key.len);
        strbuf text = STRBUF_INIT;
        sb_printf(&text, "%s\n%s\n%s\n", t->build, t->cpu.name, t->cpu.features);
        if (!text.failed) disk_write(k, file, sb_str(&key), key.len, sb_str(&text), text.len);
        sb_free(&text);
    }
    sb_free(&key);
}
