# SPDX-License-Identifier: Apache-2.0
"""ao.py - torch.ao.quantization, and torchao's quantize_: modules on eight bits or fewer (docs/quantize.md).

prepare records the arguments that the module is called with; convert compiles the module and quantises the program, whose layers and activations are fused and whose batch norms are
folded then. What comes back is a ScriptModule; where a module is to be changed in place, its calls go to that program, and jit.script of it gives the program. QAT is refused."""
import copy
import importlib
import sys
from collections import namedtuple

_EXAMPLES = 100  # calls whose arguments prepare keeps


class QConfig(namedtuple("QConfig", ("observer", "per_tensor", "symmetric", "reduce_range"))):
    """How activations and weights are quantised: observer is "minmax", "percentile[:P]" or "entropy"."""
    __slots__ = ()

    def __new__(cls, observer="minmax", per_tensor=False, symmetric=False, reduce_range=False):
        return super().__new__(cls, observer, per_tensor, symmetric, reduce_range)


def get_default_qconfig(backend="x86", version=0):
    """As PyTorch's for that engine: activations of 7 bits and weights with scales of channels, or of 8 bits and one scale."""
    if backend in ("x86", "fbgemm", "onednn"):
        return QConfig(reduce_range=backend != "onednn")
    if backend == "qnnpack":
        return QConfig(per_tensor=True)
    raise AssertionError("backend: %s not supported. backend must be one of ['fbgemm', 'x86', 'qnnpack', 'onednn']" % backend)


# ---- programs ----------------------------------------------------------------------------------------------------------------------------------------------------------------


def _program(model):
    from . import _C, jit
    if isinstance(model, _C.ScriptModule):
        return model.__copy__()
    return jit.script(model)


def _put(model, program):
    """Calls of model go to the program."""
    model.__dict__["_quantized_program"] = program
    model.__dict__["forward"] = program
    return model


def _names(model, stays):
    """Patterns that match the names of the modules for which stays(module, name) is true, and of their submodules."""
    found = []
    for name, module in model.named_modules() if hasattr(model, "named_modules") else ():
        if name and stays(module, name):
            found += [name, name + "#*", name + ".*"]
    return found


def _quantized(model, inplace, examples, method, **options):
    program = _program(model)
    program.quantize(examples, method, **options)
    return _put(model, program) if inplace else program


# ---- torch.ao.quantization ---------------------------------------------------------------------------------------------------------------------------------------------------


def fuse_modules(model, modules_to_fuse, inplace=False, **kwargs):
    """The model: convert fuses what can be."""
    names = {name for name, _ in model.named_modules()}
    for name in [n for group in modules_to_fuse for n in ([group] if isinstance(group, str) else group)]:
        if name not in names:
            raise AttributeError("fuse_modules: the model has no module '%s'" % name)
    return model if inplace else copy.deepcopy(model)


def prepare(model, inplace=False, **kwargs):
    """The model, which from now on keeps the arguments of its calls (the first 100) for convert. It and its modules have a qconfig; None: they stay float."""
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        raise ValueError("prepare: no module has a qconfig: model.qconfig = ctsc.ao.quantization.get_default_qconfig()")
    model = model if inplace else copy.deepcopy(model)
    examples = []

    def keep(module, args):
        if len(examples) < _EXAMPLES:
            examples.append(tuple(a.detach().clone() if hasattr(a, "detach") else a for a in args))
    model.__dict__["_quantize_calls"] = examples, model.register_forward_pre_hook(keep)
    return model


def convert(module, mapping=None, inplace=False, **kwargs):
    """What prepare gave and calls were seen of, on eight bits."""
    if "_quantize_calls" not in module.__dict__:
        raise ValueError("convert: the module has not been prepared")
    examples, hook = module.__dict__["_quantize_calls"]
    if not examples:
        raise ValueError("convert: the prepared module has not been called yet")
    hook.remove()
    del module.__dict__["_quantize_calls"]
    config = next(m.qconfig for m in module.modules() if getattr(m, "qconfig", None))
    if not isinstance(config, QConfig):
        raise TypeError("convert: a qconfig is a ctsc.ao.quantization.QConfig, not a %s" % type(config).__name__)
    keep = _names(module, lambda m, name: "qconfig" in m.__dict__ and m.qconfig is None)
    for m in module.modules():
        m.__dict__.pop("qconfig", None)
    return _quantized(module, inplace, examples, "static", keep_float=keep, **config._asdict())


def quantize(model, run_fn, run_args, mapping=None, inplace=False):
    """prepare, run_fn(model, *run_args), convert."""
    model = prepare(model.eval(), inplace)
    run_fn(model, *run_args)
    return convert(model, inplace=inplace)


def _kinds():
    """Classes of modules whose products dynamic quantisation handles, and of those whose rows are looked up."""
    from . import nn
    return (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell), (nn.Embedding, nn.EmbeddingBag)


def quantize_dynamic(model, qconfig_spec=None, dtype=None, mapping=None, inplace=False):
    """Linear and recurrent layers multiply bytes, with the range that each call has; embeddings keep bytes with a scale and a zero point for each row. qconfig_spec: classes and names of
    modules, or a dict of them with qconfigs (None: stays float); None: all linear and recurrent layers, or, dtype being quint8, all embeddings."""
    from . import qint8, quint8
    if dtype not in (None, qint8, quint8):
        raise NotImplementedError("quantize_dynamic: weights of %s; qint8 and, of embeddings, quint8 are what there is" % dtype)
    layers, tables = _kinds()
    if qconfig_spec is None:
        spec = set(tables if dtype == quint8 else layers)
    else:
        spec = {k for k in qconfig_spec if not isinstance(qconfig_spec, dict) or qconfig_spec[k] is not None}
    for kind in spec:
        if isinstance(kind, type) and not issubclass(kind, layers + tables):
            raise NotImplementedError("quantize_dynamic: modules of class %s; there are forms of %s" % (kind.__name__, ", ".join(c.__name__ for c in layers + tables)))

    def wanted(name, module):
        return name in spec or any(isinstance(kind, type) and isinstance(module, kind) for kind in spec)
    found = [(name, m) for name, m in model.named_modules() if isinstance(m, layers + tables)] if hasattr(model, "named_modules") else None
    program = _program(model)
    for method, kinds in (("dynamic", layers), ("int8w", tables)):
        if found is None: # a program: its layers are not told by class
            some, keep = any(isinstance(kind, type) and issubclass(kind, kinds) for kind in spec), []
        else:
            some = any(isinstance(m, kinds) and wanted(name, m) for name, m in found)
            keep = [name + end for name, m in found for end in ("", "#*", ".*") if name and not (isinstance(m, kinds) and wanted(name, m))]
        if some:
            program.quantize((), method, keep_float=keep)
    return _put(model, program) if inplace else program


# ---- torchao -----------------------------------------------------------------------------------------------------------------------------------------------------------------


class Int8WeightOnlyConfig(namedtuple("Int8WeightOnlyConfig", ("group_size",), defaults=(None,))):
    __slots__ = ()

    def _method(self):
        if self.group_size is not None:
            raise NotImplementedError("Int8WeightOnlyConfig: groups; a weight of 8 bits has a scale for each row")
        return "int8w"


class Int4WeightOnlyConfig(namedtuple("Int4WeightOnlyConfig", ("group_size", "zeros"), defaults=(128, True))):
    __slots__ = ()

    def _method(self):
        return "int4w:%d%s" % (self.group_size, ",asym" if self.zeros else "")


class Int8DynamicActivationInt8WeightConfig(namedtuple("Int8DynamicActivationInt8WeightConfig", ())):
    __slots__ = ()

    def _method(self):
        return "dynamic"


def quantize_(model, config, filter_fn=None, device=None):
    """Changes the model: quantises the linear layers for which filter_fn(module, name) is true, as the config says."""
    from .nn import Linear
    if not hasattr(config, "_method"):
        raise NotImplementedError("quantize_: a config is an Int8WeightOnlyConfig, an Int4WeightOnlyConfig or an Int8DynamicActivationInt8WeightConfig, not a %s" % type(config).__name__)
    if device is not None:
        raise NotImplementedError("quantize_: a device")
    if not hasattr(model, "named_modules"):
        raise TypeError("quantize_: %s is not a module that can be changed; program.quantize(method=...) is for programs" % type(model).__name__)
    chosen = filter_fn or (lambda m, name: isinstance(m, Linear))
    keep = _names(model, lambda m, name: not list(m.children()) and not chosen(m, name))
    _quantized(model, True, (), config._method(), keep_float=keep)


# ---- names -------------------------------------------------------------------------------------------------------------------------------------------------------------------


def _refused(name):
    def call(*args, **kwargs):
        raise NotImplementedError("torch.ao.quantization.%s: training with quantisation in mind is not supported" % name)
    call.__name__ = name
    return call


def _stubs():
    from .nn import Module

    class QuantStub(Module):
        """The identity: convert knows where integers begin."""

        def __init__(self, qconfig=None):
            super().__init__()

        def forward(self, x):
            return x

    class DeQuantStub(Module):
        """The identity."""

        def __init__(self, qconfig=None):
            super().__init__()

        def forward(self, x):
            return x
    for c in (QuantStub, DeQuantStub): # as programs find them
        c.__module__, c.__qualname__ = "ctsc.ao.quantization", c.__name__
    globals().update(QuantStub=QuantStub, DeQuantStub=DeQuantStub)


def __getattr__(name):
    if name in ("QuantStub", "DeQuantStub"):
        _stubs()
        return globals()[name]
    if name in ("default_qconfig", "default_dynamic_qconfig", "per_channel_dynamic_qconfig", "float_qparams_weight_only_qconfig"):
        return QConfig()
    if name in ("fuse_modules_qat", "prepare_qat", "quantize_qat", "get_default_qat_qconfig"):
        return _refused(name)
    raise AttributeError("module 'ctsc.ao.quantization' has no attribute '%s'" % name)


quantization = sys.modules[__name__ + ".quantization"] = sys.modules[__name__]
for _name in ("nn", "nn.quantized", "nn.quantizable", "nn.qat", "nn.intrinsic"): # torch.ao.nn: another name for parts of torch.nn
    sys.modules[__name__ + "." + _name] = importlib.import_module("." + _name, __package__)
nn = sys.modules[__name__ + ".nn"]
