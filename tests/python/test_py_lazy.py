# SPDX-License-Identifier: Apache-2.0
"""conj() and imag are views: what is lazily conjugated or negated, what writes through it, what is refused, against what torch 2.15 gives; in scripts at all levels of optimisation,
in files, with gradients."""
import io

import pytest

import ctsc as torch
from ctsc import Tensor


def numbers():
    return torch.tensor([[1+2j, 3-1j], [0.5j, 2+0j]])


# a call, whether its result is conjugated, negated, shares memory with the argument
VIEWS = [
    (lambda y: y, True, False, True),
    (lambda y: y[0], True, False, True),
    (lambda y: y.t(), True, False, True),
    (lambda y: y.unbind()[1], True, False, True),
    (lambda y: y.contiguous(), True, False, True),
    (lambda y: y.reshape(4), True, False, True),
    (lambda y: y.expand(2, 2, 2), True, False, True),
    (lambda y: y.detach(), True, False, True),
    (lambda y: y.to(torch.complex64), True, False, True),
    (lambda y: y.as_strided((2,), (1,)), True, False, True),
    (lambda y: y.diagonal(), True, False, True),
    (lambda y: y.conj(), False, False, True),
    (lambda y: y.mH, False, False, True),
    (lambda y: y.adjoint(), False, False, True),
    (lambda y: y.imag, False, True, True),
    (lambda y: y.imag.t(), False, True, True),
    (lambda y: y.real, False, False, True),
    (lambda y: y.t().contiguous(), False, False, False),
    (lambda y: y.t().reshape(4), False, False, False),
    (lambda y: y.clone(), False, False, False),
    (lambda y: y.resolve_conj(), False, False, False),
    (lambda y: y.imag.resolve_neg(), False, False, False),
    (lambda y: y.to(torch.complex128), False, False, False),
    (lambda y: y + 0, False, False, False),
    (lambda y: y[[0, 1]], False, False, False),
    (lambda y: torch.cat([y, y]), False, False, False),
    (lambda y: torch.empty_like(y), False, False, False),
]


@pytest.mark.parametrize("case", VIEWS)
def test_views(case):
    x = numbers()
    r = case[0](x.conj())
    shares = r.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert (r.is_conj(), r.is_neg(), shares) == case[1:]


def test_elements():
    x = numbers()
    y = x.conj()
    assert y.tolist() == [[1-2j, 3+1j], [-0.5j, 2-0j]]
    assert y.imag.tolist() == [[-2, 1], [-0.5, -0.0]] and y.imag[0, 0].item() == -2
    assert (y @ x).tolist() == [[4.5+1.5j, 7-5j], [1+0.5j, 3.5-1.5j]]
    assert torch.cat([y, x]).tolist() == y.tolist() + x.tolist()
    assert (y.imag + 1).tolist() == [[-1, 2], [0.5, 1]] and y.imag.max().item() == 1
    assert repr(y.imag) == "tensor([[-2.0000,  1.0000],\n        [-0.5000, -0.0000]])"
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        n = torch._neg_view(torch.tensor([1, -2, 0], dtype=dtype))
        assert n.is_neg() and n.tolist() == [-1, 2, 0] and (n * 2).tolist() == [-2, 4, 0], dtype
    assert torch._neg_view(x).conj().tolist() == [[-1+2j, -3-1j], [0.5j, -2+0j]]


def test_writes_go_through():
    w = torch.tensor([1+1j, 2-3j])
    v = w.conj()
    v.mul_(2j)
    assert w.tolist() == [2-2j, -6-4j] and v.tolist() == [2+2j, -6+4j]
    v[0] = 1j
    assert w.tolist() == [-1j, -6-4j]
    torch.add(v, v, out=v)
    assert w.tolist() == [-2j, -12-8j] and v.is_conj()
    v.imag.fill_(7)
    assert w.tolist() == [-7j, -12-7j]
    v.imag[0] = 3.
    assert w.tolist() == [-3j, -12-7j]
    v.real.add_(1)
    assert w.tolist() == [1-3j, -11-7j]
    v.copy_(torch.tensor([5+6j, 7+8j]))
    assert w.tolist() == [5-6j, 7-8j]
    v.zero_()
    assert w.tolist() == [0, 0]
    w.copy_(torch.tensor([1j, 2]))
    assert v.tolist() == [-1j, 2]
    v.conj().imag.mul_(3)
    assert w.tolist() == [3j, 2]
    torch._foreach_add_([v, w], [torch.tensor([1j, 1j]), torch.tensor([1+0j, 1+0j])])
    assert w.tolist() == [1+2j, 3-1j]


@pytest.mark.parametrize("call, message", [
    (lambda y: y.numpy(), r"conjugate bit set. Use tensor.resolve_conj\(\).numpy\(\)"),
    (lambda y: y.imag.numpy(), r"negative bit set. Use tensor.resolve_neg\(\).numpy\(\)"),
    (lambda y: torch.view_as_real(y), "doesn't work on unresolved conjugated tensors"),
    (lambda y: y.view(torch.float32), "not supported for conjugate view tensors"),
    (lambda y: y.imag.view(torch.int32), "not supported for tensors with negative bit set"),
])
def test_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(numbers().conj())


@torch.jit.script
def written(x: Tensor):
    y = x.conj()
    y *= 2j
    z = y.imag
    z += 1
    return x, y.is_conj(), (z * 2 + 1).relu(), z


@torch.jit.script
def fused(z: Tensor):
    return (z * 2 + 1).relu() - z


@pytest.mark.parametrize("level", range(4))
def test_scripts(level):
    for f in (written, fused):
        f._c.set_opt(level) if hasattr(f, "_c") else f.set_opt(level)
    for _ in range(3):
        x, conjugated, more, z = written(torch.tensor([1+2j, 3-1j]))
    assert x.tolist() == [4-3j, -2-7j] and conjugated and more.tolist() == [7, 15] and z.tolist() == [3, 7] and z.is_neg()
    for _ in range(3): # the kernel for plain tensors must not see the lazy one
        assert fused(torch.tensor([1., -2.])).tolist() == [2, 2]
        assert fused(torch._neg_view(torch.tensor([1., -2.]))).tolist() == [1, 3]


@pytest.mark.parametrize("kind", ["eager", "module"])
def test_files(kind):
    w = torch.tensor([5-6j, 7-8j])
    b = io.BytesIO()
    if kind == "eager":
        torch.save({"v": w.conj(), "n": w.conj().imag, "w": w}, b)
        b.seek(0)
        loaded = torch.load(b)
    else:
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = w
                self.v = w.conj()
                self.n = w.conj().imag

            def forward(self):
                return {"v": self.v, "n": self.n, "w": self.w}
        torch.jit.save(torch.jit.script(Net()), b)
        b.seek(0)
        loaded = torch.jit.load(b)()
    assert [loaded[k].tolist() for k in "vnw"] == [[5+6j, 7+8j], [6, 8], [5-6j, 7-8j]]
    if kind == "eager":
        loaded["v"].mul_(2)
        assert loaded["w"].tolist() == [10-12j, 14-16j] and loaded["n"].is_neg()


def test_gradients():
    a = torch.tensor([1.+2j, 3-1j], requires_grad=True)
    weight = torch.tensor([1j, 2.])

    def gradient(write):
        a.grad = None
        b = a * 1
        write(b)
        (b * weight).real.sum().backward()
        return a.grad.tolist()
    assert gradient(lambda b: b.conj().mul_(torch.tensor([2j, 1+1j]))) == [2, 2+2j]
    assert gradient(lambda b: b.conj().imag.mul_(3.)) == [-3j, 2]
    a.grad = None
    b = a * 1
    c = b.conj()
    b.mul_(2j)
    c.real.sum().backward()
    assert a.grad.tolist() == [-2j, -2j]


@pytest.mark.parametrize("call", [
    lambda x: x.contiguous(), lambda x: x.to(x.dtype), lambda x: x.float(), lambda x: x.cpu(), lambda x: x.flatten(), lambda x: x.resolve_conj(), lambda x: x.resolve_neg(),
    lambda x: x.conj(), lambda x: x.real, lambda x: +x, lambda x: torch.atleast_1d(x), lambda x: x.sum_to_size(3), lambda x: torch.nn.functional.dropout(x, training=False),
    lambda x: torch.nn.functional.dropout(x, 0.), lambda x: x.conj_physical(), lambda x: x.requires_grad_(False), lambda x: x.type_as(x)])
def test_the_very_object(call):
    x = torch.ones(3)
    assert call(x) is x


@pytest.mark.parametrize("call", [lambda x: x.detach(), lambda x: x.view(3), lambda x: x[:], lambda x: x.reshape(3), lambda x: x.clone(), lambda x: x.data])
def test_another_object(call):
    x = torch.ones(3)
    assert call(x) is not x
