/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - a request to a response, without sockets: the Open Inference Protocol v2 over HTTP.
 */
#ifndef CTSC_SERVE_PROTOCOL_H
#define CTSC_SERVE_PROTOCOL_H

#include "serve/metrics.h"
#include "serve/repository.h"

#include <jansson.h>

typedef struct server {
    const serve_options *o;
    repository repository;
    server_stats stats;
    char *token; /* NULL: everything is allowed to everyone */
    atomic_bool draining;
} server;

/* One request and its response. The texts of the request are the caller's and stay until the
 * response is there. */
typedef struct exchange {
    server *s;
    const char *method, *path; /* "GET", "/v2/health/live": without the query, unescaped */
    /* values of these headers, or NULL */
    const char *authorization, *content_encoding, *header_length;
    const char *body; /* body[body_len] is a NUL byte. May be NULL if body_len is 0 */
    size_t body_len;
    uint64_t started_ns, deadline_ns; /* deadline: the client's; 0: none */
    /* set when nobody waits for the response any more; NULL: that is never known */
    ctsc_cancel *cancel;

    int status;
    const char *type;  /* of the content */
    buffer reply;      /* the content */
    size_t json_len;   /* if not 0: the bytes of the content that are JSON; tensors follow */
    struct feed *feed; /* if not NULL: the content, which is still being made (feed.h) */
    size_t fed;        /* bytes of it that were sent */
    int retry_after;   /* seconds; 0: none */
    const char *allow; /* the allowed methods, for a 405; else NULL */

    /* Called on the calling thread before the request is left to another one; may be NULL. Then
     * `done`, from that other thread. */
    void (*defer)(struct exchange *x);
    void (*done)(struct exchange *x);
    /* A reader of the feed that has waited can go on. NULL: there is none. */
    void (*wake)(struct exchange *x);
    /* if not NULL: data that an inference may leave here for the
     * next one; the code that set keep frees it (infer_keep_free) */
    void **keep;

    /* for the log */
    char trace[56]; /* the header traceparent of W3C Trace Context; "": none, or not a valid one */
    char model[80], version[16];
    uint64_t queue_ns, infer_ns;
    int64_t batch;
} exchange;

/* True: the response is there. False: x->done will be called when it is. */
bool protocol_handle(exchange *x);
/* May this request be made at all? False: the response, a 401, is there. Looked at before
 * the body is read. */
bool protocol_allowed(exchange *x);
/* An error as the protocol has it. */
void protocol_error(exchange *x, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* JSON as the response. */
void protocol_json(exchange *x, int status);
enum { PROTOCOL_JSON_VALUES = 1 << 17 };
/* The text of a request as JSON; NULL: *e says why, which may be that it has more than
 * PROTOCOL_JSON_VALUES values. A value of few bytes takes some 150 in memory, so that the bound on
 * bodies alone would not bound that. */
json_t *protocol_parse_json(const char *text, size_t len, json_error_t *e);

/* POST .../infer on m, a reference that is taken over (infer.c). As protocol_handle. */
bool infer_handle(exchange *x, model *m_take);
void infer_keep_free(void *kept); /* may be NULL */
/* POST .../generate, or, stream, .../generate_stream, likewise (generate.c). */
bool generate_handle(exchange *x, model *m_take, bool stream);

/* The status page, the description of all paths, and the page that reads it (page.c). */
extern const char page_html[], page_html_end[];
extern const char openapi_json[], openapi_json_end[];
extern const char docs_html[], docs_html_end[];
/* A shape that m takes, of a model whose one argument that has to be given is a tensor of which
 * nothing says the rank: how many dims, of *sizes, which are the model's; 0: of no such model, or
 * none was found. Looked for once, which takes up to a second. */
int page_shape(model *m, const int64_t **sizes);

#endif
