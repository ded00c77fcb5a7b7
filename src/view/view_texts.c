/* SPDX-License-Identifier: Apache-2.0 */
/* view_texts.c - the files of the page, as bytes in the command. Built from the project's root. */
#define VIEW_TEXT(name, file)                                                                      \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #name "\n" #name ":\n"                                                      \
            ".incbin \"src/view/" file "\"\n"                                                      \
            ".global " #name "_end\n" #name "_end:\n"                                              \
            ".byte 0\n"                                                                            \
            ".previous\n");

VIEW_TEXT(view_html, "view.html")
VIEW_TEXT(view_css, "view.css")
VIEW_TEXT(view_layout, "layout.js")
VIEW_TEXT(view_model, "model.js")
VIEW_TEXT(view_diff, "diff.js")
VIEW_TEXT(view_script, "view.js")
VIEW_TEXT(view_compare, "compare.js")
