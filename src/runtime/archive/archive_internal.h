/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_internal.h - what the files that read archives share among themselves.
 */
#ifndef CTSC_RUNTIME_ARCHIVE_ARCHIVE_INTERNAL_H
#define CTSC_RUNTIME_ARCHIVE_ARCHIVE_INTERNAL_H

#include "runtime/archive/archive.h"

static inline uint16_t le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t le32(const uint8_t *p) {
    return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}
static inline uint64_t le64(const uint8_t *p) {
    return (uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32;
}

/* ---- reader.c -------------------------------------------------------------------------------- */

void reader_close(reader *r);
/* A file within a file: what a record holds. A reference to st is kept. */
ctsc_status reader_open_storage(diag *d, storage *st, reader *out);
/* The whole file as a storage: the mapping itself where there is one, else a copy. Takes r over. */
ctsc_status reader_contents(diag *d, reader r, storage **out);

/* ---- zipdir.c -------------------------------------------------------------------------------- */

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

typedef struct zip_entry {
    const char *name; /* as in the file, NUL-terminated; owned by the directory */
    uint16_t method;
    uint32_t crc;          /* 0: the writer did not compute it */
    uint64_t csize, usize; /* compressed and plain size */
    uint64_t header, data; /* offsets of the local header and of the content */
} zip_entry;

typedef struct zip_dir {
    zip_entry *entries;
    size_t n;
    char *names;
} zip_dir;

/* Reads and checks the central directory and every local header of a file of `size` bytes. */
ctsc_status zipdir_read(diag *d, const reader *r, uint64_t size, zip_dir *out);
void zipdir_free(zip_dir *dir);

/* ---- crc.c ----------------------------------------------------------------------------------- */

/* ---- zip.c ----------------------------------------------------------------------------------- */

/* Like archive_open, for a zip without a top folder (.npz). */
ctsc_status archive_open_flat(diag *d, reader r, archive **out);

/* The storages of one folder of records ("data/", "constants/"), each made once: the `storage`
 * member of an unpickle_host, ctx = the archive_storages. */
typedef struct archive_storages {
    archive *a; /* borrowed */
    const char *folder;
    strmap by_key;
    VEC(char *) keys;
} archive_storages;

ctsc_status archive_storages_get(void *ctx, diag *d, const char *key, dtype dt, uint64_t numel,
                                 storage **out);
void archive_storages_free(archive_storages *as);

/* ---- debuginfo.c ----------------------------------------------------------------------------- */

/* Lets src map back to the original source through record (a debug_pkl), read when first asked for.
 */
ctsc_status debuginfo_attach(diag *d, archive *a, const char *record, source *src);

/* ---- conform.c ------------------------------------------------------------------------------- */

/* Makes unpickled values what the program's static types say they are. One serves a whole file: it
 * remembers what it has settled, because a list or dict that is shared can have one static type
 * only. */
typedef struct conformer {
    diag *d;
    const char *record; /* for messages */
    ptrmap settled;     /* list, dict, tuple -> struct conform_settled */
    VEC(struct conform_settled *) all;
} conformer;

/* Checks *v against t, giving lists and dicts in it their static types and named tuples their
 * names. owner, name: for messages ("__torch__.M", "weight"). On failure *v is still a valid value.
 */
ctsc_status conform(conformer *c, type *t, value *v, const char *owner, const char *name);
void conformer_free(conformer *c);

#endif
