/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main.c - runs a fuzz target on files: replays findings and seeds without libFuzzer.
 *
 *     replay FILE...        each file as it is
 *     replay -m N FILE...   and N damaged copies of each, made by a fixed generator and the
 * target's mutator
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed);

static uint64_t replay_state = 88172645463325252ull;

/* xorshift64 (G. Marsaglia, 2003) */
static uint64_t replay_random(void) {
    replay_state ^= replay_state << 13;
    replay_state ^= replay_state >> 7;
    replay_state ^= replay_state << 17;
    return replay_state;
}

/* Replaces libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    if (replay_random() % 16 == 0) size = size ? replay_random() % size : 0;
    if (size && size < max_size && replay_random() % 8 == 0) { /* doubles a byte */
        size_t at = replay_random() % size;
        memmove(data + at + 1, data + at, size - at);
        size++;
    }
    for (uint64_t n = size ? 1 + replay_random() % 4 : 0; n > 0; n--) {
        size_t at = replay_random() % size;
        if (replay_random() % 2) data[at] ^= (uint8_t)(1u << replay_random() % 8);
        else data[at] = (uint8_t)replay_random();
    }
    return size;
}

/* Damages a copy in a block of its exact size, where a sanitizer sees every access outside of it.
 */
static int replay_damaged(const uint8_t *data, size_t size) {
    size_t room = size * 2 + 4096;
    uint8_t *p = malloc(room);
    if (!p) return 1;
    if (size) memcpy(p, data, size);
    size_t len = LLVMFuzzerCustomMutator
                     ? LLVMFuzzerCustomMutator(p, size, room, (unsigned)replay_random())
                     : LLVMFuzzerMutate(p, size, room);
    uint8_t *exact = realloc(p, len ? len : 1);
    if (!exact) {
        free(p);
        return 1;
    }
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return 0;
}

static int replay_file(const char *path, long damaged) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = size >= 0 ? malloc(size ? (size_t)size : 1) : NULL;
    int rc = !data || fread(data, 1, (size_t)size, f) != (size_t)size;
    fclose(f);
    if (!rc) LLVMFuzzerTestOneInput(data, (size_t)size);
    for (long i = 0; i < damaged && !rc; i++) rc = replay_damaged(data, (size_t)size);
    free(data);
    return rc;
}

int main(int argc, char **argv) {
    int first = 1, rc = 0;
    long damaged = 0;
    if (LLVMFuzzerInitialize && LLVMFuzzerInitialize(&argc, &argv)) return 1;
    if (argc > 2 && !strcmp(argv[1], "-m")) {
        damaged = atol(argv[2]);
        first = 3;
    }
    for (int i = first; i < argc; i++) rc |= replay_file(argv[i], damaged);
    printf("%d files\n", argc - first);
    return rc;
}
