/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_edges.c - every operator at the edges: empty, 0-dim and overlapping tensors, mixed dtypes,
 * nan, infinities, overflow.
 *
 *     test_edges [FILE] [-v] [-k KEPT]
 *
 * Checks the lines of tests/edges/cases.txt and grid.txt (or FILE), which tests/edges/make.py wrote
 * down from PyTorch, and of resize.txt. Numbers agree within the dtype's tolerance, all else to the
 * letter, resized images to the last bit; where PyTorch fails ctsc has to fail with status
 * CTSC_FAILED and in PyTorch's words. What is otherwise is listed in tests/edges/differs.txt, and
 * has to be: `words` are errors in other words, `unsupported` what ctsc refuses, `value` other
 * results, `runs` results where PyTorch fails. Of a FILE all that is shown, and other words are no
 * failure. -v counts; -k writes the lines that agree to KEPT, for a new cases.txt.
 *
 * Results of BLAS and LAPACK are rounded in the order of whichever kernels the processor
 * gets. A line on them has to hold in every order, so it also has to hold for arguments
 * that differ in their last bit (edges_nudge): the condition number of a singular
 * matrix, for one, does not. There ">1e5" in a result matches any greater number.
 */
#include "differs.h"
#include "opcase.h"

#include <math.h>
#include <stdio.h>

static const char *edges_file, *edges_kept;
static bool edges_verbose, edges_exact;

typedef struct tolerance { const char *name; double relative, absolute; } tolerance;

static const tolerance edges_tolerances[] = {
    {"bf16[", 2e-2, 1e-2},
    {"f16[", 2e-3, 1e-3},
    {"f32[", 1.3e-5, 1e-5},
    {"f64[", 1e-7, 1e-7},
};

static bool edges_number(const char *p, char **end, double *out) {
    if (!strncmp(p, "nan", 3) || !strncmp(p, "inf", 3) || *p == '-' || (*p >= '0' && *p <= '9')) {
        *out = strtod(p, end);
        return *end != p;
    }
    return false;
}

/* The same text, except for numbers that are close to each other. */
static bool edges_same(const char *got, const char *want) {
    const tolerance *t = &edges_tolerances[3];
    while (*got && *want) {
        double a, b;
        char *got_end, *want_end;
        if (*want == '>') {
            if (!edges_number(want + 1, &want_end, &b) || !edges_number(got, &got_end, &a) ||
                !(a > b))
                return false;
            got = got_end, want = want_end;
            continue;
        }
        if (!strncmp(got, want, 3))
            for (size_t i = 0; i < sizeof edges_tolerances / sizeof *edges_tolerances; i++) {
                size_t n = strlen(edges_tolerances[i].name);
                if (strncmp(want, edges_tolerances[i].name, n) || strncmp(got, want, n)) continue;
                t = &edges_tolerances[i];
                got += n, want += n;
            }
        if (edges_number(got, &got_end, &a) && edges_number(want, &want_end, &b)) {
            bool close = edges_exact ? t->name[1] == '3' && (float)a == (float)b
                                     : fabs(a - b) <= t->absolute + t->relative * fabs(b);
            bool same = a == b || close || (a != a && b != b);
            if (!same) return false;
            got = got_end, want = want_end;
        } else if (*got++ != *want++) {
            return false;
        }
    }
    return *got == *want;
}

typedef enum verdict { PASSES, WORDS, UNSUPPORTED, VALUE, RUNS, STATUS, VERDICTS } verdict;

static const char *const edges_verdicts[] = {"agrees", "words", "unsupported",
                                             "value",  "runs",  "status"};

static verdict edges_check(const opcase *c, strbuf *got) {
    static counting unused;
    const op *o = op_find(c->op);
    bool fails = c->want[0] == '!';
    if (!o || !o->fn) return sb_puts(got, "not implemented"), UNSUPPORTED;
    ctsc_status s = opcase_once(c, &unused, 0, got);
    if (s == CTSC_UNSUPPORTED) return UNSUPPORTED;
    if (s == CTSC_OK) return fails ? RUNS : edges_same(sb_str(got), c->want) ? PASSES : VALUE;
    if (s != CTSC_FAILED || !fails) return STATUS;
    return strcmp(sb_str(got), c->want) ? WORDS : PASSES;
}

/* ---- what rounding decides ------------------------------------------------------------------- */

/* Operators that sum and eliminate in an order of their library's choice: the words that their
 * names begin with. */
static const char *const edges_rounded[] = {
    "linalg_",
    "_linalg_",
    "det",
    "logdet",
    "slogdet",
    "inverse",
    "pinverse",
    "matrix_",
    "cholesky",
    "nuclear_norm",
    "triangular_solve",
    "chain_matmul",
    "mm",
    "bmm",
    "mv",
    "dot",
    "vdot",
    "addmm",
    "_addmm",
    "addmv",
    "addbmm",
    "baddbmm",
    "matmul",
    "linear",
    "inner",
    "einsum",
    "tensordot",
    "bilinear",
    "conv",
    "_conv",
    "convolution",
    "_convolution",
    "slow_conv",
    "_slow_conv",
    "thnn_conv",
    "corrcoef",
    "cov",
    "cdist",
    "_cdist",
    "lstm",
    "gru",
    "rnn",
    "_scaled_dot",
    "_native_multi",
};

static bool edges_is_rounded(const char *op) {
    const char *name = op + strlen("aten::");
    for (size_t i = 0; i < sizeof edges_rounded / sizeof *edges_rounded; i++) {
        size_t len = strlen(edges_rounded[i]);
        if (strncmp(name, edges_rounded[i], len)) continue;
        /* mvlgamma is no mv */
        if (edges_rounded[i][len - 1] == '_' || !(name[len] >= 'a' && name[len] <= 'z'))
            return true;
    }
    return false;
}

/* The arguments, with the elements of tensors one unit of their last place up, down or as they
 * were. Short dyadic numbers stay: with them sums and products are exact in every order. */
static void edges_nudge(const char *args, unsigned *seed, strbuf *out) {
    static const struct {
        const char *name;
        double unit;
    } units[] = {{"bf16[", 0x1p-8}, {"f16[", 0x1p-10}, {"f32[", 0x1p-23}, {"f64[", 0x1p-52}};
    double unit = 0, x;
    bool inside = false;
    for (char *end; *args;) {
        for (size_t i = 0; !inside && i < sizeof units / sizeof *units; i++)
            if (!strncmp(args, units[i].name, strlen(units[i].name))) {
                unit = units[i].unit;
                sb_printf(out, "%s", units[i].name);
                args += strlen(units[i].name);
            }
        if (*args == '{') inside = true;
        if (*args == '}') inside = false, unit = 0;
        if (inside && unit > 0 && edges_number(args, &end, &x)) {
            *seed = *seed * 1103515245u + 12345u;
            bool keep = !(fabs(x) < 1e30) || (x * 16 == floor(x * 16) && fabs(x) < 128);
            if (keep) sb_printf(out, "%.*s", (int)(end - args), args);
            else sb_printf(out, "%.17g", x * (1 + unit * ((int)(*seed >> 16) % 3 - 1)));
            args = end;
        } else if (*args) {
            sb_putc(out, *args++);
        }
    }
}

/* Whether the line holds in every order of summing, as far as nearby arguments tell. */
static bool edges_determined(const opcase *c) {
    unsigned seed = 1;
    bool same = true;
    for (int i = 0; i < 8 && same && edges_is_rounded(c->op) && c->want[0] != '!'; i++) {
        strbuf args = STRBUF_INIT, got = STRBUF_INIT;
        edges_nudge(c->args, &seed, &args);
        opcase near = {c->op, sb_str(&args), c->want};
        same = edges_check(&near, &got) == PASSES;
        if (!same)
            printf("%s\t%s\n    is not determined by its arguments: nearby ones give %s\n    not   "
                   "%s\n",
                   c->op, c->args, sb_str(&got), c->want);
        sb_free(&args);
        sb_free(&got);
    }
    return same;
}

static void edges_check_file(const char *file, const char *listed) {
    static char line[1 << 16];
    int n = 0, bad = 0, vague = 0, counts[VERDICTS] = {0};
    FILE *f = fopen(file, "r"), *kept = edges_kept ? fopen(edges_kept, "w") : NULL;
    differs list = {0};
    assert_non_null(f);
    if (listed) list = differs_read(listed);
    opcase_digits = 17;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash shows where */
    while (fgets(line, sizeof line, f)) {
        char *args = strchr(line, '\t'), *want = args ? strchr(args + 1, '\t') : NULL;
        if (!want || line[0] == '#') continue;
        *args++ = 0, *want++ = 0;
        want[strcspn(want, "\n")] = 0;
        opcase c = {line, args, want};
        strbuf got = STRBUF_INIT, key = STRBUF_INIT;
        verdict v = edges_check(&c, &got);
        bool determined = v > WORDS || edges_determined(&c);
        sb_printf(&key, "%s %s", c.op, c.args);
        bool expected = v == PASSES || differs_expects(&list, edges_verdicts[v], sb_str(&key));
        vague += !determined;
        counts[v]++, n++;
        bad += !expected && (v > WORDS || listed);
        if (!expected && (v > WORDS || listed || edges_verbose))
            printf("%s\t%s\n    %s: gives %s\n    not   %s\n", c.op, c.args, edges_verdicts[v],
                   sb_str(&got), c.want);
        if (kept && v <= WORDS && determined) fprintf(kept, "%s\t%s\t%s\n", c.op, c.args, c.want);
        sb_free(&got);
        sb_free(&key);
    }
    fclose(f);
    if (kept) fclose(kept);
    for (int v = 0; v < VERDICTS && edges_verbose; v++)
        printf("%d %s%s", counts[v], edges_verdicts[v], v + 1 < VERDICTS ? ", " : "\n");
    bad += differs_end(&list);
    assert_true(n > 0);
    assert_int_equal(bad, 0);
    assert_int_equal(vague, 0);
}

static void test_edges(void **state) {
    (void)state;
    edges_check_file(edges_file ? edges_file : "tests/edges/cases.txt",
                     edges_file ? NULL : "tests/edges/differs.txt");
}
static void test_grid(void **state) {
    (void)state;
    if (!edges_file) edges_check_file("tests/edges/grid.txt", NULL);
}
static void test_resize(void **state) {
    (void)state;
    edges_exact = true;
    if (!edges_file) edges_check_file("tests/edges/resize.txt", NULL);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-v")) edges_verbose = true;
        else if (!strcmp(argv[i], "-k") && i + 1 < argc) edges_kept = argv[++i];
        else edges_file = argv[i];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges), cmocka_unit_test(test_grid),
                                       cmocka_unit_test(test_resize)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
