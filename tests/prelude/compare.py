# SPDX-License-Identifier: Apache-2.0
"""compare.py - the embedded layers of torch.nn (src/frontend/prelude/torch/nn) against PyTorch's own.

Every case below is built twice from the same seed, by our class and by PyTorch's, and compared:
  - built:  parameters, buffers, text and the generator's state afterwards
  - called: results and buffers after calls in training and in evaluation mode
  - scripted: attributes, constants and methods of the class that torch.jit.script makes, graph by graph

The first two run with our nn.Module; scripting accepts PyTorch's only, so there our files stand on the real module.py and
container.py. functional.py is the real one throughout (compare_functional.py is about ours).

Needs PyTorch 1.13 (Debian: python3-torch); without it the test is skipped.
Usage: compare.py [-v] [FILE or CLASS...]
"""
import atexit
import contextlib
import importlib
import io
import os
import re
import shutil
import sys
import tempfile
import types
import warnings
import zipfile

try:
    import torch
except ImportError:
    print("compare: no PyTorch here, skipped")
    sys.exit(0)

import torch.nn as real_nn

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cases import Differences  # noqa: E402

# What the evaluator has and PyTorch 1.13 has not: our files draw as those of 1.13 here.
torch._C._draws_anew = torch._C._skips_init = lambda: False
DIFFERS = Differences(os.path.join(os.path.dirname(os.path.abspath(__file__)), "differs.txt"))

# What the initialisers ask ctsc: are there weights from elsewhere, and is it --rng 2?
torch._C._skips_init = torch._C._draws_anew = lambda: False

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/frontend/prelude/torch/nn"))

# file -> cases: (construction, arguments of calls...). Names are those of torch.nn, torch and the helpers below.
# A case without arguments is not called. NOSCRIPT marks what PyTorch itself does not compile, EVAL what is to be called in
# evaluation mode only.
NOSCRIPT = object()
EVAL = object()  # no calls in training mode
x = torch.rand
LONG = torch.long


def masks():
    return torch.tensor([[False, False, False], [False, False, True]])


CASES = {
    "linear": [
        ("Linear(3, 4)", (x(2, 3),), (x(3),)),
        ("Linear(3, 4, bias=False)", (x(2, 3),)),
        ("Linear(3, 4, dtype=torch.float64)", (x(2, 3).double(),)),
        ("Identity(1, two=2)", (x(2),)),
        ("Bilinear(2, 3, 4)", (x(5, 2), x(5, 3))),
        ("Bilinear(2, 3, 4, bias=False)", (x(5, 2), x(5, 3))),
    ],
    "conv": [
        ("Conv1d(2, 3, 3)", (x(1, 2, 7),)),
        ("Conv1d(2, 4, 2, stride=2, padding=1, groups=2, bias=False)", (x(1, 2, 7),)),
        ("Conv2d(2, 3, 3)", (x(1, 2, 5, 6),), (x(2, 5, 6),)),
        ("Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), dilation=2)", (x(1, 2, 9, 9),)),
        ("Conv2d(2, 3, [3, 3], padding='same')", (x(1, 2, 5, 6),)),
        ("Conv2d(2, 3, 4, padding='same', padding_mode='reflect')", (x(1, 2, 9, 9),)),
        ("Conv2d(2, 3, 3, padding='valid')", (x(1, 2, 5, 6),)),
        ("Conv2d(2, 3, 3, padding=(1, 2), padding_mode='circular')", (x(1, 2, 5, 6),)),
        ("Conv1d(2, 3, 3, padding=1, padding_mode='replicate')", (x(1, 2, 5),)),
        ("Conv3d(2, 3, 2, padding=1, padding_mode='circular')", (x(1, 2, 4, 4, 4),)),
        ("Conv3d(2, 3, 2)", (x(1, 2, 4, 4, 4),)),
        ("Conv2d(2, 3, 3, padding='sane')",),
        ("Conv2d(2, 3, 3, stride=2, padding='same')",),
        ("Conv2d(2, 3, 3, groups=2)",),
        ("Conv2d(3, 2, 3, groups=2)",),
        ("Conv2d(3, 2, 3, groups=0)",),
        ("ConvTranspose1d(2, 3, 3)", (x(1, 2, 7),)),
        ("ConvTranspose2d(2, 3, 3, stride=2, output_padding=1)", (x(1, 2, 4, 4),)),
        ("ConvTranspose2d(2, 4, 3, stride=2, groups=2, bias=False)", (x(1, 2, 4, 4),), (x(1, 2, 4, 4), [10, 10]),
         (x(1, 2, 4, 4), [1, 4, 10, 10]), (x(1, 2, 4, 4), [11, 10]), (x(1, 2, 4, 4), [10])),
        ("ConvTranspose3d(2, 3, 2)", (x(1, 2, 4, 4, 4),)),
        ("ConvTranspose2d(2, 3, 3, padding_mode='circular')",),
    ],
    "batchnorm": [
        ("BatchNorm1d(3)", (x(4, 3),), (x(4, 3, 5),), (x(2, 3, 4, 5),)),
        ("BatchNorm2d(3)", (x(4, 3, 2, 2),), (x(4, 3),)),
        ("BatchNorm3d(3, eps=1e-3)", (x(4, 3, 2, 2, 2),)),
        ("BatchNorm2d(3, momentum=None)", (x(4, 3, 2, 2),), (x(4, 3, 2, 2),)),
        ("BatchNorm2d(3, affine=False)", (x(4, 3, 2, 2),)),
        ("BatchNorm2d(3, track_running_stats=False)", (x(4, 3, 2, 2),)),
        ("SyncBatchNorm(3)", NOSCRIPT),
        ("SyncBatchNorm.convert_sync_batchnorm(Sequential(BatchNorm2d(3), ReLU()))", NOSCRIPT),
    ],
    "instancenorm": [
        ("InstanceNorm1d(3)", (x(4, 3, 5),), (x(3, 5),), (x(3),)),
        ("InstanceNorm2d(3, affine=True)", (x(4, 3, 5, 5),), (x(3, 5, 5),)),
        ("InstanceNorm2d(3, track_running_stats=True)", (x(4, 3, 5, 5),), (x(3, 5, 5),)),
        ("InstanceNorm3d(3, momentum=0.3)", (x(4, 3, 5, 5, 2),)),
    ],
    "normalization": [
        ("LocalResponseNorm(2)", (x(2, 4, 3, 3),)),
        ("CrossMapLRN2d(3)", (x(2, 4, 3, 3),), NOSCRIPT),
        ("CrossMapLRN2d(4, alpha=0.5, k=2)", (x(2, 6, 3, 3),), NOSCRIPT),
        ("CrossMapLRN2d(7, alpha=0.5)", (x(2, 2, 3, 3),), NOSCRIPT),
        ("LayerNorm(4)", (x(2, 4),)),
        ("LayerNorm([3, 4], eps=1e-3)", (x(2, 3, 4),)),
        ("LayerNorm((3, 4), elementwise_affine=False)", (x(2, 3, 4),)),
        ("GroupNorm(2, 4)", (x(3, 4, 5),)),
        ("GroupNorm(2, 4, affine=False)", (x(3, 4, 5),)),
        ("GroupNorm(3, 4)",),
    ],
    "sparse": [
        ("Embedding(5, 3)", (torch.tensor([[0, 4], [1, 1]]),)),
        ("Embedding(5, 3, padding_idx=-1)", (torch.tensor([0, 4]),)),
        ("Embedding(5, 3, padding_idx=5)",),
        ("Embedding(5, 3, padding_idx=0, max_norm=1.0, scale_grad_by_freq=True, sparse=True)", (torch.tensor([0, 4]),)),
        ("Embedding.from_pretrained(torch.ones(2, 3))", (torch.tensor([0, 1]),)),
        ("Embedding.from_pretrained(torch.ones(2, 3), freeze=False, padding_idx=1)", (torch.tensor([0, 1]),)),
        ("EmbeddingBag(5, 3)", (torch.tensor([[0, 4], [1, 1]]),), (torch.tensor([0, 1, 2]), torch.tensor([0, 2]))),
        ("EmbeddingBag(5, 3, mode='sum', padding_idx=1)",
         (torch.tensor([0, 1, 2]), torch.tensor([0, 2]), torch.tensor([1., 2., 3.]))),
        ("EmbeddingBag(5, 3, mode='max', include_last_offset=True)", (torch.tensor([0, 1, 2]), torch.tensor([0, 2, 3]))),
        ("EmbeddingBag.from_pretrained(torch.ones(2, 3), mode='sum')", (torch.tensor([[0, 1]]),)),
    ],
    "rnn": [
        ("RNN(3, 4)", (x(5, 2, 3),), (x(5, 3),), (x(5, 2, 3), x(1, 2, 4)), (x(5, 2, 3), x(1, 4)), (x(5, 2, 2),)),
        ("RNN(3, 4, nonlinearity='relu', num_layers=2, bidirectional=True)", (x(5, 2, 3),)),
        ("RNN(3, 4, proj_size=1)",),
        ("RNN(3, 4, nonlinearity='gelu')",),
        ("LSTM(3, 4)", (x(5, 2, 3),), (x(5, 3),), (x(5, 2, 3), (x(1, 2, 4), x(1, 2, 4))), (x(5, 2, 3), (x(1, 4), x(1, 4))),
         (x(5, 3), (x(1, 4), x(1, 4))), (x(5, 2, 3), (x(1, 3, 4), x(1, 2, 4)))),
        ("LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.5, bidirectional=True)", (x(5, 2, 3),)),
        ("LSTM(3, 4, 2, False, proj_size=2)", (x(5, 2, 3),)),
        ("LSTM(3, 4, proj_size=4)",),
        ("LSTM(3, 4, dropout=2)",),
        ("LSTM(3, 4).double()", (x(5, 2, 3).double(),)),
        ("GRU(3, 4)", (x(5, 2, 3),), (x(5, 3), x(1, 4))),
        ("GRU(3, 4, num_layers=2, bias=False, batch_first=True)", (x(5, 2, 3),)),
        ("RNNCell(3, 4)", (x(2, 3),), (x(3),), (x(2, 3), x(2, 4)), (x(1, 2, 3),)),
        ("RNNCell(3, 4, nonlinearity='relu', bias=False)", (x(2, 3),)),
        ("LSTMCell(3, 4)", (x(2, 3),), (x(3), (x(4), x(4)))),
        ("LSTMCell(3, 4, bias=False)", (x(2, 3),)),
        ("GRUCell(3, 4)", (x(2, 3),), (x(3), x(4))),
    ],
    "transformer": [
        ("TransformerEncoderLayer(4, 2, 8)", (x(3, 2, 4),), (x(3, 4),), (x(3, 2, 4), x(3, 3)), (x(3, 2, 4), None, masks())),
        ("TransformerEncoderLayer(4, 2, 8, 0.0, 'gelu', batch_first=True)", (x(2, 3, 4),), (x(2, 3, 4), None, masks())),
        ("TransformerEncoderLayer(4, 2, 8, norm_first=True, activation=ReLU())", (x(3, 2, 4),)),
        ("TransformerEncoderLayer(4, 2, 8, activation=torch.tanh, batch_first=True)", (x(3, 2, 4),)),
        ("TransformerDecoderLayer(4, 2, 8)", (x(3, 2, 4), x(5, 2, 4)), (x(3, 2, 4), x(5, 2, 4), x(3, 3), x(3, 5))),
        ("TransformerDecoderLayer(4, 2, 8, norm_first=True, activation='gelu')", (x(3, 2, 4), x(5, 2, 4))),
        ("TransformerDecoderLayer(4, 2, 8, activation='tanh')",),
        ("TransformerEncoder(TransformerEncoderLayer(4, 2, 8), 2)", (x(3, 2, 4),)),
        ("TransformerEncoder(TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, LayerNorm(4))", (x(2, 3, 4),),
         (x(2, 3, 4), None, masks()), (x(2, 3, 4), x(3, 3))),
        ("TransformerDecoder(TransformerDecoderLayer(4, 2, 8), 2, LayerNorm(4))", (x(3, 2, 4), x(5, 2, 4))),
        ("Transformer(4, 2, 1, 2, 8)", (x(3, 2, 4), x(5, 2, 4)), (x(3, 2, 4), x(5, 3, 4)), (x(3, 2, 3), x(5, 2, 4))),
        ("Transformer(4, 2, 1, 1, 8, batch_first=True, norm_first=True)", (x(2, 3, 4), x(2, 5, 4))),
        ("Transformer(4, 2, 1, 1, 8, custom_encoder=Identity())", NOSCRIPT),
    ],
    "activation": [
        ("MultiheadAttention(4, 2)", (x(3, 2, 4), x(5, 2, 4), x(5, 2, 4)), (x(3, 4), x(3, 4), x(3, 4))),
        ("MultiheadAttention(4, 2, dropout=0.5, bias=False, batch_first=True)", (x(2, 3, 4), x(2, 5, 4), x(2, 5, 4))),
        ("MultiheadAttention(4, 2, batch_first=True)", (q1 := x(2, 3, 4), q1, q1), (q1, q1, q1, masks()),
         (q1, q1, q1, None, False)),
        ("MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=5)",
         (x(3, 2, 4), x(5, 2, 3), x(5, 2, 5))),
        ("MultiheadAttention(4, 3)",),
    ],
    "container": [
        ("Sequential(Linear(3, 4), ReLU(), Linear(4, 2))", (x(2, 3),)),
        ("Sequential(OrderedDict([('a', Linear(3, 4)), ('b', ReLU())]))", (x(2, 3),)),
        ("Sequential(Linear(3, 4), ReLU())[:1]", (x(2, 3),)),
        ("Sequential(Linear(3, 4)) + Sequential(ReLU())", (x(2, 3),)),
        ("Sequential(ReLU()) * 2", (x(2, 3),)),
        ("edit(Sequential(Linear(3, 4), ReLU(), Tanh()))", (x(2, 3),)),
        ("edit(ModuleList([Linear(3, 4), ReLU(), Tanh()]))",),
        ("ModuleList([Linear(3, 4), ReLU()])[-1]", (x(2, 3),)),
        ("ModuleList([Linear(3, 4), ReLU(), Tanh()])[1:]",),
        ("ModuleList([Linear(3, 4)])[1]",),
        ("ModuleList(Linear(i + 1, 2) for i in range(3))",),
        ("ModuleDict({'a': Linear(3, 4), 'b': ReLU()})",),
        ("ModuleDict([('x', Linear(3, 4)), ('a', ReLU())])",),
        ("ParameterList([Parameter(torch.ones(2)), torch.zeros(3)])", NOSCRIPT),
        ("ParameterDict({'b': Parameter(torch.ones(2)), 'a': torch.zeros(3)})", NOSCRIPT),
        ("Sequential(1)",),
    ],
    "utils": [
        ("weight_norm(Linear(3, 4))", (x(2, 3),), NOSCRIPT),
        ("weight_norm(Conv1d(3, 4, 2), dim=None)", (x(2, 3, 5),), NOSCRIPT),
        ("remove_weight_norm(weight_norm(Linear(3, 4)))", (x(2, 3),)),
        ("weight_norm(weight_norm(Linear(3, 4)))",),
        ("spectral_norm(Conv2d(2, 3, 2))", (x(2, 2, 4, 4),), NOSCRIPT, EVAL),
        ("spectral_norm(ConvTranspose2d(2, 3, 2))", (x(2, 2, 4, 4),), NOSCRIPT, EVAL),
        ("remove_spectral_norm(spectral_norm(Linear(3, 4)))", (x(2, 3),)),
        ("fuse_conv_bn_eval(Conv2d(2, 3, 2).eval(), BatchNorm2d(3).eval())", (x(2, 2, 4, 4),)),
        ("fuse_linear_bn_eval(Linear(3, 4, bias=False).eval(), BatchNorm1d(4).eval())", (x(2, 3),)),
        ("Linear(3, 4).half()",),
        ("Linear(3, 4).to(torch.float64)", (x(2, 3).double(),)),
        ("Sequential(Linear(3, 3), Linear(3, 3)).to('cpu', dtype=torch.float64).requires_grad_(False)",),
        ("BatchNorm2d(3).double()", (x(4, 3, 2, 2).double(),)),
    ],
}


def edit(container):
    """The methods that change a container."""
    container.append(container[0])
    container.insert(1, container[-2])
    del container[2]
    container[0] = container[1]
    container.extend([container[0]])
    container.pop(-1)
    return container


def as_of_1_13():
    """A copy of our files without what PyTorch has had since then and what graphs would show: the hint that a mask is causal."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    copy = os.path.join(folder, "nn")
    shutil.copytree(ROOT, copy)
    for name in ("transformer", "activation"):
        path = os.path.join(copy, "modules", name + ".py")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        text = re.sub(r",\s+(\w+_)?is_causal(: [^=,)]+)?\s?=\s?\w+", "", text)
        text = re.sub(r"(?m)^        if \w*is_causal is not None:\n", "", text)
        text = re.sub(r"(?m)^ +_check_causal\(.*\n", "", text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return copy


def load(package, replaced):
    """A namespace of our layers under the package's name, with the files in `replaced` taken from PyTorch."""
    top = types.ModuleType(package)
    top.__path__ = [as_of_1_13()]
    sys.modules[package] = top
    for name in ["functional", "parameter", "_reduction"] + replaced:
        sys.modules[package + "." + name] = importlib.import_module("torch.nn." + name)
        if "." not in name:
            setattr(top, name, sys.modules[package + "." + name])
    names = {}
    for file in sorted(os.listdir(os.path.join(ROOT, "modules"))):
        if file.endswith(".py") and file not in ("__init__.py",):
            module = importlib.import_module(package + ".modules." + file[:-3])
            for name, value in vars(module).items():
                if isinstance(value, type) and not name.startswith("_"):
                    names[name] = value
    names["init"] = importlib.import_module(package + ".init")
    names.update(helpers(package))
    return names


def helpers(package):
    """The functions of utils that cases use."""
    names = {"rnn_utils": importlib.import_module(package + ".utils.rnn")}
    for file in ("weight_norm", "spectral_norm", "fusion"):
        names.update({n: f for n, f in vars(importlib.import_module(package + ".utils." + file)).items()
                      if isinstance(f, types.FunctionType)})
    return names


@contextlib.contextmanager
def installed(names):
    """torch.nn.X is our X meanwhile: the layers ask isinstance of it."""
    old = {n: getattr(real_nn, n) for n in names if hasattr(real_nn, n) and isinstance(names[n], type)}
    for name in old:
        setattr(real_nn, name, names[name])
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(real_nn, name, value)


def build(names, text):
    from collections import OrderedDict

    scope = dict(names, torch=torch, edit=edit, OrderedDict=OrderedDict, Parameter=torch.nn.Parameter)
    torch.manual_seed(0)
    with installed(names), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, scope)


def attempt(f, *args):
    """The result, or the exception as text."""
    try:
        return f(*args)
    except Exception as e:  # noqa: what is compared is which one
        text = re.sub(r"ctsc_\w+\.|torch\.nn\.", "", str(e)).split("\n")[0]
        return type(e).__name__ + ": " + re.sub(r"\{'[^}]*\}", "{...}", text)


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(same(i, j) for i, j in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def call(module, args, training):
    torch.manual_seed(1)
    module.train(training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = tuple(a.clone() if isinstance(a, torch.Tensor) and id(a) not in shared(args) else a for a in args)
        return module(*args)


def shared(args):
    return {id(a) for i, a in enumerate(args) for b in args[i + 1:] if a is b}


def canonical(graph):
    """A graph's text without places, values numbered in their order, constants written where they are used."""
    text = re.sub(r" *#[^\n\"]*$", "", str(graph), flags=re.M)
    text = re.sub(r"__torch__\.(torch\.nn|ctsc_\w+)\.", "", text)
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    constants = dict(re.findall(r"^ *(%[\w.]+) : (.* = prim::Constant.*)\n", text, flags=re.M))
    text = re.sub(r"^ *%[\w.]+ : .* = prim::Constant.*\n", "", text, flags=re.M)
    text = re.sub(r"%[\w.]+", lambda m: "{%s}" % constants[m.group()] if m.group() in constants else m.group(), text)
    numbers = {}
    return re.sub(r"%[\w.]+", lambda m: "%%%d" % numbers.setdefault(m.group(), len(numbers)), text)


def described(module):
    """Everything of a scripted module that its class holds: attributes as saved, methods as graphs, submodules alike."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    classes = []
    with zipfile.ZipFile(buffer) as archive:
        for name in sorted(archive.namelist()):
            if re.search(r"/code/.*\.py$", name):
                code = archive.read(name).decode()
                code = re.sub(r"__torch__\.(torch\.nn|ctsc_\w+)\.", "", code)
                code = re.sub(r"___torch_mangle_\d+\.", "", code)
                classes += re.findall(r"^class \w+\(.*\n(?:  (?!def )\S.*\n)*", code, flags=re.M)
    # constants come in the order of a Python set
    classes = [re.sub(r"(  .* Final.*\n)+", lambda m: "".join(sorted(m.group().splitlines(True))), c) for c in classes]
    result = {"classes": "\n".join(sorted(classes))}
    for path, part in module.named_modules():
        for name in sorted(part._c._method_names()):
            result[path + "." + name] = canonical(part._c._get_method(name).graph)
    return result


def script(module, names):
    with installed(names), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch._C._jit_clear_class_registry()
        torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()
        # Python gives a class an empty __annotations__ when first asked; it hides those of its bases from the second scripting.
        for part in module.modules():
            for cls in type(part).__mro__[:-1]:
                if vars(cls).get("__annotations__", 1) == {}:
                    del cls.__annotations__
        return described(torch.jit.script(module))


def compare(text, calls, ours, scriptable, real):
    """Differences as lines."""
    a = attempt(build, ours, text)
    state = torch.get_rng_state()
    b = attempt(build, real, text)
    if isinstance(b, str):
        return [] if a == b else ["error: %r for %r" % (a, b)]
    if isinstance(a, str):
        return ["fails: " + a]
    found = []
    if not torch.equal(state, torch.get_rng_state()):
        found.append("another number of random numbers drawn")
    if not same(dict(a.state_dict()), dict(b.state_dict())):
        found.append("state differs: %s for %s" % (list(a.state_dict()), list(b.state_dict())))
    if [(n, p.requires_grad) for n, p in a.named_parameters()] != [(n, p.requires_grad) for n, p in b.named_parameters()]:
        found.append("parameters differ")
    if repr(a) != repr(b):
        found.append("text: %r for %r" % (a, b))
    for training in (True, False):
        for args in calls:
            if args is NOSCRIPT or args is EVAL or (training and EVAL in calls):
                continue
            for grad in (True, False):
                with torch.set_grad_enabled(grad):
                    s = attempt(call, b, args, training)
                    with installed(ours):
                        r = attempt(call, a, args, training)
                if not same(r, s) and not close(r, s):
                    found.append("call%s gives %s for %s" % (describe(args), describe(r), describe(s)))
    if not same(dict(a.state_dict()), dict(b.state_dict())):
        found.append("state differs after calls")
    if NOSCRIPT not in calls:
        c, d = attempt(lambda: script(build(scriptable, text), scriptable)), attempt(lambda: script(build(real, text), real))
        if isinstance(c, str) or isinstance(d, str):
            if c != d and isinstance(c, str):  # ours may compile where PyTorch's does not
                found.append("scripting: %s for %s" % (c, d if isinstance(d, str) else "works"))
        elif c.keys() != d.keys():
            found.append("methods %s for %s" % (sorted(c), sorted(d)))
        else:
            found += ["%s:\n%s\nfor\n%s" % (k, c[k], d[k]) for k in c if c[k] != d[k]]
    return found


def close(a, b):
    """Within rounding: only CrossMapLRN2d computes in another order than PyTorch."""
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.shape == b.shape and torch.allclose(a, b)


def describe(v):
    if isinstance(v, torch.Tensor):
        return "Tensor%s" % list(v.shape)
    if isinstance(v, tuple):
        return "(" + ", ".join(describe(i) for i in v) + ")"
    return repr(v)


INIT = [
    "uniform_(t, -1, 2)", "normal_(t, 1, 2)", "trunc_normal_(t)", "trunc_normal_(t, 0.5, 0.1, 0.0, 1.0)", "constant_(t, 3)",
    "ones_(t)", "zeros_(t)", "eye_(t)", "dirac_(t3)", "dirac_(t4)", "dirac_(t5, 2)", "dirac_(t)", "xavier_uniform_(t, 2.0)",
    "xavier_normal_(t4)", "kaiming_uniform_(t4)", "kaiming_uniform_(t, mode='fan_out', nonlinearity='relu')",
    "kaiming_normal_(t, nonlinearity='tanh')", "kaiming_normal_(t, a=0.2)", "kaiming_normal_(t, mode='in')", "orthogonal_(t)",
    "orthogonal_(t.t(), 2.0)", "orthogonal_(t4)", "sparse_(t, 0.3)", "xavier_uniform_(t[0])",
    "kaiming_uniform_(t, nonlinearity='x')", "uniform(t)", "kaiming_normal(t)",
]


def compare_init(text, ours, real):
    results = []
    for init in (ours["init"], real["init"]):
        tensors = {"t": torch.zeros(4, 6), "t3": torch.zeros(4, 3, 3), "t4": torch.zeros(4, 3, 3, 2),
                   "t5": torch.zeros(4, 3, 3, 2, 3)}
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append((attempt(eval, text, dict(vars(init), **tensors)), tensors, torch.get_rng_state()))
    return [] if same(results[0], results[1]) else ["differs: %r" % (results,)]


def compare_packing(ours, real):
    """utils/rnn.py: results and graphs."""
    found = []
    a, b = ours["rnn_utils"], real["rnn_utils"]
    lengths = torch.tensor([2, 4, 1])
    for args in [(x(4, 3, 2), lengths, False, False), (x(3, 4, 2), torch.tensor([4, 2, 1]), True), (x(3, 4), lengths)]:
        r, s = attempt(a.pack_padded_sequence, *args), attempt(b.pack_padded_sequence, *args)
        if not (same(r, s) if isinstance(s, str) else same(tuple(r), tuple(s))):
            found.append("pack_padded_sequence%s: %r for %r" % (describe(args), r, s))
        elif not isinstance(s, str):
            for more in [(False, 0.0, None), (True, 1.5, 6), (True, 0.0, 2)]:
                if not same(attempt(a.pad_packed_sequence, r, *more), attempt(b.pad_packed_sequence, s, *more)):
                    found.append("pad_packed_sequence%r" % (more,))
            lstm = {}
            for names, packed in ((ours, r), (real, s)):
                lstm[packed] = build(names, "LSTM(2, 3)")(packed)
            if not same(*[[tuple(o), h] for o, h in lstm.values()]):
                found.append("LSTM of packed sequences")
    sequences = [x(4, 2), x(2, 2)]
    for f in ("pack_sequence", "pad_sequence"):
        if not same(tuple(getattr(a, f)(sequences)), tuple(getattr(b, f)(sequences))):
            found.append(f)
    if not same(a.unpack_sequence(a.pack_sequence(sequences)), b.unpack_sequence(b.pack_sequence(sequences))):
        found.append("unpack_sequence")
    for f in ("pack_padded_sequence", "pad_packed_sequence", "invert_permutation", "_packed_sequence_init",
              "_packed_sequence_init_args", "pack_sequence", "unpack_sequence"):
        torch.jit._state._jit_caching_layer.clear()
        torch._C._jit_clear_class_registry()
        graphs = [attempt(lambda m=m: canonical(torch.jit.script(getattr(m, f)).graph)) for m in (a, b)]
        if graphs[0] != graphs[1]:
            found.append("%s:\n%s\nfor\n%s" % (f, graphs[0], graphs[1]))
    return found


def main(arguments):
    verbose = "-v" in arguments
    if "--ctsc" in arguments:  # given to every test of this kind; nothing here runs it
        at = arguments.index("--ctsc")
        arguments = arguments[:at] + arguments[at + 2:]
    wanted = [a for a in arguments if not a.startswith("-")]
    ours, scriptable = load("ctsc_nn", []), load("ctsc_script", ["modules.module", "modules.container"])
    real = {n: getattr(real_nn, n) for n in dir(real_nn)}
    real.update(helpers("torch.nn"))
    work = [("init", "init." + t, lambda t=t: compare_init(t, ours, real)) for t in INIT]
    work += [("utils", "rnn", lambda: compare_packing(ours, real))]
    for file, cases in CASES.items():
        for text, *calls in cases:
            work.append((file, text, lambda text=text, calls=calls: compare(text, calls, ours, scriptable, real)))
    done = failed = 0
    for file, text, f in work:
        if wanted and not any(w == file or text.startswith(w + "(") for w in wanted):
            continue
        found = f()
        expected, why = DIFFERS.check("layers", "%s: %s" % (file, text), bool(found))
        found = [] if expected else found + [why]
        done += 1
        failed += bool(found)
        if found or verbose:
            print("%s %s: %s" % ("not ok" if found else "ok", file, text))
        for line in found:
            print("    " + line.replace("\n", "\n    "))
    print("compare: %d of %d equal" % (done - failed, done))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
