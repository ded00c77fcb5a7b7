/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats.h - which format a file has. formats.def lists them; nothing else asks what a file is.
 */
#ifndef CTSC_RUNTIME_PROGRAM_FORMATS_H
#define CTSC_RUNTIME_PROGRAM_FORMATS_H

#include "runtime/program/module.h"

enum { FORMAT_HEAD = 16 };

/* A row of formats.def: members but the first may be NULL. Readers are taken over, archives are
 * borrowed. */
typedef struct format {
    ctsc_format shown;
    bool (*begins)(const uint8_t *head, size_t len);
    bool (*records)(const archive *a);
    ctsc_status (*archive)(diag *d, archive *a, module **out);
    ctsc_status (*file)(diag *d, reader r, module **out);
    ctsc_status (*weights)(diag *d, reader r, value *out);
} format;

/* Number i, counted from 0; NULL at the end. */
const format *format_at(size_t i);
/* Of those that hold any of `holds` (CTSC_FORMAT_...), the one that r begins as. *out: NULL: none,
 * a zip for one. Fails where r cannot be read. */
ctsc_status format_of_reader(diag *d, const reader *r, unsigned holds, const format **out);
/* Of a zip; NULL: none. */
const format *format_of_archive(const archive *a);
/* Of a file, zip or not. *out: NULL: none. Takes r over. Fails where the file cannot be read, or
 * begins as a zip and is damaged. */
ctsc_status format_of_file(diag *d, reader r, const format **out);

#endif
