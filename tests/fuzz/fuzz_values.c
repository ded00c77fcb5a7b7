/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_values.c - any bytes given to the readers of data, settings and programs of torch.export: a
 * value, or a refusal.
 *
 * The first byte chooses the reader; what follows is its file: .npy and .npz, weights as
 * ctsc_state_load takes them, a model in memory (archive, .pt2 or ONNX by its content), or a
 * model's config.json. Seeds: any such files after that byte.
 */
#include "ctsc.h"
#include "serve/config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop_printed(ctsc_value *v) {
    ctsc_string_free(ctsc_value_print(v));
    ctsc_value_free(v);
}

/* A file that exists in memory alone; its path is in `path`. */
static int memory_file(const uint8_t *data, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_value(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memory_file(data, size, path);
    ctsc_value *v = NULL;
    if (ctsc_value_load(path, &v, NULL) == CTSC_OK) drop_printed(v);
    close(fd);
}

static void read_weights(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memory_file(data, size, path);
    ctsc_value *v = NULL;
    if (ctsc_state_load(path, &v, NULL) == CTSC_OK) drop_printed(v);
    close(fd);
}

static void read_model(const uint8_t *data, size_t size) {
    ctsc_module *m = NULL;
    char *text = NULL;
    if (ctsc_module_load_memory(data, size, &m, NULL) != CTSC_OK) return;
    for (size_t i = 0; i < ctsc_module_method_count(m); i++)
        if (ctsc_module_graph(m, ctsc_module_method_name(m, i), CTSC_GRAPH_INLINED, &text, NULL) ==
            CTSC_OK)
            ctsc_string_free(text);
    ctsc_module_free(m);
}

static void read_config(const uint8_t *data, size_t size) {
    serve_options o = {.instances = 1, .max_queue = 1};
    model_config c;
    char why[256];
    config_read((const char *)data, size, &o, &c, why, sizeof why);
    config_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    switch (data[0] % 4) {
    case 0: read_value(data + 1, size - 1); break;
    case 1: read_weights(data + 1, size - 1); break;
    case 2: read_model(data + 1, size - 1); break;
    default: read_config(data + 1, size - 1);
    }
    return 0;
}
