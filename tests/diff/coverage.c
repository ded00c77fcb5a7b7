/* SPDX-License-Identifier: Apache-2.0 */
/* coverage.c - see coverage.h. */
#include "coverage.h"

#include "ir/graph/fusible.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- labels ---------------------------------------------------------------------------------- */

enum { COVERAGE_ROWS = 512 };
static const op *coverage_rows[COVERAGE_ROWS]; /* the fusible operators that have rows */
static int coverage_row_count;

static void coverage_find_rows(void) {
    for (const char *key = op_host_installed->builtin.keys; *key; key = op_next_key(key)) {
        const op *o = op_of_row(key);
        if (!op_fusible(o)) continue;
        if (coverage_row_count == COVERAGE_ROWS) abort(); /* a larger table is needed */
        coverage_rows[coverage_row_count++] = o;
    }
}

/* Kinds of views. A view has the label of its operator, and of each kind that it is of. */
static const struct { const char *function, *kind; } coverage_kinds[] = {
    {"slice", "constant"},  {"slice", "run time"},  {"slice", "negative"},   {"slice", "step"},
    {"slice", "empty"},     {"slice", "full"},      {"select", "constant"},  {"select", "run time"},
    {"select", "negative"}, {"narrow", "constant"}, {"narrow", "run time"},  {"narrow", "empty"},
    {"narrow", "full"},     {"expand", "constant"}, {"expand", "run time"},  {"chunk", "uneven"},
    {"split", "uneven"},    {"view", "run time"},   {"reshape", "run time"},
};
enum { COVERAGE_KINDS = sizeof coverage_kinds / sizeof *coverage_kinds };

enum { COVERAGE_KEYS = 12 }; /* operators of a label, at most */
static struct {
    const char *function, *kind, *keys[COVERAGE_KEYS + 1];
} coverage_names[COVERAGE_LABELS];
static int coverage_count_of_labels;

static int coverage_find(const char *function, const char *kind) {
    for (int i = 0; i < coverage_count_of_labels; i++)
        if (!strcmp(coverage_names[i].function, function) &&
            (kind ? coverage_names[i].kind && !strcmp(coverage_names[i].kind, kind)
                  : !coverage_names[i].kind))
            return i;
    return -1;
}

static void coverage_add_label(const char *function, const char *kind) {
    if (coverage_find(function, kind) >= 0) return;
    if (coverage_count_of_labels == COVERAGE_LABELS) abort(); /* a larger table is needed */
    int n = 0;
    for (int i = 0; i < coverage_row_count; i++) {
        if (strcmp(op_lowered_text(coverage_rows[i]), function)) continue;
        if (n == COVERAGE_KEYS) abort();
        coverage_names[coverage_count_of_labels].keys[n++] = coverage_rows[i]->key;
    }
    coverage_names[coverage_count_of_labels].function = function;
    coverage_names[coverage_count_of_labels++].kind = kind;
}

/* What the numbers of cells mean: of files with another, the counts are of other things. */
static uint64_t coverage_meaning(void) {
    uint64_t h = sizeof(coverage);
    for (int i = 0; i < coverage_count_of_labels; i++)
        for (const char *at = coverage_label(i); *at; at++) h = (h ^ (uint8_t)*at) * 0x100000001b3;
    return h;
}

static coverage *coverage_map(const char *file) {
    if (!file)
        return mmap(NULL, sizeof(coverage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    struct stat st;
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool fits = fd >= 0 && !fstat(fd, &st) &&
                (st.st_size == 0 || st.st_size == (off_t)sizeof(coverage)) &&
                !ftruncate(fd, sizeof(coverage));
    coverage *c = fits ? mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (fd >= 0) close(fd);
    return c;
}

coverage *coverage_new(const char *file) {
    coverage_find_rows();
    for (int i = 0; i < coverage_row_count; i++)
        coverage_add_label(op_lowered_text(coverage_rows[i]), NULL);
    for (int i = 0; i < COVERAGE_KINDS; i++)
        coverage_add_label(coverage_kinds[i].function, coverage_kinds[i].kind);
    coverage *c = coverage_map(file);
    if (c == MAP_FAILED) return NULL;
    if (!c->meaning) c->meaning = coverage_meaning();
    if (c->meaning == coverage_meaning()) return c;
    munmap(c, sizeof *c);
    return NULL;
}

int coverage_labels(void) { return coverage_count_of_labels; }

const char *coverage_label(int label) {
    static char text[4][80];
    static int next;
    char *out = text[next++ % 4];
    const char *kind = coverage_names[label].kind;
    snprintf(out, sizeof text[0], "%s%s%s", coverage_names[label].function, kind ? ", " : "",
             kind ? kind : "");
    return out;
}

const char *coverage_operator(int label, int i) { return coverage_names[label].keys[i]; }

bool coverage_reduces(int label) {
    for (int k = 0; k < coverage_row_count; k++)
        if (!strcmp(op_lowered_text(coverage_rows[k]), coverage_names[label].function))
            return op_fusible(coverage_rows[k]) == FUSIBLE_REDUCE ||
                   op_fusible(coverage_rows[k]) == FUSIBLE_ROWS;
    return false;
}

bool coverage_met_all(const coverage *c, int label, int goal) {
    static const group_schedule of_reductions[] = {
        GROUP_IN_PLACE,    GROUP_ROWS,         GROUP_LONG_ROWS,     GROUP_BLOCKS,
        GROUP_COLUMNS,     GROUP_LONG_COLUMNS, GROUP_CUDA_IN_PLACE, GROUP_CUDA_ROWS,
        GROUP_CUDA_BLOCKS, GROUP_CUDA_COLUMNS, GROUP_CUDA_CHUNKS};
    for (size_t i = 0; i < sizeof of_reductions / sizeof *of_reductions; i++)
        if (c->schedules[label][of_reductions[i]] < (uint32_t)goal) return false;
    return true;
}

/* ---- kinds of a view ------------------------------------------------------------------------- */

static bool coverage_is_constant(const ir_value *v) {
    value k;
    if (ir_value_constant(v, &k)) return true;
    for (size_t i = 0; v->def && v->def->kind == N_LIST_CONSTRUCT && i < v->def->inputs.len; i++)
        if (!ir_value_constant(v->def->inputs.data[i], &k)) return false;
    return v->def && v->def->kind == N_LIST_CONSTRUCT;
}

typedef struct coverage_view {
    const node *n;
    evaluation *e;
    const tensor *from;
} coverage_view;

static const ir_value *view_argument(const coverage_view *v, const char *name) {
    int i = schema_find_arg(v->n->op->schema, name);
    return i < 0 ? NULL : v->n->inputs.data[i];
}
static int64_t view_int(const coverage_view *v, const char *name, int64_t other) {
    const ir_value *a = view_argument(v, name);
    value x = a ? evaluation_get(v->e, a) : value_none();
    return x.tag == V_INT ? x.u.i : other;
}
static bool view_is_fixed(const coverage_view *v, const char *name) {
    const ir_value *a = view_argument(v, name);
    return !a || coverage_is_constant(a);
}
/* The size of `dim`, before and after. */
static int64_t view_size(const coverage_view *v, const tensor *t) {
    int64_t dim = view_int(v, "dim", 0);
    if (dim < 0) dim += v->from->ndim;
    return dim >= 0 && dim < t->ndim ? t->sizes[dim] : -1;
}

static bool view_is_of(const coverage_view *v, const char *kind) {
    const char *const numbers[] = {"start", "end", "index", "length", "size", "shape"};
    value out = evaluation_get(v->e, v->n->outputs.data[0]);
    bool fixed = true, negative = view_int(v, "start", 0) < 0 || view_int(v, "end", 0) < 0 ||
                                  view_int(v, "index", 0) < 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fixed = fixed && view_is_fixed(v, numbers[i]);
    if (!strcmp(kind, "constant")) return fixed;
    if (!strcmp(kind, "run time")) return !fixed;
    if (!strcmp(kind, "negative")) return negative;
    if (!strcmp(kind, "step")) return view_int(v, "step", 1) > 1;
    if (!strcmp(kind, "uneven"))
        return out.tag == V_LIST && out.u.list->len > 1 &&
               view_size(v, out.u.list->u.tensors[0]) !=
                   view_size(v, out.u.list->u.tensors[out.u.list->len - 1]);
    if (out.tag != V_TENSOR) return false;
    if (!strcmp(kind, "empty")) return view_size(v, out.u.tensor) == 0;
    return view_size(v, out.u.tensor) == view_size(v, v->from); /* full */
}

/* The label without a kind, kept by operator. */
static int coverage_plain_label(const op *o) {
    enum { KEPT = 4096 }; /* a power of two */
    static struct { const op *o; int label; } kept[KEPT];
    size_t at = ((uintptr_t)o >> 4) % KEPT;
    if (kept[at].o != o) {
        kept[at].label = coverage_find(op_lowered_text(o), NULL);
        kept[at].o = o;
    }
    return kept[at].label;
}

int coverage_of(const node *n, evaluation *e, int *labels) {
    int count = 0;
    if (n->kind != N_OP || !op_fusible(n->op)) return 0;
    const char *name = op_lowered_text(n->op);
    labels[count++] = coverage_plain_label(n->op);
    value from = n->inputs.len ? evaluation_get(e, n->inputs.data[0]) : value_none();
    coverage_view v = {n, e, from.tag == V_TENSOR ? from.u.tensor : NULL};
    if (op_fusible(n->op) != FUSIBLE_VIEW) return count;
    for (int i = 0; v.from && i < COVERAGE_KINDS && count < COVERAGE_PER_NODE; i++)
        if (!strcmp(coverage_kinds[i].function, name) && view_is_of(&v, coverage_kinds[i].kind))
            labels[count++] = coverage_find(name, coverage_kinds[i].kind);
    return count;
}

bool coverage_has(const node *n, evaluation *e, int label) {
    int labels[COVERAGE_PER_NODE], count = coverage_of(n, e, labels);
    for (int i = 0; i < count; i++)
        if (labels[i] == label) return true;
    return false;
}

/* ---- counting -------------------------------------------------------------------------------- */

static const node *coverage_producer(const ir_value *v) {
    const node *n = v->def;
    return n && n->kind == N_LIST_UNPACK ? n->inputs.data[0]->def : n;
}

static void coverage_block(coverage *c, const block *b, evaluation *e, group_schedule schedule) {
    bool host = schedule < GROUP_CUDA_ELEMENTS;
    for (const node *n = b->first; n; n = n->next) {
        int to[COVERAGE_PER_NODE], from[COVERAGE_PER_NODE], nto = coverage_of(n, e, to);
        for (int i = 0; i < nto; i++) c->schedules[to[i]][schedule]++;
        for (size_t k = 0; host && nto && k < n->inputs.len; k++) {
            const node *m = coverage_producer(n->inputs.data[k]);
            int nfrom = m ? coverage_of(m, e, from) : 0;
            for (int i = 0; i < nfrom; i++)
                for (int j = 0; j < nto; j++) c->pairs[from[i]][to[j]]++;
        }
        for (size_t k = 0; k < n->blocks.len; k++)
            coverage_block(c, n->blocks.data[k], e, schedule);
    }
}

void coverage_count(coverage *c, const graph *g, evaluation *e, group_schedule schedule) {
    c->plans[schedule]++;
    coverage_block(c, g->root, e, schedule);
}

/* ---- the report ------------------------------------------------------------------------------ */

static const char *const coverage_schedule_names[] = {
#define COVERAGE_SCHEDULE_NAME(e, text) text,
    GROUP_SCHEDULE_TABLE(COVERAGE_SCHEDULE_NAME)
#undef COVERAGE_SCHEDULE_NAME
};
static const char *const coverage_miss_texts[] = {
#define COVERAGE_MISS_TEXT(e, text) text,
    COVERAGE_MISS_TABLE(COVERAGE_MISS_TEXT)
#undef COVERAGE_MISS_TEXT
};

/* A row per label: in how many kernels of each schedule it was. */
static void report_schedules(const coverage *c, bool reductions, strbuf *out) {
    sb_puts(out, "\n|");
    for (int k = 0; k < GROUP_SCHEDULES; k++) sb_printf(out, " | %s", coverage_schedule_names[k]);
    sb_puts(out, " |\n| ---");
    for (int k = 0; k < GROUP_SCHEDULES; k++) sb_puts(out, " | ---:");
    sb_puts(out, " |\n| all");
    for (int k = 0; k < GROUP_SCHEDULES; k++) sb_printf(out, " | %u", c->plans[k]);
    for (int i = 0; i < coverage_count_of_labels; i++) {
        if (coverage_reduces(i) != reductions) continue;
        sb_printf(out, " |\n| %s", coverage_label(i));
        for (int k = 0; k < GROUP_SCHEDULES; k++) sb_printf(out, " | %u", c->schedules[i][k]);
    }
    sb_puts(out, " |\n");
}

/* The reason that most programs for this cell ended with. */
static coverage_miss report_reason(const coverage *c, int i, int k) {
    coverage_miss most = MISS_FIRST;
    for (int m = 0; m < MISSES; m++)
        if (c->misses[i][k][m] > c->misses[i][k][most]) most = (coverage_miss)m;
    return most;
}

static void report_few(const coverage *c, int goal, strbuf *out) {
    if (goal < 2) return;
    sb_printf(out, "\nCells between 1 and %d programs, after so many tries:\n\n", goal - 1);
    for (int i = 0; i < coverage_count_of_labels; i++)
        for (int k = 0; k < coverage_count_of_labels; k++)
            if (c->pairs[i][k] && c->pairs[i][k] < (uint32_t)goal)
                sb_printf(out, "- %s -> %s: %u of %u\n", coverage_label(i), coverage_label(k),
                          c->pairs[i][k], c->tries[i][k]);
}

/* A row per first operator; which seconds it never met, by reason. A second that met nothing has a
 * line of its own. */
static void report_unreached(const coverage *c, strbuf *out) {
    for (int m = 0; m < MISSES; m++) {
        sb_printf(out, "\nNot reached: %s.\n\n", coverage_miss_texts[m]);
        for (int i = 0; i < coverage_count_of_labels; i++) {
            int any = 0;
            for (int k = 0; k < coverage_count_of_labels; k++) {
                if (c->pairs[i][k] || report_reason(c, i, k) != (coverage_miss)m) continue;
                if (!any++) sb_printf(out, "- %s ->", coverage_label(i));
                sb_printf(out, "%s %s", any > 1 ? ";" : "", coverage_label(k));
            }
            if (any) sb_puts(out, "\n");
        }
    }
}

/* A pass that never met another one did not change any graph, or is none that graphs
 * without a module need. */
static bool report_pass_ran(const coverage *c, int i) {
    for (int k = 0; k < PASS_COUNT; k++)
        if (c->passes[i][k] || c->passes[k][i]) return true;
    return false;
}

void coverage_report_passes(const coverage *c, strbuf *out) {
    int passes = 0, pairs = 0, reached = 0, often = 0, triples = 0;
    for (int i = 0; i < PASS_COUNT; i++) passes += report_pass_ran(c, i);
    for (int i = 0; i < PASS_COUNT; i++)
        for (int k = 0; k < PASS_COUNT; k++) {
            if (i == k || !report_pass_ran(c, i) || !report_pass_ran(c, k)) continue;
            pairs++;
            reached += c->passes[i][k] > 0;
            often += c->passes[i][k] >= 100;
            for (int m = 0; m < PASS_COUNT; m++) triples += c->triples[i][k][m] > 0;
        }
    sb_printf(out,
              "%d passes changed graphs; of their %d ordered pairs %d did so one after the other, "
              "%d of these on 100 graphs or more; so did %d ordered triples.\n",
              passes, pairs, reached, often, triples);
    sb_puts(out, "\nPairs on fewer than 100 graphs:\n\n");
    for (int i = 0; i < PASS_COUNT; i++)
        for (int k = 0; k < PASS_COUNT; k++)
            if (i != k && report_pass_ran(c, i) && report_pass_ran(c, k) && c->passes[i][k] < 100)
                sb_printf(out, "- %s, %s: %u\n", pass_table[i].name, pass_table[k].name,
                          c->passes[i][k]);
}

void coverage_report(const coverage *c, int goal, strbuf *out) {
    int reached = 0, full = 0, native = 0,
        all = coverage_count_of_labels * coverage_count_of_labels;
    for (int i = 0; i < coverage_count_of_labels; i++)
        for (int k = 0; k < coverage_count_of_labels; k++) {
            reached += c->pairs[i][k] > 0;
            full += c->pairs[i][k] >= (uint32_t)goal;
            native += c->native[i][k] > 0;
        }
    sb_printf(out,
              "%" PRIu64 " programs. %d labels, %d ordered pairs: %d were reached, %d of these by "
              "%d programs or more; of %d a program was compiled too.\n\n",
              (uint64_t)c->programs, coverage_count_of_labels, all, reached, full, goal, native);
    sb_puts(out, "## Reductions, by schedule\n");
    report_schedules(c, true, out);
    sb_puts(out, "\n## Pointwise operators and views, by schedule\n");
    report_schedules(c, false, out);
    sb_printf(
        out,
        "\n%u more runs were of kernels on other arguments than they were made for.\n\n## Pairs\n",
        c->reused);
    report_few(c, goal, out);
    report_unreached(c, out);
}
