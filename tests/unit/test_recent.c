/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_recent.c - operators that came after PyTorch 1.13, and arguments that older ones gained,
 * give what PyTorch 2.15 gives, and survive every allocation's failure.
 */
#include "opcase.h"

#include "recent_cases.h"

enum { RECENT_CASES = sizeof recent_cases / sizeof *recent_cases };

static void test_row(void **state) { opcase_run(*state, 1); }

int main(void) {
    static struct CMUnitTest tests[RECENT_CASES];
    for (int i = 0; i < RECENT_CASES; i++)
        tests[i] = (struct CMUnitTest){.name = recent_cases[i].op,
                                       .test_func = test_row,
                                       .initial_state = (void *)&recent_cases[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
