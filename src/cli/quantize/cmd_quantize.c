/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_quantize.c - ctsc quantize: a model on fewer bits, and a table of what that costs and saves.
 *
 * The library does the work (ctsc_module_quantize); what OUT is called decides how it is written.
 * Tests: tests/cli/quantize.test
 */
#include "cli/convert/convert.h"
#include "cli/progress.h"
#include "cli/quantize/quantize.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_DATA = 256,
    OPT_QUANTIZE_METHOD,
    OPT_OBSERVER,
    OPT_PER_TENSOR,
    OPT_SYMMETRIC,
    OPT_REDUCE,
    OPT_KEEP,
    OPT_ERROR,
    OPT_SAMPLES,
    OPT_BATCH,
    OPT_CALLS,
    OPT_JSON,
    OPT_DRY,
    OPT_OPSET,
    OPT_DYNAMIC
};

static const struct argp_option quantize_options[] = {
    {"data", OPT_DATA, "FILE", 0,
     "examples of arguments: .npz, .npy or of torch.save, with a row per example; an image "
     "(FILE:imagenet, as @FILE of --input); a folder of such. May be repeated",
     0},
    {"output", 'o', "OUT", 0,
     "write the model: OUT.onnx, OUT.pt (PyTorch), OUT.safetensors (weights alone)", 0},
    {"method", OPT_QUANTIZE_METHOD, "NAME", 0,
     "static (the default): integers from layer to layer; dynamic: linear layers, with the range "
     "of each call; int8w, int4w[:32|64|128[,asym]]: weights of linear layers and embeddings; bf16",
     0},
    {"observer", OPT_OBSERVER, "NAME", 0,
     "static: how ranges follow from examples: minmax (the default), percentile[:P] (99.999), "
     "entropy",
     0},
    {"per-tensor", OPT_PER_TENSOR, 0, 0, "one scale for a weight, not one per output channel", 0},
    {"symmetric", OPT_SYMMETRIC, 0, 0, "static: activations have zero point 128", 0},
    {"reduce-range", OPT_REDUCE, 0, 0,
     "static, dynamic: activations have 7 bits, for libraries whose sums of products saturate on "
     "processors without VNNI",
     0},
    {"keep-float", OPT_KEEP, "PATTERN", 0,
     "layers whose name fits (* and ?) stay float; may be repeated", 0},
    {"max-error", OPT_ERROR, "E", 0,
     "as many layers as needed stay float, those that lose most first, so that the results' "
     "relative error is at most E",
     0},
    {"samples", OPT_SAMPLES, "N", 0, "examples at most (100)", 0},
    {"batch", OPT_BATCH, "N", 0, "rows of an example (1); 0: a file is an example", 0},
    {"calls", OPT_CALLS, "N", 0, "calls to time (10); 0: none", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {"dry-run", OPT_DRY, 0, 0, "write nothing", 0},
    {"opset", OPT_OPSET, "N", 0,
     "to ONNX: the version of its operators, 13 to 28 (20; 21 for int4w)", 0},
    {"dynamic", OPT_DYNAMIC, "INPUT:DIM[=NAME]", 0,
     "to ONNX: this dim of this argument may have any size; once for each", 0},
    {0},
};

static int quantize_count(struct argp_state *state, const char *option, const char *arg,
                          int least) {
    return cli_whole_number(state, option, arg, least, 1000000000);
}

static void quantize_put(struct argp_state *state, const char *option, const char **list, size_t *n,
                         size_t most, const char *text) {
    if (*n == most) argp_error(state, "--%s: more than %zu are given", option, most);
    list[(*n)++] = text;
}

static error_t quantize_parse(int key, char *arg, struct argp_state *state) {
    quantize_args *a = state->input;
    switch (key) {
    case OPT_DATA: quantize_put(state, "data", a->data, &a->ndata, QUANTIZE_MAX_FILES, arg); break;
    case OPT_KEEP:
        quantize_put(state, "keep-float", a->keep, &a->nkeep, QUANTIZE_MAX_PATTERNS, arg);
        break;
    case 'o': a->output = arg; break;
    case OPT_QUANTIZE_METHOD: a->options.method = arg; break;
    case OPT_OBSERVER: a->options.observer = arg; break;
    case OPT_PER_TENSOR: a->options.per_tensor = true; break;
    case OPT_SYMMETRIC: a->options.symmetric = true; break;
    case OPT_REDUCE: a->options.reduce_range = true; break;
    case OPT_ERROR:
        a->options.max_error = cli_number_within(state, "max-error", arg, 1e-30, 1e30);
        break;
    case OPT_SAMPLES: a->samples = (size_t)quantize_count(state, "samples", arg, 1); break;
    case OPT_BATCH: a->batch = quantize_count(state, "batch", arg, 0); break;
    case OPT_CALLS: a->options.timed_calls = quantize_count(state, "calls", arg, 0); break;
    case OPT_JSON: a->json = true; break;
    case OPT_DRY: a->dry = true; break;
    case OPT_OPSET: a->onnx.opset = quantize_count(state, "opset", arg, 1); break;
    case OPT_DYNAMIC:
        quantize_put(state, "dynamic", a->onnx.dynamic, &a->onnx.naxes, CONVERT_AXES, arg);
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child quantize_children[] = {
    {&cli_model_argp, 0, NULL, 0}, {&cli_compute_argp, 0, NULL, 0}, {0}};
const struct argp cmd_quantize_argp = {
    quantize_options,
    quantize_parse,
    "MODEL",
    "Quantises forward of a model, and prints for each layer how many bytes it takes, how much it "
    "loses, and its time, before and after.\v"
    "An error is |y' - y| / |y|: of a layer that alone is quantised, and of the results. The "
    "examples of --data say which ranges activations have; --input and --inputs add one more. "
    "docs/quantize.md tells what is written.",
    quantize_children,
    NULL,
    NULL};

/* ---- writing --------------------------------------------------------------------------------- */

static int quantize_write_state(const ctsc_quantize_report *r, const char *path, ctsc_error *e) {
    static const char *const keys[] = {"format"}, *const texts[] = {"pt"};
    ctsc_value *state = NULL;
    int code = ctsc_quantize_report_state(r, &state, e) == CTSC_OK &&
                       ctsc_safetensors_save(state, 1, keys, texts, path, e) == CTSC_OK
                   ? 0
                   : cli_report(e);
    ctsc_value_free(state);
    return code;
}

static int quantize_write_onnx(quantize_args *a, ctsc_module *m, const quantize_examples *x,
                               ctsc_error *e) {
    if (!x->n)
        return cli_complain(CTSC_USAGE,
                            "%s: a model of ONNX needs arguments that say sizes: --data FILE, or "
                            "--input 'float32[1,3,224,224]:rand'",
                            a->output);
    size_t n = ctsc_value_len(x->items[0]);
    ctsc_value **args = calloc(n + 1, sizeof *args);
    int code = args ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; !code && i < n; i++)
        if (!(args[i] = ctsc_value_item(x->items[0], i)))
            code = cli_complain(CTSC_LIMIT, "out of memory");
    /* weights in groups, or of 4 bits, came with it */
    if (!a->onnx.opset && a->options.method && !strncmp(a->options.method, "int4w", 5))
        a->onnx.opset = 21;
    if (!code) code = convert_onnx_write(&a->onnx, "forward", m, n, args, a->output, e);
    for (size_t i = 0; args && i < n; i++) ctsc_value_free(args[i]);
    free(args);
    return code;
}

typedef enum quantize_file { FILE_NONE, FILE_ARCHIVE, FILE_ONNX, FILE_WEIGHTS } quantize_file;

/* What OUT is to be; FILE_NONE: it cannot be written. */
static quantize_file quantize_kind(const char *path) {
    const convert_format *f = convert_by_ending(path);
    if (!f || !f->write) return FILE_NONE;
    if (!strcmp(f->name, "onnx")) return FILE_ONNX;
    if (!strcmp(f->name, "safetensors")) return FILE_WEIGHTS;
    return !strcmp(f->name, "pt") || !strcmp(f->name, "torchscript") ? FILE_ARCHIVE : FILE_NONE;
}

static int quantize_write(quantize_args *a, ctsc_module *m, const quantize_examples *x,
                          const ctsc_quantize_report *r, ctsc_error *e) {
    switch (quantize_kind(a->output)) {
    case FILE_ONNX: return quantize_write_onnx(a, m, x, e);
    case FILE_WEIGHTS: return quantize_write_state(r, a->output, e);
    default: return ctsc_module_save(m, a->output, e) == CTSC_OK ? 0 : cli_report(e);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int quantize_check(const quantize_args *a) {
    const char *method = a->options.method;
    if (a->output && quantize_kind(a->output) == FILE_NONE)
        return cli_complain(
            CTSC_USAGE, "quantize: %s: what is written is .onnx, .pt or .safetensors", a->output);
    bool given = a->ndata || a->call.inputs.nspecs || a->call.inputs.file;
    if (!given && (!method || !strcmp(method, "static") || a->options.max_error > 0))
        return cli_complain(
            CTSC_USAGE, "quantize: --data FILE is missing: examples say which ranges "
                        "activations have (--method dynamic, int8w, int4w and bf16 do without)");
    return 0;
}

static int quantize_all(quantize_args *a, ctsc_error *e) {
    ctsc_module *m = NULL;
    quantize_examples x = {0};
    ctsc_quantize_report *r = NULL;
    progress_say("%s: loading", a->model.path);
    int code = cli_load_for_call(&a->model, a->call.opt, NULL, &m, e);
    if (!code) code = quantize_read(a, m, &x, e);
    a->options.for_onnx = a->output && quantize_kind(a->output) == FILE_ONNX;
    progress_say("%s: quantising with %zu example%s", a->model.path, x.n, x.n == 1 ? "" : "s");
    a->options.nkeep_float = a->nkeep;
    a->options.keep_float = a->keep;
    a->options.progress = progress_shown() ? progress_told : NULL;
    a->options.progress_ctx = (void *)(uintptr_t)a->model.path;
    if (!code && ctsc_module_quantize(m, x.n, x.items, &a->options, &r, e) != CTSC_OK)
        code = cli_report(e);
    if (!code && a->output && !a->dry) {
        progress_say("%s: writing %s", a->model.path, a->output);
        code = quantize_write(a, m, &x, r, e);
    }
    progress_end();
    if (!code && a->json) code = quantize_print_json(a, r);
    else if (!code) quantize_show(r);
    if (!code && a->output && !a->dry) cli_say_wrote(a->output, NULL);
    ctsc_quantize_report_free(r);
    quantize_free(&x);
    ctsc_module_free(m);
    return code;
}

int cmd_quantize(int argc, char **argv) {
    quantize_args a = {
        .options = {.size = sizeof a.options, .timed_calls = 10}, .samples = 100, .batch = 1};
    if (!cli_call_init(&a.call, argc)) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_quantize_argp, argc, argv, &a);
    int code = quantize_check(&a);
    if (!code) code = a.output ? cli_check_writable(a.output) : 0;
    ctsc_error *e = code ? NULL : ctsc_error_new();
    if (!code && !e) code = cli_complain(CTSC_LIMIT, "out of memory");
    if (!code) code = quantize_all(&a, e);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
