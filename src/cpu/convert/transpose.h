/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.h - matrices of 4-byte elements (on processors with AVX2 or NEON) and of 2-byte
 * elements transposed in registers.
 *
 * Method: blocks of 8 x 8. A tile is TRANSPOSE_ROWS rows of the result high, so that the lines
 * of the source are used up while they are in the first-level cache, whatever their stride;
 * along a tile, the two halves of each line of the result are written one soon after the other.
 * Tests: tests/unit/test_transpose.c
 */
#ifndef CTSC_CPU_CONVERT_TRANSPOSE_H
#define CTSC_CPU_CONVERT_TRANSPOSE_H

#include <stdbool.h>
#include <stdint.h>

enum { TRANSPOSE_ROWS = 32 };

/* Can this processor, elements of 4 bytes? */
bool transpose_usable(void);
/* dst[i * ld + j] = src[j * step + i] for i < rows, j < cols. Fewer than 8 columns are all of
 * dst's: ld == cols. */
void transpose_words(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step, int64_t rows,
                     int64_t cols);
/* The same for elements of 2 bytes and of 1 byte. */
void transpose_halves(uint16_t *dst, int64_t ld, const uint16_t *src, int64_t step, int64_t rows,
                      int64_t cols);
void transpose_bytes(uint8_t *dst, int64_t ld, const uint8_t *src, int64_t step, int64_t rows,
                     int64_t cols);

#endif
