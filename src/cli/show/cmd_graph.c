/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_graph.c - ctsc graph and ctsc code: shows a method as a graph, or as source. Tests:
 * tests/cli/show.test */
#include "cli/cli.h"

enum { OPT_METHOD = 256, OPT_INLINED, OPT_NO_LOCATIONS };

typedef struct graph_args {
    cli_model model;
    const char *method;
    unsigned flags;
    bool is_code;
} graph_args;

static const struct argp_option graph_options[] = {
    {"method", OPT_METHOD, "NAME", 0, "method to show (forward)", 0},
    {"inlined", OPT_INLINED, 0, 0, "replace calls by the bodies of what they call", 0},
    {"no-locations", OPT_NO_LOCATIONS, 0, 0, "leave out the comments with source locations", 0},
    {0},
};

static const struct argp_option code_options[] = {
    {"method", OPT_METHOD, "NAME", 0, "method to show (forward)", 0}, {0}};

static error_t graph_parse_option(int key, char *arg, struct argp_state *state) {
    graph_args *a = state->input;
    switch (key) {
    case OPT_METHOD: a->method = arg; break;
    case OPT_INLINED: a->flags |= CTSC_GRAPH_INLINED; break;
    case OPT_NO_LOCATIONS: a->flags &= ~(unsigned)CTSC_GRAPH_LOCATIONS; break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child graph_children[] = CLI_MODEL_CHILD;

static int graph_show(const graph_args *a) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    char *text = NULL;
    int code = cli_load(&a->model, &m, e);
    if (!code) {
        ctsc_status s = a->is_code ? ctsc_module_code(m, a->method, &text, e)
                                   : ctsc_module_graph(m, a->method, a->flags, &text, e);
        if (s == CTSC_OK) fputs(text, stdout);
        else code = cli_report(e);
    }
    ctsc_string_free(text);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return code;
}

const struct argp cmd_graph_argp = {
    graph_options,
    graph_parse_option,
    "MODEL",
    "Prints the graph of a method, before optimisation, as PyTorch prints it.",
    graph_children,
    NULL,
    NULL};

int cmd_graph(int argc, char **argv) {
    graph_args a = {
        .model.compile.skip_init = true, .method = "forward", .flags = CTSC_GRAPH_LOCATIONS};
    cli_parse_args(&cmd_graph_argp, argc, argv, &a);
    return graph_show(&a);
}

const struct argp cmd_code_argp = {code_options,
                                   graph_parse_option,
                                   "MODEL",
                                   "Prints the TorchScript source of a method.",
                                   graph_children,
                                   NULL,
                                   NULL};

int cmd_code(int argc, char **argv) {
    graph_args a = {.model.compile.skip_init = true, .method = "forward", .is_code = true};
    cli_parse_args(&cmd_code_argp, argc, argv, &a);
    return graph_show(&a);
}
