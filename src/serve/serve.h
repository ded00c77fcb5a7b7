/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the inference server: the command's entry, and the options that everything in
 * this folder reads.
 *
 * The parts, from outside to inside:
 *   options.c     the command line                 listener.c, http.c   new connections; libmicrohttpd: bodies, limits, draining
 *   server.c      start, signals, housekeeping     protocol.c    a request to a response, without sockets
 *   decode.c, encode.c   tensors of the protocol   repository.c  which models there are, loading, reloading
 *   scheduler.c, batch.c queues, workers, batches  model.c, config.c   one loaded model and its config.json
 *   isolate/      models in processes of their own
 *   metrics.c, statistics.c  what is counted        access_log.c, page.c  a line per request, the status page
 *   rpc.c         gRPC, by libctsc-grpc.so         grpc/         that library
 * Everything is written against ctsc.h alone. docs/serve.md is for users.
 */
#ifndef CTSC_SERVE_SERVE_H
#define CTSC_SERVE_SERVE_H

#include "ctsc.h"

typedef struct serve_options {
    const char *folder; /* of the models */
    const char *host;   /* address to listen on */
    int port;           /* 0: any free one */
    bool grpc;          /* listen for gRPC as well (rpc.h), on grpc_port */
    int grpc_port;      /* 0: any free one */
    int http_threads;   /* that read requests and write answers; 0: one per core */
    int threads;        /* that one call of a model may use */
    /* calls of one model at the same time, unless its config says; 0: one per
     * core, with isolate 1 */
    int instances;
    int max_queue;               /* requests waiting for one model, likewise */
    uint64_t timeout_us;         /* of one request, likewise; 0: none */
    uint64_t max_bytes;          /* of memory one call may take, likewise; 0: no limit */
    uint64_t max_process_bytes;  /* of memory a model's process may have, likewise */
    size_t max_body, max_header; /* bytes of a request */
    unsigned max_connections, max_connections_per_ip; /* 0 per address: no limit */
    unsigned idle_seconds;                            /* between two requests of a connection */
    unsigned receive_seconds; /* from the first byte of a request to its last */
    unsigned drain_seconds;   /* for running requests after SIGTERM */
    double poll_seconds;      /* between looks at the folder; 0: never */
    bool explicit_loading;    /* load nothing unless told to by a request */
    bool no_control;          /* refuse such requests */
    const char *precision;    /* of models, unless their configs say; NULL: as written */
    bool flush_denormals;     /* of all models: ctsc_set_flush_denormals */
    const char *token_file;   /* NULL: no token */
    bool sandbox;             /* enter it: sandbox/sandbox.h */
    bool isolate;             /* calls run in processes of each model's own: worker.h */
    const char *access_log;   /* a file, "-" for stdout, NULL: none */
    /* told what takes its time while the server starts, and NULL before anything is written to
     * stderr; NULL: nobody is */
    void (*busy)(const char *what);
} serve_options;

/* `ctsc serve`: parses the command line, serves until SIGTERM or SIGINT. program: the arguments
 * that the program was started with. busy: as of the options. The exit code. */
int serve_main(int argc, char **argv, char **program, void (*busy)(const char *what));
extern const struct argp serve_argp; /* its options; <argp.h> */
/* The same with options. Prints where it listens on stderr, "listening on http://HOST:PORT". */
ctsc_status serve_run(const serve_options *o);

#endif
