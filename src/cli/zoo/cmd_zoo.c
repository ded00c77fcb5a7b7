/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_zoo.c - ctsc zoo: lists the architectures that packages in folders and the examples have,
 * tells what they cost, and builds one.
 *
 * Names are listed without running anything (zoo_find.c). Figures take a second a network, so they
 * are those of what patterns name, and each is printed when it is known.
 * Tests: tests/cli/zoo.test
 */
#include "cli/progress.h"
#include "cli/zoo/zoo.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ZOO_REASON = 120 };
enum { OPT_PATH = 256, OPT_WEIGHTS, OPT_SEED, OPT_JSON, OPT_TIME, OPT_NAMES };

/* A network whose weights alone take more is not built for its figures. */
#define ZOO_MOST_BYTES (8ull << 30)

typedef struct zoo_args {
    const char **patterns;
    size_t npatterns;
    cli_model model; /* its folders */
    const char *output, *weights;
    uint64_t seed;
    bool seeded;
    bool json, time, names;
} zoo_args;

static const struct argp_option zoo_options[] = {
    {"path", OPT_PATH, "DIR", 0,
     "look for torchvision, timm and transformers in this folder (site-packages), before those of "
     "PYTHONPATH; may be repeated",
     0},
    {"output", 'o', "FILE", 0, "build the one that is named, and write an archive", 0},
    {"weights", OPT_WEIGHTS, "FILE", 0,
     "with -o: take parameters and buffers from a state_dict, a .safetensors file (or the index of "
     "several), or an archive",
     0},
    {"seed", OPT_SEED, "N", 0, "with -o: torch.manual_seed before it is built (0)", 0},
    {"names", OPT_NAMES, 0, 0, "print only the names, a line each", 0},
    {"time", OPT_TIME, 0, 0, "measure also how long a call takes", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {0},
};

static error_t zoo_parse(int key, char *arg, struct argp_state *state) {
    zoo_args *a = state->input;
    switch (key) {
    case OPT_PATH:
        if (a->model.nfolders == CLI_MAX_FOLDERS)
            argp_error(state, "--path: more than %d folders are given", CLI_MAX_FOLDERS);
        if (access(arg, X_OK) != 0)
            argp_failure(state, CTSC_BAD_FILE, errno, "--path: cannot open %s", arg);
        a->model.folders[a->model.nfolders++] = arg;
        break;
    case 'o': a->output = arg; break;
    case OPT_WEIGHTS: a->weights = arg; break;
    case OPT_SEED:
        a->seed = cli_seed(state, arg);
        a->seeded = true;
        break;
    case OPT_NAMES: a->names = true; break;
    case OPT_TIME: a->time = true; break;
    case OPT_JSON: a->json = true; break;
    case ARGP_KEY_ARG: a->patterns[a->npatterns++] = arg; break;
    case ARGP_KEY_END:
        if (a->output && a->npatterns != 1) argp_error(state, "-o: one NAME is needed");
        if (!a->output && (a->weights || a->seeded))
            argp_error(state, "--weights and --seed go with -o");
        if (a->output && (a->json || a->time || a->names))
            argp_error(state, "--json, --time and --names are for lists");
        if (a->time && !a->npatterns) argp_error(state, "--time: a NAME or a PATTERN is needed");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- which ----------------------------------------------------------------------------------- */

/* "torchvision/resnet50": a name that nothing else has. */
static void zoo_full_name(const zoo_entry *z, char *text, size_t size) {
    snprintf(text, size, "%s/%s", zoo_source_names[z->source], z->name);
}

static bool zoo_fits(const zoo_entry *z, const char *pattern) {
    char full[256];
    zoo_full_name(z, full, sizeof full);
    return !fnmatch(pattern, z->name, 0) || !fnmatch(pattern, full, 0);
}

static bool zoo_wanted(const zoo_args *a, const zoo_entry *z) {
    for (size_t i = 0; i < a->npatterns; i++)
        if (zoo_fits(z, a->patterns[i])) return true;
    return !a->npatterns;
}

/* Nothing has this name: what may have been meant, and where else to look. */
static int zoo_nothing(const zoo *z, const char *pattern) {
    const char *best = NULL;
    int least = 3;
    bool packages = false;
    for (size_t i = 0; i < z->n; i++) {
        int distance = cli_distance(pattern, z->entries[i].name);
        packages |= z->entries[i].source != ZOO_EXAMPLES;
        if (distance < least) least = distance, best = z->entries[i].name;
    }
    if (best) return cli_complain(CTSC_USAGE, "no '%s'; did you mean '%s'?", pattern, best);
    return cli_complain(CTSC_USAGE, "no '%s'%s", pattern,
                        packages ? "; ctsc zoo lists all names"
                                 : " among the examples; --path SITE-PACKAGES adds torchvision, "
                                   "timm and transformers");
}

/* The only one of that name; NULL, having said so: there is none, or several. */
static const zoo_entry *zoo_single(const zoo *z, const char *name, int *code) {
    const zoo_entry *found = NULL;
    char full[256], other[256];
    for (size_t i = 0; i < z->n; i++) {
        if (!zoo_fits(&z->entries[i], name)) continue;
        if (found) {
            zoo_full_name(found, full, sizeof full);
            zoo_full_name(&z->entries[i], other, sizeof other);
            *code = cli_complain(CTSC_USAGE, "'%s' may be %s or %s: say which", name, full, other);
            return NULL;
        }
        found = &z->entries[i];
    }
    if (!found) *code = zoo_nothing(z, name);
    return found;
}

/* ---- building one ---------------------------------------------------------------------------- */

static int zoo_save(const zoo_args *a, const zoo *z, const char *folders, ctsc_error *e) {
    int code = cli_check_output(a->output, CLI_ARCHIVE);
    const zoo_entry *one = code ? NULL : zoo_single(z, a->patterns[0], &code);
    if (!one) return code;
    zoo_build_options o = {.path = folders, .weights = a->weights, .seed = a->seed, .warn = true};
    zoo_net net;
    progress_say("%s: building", one->name);
    ctsc_status s = zoo_build(one, &o, &net, e);
    if (s == CTSC_OK) s = ctsc_module_save(net.m, a->output, e);
    progress_end();
    code = s == CTSC_OK ? 0 : cli_report(e);
    if (!code) cli_say_saved(net.m, a->output);
    for (size_t i = 0; !code && i < net.nspecs && net.specs[0][0] != '['; i++)
        fprintf(stderr, i ? " --input '%s'" : "ctsc: try ctsc run %s --input '%s'",
                i ? net.specs[i] : a->output, net.specs[i]);
    if (!code && net.nspecs && net.specs[0][0] != '[') fputc('\n', stderr);
    zoo_net_free(&net);
    return code;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The first sentence of what failed. */
static char *zoo_reason(const ctsc_error *e) {
    const char *text = ctsc_error_message(e);
    size_t n = 0;
    while (text && n < ZOO_REASON && text[n] && text[n] != '\n' && strncmp(text + n, " (", 2) &&
           strncmp(text + n, ". ", 2))
        n++;
    return strndup(text ? text : "", n);
}

static json_t *zoo_count_json(int64_t n) { return n < 0 ? json_null() : json_integer(n); }

static json_t *zoo_entry_json(const zoo_entry *z) {
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(z->name));
    json_object_set_new(o, "source", json_string(zoo_source_names[z->source]));
    if (*z->module) json_object_set_new(o, "module", json_string(z->module));
    return o;
}

static void zoo_figures_json(json_t *o, const zoo_net *net, const zoo_figures *f, char *reason) {
    json_t *inputs = json_array();
    for (size_t i = 0; i < net->nspecs; i++)
        json_array_append_new(inputs, json_string(net->specs[i]));
    json_object_set_new(o, "inputs", inputs);
    json_object_set_new(o, "traced", json_boolean(net->traced));
    json_object_set_new(o, "parameters", zoo_count_json(f->parameters));
    json_object_set_new(o, "flops", zoo_count_json(f->flops));
    json_object_set_new(o, "all_flops", json_boolean(f->all_flops));
    if (f->us >= 0) json_object_set_new(o, "us", json_real(f->us));
    if (reason) json_object_set_new(o, "error", json_string(reason));
}

static void zoo_print_row(const zoo_args *a, const zoo_entry *z, const zoo_net *net,
                          const zoo_figures *f, const char *reason, int width) {
    char full[256], parameters[32] = "-", flops[48] = "-", time[32] = "-";
    zoo_full_name(z, full, sizeof full);
    if (f->parameters >= 0) cli_grouped(f->parameters, parameters, sizeof parameters);
    if (f->flops >= 0) cli_grouped(f->flops, flops, sizeof flops);
    if (f->us >= 0) snprintf(time, sizeof time, "%.2f", f->us * 1e-3);
    printf("%-*s  %15s  %19s%s", width, full, parameters, flops,
           f->flops >= 0 && !f->all_flops ? "+" : " ");
    if (a->time) printf("  %10s", time);
    if (reason) printf("  %s", reason);
    for (size_t i = 0; !reason && i < net->nspecs; i++)
        printf("  %.*s%s", (int)strcspn(net->specs[i], ":"), net->specs[i],
               *net->specs[i] == '[' ? "]" : "");
    putchar('\n');
    fflush(stdout);
}

/* The figures of an entry, as a row or an object of the list. False: some operations are not in
 * them. */
static bool zoo_row(const zoo_args *a, const zoo_entry *z, const char *folders, int width,
                    json_t *list) {
    zoo_build_options o = {.path = folders, .skip_init = !a->time, .max_bytes = ZOO_MOST_BYTES};
    zoo_figures f = {.parameters = -1, .flops = -1, .us = -1};
    zoo_net net = {0};
    progress_say("%s: building", z->name);
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = e ? zoo_build(z, &o, &net, e) : CTSC_LIMIT;
    if (s == CTSC_OK) progress_say("%s: calling", z->name);
    if (s == CTSC_OK) s = zoo_measure(&net, a->time, &f, e);
    progress_clear();
    char *reason = s == CTSC_OK ? NULL : zoo_reason(e);
    if (list) {
        json_t *row = zoo_entry_json(z);
        zoo_figures_json(row, &net, &f, reason);
        json_array_append_new(list, row);
    } else {
        zoo_print_row(a, z, &net, &f, reason, width);
    }
    free(reason);
    zoo_net_free(&net);
    ctsc_error_free(e);
    return f.flops < 0 || f.all_flops;
}

static int zoo_show(const zoo_args *a, const zoo *z, const char *folders) {
    json_t *list = a->json ? json_array() : NULL;
    char full[256];
    int width = 4;
    for (size_t i = 0; i < a->npatterns; i++) {
        bool any = false;
        for (size_t k = 0; k < z->n && !any; k++) any = zoo_fits(&z->entries[k], a->patterns[i]);
        if (!any) return json_decref(list), zoo_nothing(z, a->patterns[i]);
    }
    for (size_t i = 0; i < z->n; i++) {
        zoo_full_name(&z->entries[i], full, sizeof full);
        if (zoo_wanted(a, &z->entries[i]) && (int)strlen(full) > width) width = (int)strlen(full);
    }
    if (!list)
        printf("%-*s  %15s  %19s %s  called with\n", width, "name", "parameters", "FLOP",
               a->time ? "   time (ms)" : "");
    bool all = true;
    for (size_t i = 0; i < z->n; i++)
        if (zoo_wanted(a, &z->entries[i])) all &= zoo_row(a, &z->entries[i], folders, width, list);
    progress_end();
    if (list) return cli_print_json(list);
    if (!all) puts("(+: and operations that are not counted)");
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

void cli_zoo_examples(void) {
    for (size_t i = 0; i < zoo_nexamples; i++) puts(zoo_examples[i].name);
}

static void zoo_print_names(const zoo *z, zoo_source source) {
    size_t n = 0, width = 0, column = 0;
    for (size_t i = 0; i < z->n; i++)
        if (z->entries[i].source == source) {
            n++;
            if (strlen(z->entries[i].name) > width) width = strlen(z->entries[i].name);
        }
    if (!n) return;
    size_t columns = width + 2 < 98 ? 98 / (width + 2) : 1;
    printf("%s%s (%zu)\n", source ? "\n" : "", zoo_source_names[source], n);
    for (size_t i = 0; i < z->n; i++) {
        if (z->entries[i].source != source) continue;
        bool last = ++column == columns;
        printf("  %-*s%s", last ? 0 : (int)width, z->entries[i].name, last ? "\n" : "");
        if (last) column = 0;
    }
    if (column) putchar('\n');
}

static int zoo_list(const zoo_args *a, const zoo *z) {
    char full[256];
    if (a->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < z->n; i++)
            if (zoo_wanted(a, &z->entries[i]))
                json_array_append_new(list, zoo_entry_json(&z->entries[i]));
        return cli_print_json(list);
    }
    if (a->names) {
        for (size_t i = 0; i < z->n; i++)
            if (zoo_wanted(a, &z->entries[i]))
                zoo_full_name(&z->entries[i], full, sizeof full), puts(full);
        return 0;
    }
    for (int i = 0; i < ZOO_SOURCES; i++) zoo_print_names(z, (zoo_source)i);
    puts("\nctsc zoo NAME shows what one costs, ctsc zoo NAME -o FILE.pt builds it.");
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

const struct argp cmd_zoo_argp = {
    zoo_options,
    zoo_parse,
    "[NAME|PATTERN...]",
    "Lists the architectures of the examples, and of torchvision, timm and transformers where "
    "their sources are; with names or patterns ('resnet*', 'timm/*'), their parameters and the "
    "floating-point operations of a call; with -o, builds one.\vNothing is downloaded, and PyTorch "
    "is not needed: sources are read as they are. A multiply-add counts as two operations.",
    NULL,
    NULL,
    NULL};

/* The folders, apart from one another. n: how many; the list and its text are to be freed. */
static const char **zoo_folders(char *text, size_t *n) {
    size_t most = 1;
    for (const char *p = text ? text : ""; *p; p++) most += *p == ':';
    const char **list = calloc(most, sizeof *list);
    *n = 0;
    for (char *save = NULL, *p = list && text ? strtok_r(text, ":", &save) : NULL; p;
         p = strtok_r(NULL, ":", &save))
        list[(*n)++] = p;
    return list;
}

int cmd_zoo(int argc, char **argv) {
    zoo_args a = {.patterns = calloc((size_t)argc + 1, sizeof *a.patterns)};
    ctsc_error *e = ctsc_error_new();
    zoo z = {0};
    if (!a.patterns || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_zoo_argp, argc, argv, &a);
    char *folders = cli_folders(&a.model), *text = folders ? strdup(folders) : NULL;
    size_t nlist = 0;
    const char **list = zoo_folders(text, &nlist);
    if (list) zoo_find(&z, list, nlist);
    int code;
    if (!list || z.failed) code = cli_complain(CTSC_LIMIT, "out of memory");
    else if (a.output) code = zoo_save(&a, &z, folders, e);
    else if (!a.npatterns || a.names) code = zoo_list(&a, &z);
    else code = zoo_show(&a, &z, folders);
    zoo_free(&z);
    free(list);
    free(text);
    free(folders);
    free(a.patterns);
    ctsc_error_free(e);
    return code;
}
