/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_opt.c - ctsc opt: runs passes on a graph, for people who work on the compiler. Tests:
 * tests/ir, tests/cli/opt.test */
#include "cli/cli.h"
#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_PASSES = 256, OPT_LIST, OPT_METHOD, OPT_PRINT_ALL, OPT_PRINT, OPT_TIME, OPT_VERIFY };

typedef struct opt_args {
    cli_model model;
    const char *method;
    bool list;
    ctsc_opt_options opt;
} opt_args;

static const struct argp_option opt_options[] = {
    {"passes", OPT_PASSES, "A,B,C", 0,
     "passes to run, in this order; a group in brackets, [A,B], is repeated until nothing changes",
     0},
    {"list", OPT_LIST, 0, 0, "list the passes and stop", 0},
    {"method", OPT_METHOD, "NAME", 0, "where FILE is a model: the method (forward)", 0},
    {"print-ir-after-all", OPT_PRINT_ALL, 0, 0,
     "print the graph after each pass, on standard error", 0},
    {"print-ir-after", OPT_PRINT, "PASS", 0, "print the graph after this pass, on standard error",
     0},
    {"time-passes", OPT_TIME, 0, 0,
     "print how often each pass ran, changed something, and how long it took", 0},
    {"verify-each", OPT_VERIFY, 0, 0, "check the graph after each pass, not only at the end", 0},
    {0},
};

static error_t opt_parse(int key, char *arg, struct argp_state *state) {
    opt_args *a = state->input;
    switch (key) {
    case OPT_PASSES: a->opt.passes = arg; break;
    case OPT_LIST: a->list = true; break;
    case OPT_METHOD: a->method = arg; break;
    case OPT_PRINT_ALL: a->opt.print_after_all = true; break;
    case OPT_PRINT: a->opt.print_after = arg; break;
    case OPT_TIME: a->opt.time_passes = true; break;
    case OPT_VERIFY: a->opt.verify_each = true; break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void opt_show_pass(void *ctx, const char *name, const char *text) {
    (void)ctx;
    printf("  %-20s %s\n", name, text);
}

static void opt_print(void *ctx, const char *text, size_t len) {
    (void)ctx;
    fwrite(text, 1, len, stderr);
}

/* The whole file in memory, NULL if it cannot be read. */
static char *opt_read(const char *path, size_t *len) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    char *text = NULL;
    size_t cap = 0, n = 0;
    while (f) {
        if (n == cap) {
            char *more = realloc(text, cap = cap ? cap * 2 : 65536);
            if (!more) break;
            text = more;
        }
        size_t got = fread(text + n, 1, cap - n, f);
        n += got;
        if (got) continue;
        bool bad = ferror(f);
        if (f != stdin) fclose(f);
        if (bad) break;
        *len = n;
        return text;
    }
    free(text);
    return NULL;
}

/* A file that looks like a program is one, however damaged; text is a graph. */
static bool opt_is_model(const char *path) {
    const ctsc_format *f = NULL;
    if (!strcmp(path, "-") || cli_is_source(path)) return cli_is_source(path);
    return ctsc_file_format(path, &f, NULL) != CTSC_OK || (f && (f->holds & CTSC_FORMAT_PROGRAM));
}

static int opt_text(const opt_args *a, char **out, ctsc_error *e) {
    size_t len = 0;
    char *text = opt_read(a->model.path, &len);
    if (!text) return cli_complain(CTSC_BAD_FILE, "cannot read %s", a->model.path);
    ctsc_status s = ctsc_opt_text(a->model.path, text, len, &a->opt, out, e);
    free(text);
    return s == CTSC_OK ? 0 : cli_report(e);
}

static int opt_model(const opt_args *a, char **out, ctsc_error *e) {
    ctsc_module *m = NULL;
    int code = cli_load(&a->model, &m, e);
    if (code) return code;
    if (ctsc_opt_module(m, a->method, &a->opt, out, e) != CTSC_OK) code = cli_report(e);
    ctsc_module_free(m);
    return code;
}

static const struct argp_child opt_children[] = CLI_MODEL_CHILD;
const struct argp cmd_opt_argp = {
    opt_options,
    opt_parse,
    "FILE",
    "Runs passes on a graph and prints the result. FILE is a graph in text form ('-' reads "
    "standard "
    "input), or a model, from which the graph of a method is taken with all calls inlined.",
    opt_children,
    NULL,
    NULL};

int cmd_opt(int argc, char **argv) {
    opt_args a = {.method = "forward",
                  .opt = {.size = sizeof(ctsc_opt_options), .print = opt_print}};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--list")) { /* needs no FILE */
            ctsc_passes(opt_show_pass, NULL);
            return 0;
        }
    cli_parse_args(&cmd_opt_argp, argc, argv, &a);
    char *out = NULL;
    ctsc_error *e = ctsc_error_new();
    int code = opt_is_model(a.model.path) ? opt_model(&a, &out, e) : opt_text(&a, &out, e);
    if (!code) fputs(out, stdout);
    ctsc_string_free(out);
    ctsc_error_free(e);
    return code;
}
