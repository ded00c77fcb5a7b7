/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.h - the texts inside the library: operators' schemas, and the Python and TorchScript of
 * frontend/prelude.
 *
 * They would be a fifth of the library; compressed they are a sixth of that. So they are embedded
 * as scripts/embed and scripts/deflate make them (the build keeps these files under BUILD/embedded)
 * and inflated one by one, when they are first read.
 */
#ifndef CTSC_BASE_EMBED_H
#define CTSC_BASE_EMBED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct embedded {
    const uint8_t *begin, *end;
    _Atomic(const char *) text; /* once it has been read */
} embedded;

/* EMBED(name, "src/ir/op/schemas.txt") makes the file the text `name`, static to the C file. The
 * assembler takes it in, so that no build step makes C of it; its place in the Makefile says that
 * the C file depends on it. */
#define EMBED(name, path) EMBED_AS(name, path)
#define EMBED_AS(name, path)                                                                       \
    __asm__(".section .rodata.embedded,\"a\"\n"                                                    \
            "embedded_" #name ": .incbin \"" path ".gz\"\n"                                        \
            "embedded_" #name "_end:\n"                                                            \
            ".previous\n");                                                                        \
    extern const uint8_t embedded_##name[] __attribute__((visibility("hidden")));                  \
    extern const uint8_t embedded_##name##_end[] __attribute__((visibility("hidden")));            \
    static embedded name = {embedded_##name, embedded_##name##_end, NULL};

/* The text, which ends in a NUL and lives as long as the process;
 * *len is its length. NULL if out of memory. Any thread may ask. */
const char *embedded_text(embedded *e, size_t *len);

#endif
