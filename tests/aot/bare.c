/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare.c - calls a compiled function without a C library, for tests/aot/aot.py, which defines CALL,
 * OUT_BYTES, WORKSPACE and the files IN and OUT: one argument, one result.
 *
 * The exit status is that of the call, or 100: the result is not OUT. What the run-time library
 * needs (docs/aot.md) is here, and nothing else.
 */
#include HEADER

__asm__(".section .rodata\n.balign 64\n"
        "given: .incbin \"" IN "\"\n.balign 64\n"
        "wanted: .incbin \"" OUT "\"\n.previous");
extern const char given[], wanted[];

static char workspace[WORKSPACE], result[OUT_BYTES];

/* Before the functions that the compiler would make calls of themselves of. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
void *memmove(void *to, const void *from, size_t n) {
    if (to <= from) return memcpy(to, from, n);
    for (size_t i = n; i > 0; i--) ((char *)to)[i - 1] = ((const char *)from)[i - 1];
    return to;
}
void *memset(void *to, int c, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)c;
    return to;
}
int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}
size_t strlen(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
int strcmp(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

/* There are no threads, and no thread-local variables. */
struct rt_state;
struct rt_state **ctsc_rt_current(void) {
    static struct rt_state *current;
    return &current;
}

static _Noreturn void leave(long status) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "memory");
#else
    register long x0 __asm__("x0") = status, x8 __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8) : "memory");
#endif
    __builtin_unreachable();
}

__attribute__((used, noreturn)) void begin(void) {
    const void *const in[] = {given};
    void *const out[] = {result};
    int status = CALL(workspace);
    leave(status ? status : memcmp(result, wanted, OUT_BYTES) ? 100 : 0);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call begin\n");
#else
__asm__(".globl _start\n_start: mov x29, #0\n bl begin\n");
#endif
