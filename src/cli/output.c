/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - files that commands write: whether one can be written, asked before the work whose
 * result it gets, whether its name promises what it will be, and what was there before.
 *
 * Method. An ending is wrong if it is that of a known kind of file, and not of what is written: an
 * archive called net.onnx would be taken for a model of ONNX by whoever gets it. Endings that mean
 * nothing here are the user's affair.
 * Tests: tests/cli/usage.test
 */
#include "cli/cli.h"
#include "cli/progress.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* By cli_output. */
static const struct { const char *text, *usual, *endings, *todo; } output_kinds[] = {
    [CLI_ARCHIVE] = {"an archive of TorchScript", ".pt",
                     ".pt .pth .torchscript .ts .ptl .bin .ckpt",
                     "'ctsc convert' makes other formats of it"},
    [CLI_SAVED] = {"what torch.save writes", ".pt", ".pt .pth .bin .ckpt", NULL},
    [CLI_PAGE] = {"a page of HTML", ".html", ".html .htm .xhtml", NULL},
    [CLI_TEXT] = {"JSON", ".json", ".json .txt .log", NULL},
    [CLI_OBJECT] = {"an object file", ".o", ".o .obj", NULL},
    [CLI_HEADER] = {"a header of C", ".h", ".h .hpp", NULL},
};

/* Endings that have a meaning, besides those of the library's formats. */
static const char output_others[] = ".npy .npz .html .htm .json .csv .tsv .h5 .parquet .svg .png "
                                    ".jpg .jpeg .pdf .so .c .h .o .txt .log .zip .tar .gz";

/* Whether path has an ending of a list: ".ts .ptl". */
static bool output_ends(const char *path, const char *endings) {
    size_t n = strlen(path);
    for (const char *p = endings; *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        if (n > len && !strncasecmp(path + n - len, p, len)) return true;
        p += len;
    }
    return false;
}

static bool output_means_other(const char *path, cli_output kind) {
    return !output_ends(path, output_kinds[kind].endings) &&
           (ctsc_format_by_ending(path, NULL) || output_ends(path, output_others));
}

/* The file that was asked about last and was there already; size 0: none. */
static struct { char path[PATH_MAX]; off_t size; } output_before;

int cli_check_writable(const char *path) {
    char folder[PATH_MAX] = ".";
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash > path ? slash - path : 1), path);
    int why = stat(path, &st) == 0   ? S_ISDIR(st.st_mode) ? EISDIR : 0
              : access(folder, W_OK) ? errno
                                     : 0;
    output_before.size = 0;
    if (!why && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        snprintf(output_before.path, sizeof output_before.path, "%s", path);
        output_before.size = st.st_size;
    }
    return why ? cli_complain(CTSC_ENVIRONMENT, "cannot write %s: %s", path, strerror(why)) : 0;
}

int cli_check_output(const char *path, cli_output kind) {
    if (!path) return 0;
    if (cli_is_source(path))
        return cli_complain(CTSC_USAGE, "cannot write %s: the ending .py is that of source", path);
    if (!output_means_other(path, kind)) return cli_check_writable(path);
    const char *todo = output_kinds[kind].todo;
    return cli_complain(CTSC_USAGE, "%s: what is written is %s, usually %s%s%s", path,
                        output_kinds[kind].text, output_kinds[kind].usual, todo ? "; " : "",
                        todo ? todo : "");
}

const char *cli_wrote_bytes(const char *path, char *text, size_t size) {
    struct stat st;
    char now[32], before[32];
    cli_bytes(stat(path, &st) == 0 ? (double)st.st_size : 0, now, sizeof now);
    bool replaced = output_before.size && !strcmp(path, output_before.path);
    if (replaced) cli_bytes((double)output_before.size, before, sizeof before);
    snprintf(text, size, "%s%s%s", now, replaced ? ", replacing a file of " : "",
             replaced ? before : "");
    return text;
}

void cli_say_wrote(const char *path, const char *what) {
    char size[96];
    progress_clear();
    fflush(stdout);
    fprintf(stderr, "ctsc: wrote %s (%s)%s%s\n", path, cli_wrote_bytes(path, size, sizeof size),
            what ? ": " : "", what ? what : "");
}
