/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compile.c - ctsc compile: Python source, or an archive, to an archive that ctsc
 * and PyTorch load.
 * Tests: tests/lang, tests/cli/trace.test
 */
#include "cli/cli.h"
#include "cli/compile/ahead.h"
#include "cli/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPT_FREEZE = 256,
    OPT_EXACT,
    OPT_TRACE,
    OPT_INPUT,
    OPT_INPUTS,
    OPT_NO_CHECK,
    OPT_AOT,
    OPT_HEADER,
    OPT_ARCH,
    OPT_DIM,
    OPT_CPU
};

typedef struct compile_args {
    cli_model model;
    const char *output;
    bool freeze, exact;
    cli_inputs inputs; /* of --trace */
    char **names;      /* parallel to its values */
    cli_ahead ahead;
} compile_args;

static const struct argp_option compile_options[] = {
    {"output", 'o', "FILE", 0, "archive to write (SRC with the ending .pt)", 0},
    {"freeze", OPT_FREEZE, 0, 0,
     "make parameters and other fixed attributes constants of forward, as torch.jit.freeze does",
     0},
    {"exact", OPT_EXACT, 0, 0,
     "with --freeze: leave batch norms alone, whose folding changes results by rounding", 0},
    {"trace", OPT_TRACE, 0, 0,
     "run forward once, as Python, with the arguments of --input, and record what it computes, as "
     "torch.jit.trace does; branches and "
     "loops are those of that run",
     0},
    {"input", OPT_INPUT, "SPEC", 0,
     "with --trace: an argument, as in ctsc run: 'float32[1,3,8,8]:rand', @in.npy, 3; NAME=SPEC by "
     "name; once per argument",
     0},
    {"inputs", OPT_INPUTS, "FILE", 0, "with --trace: the arguments, a torch.save'd tuple", 0},
    {"aot", OPT_AOT, "FILE.o", 0,
     "write an object file for programs in C, with all of forward as it runs for arguments like "
     "those of --input, for libctsc-rt.a (docs/aot.md); its function has the file's name",
     0},
    {"header", OPT_HEADER, "FILE.h", 0, "with --aot: the header file (FILE.h of FILE.o)", 0},
    {"arch", OPT_ARCH, "NAME", 0, "with --aot: arm64 or x86_64 (this machine's)", 0},
    {"cpu", OPT_CPU, "NAME", 0,
     "with --aot: avx2 or avx512 (the better of those that this machine has)", 0},
    {"dim", OPT_DIM, "NAME=PLACES", 0,
     "with --aot: the sizes at these places, ARG.DIM[,ARG.DIM...][:MIN], counted from 0, are a "
     "parameter of the function, from MIN (1) to what the example has; once per dim",
     0},
    {"no-check", OPT_NO_CHECK, 0, 0, "with --trace: do not run forward again to compare", 0},
    {0},
};

static error_t compile_parse(int key, char *arg, struct argp_state *state) {
    compile_args *a = state->input;
    switch (key) {
    case 'o': a->output = arg; break;
    case OPT_FREEZE: a->freeze = true; break;
    case OPT_EXACT: a->exact = true; break;
    case OPT_TRACE: a->model.compile.trace = true; break;
    case OPT_AOT: a->ahead.object = arg; break;
    case OPT_HEADER: a->ahead.header = arg; break;
    case OPT_ARCH: a->ahead.arch = arg; break;
    case OPT_CPU: a->ahead.cpu = arg; break;
    case OPT_DIM:
        if (!cli_ahead_dim(&a->ahead, arg)) argp_error(state, "--dim: '%s' is not understood", arg);
        break;
    case OPT_NO_CHECK: a->model.compile.skip_trace_check = true; break;
    case OPT_INPUT: a->inputs.specs[a->inputs.nspecs++] = arg; break;
    case OPT_INPUTS: a->inputs.file = arg; break;
    case ARGP_KEY_END:
        if ((a->inputs.nspecs || a->inputs.file) && !a->model.compile.trace && !a->ahead.object)
            argp_error(state, "--input and --inputs go with --trace and --aot");
        if (!a->ahead.object &&
            (a->ahead.header || a->ahead.arch || a->ahead.cpu || a->ahead.ndims))
            argp_error(state, "--header, --arch, --cpu and --dim go with --aot");
        break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* net.py -> net.pt. NULL: out of memory, or nothing to go by. */
static char *compile_output(const cli_model *m) {
    if (!cli_is_source(m->path)) return NULL;
    char *out = strdup(m->path);
    if (out) strcpy(out + strlen(out) - 3, ".pt");
    return out;
}

/* Nobody named the file, and net.pt may hold the weights of net.py: only an archive, such as the
 * one of the last time, is replaced. */
static int compile_may_replace(const char *path) {
    const ctsc_format *f = NULL;
    if (access(path, F_OK) != 0) return 0;
    ctsc_status s = ctsc_file_format(path, &f, NULL);
    if (s == CTSC_OK && f && f->holds & CTSC_FORMAT_PROGRAM) return 0;
    return cli_complain(CTSC_USAGE,
                        "%s exists and is not an archive of TorchScript: name the archive to "
                        "write, with -o FILE.pt",
                        path);
}

typedef struct compile_sum {
    size_t tensors, parameters;
    int64_t elements;
} compile_sum;

static void compile_count(void *ctx, const ctsc_attribute_info *a) {
    compile_sum *sum = ctx;
    if (ctsc_value_kind(a->value) != CTSC_KIND_TENSOR) return;
    sum->tensors++;
    if (!a->is_parameter) return;
    sum->parameters++;
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(a->value); i++)
        n = cli_product(n, ctsc_tensor_sizes(a->value)[i]);
    sum->elements = cli_sum(sum->elements, n);
}

void cli_say_saved(const ctsc_module *m, const char *path) {
    compile_sum sum = {0};
    char size[96], count[32];
    ctsc_module_attributes(m, compile_count, &sum);
    const char *name = ctsc_module_class(m);
    if (!strncmp(name, "__torch__.", 10)) name += 10;
    fprintf(stderr, "ctsc: wrote %s (%s): %s", path, cli_wrote_bytes(path, size, sizeof size),
            name);
    if (sum.parameters)
        fprintf(stderr, " with %s parameter%s in %zu tensor%s",
                cli_grouped(sum.elements, count, sizeof count), sum.elements == 1 ? "" : "s",
                sum.parameters, sum.parameters == 1 ? "" : "s");
    for (size_t i = 0; i < ctsc_module_method_count(m); i++) {
        char *schema = ctsc_module_method_schema(m, ctsc_module_method_name(m, i));
        fprintf(stderr, "%s%s", i ? "; " : ", ", schema ? schema : "");
        ctsc_string_free(schema);
    }
    fputc('\n', stderr);
}

static const struct argp_child compile_children[] = CLI_MODEL_CHILD;
const struct argp cmd_compile_argp = {
    compile_options,
    compile_parse,
    "SRC.py",
    "Compiles Python source to an archive, as torch.jit.script(...).save(...) would.\v"
    "The entry is --entry, else the function 'forward', else the class 'Main', else the only "
    "module class that no other one uses, else the only scripted function; a function that returns "
    "a module is called. An archive instead "
    "of source is read and written again.\n\nWith --aot an object file is written instead.",
    compile_children,
    NULL,
    NULL};

/* What fails as Python, or is a slip, fails in a trace as well. */
static void compile_hint(const ctsc_error *e) {
    char *text = ctsc_error_render(e, false);
    if (text && !ctsc_error_exception(e) && !strstr(text, "did you mean"))
        fputs("note: code that cannot be scripted can be traced: ctsc compile --trace --input "
              "'float32[1,3,224,224]:rand' ...\n",
              stderr);
    ctsc_string_free(text);
}

/* The arguments that a trace runs forward with. */
static int compile_inputs(compile_args *a, ctsc_error *e) {
    ctsc_status s = cli_read_trace_inputs(&a->inputs, &a->names, e);
    a->model.compile.trace_count = a->inputs.nvalues;
    a->model.compile.trace_inputs = a->inputs.values;
    a->model.compile.trace_names = (const char *const *)a->names;
    return (int)s;
}

static void compile_free(compile_args *a) {
    for (size_t i = 0; a->names && i < a->inputs.nvalues; i++) free(a->names[i]);
    free(a->names);
    cli_free_inputs(&a->inputs);
    free(a->inputs.specs);
}

/* --aot: what the model is compiled to is not an archive. */
static int compile_ahead(compile_args *a, const ctsc_module *m, ctsc_error *e) {
    int code = a->model.compile.trace ? 0 : (int)cli_read_inputs(&a->inputs, m, "forward", e);
    return code ? code : cli_ahead_compile(&a->ahead, m, &a->inputs, e);
}

int cmd_compile(int argc, char **argv) {
    compile_args a = {.inputs.specs = calloc((size_t)argc, sizeof *a.inputs.specs)};
    if (!a.inputs.specs) return compile_free(&a), cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_compile_argp, argc, argv, &a);
    char *output = a.output || a.ahead.object ? NULL : compile_output(&a.model);
    const char *path = a.ahead.object ? a.ahead.object : a.output ? a.output : output;
    if (!path) {
        FILE *f = fopen(a.model.path, "r"); /* a slip in its name matters more */
        int why = f ? 0 : errno;
        if (f) fclose(f);
        compile_free(&a);
        if (why)
            return cli_complain(CTSC_BAD_FILE, "cannot open %s: %s", a.model.path, strerror(why));
        return cli_complain(CTSC_USAGE,
                            "compile: %s is not Python source (.py): compile the source, or name "
                            "the archive to write, with -o FILE.pt",
                            a.model.path);
    }
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    int code = 0;
    if (a.ahead.cpu && ctsc_set_cpu(a.ahead.cpu, e) != CTSC_OK) code = cli_report(e);
    if (!code && a.model.compile.trace) code = compile_inputs(&a, e);
    progress_say("%s: %s", a.model.path, a.model.compile.trace ? "tracing" : "compiling");
    if (!code && output) code = compile_may_replace(output);
    if (!code) code = cli_check_output(path, a.ahead.object ? CLI_OBJECT : CLI_ARCHIVE);
    if (!code) code = cli_load(&a.model, &m, e);
    if (code == CTSC_FAILED && cli_is_source(a.model.path) && !a.model.compile.trace)
        compile_hint(e);
    if (!code && a.freeze && ctsc_module_freeze(m, !a.exact, e) != CTSC_OK) code = cli_report(e);
    if (!code && a.ahead.object) code = compile_ahead(&a, m, e);
    else if (!code && ctsc_module_save(m, path, e) != CTSC_OK) code = cli_report(e);
    progress_end();
    if (!code && !a.ahead.object) cli_say_saved(m, path);
    ctsc_module_free(m);
    ctsc_error_free(e);
    free(output);
    compile_free(&a);
    return code;
}
