# SPDX-License-Identifier: Apache-2.0
# onnx_numbers.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): unsigned integers, random numbers, distinct elements.


# ---- unsigned integers, as int64 (frontend/onnx/onnx_op_unsigned.c) --------------------------------------------------


def _onnx_flip(x: Tensor) -> Tensor:
    return torch.bitwise_xor(x, -9223372036854775807 - 1)


def onnx_signed(x: Tensor, flip: bool) -> Tensor:
    y = torch.to(x, 4)
    return __torch__.operators.onnx_numbers._onnx_flip(y) if flip else y


def onnx_unsigned(x: Tensor, dtype: int, flip: bool) -> Tensor:
    return torch.to(__torch__.operators.onnx_numbers._onnx_flip(x) if flip else x, dtype)


# Of 64 bits: twice the quotient of half of it, and one more where the rest is large enough.
def onnx_unsigned_div(a: Tensor, b: Tensor) -> Tensor:
    half = torch.bitwise_and(torch.bitwise_right_shift(a, 1), 9223372036854775807)
    q = torch.bitwise_left_shift(torch.div(half, torch.clamp(b, min=1), rounding_mode="trunc"), 1)
    q = torch.where(b < 0, torch.zeros_like(q), q)
    rest = __torch__.operators.onnx_numbers._onnx_flip(a - q * b)
    return q + torch.to(torch.ge(rest, __torch__.operators.onnx_numbers._onnx_flip(b)), 4)


def onnx_unsigned_mod(a: Tensor, b: Tensor) -> Tensor:
    return a - __torch__.operators.onnx_numbers.onnx_unsigned_div(a, b) * b


def onnx_unsigned_shift(a: Tensor, b: Tensor) -> Tensor:
    half = torch.bitwise_and(torch.bitwise_right_shift(a, 1), 9223372036854775807)
    return torch.where(torch.eq(b, 0), a, torch.bitwise_right_shift(half, torch.clamp(b - 1, min=0)))


# ---- integers of less than a byte, which are bytes here --------------------------------------------------------------


# The lowest bits, which `mask` has; of numbers that are rounded first, as in ONNX Runtime. half: the bit of the sign; 0: there is none.
def onnx_few_bits(x: Tensor, mask: int, half: int) -> Tensor:
    y = x
    if torch.is_floating_point(x):
        y = torch.to(x, 7)
        y = torch.sign(y) * torch.floor(torch.abs(y) + 0.5)
    y = torch.bitwise_and(torch.to(y, 4), mask)
    if half == 0:
        return torch.to(y, 0)
    return torch.to(torch.bitwise_xor(y, half) - half, 1)


# ---- random numbers --------------------------------------------------------------------------------------------------


def onnx_random(shape: List[int], dtype: int, normal: bool, a: float, b: float) -> Tensor:
    kind = 7 if dtype == 7 else 6
    if normal:
        return torch.to(torch.randn(shape, dtype=kind) * b + a, dtype)
    return torch.to(torch.rand(shape, dtype=kind) * (b - a) + a, dtype)


def onnx_bernoulli(self: Tensor, dtype: int) -> Tensor:
    return torch.to(torch.rand(self.size(), dtype=7) < self, dtype)


def onnx_multinomial(self: Tensor, count: int, dtype: int) -> Tensor:
    return torch.to(torch.multinomial(torch.softmax(self, 1), count, True), dtype)


# ---- distinct elements -----------------------------------------------------------------------------------------------


# sorted: else in the order in which they come first.
def onnx_unique(self: Tensor, axis: Optional[int], sorted: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    dim = 0
    if axis is None:
        values, inverse, counts = torch._unique2(torch.reshape(self, [-1]), True, True, True)
    else:
        dim = axis
        values, inverse, counts = torch.unique_dim(self, dim, True, True, True)
    inverse = torch.reshape(inverse, [-1])
    count = counts.size(0)
    first = torch.scatter_reduce(torch.full([count], inverse.size(0), dtype=4), 0, inverse, torch.arange(inverse.size(0)), "amin")
    if not sorted:
        order = torch.argsort(first)
        values = torch.index_select(values, dim, order)
        inverse = torch.index_select(torch.argsort(order), 0, inverse)
        counts = torch.index_select(counts, 0, order)
        first = torch.index_select(first, 0, order)
    return (values, first, inverse, counts)
