/* SPDX-License-Identifier: Apache-2.0 */
/* schemas_data.c - ir/schemas.txt as bytes in the library. Built from the project's root. */
__asm__(".section .rodata\n"
        ".global op_schemas_text\n"
        "op_schemas_text:\n"
        ".incbin \"src/ir/schemas.txt\"\n"
        ".byte 0\n"
        ".global op_schemas_text_end\n"
        "op_schemas_text_end:\n"
        ".previous\n");
