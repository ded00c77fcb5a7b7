# SPDX-License-Identifier: Apache-2.0
"""_absent.py - answers for kinds of devices that are never there: torch.mps, torch.xpu."""


def is_available():
    return False


def device_count():
    return 0


def empty_cache():
    pass


synchronize = empty_cache


def manual_seed(seed):
    pass


manual_seed_all = manual_seed


def none(name, message):
    """__getattr__ of such a module: what it has no answer for says that there is no device."""
    def get(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if attribute in ("Stream", "Event", "StreamContext", "device", "device_of", "stream"):
            from ._refused import named
            return named("%s.%s" % (name, attribute), message)

        def call(*args, **kwargs):
            raise RuntimeError("%s.%s: %s" % (name, attribute, message))
        call.__name__ = attribute
        return call
    return get


def is_initialized():
    return False


def is_bf16_supported(*args):
    return False
