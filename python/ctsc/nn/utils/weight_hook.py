# SPDX-License-Identifier: Apache-2.0
"""weight_hook.py - what weight_norm and spectral_norm share: one forward pre-hook of a class for each name of a parameter."""


def check_alone(module, kind, name, what):
    """An error if the module has a hook of class kind for the parameter already."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, kind) and hook.name == name:
            raise RuntimeError("Cannot register two %s hooks on the same parameter %s" % (what, name))


def remove(module, kind, name, what):
    """Takes the hook of class kind for the parameter away, which leaves the weight as it is now."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError("%s of '%s' not found in %s" % (what, name, module))
