/* SPDX-License-Identifier: Apache-2.0 */
/* scalar_bitcode_data.c - the bitcode of scalar_bitcode.c as bytes in libctsc-jit.so.
 * BITCODE_FILE names it. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global jit_scalar_bitcode\n"
        ".hidden jit_scalar_bitcode\n"
        "jit_scalar_bitcode:\n"
        ".incbin \"" BITCODE_FILE "\"\n"
        ".global jit_scalar_bitcode_end\n"
        ".hidden jit_scalar_bitcode_end\n"
        "jit_scalar_bitcode_end:\n"
        ".byte 0\n"
        ".previous\n");
