/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repository.h - which models and versions there are, and which of them are loaded.
 *
 * A model is DIR/<model>/<version>/model.pt, or DIR/<model>/model.pt, or DIR/<model>.pt, which
 * count as version 1. Its settings are in DIR/<model>/config.json, of a plain file in
 * DIR/<model>.json.
 *
 * Threads: any thread may find models. Loading is one at a time, under a lock of its own, and never
 * holds up finding.
 */
#ifndef CTSC_SERVE_REPOSITORY_H
#define CTSC_SERVE_REPOSITORY_H

#include "serve/model.h"

typedef struct file_stamp { int64_t mtime_ns, size, inode; } file_stamp;

typedef enum entry_state { ENTRY_UNAVAILABLE, ENTRY_LOADING, ENTRY_READY } entry_state;

/* A version of a model, from when its file is first seen until the server ends. */
typedef struct entry {
    char *name, *version, *path, *config_path;
    int64_t number;
    /* of the archive and its config: at the last look, and when it was last (tried to be) loaded */
    file_stamp seen, loaded;
    file_stamp config_seen, config_loaded;
    bool here;  /* the file was there at the last look that saw the whole folder */
    bool noted; /* by the look under way */
    /* no model, but a torch.save file next to the models: nobody waits for it */
    bool is_data;
    bool shadows; /* another file has its name; said once */
    bool wanted;  /* is to be loaded whenever it is not, or has changed */
    entry_state state;
    char reason[300]; /* why it is not ready */
    model *current;   /* NULL: none. A reference */
    model_stats stats;
} entry;

typedef struct repository {
    const serve_options *options;
    struct spawner *spawner; /* of models' processes; NULL: models run in this one */
    pthread_mutex_t lock;    /* of everything below, for short */
    pthread_mutex_t loading; /* one look at the folder, one load at a time */
    entry **entries;         /* by name, then by version, the highest first; only ever more */
    size_t n, cap;
    bool partly_seen; /* the last look at the folder did not see all of it; said once */
    model *living;    /* all that are not freed yet */
    void (*note)(void *ctx, const char *text); /* one line for the log: loaded, failed, ... */
    void *ctx;
} repository;

bool repository_init(repository *r, const serve_options *o);
void repository_free(repository *r); /* no request may be running */

typedef enum found { FOUND, FOUND_NO_MODEL, FOUND_NO_VERSION, FOUND_NOT_READY } found;
/* version NULL: the highest one that is ready. On FOUND *out is a reference. */
found repository_find(repository *r, const char *name, const char *version, model **out);
/* The names of a model's versions that are ready, as JSON. */
void repository_versions(repository *r, const char *name, buffer *out);
/* The names of the models that are ready, as JSON. */
void repository_names(repository *r, buffer *out);
void repository_index(repository *r, bool only_ready, buffer *out);
/* {"model_stats":[...]}; name, version NULL: all. FOUND, or what was not. */
found repository_stats(repository *r, const char *name, const char *version, buffer *out);
/* Calls visit for each entry, under the lock. */
void repository_visit(repository *r, void (*visit)(void *ctx, entry *e), void *ctx);
bool repository_all_ready(repository *r);

/* Looks at the folder, loads and unloads as files have come, changed and gone. start: files
 * are loaded at once; otherwise only when two looks in a row saw the same, since a file may
 * be half written. */
void repository_look(repository *r, bool start);
/* Loads, or loads again, all versions of a model. config: text that replaces config.json this time,
 * or NULL. False: *why. */
bool repository_load(repository *r, const char *name, const char *config, char *why, size_t size,
                     bool *known);
bool repository_unload(repository *r, const char *name);
/* Frees models that nothing refers to any more, ends requests that have waited too long. Called by
 * one thread, often. */
void repository_tend(repository *r);
/* Stops what runs. */
void repository_cancel(repository *r);

#endif
