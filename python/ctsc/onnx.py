# SPDX-License-Identifier: Apache-2.0
"""onnx.py - torch.onnx: writes models of ONNX; ctsc.load reads them."""
import enum
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


def _flat(result):
    """The tensors of a result as a model gives them: numbers without dims, None left out."""
    from ._tensor import Tensor
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [t for item in result if item is not None for t in _flat(item)]
    return [result.numpy() if isinstance(result, Tensor) else result]


def _differs(got, want, tolerance):
    """What one output has otherwise than it should have; empty: nothing. As save/check_onnx.c."""
    import numpy
    number, want = isinstance(want, float), numpy.asarray(want)
    if got.shape != want.shape:
        return "has sizes %s instead of %s" % (list(got.shape), list(want.shape))
    if got.dtype != want.dtype and not number:
        return "is of %s instead of %s" % (got.dtype, want.dtype)
    other = ~((got == want) | ((got != got) & (want != want)))
    if not other.any():
        return ""
    a, b = got.astype("float64"), want.astype("float64")
    with numpy.errstate(invalid="ignore"):
        by = numpy.where(other, numpy.where(numpy.isfinite(a) & numpy.isfinite(b), abs(a - b), numpy.inf), 0)
    scale = abs(numpy.where(numpy.isfinite(b), b, 0)).max()
    if want.dtype.kind == "f" and by.max() <= tolerance * (20 if want.dtype.itemsize == 2 else 1) * scale + 1e-6:
        return ""
    at = numpy.unravel_index(by.argmax(), by.shape)
    return "has %s instead of %s at %s, of elements up to %g" % (got[at], want[at], [int(i) for i in at], scale)


def _check(path, model, args, axes, tolerance):
    """The file in ONNX Runtime against the model, with the arguments and with longer axes; what differs is an error."""
    import warnings
    import onnxruntime
    from . import cat, no_grad
    from ._tensor import Tensor
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        if "NOT_IMPLEMENTED" in str(e):
            warnings.warn("onnx.export: ONNX Runtime cannot run the model, so that it is not checked: %s" % e)
            return
        raise RuntimeError("onnx.export: ONNX Runtime does not take the model that was written: %s" % e) from None
    if not tolerance:
        with open(path, "rb") as f:
            tolerance = 5e-2 if b"QuantizeLinear" in f.read() else 1e-3
    names = [i.name for i in session.get_inputs()]
    longer = list(args)
    for i, dim, _ in axes:
        longer[i] = cat([longer[i], longer[i]], dim)
    for given in (args, longer) if axes else (args,):
        with no_grad():
            want = _flat(model(*[a.clone() if isinstance(a, Tensor) else a for a in given]))
        tensors = [a.detach().numpy() for a in given if isinstance(a, Tensor)]
        got = _flat(tuple(session.run(None, dict(zip(names, tensors)))))
        where = "" if given is args else ", with longer axes"
        if len(got) != len(want):
            raise RuntimeError("onnx.export: the model that was written gives %d results instead of %d%s" % (len(got), len(want), where))
        for i, (a, b) in enumerate(zip(got, want)):
            text = _differs(a, b, tolerance)
            if text:
                raise RuntimeError("onnx.export: the model that was written gives other results: output %d %s%s (check=False writes it all the same)" % (i, text, where))


def _has_runtime():
    import importlib.util
    return bool(importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("numpy"))


def export(model, args=(), f=None, *, kwargs=None, input_names=None, output_names=None, opset_version=None, dynamic_axes=None, check=None, check_tolerance=0.0, **others):
    """Writes model, a program or what ctsc.trace takes (a function, an nn.Module in its present mode), as a model of ONNX: f is a path or an open file. args: the example
    arguments, whose dtypes and sizes are the model's, but for dynamic_axes. What ONNX cannot say is refused with its place (docs/onnx.md).
    check: the file is run with the arguments, and with longer ones where axes are dynamic, and kept only where it gives what the model gives, to check_tolerance times the
    largest element (1e-3; of models with quantised layers 5e-2): by ONNX Runtime where that is installed, which is the default there (None), else by ctsc."""
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

    runtime = _has_runtime()
    if check is None:
        check = runtime

    def write(path):
        made = path + ".unchecked" if check and runtime else path
        try:
            model._save_onnx(made, args, opset_version or 0, axes, tuple(inputs), tuple(output_names or ()), -1.0 if runtime or not check else float(check_tolerance))
            if made != path:
                _check(made, model, args, axes, check_tolerance)
                os.replace(made, path)
        finally:
            if made != path and os.path.exists(made):
                os.unlink(made)
    if isinstance(f, (str, os.PathLike)):
        write(os.fsdecode(f))
    else:
        f.write(through_file(write))


class TrainingMode(enum.IntEnum):
    EVAL, PRESERVE, TRAINING = 0, 1, 2


class OperatorExportTypes(enum.IntEnum):
    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = 0, 1, 2, 3


class TensorProtoDataType(enum.IntEnum):
    """Numbers of element types in models."""
    (UNDEFINED, FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128, BFLOAT16) = range(17)


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Libraries call it when they are imported. The function is for a graph of PyTorch's and is never called: export refuses an operator that ctsc cannot write by its name."""
    if "::" not in symbolic_name:
        raise ValueError("Failed to register operator %s. The symbolic name must match the format domain::name, and should start with a letter and contain only alphanumerical "
                         "characters" % symbolic_name)


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    pass


def is_onnxrt_backend_supported():
    return False


def parse_args(*descriptors):
    return lambda fn: fn


def __getattr__(name):
    if name in ("symbolic_helper", "operators", "utils", "_globals") or name.startswith("symbolic_opset"):
        return sys.modules[__name__]
    if name in ("ONNXProgram", "ExportOptions", "JitScalarType", "OnnxExporterError"):
        from ._refused import named
        return named("torch.onnx." + name, "onnx.export writes the model")
    raise AttributeError("module 'ctsc.onnx' has no attribute '%s'" % name)


for _name in ("symbolic_helper", "operators", "utils", "_globals", *("symbolic_opset%d" % v for v in range(7, 21))):
    sys.modules[__name__ + "." + _name] = sys.modules[__name__]
