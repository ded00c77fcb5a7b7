/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_convert.c - ctsc convert: a model or its weights in another format.
 *
 * The formats are a table (convert.h). The ending of a file's name says which one it is, unless
 * --from or --to does.
 * Tests: tests/cli/convert.test
 */
#include "cli/convert/convert.h"
#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    OPT_FROM = 256,
    OPT_TO,
    OPT_OPSET,
    OPT_DYNAMIC,
    OPT_INPUT_NAMES,
    OPT_OUTPUT_NAMES,
    OPT_CHECK,
    OPT_FORCE
};

typedef struct convert_args {
    cli_model model;
    const char *output;
    const convert_format *from, *to;
    bool force;
    convert_how how;
} convert_args;

static const struct argp_option convert_options[] = {
    {"from", OPT_FROM, "FORMAT", 0, "what IN is, where its ending does not say", 0},
    {"to", OPT_TO, "FORMAT", 0,
     "what to write, where the ending of OUT does not say; without OUT the file is IN's with "
     "the format's ending",
     0},
    {"force", OPT_FORCE, 0, 0, "replace an existing file without OUT, or one of IN's format", 0},
    {"opset", OPT_OPSET, "N", 0, "to ONNX: the version of its operators, 13 to 28 (20)", 0},
    {"dynamic", OPT_DYNAMIC, "INPUT:DIM[=NAME]", 0,
     "to ONNX: this dim of this argument (its name, or its number from 0) may have any size; once "
     "for each",
     0},
    {"input-names", OPT_INPUT_NAMES, "NAME,...", 0,
     "to ONNX: what the model calls its inputs, in their order (as the arguments are called)", 0},
    {"output-names", OPT_OUTPUT_NAMES, "NAME,...", 0,
     "to ONNX: what it calls its outputs (output, output_1, ...)", 0},
    {"check", OPT_CHECK, "TOLERANCE", OPTION_ARG_OPTIONAL,
     "to ONNX: read the file again, run it with the arguments, and with longer ones where there is "
     "--dynamic, and keep it only where it gives the same, to this part of the largest element "
     "(1e-3)",
     0},
    {0},
};

/* The format that a user named; a usage error with what was meant, perhaps. */
static const convert_format *convert_named(struct argp_state *state, const char *option,
                                           const char *name) {
    char file[64], all[256] = "";
    snprintf(file, sizeof file, "x%s", name); /* .pt: a file of that ending */
    const convert_format *found = *name == '.' ? convert_by_ending(file) : convert_by_name(name),
                         *best = NULL;
    int least = 3;
    if (found) return found;
    for (const convert_format *f = convert_formats; f->name; f++) {
        size_t n = strlen(all);
        int distance = cli_distance(name, f->name);
        snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", f->name);
        if (distance < least) least = distance, best = f;
    }
    argp_error(state, "%s: '%s' is not a format%s%s%s (%s)", option, name,
               best ? ", did you mean '" : "", best ? best->name : "", best ? "'?" : "", all);
    return NULL;
}

static void convert_opset(struct argp_state *state, const char *arg, convert_onnx_args *a) {
    char *end;
    long n = strtol(arg, &end, 10);
    if (end == arg || *end || n < 1 || n > 1000)
        argp_error(state, "--opset: '%s' is not a version", arg);
    a->opset = (int)n;
}

static void convert_dynamic(struct argp_state *state, const char *arg, convert_onnx_args *a) {
    if (a->naxes == CONVERT_AXES) argp_error(state, "--dynamic: %d at most", CONVERT_AXES);
    a->dynamic[a->naxes++] = arg;
}

static void convert_check(struct argp_state *state, const char *arg, convert_onnx_args *a) {
    a->check = true;
    if (arg && !((a->tolerance = cli_number(state, "check", arg)) > 0))
        argp_error(state, "--check: '%s' is not a tolerance", arg);
}

static error_t convert_parse(int key, char *arg, struct argp_state *state) {
    convert_args *a = state->input;
    switch (key) {
    case OPT_FROM: a->from = convert_named(state, "--from", arg); break;
    case OPT_TO: a->to = convert_named(state, "--to", arg); break;
    case OPT_FORCE: a->force = true; break;
    case OPT_OPSET: convert_opset(state, arg, &a->how.onnx); break;
    case OPT_DYNAMIC: convert_dynamic(state, arg, &a->how.onnx); break;
    case OPT_INPUT_NAMES: a->how.onnx.input_names = arg; break;
    case OPT_OUTPUT_NAMES: a->how.onnx.output_names = arg; break;
    case OPT_CHECK: convert_check(state, arg, &a->how.onnx); break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->how.call;
        break;
    case ARGP_KEY_ARG:
        if (!a->model.path) return ARGP_ERR_UNKNOWN; /* IN is the child's */
        if (a->output)
            argp_error(state, "one IN and one OUT are expected: '%s' is one argument too many",
                       arg);
        a->output = arg;
        break;
    case ARGP_KEY_END:
        if (a->model.path && !a->output && !a->to) argp_error(state, "OUT, or --to, is missing");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static char *convert_help(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)(uintptr_t)text;
    size_t size = 4096, n = 0;
    char *all = malloc(size);
    if (!all) return NULL;
    n += (size_t)snprintf(all, size, "%s\n\nFormats:\n\n", text ? text : "");
    for (const convert_format *f = convert_formats; f->name && n < size; f++) {
        const ctsc_format *about = ctsc_format_find(f->name);
        n += (size_t)snprintf(all + n, size - n, "  %-12s %s%s (%s)\n", f->name, about->text,
                              f->write ? "" : "; read only", about->endings);
    }
    return all;
}

static const struct argp_child convert_children[] = CLI_CALL_CHILDREN;
const struct argp cmd_convert_argp = {
    convert_options,
    convert_parse,
    "IN-FILE [OUT-FILE]",
    "Writes a model, or its weights, in another format, which the endings of the names tell.\v"
    "A program becomes an archive of TorchScript or gives its weights away; weights alone stay "
    "weights. Of a method (--method) a model of ONNX is made: the arguments of --input say dtypes "
    "and sizes, and which branches are taken; --dynamic lets sizes vary (docs/onnx.md).",
    convert_children,
    convert_help,
    NULL};

/* IN's name with the ending of the format that is written. NULL: out of memory. */
static char *convert_output(const convert_args *a) {
    const char *in = a->model.path, *ending = ctsc_format_find(a->to->name)->endings;
    size_t cut = 0, len = strcspn(ending, " ");
    ctsc_format_by_ending(in, &cut);
    size_t stem = strlen(in) - cut;
    char *out = malloc(stem + len + 1);
    if (out) sprintf(out, "%.*s%.*s", (int)stem, in, (int)len, ending);
    return out;
}

/* Whether OUT may be replaced. A name that was made of IN's is a guess; and where OUT has IN's
 * ending and format, nothing is converted, and `ctsc convert *.pt` is what was typed. */
static int convert_may_replace(const convert_args *a, const char *output) {
    const ctsc_format *in = NULL, *out = NULL;
    const char *dot = strrchr(a->model.path, '.'), *ending = strrchr(output, '.');
    struct stat one, two;
    if (a->force || stat(output, &two) != 0) return 0;
    if (!a->output) return cli_complain(CTSC_USAGE, "%s exists: name OUT, or use --force", output);
    if (!dot || !ending || strcmp(dot, ending) || stat(a->model.path, &one) != 0 ||
        a->model.compile.weights || (one.st_dev == two.st_dev && one.st_ino == two.st_ino) ||
        ctsc_file_format(a->model.path, &in, NULL) != CTSC_OK ||
        ctsc_file_format(output, &out, NULL) != CTSC_OK || !in || in != out)
        return 0;
    return cli_complain(CTSC_USAGE,
                        "%s exists and has the format of %s (%s): use --force to "
                        "replace it",
                        output, a->model.path, in->name);
}

/* The formats of both files. */
static int convert_choose(convert_args *a) {
    if (!a->from) a->from = convert_by_ending(a->model.path);
    if (!a->from) a->from = convert_by_name("pt"); /* which looks inside */
    if (!a->to) a->to = convert_by_ending(a->output);
    if (!a->to)
        return cli_complain(CTSC_USAGE,
                            "convert: the ending of '%s' is not that of a format: use --to FORMAT "
                            "('ctsc convert --help' lists them)",
                            a->output);
    if (!a->to->write)
        return cli_complain(CTSC_USAGE, "convert: %s is read, but not written", a->to->name);
    if (!a->from->read)
        return cli_complain(CTSC_USAGE, "convert: %s is written, but not read", a->from->name);
    return 0;
}

int cmd_convert(int argc, char **argv) {
    convert_args a = {0};
    convert_content c = {0};
    if (!cli_call_init(&a.how.call, argc)) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_convert_argp, argc, argv, &a);
    int code = convert_choose(&a);
    if (code) {
        cli_call_free(&a.how.call);
        return code;
    }
    char *made = a.output ? NULL : convert_output(&a);
    const char *output = a.output ? a.output : made;
    ctsc_error *e = ctsc_error_new();
    if (!e || !output) code = cli_complain(CTSC_LIMIT, "out of memory");
    if (!code) code = convert_may_replace(&a, output);
    if (!code) code = cli_check_writable(output);
    progress_say("%s: reading", a.model.path);
    if (!code) code = a.from->read(&a.model, &c, e);
    if (!code) progress_say("%s: writing %s", a.model.path, output);
    if (!code) code = a.to->write(&c, &a.how, output, e);
    progress_end();
    if (!code) cli_say_wrote(output, a.to->name);
    convert_free(&c);
    ctsc_error_free(e);
    cli_call_free(&a.how.call);
    free(made);
    return code;
}
