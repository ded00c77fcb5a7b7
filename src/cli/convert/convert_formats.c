/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_formats.c - the formats of `ctsc convert`: one row each, with how it is read and written.
 *
 * The extension of the output decides what is written. For reading, PyTorch files are
 * distinguished by their content (ctsc_file_format), since .pt may be any of them.
 * Tests: tests/cli/convert.test
 */
#include "cli/convert/convert.h"

#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Source, or an archive that is no other thing. */
static int read_program(const cli_model *m, convert_content *out, ctsc_error *e) {
    return cli_load(m, &out->program, e);
}

static int read_state(const cli_model *m, convert_content *out, ctsc_error *e) {
    return ctsc_state_load(m->path, &out->state, e) == CTSC_OK ? 0 : cli_report(e);
}

/* Whatever it is. What is not a format that is known is refused as weights, unless the program's
 * loader knows more of it. */
static int read_archive(const cli_model *m, convert_content *out, ctsc_error *e) {
    const ctsc_format *f = NULL;
    if (!e) return cli_complain(CTSC_LIMIT, "out of memory");
    if (ctsc_file_format(m->path, &f, e) != CTSC_OK) return cli_report(e);
    if (f && !(f->holds & CTSC_FORMAT_PROGRAM)) return read_state(m, out, e);
    ctsc_status s = ctsc_module_load(m->path, &out->program, e);
    if (s == CTSC_BAD_FILE && !f) return read_state(m, out, e);
    if (s != CTSC_OK) return cli_report(e);
    return m->compile.weights ? cli_load_weights(out->program, m->compile.weights, e) : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_program(const convert_content *c, convert_how *how, const char *path,
                         ctsc_error *e) {
    (void)how;
    if (!c->program)
        return cli_complain(CTSC_USAGE,
                            "an archive of TorchScript needs a program, and there are only "
                            "weights: 'ctsc convert MODEL.py OUT.pt --weights FILE' has both, "
                            "'--to state_dict' writes weights");
    return ctsc_module_save(c->program, path, e) == CTSC_OK ? 0 : cli_report(e);
}

static int write_state(const convert_content *c, convert_how *how, const char *path,
                       ctsc_error *e) {
    (void)how;
    ctsc_value *state = NULL;
    int code = convert_state(c, &state, e);
    if (!code && ctsc_value_save(state, path, e) != CTSC_OK) code = cli_report(e);
    ctsc_value_free(state);
    return code;
}

/* .pt, .pth: a program, if there is one. */
static int write_archive(const convert_content *c, convert_how *how, const char *path,
                         ctsc_error *e) {
    return c->program ? write_program(c, how, path, e) : write_state(c, how, path, e);
}

/* With the text that other programs look for, to know whose names of tensors these are. */
static int write_safetensors(const convert_content *c, convert_how *how, const char *path,
                             ctsc_error *e) {
    (void)how;
    static const char *const keys[] = {"format"}, *const texts[] = {"pt"};
    ctsc_value *state = NULL;
    int code = convert_state(c, &state, e);
    if (!code && ctsc_safetensors_save(state, 1, keys, texts, path, e) != CTSC_OK)
        code = cli_report(e);
    ctsc_value_free(state);
    return code;
}

static int write_onnx(const convert_content *c, convert_how *how, const char *path, ctsc_error *e) {
    if (!c->program)
        return cli_complain(CTSC_USAGE,
                            "a model of ONNX needs a program, and there are only weights");
    return convert_onnx(&how->onnx, &how->call, c->program, path, e);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
const convert_format convert_formats[] = {
    /* name          read          write */
    {"torchscript", read_archive, write_program},
    {"pt",          read_archive, write_archive},
    {"state_dict",  read_archive, write_state},
    {"safetensors", read_state,   write_safetensors},
    {"index",       read_state,   NULL},
    {"pt2",         read_program, NULL},
    {"onnx",        read_program, write_onnx},
    {"python",      read_program, NULL},
    {0},
};
/* clang-format on */

const convert_format *convert_by_name(const char *name) {
    for (const convert_format *f = convert_formats; f->name; f++)
        if (!strcmp(f->name, name)) return f;
    return NULL;
}

const convert_format *convert_by_ending(const char *path) {
    const ctsc_format *f = ctsc_format_by_ending(path, NULL);
    return f ? convert_by_name(f->name) : NULL;
}

void convert_free(convert_content *c) {
    ctsc_module_free(c->program);
    ctsc_value_free(c->state);
    *c = (convert_content){0};
}

int convert_state(const convert_content *c, ctsc_value **out, ctsc_error *e) {
    if (c->program) return ctsc_module_state(c->program, out, e) == CTSC_OK ? 0 : cli_report(e);
    *out = ctsc_value_copy(c->state);
    return *out ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
}
