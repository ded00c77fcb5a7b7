/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_dtype.c - the part of ctsc.h about element types.
 *
 * Tests: tests/unit/test_api.c
 */
#include "runtime/api/api.h"

const ctsc_dtype_info *ctsc_dtype_describe(int64_t number) { return dtype_describe(number); }
const ctsc_dtype_info *ctsc_dtype_find(const char *name) { return dtype_named(name); }
const ctsc_dtype_info *ctsc_dtype_at(size_t i) { return dtype_at(i); }
