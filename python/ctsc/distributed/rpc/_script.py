# SPDX-License-Identifier: Apache-2.0
"""_script.py - rpc_sync, rpc_async, remote and RRefs within scripts.

A call in a script names its function where it stands, so the compiler can be given an operator in its place, whose schema is that of the function:

    rpc.rpc_async(to, add, (x,), {"y": x}, timeout)
    torch.ops.ctsc_rpc.async_m_add(to, x, y=x, ctsc_timeout=timeout)      ctsc_rpc::async_m_add(Any ctsc_to, Tensor x, Tensor y, *, float ctsc_timeout=-1.) -> Future(Tensor)

Arguments are checked and defaults filled in by the compiler; the operator sends them by rpc_async. The text keeps its lines, for messages. An archive of such a
script has the operator's name, which says the function: it loads where the same script has been compiled, and nowhere else.

An RRef is a future to the runtime, which gives it back to Python as the object that it is (_C._future). Its methods are operators under PyTorch's names."""
import ast
import re
import types

from ... import _C
from . import api, constants
from ._agent import WorkerInfo

_EFFECTS = 1
_SIGNATURE = ("to", "func", "args", "kwargs", "timeout")
_LATER = {"async": "Future", "remote": "RRef"}
_operators = {} # names of operators, by kind and function; both are for good
_compiling = []


# ---- operators ------------------------------------------------------------------------------------------------------------------


def _schema(target):
    """(arguments, result) of a function, as schemas have them."""
    from ..._script import ScriptFunction, script
    if not isinstance(target, ScriptFunction):
        if target in _compiling:
            raise RuntimeError("%s calls itself in another process: only functions that are scripted before can be called so" % target.__name__)
        _compiling.append(target)
        try:
            target = script(target)
        finally:
            _compiling.pop()
    text = target.forward.schema
    at, depth = text.index("(") + 1, 1
    for end in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[at:end], text[end + 1:].partition("->")[2].strip()
    raise RuntimeError("%s: a schema that cannot be read" % text)


def _run(kind, target):
    call = {"sync": api.rpc_sync, "async": api.rpc_async, "remote": api.remote}[kind]

    def run(to, *args):
        if not isinstance(to, (str, WorkerInfo)):
            raise RuntimeError("another process is called by its name or its WorkerInfo, not by %r" % (to,))
        timeout = args[-1]
        return call(to, target, args[:-1], timeout=constants.UNSET_RPC_TIMEOUT if timeout < 0 else timeout)
    return run


def _operator(kind, target):
    """The name of the operator that calls target in another process."""
    key = kind, target
    if key not in _operators:
        arguments, result = _schema(target)
        name = "ctsc_rpc::%s_%s" % (kind, re.sub(r"\W", "_", "%s.%s" % (target.__module__, target.__qualname__)))
        while name in _operators.values(): # made again
            name += "_"
        result = "%s(%s)" % (_LATER[kind], result) if kind in _LATER else "()" if result == "NoneType" else "(%s)" % result
        schema = "%s(Any ctsc_to%s, *, float ctsc_timeout=-1.) -> %s" % (name, ", " + arguments if arguments else "", result)
        _C._register(schema, _run(kind, target), int(result != "()"), _EFFECTS, None)
        _operators[key] = name
    return _operators[key]


for _schema_text, _method in (("to_here(RRef(t) self, float timeout=60.) -> t", lambda rref, timeout: rref.to_here(timeout)),
                              ("local_value(RRef(t) self) -> t", api.RRef.local_value),
                              ("is_owner(RRef(t) self) -> bool", api.RRef.is_owner),
                              ("owner(RRef(t) self) -> __torch__.torch.classes.dist_rpc.WorkerInfo", api.RRef.owner),
                              ("owner_name(RRef(t) self) -> str", api.RRef.owner_name),
                              ("confirmed_by_owner(RRef(t) self) -> bool", api.RRef.confirmed_by_owner)):
    _C._register("aten::" + _schema_text, _method, 1, _EFFECTS, None)


# ---- the text of scripts --------------------------------------------------------------------------------------------------------


_KINDS = {api.rpc_sync: "sync", api.rpc_async: "async", api.remote: "remote"}


def _kind(v):
    return _KINDS.get(v, "") if isinstance(v, types.FunctionType) else ""


def _parts(call, text):
    """The texts of a call's parameters, and its nodes, by name."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords) or len(call.args) > len(_SIGNATURE):
        raise RuntimeError("the arguments of calls to other processes are written out in scripts: (to, func, args, kwargs, timeout)")
    nodes = dict(zip(_SIGNATURE, call.args), **{k.arg: k.value for k in call.keywords})
    strange = [n for n in nodes if n not in _SIGNATURE] + [n for n in _SIGNATURE[:2] if n not in nodes]
    if strange:
        raise RuntimeError("a call to another process has the parameters (to, func, args, kwargs, timeout): '%s'" % strange[0])
    return nodes, {k: ast.get_source_segment(text, n) for k, n in nodes.items()}


def _written(kind, call, text, resolve):
    """A call as one of an operator."""
    from ..._script import ScriptFunction
    nodes, texts = _parts(call, text)
    target = resolve(nodes["func"])
    if not isinstance(target, (ScriptFunction, types.FunctionType)):
        raise RuntimeError("scripts call functions in other processes, by their names, not %s" % texts["func"])
    given = [texts["to"]]
    args, kwargs = nodes.get("args"), nodes.get("kwargs")
    if isinstance(args, ast.Tuple):
        given += [ast.get_source_segment(text, a) for a in args.elts]
    elif args is not None and not (isinstance(args, ast.Constant) and args.value is None):
        given.append("*" + texts["args"])
    if isinstance(kwargs, ast.Dict) and all(isinstance(k, ast.Constant) and isinstance(k.value, str) and k.value.isidentifier() for k in kwargs.keys):
        given += ["%s=%s" % (k.value, ast.get_source_segment(text, v)) for k, v in zip(kwargs.keys, kwargs.values)]
    elif kwargs is not None and not (isinstance(kwargs, ast.Constant) and kwargs.value is None):
        raise RuntimeError("kwargs of a call to another process are written out in scripts: {\"name\": value}")
    if "timeout" in texts:
        given.append("ctsc_timeout=" + texts["timeout"])
    made = "torch.ops.%s(%s" % (_operator(kind, target).replace("::", "."), ", ".join(given))
    return made + "\n" * (call.end_lineno - call.lineno - made.count("\n")) + ")"


def _offset(rows, line, column):
    """The place in the text of what ast calls so: columns are bytes."""
    return sum(len(r) + 1 for r in rows[:line - 1]) + len(rows[line - 1].encode()[:column].decode())


def _constructor(tree):
    """Nodes that Python alone runs: those of a module's constructor."""
    outer = tree.body[0]
    own = [m for m in outer.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"] if isinstance(outer, ast.ClassDef) and outer.bases else []
    return {id(n) for m in own for n in ast.walk(m)}


def rewritten(text, resolve):
    """The text of a function or a class, with operators for its calls to other processes. resolve: what an expression that is a name is; None: not known. Methods
    that nobody compiles may call whatever they like: what a class has of calls that scripts cannot make stays as it is."""
    left = set()
    while True:
        tree = ast.parse(text)
        skipped = _constructor(tree)
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call) and id(n) not in skipped):
            kind, own = _kind(resolve(call.func)), ast.get_source_segment(text, call)
            if not kind or own in left:
                continue
            rows = text.split("\n")
            at, end = _offset(rows, call.lineno, call.col_offset), _offset(rows, call.end_lineno, call.end_col_offset)
            try:
                text = text[:at] + _written(kind, call, text, resolve) + text[end:]
            except (OSError, RuntimeError):
                if not isinstance(tree.body[0], ast.ClassDef):
                    raise
                left.add(own)
                continue
            break
        else:
            return text
