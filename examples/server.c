/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the smallest useful HTTP server around an archive: tensors in, tensors out, a starting
 * point for your own.
 *
 *     server models/digits_cnn.pt 8080
 *     head -c 256 /dev/zero | curl --data-binary @- 'http://127.0.0.1:8080/?shape=1,1,8,8'
 *
 * The body is float32 numbers, row-major, of the shape in the query; the answer is JSON. One thread
 * per core runs the model; a module may be run by many threads at once. `ctsc serve` is the
 * complete server (docs/serve.md).
 */
#include <ctsc.h>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BODY = 64 << 20, MAX_DIMS = 8 };

static ctsc_module *module;

typedef struct request { char *body; size_t len, cap; } request;

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, char *text_take) {
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text_take), text_take,
                                                             MHD_RESPMEM_MUST_FREE);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result answer_error(struct MHD_Connection *c, unsigned status,
                                    const char *message) {
    char *text = malloc(strlen(message) * 6 + 32), *to = text;
    if (!text) return MHD_NO;
    to += sprintf(to, "{\"error\": \"");
    for (const char *p = message; *p; p++)
        to += (unsigned char)*p < 0x20 || *p == '"' || *p == '\\' ? sprintf(to, "\\u%04x", *p)
                                                                  : sprintf(to, "%c", *p);
    strcpy(to, "\"}\n");
    return answer(c, status, text);
}

/* "1,1,8,8" to sizes and their product; 0 dimensions if it is nothing of the kind. */
static int parse_shape(const char *text, int64_t *sizes, size_t *count) {
    int n = 0;
    *count = 1;
    while (text && *text && n < MAX_DIMS) {
        char *end;
        sizes[n] = strtoll(text, &end, 10);
        if (end == text || sizes[n] < 1 || sizes[n] > MAX_BODY || (*end && *end != ',')) return 0;
        *count *= (size_t)sizes[n++];
        if (*count > MAX_BODY) return 0;
        text = *end ? end + 1 : end;
    }
    return text && *text ? 0 : n;
}

/* The result, one float32 tensor, as {"shape": [...], "data": [...]}; NULL: something
 * else, or no memory. */
static char *to_json(const ctsc_value *v) {
    ctsc_value *t = NULL;
    size_t count = 1;
    if (ctsc_value_kind(v) != CTSC_KIND_TENSOR || ctsc_tensor_dtype(v) != CTSC_FLOAT32) return NULL;
    if (ctsc_tensor_contiguous(v, &t, NULL) != CTSC_OK) return NULL;
    int ndim = ctsc_tensor_ndim(t);
    for (int i = 0; i < ndim; i++) count *= (size_t)ctsc_tensor_sizes(t)[i];
    char *text = malloc(64 + (size_t)ndim * 24 + count * 20), *to = text;
    if (text) {
        to += sprintf(to, "{\"shape\": [");
        for (int i = 0; i < ndim; i++)
            to += sprintf(to, "%s%lld", i ? ", " : "", (long long)ctsc_tensor_sizes(t)[i]);
        to += sprintf(to, "], \"data\": [");
        for (size_t i = 0; i < count; i++)
            to += sprintf(to, "%s%.9g", i ? ", " : "",
                          (double)((const float *)ctsc_tensor_data(t))[i]);
        sprintf(to, "]}\n");
    }
    ctsc_value_free(t);
    return text;
}

static enum MHD_Result run(struct MHD_Connection *c, request *r) {
    int64_t sizes[MAX_DIMS];
    size_t count;
    int ndim = parse_shape(MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "shape"), sizes,
                           &count);
    if (!ndim) return answer_error(c, 400, "?shape= must be the sizes of the tensor: 1,1,8,8");
    if (r->len != count * sizeof(float))
        return answer_error(c, 400, "the body must be as many float32 numbers as the shape has");
    ctsc_value *in = NULL, *out = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_run_options o = {.size = sizeof o, .timeout_us = 10000000};
    /* the body, not a copy of it */
    ctsc_status s = ctsc_tensor_borrow(CTSC_FLOAT32, ndim, sizes, r->body, NULL, NULL, &in, e);
    if (s == CTSC_OK) s = ctsc_module_run(module, "forward", 1, &in, &o, &out, e);
    char *text = s == CTSC_OK ? to_json(out) : NULL;
    enum MHD_Result ok = s != CTSC_OK
                             ? answer_error(c, s == CTSC_FAILED || s == CTSC_USAGE ? 400 : 500,
                                            e ? ctsc_error_message(e) : "out of memory")
                         : text ? answer(c, 200, text)
                                : answer_error(c, 500, "the model's result is no float32 tensor");
    ctsc_value_free(out), ctsc_value_free(in), ctsc_error_free(e);
    return ok;
}

/* Called when the head of a request is there, then for each piece of its body, then
 * with an empty piece. */
static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state) {
    request *r = *state;
    (void)cls, (void)url, (void)version;
    if (!r) return (*state = calloc(1, sizeof *r)) ? MHD_YES : MHD_NO;
    if (*size) {
        if (r->len + *size > MAX_BODY) return MHD_NO;
        if (r->len + *size > r->cap) {
            r->cap = 2 * (r->len + *size);
            char *more = realloc(r->body, r->cap);
            if (!more) return MHD_NO;
            r->body = more;
        }
        memcpy(r->body + r->len, data, *size);
        r->len += *size;
        *size = 0;
        return MHD_YES;
    }
    return strcmp(method, "POST") ? answer_error(c, 405, "POST a tensor") : run(c, r);
}

static void completed(void *cls, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode why) {
    request *r = *state;
    (void)cls, (void)c, (void)why;
    if (r) free(r->body);
    free(r);
}

int main(int argc, char **argv) {
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_load(argc > 1 ? argv[1] : "models/digits_cnn.pt", &module, e) != CTSC_OK) {
        fprintf(stderr, "%s\n", ctsc_error_message(e));
        return ctsc_error_status(e);
    }
    ctsc_error_free(e);
    ctsc_set_threads(1); /* requests run side by side; each on one thread */
    uint16_t port = (uint16_t)(argc > 2 ? atoi(argv[2]) : 8080);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, port, NULL, NULL, handle, NULL, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)sysconf(_SC_NPROCESSORS_ONLN), MHD_OPTION_CONNECTION_TIMEOUT, 30u,
        MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_END);
    if (!d) return perror("cannot listen"), CTSC_ENVIRONMENT;
    printf("listening on port %d; Enter ends it\n", port);
    getchar();
    MHD_stop_daemon(d);
    ctsc_module_free(module);
    return 0;
}
