/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.c - see object.h.
 *
 * Method. An ELF object of one kernel is its code, its constants, and calls of functions of
 * libm (kernel_symbols.def, and nothing else of the process). Its sections are placed one
 * after the other in one mapping, followed by a jump for each function that is called, since
 * the process's own code may be out of a call's range. Then references are resolved, and the
 * mapping is made executable and read-only. Features that kernels do not use (writable data,
 * thread-local variables, references through tables) are not supported here.
 *
 * Invariant: every offset and size that the file states is checked before it is used.
 */
#include "codegen/cache/object.h"

#include "base/memory/mem.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifndef SHT_X86_64_UNWIND /* musl's header lacks it */
#define SHT_X86_64_UNWIND 0x70000001
#endif

/* ---- what kernels may call ------------------------------------------------------------------- */

/* Looked up when a kernel calls one: tables of addresses would cost the library 5 kB. */
#define KERNEL_SYMBOL(name) #name,
static const char object_symbols[][12] = {
#include "codegen/llvm/kernel_symbols.def"
};
#undef KERNEL_SYMBOL
enum { OBJECT_SYMBOLS = sizeof object_symbols / sizeof *object_symbols };

#if defined(__x86_64__)

enum { OBJECT_MACHINE = EM_X86_64, OBJECT_JUMP = 16, OBJECT_MOST = 1 << 26 };

typedef struct object_file {
    const char *data;
    size_t size;
    const Elf64_Shdr *sections;
    size_t nsections;
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names; /* of symbols; ends with a zero */
    size_t names_size;
    size_t *place; /* of each section in the mapping; SIZE_MAX: it is not loaded */
    size_t jumps;  /* in the mapping: one for each of object_symbols */
    size_t all;
    char *memory;
} object_file;

/* ---- reading --------------------------------------------------------------------------------- */

static const void *object_span(const object_file *f, uint64_t offset, uint64_t size) {
    if (offset > f->size || size > f->size - offset || offset % 8) return NULL;
    return f->data + offset;
}

static bool object_open(object_file *f) {
    const Elf64_Ehdr *h = object_span(f, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL ||
        h->e_machine != OBJECT_MACHINE || h->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    f->nsections = h->e_shnum;
    f->sections = object_span(f, h->e_shoff, f->nsections * sizeof(Elf64_Shdr));
    if (!f->sections) return false;
    for (size_t i = 0; i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type != SHT_SYMTAB) continue;
        if (s->sh_link >= f->nsections || f->symbols) return false;
        const Elf64_Shdr *names = &f->sections[s->sh_link];
        f->symbols = object_span(f, s->sh_offset, s->sh_size);
        f->nsymbols = s->sh_size / sizeof(Elf64_Sym);
        f->names_size = names->sh_size;
        if (names->sh_offset > f->size || names->sh_size > f->size - names->sh_offset ||
            !names->sh_size)
            return false;
        f->names = f->data + names->sh_offset;
        if (f->names[f->names_size - 1]) return false;
    }
    return f->symbols != NULL;
}

/* Places of sections; false: there are some that are not known here. */
static bool object_place(object_file *f) {
    size_t at = 0;
    for (size_t i = 0; i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        f->place[i] = SIZE_MAX;
        if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_X86_64_UNWIND) continue;
        if (s->sh_type != SHT_PROGBITS || s->sh_flags & (SHF_WRITE | SHF_TLS)) return false;
        size_t align = s->sh_addralign ? s->sh_addralign : 1;
        if (align > 4096 || align & (align - 1) || s->sh_offset > f->size ||
            s->sh_size > f->size - s->sh_offset)
            return false;
        at = (at + align - 1) & ~(align - 1);
        f->place[i] = at;
        at += s->sh_size;
        if (at > OBJECT_MOST) return false;
    }
    f->jumps = (at + OBJECT_JUMP - 1) & ~(size_t)(OBJECT_JUMP - 1);
    f->all = f->jumps;
    return at > 0;
}

/* ---- references ------------------------------------------------------------------------------ */

/* The jump to a function of the process: jmp *0(%rip), and the address. SIZE_MAX: it is none that
 * kernels may call. */
static size_t object_jump(object_file *f, const char *name) {
    static const unsigned char code[] = {0xff, 0x25, 0, 0, 0, 0};
    size_t i = 0;
    while (i < OBJECT_SYMBOLS && strcmp(object_symbols[i], name) != 0) i++;
    void *address = i < OBJECT_SYMBOLS ? dlsym(RTLD_DEFAULT, name) : NULL;
    if (!address) return SIZE_MAX;
    size_t at = f->jumps + i * OBJECT_JUMP;
    memcpy(f->memory + at, code, sizeof code);
    memcpy(f->memory + at + sizeof code, &address, sizeof address);
    return at;
}

static const Elf64_Sym *object_symbol_at(const object_file *f, size_t i) {
    return i < f->nsymbols && f->symbols[i].st_name < f->names_size ? &f->symbols[i] : NULL;
}

/* A symbol's place in the mapping; SIZE_MAX: it has none. */
static size_t object_target(object_file *f, size_t i) {
    const Elf64_Sym *s = object_symbol_at(f, i);
    if (!s) return SIZE_MAX;
    if (s->st_shndx == SHN_UNDEF) return object_jump(f, f->names + s->st_name);
    if (s->st_shndx >= f->nsections || f->place[s->st_shndx] == SIZE_MAX ||
        s->st_value > f->sections[s->st_shndx].sh_size)
        return SIZE_MAX;
    return f->place[s->st_shndx] + s->st_value;
}

static bool object_resolve(object_file *f, const Elf64_Rela *r, const Elf64_Shdr *section,
                           size_t place) {
    uint32_t type = ELF64_R_TYPE(r->r_info);
    size_t width = type == R_X86_64_64 ? 8 : 4, target = object_target(f, ELF64_R_SYM(r->r_info));
    if (target == SIZE_MAX || r->r_offset > section->sh_size ||
        width > section->sh_size - r->r_offset)
        return false;
    char *at = f->memory + place + r->r_offset;
    if (type == R_X86_64_64) {
        uint64_t address = (uint64_t)(uintptr_t)(f->memory + target) + (uint64_t)r->r_addend;
        memcpy(at, &address, sizeof address);
        return true;
    }
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) return false;
    int64_t far;
    if (__builtin_add_overflow((int64_t)target - (int64_t)(place + r->r_offset), r->r_addend,
                               &far) ||
        far < INT32_MIN || far > INT32_MAX)
        return false;
    int32_t near = (int32_t)far;
    memcpy(at, &near, sizeof near);
    return true;
}

/* Those of every section that is loaded; false: some are not known here. */
static bool object_references(object_file *f) {
    for (size_t i = 0; i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type == SHT_REL) return false;
        if (s->sh_type != SHT_RELA) continue;
        if (s->sh_info >= f->nsections) return false;
        if (f->place[s->sh_info] == SIZE_MAX) continue;
        const Elf64_Rela *r = object_span(f, s->sh_offset, s->sh_size);
        if (!r) return false;
        for (size_t k = 0; k < s->sh_size / sizeof *r; k++)
            if (!object_resolve(f, &r[k], &f->sections[s->sh_info], f->place[s->sh_info]))
                return false;
    }
    return true;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool object_calls(const object_file *f) {
    for (size_t i = 1; i < f->nsymbols; i++)
        if (f->symbols[i].st_shndx == SHN_UNDEF) return true;
    return false;
}

static bool object_put(object_file *f) {
    if (object_calls(f)) f->all += OBJECT_SYMBOLS * OBJECT_JUMP;
    void *p = mmap(NULL, f->all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    f->memory = p;
    for (size_t i = 0; i < f->nsections; i++)
        if (f->place[i] != SIZE_MAX)
            memcpy(f->memory + f->place[i], f->data + f->sections[i].sh_offset,
                   f->sections[i].sh_size);
    return object_references(f) && mprotect(f->memory, f->all, PROT_READ | PROT_EXEC) == 0;
}

static char *object_find(object_file *f, const char *symbol) {
    for (size_t i = 1; i < f->nsymbols; i++) {
        const Elf64_Sym *s = object_symbol_at(f, i);
        if (!s || s->st_shndx == SHN_UNDEF || strcmp(f->names + s->st_name, symbol) != 0) continue;
        size_t at = object_target(f, i);
        return at == SIZE_MAX ? NULL : f->memory + at;
    }
    return NULL;
}

bool object_load(const void *data, size_t size, const char *symbol, object_code *out,
                 void **address) {
    object_file f = {.data = data, .size = size};
    char *found = NULL;
    if ((uintptr_t)data % 8 || !object_open(&f) ||
        !(f.place = mem_alloc(f.nsections * sizeof *f.place)))
        return false;
    if (object_place(&f) && object_put(&f)) found = object_find(&f, symbol);
    mem_free(f.place);
    if (!found) {
        if (f.memory) (void)munmap(f.memory, f.all);
        return false;
    }
    *out = (object_code){f.memory, f.all};
    *address = found;
    return true;
}

void object_unload(object_code *o) {
    if (o->memory) (void)munmap(o->memory, o->size);
    *o = (object_code){0};
}

#else

bool object_load(const void *data, size_t size, const char *symbol, object_code *out,
                 void **address) {
    (void)data, (void)size, (void)symbol, (void)out, (void)address, (void)object_symbols;
    return false;
}

void object_unload(object_code *o) { (void)o; }

#endif
