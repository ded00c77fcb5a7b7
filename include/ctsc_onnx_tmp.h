#ifndef CTSC_ONNX_TMP
#define CTSC_ONNX_TMP
#include "ctsc.h"
/* A dim of argument `input` (from 0, self not counted) that may have any size. */
typedef struct ctsc_onnx_axis {
    int input, dim;
    const char *name; /* "batch" */
} ctsc_onnx_axis;
typedef struct ctsc_onnx_options {
    size_t size;        /* sizeof(ctsc_onnx_options), for later growth */
    const char *method; /* NULL: forward */
    int opset;          /* version of ONNX's operators, 13 to 21; 0: 17 */
    size_t naxes;
    const ctsc_onnx_axis *axes;
} ctsc_onnx_options;
/* Writes a method as a model of ONNX. The method is run with these arguments, whose dtypes and
 * sizes (but for the axes) are then those of the model, and whose way through branches and loops is
 * the model's. CTSC_UNSUPPORTED, with the operator and its place: it cannot be written. o may be
 * NULL. The file appears whole or not at all. docs/onnx.md tells more. */
CTSC_API ctsc_status ctsc_module_save_onnx(const ctsc_module *m, const char *path, size_t nargs,
                                           ctsc_value *const *args, const ctsc_onnx_options *o,
                                           ctsc_error *e);
#endif
