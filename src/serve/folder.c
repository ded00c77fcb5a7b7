/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c - from the files of a folder to the models of the repository: looking, loading, loading
 * again, unloading.
 *
 * Method. A look notes what is there. A file that is new or has changed is loaded once two looks in
 * a row saw the same time, size and inode. The new model is complete before it takes the place of
 * the old one, in one store under the repository's lock; requests that run hold references to the
 * old one. If it cannot be loaded, the old one stays, and the file is tried again when it changes.
 * Tests: tests/serve/client.py
 */
#include "serve/repository.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ----------------------------------------------------------------------------------- */

static file_stamp folder_stamp(const struct stat *st) {
    return (file_stamp){(int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                        (int64_t)st->st_size, (int64_t)st->st_ino};
}

static bool folder_same(file_stamp a, file_stamp b) {
    return a.mtime_ns == b.mtime_ns && a.size == b.size && a.inode == b.inode;
}

/* The stamp of a regular file; all zero: there is none. */
static file_stamp folder_look_at(const char *path) {
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return (file_stamp){0};
    return folder_stamp(&st);
}

/* All bytes of a file, from malloc; NULL: *why. */
static void *folder_read(const char *path, size_t *len, file_stamp *stamp, char *why, size_t size) {
    struct stat st, after;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *data = NULL;
    size_t n = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        data = malloc((size_t)st.st_size + 1);
    while (data && n < (size_t)st.st_size) {
        ssize_t got = read(fd, data + n, (size_t)st.st_size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    bool ok = data && n == (size_t)st.st_size && fstat(fd, &after) == 0 &&
              folder_same(folder_stamp(&st), folder_stamp(&after));
    if (fd >= 0) close(fd);
    if (!ok) {
        snprintf(why, size,
                 fd < 0 ? "the file cannot be read"
                 : data ? "the file changed while it was read"
                        : "out of memory");
        free(data);
        return NULL;
    }
    *len = n;
    *stamp = folder_stamp(&st);
    return data;
}

/* ---- entries --------------------------------------------------------------------------------- */

static char *folder_join(const char *a, const char *b, const char *c) {
    char *out = NULL;
    return asprintf(&out, "%s/%s%s", a, b, c) < 0 ? NULL : out;
}

static int folder_order(const entry *a, const entry *b) {
    int c = strcmp(a->name, b->name);
    return c ? c : (a->number < b->number) - (a->number > b->number);
}

static void folder_free_entry(entry *e) {
    if (!e) return;
    free(e->name);
    free(e->version);
    free(e->path);
    free(e->config_path);
    free(e);
}

static entry *folder_add_entry(repository *r, const char *name, int64_t number, bool wanted) {
    entry *e = calloc(1, sizeof *e);
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    if (e)
        e->name = strdup(name), e->version = strdup(digits), e->number = number, e->wanted = wanted;
    bool ok = e && e->name && e->version;
    pthread_mutex_lock(&r->lock);
    if (ok && r->n == r->cap) {
        entry **more = realloc(r->entries, (2 * r->cap + 8) * sizeof *more);
        ok = more != NULL;
        if (ok) r->entries = more, r->cap = 2 * r->cap + 8;
    }
    if (ok) {
        size_t at = r->n++;
        for (; at > 0 && folder_order(e, r->entries[at - 1]) < 0; at--)
            r->entries[at] = r->entries[at - 1];
        r->entries[at] = e;
    }
    pthread_mutex_unlock(&r->lock);
    if (!ok) folder_free_entry(e);
    return ok ? e : NULL;
}

static entry *folder_entry(repository *r, const char *name, int64_t number) {
    for (size_t i = 0; i < r->n; i++) /* only the holder of `loading`, which we are, adds entries */
        if (!strcmp(r->entries[i]->name, name) && r->entries[i]->number == number)
            return r->entries[i];
    return NULL;
}

/* Notes a file, if it is there. path_take, config_take: from malloc. False: out of memory. */
static bool folder_note(repository *r, const char *name, int64_t number, char *path_take,
                        char *config_take, bool wanted) {
    bool ok = path_take && config_take, there = ok && folder_look_at(path_take).inode;
    entry *e = there ? folder_entry(r, name, number) : NULL;
    if (there && !e) ok = (e = folder_add_entry(r, name, number, wanted)) != NULL;
    if (!e || e->noted) {
        free(path_take);
        free(config_take);
        return ok;
    }
    pthread_mutex_lock(&r->lock);
    free(e->path);
    free(e->config_path);
    e->path = path_take;
    e->config_path = config_take;
    e->here = e->noted = true;
    pthread_mutex_unlock(&r->lock);
    return true;
}

/* False: there may be a folder, but now it cannot be read (too many files are open, for one). */
static bool folder_open(const char *path, DIR **d) {
    *d = path ? opendir(path) : NULL;
    return *d || (path && (errno == ENOENT || errno == ENOTDIR || errno == EACCES));
}

/* What comes next in a folder (none: NULL); *all becomes false where that cannot be read. */
static struct dirent *folder_next(DIR *d, bool *all) {
    errno = 0;
    struct dirent *f = d ? readdir(d) : NULL;
    if (d && !f && errno) *all = false;
    return f;
}

static bool folder_name_ok(const char *name) {
    size_t n = strlen(name);
    if (!n || n > 200 || *name == '.') return false;
    for (const char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p < 0x20 || *p == 0x7F) return false;
    return true;
}

/* "12" to 12; -1: no version. */
static int64_t folder_version(const char *text) {
    size_t n = strlen(text);
    if (!n || n > 15 || *text == '0' || strspn(text, "0123456789") != n) return -1;
    return strtoll(text, NULL, 10);
}

/* The i-th ending that models have; of one model, the first that is there counts.
 * NULL at the end. */
static const char *folder_ending(size_t i) {
    const ctsc_format *f;
    for (size_t k = 0; (f = ctsc_format_at(k)) != NULL; k++)
        if (f->model_ending && !i--) return f->model_ending;
    return NULL;
}

/* DIR/NAME.pt, or another ending where only that is there. NULL: out of memory. */
static char *folder_archive(const char *dir, const char *name) {
    const char *ending;
    for (size_t i = 0; (ending = folder_ending(i)) != NULL; i++) {
        char *path = folder_join(dir, name, ending);
        if (!path || !access(path, F_OK)) return path;
        free(path);
    }
    return folder_join(dir, name, folder_ending(0));
}

/* Takes the ending of a model's file off; false: it has none of these. */
static bool folder_cut_ending(char *name) {
    size_t n = strlen(name);
    const char *ending;
    for (size_t i = 0; (ending = folder_ending(i)) != NULL; i++) {
        size_t k = strlen(ending);
        if (n > k && !strcmp(name + n - k, ending)) return name[n - k] = '\0', true;
    }
    return false;
}

/* Notes what there is of one model. False: not all could be seen. */
static bool folder_scan_model(repository *r, const char *name, bool wanted) {
    char *dir = folder_join(r->options->folder, name, "");
    DIR *d;
    bool ok = folder_open(dir, &d);
    for (struct dirent *f; (f = folder_next(d, &ok));) {
        int64_t number = folder_version(f->d_name);
        char *sub = number > 0 ? folder_join(dir, f->d_name, "") : NULL;
        if (number > 0)
            ok = sub &&
                 folder_note(r, name, number, folder_archive(sub, "model"),
                             folder_join(dir, "config", ".json"), wanted) &&
                 ok;
        free(sub);
    }
    if (d) {
        closedir(d);
        ok = folder_note(r, name, 1, folder_archive(dir, "model"),
                         folder_join(dir, "config", ".json"), wanted) &&
             ok;
    }
    char *path = folder_archive(r->options->folder, name),
         *config = folder_join(r->options->folder, name, ".json");
    ok = folder_note(r, name, 1, path, config, wanted) && ok;
    free(dir);
    return ok;
}

static void folder_scan_begin(repository *r) {
    for (size_t i = 0; i < r->n; i++) r->entries[i]->noted = false;
}

/* What was not noted (of all models, or of one) is gone, if everything was seen: models that run
 * are not given up for want of memory or of descriptors. */
static void folder_scan_end(repository *r, const char *name, bool all_seen) {
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n && all_seen; i++)
        if (!name || !strcmp(r->entries[i]->name, name)) r->entries[i]->here = r->entries[i]->noted;
    pthread_mutex_unlock(&r->lock);
}

/* Of net.pt and net.onnx, or of net.pt and net/model.pt, one is served: says so of the other one,
 * once. */
static void folder_shadowed(repository *r, const char *name, const char *file) {
    entry *e = folder_entry(r, name, 1);
    const char *served = e && e->path ? e->path + strlen(r->options->folder) + 1 : file;
    char text[900];
    if (!e || e->shadows || !strcmp(served, file)) return;
    e->shadows = true;
    snprintf(text, sizeof text, "model %s: %s is served; %s has the same name and is not", name,
             served, file);
    if (r->note) r->note(r->ctx, text);
}

static void folder_scan(repository *r, bool wanted) {
    DIR *d;
    bool ok = folder_open(r->options->folder, &d);
    folder_scan_begin(r);
    for (struct dirent *f; (f = folder_next(d, &ok));) {
        size_t n = strlen(f->d_name);
        if (!folder_name_ok(f->d_name)) continue;
        char file[sizeof f->d_name];
        snprintf(file, sizeof file, "%s", f->d_name);
        bool model = folder_cut_ending(f->d_name);
        if (!model && n > 5 && !strcmp(f->d_name + n - 5, ".json")) continue;
        ok = folder_scan_model(r, f->d_name, wanted) && ok;
        if (model) folder_shadowed(r, f->d_name, file);
    }
    if (d) closedir(d);
    folder_scan_end(r, NULL, ok);
    if (!ok && !r->partly_seen && r->note)
        r->note(r->ctx,
                "the folder of models cannot be read whole: models that ran go on, new ones "
                "may be missing");
    r->partly_seen = !ok;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* e: what is loaded now; NULL: nothing is, or something is about to be written. */
static void folder_busy(const repository *r, const entry *e) {
    char text[300];
    if (!r->options->busy) return;
    if (e) snprintf(text, sizeof text, "loading model %s version %s", e->name, e->version);
    r->options->busy(e ? text : NULL);
}

static void folder_tell(repository *r, const entry *e, const char *what, const char *reason) {
    char text[700];
    snprintf(text, sizeof text, "model %s version %s: %s%s%s", e->name, e->version, what,
             *reason ? ": " : "", reason);
    folder_busy(r, NULL);
    if (r->note) r->note(r->ctx, text);
}

/* Puts m, which may be NULL, into the place of the entry's model. */
static void folder_swap(repository *r, entry *e, model *m, const char *reason) {
    pthread_mutex_lock(&r->lock);
    model *old = e->current;
    e->current = m;
    e->state = m ? ENTRY_READY : ENTRY_UNAVAILABLE;
    snprintf(e->reason, sizeof e->reason, "%s", reason);
    if (m) {
        m->next = r->living;
        r->living = m;
    }
    pthread_mutex_unlock(&r->lock);
    if (old) model_unref(old);
}

static void folder_fail(repository *r, entry *e, const char *why) {
    pthread_mutex_lock(&r->lock);
    bool serves = e->current != NULL;
    e->state = serves ? ENTRY_READY : ENTRY_UNAVAILABLE;
    snprintf(e->reason, sizeof e->reason, "%s%s",
             serves ? "the older one serves on, since loading failed: " : "", why);
    pthread_mutex_unlock(&r->lock);
    if (e->loaded.inode) counter_add(&e->stats.reload_failures, 1);
    folder_tell(r, e, serves ? "not reloaded" : "not loaded", why);
}

static bool folder_superseded(repository *r, const entry *e) {
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i]->here && r->entries[i]->number > e->number &&
            !strcmp(r->entries[i]->name, e->name))
            return true;
    return false;
}

/* Does DIR/NAME.pt hold values (weights, inputs) and no module? People keep both in one folder. */
static bool folder_is_data(const repository *r, const entry *e) {
    char *loose = folder_join(r->options->folder, e->name, ".pt");
    ctsc_value *v = NULL;
    bool data = loose && e->path && !strcmp(loose, e->path) &&
                ctsc_value_load(loose, &v, NULL) == CTSC_OK;
    ctsc_value_free(v);
    free(loose);
    return data;
}

/* By its content: what a file is, its name need not say. */
static void folder_platform(const entry *e, model *m) {
    const ctsc_format *f = NULL;
    ctsc_file_format(e->path, &f, NULL); /* it was loaded; where it is gone by now, it has none */
    snprintf(m->platform, sizeof m->platform, "ctsc_%s", f ? f->name : "unknown");
}

/* Settings, then the archive. override: the text of a config, or NULL. */
static bool folder_load(repository *r, entry *e, const char *override, char *why, size_t size) {
    size_t config_len = override ? strlen(override) : 0, len = 0;
    file_stamp config_stamp = {0}, stamp = folder_look_at(e->path);
    char *text = NULL;
    model_config config = {0};
    model *m = NULL;
    e->seen = stamp;
    e->config_seen = folder_look_at(e->config_path);
    pthread_mutex_lock(&r->lock);
    if (!e->current) e->state = ENTRY_LOADING;
    pthread_mutex_unlock(&r->lock);
    bool ok = true;
    if (!override && e->config_seen.inode)
        ok = (text = folder_read(e->config_path, &config_len, &config_stamp, why, size)) != NULL;
    ok = ok && config_read(override ? override : text, config_len, r->options, &config, why, size);
    free(text);
    bool skip = ok && config.only_latest && folder_superseded(r, e);
    void *bytes = ok && !skip ? folder_read(e->path, &len, &stamp, why, size) : NULL;
    if (bytes)
        ok = model_new(e->name, e->version, bytes, len, &config, &e->stats, r->spawner, &m, why,
                       size);
    if (m) folder_platform(e, m);
    else ok = skip;
    config_free(&config);
    bool again = e->loaded.inode != 0, data = !ok && !e->current && folder_is_data(r, e);
    if (data)
        snprintf(why, size, "the file is not a model: torch.save wrote it, not torch.jit.save");
    pthread_mutex_lock(&r->lock);
    e->is_data = data;
    pthread_mutex_unlock(&r->lock);
    if (!ok) folder_fail(r, e, why);
    else folder_swap(r, e, m, skip ? "a higher version serves" : "");
    if (ok && !skip && again) counter_add(&e->stats.reloads, 1);
    if (ok && !skip) folder_tell(r, e, again ? "reloaded" : "loaded", "");
    e->loaded = ok ? stamp : e->seen; /* a failed one is tried again when it changes */
    e->config_loaded = e->config_seen;
    return ok;
}

static void folder_unload(repository *r, entry *e, const char *reason) {
    folder_swap(r, e, NULL, reason);
    e->loaded = (file_stamp){0};
    folder_tell(r, e, "unloaded", reason);
    for (size_t i = 0; i < r->n; i++) /* a lower version may now be the latest */
        if (!r->entries[i]->current && !strcmp(r->entries[i]->name, e->name) &&
            r->entries[i]->number < e->number)
            r->entries[i]->loaded = (file_stamp){0};
}

void repository_look(repository *r, bool start) {
    char why[300];
    pthread_mutex_lock(&r->loading);
    folder_scan(r, !r->options->explicit_loading);
    for (size_t i = 0; i < r->n; i++) {
        entry *e = r->entries[i];
        file_stamp now = e->here ? folder_look_at(e->path) : (file_stamp){0},
                   config = folder_look_at(e->config_path);
        bool settled = folder_same(now, e->seen) && folder_same(config, e->config_seen);
        bool changed = !folder_same(now, e->loaded) || !folder_same(config, e->config_loaded);
        e->seen = now;
        e->config_seen = config;
        if (!e->wanted || !(start || settled)) continue;
        if (!e->here) {
            if (e->current) folder_unload(r, e, "the file is gone");
        } else if (changed) {
            if (start) folder_busy(r, e);
            folder_load(r, e, NULL, why, sizeof why);
        }
    }
    if (start) folder_busy(r, NULL);
    pthread_mutex_unlock(&r->loading);
}

static void folder_want(repository *r, entry *e, bool wanted) {
    pthread_mutex_lock(&r->lock);
    e->wanted = wanted;
    pthread_mutex_unlock(&r->lock);
}

bool repository_load(repository *r, const char *name, const char *config, char *why, size_t size,
                     bool *known) {
    bool ok = true;
    char text[300];
    *known = false;
    if (!folder_name_ok(name)) return false;
    pthread_mutex_lock(&r->loading);
    folder_scan_begin(r);
    folder_scan_end(r, name, folder_scan_model(r, name, true));
    for (size_t i = 0; i < r->n; i++) {
        entry *e = r->entries[i];
        if (strcmp(e->name, name) || !e->here) continue;
        *known = true;
        folder_want(r, e, true);
        if (folder_load(r, e, config, text, sizeof text) || !ok) continue;
        ok = false;
        snprintf(why, size, "%s", text);
    }
    pthread_mutex_unlock(&r->loading);
    return ok && *known;
}

bool repository_unload(repository *r, const char *name) {
    bool known = false;
    pthread_mutex_lock(&r->loading);
    for (size_t i = 0; i < r->n; i++) {
        entry *e = r->entries[i];
        if (strcmp(e->name, name)) continue;
        known = true;
        folder_want(r, e, false);
        if (e->current) folder_unload(r, e, "unloaded on request");
    }
    pthread_mutex_unlock(&r->loading);
    return known;
}
