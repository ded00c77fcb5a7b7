/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_view.c - ctsc view: a page that draws a method's graph, to a file or over HTTP.
 *
 * Its data, which --json prints: {"title", "method", "class", "weights": [{"name": "fc.weight",
 * "type": "float32[4,8]", "parameter": true}, ...], "graphs": [{"name": "as run", ...}, ...]},
 * where a graph is what ctsc_module_graph_json writes. Of two models: {"models": [...], "weights":
 * [...]}, where weights is what view_weights.h says. Without arguments
 * those are taken that an archive of torch.export keeps, or such are made as the program says it
 * takes; if there are none nothing is called, and shapes and times are not known.
 * Tests: tests/cli/view.test, tests/view
 */
#include "cli/show/view_weights.h"
#include "view/view.h"

#include <ctsc_compiler.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_OUTPUT = 'o',
    OPT_SERVE = 256,
    OPT_PORT,
    OPT_HOST,
    OPT_JSON,
    OPT_CALLS,
    OPT_WARMUP,
    OPT_FORCE
};

typedef struct view_args {
    cli_model model;
    const char *other; /* a second model, to compare with; NULL: none */
    cli_call call;
    const char *output, *host; /* output NULL: named after the model */
    int port, calls, warmup;
    bool serve, json, force;
    bool made_up; /* the arguments: no failure with them is worth a word */
} view_args;

static const struct argp_option view_options[] = {
    {"output", OPT_OUTPUT, "FILE", 0,
     "the page to write (the model's name with .html); - for stdout", 0},
    {"force", OPT_FORCE, 0, 0,
     "without -o: replace an existing file that is not a page of this model", 0},
    {"serve", OPT_SERVE, 0, 0, "serve the page over HTTP instead, until Ctrl-C", 0},
    {"port", OPT_PORT, "N", 0, "with --serve: the port (8000); 0: any free one", 0},
    {"host", OPT_HOST, "ADDRESS", 0, "with --serve: the address to listen on (127.0.0.1)", 0},
    {"json", OPT_JSON, 0, 0, "print the page's data as JSON instead", 0},
    {"calls", OPT_CALLS, "N", 0, "calls to time the nodes with (5); 0: no times", 0},
    {"warmup", OPT_WARMUP, "N", 0, "calls before them that are not timed (3)", 0},
    {0},
};

static int view_number(struct argp_state *state, const char *option, const char *arg, int max) {
    return cli_whole_number(state, option, arg, 0, max);
}

static error_t view_parse(int key, char *arg, struct argp_state *state) {
    view_args *a = state->input;
    switch (key) {
    case OPT_OUTPUT: a->output = arg; break;
    case OPT_FORCE: a->force = true; break;
    case OPT_SERVE: a->serve = true; break;
    case OPT_HOST: a->host = arg; break;
    case OPT_JSON: a->json = true; break;
    case OPT_PORT: a->port = view_number(state, "port", arg, 65535); break;
    case OPT_CALLS: a->calls = view_number(state, "calls", arg, 1000000); break;
    case OPT_WARMUP: a->warmup = view_number(state, "warmup", arg, 1000000); break;
    case ARGP_KEY_ARG:
        if (!a->model.path) return ARGP_ERR_UNKNOWN; /* the child's */
        if (a->other) argp_error(state, "at most two MODELs are drawn: '%s' is one too many", arg);
        a->other = arg;
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        break;
    case ARGP_KEY_END:
        if (a->serve + a->json + (a->output != NULL) > 1)
            argp_error(state, "one of --output, --serve and --json");
        if (!a->serve && (a->port >= 0 || a->host))
            argp_error(state, "--port and --host go with --serve");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- arguments of archives ------------------------------------------------------------------- */

/* sample: ((args...), {name: arg}). In the order of the method's arguments; an
 * argument with a default between them cannot be omitted, so then there are none. */
static bool view_spread(const ctsc_value *sample, const ctsc_signature *sig, cli_inputs *in) {
    ctsc_value *args = ctsc_value_item(sample, 0), *named = ctsc_value_item(sample, 1);
    size_t nargs = ctsc_value_len(args), n = nargs + ctsc_value_len(named);
    free(in->values); /* room for none */
    in->values = NULL;
    bool ok = n <= ctsc_signature_argument_count(sig) &&
              (in->values = calloc(n + 1, sizeof *in->values)) != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        const char *name = ctsc_signature_argument(sig, i)->name;
        ctsc_value *v = i < nargs ? ctsc_value_item(args, i) : NULL;
        for (size_t k = 0; i >= nargs && k < n - nargs && !v; k++) {
            ctsc_value *key = ctsc_value_key(named, k);
            const char *text = key && ctsc_value_kind(key) == CTSC_KIND_STRING
                                   ? ctsc_value_string(key, NULL)
                                   : "";
            if (!strcmp(text, name)) v = ctsc_value_item(named, k);
            ctsc_value_free(key);
        }
        if ((ok = v != NULL)) in->values[in->nvalues++] = v;
    }
    ctsc_value_free(args);
    ctsc_value_free(named);
    return ok;
}

static void view_drop_inputs(cli_inputs *in) {
    while (in->nvalues) ctsc_value_free(in->values[--in->nvalues]);
    free(in->values);
    in->values = NULL;
}

/* The arguments that the archive keeps, if it does: it is not a failure where it does not. False:
 * there are none. */
static bool view_sample(view_args *a, const ctsc_module *m) {
    ctsc_value *sample = NULL;
    ctsc_signature *sig = NULL;
    cli_inputs *in = &a->call.inputs;
    if (in->nspecs || in->file || cli_is_source(a->model.path)) return false;
    if (ctsc_archive_sample_inputs(a->model.path, &sample, NULL) == CTSC_OK && sample &&
        ctsc_module_signature(m, a->call.method, &sig, NULL) == CTSC_OK &&
        !view_spread(sample, sig, in))
        view_drop_inputs(in);
    ctsc_signature_free(sig);
    ctsc_value_free(sample);
    return in->nvalues > 0;
}

/* The text of --input for an argument whose dtype and dims the program states: 1 where any size is
 * possible. NULL: it does not state them, or there is no room. */
static const char *view_spec(const ctsc_argument *arg, char *text, size_t size) {
    const ctsc_dtype_info *d = arg->typed ? ctsc_dtype_describe(arg->dtype) : NULL;
    if (arg->kind != CTSC_KIND_TENSOR || !d || arg->ndim < 0) return NULL;
    size_t used = (size_t)snprintf(text, size, "%s[", d->name);
    for (int i = 0; i < arg->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "",
                                 arg->sizes[i] < 0 ? 1LL : (long long)arg->sizes[i]);
    bool real = arg->dtype == CTSC_FLOAT32 || arg->dtype == CTSC_FLOAT64;
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, real ? "]:rand" : "]:zeros");
    return used < size ? text : NULL;
}

/* Arguments of the shapes that the program states, as those of torch.export and ONNX do, where it
 * states all that a call needs. */
static bool view_make_up(view_args *a, const ctsc_module *m) {
    ctsc_signature *sig = NULL;
    cli_inputs *in = &a->call.inputs;
    char text[1024];
    if (in->nspecs || in->file || ctsc_module_signature(m, a->call.method, &sig, NULL) != CTSC_OK)
        return false;
    size_t n = ctsc_signature_argument_count(sig);
    free(in->values); /* room for none */
    bool ok = n && (in->values = calloc(n, sizeof *in->values)) != NULL;
    if (!n) in->values = NULL;
    for (size_t i = 0; i < n && ok; i++) {
        const ctsc_argument *arg = ctsc_signature_argument(sig, i);
        if (arg->default_value) break;
        const char *spec = view_spec(arg, text, sizeof text);
        ok = spec && cli_parse_input(spec, &in->values[in->nvalues]) == CTSC_OK;
        if (ok) in->nvalues++;
    }
    ctsc_signature_free(sig);
    if (!ok) view_drop_inputs(in);
    return a->made_up = in->nvalues > 0;
}

/* ---- the page's data ------------------------------------------------------------------------- */

typedef struct view_data { char *text; size_t len; } view_data;

static int view_graph(const view_args *a, const ctsc_module *m, bool as_run, FILE *to,
                      ctsc_error *e) {
    ctsc_graph_json_options o = {
        .size = sizeof o, .as_run = as_run, .calls = a->calls, .warmup = a->warmup};
    const cli_inputs *in = &a->call.inputs;
    char *text = NULL;
    if (ctsc_module_graph_json(m, a->call.method, in->nvalues, in->values, &o, &text, e) != CTSC_OK)
        return a->made_up ? (int)ctsc_error_status(e) : cli_report(e);
    fprintf(to, "{\"name\":\"%s\",\n%s", as_run ? "as run" : "as written", text + 1);
    ctsc_string_free(text);
    return 0;
}

/* With arguments what runs comes first, without them what was written. */
static int view_write(const view_args *a, const ctsc_module *m, FILE *to, ctsc_error *e) {
    const char *slash = strrchr(a->model.path, '/');
    int level = a->call.opt < 0 ? CLI_OPT_DEFAULT : a->call.opt, code = 0;
    bool run_first = a->call.inputs.nvalues > 0;
    fputs("{\"title\":", to);
    view_string(to, slash ? slash + 1 : a->model.path);
    fputs(",\"method\":", to);
    view_string(to, a->call.method);
    fputs(",\"class\":", to);
    view_string(to, ctsc_module_class(m));
    fputs(",\n\"weights\":", to);
    view_weights(m, to);
    fputs(",\n\"graphs\":[\n", to);
    for (int i = 0; i < (level ? 2 : 1) && !code; i++) {
        if (i) fputs(",\n", to);
        code = view_graph(a, m, level && (i == 0) == run_first, to, e);
    }
    fputs("]}\n", to);
    return code;
}

static int view_try(const view_args *a, const ctsc_module *m, view_data *d, ctsc_error *e) {
    FILE *to = open_memstream(&d->text, &d->len);
    int code = to ? view_write(a, m, to, e) : cli_complain(CTSC_LIMIT, "out of memory");
    if (to && fclose(to) != 0 && !code) code = cli_complain(CTSC_LIMIT, "out of memory");
    return code;
}

/* One model of a page, and the arguments that it is called with. */
typedef struct view_drawn {
    view_args args;
    ctsc_module *m;
    bool own; /* the arguments are not the user's */
} view_drawn;

static int view_load(view_drawn *v, ctsc_error *e) {
    view_args *a = &v->args;
    int code = cli_load_for_call(&a->model, a->call.opt, a->call.precision, &v->m, e);
    if (!code) code = cli_read_inputs(&a->call.inputs, v->m, a->call.method, e);
    v->own = !code && (view_sample(a, v->m) || view_make_up(a, v->m));
    return code;
}

/* A model is drawn without a call if it fails with arguments that the user did not give. */
static int view_draw(view_drawn *v, view_data *d, ctsc_error *e) {
    view_args *a = &v->args;
    int code = cli_place(a->call.device, v->m, &a->call.inputs, e);
    if (!code) code = view_try(a, v->m, d, e);
    if (code && v->own) {
        if (!a->made_up)
            cli_complain(0, "that was with the arguments of the archive: drawn without a call");
        a->made_up = false;
        free(d->text);
        *d = (view_data){0};
        view_drop_inputs(&a->call.inputs);
        code = view_try(a, v->m, d, e);
    }
    return code;
}

static void view_drawn_free(view_drawn *v) {
    cli_free_inputs(&v->args.call.inputs);
    ctsc_module_free(v->m);
}

static int view_gather_one(const view_args *a, view_data *d, ctsc_error *e) {
    view_drawn v = {.args = *a};
    int code = view_load(&v, e);
    if (!code) code = view_draw(&v, d, e);
    view_drawn_free(&v);
    return code;
}

/* Of two models that are to be compared one may have arguments for both. */
static int view_lend(const view_drawn *from, view_drawn *to) {
    const cli_inputs *has = &from->args.call.inputs;
    cli_inputs *in = &to->args.call.inputs;
    if (in->nvalues || !has->nvalues) return 0;
    free(in->values);
    if (!(in->values = calloc(has->nvalues, sizeof *in->values)))
        return cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < has->nvalues; i++)
        if ((in->values[i] = ctsc_value_copy(has->values[i]))) in->nvalues++;
    to->own = to->args.made_up = true;
    return in->nvalues == has->nvalues ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
}

/* {"models": [as of one, ...], "weights": what view_weights_differ writes} */
static int view_write_two(view_drawn v[2], FILE *to, ctsc_error *e) {
    int code = 0;
    fputs("{\"models\":[", to);
    for (int i = 0; i < 2 && !code; i++) {
        view_data d = {0};
        code = view_draw(&v[i], &d, e);
        if (i) fputs(",\n", to);
        if (!code) fwrite(d.text, 1, d.len, to);
        free(d.text);
    }
    fputs("],\n\"weights\":", to);
    if (!code && view_weights_differ(v[0].m, v[1].m, to) != CTSC_OK)
        code = cli_complain(CTSC_LIMIT, "out of memory");
    fputs("}\n", to);
    return code;
}

static int view_gather_two(const view_args *a, view_data *d, ctsc_error *e) {
    view_drawn v[2] = {{.args = *a}, {.args = *a}};
    v[1].args.model.path = a->other;
    int code = 0;
    for (int i = 0; i < 2 && !code; i++) code = view_load(&v[i], e);
    for (int i = 0; i < 2 && !code; i++) code = view_lend(&v[!i], &v[i]);
    FILE *to = code ? NULL : open_memstream(&d->text, &d->len);
    if (!code && !to) code = cli_complain(CTSC_LIMIT, "out of memory");
    if (to) code = view_write_two(v, to, e);
    if (to && fclose(to) != 0 && !code) code = cli_complain(CTSC_LIMIT, "out of memory");
    for (int i = 0; i < 2; i++) view_drawn_free(&v[i]);
    return code;
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static uint64_t view_hash_path(uint64_t h, const char *model) {
    char *real = realpath(model, NULL);
    for (const char *p = real ? real : model; *p; p++) h = (h ^ (uint8_t)*p) * 0x100000001b3u;
    free(real);
    return h;
}

/* The last line of a page: which model it is of, or which two, by the hash of its path, which is
 * private. FNV-1a. */
static void view_mark(const view_args *a, char out[64]) {
    uint64_t h = view_hash_path(0xcbf29ce484222325u, a->model.path);
    if (a->other) h = view_hash_path(h, a->other);
    snprintf(out, 64, "<!-- ctsc view %016llx -->\n", (unsigned long long)h);
}

/* Nothing is there yet, or a page of the same model. */
static bool view_may_write(const char *path, const char *mark) {
    FILE *f = fopen(path, "r");
    char end[64] = "";
    size_t n = strlen(mark);
    if (!f) return true;
    bool same = fseek(f, -(long)n, SEEK_END) == 0 && fread(end, 1, n, f) == n &&
                !memcmp(end, mark, n);
    fclose(f);
    return same;
}

static int view_save(const view_args *a, const char *path, const char *page, size_t len) {
    bool out = !strcmp(path, "-");
    char mark[64];
    view_mark(a, mark);
    if (!a->output && !a->force && !view_may_write(path, mark))
        return cli_complain(
            CTSC_ENVIRONMENT,
            "%s exists and is not a page of %s: choose another name with -o, or use --force", path,
            a->model.path);
    FILE *f = out ? stdout : fopen(path, "w");
    bool ok = f && fwrite(page, 1, len, f) == len && fputs(mark, f) >= 0;
    if (f && !out && fclose(f) != 0) ok = false;
    if (!ok) return cli_complain(CTSC_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
    if (!out) cli_say_wrote(path, NULL);
    return 0;
}

/* The name without folder and ending, and how long it is. */
static const char *view_stem(const char *model, int *n) {
    const char *slash = strrchr(model, '/'), *base = slash ? slash + 1 : model,
               *dot = strrchr(base, '.');
    *n = (int)(dot && dot > base ? (size_t)(dot - base) : strlen(base));
    return base;
}

/* "models/net.pt": "net.html"; with another, "net-old.html". NULL: out of memory. */
static char *view_name(const view_args *a) {
    int n, k = 0;
    const char *one = view_stem(a->model.path, &n), *two = a->other ? view_stem(a->other, &k) : "";
    char *name = NULL;
    return asprintf(&name, "%.*s%s%.*s.html", n, one, a->other ? "-" : "", k, two) < 0 ? NULL
                                                                                       : name;
}

static int view_deliver(const view_args *a, const view_data *d) {
    size_t len = 0;
    if (a->json) return fwrite(d->text, 1, d->len, stdout) == d->len ? 0 : CTSC_ENVIRONMENT;
    char *page = view_page(d->text, d->len, &len), *name = a->output ? NULL : view_name(a);
    int code = 0;
    if (!page || (!a->output && !name)) {
        code = cli_complain(CTSC_LIMIT, "out of memory");
    } else if (a->serve) {
        const char *why = view_serve(a->host ? a->host : "127.0.0.1", a->port < 0 ? 8000 : a->port,
                                     page, len);
        if (why) code = cli_complain(CTSC_ENVIRONMENT, "cannot serve: %s", why);
    } else {
        code = view_save(a, a->output ? a->output : name, page, len);
    }
    free(name);
    free(page);
    return code;
}

static const struct argp_child view_children[] = CLI_CALL_CHILDREN;
const struct argp cmd_view_argp = {
    view_options,
    view_parse,
    "MODEL [MODEL]",
    "Draws the graph of a method: writes a page of HTML that needs nothing else, in which modules "
    "open and close. Two models are drawn side by side, with what differs between them: nodes, "
    "their "
    "arguments, weights.\vWith arguments (--input, --inputs; an archive of torch.export may have "
    "its "
    "own) the method is called, and the page shows shapes, fusion groups and times as well.",
    view_children,
    NULL,
    NULL};

int cmd_view(int argc, char **argv) {
    view_args a = {.port = -1, .calls = 5, .warmup = 3};
    view_data d = {0};
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_view_argp, argc, argv, &a);
    ctsc_set_threads(a.call.threads);
    int code = a.output && strcmp(a.output, "-") ? cli_check_output(a.output, CLI_PAGE) : 0;
    if (!code) code = a.other ? view_gather_two(&a, &d, e) : view_gather_one(&a, &d, e);
    if (!code) code = view_deliver(&a, &d);
    free(d.text);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
