# SPDX-License-Identifier: Apache-2.0
# _script.py - a module of an archive (torch.jit.load), as module-level code sees it.
#
# Its parameters, buffers, submodules and attributes are those of any nn.Module; the registries are filled by C
# (frontend/pyeval/torch/py_script.c), which also runs the methods.
# Tests: tests/cli/jit-load.test
import torch
from torch.nn import Module


class RecursiveScriptModule(Module):
    @property
    def original_name(self):
        return torch._C._script_name(self)

    def _get_name(self):
        return 'RecursiveScriptModule'

    def extra_repr(self):
        return 'original_name=' + self.original_name

    def forward(self, *args, **kwargs):
        method = torch._C._script_method(self, 'forward')
        return super().forward(*args) if method is None else method(*args, **kwargs)

    def __getattr__(self, name):
        method = torch._C._script_method(self, name)
        return super().__getattr__(name) if method is None else method

    def _special(self, name, *args):
        method = torch._C._script_method(self, name)
        if method is None:
            raise NotImplementedError()
        return method(*args)

    def __len__(self):
        return self._special('__len__')

    def __contains__(self, key):
        return self._special('__contains__', key)

    def __getitem__(self, key):
        return self._special('__getitem__', key)

    def __bool__(self):
        return True
