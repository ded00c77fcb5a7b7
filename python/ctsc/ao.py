# SPDX-License-Identifier: Apache-2.0
"""ao.py - torch.ao.quantization: names that models mention. QuantStub and DeQuantStub hand on what they get, as before PyTorch's conversion; converting is refused.
Programs that PyTorch has quantised are run (docs/precision.md)."""
import sys


def _refused(name):
    def call(*args, **kwargs):
        raise NotImplementedError("torch.ao.quantization.%s: ctsc quantises no modules of Python; it runs programs that PyTorch has quantised" % name)
    call.__name__ = name
    return call


def _stubs():
    from .nn import Module

    class QuantStub(Module):
        """The identity."""

        def __init__(self, qconfig=None):
            super().__init__()

        def forward(self, x):
            return x

    class DeQuantStub(QuantStub):
        pass
    globals().update(QuantStub=QuantStub, DeQuantStub=DeQuantStub)


def __getattr__(name):
    if name in ("QuantStub", "DeQuantStub"):
        _stubs()
        return globals()[name]
    if name in ("fuse_modules", "fuse_modules_qat", "prepare", "prepare_qat", "convert", "quantize", "quantize_dynamic", "quantize_qat", "get_default_qconfig",
                "get_default_qat_qconfig", "default_qconfig", "QConfig"):
        return _refused(name)
    raise AttributeError("module 'ctsc.ao.quantization' has no attribute '%s'" % name)


quantization = sys.modules[__name__ + ".quantization"] = sys.modules[__name__]
