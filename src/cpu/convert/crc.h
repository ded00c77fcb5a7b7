/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc.h - CRC-32 of zip and zlib.
 * Tests: tests/unit/test_archive.c
 */
#ifndef CTSC_CPU_CONVERT_CRC_H
#define CTSC_CPU_CONVERT_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continued from crc (0 at the start). */
uint32_t crc32_update(uint32_t crc, const void *data, size_t len);

#endif
