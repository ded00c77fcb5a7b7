/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_graph_for.c - ctsc graph-for: the graph of a method as it is run for given arguments, its
 * kernels, and a drawing of it.
 * Tests: tests/cli/graph-for.test
 */
#include "cli/cli.h"

#include <ctsc_compiler.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    OPT_KERNELS = 256,
    OPT_ASM,
    OPT_DOT,
    OPT_SVG,
    OPT_NO_LOCATIONS,
    OPT_PTX,
    OPT_SASS,
    OPT_ARCH,
    OPT_GRADIENTS
};

typedef struct graph_for_args {
    cli_model model;
    cli_call call;
    unsigned flags;
    bool svg, gradients;
} graph_for_args;

static const struct argp_option graph_for_options[] = {
    {"kernels", OPT_KERNELS, 0, 0,
     "also print the kernel of each fusion group, as a loop nest and as LLVM IR; with --device "
     "cuda as CUDA C++",
     0},
    {"asm", OPT_ASM, 0, 0, "also print the kernels in assembly language", 0},
    {"gradients", OPT_GRADIENTS, 0, 0,
     "as the method runs where the caller takes gradients: of parameters, as the model has them, "
     "and of arguments like 'float32[2,3]:rand:grad'; the graph of the backward pass follows",
     0},
    {"ptx", OPT_PTX, 0, 0, "also print the kernels for a GPU as PTX (needs NVRTC, no GPU)", 0},
    {"sass", OPT_SASS, 0, 0,
     "also print the kernels in the GPU's own code (needs NVRTC and nvdisasm or cuobjdump, no GPU)",
     0},
    {"arch", OPT_ARCH, "NAME", 0,
     "the GPU's architecture for --ptx and --sass: sm_90 (the default), sm_80, ...", 0},
    {"dot", OPT_DOT, 0, 0, "print a drawing of the graph for Graphviz instead", 0},
    {"svg", OPT_SVG, 0, 0, "print that drawing as SVG (runs Graphviz's dot)", 0},
    {"no-locations", OPT_NO_LOCATIONS, 0, 0, "leave out the comments with source locations", 0},
    {0},
};

static void graph_for_set_arch(struct argp_state *state, const char *name) {
    ctsc_error *e = ctsc_error_new();
    if (ctsc_set_cuda_arch(name, e) != CTSC_OK)
        argp_error(state, "--arch: %s", ctsc_error_message(e));
    ctsc_error_free(e);
}

static bool graph_for_is_cuda(const graph_for_args *a) {
    return a->call.device && strcmp(a->call.device, "cpu") != 0;
}

/* Of kernels for a GPU there are other texts. */
static void graph_for_check(graph_for_args *a, struct argp_state *state) {
    enum {
        CPU = CTSC_GRAPH_KERNELS | CTSC_GRAPH_ASM,
        GPU = CTSC_GRAPH_CUDA | CTSC_GRAPH_PTX | CTSC_GRAPH_SASS
    };
    if (graph_for_is_cuda(a) && a->flags & CTSC_GRAPH_KERNELS)
        a->flags += CTSC_GRAPH_CUDA - CTSC_GRAPH_KERNELS;
    if (graph_for_is_cuda(a) && a->flags & CTSC_GRAPH_ASM)
        argp_error(state, "--asm is for the CPU; for a GPU there are --ptx and --sass");
    if (!graph_for_is_cuda(a) && a->flags & GPU)
        argp_error(state, "--ptx and --sass want --device cuda");
    if (a->flags & CTSC_GRAPH_DOT && a->flags & (CPU | GPU))
        argp_error(state, "--kernels, --asm, --ptx and --sass do not go with --dot and --svg");
    if (a->gradients && a->flags & (CPU | GPU))
        argp_error(state, "--kernels, --asm, --ptx and --sass do not go with --gradients");
}

static error_t graph_for_parse(int key, char *arg, struct argp_state *state) {
    graph_for_args *a = state->input;
    switch (key) {
    case OPT_KERNELS: a->flags |= CTSC_GRAPH_KERNELS; break;
    case OPT_ASM: a->flags |= CTSC_GRAPH_ASM; break;
    case OPT_PTX: a->flags |= CTSC_GRAPH_PTX; break;
    case OPT_SASS: a->flags |= CTSC_GRAPH_SASS; break;
    case OPT_ARCH: graph_for_set_arch(state, arg); break;
    case OPT_GRADIENTS: a->gradients = true; break;
    case OPT_SVG: a->svg = true; /* fallthrough */
    case OPT_DOT: a->flags |= CTSC_GRAPH_DOT; break;
    case OPT_NO_LOCATIONS: a->flags &= ~(unsigned)CTSC_GRAPH_LOCATIONS; break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        break;
    case ARGP_KEY_END: graph_for_check(a, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Lets dot draw to stdout. */
static int graph_for_draw(const char *text) {
    if (system("command -v dot >/dev/null 2>&1") != 0)
        return cli_complain(
            CTSC_ENVIRONMENT,
            "--svg needs Graphviz's dot, which is not installed (Debian: graphviz); --dot "
            "does without");
    fflush(stdout);
    FILE *dot = popen("dot -Tsvg", "w");
    if (!dot) return cli_complain(CTSC_ENVIRONMENT, "cannot run dot");
    fputs(text, dot);
    int status = pclose(dot);
    if (status == 0) return 0;
    return cli_complain(CTSC_ENVIRONMENT, "dot failed (exit code %d)",
                        WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int graph_for_with(graph_for_args *a, ctsc_error *e) {
    ctsc_module *m = NULL;
    char *text = NULL;
    int code = cli_load_for_call(&a->model, a->call.opt, a->call.precision, &m, e);
    if (!code) code = cli_read_inputs(&a->call.inputs, m, a->call.method, e);
    /* kernels can be without a GPU */
    bool shown = a->flags & (CTSC_GRAPH_CUDA | CTSC_GRAPH_PTX | CTSC_GRAPH_SASS);
    if (!code && !shown) code = cli_place(a->call.device, m, &a->call.inputs, e);
    if (!code && a->gradients && ctsc_module_set_gradients(m, true, e) != CTSC_OK)
        code = cli_report(e);
    const cli_inputs *in = &a->call.inputs;
    if (!code && ctsc_module_graph_for(m, a->call.method, in->nvalues, in->values, a->flags, &text,
                                       e) != CTSC_OK)
        code = cli_report(e);
    if (!code && a->svg) code = graph_for_draw(text);
    else if (!code) fputs(text, stdout);
    ctsc_string_free(text);
    ctsc_module_free(m);
    return code;
}

static const struct argp_child graph_for_children[] = CLI_CALL_CHILDREN;
const struct argp cmd_graph_for_argp = {
    graph_for_options,
    graph_for_parse,
    "MODEL",
    "Prints the graph of a method as it is run for arguments like these: optimised, with "
    "fusion groups and the types of tensors.\vThe method is called once with the "
    "arguments. Without arguments nothing is called, and no types of tensors are known.",
    graph_for_children,
    NULL,
    NULL};

int cmd_graph_for(int argc, char **argv) {
    graph_for_args a = {.flags = CTSC_GRAPH_LOCATIONS};
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_graph_for_argp, argc, argv, &a);
    ctsc_set_threads(a.call.threads);
    int code = graph_for_with(&a, e);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
