/* SPDX-License-Identifier: Apache-2.0 */
/* infer.h - what decode.c, infer.c and encode.c share: one inference request on its way. */
#ifndef CTSC_SERVE_INFER_H
#define CTSC_SERVE_INFER_H

#include "serve/protocol.h"
#include "serve/scheduler.h"

#include <jansson.h>

enum { INFER_SPANS = 64, INFER_FEW = 6 };

/* The place of a list of numbers in the body: from its '[' to after its ']'. */
typedef struct infer_span { const char *begin, *end; } infer_span;

typedef struct infer {
    job job;
    exchange *x;
    const json_t *wanted; /* "outputs", or NULL: all */
    const char *id;
    /* infer_handle has returned, or will: x->done tells that the response is there */
    bool deferred;
    bool binary;                /* outputs are binary unless they say otherwise */
    ctsc_value *few[INFER_FEW]; /* room for job.args */
    uint64_t input_ns;
    size_t nspans;
    const char *raw, *raw_end; /* binary data that no tensor has taken yet */

    /* from here on not cleared before use */
    infer_span spans[INFER_SPANS];
    char why[400];

    /* The request without its lists of numbers, and what the JSON parser made of it: stay for
     * the connection's next request. Clients ask the same with other numbers, and then nothing
     * is parsed again. */
    buffer frame, last_frame; /* of this request, if it is another one; of root */
    json_t *root;             /* only ever read */
} infer;

/* Body to arguments. False: q->why says what is wrong with the request. */
bool infer_decode(infer *q);
/* Outputs to the exchange's response. False: q->why, for a 500 (or a 400: *status). */
bool infer_encode(infer *q, const outputs *o, int64_t first, int64_t total, int *status);

/* decode_json.c: the text without the lists of numbers that are "data" of
 * an input: each is noted as a span, and replaced by the span's number. */
void infer_find_data(infer *q, const char *text, size_t len, buffer *rest);
/* Numbers of a span to n elements of a type. False: q->why. */
bool infer_read_numbers(infer *q, const infer_span *s, const datatype *t, void *to, size_t n);

#endif
