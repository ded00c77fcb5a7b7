/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soft_clip.c - an operator of one's own that is only a definition: audio::soft_clip, which leaves
 * quiet samples as they are and presses loud ones.
 *
 *     cc -shared -fPIC -o libsoft_clip.so soft_clip.c $(pkg-config --cflags ctsc)
 *     ctsc --load-library ./libsoft_clip.so run soft_clip.py --input 'float32[2,48000]:rand' --input 0.5
 *
 * There is no function: ctsc knows from the text what the operator does to one element.
 * Broadcasting, dtypes and threads are its business, and in a script the operator becomes part of
 * one native kernel with what is computed before and after it, as `ctsc graph-for` shows.
 */
#include <ctsc.h>

static const char soft_clip[] =
    "float soft_clip(float x, float limit) {\n"
    "    float size = fabsf(x), over = size - limit;\n"
    "    return size <= limit ? x : copysignf(limit + over / (1 + over), x);\n"
    "}\n";

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
ctsc_status
ctsc_library_init(ctsc_error *e);
ctsc_status ctsc_library_init(ctsc_error *e) {
    ctsc_op_options options = {.size = sizeof options, .scalar = soft_clip};
    return ctsc_register_op("audio::soft_clip(Tensor x, float limit=0.5) -> Tensor", NULL, NULL,
                            &options, e);
}
