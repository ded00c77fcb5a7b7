/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo_build.c - builds one architecture: compiles a few lines of Python that import its builder.
 *
 * What it can be called with those lines print, a line "INPUT_MARK float32[1,3,224,224]:rand" per
 * argument: timm's and transformers' configurations have it. Of torchvision's builders it follows
 * from the module (build_inputs), of an example from the command at the head of its file. Networks
 * that cannot be scripted are traced; those of transformers always are.
 * Tests: tests/cli/zoo.test
 */
#include "cli/zoo/zoo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MARK "ctsc-zoo-input "

/* ---- programs -------------------------------------------------------------------------------- */

/* Arguments of torchvision's networks, by the beginning of their module's name; '|' is between
 * two. The last is for the rest. */
static const struct { const char *module, *specs; } build_inputs[] = {
    {"torchvision.models.detection.", "[float32[3,320,320]:rand]"},
    {"torchvision.models.optical_flow.", "float32[1,3,128,128]:rand|float32[1,3,128,128]:rand"},
    {"torchvision.models.segmentation.", "float32[1,3,520,520]:rand"},
    {"torchvision.models.video.resnet", "float32[1,3,16,112,112]:rand"},
    {"torchvision.models.video.", "float32[1,3,16,224,224]:rand"},
    {"torchvision.models.inception", "float32[1,3,299,299]:rand"},
    {"torchvision.models.quantization.inception", "float32[1,3,299,299]:rand"},
    {"", "float32[1,3,224,224]:rand"},
};

static const char build_torchvision[] = "from %s import %s\n"
                                        "model = %s(%s)\n";

static const char build_timm[] =
    "import timm\n"
    "model = timm.create_model('%s', scriptable=True)\n"
    "size = (model.pretrained_cfg or {}).get('input_size') or (3, 224, 224)\n"
    "print('" INPUT_MARK "float32[1,' + ','.join(str(n) for n in size) + ']:rand')\n";

/* Text of 128 tokens, a square image or a second of sound. */
static const char build_transformers[] =
    "import torch\n"
    "from transformers import %s, %s\n"
    "config = %s()\n"
    "config.use_cache = False\n"
    "model = %s(config).eval()\n"
    "main = getattr(model, 'main_input_name', 'input_ids')\n"
    "def pair(n):\n"
    "    return tuple(n) if isinstance(n, (list, tuple)) else (n, n)\n"
    "if main == 'input_ids':\n"
    "    specs = ['int64[1,128]:ones']\n"
    "    inputs = (torch.ones(1, 128, dtype=torch.int64),)\n"
    "    if getattr(config, 'is_encoder_decoder', False):\n"
    "        specs, inputs = 3 * specs, 3 * inputs\n"
    "elif main == 'pixel_values':\n"
    "    size = (getattr(config, 'num_channels', 3),) + pair(getattr(config, 'image_size', 224))\n"
    "    specs = ['float32[1,%%d,%%d,%%d]:rand' %% size]\n"
    "    inputs = (torch.rand(1, *size),)\n"
    "elif main == 'input_values':\n"
    "    specs = ['float32[1,16000]:rand']\n"
    "    inputs = (torch.rand(1, 16000),)\n"
    "else:\n"
    "    raise ValueError('nothing is known of an input like its ' + str(main))\n"
    "for spec in specs:\n"
    "    print('" INPUT_MARK "' + spec)\n"
    "net = torch.jit.trace(model, inputs)\n";

static int build_program(const zoo_entry *z, FILE *f) {
    switch (z->source) {
    case ZOO_TORCHVISION:
        return fprintf(f, build_torchvision, z->module, z->builder, z->builder,
                       z->backbone ? "weights_backbone=None" : "");
    case ZOO_TIMM: return fprintf(f, build_timm, z->name);
    case ZOO_TRANSFORMERS:
        return fprintf(f, build_transformers, z->config, z->builder, z->config, z->builder);
    default: return -1;
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void build_add_spec(zoo_net *net, const char *spec, size_t len) {
    if (net->nspecs < ZOO_INPUTS && len < sizeof net->specs[0])
        snprintf(net->specs[net->nspecs++], sizeof net->specs[0], "%.*s", (int)len, spec);
}

/* What the program prints: its arguments, and what nobody asked for. */
static void build_print(void *ctx, const char *text, size_t len) {
    size_t mark = strlen(INPUT_MARK);
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' ')) len--;
    if (len > mark && !memcmp(text, INPUT_MARK, mark)) build_add_spec(ctx, text + mark, len - mark);
}

/* The arguments of `ctsc run` at the head of an example: --input 'int64[1,8]:arange' */
static void build_example_specs(const zoo_entry *z, zoo_net *net) {
    const char *p = memmem(z->text, z->ntext, "ctsc run", 8), *text_end = z->text + z->ntext;
    const char *end = p ? memchr(p, '\n', (size_t)(text_end - p)) : NULL;
    while (end && (p = memmem(p, (size_t)(end - p), "--input ", 8))) {
        p += 8 + (p[8] == '\'');
        size_t n = strcspn(p, "' \n");
        build_add_spec(net, p, n);
        p += n;
    }
}

static void build_torchvision_specs(const zoo_entry *z, zoo_net *net) {
    size_t row = 0;
    while (strncmp(z->module, build_inputs[row].module, strlen(build_inputs[row].module))) row++;
    for (const char *p = build_inputs[row].specs; *p;) {
        size_t n = strcspn(p, "|");
        build_add_spec(net, p, n);
        p += n + (p[n] == '|');
    }
}

ctsc_value *zoo_input(const char *spec) {
    ctsc_value *v = NULL, *list;
    char item[96];
    size_t n = strlen(spec);
    if (*spec != '[') return cli_parse_input(spec, &v) == CTSC_OK ? v : NULL;
    snprintf(item, sizeof item, "%.*s", (int)(n - 2), spec + 1);
    if (cli_parse_input(item, &v) != CTSC_OK) return NULL;
    list = ctsc_list_new(1, &v);
    ctsc_value_free(v);
    return list;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static ctsc_status build_compile(const char *path, const zoo_build_options *b, bool trace,
                                 zoo_net *net, ctsc_error *e) {
    ctsc_compile_options o = {.size = sizeof o,
                              .seed = b->seed,
                              .weights = b->weights,
                              .skip_init = b->skip_init,
                              .max_bytes = b->max_bytes,
                              .print = build_print,
                              .warn = b->warn ? cli_warn : NULL,
                              .ctx = net,
                              .path = b->path,
                              .trace = trace,
                              .skip_trace_check = true};
    ctsc_value *args[ZOO_INPUTS] = {0};
    bool ok = true;
    for (size_t i = 0; trace && i < net->nspecs && ok; i++)
        if ((ok = (args[i] = zoo_input(net->specs[i])) != NULL)) o.trace_count++;
    o.trace_inputs = args;
    if (trace) net->nspecs = 0; /* the program prints them again */
    ctsc_status s = ok ? ctsc_module_compile(path, &o, &net->m, e) : CTSC_USAGE;
    for (size_t i = 0; i < o.trace_count; i++) ctsc_value_free(args[i]);
    net->traced = trace && s == CTSC_OK;
    return s;
}

/* Scripted, or traced where that fails and there is anything to trace with. */
static ctsc_status build_file(const zoo_entry *z, const char *path, const zoo_build_options *b,
                              zoo_net *net, ctsc_error *e) {
    if (z->source == ZOO_TORCHVISION) build_torchvision_specs(z, net);
    ctsc_status s = build_compile(path, b, false, net, e);
    if (s != CTSC_FAILED || z->source == ZOO_TRANSFORMERS || !net->nspecs) {
        net->traced = z->source == ZOO_TRANSFORMERS;
        return s;
    }
    ctsc_error *own = ctsc_error_new();
    zoo_net again = *net;
    ctsc_status t = own ? build_compile(path, b, true, &again, own) : CTSC_LIMIT;
    if (t == CTSC_OK) {
        if (!again.nspecs) memcpy(again.specs, net->specs, sizeof again.specs);
        if (!again.nspecs) again.nspecs = net->nspecs;
        *net = again;
        s = t;
    }
    ctsc_error_free(own);
    return s;
}

ctsc_status zoo_build(const zoo_entry *z, const zoo_build_options *b, zoo_net *out, ctsc_error *e) {
    *out = (zoo_net){0};
    if (z->source == ZOO_EXAMPLES) {
        char name[64];
        snprintf(name, sizeof name, "%s.py", z->name);
        ctsc_compile_options o = {.size = sizeof o,
                                  .seed = b->seed,
                                  .weights = b->weights,
                                  .skip_init = b->skip_init,
                                  .warn = b->warn ? cli_warn : NULL};
        build_example_specs(z, out);
        return ctsc_module_compile_text(name, z->text, z->ntext, &o, &out->m, e);
    }
    const char *tmp = getenv("TMPDIR");
    char folder[4096], path[4200];
    if (snprintf(folder, sizeof folder, "%s/ctsc-zoo-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
            (int)sizeof folder ||
        !mkdtemp(folder))
        return (ctsc_status)cli_complain(CTSC_ENVIRONMENT, "cannot make a folder for a program");
    snprintf(path, sizeof path, "%s/zoo.py", folder);
    FILE *f = fopen(path, "w");
    bool ok = f && build_program(z, f) > 0;
    if (f && fclose(f) != 0) ok = false;
    ctsc_status s = ok ? build_file(z, path, b, out, e)
                       : (ctsc_status)cli_complain(CTSC_ENVIRONMENT, "cannot write %s", path);
    unlink(path);
    rmdir(folder);
    return s;
}

void zoo_net_free(zoo_net *net) {
    ctsc_module_free(net->m);
    *net = (zoo_net){0};
}
