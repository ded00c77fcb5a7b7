/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_augment.c - what ctsc train does to the first input of each batch: bytes of images to
 * floats, images flipped and moved at random, means and deviations taken out.
 *
 * Random numbers are those of the scope that dropout draws from, so a checkpoint has their state,
 * and a resumed run sees the same images. Four are drawn per image, used or not.
 * Tests: tests/cli/train-data.test
 */
#include "cli/train/cli_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AUGMENT_MAX_CROP = 4096, AUGMENT_DRAWS = 4 };

/* ---- options --------------------------------------------------------------------------------- */

static bool augment_crop(train_augment *a, const char *text, size_t len) {
    char number[16], *end;
    if (!len || len >= sizeof number) return false;
    snprintf(number, sizeof number, "%.*s", (int)len, text);
    long v = strtol(number, &end, 10);
    a->crop = (int)v;
    return !*end && v >= 1 && v <= AUGMENT_MAX_CROP;
}

static bool augment_number(train_augment *a, const char *text, size_t len) {
    char number[64], *end;
    if (!len || len >= sizeof number || a->nnumbers == AUGMENT_MAX_NUMBERS) return false;
    snprintf(number, sizeof number, "%.*s", (int)len, text);
    double x = cli_double(number, &end);
    a->numbers[a->nnumbers++] = x;
    return !*end && isfinite(x);
}

/* One word; *numbers: it was normalise=..., and numbers may follow. */
static bool augment_word(train_augment *a, const char *text, size_t len, bool *numbers) {
    static const char *const names[] = {"normalise", "normalize"};
    bool more = *numbers;
    *numbers = false;
    if (len == 4 && !strncmp(text, "flip", 4)) return a->flip = true;
    if (len == 5 && !strncmp(text, "vflip", 5)) return a->vflip = true;
    if (len > 5 && !strncmp(text, "crop=", 5)) return augment_crop(a, text + 5, len - 5);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (len < n || strncmp(text, names[i], n)) continue;
        if (a->normalise) return false; /* once only */
        a->normalise = true;
        if (len == n) return true;
        *numbers = true;
        return text[n] == '=' && augment_number(a, text + n + 1, len - n - 1);
    }
    return more && (*numbers = true) && augment_number(a, text, len);
}

bool augment_parse(train_augment *a, const char *text) {
    bool numbers = false;
    do {
        size_t len = strcspn(text, ",");
        if (!augment_word(a, text, len, &numbers)) return false;
        text += len + (text[len] == ',');
    } while (*text);
    if (a->nnumbers % 2) return false;
    for (size_t i = a->nnumbers / 2; i < a->nnumbers; i++)
        if (a->numbers[i] == 0) return false;
    return true;
}

/* ---- the numbers of the data ----------------------------------------------------------------- */

static double augment_element(const void *data, ctsc_dtype dtype, int64_t i) {
    if (dtype == CTSC_UINT8) return ((const uint8_t *)data)[i] / 255.0;
    if (dtype == CTSC_FLOAT64) return ((const double *)data)[i];
    return (double)((const float *)data)[i];
}

/* Mean and deviation of channel c of x, [rows, channels, ...], contiguous. A channel that is
 * constant has the deviation 1. */
static void augment_measure(const ctsc_value *x, int64_t c, double *mean, double *deviation) {
    const int64_t *sizes = ctsc_tensor_sizes(x);
    const void *data = ctsc_tensor_data(x);
    ctsc_dtype dtype = ctsc_tensor_dtype(x);
    int64_t inner = 1;
    for (int i = 2; i < ctsc_tensor_ndim(x); i++) inner *= sizes[i];
    double sum = 0, squares = 0, n = (double)(sizes[0] * inner);
    for (int64_t row = 0; row < sizes[0]; row++)
        for (int64_t i = 0; i < inner; i++)
            sum += augment_element(data, dtype, (row * sizes[1] + c) * inner + i);
    *mean = sum / n;
    for (int64_t row = 0; row < sizes[0]; row++)
        for (int64_t i = 0; i < inner; i++) {
            double d = augment_element(data, dtype, (row * sizes[1] + c) * inner + i) - *mean;
            squares += d * d;
        }
    *deviation = squares > 0 ? sqrt(squares / n) : 1;
}

/* The numbers in the form of the option, since whoever uses the model has to do the same. */
static void augment_tell(const train_augment *a) {
    printf("normalise=");
    for (size_t i = 0; i < a->nnumbers; i++) printf("%s%.6g", i ? "," : "", a->numbers[i]);
    puts("");
}

static int augment_find_numbers(train_augment *a, const ctsc_value *x, ctsc_error *e) {
    ctsc_value *flat = NULL;
    int64_t channels = ctsc_tensor_sizes(x)[1];
    if (channels < 1 || 2 * channels > AUGMENT_MAX_NUMBERS)
        return cli_complain(CTSC_USAGE,
                            "--augment normalise is for 1 to %d columns or channels, not %lld",
                            AUGMENT_MAX_NUMBERS / 2, (long long)channels);
    if (ctsc_tensor_contiguous(x, &flat, e) != CTSC_OK) return cli_report(e);
    for (int64_t c = 0; c < channels; c++)
        augment_measure(flat, c, &a->numbers[c], &a->numbers[channels + c]);
    ctsc_value_free(flat);
    a->nnumbers = 2 * (size_t)channels;
    augment_tell(a);
    return 0;
}

static int augment_check(const train_augment *a, const ctsc_value *x) {
    bool moves = a->flip || a->vflip || a->crop;
    int ndim = ctsc_tensor_ndim(x);
    ctsc_dtype dtype = ctsc_tensor_dtype(x);
    bool bytes = dtype == CTSC_UINT8, wide = dtype == CTSC_FLOAT64;
    if (moves && ndim != 4)
        return cli_complain(CTSC_USAGE,
                            "--augment: flip, vflip and crop are for images, [rows, channels, "
                            "height, width]; the first input has %d dims",
                            ndim);
    if (moves && !bytes && dtype != CTSC_FLOAT32)
        return cli_complain(CTSC_USAGE, "--augment: images of float32 or uint8 are expected");
    if (a->normalise && (ndim < 2 || (!bytes && !wide && dtype != CTSC_FLOAT32)))
        return cli_complain(CTSC_USAGE, "--augment normalise: floats with columns or channels are "
                                        "expected");
    if (a->nnumbers > 2 && (int64_t)a->nnumbers != 2 * ctsc_tensor_sizes(x)[1])
        return cli_complain(CTSC_USAGE, "--augment normalise: %zu numbers for %lld channels",
                            a->nnumbers, (long long)ctsc_tensor_sizes(x)[1]);
    return 0;
}

int augment_begin(train_augment *a, const ctsc_value *data, ctsc_error *e) {
    ctsc_value *x = ctsc_value_item(data, 0);
    if (!x) return cli_complain(CTSC_LIMIT, "out of memory");
    int code = augment_check(a, x);
    if (!code && a->normalise && !a->nnumbers) code = augment_find_numbers(a, x, e);
    ctsc_value_free(x);
    return code;
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* One image of one channel: to(y, x) = from(y + down, x + right), 0 outside, x and y mirrored
 * first. */
static void augment_plane(float *to, const float *from, int64_t height, int64_t width, int64_t down,
                          int64_t right, bool mirror, bool upside) {
    for (int64_t y = 0; y < height; y++) {
        int64_t v = (upside ? height - 1 - y : y) + down;
        for (int64_t x = 0; x < width; x++) {
            int64_t u = (mirror ? width - 1 - x : x) + right;
            bool inside = v >= 0 && v < height && u >= 0 && u < width;
            to[y * width + x] = inside ? from[v * width + u] : 0;
        }
    }
}

static int64_t augment_shift(const train_augment *a, double draw) {
    return (int64_t)(draw * (2 * a->crop + 1)) - a->crop;
}

static ctsc_value *augment_move(const train_augment *a, ctsc_scope *s, ctsc_value *x) {
    const int64_t *sizes = ctsc_tensor_sizes(x);
    int64_t count[] = {sizes[0], AUGMENT_DRAWS}, plane = sizes[2] * sizes[3];
    ctsc_value *from = ctsc_contiguous(s, x),
               *draws = ctsc_op(s, "aten::rand", 1, ctsc_ints(s, 2, count)),
               *to = ctsc_zeros(s, CTSC_FLOAT32, 4, sizes);
    if (!from || !draws || !to) return NULL;
    const float *random = ctsc_tensor_data(draws);
    for (int64_t i = 0; i < sizes[0]; i++, random += AUGMENT_DRAWS)
        for (int64_t c = 0; c < sizes[1]; c++) {
            int64_t at = (i * sizes[1] + c) * plane;
            augment_plane((float *)ctsc_tensor_data(to) + at,
                          (const float *)ctsc_tensor_data(from) + at, sizes[2], sizes[3],
                          augment_shift(a, (double)random[0]), augment_shift(a, (double)random[1]),
                          a->flip && random[2] < 0.5f, a->vflip && random[3] < 0.5f);
        }
    return to;
}

static ctsc_value *augment_normalise(const train_augment *a, ctsc_scope *s, ctsc_value *x) {
    int64_t each = (int64_t)a->nnumbers / 2, shape[16] = {0};
    int ndim = ctsc_tensor_ndim(x);
    ctsc_value *of[2];
    for (int i = 0; i < 16; i++) shape[i] = i == 1 ? each : 1;
    for (int k = 0; k < 2; k++) {
        of[k] = ctsc_zeros(s, CTSC_FLOAT64, (size_t)(ndim < 16 ? ndim : 16), shape);
        if (!of[k]) return NULL;
        memcpy(ctsc_tensor_data(of[k]), a->numbers + k * each, (size_t)each * sizeof(double));
        of[k] = ctsc_to(s, of[k], ctsc_tensor_dtype(x));
    }
    return ctsc_div(s, ctsc_sub(s, x, of[0]), of[1]);
}

ctsc_status augment_batch(const train_augment *a, ctsc_scope *s, bool images, bool training,
                          ctsc_value **batch, ctsc_error *e) {
    bool moves = training && (a->flip || a->vflip || a->crop);
    size_t n = ctsc_value_len(*batch);
    ctsc_value *items[64];
    if (!images && !moves && !a->normalise) return CTSC_OK;
    for (size_t i = 0; i < n; i++) items[i] = ctsc_item(s, *batch, i);
    if (images) items[0] = ctsc_div(s, ctsc_to(s, items[0], CTSC_FLOAT32), ctsc_float(s, 255));
    if (items[0] && moves) items[0] = augment_move(a, s, items[0]);
    if (items[0] && a->normalise) items[0] = augment_normalise(a, s, items[0]);
    ctsc_status st = ctsc_scope_status(s);
    ctsc_value *made = st == CTSC_OK ? ctsc_tuple_new(n, items) : NULL;
    if (st != CTSC_OK) ctsc_error_set(e, st, "%s", ctsc_error_message(ctsc_scope_error(s)));
    else if (!made) st = ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    ctsc_scope_clear(s);
    if (!made) return st;
    ctsc_value_free(*batch);
    *batch = made;
    return CTSC_OK;
}
