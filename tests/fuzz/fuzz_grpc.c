/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_grpc.c - any message to the gRPC methods: it is refused, or becomes the request over HTTP
 * that it should be. fuzz_request.c goes on from there.
 *
 * The input is a byte that chooses the method, and the message. Seeds: messages as
 * tests/serve/triton.py sends them.
 */
#include "serve/grpc/grpc_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const fuzz_methods[] = {
    "/inference.GRPCInferenceService/ModelInfer",
    "/inference.GRPCInferenceService/ModelReady",
    "/inference.GRPCInferenceService/ModelStatistics",
    "/inference.GRPCInferenceService/RepositoryIndex",
    "/inference.GRPCInferenceService/RepositoryModelLoad",
    "/grpc.health.v1.Health/Check",
};

static void fuzz_require(bool ok) {
    if (!ok) abort();
}

/* The JSON of an inference, and as many bytes of tensors behind it as it says. */
static void fuzz_check_infer(const ask *a) {
    size_t json = strtoull(a->header_length, NULL, 10), bytes = 0, i;
    json_error_t je;
    fuzz_require(json && json <= a->body.len);
    json_t *j = json_loadb(a->body.data, json, 0, &je), *v;
    /* a parameter of more than 63 bits is for the server to refuse */
    fuzz_require(j || strstr(je.text, "too big"));
    json_array_foreach(json_object_get(j, "inputs"), i, v) {
        const json_t *n = json_object_get(json_object_get(v, "parameters"), "binary_data_size");
        fuzz_require(json_is_integer(n));
        bytes += (size_t)json_integer_value(n);
    }
    fuzz_require(!j || bytes == a->body.len - json);
    json_decref(j);
}

static void fuzz_check_path(const ask *a) {
    static const char start[] = "/v2/";
    fuzz_require(a->path.len >= sizeof start && !memcmp(a->path.data, start, sizeof start - 1));
    for (size_t i = 1; i < a->path.len; i++)
        fuzz_require(a->path.data[i] != '/' || a->path.data[i - 1] != '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    const char *name = fuzz_methods[data[0] % (sizeof fuzz_methods / sizeof *fuzz_methods)];
    const grpc_method *m = method_find(name, strlen(name));
    uint8_t *message = malloc(size); /* of exactly that size, so that reading on is noticed */
    fuzz_require(m && m->make && message);
    memcpy(message, data + 1, size - 1);
    ask a = {.memory = {.most = 1 << 20}, .bytes = message, .len = size - 1, .max_body = 1 << 16};
    bool ok = m->make(&a);
    fuzz_require(ok || (a.status >= 400 && *a.why));
    if (ok && !m->path) fuzz_check_path(&a);
    if (ok && m->infers) fuzz_check_infer(&a);
    scratch_free(&a.memory);
    buffer_free(&a.path);
    buffer_free(&a.body);
    free(message);
    return 0;
}
