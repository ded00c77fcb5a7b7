# SPDX-License-Identifier: Apache-2.0
"""onnx.py - torch.onnx: ctsc runs ONNX models (ctsc.load), and writes none from Python."""


def is_in_onnx_export():
    return False


def export(*args, **kwargs):
    raise NotImplementedError("ctsc writes no ONNX models: save the module (ctsc.script(net).save(path))")
