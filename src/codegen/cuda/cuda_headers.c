/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_headers.c - the files that generated kernels include, as texts in the library
 * (base/text/embed.h): NVRTC gets them by name and reads no directories.
 * Tests: tests/unit/test_cuda_emit.c
 */
#include "base/text/embed.h"
#include "codegen/cuda/cuda_emit.h"

#include <pthread.h>

EMBED(header_ops, "src/ir/scalar/scalar_ops.h")
EMBED(header_math, "src/ir/scalar/scalar_ops_math.h")
EMBED(header_special, "src/ir/scalar/scalar_ops_special.h")
EMBED(header_real, "src/ir/scalar/scalar_ops_real.h")
EMBED(header_polynomials, "src/ir/scalar/scalar_ops_polynomials.h")
EMBED(header_int, "src/ir/scalar/scalar_ops_int.h")
EMBED(header_element, "src/tensor/element.h")
EMBED(header_convert, "src/codegen/cuda/nest_convert.h")
EMBED(header_nest, "src/codegen/cuda/nest_cuda.h")
EMBED(header_stdint, "src/codegen/cuda/nvrtc_stdint.h")

static const struct { const char *name; embedded *text; } header_rows[] = {
    {"ir/scalar/scalar_ops.h", &header_ops},
    {"ir/scalar/scalar_ops_math.h", &header_math},
    {"ir/scalar/scalar_ops_special.h", &header_special},
    {"ir/scalar/scalar_ops_polynomials.h", &header_polynomials},
    {"ir/scalar/scalar_ops_real.h", &header_real},
    {"ir/scalar/scalar_ops_int.h", &header_int},
    {"tensor/element.h", &header_element},
    {"codegen/cuda/nest_convert.h", &header_convert},
    {"codegen/cuda/nest_cuda.h", &header_nest},
    {"stdint.h", &header_stdint},
};
enum { HEADER_COUNT = sizeof header_rows / sizeof *header_rows };

const char *const *cuda_emit_headers(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *headers[2 * HEADER_COUNT + 1];
    static bool made; /* then others read them without the lock */
    bool ok = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < HEADER_COUNT && ok && !made; i++) {
        size_t len;
        headers[2 * i] = header_rows[i].name;
        ok = (headers[2 * i + 1] = embedded_text(header_rows[i].text, &len)) != NULL;
    }
    made = ok;
    pthread_mutex_unlock(&lock);
    return ok ? headers : NULL;
}
