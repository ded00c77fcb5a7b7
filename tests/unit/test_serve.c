/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve.c - the inference server without sockets: numbers, settings, requests to responses,
 * batches, queues, allocation failures. */
#include "support.h"

#include "serve/config.h"
#include "serve/feed.h"
#include "serve/isolate/wire.h"
#include "serve/protocol.h"
#include "serve/sample.h"
#include "serve/scheduler.h"

#include <jansson.h>
#include <math.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers and text ------------------------------------------------------------------------ */

static const char *serve_text(buffer *b) {
    buffer_putc(b, '\0');
    return b->data;
}

static void serve_floats(void **state) {
    static const struct { float f; const char *text; } cases[] = {
        {0, "0.0"},
        {-0.0f, "-0.0"},
        {1, "1.0"},
        {-0.1f, "-0.1"},
        {0.3f, "0.3"},
        {100, "100.0"},
        {1e9f, "1000000000.0"},
        {1e10f, "1e+10"},
        {1.5e-5f, "0.000015"},
        {1e-7f, "1e-07"},
        {16777216, "16777216.0"},
        {3.4028235e38f, "3.4028235e+38"},
        {1e-45f, "1e-45"},
        {9.999999f, "9.999999"},
        {0.99999994f, "0.99999994"},
        {NAN, "null"},
        {INFINITY, "null"},
        {1.17549435e-38f, "1.1754944e-38"},
        /* of the shortest texts the nearest */
        {5.90190125f, "5.9019012"},
        {-0.476540685f, "-0.47654068"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer b = {0};
        buffer_float(&b, cases[i].f);
        assert_string_equal(serve_text(&b), cases[i].text);
        buffer_free(&b);
    }
}

/* What is written reads back as the same number, by us and by the C library. */
static void serve_floats_round_trip(void **state) {
    uint32_t bits = 1;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        union { uint32_t u; float f; } x = {.u = bits};
        bits = bits * 1664525u + 1013904223u;
        if (!isfinite(x.f)) continue;
        buffer b = {0};
        number n;
        buffer_float(&b, x.f);
        size_t len = b.len;
        const char *text = serve_text(&b);
        assert_ptr_equal(number_read(text, text + len, &n), text + len);
        assert_true((float)n.d == x.f && strtof(text, NULL) == x.f);
        buffer_free(&b);
    }
}

static void serve_numbers(void **state) {
    static const struct { const char *text; bool is_int; double d; } good[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"9223372036854775807", true, 9223372036854775807.0},
        {"9223372036854775808", false, 9223372036854775808.0},
        {"-9223372036854775808", true, -9223372036854775808.0},
        {"1e3", false, 1000},
        {"0.1", false, 0.1},
        {"1E-2", false, 0.01},
        {"true", true, 1},
        {"123456789012345678901234567890", false, 1.2345678901234568e29},
        {"2.2250738585072011e-308", false, 2.2250738585072011e-308},
        {"0.000000000000000000000000000000000000001", false, 1e-39},
        {"1e400", false, INFINITY},
        {"7205759403792793.5", false, 7205759403792793.5},
    };
    static const char *const bad[] = {"",   "-",   "+1",  ".5",  "1.",  "1.e1", "1e",   "1e+",
                                      "01", "-01", "tru", "nan", "inf", "0x10", "\"1\""};
    number n;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *end = good[i].text + strlen(good[i].text);
        assert_ptr_equal(number_read(good[i].text, end, &n), end);
        assert_int_equal(n.is_int, good[i].is_int);
        assert_true(n.d == good[i].d);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *end = bad[i] + strlen(bad[i]), *got = number_read(bad[i], end, &n);
        if (got == end) fail_msg("'%s' was read as a number", bad[i]);
    }
}

static void serve_strings(void **state) {
    static const struct { const char *in; size_t len; const char *out; } cases[] = {
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\n\0\x7F", 3, "\"\\u000a\\u0000\\u007f\""},
        {"h\xC3\xA9", 3, "\"h\xC3\xA9\""},
        {"\xFF", 1, "\"\\ufffd\""},
        {"\xC3", 1, "\"\\ufffd\""},
        {"\xED\xA0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xF0\x9F\x98\x80", 4, "\"\xF0\x9F\x98\x80\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer b = {0};
        buffer_json(&b, cases[i].in, cases[i].len);
        assert_string_equal(serve_text(&b), cases[i].out);
        buffer_free(&b);
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

static const serve_options serve_defaults = {
    .threads = 1, .instances = 2, .max_queue = 4, .timeout_us = 5000000};

static void serve_config(void **state) {
    model_config c;
    char why[200] = "";
    const char *text = "{\"method\": \"run\", \"max_batch_size\": 8, \"max_queue_delay_us\": 100, "
                       "\"timeout_ms\": 7, \"versions\": \"latest\","
                       " \"inputs\": [{\"name\": \"a\", \"datatype\": \"INT64\", \"shape\": [-1, "
                       "3]}], \"outputs\": [{\"name\": \"b\"}]}";
    (void)state;
    assert_true(config_read(text, strlen(text), &serve_defaults, &c, why, sizeof why));
    assert_string_equal(c.method, "run");
    assert_int_equal(c.max_batch, 8);
    assert_int_equal(c.timeout_us, 7000);
    assert_int_equal(c.instances, 2);
    assert_true(c.only_latest && c.ninputs == 1 && c.inputs[0].ndim == 2 &&
                c.inputs[0].dims[0] == -1);
    assert_true(c.noutputs == 1 && c.outputs[0].ndim == -1 && !c.outputs[0].type);
    config_free(&c);
    static const char *const bad[] = {"",
                                      "[]",
                                      "3",
                                      "{\"x\": 1}",
                                      "{\"max_batch_size\": -1}",
                                      "{\"max_batch_size\": 1.5}",
                                      "{\"instances\": 0}",
                                      "{\"method\": 3}",
                                      "{\"versions\": \"some\"}",
                                      "{\"inputs\": {}}",
                                      "{\"inputs\": [3]}",
                                      "{\"inputs\": [{}]}",
                                      "{\"inputs\": [{\"name\": \"\"}]}",
                                      "{\"inputs\": [{\"name\": \"a\", \"datatype\": \"X\"}]}",
                                      "{\"inputs\": [{\"name\": \"a\", \"shape\": 3}]}",
                                      "{\"inputs\": [{\"name\": \"a\", \"shape\": [-2]}]}",
                                      "{\"inputs\": [{\"name\": \"a\", \"size\": 3}]}",
                                      "{\"opt\": 4}",
                                      "{\"max_queue\": \"3\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *why = '\0';
        if (config_read(bad[i], strlen(bad[i]), &serve_defaults, &c, why, sizeof why))
            fail_msg("taken: %s", bad[i]);
        assert_non_null(strstr(why, "config.json"));
        config_free(&c);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef struct serve_world { char folder[64]; serve_options options; server s; } serve_world;

static void serve_write(const char *folder, const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%.80s/%.80s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void serve_model(const char *folder, const char *name, const char *source,
                        const char *config) {
    char path[200];
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_module_compile_text("m.py", source, strlen(source), NULL, &m, NULL),
                     CTSC_OK);
    snprintf(path, sizeof path, "%s/%s.pt", folder, name);
    assert_int_equal(ctsc_module_save(m, path, NULL), CTSC_OK);
    ctsc_module_free(m);
    if (!config) return;
    snprintf(path, sizeof path, "%.80s.json", name);
    serve_write(folder, path, config);
}

static int serve_setup(void **state) {
    serve_world *w = calloc(1, sizeof *w);
    strcpy(w->folder, "/tmp/ctsc-serve-XXXXXX");
    if (!mkdtemp(w->folder)) return -1;
    serve_model(w->folder, "add", "def forward(x):\n    return x + 1\n", NULL);
    serve_model(w->folder, "many", "def forward(x, n: int = 2):\n    return x * n, x.sum()\n",
                "{\"inputs\": [{\"name\": \"X\", \"datatype\": \"FP32\"}]}");
    serve_model(w->folder, "batch",
                "def forward(x):\n    if bool((x < 0).any()):\n        raise "
                "ValueError('negative')\n    return x + 1\n",
                "{\"max_batch_size\": 8, \"max_queue_delay_us\": 50000, \"instances\": 1, "
                "\"max_queue\": 16}");
    serve_model(w->folder, "next",
                "import torch\ndef forward(ids):\n    out = torch.zeros(1, 9)\n"
                "    out[0, int(ids.sum()) % 9] = 1.0\n    return out\n",
                NULL);
    serve_model(w->folder, "dict",
                "from typing import Dict, List\ndef forward(d: Dict[str, int]) -> int:\n    return "
                "len(d)\n",
                NULL);
    w->options = serve_defaults;
    w->options.folder = w->folder;
    w->s.o = &w->options;
    if (!repository_init(&w->s.repository, &w->options)) return -1;
    repository_look(&w->s.repository, true);
    *state = w;
    return 0;
}

static int serve_teardown(void **state) {
    serve_world *w = *state;
    char command[200];
    repository_free(&w->s.repository);
    snprintf(command, sizeof command, "rm -r %s", w->folder);
    int code = system(command);
    free(w);
    return code;
}

typedef struct serve_call { exchange x; sem_t ready, more; } serve_call;

static void serve_done(exchange *x) { sem_post(&((serve_call *)x)->ready); }

static void serve_wake(exchange *x) { sem_post(&((serve_call *)x)->more); }

static void serve_wait(exchange *x) { (void)x; }

/* What a feed gives, as the response's content. */
static void serve_read_feed(serve_call *c) {
    char text[7];
    ssize_t n;
    while (c->x.feed && (n = feed_take(c->x.feed, text, sizeof text, serve_wait)) >= 0) {
        if (n) buffer_put(&c->x.reply, text, (size_t)n);
        else sem_wait(&c->more);
    }
    /* false: there was no memory for the text, and the writer does not know yet */
    if (c->x.feed) (void)feed_leave(c->x.feed, NULL);
}

/* Sends a request and waits for the response, whose text is terminated. Free with serve_end. */
static void serve_send(serve_world *w, serve_call *c, const char *method, const char *path,
                       const char *body, const char *header_length) {
    *c = (serve_call){.x = {.s = &w->s,
                            .method = method,
                            .path = path,
                            .header_length = header_length,
                            .body = body,
                            .body_len = strlen(body),
                            .started_ns = clock_ns(),
                            .done = serve_done,
                            .wake = serve_wake}};
    sem_init(&c->ready, 0, 0);
    sem_init(&c->more, 0, 0);
    if (!protocol_handle(&c->x)) sem_wait(&c->ready);
    serve_read_feed(c);
    serve_text(&c->x.reply);
}

static void serve_end(serve_call *c) {
    buffer_free(&c->x.reply);
    sem_destroy(&c->ready);
    sem_destroy(&c->more);
}

static void serve_expect(serve_world *w, const char *method, const char *path, const char *body,
                         int status, const char *text) {
    serve_call c;
    serve_send(w, &c, method, path, body, NULL);
    if (c.x.status != status || !strstr(c.x.reply.data, text))
        fail_msg("%s %s %s: %d %s, not %d '%s'", method, path, body, c.x.status, c.x.reply.data,
                 status, text);
    serve_end(&c);
}

#define SERVE_X(shape, data)                                                                       \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":" shape ",\"datatype\":\"FP32\",\"data\":" data "}]}"

static void serve_requests(void **state) {
    serve_world *w = *state;
    serve_expect(w, "GET", "/v2/health/live", "", 200, "{\"live\":true}");
    serve_expect(w, "GET", "/v2/health/ready", "", 503, "false"); /* "dict" cannot be loaded */
    serve_expect(w, "POST", "/v2/repository/index", "", 200, "which the protocol cannot carry");
    serve_expect(w, "GET", "/v2/models/dict", "", 503, "not ready");
    serve_expect(w, "GET", "/v2/models/many", "", 200,
                 "{\"name\":\"X\",\"datatype\":\"FP32\",\"shape\":[-1]},{\"name\":\"n\","
                 "\"datatype\":\"INT64\",\"shape\":[1]}");
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[2]", "[1, 2.5]"), 200,
                 "{\"model_name\":\"add\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"output__"
                 "0\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[2.0,3.5]}]}");
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[1,2]", "[[ 1 ,\\n2]]"), 400,
                 "not a list of numbers");
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[1,2]", "[[ 1 ,\t2]]"), 200,
                 "[2.0,3.0]");
    serve_expect(w, "POST", "/v2/models/many/infer", SERVE_X("[2]", "[1, 2]"), 200,
                 "\"data\":[2.0,4.0]},{\"name\":\"output__1\",\"datatype\":\"FP32\",\"shape\":[],"
                 "\"data\":[3.0]}");
    serve_expect(
        w, "POST", "/v2/models/many/infer",
        "{\"inputs\":[{\"name\":\"input__0\",\"shape\":[1],\"datatype\":\"INT64\",\"data\":[1]}]}",
        400, "must have datatype FP32");
    serve_expect(w, "GET", "/v2/models/add/stats", "", 200, "\"inference_count\":2");
    serve_expect(w, "GET", "/metrics", "", 200,
                 "nv_inference_count{model=\"add\",version=\"1\"} 2");
    serve_expect(w, "GET", "/", "", 200, "<!doctype html>");
}

/* Where the lists of numbers are does not matter, nor what else the text holds. */
static void serve_json_forms(void **state) {
    serve_world *w = *state;
    static const char *const good[] = {
        "{\"inputs\":[{\"data\":[3],\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\"}]}",
        " {\"parameters\":{\"data\":[[\"a\"]],\"inputs\":[1]},\"inputs\" : [ "
        "{\"parameters\":{\"data\":[1]}, \"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\", "
        "\"data\" : [ 3 ] } ] } ",
        "{\"id\":\"\\\"data\\\":[1]\",\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":"
        "\"FP32\",\"data\":[3]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,1,1],\"datatype\":\"FP32\",\"data\":[[[3e0]]]}],"
        "\"outputs\":[{\"name\":\"output__0\"}]}"};
    static const char *const bad[] = {
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3]}}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3,]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[,3]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[3][3]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[[3][]]}]}",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":0}]}",
        "{\"inputs\":[{\"name\":\"x\\",
        "{\"inputs\":[{\"data\":[[[[[[",
        "\"",
        "[[[[",
        "}}}}]]]]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        serve_expect(w, "POST", "/v2/models/add/infer", good[i], 200, "[4.0]");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        serve_expect(w, "POST", "/v2/models/add/infer", bad[i], 400, "{\"error\":");
}

/* Several requests become one call; the one that the model refuses harms no other. */
static void serve_batches(void **state) {
    serve_world *w = *state;
    enum { N = 6 };
    static const char *const bodies[N] = {SERVE_X("[1,1]", "[1]"),  SERVE_X("[2,1]", "[2,3]"),
                                          SERVE_X("[1,1]", "[-1]"), SERVE_X("[1,2]", "[4,5]"),
                                          SERVE_X("[1,1]", "[6]"),  SERVE_X("[0,1]", "[]")};
    static const char *const answers[N] = {"[2.0]",     "[3.0,4.0]", "negative",
                                           "[5.0,6.0]", "[7.0]",     "[]"};
    static const int statuses[N] = {200, 200, 400, 200, 200, 200};
    serve_call c[N];
    for (int i = 0; i < N; i++) {
        c[i] = (serve_call){.x = {.s = &w->s,
                                  .method = "POST",
                                  .path = "/v2/models/batch/infer",
                                  .body = bodies[i],
                                  .body_len = strlen(bodies[i]),
                                  .started_ns = clock_ns(),
                                  .done = serve_done}};
        sem_init(&c[i].ready, 0, 0);
    }
    for (int i = 0; i < N; i++)
        if (protocol_handle(&c[i].x)) sem_post(&c[i].ready);
    for (int i = 0; i < N; i++) {
        sem_wait(&c[i].ready);
        assert_int_equal(c[i].x.status, statuses[i]);
        assert_non_null(strstr(serve_text(&c[i].x.reply), answers[i]));
        serve_end(&c[i]);
    }
}

static void serve_binary(void **state) {
    serve_world *w = *state;
    serve_call c;
    char body[300], length[16];
    float two[2] = {1, 2};
    int n = snprintf(body, sizeof body,
                     "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
                     "\"parameters\":{\"binary_data_size\":8}}],"
                     "\"parameters\":{\"binary_data_output\":true}}");
    memcpy(body + n, two, sizeof two);
    snprintf(length, sizeof length, "%d", n);
    c = (serve_call){.x = {.s = &w->s,
                           .method = "POST",
                           .path = "/v2/models/add/infer",
                           .header_length = length,
                           .body = body,
                           .body_len = (size_t)n + 8,
                           .started_ns = clock_ns(),
                           .done = serve_done}};
    sem_init(&c.ready, 0, 0);
    if (!protocol_handle(&c.x)) sem_wait(&c.ready);
    assert_int_equal(c.x.status, 200);
    assert_int_equal(c.x.reply.len, c.x.json_len + 8);
    memcpy(two, c.x.reply.data + c.x.json_len, 8);
    assert_true(two[0] == 2 && two[1] == 3);
    serve_end(&c);
}

static void serve_token(void **state) {
    serve_world *w = *state;
    static const char *const bad[] = {NULL,
                                      "",
                                      "Bearer",
                                      "Bearer ",
                                      "Bearer secre",
                                      "Bearer secrets",
                                      "Bearer secretsecret",
                                      "Basic secret"};
    w->s.token = (char *)"secret";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        exchange x = {.s = &w->s, .method = "GET", .path = "/v2", .authorization = bad[i]};
        assert_false(protocol_allowed(&x));
        assert_int_equal(x.status, 401);
        buffer_free(&x.reply);
    }
    exchange good = {.s = &w->s, .method = "GET", .path = "/v2", .authorization = "bearer secret"};
    exchange open = {.s = &w->s, .method = "GET", .path = "/v2/health/live"};
    assert_true(protocol_allowed(&good) && protocol_allowed(&open));
    w->s.token = NULL;
}

/* ---- generating ------------------------------------------------------------------------------ */

static void serve_samples(void **state) {
    (void)state;
    enum { DRAWS = 40000 };
    const double logits[] = {log(0.5), NAN, log(0.2), log(0.2), log(0.1)};
    static const struct { double temperature; size_t top_k; double expected[5]; } cases[] = {
        {1, 0, {0.5, 0, 0.2, 0.2, 0.1}},
        {1, 5, {0.5, 0, 0.2, 0.2, 0.1}},
        {1, 3, {0.5 / 0.9, 0, 0.2 / 0.9, 0.2 / 0.9, 0}},
        {1, 2, {0.5 / 0.7, 0, 0.2 / 0.7, 0, 0}}, /* the first of two equal ones */
        {1, 1, {1, 0, 0, 0, 0}},
        {0, 3, {1, 0, 0, 0, 0}},
        {1e-9, 0, {1, 0, 0, 0, 0}},
        {0.5, 0, {0.25 / 0.34, 0, 0.04 / 0.34, 0.04 / 0.34, 0.01 / 0.34}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sampler s = {.temperature = cases[c].temperature, .top_k = cases[c].top_k, .state = 1};
        int count[5] = {0};
        for (int i = 0; i < DRAWS; i++) {
            size_t got = 9;
            assert_true(sample_pick(&s, logits, 5, &got));
            count[got]++;
        }
        for (int i = 0; i < 5; i++)
            assert_true(fabs((double)count[i] / DRAWS - cases[c].expected[i]) < 0.015);
    }
    size_t got = 9;
    sampler s = {.temperature = 1};
    assert_false(sample_pick(&s, (const double[]){NAN, -INFINITY}, 2, &got));
    assert_false(sample_pick(&s, NULL, 0, &got));
    assert_true(sample_pick(&s, (const double[]){1, INFINITY, INFINITY}, 3, &got) && got == 1);
    assert_true(sample_pick(&s, (const double[]){-INFINITY, -1e300}, 2, &got) && got == 1);
}

static void serve_generate(void **state) {
    serve_world *w = *state;
    serve_expect(w, "POST", "/v2/models/next/generate",
                 "{\"ids\":[1,1],\"parameters\":{\"max_tokens\":4}}", 200,
                 "\"output_ids\":[2,4,8,7],\"finish_reason\":\"length\"}");
    serve_expect(w, "POST", "/v2/models/next/generate_stream",
                 "{\"ids\":[1,1],\"parameters\":{\"stop\":[8]}}", 200,
                 "data: {\"model_name\":\"next\",\"model_version\":\"1\",\"output_ids\":[2]}\n\n"
                 "data: {\"model_name\":\"next\",\"model_version\":\"1\",\"output_ids\":[4]}\n\n"
                 "data: {\"model_name\":\"next\",\"model_version\":\"1\",\"output_ids\":[],"
                 "\"finish_reason\":\"stop\"}\n\n");
    serve_expect(w, "POST", "/v2/models/many/generate", "{\"x\":[1]}", 400,
                 "does not generate: input 'x' takes FP32");
}

/* ---- without memory -------------------------------------------------------------------------- */

/* The Makefile has the linker send the library's, the server's and this file's calls here;
 * jansson's are sent by json_set_alloc_funcs. */
static atomic_long serve_countdown; /* requests until the one that fails; 0: none does */

static bool serve_fails(void) {
    return atomic_load(&serve_countdown) > 0 && atomic_fetch_sub(&serve_countdown, 1) == 1;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n) { return serve_fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return serve_fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return serve_fails() ? NULL : __real_realloc(p, n); }

/* Each allocation fails in turn: there is a response, nothing leaks (which a build with
 * AddressSanitizer sees), the server goes on. */
static void serve_allocation_failures(void **state) {
    serve_world *w = *state;
    static const struct { const char *method, *path, *body; } rows[] = {
        {"POST", "/v2/models/many/infer", SERVE_X("[2]", "[1, 2]")},
        {"POST", "/v2/models/batch/infer", SERVE_X("[1, 1]", "[1]")},
        {"POST", "/v2/models/add/infer",
         "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}]}"},
        {"GET", "/v2/models/many", ""},
        {"GET", "/v2/models/add/stats", ""},
        {"GET", "/v2/models/add/graph", ""},
        {"GET", "/metrics", ""},
        {"POST", "/v2/repository/index", "{}"},
        {"POST", "/v2/repository/models/many/load",
         "{\"parameters\":{\"config\":\"{\\\"outputs\\\":[{\\\"name\\\":\\\"o\\\"}]}\"}}"},
        {"POST", "/v2/models/next/generate", "{\"ids\":[1,1],\"parameters\":{\"stop\":[3]}}"},
        {"POST", "/v2/models/next/generate_stream",
         "{\"ids\":[1],\"parameters\":{\"max_tokens\":3,\"temperature\":1,\"top_k\":2}}"},
        {"POST", "/v2/repository/models/many/unload", "{}"},
    };
    json_set_alloc_funcs(__wrap_malloc, free);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool reached = true;
        int failures = 0;
        for (long at = 1; reached && at < 3000; at += at < 300 ? 1 : 7) {
            void *kept = NULL;
            serve_call c = {.x = {.s = &w->s,
                                  .method = rows[i].method,
                                  .path = rows[i].path,
                                  .body = rows[i].body,
                                  .body_len = strlen(rows[i].body),
                                  .started_ns = clock_ns(),
                                  .done = serve_done,
                                  .wake = serve_wake,
                                  .keep = &kept}};
            sem_init(&c.ready, 0, 0);
            sem_init(&c.more, 0, 0);
            atomic_store(&serve_countdown, at);
            if (!protocol_handle(&c.x)) sem_wait(&c.ready);
            serve_read_feed(&c);
            reached = atomic_load(&serve_countdown) <= 0;
            atomic_store(&serve_countdown, 0);
            assert_true(c.x.status >= 200 && c.x.status < 600);
            failures += c.x.status >= 500;
            repository_tend(&w->s.repository);
            infer_keep_free(kept);
            serve_end(&c);
        }
        assert_false(reached);
        assert_true(failures > 0 || i > 0);
    }
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[2]", "[1, 2]"), 200, "[2.0,3.0]");
    serve_expect(w, "POST", "/v2/repository/models/many/load", "", 200, "");
    serve_expect(w, "POST", "/v2/models/many/infer", SERVE_X("[2]", "[1, 2]"), 200, "[2.0,4.0]");
    json_set_alloc_funcs(__real_malloc, free);
}

static int serve_parsed; /* allocations of the JSON parser */

static void *serve_count_parsed(size_t n) {
    serve_parsed++;
    return __real_malloc(n);
}

/* Requests of one connection: what is around the numbers is parsed when it is another text than the
 * last one, and only then. */
static void serve_same_again(void **state) {
    serve_world *w = *state;
    static const struct { const char *body; bool parsed; int status; const char *text; } rows[] = {
        {SERVE_X("[2]", "[1, 2]"), true, 200, "[2.0,3.0]"},
        {SERVE_X("[2]", "[[ 5e0],[7] ]"), false, 200, "[6.0,8.0]"},
        {SERVE_X("[2]", "[1, 2, 3]"), false, 400, "'data' has 3 elements, the shape 2"},
        {SERVE_X("[3]", "[1, 2, 3]"), true, 200, "[2.0,3.0,4.0]"},
        {SERVE_X("[3]", "[1, 2, 3") "]", true, 400, "is not JSON"},
        {SERVE_X("[3]", "[1, 2, 3") "]", true, 400, "is not JSON"},
        {SERVE_X("[3]", "[1, 2, 4]"), true, 200, "[2.0,3.0,5.0]"},
        {"[]", true, 400, "is not a JSON object"},
        {SERVE_X("[3]", "[1, 2, 4]"), true, 200, "[2.0,3.0,5.0]"},
    };
    void *kept = NULL;
    json_set_alloc_funcs(serve_count_parsed, free);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        serve_call c = {.x = {.s = &w->s,
                              .method = "POST",
                              .path = "/v2/models/add/infer",
                              .body = rows[i].body,
                              .body_len = strlen(rows[i].body),
                              .started_ns = clock_ns(),
                              .done = serve_done,
                              .keep = &kept}};
        sem_init(&c.ready, 0, 0);
        serve_parsed = 0;
        if (!protocol_handle(&c.x)) sem_wait(&c.ready);
        assert_int_equal(c.x.status, rows[i].status);
        assert_non_null(strstr(serve_text(&c.x.reply), rows[i].text));
        assert_int_equal(serve_parsed > 0, rows[i].parsed);
        serve_end(&c);
    }
    infer_keep_free(kept);
    json_set_alloc_funcs(__real_malloc, free);
}

/* Starting, with each allocation failing in turn: models are there or say why not, and
 * nothing leaks. Not jansson's own allocations: it does not survive when one fails inside
 * a longer string. */
static void serve_start_failures(void **state) {
    serve_world *w = *state;
    bool reached = true;
    for (long at = 1; reached; at += at < 100 ? 1 : 13) {
        repository r;
        assert_true(repository_init(&r, &w->options));
        atomic_store(&serve_countdown, at);
        repository_look(&r, true);
        reached = atomic_load(&serve_countdown) <= 0;
        atomic_store(&serve_countdown, 0);
        model *m = NULL;
        if (repository_find(&r, "many", NULL, &m) == FOUND) model_unref(m);
        assert_true(reached || m);
        repository_free(&r);
    }
}

/* A folder that cannot be read for a while is not one whose models are gone. */
static void serve_without_descriptors(void **state) {
    serve_world *w = *state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 3; i++) repository_look(&w->s.repository, false);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[2]", "[1, 2]"), 200, "[2.0,3.0]");
    repository_look(&w->s.repository, false);
    serve_expect(w, "POST", "/v2/models/add/infer", SERVE_X("[2]", "[1, 2]"), 200, "[2.0,3.0]");
}

/* ---- memory shared with a process ------------------------------------------------------------ */

static uint32_t serve_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static ctsc_value *serve_some_value(uint32_t *seed, int depth) {
    static const ctsc_dtype dtypes[] = {CTSC_FLOAT32,   CTSC_INT64,   CTSC_BOOL,  CTSC_BFLOAT16,
                                        CTSC_COMPLEX64, CTSC_FLOAT64, CTSC_UINT8, CTSC_FLOAT16};
    int64_t sizes[4];
    ctsc_value *v = NULL, *items[3] = {NULL};
    size_t n;
    switch (serve_random(seed) % (depth < 3 ? 7 : 6)) {
    case 0: return ctsc_none_new();
    case 1: return ctsc_bool_new(serve_random(seed) & 1);
    case 2: return ctsc_int_new((int64_t)serve_random(seed) << 31 | serve_random(seed));
    case 3: return ctsc_float_new((double)serve_random(seed) / 7);
    case 4: return ctsc_string_new("d\xc3\xa9j\xc3\xa0 vu", serve_random(seed) & 1 ? 10 : 0);
    case 5:
        for (int i = 0; i < 4; i++) sizes[i] = serve_random(seed) % 5;
        assert_int_equal(ctsc_tensor_new(dtypes[serve_random(seed) % 8], serve_random(seed) % 5,
                                         sizes, &v, NULL),
                         CTSC_OK);
        n = ctsc_tensor_storage_bytes(v);
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)ctsc_tensor_data(v))[i] = ctsc_tensor_dtype(v) == CTSC_BOOL
                                                      ? serve_random(seed) & 1
                                                      : (uint8_t)serve_random(seed);
        return v;
    default:
        n = serve_random(seed) % 4;
        for (size_t i = 0; i < n; i++)
            items[i] = i ? ctsc_value_copy(items[0]) : serve_some_value(seed, depth + 1);
        v = ctsc_list_new(n, items);
        for (size_t i = 0; i < n; i++) ctsc_value_free(items[i]);
        return v;
    }
}

static void serve_same_value(const ctsc_value *a, const ctsc_value *b) {
    assert_int_equal(ctsc_value_kind(a), ctsc_value_kind(b));
    if (ctsc_value_kind(a) == CTSC_KIND_TENSOR) {
        assert_int_equal(ctsc_tensor_dtype(a), ctsc_tensor_dtype(b));
        assert_int_equal(ctsc_tensor_ndim(a), ctsc_tensor_ndim(b));
        for (int i = 0; i < ctsc_tensor_ndim(a); i++)
            assert_int_equal(ctsc_tensor_sizes(a)[i], ctsc_tensor_sizes(b)[i]);
        size_t n = ctsc_tensor_storage_bytes(a);
        if (n) assert_memory_equal(ctsc_tensor_data(a), ctsc_tensor_data(b), n);
        return;
    }
    char *x = ctsc_value_print(a), *y = ctsc_value_print(b);
    assert_string_equal(x, y);
    ctsc_string_free(x);
    ctsc_string_free(y);
}

/* What is put is what is got; damaged, it is a value or refused. */
static void serve_wire(void **state) {
    uint32_t seed = 5;
    wire w;
    (void)state;
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(wire_open(&w, fd));
    for (int n = 0; n < 2000; n++) {
        ctsc_value *v = serve_some_value(&seed, 0), *back = NULL;
        size_t end = WIRE_VALUES, at = WIRE_VALUES;
        assert_int_equal(wire_put(&w, &end, v), WIRE_OK);
        assert_int_equal(wire_get(&w, &at, &back), WIRE_OK);
        assert_int_equal(at, end);
        serve_same_value(v, back);
        ctsc_value_free(back);
        for (int k = 0; k < 20; k++) {
            char *byte = w.base + WIRE_VALUES + serve_random(&seed) % (end - WIRE_VALUES);
            *byte ^= (char)(1 << serve_random(&seed) % 8);
            at = WIRE_VALUES;
            if (wire_get(&w, &at, &back) == WIRE_OK) ctsc_value_free(back);
        }
        ctsc_value_free(v);
    }
    /* at the very end of the memory */
    for (size_t room = 0; room < 200; room++) {
        ctsc_value *v = ctsc_int_new(7), *back = NULL;
        size_t at = WIRE_VALUES;
        assert_int_equal(wire_put(&w, &at, v), WIRE_OK);
        memmove(w.base + w.size - room, w.base + WIRE_VALUES, room);
        at = w.size - room;
        if (wire_get(&w, &at, &back) == WIRE_OK) ctsc_value_free(back);
        ctsc_value_free(v);
    }
    /* it grows for what it is given, and to what the other side made */
    int64_t many = 3 << 20;
    ctsc_value *v = NULL, *back = NULL;
    size_t at = WIRE_VALUES, size = w.size;
    assert_int_equal(ctsc_tensor_new(CTSC_UINT8, 1, &many, &v, NULL), CTSC_OK);
    assert_int_equal(wire_put(&w, &at, v), WIRE_OK);
    assert_true(w.size > size);
    wire other;
    assert_true(wire_open(&other, dup(fd)));
    assert_false(wire_follow(&other, w.size + 1));
    at = WIRE_VALUES;
    assert_int_equal(wire_get(&other, &at, &back), WIRE_REFUSED);
    assert_true(wire_follow(&other, w.size));
    at = WIRE_VALUES;
    assert_int_equal(wire_get(&other, &at, &back), WIRE_OK);
    assert_int_equal(ctsc_tensor_sizes(back)[0], many);
    ctsc_value_free(back);
    ctsc_value_free(v);
    ctsc_value *key = ctsc_string_new("k", 1);
    v = ctsc_dict_new(1, &key, &key);
    at = WIRE_VALUES;
    assert_int_equal(wire_put(&w, &at, v), WIRE_REFUSED);
    ctsc_value_free(v);
    ctsc_value_free(key);
    wire_close(&w);
    wire_close(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serve_floats),
        cmocka_unit_test(serve_floats_round_trip),
        cmocka_unit_test(serve_numbers),
        cmocka_unit_test(serve_strings),
        cmocka_unit_test(serve_config),
        cmocka_unit_test_setup_teardown(serve_requests, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_json_forms, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_same_again, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_batches, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_binary, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_token, serve_setup, serve_teardown),
        cmocka_unit_test(serve_samples),
        cmocka_unit_test(serve_wire),
        cmocka_unit_test_setup_teardown(serve_generate, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_allocation_failures, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_start_failures, serve_setup, serve_teardown),
        cmocka_unit_test_setup_teardown(serve_without_descriptors, serve_setup, serve_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
