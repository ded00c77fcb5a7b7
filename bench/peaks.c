/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peaks.c - what the processor can do at best with narrow numbers, and how fast it reads memory:
 * the limits that bench/narrow.py holds figures against.
 *
 *     peaks THREADS
 *
 * Prints a JSON object: read_gbps, of memory that is in no cache; operations in registers, two for
 * each multiply-add, as 10^9 a second, by the fastest of the instructions that the processor has:
 * float32, bfloat16 (vdpbf16ps, tdpbf16ps), int8 (vpmaddubsw and vpmaddwd, vpdpbusd, tdpbusd), and
 * which that was; instructions, the rate of each. The best of some rounds counts, in which all
 * threads work at the same time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, STEPS = 200000, TILE_STEPS = 40000, MAX_THREADS = 256 };
enum { TILE_DATA = 18, REQUEST_PERMISSION = 0x1023 };
static const size_t read_bytes = (size_t)512 << 20; /* of all threads together */

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What a round does: returns its operations, or bytes. memory: the thread's part. */
typedef double (*round_fn)(const char *memory, size_t bytes);

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

static volatile float float_sink;
static volatile int int_sink;

/* Twelve sums, enough for the latency of an instruction on two units. f(i): the step of sum i. */
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
/* The compiler does not know that it is the same as the others. */
#define OWN(i) __asm__ volatile("" : "+x"(s##i));
#define TWELVE(vector, zero, f, add)                                                               \
    vector s0 = zero, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0,      \
           s9 = s0, s10 = s0, s11 = s0;                                                            \
    EACH(OWN)                                                                                      \
    for (int n = 0; n < STEPS; n++) {                                                              \
        EACH(f)                                                                                    \
    }                                                                                              \
    s0 = add(add(add(s0, s1), add(s2, s3)), add(add(s4, s5), add(s6, s7)));                        \
    s0 = add(s0, add(add(s8, s9), add(s10, s11)))

#define T512 __attribute__((target("avx512f,avx512bw,avx512vnni,avx512bf16")))
#define T256 __attribute__((target("avx2,fma")))
#define UNUSED (void)memory, (void)bytes

T512 static double fma_512(const char *memory, size_t bytes) {
    UNUSED;
    __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
#define STEP(i) s##i = _mm512_fmadd_ps(s##i, a, b);
    TWELVE(__m512, a, STEP, _mm512_add_ps);
#undef STEP
    float_sink = _mm512_reduce_add_ps(s0);
    return 2.0 * 16 * 12 * STEPS;
}

T512 static double dpbf16_512(const char *memory, size_t bytes) {
    UNUSED;
    __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f80);
#define STEP(i) s##i = _mm512_dpbf16_ps(s##i, a, a);
    TWELVE(__m512, _mm512_setzero_ps(), STEP, _mm512_add_ps);
#undef STEP
    float_sink = _mm512_reduce_add_ps(s0);
    return 2.0 * 32 * 12 * STEPS;
}

T512 static double dpbusd_512(const char *memory, size_t bytes) {
    UNUSED;
    __m512i a = _mm512_set1_epi8(1);
#define STEP(i) s##i = _mm512_dpbusd_epi32(s##i, a, a);
    TWELVE(__m512i, _mm512_setzero_si512(), STEP, _mm512_add_epi32);
#undef STEP
    int_sink = _mm512_reduce_add_epi32(s0);
    return 2.0 * 64 * 12 * STEPS;
}

T256 static double fma_256(const char *memory, size_t bytes) {
    UNUSED;
    __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
#define STEP(i) s##i = _mm256_fmadd_ps(s##i, a, b);
    TWELVE(__m256, a, STEP, _mm256_add_ps);
#undef STEP
    float_sink = s0[0];
    return 2.0 * 8 * 12 * STEPS;
}

T256 static double madd_256(const char *memory, size_t bytes) {
    UNUSED;
    __m256i a = _mm256_set1_epi8(1), one = _mm256_set1_epi16(1);
    __asm__ volatile("" : "+x"(a), "+x"(one));
#define STEP(i)                                                                                    \
    s##i = _mm256_add_epi32(                                                                       \
        s##i, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_xor_si256(a, s##i), a), one));
    TWELVE(__m256i, _mm256_setzero_si256(), STEP, _mm256_add_epi32);
#undef STEP
    int_sink = (int)s0[0];
    return 2.0 * 32 * 12 * STEPS;
}

__attribute__((target("avx2,avxvnni"))) static double dpbusd_256(const char *memory, size_t bytes) {
    UNUSED;
    __m256i a = _mm256_set1_epi8(1);
#define STEP(i) s##i = _mm256_dpbusd_avx_epi32(s##i, a, a);
    TWELVE(__m256i, _mm256_setzero_si256(), STEP, _mm256_add_epi32);
#undef STEP
    int_sink = (int)s0[0];
    return 2.0 * 32 * 12 * STEPS;
}

/* Eight tiles of 16 rows of 64 bytes; four of them are sums. In assembly, as gcc 12's intrinsic for
 * the configuration reads eight of its bytes alone. */
static void tiles_on(void) {
    struct {
        uint8_t palette, start, none[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.bytes[i] = 64, config.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
                     "tilezero %%tmm4\n\ttilezero %%tmm5\n\ttilezero %%tmm6\n\ttilezero %%tmm7" ::);
}

#define TILES(instruction, each)                                                                   \
    UNUSED;                                                                                        \
    tiles_on();                                                                                    \
    for (int n = 0; n < TILE_STEPS; n++)                                                           \
        __asm__ volatile(instruction " %%tmm6, %%tmm4, %%tmm0\n\t" instruction                     \
                                     " %%tmm7, %%tmm4, %%tmm1\n\t" instruction                     \
                                     " %%tmm6, %%tmm5, %%tmm2\n\t" instruction                     \
                                     " %%tmm7, %%tmm5, %%tmm3" ::);                                \
    __asm__ volatile("tilerelease" ::);                                                            \
    return 2.0 * 16 * 16 * (each) * 4 * TILE_STEPS

static double tile_bf16(const char *memory, size_t bytes) { TILES("tdpbf16ps", 32); }
static double tile_int8(const char *memory, size_t bytes) { TILES("tdpbusd", 64); }

#define READ(vector, load, either, zero)                                                           \
    vector s[8];                                                                                   \
    for (int i = 0; i < 8; i++) s[i] = zero;                                                       \
    for (size_t at = 0; at + 8 * sizeof(vector) <= bytes; at += 8 * sizeof(vector))                \
        for (int i = 0; i < 8; i++)                                                                \
            s[i] = either(s[i], load((const vector *)(const void *)(memory + at) + i));            \
    for (int i = 1; i < 8; i++) s[0] = either(s[0], s[i]);                                         \
    int_sink = (int)s[0][0];                                                                       \
    return (double)bytes

T512 static double read_512(const char *memory, size_t bytes) {
    READ(__m512i, _mm512_load_si512, _mm512_or_si512, _mm512_setzero_si512());
}
T256 static double read_256(const char *memory, size_t bytes) {
    READ(__m256i, _mm256_load_si256, _mm256_or_si256, _mm256_setzero_si256());
}

/* Bits of CPUID's leaf 7, EDX: 22 AMX-BF16, 24 AMX-TILE, 25 AMX-INT8. */
static bool has_tiles(int bit) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1 && d >> bit & 1 &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#define HAS(set) __builtin_cpu_supports(set)
#define HAS512 (HAS("avx512f") && HAS("avx512bw"))
#else
#error "the instructions are x86-64's"
#endif

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct part {
    round_fn fn;
    char *memory;
    size_t bytes;
    int threads, number;
    pthread_barrier_t *barrier;
    double done[ROUNDS], begin[ROUNDS], end[ROUNDS];
} part;

static void *part_work(void *ctx) {
    part *p = ctx;
    if (p->memory) memset(p->memory, 1, p->bytes);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(p->barrier);
        p->begin[i] = now_ns();
        p->done[i] = p->fn(p->memory, p->bytes);
        p->end[i] = now_ns();
    }
    return NULL;
}

/* The best round's, 10^9 a second; in each, from the first that begins to the last that ends. */
static double rate(round_fn fn, int threads, char *memory, size_t bytes) {
    static part parts[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    pthread_barrier_t barrier;
    double best = 0;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads)) return 0;
    for (int i = 0; i < threads; i++) {
        size_t each = bytes / (size_t)threads / 4096 * 4096;
        parts[i] = (part){.fn = fn,
                          .memory = memory ? memory + each * (size_t)i : NULL,
                          .bytes = each,
                          .threads = threads,
                          .number = i,
                          .barrier = &barrier};
        if (i && pthread_create(&ids[i], NULL, part_work, &parts[i])) exit(1);
    }
    part_work(&parts[0]);
    for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
    for (int k = 0; k < ROUNDS; k++) {
        double sum = 0, begin = parts[0].begin[k], end = parts[0].end[k];
        for (int i = 0; i < threads; i++) {
            sum += parts[i].done[k];
            begin = parts[i].begin[k] < begin ? parts[i].begin[k] : begin;
            end = parts[i].end[k] > end ? parts[i].end[k] : end;
        }
        if (sum / (end - begin) > best) best = sum / (end - begin);
    }
    pthread_barrier_destroy(&barrier);
    return best;
}

int main(int argc, char **argv) {
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: peaks THREADS\n");
        return 2;
    }
    const struct {
        const char *name, *type;
        round_fn fn;
        bool has;
    } rows[] = {
        {"vfmadd 512", "float32", fma_512, HAS512},
        {"vfmadd 256", "float32", fma_256, HAS("avx2") && HAS("fma")},
        {"vdpbf16ps", "bfloat16", dpbf16_512, HAS512 && HAS("avx512bf16")},
        {"tdpbf16ps", "bfloat16", tile_bf16, has_tiles(22)},
        {"vpmaddubsw 256", "int8", madd_256, HAS("avx2")},
        {"vpdpbusd 256", "int8", dpbusd_256, HAS("avxvnni")},
        {"vpdpbusd 512", "int8", dpbusd_512, HAS512 && HAS("avx512vnni")},
        {"tdpbusd", "int8", tile_int8, has_tiles(25)},
    };
    enum { NROWS = sizeof rows / sizeof *rows };
    static const char *const types[] = {"float32", "bfloat16", "int8"};
    double rates[NROWS] = {0};
    char *memory = aligned_alloc(2 << 20, read_bytes);
    if (!memory || !HAS("avx2")) return 1;
    (void)madvise(memory, read_bytes, MADV_HUGEPAGE);
    printf("{\"threads\": %d, \"read_gbps\": %.2f", threads,
           rate(HAS512 ? read_512 : read_256, threads, memory, read_bytes));
    printf(", \"instructions\": {");
    for (int i = 0, n = 0; i < NROWS; i++)
        if (rows[i].has)
            printf("%s\"%s\": %.1f", n++ ? ", " : "", rows[i].name,
                   rates[i] = rate(rows[i].fn, threads, NULL, 0));
    printf("}");
    for (int t = 0; t < 3; t++) {
        int best = -1;
        for (int i = 0; i < NROWS; i++)
            if (rows[i].has && !strcmp(rows[i].type, types[t]) &&
                (best < 0 || rates[i] > rates[best]))
                best = i;
        if (best >= 0)
            printf(", \"%s\": {\"gops\": %.1f, \"by\": \"%s\"}", types[t], rates[best],
                   rows[best].name);
    }
    puts("}");
    free(memory);
    return 0;
}
