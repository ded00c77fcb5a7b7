/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amx_emulator.h - AMX's instructions on a processor that has AVX-512 but no AMX: each raises
 * SIGILL, is decoded and done on the registers of amx_model.h. So the library's own machine code
 * runs, as it was compiled, operands and configuration included.
 */
#ifndef CTSC_TESTS_UNIT_AMX_EMULATOR_H
#define CTSC_TESTS_UNIT_AMX_EMULATOR_H

#include "amx_model.h"

#include <signal.h>

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>

/* An instruction with a VEX prefix of three bytes: C4, RXB and map, W vvvv L pp. */
typedef struct amx_instruction {
    int prefix, opcode; /* pp: 0 none, 1 66, 2 F3, 3 F2 */
    int mod, reg, rm, vvvv;
    /* of an operand in memory; index: with its scale, no part of address where the
     * instruction is for rows */
    uint64_t address, index;
    int length;
} amx_instruction;

static uint64_t amx_register(const ucontext_t *u, int n) {
    static const int place[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    return (uint64_t)u->uc_mcontext.gregs[place[n]];
}

/* The operand in memory, whose ModRM is at p. */
static void amx_operand(const ucontext_t *u, const uint8_t *p, int x, int b, amx_instruction *i) {
    const uint8_t *start = p++;
    if (i->rm == 4) {
        int scale = *p >> 6, index = (*p >> 3 & 7) | x, base = *p & 7;
        p++;
        i->index = index == 4 ? 0 : amx_register(u, index) << scale;
        amx_model_need(!(base == 5 && i->mod == 0), "an address without base");
        i->address = amx_register(u, base | b);
    } else if (i->rm == 5 && i->mod == 0) {
        int32_t away;
        memcpy(&away, p, sizeof away);
        p += 4;
        i->address = (uint64_t)((intptr_t)p + away);
        i->length += (int)(p - start);
        return;
    } else {
        i->address = amx_register(u, i->rm | b);
    }
    int32_t away = 0;
    if (i->mod == 1) away = (int8_t)*p++;
    if (i->mod == 2) memcpy(&away, p, sizeof away), p += 4;
    i->address += (uint64_t)(int64_t)away;
    i->length += (int)(p - start);
}

/* False: another kind of instruction. */
static bool amx_decode(const ucontext_t *u, amx_instruction *i) {
    const uint8_t *p = (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    if (p[0] != 0xc4 || (p[1] & 31) != 2 || p[2] & 0x84) return false; /* 0F38, W0, 128 bits */
    *i = (amx_instruction){.prefix = p[2] & 3,
                           .opcode = p[3],
                           .vvvv = (~p[2] >> 3) & 15,
                           .mod = p[4] >> 6,
                           .reg = p[4] >> 3 & 7,
                           .rm = p[4] & 7,
                           .length = 4};
    if (i->mod == 3) i->length++;
    else amx_operand(u, p + 4, p[1] & 0x40 ? 0 : 8, p[1] & 0x20 ? 0 : 8, i);
    return true;
}

static bool amx_execute(const amx_instruction *i) {
    void *p = (void *)(uintptr_t)i->address;
    switch (i->opcode << 2 | i->prefix) {
    case 0x49 << 2:
        if (i->mod == 3) amx_model_release();
        else amx_model_configure(p);
        return true;
    case 0x4b << 2 | 3: amx_model_load(i->reg, p, (int64_t)i->index); return true;
    case 0x4b << 2 | 2: amx_model_store(i->reg, p, (int64_t)i->index); return true;
    case 0x5c << 2 | 2: amx_model_dot_bf16(i->reg, i->rm, i->vvvv); return true;
    case 0x5e << 2 | 1: amx_model_dot_bytes(i->reg, i->rm, i->vvvv); return true;
    default: return false;
    }
}

static void amx_emulate(int signal, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    amx_instruction i = {0};
    (void)signal, (void)info;
    amx_model_need(amx_decode(u, &i) && amx_execute(&i), "not one of these instructions");
    u->uc_mcontext.gregs[REG_RIP] += i.length;
}

/* Can the library's own records run, by the processor or by this? */
static inline bool amx_emulator_start(void) {
    if (isa_has(ISA_AMXBF16)) return true;
    if (!isa_has(ISA_AVX512BF16)) return false;
    struct sigaction act = {.sa_sigaction = amx_emulate, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&act.sa_mask);
    return sigaction(SIGILL, &act, NULL) == 0;
}

#else
static inline bool amx_emulator_start(void) { return false; }
#endif

/* Calls fn with each record for AMX in turn as the best of its type: the model, and the library's
 * own. */
static inline void amx_each(ukernel_type type, void (*fn)(void *ctx, const quad_kernels *u),
                            void *ctx) {
    const quad_kernels *records[2] = {amx_model_record(type), NULL};
    if (amx_emulator_start())
        records[1] = ukernel_first(UKERNEL_QUAD, type)->record; /* the fastest there is */
    for (int i = 0; i < 2 && records[i]; i++) {
        ukernel_pretend(UKERNEL_QUAD, type, records[i]);
        fn(ctx, records[i]);
        ukernel_pretend(UKERNEL_QUAD, type, NULL);
        amx_model_need(!atomic_load(&amx_model_held), "tile registers that nobody gave back");
    }
}

#endif
