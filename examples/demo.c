/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.c - two models that PyTorch trained and saved, run without PyTorch:
 * a CNN reads handwritten digits, a character GPT writes licence text.
 *
 *     demo MODELS_DIR        (what `make demo` runs)
 *
 * models/README.md tells how the models were made. The numbers are compared with PyTorch's own.
 */
#include <ctsc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int demo_fail(ctsc_error *e) {
    char *text = ctsc_error_render(e, false);
    fprintf(stderr, "%s\n", text ? text : ctsc_error_message(e));
    ctsc_string_free(text);
    return ctsc_error_status(e);
}

static double demo_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static ctsc_value *demo_load(const char *dir, const char *name, ctsc_error *e) {
    char path[4096];
    ctsc_value *v = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ctsc_value_load(path, &v, e);
    return v;
}

/* Element 0 of a saved tuple of arguments. */
static ctsc_value *demo_first(ctsc_value *tuple) {
    ctsc_value *v = tuple ? ctsc_value_item(tuple, 0) : NULL;
    ctsc_value_free(tuple);
    return v;
}

/* ---- digits ---------------------------------------------------------------------------------- */

static int demo_best(const float *row) {
    int best = 0;
    for (int k = 1; k < 10; k++)
        if (row[k] > row[best]) best = k;
    return best;
}

/* Some scans side by side, two pixels a character. */
static void demo_pictures(const float *images, const float *scores, const int64_t *labels,
                          int first, int count) {
    static const char shades[] = " .:-=+*#%@";
    for (int y = 0; y < 8; y++) {
        for (int i = first; i < first + count; i++) {
            printf("  ");
            for (int x = 0; x < 8; x++) {
                char c = shades[(int)(images[i * 64 + y * 8 + x] * 9.0f + 0.5f)];
                printf("%c%c", c, c);
            }
        }
        printf("\n");
    }
    for (int i = first; i < first + count; i++)
        printf("  reads %d, is %lld    ", demo_best(scores + i * 10), (long long)labels[i]);
    printf("\n\n");
}

static int demo_digits(const char *dir, ctsc_error *e) {
    char path[4096];
    snprintf(path, sizeof path, "%s/digits_cnn.pt", dir);
    ctsc_module *m = NULL;
    ctsc_value *images = NULL, *labels = NULL, *expected = NULL, *scores = NULL;
    int code = 0;
    double t0 = demo_now();
    if (ctsc_module_load(path, &m, e) != CTSC_OK ||
        !(images = demo_first(demo_load(dir, "digits_test.pt", e))) ||
        !(labels = demo_load(dir, "digits_labels.pt", e)) ||
        !(expected = demo_load(dir, "digits_expected.pt", e)))
        code = demo_fail(e);
    double t1 = demo_now();
    if (!code && ctsc_module_run(m, "forward", 1, &images, NULL, &scores, e) != CTSC_OK)
        code = demo_fail(e);
    double t2 = demo_now();
    if (!code) {
        const float *s = ctsc_tensor_data(scores), *want = ctsc_tensor_data(expected),
                    *im = ctsc_tensor_data(images);
        const int64_t *lab = ctsc_tensor_data(labels);
        int n = (int)ctsc_tensor_sizes(scores)[0], right = 0;
        double worst = 0;
        for (int i = 0; i < n; i++) right += demo_best(s + i * 10) == lab[i];
        for (int i = 0; i < n * 10; i++)
            if (fabs((double)s[i] - want[i]) > worst) worst = fabs((double)s[i] - want[i]);
        printf("Handwritten digits: a CNN trained in PyTorch, %d scans it has never seen\n\n", n);
        demo_pictures(im, s, lab, 0, 4);
        demo_pictures(im, s, lab, 4, 4);
        printf("accuracy                              %.4f\n", (double)right / n);
        printf("largest difference from PyTorch       %.2g\n", worst);
        printf("load %.1f ms, %d images in %.1f ms\n\n", (t1 - t0) * 1e3, n, (t2 - t1) * 1e3);
        if (worst > 1e-4) {
            fprintf(stderr, "demo: the results differ from PyTorch's\n");
            code = CTSC_FAILED;
        }
    }
    ctsc_value_free(scores);
    ctsc_value_free(expected);
    ctsc_value_free(labels);
    ctsc_value_free(images);
    ctsc_module_free(m);
    return code;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int demo_text(const char *dir, ctsc_error *e) {
    char path[4096];
    snprintf(path, sizeof path, "%s/chargpt.pt", dir);
    static const char prompt[] = "The licensee ";
    ctsc_module *m = NULL;
    ctsc_value *args[2] = {ctsc_string_new(prompt, strlen(prompt)), ctsc_int_new(120)},
               *text = NULL;
    ctsc_value *expected = demo_load(dir, "chargpt_generate_expected.pt", e);
    int code = expected && ctsc_module_load(path, &m, e) == CTSC_OK ? 0 : demo_fail(e);
    double t0 = demo_now();
    if (!code && ctsc_module_run(m, "generate", 2, args, NULL, &text, e) != CTSC_OK)
        code = demo_fail(e);
    double t1 = demo_now();
    if (!code) {
        bool same = !strcmp(ctsc_value_string(text, NULL), ctsc_value_string(expected, NULL));
        printf("A character GPT whose generate() is a TorchScript loop over strings, dicts, lists "
               "and tensors:\n\n");
        printf("  %s\n\n", ctsc_value_string(text, NULL));
        printf("PyTorch writes %s; 120 characters in %.0f ms\n",
               same ? "the same" : "something else", (t1 - t0) * 1e3);
        if (!same) code = CTSC_FAILED;
    }
    ctsc_value_free(text);
    ctsc_value_free(args[0]);
    ctsc_value_free(args[1]);
    ctsc_value_free(expected);
    ctsc_module_free(m);
    return code;
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : "models";
    ctsc_error *e = ctsc_error_new();
    if (!e) return CTSC_LIMIT;
    int code = demo_digits(dir, e);
    if (!code) code = demo_text(dir, e);
    ctsc_error_free(e);
    return code;
}
