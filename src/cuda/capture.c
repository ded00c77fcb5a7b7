/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c - captures a call's commands (capture.h).
 *
 * Made-up memory is at addresses whose upper bits are neither all 0 nor all 1, where no
 * real memory can be. Slots follow one another and no address is used twice, so a pointer's
 * slot is found by bisection. The two runs differ in where slots begin and in the gaps
 * between them: no number and no distance between two addresses is the same in both.
 * Tests: tests/unit/test_cuda_replay.c
 */
#include "cuda/capture_internal.h"

#include "cuda/cuda_internal.h"

#include <stdio.h>

enum { CAPTURE_ALIGN = 512, NOTES_GAP = 1 << 16, NOTES_CONTENTS = 16 << 20 };

static const uintptr_t notes_start[2] = {(uintptr_t)0x1d << 56, (uintptr_t)0x2b << 56};

_Thread_local cuda_capture *cuda_capturing;

ctsc_status cuda_capture_begin(cuda *c, diag *d, int which, cuda_capture **out) {
    if (cuda_capturing) return diag_fail(d, CTSC_USAGE, "this thread captures a call already");
    cuda_capture *n = mem_zalloc(sizeof *n);
    if (!n) return diag_no_memory(d);
    n->device = c;
    n->next = notes_start[which];
    n->gap = (size_t)NOTES_GAP << which;
    *out = cuda_capturing = n;
    return CTSC_OK;
}

ctsc_status cuda_capture_refuse(diag *d, const char *what) {
    cuda_capture *n = cuda_capturing;
    if (!n) return CTSC_OK;
    if (!*n->refused) snprintf(n->refused, sizeof n->refused, "%s", what);
    return diag_fail(d, CTSC_UNSUPPORTED, "a call cannot be recorded: %s", what);
}

ctsc_status cuda_capture_end(cuda_capture *n, diag *d) {
    cuda_capturing = NULL;
    if (n->no_memory) return diag_no_memory(d);
    if (*n->refused)
        return diag_fail(d, CTSC_UNSUPPORTED, "a call cannot be recorded: %s", n->refused);
    return CTSC_OK;
}

void cuda_capture_free(cuda_capture *n) {
    if (!n) return;
    vec_free(&n->commands);
    vec_free(&n->slots);
    vec_free(&n->bytes);
    vec_free(&n->contents);
    mem_free(n);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static ctsc_status capture_slot_new(cuda_capture *n, diag *d, size_t remainder, size_t nbytes,
                                    void **out) {
    size_t room = (remainder + nbytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (nbytes > (size_t)1 << 46) return diag_fail(d, CTSC_LIMIT, "CUDA out of memory");
    if (!vec_push(&n->slots,
                  ((capture_slot){n->next + remainder, nbytes, n->commands.len, SIZE_MAX}))) {
        n->no_memory = true;
        return diag_no_memory(d);
    }
    *out = (void *)(n->next + remainder);
    n->next += room + n->gap;
    return CTSC_OK;
}

ctsc_status cuda_capture_input(cuda_capture *n, diag *d, const void *like, size_t nbytes,
                               void **out) {
    ctsc_status st = capture_slot_new(n, d, (uintptr_t)like % CAPTURE_ALIGN, nbytes, out);
    if (st == CTSC_OK) n->ninputs++;
    return st;
}

/* The last slot that begins at or before p, if p is in it, at its end, or shortly after it. */
static capture_slot *capture_find(const cuda_capture *n, uintptr_t p) {
    size_t low = 0, high = n->slots.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->slots.data[middle].base <= p) low = middle + 1;
        else high = middle;
    }
    capture_slot *s = low ? &n->slots.data[low - 1] : NULL;
    return s && p - s->base < s->nbytes + n->gap / 2 ? s : NULL;
}

bool cuda_capture_has(const cuda_capture *n, const void *p) {
    return capture_find(n, (uintptr_t)p) != NULL;
}

int cuda_capture_slot(const cuda_capture *n, const void *p, size_t *at) {
    const capture_slot *s = capture_find(n, (uintptr_t)p);
    if (!s) return -1;
    *at = (uintptr_t)p - s->base;
    return (int)(s - n->slots.data);
}

size_t cuda_capture_slot_bytes(const cuda_capture *n, int slot) {
    return n->slots.data[slot].nbytes;
}

/* ---- what is asked of the device ------------------------------------------------------------- */

static ctsc_status notes_check_device(cuda *c, diag *d) {
    return c == cuda_capturing->device ? CTSC_OK
                                       : cuda_capture_refuse(d, "another device takes part");
}

ctsc_status cuda_capture_add(cuda *c, diag *d, command x, const void *params, size_t nbytes) {
    cuda_capture *n = cuda_capturing;
    TRY(notes_check_device(c, d));
    x.params = (n->bytes.len + 7) & ~(size_t)7;
    x.nbytes = nbytes;
    if (!vec_reserve(&n->bytes, x.params + nbytes) || !vec_push(&n->commands, x)) {
        n->no_memory = true;
        return diag_no_memory(d);
    }
    if (nbytes) memcpy(n->bytes.data + x.params, params, nbytes);
    n->bytes.len = x.params + nbytes;
    return CTSC_OK;
}

static bool notes_all_zero(const char *p, size_t n) {
    return n == 0 || (*p == 0 && !memcmp(p, p + 1, n - 1));
}

ctsc_status cuda_capture_write(cuda *c, diag *d, void *to, const void *host, size_t nbytes) {
    cuda_capture *n = cuda_capturing;
    if (notes_all_zero(host, nbytes))
        return cuda_capture_add(c, d, (command){.kind = COMMAND_ZERO, .moved = nbytes}, &to,
                                sizeof to);
    size_t at = (n->contents.len + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (nbytes > NOTES_CONTENTS || at + nbytes > NOTES_CONTENTS)
        return cuda_capture_refuse(d, "much is copied from the host");
    if (!vec_reserve(&n->contents, at + nbytes)) {
        n->no_memory = true;
        return diag_no_memory(d);
    }
    memset(n->contents.data + n->contents.len, 0, at - n->contents.len);
    memcpy(n->contents.data + at, host, nbytes);
    n->contents.len = at + nbytes;
    return cuda_capture_add(c, d, (command){.kind = COMMAND_WRITE, .moved = nbytes, .content = at},
                            (void *[]){to, NULL}, 2 * sizeof to);
}

ctsc_status cuda_capture_alloc(cuda *c, diag *d, size_t nbytes, void **out) {
    ctsc_status st = notes_check_device(c, d);
    return st == CTSC_OK ? capture_slot_new(cuda_capturing, d, 0, nbytes, out) : st;
}

bool cuda_capture_release(const void *p) {
    cuda_capture *n = cuda_capturing;
    capture_slot *s = capture_find(n, (uintptr_t)p);
    if (s) s->freed = n->commands.len;
    return s != NULL;
}
