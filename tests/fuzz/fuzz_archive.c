/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_archive.c - any bytes given to the loaders: a status comes back, and nothing else happens.
 *
 * The input is tried as a TorchScript archive, as a file from torch.save, as an archive
 * whose every record is read, and as a bare pickle. What loads is printed in full, so
 * that broken values are noticed. Most damage to a zip is found by its checksums; to get
 * past them the mutator damages one record and rewrites the archive around it. Seeds:
 * the .pt files of the corpus. Build: make fuzz; without libFuzzer: replay_main.c.
 */
#include "cpu/convert/crc.h"
#include "runtime/archive/archive_internal.h"
#include "runtime/program/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void fuzz_print(value v) {
    strbuf sb = STRBUF_INIT;
    value_print(v, &sb);
    sb_free(&sb);
    value_unref(v);
}

static void fuzz_module(const uint8_t *data, size_t size) {
    reader r;
    module *m = NULL;
    diag d = {0};
    if (reader_open_memory(&d, data, size, &r) == CTSC_OK && module_load(&d, r, &m) == CTSC_OK) {
        function *f = module_method(m, "forward");
        if (f) (void)function_ensure_compiled(f, &d);
        module_free(m);
    }
    diag_clear(&d);
}

static void fuzz_values(const uint8_t *data, size_t size) {
    reader r;
    diag d = {0};
    value v;
    if (reader_open_memory(&d, data, size, &r) == CTSC_OK &&
        load_pickled_file(&d, r, &v) == CTSC_OK)
        fuzz_print(v);
    diag_clear(&d);
}

static void fuzz_records(const uint8_t *data, size_t size) {
    reader r;
    diag d = {0};
    archive *a;
    if (reader_open_memory(&d, data, size, &r) == CTSC_OK && archive_open(&d, r, &a) == CTSC_OK) {
        for (size_t i = 0; i < archive_count(a); i++) {
            storage *st;
            if (archive_read(a, NULL, archive_record_name(a, i), &st) == CTSC_OK) storage_unref(st);
        }
        archive_unref(a);
    }
    diag_clear(&d);
}

static void fuzz_pickle(const uint8_t *data, size_t size) {
    diag d = {0};
    size_t pos = 0;
    value v;
    if (unpickle(&d, "input", data, size, &pos, NULL, &v) == CTSC_OK) fuzz_print(v);
    diag_clear(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_module(data, size);
    fuzz_values(data, size);
    fuzz_records(data, size);
    fuzz_pickle(data, size);
    return 0;
}

/* ---- the mutator
 * ------------------------------------------------------------------------------------ */

static void mutator_int(strbuf *sb, uint64_t v, int n) {
    for (int i = 0; i < n; i++, v >>= 8) sb_putc(sb, (char)v);
}

/* The fields that local header and directory have in common. */
static void mutator_sizes(strbuf *sb, const char *name, uint32_t crc, size_t len) {
    mutator_int(sb, 20, 2);
    mutator_int(sb, 0, 8); /* flags, method, time, date */
    mutator_int(sb, crc, 4);
    mutator_int(sb, len, 4);
    mutator_int(sb, len, 4);
    mutator_int(sb, strlen(name) + 2, 2);
    mutator_int(sb, 0, 2);
}

static void mutator_record(strbuf *zip, strbuf *dir, const char *name, const void *data,
                           size_t len) {
    uint32_t crc = crc32_update(0, data, len);
    size_t at = zip->len;
    mutator_int(zip, 0x04034b50, 4);
    mutator_sizes(zip, name, crc, len);
    sb_printf(zip, "m/%s", name);
    sb_write(zip, data, len);
    mutator_int(dir, 0x02014b50, 4);
    mutator_int(dir, 20, 2);
    mutator_sizes(dir, name, crc, len);
    mutator_int(dir, 0, 10); /* comment, volume, attributes */
    mutator_int(dir, at, 4);
    sb_printf(dir, "m/%s", name);
}

/* Appends record i; damaged, if it is the one to damage. */
static void mutator_copy(archive *a, size_t i, bool damage, strbuf *zip, strbuf *dir) {
    storage *st = NULL;
    if (archive_read(a, NULL, archive_record_name(a, i), &st) != CTSC_OK) return;
    size_t len = st->nbytes, cap = len + 64;
    uint8_t *p = mem_alloc(cap);
    if (p) {
        if (len) memcpy(p, st->data, len);
        if (damage) len = LLVMFuzzerMutate(p, len, cap);
        mutator_record(zip, dir, archive_record_name(a, i), p, len);
    }
    mem_free(p);
    storage_unref(st);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    reader r;
    archive *a;
    if (seed % 8 == 0 || reader_open_memory(NULL, data, size, &r) != CTSC_OK ||
        archive_open(NULL, r, &a) != CTSC_OK)
        return LLVMFuzzerMutate(data, size, max_size);
    strbuf zip = STRBUF_INIT, dir = STRBUF_INIT;
    size_t n = archive_count(a), start;
    /* Records of weights come in numbers; most have nothing to damage. */
    size_t target = n ? seed / 8 % n : 0;
    for (size_t tries = 0; tries < n && (!strncmp(archive_record_name(a, target), "data/", 5) ||
                                         !strcmp(archive_record_name(a, target), "version"));
         tries++)
        target = (target + 1) % n;
    for (size_t i = 0; i < n; i++) mutator_copy(a, i, i == target, &zip, &dir);
    archive_unref(a);
    start = zip.len;
    sb_write(&zip, sb_str(&dir), dir.len);
    mutator_int(&zip, 0x06054b50, 4);
    mutator_int(&zip, 0, 4);
    mutator_int(&zip, n, 2);
    mutator_int(&zip, n, 2);
    mutator_int(&zip, dir.len, 4);
    mutator_int(&zip, start, 4);
    mutator_int(&zip, 0, 2);
    size_t len = zip.len;
    bool fits = !zip.failed && !dir.failed && len <= max_size;
    if (fits) memcpy(data, zip.data, len);
    sb_free(&zip);
    sb_free(&dir);
    return fits ? len : LLVMFuzzerMutate(data, size, max_size);
}
