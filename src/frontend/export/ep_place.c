/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_place.c - where a node comes from: its stack trace as a place with a chain of calls, its
 * modules' classes.
 *
 *     File "net.py", line 12, in forward        the last frame is the node's place: an excerpt of net.py that begins with line 12;
 *         return self.fc(x)                     the others are the calls that led there
 *     File "linear.py", line 116, in forward
 *         return F.linear(input, ...)
 *
 * Frames of the exporter itself, and of what torch generates ("<eval_with_key>"), say nothing to a
 * reader and are left out.
 */
#include "frontend/export/ep_internal.h"

enum { PLACE_FRAMES = 24, PLACE_LINE = 4000 };

typedef struct place_frame {
    const char *file, *function, *line;
    size_t nfile, nfunction, nline;
    uint32_t number;
} place_frame;

/* Reads the frame at *at and moves past it; false: there is none. */
static bool place_read(const char **at, place_frame *f) {
    const char *file = strstr(*at, "File \""), *end = file ? strstr(file, "\", line ") : NULL;
    if (!end) return false;
    f->file = file + 6;
    f->nfile = (size_t)(end - f->file);
    f->number = 0;
    const char *c = end + 8;
    for (; *c >= '0' && *c <= '9'; c++) f->number = f->number * 10 + (uint32_t)(*c - '0');
    f->function = !strncmp(c, ", in ", 5) ? c + 5 : "";
    const char *eol = strchr(c, '\n');
    f->nfunction = *f->function ? (size_t)((eol ? eol : c + strlen(c)) - f->function) : 0;
    f->line = eol ? eol + 1 : "";
    eol = strchr(f->line, '\n');
    f->nline = eol ? (size_t)(eol - f->line) : strlen(f->line);
    /* it has no source line */
    if (f->nline >= 6 && strstr(f->line, "File \"") &&
        strstr(f->line, "File \"") < f->line + f->nline)
        f->nline = 0;
    *at = f->line + f->nline;
    return f->nfile > 0 && f->nfile < PLACE_LINE && f->nline < PLACE_LINE &&
           f->nfunction < PLACE_LINE;
}

/* The range of a frame, made once. */
static source_range place_range(ep_program *p, const place_frame *f) {
    strbuf key = STRBUF_INIT;
    sb_printf(&key, "%.*s:%u:%.*s", (int)f->nfile, f->file, f->number, (int)f->nline, f->line);
    source_range *known = key.failed ? NULL : strmap_get(&p->sources, sb_str(&key));
    if (!known) {
        char *name = arena_strndup(&p->scratch, f->file, f->nfile);
        source *src = name ? source_new(name, f->line, f->nline) : NULL;
        source_range *made = arena_new(&p->scratch, source_range);
        const char *own = arena_strndup(&p->scratch, sb_str(&key), key.len);
        if (!src || !own || ep_failed(p)) {
            source_unref(src);
            sb_free(&key);
            return (source_range){0};
        }
        src->first_line = f->number ? f->number : 1;
        uint32_t begin = 0;
        while (begin < f->nline && f->line[begin] == ' ') begin++;
        *made = (source_range){src, begin, (uint32_t)f->nline};
        graph_hold_source(p->g, src);
        source_unref(src);
        known = strmap_put(&p->sources, own, made) ? made : NULL;
    }
    sb_free(&key);
    return known ? *known : (source_range){0};
}

static bool place_is_ours(const place_frame *f) {
    return f->file[0] != '<' && !(f->nfile >= 12 && strstr(f->file, "torch/export/") &&
                                  strstr(f->file, "torch/export/") < f->file + f->nfile);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* The parts of KEY,PATH,TYPE; commas and semicolons in brackets belong to them.
 * Where the part ends. */
static const char *modules_part(const char *s, const char *stop) {
    int depth = 0;
    for (; *s && (depth > 0 || !strchr(stop, *s)); s++)
        depth += *s == '[' || *s == '(' ? 1 : *s == ']' || *s == ')' ? -1 : 0;
    return s;
}

typedef struct place_module { const char *path, *type; size_t npath, ntype; } place_module;

/* Reads the module at *s and moves past it; false: there is none, or it is not of that form. */
static bool modules_next(const char **s, place_module *m) {
    const char *key = modules_part(*s, ",;"),
               *path = *key == ',' ? modules_part(key + 1, ",;") : key,
               *type = *path == ',' ? modules_part(path + 1, ",;") : path;
    bool ok = *key == ',' && *path == ',' && type > path + 1 && path - key < 1000 &&
              type - path < 1000;
    if (ok)
        *m = (place_module){key + 1, path + 1, (size_t)(path - key - 1), (size_t)(type - path - 1)};
    *s = modules_part(type, ";");
    if (**s) ++*s;
    return ok;
}

static void modules_note(ep_program *p, const char *s) {
    place_module m;
    while (*s) {
        if (!modules_next(&s, &m)) continue;
        const char *at = arena_strndup(&p->scratch, m.path, m.npath),
                   *cls = arena_strndup(&p->scratch, m.type, m.ntype);
        if (at && cls && !strmap_get(&p->modules.types, at))
            strmap_put(&p->modules.types, at, (void *)(uintptr_t)cls);
    }
}

void ep_note_modules(ep_program *p, const json_t *graph, int depth) {
    const json_t *nodes = json_object_get(graph, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *n = json_array_get(nodes, i);
        const char *stack = json_string_value(
            json_object_get(json_object_get(n, "metadata"), "nn_module_stack"));
        if (stack) modules_note(p, stack);
        const json_t *inputs = json_object_get(n, "inputs");
        for (size_t k = 0; depth < EP_MAX_NESTING && k < json_array_size(inputs); k++) {
            const json_t *inner = json_object_get(
                json_object_get(json_object_get(json_array_get(inputs, k), "arg"), "as_graph"),
                "graph");
            if (inner) ep_note_modules(p, inner, depth + 1);
        }
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Of "layer1.0.conv" below "layer1": "0.conv". */
static const char *place_below(const char *path, const place_module *outer) {
    size_t n = outer->npath;
    if (!n || strncmp(path, outer->path, n)) return path;
    return path[n] == '.' ? path + n + 1 : path[n] ? path : "";
}

/* The calls of modules that led to the node: the k-th is made where the frame in front of the
 * k-th `forward` is. */
static const call_site *place_calls(ep_program *p, const char *stack, const place_frame *frames,
                                    size_t count) {
    const call_site *site = NULL;
    place_module m, outer = {0};
    size_t frame = 0, depth = 0;
    for (; *stack && depth < PLACE_FRAMES; depth++) {
        bool ok = modules_next(&stack, &m);
        while (frame < count &&
               !(frames[frame].nfunction == 7 && !memcmp(frames[frame].function, "forward", 7)))
            frame++;
        const place_frame *from = depth && frame && frame < count ? &frames[frame - 1] : NULL;
        if (frame < count) frame++;
        if (!ok || !depth) continue; /* the root calls nobody */
        const char *callee = arena_printf(&p->scratch, "__torch__.%.*s.forward", (int)m.ntype,
                                          m.type);
        source_range at = from ? place_range(p, from) : (source_range){0};
        const char *path = arena_strndup(&p->scratch, m.path, m.npath);
        if (callee && path)
            site = graph_call_site(p->g, at, callee, place_below(path, &outer), site);
        outer = m;
    }
    return site;
}

void ep_place_begin(ep_program *p, const json_t *n) {
    const char *at = json_string_value(
        json_object_get(json_object_get(n, "metadata"), "stack_trace"));
    place_frame frames[PLACE_FRAMES], f;
    size_t count = 0;
    while (at && count < PLACE_FRAMES && place_read(&at, &f))
        if (place_is_ours(&f)) frames[count++] = f;
    const char *stack = json_string_value(
        json_object_get(json_object_get(n, "metadata"), "nn_module_stack"));
    p->g->range = count ? place_range(p, &frames[count - 1]) : (source_range){0};
    p->call = stack ? place_calls(p, stack, frames, count) : NULL;
}
