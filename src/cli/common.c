/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.c - option parsing, error reports and JSON, as all subcommands do them.
 * Tests: tests/cli/usage.test
 */
#include "cli/cli.h"
#include "cli/progress.h"
#include "ctsc_compiler.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the call that was prepared last. */
static cli_limits common_limits;

/* Which limits the call had, after a failure that is one of a limit. */
static void common_note_limits(void) {
    const cli_limits *l = &common_limits;
    char text[128] = "";
    size_t n = 0;
    if (l->max_bytes)
        n += (size_t)snprintf(text, sizeof text, ", --max-bytes %" PRIu64, l->max_bytes);
    if (l->max_steps)
        n += (size_t)snprintf(text + n, sizeof text - n, ", --max-steps %" PRIu64, l->max_steps);
    if (l->timeout_us)
        snprintf(text + n, sizeof text - n, ", --timeout %g", (double)l->timeout_us * 1e-6);
    if (*text) fprintf(stderr, "note: the call was limited by %s\n", text + 2);
}

int cli_report(ctsc_error *e) {
    progress_end();
    char *text = ctsc_error_render(e, isatty(STDERR_FILENO));
    fflush(stdout); /* what the script printed comes first */
    fputs(text ? text : ctsc_error_message(e), stderr);
    size_t n = text ? strlen(text) : 0;
    if (!n || text[n - 1] != '\n') fputc('\n', stderr);
    ctsc_string_free(text);
    if (ctsc_error_status(e) == CTSC_LIMIT) common_note_limits();
    return ctsc_error_status(e);
}

int cli_report_file(ctsc_error *e, const char *path) {
    const char *message = ctsc_error_message(e);
    return strstr(message, path) ? cli_report(e)
                                 : cli_complain(ctsc_error_status(e), "%s: %s", path, message);
}

int cli_complain(ctsc_status status, const char *fmt, ...) {
    va_list ap;
    progress_end();
    va_start(ap, fmt);
    fflush(stdout);
    fputs("ctsc: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

int cli_cannot_open(const char *path, int why) {
    return cli_complain(CTSC_BAD_FILE, "cannot open %s: %s", path, strerror(why));
}

/* Levenshtein's distance, by rows of the usual table. */
int cli_distance(const char *a, const char *b) {
    int row[32];
    int n = (int)strlen(b);
    if (n >= 32) return 32;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (; *a; a++) {
        int corner = row[0]++;
        for (int j = 1; j <= n; j++) {
            int change = corner + (*a != (b[j - 1] == '_' ? '-' : b[j - 1]));
            corner = row[j];
            int step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < step ? change : step;
        }
    }
    return row[n];
}

/* ---- MODEL ----------------------------------------------------------------------------------- */

enum { OPT_ENTRY = 0x4000, OPT_WEIGHTS, OPT_SEED, OPT_TRAINING, OPT_PATH, OPT_RNG };

static const struct argp_option model_options[] = {
    {"weights", OPT_WEIGHTS, "FILE", 0,
     "take parameters and buffers from a state_dict, a .safetensors file (or the index of "
     "several), "
     "or an archive",
     0},
    {0, 0, 0, 0, "Where MODEL is Python source (.py):", 1},
    {"entry", OPT_ENTRY, "NAME", 0, "function or class to compile", 1},
    {"path", OPT_PATH, "DIR", 0,
     "look for imported modules in this folder too, after that of MODEL and before those of "
     "PYTHONPATH; may be repeated",
     1},
    {"training", OPT_TRAINING, 0, 0,
     "leave the module in training mode (.eval() is called otherwise)", 1},
    {"seed", OPT_SEED, "N", 0, "torch.manual_seed before the module is built (0)", 1},
    {"rng", OPT_RNG, "1|2", 0,
     "draw random weights as PyTorch 1.13 (1), or as today's where that differs (2); 1 by default",
     1},
    {0},
};

char *cli_folders(const cli_model *m) {
    const char *more = getenv("PYTHONPATH");
    size_t n = m->nfolders + (more && *more), len = 1;
    for (size_t i = 0; i < n; i++) len += strlen(i < m->nfolders ? m->folders[i] : more) + 1;
    char *joined = n ? calloc(1, len) : NULL;
    for (size_t i = 0; joined && i < n; i++) {
        if (i) strcat(joined, ":");
        strcat(joined, i < m->nfolders ? m->folders[i] : more);
    }
    return joined;
}

static error_t model_parse(int key, char *arg, struct argp_state *state) {
    cli_model *m = state->input;
    switch (key) {
    case OPT_ENTRY: m->compile.entry = arg; break;
    case OPT_WEIGHTS: m->compile.weights = arg; return 0; /* archives take them as well */
    case OPT_PATH:
        if (m->nfolders == CLI_MAX_FOLDERS)
            argp_error(state, "--path: more than %d folders are given", CLI_MAX_FOLDERS);
        m->folders[m->nfolders++] = arg;
        break;
    case OPT_TRAINING: m->compile.training = true; break;
    case OPT_RNG:
        if (strcmp(arg, "1") && strcmp(arg, "2"))
            argp_error(state, "--rng: '%s' is neither 1 nor 2", arg);
        m->compile.rng = arg[0] - '0';
        break;
    case OPT_SEED: m->compile.seed = cli_seed(state, arg); break;
    case ARGP_KEY_ARG:
        if (m->path) argp_error(state, "one MODEL is expected: '%s' is one argument too many", arg);
        m->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!m->path && m->optional) return 0;
        if (!m->path) argp_error(state, "MODEL is missing");
        if (m->compile_option && !cli_is_source(m->path))
            argp_error(state,
                       "--entry, --path, --training, --seed and --rng are for Python source, and "
                       "%s does not end in .py",
                       m->path);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    m->compile_option = true;
    return 0;
}

const struct argp cli_model_argp = {model_options, model_parse, NULL, NULL, NULL, NULL, NULL};

bool cli_is_source(const char *path) {
    const ctsc_format *f = ctsc_format_by_ending(path, NULL);
    return f && f->holds == CTSC_FORMAT_SOURCE;
}

void cli_warn(void *ctx, const char *text) {
    (void)ctx;
    progress_clear();
    fflush(stdout);
    progress_clear();
    fprintf(stderr, "ctsc: warning: %s\n", text);
}

static void common_alert(void *ctx, ctsc_log_level level, const char *text) {
    (void)level;
    cli_warn(ctx, text);
}

void cli_hear_alerts(void) { ctsc_set_log(CTSC_LOG_ALERT, common_alert, NULL); }

int cli_load_weights(ctsc_module *m, const char *path, ctsc_error *e) {
    ctsc_value *own = NULL, *state = NULL;
    ctsc_status s = ctsc_module_state(m, &own, e);
    if (s == CTSC_OK) s = ctsc_state_load_part(path, own, &state, e);
    ctsc_value_free(own);
    if (s == CTSC_OK && (s = ctsc_module_load_state(m, state, e)) != CTSC_OK)
        fprintf(stderr, "ctsc: %s does not fit the model\n", path);
    ctsc_value_free(state);
    return s == CTSC_OK ? 0 : cli_report(e);
}

int cli_load(const cli_model *m, ctsc_module **out, ctsc_error *e) {
    if (!e) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_status s;
    if (cli_is_source(m->path)) {
        ctsc_compile_options o = m->compile;
        o.size = sizeof o;
        o.warn = cli_warn;
        o.print = progress_print;
        char *folders = cli_folders(m);
        o.path = folders;
        s = ctsc_module_compile(m->path, &o, out, e);
        free(folders);
    } else {
        ctsc_module *loaded = NULL;
        s = ctsc_module_load(m->path, &loaded, e);
        int code = s == CTSC_OK && m->compile.weights
                       ? cli_load_weights(loaded, m->compile.weights, e)
                       : 0;
        if (code) return ctsc_module_free(loaded), code;
        if (s == CTSC_OK) *out = loaded;
    }
    if (s == CTSC_OK) return 0;
    int code = cli_report(e);
    if (!cli_is_source(m->path) && (s == CTSC_BAD_FILE || s == CTSC_UNSUPPORTED))
        cli_hint(m->path, s);
    return code;
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum {
    OPT_INPUT = 0x4100,
    OPT_INPUTS,
    OPT_METHOD,
    OPT_THREADS,
    OPT_OPT,
    OPT_CPU,
    OPT_DEVICE,
    OPT_FALLBACK,
    OPT_ENGINE,
    OPT_NO_WINOGRAD,
    OPT_TUNE,
    OPT_NO_PACKING,
    OPT_PRECISION,
    OPT_FLUSH
};

static const struct argp_option call_options[] = {
    {"method", OPT_METHOD, "NAME", 0, "method to call (forward)", 0},
    {"device", OPT_DEVICE, "NAME", 0,
     "run on this device: cpu (the default), cuda, cuda:N; model and arguments are moved there", 0},
    {"fallback", OPT_FALLBACK, 0, 0, "run operators that have no version for CUDA on the CPU", 0},
    {"precision", OPT_PRECISION, "NAME", 0,
     "of layers with constant weights: float32 (the default), bf16 (factors rounded to bfloat16), "
     "int8w (weights of linear layers and embeddings in a byte each), int4w (in 4 bits; "
     "int4w:GROUP with a scale for each 32, 64 or 128 of a row, int4w:GROUP,asym with zero "
     "points), auto (whatever is fastest here with an error of 0.01; auto:ERROR with another); of "
     "the "
     "whole method: autocast, as within torch.autocast(\"cpu\", bfloat16), or autocast:float16",
     0},
    {0},
};

static const struct argp_option compute_options[] = {
    {"inputs", OPT_INPUTS, "FILE", 0,
     "arguments: a torch.save'd tuple or dict, or a .npy/.npz file", 0},
    {"input", OPT_INPUT, "SPEC", 0,
     "one argument: 'float32[1,3,8,8]:rand' (randn, zeros, ones, arange, 0.5, -1..1), "
     "a file (@in.npy, @cat.png:imagenet), or a literal; NAME=SPEC by name; once per argument; "
     "':grad' after a tensor: it requires a gradient",
     0},
    {"threads", OPT_THREADS, "N", 0, "threads to use (0, the default: all cores)", 0},
    {"opt", OPT_OPT, "N", 0,
     "level of optimisation: 0 as written, 1 optimised graphs, 2 fused native kernels (the "
     "default), 3 the same "
     "with more time for compiling",
     0},
    {"cpu", OPT_CPU, "NAME", 0,
     "compute as a processor with this instruction set and none better: host (no limit, the "
     "default), sse2, avx2, avx512, neon, ... (ctsc doctor lists them); kernels this machine "
     "cannot run "
     "are only shown",
     0},
    {"quantized-engine", OPT_ENGINE, "NAME", 0,
     "whose arithmetic quantised layers follow: x86 (the default), fbgemm, qnnpack", 0},
    {"no-winograd", OPT_NO_WINOGRAD, 0, 0,
     "sum 3x3 convolutions directly: slower, more exact, a quarter of the memory for weights", 0},
    {"tune", OPT_TUNE, 0, 0,
     "measure which way of doing each 3x3 convolution is fastest, and remember it", 0},
    {"no-packing", OPT_NO_PACKING, 0, 0,
     "keep weights only as the archive has them: slower, less memory", 0},
    {"flush-denormals", OPT_FLUSH, 0, 0, CLI_FLUSH_TEXT, 0},
    {0},
};

void cli_flush_denormals(struct argp_state *state) {
    if (!ctsc_set_flush_denormals(true))
        argp_error(state, "--flush-denormals: this processor cannot");
}

static void call_set_cpu(struct argp_state *state, const char *name) {
    ctsc_error *e = ctsc_error_new();
    if (ctsc_set_cpu(name, e) != CTSC_OK) argp_error(state, "--cpu: %s", ctsc_error_message(e));
    ctsc_error_free(e);
}

static void call_set_engine(struct argp_state *state, const char *name) {
    ctsc_error *e = ctsc_error_new();
    if (ctsc_set_quantized_engine(name, e) != CTSC_OK)
        argp_error(state, "--quantized-engine: %s", ctsc_error_message(e));
    ctsc_error_free(e);
}

static error_t call_parse(int key, char *arg, struct argp_state *state) {
    cli_call *c = state->input;
    switch (key) {
    case OPT_INPUT: c->inputs.specs[c->inputs.nspecs++] = arg; break;
    case OPT_INPUTS: c->inputs.file = arg; break;
    case OPT_METHOD: c->method = arg; break;
    case OPT_THREADS:
        if (c->sweeps && strchr(arg, ',')) {
            c->threads_list = arg;
            break;
        }
        c->threads = cli_whole_number(state, "threads", arg, 0, CLI_MAX_THREADS);
        break;
    case OPT_OPT: c->opt = cli_whole_number(state, "opt", arg, 0, CLI_OPT_MAX); break;
    case OPT_DEVICE: c->device = arg; break;
    case OPT_PRECISION: c->precision = arg; break;
    case OPT_FALLBACK: ctsc_set_device_fallback(true); break;
    case OPT_CPU: call_set_cpu(state, arg); break;
    case OPT_NO_WINOGRAD: ctsc_set_winograd(false); break;
    case OPT_TUNE: ctsc_set_tuning(true); break;
    case OPT_NO_PACKING: ctsc_set_packing(false); break;
    case OPT_ENGINE: call_set_engine(state, arg); break;
    case OPT_FLUSH:
        cli_flush_denormals(state);
        c->flush_denormals = true;
        break;
    case ARGP_KEY_INIT: /* the one that has the other as its child */
        if (state->root_argp && state->child_inputs) state->child_inputs[0] = c;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp cli_compute_argp = {compute_options, call_parse, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child call_children[] = {{&cli_compute_argp, 0, NULL, 0}, {0}};
const struct argp cli_call_argp = {call_options, call_parse, NULL, NULL, call_children, NULL, NULL};

/* ---- limits ---------------------------------------------------------------------------------- */

enum { OPT_MAX_STEPS = 0x4200, OPT_TIMEOUT, OPT_MAX_BYTES };

static const struct argp_option limits_options[] = {
    {"max-steps", OPT_MAX_STEPS, "N", 0, "stop after this many interpreter steps", 0},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "stop a call that takes longer", 0},
    {"max-bytes", OPT_MAX_BYTES, "N", 0,
     "stop a call that needs more memory than this beyond the model's", 0},
    {0},
};

static error_t limits_parse(int key, char *arg, struct argp_state *state) {
    static const struct {
        const char *name;
        double least;
    } options[] = {{"max-steps", 1}, {"timeout", 1e-6}, {"max-bytes", 1}};
    cli_limits *l = state->input;
    if (key < OPT_MAX_STEPS || key > OPT_MAX_BYTES) return ARGP_ERR_UNKNOWN;
    const char *name = options[key - OPT_MAX_STEPS].name;
    double n = cli_number(state, name, arg);
    if (!(n >= options[key - OPT_MAX_STEPS].least && n <= (key == OPT_TIMEOUT ? 1e9 : 1e18)))
        argp_error(state, "--%s: a number from %g is expected, not '%s'", name,
                   options[key - OPT_MAX_STEPS].least, arg);
    if (key == OPT_TIMEOUT) l->timeout_us = (uint64_t)(n * 1e6);
    else *(key == OPT_MAX_STEPS ? &l->max_steps : &l->max_bytes) = (uint64_t)n;
    return 0;
}

const struct argp cli_limits_argp = {limits_options, limits_parse, NULL, NULL, NULL, NULL, NULL};

ctsc_run_options cli_limited(const cli_limits *l, ctsc_run_options o) {
    common_limits = *l;
    o.max_steps = l->max_steps;
    o.timeout_us = l->timeout_us;
    o.max_bytes = l->max_bytes;
    return o;
}

bool cli_call_init(cli_call *c, int argc) {
    *c = (cli_call){.method = "forward", .opt = -1};
    c->inputs.specs = calloc((size_t)argc + 1, sizeof *c->inputs.specs);
    return c->inputs.specs != NULL;
}

void cli_call_free(cli_call *c) {
    cli_free_inputs(&c->inputs);
    free(c->inputs.specs);
}

/* Names that mean torch.autocast, which is for all levels. */
static bool cli_autocast(const char *precision, ctsc_dtype *out) {
    bool lower = precision && !strcmp(precision, "autocast");
    *out = lower ? CTSC_BFLOAT16 : CTSC_FLOAT16;
    return lower || (precision && !strcmp(precision, "autocast:float16"));
}

int cli_load_for_call(const cli_model *m, int opt, const char *precision, ctsc_module **out,
                      ctsc_error *e) {
    ctsc_module *made = NULL;
    ctsc_dtype lower;
    bool autocast = cli_autocast(precision, &lower);
    if (precision && !autocast && opt >= 0 && opt < CLI_OPT_DEFAULT)
        return cli_complain(CTSC_USAGE, "--precision is for --opt 2 and 3");
    int code = cli_load(m, &made, e);
    if (code) return code;
    ctsc_status s = ctsc_module_set_opt(made, opt < 0 ? CLI_OPT_DEFAULT : opt, e);
    if (s == CTSC_OK && autocast) s = ctsc_module_set_autocast(made, lower, e);
    else if (s == CTSC_OK && precision) s = ctsc_module_set_precision(made, precision, e);
    if (s != CTSC_OK) {
        ctsc_module_free(made);
        return cli_report(e);
    }
    *out = made;
    return 0;
}

int cli_place(const char *device, ctsc_module *m, cli_inputs *in, ctsc_error *e) {
    if (!device) return 0;
    if (ctsc_module_to(m, device, e) != CTSC_OK) return cli_report(e);
    for (size_t i = 0; i < in->nvalues; i++) {
        ctsc_value *moved;
        if (ctsc_value_to(in->values[i], device, &moved, e) != CTSC_OK) return cli_report(e);
        ctsc_value_free(in->values[i]);
        in->values[i] = moved;
    }
    return 0;
}

double cli_double(const char *text, char **end) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double x = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c) freelocale(c);
    return x;
}

double cli_number(struct argp_state *state, const char *option, const char *text) {
    char *end;
    double x = cli_double(text, &end);
    if (end == text || *end || x != x)
        argp_error(state, "--%s: '%s' is not a number", option, text);
    return x;
}

double cli_number_within(struct argp_state *state, const char *option, const char *text, double min,
                         double max) {
    double x = cli_number(state, option, text);
    if (x < min || x > max)
        argp_error(state, "--%s: '%s' is not from %g to %g", option, text, min, max);
    return x;
}

int cli_whole_number(struct argp_state *state, const char *option, const char *text, int min,
                     int max) {
    double n = cli_number(state, option, text);
    if (n < min || n > max || n != (int)n)
        argp_error(state, "--%s: '%s' is not a whole number from %d to %d", option, text, min, max);
    return (int)n;
}

uint64_t cli_seed(struct argp_state *state, const char *text) {
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        argp_error(state, "--seed: '%s' is not a whole number from 0 to 2^64 - 1", text);
    return seed;
}

bool cli_is_target(const char *name) {
    static const char *const names[] = {"y", "target", "targets", "label", "labels"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

const char *cli_bytes(double n, char *text, size_t size) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    for (; n >= 1024 && i < 4; i++) n /= 1024;
    long long tenths = (long long)nearbyint(n * 10); /* by hand: no locale's comma */
    if (i && tenths < 1000)
        snprintf(text, size, "%lld.%lld %s", tenths / 10, tenths % 10, units[i]);
    else snprintf(text, size, "%lld %s", (long long)nearbyint(n), units[i]);
    return text;
}

const char *cli_grouped(int64_t n, char *text, size_t size) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n), k = 0;
    for (int i = 0; i < len && (size_t)k + 2 < size; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-') text[k++] = ',';
        text[k++] = digits[i];
    }
    text[k] = '\0';
    return text;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Has neither arrays nor objects in it: a row. */
static bool common_is_row(const json_t *j) {
    size_t i;
    json_t *x;
    if (!json_is_array(j)) return !json_is_object(j);
    json_array_foreach((json_t *)(uintptr_t)j, i,
                       x) if (json_is_array(x) || json_is_object(x)) return false;
    return true;
}

static bool common_dump(const json_t *j, int indent, FILE *to);

static bool common_dump_items(const json_t *j, int indent, FILE *to) {
    bool object = json_is_object(j), first = true, ok = true;
    void *at = object ? json_object_iter((json_t *)(uintptr_t)j) : NULL;
    size_t n = object ? json_object_size(j) : json_array_size(j);
    fputc(object ? '{' : '[', to);
    for (size_t i = 0; i < n && ok; i++, first = false) {
        fprintf(to, "%s\n%*s", first ? "" : ",", indent + 1, "");
        const json_t *item = object ? json_object_iter_value(at) : json_array_get(j, i);
        if (object) {
            json_t *key = json_string_nocheck(json_object_iter_key(at));
            ok = key && common_dump(key, 0, to);
            json_decref(key);
            fputs(": ", to);
            at = json_object_iter_next((json_t *)(uintptr_t)j, at);
        }
        ok = ok && common_dump(item, indent + 1, to);
    }
    if (n) fprintf(to, "\n%*s", indent, "");
    fputc(object ? '}' : ']', to);
    return ok;
}

/* Indented, except for rows, which take a line. */
static bool common_dump(const json_t *j, int indent, FILE *to) {
    if (!common_is_row(j)) return common_dump_items(j, indent, to);
    char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (text) fputs(text, to);
    free(text);
    return text != NULL;
}

int cli_print_json(json_t *j) {
    bool ok = j && common_dump(j, 0, stdout);
    json_decref(j);
    if (!ok) return cli_complain(CTSC_LIMIT, "out of memory");
    putchar('\n');
    return 0;
}

/* JSON has no NaN or infinity: strings represent them. */
static json_t *common_real(double x) {
    if (x != x) return json_string("nan");
    if (x > 1.7976931348623157e308) return json_string("inf");
    if (x < -1.7976931348623157e308) return json_string("-inf");
    return json_real(x);
}

static json_t *common_items(const ctsc_value *v) {
    json_t *a = json_array();
    for (size_t i = 0; i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        json_array_append_new(a, item ? cli_value_json(item) : json_null());
        ctsc_value_free(item);
    }
    return a;
}

static json_t *common_dict(const ctsc_value *v) {
    json_t *o = json_object();
    for (size_t i = 0; i < ctsc_value_len(v); i++) {
        ctsc_value *key = ctsc_value_key(v, i), *item = ctsc_value_item(v, i);
        char *text = key ? ctsc_value_print(key) : NULL;
        if (text && item) json_object_set_new(o, text, cli_value_json(item));
        ctsc_string_free(text);
        ctsc_value_free(key);
        ctsc_value_free(item);
    }
    return o;
}

static json_t *common_element(const void *data, ctsc_dtype dt, int64_t i) {
    switch (dt) {
    case CTSC_FLOAT32: return common_real(((const float *)data)[i]);
    case CTSC_FLOAT64: return common_real(((const double *)data)[i]);
    case CTSC_INT64: return json_integer(((const int64_t *)data)[i]);
    case CTSC_INT32: return json_integer(((const int32_t *)data)[i]);
    case CTSC_INT16: return json_integer(((const int16_t *)data)[i]);
    case CTSC_INT8: return json_integer(((const int8_t *)data)[i]);
    case CTSC_UINT8: return json_integer(((const uint8_t *)data)[i]);
    case CTSC_BOOL: return json_boolean(((const uint8_t *)data)[i]);
    default: return NULL; /* JSON has no form for the others */
    }
}

/* 16-bit floats as float32, which holds them: a new handle; NULL if out of memory. */
static ctsc_value *common_widen(const ctsc_value *v) {
    ctsc_dtype dt = ctsc_tensor_dtype(v);
    if (dt != CTSC_FLOAT16 && dt != CTSC_BFLOAT16) return ctsc_value_copy(v);
    ctsc_value *own = ctsc_value_copy(v), *to = ctsc_int_new(CTSC_FLOAT32), *made = NULL;
    ctsc_value *const args[] = {own, to};
    if (own && to) (void)ctsc_call("aten::to.dtype", 2, args, &made, NULL);
    ctsc_value_free(own);
    ctsc_value_free(to);
    return made;
}

/* {"dtype": "float32", "shape": [2, 3], "data": [...]}: elements in row-major order, null for
 * dtypes without a JSON form. */
static json_t *common_tensor(const ctsc_value *given) {
    json_t *o = json_object(), *shape = json_array(), *data = json_array();
    ctsc_value *flat = NULL, *v = common_widen(given);
    const ctsc_dtype_info *about = ctsc_dtype_describe(ctsc_tensor_dtype(given));
    if (!v) {
        json_decref(o);
        json_decref(shape);
        json_decref(data);
        return NULL;
    }
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(v); i++) {
        json_array_append_new(shape, json_integer(ctsc_tensor_sizes(v)[i]));
        n *= ctsc_tensor_sizes(v)[i];
    }
    if (ctsc_tensor_contiguous(v, &flat, NULL) != CTSC_OK) n = 0;
    for (int64_t i = 0; i < n; i++) {
        json_t *x = common_element(ctsc_tensor_data(flat), ctsc_tensor_dtype(v), i);
        if (!x) {
            json_decref(data);
            data = json_null();
            break;
        }
        json_array_append_new(data, x);
    }
    ctsc_value_free(flat);
    ctsc_value_free(v);
    json_object_set_new(o, "dtype", json_string(about ? about->name : "unknown"));
    json_object_set_new(o, "shape", shape);
    json_object_set_new(o, "data", data);
    return o;
}

json_t *cli_value_json(const ctsc_value *v) {
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_NONE: return json_null();
    case CTSC_KIND_BOOL: return json_boolean(ctsc_value_bool(v));
    case CTSC_KIND_INT: return json_integer(ctsc_value_int(v));
    case CTSC_KIND_FLOAT: return common_real(ctsc_value_float(v));
    case CTSC_KIND_STRING: return json_string_nocheck(ctsc_value_string(v, NULL));
    case CTSC_KIND_LIST:
    case CTSC_KIND_TUPLE: return common_items(v);
    case CTSC_KIND_DICT: return common_dict(v);
    case CTSC_KIND_TENSOR: return common_tensor(v);
    default: {
        char *text = ctsc_value_print(v);
        json_t *j = json_string_nocheck(text ? text : "");
        ctsc_string_free(text);
        return j;
    }
    }
}
