/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.c - one loaded version of a model: from the bytes of its archive to threads that
 * wait for requests.
 *
 * The archive is read into memory and not mapped, so that
 * overwriting the file in place harms no running request.
 * Tests: tests/unit/test_serve.c
 */
#include "serve/model.h"

#include "serve/isolate/spawner.h"
#include "serve/isolate/worker.h"
#include "serve/scheduler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- arguments ------------------------------------------------------------------------------- */

ctsc_kind model_list_item(const char *type) {
    static const struct { const char *type; ctsc_kind item; } lists[] = {
        {"List[int]", CTSC_KIND_INT},
        {"List[float]", CTSC_KIND_FLOAT},
        {"List[bool]", CTSC_KIND_BOOL},
        {"List[str]", CTSC_KIND_STRING},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strstr(type, lists[i].type)) return lists[i].item;
    return CTSC_KIND_OTHER;
}

/* How the values of an argument come out of the protocol's tensors. */
static bool model_input_form(model_input *in) {
    static const struct { ctsc_kind kind; int form; } forms[] = {
        {CTSC_KIND_TENSOR, INPUT_TENSOR}, {CTSC_KIND_INT, INPUT_INT},
        {CTSC_KIND_FLOAT, INPUT_FLOAT},   {CTSC_KIND_BOOL, INPUT_BOOL},
        {CTSC_KIND_STRING, INPUT_STRING},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].kind == in->arg->kind) {
            in->form = forms[i].form;
            return true;
        }
    in->item = model_list_item(in->arg->type);
    if (in->arg->kind == CTSC_KIND_LIST && in->item != CTSC_KIND_OTHER) {
        in->form = INPUT_LIST;
        return true;
    }
    in->form = INPUT_NONE;
    return in->arg->optional || in->arg->default_value;
}

static const config_tensor *model_input_config(const model *m, size_t i, const char *name) {
    const model_config *c = &m->config;
    for (size_t k = 0; k < c->ninputs; k++)
        if (!strcmp(c->inputs[k].name, name)) return &c->inputs[k];
    return i < c->ninputs ? &c->inputs[i] : NULL;
}

static bool model_inputs(model *m, char *why, size_t size) {
    m->ninputs = ctsc_signature_argument_count(m->signature);
    m->inputs = calloc(m->ninputs + 1, sizeof *m->inputs);
    if (!m->inputs || m->config.ninputs > m->ninputs) {
        snprintf(why, size, "config.json names %zu inputs, method '%s' has %zu", m->config.ninputs,
                 m->config.method, m->ninputs);
        return false;
    }
    for (size_t i = 0; i < m->ninputs; i++) {
        model_input *in = &m->inputs[i];
        in->arg = ctsc_signature_argument(m->signature, i);
        in->name = in->arg->name;
        in->config = model_input_config(m, i, in->name);
        if (model_input_form(in)) continue;
        snprintf(why, size, "argument '%s' of method '%s' is a %s, which the protocol cannot carry",
                 in->name, m->config.method, in->arg->type);
        return false;
    }
    return true;
}

/* Which input takes positions. What a call leaves in the cache is the next one's: calls at the same
 * time, or batches of several sequences, would mix them. */
static bool model_find_position(model *m, char *why, size_t size) {
    const char *name = m->config.position;
    m->position = model_find_input(m, name ? name : "cache_position");
    if (m->position >= 0 && m->inputs[m->position].form != INPUT_TENSOR) m->position = -1;
    if (name && m->position < 0) {
        snprintf(why, size, "config.json: 'position' is not a tensor of method '%s'",
                 m->config.method);
        return false;
    }
    if (m->position >= 0) m->config.instances = 1, m->config.max_batch = 0;
    return true;
}

static int model_number(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) || name[n] < '0' || name[n] > '9' || strlen(name + n) > 3)
        return -1;
    return atoi(name + n);
}

int model_find_input(const model *m, const char *name) {
    for (size_t i = 0; i < m->ninputs; i++)
        if (!strcmp(m->inputs[i].name, name) ||
            (m->inputs[i].arg->label && !strcmp(m->inputs[i].arg->label, name)) ||
            (m->inputs[i].config && !strcmp(m->inputs[i].config->name, name)))
            return (int)i;
    int k = model_number(name, "input__");
    if (k < 0) k = model_number(name, "INPUT__");
    return k >= 0 && (size_t)k < m->ninputs ? k : -1;
}

const datatype *model_input_type(const model_input *in) {
    return in->arg->typed ? datatype_of(in->arg->dtype) : NULL;
}

const datatype *model_tensor_type(const model_input *in) {
    if (in->config && in->config->type) return in->config->type;
    return in->arg->typed || in->arg->likely ? datatype_of(in->arg->dtype) : NULL;
}

const char *model_output_name(const model *m, size_t i, const char *key, char room[32]) {
    const ctsc_argument *r = ctsc_signature_output(m->signature, i);
    if (i < m->config.noutputs) return m->config.outputs[i].name;
    if (r && *r->name) return r->name;
    if (key) return key;
    r = ctsc_signature_result(m->signature, i);
    if (r && *r->name) return r->name;
    snprintf(room, 32, "output__%zu", i);
    return room;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* The datatype and shape of one input or output: config.json's, what the model says, or what its
 * type is. c, a: NULL where there is none. */
static void model_shape_json(buffer *out, const config_tensor *c, const ctsc_argument *a,
                             bool scalar) {
    int n = c && c->ndim >= 0 ? c->ndim : a ? a->ndim : -1;
    const int64_t *sizes = c && c->ndim >= 0 ? c->dims : a ? a->sizes : NULL;
    buffer_puts(out, "\"shape\":[");
    for (int i = 0; i < n; i++) buffer_printf(out, "%s%lld", i ? "," : "", (long long)sizes[i]);
    if (n < 0) buffer_puts(out, scalar ? "1" : "-1");
    buffer_puts(out, "]}");
}

static const char *model_kind_datatype(ctsc_kind k) {
    switch (k) {
    case CTSC_KIND_INT: return "INT64";
    case CTSC_KIND_FLOAT: return "FP64";
    case CTSC_KIND_BOOL: return "BOOL";
    case CTSC_KIND_STRING: return "BYTES";
    default: return "UNKNOWN"; /* a tensor's, unless config.json says what it is */
    }
}

static void model_tensor_json(buffer *out, const char *name, const config_tensor *c,
                              const ctsc_argument *a, ctsc_kind kind, bool list) {
    const datatype *own = a && (a->typed || a->likely) ? datatype_of(a->dtype) : NULL;
    buffer_puts(out, "{\"name\":");
    buffer_json(out, name, strlen(name));
    buffer_printf(out, ",\"datatype\":\"%s\",",
                  c && c->type ? c->type->wire
                  : own        ? own->wire
                               : model_kind_datatype(kind));
    model_shape_json(out, c, a, kind != CTSC_KIND_TENSOR && kind != CTSC_KIND_OTHER && !list);
}

/* Is a result one output, whatever it holds? Lists of tensors, dicts and tuples are as many as they
 * have elements, so outputs after them have other numbers each time. */
static bool model_is_one_output(const ctsc_argument *r) {
    if (!r) return true;
    if (r->kind == CTSC_KIND_LIST) return model_list_item(r->type) != CTSC_KIND_OTHER;
    return r->kind != CTSC_KIND_DICT && r->kind != CTSC_KIND_TUPLE && r->kind != CTSC_KIND_OBJECT;
}

void model_metadata(const model *m, const char *versions, buffer *out) {
    char room[32];
    bool first = true;
    buffer_puts(out, "{\"name\":");
    buffer_json(out, m->name, strlen(m->name));
    buffer_printf(out, ",\"versions\":%s,\"platform\":\"%s\",\"inputs\":[", versions, m->platform);
    for (size_t i = 0; i < m->ninputs; i++) {
        const model_input *in = &m->inputs[i];
        if (in->form == INPUT_NONE) continue;
        if (!first) buffer_putc(out, ',');
        first = false;
        model_tensor_json(out,
                          in->config       ? in->config->name
                          : in->arg->label ? in->arg->label
                                           : in->name,
                          in->config, in->arg, in->form == INPUT_LIST ? in->item : in->arg->kind,
                          in->form == INPUT_LIST);
    }
    buffer_puts(out, "],\"outputs\":[");
    size_t named = ctsc_signature_output_count(m->signature),
           n = named ? named : ctsc_signature_result_count(m->signature);
    first = true;
    for (size_t i = 0; i < n || i < m->config.noutputs; i++) {
        const ctsc_argument *r = named ? ctsc_signature_output(m->signature, i)
                                       : ctsc_signature_result(m->signature, i);
        if (named && r && r->kind == CTSC_KIND_NONE) continue; /* answers have none of it */
        if (!named && !m->config.noutputs && !model_is_one_output(r)) break;
        if (!first) buffer_putc(out, ',');
        first = false;
        bool list = r && r->kind == CTSC_KIND_LIST;
        model_tensor_json(out, model_output_name(m, i, NULL, room),
                          i < m->config.noutputs ? &m->config.outputs[i] : NULL, r,
                          list ? model_list_item(r->type)
                          : r  ? r->kind
                               : CTSC_KIND_TENSOR,
                          list);
    }
    buffer_puts(out, "]}");
}

/* ---- a first run ----------------------------------------------------------------------------- */

static bool model_warm_up_once(const model *m, ctsc_value *const *args, const ctsc_run_options *ro,
                               uint64_t *took_ns) {
    if (m->processes) {
        outputs o = {0};
        worker_task t = {
            .nargs = m->ninputs, .args = args, .ro = ro, .kernels = true, .results = &o};
        ctsc_status s = workers_call_each(m->processes, &t, NULL);
        outputs_free(&o);
        *took_ns = t.took_ns;
        return s == CTSC_OK;
    }
    ctsc_value *result = NULL;
    uint64_t start = clock_ns();
    ctsc_status s = ctsc_module_run(m->module, m->config.method, m->ninputs, args, ro, &result,
                                    NULL);
    *took_ns = clock_ns() - start;
    ctsc_value_free(result);
    ctsc_wait_for_kernels(30000000);
    return s == CTSC_OK;
}

/* Calls the model on zeros, if config.json says enough of its inputs, so that its kernels are there
 * before the first request. What it says to zeros does not matter. */
static void model_warm_up(model *m) {
    ctsc_value **args = calloc(m->ninputs + 1, sizeof *args);
    bool known = args != NULL;
    for (size_t i = 0; known && i < m->ninputs; i++) {
        const config_tensor *c = m->inputs[i].config;
        int64_t sizes[CONFIG_MAX_DIMS], total = 1;
        known = m->inputs[i].form == INPUT_TENSOR && c && c->type && c->type->bytes && c->ndim >= 0;
        for (int k = 0; known && k < c->ndim; k++) {
            sizes[k] = c->dims[k] < 0 ? 1 : c->dims[k];
            /* nobody needs that much to warm up */
            known = sizes[k] == 0 || total <= (INT64_C(1) << 28) / sizes[k];
            total *= sizes[k];
        }
        known = known && ctsc_tensor_new(c->type->dtype, c->ndim, sizes, &args[i], NULL) == CTSC_OK;
    }
    for (int k = 0; known && k < m->config.warmup; k++) {
        ctsc_run_options ro = {.size = sizeof ro,
                               .print = outputs_drop_print,
                               .cancel = m->cancel,
                               .timeout_us = 30000000,
                               .max_bytes = m->config.max_bytes};
        uint64_t took = 0;
        known = model_warm_up_once(m, args, &ro, &took);
        if (known) atomic_store(&m->slowest_ns, took);
    }
    for (size_t i = 0; args && i < m->ninputs; i++) ctsc_value_free(args[i]);
    free(args);
}

/* ---- life ------------------------------------------------------------------------------------ */

void model_free(model *m) {
    if (!m) return;
    scheduler_stop(m);
    workers_free(m->processes);
    ctsc_module_free(m->module);
    ctsc_signature_free(m->signature);
    ctsc_cancel_free(m->cancel);
    config_free(&m->config);
    free(m->inputs);
    if (m->mapped) munmap(m->bytes, m->size);
    else free(m->bytes);
    free(m->name);
    free(m->version);
    pthread_mutex_destroy(&m->shape_lock);
    free(m);
}

static bool model_open(model *m, size_t len, char *why, size_t size) {
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = ctsc_module_load_memory(m->bytes, len, &m->module, e);
    if (s == CTSC_OK) s = ctsc_module_set_opt(m->module, m->config.opt, e);
    if (s == CTSC_OK && m->config.precision)
        s = ctsc_module_set_precision(m->module, m->config.precision, e);
    if (s == CTSC_OK) s = ctsc_module_signature(m->module, m->config.method, &m->signature, e);
    if (s != CTSC_OK) snprintf(why, size, "%s", e ? ctsc_error_message(e) : "out of memory");
    else (void)ctsc_signature_find_dtypes(m->signature, m->module, m->config.method, e);
    ctsc_error_free(e);
    return s == CTSC_OK && model_inputs(m, why, size) && model_find_position(m, why, size);
}

static bool model_write(int fd, const char *from, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(fd, from, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        from += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* Puts the archive into memory that the model's processes have too, and starts the first. */
static bool model_isolate(model *m, spawner *s, char *why, size_t size) {
    int fd = spawner_memory(s, m->size);
    void *own = MAP_FAILED;
    if (fd >= 0 && model_write(fd, m->bytes, m->size))
        own = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (own == MAP_FAILED) {
        if (fd >= 0) close(fd);
        snprintf(why, size, fd < 0 ? "no process can be made for the model" : "out of memory");
        return false;
    }
    free(m->bytes);
    m->bytes = own;
    m->mapped = true;
    worker_setup setup = {m->config.method, m->config.precision, m->config.opt,
                          m->config.max_process_bytes};
    return workers_new(s, fd, &setup, &m->processes, why, size);
}

bool model_new(const char *name, const char *version, void *bytes_take, size_t len,
               model_config *config_take, model_stats *stats, spawner *s, model **out, char *why,
               size_t why_size) {
    model *m = calloc(1, sizeof *m);
    if (!m) {
        free(bytes_take);
        config_free(config_take);
        snprintf(why, why_size, "out of memory");
        return false;
    }
    m->bytes = bytes_take;
    m->size = len;
    m->config = *config_take;
    *config_take = (model_config){0};
    m->stats = stats;
    m->refs = 1;
    m->shape_ndim = -1;
    pthread_mutex_init(&m->shape_lock, NULL);
    m->name = strdup(name);
    m->version = strdup(version);
    m->cancel = ctsc_cancel_new();
    snprintf(why, why_size, "out of memory");
    bool ok = m->name && m->version && m->cancel &&
              (!s || !len || model_isolate(m, s, why, why_size)) &&
              model_open(m, len, why, why_size) &&
              (!s || workers_fill(m->processes, m->config.instances, why, why_size));
    if (ok) model_warm_up(m);
    if (ok && !scheduler_start(m)) {
        snprintf(why, why_size, "the model's threads could not be started");
        ok = false;
    }
    if (ok) *out = m;
    else model_free(m);
    return ok;
}
