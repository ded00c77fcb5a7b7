/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - config.json of a model, and the datatypes of the Open Inference Protocol. */
#ifndef CTSC_SERVE_CONFIG_H
#define CTSC_SERVE_CONFIG_H

#include "serve/serve.h"

/* A datatype that models can take or give: its `wire` is a name of the protocol's. */
typedef ctsc_dtype_info datatype;

const datatype *datatype_named(const char *name); /* NULL: none */
const datatype *datatype_of(ctsc_dtype d);        /* NULL: the protocol has none */
bool datatype_has_json(const datatype *t);        /* JSON has numbers for it */
/* "BYTES", strings: elements have no size in `bytes`, and no dtype. */
extern const datatype *const datatype_bytes;

enum { CONFIG_MAX_DIMS = 16, CONFIG_MAX_TENSORS = 256 };

typedef struct config_tensor {
    char *name;
    const datatype *type;          /* NULL: any */
    int ndim;                      /* -1: any */
    int64_t dims[CONFIG_MAX_DIMS]; /* -1: any */
} config_tensor;

/* One model's settings; docs/serve.md tells the keys. */
typedef struct model_config {
    char *method, *precision; /* precision NULL: as written */
    /* the input for positions in a cache; NULL: "cache_position", if there is one */
    char *position;
    /* rows along dimension 0 that one call may have; 0: requests are not put together */
    int64_t max_batch;
    uint64_t max_delay_us; /* that a request waits for others */
    int instances, max_queue, opt, warmup;
    uint64_t timeout_us, max_bytes, max_process_bytes;
    int max_length;   /* tokens of a prompt and its answer; 0: no limit */
    bool only_latest; /* of several versions, only the highest is loaded */
    size_t ninputs, noutputs;
    config_tensor *inputs, *outputs;
} model_config;

/* Settings from the text of a config.json (NULL: none), over the defaults of o. False: *why says it
 * in one line. Free with config_free either way. */
bool config_read(const char *text, size_t len, const serve_options *o, model_config *out, char *why,
                 size_t why_size);
void config_free(model_config *c);

#endif
