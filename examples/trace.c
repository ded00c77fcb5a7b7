/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - a network written in plain C, traced, saved as an archive that PyTorch reads as well,
 * loaded again and run.
 *
 *     trace MODELS_DIR OUT.pt        trace models /tmp/traced.pt
 *
 * The network is the digits model of models/README.md, layer by layer, with the weights of
 * models/digits_cnn.pt. Its answers are compared with those that PyTorch gave.
 */
#include <ctsc.h>

#include <stdio.h>
#include <stdlib.h>

/* Convolution, batch norm, relu, pooling. Names are those of the model's modules:
 * "conv1", "bn1". */
static ctsc_value *block(ctsc_scope *s, const ctsc_module *m, ctsc_value *x, const char *conv,
                         const char *bn) {
    static const char *const parts[] = {"weight", "bias",         "weight",
                                        "bias",   "running_mean", "running_var"};
    ctsc_value *w[6];
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", i < 2 ? conv : bn, parts[i]);
        w[i] = ctsc_attribute(s, m, name);
    }
    x = ctsc_conv2d(s, x, w[0], w[1], 1, 1);
    x = ctsc_batch_norm(s, x, w[2], w[3], w[4], w[5], 1e-5);
    return ctsc_max_pool2d(s, ctsc_relu(s, x), 2, 2, 0);
}

static ctsc_value *digits(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *inputs) {
    const ctsc_module *m = ctx;
    (void)n;
    ctsc_value *x = block(s, m, inputs[0], "conv1", "bn1");
    x = ctsc_flatten(s, block(s, m, x, "conv2", "bn2"), 1, -1);
    x = ctsc_relu(
        s, ctsc_linear(s, x, ctsc_attribute(s, m, "fc1.weight"), ctsc_attribute(s, m, "fc1.bias")));
    x = ctsc_linear(s, x, ctsc_attribute(s, m, "fc2.weight"), ctsc_attribute(s, m, "fc2.bias"));
    return ctsc_log_softmax(s, x, 1);
}

static void warn(void *ctx, const char *text) {
    (void)ctx;
    fprintf(stderr, "warning: %s\n", text);
}

/* Item 0 of a tuple of arguments. */
static ctsc_value *first(ctsc_scope *s, ctsc_value *tuple) {
    return ctsc_item(s, ctsc_take(s, tuple), 0);
}

static ctsc_status trace(const char *models, const char *out, ctsc_scope *s, ctsc_error *e) {
    char path[4096];
    ctsc_module *trained = NULL, *traced = NULL, *loaded = NULL;
    ctsc_value *file = NULL, *expected = NULL, *got = NULL;
    snprintf(path, sizeof path, "%s/digits_cnn.pt", models);
    ctsc_status st = ctsc_module_load(path, &trained, e);
    snprintf(path, sizeof path, "%s/digits_test.pt", models);
    if (st == CTSC_OK) st = ctsc_value_load(path, &file, e);
    snprintf(path, sizeof path, "%s/digits_expected.pt", models);
    if (st == CTSC_OK) st = ctsc_value_load(path, &expected, e);
    if (st != CTSC_OK) goto end;

    /* Traced with 4 images, checked with 1: a trace that holds for any number of them has
     * no number in it. */
    ctsc_value *images = first(s, file), *few = ctsc_narrow(s, images, 0, 0, 4),
               *one = ctsc_narrow(s, images, 0, 4, 1);
    if ((st = ctsc_scope_status(s)) != CTSC_OK) {
        fprintf(stderr, "%s\n", ctsc_error_message(ctsc_scope_error(s)));
        goto end;
    }
    ctsc_value *const *const others[] = {&one};
    const char *const names[] = {"images"};
    ctsc_trace_options o = {.size = sizeof o,
                            .name = "Digits",
                            .warn = warn,
                            .input_names = names,
                            .check_count = 1,
                            .check_inputs = others};
    st = ctsc_trace(digits, trained, 1, &few, &o, &traced, e);
    if (st == CTSC_OK) st = ctsc_module_save(traced, out, e);

    /* From here on only the archive counts. */
    if (st == CTSC_OK) st = ctsc_module_load(out, &loaded, e);
    if (st == CTSC_OK) st = ctsc_module_run(loaded, "forward", 1, &images, NULL, &got, e);
    char *code = NULL, *why = NULL;
    if (st == CTSC_OK) st = ctsc_module_code(loaded, "forward", &code, e);
    if (st == CTSC_OK) {
        bool same = ctsc_value_close(got, expected, 1e-4, 1e-5, &why);
        printf("%s\n%lld images, %s\n", code, (long long)ctsc_tensor_sizes(got)[0],
               same ? "as PyTorch reads them" : why);
        if (!same) st = CTSC_FAILED;
    }
    ctsc_string_free(code);
    ctsc_string_free(why);
end:
    ctsc_value_free(got);
    ctsc_value_free(expected);
    ctsc_module_free(loaded);
    ctsc_module_free(traced);
    ctsc_module_free(trained);
    return st;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: trace MODELS_DIR OUT.pt\n");
        return CTSC_USAGE;
    }
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_status st = e && s ? trace(argv[1], argv[2], s, e) : CTSC_LIMIT;
    if (st != CTSC_OK && *ctsc_error_message(e))
        fprintf(stderr, "trace: %s\n", ctsc_error_message(e));
    ctsc_scope_free(s);
    ctsc_error_free(e);
    return (int)st;
}
