/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hint.c - guesses what a MODEL file that is
 * no archive is, and says what to do with it.
 *
 * Method. Formats that ctsc lacks are recognised by their first bytes,
 * where they have such, else by the extension. Files of torch.save are
 * read, since their contents decide: weights, with or without the
 * training state, or a whole pickled module, whose code only Python has.
 * Tests: tests/cli/hint.test
 */
#include "cli/cli.h"

#include <string.h>

#define HINT_SAVE                                                                                  \
    "in Python, torch.jit.script(model).save(\"model.pt\") or torch.jit.trace(model, "             \
    "example).save(\"model.pt\") writes an archive"
#define HINT_WEIGHTS "weights belong to code: ctsc compile MODEL.py --weights FILE"

/*    bytes (NULL: ending), their length, their offset, what it is, what to do */
static const struct hint_format {
    const char *bytes;
    size_t len, at;
    const char *ending, *what, *todo;
} hint_formats[] = {
    {"version https://git-lfs", 23, 0, NULL, "a pointer of Git LFS, in place of the file itself",
     "git lfs pull fetches it"},
    {"<!DOCTYPE", 9, 0, NULL, "a web page", "the address of the file itself is needed"},
    {"<html", 5, 0, NULL, "a web page", "the address of the file itself is needed"},
    {"\x93NUMPY", 6, 0, NULL, "an array of NumPy's", "it can be an input: --input @FILE"},
    {"\x89PNG", 4, 0, NULL, "an image", "it can be an input: --input @FILE"},
    {"\xff\xd8\xff", 3, 0, NULL, "an image", "it can be an input: --input @FILE"},
    {"GGUF", 4, 0, NULL, "a GGUF file of llama.cpp's", "ctsc runs TorchScript: " HINT_SAVE},
    {"TFL3", 4, 4, NULL, "a TensorFlow Lite model", "ctsc runs TorchScript: " HINT_SAVE},
    {"\x89HDF", 4, 0, NULL, "an HDF5 file", "ctsc runs TorchScript: " HINT_SAVE},
    {"\x7f"
     "ELF",
     4, 0, NULL, "a compiled program or library",
     "libraries with operators go before the command: --load-library FILE"},
    {NULL, 0, 0, ".ipynb", "a notebook", "its code belongs in a .py file"},
    {NULL, 0, 0, ".safetensors", "a safetensors file, weights without code", HINT_WEIGHTS},
    {NULL, 0, 0, ".ptl", "an archive for mobile interpreters, perhaps without code", HINT_SAVE},
    {NULL, 0, 0, ".h5", "a file of Keras", "ctsc runs TorchScript: " HINT_SAVE},
    {NULL, 0, 0, ".pb", "a TensorFlow graph", "ctsc runs TorchScript: " HINT_SAVE},
};

static bool hint_ends(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcmp(path + n - m, ending);
}

static void hint_say(const char *path, const char *what, const char *todo) {
    const char *file = strstr(todo, "FILE"); /* replaced by path */
    fprintf(stderr, "note: %s is %s\nnote: %.*s%s%s\n", path, what,
            file ? (int)(file - todo) : (int)strlen(todo), todo, file ? path : "",
            file ? file + 4 : "");
}

static size_t hint_tensors(const ctsc_value *v) {
    size_t n = 0;
    for (size_t i = 0; ctsc_value_kind(v) == CTSC_KIND_DICT && i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        n += ctsc_value_kind(item) == CTSC_KIND_TENSOR;
        ctsc_value_free(item);
    }
    return n;
}

/* A dict with tensors, or one of dicts that has one with tensors: "model_state_dict"
 * beside "epoch". */
static bool hint_is_weights(const ctsc_value *v) {
    if (hint_tensors(v)) return true;
    bool found = false;
    for (size_t i = 0; !found && ctsc_value_kind(v) == CTSC_KIND_DICT && i < ctsc_value_len(v);
         i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        found = hint_tensors(item) > 0;
        ctsc_value_free(item);
    }
    return found;
}

/* A zip whose directory cannot be read. */
static bool hint_is_cut(const char *path) {
    const ctsc_format *format = NULL;
    ctsc_error *e = ctsc_error_new();
    bool cut = e && ctsc_file_format(path, &format, e) == CTSC_BAD_FILE &&
               strstr(ctsc_error_message(e), "not a readable archive");
    ctsc_error_free(e);
    return cut;
}

/* A zip or a pickle. */
static void hint_saved(const char *path, bool zip) {
    ctsc_value *v = NULL;
    if (zip && hint_is_cut(path)) {
        hint_say(path, "damaged, or was not copied to its end",
                 "its size and checksum say whether it is the file that was written");
        return;
    }
    if (ctsc_value_load(path, &v, NULL) == CTSC_OK) {
        bool weights = hint_is_weights(v);
        hint_say(path,
                 weights
                     ? "what torch.save wrote of weights (a state_dict, a checkpoint), without code"
                     : "data that torch.save wrote, without code",
                 weights ? HINT_WEIGHTS : "it can be an input: --inputs FILE");
    } else if (zip) {
        hint_say(path,
                 "not what torch.jit.save writes; torch.save(model) writes such files, whose code "
                 "stays in Python",
                 HINT_SAVE);
    } else {
        hint_say(path, "a pickle",
                 "torch.save(model.state_dict(), ...) of a current PyTorch writes weights that "
                 "--weights takes; " HINT_SAVE);
    }
    ctsc_value_free(v);
}

void cli_hint(const char *path, ctsc_status status) {
    char head[64] = {0};
    if (hint_ends(path, ".pt2")) { /* the message says what is wrong with it */
        if (status == CTSC_UNSUPPORTED)
            fputs("note: torch.export.save(program.run_decompositions(), ...) saves it in core "
                  "operators, which ctsc has\n",
                  stderr);
        return;
    }
    const ctsc_format *format = NULL;
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    if (!n) return;
    if (ctsc_file_format(path, &format, NULL) == CTSC_OK && format &&
        !strcmp(format->name, "safetensors")) {
        hint_say(path, "a safetensors file, weights without code", HINT_WEIGHTS);
        return;
    }
    for (size_t i = 0; i < sizeof hint_formats / sizeof *hint_formats; i++) {
        const struct hint_format *h = &hint_formats[i];
        bool is = h->bytes ? n >= h->at + h->len && !memcmp(head + h->at, h->bytes, h->len)
                           : hint_ends(path, h->ending);
        if (is) {
            hint_say(path, h->what, h->todo);
            return;
        }
    }
    bool zip = n >= 4 && !memcmp(head, "PK\3\4", 4),
         pickle = head[0] == '\x80' && n > 1 && head[1] >= 2 && head[1] <= 5;
    if (zip || pickle) hint_saved(path, zip);
}
