# SPDX-License-Identifier: Apache-2.0
"""stubs.py - what type checkers are told of the package's Python: of each file of ctsc.nn, optim, data and distributions a stub, from its source.

What is not annotated is Any, or of the kind of its default; annotations of the prelude that only a script's compiler understands (lists that numbers may stand
for) are Any, too. ctsc.nn.Module, which is put together when it is imported, has a stub by hand.
"""
import ast
import os
import re

FOLDERS = ("nn", "optim", "data", "distributions")
KNOWN = {"Any", "Optional", "Union", "List", "Tuple", "Dict", "Callable", "Iterator", "Iterable", "Sequence", "Set", "int", "float", "bool", "str", "Tensor", "None", "object"}
# Derived classes narrow what they take, as their source does.
HEAD = "# Made by python/stubs.py\n# mypy: disable-error-code=override\n"
TYPING = ("Any", "Callable", "Dict", "Iterable", "Iterator", "List", "Optional", "Sequence", "Set", "Tuple", "TypeVar", "Union")


def headed(body):
    """The stub with the imports that it needs."""
    used = set(re.findall(r"\w+", body))
    return "%sfrom typing import %s\nfrom ctsc import Tensor as Tensor%s\n%s" % (
        HEAD, ", ".join(n for n in TYPING if n in used), "".join(", %s as %s" % (n, n) for n in ("Size", "dtype") if n in used), body)


MODULE = """
from ..parameter import Buffer as Buffer, Parameter as Parameter
from ...autograd.function import RemovableHandle as RemovableHandle
_M = TypeVar("_M", bound="Module")
class Module:
    training: bool
    dump_patches: bool
    forward: Callable[..., Any]
    _parameters: Dict[str, Any]
    _buffers: Dict[str, Any]
    _modules: Dict[str, Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __delattr__(self, name: str) -> None: ...
    def register_buffer(self, name: str, tensor: Optional[Tensor], persistent: bool = ...) -> None: ...
    def register_parameter(self, name: str, param: Optional[Tensor]) -> None: ...
    def add_module(self, name: str, module: Any) -> None: ...
    def register_module(self, name: str, module: Any) -> None: ...
    def get_submodule(self, target: str) -> Any: ...
    def set_submodule(self, target: str, module: Any, strict: bool = ...) -> None: ...
    def get_parameter(self, target: str) -> Tensor: ...
    def get_buffer(self, target: str) -> Tensor: ...
    def parameters(self, recurse: bool = ...) -> Iterator[Tensor]: ...
    def named_parameters(self, prefix: str = ..., recurse: bool = ..., remove_duplicate: bool = ...) -> Iterator[Tuple[str, Tensor]]: ...
    def buffers(self, recurse: bool = ...) -> Iterator[Tensor]: ...
    def named_buffers(self, prefix: str = ..., recurse: bool = ..., remove_duplicate: bool = ...) -> Iterator[Tuple[str, Tensor]]: ...
    def children(self) -> Iterator[Any]: ...
    def named_children(self) -> Iterator[Tuple[str, Any]]: ...
    def modules(self) -> Iterator[Any]: ...
    def named_modules(self, memo: Any = ..., prefix: str = ..., remove_duplicate: bool = ...) -> Iterator[Tuple[str, Any]]: ...
    def apply(self: _M, fn: Callable[[Any], Any]) -> _M: ...
    def train(self: _M, mode: bool = ...) -> _M: ...
    def eval(self: _M) -> _M: ...
    def requires_grad_(self: _M, requires_grad: bool = ...) -> _M: ...
    def zero_grad(self, set_to_none: bool = ...) -> None: ...
    def compile(self, *args: Any, **kwargs: Any) -> None: ...
    def share_memory(self: _M) -> _M: ...
    def float(self: _M) -> _M: ...
    def double(self: _M) -> _M: ...
    def half(self: _M) -> _M: ...
    def bfloat16(self: _M) -> _M: ...
    def type(self: _M, dst_type: Any) -> _M: ...
    def cpu(self: _M) -> _M: ...
    def cuda(self: _M, device: Any = ...) -> _M: ...
    def to(self: _M, *args: Any, **kwargs: Any) -> _M: ...
    def to_empty(self: _M, *, device: Any) -> _M: ...
    def state_dict(self, *args: Any, destination: Any = ..., prefix: str = ..., keep_vars: bool = ...) -> Dict[str, Any]: ...
    def load_state_dict(self, state_dict: Any, strict: bool = ..., assign: bool = ...) -> Any: ...
    def get_extra_state(self) -> Any: ...
    def set_extra_state(self, state: Any) -> None: ...
    def register_state_dict_pre_hook(self, hook: Any) -> Any: ...
    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = ..., with_kwargs: bool = ...) -> RemovableHandle: ...
    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = ..., with_kwargs: bool = ..., always_call: bool = ...) -> RemovableHandle: ...
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = ...) -> RemovableHandle: ...
    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = ...) -> RemovableHandle: ...
    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def extra_repr(self) -> str: ...
    def save(self, f: Any) -> None: ...
def __getattr__(name: str) -> Any: ...
"""


class _Stub:
    def __init__(self, text, loose, numbers):
        """loose: sizes may be lists, tuples or numbers; numbers: of a number's default, that it is one."""
        self.tree, self.lines, self.known, self.taken = ast.parse(text), [], set(KNOWN), {"Tensor", "Size", "dtype"}
        self.loose, self.numbers = loose, numbers
        self.known |= {n.name for n in self.tree.body if isinstance(n, ast.ClassDef)}

    def annotation(self, node, default=None):
        has = default is not None
        constant = default.value if isinstance(default, ast.Constant) else ... if has else None
        if node is not None:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node = ast.parse(node.value, mode="eval").body
            text, names = ast.unparse(node), {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if names <= self.known and "BroadcastingList" not in text and not any(n.startswith("_") for n in names) and not any(isinstance(n, ast.Attribute) for n in ast.walk(node)) and not (isinstance(constant, int) and text.startswith(("List", "Tuple"))):
                # what is called with sizes takes one for all
                text = "Any" if text.startswith(("List[int]", "List[float]", "Optional[int]", "Optional[List[")) and (has or self.loose) else text
                return "Optional[%s]" % text if has and constant is None and not text.startswith(("Optional", "Any", "None")) else text
            return "Any"
        return type(constant).__name__ if isinstance(constant, (bool, str, float) if self.numbers else (bool, str)) else "Any"

    def arguments(self, a, method):
        parts, every = [], a.posonlyargs + a.args
        defaults = [None] * (len(every) - len(a.defaults)) + a.defaults
        for i, (arg, default) in enumerate(zip(every, defaults)):
            if i == 0 and method:
                parts.append(arg.arg)
                continue
            parts.append("%s: %s%s" % (arg.arg, self.annotation(arg.annotation, default), " = ..." if default is not None else ""))
            if a.posonlyargs and i + 1 == len(a.posonlyargs):
                parts.append("/")
        if a.vararg:
            parts.append("*%s: Any" % a.vararg.arg)
        elif a.kwonlyargs:
            parts.append("*")
        for arg, default in zip(a.kwonlyargs, a.kw_defaults):
            parts.append("%s: %s%s" % (arg.arg, self.annotation(arg.annotation, default), " = ..." if default is not None else ""))
        if a.kwarg:
            parts.append("**%s: Any" % a.kwarg.arg)
        return ", ".join(parts)

    def function(self, f, indent, method):
        kinds = [ast.unparse(d) for d in f.decorator_list]
        plain = all(k in ("property", "staticmethod", "classmethod") or k.endswith(".setter") or "no_grad" in k or "abstractmethod" in k for k in kinds)
        if not plain:
            return self.lines.append("%s%s: Any" % (indent, f.name))
        self.lines += ["%s@%s" % (indent, k) for k in kinds if k in ("property", "staticmethod", "classmethod") or k.endswith(".setter")]
        returns = "None" if f.name == "__init__" else "Any" if f.returns is None else self.annotation(f.returns)
        self.lines.append("%sdef %s(%s) -> %s: ..." % (indent, f.name, self.arguments(f.args, method and "staticmethod" not in kinds), returns))

    def assigned(self, node, indent):
        for target in getattr(node, "targets", None) or [node.target]:
            for name in (target.elts if isinstance(target, ast.Tuple) else [target]):
                if isinstance(name, ast.Name) and name.id not in self.taken and not name.id.startswith("_"):
                    self.taken.add(name.id)
                    kind = self.annotation(node.annotation) if isinstance(node, ast.AnnAssign) else "Any"
                    self.lines.append("%s%s: %s" % (indent, name.id, kind))

    def cls(self, c, indent):
        bases = [ast.unparse(b).replace("_C.Tensor", "Tensor") for b in c.bases]
        bases = [b for b in bases if b.replace(".", "").isidentifier() and b.split(".")[0] in self.known | {"Exception"}]
        self.lines.append("%sclass %s%s:" % (indent, c.name, "(%s)" % ", ".join(bases) if bases else ""))
        outer, self.taken = self.taken, set()
        before = len(self.lines)
        self.body(c.body, indent + "    ", True)
        for f in c.body: # what the constructor sets
            if isinstance(f, ast.FunctionDef) and f.name == "__init__":
                kinds = {a.arg: self.annotation(a.annotation) for a in f.args.args if a.annotation}
                for node in ast.walk(f):
                    for target in getattr(node, "targets", ()) if isinstance(node, ast.Assign) else ():
                        values = zip(target.elts, node.value.elts) if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) else [(target, node.value)]
                        for t, v in values:
                            if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id == "self" and t.attr not in self.taken and t.attr[0] != "_":
                                self.taken.add(t.attr)
                                self.lines.append("%s    %s: %s" % (indent, t.attr, kinds.get(v.id, "Any") if isinstance(v, ast.Name) else "Any"))
        if len(self.lines) == before:
            self.lines.append(indent + "    ...")
        self.taken = outer

    def body(self, nodes, indent="", method=False):
        last = {n.name: n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        for n in nodes:
            if isinstance(n, ast.ImportFrom) and not indent and (n.level or (n.module or "").startswith("ctsc.")):
                names = [a for a in n.names if a.name[0] not in "*_"]
                self.known |= {a.asname or a.name for a in names}
                star = [a for a in n.names if a.name == "*"]
                if names or star:
                    self.lines.append("from %s%s import %s" % ("." * n.level, n.module or "", "*" if star else ", ".join("%s as %s" % (a.name, a.asname or a.name) for a in names)))
            elif isinstance(n, ast.FunctionDef) and (not n.name.startswith("_") or n.name.endswith("__")):
                setter = any(ast.unparse(d).endswith(".setter") for d in n.decorator_list)
                if last[n.name] is n or setter or any(ast.unparse(d) == "property" for d in n.decorator_list):
                    if n.name not in self.taken or setter:
                        self.taken.add(n.name)
                        self.function(n, indent, method)
            elif isinstance(n, ast.ClassDef) and last[n.name] is n:
                self.taken.add(n.name)
                self.cls(n, indent)
            elif isinstance(n, (ast.Assign, ast.AnnAssign)):
                self.assigned(n, indent)


def of(text, path):
    if path.endswith(os.path.join("nn", "modules", "module.py")):
        return headed(MODULE.lstrip())
    stub = _Stub(text, path.endswith("functional.py"), "distributions" not in path)
    stub.body(stub.tree.body)
    lines = stub.lines
    if path.endswith(os.path.join("nn", "modules", "__init__.py")): # names by the files that have them
        found = {}
        exec(text, found) # pylint: disable=exec-used
        lines = ["from .%s import %s" % (f, ", ".join("%s as %s" % (n, n) for n in names)) for f, names in found["_files"].items() if names]
    elif path.endswith(os.path.join("nn", "__init__.py")):
        lines = ["from .modules import *", "from .modules import Module as Module",
                 "from . import attention as attention, functional as functional, grad as grad, init as init, intrinsic as intrinsic, modules as modules, parallel as parallel, parameter as parameter, qat as qat, quantizable as quantizable, quantized as quantized, utils as utils, common_types as common_types",
                 "from .modules.module import Buffer as Buffer, Parameter as Parameter",
                 "from .parameter import UninitializedBuffer as UninitializedBuffer, UninitializedParameter as UninitializedParameter", "from .parallel import DataParallel as DataParallel",
                 "from ._recent import LinearCrossEntropyLoss as LinearCrossEntropyLoss",
                 "LinearCrossEntropyOptions: Any", "def factory_kwargs(kwargs: Any) -> Dict[str, Any]: ..."]
    elif path.endswith(os.path.join("nn", "utils", "__init__.py")):
        lines += ["from . import parametrizations as parametrizations, parametrize as parametrize, rnn as rnn",
                  "def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = ..., error_if_nonfinite: bool = ..., foreach: Optional[bool] = ...) -> Tensor: ...",
                  "def clip_grad_value_(parameters: Any, clip_value: float, foreach: Optional[bool] = ...) -> None: ...",
                  "def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor: ...",
                  "def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None: ...",
                  "from . import stateless as stateless, clip_grad as clip_grad, convert_parameters as convert_parameters, init as init, fusion as fusion, prune as prune, weight_hook as weight_hook"]
        lines += ["%s: Any" % n for n in ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init", "get_total_norm",
                                          "clip_grads_with_norm_")]
    elif path.endswith(os.path.join("optim", "__init__.py")):
        lines += ["from . import lr_scheduler as lr_scheduler, more as more, optimizer as optimizer, optimizers as optimizers, swa_utils as swa_utils"]
    elif path.endswith(os.path.join("data", "__init__.py")):
        lines += ["from .distributed import DistributedSampler as DistributedSampler",
                  "from . import collate as collate, dataset as dataset, loader as loader, loader as dataloader, sampler as sampler, worker as worker"]
    elif path.endswith(os.path.join("distributions", "__init__.py")): # PyTorch's files
        loop = next(n for n in stub.tree.body if isinstance(n, ast.For))
        names = [n for row in loop.iter.elts for n in row.elts[1].value.split()]
        lines += ["%s: Any" % n for n in names]
    lines = [l for l in lines if not l.startswith("def __getattr__")]
    lines.append("def __getattr__(name: str) -> Any: ...")
    return headed("\n".join(lines) + "\n")


def write(out):
    """Beside each file of FOLDERS its stub."""
    for folder in FOLDERS:
        for where, _, files in os.walk(os.path.join(out, folder)):
            for name in sorted(files):
                if name.endswith(".py"):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as f:
                        text = of(f.read(), path)
                    with open(path + "i", "w", encoding="utf-8") as f:
                        f.write(text)
