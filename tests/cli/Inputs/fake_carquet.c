/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_carquet.c - a library with carquet's functions for tests/cli/train-data.test: what it
 * "reads" is in it, whatever the file holds but for its name.
 *
 *   good       two row groups with columns of each type that is read, the target as a dictionary of texts
 *   null       ... a value is missing           list       ... a column of lists
 *   offsets    ... offsets of texts run backwards   index  ... an index beyond the dictionary
 *   buffers    ... an array without its buffers  fewer     ... fewer rows than the file says
 *   crash      reading it ends the process      huge       2^60 rows
 *   escape     reading it tries to read another file, and says how that went
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct schema {
    const char *format, *name, *metadata;
    int64_t flags, n;
    struct schema **children, *dictionary;
    void (*release)(struct schema *);
    void *data;
} schema;
typedef struct array {
    int64_t length, nulls, offset, n_buffers, n;
    const void **buffers;
    struct array **children, *dictionary;
    void (*release)(struct array *);
    void *data;
} array;

enum { ROWS = 30, COLUMNS = 5 };
static const char *what;
static float floats[2 * ROWS];
static int32_t ints[2 * ROWS];
static uint8_t bits[2 * ROWS / 8 + 1], there[2 * ROWS / 8 + 1], indices[2 * ROWS];
static int32_t offsets[4] = {0, 3, 8, 11};
static const char text[] = "ashbeechoak";
static const void *buffers[COLUMNS + 1][3] = {{there, floats},    {there, ints},
                                              {NULL, bits},       {NULL, indices},
                                              {NULL, NULL, NULL}, {NULL, offsets, text}};

static int is(const char *name) { return strstr(what, name) != NULL; }

void *carquet_reader_open(const char *path, const void *options, void *error) {
    (void)options, (void)error;
    what = strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    for (int i = 0; i < 2 * ROWS; i++) {
        floats[i] = (float)(i % 7) - 3;
        ints[i] = i % 5;
        bits[i / 8] |= (uint8_t)((i % 2) << i % 8);
        there[i / 8] |= (uint8_t)(1 << i % 8);
        indices[i] = (uint8_t)(i % 3);
    }
    if (is("null")) there[5] &= 0x7f; /* row 47 counted from 0 */
    if (is("index")) indices[40] = 3;
    if (is("offsets")) offsets[2] = 1;
    return &what;
}
void carquet_reader_close(void *reader) { (void)reader; }
int64_t carquet_reader_num_rows(const void *reader) {
    return (void)reader, is("huge") ? INT64_MAX / 8 : 2 * ROWS;
}
int32_t carquet_reader_num_row_groups(const void *reader) {
    return (void)reader, is("fewer") ? 1 : 2;
}

int carquet_reader_read_arrow(void *reader, int32_t group, schema *s, array *a, void *error) {
    static schema columns[COLUMNS] = {{.format = "f", .name = "x"},
                                      {.format = "i", .name = "n"},
                                      {.format = "b", .name = "yes"},
                                      {.format = "C", .name = "species"},
                                      {.format = "+l", .name = "list"}},
                  names = {.format = "u"};
    static array arrays[COLUMNS],
        words = {.length = 3, .n_buffers = 3, .buffers = buffers[COLUMNS]};
    static schema *schemas[COLUMNS];
    static array *all[COLUMNS];
    (void)reader, (void)error;
    if (is("crash")) abort();
    if (is("escape") && !group)
        fprintf(stderr, "another file is %s\n",
                open("/etc/passwd", O_RDONLY) < 0 ? "refused" : "read");
    for (int i = 0; i < COLUMNS; i++) {
        schemas[i] = &columns[i];
        all[i] = &arrays[i];
        arrays[i] = (array){.length = ROWS,
                            .nulls = i == 0,
                            .offset = group * ROWS,
                            .n_buffers = 2,
                            .buffers = is("buffers") && i == 1 ? NULL : buffers[i]};
    }
    columns[3].dictionary = &names;
    arrays[3].dictionary = &words;
    *s = (schema){.format = "+s", .name = "", .n = COLUMNS, .children = schemas};
    *a = (array){.length = ROWS, .n = COLUMNS, .children = all};
    return 0;
}
