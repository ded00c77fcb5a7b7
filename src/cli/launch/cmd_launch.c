/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_launch.c - ctsc launch: starts a program as several processes that find one another, as
 * torchrun does: its options, and how often all are started again when one fails.
 *
 * Names of torchrun's options with '_' for '-' are understood, and those that choose among its ways
 * to find other machines (--standalone, --rdzv-*) as far as they say where the first machine is.
 * Tests: tests/cli/launch.test
 */
#include "cli/cli.h"
#include "cli/launch/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LAUNCH_PROCESSES = 'n',
    LAUNCH_MODULE = 'm',
    LAUNCH_NODES = 256,
    LAUNCH_NODE,
    LAUNCH_ADDRESS,
    LAUNCH_PORT,
    LAUNCH_RESTARTS,
    LAUNCH_PYTHON,
    LAUNCH_PLAIN,
    LAUNCH_PREFIX,
    LAUNCH_ENDPOINT,
    LAUNCH_NOTHING
};

static const struct argp_option launch_options[] = {
    {"nproc-per-node", LAUNCH_PROCESSES, "N", 0, "processes on this machine (1)", 0},
    {"nproc_per_node", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"nnodes", LAUNCH_NODES, "N", 0, "machines (1); the command is started on each", 0},
    {"node-rank", LAUNCH_NODE, "N", 0, "which of them this one is (0)", 0},
    {"node_rank", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"master-addr", LAUNCH_ADDRESS, "HOST", 0, "the first machine (127.0.0.1)", 0},
    {"master_addr", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"master-port", LAUNCH_PORT, "N", 0, "a port of it (with one machine a free one, else 29500)",
     0},
    {"master_port", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"rdzv-endpoint", LAUNCH_ENDPOINT, "HOST[:N]", 0, "both as one", 0},
    {"rdzv_endpoint", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"max-restarts", LAUNCH_RESTARTS, "N", 0, "how often all are started again when one fails (0)",
     0},
    {"max_restarts", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"module", LAUNCH_MODULE, "NAME", 0, "the program is a module of Python", 0},
    {"python", LAUNCH_PYTHON, "FILE", 0, "the interpreter (python3)", 0},
    {"no-python", LAUNCH_PLAIN, 0, 0, "the program is not a Python file: it is run as it is", 0},
    {"no_python", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"prefix", LAUNCH_PREFIX, 0, 0, "put the rank before each line that a process writes", 0},
    {"standalone", LAUNCH_NOTHING, 0, OPTION_HIDDEN, 0, 0},
    {"rdzv-backend", LAUNCH_NOTHING, "NAME", OPTION_HIDDEN, 0, 0},
    {"rdzv_backend", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {"rdzv-id", LAUNCH_NOTHING, "NAME", OPTION_HIDDEN, 0, 0},
    {"rdzv_id", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
    {0},
};

/* What follows belongs to the program. */
static void launch_rest(launch_args *a, struct argp_state *state, int from) {
    a->program = state->argv + from;
    state->next = state->argc;
}

static void launch_endpoint(launch_args *a, struct argp_state *state, char *text) {
    char *colon = strrchr(text, ':');
    if (colon) {
        *colon = '\0';
        a->port = cli_whole_number(state, "rdzv-endpoint", colon + 1, 1, 65535);
    }
    a->address = text;
}

static error_t launch_parse(int key, char *arg, struct argp_state *state) {
    launch_args *a = state->input;
    switch (key) {
    case LAUNCH_PROCESSES:
        a->processes = cli_whole_number(state, "nproc-per-node", arg, 1, LAUNCH_MOST);
        break;
    case LAUNCH_NODES: a->nodes = cli_whole_number(state, "nnodes", arg, 1, 1 << 16); break;
    case LAUNCH_NODE: a->node = cli_whole_number(state, "node-rank", arg, 0, 1 << 16); break;
    case LAUNCH_ADDRESS: a->address = arg; break;
    case LAUNCH_PORT: a->port = cli_whole_number(state, "master-port", arg, 1, 65535); break;
    case LAUNCH_ENDPOINT: launch_endpoint(a, state, arg); break;
    case LAUNCH_RESTARTS:
        a->restarts = cli_whole_number(state, "max-restarts", arg, 0, 1 << 20);
        break;
    case LAUNCH_PYTHON: a->python = arg; break;
    case LAUNCH_PLAIN: a->plain = true; break;
    case LAUNCH_PREFIX: a->prefix = true; break;
    case LAUNCH_NOTHING: break;
    case LAUNCH_MODULE:
        a->module = arg;
        launch_rest(a, state, state->next);
        break;
    case ARGP_KEY_ARG: launch_rest(a, state, state->next - 1); break;
    case ARGP_KEY_END:
        if (!a->program) argp_error(state, "PROGRAM is missing");
        if (!a->module && !a->plain && cli_is_source(a->program[0]) &&
            access(a->program[0], R_OK) != 0)
            argp_failure(state, CTSC_BAD_FILE, errno, "cannot open %s", a->program[0]);
        if (a->node >= a->nodes) argp_error(state, "--node-rank counts from 0 to --nnodes less 1");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp cmd_launch_argp = {
    launch_options,
    launch_parse,
    "PROGRAM [ARGUMENT...]",
    "Starts a program that uses torch.distributed as several processes, and ends them all when one "
    "fails. A Python file runs under python3 -m ctsc; the processes get RANK, LOCAL_RANK, "
    "WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the other variables that torchrun sets.",
    NULL,
    NULL,
    NULL};

/* A port that nobody listens on now; 0: there is none. */
static int launch_free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM, 0), port = 0;
    if (s >= 0 && bind(s, (struct sockaddr *)&at, size) == 0 &&
        getsockname(s, (struct sockaddr *)&at, &size) == 0)
        port = ntohs(at.sin_port);
    if (s >= 0) close(s);
    return port;
}

/* Processes go on trying for as long as torch.distributed does: a name may be known later, when the
 * first machine is up. Until then somebody should know what they wait for. */
static void launch_look_up(const char *address) {
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
    int failed = getaddrinfo(address, NULL, &hints, &found);
    if (!failed) freeaddrinfo(found);
    else
        fprintf(stderr, "ctsc: warning: the address of rank 0, '%s', is not known here: %s\n",
                address, gai_strerror(failed));
}

/* The secret that processes of this launch share (docs/distributed.md), where no other machine has
 * to know it. */
static void launch_secret(void) {
    unsigned char bytes[32];
    char text[2 * sizeof bytes + 1];
    if (getenv("CTSC_DIST_SECRET") || getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    setenv("CTSC_DIST_SECRET", text, 1);
}

int cmd_launch(int argc, char **argv) {
    launch_args a = {.processes = 1, .nodes = 1, .address = "127.0.0.1", .python = "python3"};
    cli_parse_args_in_order(&cmd_launch_argp, argc, argv, &a);
    launch_look_up(a.address);
    bool own_port = !a.port && a.nodes == 1, signalled = false;
    int code = 0;
    if (a.nodes == 1) launch_secret();
    for (int attempt = 0; attempt <= a.restarts; attempt++) {
        if (own_port) a.port = launch_free_port();
        if (!a.port) a.port = 29500;
        code = launch_once(&a, attempt, &signalled);
        if (!code || signalled) break;
        if (attempt < a.restarts)
            fprintf(stderr, "ctsc: all processes are started again (%d of %d)\n", attempt + 1,
                    a.restarts);
    }
    return code;
}
