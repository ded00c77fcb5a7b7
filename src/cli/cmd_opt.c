/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_opt.c - ctsc opt: runs passes on a graph in text form, for people who work on the compiler. */
#include "cli/cli.h"
#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_PASSES = 256, OPT_LIST };

typedef struct opt_args { const char *file, *passes; bool list; } opt_args;

static const struct argp_option opt_options[] = {
    {"passes", OPT_PASSES, "A,B,C", 0, "passes to run, in this order", 0},
    {"list", OPT_LIST, 0, 0, "list the passes and stop", 0},
    {0}};

static error_t opt_parse(int key, char *arg, struct argp_state *state) {
    opt_args *a = state->input;
    switch (key) {
    case OPT_PASSES: a->passes = arg; break;
    case OPT_LIST: a->list = true; break;
    case ARGP_KEY_ARG:
        if (a->file) argp_error(state, "one FILE only, '%s' is too much", arg);
        a->file = arg;
        break;
    case ARGP_KEY_END:
        if (!a->file && !a->list) argp_error(state, "FILE is missing ('-' reads standard input)");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void opt_show_pass(void *ctx, const char *name, const char *text) {
    (void)ctx;
    printf("  %-20s %s\n", name, text);
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

int cmd_opt(int argc, char **argv) {
    static const struct argp argp = {opt_options, opt_parse, "FILE", "Runs passes on a graph in text form and prints the result.",
                                     NULL, NULL, NULL};
    opt_args a = {.passes = ""};
    cli_parse_args(&argp, argc, argv, &a);
    if (a.list) {
        ctsc_passes(opt_show_pass, NULL);
        return 0;
    }
    size_t len = 0;
    char *text = opt_read(a.file, &len), *out = NULL;
    if (!text) return cli_complain(CTSC_BAD_FILE, "cannot read %s", a.file);
    ctsc_error *e = ctsc_error_new();
    int code = ctsc_opt_text(a.file, text, len, a.passes, &out, e);
    if (code) cli_report(e);
    else fputs(out, stdout);
    ctsc_string_free(out);
    ctsc_error_free(e);
    free(text);
    return code;
}
