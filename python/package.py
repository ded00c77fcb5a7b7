#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package.py GENERATED FOLDER - the package's files beside the extension: its Python, the stubs, and ctsc.nn and ctsc.optim, which are the prelude's, run by Python.

The prelude (src/frontend/prelude/torch) is plain Python on tensors. Its `torch` becomes `ctsc`, nothing else changes.
"""
import ast
import os
import re
import shutil
import sys

from stubs import write as write_stubs

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH = os.path.join(os.path.dirname(HERE), "src", "frontend", "prelude", "torch")
SHARED = ("nn", "optim")
# What Python needs beside: texts, and files NAME_more.py of python/ctsc, which go behind the prelude's NAME.py.
MORE = {
    os.path.join("optim", "__init__.py"): """
from .more import Adafactor, Muon, SparseAdam


def __getattr__(name):
    if name != 'swa_utils':
        raise AttributeError("module 'ctsc.optim' has no attribute '%s'" % name)
    import importlib
    return importlib.import_module('.swa_utils', __name__)
""",
    os.path.join("nn", "__init__.py"): """

from .. import _nn_support

class LinearCrossEntropyOptions:
    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method='auto', acc_policy='auto', acc_dtype=None):
        self.allow_retain_graph, self.batch_chunk_size, self.chunking_method = allow_retain_graph, batch_chunk_size, chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype


_submodules += ('parallel', 'attention', 'grad', 'quantized', 'quantizable', 'qat', 'intrinsic')
__all__.append('DataParallel')
_of_modules = __getattr__


def __dir__():
    return sorted(set(__all__) | set(_submodules) | {'LinearCrossEntropyLoss', 'LinearCrossEntropyOptions', 'UninitializedBuffer', 'UninitializedParameter', 'factory_kwargs'})


def __getattr__(name):
    if name in ('UninitializedParameter', 'UninitializedBuffer'):
        return getattr(importlib.import_module(__name__ + '.parameter'), name)
    if name == 'LinearCrossEntropyLoss':
        return importlib.import_module(__name__ + '._recent').LinearCrossEntropyLoss
    return importlib.import_module(__name__ + '.parallel').DataParallel if name == 'DataParallel' else _of_modules(name)
""",
    os.path.join("nn", "attention.py"): """
import os as _os

__path__ = [_os.path.join(_os.path.dirname(__file__), '_attention')]
""",
    os.path.join("nn", "utils", "__init__.py"): """


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    import warnings
    warnings.warn('torch.nn.utils.clip_grad_norm is now deprecated in favor of torch.nn.utils.clip_grad_norm_.', FutureWarning, stacklevel=2)
    from .clip_grad import clip_grad_norm_
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def convert_conv2d_weight_memory_format(module, memory_format):
    return module # weights are laid out as the kernels want them


convert_conv3d_weight_memory_format = convert_conv2d_weight_memory_format
_of_places = __getattr__
_files = ('stateless', 'clip_grad', 'convert_parameters', 'init', 'fusion', 'prune', 'weight_hook', 'rnn', 'parametrize', 'parametrizations')


def __dir__():
    return sorted([n for n in globals() if n[0] != '_'] + list(_places) + list(_files))


def __getattr__(name):
    if name in _files:
        import importlib
        return importlib.import_module(__name__ + '.' + name)
    return _of_places(name)

for _name in ('clip_grad_norm_', 'clip_grad_value_', 'get_total_norm', 'clip_grads_with_norm_'):
    _places[_name] = 'ctsc.nn.utils.clip_grad'
""",
    os.path.join("nn", "utils", "rnn.py"): """

def _moved(self, *args, **kwargs):
    data = self.data.to(*args, **kwargs)
    if data is self.data:
        return self
    onto = {k: v for k, v in kwargs.items() if k not in ('device', 'dtype')}
    sorted_indices, unsorted_indices = (i if i is None else i.to(data.device, **onto) for i in (self.sorted_indices, self.unsorted_indices))
    return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)


def _as(kind):
    return lambda self: _moved(self, getattr(torch, kind))


PackedSequence.to, PackedSequence.is_cuda, PackedSequence.is_pinned = _moved, property(lambda self: self.data.is_cuda), lambda self: self.data.is_pinned()
PackedSequence.cpu = lambda self, *args, **kwargs: _moved(self, 'cpu', *args, **kwargs)
PackedSequence.cuda = lambda self, device=None, **kwargs: _moved(self, 'cuda' if device is None else device, **kwargs)
PackedSequence.pin_memory = lambda self: self
for _name, _kind in dict(double='float64', float='float32', half='float16', long='int64', int='int32', short='int16', char='int8', byte='uint8').items():
    setattr(PackedSequence, _name, _as(_kind))
_make = PackedSequence.__new__


def _new(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
    return _make(cls, *_packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices))


PackedSequence.__new__ = _new
""",
    os.path.join("nn", "functional.py"): """

def _of_dims(unpool, n):
    def call(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        wide = lambda v: v if v is None or isinstance(v, (tuple, list)) else (v,) * n
        return unpool(input, indices, wide(kernel_size), wide(stride), wide(padding), output_size)
    call.__name__ = unpool.__name__
    return call


def _lp_of_dims(pool, n):
    def call(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        wide = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * n
        return pool(input, norm_type, wide, stride, ceil_mode)
    call.__name__ = pool.__name__
    return call


_embedding, _embedding_bag = embedding, embedding_bag


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None: # which scripts of PyTorch's leave out
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return _embedding(input, weight, padding_idx, None, norm_type, scale_grad_by_freq, sparse)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False,
                  padding_idx=None):
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return _embedding_bag(input, weight, offsets, None, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction='mean', ignore_index=None, label_smoothing=0.0, options=None):
    logits = linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), None if linear_bias is None else linear_bias.reshape(-1))
    logits = logits.reshape(list(input.shape[:-1]) + list(linear_weight.shape[:-1]))
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=label_smoothing)


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    # groups of rows of mat_a (offs: where each ends), each with a matrix of mat_b's; of two matrices groups of what is summed over, and so on
    if bias is not None:
        raise RuntimeError('grouped_mm: bias is not supported')
    ends = None if offs is None else offs.tolist()
    between = None if ends is None else list(zip([0] + ends[:-1], ends))
    if mat_a.ndim == 3 and mat_b.ndim == 3:
        made = torch.bmm(mat_a, mat_b)
    elif mat_a.ndim == 2 and mat_b.ndim == 3:
        made = torch.cat([mat_a[i:j] @ m for (i, j), m in zip(between, mat_b)] + [mat_a.new_zeros(mat_a.shape[0] - ends[-1], mat_b.shape[-1])])
    elif mat_a.ndim == 3:
        made = torch.cat([m @ mat_b[:, i:j] for (i, j), m in zip(between, mat_a)], 1)
    else:
        made = torch.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in between])
    return made if out_dtype is None else made.to(out_dtype)


from ctsc.overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic

lp_pool2d, lp_pool3d = _lp_of_dims(lp_pool2d, 2), _lp_of_dims(lp_pool3d, 3)
max_unpool1d, max_unpool2d, max_unpool3d = _of_dims(max_unpool1d, 1), _of_dims(max_unpool2d, 2), _of_dims(max_unpool3d, 3)
""",
    # as today's PyTorch prints them
    os.path.join("nn", "modules", "batchnorm.py"): """

def _extra_repr(self):
    return '{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}'.format(
        self.num_features, self.eps, self.momentum, self.affine, self.bias is not None, self.track_running_stats)


_BatchNorm.extra_repr = _extra_repr
""",
    os.path.join("nn", "modules", "normalization.py"): """

def _extra_repr(self):
    return '{}, eps={}, elementwise_affine={}, bias={}'.format(self.normalized_shape, self.eps, self.elementwise_affine, self.bias is not None)


LayerNorm.extra_repr = _extra_repr


def _extra_repr(self):
    return '{}, {}, eps={}, affine={}, bias={}'.format(self.num_groups, self.num_channels, self.eps, self.affine, self.bias is not None)


GroupNorm.extra_repr = _extra_repr
""",
    # as the layers that they become, of size 0
    os.path.join("nn", "modules", "lazy.py"): """
import ctsc as torch


def _extra_repr(self):
    args, kwargs = self._given
    if self.cls_to_become.__name__ == 'Linear':
        given = dict(zip(('out_features', 'bias'), args), **kwargs)
        return 'in_features=0, out_features={}, bias={}'.format(given['out_features'], given.get('bias', True))
    with torch.random.fork_rng(): # numbers are not missed
        made = self.cls_to_become(kwargs.get('groups', args[5] if len(args) > 5 else 1), *args, **kwargs)
    setattr(made, 'in_channels' if hasattr(made, 'in_channels') else 'num_features', 0)
    return made.extra_repr()


LazyModuleMixin.extra_repr = _extra_repr
""",
    # a row of equal modules is one line
    os.path.join("nn", "modules", "container.py"): """

def _short_repr(self):
    rows = []
    for i, text in enumerate(repr(m) for m in self):
        if rows and rows[-1][2] == text:
            rows[-1][1] = i
        else:
            rows.append([i, i, text])
    lines = []
    for first, last, text in rows:
        text = '({}): {}'.format(first, text) if first == last else '({}-{}): {} x {}'.format(first, last, last - first + 1, text)
        lines.append(text.replace('\\n', '\\n  '))
    return self._get_name() + ('(\\n  ' + '\\n  '.join(lines) + '\\n)' if lines else '()')


ModuleList.__repr__ = _short_repr
""",
    os.path.join("nn", "modules", "module.py"): """

def _zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            p.grad = p.grad.detach()
            p.grad.zero_()


def _apply_in_place(self, fn, done=None):
    # parameters stay the objects that they are, which optimisers hold
    done = {} if done is None else done
    for module in self.children():
        module._apply(fn, done)
    for param in self._parameters.values():
        if param is not None and id(param) not in done:
            grad = param.grad
            with torch.no_grad():
                param.data = fn(param.data)
                param.grad = None if grad is None else fn(grad)
            done[id(param)] = param
    for name, buf in list(self._buffers.items()):
        if buf is not None:
            if id(buf) not in done:
                done[id(buf)] = (buf, fn(buf))
            self._buffers[name] = done[id(buf)][1]
    return self


from collections.abc import Mapping


def _load_state_dict(self, state_dict, strict=True, assign=False):
    # assign: the tensors of state_dict become the module's parameters and buffers
    if not isinstance(state_dict, Mapping):
        raise TypeError('Expected state_dict to be dict-like, got {}.'.format(type(state_dict)))
    _metadata.append(getattr(state_dict, '_metadata', None))
    try:
        return _load_assigned(self, state_dict, strict, assign)
    finally:
        _metadata.pop()


_metadata = [] # of the state_dicts that are being loaded


def _metadata_of(self, prefix):
    return {} if not _metadata or _metadata[-1] is None else _metadata[-1].get(prefix[:-1], {})


def _state_dict(self, *args, destination=None, prefix='', keep_vars=False):
    # beside the tensors the versions of what they are of, as _metadata
    if args:
        destination, prefix, keep_vars = (list(args) + [destination, prefix, keep_vars][len(args):])[:3]
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    if hasattr(destination, '_metadata'):
        destination._metadata[prefix[:-1]] = {'version': self._version}
    return _plain_state_dict(self, destination, prefix, keep_vars)


_plain_state_dict = Module.state_dict
Module.state_dict, Module._metadata_of = _state_dict, _metadata_of


def _load_assigned(self, state_dict, strict, assign):
    if not assign:
        return _copy_state_dict(self, state_dict, strict)
    before = {}
    for name, module in self.named_modules():
        for own in (module._parameters, module._buffers):
            for key, value in own.items():
                given = state_dict.get(name + ('.' if name else '') + key)
                if value is not None and isinstance(given, torch.Tensor) and given.shape == value.shape:
                    before[(name, key)] = own, value
                    if own is module._parameters:
                        given = given if isinstance(given, Parameter) else Parameter(given.detach(), requires_grad=value.requires_grad)
                    own[key] = given
    try:
        return _copy_state_dict(self, {k: v for k, v in state_dict.items()}, strict)
    except Exception:
        for (name, key), (own, value) in before.items():
            own[key] = value
        raise


def _get_parameter(self, target):
    owner, name = self._owner_of(target)
    if name not in owner._parameters:
        raise AttributeError('`' + name + '` is not an nn.Parameter')
    return owner._parameters[name]


Module.get_parameter = _get_parameter


def _share_memory(self):
    return self._apply(lambda t: t.share_memory_())


Module.share_memory = _share_memory
_copy_state_dict = Module.load_state_dict
Module.zero_grad, Module._apply, Module.load_state_dict = _zero_grad, _apply_in_place, _load_state_dict
from ctsc._module_hooks import install as _install_hooks
_install_hooks(globals())
from ctsc._module_part import install as _install_parts
_install_parts(Module)
""",
}


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def as_ctsc(text):
    text = re.sub(r"^(\s*)import torch$", r"\1import ctsc as torch", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch\.nn\.functional as F$", r"\1import ctsc.nn.functional as F", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch\.(\S+) as (\w+)$", r"\1import ctsc.\2 as \3", text, flags=re.M)
    text = text.replace("'torch.nn.utils", "'ctsc.nn.utils") # modules imported by name
    text = re.sub(r"^(\s*)from torch import", r"\1from ctsc import", text, flags=re.M)
    return re.sub(r"^(\s*)from torch\.(\S+) import", r"\1from ctsc.\2 import", text, flags=re.M)


def more(path):
    """What goes behind the prelude's file."""
    file = os.path.join(HERE, "ctsc", path[:-len(".py")] + "_more.py")
    if not os.path.exists(file):
        return MORE.get(path, "")
    with open(file, encoding="utf-8") as f:
        return "\n\n" + f.read()


def stubs(generated, template):
    with open(template, encoding="utf-8") as f:
        text = f.read()
    for name in ("functions", "methods"):
        with open(os.path.join(generated, name + ".pyi"), encoding="utf-8") as f:
            body = f.read().rstrip("\n")
        indent = "    " if name == "methods" else ""
        text = text.replace("%s# [%s]" % (indent, name), "\n".join(indent + line for line in body.split("\n")))
    return text


def _defined(body):
    """Names of a stub, or of a class of it."""
    found = set()
    for n in body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {a.asname or a.name for a in n.names}
        elif isinstance(n, ast.AnnAssign):
            found.add(n.target.id)
        elif isinstance(n, ast.Assign):
            found |= {x.id for t in n.targets for x in ast.walk(t) if isinstance(x, ast.Name)}
    return found


def complete(text, generated):
    """The stub with what programs may name and it has no arguments of: operators that are seldom called, what comes when it is asked for, other modules."""
    with open(os.path.join(generated, "op_names.h"), encoding="utf-8") as f:
        operators = re.findall(r'^OP\("([a-z]\w*)", ([^,]*),', f.read(), re.M)
    with open(os.path.join(HERE, "ctsc", "__init__.py"), encoding="utf-8") as f:
        source = f.read()
    with open(os.path.join(HERE, "ctsc", "_tensor.py"), encoding="utf-8") as f:
        of_tensor = f.read()
    tree = ast.parse(source)
    values = {t.id: n.value for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    lazy = {k.value for k in values["_LAZY"].keys}
    for n in ast.walk(tree):
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "dict.fromkeys":
            lazy |= set(ast.literal_eval(n.args[0].func.value).split())
    plain = {n.id for a in tree.body if isinstance(a, ast.Assign) for t in a.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    plain |= {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.level for a in n.names}
    with open(os.path.join(HERE, "ctsc", "_functions.py"), encoding="utf-8") as f:
        plain |= _defined(n for n in ast.parse(f.read()).body if not isinstance(n, (ast.Import, ast.ImportFrom)))
    stub = ast.parse(text)
    have, modules = _defined(stub.body), ast.literal_eval(values["_MODULES"])
    lines = ["from . import %s as %s" % (m, m) for m in modules if m not in have and not m.startswith("_")]
    lines += ["%s: _F" % n for n, _ in operators if n not in have and n not in modules]
    lines += ["%s: Any" % n for n in sorted(lazy | plain) if not n.startswith("_") and n.isidentifier() and n not in have and n not in {o for o, _ in operators} and n not in modules]
    have = _defined(next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body)
    properties = set(re.findall(r'_property\("([a-z]\w*)"', of_tensor))
    named = {n for n, flags in operators if "OP_METHOD" in flags.replace("OP_METHOD_VARARGS", "")} | set(re.findall(r'_method\("([a-z]\w*)"', of_tensor))
    methods = ["    %s: Any" % n for n in sorted(properties - have)] + ["    %s: _F" % n for n in sorted(named - have - properties)]
    return text.replace("    # [more methods]", "\n".join(methods)).replace("# [more]", "\n".join(lines))


def main():
    generated, out = sys.argv[1:]
    for folder, _, files in os.walk(os.path.join(HERE, "ctsc")):
        to = os.path.join(out, os.path.relpath(folder, os.path.join(HERE, "ctsc")))
        os.makedirs(to, exist_ok=True)
        for name in files:
            if name.endswith((".py", ".pyi", "py.typed")) and name != "stub.pyi" and not name.endswith("_more.py"):
                shutil.copyfile(os.path.join(folder, name), os.path.join(to, name))
    put(os.path.join(out, "__init__.pyi"), complete(stubs(generated, os.path.join(HERE, "ctsc", "stub.pyi")), generated))
    for space in ("linalg", "fft", "special"):
        shutil.copyfile(os.path.join(generated, space + ".pyi"), os.path.join(out, space + ".pyi"))
    for shared in SHARED:
        for folder, _, files in os.walk(os.path.join(TORCH, shared)):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), TORCH)
                if name.endswith(".py") and not os.path.exists(os.path.join(HERE, "ctsc", path)):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        put(os.path.join(out, path), as_ctsc(f.read()) + more(path))
    for path in ("_jit_internal.py", os.path.join("utils", "checkpoint.py")):
        with open(os.path.join(TORCH, path), encoding="utf-8") as f:
            put(os.path.join(out, path), as_ctsc(f.read()))
    write_stubs(out)


if __name__ == "__main__":
    main()
