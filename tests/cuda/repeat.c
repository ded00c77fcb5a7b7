/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat.c - programs of the corpus called again and again on a device: replayed calls against
 * such that are not.
 *
 *     repeat [--why] [--calls N] FOLDER ...          each with model.pt and inputs.pt (make test-cuda-repeat); --why: what could not be recorded
 *
 * Each program is loaded twice. The calls of one are recorded when they repeat; those of the other
 * have a limit of steps, which keeps them from being replayed (src/runtime/cuda/recordings.h). Call
 * by call both must return the same to the last bit, write the same to their arguments, print the
 * same and fail alike, and what earlier calls returned must stay what it was. A line per program
 * tells how many calls were replayed.
 */
#include "ctsc.h"
#include "runtime/cuda/recordings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 16, MAX_CALLS = 64, MAX_TEXT = 4096 };

/* What a call did. */
typedef struct outcome {
    ctsc_value *value, *args[MAX_ARGS];
    char error[512], printed[MAX_TEXT];
    size_t length;
} outcome;

static void fatal(const char *what, const char *why) {
    fprintf(stderr, "repeat: %s: %s\n", what, why);
    exit(2);
}

static void print_to(void *ctx, const char *text, size_t len) {
    outcome *o = ctx;
    if (len > sizeof o->printed - o->length) len = sizeof o->printed - o->length;
    memcpy(o->printed + o->length, text, len);
    o->length += len;
}

static ctsc_module *load_module(const char *path) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_load(path, &m, e) != CTSC_OK || ctsc_module_to(m, "cuda", e) != CTSC_OK) {
        fprintf(stderr, "%s: %s\n", path, ctsc_error_message(e));
        ctsc_module_free(m);
        m = NULL;
    }
    ctsc_error_free(e);
    return m;
}

static size_t load_inputs(const char *path, ctsc_value **args) {
    ctsc_value *all = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_value_load(path, &all, e) != CTSC_OK) fatal(path, ctsc_error_message(e));
    size_t n = ctsc_value_len(all);
    if (n > MAX_ARGS) fatal(path, "too many arguments");
    for (size_t i = 0; i < n; i++) {
        ctsc_value *host = ctsc_value_item(all, i);
        if (ctsc_value_to(host, "cuda", &args[i], e) != CTSC_OK) fatal(path, ctsc_error_message(e));
        ctsc_value_free(host);
    }
    ctsc_value_free(all);
    ctsc_error_free(e);
    return n;
}

/* limited: not to be replayed. */
static size_t call(ctsc_module *m, const char *inputs, bool limited, outcome *o) {
    ctsc_error *e = ctsc_error_new();
    size_t n = load_inputs(inputs, o->args);
    ctsc_run_options ro = {
        .size = sizeof ro, .print = print_to, .ctx = o, .max_steps = limited ? UINT64_MAX / 2 : 0};
    if (ctsc_module_run(m, "forward", n, o->args, &ro, &o->value, e) != CTSC_OK)
        snprintf(o->error, sizeof o->error, "%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return n;
}

static bool same_value(const char *folder, int i, const ctsc_value *got, const ctsc_value *want) {
    char *why = NULL;
    if (!got && !want) return true;
    bool ok = got && want && ctsc_value_close(got, want, 0, 0, &why);
    if (!ok)
        printf("FAIL %s: call %d: %s\n", folder, i, why ? why : "one of the two has no result");
    ctsc_string_free(why);
    return ok;
}

static bool same(const char *folder, int i, size_t n, const outcome *got, const outcome *want) {
    bool ok = !strcmp(got->error, want->error) && got->length == want->length &&
              !memcmp(got->printed, want->printed, got->length);
    if (!ok) printf("FAIL %s: call %d: '%s' and '%s'\n", folder, i, got->error, want->error);
    ok = ok && same_value(folder, i, got->value, want->value);
    for (size_t k = 0; k < n && ok; k++) ok = same_value(folder, i, got->args[k], want->args[k]);
    return ok;
}

static bool check(const char *folder, int calls) {
    static outcome got[MAX_CALLS], want[MAX_CALLS];
    char model[1024], inputs[1024];
    size_t n = 0;
    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    snprintf(model, sizeof model, "%s/model.pt", folder);
    snprintf(inputs, sizeof inputs, "%s/inputs.pt", folder);
    ctsc_module *replayed = load_module(model), *plain = replayed ? load_module(model) : NULL;
    if (!plain) return printf("%s: not on a device\n", folder), true;
    recordings_stats before = recordings_get_stats();
    bool ok = true;
    for (int i = 0; i < calls && ok; i++) {
        n = call(replayed, inputs, false, &got[i]);
        call(plain, inputs, true, &want[i]);
        ok = same(folder, i, n, &got[i], &want[i]);
    }
    for (int i = 0; i < calls && ok; i++) ok = same(folder, i, n, &got[i], &want[i]);
    recordings_stats after = recordings_get_stats();
    if (ok)
        printf("%s: %lld of %d calls replayed\n", folder,
               (long long)(after.replayed - before.replayed), calls);
    ctsc_module_free(replayed);
    ctsc_module_free(plain);
    for (int i = 0; i < calls; i++) {
        ctsc_value_free(got[i].value), ctsc_value_free(want[i].value);
        for (size_t k = 0; k < n; k++)
            ctsc_value_free(got[i].args[k]), ctsc_value_free(want[i].args[k]);
    }
    return ok;
}

static void say_why(void *ctx, ctsc_log_level level, const char *text) {
    (void)ctx, (void)level;
    if (strstr(text, "recorded")) printf("    %s\n", text);
}

int main(int argc, char **argv) {
    int calls = 5, failures = 0, first = 1;
    if (argc > 2 && !strcmp(argv[1], "--why"))
        ctsc_set_log(CTSC_LOG_INFO, say_why, NULL), first = 2;
    if (argc > first + 1 && !strcmp(argv[first], "--calls"))
        calls = atoi(argv[first + 1]), first += 2;
    if (calls < 1 || calls > MAX_CALLS || first >= argc)
        fatal("usage", "repeat [--why] [--calls N] FOLDER ...");
    for (int i = first; i < argc; i++) {
        failures += !check(argv[i], calls);
        fflush(stdout);
    }
    recordings_stats s = recordings_get_stats();
    printf("%d programs, %d failed; %lld calls recorded, %lld refused, %lld replayed\n",
           argc - first, failures, (long long)s.recorded, (long long)s.refused,
           (long long)s.replayed);
    return failures != 0;
}
