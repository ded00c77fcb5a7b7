/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_tune.c - fine-tuning: weights of another model to begin with, as far as they fit, and
 * parameters that stay as they are.
 * Tests: tests/cli/train-data.test
 */
#include "cli/progress.h"
#include "cli/train/cli_train.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool tune_same_sizes(const ctsc_value *a, const ctsc_value *b) {
    int ndim = ctsc_tensor_ndim(a);
    return ctsc_value_kind(b) == CTSC_KIND_TENSOR && ctsc_tensor_ndim(b) == ndim &&
           !memcmp(ctsc_tensor_sizes(a), ctsc_tensor_sizes(b), (size_t)ndim * sizeof(int64_t));
}

/* "ctsc: base.pt: 12 of 14 tensors taken; as initialised: head.weight, head.bias" */
static void tune_tell(const char *path, const ctsc_value *state, const bool *taken, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += taken[i];
    progress_clear();
    fprintf(stderr, "ctsc: %s: %zu of %zu tensors taken", path, count, n);
    for (size_t i = 0, told = 0; i < n && told < 9; i++) {
        ctsc_value *key = taken[i] ? NULL : ctsc_value_key(state, i);
        const char *text = told == 8 ? "..." : ctsc_value_string(key, NULL);
        if (key) fprintf(stderr, "%s%s", told++ ? ", " : "; as initialised: ", text);
        ctsc_value_free(key);
    }
    fputc('\n', stderr);
}

/* The names of both sides say what is wrong: "conv1.weight", "backbone.conv1.weight". */
static int tune_unfit(const char *path, const ctsc_value *given, const ctsc_value *state) {
    ctsc_value *theirs = ctsc_value_len(given) ? ctsc_value_key(given, 0) : NULL,
               *ours = ctsc_value_len(state) ? ctsc_value_key(state, 0) : NULL;
    int code = cli_complain(CTSC_USAGE,
                            "--pretrained: %s has no tensor that fits: names and sizes have to be "
                            "those of the model; its first one is '%s', the model's is '%s'",
                            path, theirs ? ctsc_value_string(theirs, NULL) : "",
                            ours ? ctsc_value_string(ours, NULL) : "");
    ctsc_value_free(theirs);
    ctsc_value_free(ours);
    return code;
}

int tune_pretrained(ctsc_module *m, const char *path, ctsc_error *e) {
    ctsc_value *given = NULL, *state = NULL, *merged = NULL;
    if (ctsc_state_load(path, &given, e) != CTSC_OK) return cli_report(e);
    if (ctsc_module_state(m, &state, e) != CTSC_OK) return ctsc_value_free(given), cli_report(e);
    size_t n = ctsc_value_len(state), count = 0;
    ctsc_value **keys = calloc(n + 1, sizeof *keys), **items = calloc(n + 1, sizeof *items);
    bool *taken = calloc(n + 1, sizeof *taken);
    for (size_t i = 0; keys && items && taken && i < n; i++) {
        keys[i] = ctsc_value_key(state, i);
        items[i] = ctsc_value_item(state, i);
        ctsc_value *other = keys[i] ? ctsc_value_get(given, ctsc_value_string(keys[i], NULL))
                                    : NULL;
        taken[i] = other && items[i] && tune_same_sizes(items[i], other);
        count += taken[i];
        if (taken[i]) ctsc_value_free(items[i]);
        if (taken[i]) items[i] = other;
        else ctsc_value_free(other);
    }
    if (keys && items && taken) merged = ctsc_dict_new(n, keys, items);
    int code = !merged  ? cli_complain(CTSC_LIMIT, "out of memory")
               : !count ? tune_unfit(path, given, state)
               : ctsc_module_load_state(m, merged, e) == CTSC_OK ? 0
                                                                 : cli_report(e);
    if (!code) tune_tell(path, state, taken, n);
    for (size_t i = 0; keys && items && i < n; i++) {
        ctsc_value_free(keys[i]);
        ctsc_value_free(items[i]);
    }
    free(keys);
    free(items);
    free(taken);
    ctsc_value_free(merged);
    ctsc_value_free(state);
    ctsc_value_free(given);
    return code;
}

/* ---- frozen parameters ----------------------------------------------------------------------- */

/* Whether a pattern is for "layer1.0.weight": for all of the name, or for a
 * module that it is in. */
static bool tune_matches(const char *pattern, const char *name) {
    char part[512];
    for (const char *dot = name; (dot = strchr(dot, '.')); dot++) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
        if (!fnmatch(pattern, part, 0)) return true;
    }
    return !fnmatch(pattern, name, 0);
}

/* Stops the gradients of p where it has some. */
static ctsc_status tune_stop(ctsc_value *p, ctsc_value **frozen, size_t *n, ctsc_error *e) {
    if (!ctsc_value_requires_grad(p)) return CTSC_OK;
    if (!(frozen[*n] = ctsc_value_copy(p))) return ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    ++*n;
    return ctsc_value_set_requires_grad(p, false, e);
}

int tune_freeze(ctsc_module *m, const char *const *patterns, size_t n, ctsc_value **frozen,
                ctsc_value **out, ctsc_error *e) {
    ctsc_value *all = NULL;
    bool used[TRAIN_MAX_PATTERNS] = {false};
    if (ctsc_module_named_parameters(m, &all, e) != CTSC_OK) return cli_report(e);
    size_t count = ctsc_value_len(all), left = 0, stopped = 0;
    ctsc_value **trained = calloc(count + 1, sizeof *trained),
               **stops = calloc(count + 1, sizeof *stops);
    int code = trained && stops ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < count && !code; i++) {
        ctsc_value *key = ctsc_value_key(all, i), *p = ctsc_value_item(all, i);
        bool match = false;
        for (size_t k = 0; k < n && key; k++)
            if (tune_matches(patterns[k], ctsc_value_string(key, NULL))) match = used[k] = true;
        if (!key || !p) code = cli_complain(CTSC_LIMIT, "out of memory");
        else if (!match) trained[left++] = p, p = NULL;
        else if (tune_stop(p, stops, &stopped, e) != CTSC_OK) code = cli_report(e);
        ctsc_value_free(key);
        ctsc_value_free(p);
    }
    for (size_t k = 0; k < n && !code; k++)
        if (!used[k])
            code = cli_complain(CTSC_USAGE, "--freeze: no parameter is called '%s'", patterns[k]);
    if (!code && !left) code = cli_complain(CTSC_USAGE, "--freeze: no parameter is left to train");
    if (!code &&
        (!(*out = ctsc_list_new(left, trained)) || !(*frozen = ctsc_list_new(stopped, stops))))
        code = cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < left; i++) ctsc_value_free(trained[i]);
    for (size_t i = 0; i < stopped; i++) ctsc_value_free(stops[i]);
    free(trained);
    free(stops);
    ctsc_value_free(all);
    return code;
}

ctsc_status tune_thaw(const ctsc_value *frozen, ctsc_error *e) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; frozen && s == CTSC_OK && i < ctsc_value_len(frozen); i++) {
        ctsc_value *p = ctsc_value_item(frozen, i);
        s = p ? ctsc_value_set_requires_grad(p, true, e)
              : ctsc_error_set(e, CTSC_LIMIT, "out of memory");
        ctsc_value_free(p);
    }
    return s;
}
