/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what the subcommands share. They are written against ctsc.h alone.
 */
#ifndef CTSC_CLI_CLI_H
#define CTSC_CLI_CLI_H

#include "ctsc.h"

#include <argp.h>
#include <jansson.h>

/* The exit code is a ctsc_status; CLI_MISMATCH (1) says that --expect did not hold. */
enum { CLI_MISMATCH = 1 };

/* clang-format off */
#define COMMANDS(X)                                                                                \
    X(compile, "compile SRC.py",      "compile Python source to an archive")                       \
    X(convert, "convert IN OUT",      "write a model, or its weights, in another format")          \
    X(run,     "run MODEL [inputs]",  "run a model and print or compare its result")               \
    X(quantize, "quantize MODEL --data F -o OUT", "quantise a model, and show what that costs and saves")             \
    X(prune,   "prune MODEL -o OUT.pt", "make weights zero, and show how many and what that changes")                 \
    X(train,   "train MODEL --data F -o OUT.pt", "train a model")                                  \
    X(launch,  "launch -n N PROGRAM", "start a program of torch.distributed as several processes") \
    X(graph,   "graph MODEL",         "print the graph of a method")                               \
    X(graph_for, "graph-for MODEL [inputs]", "print the optimised graph, for arguments like these")   \
    X(view,    "view MODEL [MODEL] [inputs]", "draw the graph of a method, or what differs between two: a page of HTML")                \
    X(code,    "code MODEL",          "print the TorchScript source of a method")                  \
    X(bench,   "bench MODEL... [inputs]", "time a method, as written and optimised; several models side by side")                    \
    X(serve,   "serve DIR",           "serve the models of a folder over HTTP")                    \
    X(profile, "profile MODEL [inputs]", "show what a method's time goes into")                    \
    X(inspect, "inspect MODEL",       "list methods, layers, parameters, operators, and what is unsupported") \
    X(opt,     "opt FILE",            "run passes on a graph in text form")                        \
    X(zoo,     "zoo [NAME...]",       "list architectures that need no network, what they cost, and build one")      \
    X(ops,     "ops [PATTERN]",       "list operators and their schemas")                          \
    X(doctor,  "doctor [MODEL [inputs]]", "report the environment, and what in it slows things down")  \
    X(completion, "completion SHELL", "print the completion script for bash, zsh or fish")
/* clang-format on */

/* Options before the command, or without one: name, argument, text. */
/* clang-format off */
#define MAIN_OPTIONS(X)                                                                            \
    X("load-library", "FILE", "before the command: a shared library with operators, as torch.ops.SPACE.NAME") \
    X("help",         NULL,   "this text; `ctsc COMMAND --help` (or `ctsc help COMMAND`) for one command")                   \
    X("version",      NULL,   "the version (or `ctsc version`)")
/* clang-format on */

#define COMMAND_PROTOTYPE(name, usage, text)                                                       \
    int cmd_##name(int argc, char **argv);                                                         \
    extern const struct argp cmd_##name##_argp;
COMMANDS(COMMAND_PROTOTYPE)
#undef COMMAND_PROTOTYPE

/* Prints the names of the architectures that are part of the command, without their package. */
void cli_zoo_examples(void);

/* The program's arguments as they were typed, and the library of --load-library (NULL: none). */
extern char **cli_arguments;
extern const char *cli_loaded_library;

/* Arguments of a method call, from the command line. */
typedef struct cli_inputs {
    char **specs; /* of --input, in order; borrowed from argv */
    size_t nspecs;
    const char *file; /* of --inputs */
    ctsc_value **values;
    size_t nvalues;
} cli_inputs;

/* For a call of this method of m, whose names of arguments count where texts have some ("k=3"). */
ctsc_status cli_read_inputs(cli_inputs *in, const ctsc_module *m, const char *method,
                            ctsc_error *e);
/* Where there is no signature yet: names[i] is the name that value i was given by, NULL where it
 * has none. Both are the caller's, also on failure. */
ctsc_status cli_read_trace_inputs(cli_inputs *in, char ***names, ctsc_error *e);
void cli_free_inputs(cli_inputs *in);
/* One --input text: "float32[2,3]:rand", "@in.npy", "3", "[1, 2]", "'text'", "none". On failure
 * says why on stderr. */
ctsc_status cli_parse_input(const char *spec, ctsc_value **out);

/* Prints the failure on stderr and returns its exit code. */
int cli_report(ctsc_error *e);
/* The same, of a call; says how arguments are given where there were none. */
int cli_report_call(const cli_inputs *in, ctsc_error *e);
void cli_note_inputs(const cli_inputs *in); /* that alone, if there were none */
/* The same, with the name of the file before a message that does not have it. */
int cli_report_file(ctsc_error *e, const char *path);
/* "ctsc: message" on stderr; returns status. */
int cli_complain(ctsc_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "cannot open PATH: why", why being an errno: CTSC_BAD_FILE, as for a MODEL that is missing. */
int cli_cannot_open(const char *path, int why);
/* MODEL, an archive, or Python source (.py) with how to compile it: the argument and the options
 * --entry, --weights, --seed that all commands with a MODEL share, parsed by cli_model_argp as a
 * child (its input is a cli_model). */
enum { CLI_MAX_FOLDERS = 64 };
typedef struct cli_model {
    const char *path;
    bool optional; /* there need not be one */
    ctsc_compile_options compile;
    bool compile_option;
    const char *folders[CLI_MAX_FOLDERS]; /* of --path, borrowed from argv */
    size_t nfolders;
} cli_model;
extern const struct argp cli_model_argp;
#define CLI_MODEL_CHILD {{&cli_model_argp, 0, NULL, 0}, {0}}
/* How a method is run: the options --inputs, --input, --method, --device, --fallback, --threads and
 * --opt, which all commands that run a MODEL share. A second child (its input is a cli_call).
 * device: NULL: the CPU */
typedef struct cli_call {
    const char *method, *device;
    cli_inputs inputs;
    int threads, opt;
    bool sweeps;              /* --threads may be a list: */
    const char *threads_list; /* "1,2,4"; NULL: one number */
    const char *precision;    /* NULL: as written */
    bool flush_denormals;
} cli_call;
enum { CLI_OPT_DEFAULT = 2, CLI_OPT_MAX = 3 };
extern const struct argp cli_call_argp;
/* The same without --method, --device, --fallback and --precision. */
extern const struct argp cli_compute_argp;
/* --flush-denormals of all commands that compute: what help says of it, and what it does. */
#define CLI_FLUSH_TEXT                                                                             \
    "take denormal numbers (below 1.2e-38 in float32) for zero: they slow many processors down"
void cli_flush_denormals(struct argp_state *state);
#define CLI_CALL_CHILDREN {{&cli_model_argp, 0, NULL, 0}, {&cli_call_argp, 0, NULL, 0}, {0}}
/* How far a call may go: the options --max-steps, --timeout and --max-bytes of the commands that
 * make calls. A third child (its input is a cli_limits). 0: no limit */
typedef struct cli_limits { uint64_t max_steps, timeout_us, max_bytes; } cli_limits;
extern const struct argp cli_limits_argp;
#define CLI_LIMITED_CHILDREN                                                                       \
    {{&cli_model_argp, 0, NULL, 0},                                                                \
     {&cli_call_argp, 0, NULL, 0},                                                                 \
     {&cli_limits_argp, 0, NULL, 0},                                                               \
     {0}}
/* o with them. */
ctsc_run_options cli_limited(const cli_limits *l, ctsc_run_options o);
/* Before parsing: opt is -1 until --opt is given. False if out of memory. */
bool cli_call_init(cli_call *c, int argc);
/* Inputs and the list of them. */
void cli_call_free(cli_call *c);
/* Loads as cli_load and sets the level, the default one for -1. */
int cli_load_for_call(const cli_model *m, int opt, const char *precision, ctsc_module **out,
                      ctsc_error *e);
/* Moves module and inputs to the device, NULL: nowhere; reports and returns the exit
 * code on failure. */
int cli_place(const char *device, ctsc_module *m, cli_inputs *in, ctsc_error *e);
/* What a file that is not an archive seems to be and what to do with it, on stderr; nothing where
 * nothing is known (hint.c). status: what loading it came to. */
void cli_hint(const char *path, ctsc_status status);
/* Puts the weights of a file into m; reports and returns the exit code on failure. */
int cli_load_weights(ctsc_module *m, const char *path, ctsc_error *e);
/* How many letters have to be added, removed or changed to make b of a ('-' and '_' of b are the
 * same). */
int cli_distance(const char *a, const char *b);
/* The folders of --path, then those of PYTHONPATH, joined by ':', to be given to free(); NULL:
 * none, or out of memory (imports will say what they miss). */
char *cli_folders(const cli_model *m);
/* "ctsc: wrote net.pt (4.9 KiB): net.Net with 4 parameters of 259 elements; forward(Tensor x) ->
 * Tensor", on stderr. */
void cli_say_saved(const ctsc_module *m, const char *path);
/* "ctsc: wrote net.onnx (4.9 KiB): onnx", on stderr; what may be NULL (output.c). */
void cli_say_wrote(const char *path, const char *what);
/* "4.9 KiB", or "4.9 KiB, replacing a file of 53 KiB" where cli_check_writable found one there. */
const char *cli_wrote_bytes(const char *path, char *text, size_t size);
/* Loads or compiles it; reports and returns the exit code on failure, 0 on success. */
int cli_load(const cli_model *m, ctsc_module **out, ctsc_error *e);
bool cli_is_source(const char *path); /* ends in .py */
/* What a command writes (output.c). */
typedef enum cli_output {
    CLI_ARCHIVE,
    CLI_SAVED,
    CLI_PAGE,
    CLI_TEXT,
    CLI_OBJECT,
    CLI_HEADER
} cli_output;
/* Whether a file can be written there, asked before the work whose result it gets, and has no
 * ending that means something else; NULL: it need not. Files that end in .py are sources, and not
 * replaced. Reports and returns the exit code. */
int cli_check_output(const char *path, cli_output kind);
/* The first of the two questions alone. */
int cli_check_writable(const char *path);
void cli_warn(void *ctx, const char *text); /* a script's warning, on stderr */
/* From now on what is missing from the installation is told on stderr (CTSC_LOG_ALERT). */
void cli_hear_alerts(void);
/* Counts of elements and bytes; INT64_MAX for what an int64_t does not hold, as expanded
 * tensors may have it. */
static inline int64_t cli_product(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
static inline int64_t cli_sum(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
/* Whether a tensor or column of this name is what a model learns: "y", "target", "label". */
bool cli_is_target(const char *name);
/* "4.9 KiB" and "25,557,032" in text, which is returned. */
const char *cli_bytes(double n, char *text, size_t size);
const char *cli_grouped(int64_t n, char *text, size_t size);
/* Prints JSON and frees it; CTSC_LIMIT without memory. */
int cli_print_json(json_t *j);
json_t *cli_value_json(const ctsc_value *v); /* NULL if out of memory */
/* Parses with argp in the way all subcommands do (wrong usage exits with CTSC_USAGE). */
void cli_parse_args(const struct argp *argp, int argc, char **argv, void *into);
/* The same, up to the first argument that is not an option. */
void cli_parse_args_in_order(const struct argp *argp, int argc, char **argv, void *into);
/* A number of an option's argument; wrong text is a usage error. */
/* strtod, with a point in every locale. */
double cli_double(const char *text, char **end);
double cli_number(struct argp_state *state, const char *option, const char *text);
double cli_number_within(struct argp_state *state, const char *option, const char *text, double min,
                         double max);
/* The same, a whole number from min to max. */
int cli_whole_number(struct argp_state *state, const char *option, const char *text, int min,
                     int max);
/* Of --seed: any uint64_t. */
uint64_t cli_seed(struct argp_state *state, const char *text);
enum { CLI_MAX_THREADS = 1024 }; /* of --threads */

#endif
