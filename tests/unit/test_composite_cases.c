/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_composite_cases.c - operators that are written in TorchScript give what PyTorch gives
 * (tests/interop/operators.py makes more cases where PyTorch is installed), and survive every
 * allocation's failure.
 */
#include "opcase.h"

#include "composite_cases.h"

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof composite_cases / sizeof *composite_cases; i++)
        opcase_run(&composite_cases[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
