/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_coverage.c - ctsc ops --coverage: how many of the operators of PyTorch 1.13 are supported.
 *
 * Counted are overloads of the aten namespace. `functional` ones write none of their arguments;
 * `core` are those that programs call: all but in-place and out= overloads, backward operators,
 * names that begin with an underscore, and copies of views (*_copy). Derivatives: of functional
 * ones that are supported and whose results have one.
 * Tests: tests/cli/ops.test
 */
#include "cli/ops.h"
#include "ctsc_compiler.h"

#include <string.h>

enum { COVERAGE_FAMILIES = 64 };

typedef struct coverage_count { int have, all; } coverage_count;

typedef struct coverage_family {
    const char *name;
    coverage_count every, functional, derivatives;
    json_t *missing; /* keys of overloads, functional ones only */
} coverage_family;

typedef struct coverage {
    coverage_family families[COVERAGE_FAMILIES];
    int n;
    coverage_count every, functional, derivatives, core, other;
} coverage;

static void coverage_add(coverage_count *c, bool have) {
    c->have += have;
    c->all++;
}

static bool coverage_is_core(const ctsc_operator_detail *o) {
    size_t name = strcspn(o->key, ".");
    bool in_place = o->key[name - 1] == '_' && o->key[name - 2] != '_';
    return strncmp(o->key, "aten::_", 7) && !in_place && strcmp(o->alias, "out") &&
           !strstr(o->key, "backward") && strncmp(o->key + name - 5, "_copy", 5);
}

/* Of operators whose results have a derivative: is it known? */
static void coverage_visit_derivative(coverage *c, coverage_family *f,
                                      const ctsc_operator_detail *o) {
    ctsc_derivative d = o->supported ? ctsc_operator_derivative(o->key) : CTSC_DERIVATIVE_NONE;
    if (d == CTSC_DERIVATIVE_NONE) return;
    coverage_add(&c->derivatives, d == CTSC_DERIVATIVE_FORMULA);
    coverage_add(&f->derivatives, d == CTSC_DERIVATIVE_FORMULA);
}

static void coverage_visit(void *ctx, const ctsc_operator_detail *o) {
    coverage *c = ctx;
    if (strncmp(o->key, "aten::", 6)) {
        coverage_add(&c->other, o->supported);
        return;
    }
    coverage_family *f = c->families;
    while (f < c->families + c->n - 1 && strcmp(f->name, o->family)) f++;
    coverage_add(&c->every, o->supported);
    coverage_add(&f->every, o->supported);
    if (coverage_is_core(o)) coverage_add(&c->core, o->supported);
    if (!o->functional) return;
    coverage_add(&c->functional, o->supported);
    coverage_add(&f->functional, o->supported);
    coverage_visit_derivative(c, f, o);
    if (!o->supported) json_array_append_new(f->missing, json_string(o->key));
}

static double coverage_share(coverage_count c) { return c.all ? 100.0 * c.have / c.all : 100; }

/* ---- text ------------------------------------------------------------------------------------ */

static void coverage_line(const char *name, coverage_count every, coverage_count functional,
                          coverage_count derivatives) {
    printf("%-30s %5d / %5d %5.1f %%   %5d / %5d %5.1f %%   %5d / %5d %5.1f %%\n", name, every.have,
           every.all, coverage_share(every), functional.have, functional.all,
           coverage_share(functional), derivatives.have, derivatives.all,
           coverage_share(derivatives));
}

static void coverage_print_missing(const coverage_family *f) {
    enum { WIDTH = 118 };
    size_t i, column = WIDTH;
    json_t *key;
    if (!json_array_size(f->missing)) return;
    printf("\n%s\n", f->name);
    json_array_foreach(f->missing, i, key) {
        size_t n = strlen(json_string_value(key)) - 6 + 2;
        if (column + n > WIDTH) {
            printf(i ? "\n   " : "   ");
            column = 3;
        }
        printf(" %s", json_string_value(key) + 6);
        column += n;
    }
    printf("\n");
}

static void coverage_print(const coverage *c, bool missing) {
    printf("%-30s %22s   %22s   %22s\n", "aten, by family", "overloads", "functional",
           "derivatives");
    for (int i = 0; i < c->n; i++)
        if (c->families[i].every.all)
            coverage_line(c->families[i].name, c->families[i].every, c->families[i].functional,
                          c->families[i].derivatives);
    coverage_line("all", c->every, c->functional, c->derivatives);
    printf("\nwhat programs call (no in-place, out=, backward operators, _names, copies of views): "
           "%d of %d, %.1f %%\n",
           c->core.have, c->core.all, coverage_share(c->core));
    printf("other namespaces: %d of %d\n", c->other.have, c->other.all);
    if (missing) printf("\nmissing (functional):\n");
    for (int i = 0; missing && i < c->n; i++) coverage_print_missing(&c->families[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *coverage_count_json(coverage_count c) {
    return json_pack("{s:i, s:i, s:f}", "supported", c.have, "all", c.all, "share",
                     coverage_share(c) / 100);
}

static int coverage_print_json(const coverage *c) {
    json_t *families = json_object();
    for (int i = 0; i < c->n; i++) {
        const coverage_family *f = &c->families[i];
        if (f->every.all)
            json_object_set_new(
                families, f->name,
                json_pack("{s:o, s:o, s:o, s:O}", "overloads", coverage_count_json(f->every),
                          "functional", coverage_count_json(f->functional), "derivatives",
                          coverage_count_json(f->derivatives), "missing", f->missing));
    }
    return cli_print_json(
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "overloads", coverage_count_json(c->every),
                  "functional", coverage_count_json(c->functional), "derivatives",
                  coverage_count_json(c->derivatives), "core", coverage_count_json(c->core),
                  "other_namespaces", coverage_count_json(c->other), "families", families));
}

int ops_coverage(bool missing, bool json) {
    coverage c = {.n = 0};
    int code = 0;
    for (const char *name; c.n < COVERAGE_FAMILIES && (name = ctsc_operator_family(c.n)); c.n++)
        c.families[c.n] = (coverage_family){.name = name, .missing = json_array()};
    ctsc_operator_details(coverage_visit, &c);
    if (json) code = coverage_print_json(&c);
    else coverage_print(&c, missing);
    for (int i = 0; i < c.n; i++) json_decref(c.families[i].missing);
    return code;
}
