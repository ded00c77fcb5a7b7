# SPDX-License-Identifier: Apache-2.0
# util.py - importlib.util: is there such a module?
import importlib as _importlib


class _Spec:
    def __init__(self, name):
        self.name = name
        self.origin = None
        self.loader = None
        self.submodule_search_locations = None


def find_spec(name, package=None):
    try:
        _importlib.import_module(name, package)
    except ImportError:
        return None
    return _Spec(name)
