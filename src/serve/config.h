/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - config.json of a model, and the datatypes of the Open Inference Protocol. */
#ifndef CTSC_SERVE_CONFIG_H
#define CTSC_SERVE_CONFIG_H

#include "serve/serve.h"

/* A datatype that models can take or give. */
typedef struct datatype {
    const char *name; /* "FP32"; "BYTES" for strings */
    ctsc_dtype dtype; /* of the tensor; unused for BYTES */
    size_t size;      /* bytes of an element; 0 for BYTES */
    bool has_json;    /* JSON has numbers for it */
} datatype;

const datatype *datatype_named(const char *name); /* NULL: none */
const datatype *datatype_of(ctsc_dtype d);        /* NULL: complex numbers */
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
    /* rows along dimension 0 that one call may have; 0: requests are not put together */
    int64_t max_batch;
    uint64_t max_delay_us; /* that a request waits for others */
    int instances, max_queue, opt, warmup;
    uint64_t timeout_us, max_bytes;
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
