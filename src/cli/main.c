/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the ctsc command: finds the subcommand and runs it.
 *
 * Results go to stdout, diagnostics to stderr. Exit codes are ctsc_status numbers (ctsc.h).
 * Tests: tests/cli
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *usage, *text;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND_ROW(name, usage, text) {#name, usage, text, cmd_##name},
    COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

static const struct { const char *name, *arg, *text; } options[] = {
#define OPTION_ROW(name, arg, text) {name, arg, text},
    MAIN_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
};

static void main_help(FILE *to) {
    fputs("Usage: ctsc COMMAND [OPTION...]\n\n"
          "Compiles and runs PyTorch's TorchScript without PyTorch. Python source (net.py) becomes "
          "an archive (net.pt)\n"
          "that ctsc and PyTorch load. Archives of torch.jit.save and torch.export.save, and ONNX "
          "models, can be run,\nconverted, drawn, measured, trained, quantised and served.\n\n"
          "  ctsc compile net.py -o net.pt\n"
          "  ctsc run net.pt --input 'float32[1,3,224,224]:rand'\n\n"
          "MODEL is an archive, an ONNX model or a .py file.\n\nCommands:\n",
          to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-24s %s\n", commands[i].usage, commands[i].text);
    fputs("\nOptions:\n", to);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char form[64];
        snprintf(form, sizeof form, "--%s%s%s", options[i].name, options[i].arg ? " " : "",
                 options[i].arg ? options[i].arg : "");
        fprintf(to, "  %-24s %s\n", form, options[i].text);
    }
    fputs("\nExit codes:\n", to);
#define MAIN_STATUS(name, code, text) fprintf(to, "  %-3d %s\n", code, text);
    CTSC_STATUS_MAP(MAIN_STATUS)
#undef MAIN_STATUS
}

/* What the user types for a command: '-' where its function's name has '_'. */
static bool main_is(const char *name, const char *typed) {
    for (; *name && *typed; name++, typed++)
        if (*typed != (*name == '_' ? '-' : *name)) return false;
    return *name == *typed;
}

/* The command that was meant, perhaps: what begins like it, or is a letter or two
 * away. NULL: none. */
static const char *main_similar(const char *typed) {
    const char *best = NULL;
    int least = 3;
    size_t n = strlen(typed);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *name = commands[i].name;
        int distance = n > 1 && !strncmp(name, typed, n) ? 1 : cli_distance(typed, name);
        if (distance >= least || distance >= (int)strlen(name)) continue;
        least = distance;
        best = name;
    }
    return best;
}

static int main_unknown(const char *typed) {
    const char *similar = main_similar(typed);
    fprintf(stderr, "ctsc: '%s' is not a command.", typed);
    if (access(typed, F_OK) == 0) {
        fprintf(stderr, " Did you mean 'ctsc run %s'?", typed);
    } else if (similar) {
        fputs(" Did you mean '", stderr);
        for (const char *p = similar; *p; p++) fputc(*p == '_' ? '-' : *p, stderr);
        fputs("'?", stderr);
    }
    fputs(" See 'ctsc --help'.\n", stderr);
    return CTSC_USAGE;
}

/* A result that could not be written is no success, whoever ends the program: argp does after
 * --help. */
static int main_code;
static void main_written(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return;
    fputs("ctsc: cannot write to standard output\n", stderr);
    _exit(main_code ? main_code : CTSC_ENVIRONMENT);
}

static int main_finish(int code) {
    free(cli_arguments);
    return main_code = code;
}

char **cli_arguments;
const char *cli_loaded_library;

/* argv is changed on the way. False: out of memory. */
static bool main_keep_arguments(int argc, char **argv) {
    size_t bytes = ((size_t)argc + 1) * sizeof *argv;
    cli_arguments = malloc(bytes);
    return cli_arguments && memcpy(cli_arguments, argv, bytes);
}

/* A library with operators of its own, for the command that follows. */
static int main_load(const char *path) {
    cli_loaded_library = path;
    ctsc_error *e = ctsc_error_new();
    if (!e) return CTSC_LIMIT;
    if (ctsc_load_library(path, e) != CTSC_OK) return cli_report(e);
    ctsc_error_free(e);
    return 0;
}

int main(int argc, char **argv) {
    argp_err_exit_status = CTSC_USAGE;
    atexit(main_written);
    if (argc < 2) {
        main_help(stderr);
        return CTSC_USAGE;
    }
    if (!main_keep_arguments(argc, argv)) return cli_complain(CTSC_LIMIT, "out of memory");
    for (int code;
         !strcmp(argv[1], "--load-library") || !strncmp(argv[1], "--load-library=", 15);) {
        int used = argv[1][14] ? 1 : 2;
        if (argc < used + 2) {
            fputs(argc <= used ? "ctsc: --load-library: the file is missing\n"
                               : "ctsc: a command is missing\n",
                  stderr);
            return CTSC_USAGE;
        }
        if ((code = main_load(used == 1 ? argv[1] + 15 : argv[2]))) return code;
        argc -= used;
        argv += used;
    }
    const char *name = argv[1];
    char help[] = "--help", *asked[4] = {argv[0], NULL, help, NULL};
    if (!strcmp(name, "help") && argc > 2) { /* ctsc help run: ctsc run --help */
        name = asked[1] = argv[2];
        argv = asked;
        argc = 3;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "-?") ||
        !strcmp(name, "help")) {
        main_help(stdout);
        return main_finish(0);
    }
    if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
        printf("ctsc %s\n", ctsc_version());
        return main_finish(0);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!main_is(commands[i].name, name)) continue;
        char full[64];
        snprintf(full, sizeof full, "ctsc %s", name);
        argv[1] = full;
        /* What a command prints does not depend on when a kernel is made; a server answers soon. */
        ctsc_set_compiling(strcmp(name, "serve") ? CTSC_COMPILE_IN_CALLS : CTSC_COMPILE_BACKGROUND);
        return main_finish(commands[i].run(argc - 1, argv + 1));
    }
    return main_unknown(name);
}
