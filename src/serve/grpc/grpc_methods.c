/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_methods.c - the methods of the services, and what each of them is over HTTP.
 *
 * Answers have the fields of HTTP's JSON, so that what the server says is put together once.
 * Tests: tests/serve/triton.py
 */
#include "serve/grpc/grpc_internal.h"

#include <stdarg.h>
#include <string.h>

/* ---- what a call asks ------------------------------------------------------------------------ */

bool ask_refuse(ask *a, int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->why, sizeof a->why, fmt, ap);
    va_end(ap);
    a->status = status;
    return false;
}

static void *ask_read(ask *a, const ProtobufCMessageDescriptor *d) {
    void *m = message_read(&a->memory, d, a->bytes, a->len);
    if (!m) ask_refuse(a, 400, "the request is not a message of this method");
    return m;
}

/* Names are parts of a path: an empty one, or one with a slash, would be another path. */
bool ask_path(ask *a, const char *name, const char *version, const char *ending) {
    if (!*name || strchr(name, '/')) return ask_refuse(a, 404, "there is no model '%.100s'", name);
    if (strchr(version, '/')) return ask_refuse(a, 404, "there is no version '%.100s'", version);
    buffer_printf(&a->path, "/v2/models/%s%s%s%s", name, *version ? "/versions/" : "", version,
                  ending);
    return true;
}

static bool ask_named(ask *a, const char *ending) {
    const Rpc__Named *m = ask_read(a, &rpc__named__descriptor);
    return m && ask_path(a, m->name, m->version, ending);
}

static bool ask_ready(ask *a) { return ask_named(a, "/ready"); }
static bool ask_metadata(ask *a) { return ask_named(a, ""); }
static bool ask_config(ask *a) { return ask_named(a, "/config"); }

static bool ask_statistics(ask *a) {
    const Rpc__Named *m = ask_read(a, &rpc__named__descriptor);
    if (m && *m->name) return ask_path(a, m->name, m->version, "/stats");
    buffer_puts(&a->path, "/v2/models/stats");
    return m != NULL;
}

static bool ask_index(ask *a) {
    const Rpc__IndexRequest *m = ask_read(a, &rpc__index_request__descriptor);
    if (m) buffer_printf(&a->body, "{\"ready\":%s}", m->ready ? "true" : "false");
    return m != NULL;
}

/* Parameters are passed on by their names; those that are not text have none of their values. */
static bool ask_repository(ask *a, const char *verb) {
    const Rpc__RepositoryRequest *m = ask_read(a, &rpc__repository_request__descriptor);
    if (!m) return false;
    if (!*m->model_name || strchr(m->model_name, '/'))
        return ask_refuse(a, 404, "there is no model '%.100s'", m->model_name);
    buffer_printf(&a->path, "/v2/repository/models/%s/%s", m->model_name, verb);
    buffer_puts(&a->body, "{\"parameters\":{");
    for (size_t i = 0; i < m->n_parameters; i++) {
        const Rpc__RepositoryEntry *e = m->parameters[i];
        if (i) buffer_putc(&a->body, ',');
        buffer_json(&a->body, e->key, strlen(e->key));
        buffer_putc(&a->body, ':');
        if (e->value && e->value->choice_case == RPC__REPOSITORY_PARAMETER__CHOICE_STRING_PARAM)
            buffer_json(&a->body, e->value->string_param, strlen(e->value->string_param));
        else buffer_puts(&a->body, "null");
    }
    buffer_puts(&a->body, "}}");
    return true;
}

static bool ask_load(ask *a) { return ask_repository(a, "load"); }
static bool ask_unload(ask *a) { return ask_repository(a, "unload"); }

static bool ask_health(ask *a) {
    const Rpc__HealthRequest *m = ask_read(a, &rpc__health_request__descriptor);
    if (!m) return false;
    if (!*m->service || !strcmp(m->service, "inference.GRPCInferenceService")) return true;
    return ask_refuse(a, 404, "there is no service '%.100s'", m->service);
}

/* ---- what it is answered --------------------------------------------------------------------- */

static json_t *shape_index(json_t *j_take, int status) {
    (void)status;
    return json_pack("{s:o}", "models", j_take);
}

static json_t *shape_config(json_t *j_take, int status) {
    (void)status;
    return json_pack("{s:o}", "config", j_take);
}

static json_t *shape_health(json_t *j_take, int status) {
    json_decref(j_take);
    return json_pack("{s:i}", "status", status == 200 ? 1 : 2);
}

#define SERVICE(name) "/inference.GRPCInferenceService/" name
static const grpc_method methods[] = {
    /* clang-format off */
    {SERVICE("ModelInfer"),      "POST", NULL, infer_ask, NULL, NULL, .infers = true},
    {SERVICE("ModelStreamInfer"), "POST", NULL, infer_ask, NULL, NULL, .infers = true, .stream = true},
    {SERVICE("ServerLive"),      "GET",  "/v2/health/live", NULL, NULL, &rpc__live__descriptor, .open = true},
    {SERVICE("ServerReady"),     "GET",  "/v2/health/ready", NULL, NULL, &rpc__ready__descriptor, .open = true, .always = true},
    {SERVICE("ModelReady"),      "GET",  NULL, ask_ready, NULL, &rpc__ready__descriptor, .always = true},
    {SERVICE("ServerMetadata"),  "GET",  "/v2", NULL, NULL, &rpc__server_metadata__descriptor},
    {SERVICE("ModelMetadata"),   "GET",  NULL, ask_metadata, NULL, &rpc__model_metadata__descriptor},
    {SERVICE("ModelConfig"),     "GET",  NULL, ask_config, shape_config, &rpc__config_response__descriptor},
    {SERVICE("ModelStatistics"), "GET",  NULL, ask_statistics, NULL, &rpc__statistics_response__descriptor},
    {SERVICE("RepositoryIndex"), "POST", "/v2/repository/index", ask_index, shape_index, &rpc__index_response__descriptor},
    {SERVICE("RepositoryModelLoad"),   "POST", NULL, ask_load, NULL, &rpc__nothing__descriptor},
    {SERVICE("RepositoryModelUnload"), "POST", NULL, ask_unload, NULL, &rpc__nothing__descriptor},
    {"/grpc.health.v1.Health/Check",   "GET",  "/v2/health/ready", ask_health, shape_health, &rpc__health_response__descriptor, .open = true, .always = true},
    /* clang-format on */
};

const grpc_method *method_find(const char *name, size_t len) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strlen(methods[i].name) == len && !memcmp(methods[i].name, name, len))
            return &methods[i];
    return NULL;
}

ProtobufCMessage *method_answer(const grpc_method *m, scratch *a, const exchange *x) {
    size_t len = x->json_len ? x->json_len : x->reply.len;
    json_error_t je;
    /* some requests are answered with nothing */
    json_t *j = len ? json_loadb(x->reply.data, len, 0, &je) : json_object();
    void *answer = NULL;
    if (j && m->shape) j = m->shape(j, x->status);
    if (j && m->infers) answer = infer_answer(a, j, x->reply.data + len, x->reply.len - len);
    else if (j) answer = message_of_json(a, m->answer, j);
    json_decref(j);
    if (!answer || !m->stream) return answer;
    Rpc__StreamResponse *s = scratch_alloc(a, sizeof *s);
    if (!s) return NULL;
    rpc__stream_response__init(s);
    s->infer_response = answer;
    return &s->base;
}

void method_error(const exchange *x, char *text, size_t size) {
    json_error_t je;
    json_t *j = x->reply.len ? json_loadb(x->reply.data, x->reply.len, 0, &je) : NULL;
    const char *error = json_string_value(json_object_get(j, "error"));
    snprintf(text, size, "%s", error ? error : "the request failed");
    json_decref(j);
}
