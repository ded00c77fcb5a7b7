/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot_elf.c - object files in ELF: kernels that LLVM made are taken apart, their sections joined to
 * those of the image; and the whole is written. So no linker and no assembler is needed, for
 * another architecture either.
 *
 * Method. Sections of a kernel are appended to .text and .rodata. Its references keep their types
 * (the architecture's), and move; one to a section or symbol of the kernel's own becomes one to the
 * section that it was appended to.
 *
 * Invariant: kernels come from this process's compiler; every offset is checked all the same.
 * Tests: tests/aot/
 */
#include "runtime/aot/aot_image.h"

#include <elf.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct elf_input {
    const char *data;
    size_t size;
    const Elf64_Shdr *sections;
    size_t nsections;
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names;
    size_t names_size;
    image_at *places; /* of sections; */
    bool *placed;
} elf_input;

static const void *elf_span(const elf_input *f, uint64_t offset, uint64_t size) {
    return offset > f->size || size > f->size - offset ? NULL : f->data + offset;
}

static bool elf_open(elf_input *f, bool arm64) {
    const Elf64_Ehdr *h = elf_span(f, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_type != ET_REL || h->e_machine != (arm64 ? EM_AARCH64 : EM_X86_64) ||
        h->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    f->nsections = h->e_shnum;
    f->sections = elf_span(f, h->e_shoff, f->nsections * sizeof(Elf64_Shdr));
    for (size_t i = 0; f->sections && i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= f->nsections) continue;
        const Elf64_Shdr *names = &f->sections[s->sh_link];
        f->symbols = elf_span(f, s->sh_offset, s->sh_size);
        f->nsymbols = s->sh_size / sizeof(Elf64_Sym);
        f->names = elf_span(f, names->sh_offset, names->sh_size);
        f->names_size = names->sh_size;
    }
    return f->symbols && f->names && f->names_size && !f->names[f->names_size - 1];
}

static bool elf_place(image *g, elf_input *f) {
    for (size_t i = 0; i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (!(s->sh_flags & SHF_ALLOC) || s->sh_type != SHT_PROGBITS || !s->sh_size) continue;
        const void *bytes = elf_span(f, s->sh_offset, s->sh_size);
        size_t align = s->sh_addralign ? s->sh_addralign : 1;
        if (!bytes || align > 4096 || s->sh_flags & (SHF_WRITE | SHF_TLS)) return false;
        f->places[i] = image_put(g, s->sh_flags & SHF_EXECINSTR ? IMAGE_TEXT : IMAGE_WEIGHTS, bytes,
                                 s->sh_size, align);
        f->placed[i] = true;
    }
    return true;
}

static const char *elf_name(const elf_input *f, const Elf64_Sym *s) {
    return s->st_name < f->names_size ? f->names + s->st_name : "";
}

static bool elf_refer(image *g, const elf_input *f, const Elf64_Rela *r, image_at section) {
    if (ELF64_R_SYM(r->r_info) >= f->nsymbols) return false;
    const Elf64_Sym *s = &f->symbols[ELF64_R_SYM(r->r_info)];
    image_reloc to = {.at = section.at + r->r_offset,
                      .type = ELF64_R_TYPE(r->r_info),
                      .symbol = -1,
                      .addend = r->r_addend};
    if (s->st_shndx == SHN_UNDEF) {
        image_refer(g, section, r->r_offset, elf_name(f, s), r->r_addend);
        if (!g->failed) vec_last(&g->sections[section.section].relocs).type = to.type;
        return true;
    }
    if (s->st_shndx >= f->nsections || !f->placed[s->st_shndx]) return false;
    to.to = (int)f->places[s->st_shndx].section;
    to.addend += (int64_t)(f->places[s->st_shndx].at + s->st_value);
    if (!vec_push(&g->sections[section.section].relocs, to)) g->failed = true;
    return true;
}

static bool elf_references(image *g, const elf_input *f) {
    for (size_t i = 0; i < f->nsections; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type != SHT_RELA || s->sh_info >= f->nsections || !f->placed[s->sh_info])
            continue;
        const Elf64_Rela *r = elf_span(f, s->sh_offset, s->sh_size);
        for (size_t k = 0; r && k < s->sh_size / sizeof *r; k++)
            if (!elf_refer(g, f, &r[k], f->places[s->sh_info])) return false;
        if (!r) return false;
    }
    return true;
}

bool image_add_object(image *g, const void *data, size_t size) {
    elf_input f = {.data = data, .size = size};
    if (!elf_open(&f, g->arm64)) return false;
    f.places = mem_zalloc(f.nsections * sizeof *f.places);
    f.placed = mem_zalloc(f.nsections * sizeof *f.placed);
    bool ok = f.places && f.placed && elf_place(g, &f) && elf_references(g, &f);
    for (size_t i = 1; ok && i < f.nsymbols; i++) {
        const Elf64_Sym *s = &f.symbols[i];
        if (ELF64_ST_BIND(s->st_info) != STB_GLOBAL || s->st_shndx == SHN_UNDEF ||
            s->st_shndx >= f.nsections || !f.placed[s->st_shndx])
            continue;
        image_at at = f.places[s->st_shndx];
        at.at += s->st_value;
        image_define(g, elf_name(&f, s), at, s->st_size, false, true);
    }
    mem_free(f.places);
    mem_free(f.placed);
    return ok && !g->failed;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t flags;
} elf_sections[IMAGE_SECTIONS] = {
    [IMAGE_TEXT] = {".text", SHF_ALLOC | SHF_EXECINSTR},
    [IMAGE_WEIGHTS] = {".rodata", SHF_ALLOC},
    [IMAGE_TABLES] = {".data.rel.ro", SHF_ALLOC | SHF_WRITE},
    [IMAGE_DATA] = {".data", SHF_ALLOC | SHF_WRITE},
};

/* Section numbers: 0, then data and references of each, then these. */
enum {
    ELF_DATA = 1,
    ELF_RELA = ELF_DATA + IMAGE_SECTIONS,
    ELF_STACK = ELF_RELA + IMAGE_SECTIONS,
    ELF_SYMBOLS,
    ELF_STRINGS,
    ELF_COUNT
};

typedef struct elf_output {
    strbuf file, strings;
    Elf64_Shdr sections[ELF_COUNT];
} elf_output;

static uint32_t elf_string(elf_output *o, const char *text) {
    uint32_t at = (uint32_t)o->strings.len;
    sb_write(&o->strings, text, strlen(text) + 1);
    return at;
}

static void elf_section(elf_output *o, int number, uint32_t name, uint32_t type, uint64_t flags,
                        const void *data, size_t size, size_t align) {
    if (align < 1) align = 1;
    sb_fill(&o->file, 0, (align - o->file.len % align) % align);
    o->sections[number] = (Elf64_Shdr){.sh_name = name,
                                       .sh_type = type,
                                       .sh_flags = flags,
                                       .sh_offset = o->file.len,
                                       .sh_size = size,
                                       .sh_addralign = align};
    if (size) sb_write(&o->file, data, size);
}

/* The place of a symbol in the file: locals come first. order: by symbol of the image. */
static void elf_symbols(elf_output *o, const image *g, int *order) {
    strbuf table = STRBUF_INIT;
    Elf64_Sym none = {0};
    int n = 1;
    sb_write(&table, (const char *)&none, sizeof none);
    for (int i = 0; i < IMAGE_SECTIONS; i++, n++) {
        Elf64_Sym s = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION),
                       .st_shndx = (Elf64_Half)(ELF_DATA + i)};
        sb_write(&table, (const char *)&s, sizeof s);
    }
    int locals = 0;
    for (int global = 0; global < 2; global++) {
        for (size_t i = 0; i < g->symbols.len; i++) {
            const image_symbol *x = &g->symbols.data[i];
            if (x->global != (global == 1)) continue;
            int type = x->section < 0 ? STT_NOTYPE : x->function ? STT_FUNC : STT_OBJECT;
            Elf64_Sym s = {
                .st_name = elf_string(o, x->name),
                .st_info = (unsigned char)ELF64_ST_INFO(global ? STB_GLOBAL : STB_LOCAL, type),
                .st_shndx = x->section < 0 ? SHN_UNDEF : (Elf64_Half)(ELF_DATA + x->section),
                .st_value = x->at,
                .st_size = x->size};
            order[i] = n++;
            sb_write(&table, (const char *)&s, sizeof s);
        }
        if (!global) locals = n;
    }
    if (table.failed) o->file.failed = true;
    elf_section(o, ELF_SYMBOLS, elf_string(o, ".symtab"), SHT_SYMTAB, 0, sb_str(&table), table.len,
                8);
    o->sections[ELF_SYMBOLS].sh_link = ELF_STRINGS;
    o->sections[ELF_SYMBOLS].sh_info = (Elf64_Word)locals;
    o->sections[ELF_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    sb_free(&table);
}

static void elf_relocs(elf_output *o, const image *g, int section, const int *order) {
    const image_bytes *b = &g->sections[section];
    strbuf table = STRBUF_INIT, name = STRBUF_INIT;
    uint32_t address = g->arm64 ? R_AARCH64_ABS64 : R_X86_64_64;
    for (size_t i = 0; i < b->relocs.len; i++) {
        const image_reloc *r = &b->relocs.data[i];
        uint64_t symbol = (uint64_t)(r->symbol >= 0 ? order[r->symbol] : 1 + r->to);
        Elf64_Rela x = {.r_offset = r->at,
                        .r_info = ELF64_R_INFO(symbol, r->type ? r->type : address),
                        .r_addend = r->addend};
        sb_write(&table, (const char *)&x, sizeof x);
    }
    sb_printf(&name, ".rela%s", elf_sections[section].name);
    if (table.failed || name.failed) o->file.failed = true;
    elf_section(o, ELF_RELA + section, elf_string(o, sb_str(&name)), SHT_RELA, SHF_INFO_LINK,
                sb_str(&table), table.len, 8);
    o->sections[ELF_RELA + section].sh_link = ELF_SYMBOLS;
    o->sections[ELF_RELA + section].sh_info = (Elf64_Word)(ELF_DATA + section);
    o->sections[ELF_RELA + section].sh_entsize = sizeof(Elf64_Rela);
    sb_free(&table);
    sb_free(&name);
}

static void elf_head(elf_output *o, bool arm64, size_t sections) {
    Elf64_Ehdr h = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = arm64 ? EM_AARCH64 : EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = sections,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = ELF_COUNT,
        .e_shstrndx = ELF_STRINGS};
    if (!o->file.failed) memcpy(o->file.data, &h, sizeof h);
}

void *image_write(image *g, size_t *size) {
    elf_output o = {.file = STRBUF_INIT, .strings = STRBUF_INIT};
    int *order = mem_alloc((g->symbols.len + 1) * sizeof *order);
    sb_fill(&o.file, 0, sizeof(Elf64_Ehdr));
    sb_putc(&o.strings, 0);
    for (int i = 0; i < IMAGE_SECTIONS; i++)
        elf_section(&o, ELF_DATA + i, elf_string(&o, elf_sections[i].name), SHT_PROGBITS,
                    elf_sections[i].flags, g->sections[i].data, g->sections[i].len,
                    g->sections[i].align);
    if (order) elf_symbols(&o, g, order);
    for (int i = 0; order && i < IMAGE_SECTIONS; i++) elf_relocs(&o, g, i, order);
    elf_section(&o, ELF_STACK, elf_string(&o, ".note.GNU-stack"), SHT_PROGBITS, 0, NULL, 0, 1);
    uint32_t own = elf_string(&o, ".strtab");
    elf_section(&o, ELF_STRINGS, own, SHT_STRTAB, 0, sb_str(&o.strings), o.strings.len, 1);
    sb_fill(&o.file, 0, (8 - o.file.len % 8) % 8);
    size_t table = o.file.len;
    sb_write(&o.file, (const char *)o.sections, sizeof o.sections);
    elf_head(&o, g->arm64, table);
    bool ok = order && !g->failed && !o.file.failed && !o.strings.failed;
    mem_free(order);
    sb_free(&o.strings);
    *size = o.file.len;
    if (ok) return sb_take(&o.file);
    sb_free(&o.file);
    return NULL;
}
