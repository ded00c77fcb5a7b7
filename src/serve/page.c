/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - page.html, the status page; openapi.json, which describes all paths; and docs.html,
 * which shows that: as bytes in the command. Built from the project's root. */
#define BYTES(name, file)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".global " name "\n" name ":\n"                                                        \
            ".incbin \"src/serve/" file "\"\n"                                                     \
            ".global " name "_end\n" name "_end:\n"                                                \
            ".byte 0\n"                                                                            \
            ".previous\n")

BYTES("page_html", "page.html");
BYTES("openapi_json", "openapi.json");
BYTES("docs_html", "docs.html");
