# SPDX-License-Identifier: Apache-2.0
"""test_py_hooks.py - functions with gradients of their own (autograd.Function), hooks on gradients and on modules."""
import gc
import threading
import weakref

import pytest

import ctsc
from ctsc import nn
from ctsc.autograd import Function, gradcheck
from ctsc.autograd.function import once_differentiable


class Exp(Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = x.exp() * factor
        ctx.save_for_backward(x, None, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, none, y = ctx.saved_tensors
        assert none is None
        return grad * y, None


class Power(Function):
    @staticmethod
    def forward(x, n=2):
        return x ** n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ctx.n * x ** (ctx.n - 1), None


def test_function():
    x = ctsc.tensor([1.0, 2.0], requires_grad=True)
    y = Exp.apply(x, 3.0)
    assert y.requires_grad and not y.is_leaf and y.grad_fn.name() == "ExpBackward"
    first, = ctsc.autograd.grad(y.sum(), x, create_graph=True)
    second, = ctsc.autograd.grad(first.sum(), x)
    assert first.tolist() == second.tolist() == (x.exp() * 3).tolist()
    y = Exp.apply(x, 1.0)
    y.sum().backward()
    assert x.grad.tolist() == x.exp().tolist()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    with ctsc.no_grad():
        assert not Exp.apply(x, 1.0).requires_grad
    t = ctsc.tensor([1.0, 2.0], dtype=ctsc.float64, requires_grad=True)
    assert gradcheck(lambda v: Exp.apply(v, 2.0), t) and gradcheck(lambda v: Power.apply(v, 3), t) and gradcheck(Power.apply, t)
    assert Power.apply(t, n=3).tolist() == [1.0, 8.0]
    with pytest.raises(RuntimeError, match="is not made"):
        Exp()


def test_what_a_function_marks():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, a, b, gives):
            assert not ctsc.is_grad_enabled()
            ctx.set_materialize_grads(gives)
            where = (a > b).to(a.dtype)
            ctx.mark_non_differentiable(where)
            assert ctx.needs_input_grad == (True, True, False)
            return a * 2, where, b * 3, "text"

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g is not None and g.tolist() for g in grads])
            return grads[0], grads[2], None
    a, b = ctsc.ones(2, requires_grad=True), ctsc.zeros(2, requires_grad=True)
    for gives in (True, False):
        x, where, y, text = Two.apply(a, b, gives)
        assert x.requires_grad and not where.requires_grad and text == "text"
        (x + where).sum().backward()
    assert seen == [[[1, 1], [0, 0], [0, 0], False], [[1, 1], False, False, False]]
    assert a.grad.tolist() == [2, 2] and b.grad.tolist() == [0, 0]


def test_written_inputs():
    class Double(Function):
        @staticmethod
        def forward(ctx, x, tell=True):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x if tell else x + 0

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None
    x = ctsc.ones(3, requires_grad=True)
    y = x * 1
    z = Double.apply(y)
    assert z is y and y.grad_fn.name() == "DoubleBackward"
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        Double.apply(x)
    with pytest.raises(RuntimeError, match="not returned as output"):
        Double.apply(x * 1, False)
    with pytest.raises(ctsc.UnsupportedError, match="view"):
        Double.apply((x * 1)[:2])


def test_saved_tensors_are_checked():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]
    x = ctsc.ones(3, requires_grad=True)
    y = x * 3
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_wrong_functions():
    def made(backward):
        class Wrong(Function):
            forward = staticmethod(lambda ctx, x, k: x * 1)
        Wrong.backward = staticmethod(backward)
        return Wrong.apply(ctsc.ones(3, requires_grad=True), 2).sum()
    for backward, error, words in [
            (lambda ctx, g: g, RuntimeError, "incorrect number of gradients \\(expected 2, got 1"), (lambda ctx, g: (g, g), RuntimeError, "at position 2"),
            (lambda ctx, g: (ctsc.ones(7), None), RuntimeError, "invalid gradient at index 0 - got \\[7\\]"), (lambda ctx, g: ("a", None), TypeError, "got str"),
            (lambda ctx, g: 1 / 0, ZeroDivisionError, "")]:
        with pytest.raises(error, match=words):
            made(backward).backward()
    made(lambda ctx, g: (g, None, None, None)).backward() # Nones too many are forgiven
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        class Without(Function):
            forward = staticmethod(lambda ctx, x: x * 1)
        Without.apply(ctsc.ones(3, requires_grad=True)).sum().backward()


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]
    x, scale = ctsc.ones(3, requires_grad=True), ctsc.ones(3, requires_grad=True)
    first, = ctsc.autograd.grad((Square.apply(x) * scale).sum(), x, create_graph=True)
    assert first.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_an_input_that_comes_back():
    class Same(Function):
        forward = staticmethod(lambda ctx, x: x)
        backward = staticmethod(lambda ctx, g: g * 5)
    x = ctsc.ones(3, requires_grad=True)
    y = Same.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


def test_traced_functions_are_what_they_compute():
    f = ctsc.trace(lambda v: Exp.apply(v, 2.0), ctsc.ones(2))
    assert f(ctsc.zeros(2)).tolist() == [2, 2]


def test_hooks_on_tensors():
    log, x = [], ctsc.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: log.append(g.tolist()))
    y.retain_grad()
    x.register_hook(lambda g: log.append(g.tolist()))
    after = x.register_post_accumulate_grad_hook(lambda p: log.append((p is x, p.grad.tolist())))
    (y * 3).sum().backward()
    assert log == [[30, 30], [60, 60], (True, [60, 60])] and y.grad.tolist() == [30, 30]
    handle.remove()
    handle.remove()
    after.remove()
    del log[:]
    x.grad = None
    with x.register_hook(lambda g: g + 1):
        (x * 3).sum().backward()
    assert log == [[3, 3]] and x.grad.tolist() == [4, 4]
    y = x * 2
    y.register_hook(lambda g: log.append("before"))
    y.mul_(5)
    y.register_hook(lambda g: log.append("after"))
    del log[:]
    y.sum().backward()
    assert log[:2] == ["after", "before"]


def test_refused_hooks():
    x = ctsc.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        ctsc.ones(2).register_hook(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)
    for hook, error in [(lambda g: ctsc.ones(9), RuntimeError), (lambda g: g.double(), RuntimeError), (lambda g: 1 / 0, ZeroDivisionError), (lambda g: 3, TypeError)]:
        y = x * 2
        y.register_hook(hook)
        with pytest.raises(error):
            y.sum().backward()
    assert x.grad is None


def test_hooks_of_a_loaded_program(digits):
    images, seen = ctsc.rand(2, 1, 8, 8), []
    digits.train()
    weight = next(digits.parameters())
    handle = weight.register_hook(lambda g: seen.append(tuple(g.shape)))
    for _ in range(3): # as written, and as what gradients make of it
        digits(images).sum().backward()
    assert seen == [tuple(weight.shape)] * 3
    handle.remove()
    digits(images).sum().backward()
    assert len(seen) == 3


def listed(tensors):
    return [None if t is None else t.reshape(-1).tolist() for t in tensors]


def test_hooks_on_modules():
    ctsc.manual_seed(0)
    log, net, x = [], nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), ctsc.randn(2, 3)
    want = net(x)
    with net[0].register_forward_hook(lambda m, args, out: log.append((type(m).__name__, len(args), tuple(out.shape)))), \
            net.register_forward_pre_hook(lambda m, args: args[0] * 1):
        assert net(x).tolist() == want.tolist()
    assert log == [("Linear", 1, (2, 4))]
    with net[2].register_forward_hook(lambda m, args, kwargs, out: out * 0, with_kwargs=True):
        assert not net(x).any()
    net(x)
    assert len(log) == 1

    class Scaled(nn.Module):
        def forward(self, x, scale=1.0):
            return x * scale, x + 1
    m, x = Scaled(), ctsc.ones(2, requires_grad=True)
    m.register_forward_pre_hook(lambda m, args, kwargs: (args, {"scale": 5.0}), with_kwargs=True)
    m.register_full_backward_hook(lambda m, gi, go: log.append((listed(gi), listed(go))))
    a, b = m(x, scale=3.0)
    assert a.tolist() == [5, 5]
    (a.sum() + 2 * b.sum()).backward()
    assert x.grad.tolist() == [7, 7] and log[-1] == ([[7, 7]], [[1, 1], [2, 2]])
    a, b = m(x)
    a.sum().backward()
    assert log[-1] == ([[5, 5]], [[1, 1], None])


def test_backward_hooks_change_gradients():
    def gradient(*hooks):
        ctsc.manual_seed(0)
        net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), ctsc.ones(1, 3, requires_grad=True)
        for name, hook in hooks:
            getattr(net[1], name)(hook)
        net(x).sum().backward()
        return x.grad
    plain = gradient()
    assert ctsc.allclose(gradient(("register_full_backward_hook", lambda m, gi, go: (gi[0] * 3,))), plain * 3)
    assert ctsc.allclose(gradient(("register_full_backward_pre_hook", lambda m, go: (go[0] * 2,)), ("register_full_backward_hook", lambda m, gi, go: None)), plain * 2)
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        gradient(("register_full_backward_hook", lambda m, gi, go: gi + gi))
    seen, layer = [], nn.Linear(3, 2)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, listed(go))))
    layer(ctsc.ones(1, 3)).sum().backward()
    assert seen == [((None,), [[1, 1]])] and layer.bias.grad.tolist() == [1, 1]


def test_hooks_of_all_modules_and_failures():
    from ctsc.nn.modules.module import register_module_forward_hook
    log, net = [], nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    with register_module_forward_hook(lambda m, args, out: log.append(type(m).__name__)):
        net(ctsc.ones(1, 3))
    net(ctsc.ones(1, 3))
    assert log == ["Linear", "ReLU", "Sequential"]

    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")
    m = Fails()
    m.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    with pytest.raises(ValueError, match="no"):
        m(ctsc.ones(1))
    assert log[-1] is None
    net[0].register_forward_hook(lambda m, args, out: out * 2)
    with pytest.warns(UserWarning, match="hooks of 0 are not a part"):
        ctsc.script(net)


def test_graphs_with_functions_are_freed():
    class Kept:
        pass

    class Holds(Function):
        @staticmethod
        def forward(ctx, x, kept):
            ctx.kept = kept
            y = x * 2
            ctx.save_for_backward(y) # its own output
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None
    x, kept = ctsc.ones(3, requires_grad=True), Kept()
    gone = weakref.ref(kept)
    y = Holds.apply(x, kept)
    del kept
    gc.collect()
    assert gone() is not None
    del y
    gc.collect()
    assert gone() is None


def test_hooks_are_freed():
    class Kept:
        def __call__(self, grad):
            return None
    x, hooks = ctsc.ones(3, requires_grad=True), [Kept() for _ in range(4)]
    gone = [weakref.ref(h) for h in hooks]
    y = x * 2
    handles = [y.register_hook(hooks[0]), x.register_hook(hooks[1]), x.register_post_accumulate_grad_hook(hooks[2])]
    y.register_hook(hooks[3])
    del hooks
    assert all(h() is not None for h in gone)
    handles[1].remove()
    del y, handles
    gc.collect()
    assert [h() is not None for h in gone] == [False, False, True, False]
    del x
    assert gone[2]() is None


def test_threads():
    """Passes release the lock, and each function takes it."""
    failures = []

    def work():
        try:
            x = ctsc.ones(200, 200, requires_grad=True)
            for _ in range(20):
                x.grad = None
                y = Exp.apply(x, 1.0)
                y.register_hook(lambda g: g * 2)
                (y @ y).sum().backward()
            assert x.grad is not None
        except BaseException as e:
            failures.append(e)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# ---- hooks of all modules, and on what modules register


def test_hooks_of_all_modules_go_with_their_dict():
    module = nn.modules.module
    seen = []
    module.register_module_forward_hook(lambda *args: seen.append("all"), always_call=True)
    assert len(module._global_forward_hooks_always_called) == 1
    net = nn.ReLU()
    handle = net.register_forward_hook(lambda *args, **kwargs: seen.append("own"), with_kwargs=True)
    assert handle.id in net._forward_hooks_with_kwargs and len(handle.hooks_dict_ref()) == 1
    net(ctsc.ones(1))
    module._global_forward_hooks = type(module._global_forward_hooks)()
    net(ctsc.ones(1))
    assert seen == ["all", "own", "own"]


def test_full_and_plain_backward_hooks_do_not_mix():
    module = nn.modules.module
    with module.register_module_backward_hook(lambda *args: None):
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks as a global"):
            module.register_module_full_backward_hook(lambda *args: None)
    net = nn.Linear(1, 1)
    net.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        net.register_backward_hook(lambda *args: None)


@pytest.mark.parametrize("forward, text", [(lambda x: [x * 1], "does not return a single Tensor"), (lambda x: (x * 2, x * 3), "different autograd Nodes"),
                                           (lambda x: (x * 2) * 3, "multiple autograd Nodes"), (lambda x: x * 2, None)])
def test_plain_backward_hooks_warn(forward, text, recwarn):
    net = nn.Module()
    net.forward = forward
    net.register_backward_hook(lambda *args: None)
    net(ctsc.ones(2, requires_grad=True))
    found = [str(w.message) for w in recwarn if issubclass(w.category, FutureWarning)]
    assert found == [] if text is None else len(found) == 1 and text in found[0]


def test_registration_hooks():
    module, seen = nn.modules.module, []
    handles = [getattr(module, "register_module_%s_registration_hook" % kind)(lambda m, name, x: seen.append(name)) for kind in ("buffer", "module", "parameter")]
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    net.register_buffer("b", ctsc.ones(1))
    net.b = ctsc.zeros(1)
    net.part = nn.ReLU()
    for h in handles:
        h.remove()
    net.other = nn.ReLU()
    assert seen == ["weight", "0", "b", "b", "part"]


def test_hooks_of_state_dicts():
    import pickle
    net = nn.Linear(1, 1)
    net.register_load_state_dict_pre_hook(_of_module)
    there = weakref.ref(net)
    again = pickle.loads(pickle.dumps(net))
    del net
    assert there() is None
    again.load_state_dict(again.state_dict())
    assert again.seen == 1

    def post(module, state, prefix, metadata):
        return {}
    again.register_state_dict_post_hook(post)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        again.state_dict()
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        again._register_state_dict_hook(post)


def _of_module(module, *args):
    module.seen = 1
