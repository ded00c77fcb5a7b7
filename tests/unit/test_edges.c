/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_edges.c - every operator at the edges: empty, 0-dim and overlapping tensors, mixed dtypes, nan, infinities, overflow.
 *
 *     test_edges [FILE] [-v] [-k KEPT]
 *
 * Checks the lines of tests/edges/cases.txt and grid.txt (or FILE), which tests/edges/make.py wrote down from PyTorch, and of resize.txt. Numbers agree within the dtype's tolerance,
 * all else to the letter, resized images to the last bit; where PyTorch fails ctsc has to fail, in words of its own if need be. -v counts, and shows other words; -k writes the
 * lines that agree to KEPT, for a new cases.txt.
 */
#include "opcase.h"

#include <math.h>
#include <stdio.h>

static const char *edges_file, *edges_kept;
static bool edges_verbose, edges_exact;

typedef struct tolerance { const char *name; double relative, absolute; } tolerance;

static const tolerance edges_tolerances[] = {
    {"bf16[", 2e-2, 1e-2}, {"f16[", 2e-3, 1e-3}, {"f32[", 1.3e-5, 1e-5}, {"f64[", 1e-7, 1e-7},
};

static bool edges_number(const char *p, char **end, double *out) {
    if (!strncmp(p, "nan", 3) || !strncmp(p, "inf", 3) || *p == '-' || (*p >= '0' && *p <= '9')) {
        *out = strtod(p, end);
        return *end != p;
    }
    return false;
}

/* The same text, but for numbers that are near each other. */
static bool edges_same(const char *got, const char *want) {
    const tolerance *t = &edges_tolerances[3];
    while (*got && *want) {
        double a, b;
        char *got_end, *want_end;
        if (!strncmp(got, want, 3))
            for (size_t i = 0; i < sizeof edges_tolerances / sizeof *edges_tolerances; i++) {
                size_t n = strlen(edges_tolerances[i].name);
                if (strncmp(want, edges_tolerances[i].name, n) || strncmp(got, want, n)) continue;
                t = &edges_tolerances[i];
                got += n, want += n;
            }
        if (edges_number(got, &got_end, &a) && edges_number(want, &want_end, &b)) {
            bool close = edges_exact ? t->name[1] == '3' && (float)a == (float)b : fabs(a - b) <= t->absolute + t->relative * fabs(b);
            bool same = a == b || close || (a != a && b != b);
            if (!same) return false;
            got = got_end, want = want_end;
        } else if (*got++ != *want++) {
            return false;
        }
    }
    return *got == *want;
}

typedef enum verdict { PASSES, OTHER_WORDS, REFUSED, DIFFERS } verdict;

static verdict edges_check(const opcase *c, strbuf *got) {
    static counting unused;
    const op *o = op_find(c->op);
    if (!o || !o->fn) return sb_puts(got, "not implemented"), REFUSED;
    ctsc_status s = opcase_once(c, &unused, 0, got);
    if (c->want[0] == '!') return s == CTSC_OK ? DIFFERS : strcmp(sb_str(got), c->want) ? OTHER_WORDS : PASSES;
    if (s != CTSC_OK) return REFUSED;
    return edges_same(sb_str(got), c->want) ? PASSES : DIFFERS;
}

static void edges_check_file(const char *file) {
    static char line[1 << 16];
    int n = 0, counts[4] = {0};
    FILE *f = fopen(file, "r"), *kept = edges_kept ? fopen(edges_kept, "w") : NULL;
    assert_non_null(f);
    opcase_digits = 17;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash shows where */
    while (fgets(line, sizeof line, f)) {
        char *args = strchr(line, '\t'), *want = args ? strchr(args + 1, '\t') : NULL;
        if (!want || line[0] == '#') continue;
        *args++ = 0, *want++ = 0;
        want[strcspn(want, "\n")] = 0;
        opcase c = {line, args, want};
        strbuf got = STRBUF_INIT;
        verdict v = edges_check(&c, &got);
        counts[v]++, n++;
        if (v >= REFUSED || (v == OTHER_WORDS && edges_verbose))
            printf("%s\t%s\n    gives %s\n    not   %s\n", c.op, c.args, sb_str(&got), c.want);
        if (kept && v <= OTHER_WORDS) fprintf(kept, "%s\t%s\t%s\n", c.op, c.args, c.want);
        sb_free(&got);
    }
    fclose(f);
    if (kept) fclose(kept);
    if (edges_verbose)
        printf("%d calls: %d like PyTorch's, %d fail with other words, %d refused, %d differ\n", n, counts[PASSES], counts[OTHER_WORDS], counts[REFUSED],
               counts[DIFFERS]);
    assert_true(n > 0);
    assert_int_equal(counts[REFUSED] + counts[DIFFERS], 0);
}

static void test_edges(void **state) {
    (void)state;
    edges_check_file(edges_file ? edges_file : "tests/edges/cases.txt");
}
static void test_grid(void **state) {
    (void)state;
    if (!edges_file) edges_check_file("tests/edges/grid.txt");
}
static void test_resize(void **state) {
    (void)state;
    edges_exact = true;
    if (!edges_file) edges_check_file("tests/edges/resize.txt");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-v")) edges_verbose = true;
        else if (!strcmp(argv[i], "-k") && i + 1 < argc) edges_kept = argv[++i];
        else edges_file = argv[i];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges), cmocka_unit_test(test_grid), cmocka_unit_test(test_resize)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
