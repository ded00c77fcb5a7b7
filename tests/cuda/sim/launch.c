/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - runs a kernel on the host.
 *
 * Blocks run one after the other. Each thread of a block is a fibre: it runs until it ends or has
 * to wait, then the next one does. Warps are run one by one: when all lanes of a warp wait, the
 * shuffles and votes for which all lanes have come are answered; when no warp can go on, the
 * barrier opens if all threads that have not ended are there. If they are not, or are at different
 * barriers, the launch fails. A lane that does not exist or has ended counts as absent: what is
 * shuffled from it is a NaN.
 *
 * A thread that never waits costs two changes of stacks, and all such threads use the same stack.
 *
 * Device memory is closed when a kernel starts: the first access to a
 * range of it faults, opens it and is repeated. Any other fault inside a
 * kernel ends the launch, as on a device, with CUDA_ERROR_ILLEGAL_ADDRESS.
 */
#include "sim.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

enum { LAUNCH_MAX_THREADS = 1024, LAUNCH_WARP = 32, LAUNCH_STACK = 256 << 10, LAUNCH_RED = 256 };

typedef struct fibre {
    enum { FIBRE_NEW, FIBRE_READY, FIBRE_AT_BARRIER, FIBRE_IN_WARP, FIBRE_ENDED } state;
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    char *stack;
    struct dim3 index;
    int line, count; /* of the barrier; the barrier's answer */
    enum sim_collective kind;
    unsigned mask;
    int lane, width;
    unsigned long long value;
} fibre;

static struct {
    const sim_launch *launch;
    struct sim_state *state;
    fibre fibres[LAUNCH_MAX_THREADS];
    int nthreads, current;
#if defined(__x86_64__)
    void *stack_pointer; /* of the scheduler */
#else
    ucontext_t context;
#endif
    char *stacks, *free_stacks[LAUNCH_MAX_THREADS];
    int nfree;
    sigjmp_buf stop; /* back to sim_run when the launch cannot go on */
    CUresult result;
} launch;

/* ---- changing stacks ------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Saves what a call must keep on the stack that is left, and takes it from the one
 * that is entered. */
void sim_switch(void **save, void *enter);
__asm__(".text\n"
        ".hidden sim_switch\n"
        ".globl sim_switch\n"
        "sim_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq "
        "%r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n");
#endif

static void launch_leave(fibre *f) {
#if defined(__x86_64__)
    sim_switch(&f->stack_pointer, launch.stack_pointer);
#else
    swapcontext(&f->context, &launch.context);
#endif
}

static void launch_main(void) {
    fibre *f = &launch.fibres[launch.current];
    launch.launch->function->kernel->call(launch.launch->params);
    f->state = FIBRE_ENDED;
    launch_leave(f);
    __builtin_unreachable();
}

static void launch_prepare(fibre *f) {
    f->stack = launch.free_stacks[--launch.nfree];
#if defined(__x86_64__)
    /* As if launch_main had been called: six registers, where to return to, and a stack that is
     * aligned for that. */
    void **top = (void **)(f->stack + LAUNCH_STACK - 64);
    memset(top - 8, 0, 8 * sizeof *top);
    top[-2] = (void *)(uintptr_t)launch_main;
    f->stack_pointer = top - 8;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = LAUNCH_STACK;
    makecontext(&f->context, launch_main, 0);
#endif
}

/* Runs a thread until it ends or waits. */
static void launch_enter(int i) {
    fibre *f = &launch.fibres[i];
    if (f->state == FIBRE_NEW) launch_prepare(f);
    launch.current = i;
    launch.state->thread = f->index;
#if defined(__x86_64__)
    sim_switch(&launch.stack_pointer, f->stack_pointer);
#else
    swapcontext(&launch.context, &f->context);
#endif
    if (f->state == FIBRE_ENDED) launch.free_stacks[launch.nfree++] = f->stack;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void launch_where(const char *what) {
    struct dim3 t = launch.fibres[launch.current].index, b = launch.state->block;
    sim_say("kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s",
            launch.launch->function->kernel->name, b.x, b.y, b.z, t.x, t.y, t.z, what);
}

static void launch_trap(const char *why) {
    launch_where(why);
    launch.result = CUDA_ERROR_LAUNCH_FAILED;
    siglongjmp(launch.stop, 1);
}

static pid_t launch_thread;

static void launch_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (gettid() != launch_thread) { /* the host's own: let it be found */
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return;
    }
    if (signal == SIGSEGV && sim_arena_touch_around(info->si_addr)) return;
    launch_where(signal == SIGFPE ? "an integer was divided by zero"
                                  : "an illegal address was used");
    if (signal != SIGFPE) sim_say("the address is %p", info->si_addr);
    launch.result = CUDA_ERROR_ILLEGAL_ADDRESS;
    siglongjmp(launch.stop, 1);
}

/* ---- threads that meet ----------------------------------------------------------------------- */

static int launch_barrier(int line, int value) {
    fibre *f = &launch.fibres[launch.current];
    f->line = line;
    f->value = (unsigned long long)value;
    f->state = FIBRE_AT_BARRIER;
    launch_leave(f);
    return f->count;
}

static unsigned long long launch_collective(enum sim_collective kind, unsigned mask,
                                            unsigned long long value, int lane, int width) {
    fibre *f = &launch.fibres[launch.current];
    f->kind = kind;
    f->mask = mask;
    f->value = value;
    f->lane = lane;
    f->width = width;
    if (!(mask >> (launch.current % LAUNCH_WARP) & 1))
        launch_trap("a lane is not in the mask it gives");
    f->state = FIBRE_IN_WARP;
    launch_leave(f);
    return f->value;
}

/* Called by instrumented code alone (CTSC_SIM_RACES). */
static void launch_access(const void *p, unsigned nbytes, int write) {
    int other = sim_races_access(launch.current, p, nbytes, write);
    if (other < 0) return;
    struct dim3 t = launch.fibres[other].index;
    sim_say("%s shared memory that thread (%u, %u, %u) uses, without a barrier between",
            write ? "writes" : "reads", t.x, t.y, t.z);
    launch_trap("a race");
}

static unsigned launch_active(void) {
    unsigned mask = 0;
    int warp = launch.current / LAUNCH_WARP * LAUNCH_WARP;
    for (int i = 0; i < LAUNCH_WARP && warp + i < launch.nthreads; i++)
        if (launch.fibres[warp + i].state != FIBRE_ENDED) mask |= 1u << i;
    return mask;
}

/* Whose value a lane gets. */
static int launch_source(const fibre *f, int lane) {
    int first = lane & ~(f->width - 1), source;
    switch (f->kind) {
    case SIM_SHUFFLE: return first + (f->lane & (f->width - 1));
    case SIM_SHUFFLE_UP: source = lane - f->lane; return source < first ? lane : source;
    case SIM_SHUFFLE_DOWN:
        source = lane + f->lane;
        return source >= first + f->width ? lane : source;
    default: source = lane ^ f->lane; return source >= first + f->width ? lane : source;
    }
}

/* Answers what lane `at` of the warp waits for, if all who take part are there. */
static bool launch_answer(fibre *warp, int nlanes, int at) {
    unsigned mask = warp[at].mask, here = 0, votes = 0;
    unsigned long long answers[LAUNCH_WARP];
    for (int i = 0; i < nlanes; i++) {
        if (!(mask >> i & 1) || warp[i].state == FIBRE_ENDED) continue;
        if (warp[i].state != FIBRE_IN_WARP || warp[i].mask != mask || warp[i].kind != warp[at].kind)
            return false;
        here |= 1u << i;
        votes |= (unsigned)(warp[i].value != 0) << i;
    }
    for (int i = 0; i < nlanes; i++) {
        if (!(here >> i & 1)) continue;
        int source = warp[at].kind == SIM_BALLOT || warp[at].kind == SIM_SYNCWARP
                         ? i
                         : launch_source(&warp[i], i);
        answers[i] = warp[at].kind == SIM_BALLOT ? votes
                     : here >> source & 1        ? warp[source].value
                                                 : ~0ull;
    }
    for (int i = 0; i < nlanes; i++)
        if (here >> i & 1) {
            warp[i].value = answers[i];
            warp[i].state = FIBRE_READY;
        }
    if (warp[at].kind == SIM_SYNCWARP) sim_races_warp((int)(warp - launch.fibres) / LAUNCH_WARP);
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Runs a warp as far as it comes alone; true: it did anything. */
static bool launch_warp(int first, bool reverse) {
    int nlanes = launch.nthreads - first < LAUNCH_WARP ? launch.nthreads - first : LAUNCH_WARP;
    fibre *warp = &launch.fibres[first];
    bool any = false;
    for (bool going = true; going;) {
        going = false;
        for (int i = 0; i < nlanes; i++) {
            int lane = reverse ? nlanes - 1 - i : i;
            if (warp[lane].state > FIBRE_READY) continue;
            launch_enter(first + lane);
            any = true;
        }
        for (int i = 0; i < nlanes; i++)
            if (warp[i].state == FIBRE_IN_WARP && launch_answer(warp, nlanes, i)) going = true;
    }
    return any;
}

/* Nobody can go on: opens the barrier. False: all threads have ended. */
static bool launch_open_barrier(void) {
    const fibre *first = NULL;
    int count = 0;
    for (int i = 0; i < launch.nthreads; i++) {
        const fibre *f = &launch.fibres[i];
        if (f->state == FIBRE_ENDED) continue;
        launch.current = i;
        if (f->state == FIBRE_IN_WARP) launch_trap("waits for lanes of its warp that do not come");
        if (!first) first = f;
        if (f->line != first->line)
            launch_trap("waits at another barrier than the threads before it");
        count += f->value != 0;
    }
    sim_races_barrier();
    for (int i = 0; i < launch.nthreads; i++)
        if (launch.fibres[i].state == FIBRE_AT_BARRIER) {
            launch.fibres[i].state = FIBRE_READY;
            launch.fibres[i].count = count;
        }
    return first != NULL;
}

static void launch_block(bool reverse) {
    struct dim3 n = launch.launch->block, at = {0, 0, 0};
    const struct sim_image *image = launch.launch->function->module->image;
    unsigned shared = launch.launch->shared, red = SIM_DYNAMIC_SHARED - shared < LAUNCH_RED
                                                       ? SIM_DYNAMIC_SHARED - shared
                                                       : LAUNCH_RED;
    memset(image->shared, 0xff, (size_t)(image->shared_end - image->shared));
    memset(image->dynamic, 0xff, shared + red);
    sim_races_begin(image->shared, (size_t)(image->shared_end - image->shared), image->dynamic,
                    shared);
    for (int i = 0; i < launch.nthreads; i++) {
        launch.fibres[i].state = FIBRE_NEW;
        launch.fibres[i].index = at;
        if (++at.x == n.x) at.x = 0, at.y++;
        if (at.y == n.y) at.y = 0, at.z++;
    }
    do {
        for (bool going = true; going;) {
            going = false;
            for (int warp = 0; warp < launch.nthreads; warp += LAUNCH_WARP)
                going |= launch_warp(warp, reverse);
        }
    } while (launch_open_barrier());
    for (unsigned i = 0; i < red; i++)
        if ((unsigned char)image->dynamic[shared + i] != 0xff)
            launch_trap("somebody of the block wrote behind its dynamic shared memory");
}

static void launch_grid(void) {
    static int reverse = -1;
    struct dim3 n = launch.launch->grid, b;
    if (reverse < 0) reverse = (int)sim_setting("CTSC_SIM_REVERSE", 0);
    for (b.z = 0; b.z < n.z; b.z++)
        for (b.y = 0; b.y < n.y; b.y++)
            for (b.x = 0; b.x < n.x; b.x++) {
                launch.state->block = b;
                launch_block(reverse);
            }
}

CUresult sim_run(const sim_launch *l) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
    struct sigaction old[3],
        fault = {.sa_sigaction = launch_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (!launch.stacks) {
        void *p = mmap(NULL, (size_t)LAUNCH_STACK * LAUNCH_MAX_THREADS, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) abort();
        launch.stacks = p;
    }
    for (launch.nfree = 0; launch.nfree < LAUNCH_MAX_THREADS; launch.nfree++)
        launch.free_stacks[launch.nfree] =
            launch.stacks + (size_t)LAUNCH_STACK * (size_t)(LAUNCH_MAX_THREADS - 1 - launch.nfree);
    launch.launch = l;
    launch.state = l->function->module->image->state;
    launch.nthreads = (int)(l->block.x * l->block.y * l->block.z);
    launch.result = CUDA_SUCCESS;
    *launch.state = (struct sim_state){.block_size = l->block,
                                       .grid = l->grid,
                                       .barrier = launch_barrier,
                                       .collective = launch_collective,
                                       .active = launch_active,
                                       .access = launch_access,
                                       .trap = launch_trap};
    launch_thread = gettid();
    for (int i = 0; i < 3; i++) sigaction(signals[i], &fault, &old[i]);
    if (sigsetjmp(launch.stop, 1) == 0) launch_grid();
    for (int i = 0; i < 3; i++) sigaction(signals[i], &old[i], NULL);
    return launch.result;
}
