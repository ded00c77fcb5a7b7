/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.c - the table of paths, and the handlers of all of them except inference.
 *
 * Tests: tests/unit/test_serve.c, tests/fuzz/fuzz_request.c, tests/serve/client.py
 */
#include "serve/protocol.h"

#include "view/view.h"

#include <ctsc_compiler.h>

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_PARTS = 8, PATH_PART = 256 };

/* A path cut at its slashes. */
typedef struct path { size_t n; char part[PATH_PARTS][PATH_PART]; } path;

/* ---- responses ------------------------------------------------------------------------------- */

void protocol_json(exchange *x, int status) {
    x->status = status;
    x->type = "application/json";
    if (x->reply.failed) {
        buffer_free(&x->reply);
        x->status = 500;
    }
}

void protocol_error(exchange *x, int status, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    x->reply.len = 0;
    buffer_puts(&x->reply, "{\"error\":");
    buffer_json(&x->reply, text, strlen(text));
    buffer_puts(&x->reply, "}");
    protocol_json(x, status);
}

static void protocol_not_found(exchange *x, found f, const char *name) {
    switch (f) {
    case FOUND_NO_MODEL: protocol_error(x, 404, "there is no model '%.100s'", name); break;
    case FOUND_NO_VERSION:
        protocol_error(x, 404, "model '%.100s' has no such version", name);
        break;
    default: protocol_error(x, 503, "model '%.100s' is not ready", name); x->retry_after = 1;
    }
}

/* ---- server ---------------------------------------------------------------------------------- */

static bool route_bytes(exchange *x, const char *begin, const char *end, const char *type) {
    buffer_put(&x->reply, begin, (size_t)(end - begin));
    protocol_json(x, 200);
    if (x->status == 200) x->type = type;
    return true;
}

static bool route_openapi(exchange *x, const path *p) {
    (void)p;
    return route_bytes(x, openapi_json, openapi_json_end, "application/json");
}

static bool route_docs(exchange *x, const path *p) {
    (void)p;
    return route_bytes(x, docs_html, docs_html_end, "text/html; charset=utf-8");
}

static bool route_page(exchange *x, const path *p) {
    (void)p;
    size_t len = 0;
    char *page = view_fill(page_html, (size_t)(page_html_end - page_html), NULL, 0, &len);
    if (page) {
        buffer_put(&x->reply, page, len);
        protocol_json(x, 200);
        x->type = "text/html; charset=utf-8";
    } else {
        protocol_error(x, 500, "out of memory");
    }
    free(page);
    return true;
}

static bool route_server(exchange *x, const path *p) {
    (void)p;
    buffer_printf(&x->reply, "{\"name\":\"ctsc\",\"version\":\"%s\",\"extensions\":[",
                  ctsc_version());
    if (!x->s->o->no_control)
        buffer_puts(&x->reply, "\"model_repository\",\"model_repository(unload_dependents)\",");
    buffer_puts(&x->reply,
                "\"binary_tensor_data\",\"generate\",\"model_configuration\",\"statistics\"]}");
    protocol_json(x, 200);
    return true;
}

static bool route_live(exchange *x, const path *p) {
    (void)p;
    buffer_puts(&x->reply, "{\"live\":true}");
    protocol_json(x, 200);
    return true;
}

static bool route_ready(exchange *x, const path *p) {
    (void)p;
    bool ready = !atomic_load(&x->s->draining) && repository_all_ready(&x->s->repository);
    buffer_printf(&x->reply, "{\"ready\":%s}", ready ? "true" : "false");
    protocol_json(x, ready ? 200 : 503);
    return true;
}

static bool route_metrics(exchange *x, const path *p) {
    (void)p;
    metrics_write(x->s, &x->reply);
    protocol_json(x, 200);
    x->type = "text/plain; version=0.0.4; charset=utf-8";
    return true;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* /v2/models/NAME[/versions/VERSION]...: the version, or NULL. */
static const char *route_version(const path *p) {
    return p->n >= 5 && !strcmp(p->part[3], "versions") ? p->part[4] : NULL;
}

/* The model of the path, a reference; NULL: the error is the response. */
static model *route_model(exchange *x, const path *p) {
    model *m = NULL;
    found f = repository_find(&x->s->repository, p->part[2], route_version(p), &m);
    if (f != FOUND) protocol_not_found(x, f, p->part[2]);
    return m;
}

static bool route_models(exchange *x, const path *p) {
    (void)p;
    buffer_puts(&x->reply, "{\"models\":");
    repository_names(&x->s->repository, &x->reply);
    buffer_putc(&x->reply, '}');
    protocol_json(x, 200);
    return true;
}

static bool route_metadata(exchange *x, const path *p) {
    model *m = route_model(x, p);
    buffer versions = {0};
    if (!m) return true;
    repository_versions(&x->s->repository, m->name, &versions);
    buffer_putc(&versions, '\0');
    if (versions.failed) protocol_error(x, 500, "out of memory");
    else model_metadata(m, versions.data, &x->reply), protocol_json(x, 200);
    buffer_free(&versions);
    model_unref(m);
    return true;
}

static bool route_config(exchange *x, const path *p) {
    model *m = route_model(x, p);
    if (!m) return true;
    buffer_puts(&x->reply, "{\"name\":");
    buffer_json(&x->reply, m->name, strlen(m->name));
    buffer_printf(&x->reply,
                  ",\"platform\":\"%s\",\"backend\":\"ctsc\",\"max_batch_size\":%lld,\"method\":",
                  m->platform, (long long)m->config.max_batch);
    buffer_json(&x->reply, m->config.method, strlen(m->config.method));
    buffer_printf(&x->reply, ",\"instances\":%d,\"max_queue\":%d,\"timeout_ms\":%llu",
                  m->config.instances, m->config.max_queue,
                  (unsigned long long)(m->config.timeout_us / 1000));
    if (m->position >= 0) {
        buffer_puts(&x->reply, ",\"position\":");
        buffer_json(&x->reply, m->inputs[m->position].name, strlen(m->inputs[m->position].name));
    }
    if (m->config.max_length) buffer_printf(&x->reply, ",\"max_length\":%d", m->config.max_length);
    if (m->config.max_batch > 1)
        buffer_printf(&x->reply, ",\"dynamic_batching\":{\"max_queue_delay_microseconds\":%llu}",
                      (unsigned long long)m->config.max_delay_us);
    buffer_puts(&x->reply, "}");
    protocol_json(x, 200);
    model_unref(m);
    return true;
}

static bool route_model_ready(exchange *x, const path *p) {
    model *m = NULL;
    found f = repository_find(&x->s->repository, p->part[2], route_version(p), &m);
    if (f == FOUND_NO_MODEL || f == FOUND_NO_VERSION) {
        protocol_not_found(x, f, p->part[2]);
        return true;
    }
    buffer_puts(&x->reply, "{\"name\":");
    buffer_json(&x->reply, p->part[2], strlen(p->part[2]));
    buffer_printf(&x->reply, ",\"ready\":%s}", m ? "true" : "false");
    protocol_json(x, m ? 200 : 503);
    if (m) model_unref(m);
    return true;
}

static bool route_infer(exchange *x, const path *p) {
    model *m = route_model(x, p);
    return m ? infer_handle(x, m) : true;
}

static bool route_generate(exchange *x, const path *p) {
    model *m = route_model(x, p);
    return m ? generate_handle(x, m, false) : true;
}

static bool route_generate_stream(exchange *x, const path *p) {
    model *m = route_model(x, p);
    return m ? generate_handle(x, m, true) : true;
}

static bool route_stats(exchange *x, const path *p) {
    const char *name = p->n > 3 ? p->part[2] : NULL;
    found f = repository_stats(&x->s->repository, name, route_version(p), &x->reply);
    if (f == FOUND) protocol_json(x, 200);
    else protocol_not_found(x, f, name ? name : "");
    return true;
}

/* The graphs of the model's method as the status page draws them: what `ctsc view` writes; and a
 * shape that its argument may have ("takes"), where the model does not say. */
static bool route_graph_json(exchange *x, const path *p) {
    model *m = route_model(x, p);
    if (!m) return true;
    buffer_puts(&x->reply, "{\"method\":");
    buffer_json(&x->reply, m->config.method, strlen(m->config.method));
    buffer_puts(&x->reply, ",\"graphs\":[");
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        ctsc_graph_json_options o = {.size = sizeof o, .as_run = i == 0};
        char *text = NULL;
        ok = ctsc_module_graph_json(m->module, m->config.method, 0, NULL, &o, &text, NULL) ==
             CTSC_OK;
        if (!ok) break;
        buffer_puts(&x->reply, i ? ",{\"name\":\"as written\"," : "{\"name\":\"as run\",");
        buffer_puts(&x->reply, text + 1);
        ctsc_string_free(text);
    }
    buffer_puts(&x->reply, "]");
    const int64_t *sizes = NULL;
    int n = ok ? page_shape(m, &sizes) : 0;
    for (int i = 0; i < n; i++)
        buffer_printf(&x->reply, "%s%lld", i ? "," : ",\"takes\":[", (long long)sizes[i]);
    buffer_puts(&x->reply, n ? "]}" : "}");
    if (ok) protocol_json(x, 200);
    else protocol_error(x, 500, "the graph cannot be shown");
    model_unref(m);
    return true;
}

/* The graph of the model's method as text. */
static bool route_graph(exchange *x, const path *p) {
    model *m = route_model(x, p);
    char *text = NULL;
    if (!m) return true;
    if (ctsc_module_graph(m->module, m->config.method, CTSC_GRAPH_INLINED, &text, NULL) ==
        CTSC_OK) {
        buffer_puts(&x->reply, text);
        protocol_json(x, 200);
        x->type = "text/plain; charset=utf-8";
        ctsc_string_free(text);
    } else {
        protocol_error(x, 500, "the graph cannot be shown");
    }
    model_unref(m);
    return true;
}

static void route_latency_row(void *ctx, entry *e) {
    buffer *out = ctx;
    uint64_t next = counter_get(&e->stats.window_next),
             n = next < STATS_WINDOW ? next : STATS_WINDOW;
    if (!e->here && !e->current) return;
    buffer_puts(out, out->data && out->data[out->len - 1] == '}' ? ",{\"name\":" : "{\"name\":");
    buffer_json(out, e->name, strlen(e->name));
    buffer_printf(out,
                  ",\"version\":\"%s\",\"requests\":%llu,\"failures\":%llu,\"waiting\":%llu,"
                  "\"next\":%llu,\"us\":[",
                  e->version, (unsigned long long)counter_get(&e->stats.success.count),
                  (unsigned long long)counter_get(&e->stats.fail.count),
                  (unsigned long long)counter_get(&e->stats.pending), (unsigned long long)next);
    for (uint64_t i = 0; i < n; i++) {
        if (i) buffer_putc(out, ',');
        buffer_int(out, atomic_load_explicit(&e->stats.window_us[(next - n + i) % STATS_WINDOW],
                                             memory_order_relaxed));
    }
    buffer_puts(out, "]}");
}

/* The latest latencies of each model, oldest first, for the status page. */
static bool route_latency(exchange *x, const path *p) {
    (void)p;
    buffer_putc(&x->reply, '[');
    repository_visit(&x->s->repository, route_latency_row, &x->reply);
    buffer_putc(&x->reply, ']');
    protocol_json(x, 200);
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *protocol_parse_json(const char *text, size_t len, json_error_t *e) {
    const char *end = text + len;
    size_t values = 0;
    for (const char *p = text; p < end && values <= PROTOCOL_JSON_VALUES; p++) {
        if (*p == '"')
            for (p++; p < end && *p != '"'; p++) p += *p == '\\';
        else values += *p == ',' || *p == '[' || *p == '{';
    }
    if (values <= PROTOCOL_JSON_VALUES) return json_loadb(text, len, 0, e);
    *e = (json_error_t){.line = 1};
    snprintf(e->text, sizeof e->text, "it has more than %d values", PROTOCOL_JSON_VALUES);
    return NULL;
}

/* ---- repository ------------------------------------------------------------------------------ */

/* The body as an object; an empty body is an empty one. NULL: the error is the response. */
static json_t *route_body(exchange *x) {
    json_error_t je;
    json_t *j = x->body_len ? protocol_parse_json(x->body, x->body_len, &je) : json_object();
    if (json_is_object(j)) return j;
    json_decref(j);
    protocol_error(x, 400, "the request is not a JSON object");
    return NULL;
}

static bool route_index(exchange *x, const path *p) {
    (void)p;
    json_t *body = route_body(x);
    if (!body) return true;
    repository_index(&x->s->repository, json_is_true(json_object_get(body, "ready")), &x->reply);
    protocol_json(x, 200);
    json_decref(body);
    return true;
}

/* Loading takes its time, and must not hold up the thread that reads requests: it gets a thread of
 * its own where the caller can wait. */
typedef struct later { exchange *x; path p; void (*work)(exchange *x, const path *p); } later;

static void *later_thread(void *arg) {
    later *l = arg;
    exchange *x = l->x;
    l->work(x, &l->p);
    free(l);
    x->done(x);
    return NULL;
}

static bool route_later(exchange *x, const path *p, void (*work)(exchange *x, const path *p)) {
    later *l = x->done ? malloc(sizeof *l) : NULL;
    pthread_t t;
    if (!l) {
        work(x, p);
        return true;
    }
    *l = (later){x, *p, work};
    if (x->defer) x->defer(x);
    if (pthread_create(&t, NULL, later_thread, l) == 0) pthread_detach(t);
    else later_thread(l);
    return false;
}

/* Does a request to load bring a model's files along? */
static bool later_has_files(const json_t *parameters) {
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)parameters, key, v) {
        if (!strncmp(key, "file:", 5)) return true;
    }
    return false;
}

static void later_load(exchange *x, const path *p) {
    char why[300] = "";
    bool known;
    json_t *body = route_body(x);
    if (!body) return;
    const json_t *parameters = json_object_get(body, "parameters"),
                 *config = json_object_get(parameters, "config");
    if (config && !json_is_string(config))
        protocol_error(x, 400, "parameter 'config' must be a string with JSON");
    else if (later_has_files(parameters))
        protocol_error(x, 400, "models are loaded from the server's folder alone");
    else if (repository_load(&x->s->repository, p->part[3], json_string_value(config), why,
                             sizeof why, &known))
        protocol_json(x, 200);
    else if (!known) protocol_error(x, 404, "there is no model '%.100s'", p->part[3]);
    else protocol_error(x, 400, "model '%.100s' cannot be loaded: %s", p->part[3], why);
    json_decref(body);
}

static void later_unload(exchange *x, const path *p) {
    json_t *body = route_body(x);
    if (!body) return;
    if (repository_unload(&x->s->repository, p->part[3])) protocol_json(x, 200);
    else protocol_error(x, 404, "there is no model '%.100s'", p->part[3]);
    json_decref(body);
}

/* Loads or unloads, if requests may do that. */
static bool route_control(exchange *x, const path *p, void (*work)(exchange *x, const path *p)) {
    if (!x->s->o->no_control) return route_later(x, p, work);
    protocol_error(x, 403, "this server loads and unloads no models on request");
    return true;
}

static bool route_load(exchange *x, const path *p) { return route_control(x, p, later_load); }
static bool route_unload(exchange *x, const path *p) { return route_control(x, p, later_unload); }

/* ---- the table ------------------------------------------------------------------------------- */

/* "*" is any one part of a path. open: needs no token. */
static const struct route {
    const char *method, *pattern;
    bool (*handle)(exchange *x, const path *p);
    bool open;
} routes[] = {
    /* clang-format off */
    {"GET",  "/",                                route_page,        true},
    {"GET",  "/docs",                            route_docs,        true},
    {"GET",  "/openapi.json",                    route_openapi,     true},
    {"GET",  "/v2",                              route_server,      false},
    {"GET",  "/v2/health/live",                  route_live,        true},
    {"GET",  "/v2/health/ready",                 route_ready,       true},
    {"GET",  "/v2/models",                       route_models,      false},
    {"GET",  "/v2/models/stats",                 route_stats,       false},
    {"GET",  "/v2/models/*",                     route_metadata,    false},
    {"GET",  "/v2/models/*/versions/*",          route_metadata,    false},
    {"GET",  "/v2/models/*/config",              route_config,      false},
    {"GET",  "/v2/models/*/versions/*/config",   route_config,      false},
    {"GET",  "/v2/models/*/ready",               route_model_ready, false},
    {"GET",  "/v2/models/*/versions/*/ready",    route_model_ready, false},
    {"POST", "/v2/models/*/infer",               route_infer,       false},
    {"POST", "/v2/models/*/versions/*/infer",    route_infer,       false},
    {"POST", "/v2/models/*/generate",            route_generate,    false},
    {"POST", "/v2/models/*/versions/*/generate", route_generate,    false},
    {"POST", "/v2/models/*/generate_stream",     route_generate_stream, false},
    {"POST", "/v2/models/*/versions/*/generate_stream", route_generate_stream, false},
    {"GET",  "/v2/models/*/stats",               route_stats,       false},
    {"GET",  "/v2/models/*/versions/*/stats",    route_stats,       false},
    {"GET",  "/v2/models/*/graph",               route_graph,       false},
    {"GET",  "/v2/models/*/versions/*/graph",    route_graph,       false},
    {"GET",  "/v2/models/*/graph/json",          route_graph_json,  false},
    {"GET",  "/v2/models/*/versions/*/graph/json", route_graph_json, false},
    {"POST", "/v2/repository/index",             route_index,       false},
    {"POST", "/v2/repository/models/*/load",     route_load,        false},
    {"POST", "/v2/repository/models/*/unload",   route_unload,      false},
    {"GET",  "/status/latency",                  route_latency,     false},
    {"GET",  "/metrics",                         route_metrics,     false},
};
/* clang-format on */
enum { ROUTES = sizeof routes / sizeof *routes };

/* False: more parts, or longer ones, than any path has. */
static bool path_cut(const char *text, path *p) {
    p->n = 0;
    while (*text) {
        while (*text == '/') text++;
        size_t n = strcspn(text, "/");
        if (!n) break;
        if (p->n == PATH_PARTS || n >= PATH_PART) return false;
        memcpy(p->part[p->n], text, n);
        p->part[p->n++][n] = '\0';
        text += n;
    }
    return true;
}

static bool path_matches(const path *p, const char *pattern) {
    size_t i = 0;
    while (*pattern) {
        pattern++; /* '/' */
        size_t n = strcspn(pattern, "/");
        if (!n) break;
        if (i == p->n) return false;
        if (!(n == 1 && *pattern == '*') &&
            (strlen(p->part[i]) != n || memcmp(p->part[i], pattern, n)))
            return false;
        i++;
        pattern += n;
    }
    return i == p->n;
}

/* The route of a request. NULL: none; *allow then is a method that the path does have, or NULL.
 * HEAD is a GET whose content is not sent. */
static const struct route *route_find(const exchange *x, const path *p, const char **allow) {
    const char *method = !strcmp(x->method, "HEAD") ? "GET" : x->method;
    *allow = NULL;
    for (int i = 0; i < ROUTES; i++) {
        if (!path_matches(p, routes[i].pattern)) continue;
        if (!strcmp(routes[i].method, method)) return &routes[i];
        if (!*allow) *allow = routes[i].method[0] == 'G' ? "GET, HEAD" : "POST";
    }
    return NULL;
}

/* The time does not depend on where the texts differ, only on how long what was sent is. */
static bool protocol_token_ok(const char *given, const char *token) {
    size_t n = strlen(given), m = strlen(token);
    unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++) differ |= (unsigned char)(given[i] ^ token[m ? i % m : 0]);
    return !differ;
}

static bool protocol_has_token(const exchange *x) {
    const char *a = x->authorization;
    if (!x->s->token) return true;
    return a && !strncasecmp(a, "Bearer ", 7) && protocol_token_ok(a + 7, x->s->token);
}

bool protocol_allowed(exchange *x) {
    path p;
    const char *allow;
    if (protocol_has_token(x)) return true;
    const struct route *r = path_cut(x->path, &p) ? route_find(x, &p, &allow) : NULL;
    if (r && r->open) return true;
    protocol_error(x, 401, "a bearer token is needed");
    return false;
}

bool protocol_handle(exchange *x) {
    path p;
    const char *allow = NULL;
    if (!protocol_allowed(x)) return true;
    const struct route *r = path_cut(x->path, &p) ? route_find(x, &p, &allow) : NULL;
    if (!r && allow) {
        x->allow = allow;
        protocol_error(x, 405, "this path does not take %.20s requests", x->method);
        return true;
    }
    if (!r) {
        protocol_error(x, 404, "there is nothing at this path");
        return true;
    }
    if (x->content_encoding && *x->content_encoding &&
        strcasecmp(x->content_encoding, "identity")) {
        protocol_error(x, 415, "compressed requests are not supported");
        return true;
    }
    return r->handle(x, &p);
}
