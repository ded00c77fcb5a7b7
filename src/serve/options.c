/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the command line of `ctsc serve`.
 *
 * Tests: tests/cli/serve.test, tests/serve/client.py
 */
#include "sandbox/sandbox.h"
#include "serve/listener.h"
#include "serve/serve.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    OPT_HOST = 256,
    OPT_GRPC,
    OPT_HTTP_THREADS,
    OPT_THREADS,
    OPT_INSTANCES,
    OPT_QUEUE,
    OPT_TIMEOUT,
    OPT_MAX_BYTES,
    OPT_PROCESS_BYTES,
    OPT_BODY,
    OPT_HEADER,
    OPT_CONNECTIONS,
    OPT_PER_ADDRESS,
    OPT_IDLE,
    OPT_RECEIVE,
    OPT_DRAIN,
    OPT_POLL,
    OPT_EXPLICIT,
    OPT_NO_CONTROL,
    OPT_TOKEN,
    OPT_LOG,
    OPT_PRECISION,
    OPT_FLUSH,
    OPT_SANDBOX,
    OPT_ISOLATE
};

static const struct argp_option serve_argp_options[] = {
    {"host", OPT_HOST, "ADDRESS", 0,
     "listen on this address (127.0.0.1), or on a Unix socket: unix:PATH", 0},
    {"port", 'p', "N", 0, "listen on this port (8000); 0: a free one, which is printed", 0},
    {"http-port", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"grpc", OPT_GRPC, "PORT", OPTION_ARG_OPTIONAL,
     "answer gRPC as well, on this port (8001); 0: a free one", 0},
    {"grpc-port", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"access-log", OPT_LOG, "FILE", 0, "a JSON line per request; '-': stdout", 0},
    {"token-file", OPT_TOKEN, "FILE", 0,
     "ask for 'Authorization: Bearer' with the first line of FILE", 0},
    {"poll", OPT_POLL, "SECONDS", 0, "look for new and changed models this often (1); 0: never", 0},
    {"explicit", OPT_EXPLICIT, 0, 0, "load no model until a request says so", 0},
    {"no-control", OPT_NO_CONTROL, 0, 0, "refuse requests to load and unload models", 0},
    {"flush-denormals", OPT_FLUSH, 0, 0,
     "take denormal numbers (below 1.2e-38 in float32) for zero: they slow many processors down",
     0},
    {"sandbox", OPT_SANDBOX, 0, 0,
     "read only DIR, and make no connections, programs or processes (Linux)", 0},
    {"isolate", OPT_ISOLATE, "process", 0,
     "run models in processes of their own: one that ends costs the request that it answered", 0},
    {0, 0, 0, 0, "Defaults of models (config.json):", 1},
    {"instances", OPT_INSTANCES, "N", 0,
     "calls of one model at the same time (one per core; with --isolate 1)", 1},
    {"threads", OPT_THREADS, "N", 0, "threads of one call (1); 0: all cores", 1},
    {"max-queue", OPT_QUEUE, "N", 0, "requests that may wait for a model (256)", 1},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "of a request, after which it is stopped (30); 0: none",
     1},
    {"max-bytes", OPT_MAX_BYTES, "N", 0, "memory that one call may take (no limit)", 1},
    {"max-process-bytes", OPT_PROCESS_BYTES, "N", 0,
     "with --isolate: memory that a process may have (no limit)", 1},
    {"precision", OPT_PRECISION, "NAME", 0,
     "of layers with constant weights: float32 (the default), bf16, int8w, int4w, auto", 1},
    {0, 0, 0, 0, "Limits:", 2},
    {"max-body", OPT_BODY, "N", 0, "bytes of a request's body (67108864)", 2},
    {"max-header", OPT_HEADER, "N", 0, "bytes of memory for a request's headers (16384)", 2},
    {"max-connections", OPT_CONNECTIONS, "N", 0, "connections at the same time (1000)", 2},
    {"max-connections-per-address", OPT_PER_ADDRESS, "N", 0, "of them, from one address (no limit)",
     2},
    {"idle", OPT_IDLE, "SECONDS", 0, "silence after which a connection is closed (60)", 2},
    {"receive", OPT_RECEIVE, "SECONDS", 0, "that a request may take to arrive (30)", 2},
    {"drain", OPT_DRAIN, "SECONDS", 0, "for running requests after SIGTERM (30)", 2},
    {"http-threads", OPT_HTTP_THREADS, "N", 0,
     "that read requests and write answers (one per core)", 2},
    {0},
};

static double serve_number(struct argp_state *state, const char *option, const char *text,
                           double lo, double hi, bool whole) {
    char *end;
    errno = 0;
    double n = strtod(text, &end);
    if (*text && !*end && !errno && n >= lo && n <= hi && (!whole || n == (double)(int64_t)n))
        return n;
    argp_error(state, "--%s: '%s' is not a%s number from %.15g to %.15g", option, text,
               whole ? " whole" : "", lo, hi);
    return lo;
}

/* Options that are numbers. */
static bool serve_parse_number(serve_options *o, int key, const char *arg,
                               struct argp_state *state) {
#define WHOLE(name, lo, hi) serve_number(state, name, arg, lo, hi, true)
    switch (key) {
    case 'p': o->port = (int)WHOLE("port", 0, 65535); break;
    case OPT_GRPC:
        o->grpc = true;
        if (arg) o->grpc_port = (int)WHOLE("grpc", 0, 65535);
        break;
    case OPT_HTTP_THREADS: o->http_threads = (int)WHOLE("http-threads", 1, 256); break;
    case OPT_THREADS: o->threads = (int)WHOLE("threads", 0, 1024); break;
    case OPT_INSTANCES: o->instances = (int)WHOLE("instances", 1, 256); break;
    case OPT_QUEUE: o->max_queue = (int)WHOLE("max-queue", 1, 1e6); break;
    case OPT_TIMEOUT:
        o->timeout_us = (uint64_t)(serve_number(state, "timeout", arg, 0, 86400, false) * 1e6);
        break;
    case OPT_MAX_BYTES: o->max_bytes = (uint64_t)WHOLE("max-bytes", 0, 1e15); break;
    case OPT_PROCESS_BYTES:
        o->max_process_bytes = (uint64_t)WHOLE("max-process-bytes", 0, 1e15);
        break;
    case OPT_BODY: o->max_body = (size_t)WHOLE("max-body", 0, 1e12); break;
    case OPT_HEADER: o->max_header = (size_t)WHOLE("max-header", 4096, 1e8); break;
    case OPT_CONNECTIONS: o->max_connections = (unsigned)WHOLE("max-connections", 1, 1e6); break;
    case OPT_PER_ADDRESS:
        o->max_connections_per_ip = (unsigned)WHOLE("max-connections-per-address", 0, 1e6);
        break;
    case OPT_IDLE: o->idle_seconds = (unsigned)WHOLE("idle", 1, 86400); break;
    case OPT_RECEIVE: o->receive_seconds = (unsigned)WHOLE("receive", 1, 86400); break;
    case OPT_DRAIN: o->drain_seconds = (unsigned)WHOLE("drain", 0, 86400); break;
    case OPT_POLL: o->poll_seconds = serve_number(state, "poll", arg, 0, 86400, false); break;
    default: return false;
    }
#undef WHOLE
    return true;
}

static error_t serve_parse(int key, char *arg, struct argp_state *state) {
    serve_options *o = state->input;
    struct stat st;
    switch (key) {
    case OPT_HOST: o->host = arg; break;
    case OPT_TOKEN: o->token_file = arg; break;
    case OPT_LOG: o->access_log = arg; break;
    case OPT_EXPLICIT: o->explicit_loading = true; break;
    case OPT_NO_CONTROL: o->no_control = true; break;
    case OPT_PRECISION: o->precision = arg; break;
    case OPT_FLUSH: o->flush_denormals = true; break;
    case OPT_SANDBOX: o->sandbox = true; break;
    case OPT_ISOLATE:
        o->isolate = !strcmp(arg, "process");
        if (!o->isolate && strcmp(arg, "none") != 0)
            argp_error(state, "--isolate: 'process' or 'none', not '%s'", arg);
        break;
    case ARGP_KEY_ARG:
        if (o->folder)
            argp_error(
                state,
                "'%s' is one argument too many: one folder is served, and --grpc=PORT has a '='",
                arg);
        o->folder = arg;
        break;
    case ARGP_KEY_END:
        if (o->explicit_loading && o->no_control)
            argp_error(state, "--explicit loads models by requests, which --no-control refuses");
        if (o->grpc && listener_path(o->host))
            argp_error(state, "--grpc needs an address, and --host is a Unix socket");
        if (!o->folder) argp_error(state, "the folder of the models is missing");
        else if (stat(o->folder, &st) != 0)
            argp_failure(state, CTSC_BAD_FILE, errno, "cannot open %s", o->folder);
        else if (!S_ISDIR(st.st_mode))
            argp_error(state,
                       "'%s' is a file: give the folder it is in, whose models are all served",
                       o->folder);
        break;
    default: return serve_parse_number(o, key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp serve_argp = {
    serve_argp_options,
    serve_parse,
    "DIR",
    "Serves the models of a folder over HTTP and gRPC, with the Open Inference Protocol v2.\v"
    "A model is DIR/NAME.pt, DIR/NAME/model.pt or DIR/NAME/VERSION/model.pt (or .pt2, .onnx); "
    "DIR/NAME/config.json (DIR/NAME.json) has its settings. "
    "GET / shows a page with what the server does. SIGTERM ends it when all requests are answered. "
    "docs/serve.md tells everything.",
    NULL,
    NULL,
    NULL};

/* The first of the two steps into the sandbox (sandbox.h): server.c takes the second. */
static void serve_restart(const serve_options *o, char **program, char why[SANDBOX_WHY]) {
    sandbox s;
    if (!sandbox_open(&s, why)) return;
    bool log = o->access_log && strcmp(o->access_log, "-") != 0;
    if (sandbox_allow(&s, o->folder, SANDBOX_READ, why) &&
        (!listener_path(o->host) ||
         sandbox_allow_folder_of(&s, listener_path(o->host), SANDBOX_WRITE, why)) &&
        (!o->token_file || sandbox_allow(&s, o->token_file, SANDBOX_READ, why)) &&
        (!log || sandbox_allow_folder_of(&s, o->access_log, SANDBOX_WRITE, why)))
        sandbox_restart(&s, program, why);
}

int serve_main(int argc, char **argv, char **program, void (*busy)(const char *what)) {
    serve_options o = {.host = "127.0.0.1",
                       .port = 8000,
                       .grpc_port = 8001,
                       .threads = 1,
                       .max_queue = 256,
                       .timeout_us = 30000000,
                       .max_body = 64 << 20,
                       .max_header = 16384,
                       .max_connections = 1000,
                       .idle_seconds = 60,
                       .receive_seconds = 30,
                       .drain_seconds = 30,
                       .poll_seconds = 1,
                       .busy = busy};
    int error = argp_parse(&serve_argp, argc, argv, 0, NULL, &o); /* it has exited for others */
    if (error) {
        fprintf(stderr, "ctsc serve: %s\n", strerror(error));
        return CTSC_LIMIT;
    }
    if (o.sandbox && !sandbox_inside()) {
        char why[SANDBOX_WHY];
        serve_restart(&o, program, why);
        fprintf(stderr, "ctsc serve: --sandbox: %s\n", why);
        return CTSC_ENVIRONMENT;
    }
    return serve_run(&o);
}
