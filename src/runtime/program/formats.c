/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats.c - which format a file has, by its content, and modules of files of any format.
 *
 * Tests: tests/unit/test_formats.c, tests/cli/convert.test, tests/cli/weights.test
 */
#include "runtime/program/formats.h"

#include "runtime/archive/archive_internal.h"
#include "runtime/program/exported.h"
#include "runtime/program/onnx_module.h"
#include "runtime/program/torchscript.h"
#include "runtime/program/weights.h"
#include "runtime/safetensors/safetensors.h"

/* ---- how files of the formats begin ---------------------------------------------------------- */

/* A JSON header after its length. */
static bool format_is_safetensors(const uint8_t *head, size_t len) {
    return len > 9 && head[8] == '{';
}

static bool format_is_index(const uint8_t *head, size_t len) { return len > 1 && head[0] == '{'; }

/* Protocol buffers have no magic number: the first field of a model is the version of its
 * format. */
static bool format_is_onnx(const uint8_t *head, size_t len) {
    return len > 4 && head[0] == 0x08 && head[1] >= 3 && head[1] < 32;
}

static bool format_is_zip(const uint8_t *head, size_t len) {
    return len > 4 && !memcmp(head, "PK\3\4", 4);
}

/* A zip of torch.save's, once it is known that it is none of torch.jit.save's. */
static bool format_is_saved(const archive *a) { return archive_has(a, "data.pkl"); }

/* ---- the table ------------------------------------------------------------------------------- */

enum { PROGRAM = CTSC_FORMAT_PROGRAM, WEIGHTS = CTSC_FORMAT_WEIGHTS, SOURCE = CTSC_FORMAT_SOURCE };

static const format formats[] = {
#define FORMAT(name, endings, model, holds, text, begins, records, archive, file, weights)         \
    {{name, endings, model, text, holds}, begins, records, archive, file, weights},
#include "runtime/program/formats.def"
#undef FORMAT
};
enum { FORMATS = sizeof formats / sizeof *formats };

const format *format_at(size_t i) { return i < FORMATS ? &formats[i] : NULL; }

static ctsc_status format_head(diag *d, const reader *r, uint8_t *head, size_t *len) {
    uint64_t size = 0;
    TRY(r->size(r->ctx, d, &size));
    *len = size < FORMAT_HEAD ? (size_t)size : FORMAT_HEAD;
    return *len ? r->read(r->ctx, d, 0, head, *len) : CTSC_OK;
}

static const format *format_beginning(const uint8_t *head, size_t len, unsigned holds) {
    for (int i = 0; i < FORMATS; i++)
        if ((formats[i].shown.holds & holds) && formats[i].begins && formats[i].begins(head, len))
            return &formats[i];
    return NULL;
}

ctsc_status format_of_reader(diag *d, const reader *r, unsigned holds, const format **out) {
    uint8_t head[FORMAT_HEAD];
    size_t len = 0;
    TRY(format_head(d, r, head, &len));
    *out = format_beginning(head, len, holds);
    return CTSC_OK;
}

const format *format_of_archive(const archive *a) {
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].records && formats[i].records(a)) return &formats[i];
    return NULL;
}

ctsc_status format_of_file(diag *d, reader r, const format **out) {
    uint8_t head[FORMAT_HEAD];
    size_t len = 0;
    archive *a = NULL;
    ctsc_status s = format_head(d, &r, head, &len);
    if (s != CTSC_OK || !format_is_zip(head, len)) {
        reader_close(&r);
        if (s == CTSC_OK) *out = format_beginning(head, len, PROGRAM | WEIGHTS);
        return s;
    }
    TRY(archive_open(d, r, &a));
    *out = format_of_archive(a);
    archive_unref(a);
    return CTSC_OK;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* What is not an archive that is known is taken for one of torch.jit.save, to say what it lacks. */
ctsc_status module_load(diag *d, reader r, module **out) {
    const format *f = NULL;
    archive *a = NULL;
    ctsc_status s = format_of_reader(d, &r, PROGRAM, &f);
    if (s != CTSC_OK) return reader_close(&r), s;
    if (f) return f->file(d, r, out);
    TRY(archive_open(d, r, &a));
    f = format_of_archive(a);
    s = f && f->archive ? f->archive(d, a, out) : torchscript_load(d, a, out);
    archive_unref(a);
    return s;
}
