/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_internal.h - what the files of libctsc-grpc.so share.
 *
 * Why the C core. Debian's libgrpc-dev has a C library (<grpc/grpc.h>) and, above it, one for C++.
 * The server needs a dozen functions of the former: accept a call, read a message, write one with
 * a status. The latter would add a second language, a second library for messages, and threads
 * that wait for models. Messages are protobuf-c's, as those of ONNX are. (libnghttp2 alone is not
 * gRPC: framing, compression, deadlines and status would be ours to keep right.)
 *
 * The parts: grpc_server.c has calls, connections and threads; grpc_methods.c the table of methods
 * and what each asks of the protocol; grpc_infer.c inference; grpc_message.c messages and memory.
 */
#ifndef CTSC_SERVE_GRPC_INTERNAL_H
#define CTSC_SERVE_GRPC_INTERNAL_H

#include "inference.pb-c.h"
#include "serve/rpc.h"

#include <jansson.h>

/* ---- memory of one message (grpc_message.c) -------------------------------------------------- */

/* Blocks that are freed together. `most` bounds them: a few bytes of a message may stand for many
 * in memory. */
typedef struct scratch {
    struct scratch_block *blocks;
    char *at;
    size_t left, total, most;
} scratch;

/* Zeroed; NULL: none, or `most` is reached. */
void *scratch_alloc(scratch *a, size_t size);
void scratch_free(scratch *a);
/* A message of bytes; NULL: damaged, or too much memory. */
void *message_read(scratch *a, const ProtobufCMessageDescriptor *d, const void *bytes, size_t len);
/* A message whose fields are the members of j that have their names and types; others are left
 * out. NULL: out of memory. */
void *message_of_json(scratch *a, const ProtobufCMessageDescriptor *d, const json_t *j);

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct ask {
    scratch memory;
    buffer path, body; /* of the exchange */
    char header_length[24];
    const uint8_t *bytes; /* the message */
    size_t len, max_body;
    int status; /* of a refusal, as HTTP has it */
    char why[300];
} ask;

bool ask_refuse(ask *a, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The path /v2/models/NAME[/versions/VERSION]ENDING. False: no model can have that name. */
bool ask_path(ask *a, const char *name, const char *version, const char *ending);

typedef struct grpc_method {
    const char *name; /* "/package.service/method" */
    const char *http; /* the method of the exchange */
    const char *path; /* its path; NULL: make finds it */
    /* From the message to path and body; NULL: there is nothing in it. False: refused. */
    bool (*make)(ask *a);
    /* What the answer is made of, of a response's JSON (a reference that is taken over); NULL: it
     * as it is. */
    json_t *(*shape)(json_t *j_take, int status);
    const ProtobufCMessageDescriptor *answer;
    bool open;   /* needs no token */
    bool always; /* "not ready" is an answer, too */
    bool infers; /* the response may have tensors */
    bool stream; /* of any number of messages, each with an answer */
} grpc_method;

const grpc_method *method_find(const char *name, size_t len); /* NULL: none */
/* The answer to the response; NULL: out of memory. */
ProtobufCMessage *method_answer(const grpc_method *m, scratch *a, const exchange *x);
/* The text of a response that is an error. */
void method_error(const exchange *x, char *text, size_t size);

/* grpc_infer.c */
bool infer_ask(ask *a);
/* tensors: the bytes after the JSON. NULL: out of memory. */
Rpc__InferResponse *infer_answer(scratch *a, const json_t *j, const char *tensors, size_t len);

#endif
