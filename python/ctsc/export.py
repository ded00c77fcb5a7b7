# SPDX-License-Identifier: Apache-2.0
"""export.py - torch.export: programs that PyTorch 2 exported are loaded; exporting is refused where it is called."""
from ._refused import refuse

__getattr__ = refuse("torch.export", "ctsc runs what PyTorch exported (export.load, ctsc.load of a .pt2), and exports by ctsc.trace, script and onnx.export")


class ExportedProgram:
    """What load gives: module() runs, state_dict has the weights."""

    def __init__(self, module):
        self._module = module

    def module(self, check_guards=True):
        """The program as a module."""
        return self._module

    @property
    def state_dict(self):
        return self._module.state_dict()

    def parameters(self):
        return (p for _, p in self.named_parameters())

    def named_parameters(self):
        return self._module.named_parameters()

    def buffers(self):
        return (b for _, b in self.named_buffers())

    def named_buffers(self):
        return self._module.named_buffers()

    @property
    def graph_module(self):
        return self._module

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self):
        return "ExportedProgram:\n%s" % self._module.code


def load(f, *, extra_files=None, expected_opset_version=None):
    """A program of torch.export.save: a path, or an open file. ctsc.export.load("net.pt2").module()(x)"""
    from ._files import load as load_file
    from . import _C
    if extra_files:
        raise NotImplementedError("torch.export.load: extra_files")
    module = load_file(f)
    if not isinstance(module, _C.ScriptModule):
        raise RuntimeError("torch.export.load: the file has no program of torch.export")
    return ExportedProgram(module)
