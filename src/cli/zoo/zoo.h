/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo.h - architectures that can be built without a network: what ctsc zoo (cmd_zoo.c) shares with
 * those who find them (zoo_find.c), build them (zoo_build.c) and measure them (zoo_figures.c).
 * docs/zoo.md is for users.
 */
#ifndef CTSC_CLI_ZOO_ZOO_H
#define CTSC_CLI_ZOO_ZOO_H

#include "cli/cli.h"

/* Where architectures come from, in the order of the list. */
typedef enum zoo_source {
    ZOO_EXAMPLES, /* examples/models, which are part of the command */
    ZOO_TORCHVISION,
    ZOO_TIMM,
    ZOO_TRANSFORMERS,
    ZOO_SOURCES
} zoo_source;
extern const char *const zoo_source_names[ZOO_SOURCES];

typedef struct zoo_entry {
    zoo_source source;
    char *name;       /* "resnet50" */
    char *module;     /* that the builder is imported from: "torchvision.models.resnet" */
    char *builder;    /* a function, or of transformers a class: "resnet50", "BertModel" */
    char *config;     /* of transformers: "BertConfig"; else NULL */
    bool backbone;    /* the builder would fetch weights for a part of the network if it was let */
    const char *text; /* of an example: its file, `ntext` bytes */
    size_t ntext;
} zoo_entry;

typedef struct zoo {
    zoo_entry *entries; /* in the order of sources, each sorted by name */
    size_t n, cap;
    bool failed; /* out of memory */
} zoo;

/* An example: a row of examples/models. */
typedef struct zoo_example { const char *name, *text, *end; } zoo_example;
extern const zoo_example zoo_examples[];
extern const size_t zoo_nexamples;

/* Everything that folders have, which is looked for in the text of the packages' files: nothing of
 * them is run. */
void zoo_find(zoo *z, const char *const *folders, size_t nfolders);
void zoo_free(zoo *z);

typedef struct zoo_build_options {
    const char *path; /* folders with packages, separated by ':' */
    const char *weights;
    uint64_t seed;
    bool skip_init; /* weights are zeros */
    bool warn;      /* tells the program's warnings on stderr */
    uint64_t max_bytes;
} zoo_build_options;

enum { ZOO_INPUTS = 4 };

/* A network, and arguments that it can be called with. */
typedef struct zoo_net {
    ctsc_module *m;
    /* "float32[1,3,224,224]:rand", as for --input; of a list of tensors
     * "[float32[3,320,320]:rand]" */
    char specs[ZOO_INPUTS][96];
    size_t nspecs;
    bool traced; /* it could not be scripted */
} zoo_net;

/* Compiles it, or traces it where that is not possible. */
ctsc_status zoo_build(const zoo_entry *entry, const zoo_build_options *o, zoo_net *out,
                      ctsc_error *e);
/* An argument: "float32[1,3,8,8]:rand", or "[float32[3,8,8]:rand]", a list of one.
 * NULL: it is none. */
ctsc_value *zoo_input(const char *spec);
void zoo_net_free(zoo_net *net);

/* What a network has and takes; negative: not known. */
typedef struct zoo_figures {
    int64_t parameters, flops; /* flops: of a call with those arguments */
    bool all_flops;
    double us; /* the median of calls at the default level, if asked for */
} zoo_figures;

ctsc_status zoo_measure(const zoo_net *net, bool time, zoo_figures *out, ctsc_error *e);

#endif
