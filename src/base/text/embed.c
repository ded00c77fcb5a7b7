/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.c - inflates embedded texts.
 *
 * Method: an embedded text is deflated, and followed by its length (scripts/deflate), so there is
 * one allocation of the right size. A checksum would take half as long again and tell of nothing
 * but a broken build. Two threads that ask for the same text at the same time may both inflate it;
 * the first one's stays.
 * Tests: tests/unit/test_embed.c
 */
#include "base/text/embed.h"

#include "base/memory/mem.h"

#include <string.h>
#include <zlib.h>

enum { EMBED_LENGTH = 4 }; /* bytes of the length */

/* zlib's memory is ours. */
static void *embed_alloc(void *ctx, unsigned n, unsigned size) {
    (void)ctx;
    return mem_alloc((size_t)n * size);
}

static void embed_free(void *ctx, void *p) {
    (void)ctx;
    mem_free(p);
}

static size_t embed_length(const embedded *e) {
    const uint8_t *p = e->end - EMBED_LENGTH;
    return p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static bool embed_inflate(const embedded *e, char *text, size_t len) {
    z_stream z = {.next_in = (uint8_t *)e->begin, .zalloc = embed_alloc, .zfree = embed_free};
    z.avail_in = (unsigned)(e->end - e->begin) - EMBED_LENGTH;
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    z.next_out = (uint8_t *)text;
    z.avail_out = (unsigned)len;
    bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return ok;
}

const char *embedded_text(embedded *e, size_t *len) {
    *len = embed_length(e);
    const char *known = atomic_load_explicit(&e->text, memory_order_acquire);
    if (known) return known;
    char *text = mem_alloc(*len + 1);
    if (!text || !embed_inflate(e, text, *len)) {
        mem_free(text);
        return NULL;
    }
    text[*len] = '\0';
    if (atomic_compare_exchange_strong(&e->text, &known, text)) return text;
    mem_free(text);
    return known;
}
