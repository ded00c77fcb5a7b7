/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llvm_jit.c - the LLVM implementation of jit.h: IR text to
 * object code, and objects to addresses. All of libctsc-jit.so.
 *
 * Method: compiling and loading are separate, because objects come from the disk cache as well.
 * Compiling: parse; link in the functions of scalar_ops that the kernel calls (the bitcode is
 * opened lazily, and the linker takes linkonce functions only where they are used); inline; a
 * short list of passes, chosen for compile time: the rest of -O2 changes kernels little and costs
 * as much again. Loading: ORC's LLJIT, for objects that codegen/cache/object.c does not support.
 * Objects see the functions of libm that kernel_symbols.def names and nothing else of the process.
 *
 * No fast-math: the only flags are those in the text (reassoc on accumulations), and `contract`
 * throughout where the kernel has the attribute "ctsc-contract".
 * Tests: tests/unit/test_codegen.c
 */
#include "codegen/llvm/jit.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char jit_scalar_bitcode[], jit_scalar_bitcode_end[];

/* In this order. instcombine's fixpoint check is for LLVM's developers. */
static const char jit_passes[] =
    "always-inline,globaldce,"
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm),loop(loop-unroll-full),sroa,early-cse,"
    "loop-vectorize,loop-load-elim,instcombine<no-verify-fixpoint>,early-cse,loop-mssa(licm),"
    "simplifycfg)";

enum { JIT_INLINE_LIMIT = 400 }; /* instructions; functions above stay calls */

struct jit_engine {
    LLVMOrcLLJITRef jit;
};

static pthread_once_t jit_once = PTHREAD_ONCE_INIT;

/* Loop strength reduction takes a sixth to a third of the time for a kernel and changes its speed
 * by 2 % at most: x86's addresses have an index of their own. Code generation is not a list of
 * passes that one could choose from, so an option of LLVM's has to do. */
static void jit_init(void) {
    static const char *const options[] = {"ctsc", "-disable-lsr"};
    LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
}

/* The other architectures of programs that are compiled ahead of time. */
static void jit_init_foreign(void) {
#define JIT_INIT(name)                                                                             \
    LLVMInitialize##name##TargetInfo();                                                            \
    LLVMInitialize##name##Target();                                                                \
    LLVMInitialize##name##TargetMC();                                                              \
    LLVMInitialize##name##AsmPrinter()
    JIT_INIT(AArch64);
    JIT_INIT(X86);
#undef JIT_INIT
}

static bool jit_fail(jit_error *error, const char *what, const char *detail) {
    snprintf(error->text, sizeof error->text, "%s: %s", what, detail ? detail : "");
    return false;
}

/* ---- processors ------------------------------------------------------------------------------ */

static bool jit_describe(const char *name, jit_cpu *out) {
    pthread_once(&jit_once, jit_init);
    memset(out, 0, sizeof *out);
    if (strcmp(name, "host") != 0) {
        snprintf(out->name, sizeof out->name, "%s", name);
        return true;
    }
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    /* NULL: there is no memory */
    bool fits = cpu && features && strlen(features) < sizeof out->features;
    if (fits) {
        snprintf(out->name, sizeof out->name, "%s", cpu);
        strcpy(out->features, features);
    }
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return fits;
}

static LLVMTargetMachineRef jit_machine(const jit_cpu *cpu, jit_error *error) {
    char *triple = cpu->triple[0] ? LLVMCreateMessage(cpu->triple) : LLVMGetDefaultTargetTriple(),
         *message = NULL;
    LLVMTargetRef target;
    LLVMTargetMachineRef machine = NULL;
    if (!triple) jit_fail(error, "no code generator", "out of memory");
    else if (LLVMGetTargetFromTriple(triple, &target, &message))
        jit_fail(error, "no code generator for this machine", message);
    else
        machine = LLVMCreateTargetMachine(target, triple, cpu->name, cpu->features,
                                          LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                          LLVMCodeModelSmall);
    if (message) LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    return machine;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* LLVM reports through the context's handler; the first error is kept. */
static void jit_on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx) {
    jit_error *error = ctx;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || error->text[0]) return;
    char *text = LLVMGetDiagInfoDescription(info);
    jit_fail(error, "LLVM", text);
    LLVMDisposeMessage(text);
}

/* Functions that are not among the embedded ones: LLVM's, and that of the run-time library which
 * programs compiled ahead of time call (rt/rt_program.h). */
static bool jit_is_intrinsic(const char *name) {
    return strncmp(name, "llvm.", 5) == 0 || strcmp(name, "ctsc_rt_call") == 0;
}

/* A call of a function that exists with another type would be undefined behaviour without
 * a word from LLVM.
 * */
static bool jit_check_calls(LLVMModuleRef m, LLVMModuleRef scalars, jit_error *error) {
    size_t len;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName2(f, &len);
        if (!LLVMIsDeclaration(f) || jit_is_intrinsic(name)) continue;
        LLVMValueRef found = LLVMGetNamedFunction(scalars, name);
        if (!found) return jit_fail(error, "a kernel calls a function that does not exist", name);
        if (LLVMGlobalGetValueType(found) != LLVMGlobalGetValueType(f))
            return jit_fail(error, "a kernel passes arguments of other types to", name);
    }
    return true;
}

static bool jit_has_calls(LLVMModuleRef m) {
    size_t len;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (LLVMIsDeclaration(f) && !jit_is_intrinsic(LLVMGetValueName2(f, &len))) return true;
    return false;
}

static bool jit_link_scalars(LLVMModuleRef m, jit_error *error) {
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMModuleRef scalars;
    LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(
        jit_scalar_bitcode, (size_t)(jit_scalar_bitcode_end - jit_scalar_bitcode), "scalar_ops", 0);
    if (LLVMGetBitcodeModuleInContext2(context, bytes, &scalars))
        return jit_fail(error, "LLVM", "the embedded functions cannot be read");
    if (!jit_check_calls(m, scalars, error)) {
        LLVMDisposeModule(scalars);
        return false;
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(scalars); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    /* llvm.used would keep all of them */
    LLVMValueRef used = LLVMGetNamedGlobal(scalars, "llvm.used");
    if (used) LLVMDeleteGlobal(used);
    used = LLVMGetNamedGlobal(scalars, "llvm.compiler.used");
    if (used) LLVMDeleteGlobal(used);
    LLVMSetTarget(scalars, LLVMGetTarget(m));
    LLVMSetModuleDataLayout(scalars, LLVMGetModuleDataLayout(m));
    if (LLVMLinkModules2(m, scalars))
        return error->text[0] ? false : jit_fail(error, "LLVM", "linking failed");
    return true;
}

static unsigned jit_size(LLVMValueRef f) {
    unsigned n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) n++;
    return n;
}

static void jit_set_contract(LLVMValueRef f) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode op = LLVMGetInstructionOpcode(i);
            if (op == LLVMFAdd || op == LLVMFSub || op == LLVMFMul)
                LLVMSetFastMathFlags(i, LLVMGetFastMathFlags(i) | LLVMFastMathAllowContract);
        }
}

/* Linked functions become part of the kernel: its processor, its contraction, inlined. */
static void jit_adopt(LLVMModuleRef m, LLVMValueRef kernel) {
    static const char *const theirs[] = {"target-cpu", "target-features", "tune-cpu",
                                         "frame-pointer", "stack-protector-buffer-size"};
    static const char *const kinds[] = {"noinline", "optnone"};
    bool contract = LLVMGetStringAttributeAtIndex(kernel, LLVMAttributeFunctionIndex,
                                                  "ctsc-contract", 13) != NULL;
    unsigned inlined = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    LLVMAttributeRef always = LLVMCreateEnumAttribute(LLVMGetModuleContext(m), inlined, 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || f == kernel) continue;
        for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, theirs[i],
                                             (unsigned)strlen(theirs[i]));
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            LLVMRemoveEnumAttributeAtIndex(
                f, LLVMAttributeFunctionIndex,
                LLVMGetEnumAttributeKindForName(kinds[i], strlen(kinds[i])));
        LLVMSetLinkage(f, LLVMInternalLinkage);
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        if (contract) jit_set_contract(f);
        if (jit_size(f) <= JIT_INLINE_LIMIT)
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, always);
    }
}

static bool jit_optimise(LLVMModuleRef m, LLVMTargetMachineRef machine, jit_error *error) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failed = LLVMRunPasses(m, jit_passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failed) return true;
    char *text = LLVMGetErrorMessage(failed);
    jit_fail(error, "LLVM", text);
    LLVMDisposeErrorMessage(text);
    return false;
}

/* ---- prefetch -------------------------------------------------------------------------------- */

/* The hardware prefetcher stops at the end of a page and is idle while a row is
 * computed. Loops with the property "ctsc.prefetch" prefetch at this distance
 * ahead of their loads and stores: a row of 1024 floats, several shorter ones.
 * The calls are added after vectorisation, which they would prevent. */
enum { JIT_AHEAD = 4096, JIT_LINE = 64 };

static bool jit_loop_has(LLVMValueRef branch, unsigned kind, const char *property) {
    LLVMValueRef node = LLVMGetMetadata(branch, kind), operands[8], name;
    unsigned n = node ? (unsigned)LLVMGetMDNodeNumOperands(node) : 0, len;
    if (n > sizeof operands / sizeof *operands) return false;
    if (n) LLVMGetMDNodeOperands(node, operands);
    for (unsigned i = 1; i < n; i++) { /* the first is the node itself */
        if (LLVMGetMDNodeNumOperands(operands[i]) != 1) continue;
        LLVMGetMDNodeOperands(operands[i], &name);
        const char *text = LLVMGetMDString(name, &len);
        if (text && len == strlen(property) && memcmp(text, property, len) == 0) return true;
    }
    return false;
}

/* A vector that begins a cache line, if the loop's vectors
 * do: those after it have its address plus a constant. */
static bool jit_begins_line(LLVMValueRef vector, LLVMValueRef at, LLVMTargetDataRef layout) {
    if (LLVMGetTypeKind(LLVMTypeOf(vector)) != LLVMVectorTypeKind) return false;
    if (!LLVMIsAGetElementPtrInst(at) || !LLVMIsAGetElementPtrInst(LLVMGetOperand(at, 0)))
        return true;
    LLVMValueRef step = LLVMGetOperand(at, 1);
    if (!LLVMIsAConstantInt(step)) return true;
    return LLVMConstIntGetSExtValue(step) *
               (long long)LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(at)) % JIT_LINE ==
           0;
}

static void jit_prefetch(LLVMValueRef kernel, LLVMTargetDataRef layout) {
    LLVMModuleRef m = LLVMGetGlobalParent(kernel);
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMTypeRef byte = LLVMInt8TypeInContext(context), word = LLVMInt32TypeInContext(context);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);
    LLVMValueRef far = LLVMConstInt(word, JIT_AHEAD, 0), one = LLVMConstInt(word, 1, 0),
                 near = LLVMConstInt(word, 3, 0);
    unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13),
             kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9);
    LLVMTypeRef type = LLVMIntrinsicGetType(context, id, &pointer, 1);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(kernel); block;
         block = LLVMGetNextBasicBlock(block)) {
        if (!jit_loop_has(LLVMGetBasicBlockTerminator(block), kind, "ctsc.prefetch")) continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
            bool stores = LLVMIsAStoreInst(i) != NULL;
            if (!stores && !LLVMIsALoadInst(i)) continue;
            LLVMValueRef from = LLVMGetOperand(i, stores);
            if (!jit_begins_line(stores ? LLVMGetOperand(i, 0) : i, from, layout)) continue;
            LLVMPositionBuilderBefore(b, i);
            LLVMValueRef at = LLVMBuildGEP2(b, byte, from, &far, 1, "");
            /* to write or read; into all caches; data */
            LLVMValueRef args[] = {at, LLVMConstInt(word, stores, 0), near, one};
            LLVMBuildCall2(b, type, LLVMGetIntrinsicDeclaration(m, id, &pointer, 1), args, 4, "");
        }
    }
    LLVMDisposeBuilder(b);
}

static bool jit_output_copy(const char *bytes, size_t size, void **data, size_t *out,
                            jit_error *error) {
    char *copy = malloc(size + 1);
    if (!copy) return jit_fail(error, "out of memory", NULL);
    memcpy(copy, bytes, size);
    copy[size] = 0;
    *data = copy;
    *out = size;
    return true;
}

static bool jit_write(LLVMModuleRef m, LLVMTargetMachineRef machine, jit_output want, void **data,
                      size_t *size, jit_error *error) {
    bool ok;
    char *message = NULL;
    if (want == JIT_IR) {
        char *text = LLVMPrintModuleToString(m);
        ok = text ? jit_output_copy(text, strlen(text), data, size, error)
                  : jit_fail(error, "LLVM", "out of memory");
        LLVMDisposeMessage(text);
        return ok;
    }
    LLVMMemoryBufferRef bytes;
    if (LLVMTargetMachineEmitToMemoryBuffer(
            machine, m, want == JIT_OBJECT ? LLVMObjectFile : LLVMAssemblyFile, &message, &bytes)) {
        jit_fail(error, "LLVM", message);
        LLVMDisposeMessage(message);
        return false;
    }
    ok = jit_output_copy(LLVMGetBufferStart(bytes), LLVMGetBufferSize(bytes), data, size, error);
    LLVMDisposeMemoryBuffer(bytes);
    return ok;
}

/* m is parsed and belongs to the caller. */
static bool jit_build(LLVMModuleRef m, LLVMTargetMachineRef machine, const char *symbol,
                      jit_error *error) {
    LLVMValueRef kernel = LLVMGetNamedFunction(m, "kernel");
    if (!kernel) return jit_fail(error, "a module without", "@kernel");
    char *triple = LLVMGetTargetMachineTriple(machine), *message = NULL;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(m, triple);
    LLVMSetModuleDataLayout(m, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    if (LLVMVerifyModule(m, LLVMReturnStatusAction, &message)) {
        jit_fail(error, "a kernel's code is wrong", message);
        LLVMDisposeMessage(message);
        return false;
    }
    LLVMDisposeMessage(message);
    if (jit_has_calls(m) && !jit_link_scalars(m, error)) return false;
    LLVMSetValueName2(kernel, symbol, strlen(symbol));
    jit_adopt(m, kernel);
    if (!jit_optimise(m, machine, error)) return false;
    jit_prefetch(kernel, LLVMGetModuleDataLayout(m));
    return true;
}

static bool jit_compile(const char *ir, size_t len, const jit_cpu *cpu, const char *symbol,
                        jit_output want, void **data, size_t *size, jit_error *error) {
    pthread_once(&jit_once, jit_init);
    error->text[0] = 0;
    static pthread_once_t foreign = PTHREAD_ONCE_INIT;
    if (cpu->triple[0]) pthread_once(&foreign, jit_init_foreign);
    bool ok = false;
    char *message = NULL;
    LLVMModuleRef m = NULL;
    LLVMContextRef context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(context, jit_on_diagnostic, error);
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, len, "kernel");
    LLVMTargetMachineRef machine = jit_machine(cpu, error);
    if (!machine) {
        LLVMDisposeMemoryBuffer(text);
        goto out;
    }
    if (LLVMParseIRInContext(context, text, &m, &message)) { /* takes text */
        jit_fail(error, "LLVM cannot read a kernel", message);
        LLVMDisposeMessage(message);
        goto out;
    }
    LLVMContextSetDiscardValueNames(context, want == JIT_OBJECT);
    ok = jit_build(m, machine, symbol, error) && jit_write(m, machine, want, data, size, error);
out:
    if (m) LLVMDisposeModule(m);
    if (machine) LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(context);
    return ok;
}

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct jit_symbol {
    const char *name;
    void *address;
} jit_symbol;

#define KERNEL_SYMBOL(name) {#name, (void *)name},
static const jit_symbol jit_symbols[] = {
#include "codegen/llvm/kernel_symbols.def"
};
#undef KERNEL_SYMBOL
enum { JIT_SYMBOLS = sizeof jit_symbols / sizeof *jit_symbols };

static bool jit_failed(LLVMErrorRef failed, jit_error *error) {
    if (!failed) return false;
    char *text = LLVMGetErrorMessage(failed);
    if (error) jit_fail(error, "LLVM", text);
    LLVMDisposeErrorMessage(text);
    return true;
}

/* Without it ORC writes to stderr; the error also comes back from the call that failed. */
static void jit_on_session_error(void *ctx, LLVMErrorRef failed) {
    (void)ctx;
    LLVMConsumeError(failed);
}

static bool jit_define_symbols(LLVMOrcLLJITRef jit, jit_error *error) {
    LLVMOrcCSymbolMapPair pairs[JIT_SYMBOLS];
    for (int i = 0; i < JIT_SYMBOLS; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, jit_symbols[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)jit_symbols[i].address;
        pairs[i].Sym.Flags = (LLVMJITSymbolFlags){
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    }
    return !jit_failed(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit),
                                             LLVMOrcAbsoluteSymbols(pairs, JIT_SYMBOLS)),
                       error);
}

static jit_engine *jit_engine_new(jit_error *error) {
    pthread_once(&jit_once, jit_init);
    error->text[0] = 0;
    jit_engine *e = calloc(1, sizeof *e);
    if (!e) {
        jit_fail(error, "out of memory", NULL);
        return NULL;
    }
    if (jit_failed(LLVMOrcCreateLLJIT(&e->jit, NULL), error)) {
        free(e);
        return NULL;
    }
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(e->jit),
                                            jit_on_session_error, NULL);
    if (!jit_define_symbols(e->jit, error)) {
        jit_failed(LLVMOrcDisposeLLJIT(e->jit), NULL);
        free(e);
        return NULL;
    }
    return e;
}

static void jit_engine_free(jit_engine *e) {
    jit_failed(LLVMOrcDisposeLLJIT(e->jit), NULL);
    free(e);
}

static void jit_unload(jit_engine *e, void *handle) {
    (void)e;
    jit_failed(LLVMOrcResourceTrackerRemove(handle), NULL);
    LLVMOrcReleaseResourceTracker(handle);
}

static bool jit_load(jit_engine *e, const char *symbol, const void *data, size_t size,
                     void **address, void **handle, jit_error *error) {
    error->text[0] = 0;
    LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRangeCopy(data, size, symbol);
    LLVMOrcResourceTrackerRef tracker = LLVMOrcJITDylibCreateResourceTracker(
        LLVMOrcLLJITGetMainJITDylib(e->jit));
    LLVMOrcExecutorAddress at;
    /* takes bytes */
    if (jit_failed(LLVMOrcLLJITAddObjectFileWithRT(e->jit, tracker, bytes), error) ||
        jit_failed(LLVMOrcLLJITLookup(e->jit, &at, symbol), error)) {
        jit_unload(e, tracker);
        return false;
    }
    *address = (void *)(uintptr_t)at;
    *handle = tracker;
    return true;
}

/* ---- the interface --------------------------------------------------------------------------- */

__attribute__((visibility("default"))) const jit_interface *ctsc_jit_interface(void) {
    static const jit_interface table = {
        .version = JIT_INTERFACE,
        .build = LLVM_VERSION_TEXT "-" JIT_SOURCE_HASH,
        .describe = jit_describe,
        .compile = jit_compile,
        .release = free,
        .engine_new = jit_engine_new,
        .engine_free = jit_engine_free,
        .load = jit_load,
        .unload = jit_unload,
    };
    return &table;
}
