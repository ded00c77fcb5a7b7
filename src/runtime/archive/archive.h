/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive.h - the container of torch.jit.save and torch.save: zip records and the pickles in them.
 *
 * zip.c     opens and checks the container: libzip decides what is in it, our own reading of the
 *           central directory (which must agree entry for entry) gives the offsets needed to map
 *           stored records without copying
 * pickle.c, pickle_make.c  the unpickler: a small machine with an allow-list of opcodes and constructors
 * Formats: docs/archive.md.
 * Tests: tests/unit/test_archive.c, tests/fuzz
 */
#ifndef CTSC_RUNTIME_ARCHIVE_ARCHIVE_H
#define CTSC_RUNTIME_ARCHIVE_ARCHIVE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* Where bytes come from: tests cut, flip and fail it. */
typedef struct reader {
    ctsc_status (*size)(void *ctx, diag *d, uint64_t *out);
    /* all or an error */
    ctsc_status (*read)(void *ctx, diag *d, uint64_t offset, void *buf, size_t len);
    /* the whole file in memory, or NULL; may be NULL itself */
    const void *(*map)(void *ctx, uint64_t *len);
    void (*close)(void *ctx);
    void *ctx;
    bool of_file; /* what `map` gives is a mapping of a file, not memory that holds the only copy */
    /* where the file is, borrowed, for those that have others beside them; NULL: not known */
    const char *path;
} reader;

ctsc_status reader_open_file(diag *d, const char *path, reader *out); /* mmap, read-only */
/* the same; fd stays the caller's, who may close it at once */
ctsc_status reader_open_fd(diag *d, int fd, reader *out);
ctsc_status reader_open_memory(diag *d, const void *data, size_t len, reader *out); /* borrowed */

typedef struct archive archive;

/* Opens a zip; takes r over (also on failure). Every entry is checked here: names, methods, sizes,
 * offsets, overlaps, duplicates, limits; CRCs when a record is read. Errors are CTSC_BAD_FILE and
 * name the record. */
ctsc_status archive_open(diag *d, reader r, archive **out);
archive *archive_ref(archive *a);
void archive_unref(archive *a);
/* Record names are without the archive's own top folder ("data.pkl", "code/__torch__.py"). */
bool archive_has(const archive *a, const char *record);
size_t archive_count(const archive *a);
const char *archive_record_name(const archive *a, size_t i);
/* The record's bytes, CRC checked, as a storage: a slice of the mapping where stored (the storage
 * keeps the archive alive and is read_only), else an inflated copy. */
ctsc_status archive_read(archive *a, diag *d, const char *record, storage **out);

/* ---- pickles --------------------------------------------------------------------------------- */

/* How a pickle's references leave the pickle. Members may be NULL: then what needs them is
 * refused by name. */
typedef struct unpickle_host {
    void *ctx;
    /* The storage a persistent id names: ("storage", type, key, location, numel). */
    ctsc_status (*storage)(void *ctx, diag *d, const char *key, dtype dt, uint64_t numel,
                           storage **out);
    /* A class of the program: "__torch__.Main". The type must be a class, an enum
     * or a named tuple. */
    ctsc_status (*class_type)(void *ctx, diag *d, const char *qualified, type **out);
    /* Sets an object up from the state given to BUILD. */
    ctsc_status (*build)(void *ctx, diag *d, object *o, value state);
    /* The type named by a restore_type_tag text: "List[str]", "Dict[int,
     * List[int]]", "__torch__.C". */
    ctsc_status (*parse_type)(void *ctx, diag *d, const char *text, type **out);
    /* objects of unknown classes become capsules (capsule_opaque); else they are refused */
    bool opaque;
} unpickle_host;

/* Runs one pickle from data[*pos]; *pos is left just after its STOP. record: for messages. */
ctsc_status unpickle(diag *d, const char *record, const void *data, size_t len, size_t *pos,
                     const unpickle_host *host, value *out);

/* Does a file begin as torch.save's older plain format does? */
bool torchfile_begins(const uint8_t *head, size_t len);
/* A file written by torch.save (zip, or the older plain format), as a value: OrderedDict and dict
 * are dicts, Parameters are tensors. */
ctsc_status load_pickled_file(diag *d, reader r, value *out);
/* The same for checkpoints, which hold all kinds of things beside tensors: those of unknown classes
 * become capsules (capsule_opaque). */
ctsc_status load_checkpoint(diag *d, reader r, value *out);
/* The attributes of such an object of a subclass of Tensor; NULL: not known. Borrowed. */
const dict *opaque_attributes(value v);
/* Writes v as torch.save does; the file appears whole or not at all. */
ctsc_status save_pickled_file(diag *d, value v, const char *path);
/* A .npy or .npz file: a tensor, or a dict of them. */
ctsc_status load_numpy_file(diag *d, const char *path, value *out);

#endif
