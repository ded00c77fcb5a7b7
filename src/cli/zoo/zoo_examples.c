/* SPDX-License-Identifier: Apache-2.0 */
/* zoo_examples.c - the files of examples/models, as bytes in the command. Built from the project's
 * root. Tests: tests/cli/zoo.test, which finds what is not listed here */
#include "cli/zoo/zoo.h"

#define ZOO_EXAMPLES_ALL(X)                                                                        \
    X(dcgan)                                                                                       \
    X(digits_head)                                                                                 \
    X(gpt)                                                                                         \
    X(lenet) X(lstm_lm) X(mobilenet_v2) X(resnet18) X(transformer_encoder) X(unet) X(vae) X(wavenet)

#define ZOO_TEXT(name)                                                                             \
    __asm__(".section .rodata\n"                                                                   \
            ".global zoo_text_" #name "\nzoo_text_" #name ":\n"                                    \
            ".incbin \"examples/models/" #name ".py\"\n"                                           \
            ".global zoo_text_" #name "_end\nzoo_text_" #name "_end:\n"                            \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char zoo_text_##name[], zoo_text_##name##_end[];
ZOO_EXAMPLES_ALL(ZOO_TEXT)

const zoo_example zoo_examples[] = {
#define ZOO_ROW(name) {#name, zoo_text_##name, zoo_text_##name##_end},
    ZOO_EXAMPLES_ALL(ZOO_ROW)
#undef ZOO_ROW
};
const size_t zoo_nexamples = sizeof zoo_examples / sizeof *zoo_examples;
