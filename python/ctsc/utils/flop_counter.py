# SPDX-License-Identifier: Apache-2.0
"""flop_counter.py - torch.utils.flop_counter: the floating-point operations of products and convolutions (2 for each multiplication with its addition).

The forward pass is seen by a mode of functions. Of the backward pass each product costs as much as forward for each factor that needs a gradient; it is counted when the
gradient of its result arrives. Modules are those that are being called (or were, of a backward pass).
"""
from collections import defaultdict
from math import prod

from .. import _C, _register
from ..overrides import TorchFunctionMode

Tensor = _C.Tensor


def _product(a, b, *more):
    """Of a matmul: batches as they are broadcast."""
    if a.dim() == 1 or b.dim() == 1:
        return 2 * max(a.numel(), b.numel())
    batch, other = a.shape[:-2], b.shape[:-2]
    rows = prod(batch) if len(batch) >= len(other) else prod(other)
    return 2 * rows * a.shape[-2] * a.shape[-1] * b.shape[-1]


def _linear(x, weight, bias=None):
    return 2 * x.numel() * weight.shape[0]


def _convolution(transposed):
    """For each element of the result, or of a transposed convolution's input, one product with each weight of its group."""
    def count(out, x, weight, *more):
        place = x if transposed else out
        return 2 * place.shape[0] * prod(place.shape[2:]) * weight.numel() if place.dim() == weight.dim() else 2 * prod(place.shape[1:]) * weight.numel()
    return count


def _attention(q, k, v, *more):
    heads = prod(q.shape[:-2])
    return 2 * heads * q.shape[-2] * k.shape[-2] * (q.shape[-1] + v.shape[-1])


# name: (PyTorch's operator, its count, the places of the two factors); counts take the arguments, those of convolutions the result first
_COUNTED = {"linear": ("addmm", _linear, (0, 1)), "matmul": ("mm", _product, (0, 1)), "mm": ("mm", _product, (0, 1)), "bmm": ("bmm", _product, (0, 1)), "mv": ("mv", _product, (0, 1)),
            "__matmul__": ("mm", _product, (0, 1)), "addmm": ("addmm", lambda c, a, b, *more: _product(a, b), (1, 2)),
            "baddbmm": ("baddbmm", lambda c, a, b, *more: _product(a, b), (1, 2)), "scaled_dot_product_attention": ("_scaled_dot_product_flash_attention_for_cpu", _attention, (0, 1))}
for _n in (1, 2, 3):
    _COUNTED["conv%dd" % _n] = ("convolution", _convolution(False), (0, 1))
    _COUNTED["conv_transpose%dd" % _n] = ("convolution", _convolution(True), (0, 1))


class _Mode(TorchFunctionMode):
    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        row = _COUNTED.get(getattr(func, "__name__", ""))
        if row and isinstance(out, Tensor):
            self.counter._see(row, out, list(args) + list((kwargs or {}).values()))
        return out


class FlopCounterMode:
    """with FlopCounterMode(display=False) as counter: net(x); counter.get_total_flops()"""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display, self.flop_counts = depth, display, defaultdict(lambda: defaultdict(int))
        self._mode, self._stack, self._handles = _Mode(self), [], []

    def _see(self, row, out, args):
        name, count, factors = row
        flops = count(out, *args) if name == "convolution" else count(*args)
        where = ("Global",) + tuple(dict.fromkeys(n for n, _ in self._stack))
        if name == "addmm" and len([a for a in args if isinstance(a, Tensor)]) < 3:
            name = "mm"
        self._add(where, name, flops)
        needed = sum(args[i].requires_grad for i in factors)
        if needed and out.requires_grad:
            back = {"convolution": "convolution_backward", "addmm": "mm", "baddbmm": "bmm"}.get(name, name)
            out.register_hook(lambda g: self._add(where, back, flops * needed))

    def _add(self, where, name, flops):
        if self._handles:
            op = getattr(_register.ops.aten, name) if name != "convolution_backward" else name
            for module in where:
                self.flop_counts[module][str(getattr(op, "__name__", op))] += flops

    def _entered(self, module, args):
        name = type(module).__name__
        for outer, children in reversed(self._stack):
            if id(module) in children:
                name = "%s.%s" % (outer, children[id(module)])
                break
        self._stack.append((name, {id(m): n for n, m in module.named_children()}))

    def _left(self, module, args, output):
        if self._stack:
            self._stack.pop()

    def __enter__(self):
        from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        self.flop_counts.clear()
        self._handles = [register_module_forward_pre_hook(self._entered), register_module_forward_hook(self._left)]
        self._mode.__enter__()
        return self

    def __exit__(self, *exception):
        self._mode.__exit__(*exception)
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._stack.clear()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self):
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self):
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth=None):
        """Modules down to a depth, with their operators and shares."""
        total, rows = self.get_total_flops(), []
        for module, counts in self.flop_counts.items():
            if module != "Global" and module.count(".") + 1 > (self.depth if depth is None else depth):
                continue
            rows.append((module, sum(counts.values())))
            rows += [(" - aten." + k, v) for k, v in counts.items()]
        rows = [(n, _short(v), "%.2f%%" % (100.0 * v / total if total else 0)) for n, v in rows or [("Global", 0)]]
        head = ("Module", "FLOP", "% Total")
        wide = [max(len(r[i]) for r in [head] + rows) for i in range(3)]
        lines = ["%-*s  %*s  %*s" % (wide[0], r[0], wide[1], r[1], wide[2], r[2]) for r in [head, tuple("-" * w for w in wide)] + rows]
        return "\n".join(lines)


def _short(n):
    for unit, size in (("T", 10 ** 12), ("B", 10 ** 9), ("M", 10 ** 6), ("K", 10 ** 3)):
        if n >= size:
            return "%.3f%s" % (n / size, unit)
    return str(n)
