/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_archive.c - the container: what is accepted, what is refused, and that damage is noticed.
 *
 * Well-formed archives come from libzip; hostile ones from a small writer below that writes
 * whatever it is told.
 */
#include "cpu/convert/crc.h"
#include "runtime/archive/archive_internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <zip.h>
#include <zlib.h>

#include <cmocka.h>

/* ---- a writer that does as it is told
 * ---------------------------------------------------------------- */

typedef struct raw_entry {
    const char *name;
    const char *data;
    size_t len;
    /* Deviations from a correct file; 0: none. */
    int method; /* of the directory */
    int flags;
    const char *local_name;
    uint32_t claim_usize; /* in both headers */
    uint32_t local_usize; /* in the local header only */
    uint32_t mode;        /* Unix mode */
    bool no_crc;
    bool wrong_crc;
    bool wide;    /* sizes and offset are in extra fields, 64 bits each */
    size_t lacks; /* bytes of them, in both headers */
    long shift;   /* added to the local header's offset */
    size_t align; /* pad the data to this */
} raw_entry;

typedef struct bytes {
    uint8_t *p;
    size_t len, cap;
} bytes;

static void put(bytes *b, const void *p, size_t n) {
    if (b->len + n > b->cap) {
        b->cap = (b->len + n) * 2;
        b->p = realloc(b->p, b->cap);
        assert_non_null(b->p);
    }
    if (n) memcpy(b->p + b->len, p, n);
    b->len += n;
}

static void put_int(bytes *b, uint64_t v, int n) {
    for (int i = 0; i < n; i++) put(b, &(uint8_t){(uint8_t)(v >> 8 * i)}, 1);
}

static uint32_t raw_crc(const raw_entry *e) {
    uint32_t crc = e->no_crc ? 0 : (uint32_t)crc32(0, (const uint8_t *)e->data, (uInt)e->len);
    return e->wrong_crc ? crc ^ 1 : crc;
}

/* The extra field with numbers of 64 bits, of whose end some bytes are missing. */
static void raw_wide(bytes *b, const uint64_t *numbers, size_t n, size_t lacks) {
    put_int(b, 1, 2);
    put_int(b, 8 * n - lacks, 2);
    put(b, numbers, 8 * n - lacks);
}

static void raw_local(bytes *b, const raw_entry *e) {
    const char *name = e->local_name ? e->local_name : e->name;
    uint32_t usize = e->claim_usize ? e->claim_usize : (uint32_t)e->len;
    put_int(b, 0x04034b50, 4);
    put_int(b, 20, 2);
    put_int(b, (uint64_t)e->flags, 2);
    put_int(b, (uint64_t)e->method, 2);
    put_int(b, 0, 4);
    put_int(b, raw_crc(e), 4);
    put_int(b, e->wide ? UINT32_MAX : e->len, 4);
    put_int(b, e->wide ? UINT32_MAX : e->local_usize ? e->local_usize : usize, 4);
    put_int(b, strlen(name), 2);
    if (e->wide) {
        put_int(b, 20 - e->lacks, 2);
        put(b, name, strlen(name));
        raw_wide(b, (const uint64_t[]){usize, e->len}, 2, e->lacks);
        put(b, e->data, e->len);
        return;
    }
    size_t extra = 0;
    if (e->align) {
        size_t data = b->len + 2 + strlen(name) + 4;
        extra = 4 + (e->align - data % e->align) % e->align;
    }
    put_int(b, extra, 2);
    put(b, name, strlen(name));
    if (extra) {
        put_int(b, 0x4246, 2);
        put_int(b, extra - 4, 2);
        for (size_t i = 4; i < extra; i++) put(b, "Z", 1);
    }
    put(b, e->data, e->len);
}

static void raw_central(bytes *b, const raw_entry *e, size_t offset) {
    put_int(b, 0x02014b50, 4);
    put_int(b, 0x0314, 2);
    put_int(b, 20, 2);
    put_int(b, (uint64_t)e->flags, 2);
    put_int(b, (uint64_t)e->method, 2);
    put_int(b, 0, 4);
    put_int(b, raw_crc(e), 4);
    uint64_t usize = e->claim_usize ? e->claim_usize : e->len;
    put_int(b, e->wide ? UINT32_MAX : e->len, 4);
    put_int(b, e->wide ? UINT32_MAX : usize, 4);
    put_int(b, strlen(e->name), 2);
    put_int(b, e->wide ? 28 - e->lacks : 0, 2);
    put_int(b, 0, 2);
    put_int(b, 0, 2);
    put_int(b, 0, 2);
    put_int(b, (uint64_t)e->mode << 16, 4);
    offset += (size_t)e->shift;
    put_int(b, e->wide ? UINT32_MAX : offset, 4);
    put(b, e->name, strlen(e->name));
    if (e->wide) raw_wide(b, (const uint64_t[]){usize, e->len, offset}, 3, e->lacks);
}

static bytes raw_zip(const raw_entry *e, size_t n, bool zip64) {
    bytes b = {0};
    size_t offsets[64], start;
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) {
        offsets[i] = b.len;
        raw_local(&b, &e[i]);
    }
    start = b.len;
    for (size_t i = 0; i < n; i++) raw_central(&b, &e[i], offsets[i]);
    size_t size = b.len - start, end64 = b.len;
    if (zip64) { /* as PyTorch writes it, whatever the size */
        put_int(&b, 0x06064b50, 4);
        put_int(&b, 44, 8);
        put_int(&b, 0x031e, 2);
        put_int(&b, 45, 2);
        put_int(&b, 0, 8);
        put_int(&b, n, 8);
        put_int(&b, n, 8);
        put_int(&b, size, 8);
        put_int(&b, start, 8);
        put_int(&b, 0x07064b50, 4);
        put_int(&b, 0, 4);
        put_int(&b, end64, 8);
        put_int(&b, 1, 4);
    }
    put_int(&b, 0x06054b50, 4);
    put_int(&b, 0, 4);
    put_int(&b, n, 2);
    put_int(&b, n, 2);
    put_int(&b, size, 4);
    put_int(&b, start, 4);
    put_int(&b, 0, 2);
    return b;
}

/* ---- opening
 * -------------------------------------------------------------------------------------------- */

static ctsc_status open_bytes(diag *d, const bytes *b, archive **out) {
    reader r;
    assert_int_equal(reader_open_memory(NULL, b->p, b->len, &r), CTSC_OK);
    return archive_open(d, r, out);
}

static void assert_refused(const raw_entry *e, size_t n, const char *text) {
    bytes b = raw_zip(e, n, false);
    diag d = {0};
    archive *a = NULL;
    assert_int_equal(open_bytes(&d, &b, &a), CTSC_BAD_FILE);
    if (!strstr(diag_message(&d), text))
        fail_msg("\"%s\" does not say \"%s\"", diag_message(&d), text);
    diag_clear(&d);
    free(b.p);
}

static void assert_record(archive *a, const char *name, const void *want, size_t len) {
    diag d = {0};
    storage *st = NULL;
    if (archive_read(a, &d, name, &st) != CTSC_OK) fail_msg("%s", diag_message(&d));
    assert_int_equal(st->nbytes, len);
    if (len) assert_memory_equal(st->data, want, len);
    storage_unref(st);
    diag_clear(&d);
}

static const raw_entry two[] = {
    {.name = "m/data.pkl", .data = "hello", .len = 5},
    {.name = "m/data/0", .data = "0123456789abcdef", .len = 16, .align = 64},
};

/* An archive as libzip writes it: one record stored, one deflated. */
static bytes libzip_archive(const char *text, size_t len) {
    zip_error_t error;
    zip_source_t *dst = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *za = zip_open_from_source(dst, ZIP_TRUNCATE, &error);
    assert_non_null(za);
    zip_source_keep(dst);
    zip_int64_t i = zip_file_add(za, "top/version", zip_source_buffer(za, "3\n", 2, 0), 0);
    zip_set_file_compression(za, (zip_uint64_t)i, ZIP_CM_STORE, 0);
    i = zip_file_add(za, "top/code/__torch__.py", zip_source_buffer(za, text, len, 0), 0);
    zip_set_file_compression(za, (zip_uint64_t)i, ZIP_CM_DEFLATE, 9);
    zip_dir_add(za, "top/empty", 0);
    assert_int_equal(zip_close(za), 0);
    zip_stat_t st;
    zip_source_stat(dst, &st);
    bytes b = {malloc(st.size), st.size, st.size};
    zip_source_open(dst);
    assert_int_equal(zip_source_read(dst, b.p, st.size), (zip_int64_t)st.size);
    zip_source_close(dst);
    zip_source_free(dst);
    return b;
}

/* ---- what is accepted
 * ------------------------------------------------------------------------------------- */

static void test_libzip_archive(void **state) {
    (void)state;
    char text[5000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "class Main(Module):\n"[i % 20];
    bytes b = libzip_archive(text, sizeof text);
    archive *a;
    assert_int_equal(open_bytes(NULL, &b, &a), CTSC_OK);
    assert_int_equal(archive_count(a), 2);
    assert_string_equal(archive_record_name(a, 1), "code/__torch__.py");
    assert_true(archive_has(a, "version"));
    assert_false(archive_has(a, "top/version"));
    assert_record(a, "version", "3\n", 2);
    assert_record(a, "code/__torch__.py", text, sizeof text);
    diag d = {0};
    storage *st;
    assert_int_equal(archive_read(a, &d, "data/7", &st), CTSC_BAD_FILE);
    assert_string_equal(diag_message(&d),
                        "PytorchStreamReader failed locating file data/7: file not found");
    diag_clear(&d);
    archive_unref(a);
    free(b.p);
}

static void test_nothing_is_copied(void **state) {
    (void)state;
    bytes raw = raw_zip(two, 2, false);
    void *p;
    assert_int_equal(posix_memalign(&p, 64, raw.len), 0);
    memcpy(p, raw.p, raw.len);
    bytes b = {p, raw.len, raw.len};
    archive *a;
    assert_int_equal(open_bytes(NULL, &b, &a), CTSC_OK);
    storage *st;
    assert_int_equal(archive_read(a, NULL, "data/0", &st), CTSC_OK);
    archive_unref(a); /* the slice keeps the archive */
    assert_true((uint8_t *)st->data > b.p && (uint8_t *)st->data + st->nbytes < b.p + b.len);
    assert_true(st->read_only);
    assert_memory_equal(st->data, "0123456789abcdef", 16);
    storage_unref(st);
    free(p);
    free(raw.p);
}

static void test_variants(void **state) {
    (void)state;
    const raw_entry no_crc[] = {{.name = "m/a", .data = "abc", .len = 3, .no_crc = true}};
    const raw_entry outside[] = {{.name = "m/a", .data = "abc", .len = 3},
                                 {.name = "other", .data = "x", .len = 1}};
    const raw_entry empty[] = {{.name = "m/a", .data = "", .len = 0}};
    const raw_entry wide[] = {{.name = "m/a", .data = "abc", .len = 3, .wide = true},
                              {.name = "m/b", .data = "hello", .len = 5, .wide = true}};
    const raw_entry dots[] = {{.name = "m/.data/a..b", .data = "abc", .len = 3}};
    const struct {
        const raw_entry *e;
        size_t n;
        bool zip64;
        const char *record, *want;
        size_t records;
    } cases[] = {
        {two, 2, true, "data.pkl", "hello", 2},   {no_crc, 1, false, "a", "abc", 1},
        {outside, 2, false, "a", "abc", 1},       {empty, 1, false, "a", "", 1},
        {dots, 1, false, ".data/a..b", "abc", 1}, {wide, 2, true, "b", "hello", 2},
        {wide, 2, false, "a", "abc", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = raw_zip(cases[i].e, cases[i].n, cases[i].zip64);
        diag d = {0};
        archive *a;
        if (open_bytes(&d, &b, &a) != CTSC_OK) fail_msg("case %zu: %s", i, diag_message(&d));
        assert_int_equal(archive_count(a), cases[i].records);
        assert_record(a, cases[i].record, cases[i].want, strlen(cases[i].want));
        archive_unref(a);
        free(b.p);
    }
}

/* ---- what is refused
 * -------------------------------------------------------------------------------------- */

static void test_names(void **state) {
    (void)state;
    char longest[600];
    memset(longest, 'a', sizeof longest);
    longest[1] = '/';
    longest[512] = '\0';
    const char *bad[] = {"../x",  "m/../x", "m/..",   "/abs",    "m//x",
                         "m/./x", "m\\x/y", "m/a\nb", "m/a\177", "m/./"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(&(raw_entry){.name = bad[i], .data = "", .len = 0}, 1,
                       "name that is not allowed");
    bytes b = raw_zip(&(raw_entry){.name = longest, .data = "x", .len = 1}, 1, false);
    archive *a;
    assert_int_equal(open_bytes(NULL, &b, &a), CTSC_OK);
    archive_unref(a);
    free(b.p);
    longest[512] = 'a';
    longest[513] = '\0';
    assert_refused(&(raw_entry){.name = longest, .data = "x", .len = 1}, 1,
                   "name that is not allowed");
    assert_refused(&(raw_entry){.name = "data.pkl", .data = "", .len = 0}, 1,
                   "not in a subdirectory");
}

static void test_hostile_entries(void **state) {
    (void)state;
    const raw_entry ok = {.name = "m/a", .data = "abcdefgh", .len = 8};
    raw_entry e[2] = {ok, ok};
    assert_refused(e, 2, "");
    e[1].name = "m/b";
    e[1].shift = -4;
    assert_refused(e, 2, "record m/b");
    e[1].shift = 1000;
    assert_refused(e, 2, "outside");
    e[1] = ok, e[1].name = "m/b", e[1].local_name = "m/c";
    assert_refused(e, 2, "two names");
    e[1].local_name = NULL, e[1].claim_usize = 9;
    assert_refused(e, 2, "two sizes");
    e[1].claim_usize = 0, e[1].local_usize = 7;
    assert_refused(e, 2, "disagree");
    e[1].local_usize = 0, e[1].flags = 1;
    assert_refused(e, 2, "encrypted");
    e[1].flags = 0, e[1].method = 12;
    assert_refused(e, 2, "method other");
    e[1].method = 0, e[1].mode = 0120777;
    assert_refused(e, 2, "symbolic link");
    e[1].mode = 0, e[1].method = 8, e[1].claim_usize = 0x7fffffff;
    assert_refused(e, 2, "unreasonable");
}

/* The same bytes under two names by pointing at one local header. */
static void test_overlap(void **state) {
    (void)state;
    raw_entry e[2] = {{.name = "m/a", .data = "abcdefgh", .len = 8},
                      {.name = "m/a", .data = "abcdefgh", .len = 8}};
    e[1].shift = -(long)(30 + 3 + 8);
    assert_refused(e, 2, "overlaps");
}

static void test_wrong_crc(void **state) {
    (void)state;
    bytes b = raw_zip(&(raw_entry){.name = "m/a", .data = "abc", .len = 3, .wrong_crc = true}, 1,
                      false);
    archive *a;
    diag d = {0};
    storage *st;
    assert_int_equal(open_bytes(NULL, &b, &a), CTSC_OK);
    assert_int_equal(archive_read(a, &d, "a", &st), CTSC_BAD_FILE);
    assert_non_null(strstr(diag_message(&d), "record a (offset 33): damaged"));
    diag_clear(&d);
    archive_unref(a);
    free(b.p);
}

static void test_not_archives(void **state) {
    (void)state;
    const struct {
        const char *data;
        size_t len;
        ctsc_status status;
        const char *text;
    } cases[] = {
        {"", 0, CTSC_BAD_FILE, "not an archive"},
        {"PYTORCH1........", 16, CTSC_UNSUPPORTED, "preview release"},
        {"....PTMF........", 16, CTSC_UNSUPPORTED, "flatbuffer"},
        {"\x80\x02\x8a\x0a............", 16, CTSC_BAD_FILE, "torch.save()"},
        {"<html><head></head>", 19, CTSC_BAD_FILE, "not a zip archive, but a web page"},
        {"\x89PNG\r\n\x1a\n", 8, CTSC_BAD_FILE, "not a zip archive, but an image"},
        {"import torch\n\nclass", 19, CTSC_BAD_FILE, "but text; source is compiled"},
        {"\x01\x02\x03\x04\x05\x06\x07\x08\x09", 9, CTSC_BAD_FILE, "not a zip archive"},
        {"PK\3\4............................", 32, CTSC_BAD_FILE, "cut short"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = {(uint8_t *)(uintptr_t)cases[i].data, cases[i].len, 0};
        diag d = {0};
        archive *a;
        assert_int_equal(open_bytes(&d, &b, &a), cases[i].status);
        if (!strstr(diag_message(&d), cases[i].text)) fail_msg("%s", diag_message(&d));
        diag_clear(&d);
    }
}

/* ---- damage
 * -----------------------------------------------------------------------------------------------
 */

/* Opens and reads everything; true if all of it is there and as it was. */
static bool same_content(const bytes *b) {
    archive *a;
    bool same = true;
    if (open_bytes(NULL, b, &a) != CTSC_OK) return false;
    for (size_t i = 0; i < archive_count(a); i++) {
        storage *st = NULL;
        const char *name = archive_record_name(a, i);
        if (archive_read(a, NULL, name, &st) != CTSC_OK) {
            same = false;
            continue;
        }
        const raw_entry *e = !strcmp(name, "data.pkl") ? &two[0]
                             : !strcmp(name, "data/0") ? &two[1]
                                                       : NULL;
        if (e) assert_true(st->nbytes == e->len && !memcmp(st->data, e->data, e->len));
        storage_unref(st);
    }
    archive_unref(a);
    return same;
}

static void test_truncation(void **state) {
    (void)state;
    for (int zip64 = 0; zip64 < 2; zip64++) {
        bytes b = raw_zip(two, 2, zip64);
        assert_true(same_content(&b));
        for (size_t len = 0; len < b.len; len++) {
            bytes cut = {malloc(len ? len : 1), len, len};
            memcpy(cut.p, b.p, len);
            assert_false(same_content(&cut));
            free(cut.p);
        }
        free(b.p);
    }
}

/* Numbers of 64 bits that lie, or are not all there. */
static void test_wide(void **state) {
    (void)state;
    static const raw_entry good = {.name = "m/a", .data = "abc", .len = 3, .wide = true};
    raw_entry bad[28];
    size_t n = 0;
    for (size_t lacks = 1; lacks <= 16; lacks++) {
        bad[n] = good;
        bad[n++].lacks = lacks;
    }
    for (int i = 0; i < 4; i++) {
        bad[n] = good;
        bad[n++].claim_usize = (const uint32_t[]){2, 4, INT32_MAX, UINT32_MAX}[i];
        bad[n] = good;
        bad[n++].shift = (const long[]){1, -1, 1000, INT64_MAX}[i];
    }
    for (size_t i = 0; i < n; i++) {
        bytes b = raw_zip(&bad[i], 1, i % 2);
        diag d = {0};
        archive *a;
        storage *st;
        ctsc_status s = open_bytes(&d, &b, &a);
        if (s == CTSC_OK) {
            assert_int_not_equal(archive_read(a, NULL, "a", &st), CTSC_OK);
            archive_unref(a);
        }
        diag_clear(&d);
        free(b.p);
    }
    bytes b = raw_zip(
        (const raw_entry[]){good, {.name = "m/b", .data = "xyz", .len = 3, .wide = true}}, 2, true);
    for (size_t bit = 0; bit < b.len * 8; bit++) {
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        archive *a;
        storage *st;
        if (open_bytes(NULL, &b, &a) == CTSC_OK) {
            if (archive_has(a, "a") && archive_read(a, NULL, "a", &st) == CTSC_OK) {
                assert_int_equal(st->nbytes, 3);
                assert_memory_equal(st->data, "abc", 3);
                storage_unref(st);
            }
            archive_unref(a);
        }
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(b.p);
}

/* A flipped bit is noticed, or does not matter: a record under its name has its content. (A flip in
 * both headers' name would rename a record; one alone cannot.) */
static void test_bit_flips(void **state) {
    (void)state;
    for (int zip64 = 0; zip64 < 2; zip64++) {
        bytes b = raw_zip(two, 2, zip64);
        for (size_t bit = 0; bit < b.len * 8; bit++) {
            b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
            same_content(&b);
            b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(b.p);
    }
}

static void test_inflate_damage(void **state) {
    (void)state;
    char text[700];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i * i % 17);
    bytes b = libzip_archive(text, sizeof text);
    size_t read = 0;
    for (size_t bit = 0; bit < b.len * 8; bit++) {
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        archive *a;
        storage *st;
        if (open_bytes(NULL, &b, &a) == CTSC_OK) {
            if (archive_read(a, NULL, "code/__torch__.py", &st) == CTSC_OK) {
                assert_true(st->nbytes == sizeof text && !memcmp(st->data, text, sizeof text));
                storage_unref(st);
                read++;
            }
            archive_unref(a);
        }
        b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(read > 0 && read < b.len * 8);
    free(b.p);
}

/* ---- failing readers and allocations
 * ------------------------------------------------------------------------ */

typedef struct bad_reader {
    const bytes *b;
    int fail_at; /* the call that fails; 0: none */
    int calls;
} bad_reader;

static ctsc_status bad_size(void *ctx, diag *d, uint64_t *out) {
    bad_reader *f = ctx;
    if (++f->calls == f->fail_at) return diag_fail(d, CTSC_ENVIRONMENT, "size");
    *out = f->b->len;
    return CTSC_OK;
}

static ctsc_status bad_read(void *ctx, diag *d, uint64_t offset, void *buf, size_t len) {
    bad_reader *f = ctx;
    if (++f->calls == f->fail_at) return diag_fail(d, CTSC_ENVIRONMENT, "read");
    if (offset > f->b->len || len > f->b->len - offset) return diag_fail(d, CTSC_BAD_FILE, "end");
    if (len) memcpy(buf, f->b->p + offset, len);
    return CTSC_OK;
}

static bool read_all(reader r) {
    archive *a;
    if (archive_open(NULL, r, &a) != CTSC_OK) return false;
    bool ok = true;
    for (size_t i = 0; i < archive_count(a) && ok; i++) {
        storage *st = NULL;
        ok = archive_read(a, NULL, archive_record_name(a, i), &st) == CTSC_OK;
        storage_unref(st);
    }
    archive_unref(a);
    return ok;
}

static void test_failing_reads(void **state) {
    (void)state;
    char text[900] = "text";
    bytes b = libzip_archive(text, sizeof text);
    bool ok = false;
    int k = 0;
    while (!ok) {
        bad_reader f = {&b, ++k, 0};
        ok = read_all((reader){bad_size, bad_read, NULL, NULL, &f});
        if (ok) assert_true(f.calls < k);
    }
    assert_true(k > 8);
    free(b.p);
}

static int allocs_left = -1; /* -1: no limit */

static void *counting_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (allocs_left == 0) return NULL;
    if (allocs_left > 0) allocs_left--;
    return realloc(p, size);
}

static void test_no_memory(void **state) {
    (void)state;
    char text[900] = "text";
    bytes b = libzip_archive(text, sizeof text);
    mem_set_hook(counting_hook, NULL);
    bool ok = false;
    for (int k = 0; !ok; k++) {
        allocs_left = k;
        reader r;
        ok = reader_open_memory(NULL, b.p, b.len, &r) == CTSC_OK && read_all(r);
        assert_true(k < 1000);
    }
    allocs_left = -1;
    mem_set_hook(NULL, NULL);
    free(b.p);
}

/* ---- parts
 * --------------------------------------------------------------------------------------------------
 */

static void test_crc(void **state) {
    (void)state;
    uint8_t data[1100];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t len = 0; len < 1000; len += len < 300 ? 1 : 37)
        for (size_t at = 0; at < 20; at += 3)
            assert_int_equal(crc32_update((uint32_t)len, data + at, len),
                             crc32(len, data + at, (uInt)len));
    assert_int_equal(crc32_update(0, "123456789", 9), 0xcbf43926u);
}

static void test_files(void **state) {
    (void)state;
    char path[] = "/tmp/ctsc-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    bytes b = raw_zip(two, 2, true);
    assert_int_equal(fwrite(b.p, 1, b.len, f), b.len);
    fclose(f);
    reader r;
    assert_int_equal(reader_open_file(NULL, path, &r), CTSC_OK);
    assert_true(read_all(r));
    remove(path);
    diag d = {0};
    assert_int_equal(reader_open_file(&d, path, &r), CTSC_BAD_FILE);
    assert_non_null(strstr(diag_message(&d), "No such file"));
    diag_clear(&d);
    assert_int_equal(reader_open_file(NULL, "/tmp", &r), CTSC_BAD_FILE);
    free(b.p);
}

/* ("FORMAT_WITH_STRING_TABLE", ("", "line 1\n", "line 2\n", "a.py"),
 *  ((0, (([], 0, 0), 0, 0), 0), (10, (([1, 2], 3, 40), 7, 11), 1))) */
/* clang-format off */
static const char debug_pkl[] =
    "\x80\x02(X\x18\0\0\0FORMAT_WITH_STRING_TABLE(X\0\0\0\0X\x07\0\0\0line 1\nX\x07\0\0\0line 2\nX\x04\0\0\0a.pyt"
    "K\0]K\0K\0\x87K\0K\0\x87K\0\x87"
    "K\x0a](K\1K\2eK\3K\x28\x87K\7K\x0b\x87K\1\x87\x86t.";
/* clang-format on */

static void test_debuginfo(void **state) {
    (void)state;
    const raw_entry e[] = {
        {.name = "m/x.debug_pkl", .data = debug_pkl, .len = sizeof debug_pkl - 1},
        {.name = "m/bad.debug_pkl", .data = "\x80\x02]", .len = 3},
    };
    bytes b = raw_zip(e, 2, false);
    archive *a;
    assert_int_equal(open_bytes(NULL, &b, &a), CTSC_OK);
    const char *records[] = {"x.debug_pkl", "bad.debug_pkl", "missing"};
    for (int i = 0; i < 3; i++) {
        source *src = source_new("code/x.py", "0123456789 generated", 20);
        assert_int_equal(debuginfo_attach(NULL, a, records[i], src), CTSC_OK);
        source_range r = {0};
        assert_false(src->origin(src, 3, &r));
        assert_true(src->origin(src, 12, &r) == (i == 0));
        if (i == 0) {
            assert_string_equal(r.src->name, "a.py");
            assert_string_equal(r.src->text, "line 1\nline 2\n");
            assert_int_equal(r.src->first_line, 40);
            assert_int_equal(r.begin, 7);
            assert_int_equal(r.end, 11);
        }
        source_unref(src);
    }
    archive_unref(a);
    free(b.p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libzip_archive),
        cmocka_unit_test(test_nothing_is_copied),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_hostile_entries),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_wrong_crc),
        cmocka_unit_test(test_not_archives),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_bit_flips),
        cmocka_unit_test(test_inflate_damage),
        cmocka_unit_test(test_failing_reads),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_debuginfo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
