/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_sandbox.c - ctsc run --sandbox: which files the call needs, and the way in.
 *
 * The model and the files of arguments and options can be read. Beside an ONNX model and an
 * index of weights are weights, and beside a Python file what it imports: of these the
 * folder can be read.
 * Tests: tests/cli/sandbox.test
 */
#include "cli/run/run.h"
#include "sandbox/sandbox.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* With its folder where it may name others beside it. */
static bool run_allow_file(sandbox *s, const char *path, char *why) {
    static const char *const formats[] = {"python", "onnx", "index"};
    const ctsc_format *f = ctsc_format_by_ending(path, NULL);
    bool beside = false;
    for (size_t i = 0; f && i < sizeof formats / sizeof *formats; i++)
        beside |= !strcmp(f->name, formats[i]);
    return beside ? sandbox_allow_folder_of(s, path, SANDBOX_READ, why)
                  : sandbox_allow(s, path, SANDBOX_READ, why);
}

static bool run_allow_model(sandbox *s, const cli_model *m, char *why) {
    const char *weights = m->compile.weights;
    bool ok = run_allow_file(s, m->path, why) && (!weights || run_allow_file(s, weights, why));
    for (size_t i = 0; ok && i < m->nfolders; i++)
        ok = sandbox_allow(s, m->folders[i], SANDBOX_READ, why);
    return ok;
}

/* An argument that is a file: "@in.npy", "image=@cat.png:resize=256". */
static bool run_allow_input(sandbox *s, const char *spec, char *why) {
    char path[PATH_MAX];
    const char *at = *spec == '@' ? spec : strstr(spec, "=@");
    if (!at) return true;
    snprintf(path, sizeof path, "%s", strchr(at, '@') + 1);
    if (access(path, F_OK) != 0) path[strcspn(path, ":")] = '\0';
    return sandbox_allow(s, path, SANDBOX_READ, why);
}

static bool run_allow(sandbox *s, const cli_model *m, const cli_call *c, const run_files *f,
                      char *why) {
    const char *const files[] = {c->inputs.file, f->expect, f->labels, cli_loaded_library};
    bool ok = run_allow_model(s, m, why);
    for (size_t i = 0; ok && i < sizeof files / sizeof *files; i++)
        ok = !files[i] || sandbox_allow(s, files[i], SANDBOX_READ, why);
    for (size_t i = 0; ok && i < c->inputs.nspecs; i++)
        ok = run_allow_input(s, c->inputs.specs[i], why);
    return ok && (!f->output || sandbox_allow_folder_of(s, f->output, SANDBOX_WRITE, why));
}

int run_enter_sandbox(const cli_model *m, const cli_call *c, const run_files *f) {
    char why[SANDBOX_WHY];
    sandbox s;
    if (sandbox_inside()) {
        if (sandbox_seal(why)) return 0;
    } else if (sandbox_open(&s, why)) {
        if (run_allow(&s, m, c, f, why)) sandbox_restart(&s, cli_arguments, why);
    }
    return cli_complain(CTSC_ENVIRONMENT, "--sandbox: %s", why);
}
