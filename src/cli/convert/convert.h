/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.h - what files of models hold, and the formats that `ctsc convert` reads and writes.
 *
 * A format is a row of convert_formats (convert_formats.c): its name in ctsc_format, how such a
 * file is read and how it is written. A new format is a row and its two functions.
 */
#ifndef CTSC_CLI_CONVERT_H
#define CTSC_CLI_CONVERT_H

#include "cli/cli.h"
#include "cli/convert/convert_onnx.h"

/* What a file held: a program with its weights, or weights alone. */
typedef struct convert_content {
    ctsc_module *program; /* NULL: there is none */
    ctsc_value *state;    /* a dict of tensors by name; NULL where there is a program */
} convert_content;

/* What a format wants to know beside the content. */
typedef struct convert_how {
    cli_call call; /* the method, and arguments that show sizes */
    convert_onnx_args onnx;
} convert_how;

typedef struct convert_format {
    const char *name; /* of --from and --to, and of a ctsc_format, which has endings and text */
    /* Both report their failures and return the exit code, 0 on success. NULL: cannot be done. The
     * content of `read` belongs to the caller, who frees it with convert_free. A file is written
     * whole or not at all. */
    int (*read)(const cli_model *m, convert_content *out, ctsc_error *e);
    int (*write)(const convert_content *c, convert_how *how, const char *path, ctsc_error *e);
} convert_format;

extern const convert_format convert_formats[]; /* ends with a row without a name */

/* The format of that name, or for a file of that name (the longest ending counts); NULL: none. */
const convert_format *convert_by_name(const char *name);
const convert_format *convert_by_ending(const char *path);
void convert_free(convert_content *c);
/* The state_dict of what was read: a new handle. Reports a failure. */
int convert_state(const convert_content *c, ctsc_value **out, ctsc_error *e);

#endif
