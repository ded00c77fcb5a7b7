/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.c - writes a value as torch.save does: a zip with data.pkl, data/N and version.
 *
 * The writers of pickles and containers are those of modules (export.h). Tensors that share memory
 * share it in the file.
 * Tests: tests/unit/test_api.c, tests/unit/test_export.c, tests/cli
 */
#include "runtime/save/export.h"

static ctsc_status save_records(pickler *p, zip_writer *z) {
    ctsc_status s = pickler_add_records(p, z, "data.pkl", "data/");
    return s == CTSC_OK ? zip_writer_add(z, p->d, "version", "3\n", 2, false) : s;
}

ctsc_status save_pickled_file(diag *d, value v, const char *path) {
    pickler p;
    zip_writer *z = NULL;
    ctsc_status s = pickler_begin(&p, d, NULL, true) ? pickler_value(&p, v, NULL)
                                                     : diag_no_memory(d);
    if (s == CTSC_OK) s = pickler_end(&p);
    if (s == CTSC_OK) s = zip_writer_open(d, path, "archive", &z);
    if (s == CTSC_OK) s = save_records(&p, z);
    if (s == CTSC_OK) s = zip_writer_commit(z, d);
    zip_writer_free(z);
    pickler_free(&p);
    return s;
}
