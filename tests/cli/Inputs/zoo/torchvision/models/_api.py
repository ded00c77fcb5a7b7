# SPDX-License-Identifier: Apache-2.0
def register_model(name=None):
    def wrapper(fn):
        return fn
    return wrapper


@register_model()
def hidden():
    raise RuntimeError("files whose names begin with _ have no networks")
