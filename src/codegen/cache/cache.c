/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - finds or makes the kernel of a loop nest (cache.h).
 *
 * Method: a table from key to entry under one lock. A thread that misses enters an entry without
 * a kernel, compiles without the lock, or leaves that to the background, and wakes those that
 * found the entry in the meantime. A thread that has to wait for an entry that the background
 * has not begun compiles it itself. An entry that failed is kept with its message: the same nest
 * would fail again. The key is a line about the processor and the build, and the nest's IR.
 *
 * Ownership: a codegen owns its entries, their keys and machine code.
 */
#include "codegen/cache/cache_internal.h"

#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/map.h"
#include "base/threads/background.h"
#include "base/threads/float_mode.h"
#include "codegen/cache/object.h"
#include "codegen/llvm/llvm_emit.h"
#include "cpu/isa.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct cache_entry {
    kernel k; /* first: the kernel that callers hold */
    codegen *owner;
    background_job job;
    char *key;
    size_t key_len, ir;   /* the IR's place in it */
    char name[DISK_NAME]; /* the symbol, and the file's name */
    object_code object;
    void *handle; /* the engine's, of what `object` cannot hold; else NULL */
    ctsc_status status;
    char message[JIT_TEXT];
    struct cache_entry *next;
} cache_entry;

struct codegen {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    char *wanted_cpu, *library;
    const jit_interface *jit; /* NULL until opened */
    jit_engine *engine;       /* NULL until there is an object for it */
    bool known;               /* what follows is */
    cache_target is;
    llvm_target target;
    disk disk;
    strmap table;
    cache_entry *entries;
    codegen_stats stats;
    background_job opening;
    atomic_int opened; /* read without the lock, which is held for long while opening */
};

enum { CACHE_UNOPENED, CACHE_OPENING, CACHE_OPENED };
#define CACHE_OWNER(type, member, j) ((type *)(void *)((char *)(j) - offsetof(type, member)))

/* ---- processors ------------------------------------------------------------------------------ */

/* Processors that slow down under 512-bit work. */
static bool cache_prefers_512(const jit_cpu *cpu) {
    static const char *const narrow[] = {"skylake-avx512", "cascadelake", "cooperlake",
                                         "cannonlake"};
    if (!strstr(cpu->features, "+avx512vl")) return false;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (!strcmp(cpu->name, narrow[i])) return false;
    return true;
}

/* Elements of half are floats while they are computed with (nest.h), so that instructions on halves
 * serve nothing; LLVM 19 makes wrong code with them (bessel_y0 of halves, in a vector loop). AVX10,
 * which implies them, repeats what the features of AVX-512 say one by one. */
static void cache_drop_halves(jit_cpu *cpu) {
    static const char *const dropped[] = {"+avx10.", "+avx512fp16"};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        for (char *at = cpu->features; (at = strstr(at, dropped[i])); at++) *at = '-';
}

static const char *cache_cpu_name(const codegen *c) {
    return c->wanted_cpu ? c->wanted_cpu : "host";
}

/* NULL: the host. */
static const isa_row *cache_isa(const codegen *c) {
    isa id = isa_find(cache_cpu_name(c));
    return id == ISA_COUNT ? NULL : &isa_table[id];
}

/* In the compiler's words. */
static bool cache_describe(codegen *c, cache_target *out) {
    const isa_row *l = cache_isa(c);
    snprintf(out->build, sizeof out->build, "%s", c->jit->build);
    if (!c->jit->describe(l ? l->llvm : cache_cpu_name(c), &out->cpu)) return false;
    if (!l) cache_drop_halves(&out->cpu);
    return true;
}

static void cache_set_target(codegen *c) {
    const isa_row *l = cache_isa(c);
    const jit_cpu *cpu = &c->is.cpu;
    if (l) {
        bool wide = l->lanes > isa_table[ISA_SSE2].lanes;
        c->target = (llvm_target){.f16c = wide, .vector_width = wide ? l->lanes * 32 : 0};
    } else {
        c->target.f16c = strstr(cpu->features, "+f16c") || strstr(cpu->features, "+fullfp16");
        c->target.vector_width = cache_prefers_512(cpu) ? 512 : 0;
    }
    c->known = true;
}

bool codegen_runnable(codegen *c) {
    isa id = isa_find(cache_cpu_name(c));
    return id == ISA_COUNT || isa_detected() >> id & 1;
}

/* ---- life ------------------------------------------------------------------------------------ */

codegen *codegen_new(const codegen_options *o) {
    static const codegen_options none;
    codegen *c = mem_zalloc(sizeof *c);
    if (!c) return NULL;
    if (!o) o = &none;
    isa limit = isa_get_limit();
    const char *cpu = o->cpu || limit == ISA_COUNT || !isa_has(limit) ? o->cpu
                                                                      : isa_table[limit].name;
    c->wanted_cpu = cpu ? mem_strdup(cpu) : NULL;
    c->library = o->library ? mem_strdup(o->library) : NULL;
    if ((cpu && !c->wanted_cpu) || (o->library && !c->library)) {
        mem_free(c->wanted_cpu);
        mem_free(c->library);
        mem_free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->ready, NULL);
    disk_open(&c->disk, o->folder, o->disk_limit);
    return c;
}

void codegen_free(codegen *c) {
    if (!c) return;
    if (!background_take_back(&c->opening)) background_wait(&c->opening, UINT64_MAX);
    for (cache_entry *e = c->entries; e; e = e->next)
        if (!background_take_back(&e->job)) background_wait(&e->job, UINT64_MAX);
    for (cache_entry *e = c->entries, *next; e; e = next) {
        next = e->next;
        if (e->handle) c->jit->unload(c->engine, e->handle);
        object_unload(&e->object);
        mem_free(e->key);
        mem_free(e);
    }
    if (c->engine) c->jit->engine_free(c->engine);
    strmap_free(&c->table);
    disk_close(&c->disk);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->ready);
    mem_free(c->wanted_cpu);
    mem_free(c->library);
    mem_free(c);
}

static pthread_mutex_t cache_shared_lock = PTHREAD_MUTEX_INITIALIZER;
static codegen *cache_shared;

codegen *codegen_shared(void) {
    pthread_mutex_lock(&cache_shared_lock);
    if (!cache_shared) cache_shared = codegen_new(NULL);
    codegen *c = cache_shared;
    pthread_mutex_unlock(&cache_shared_lock);
    return c;
}

static ctsc_status cache_unknown_cpu(diag *d, const char *cpu) {
    strbuf names = STRBUF_INIT;
    for (int i = 0; i < ISA_COUNT; i++)
        if (isa_table[i].here) sb_printf(&names, ", %s", isa_table[i].name);
    ctsc_status st = diag_fail(d, CTSC_USAGE, "no processor '%s', only host%s", cpu,
                               sb_str(&names));
    sb_free(&names);
    return st;
}

ctsc_status codegen_share(diag *d, const char *cpu) {
    if (strcmp(cpu, "host") != 0 && isa_find(cpu) == ISA_COUNT) return cache_unknown_cpu(d, cpu);
    pthread_mutex_lock(&cache_shared_lock);
    bool late = cache_shared != NULL;
    if (!late) cache_shared = codegen_new(&(codegen_options){.cpu = cpu});
    bool made = cache_shared != NULL;
    pthread_mutex_unlock(&cache_shared_lock);
    if (late)
        return diag_fail(d, CTSC_USAGE, "kernels have been made for another processor already");
    return made ? CTSC_OK : diag_no_memory(d);
}

/* With the lock held: the compiler itself. */
static bool cache_open(codegen *c, diag *d) {
    cache_target now = {0};
    if (c->jit) return true;
    const jit_interface *jit = library_open(c->library, d);
    if (!jit) return false;
    if (c->known && strcmp(jit->build, c->is.build) != 0) { /* replaced since then */
        diag_fail(d, CTSC_ENVIRONMENT, "the compiler for kernels is another one than before");
        return false;
    }
    c->jit = jit;
    if (c->known) return true;
    if (!cache_describe(c, &now)) {
        c->jit = NULL;
        diag_fail(d, CTSC_ENVIRONMENT, "the processor cannot be described");
        return false;
    }
    c->is = now;
    cache_set_target(c);
    target_write(&c->disk, c->library, cache_cpu_name(c), &c->is);
    return true;
}

/* The same where it is waited for. */
static bool cache_compiler(codegen *c, diag *d) {
    pthread_mutex_lock(&c->lock);
    bool ok = cache_open(c, d);
    pthread_mutex_unlock(&c->lock);
    atomic_store_explicit(&c->opened, CACHE_OPENED, memory_order_release);
    return ok;
}

/* Can keys be made? As a rule without the compiler. */
static bool cache_know(codegen *c) {
    pthread_mutex_lock(&c->lock);
    if (!c->known && !c->jit && target_read(&c->disk, c->library, cache_cpu_name(c), &c->is))
        cache_set_target(c);
    bool known = c->known;
    pthread_mutex_unlock(&c->lock);
    if (known) atomic_store_explicit(&c->opened, CACHE_OPENED, memory_order_release);
    return known;
}

bool codegen_available(codegen *c, diag *d) { return cache_know(c) || cache_compiler(c, d); }

/* Compiles a little of everything besides, so that what LLVM makes at first use is there
 * (base/threads/background.c says why). */
static void cache_open_later(background_job *j) {
    static const char trial[] = "define void @kernel(ptr %p, i64 %n) {\n"
                                "  %v = load <4 x float>, ptr %p\n  %w = fadd <4 x float> %v, %v\n "
                                " store <4 x float> %w, ptr %p\n"
                                "  %c = icmp ult i64 %n, 5\n  br i1 %c, label %a, label %b\na:\n  "
                                "ret void\nb:\n  unreachable\n}\n";
    codegen *c = CACHE_OWNER(codegen, opening, j);
    jit_error error;
    void *object;
    size_t size;
    if (cache_compiler(c, NULL) && c->jit->compile(trial, sizeof trial - 1, &c->is.cpu, "trial",
                                                   JIT_OBJECT, &object, &size, &error))
        c->jit->release(object);
}

bool codegen_prepare(codegen *c, uint64_t until) {
    int state = CACHE_UNOPENED;
    if (atomic_load_explicit(&c->opened, memory_order_acquire) == CACHE_OPENED || cache_know(c))
        return true;
    if (atomic_compare_exchange_strong(&c->opened, &state, CACHE_OPENING)) {
        c->opening.run = cache_open_later;
        if (!background_add(&c->opening)) codegen_available(c, NULL);
    }
    if (state != CACHE_OPENED) background_wait(&c->opening, until);
    return atomic_load_explicit(&c->opened, memory_order_acquire) == CACHE_OPENED;
}

/* ---- objects for files ----------------------------------------------------------------------- */

/* The strongest set of another architecture that code is compiled for ahead of time. */
static const isa_row *cache_foreign(const char *triple) {
    return triple ? &isa_table[strncmp(triple, "aarch64", 7) ? ISA_AVX2 : ISA_NEON] : NULL;
}

ctsc_status codegen_emit(codegen *c, nest *n, const char *triple, strbuf *ir, diag *d) {
    const isa_row *l = cache_foreign(triple);
    llvm_target target = {.f16c = l && l->lanes > 4,
                          .vector_width = l && l->lanes > 4 ? l->lanes * 32 : 0};
    if (!codegen_available(c, d)) return d->status;
    return nest_emit_llvm(n, l ? &target : &c->target, ir, d);
}

ctsc_status codegen_object(codegen *c, const strbuf *ir, const char *triple, const char *symbol,
                           void **data, size_t *size, diag *d) {
    const isa_row *l = cache_foreign(triple);
    jit_error error = {""};
    jit_cpu cpu;
    void *object;
    if (!cache_compiler(c, d)) return d->status;
    cpu = c->is.cpu;
    if (l) {
        c->jit->describe(l->llvm, &cpu);
        snprintf(cpu.triple, sizeof cpu.triple, "%s", triple);
    }
    if (!c->jit->compile(sb_str(ir), ir->len, &cpu, symbol, JIT_OBJECT, &object, size, &error))
        return diag_fail(d, CTSC_ENVIRONMENT, "%s", error.text);
    *data = mem_alloc(*size);
    if (*data) memcpy(*data, object, *size);
    c->jit->release(object);
    return *data ? CTSC_OK : diag_no_memory(d);
}

static atomic_bool cache_in_calls;

void codegen_set_in_calls(bool wait) { atomic_store(&cache_in_calls, wait); }

bool codegen_in_calls(void) { return atomic_load_explicit(&cache_in_calls, memory_order_relaxed); }

codegen_stats codegen_get_stats(codegen *c) {
    pthread_mutex_lock(&c->lock);
    codegen_stats s = c->stats;
    s.compiler = c->jit != NULL;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* ---- one kernel ------------------------------------------------------------------------------ */

/* The key: a comment line, then the IR; `ir` is where that begins. */
static ctsc_status cache_key(codegen *c, nest *n, strbuf *key, size_t *ir, diag *d) {
    sb_printf(key, "; %s %s %s\n", c->is.build, c->is.cpu.name, c->is.cpu.features);
    *ir = key->len;
    return nest_emit_llvm(n, &c->target, key, d);
}

/* Objects that are not as usual are for LLVM. */
static bool cache_load_by_engine(codegen *c, cache_entry *e, const void *object, size_t size,
                                 void **address, jit_error *error) {
    pthread_mutex_lock(&c->lock);
    bool ok = cache_open(c, NULL) && (c->engine || (c->engine = c->jit->engine_new(error)));
    pthread_mutex_unlock(&c->lock);
    return ok && c->jit->load(c->engine, e->name, object, size, address, &e->handle, error);
}

static bool cache_load(codegen *c, cache_entry *e, const void *object, size_t size,
                       jit_error *error) {
    void *address;
    if (!object_load(object, size, e->name, &e->object, &address) &&
        !cache_load_by_engine(c, e, object, size, &address, error))
        return false;
    union {
        void *object;
        kernel_fn fn;
    } entry;
    entry.object = address;
    e->k.fn = entry.fn;
    e->k.code_bytes = size;
    return true;
}

/* Without the lock: from the disk, else by compiling. */
static void cache_make(codegen *c, cache_entry *e) {
    jit_error error = {""};
    void *object;
    size_t size;
    uint64_t start = clock_now();
    e->status = CTSC_OK;
    if (disk_read(&c->disk, e->name, e->key, e->key_len, &object, &size)) {
        bool ok = cache_load(c, e, object, size, &error);
        mem_free(object);
        if (ok) {
            e->k.origin = KERNEL_FROM_DISK;
            e->k.milliseconds = (double)(clock_now() - start) * 1e-6;
            return;
        }
    }
    diag d = {0};
    bool ok = cache_compiler(c, &d);
    if (!ok) {
        e->status = CTSC_ENVIRONMENT;
        snprintf(e->message, sizeof e->message, "%s", diag_message(&d));
        diag_clear(&d);
        return;
    }
    ok = c->jit->compile(e->key + e->ir, e->key_len - e->ir, &c->is.cpu, e->name, JIT_OBJECT,
                         &object, &size, &error);
    if (ok) {
        ok = cache_load(c, e, object, size, &error);
        e->k.milliseconds = (double)(clock_now() - start) * 1e-6;
        if (ok) disk_write(&c->disk, e->name, e->key, e->key_len, object, size);
        c->jit->release(object);
    }
    if (ok) return;
    e->status = CTSC_INTERNAL;
    snprintf(e->message, sizeof e->message, "%s", error.text);
}

/* Makes e, and wakes those who wait for it. */
static void cache_work(cache_entry *e) {
    codegen *c = e->owner;
    float_mode outer = float_mode_plain();
    cache_make(c, e);
    float_mode_end(outer);
    pthread_mutex_lock(&c->lock);
    c->stats.working--;
    if (e->k.origin == KERNEL_FROM_DISK) c->stats.from_disk++;
    else c->stats.compiled++, c->stats.compile_ms += e->k.milliseconds;
    atomic_store_explicit(&e->k.state, e->status == CTSC_OK ? KERNEL_READY : KERNEL_FAILED,
                          memory_order_release);
    pthread_cond_broadcast(&c->ready);
    pthread_mutex_unlock(&c->lock);
}

static void cache_work_later(background_job *j) {
    cache_entry *e = CACHE_OWNER(cache_entry, job, j);
    cache_work(e);
    if (e->status == CTSC_OK)
        log_event(CTSC_LOG_INFO, "a kernel of %zu bytes %s in %.1f ms in the background",
                  e->k.code_bytes, e->k.origin == KERNEL_COMPILED ? "compiled" : "loaded",
                  e->k.milliseconds);
}

/* With the lock held: the entry of key, new (and working) if *made. Takes the key's text then. */
static cache_entry *cache_find(codegen *c, strbuf *key, bool *made) {
    cache_entry *e = strmap_getn(&c->table, sb_str(key), key->len);
    *made = !e;
    if (e) return e;
    e = mem_zalloc(sizeof *e);
    if (!e) return NULL;
    e->owner = c;
    e->job.run = cache_work_later;
    e->key_len = key->len;
    disk_name(e->name, 'k', key->data, key->len);
    if (!strmap_putn(&c->table, key->data, key->len, e)) {
        mem_free(e);
        return NULL;
    }
    e->key = key->data;
    *key = (strbuf)STRBUF_INIT;
    e->next = c->entries;
    c->entries = e;
    return e;
}

kernel_state codegen_wait(codegen *c, const kernel *k, uint64_t until) {
    cache_entry *e = (cache_entry *)(void *)k;
    if (until != UINT64_MAX) {
        if (until) background_hurry(&e->job);
        background_wait(&e->job, until);
        return kernel_get_state(k);
    }
    if (background_take_back(&e->job)) cache_work(e);
    pthread_mutex_lock(&c->lock);
    while (kernel_get_state(k) == KERNEL_WORKING) pthread_cond_wait(&c->ready, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return kernel_get_state(k);
}

ctsc_status codegen_failure(const kernel *k, diag *d) {
    const cache_entry *e = (const cache_entry *)(const void *)k;
    return diag_fail(d, e->status, "%s", e->message);
}

static ctsc_status cache_get(codegen *c, nest *n, bool later, const kernel **out, diag *d) {
    strbuf key = STRBUF_INIT;
    size_t ir;
    bool made;
    ctsc_status st = cache_key(c, n, &key, &ir, d);
    if (st != CTSC_OK) goto out;
    pthread_mutex_lock(&c->lock);
    cache_entry *e = cache_find(c, &key, &made);
    if (e && made) {
        e->ir = ir;
        c->stats.working++;
    } else if (e) {
        c->stats.from_memory++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!e) {
        st = diag_no_memory(d);
        goto out;
    }
    if (made && !(later && background_add(&e->job))) cache_work(e);
    *out = &e->k;
out:
    sb_free(&key);
    return st;
}

ctsc_status codegen_request(codegen *c, nest *n, const kernel **out, diag *d) {
    return cache_get(c, n, true, out, d);
}

ctsc_status codegen_kernel(codegen *c, nest *n, const kernel **out, diag *d) {
    const kernel *k;
    if (!codegen_available(c, d)) return d && d->status ? d->status : CTSC_ENVIRONMENT;
    TRY(cache_get(c, n, false, &k, d));
    if (codegen_wait(c, k, UINT64_MAX) == KERNEL_FAILED) return codegen_failure(k, d);
    *out = k;
    return CTSC_OK;
}

ctsc_status codegen_describe(codegen *c, nest *n, codegen_text what, char **out, diag *d) {
    strbuf key = STRBUF_INIT;
    jit_error error = {""};
    void *data;
    size_t ir, size;
    if (!cache_compiler(c, d)) return d && d->status ? d->status : CTSC_ENVIRONMENT;
    ctsc_status st = cache_key(c, n, &key, &ir, d);
    if (st != CTSC_OK) goto out;
    char *text = NULL;
    if (what == CODEGEN_IR) {
        text = mem_strdup(key.data + ir);
    } else {
        jit_output want = what == CODEGEN_ASSEMBLY ? JIT_ASSEMBLY : JIT_IR;
        if (!c->jit->compile(key.data + ir, key.len - ir, &c->is.cpu, "kernel", want, &data, &size,
                             &error)) {
            st = diag_fail(d, CTSC_INTERNAL, "%s", error.text);
            goto out;
        }
        text = mem_strndup(data, size);
        c->jit->release(data);
    }
    if (text) *out = text;
    else st = diag_no_memory(d);
out:
    sb_free(&key);
    return st;
}
