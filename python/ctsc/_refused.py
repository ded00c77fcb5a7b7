# SPDX-License-Identifier: Apache-2.0
"""_refused.py - modules of torch that ctsc has nothing of: they can be imported, so that programs that name them run, and what is called of them says why not."""


class _Refusing(type):
    """Classes that cannot be made, and have what they are asked for as another one."""

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError("%s: %s" % (cls._path_, cls._reason_))

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return named("%s.%s" % (cls._path_, name), cls._reason_)

    def __instancecheck__(cls, x):
        return False

    def __repr__(cls):
        return "<%s, which ctsc does not have>" % cls._path_


def named(path, reason):
    return _Refusing(path.rpartition(".")[2], (), {"_path_": path, "_reason_": reason, "__module__": "ctsc"})


def refuse(module, reason, known=None):
    """__getattr__ of a module: known tells the names that there are; without it all that begin with a letter are refused when they are called."""
    def get(name):
        if name.startswith("_") or known is not None and name not in known:
            raise AttributeError("module '%s' has no attribute '%s'" % (module.replace("torch", "ctsc", 1), name))
        return named("%s.%s" % (module, name), reason)
    return get
