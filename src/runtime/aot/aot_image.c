/* SPDX-License-Identifier: Apache-2.0 */
/* aot_image.c - see aot_image.h. Tests: tests/aot/ */
#include "runtime/aot/aot_image.h"

#include <string.h>

void image_free(image *g) {
    for (int i = 0; i < IMAGE_SECTIONS; i++) {
        mem_free(g->sections[i].data);
        vec_free(&g->sections[i].relocs);
    }
    for (size_t i = 0; i < g->symbols.len; i++) mem_free(g->symbols.data[i].name);
    vec_free(&g->symbols);
    strmap_free(&g->names);
}

static bool image_reserve(image *g, image_bytes *b, size_t more) {
    size_t need, cap = b->cap ? b->cap : 4096;
    if (g->failed || !size_add(b->len, more, &need)) return !(g->failed = true);
    while (cap < need) cap *= 2;
    if (cap == b->cap) return true;
    char *data = mem_resize(b->data, cap);
    if (!data) return !(g->failed = true);
    b->data = data;
    b->cap = cap;
    return true;
}

image_at image_put(image *g, image_section s, const void *data, size_t size, size_t align) {
    image_bytes *b = &g->sections[s];
    size_t pad = (align - b->len % align) % align;
    if (align > b->align) b->align = align;
    if (!image_reserve(g, b, pad + size)) return (image_at){s, 0};
    memset(b->data + b->len, 0, pad);
    image_at at = {s, b->len + pad};
    if (!size) return at;
    if (data) memcpy(b->data + at.at, data, size);
    else memset(b->data + at.at, 0, size);
    b->len = at.at + size;
    return at;
}

void image_set(image *g, image_at at, size_t field, const void *data, size_t size) {
    if (!g->failed) memcpy(g->sections[at.section].data + at.at + field, data, size);
}

static void image_reloc_add(image *g, image_section s, image_reloc r) {
    if (!vec_push(&g->sections[s].relocs, r)) g->failed = true;
}

void image_point(image *g, image_at at, size_t field, image_at to) {
    image_reloc_add(
        g, at.section,
        (image_reloc){
            .at = at.at + field, .symbol = -1, .to = (int)to.section, .addend = (int64_t)to.at});
}

/* The symbol of that name, which is added if it is new. */
static int image_symbol_of(image *g, const char *name) {
    uintptr_t known = (uintptr_t)strmap_get(&g->names, name);
    if (known) return (int)known - 1;
    image_symbol s = {.name = mem_strdup(name), .section = -1, .global = true};
    if (!s.name || !vec_push(&g->symbols, s) ||
        !strmap_put(&g->names, s.name, (void *)g->symbols.len))
        g->failed = true;
    return (int)g->symbols.len - 1;
}

void image_refer(image *g, image_at at, size_t field, const char *symbol, int64_t addend) {
    image_reloc_add(
        g, at.section,
        (image_reloc){.at = at.at + field, .symbol = image_symbol_of(g, symbol), .addend = addend});
}

image_at image_text(image *g, const char *text) {
    return image_put(g, IMAGE_TABLES, text, strlen(text) + 1, 1);
}

void image_define(image *g, const char *name, image_at at, size_t size, bool global,
                  bool function) {
    int k = image_symbol_of(g, name);
    if (g->failed) return;
    image_symbol *s = &g->symbols.data[k];
    s->section = (int)at.section, s->at = at.at, s->size = size;
    s->global = global, s->function = function;
}
