/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_folder.c - images in folders: a class for each subfolder, as torchvision's ImageFolder has
 * them.
 *
 *     animals/cat/1.png      class 0, "cat"
 *     animals/dog/1.jpg      class 1, "dog"
 *     animals/dog/a/2.jpg    class 1 too: folders may nest
 *
 * Classes have the order of their names, images that of their folders' paths and then of their
 * names. All have to have one size,
 * which options may give them (resize=64:crop=56). They are kept as bytes, and become float32 from
 * 0 to 1 a batch at a time, unless the options normalize them.
 * Tests: tests/cli/train-data.test
 */
#include "cli/inputs.h"
#include "cli/progress.h"
#include "cli/train/train_data.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FOLDER_MAX_IMAGES = 1 << 26,
    FOLDER_MAX_FOLDERS = 1 << 20, /* of a class */
    FOLDER_MAX_DEPTH = 32         /* links may go round in circles */
};

typedef struct folder_image { char *path; int64_t label; } folder_image;

typedef struct folder {
    const char *path;
    folder_image *images;
    size_t n, room;
    size_t left_out; /* images of other formats */
    data_classes classes;
    ctsc_value *pixels; /* [n, channels, height, width] */
} folder;

static int folder_no_memory(void) { return cli_complain(CTSC_LIMIT, "out of memory"); }

static bool folder_ends(const char *name, size_t n, const char *const endings[]) {
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < n; i++)
        if (!strcasecmp(dot, endings[i])) return true;
    return false;
}

/* Endings of images that are read, and of others that ImageFolder takes. */
static bool folder_reads(const char *name) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    return folder_ends(name, sizeof endings / sizeof *endings, endings);
}

static bool folder_lacks(const char *name) {
    static const char *const endings[] = {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
    return folder_ends(name, sizeof endings / sizeof *endings, endings);
}

static int folder_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

/* The names in a folder, sorted; -1: said why not. */
static int folder_names(const char *path, struct dirent ***names) {
    int n = scandir(path, names, folder_visible, alphasort);
    if (n < 0) cli_cannot_open(path, errno);
    return n;
}

static void folder_free_names(struct dirent **names, int n) {
    while (n > 0) free(names[--n]);
    free(names);
}

static int folder_add(folder *f, char *path_take, int64_t label) {
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 256;
        folder_image *more = room > FOLDER_MAX_IMAGES ? NULL
                                                      : realloc(f->images, room * sizeof *more);
        if (!more) return free(path_take), folder_no_memory();
        f->images = more;
        f->room = room;
    }
    f->images[f->n++] = (folder_image){path_take, label};
    return 0;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The folders of a class, itself among them. */
typedef struct folder_tree { char **paths; size_t n, room; } folder_tree;

static int folder_grow(folder_tree *t, char *path_take) {
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 16;
        char **more = room > FOLDER_MAX_FOLDERS ? NULL : realloc(t->paths, room * sizeof *more);
        if (!more) return free(path_take), folder_no_memory();
        t->paths = more;
        t->room = room;
    }
    t->paths[t->n++] = path_take;
    return 0;
}

static void folder_free_tree(folder_tree *t) {
    while (t->n) free(t->paths[--t->n]);
    free(t->paths);
}

static int folder_before(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a folder of the tree has in it: its images, or, where f is NULL, its folders. */
static int folder_look(folder_tree *t, const char *path, int64_t label, folder *f) {
    struct dirent **names = NULL;
    int n = folder_names(path, &names), code = n < 0 ? CTSC_BAD_FILE : 0;
    for (int i = 0; i < n && !code; i++) {
        struct stat st;
        char *one = NULL;
        const char *name = names[i]->d_name;
        if (f) f->left_out += folder_lacks(name);
        if (f && !folder_reads(name)) continue;
        if (asprintf(&one, "%s/%s", path, name) < 0) code = folder_no_memory();
        else if (f) code = folder_add(f, one, label);
        else if (stat(one, &st) == 0 && S_ISDIR(st.st_mode)) code = folder_grow(t, one);
        else free(one);
    }
    folder_free_names(names, n);
    return code;
}

/* Level by level: level d is paths[begin..end). */
static int folder_nested(folder_tree *t, const char *path) {
    char *own = strdup(path);
    int code = own ? folder_grow(t, own) : folder_no_memory();
    size_t begin = 0;
    for (int depth = 0; !code && begin < t->n; depth++) {
        size_t end = t->n;
        if (depth == FOLDER_MAX_DEPTH)
            return cli_complain(CTSC_LIMIT, "%s: folders nest too deeply (%d)", t->paths[begin],
                                FOLDER_MAX_DEPTH);
        for (; begin < end && !code; begin++) code = folder_look(t, t->paths[begin], 0, NULL);
    }
    if (!code) qsort(t->paths, t->n, sizeof *t->paths, folder_before);
    return code;
}

static int folder_class(folder *f, const char *path, const char *name) {
    folder_tree t = {0};
    size_t before = f->n;
    int code = folder_nested(&t, path);
    if (!code && !data_add_class(&f->classes, name)) code = folder_no_memory();
    for (size_t i = 0; i < t.n && !code; i++)
        code = folder_look(&t, t.paths[i], (int64_t)f->classes.n - 1, f);
    folder_free_tree(&t);
    if (!code && f->n == before)
        code = cli_complain(CTSC_USAGE, "%s: there is no PNG or JPEG in it", path);
    return code;
}

static void folder_warn(const folder *f) {
    char text[96];
    snprintf(text, sizeof text, "%zu images are neither PNG nor JPEG, and left out", f->left_out);
    cli_warn(NULL, text);
}

static int folder_find(folder *f) {
    struct dirent **names = NULL;
    int n = folder_names(f->path, &names), code = n < 0 ? CTSC_BAD_FILE : 0;
    for (int i = 0; i < n && !code; i++) {
        struct stat st;
        char *sub = NULL;
        if (asprintf(&sub, "%s/%s", f->path, names[i]->d_name) < 0) code = folder_no_memory();
        else if (stat(sub, &st) == 0 && S_ISDIR(st.st_mode))
            code = folder_class(f, sub, names[i]->d_name);
        free(sub);
    }
    folder_free_names(names, n);
    if (!code && f->left_out) folder_warn(f);
    if (!code && !f->n)
        code = cli_complain(
            CTSC_USAGE, "%s: a folder of training data has a subfolder for each class", f->path);
    return code;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* The first image, [channels, height, width], says how large all are. */
static int folder_room(folder *f, const ctsc_value *first, ctsc_error *e) {
    const int64_t *s = ctsc_tensor_sizes(first);
    int64_t sizes[] = {(int64_t)f->n, s[0], s[1], s[2]};
    int64_t bytes = (int64_t)ctsc_dtype_describe(ctsc_tensor_dtype(first))->bytes;
    if (cli_product(bytes * sizes[0], s[0] * s[1] * s[2]) > data_memory())
        return cli_complain(CTSC_LIMIT, "%s: %zu images of %lldx%lld do not fit into memory",
                            f->path, f->n, (long long)s[1], (long long)s[2]);
    if (ctsc_tensor_new(ctsc_tensor_dtype(first), 4, sizes, &f->pixels, e) != CTSC_OK)
        return cli_report(e);
    return 0;
}

static int folder_put(folder *f, size_t i, const ctsc_value *image) {
    const int64_t *s = ctsc_tensor_sizes(image), *all = ctsc_tensor_sizes(f->pixels);
    if (memcmp(s, all + 1, 3 * sizeof *s) != 0)
        return cli_complain(CTSC_USAGE,
                            "%s is %lldx%lld, %s is %lldx%lld: give all images one size, as in "
                            "--data %s:64x64 or :resize=64:crop=64",
                            f->images[0].path, (long long)all[2], (long long)all[3],
                            f->images[i].path, (long long)s[1], (long long)s[2], f->path);
    size_t bytes = ctsc_dtype_describe(ctsc_tensor_dtype(image))->bytes *
                   (size_t)(s[0] * s[1] * s[2]);
    memcpy((char *)ctsc_tensor_data(f->pixels) + i * bytes, ctsc_tensor_data(image), bytes);
    return 0;
}

static int folder_decode(folder *f, const char *options, ctsc_error *e) {
    int code = 0;
    for (size_t i = 0; i < f->n && !code; i++) {
        ctsc_value *image = NULL;
        progress_say("%s: reading image %zu of %zu", f->path, i + 1, f->n);
        code = (int)inputs_image(f->images[i].path, options, &image);
        if (!code && !i) code = folder_room(f, image, e);
        if (!code) code = folder_put(f, i, image);
        ctsc_value_free(image);
    }
    return code;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The number of each class among those of the training data. */
static int folder_renumber(folder *f, const data_classes *known) {
    for (size_t i = 0; i < f->n; i++) {
        const char *name = f->classes.names[f->images[i].label];
        int64_t label = data_find_class(known, name);
        if (label < 0)
            return cli_complain(CTSC_USAGE, "%s: a class '%s' that the training data lack", f->path,
                                name);
        f->images[i].label = label;
    }
    return 0;
}

static int folder_labels(const folder *f, data_list *l, ctsc_error *e) {
    int64_t n = (int64_t)f->n;
    if (l->target) return cli_complain(CTSC_USAGE, "%s: there is a target already", f->path);
    if (ctsc_tensor_new(CTSC_INT64, 1, &n, &l->target, e) != CTSC_OK) return cli_report(e);
    for (size_t i = 0; i < f->n; i++)
        ((int64_t *)ctsc_tensor_data(l->target))[i] = f->images[i].label;
    return 0;
}

int data_read_folder(const char *path, const char *options, const data_reading *how, data_list *l,
                     ctsc_error *e) {
    folder f = {.path = path};
    char *all = NULL;
    bool floats = strstr(options, "normalize") || strstr(options, "imagenet");
    if (how->target || how->features)
        return cli_complain(CTSC_USAGE, "%s: --target and --features are for files", path);
    if (how->dtype && how->dtype->dtype != CTSC_FLOAT32)
        return cli_complain(CTSC_USAGE, "%s: images become float32, whatever --dtype says", path);
    if (l->n) return cli_complain(CTSC_USAGE, "%s: a folder of images is the first --data", path);
    if (asprintf(&all, "%s%schw%s", options, *options ? ":" : "", floats ? "" : ":uint8") < 0)
        return folder_no_memory();
    int code = folder_find(&f);
    if (!code && how->classes) code = folder_renumber(&f, how->classes);
    if (!code) code = folder_decode(&f, all, e);
    if (!code) code = folder_labels(&f, l, e);
    if (!code) {
        code = data_put(l, path, "images", f.pixels);
        f.pixels = NULL;
        l->images = !floats;
        l->chosen = true;
        data_free_classes(&l->classes);
        l->classes = f.classes;
        f.classes = (data_classes){0};
    }
    for (size_t i = 0; i < f.n; i++) free(f.images[i].path);
    free(f.images);
    free(all);
    ctsc_value_free(f.pixels);
    data_free_classes(&f.classes);
    return code;
}
