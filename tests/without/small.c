/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small.c - uses a library that lacks parts (packaging/without.mk), for tests/without/without.py.
 *
 *     small MODEL INPUTS: runs forward, and prints how many results there are; or the error
 */
#include "ctsc.h"

#include <stdio.h>

int main(int argc, char **argv) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *given = NULL, *args[16], *result = NULL;
    size_t n = 0;
    if (argc < 3) return 2;
    if (ctsc_module_load(argv[1], &m, e) == CTSC_OK &&
        ctsc_value_load(argv[2], &given, e) == CTSC_OK) {
        bool many = ctsc_value_kind(given) == CTSC_KIND_TUPLE;
        if (!many) args[n++] = given;
        for (; many && n < ctsc_value_len(given) && n < 16; n++)
            args[n] = ctsc_value_item(given, n);
        if (ctsc_module_run(m, "forward", n, args, NULL, &result, e) == CTSC_OK)
            printf("%zu results\n",
                   ctsc_value_kind(result) == CTSC_KIND_TUPLE ? ctsc_value_len(result) : 1);
        for (size_t i = 0; many && i < n; i++) ctsc_value_free(args[i]);
    }
    int status = (int)ctsc_error_status(e);
    if (status) printf("%d %s\n", status, ctsc_error_message(e));
    ctsc_value_free(result);
    ctsc_value_free(given);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return status;
}
