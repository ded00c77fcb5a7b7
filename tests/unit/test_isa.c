/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_isa.c - instruction sets and the table of micro-kernels: what a limit allows, that every
 * family has its rows in order, and that micro-kernels are chosen by the limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/narrow.h"
#include "ctsc_compiler.h"
#include "ukernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every row has what it needs before it, so that detection can go from top to bottom. */
static void test_rows(void **state) {
    (void)state;
    for (int i = 0; i < ISA_COUNT; i++) {
        assert_true(isa_table[i].needs <= (isa)i);
        assert_int_equal(isa_find(isa_table[i].name), isa_table[i].here ? i : ISA_COUNT);
        if (!isa_table[i].here) assert_false(isa_has((isa)i));
        if (isa_has((isa)i)) assert_true(isa_has(isa_table[i].needs));
    }
    assert_true(isa_has(ISA_PLAIN));
    assert_int_equal(isa_find("z80"), ISA_COUNT);
}

/* What precision "auto" chooses from follows the limit, is faster than float32, and smaller. */
static void test_narrow(void **state) {
    (void)state;
    ctsc_precision_way w = {.size = sizeof w};
    for (int i = 0; i < ISA_COUNT; i++) {
        isa_limit((isa)i);
        for (narrow_kind kind = 0; kind < NARROW_KINDS; kind++) {
            const narrow_row *row = narrow_best(kind);
            if (!row) continue;
            assert_int_equal(row->kind, kind);
            assert_true(isa_pays(row->isa));
            assert_true(row->rate > 1 && row->bits < 32 && row->columns > 0);
        }
    }
    isa_limit(ISA_SSE2);
    assert_false(ctsc_precision_way_at(0, &w));
    isa_limit(ISA_AVX2);
    if (isa_has(ISA_AVX2)) {
        assert_true(ctsc_precision_way_at(0, &w));
        assert_string_equal(w.name, "int4w");
        assert_false(ctsc_precision_way_at(1, &w));
    }
    isa_limit(ISA_COUNT);
}

/* A limit allows what its row needs and nothing else, and never more than there is. */
static void test_limit(void **state) {
    (void)state;
    uint32_t all = isa_detected();
    for (int i = 0; i < ISA_COUNT; i++) {
        isa_limit((isa)i);
        assert_int_equal(isa_get_limit(), i);
        for (int j = 0; j < ISA_COUNT; j++) {
            bool needed = j == i;
            for (isa k = (isa)i; isa_table[k].needs != k && !needed; k = isa_table[k].needs)
                needed = isa_table[k].needs == (isa)j;
            assert_int_equal(isa_has((isa)j), needed && (all >> j & 1));
        }
        assert_int_equal(isa_detected(), all);
    }
    isa_limit(ISA_COUNT);
    for (int j = 0; j < ISA_COUNT; j++) assert_int_equal(isa_has((isa)j), all >> j & 1);
}

/* Intel's vdpbf16ps is slower than float32: it is there, but nobody chooses it. */
static void test_rates(void **state) {
    (void)state;
    assert_true(isa_rate(ISA_AVX512BF16, "intel") < 1);
    assert_true(isa_rate(ISA_AVX512BF16, "amd") > 1);
    assert_true(isa_rate(ISA_AVX512, "intel") == 1);
    assert_true(isa_rate(ISA_AVX512BF16, "") == 1);
    for (int i = 0; i < ISA_COUNT; i++) assert_true(isa_has((isa)i) || !isa_pays((isa)i));
    uint32_t slow = isa_slow_bits;
    isa_slow_bits |= 1u << ISA_AVX512BF16;
    assert_false(isa_pays(ISA_AVX512BF16));
    isa row = isa_find("amxbf16");
    const ukernel *first = ukernel_first(UKERNEL_QUAD, UKERNEL_BF16);
    if (row != ISA_COUNT)
        assert_ptr_equal(ukernel_quad(UKERNEL_BF16), isa_has(row) ? first->record : NULL);
    isa_slow_bits = slow;
}

/* Rows of a family and type are neighbours, fastest first: none needs a row that is before it. */
static void test_ukernels(void **state) {
    (void)state;
    int rows = 0, seen = 0;
    while (ukernel_at(rows)) rows++;
    for (ukernel_family f = 0; f < UKERNEL_FAMILIES; f++)
        for (ukernel_type t = 0; t < UKERNEL_TYPES; t++)
            for (const ukernel *u = ukernel_first(f, t); u; u = ukernel_next(u), seen++)
                for (const ukernel *later = ukernel_next(u); later; later = ukernel_next(later))
                    assert_true(later->isa < u->isa);
    assert_int_equal(seen, rows);
}

/* What is chosen is the first that the limit allows; the record agrees with its row. */
static void test_chosen(void **state) {
    (void)state;
    for (int i = 0; i < ISA_COUNT; i++) {
        isa_limit((isa)i);
        for (int k = 0; ukernel_at(k); k++) {
            const ukernel *u = ukernel_at(k), *v = ukernel_first(u->family, u->type);
            while (v && !isa_pays(v->isa)) v = ukernel_next(v);
            assert_ptr_equal(ukernel_best(u->family, u->type), v ? v->record : NULL);
            assert_int_equal(*(const isa *)u->record, u->isa); /* the first member of all */
        }
    }
    isa_limit(ISA_COUNT);
}

/* The same through the public interface. */
static void test_public(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    ctsc_isa set = {.size = sizeof set};
    ctsc_ukernel kernel = {.size = sizeof kernel};
    assert_int_equal(ctsc_set_cpu("sse2", e), isa_find("sse2") == ISA_COUNT ? CTSC_USAGE : CTSC_OK);
    for (size_t i = 0; ctsc_isa_at(i, &set); i++)
        assert_int_equal(set.used, isa_has(isa_find(set.name)));
    for (size_t i = 0; ctsc_ukernel_at(i, &kernel); i++) {
        assert_true(kernel.usable || !kernel.chosen);
        assert_int_equal(kernel.usable, isa_has(isa_find(kernel.isa)));
    }
    assert_false(ctsc_isa_at(SIZE_MAX, &set));
    assert_false(ctsc_ukernel_at(SIZE_MAX, &kernel));
    isa_limit(ISA_COUNT);
    ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_limit),
        cmocka_unit_test(test_ukernels), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_chosen),   cmocka_unit_test(test_public),
        cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
