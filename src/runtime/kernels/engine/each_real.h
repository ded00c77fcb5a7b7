/* SPDX-License-Identifier: Apache-2.0 */
/*
 * each_real.h - reads the file that TEMPLATE names once for float and once for double.
 *
 *     #define TEMPLATE "runtime/kernels/vision/sampling.h"
 *     #include "runtime/kernels/engine/each_real.h"
 *
 * Such a file is the single definition of an element, on the host and on devices: programs
 * of runtime/cuda/kernels have it prepended (DENSE_FILE_WITH in runtime/cuda/dense.h), and
 * there these words are defined by dense_types.cuh for the program's type.
 *
 *     REAL            the computing type
 *     ELEM            the type in memory; LOAD and STORE convert
 *     REAL_FN(name)   the name of a function for that type: name_float, name_double; on devices name
 *     MATH(name)      the name of a function of <math.h> for REAL
 */
#include "ir/scalar/scalar_ops.h"

/* clang-format off */
#define REAL          float
#define ELEM          float
#define REAL_FN(name) name##_float
#define MATH(name)    name##f
/* clang-format on */
#include TEMPLATE
#undef REAL
#undef ELEM
#undef REAL_FN
#undef MATH

/* clang-format off */
#define REAL          double
#define ELEM          double
#define REAL_FN(name) name##_double
#define MATH(name)    name
/* clang-format on */
#include TEMPLATE
#undef REAL
#undef ELEM
#undef REAL_FN
#undef MATH
#undef TEMPLATE
