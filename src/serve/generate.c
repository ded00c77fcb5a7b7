/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.c - token after token from a language model, as a whole or as events while they come:
 * the generate extension of the protocol, with the ids of tokens in the place of text.
 *
 * Models. The first tensor argument takes the ids, [1, n] or [n]. If another one takes their
 * positions (model.h), the model keeps what it saw in a cache: it gets the prompt, then each new
 * token; a program for one token at a time gets the prompt so as well. Without positions it gets
 * all tokens each time. The last row of the first output are the logits of the next token.
 * Method. A generation is one job of the model's queue, which makes all its calls. So a model with
 * a cache, which runs one call at a time, runs one generation at a time, and queue, deadline and
 * cancelling are those of any inference. The response is there with the first token: what fails
 * before has a status, what fails later is an event.
 * Tests: tests/serve/client.py, tests/unit/test_serve.c
 */
#include "serve/feed.h"
#include "serve/sample.h"
#include "serve/scheduler.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    GENERATE_TOKENS = 1 << 20, /* of a prompt and its answer */
    GENERATE_MAX = 16,         /* tokens, unless the request says */
    GENERATE_STOPS = 64
};

typedef struct generation {
    job job;
    exchange *x; /* until the response is there */
    feed *feed;  /* of a stream, once the response is there */
    bool stream;
    uint64_t started_ns;
    json_t *body;
    const char *id;
    size_t at; /* the argument that takes the tokens */
    int64_t *tokens;
    size_t ntokens, nprompt, most; /* most: of all together */
    size_t max_tokens, seen;       /* seen: tokens that are in the model's cache */
    sampler sampler;
    int64_t stops[GENERATE_STOPS];
    size_t nstops;
    char why[400];
} generation;

/* ---- the request ----------------------------------------------------------------------------- */

static bool generate_fail(generation *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool generate_fail(generation *g, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(g->why, sizeof g->why, fmt, ap);
    va_end(ap);
    return false;
}

/* The argument for tokens, if the model needs no others but the position. */
static bool generate_find_input(generation *g) {
    const model *m = g->job.model;
    g->at = m->ninputs;
    for (size_t i = 0; i < m->ninputs; i++) {
        const ctsc_argument *a = m->inputs[i].arg;
        if ((int)i == m->position) continue;
        if (g->at == m->ninputs && m->inputs[i].form == INPUT_TENSOR) g->at = i;
        else if (!a->optional && !a->default_value)
            return generate_fail(g, "the model does not generate: it needs input '%.60s' as well",
                                 m->inputs[i].name);
    }
    if (g->at == m->ninputs)
        return generate_fail(g, "the model does not generate: it has no input for tokens");
    const datatype *t = model_tensor_type(&m->inputs[g->at]);
    if (!t || t->dtype == CTSC_INT64 || t->dtype == CTSC_INT32) return true;
    return generate_fail(g, "the model does not generate: input '%.60s' takes %s, not tokens",
                         m->inputs[g->at].name, t->wire);
}

/* [1, 2, ...] to at most `most` numbers. */
static bool generate_ids(const json_t *v, int64_t *out, size_t most, size_t *n) {
    *n = json_array_size(v);
    if (!json_is_array(v) || *n > most) return false;
    for (size_t i = 0; i < *n; i++) {
        if (!json_is_integer(json_array_get(v, i))) return false;
        out[i] = json_integer_value(json_array_get(v, i));
    }
    return true;
}

static bool generate_number(generation *g, const char *key, const json_t *v, bool whole, double lo,
                            double hi, double *out) {
    *out = json_number_value(v);
    if ((whole ? json_is_integer(v) : json_is_number(v)) && *out >= lo && *out <= hi) return true;
    return generate_fail(g, "parameter '%s' must be a %snumber from %.15g to %.15g", key,
                         whole ? "whole " : "", lo, hi);
}

static bool generate_parameter(generation *g, const char *key, const json_t *v) {
    double n;
    if (!strcmp(key, "max_tokens")) {
        if (!generate_number(g, key, v, true, 1, GENERATE_TOKENS, &n)) return false;
        g->max_tokens = (size_t)n;
    } else if (!strcmp(key, "temperature")) {
        return generate_number(g, key, v, false, 0, 1000, &g->sampler.temperature);
    } else if (!strcmp(key, "top_k")) {
        if (!generate_number(g, key, v, true, 0, 1e6, &n)) return false;
        g->sampler.top_k = (size_t)n;
    } else if (!strcmp(key, "seed")) {
        if (!json_is_integer(v)) return generate_fail(g, "parameter 'seed' must be a whole number");
        g->sampler.state = (uint64_t)json_integer_value(v);
    } else if (!strcmp(key, "stop")) {
        if (!generate_ids(v, g->stops, GENERATE_STOPS, &g->nstops))
            return generate_fail(g, "parameter 'stop' must be a list of at most %d tokens",
                                 GENERATE_STOPS);
    } else if (!strcmp(key, "stream")) {
        if (json_is_true(v) != g->stream || !json_is_boolean(v))
            return generate_fail(g, "parameter 'stream': true is the path generate_stream, false "
                                    "is generate");
    } else {
        return generate_fail(g, "there is no parameter '%.40s'", key);
    }
    return true;
}

static bool generate_parameters(generation *g, const json_t *parameters) {
    const char *key;
    json_t *v;
    g->max_tokens = GENERATE_MAX;
    g->sampler.state = clock_ns() ^ (uint64_t)(uintptr_t)g << 20;
    if (parameters && !json_is_object(parameters))
        return generate_fail(g, "'parameters' must be an object");
    json_object_foreach((json_t *)parameters, key, v) {
        if (!generate_parameter(g, key, v)) return false;
    }
    return true;
}

static bool generate_prompt(generation *g, const json_t *v) {
    const char *name = g->job.model->inputs[g->at].name;
    size_t n = json_array_size(v), max_length = (size_t)g->job.model->config.max_length;
    if (!json_is_array(v) || !n) return generate_fail(g, "'%.60s' must be a list of tokens", name);
    g->most = n < GENERATE_TOKENS ? n + g->max_tokens : GENERATE_TOKENS;
    if (g->most > GENERATE_TOKENS) g->most = GENERATE_TOKENS;
    if (max_length && g->most > max_length) g->most = max_length;
    if (n >= g->most)
        return generate_fail(g, "the prompt has %zu tokens, of fewer than %zu that the model takes",
                             n, g->most);
    g->tokens = malloc(g->most * sizeof *g->tokens);
    if (!g->tokens) return generate_fail(g, "out of memory");
    if (!generate_ids(v, g->tokens, g->most, &g->nprompt))
        return generate_fail(g, "'%.60s' must be a list of tokens", name);
    g->ntokens = g->nprompt;
    return true;
}

static bool generate_read(generation *g) {
    json_error_t je = {0};
    const json_t *prompt = NULL, *parameters = NULL, *id = NULL;
    const char *key;
    json_t *v;
    if (!generate_find_input(g)) return false;
    g->body = protocol_parse_json(g->x->body_len ? g->x->body : "", g->x->body_len, &je);
    if (!json_is_object(g->body))
        return generate_fail(g, "the request is not a JSON object: %.120s", je.text);
    json_object_foreach(g->body, key, v) {
        if (!strcmp(key, "parameters")) parameters = v;
        else if (!strcmp(key, "id")) id = v;
        else if (model_find_input(g->job.model, key) == (int)g->at) prompt = v;
        else return generate_fail(g, "there is no member '%.40s' in a request to generate", key);
    }
    if (id && !json_is_string(id)) return generate_fail(g, "'id' must be text");
    g->id = json_string_value(id);
    return generate_parameters(g, parameters) && generate_prompt(g, prompt);
}

/* ---- the response ---------------------------------------------------------------------------- */

static void generate_ids_json(buffer *out, const int64_t *ids, size_t n) {
    buffer_puts(out, ",\"output_ids\":[");
    for (size_t i = 0; i < n; i++) {
        if (i) buffer_putc(out, ',');
        buffer_int(out, ids[i]);
    }
    buffer_putc(out, ']');
}

/* The last n tokens, and, if it is the end, why. */
static void generate_object(const generation *g, buffer *out, size_t n, const char *reason) {
    const model *m = g->job.model;
    buffer_puts(out, "{\"model_name\":");
    buffer_json(out, m->name, strlen(m->name));
    buffer_printf(out, ",\"model_version\":\"%s\"", m->version);
    if (g->id) {
        buffer_puts(out, ",\"id\":");
        buffer_json(out, g->id, strlen(g->id));
    }
    generate_ids_json(out, g->tokens + g->ntokens - n, n);
    if (reason) buffer_printf(out, ",\"finish_reason\":\"%s\"", reason);
    buffer_putc(out, '}');
}

static int generate_broken(generation *g, const char *why) {
    snprintf(g->job.error, sizeof g->job.error, "%s", why);
    return 500;
}

/* The response is there; x is not ours any more. */
static void generate_done(generation *g, int status) {
    exchange *x = g->x;
    x->queue_ns = g->job.queue_ns;
    x->infer_ns = g->job.infer_ns;
    x->batch = 1;
    if (status != 200) {
        x->reply.len = 0;
        x->reply.failed = false;
        protocol_error(x, status, "%s", g->job.error);
        if (status == 429 || status == 503) x->retry_after = 1;
    }
    g->x = NULL;
    x->done(x);
}

/* False: out of memory. */
static bool generate_event(generation *g, const buffer *object) {
    buffer text = {0};
    buffer_puts(&text, "data: ");
    buffer_put(&text, object->data, object->len);
    buffer_puts(&text, "\n\n");
    text.failed |= object->failed;
    bool ok = feed_put(g->feed, &text);
    buffer_free(&text);
    return ok;
}

/* The response is what the feed gives. */
static void generate_open(generation *g) {
    g->x->feed = g->feed;
    g->x->status = 200;
    g->x->type = "text/event-stream";
    generate_done(g, 200);
}

/* The newest token. False: out of memory. */
static bool generate_token_event(generation *g) {
    buffer object = {0};
    if (!g->feed && !(g->feed = feed_new(g->x))) return false;
    generate_object(g, &object, 1, NULL);
    bool ok = generate_event(g, &object);
    buffer_free(&object);
    if (g->x) generate_open(g);
    return ok;
}

static void generate_last_event(generation *g, int status, const char *reason) {
    buffer object = {0};
    if (status == 200) {
        generate_object(g, &object, 0, reason);
    } else {
        buffer_puts(&object, "{\"error\":");
        buffer_json(&object, g->job.error, strlen(g->job.error));
        buffer_putc(&object, '}');
    }
    generate_event(g, &object);
    buffer_free(&object);
}

static void generate_free(generation *g) {
    model_unref(g->job.model);
    json_decref(g->body);
    free(g->tokens);
    free(g);
}

static void generate_end(generation *g, int status, const char *reason) {
    stats_request(g->job.model->stats, status, clock_ns() - g->started_ns, g->job.queue_ns, 0,
                  g->job.infer_ns, 0, 1);
    if (g->x && g->stream && status == 200 && !(g->feed = feed_new(g->x)))
        status = generate_broken(g, "out of memory");
    if (g->feed) { /* without a token the end is the only event */
        feed *f = g->feed;
        generate_last_event(g, status, reason);
        if (g->x) generate_open(g);
        feed_end(f);
    } else if (status == 200) {
        generate_object(g, &g->x->reply, g->ntokens - g->nprompt, reason);
        protocol_json(g->x, 200);
        generate_done(g, g->x->status);
    } else {
        generate_done(g, status);
    }
    generate_free(g);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Whole numbers as the argument takes them; first: of numbers that count up, or NULL ids. */
static ctsc_value *generate_tensor(const model_input *in, const int64_t *ids, int64_t first,
                                   size_t n, int ndim) {
    const datatype *t = model_tensor_type(in);
    int64_t sizes[2] = {1, (int64_t)n};
    bool small = t && t->dtype == CTSC_INT32;
    ctsc_value *out = NULL;
    if (ctsc_tensor_new(small ? CTSC_INT32 : CTSC_INT64, ndim, ndim == 2 ? sizes : sizes + 1, &out,
                        NULL) != CTSC_OK)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        int64_t v = ids ? ids[i] : first + (int64_t)i;
        if (small) ((int32_t *)ctsc_tensor_data(out))[i] = (int32_t)v;
        else ((int64_t *)ctsc_tensor_data(out))[i] = v;
    }
    return out;
}

/* How many dimensions an argument has, and how many tokens one call takes; 0: any. */
static int generate_shape(const model_input *in, int other, int64_t *tokens) {
    bool told = in->config && in->config->ndim >= 0;
    int ndim = told ? in->config->ndim : in->arg->ndim;
    const int64_t *sizes = told ? in->config->dims : in->arg->sizes;
    *tokens = ndim > 0 && sizes[ndim - 1] > 0 ? sizes[ndim - 1] : 0;
    return ndim == 1 || ndim == 2 ? ndim : other;
}

/* One call on n tokens, the last ones of those that are known. False: *status. */
static bool generate_call(generation *g, size_t first, size_t n, outputs *o, ctsc_error *e,
                          int *status) {
    model *m = g->job.model;
    int64_t fixed;
    int ndim = generate_shape(&m->inputs[g->at], 2, &fixed);
    ctsc_value **args = calloc(m->ninputs, sizeof *args);
    bool ok = args != NULL;
    for (size_t i = 0; ok && i < m->ninputs; i++) {
        const ctsc_argument *a = m->inputs[i].arg;
        int own = (int)i == m->position ? generate_shape(&m->inputs[i], 1, &fixed) : 0;
        if (i == g->at) args[i] = generate_tensor(&m->inputs[i], g->tokens + first, 0, n, ndim);
        else if (own) args[i] = generate_tensor(&m->inputs[i], NULL, (int64_t)first, n, own);
        else args[i] = a->default_value ? ctsc_value_copy(a->default_value) : ctsc_none_new();
        ok = args[i] != NULL;
    }
    uint64_t start = clock_ns();
    ctsc_status s = CTSC_LIMIT;
    if (ok) s = batch_call(m, &g->job, args, g->job.deadline_ns, g->job.cancel, o, e);
    uint64_t took = clock_ns() - start;
    for (size_t i = 0; args && i < m->ninputs; i++) ctsc_value_free(args[i]);
    free(args);
    g->job.infer_ns += took;
    if (s == CTSC_OK) stats_execution(m->stats, 1, 0, took, 0);
    else if (!ok) *status = generate_broken(g, "out of memory");
    else *status = batch_status(&g->job, s, e, g->job.error, sizeof g->job.error);
    return s == CTSC_OK;
}

/* The next token from the last row of logits. */
static bool generate_pick(generation *g, const ctsc_value *logits, int64_t *token, int *status) {
    int ndim = ctsc_value_kind(logits) == CTSC_KIND_TENSOR ? ctsc_tensor_ndim(logits) : 0;
    int64_t n = ndim ? ctsc_tensor_sizes(logits)[ndim - 1] : 0, shape[] = {-1, n};
    ctsc_dtype d = ndim ? ctsc_tensor_dtype(logits) : CTSC_BOOL;
    size_t best;
    if (n < 1 ||
        (d != CTSC_FLOAT32 && d != CTSC_FLOAT64 && d != CTSC_FLOAT16 && d != CTSC_BFLOAT16)) {
        *status = generate_broken(g, "the model's first output is not logits");
        return false;
    }
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *row = ctsc_select(s, ctsc_reshape(s, (ctsc_value *)logits, 2, shape), 0, -1);
    row = ctsc_contiguous(s, ctsc_to(s, row, CTSC_FLOAT64));
    bool ok = row && sample_pick(&g->sampler, ctsc_tensor_data(row), (size_t)n, &best);
    if (ok) *token = (int64_t)best;
    else
        *status = generate_broken(g, row ? "there is no number among the model's logits"
                                         : ctsc_error_message(ctsc_scope_error(s)));
    ctsc_scope_free(s);
    return ok;
}

/* The token after those that are known. */
static bool generate_next(generation *g, int64_t *token, ctsc_error *e, int *status) {
    model *m = g->job.model;
    outputs o = {0};
    int64_t fixed;
    bool ok = true;
    generate_shape(&m->inputs[g->at], 2, &fixed);
    if (fixed > 1 || (fixed && m->position < 0)) {
        snprintf(g->job.error, sizeof g->job.error,
                 "the model does not generate: it takes %lld tokens at a time", (long long)fixed);
        *status = 400;
        return false;
    }
    do {
        size_t first = m->position < 0 ? 0 : g->seen, n = fixed ? 1 : g->ntokens - first;
        outputs_free(&o);
        ok = generate_call(g, first, n, &o, e, status);
        g->seen = first + n;
    } while (ok && g->seen < g->ntokens);
    if (ok && !o.n) *status = generate_broken(g, "the model has no outputs"), ok = false;
    ok = ok && generate_pick(g, o.values[0], token, status);
    outputs_free(&o);
    return ok;
}

static bool generate_is_stop(const generation *g, int64_t token) {
    for (size_t i = 0; i < g->nstops; i++)
        if (g->stops[i] == token) return true;
    return false;
}

/* Between two calls: a call without a deadline cannot be stopped. */
static bool generate_is_cancelled(generation *g, const ctsc_error *e, int *status) {
    const job *j = &g->job;
    if (!j->cancel || !ctsc_cancel_is_set(j->cancel)) return false;
    *status = batch_status(j, CTSC_LIMIT, e, g->job.error, sizeof g->job.error);
    return true;
}

static void generate_run(job *j, ctsc_error *e) {
    generation *g = j->ctx;
    const char *reason = NULL;
    int status = 200;
    counter_add(&j->model->stats->running, 1);
    while (!reason && status == 200) {
        int64_t token;
        if (generate_is_cancelled(g, e, &status) || !generate_next(g, &token, e, &status)) break;
        if (generate_is_stop(g, token)) {
            reason = "stop";
            break;
        }
        g->tokens[g->ntokens++] = token;
        if (g->stream && !generate_token_event(g)) status = generate_broken(g, "out of memory");
        if (g->ntokens == g->most) reason = "length";
    }
    atomic_fetch_sub_explicit(&j->model->stats->running, 1, memory_order_relaxed);
    generate_end(g, status, reason);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* It never ran: it waited too long, or nobody waits for it. */
static void generate_finish(job *j, const outputs *o, int64_t first, int64_t total) {
    (void)o, (void)first, (void)total;
    generate_end(j->ctx, j->status, NULL);
}

static void generate_defer(job *j) {
    generation *g = j->ctx;
    if (g->x->defer) g->x->defer(g->x);
}

/* The response without the queue. */
static bool generate_refuse(generation *g, int status, const char *why) {
    exchange *x = g->x;
    protocol_error(x, status, "%s", why);
    if (status == 429 || status == 503) x->retry_after = 1;
    stats_request(g->job.model->stats, status, clock_ns() - g->started_ns, 0, 0, 0, 0, 1);
    generate_free(g);
    return true;
}

bool generate_handle(exchange *x, model *m_take, bool stream) {
    bool can = x->done && (!stream || x->wake);
    generation *g = can ? calloc(1, sizeof *g) : NULL;
    if (!g) {
        model_unref(m_take);
        protocol_error(x, 500, can ? "out of memory" : "nobody waits for this answer");
        return true;
    }
    *g = (generation){.x = x, .stream = stream, .started_ns = x->started_ns};
    g->job = (job){.model = m_take,
                   .nargs = m_take->ninputs,
                   .arrived_ns = clock_ns(),
                   .cancel = x->cancel,
                   .deadline_ns = job_deadline(m_take, x->started_ns, x->deadline_ns),
                   .run = generate_run,
                   .defer = generate_defer,
                   .finish = generate_finish,
                   .ctx = g};
    snprintf(x->model, sizeof x->model, "%s", m_take->name);
    snprintf(x->version, sizeof x->version, "%s", m_take->version);
    if (!generate_read(g)) return generate_refuse(g, 400, g->why);
    switch (scheduler_submit(&g->job)) {
    case SUBMIT_FULL: return generate_refuse(g, 429, "the model's queue is full");
    case SUBMIT_STOPPED: return generate_refuse(g, 503, "the model is being unloaded");
    default: return false;
    }
}
