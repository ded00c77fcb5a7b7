/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.c - ctsc compile --aot. Tests: tests/aot/ */
#include "cli/compile/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "0.1" */
static const char *ahead_place(const char *at, ctsc_aot_dim *dim) {
    char *end;
    long argument = strtol(at, &end, 10);
    if (end == at || *end != '.' || argument < 0 || argument > 63) return NULL;
    at = end + 1;
    long k = strtol(at, &end, 10);
    if (end == at || k < 0 || k > 63 || dim->place_count >= 16) return NULL;
    dim->places[dim->place_count][0] = (int)argument;
    dim->places[dim->place_count++][1] = (int)k;
    return end;
}

bool cli_ahead_dim(cli_ahead *a, const char *text) {
    const char *equals = strchr(text, '='), *at = equals;
    if (!equals || equals == text || equals - text >= AHEAD_NAME || a->ndims >= AHEAD_DIMS)
        return false;
    ctsc_aot_dim *dim = &a->dims[a->ndims];
    char *name = a->names[a->ndims++];
    memcpy(name, text, (size_t)(equals - text));
    *dim = (ctsc_aot_dim){.name = name, .least = 1};
    do {
        if (!(at = ahead_place(at + 1, dim))) return false;
    } while (*at == ',');
    if (*at == ':') {
        char *end;
        dim->least = strtoll(at + 1, &end, 10);
        if (end == at + 1) return false;
        at = end;
    }
    return !*at;
}

/* The largest size is the example's. */
static int ahead_sizes(cli_ahead *a, const cli_inputs *in) {
    for (size_t i = 0; i < a->ndims; i++) {
        const int *place = a->dims[i].places[0];
        const ctsc_value *v = (size_t)place[0] < in->nvalues ? in->values[place[0]] : NULL;
        if (!v || ctsc_value_kind(v) != CTSC_KIND_TENSOR || place[1] >= ctsc_tensor_ndim(v))
            return cli_complain(CTSC_USAGE, "--dim %s: argument %d has no dim %d", a->dims[i].name,
                                place[0], place[1]);
        a->dims[i].most = ctsc_tensor_sizes(v)[place[1]];
    }
    return 0;
}

/* The function is called like the file: "out/net-18.o" gives net_18. */
static void ahead_name(const char *path, char name[AHEAD_NAME]) {
    const char *slash = strrchr(path, '/');
    snprintf(name, AHEAD_NAME, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *c)) *c = '_';
}

/* The object's path with the ending of a header; malloc's. */
static char *ahead_header(const char *object) {
    size_t n = strlen(object);
    char *path = malloc(n + 3);
    if (!path) return NULL;
    memcpy(path, object, n + 1);
    if (n > 2 && !strcmp(path + n - 2, ".o")) n -= 2;
    memcpy(path + n, ".h", 3);
    return path;
}

static int ahead_write(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    if (f) ok = fclose(f) == 0 && ok;
    return ok ? 0 : cli_complain(CTSC_ENVIRONMENT, "%s: %s", path, strerror(errno));
}

static void ahead_say(const cli_ahead *a, const char *name, const ctsc_aot_result *r) {
    char size[32], weights[32], workspace[32];
    fprintf(
        stderr,
        "ctsc: wrote %s (%s, %s of it weights) for %s: %s, %d instructions, a workspace of %s\n",
        a->object, cli_bytes((double)r->object_size, size, sizeof size),
        cli_bytes((double)r->weights, weights, sizeof weights), r->isa, name, r->instructions,
        cli_bytes((double)r->workspace, workspace, sizeof workspace));
    for (const char *at = r->notes, *end; at && (end = strchr(at, '\n')); at = end + 1)
        fprintf(stderr, "note: %.*s\n", (int)(end - at), at);
}

int cli_ahead_compile(cli_ahead *a, const ctsc_module *m, const cli_inputs *in, ctsc_error *e) {
    char name[AHEAD_NAME];
    ctsc_aot_result r = {.size = sizeof r};
    ahead_name(a->object, name);
    char *header = a->header ? NULL : ahead_header(a->object);
    const char *header_path = a->header ? a->header : header;
    ctsc_aot_options o = {
        .size = sizeof o, .name = name, .arch = a->arch, .dim_count = a->ndims, .dims = a->dims};
    int code = header_path ? ahead_sizes(a, in) : cli_complain(CTSC_LIMIT, "out of memory");
    if (!code) code = cli_check_output(header_path, CLI_HEADER);
    if (!code &&
        ctsc_module_compile_ahead(m, "forward", &o, in->nvalues, in->values, &r, e) != CTSC_OK)
        code = cli_report(e);
    if (!code) code = ahead_write(a->object, r.object, r.object_size);
    if (!code) code = ahead_write(header_path, r.header, strlen(r.header));
    if (!code) ahead_say(a, name, &r);
    ctsc_aot_result_free(&r);
    free(header);
    return code;
}
