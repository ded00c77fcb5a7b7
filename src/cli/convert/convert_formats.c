/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_formats.c - the formats of `ctsc convert`: one row each, with how it is read and written.
 *
 * What a file is called decides what is written. For reading, files of PyTorch's are told apart by
 * their content, since .pt may be any of them.
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

/* What torch.jit.save or torch.save wrote. The first failure is told where it is neither. */
static int read_archive(const cli_model *m, convert_content *out, ctsc_error *e) {
    ctsc_error *first = ctsc_error_new();
    int code = 0;
    if (!first || !e) code = cli_complain(CTSC_LIMIT, "out of memory");
    else if (ctsc_module_load(m->path, &out->program, first) == CTSC_OK)
        code = m->compile.weights ? cli_load_weights(out->program, m->compile.weights, e) : 0;
    else if (ctsc_state_load(m->path, &out->state, e) != CTSC_OK)
        code = cli_report(ctsc_error_status(first) == CTSC_BAD_FILE ? e : first);
    ctsc_error_free(first);
    return code;
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
    /* name          endings                                         text                                       read          write */
    {"torchscript", ".torchscript .ts .ptl",                        "archive of torch.jit.save",               read_archive, write_program},
    {"pt",          ".pt",                                          "the same, or a state_dict where there is no program", read_archive, write_archive},
    {"state_dict",  ".pth .bin .ckpt",                              "weights, as torch.save writes them",      read_archive, write_state},
    {"safetensors", ".safetensors .safetensors.index.json",         "weights",                                 read_state,   write_safetensors},
    {"pt2",         ".pt2",                                         "program of torch.export",                 read_program, NULL},
    {"onnx",        ".onnx",                                        "model of ONNX",                           read_program, write_onnx},
    {"python",      ".py",                                          "source",                                  read_program, NULL},
    {0},
};
/* clang-format on */

const convert_format *convert_by_name(const char *name) {
    for (const convert_format *f = convert_formats; f->name; f++)
        if (!strcmp(f->name, name)) return f;
    return NULL;
}

size_t convert_ending(const convert_format *f, const char *path) {
    size_t n = strlen(path), best = 0;
    for (const char *p = f->endings; *p;) {
        size_t len = strcspn(p, " ");
        if (n > len && len > best && !strncmp(path + n - len, p, len)) best = len;
        p += len + (p[len] == ' ');
    }
    return best;
}

const convert_format *convert_by_ending(const char *path) {
    const convert_format *found = NULL;
    size_t best = 0;
    for (const convert_format *f = convert_formats; f->name; f++) {
        size_t n = convert_ending(f, path);
        if (n > best) best = n, found = f;
    }
    return found;
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
