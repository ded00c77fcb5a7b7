/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_exported.c - programs of torch.export with a field missing, of another type, huge or
 * nested in itself: a message, and nothing worse. What is still a program after that is
 * run, within limits.
 *
 * Method. Each program of tests/pt2/archives is a tree of JSON; at each place of it, one after the
 * other, each change is made, tried and taken back. That is a quarter of a million programs:
 * EXPORTED_EVERY says which part of them (1: all, make test-pt2-damage), by default one in 97.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/export/ep.h"
#include "passes/passes.h"
#include "runtime/archive/archive_internal.h"
#include "runtime/interp/interp.h"
#include "runtime/ops/registry.h"
#include "runtime/program/exported.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME = 400 };
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TRIAL_SECONDS 10.0
#else
#define TRIAL_SECONDS 1.0
#endif

typedef struct trial {
    module *original; /* whose state it has */
    value inputs;     /* a tuple */
    json_t *program;
    bool payloads; /* the table of weights, not the program */
    size_t at, every;
    size_t tried, refused, ran;
    double longest; /* seconds of the processor for one program */
} trial;

/* The tensor of that name in a module. */
static ctsc_status trial_state(void *ctx, diag *d, ep_role role, const char *name, bool saved,
                               value *out) {
    value v = ((trial *)ctx)->original->root;
    (void)role, (void)saved;
    for (const char *at = name; v.tag == V_OBJECT;) {
        size_t n = strcspn(at, ".");
        char part[NAME];
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        int slot = class_find_attribute(v.u.object->cls, part);
        if (slot < 0) break;
        v = v.u.object->slots[slot];
        if (!at[n]) break;
        at += n + 1;
    }
    if (v.tag != V_TENSOR) return diag_fail(d, CTSC_BAD_FILE, "no content of '%s'", name);
    *out = value_ref(v);
    return CTSC_OK;
}

static ctsc_status trial_visit(void *ctx, diag *d, const ep_payload *p) {
    (void)ctx, (void)d, (void)p;
    return CTSC_OK;
}

static void trial_run(trial *t, value root) {
    diag d = {.max_tensor = 1 << 20};
    runtime *rt = malloc(sizeof *rt);
    function *f = class_find_method(root.u.object->cls, "forward");
    value args[64] = {root}, out = value_none();
    size_t n = t->inputs.u.tuple->len;
    runtime_init(rt);
    rt->steps_left = 20000;
    rt->opt = (int)(t->tried % 2);
    for (size_t i = 0; i < n; i++) value_clone(NULL, t->inputs.u.tuple->items[i], &args[i + 1]);
    if (n < 60 && module_call(f, rt, n + 1, args, &d, &out) == CTSC_OK) t->ran++;
    else assert_true(*diag_message(&d) != 0);
    for (size_t i = 0; i < n; i++) value_unref(args[i + 1]);
    value_unref(out);
    diag_clear(&d);
    free(rt);
}

static void trial_import(trial *t, const char *text) {
    diag d = {0};
    value root = value_none();
    ep_host host = {t, trial_state};
    unit *u = unit_new();
    u->simplify = pipeline_simplify;
    ctsc_status s = t->payloads
                        ? ep_read_payloads(&d, "config", text, strlen(text), trial_visit, NULL)
                        : ep_import(&d, u, "program", text, strlen(text), &host, &root);
    t->tried++;
    if (s != CTSC_OK) {
        t->refused++;
        if (s != CTSC_BAD_FILE && s != CTSC_UNSUPPORTED && s != CTSC_LIMIT)
            fail_msg("status %d: %s", (int)s, diag_message(&d));
        assert_true(*diag_message(&d) != 0);
    } else if (root.tag == V_OBJECT) {
        trial_run(t, root);
    }
    value_unref(root);
    unit_close(u);
    unit_unref(u);
    diag_clear(&d);
}

static double trial_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A bound on work, not on speed: what is refused or runs within limits takes milliseconds. */
static void trial_try(trial *t) {
    if (t->at++ % t->every) return;
    char *text = json_dumps(t->program, JSON_COMPACT);
    double begin = trial_seconds();
    if (text) trial_import(t, text); /* NULL: it would hold itself */
    double took = trial_seconds() - begin;
    if (took > t->longest) t->longest = took;
    if (took > TRIAL_SECONDS) fail_msg("program %zu takes %.1f s", t->at - 1, took);
    free(text);
}

/* ---- changes --------------------------------------------------------------------------------- */

static json_t *change_nested(const char *open) {
    json_t *v = json_null();
    for (int i = 0; i < 300; i++) {
        json_t *outer = *open == '[' ? json_array() : json_object();
        if (*open == '[') json_array_append_new(outer, v);
        else json_object_set_new(outer, open, v);
        v = outer;
    }
    return v;
}

static json_t *change_long(void) {
    static char text[1 << 16];
    memset(text, 'x', sizeof text - 1);
    return json_string(text);
}

static json_t *change_many(void) {
    json_t *v = json_array();
    for (int i = 0; i < 10000; i++) json_array_append_new(v, json_integer(i));
    return v;
}

static json_t *change_make(int i, const json_t *parent) {
    switch (i) {
    case 0: return json_null();
    case 1: return json_true();
    case 2: return json_integer(-1);
    case 3: return json_integer(7);
    case 4: return json_integer(INT64_MAX);
    case 5: return json_real(1e300);
    case 6: return json_string("x");
    case 7: return json_array();
    case 8: return json_object();
    case 9: return change_nested("[");
    case 10: return change_nested("as_graph");
    case 11: return json_deep_copy(parent);
    case 12: return change_long();
    case 13: return change_many();
    default: return NULL;
    }
}

static void trial_walk(trial *t, json_t *parent);

static void trial_member(trial *t, json_t *parent, const char *key) {
    json_t *child = json_incref(json_object_get(parent, key)), *changed;
    for (int i = 0; (changed = change_make(i, parent)); i++) {
        json_object_set_new(parent, key, changed);
        trial_try(t);
    }
    json_object_del(parent, key);
    trial_try(t);
    json_object_set(parent, key, child);
    if (strcmp(key, "metadata")) trial_walk(t, child);
    json_decref(child);
}

static void trial_item(trial *t, json_t *parent, size_t k) {
    json_t *child = json_incref(json_array_get(parent, k)), *changed;
    for (int i = 0; (changed = change_make(i, parent)); i++) {
        json_array_set_new(parent, k, changed);
        trial_try(t);
    }
    json_array_set(parent, k, child);
    json_array_insert(parent, k, child);
    trial_try(t);
    json_array_remove(parent, k);
    json_array_remove(parent, k);
    trial_try(t);
    json_array_insert(parent, k, child);
    trial_walk(t, child);
    json_decref(child);
}

static void trial_walk(trial *t, json_t *parent) {
    char *keys[200];
    size_t n = 0;
    const char *key;
    json_t *v;
    json_object_foreach(parent, key, v) if (n < 200) keys[n++] = strdup(key);
    for (size_t i = 0; i < n; i++) {
        trial_member(t, parent, keys[i]);
        free(keys[i]);
    }
    for (size_t i = 0; json_is_array(parent) && i < json_array_size(parent); i++)
        trial_item(t, parent, i);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void trial_record(trial *t, archive *a, const char *record) {
    storage *st = NULL;
    diag d = {0};
    assert_int_equal(archive_read(a, &d, record, &st), CTSC_OK);
    assert_non_null(t->program = json_loadb(st->data, st->nbytes, 0, NULL));
    trial_walk(t, t->program);
    json_decref(t->program);
    storage_unref(st);
}

static void test_damage(void **state) {
    const char *folder = *state, *every = getenv("EXPORTED_EVERY");
    char path[NAME];
    diag d = {0};
    reader r;
    archive *a = NULL;
    trial t = {.every = every ? strtoul(every, NULL, 10) : 97};
    snprintf(path, sizeof path, "tests/pt2/archives/%s/model.pt2", folder);
    assert_int_equal(reader_open_file(&d, path, &r), CTSC_OK);
    if (module_load(&d, r, &t.original) != CTSC_OK) fail_msg("%s", diag_message(&d));
    assert_int_equal(reader_open_file(&d, path, &r), CTSC_OK);
    assert_int_equal(archive_open(&d, r, &a), CTSC_OK);
    snprintf(path, sizeof path, "tests/pt2/archives/%s/inputs.pt", folder);
    assert_int_equal(reader_open_file(&d, path, &r), CTSC_OK);
    assert_int_equal(load_pickled_file(&d, r, &t.inputs), CTSC_OK);
    bool is_flat = archive_has(a, "serialized_exported_program.json");
    trial_record(&t, a, is_flat ? "serialized_exported_program.json" : "models/model.json");
    t.payloads = true;
    static const char *const configs[] = {"data/weights/model_weights_config.json",
                                          "data/constants/model_constants_config.json"};
    for (int i = 0; i < 2; i++)
        if (archive_has(a, configs[i])) trial_record(&t, a, configs[i]);
    assert_true(t.tried > 0 && t.refused > 0);
    if (getenv("EXPORTED_EVERY"))
        printf("%s: %zu tried, %zu refused, %zu ran, the longest took %.0f ms\n", folder, t.tried,
               t.refused, t.ran, t.longest * 1e3);
    value_unref(t.inputs);
    module_free(t.original);
    archive_unref(a);
    diag_clear(&d);
}

int main(void) {
    static struct CMUnitTest tests[100];
    static char names[100][NAME];
    int n = 0;
    DIR *dir = opendir("tests/pt2/archives");
    registry_install();
    for (struct dirent *e; dir && (e = readdir(dir)) && n < 100;) {
        if (e->d_name[0] == '.') continue;
        snprintf(names[n], NAME, "%.300s", e->d_name);
        tests[n] = (struct CMUnitTest){
            .name = names[n], .test_func = test_damage, .initial_state = names[n]};
        n++;
    }
    if (dir) closedir(dir);
    return n ? _cmocka_run_group_tests("exported", tests, (size_t)n, NULL, NULL) : 1;
}
