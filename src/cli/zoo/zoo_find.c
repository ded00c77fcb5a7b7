/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo_find.c - which architectures packages have, by the text of their files.
 *
 * torchvision and timm mark each function that builds a network:
 *
 *     @register_model()                        of torchvision, perhaps with name="quantized_resnet50"
 *     @handle_legacy_interface(...)
 *     def resnet50(*, weights: ... = None, ...) -> ResNet:
 *
 * transformers has a list of pairs ("bert", "BertModel") in models/auto/modeling_auto.py, and one
 * of configurations. Nothing is run, so a list of two thousand takes a fraction of a second; lines
 * that look otherwise are passed over.
 * Tests: tests/cli/zoo.test
 */
#include "cli/zoo/zoo.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIND_MAX_FILE = 16 << 20, FIND_DEPTH = 3, FIND_NAME = 128 };

const char *const zoo_source_names[ZOO_SOURCES] = {"examples", "torchvision", "timm",
                                                   "transformers"};

/* ---- entries --------------------------------------------------------------------------------- */

static void find_drop(zoo_entry *e) {
    free(e->name);
    free(e->module);
    free(e->builder);
    free(e->config);
}

void zoo_free(zoo *z) {
    for (size_t i = 0; i < z->n; i++) find_drop(&z->entries[i]);
    free(z->entries);
    *z = (zoo){0};
}

/* Takes the strings of e. */
static void find_add(zoo *z, zoo_entry e) {
    bool ok = e.name && e.module && e.builder;
    if (ok && z->n == z->cap) {
        size_t cap = z->cap ? 2 * z->cap : 256;
        zoo_entry *grown = realloc(z->entries, cap * sizeof *grown);
        if ((ok = grown != NULL)) z->entries = grown, z->cap = cap;
    }
    if (ok) {
        z->entries[z->n++] = e;
    } else {
        z->failed = true;
        find_drop(&e);
    }
}

static int find_order(const void *a, const void *b) {
    const zoo_entry *x = a, *y = b;
    return x->source != y->source ? (x->source < y->source ? -1 : 1) : strcmp(x->name, y->name);
}

/* Sorted, each name of a package once. */
static void find_settle(zoo *z) {
    qsort(z->entries, z->n, sizeof *z->entries, find_order);
    size_t kept = 0;
    for (size_t i = 0; i < z->n; i++) {
        if (kept && !find_order(&z->entries[kept - 1], &z->entries[i])) find_drop(&z->entries[i]);
        else z->entries[kept++] = z->entries[i];
    }
    z->n = kept;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The whole file as a string; NULL if it cannot be read, or is no source. */
static char *find_read(const char *path) {
    struct stat st;
    FILE *f = fopen(path, "r");
    char *text = NULL;
    if (f && !fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size <= FIND_MAX_FILE &&
        (text = malloc((size_t)st.st_size + 1))) {
        size_t n = fread(text, 1, (size_t)st.st_size, f);
        text[n] = '\0';
    }
    if (f) fclose(f);
    return text;
}

static const char *find_next_line(const char *p) {
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

static bool find_begins(const char *p, const char *with) { return !strncmp(p, with, strlen(with)); }

/* The identifier at p; false: there is none, or it is not a name for a network. */
static bool find_identifier(const char *p, char *out) {
    size_t n = 0;
    while ((isalnum((unsigned char)p[n]) || p[n] == '_') && n < FIND_NAME - 1) n++;
    memcpy(out, p, n);
    out[n] = '\0';
    return n && (isalpha((unsigned char)*out) || *out == '_') && p[n] == '(';
}

/* What is between the quotes at p; NULL: there are none on this line. Names are as plain as those
 * of packages: they become part of a program. */
static const char *find_quoted(const char *p, char *out) {
    while (*p && *p != '\n' && *p != '"' && *p != '\'') p++;
    if (*p != '"' && *p != '\'') return NULL;
    const char *end = strchr(p + 1, *p);
    size_t n = end ? (size_t)(end - p - 1) : 0;
    if (!n || n >= FIND_NAME) return NULL;
    for (size_t i = 1; i <= n; i++)
        if (!isalnum((unsigned char)p[i]) && !strchr("_-.", p[i])) return NULL;
    memcpy(out, p + 1, n);
    out[n] = '\0';
    return end + 1;
}

/* ---- torchvision and timm -------------------------------------------------------------------- */

/* Whether the signature at p, which ends with the first line that has its closing bracket at the
 * end, mentions this. */
static bool find_in_signature(const char *p, const char *word) {
    for (const char *line = p, *next; *line; line = next) {
        next = find_next_line(line);
        const char *at = strstr(line, word);
        if (at && at < next) return true;
        if (line == p ? memchr(line, ')', (size_t)(next - line)) != NULL : *line == ')') break;
    }
    return false;
}

/* The function that is marked at p. */
static void find_builder(zoo *z, zoo_source source, const char *module, const char *p) {
    char name[FIND_NAME] = "", builder[FIND_NAME];
    const char *end = find_next_line(p), *given = strstr(p, "name=");
    if (given && given < end) find_quoted(given, name);
    for (p = end; *p && !find_begins(p, "def "); p = find_next_line(p))
        if (find_begins(p, "class ") || find_begins(p, "@register_model")) return;
    if (!*p || !find_identifier(p + 4, builder)) return;
    find_add(z, (zoo_entry){.source = source,
                            .name = strdup(*name ? name : builder),
                            .module = strdup(module),
                            .builder = strdup(builder),
                            .backbone = find_in_signature(p, "weights_backbone")});
}

static void find_in_file(zoo *z, zoo_source source, const char *path, const char *module) {
    char *text = find_read(path);
    for (const char *p = text ? text : ""; *p; p = find_next_line(p))
        if (find_begins(p, "@register_model")) find_builder(z, source, module, p);
    free(text);
}

/* The files of a package's folder and of those in it. */
static void find_in_folder(zoo *z, zoo_source source, const char *folder, const char *module,
                           int depth) {
    DIR *d = depth < FIND_DEPTH ? opendir(folder) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[4096], below[512];
        size_t n = strlen(f->d_name);
        size_t plain = strspn(f->d_name, "abcdefghijklmnopqrstuvwxyz0123456789_");
        bool file = n > 3 && plain == n - 3 && !strcmp(f->d_name + plain, ".py");
        if ((!file && plain < n) || *f->d_name == '_') continue;
        int a = snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        int b = snprintf(below, sizeof below, "%s.%.*s", module, (int)(file ? n - 3 : n),
                         f->d_name);
        if (a >= (int)sizeof path || b >= (int)sizeof below) continue;
        if (file) find_in_file(z, source, path, below);
        else find_in_folder(z, source, path, below, depth + 1);
    }
    if (d) closedir(d);
}

/* ---- transformers ---------------------------------------------------------------------------- */

/* The line after that on which the list of this name begins; NULL: there is no such list. */
static const char *find_list(const char *text, const char *name) {
    for (const char *p = text; *p; p = find_next_line(p))
        if (find_begins(p, name)) return find_next_line(p);
    return NULL;
}

/* Of a line `("bert", "BertModel"),`, or `("funnel", ("FunnelModel", ...)),` the first two. */
static bool find_pair(const char *p, char *first, char *second) {
    while (*p == ' ') p++;
    if (*p != '(') return false;
    const char *after = find_quoted(p, first);
    return after && find_quoted(after, second);
}

/* In a list that ends with a line of a bracket alone. */
static bool find_class_of(const char *list, const char *type, char *out) {
    char key[FIND_NAME];
    for (const char *p = list; *p && *p != ')'; p = find_next_line(p))
        if (find_pair(p, key, out) && !strcmp(key, type)) return true;
    return false;
}

static char *find_read_in(const char *folder, const char *file) {
    char path[4096];
    return snprintf(path, sizeof path, "%s/transformers/models/auto/%s", folder, file) <
                   (int)sizeof path
               ? find_read(path)
               : NULL;
}

static void find_transformers(zoo *z, const char *folder) {
    char *models = find_read_in(folder, "modeling_auto.py"),
         *configs = find_read_in(folder, "auto_mappings.py"), key[FIND_NAME], class[FIND_NAME],
         config[FIND_NAME];
    if (!configs || !find_list(configs, "CONFIG_MAPPING_NAMES")) { /* of older ones */
        free(configs);
        configs = find_read_in(folder, "configuration_auto.py");
    }
    const char *list = models ? find_list(models, "MODEL_MAPPING_NAMES") : NULL,
               *of = configs ? find_list(configs, "CONFIG_MAPPING_NAMES") : NULL;
    for (const char *p = list; of && p && *p && *p != ')'; p = find_next_line(p))
        if (find_pair(p, key, class) && find_class_of(of, key, config))
            find_add(z, (zoo_entry){.source = ZOO_TRANSFORMERS,
                                    .name = strdup(key),
                                    .module = strdup("transformers"),
                                    .builder = strdup(class),
                                    .config = strdup(config)});
    free(configs);
    free(models);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_package(zoo *z, const char *folder, zoo_source source) {
    char path[4096], module[64];
    snprintf(module, sizeof module, "%s.models", zoo_source_names[source]);
    if (snprintf(path, sizeof path, "%s/%s/models", folder, zoo_source_names[source]) <
        (int)sizeof path)
        find_in_folder(z, source, path, module, 0);
}

static bool find_has(const zoo *z, zoo_source source) {
    for (size_t i = 0; i < z->n; i++)
        if (z->entries[i].source == source) return true;
    return false;
}

void zoo_find(zoo *z, const char *const *folders, size_t nfolders) {
    for (size_t i = 0; i < zoo_nexamples; i++)
        find_add(z, (zoo_entry){.source = ZOO_EXAMPLES,
                                .name = strdup(zoo_examples[i].name),
                                .module = strdup(""),
                                .builder = strdup(""),
                                .text = zoo_examples[i].text,
                                .ntext = (size_t)(zoo_examples[i].end - zoo_examples[i].text)});
    /* of the first folder that has a package, which is the one that imports find */
    for (size_t i = 0; i < nfolders; i++) {
        if (!find_has(z, ZOO_TORCHVISION)) find_package(z, folders[i], ZOO_TORCHVISION);
        if (!find_has(z, ZOO_TIMM)) find_package(z, folders[i], ZOO_TIMM);
        if (!find_has(z, ZOO_TRANSFORMERS)) find_transformers(z, folders[i]);
    }
    find_settle(z);
}
