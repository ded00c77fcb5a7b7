/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - pages that draw graphs: for `ctsc view`, and what the server's status page needs of it.
 *
 *   view.html   the page              model.js    which parts of a graph are shown
 *   view.css    how it looks          layout.js   where it goes
 *   view.js     drawing, and what the mouse does
 *   diff.js     what differs between two graphs
 *   compare.js  two graphs side by side
 *
 * All of it is embedded in the command unchanged. docs/view.md is for users.
 */
#ifndef CTSC_VIEW_VIEW_H
#define CTSC_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

/* A text with the styles and scripts of graphs in it, in the places of VIEW_STYLE and VIEW_SCRIPT
 * between comment signs, and `data` (NULL: none) in that of VIEW_DATA. data: JSON without '<'. The
 * caller's, to be given to free(); NULL if out of memory. */
char *view_fill(const char *text, size_t len, const char *data, size_t ndata, size_t *out_len);
/* The page for `data`. */
char *view_page(const char *data, size_t ndata, size_t *len);
/* Serves the page at http://HOST:PORT/ until SIGTERM or SIGINT; port 0: any free one. Prints where
 * it listens on stderr, "listening on http://HOST:PORT". Returns NULL, or why it cannot. */
const char *view_serve(const char *host, int port, const char *page, size_t len);

/* The files (view_texts.c). */
extern const char view_html[], view_html_end[], view_css[], view_css_end[], view_layout[],
    view_layout_end[], view_model[], view_model_end[], view_script[], view_script_end[],
    view_diff[], view_diff_end[], view_compare[], view_compare_end[];

#endif
