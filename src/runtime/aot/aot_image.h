/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aot_image.h - the contents of an object file while they are put together: sections, places in
 * them that hold addresses, and symbols.
 *
 * Ownership: an image owns its sections and copies of names. Out of memory is sticky (`failed`).
 * Tests: tests/aot/
 */
#ifndef CTSC_RUNTIME_AOT_AOT_IMAGE_H
#define CTSC_RUNTIME_AOT_AOT_IMAGE_H

#include "base/diag.h"
#include "base/map.h"

typedef enum image_section {
    IMAGE_TEXT,    /* .text */
    IMAGE_WEIGHTS, /* .rodata: no addresses */
    IMAGE_TABLES,  /* .data.rel.ro: addresses, constant once they are known */
    IMAGE_DATA,    /* .data: what is counted */
    IMAGE_SECTIONS
} image_section;

/* A symbol: of this image, at a place of it, or of another object file. */
typedef struct image_symbol {
    char *name;
    int section; /* -1: of another file */
    size_t at, size;
    bool global, function;
} image_symbol;

/* The bytes at `at` of a section refer to a symbol, or to a place of a section. */
typedef struct image_reloc {
    size_t at;
    uint32_t type; /* the architecture's; 0: an address of 64 bits */
    int symbol;    /* -1: the section `to` */
    int to;
    int64_t addend;
} image_reloc;

typedef struct image_bytes {
    char *data;
    size_t len, cap, align;
    VEC(image_reloc) relocs;
} image_bytes;

typedef struct image {
    image_bytes sections[IMAGE_SECTIONS];
    VEC(image_symbol) symbols;
    strmap names; /* -> index of the symbol + 1 */
    bool arm64;
    bool failed;
} image;

/* A place of a section. */
typedef struct image_at {
    image_section section;
    size_t at;
} image_at;

void image_free(image *g);
/* `size` bytes, zeros where data is NULL. The place is valid whatever happened. */
image_at image_put(image *g, image_section s, const void *data, size_t size, size_t align);
/* Overwrites bytes that are there. */
void image_set(image *g, image_at at, size_t field, const void *data, size_t size);
/* The pointer at `field` of `at` points to a place, or to a symbol of another file. */
void image_point(image *g, image_at at, size_t field, image_at to);
void image_refer(image *g, image_at at, size_t field, const char *symbol, int64_t addend);
image_at image_text(image *g, const char *text); /* NUL-terminated, in the tables */
void image_define(image *g, const char *name, image_at at, size_t size, bool global, bool function);
/* Adds an object that the kernels' compiler made (codegen_object). False: it has something that is
 * not known here. */
bool image_add_object(image *g, const void *data, size_t size);
/* The object file, to be mem_free'd; NULL: out of memory. */
void *image_write(image *g, size_t *size);

#endif
