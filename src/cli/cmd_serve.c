/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c - ctsc serve: the way into src/serve. Tests: tests/cli/serve.test */
#include "cli/cli.h"
#include "cli/progress.h"
#include "serve/serve.h"

static const struct argp_child serve_children[] = {{&serve_argp, 0, NULL, 0}, {0}};
const struct argp cmd_serve_argp = {NULL, NULL, "DIR", NULL, serve_children, NULL, NULL};

static void serve_busy(const char *what) {
    if (what) progress_say("%s", what);
    else progress_end();
}

int cmd_serve(int argc, char **argv) {
    cli_hear_alerts();
    return serve_main(argc, argv, cli_arguments, serve_busy);
}
