# SPDX-License-Identifier: Apache-2.0
# machinery.py - importlib.machinery: packages look for their libraries in C++ with it. None is opened here (torch.ops.load_library); a spec says only where one would be.
from importlib.util import _Spec

EXTENSION_SUFFIXES = [".abi3.so", ".so"]
SOURCE_SUFFIXES = [".py"]


class ModuleSpec(_Spec):
    def __init__(self, name, loader, origin=None, loader_state=None, is_package=None):
        super().__init__(name)
        self.loader = loader
        self.origin = origin


class ExtensionFileLoader:
    def __init__(self, fullname, path):
        self.name = fullname
        self.path = path


class FileFinder:
    def __init__(self, path, *loader_details):
        self.path = path
        self._loaders = loader_details

    def find_spec(self, fullname, target=None):
        tail = fullname.rpartition(".")[2]
        for loader, suffixes in self._loaders:
            path = self.path + "/" + tail + suffixes[-1]
            return ModuleSpec(fullname, loader(fullname, path), origin=path)
        return None
