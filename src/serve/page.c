/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - page.html, the status page, as bytes in the command. Built from the project's root. */
__asm__(".section .rodata\n"
        ".global page_html\n"
        "page_html:\n"
        ".incbin \"src/serve/page.html\"\n"
        ".global page_html_end\n"
        "page_html_end:\n"
        ".byte 0\n"
        ".previous\n");
