# SPDX-License-Identifier: Apache-2.0
"""onnx.py - torch.onnx: writes models of ONNX; ctsc.load reads them."""
import os
import sys


def is_in_onnx_export():
    return False


def _axes(dynamic_axes, inputs):
    """(argument, dim, name) for each of {"x": {0: "batch"}} or {"x": [0]}; inputs: argument numbers by the inputs' names. What is said of outputs follows from these."""
    for name, dims in (dynamic_axes or {}).items():
        if name not in inputs:
            continue
        for dim in dims:
            yield inputs[name], int(dim), dims[dim] if isinstance(dims, dict) else "%s_dynamic_axes_%d" % (name, dim)


# Of PyTorch's exporters: what they tell, how they keep the model, what they do to a graph that ctsc does not make.
_OTHERWISE = frozenset("verbose dynamo export_params do_constant_folding keep_initializers_as_inputs training operator_export_type report optimize verify profile fallback "
                       "dump_exported_program artifacts_dir autograd_inlining external_data".split())


def export(model, args=(), f=None, *, kwargs=None, input_names=None, output_names=None, opset_version=None, dynamic_axes=None, **others):
    """Writes model, a program or what ctsc.trace takes (a function, an nn.Module in its present mode), as a model of ONNX: f is a path or an open file. args: the example
    arguments, whose dtypes and sizes are the model's, but for dynamic_axes. What ONNX cannot say is refused with its place (docs/onnx.md)."""
    from ._module import ScriptModule, through_file
    from ._tensor import Tensor
    from ._trace import record
    for name, value in others.items():
        if name not in _OTHERWISE and value:
            raise NotImplementedError("onnx.export: %s is not supported%s" % (name, "; dynamic_axes names sizes that vary" if name == "dynamic_shapes" else ""))
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if args and isinstance(args[-1], dict) and not kwargs:
        args, kwargs = args[:-1], args[-1]
    kwargs = kwargs or {}
    if not isinstance(model, ScriptModule):
        model = record(model, args, kwargs)
    elif kwargs:
        raise TypeError("export: a program is given its arguments by position")
    args += tuple(kwargs.values())
    inputs = list(input_names or ())
    tensors = [i for i, v in enumerate(args) if isinstance(v, Tensor)]
    declared = [name for name, _, _ in model.signature("forward")[0]]
    names = inputs + [declared[i] for i in tensors[len(inputs):]]
    axes = tuple(_axes(dynamic_axes, dict(zip(names, tensors))))

    def write(path):
        model._save_onnx(path, args, opset_version or 0, axes, tuple(inputs), tuple(output_names or ()))
    if isinstance(f, (str, os.PathLike)):
        write(os.fsdecode(f))
    else:
        f.write(through_file(write))


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    raise NotImplementedError("onnx.register_custom_op_symbolic: %s is written by PyTorch's exporter only" % symbolic_name)


def parse_args(*descriptors):
    return lambda fn: fn


def __getattr__(name):
    if name == "symbolic_helper" or name.startswith("symbolic_opset"):
        return sys.modules[__name__]
    raise AttributeError("module 'ctsc.onnx' has no attribute '%s'" % name)


sys.modules[__name__ + ".symbolic_helper"] = sys.modules[__name__]
