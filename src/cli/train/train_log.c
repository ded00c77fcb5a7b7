/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_log.c - how training goes: a progress line, lines of JSON, files for TensorBoard.
 *
 * TensorBoard's files are records of TFRecord:
 *
 *     uint64 length, uint32 checksum of these 8 bytes, the record, uint32 checksum of it
 *
 * little endian; a checksum is the CRC-32C, rotated right by 15 and added to 0xa282ead8. A
 * record is an Event in protobuf's wire format; five fields are enough to write here: Event {
 * double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; } with
 * Summary { repeated Value value = 1; } and Value { string tag = 1; float simple_value = 2; }.
 * Tests: tests/cli/train.test
 */
#include "cli/progress.h"
#include "cli/train/cli_train.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double log_now(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- TensorBoard ----------------------------------------------------------------------------- */

static uint32_t log_checksum(const uint8_t *p, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

typedef struct wire { uint8_t data[512]; size_t n; } wire;

static void wire_bytes(wire *w, const void *p, size_t n) {
    if (n > sizeof w->data - w->n) n = sizeof w->data - w->n; /* names here are short */
    memcpy(w->data + w->n, p, n);
    w->n += n;
}
static void wire_varint(wire *w, uint64_t v) {
    for (; v >= 128; v >>= 7) wire_bytes(w, &(uint8_t){(uint8_t)(v | 128)}, 1);
    wire_bytes(w, &(uint8_t){(uint8_t)v}, 1);
}
static void wire_field(wire *w, int field, const void *p, size_t n) {
    wire_varint(w, (uint64_t)field << 3 | 2);
    wire_varint(w, n);
    wire_bytes(w, p, n);
}

static bool events_record(FILE *f, const wire *w) {
    uint64_t n = w->n;
    uint32_t of_length = log_checksum((const uint8_t *)&n, 8),
             of_data = log_checksum(w->data, w->n);
    return fwrite(&n, 8, 1, f) && fwrite(&of_length, 4, 1, f) && fwrite(w->data, w->n, 1, f) &&
           fwrite(&of_data, 4, 1, f);
}

static wire events_begin(void) {
    wire w = {.n = 0};
    double at = log_now(CLOCK_REALTIME);
    wire_varint(&w, 1 << 3 | 1);
    wire_bytes(&w, &at, 8);
    return w;
}

static bool events_number(FILE *f, int64_t step, const char *tag, double x) {
    wire w = events_begin(), summary = {.n = 0}, v = {.n = 0};
    float number = (float)x;
    wire_field(&v, 1, tag, strlen(tag));
    wire_varint(&v, 2 << 3 | 5);
    wire_bytes(&v, &number, 4);
    wire_field(&summary, 1, v.data, v.n);
    wire_varint(&w, 2 << 3);
    wire_varint(&w, (uint64_t)step);
    wire_field(&w, 5, summary.data, summary.n);
    return events_record(f, &w);
}

static int events_open(train_log *l, const char *folder) {
    char path[4096], host[64] = "host";
    if (mkdir(folder, 0777) && errno != EEXIST)
        return cli_complain(CTSC_ENVIRONMENT, "%s: %s", folder, strerror(errno));
    (void)gethostname(host, sizeof host - 1);
    int n = snprintf(path, sizeof path, "%s/events.out.tfevents.%lld.%s.%ld", folder,
                     (long long)log_now(CLOCK_REALTIME), host, (long)getpid());
    l->events = n < (int)sizeof path ? fopen(path, "wb") : NULL;
    if (!l->events) return cli_complain(CTSC_ENVIRONMENT, "%s: %s", path, strerror(errno));
    wire w = events_begin();
    wire_field(&w, 3, "brain.Event:2", 13);
    return events_record(l->events, &w)
               ? 0
               : cli_complain(CTSC_ENVIRONMENT, "%s: %s", path, strerror(errno));
}

/* ---- the interface --------------------------------------------------------------------------- */

int train_log_open(train_log *l, const train_options *o) {
    l->began = log_now(CLOCK_MONOTONIC);
    if (o->log && !(l->lines = fopen(o->log, "a")))
        return cli_complain(CTSC_ENVIRONMENT, "%s: %s", o->log, strerror(errno));
    return o->events ? events_open(l, o->events) : 0;
}

void train_log_close(train_log *l) {
    if (l->lines) fclose(l->lines);
    if (l->events) fclose(l->events);
}

bool train_log_numbers(train_log *l, int64_t step, size_t n, const ctsc_setting *numbers) {
    bool ok = true;
    for (size_t i = 0; l->events && i < n; i++)
        ok &= events_number(l->events, step, numbers[i].name, numbers[i].value);
    if (l->events) ok &= fflush(l->events) == 0;
    json_t *line = l->lines ? json_pack("{s:I}", "step", (json_int_t)step) : NULL;
    for (size_t i = 0; line && i < n; i++) { /* JSON has no NaN */
        double x = numbers[i].value;
        json_object_set_new(line, numbers[i].name, x - x == 0 ? json_real(x) : json_null());
    }
    if (line) {
        json_object_set_new(line, "seconds", json_real(log_now(CLOCK_MONOTONIC) - l->began));
        ok &= json_dumpf(line, l->lines, JSON_REAL_PRECISION(17)) == 0 &&
              fputc('\n', l->lines) != EOF && fflush(l->lines) == 0;
        json_decref(line);
    }
    return ok;
}

void train_log_progress(const train_log *l, int64_t epoch, int64_t epochs, int64_t batch,
                        int64_t batches, double loss) {
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    if (!progress_shown()) return;
    double spent = log_now(CLOCK_MONOTONIC) - l->began;
    for (int i = 0; i < WIDTH; i++) bar[i] = i * batches < WIDTH * batch ? '=' : ' ';
    bar[WIDTH] = '\0';
    double rate = spent > 0 ? (double)l->rows_done / spent : 0;
    int64_t left = rate > 0 ? (int64_t)((double)(l->rows_all - l->rows_done) / rate) : 0;
    progress_say("epoch %lld/%lld [%s] %lld/%lld  loss %.4f  %.0f samples/s  %lld:%02lld left",
                 (long long)epoch + 1, (long long)epochs, bar, (long long)batch, (long long)batches,
                 loss, rate, (long long)left / 60, (long long)left % 60);
}
