/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipdir.c - our own reading of a zip's directory: the position of each entry's content.
 *
 * libzip keeps the offsets of entries to itself, and mapping weights needs them. This reader
 * accepts a strict form of the format only, within fixed limits; zip.c then asks libzip about the
 * same file and refuses it unless both agree entry for entry, so that no file means one thing to us
 * and another to other tools.
 *
 *   [local header + name + extra][content][descriptor]   per entry, not overlapping
 *   [central directory: one record per entry]
 *   [zip64 end record][zip64 locator]                     optional
 *   [end record]                                          at the very end, its comment included
 *
 * Sizes come from the central directory: streamed files have none in their local headers.
 * Tests: tests/unit/test_archive.c
 */
#include "runtime/archive/archive_internal.h"

#include <stdlib.h>

enum {
    ZIP_MAX_ENTRIES = 65536,
    ZIP_MAX_NAME = 512,
    ZIP_MAX_DIRECTORY = 64 << 20,
    ZIP_MAX_RATIO = 200,      /* of entries that inflate to more than */
    ZIP_RATIO_FREE = 1 << 20, /* this */
    ZIP_MAX_INFLATED = 1 << 30,
    ZIP_END_SIZE = 22,
    ZIP_LOCATOR_SIZE = 20,
    ZIP_END64_SIZE = 56,
    ZIP_LOCAL_SIZE = 30,
    ZIP_CENTRAL_SIZE = 46,
};

/* clang-format off */
#define ZIP_SIG_LOCAL   0x04034b50u
#define ZIP_SIG_CENTRAL 0x02014b50u
#define ZIP_SIG_END     0x06054b50u
#define ZIP_SIG_LOCATOR 0x07064b50u
#define ZIP_SIG_END64   0x06064b50u
/* clang-format on */

enum { ZIP_FLAG_DESCRIPTOR = 0x8, ZIP_FLAGS_KNOWN = 0x2 | 0x4 | 0x8 | 0x800 };

typedef struct zip_end {
    uint64_t entries, size, offset; /* of the central directory */
    uint64_t at;                    /* where it must end */
} zip_end;

void zipdir_free(zip_dir *dir) {
    mem_free(dir->entries);
    mem_free(dir->names);
    *dir = (zip_dir){0};
}

static ctsc_status zipdir_bad(diag *d, const char *what, uint64_t offset) {
    return diag_fail(d, CTSC_BAD_FILE, "not a readable archive: %s (offset %llu)", what,
                     (unsigned long long)offset);
}

static ctsc_status zipdir_bad_record(diag *d, const zip_entry *e, const char *what) {
    return diag_fail(d, CTSC_BAD_FILE, "record %s (offset %llu): %s", e->name,
                     (unsigned long long)e->header, what);
}

/* ---- the end records ------------------------------------------------------------------------- */

static ctsc_status zipdir_end64(diag *d, const reader *r, uint64_t locator_at, zip_end *end) {
    uint8_t p[ZIP_END64_SIZE];
    ctsc_status s = r->read(r->ctx, d, locator_at, p, ZIP_LOCATOR_SIZE);
    if (s != CTSC_OK || le32(p) != ZIP_SIG_LOCATOR) return s;
    uint64_t at = le64(p + 8);
    if (le32(p + 4) != 0 || le32(p + 16) > 1)
        return zipdir_bad(d, "in several volumes", locator_at);
    if (at > locator_at || locator_at - at < ZIP_END64_SIZE)
        return zipdir_bad(d, "bad zip64 locator", locator_at);
    TRY(r->read(r->ctx, d, at, p, ZIP_END64_SIZE));
    if (le32(p) != ZIP_SIG_END64 || le64(p + 4) != locator_at - at - 12)
        return zipdir_bad(d, "bad zip64 end record", at);
    zip_end big = {le64(p + 32), le64(p + 40), le64(p + 48), at};
    if (le32(p + 16) != 0 || le32(p + 20) != 0 || le64(p + 24) != big.entries)
        return zipdir_bad(d, "in several volumes", at);
    if ((end->entries != UINT16_MAX && end->entries != big.entries) ||
        (end->size != UINT32_MAX && end->size != big.size) ||
        (end->offset != UINT32_MAX && end->offset != big.offset))
        return zipdir_bad(d, "the two end records disagree", at);
    *end = big;
    return CTSC_OK;
}

/* Offset of the end record inside the tail of the file, or -1. */
static ptrdiff_t zipdir_find_end(const uint8_t *tail, size_t len) {
    for (size_t at = len - ZIP_END_SIZE + 1; at-- > 0;)
        if (le32(tail + at) == ZIP_SIG_END && le16(tail + at + 20) == len - at - ZIP_END_SIZE)
            return (ptrdiff_t)at;
    return -1;
}

static ctsc_status zipdir_end(diag *d, const reader *r, uint64_t size, zip_end *end) {
    if (size < ZIP_END_SIZE) return zipdir_bad(d, "too short for a zip", size);
    uint64_t max = ZIP_END_SIZE + UINT16_MAX;
    size_t len = (size_t)(size < max ? size : max);
    uint8_t *tail = mem_alloc(len);
    if (!tail) return diag_no_memory(d);
    ctsc_status s = r->read(r->ctx, d, size - len, tail, len);
    ptrdiff_t found = s == CTSC_OK ? zipdir_find_end(tail, len) : -1;
    if (s == CTSC_OK && found < 0)
        s = zipdir_bad(d, "no end record, the file may be cut short", size);
    if (s == CTSC_OK) {
        const uint8_t *p = tail + found;
        end->at = size - len + (uint64_t)found;
        end->entries = le16(p + 10);
        end->size = le32(p + 12);
        end->offset = le32(p + 16);
        if (le16(p + 4) != 0 || le16(p + 6) != 0 || le16(p + 8) != end->entries)
            s = zipdir_bad(d, "in several volumes", end->at);
    }
    mem_free(tail);
    if (s == CTSC_OK && end->at >= ZIP_LOCATOR_SIZE)
        s = zipdir_end64(d, r, end->at - ZIP_LOCATOR_SIZE, end);
    if (s != CTSC_OK) return s;
    if (end->offset > end->at || end->size != end->at - end->offset)
        return zipdir_bad(d, "the directory is not where the end record says", end->at);
    if (end->entries > ZIP_MAX_ENTRIES || end->size > ZIP_MAX_DIRECTORY)
        return zipdir_bad(d, "more than 65536 entries", end->at);
    if (end->entries * ZIP_CENTRAL_SIZE > end->size)
        return zipdir_bad(d, "fewer entries than announced", end->offset);
    if (end->entries == 0) return zipdir_bad(d, "empty", end->at);
    return CTSC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* A relative path of plain components, as every writer produces. */
static bool zipdir_name_ok(const uint8_t *name, size_t len) {
    if (len == 0 || len > ZIP_MAX_NAME || name[0] == '/') return false;
    size_t start = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '/') {
            if (name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\') return false;
            continue;
        }
        size_t part = i - start;
        if (part == 0 && i != len) return false; /* "a//b"; "a/" is a folder */
        if (part == 1 && name[start] == '.') return false;
        if (part == 2 && name[start] == '.' && name[start + 1] == '.') return false;
        start = i + 1;
    }
    return true;
}

/* Replaces the 32-bit fields that say "see the zip64 extra", in the order the format gives them. */
static bool zipdir_zip64(const uint8_t *extra, size_t len, uint64_t *const fields[], int n) {
    const uint8_t *p = NULL;
    size_t left = 0;
    for (size_t at = 0; len - at >= 4;) {
        size_t size = le16(extra + at + 2);
        if (size > len - at - 4) return false;
        if (le16(extra + at) == 1 && !p) {
            p = extra + at + 4;
            left = size;
        }
        at += 4 + size;
    }
    for (int i = 0; i < n; i++) {
        if (*fields[i] != UINT32_MAX) continue;
        if (left < 8) return false;
        *fields[i] = le64(p);
        p += 8;
        left -= 8;
    }
    return true;
}

static ctsc_status zipdir_check_entry(diag *d, const zip_entry *e, uint16_t flags, uint64_t limit) {
    if (flags & 1) return zipdir_bad_record(d, e, "encrypted");
    if (flags & ~ZIP_FLAGS_KNOWN) return zipdir_bad_record(d, e, "unknown flags");
    if (e->method != ZIP_STORED && e->method != ZIP_DEFLATED)
        return zipdir_bad_record(d, e, "compressed by a method other than deflate");
    if (e->method == ZIP_STORED && e->csize != e->usize)
        return zipdir_bad_record(d, e, "two sizes for a stored record");
    if (e->header > limit || limit - e->header < ZIP_LOCAL_SIZE || e->csize > limit)
        return zipdir_bad_record(d, e, "is outside the file");
    if (e->method == ZIP_DEFLATED && e->usize > ZIP_RATIO_FREE &&
        (e->usize / ZIP_MAX_RATIO > e->csize || e->usize > ZIP_MAX_INFLATED))
        return zipdir_bad_record(d, e, "inflates to an unreasonable size");
    size_t len = strlen(e->name);
    if (e->name[len - 1] == '/' && e->usize != 0)
        return zipdir_bad_record(d, e, "a folder with content");
    return CTSC_OK;
}

/* One record of the central directory; *p moves past it. */
static ctsc_status zipdir_central(diag *d, const uint8_t **p, const uint8_t *end, uint64_t limit,
                                  char **names, zip_entry *e) {
    const uint8_t *h = *p;
    if (end - h < ZIP_CENTRAL_SIZE || le32(h) != ZIP_SIG_CENTRAL)
        return zipdir_bad(d, "damaged directory", limit);
    size_t name = le16(h + 28), extra = le16(h + 30), comment = le16(h + 32);
    if ((size_t)(end - h) - ZIP_CENTRAL_SIZE < name + extra + comment)
        return zipdir_bad(d, "damaged directory", limit);
    *p = h + ZIP_CENTRAL_SIZE + name + extra + comment;
    uint16_t flags = le16(h + 8);
    e->method = le16(h + 10);
    e->crc = le32(h + 16);
    e->csize = le32(h + 20);
    e->usize = le32(h + 24);
    e->header = le32(h + 42);
    if (!zipdir_name_ok(h + ZIP_CENTRAL_SIZE, name))
        return zipdir_bad(d, "an entry has a name that is not allowed", e->header);
    memcpy(*names, h + ZIP_CENTRAL_SIZE, name);
    e->name = *names;
    *names += name + 1;
    uint64_t *fields[] = {&e->usize, &e->csize, &e->header};
    if (!zipdir_zip64(h + ZIP_CENTRAL_SIZE + name, extra, fields, 3))
        return zipdir_bad_record(d, e, "damaged extra field");
    if (le16(h + 34) != 0) return zipdir_bad_record(d, e, "in another volume");
    if (h[5] == 3 && (le32(h + 38) >> 16 & 0170000) == 0120000)
        return zipdir_bad_record(d, e, "a symbolic link");
    return zipdir_check_entry(d, e, flags, limit);
}

/* Finds the content after the local header, which must agree with the directory. */
static ctsc_status zipdir_local(diag *d, const reader *r, uint64_t limit, uint8_t *buf,
                                zip_entry *e) {
    TRY(r->read(r->ctx, d, e->header, buf, ZIP_LOCAL_SIZE));
    if (le32(buf) != ZIP_SIG_LOCAL) return zipdir_bad_record(d, e, "no local header");
    size_t name = le16(buf + 26), extra = le16(buf + 28), want = strlen(e->name);
    uint64_t left = limit - e->header - ZIP_LOCAL_SIZE;
    if (name + extra > left || e->csize > left - name - extra)
        return zipdir_bad_record(d, e, "reaches beyond the end of the records");
    e->data = e->header + ZIP_LOCAL_SIZE + name + extra;
    uint16_t flags = le16(buf + 6), method = le16(buf + 8);
    uint32_t crc = le32(buf + 14);
    uint64_t csize = le32(buf + 18), usize = le32(buf + 22);
    bool streamed = flags & ZIP_FLAG_DESCRIPTOR, big = csize == UINT32_MAX || usize == UINT32_MAX;
    if (name != want || method != e->method || (flags & ~ZIP_FLAGS_KNOWN))
        return zipdir_bad_record(d, e, "local header and directory disagree");
    TRY(r->read(r->ctx, d, e->header + ZIP_LOCAL_SIZE, buf, name + (big ? extra : 0)));
    if (memcmp(buf, e->name, want) != 0) return zipdir_bad_record(d, e, "has two names");
    uint64_t *fields[] = {&usize, &csize};
    if (big && !zipdir_zip64(buf + name, extra, fields, 2) && !streamed)
        return zipdir_bad_record(d, e, "damaged extra field");
    if (streamed && crc == 0 && (csize == 0 || csize == UINT32_MAX) &&
        (usize == 0 || usize == UINT32_MAX))
        return CTSC_OK; /* they follow the content */
    if (crc != e->crc || csize != e->csize || usize != e->usize)
        return zipdir_bad_record(d, e, "local header and directory disagree");
    return CTSC_OK;
}

static int zipdir_by_offset(const void *a, const void *b) {
    const zip_entry *x = *(const zip_entry *const *)a, *y = *(const zip_entry *const *)b;
    return (x->header > y->header) - (x->header < y->header);
}

static ctsc_status zipdir_check_overlap(diag *d, const zip_dir *dir) {
    const zip_entry **order = mem_alloc(dir->n * sizeof *order);
    if (!order) return diag_no_memory(d);
    for (size_t i = 0; i < dir->n; i++) order[i] = &dir->entries[i];
    qsort(order, dir->n, sizeof *order, zipdir_by_offset);
    ctsc_status s = CTSC_OK;
    if (order[0]->header != 0) s = zipdir_bad(d, "there is something before the first entry", 0);
    for (size_t i = 1; i < dir->n && s == CTSC_OK; i++)
        if (order[i]->header < order[i - 1]->data + order[i - 1]->csize)
            s = zipdir_bad_record(d, order[i], "overlaps with another record");
    mem_free(order);
    return s;
}

ctsc_status zipdir_read(diag *d, const reader *r, uint64_t size, zip_dir *out) {
    zip_end end = {0};
    zip_dir dir = {0};
    ctsc_status s = zipdir_end(d, r, size, &end);
    if (s != CTSC_OK) return s;
    /* A local header's name and extra field are at most 64 KiB each. */
    uint8_t *central = mem_alloc((size_t)end.size), *buf = mem_alloc(2 * UINT16_MAX);
    dir.entries = mem_zalloc((size_t)end.entries * sizeof *dir.entries);
    dir.names = mem_zalloc((size_t)end.size);
    dir.n = (size_t)end.entries;
    if (!central || !buf || !dir.entries || !dir.names) {
        s = diag_no_memory(d);
        goto out;
    }
    s = r->read(r->ctx, d, end.offset, central, (size_t)end.size);
    const uint8_t *p = central;
    char *names = dir.names;
    for (size_t i = 0; i < dir.n && s == CTSC_OK; i++)
        s = zipdir_central(d, &p, central + end.size, end.offset, &names, &dir.entries[i]);
    if (s == CTSC_OK && p != central + end.size)
        s = zipdir_bad(d, "more entries than announced", end.offset);
    for (size_t i = 0; i < dir.n && s == CTSC_OK; i++)
        s = zipdir_local(d, r, end.offset, buf, &dir.entries[i]);
    if (s == CTSC_OK) s = zipdir_check_overlap(d, &dir);
out:
    mem_free(central);
    mem_free(buf);
    if (s == CTSC_OK) *out = dir;
    else zipdir_free(&dir);
    return s;
}
