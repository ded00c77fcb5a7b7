/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a program that was loaded or compiled: its unit (code) and its object (attributes).
 */
#ifndef CTSC_RUNTIME_PROGRAM_MODULE_H
#define CTSC_RUNTIME_PROGRAM_MODULE_H

#include "runtime/archive/archive.h"
#include "runtime/context/workspace.h"

struct runtime; /* runtime/context/runtime.h */

typedef struct module {
    unit *unit;
    value root; /* V_OBJECT of a module class */
    int64_t version;
    /* of a program compiled from a function: that function, which `forward` wraps; else NULL */
    struct function *entry;
    int opt; /* level of optimisation, 0 to MODULE_OPT_MAX (ctsc_module_set_opt) */
    /* calls are recorded for gradients, and nothing is taken for constant
     * (ctsc_module_set_gradients) */
    bool gradients;
    struct checkpoints *checkpoints; /* of such calls (ctsc_module_set_checkpoints); NULL: none */
    workspace_pool workspaces;       /* of its calls */
} module;

enum {
    MODULE_OPT_DEFAULT = 2,
    MODULE_OPT_MAX = 3,
    MODULE_EXPORTED_VERSION = 10 /* as it would be saved */
};

/* Of a file that holds a program, in any format that is known (formats.c). Takes r over, also on
 * failure. */
ctsc_status module_load(diag *d, reader r, module **out);
/* One that has nothing yet; NULL: out of memory. */
module *module_new_empty(void);
void module_free(module *m);
struct function *module_method(const module *m, const char *name); /* NULL: none */
/* m's parameters, and with `buffers` its buffers too: a list of them, or, `named`, a dict by dotted
 * name (state.c). Without buffers what is shared comes once, as of parameters(); with them under
 * each name, as of state_dict(). Tensors are not copied. */
ctsc_status module_tensors(const module *m, diag *d, bool named, bool buffers, value *out);
/* Makes m the frozen module (freeze.c): one method, forward; attributes that nothing changes are
 * constants of its graph. fold: batch norms and constant factors go into weights. On failure m is
 * as it was. Nobody else may use m meanwhile. */
ctsc_status module_freeze(diag *d, module *m, bool fold);

/* Puts all of m's tensors on a device (as storage.device), constants of its code included. On
 * failure m is as it was, but without memory in the last step some of them may be elsewhere. Nobody
 * else may use m meanwhile (module_device.c). */
ctsc_status module_to_device(diag *d, module *m, int device);
/* Makes float64 of all floating-point tensors that are narrower, and complex128 of complex ones, in
 * place. Dtypes that the code names stay. */
ctsc_status module_widen(diag *d, module *m);
ctsc_status value_widen(diag *d, value v); /* the tensors in v */

/* Runs a method as a caller from outside: arguments are checked and converted, and around `forward`
 * run the hooks of the module's class. args are borrowed, self first (module_call.c). */
ctsc_status module_call(struct function *f, struct runtime *rt, size_t nargs, const value *args,
                        diag *d, value *result);

#endif
