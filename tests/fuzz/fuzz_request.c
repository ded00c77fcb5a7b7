/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_request.c - any request to the inference server's protocol: a response, and the
 * server still answers.
 *
 * The input is "METHOD PATH [LENGTH]" up to the first line feed, LENGTH being the header
 * Inference-Header-Content-Length; the rest is the body. Small models are served; one of them takes
 * batches, and one generates tokens. Seeds: requests as tests/serve/client.py sends them.
 */
#include "serve/feed.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct { char folder[40]; serve_options options; server s; } fuzz;

static void fuzz_model(const char *name, const char *source, const char *config) {
    char path[100];
    ctsc_module *m = NULL;
    snprintf(path, sizeof path, "%s/%s.pt", fuzz.folder, name);
    if (ctsc_module_compile_text("m.py", source, strlen(source), NULL, &m, NULL) != CTSC_OK ||
        ctsc_module_save(m, path, NULL) != CTSC_OK)
        abort();
    ctsc_module_free(m);
    snprintf(path, sizeof path, "%s/%s.json", fuzz.folder, name);
    FILE *f = fopen(path, "w");
    if (!f) abort();
    fputs(config, f);
    fclose(f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    strcpy(fuzz.folder, "/tmp/ctsc-fuzz-XXXXXX");
    if (!mkdtemp(fuzz.folder)) abort();
    fuzz_model("a", "def forward(x):\n    return x + 1, x\n", "{}");
    fuzz_model("b", "def forward(x, y):\n    return x + y\n",
               "{\"max_batch_size\": 4, \"instances\": 1, \"inputs\": [{\"name\": \"X\", "
               "\"datatype\": \"FP32\", \"shape\": [-1, 2]}]}");
    fuzz_model("c",
               "from typing import List, Optional\ndef forward(n: int, s: str, f: float = 1.0, "
               "items: Optional[List[int]] = None):\n    return n, s + '!', f\n",
               "{}");
    fuzz_model("d",
               "import torch\ndef forward(ids):\n    out = torch.zeros(1, 5)\n"
               "    out[0, int(ids.sum()) % 5] = 1.0\n    return out\n",
               "{\"max_length\": 40}");
    fuzz.options = (serve_options){.folder = fuzz.folder,
                                   .threads = 1,
                                   .instances = 1,
                                   .max_queue = 4,
                                   .timeout_us = 2000000,
                                   .max_bytes = 64 << 20};
    fuzz.s.o = &fuzz.options;
    if (!repository_init(&fuzz.s.repository, &fuzz.options)) abort();
    repository_look(&fuzz.s.repository, true);
    return 0;
}

typedef struct fuzz_call { exchange x; sem_t ready, more; } fuzz_call;

static void fuzz_done(exchange *x) { sem_post(&((fuzz_call *)x)->ready); }
static void fuzz_wake(exchange *x) { sem_post(&((fuzz_call *)x)->more); }
static void fuzz_wait(exchange *x) { (void)x; }

static void fuzz_read_feed(fuzz_call *c) {
    char text[100];
    ssize_t n;
    while (c->x.feed && (n = feed_take(c->x.feed, text, sizeof text, fuzz_wait)) >= 0) {
        if (n) buffer_put(&c->x.reply, text, (size_t)n);
        else sem_wait(&c->more);
    }
    if (c->x.feed && !feed_leave(c->x.feed, NULL)) abort();
}

/* Cuts the next word off the line; "" at its end. */
static char *fuzz_word(char **line) {
    while (**line == ' ') ++*line;
    char *word = *line;
    *line += strcspn(*line, " ");
    if (**line) *(*line)++ = '\0';
    return word;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = memchr(data, '\n', size);
    size_t head = end ? (size_t)(end - data) : size, rest = size - head - (end != NULL);
    char *line = malloc(head + 1), *body = malloc(rest + 1), *p = line;
    if (!line || !body) abort();
    memcpy(line, data, head);
    line[head] = '\0';
    memcpy(body, data + size - rest, rest);
    body[rest] = '\0';
    const char *method = fuzz_word(&p), *path = fuzz_word(&p), *length = fuzz_word(&p);
    fuzz_call c = {.x = {.s = &fuzz.s,
                         .method = method,
                         .path = path,
                         .header_length = *length ? length : NULL,
                         .body = body,
                         .body_len = rest,
                         .started_ns = clock_ns(),
                         .done = fuzz_done,
                         .wake = fuzz_wake}};
    sem_init(&c.ready, 0, 0);
    sem_init(&c.more, 0, 0);
    if (!protocol_handle(&c.x)) sem_wait(&c.ready);
    fuzz_read_feed(&c);
    if (c.x.status < 200 || c.x.status > 599 || (c.x.status >= 400 && !c.x.reply.len)) abort();
    repository_tend(&fuzz.s.repository);
    buffer_free(&c.x.reply);
    sem_destroy(&c.ready);
    sem_destroy(&c.more);
    free(line);
    free(body);
    return 0;
}
