/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.h - files that hold tensors by name: those of torch.save and of
 * safetensors, and archives.
 */
#ifndef CTSC_RUNTIME_PROGRAM_WEIGHTS_H
#define CTSC_RUNTIME_PROGRAM_WEIGHTS_H

#include "runtime/program/module.h"

/* What torch.load would make of it: of a file of torch.save any value, where objects of unknown
 * classes are capsules (capsule_opaque); of a .safetensors file, or of the index of several, a
 * dict of tensors. */
ctsc_status weights_values(diag *d, const char *path, value *out);
/* Of the index of weights in several files, which are beside it (r.path). Takes r over. */
ctsc_status weights_of_index(diag *d, reader r, value *out);
/* The same as weights_values for --weights, which takes archives as well: a dict, which may hold
 * the state_dict somewhere inside. */
ctsc_status weights_dict(diag *d, const char *path, value *out);
/* The state_dict itself: a dict of tensors by name. Of a checkpoint what training scripts keep as
 * such (weights.c says which dict that is); fails where several could be it. wanted: of an index
 * only what has names of that dict, and scales beside it; NULL: all. */
ctsc_status weights_state(diag *d, const char *path, const dict *wanted, value *out);

/* What the tensor of that name in `given` is multiplied with: a scale beside it, where it is of
 * eight bits and a module's own one is of floats. NULL: it is taken as it is. */
tensor *weights_scale(const dict *own, const dict *given, const str *name);
/* Is that tensor of `given` a scale that weights_scale gives for another, or one of activations
 * beside it? Such are of no use to a module that has no tensor of the name. */
bool weights_is_scale(const dict *own, const dict *given, const str *name);

#endif
