# SPDX-License-Identifier: Apache-2.0
"""onnx.py - torch.onnx: ctsc runs ONNX models (ctsc.load), and writes none from Python."""
import sys


def is_in_onnx_export():
    return False


def export(*args, **kwargs):
    raise NotImplementedError("ctsc writes no ONNX models: save the module (ctsc.script(net).save(path))")


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """For PyTorch's exporter, which is not here."""


def parse_args(*descriptors):
    return lambda fn: fn


def __getattr__(name):
    if name == "symbolic_helper" or name.startswith("symbolic_opset"):
        return sys.modules[__name__]
    raise AttributeError("module 'ctsc.onnx' has no attribute '%s'" % name)


sys.modules[__name__ + ".symbolic_helper"] = sys.modules[__name__]
