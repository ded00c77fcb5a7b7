/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_prune.c - ctsc prune: weights that become zero, and a table of how many and what that costs.
 *
 * Method. What is pruned are parameters of two dims or more that multiply: those named weight or
 * ..._weight of modules that are no embedding and no normalisation. Each method is a score for
 * elements, or for output channels; the lowest become zero:
 *
 *     l1        |w|, in each layer as many
 *     ln        with --structured alone: the 2-norm of a channel
 *     global    |w| of all layers together: layers with small weights lose more
 *     2:4       the two smallest of each four along the inputs
 *
 * --structured prunes channels (l1: by their 1-norm). As many are pruned as torch.nn.utils.prune
 * rounds to, the first of equal ones first. New tensors take the place of the old ones, since these
 * may be a file's; parameters that several modules share stay shared. With inputs, results are
 * compared: with a layer alone pruned, and with all.
 * Tests: tests/cli/prune.test
 */
#include "cli/cli.h"
#include "cli/progress.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_AMOUNT = 256, OPT_PRUNE_METHOD, OPT_STRUCTURED, OPT_KEEP, OPT_JSON, OPT_DRY };
enum { PRUNE_MAX_PATTERNS = 64, PRUNE_TEXT = 32 };

typedef enum prune_method { PRUNE_L1, PRUNE_LN, PRUNE_GLOBAL, PRUNE_TWO_OF_FOUR } prune_method;
static const char *const prune_methods[] = {"l1", "ln", "global", "2:4"};

typedef struct prune_args {
    cli_model model;
    cli_call call;
    double amount;
    prune_method method;
    bool structured, json, dry;
    const char *keep[PRUNE_MAX_PATTERNS], *output;
    size_t nkeep;
} prune_args;

static const struct argp_option prune_options[] = {
    {"amount", OPT_AMOUNT, "A", 0, "the part of the weights that becomes zero (0.5)", 0},
    {"method", OPT_PRUNE_METHOD, "l1|ln|global|2:4", 0,
     "l1 (the default): the smallest of each layer; ln: output channels with the smallest 2-norm; "
     "global: the smallest of all layers together; 2:4: two of each four along the inputs",
     0},
    {"structured", OPT_STRUCTURED, 0, 0, "whole output channels: l1 (by their 1-norm), ln", 0},
    {"keep", OPT_KEEP, "PATTERN", 0,
     "parameters whose name fits (* and ?) stay as they are; may be repeated", 0},
    {"output", 'o', "OUT.pt", 0, "write the archive", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {"dry-run", OPT_DRY, 0, 0, "write nothing", 0},
    {0},
};

static error_t prune_parse(int key, char *arg, struct argp_state *state) {
    prune_args *a = state->input;
    size_t i = 0, n = sizeof prune_methods / sizeof *prune_methods;
    switch (key) {
    case OPT_AMOUNT: a->amount = cli_number_within(state, "amount", arg, 0, 1); break;
    case OPT_PRUNE_METHOD:
        while (i < n && strcmp(prune_methods[i], arg) != 0) i++;
        if (i == n) argp_error(state, "--method: %s is none of l1, ln, global and 2:4", arg);
        a->method = (prune_method)i;
        break;
    case OPT_STRUCTURED: a->structured = true; break;
    case OPT_KEEP:
        if (a->nkeep == PRUNE_MAX_PATTERNS) argp_error(state, "--keep: too many");
        a->keep[a->nkeep++] = arg;
        break;
    case 'o': a->output = arg; break;
    case OPT_JSON: a->json = true; break;
    case OPT_DRY: a->dry = true; break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        break;
    case ARGP_KEY_END:
        if (a->method == PRUNE_LN) a->structured = true;
        if (a->structured && a->method >= PRUNE_GLOBAL)
            argp_error(state, "--structured: %s prunes elements", prune_methods[a->method]);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child prune_children[] = {
    {&cli_model_argp, 0, NULL, 0}, {&cli_compute_argp, 0, NULL, 0}, {0}};
const struct argp cmd_prune_argp = {
    prune_options,
    prune_parse,
    "MODEL",
    "Makes weights of linear layers, convolutions and recurrent layers zero, and prints for each "
    "how many are and what that changes.\v"
    "An error is |y' - y| / |y|: of the weight, and with --input or --inputs of the results of "
    "forward, where that layer alone is pruned. docs/sparse.md tells what zeros gain.",
    prune_children,
    NULL,
    NULL};

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct prune_layer {
    char *name;
    ctsc_value *before, *after; /* after: NULL until pruned */
    int64_t n, rows, zeros;     /* elements; output channels */
    size_t shared;              /* the layer that has the same tensor; itself: none */
    double error, result_error; /* below 0: not known */
} prune_layer;

typedef struct prune_job {
    prune_args *a;
    ctsc_module *m;
    ctsc_value *object;
    prune_layer *layers;
    size_t n;
    bool failed; /* out of memory */
} prune_job;

/* The class of the module that has the parameter; free with ctsc_string_free. */
static char *prune_class(const ctsc_value *object, const char *name) {
    ctsc_value *at = ctsc_value_copy(object);
    for (const char *dot; at && (dot = strchr(name, '.')); name = dot + 1) {
        char part[256];
        size_t length = (size_t)(dot - name);
        if (length >= sizeof part) break;
        memcpy(part, name, length);
        part[length] = '\0';
        ctsc_value *next = ctsc_value_get(at, part);
        ctsc_value_free(at);
        at = next;
    }
    char *type = at ? ctsc_value_type(at) : NULL;
    ctsc_value_free(at);
    return type;
}

static bool prune_takes(const prune_job *j, const ctsc_attribute_info *x) {
    const char *last = strrchr(x->name, '.');
    last = last ? last + 1 : x->name;
    size_t length = strlen(last);
    bool weight = !strncmp(last, "weight", 6) ||
                  (length > 7 && !strcmp(last + length - 7, "_weight"));
    if (!x->is_parameter || !weight || ctsc_value_kind(x->value) != CTSC_KIND_TENSOR ||
        ctsc_tensor_ndim(x->value) < 2 || ctsc_tensor_dtype(x->value) != CTSC_FLOAT32)
        return false;
    for (size_t i = 0; i < j->a->nkeep; i++)
        if (!fnmatch(j->a->keep[i], x->name, 0)) return false;
    char *type = prune_class(j->object, x->name);
    bool other = !type || strstr(type, "Embedding") || strstr(type, "Norm");
    ctsc_string_free(type);
    return !other;
}

static void prune_visit(void *ctx, const ctsc_attribute_info *x) {
    prune_job *j = ctx;
    if (j->failed || !prune_takes(j, x)) return;
    prune_layer *more = realloc(j->layers, (j->n + 1) * sizeof *more);
    if (more) j->layers = more;
    prune_layer l = {.name = strdup(x->name), .shared = j->n, .error = -1, .result_error = -1};
    if (more && l.name && ctsc_tensor_contiguous(x->value, &l.before, NULL) == CTSC_OK) {
        l.n = 1, l.rows = ctsc_tensor_sizes(l.before)[0];
        for (int i = 0; i < ctsc_tensor_ndim(l.before); i++) l.n *= ctsc_tensor_sizes(l.before)[i];
        for (size_t i = 0; i < j->n && l.shared == j->n; i++)
            if (ctsc_tensor_data(j->layers[i].before) == ctsc_tensor_data(l.before)) l.shared = i;
        j->layers[j->n++] = l;
        return;
    }
    free(l.name);
    j->failed = true;
}

/* ---- pruning --------------------------------------------------------------------------------- */

typedef struct prune_score {
    double score;
    int64_t at; /* an element, or a channel */
    size_t layer;
} prune_score;

static int prune_compare(const void *x, const void *y) {
    const prune_score *a = x, *b = y;
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static const float *prune_data(const ctsc_value *v) { return ctsc_tensor_data(v); }

/* Of a layer's elements, or channels: as many as there are. NaN counts as large. */
static size_t prune_scores(const prune_job *j, size_t layer, prune_score *out) {
    const prune_layer *l = &j->layers[layer];
    const float *w = prune_data(l->before);
    int64_t each = j->a->structured && l->rows ? l->n / l->rows : 1,
            count = j->a->structured ? l->rows : l->n;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t k = i * each; k < (i + 1) * each; k++)
            sum += j->a->method == PRUNE_LN ? (double)w[k] * (double)w[k] : fabs((double)w[k]);
        out[i] = (prune_score){isnan(sum) ? INFINITY : sum, i, layer};
    }
    return (size_t)count;
}

static void prune_lowest(prune_job *j, prune_score *scores, size_t n) {
    size_t zeros = (size_t)nearbyint(j->a->amount * (double)n);
    qsort(scores, n, sizeof *scores, prune_compare);
    for (size_t i = 0; i < zeros; i++) {
        const prune_layer *l = &j->layers[scores[i].layer];
        int64_t each = j->a->structured && l->rows ? l->n / l->rows : 1;
        memset((float *)ctsc_tensor_data(l->after) + scores[i].at * each, 0,
               (size_t)each * sizeof(float));
    }
}

/* Inputs of an output channel are next to one another: [out, in, ...]. */
static void prune_two_of_four(const prune_layer *l) {
    float *w = ctsc_tensor_data(l->after);
    int64_t in = l->rows ? l->n / l->rows : 0;
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t i = 0; i + 4 <= in; i += 4) {
            float *four = w + r * in + i;
            for (int k = 0; k < 2; k++) {
                int least = -1;
                for (int q = 0; q < 4; q++)
                    if (four[q] != 0 && (least < 0 || fabsf(four[q]) < fabsf(four[least])))
                        least = q;
                int zeros = (four[0] == 0) + (four[1] == 0) + (four[2] == 0) + (four[3] == 0);
                if (least >= 0 && zeros < 2) four[least] = 0;
            }
        }
}

static ctsc_status prune_copy(prune_layer *l, ctsc_error *e) {
    ctsc_status st = ctsc_tensor_new(CTSC_FLOAT32, ctsc_tensor_ndim(l->before),
                                     ctsc_tensor_sizes(l->before), &l->after, e);
    if (st != CTSC_OK) return st;
    if (l->n)
        memcpy(ctsc_tensor_data(l->after), prune_data(l->before), (size_t)l->n * sizeof(float));
    return ctsc_value_requires_grad(l->before) ? ctsc_value_set_requires_grad(l->after, true, e)
                                               : st;
}

static void prune_measure(prune_layer *l) {
    const float *was = prune_data(l->before), *is = prune_data(l->after);
    double lost = 0, all = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double x = (double)was[i], less = x - (double)is[i];
        all += x * x, lost += less * less, l->zeros += is[i] == 0;
    }
    l->error = all > 0 ? sqrt(lost / all) : 0;
}

static int prune_weights(prune_job *j, ctsc_error *e) {
    size_t most = 0, all = 0, used = 0;
    for (size_t i = 0; i < j->n; i++) {
        if (j->layers[i].shared != i) continue;
        if (prune_copy(&j->layers[i], e) != CTSC_OK) return cli_report(e);
        all += (size_t)j->layers[i].n;
        most = (size_t)j->layers[i].n > most ? (size_t)j->layers[i].n : most;
    }
    bool together = j->a->method == PRUNE_GLOBAL;
    prune_score *scores = malloc(((together ? all : most) + 1) * sizeof *scores);
    if (!scores) return cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < j->n; i++) {
        if (j->layers[i].shared != i) continue;
        if (j->a->method == PRUNE_TWO_OF_FOUR) prune_two_of_four(&j->layers[i]);
        else if (together) used += prune_scores(j, i, scores + used);
        else prune_lowest(j, scores, prune_scores(j, i, scores));
    }
    if (together) prune_lowest(j, scores, used);
    free(scores);
    for (size_t i = 0; i < j->n; i++)
        if (j->layers[i].shared == i) prune_measure(&j->layers[i]);
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

/* |a - b| and |b| squared, of all float tensors in them. */
static void prune_difference(const ctsc_value *a, const ctsc_value *b, double *lost, double *all) {
    ctsc_kind kind = ctsc_value_kind(b);
    if (kind == CTSC_KIND_TENSOR && ctsc_tensor_dtype(b) == CTSC_FLOAT32) {
        ctsc_value *x = NULL, *y = NULL;
        int64_t n = 1;
        for (int i = 0; i < ctsc_tensor_ndim(b); i++) n *= ctsc_tensor_sizes(b)[i];
        if (ctsc_tensor_contiguous(a, &x, NULL) == CTSC_OK &&
            ctsc_tensor_contiguous(b, &y, NULL) == CTSC_OK)
            for (int64_t i = 0; i < n; i++) {
                double was = (double)prune_data(y)[i], less = was - (double)prune_data(x)[i];
                *all += was * was, *lost += less * less;
            }
        ctsc_value_free(x), ctsc_value_free(y);
    }
    if (kind != CTSC_KIND_TUPLE && kind != CTSC_KIND_LIST && kind != CTSC_KIND_DICT) return;
    for (size_t i = 0; i < ctsc_value_len(b) && i < ctsc_value_len(a); i++) {
        ctsc_value *x = ctsc_value_item(a, i), *y = ctsc_value_item(b, i);
        if (x && y) prune_difference(x, y, lost, all);
        ctsc_value_free(x), ctsc_value_free(y);
    }
}

static ctsc_status prune_run(const prune_job *j, ctsc_value **out, ctsc_error *e) {
    const cli_inputs *in = &j->a->call.inputs;
    ctsc_run_options o = {.size = sizeof o};
    return ctsc_module_run(j->m, "forward", in->nvalues, in->values, &o, out, e);
}

/* Puts the layer's weights, pruned or not, wherever they are. */
static ctsc_status prune_put(const prune_job *j, size_t layer, bool pruned, ctsc_error *e) {
    for (size_t i = layer; i < j->n; i++) {
        const prune_layer *l = &j->layers[layer];
        if (j->layers[i].shared != layer) continue;
        ctsc_status st = ctsc_module_set_attribute(j->m, j->layers[i].name,
                                                   pruned ? l->after : l->before, e);
        if (st != CTSC_OK) return st;
    }
    return CTSC_OK;
}

static int prune_compare_results(prune_job *j, const ctsc_value *want, double *error,
                                 ctsc_error *e) {
    ctsc_value *got = NULL;
    double lost = 0, all = 0;
    if (prune_run(j, &got, e) != CTSC_OK) return cli_report(e);
    prune_difference(got, want, &lost, &all);
    ctsc_value_free(got);
    *error = all > 0 ? sqrt(lost / all) : 0;
    return 0;
}

/* Leaves all layers pruned. *error: of all together, below 0 without inputs. */
static int prune_results(prune_job *j, double *error, ctsc_error *e) {
    ctsc_value *want = NULL;
    int code = 0;
    bool runs = j->a->call.inputs.nspecs || j->a->call.inputs.file;
    if (runs && cli_read_inputs(&j->a->call.inputs, j->m, "forward", e) != CTSC_OK)
        return cli_report(e);
    if (runs && prune_run(j, &want, e) != CTSC_OK) return cli_report(e);
    for (size_t i = 0; runs && !code && i < j->n; i++) {
        if (j->layers[i].shared != i) continue;
        progress_say("%s: results without weights of %s", j->a->model.path, j->layers[i].name);
        if (prune_put(j, i, true, e) != CTSC_OK) code = cli_report(e);
        if (!code) code = prune_compare_results(j, want, &j->layers[i].result_error, e);
        if (!code && prune_put(j, i, false, e) != CTSC_OK) code = cli_report(e);
    }
    for (size_t i = 0; !code && i < j->n; i++)
        if (j->layers[i].shared == i && prune_put(j, i, true, e) != CTSC_OK) code = cli_report(e);
    if (runs && !code) code = prune_compare_results(j, want, error, e);
    ctsc_value_free(want);
    return code;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static const char *prune_percent(double x, char *text) {
    if (x < 0) return "-";
    snprintf(text, PRUNE_TEXT, "%.3g%%", x * 100);
    return text;
}

static const char *prune_sizes(const ctsc_value *t, char *text, size_t size) {
    size_t n = 0;
    *text = '\0';
    for (int i = 0; i < ctsc_tensor_ndim(t) && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "x" : "",
                              (long long)ctsc_tensor_sizes(t)[i]);
    return text;
}

static void prune_show(const prune_job *j, int64_t n, int64_t zeros, double error) {
    char a[PRUNE_TEXT], b[PRUNE_TEXT], c[PRUNE_TEXT], sizes[96], s[32], z[32];
    int width = 9;
    for (size_t i = 0; i < j->n; i++)
        width = (int)strlen(j->layers[i].name) > width ? (int)strlen(j->layers[i].name) : width;
    width = width > 60 ? 60 : width;
    printf("%-*s  %-16s %12s %9s %9s %9s\n", width, "parameter", "sizes", "zeros", "sparsity",
           "error", "results");
    for (size_t i = 0; i < j->n; i++) {
        const prune_layer *l = &j->layers[i];
        if (l->shared != i) {
            printf("%-*s  the same as %s\n", width, l->name, j->layers[l->shared].name);
            continue;
        }
        printf("%-*s  %-16s %12s %9s %9s %9s\n", width, l->name,
               prune_sizes(l->before, sizes, sizeof sizes), cli_grouped(l->zeros, z, sizeof z),
               prune_percent(l->n ? (double)l->zeros / (double)l->n : 0, a),
               prune_percent(l->error, b), prune_percent(l->result_error, c));
    }
    printf("%-*s  %-16s %12s %9s %9s %9s\n", width, "all", cli_grouped(n, s, sizeof s),
           cli_grouped(zeros, z, sizeof z), prune_percent(n ? (double)zeros / (double)n : 0, a), "",
           prune_percent(error, b));
}

static int prune_print_json(const prune_job *j, int64_t n, int64_t zeros, double error) {
    json_t *layers = json_array();
    for (size_t i = 0; i < j->n; i++) {
        const prune_layer *l = &j->layers[j->layers[i].shared];
        json_t *sizes = json_array();
        for (int k = 0; k < ctsc_tensor_ndim(l->before); k++)
            json_array_append_new(sizes, json_integer(ctsc_tensor_sizes(l->before)[k]));
        json_array_append_new(
            layers, json_pack("{ss so sI sI sf so}", "name", j->layers[i].name, "sizes", sizes,
                              "elements", (json_int_t)l->n, "zeros", (json_int_t)l->zeros, "error",
                              l->error, "result_error",
                              l->result_error < 0 ? json_null() : json_real(l->result_error)));
    }
    return cli_print_json(
        json_pack("{ss sf sb ss? so sI sI so}", "method", prune_methods[j->a->method], "amount",
                  j->a->amount, "structured", j->a->structured, "output", j->a->output, "layers",
                  layers, "elements", (json_int_t)n, "zeros", (json_int_t)zeros, "error",
                  error < 0 ? json_null() : json_real(error)));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int prune_all(prune_job *j, ctsc_error *e) {
    prune_args *a = j->a;
    double error = -1;
    int64_t n = 0, zeros = 0;
    progress_say("%s: loading", a->model.path);
    int code = cli_load_for_call(&a->model, a->call.opt, NULL, &j->m, e);
    if (code) return code;
    j->object = ctsc_module_object(j->m);
    if (j->object) ctsc_module_attributes(j->m, prune_visit, j);
    if (!j->object || j->failed) return cli_complain(CTSC_LIMIT, "out of memory");
    if (!j->n)
        return cli_complain(CTSC_UNSUPPORTED,
                            "prune: %s has no parameters of float32 that multiply: they are "
                            "constants of a frozen or exported program, or there are none",
                            a->model.path);
    code = prune_weights(j, e);
    if (!code) code = prune_results(j, &error, e);
    if (!code && a->output && !a->dry && ctsc_module_save(j->m, a->output, e) != CTSC_OK)
        code = cli_report(e);
    progress_end();
    for (size_t i = 0; i < j->n; i++)
        if (j->layers[i].shared == i) n += j->layers[i].n, zeros += j->layers[i].zeros;
    if (!code && a->json) return prune_print_json(j, n, zeros, error);
    if (!code) prune_show(j, n, zeros, error);
    return code;
}

int cmd_prune(int argc, char **argv) {
    prune_args a = {.amount = 0.5};
    prune_job j = {.a = &a};
    if (!cli_call_init(&a.call, argc)) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_prune_argp, argc, argv, &a);
    int code = a.output ? cli_check_output(a.output, CLI_ARCHIVE) : 0;
    ctsc_error *e = code ? NULL : ctsc_error_new();
    if (!code && !e) code = cli_complain(CTSC_LIMIT, "out of memory");
    if (!code) code = prune_all(&j, e);
    progress_end();
    for (size_t i = 0; i < j.n; i++) {
        free(j.layers[i].name);
        ctsc_value_free(j.layers[i].before), ctsc_value_free(j.layers[i].after);
    }
    free(j.layers);
    ctsc_value_free(j.object);
    ctsc_module_free(j.m);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
