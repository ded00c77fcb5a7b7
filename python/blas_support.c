/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas_support.c - the one function of Fortran's library that LAPACK calls: texts put together.
 *
 * The library itself has it beside what reads and writes files, 140 KB of a wheel.
 */
#include <string.h>

/* The arguments of gfortran's own; what is left of the result is spaces. */
void _gfortran_concat_string(size_t size, char *result, size_t first_size, const char *first,
                             size_t second_size, const char *second);

void _gfortran_concat_string(size_t size, char *result, size_t first_size, const char *first,
                             size_t second_size, const char *second) {
    size_t n = first_size < size ? first_size : size;
    memcpy(result, first, n);
    size_t m = second_size < size - n ? second_size : size - n;
    memcpy(result + n, second, m);
    memset(result + n + m, ' ', size - n - m);
}
