# SPDX-License-Identifier: Apache-2.0
"""autograd.py - gradients: the modes, backward and grad, and what is made of them (functional).

Operators and recorded programs leave a graph behind where gradients are enabled and an argument requires one; the library walks it (docs/training.md). The mode
is the thread's.
"""
import functools
import weakref

from .. import _C

Tensor = _C.Tensor
_RETAIN, _CREATE, _UNUSED, _CHECK_NAN = 1, 2, 4, 8
_anomaly, _checks_nan = [False], [False] # anomaly mode
_GENERATOR = 0x20 # inspect.CO_GENERATOR; to import inspect takes as long as all of ctsc
_backward_all = _C._operator("aten::backward.TensorList")
is_grad_enabled = _C.is_grad_enabled


class _Mode:
    """A block, or (as a decorator) a function, that runs in a mode."""

    def __new__(cls, *args):
        if len(args) == 1 and callable(args[0]): # @no_grad without parentheses
            made = object.__new__(cls)
            made.__init__()
            return made(args[0])
        return object.__new__(cls)

    def __init__(self):
        self._before = []

    def __enter__(self):
        self._before.append(_C._set_grad_enabled(self._wanted()))
        return self

    def __exit__(self, *exception):
        _C._set_grad_enabled(self._before.pop())

    def _again(self):
        return type(self)()

    def __call__(self, f):
        if getattr(getattr(f, "__code__", None), "co_flags", 0) & _GENERATOR:
            return self._generator(f)

        @functools.wraps(f)
        def run(*args, **kwargs):
            with self._again():
                return f(*args, **kwargs)
        return run

    def _generator(self, f):
        """The mode holds while the generator runs, and not for who asks it for the next item."""
        @functools.wraps(f)
        def run(*args, **kwargs):
            items, sent = f(*args, **kwargs), None
            try:
                while True:
                    with self._again():
                        try:
                            item = items.send(sent)
                        except StopIteration as end:
                            return end.value
                    sent = yield item
            finally:
                items.close()
        return run


class no_grad(_Mode):
    """Nothing is recorded."""

    def _wanted(self):
        return False


class enable_grad(_Mode):
    """Recorded again, within no_grad."""

    def _wanted(self):
        return True


class set_grad_enabled(_Mode):
    """By a flag: a function that sets the mode at once, or a block."""

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        self._mode, self._before = bool(mode), [_C._set_grad_enabled(mode)]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        _C._set_grad_enabled(self._before[0])

    def __call__(self, f):
        _C._set_grad_enabled(self._before[0]) # only the function's calls are meant
        return super().__call__(f)

    def _again(self):
        return set_grad_enabled(self._mode)


class inference_mode(_Mode):
    """no_grad; tensors made in it are like all others."""

    def __init__(self, mode=True):
        super().__init__()
        self._mode = bool(mode)

    def _wanted(self):
        return not self._mode and _C.is_grad_enabled()

    def _again(self):
        return inference_mode(self._mode)


def is_inference_mode_enabled():
    return False


def _tuple(x):
    return (x,) if isinstance(x, Tensor) or x is None else tuple(x)


def _flags(retain_graph, create_graph, allow_unused=False):
    kept = create_graph if retain_graph is None else retain_graph
    return (_RETAIN if kept else 0) | (_CREATE if create_graph else 0) | (_UNUSED if allow_unused else 0) | (_CHECK_NAN if _checks_nan[0] else 0)


def _check_shapes(outputs, grads):
    for i, (out, g) in enumerate(zip(outputs, grads)):
        if g is not None and g.shape != out.shape:
            raise RuntimeError("Mismatch in shape: grad_output[%d] has a shape of %s and output[%d] has a shape of %s." % (
                i, "torch.Size(%s)" % list(g.shape), i, "torch.Size(%s)" % list(out.shape)))


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds to .grad of the leaves that tensors were computed from (or of inputs only) their gradients; grad_tensors may be left out for tensors of one element."""
    roots = _tuple(tensors)
    grads = (None,) * len(roots) if grad_tensors is None else _tuple(grad_tensors)
    if len(grads) != len(roots):
        raise RuntimeError("got %d tensors and %d gradients" % (len(roots), len(grads)))
    _check_shapes(roots, grads)
    if inputs is not None:
        wanted = _tuple(inputs)
        if not wanted:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        found = _C._grad(roots, grads, wanted, _flags(retain_graph, create_graph, True))
        for t, g in zip(wanted, found):
            if g is not None:
                before = t.grad
                with set_grad_enabled(create_graph):
                    t.grad = g if before is None else before + g
    elif len(roots) == 1:
        _C._backward(roots[0], grads[0], _flags(retain_graph, create_graph))
    else:
        with enable_grad():
            _backward_all(list(roots), list(grads), create_graph if retain_graph is None else retain_graph, create_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """A tuple of the gradients of (the sum of) outputs with respect to inputs; nothing is added to .grad."""
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    if materialize_grads:
        if allow_unused is False:
            raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
        found = grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=True, is_grads_batched=is_grads_batched)
        return tuple(_C._operator("zeros_like")(x, requires_grad=create_graph) if g is None else g for g, x in zip(found, inputs))
    if is_grads_batched:
        return _grad_of_rows(outputs, inputs, _tuple(grad_outputs), retain_graph, create_graph, allow_unused)
    given = (None,) * len(outputs) if grad_outputs is None else _tuple(grad_outputs)
    if len(given) == len(outputs):
        _check_shapes(outputs, given)
    return _C._grad(outputs, given, inputs, _flags(retain_graph, create_graph, allow_unused))


def _grad_of_rows(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused):
    """grad for each row of grad_outputs, stacked."""
    n = next(g.shape[0] for g in grad_outputs if g is not None)
    rows = [grad(outputs, inputs, [None if g is None else g[i] for g in grad_outputs], i + 1 < n or (create_graph if retain_graph is None else retain_graph), create_graph,
                 allow_unused=allow_unused) for i in range(n)]
    stack = _C._operator("stack")
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows))


_OF_TWO = frozenset("AddBackward0 SubBackward0 MulBackward0 DivBackward0".split())


class Node:
    """What made a tensor, or (AccumulateGrad) the end of the graph at a leaf: its name, as PyTorch has it, is that of its class. The graph is the library's own: an operator
    that PyTorch composes of others (linear) may be one node, and a node of several operators' parts (a program) has no parts."""

    __slots__ = ("_handle", "_edges", "metadata", "__weakref__")

    def name(self):
        return type(self).__name__

    @property
    def next_functions(self):
        """((node or None, which of its outputs), ...) by input"""
        found = tuple((made if made is None else node(made), output) for made, output in (_C._node_next(self._handle, i) for i in range(self._edges)))
        # a number beside the tensor counts as an input
        return found + ((None, 0),) if len(found) == 1 and type(self).__name__ in _OF_TWO else found

    def register_hook(self, hook):
        raise NotImplementedError("hooks of nodes: Tensor.register_hook sees the gradient of a tensor that the node made")

    register_prehook = register_hook

    def __repr__(self):
        return "<%s object at 0x%x>" % (type(self).__name__, id(self))


class AccumulateGrad(Node):
    __slots__ = ()

    def name(self):
        return "torch::autograd::AccumulateGrad"

    variable = property(lambda self: _C._node_leaf(self._handle))


_kinds, _nodes = {"AccumulateGrad": AccumulateGrad}, weakref.WeakValueDictionary()


def node(known):
    """The object of what the extension tells of a node; the same one as long as somebody has it."""
    handle, key, name, edges = known
    found = _nodes.get(key)
    if found is None:
        name = "ViewBackward0" if name in ("ReshapeBackward0", "FlattenBackward0") else name # a view where that is possible
        if name not in _kinds:
            _kinds[name] = type(name, (Node,), {"__slots__": (), "__module__": __name__})
        found = _nodes[key] = _kinds[name]()
        found._handle, found._edges, found.metadata = handle, edges, {}
    return found


class _Functional:
    """torch.autograd.functional of functions of tensors: vjp, jvp, jacobian, hessian."""

    @staticmethod
    def _run(func, inputs, create_graph):
        with enable_grad():
            xs = tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in _tuple(inputs))
            out = func(*xs)
        return xs, _tuple(out), isinstance(out, Tensor)

    @staticmethod
    def _filled(grads, xs):
        zeros = _C._operator("zeros_like")
        return tuple(zeros(x) if g is None else g for g, x in zip(grads, xs))

    @staticmethod
    def vjp(func, inputs, v=None, create_graph=False, strict=False):
        """(outputs, vector-Jacobian product)"""
        xs, outs, single = _Functional._run(func, inputs, create_graph)
        grads = _Functional._filled(grad(outs, xs, v, create_graph=create_graph, allow_unused=not strict), xs)
        outs = outs if create_graph else tuple(o.detach() for o in outs)
        return outs[0] if single else outs, grads[0] if isinstance(inputs, Tensor) else grads

    @staticmethod
    def jvp(func, inputs, v=None, create_graph=False, strict=False):
        """(outputs, Jacobian-vector product), by differentiating the vector-Jacobian product."""
        xs, outs, single = _Functional._run(func, inputs, create_graph)
        zeros, ones = _C._operator("zeros_like"), _C._operator("ones_like")
        with enable_grad():
            us = tuple(zeros(o).requires_grad_() for o in outs)
            back = _Functional._filled(grad(outs, xs, us, create_graph=True, allow_unused=not strict), xs)
        vs = tuple(ones(x) for x in xs) if v is None else _tuple(v)
        products = _Functional._filled(grad(back, us, vs, create_graph=create_graph, allow_unused=True) if any(b.requires_grad for b in back) else
                                      (None,) * len(us), outs)
        outs = outs if create_graph else tuple(o.detach() for o in outs)
        return (outs[0], products[0]) if single else (outs, products)

    @staticmethod
    def jacobian(func, inputs, create_graph=False, strict=False):
        """Of each output with respect to each input: sizes of the output, then of the input."""
        xs, outs, single = _Functional._run(func, inputs, create_graph)
        stack, rows = _C._operator("stack"), []
        for out in outs:
            flat, found = out.reshape(-1), [[] for _ in xs]
            for i in range(flat.numel()):
                grads = grad((flat[i],), xs, retain_graph=True, create_graph=create_graph, allow_unused=not strict) if flat.requires_grad else (None,) * len(xs)
                for k, g in enumerate(_Functional._filled(grads, xs)):
                    found[k].append(g)
            rows.append(tuple((stack(f) if f else x.new_zeros([0])).reshape(tuple(out.shape) + tuple(x.shape)) for f, x in zip(found, xs)))
        rows = tuple(r[0] for r in rows) if isinstance(inputs, Tensor) else tuple(rows)
        return rows[0] if single else rows

    @staticmethod
    def hessian(func, inputs, create_graph=False, strict=False):
        """Of a function with one number as result."""
        def first(*xs):
            out = func(*xs)
            if out.numel() != 1:
                raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
            return _Functional._filled(grad(out.reshape(()), xs, create_graph=True, allow_unused=True), xs)
        rows = _Functional.jacobian(first, inputs, create_graph, strict)
        return rows[0] if isinstance(inputs, Tensor) else rows

    @staticmethod
    def vhp(func, inputs, v=None, create_graph=False, strict=False):
        """(output, vector-Hessian product)"""
        xs, outs, _ = _Functional._run(func, inputs, create_graph)
        if len(outs) != 1 or outs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to vhp should contain a single element")
        with enable_grad():
            first = _Functional._filled(grad(outs, xs, create_graph=True, allow_unused=not strict), xs)
        vs = tuple(_C._operator("ones_like")(x) for x in xs) if v is None else _tuple(v)
        used = [(g, u) for g, u in zip(first, vs) if g.requires_grad]
        products = grad([g for g, _ in used], xs, [u for _, u in used], create_graph=create_graph, allow_unused=True) if used else (None,) * len(xs)
        products = _Functional._filled(products, xs)
        return outs[0] if create_graph else outs[0].detach(), products[0] if isinstance(inputs, Tensor) else products

    hvp = vhp # second derivatives do not depend on the order


def _numerical(func, xs, i, at, eps):
    x = xs[i].detach()
    flat = x.reshape(-1)
    values = []
    for step in (eps, -eps):
        moved = flat.clone()
        moved[at] = moved[at] + step
        with no_grad():
            out = func(*(xs[:i] + (moved.reshape(x.shape),) + xs[i + 1:]))
        values.append([o.detach().clone() for o in _tuple(out)])
    return [(a - b) / (2 * eps) for a, b in zip(*values)]


class GradcheckError(RuntimeError):
    """What gradcheck found."""


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False, masked=None):
    """Compares gradients with quotients of differences, for inputs of float64 that require a gradient. All that PyTorch compares beside is made of these gradients here, or
    cannot differ (a second run, rows of gradients)."""
    xs = _tuple(inputs)
    outs = _tuple(func(*xs))
    for i, x in enumerate(xs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        for at in range(x.numel()):
            want = _numerical(func, xs, i, at, eps)
            for k, out in enumerate(outs):
                flat = out.reshape(-1)
                for j in range(flat.numel()):
                    g, = grad(flat[j], x, retain_graph=True, allow_unused=True)
                    got = 0.0 if g is None else float(g.reshape(-1)[at])
                    number = float(want[k].reshape(-1)[j])
                    if abs(got - number) > atol + rtol * abs(number):
                        if raise_exception:
                            raise GradcheckError("Jacobian mismatch for output %d with respect to input %d,\nnumerical:%r\nanalytical:%r" % (k, i, number, got))
                        return False
    return True


def anomaly():
    """(on, whether it looks for nan)"""
    return _anomaly[0], _checks_nan[0]


def set_anomaly(on, check_nan):
    _anomaly[0], _checks_nan[0] = on, check_nan


class set_detect_anomaly:
    """Anomaly mode: a backward pass in which a gradient becomes nan is an error that names the operator."""

    def __init__(self, mode, check_nan=True):
        self._before = anomaly()
        set_anomaly(bool(mode), bool(mode and check_nan))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        set_anomaly(*self._before)


class detect_anomaly(set_detect_anomaly):
    def __init__(self, check_nan=True):
        self._check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self._check_nan)
        return self


def gradgradcheck(func, inputs, grad_outputs=None, **options):
    """gradcheck of the gradients."""
    xs = _tuple(inputs)
    if grad_outputs is None:
        randn = _C._operator("randn_like")
        given = tuple(randn(o).requires_grad_() for o in _tuple(func(*xs)) if o.requires_grad)
    else:
        given = _tuple(grad_outputs)

    places = [i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*all_):
        with enable_grad():
            inputs = [x.detach().requires_grad_() if i in places and not x.requires_grad else x for i, x in enumerate(all_[:len(xs)])]
            outs = tuple(o for o in _tuple(func(*inputs)) if o.requires_grad)
            found = grad(outs, [inputs[i] for i in places], all_[len(xs):], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)
    return gradcheck(gradients, xs + given, **options)


class _Variables(type):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor)


class Variable(metaclass=_Variables):
    """Tensors are variables."""

    def __new__(cls, data, requires_grad=False, volatile=None):
        return data.detach().requires_grad_(requires_grad)


import sys
import types

functional = sys.modules[__name__ + ".functional"] = types.ModuleType(__name__ + ".functional")
functional.__dict__.update({k: getattr(_Functional, k) for k in ("vjp", "jvp", "jacobian", "hessian", "vhp", "hvp")})
for _name in ("grad_mode", "variable", "anomaly_mode"):
    sys.modules["%s.%s" % (__name__, _name)] = sys.modules[__name__]


def _profiler_enabled():
    """Whether an operator's calls are being recorded by torch.autograd.profiler: each of its blocks stands alone."""
    return False


def _disable_profiler():
    pass


def __getattr__(name):
    """The names of function.py, which is imported on first use."""
    import importlib
    if name in ("graph", "forward_ad", "profiler"):
        return importlib.import_module("." + name, __name__)
    if name not in ("Function", "function"):
        raise AttributeError("module 'ctsc.autograd' has no attribute '%s'" % name)
    function = importlib.import_module(".function", __name__)
    globals()["Function"] = function.Function
    return globals()[name]
