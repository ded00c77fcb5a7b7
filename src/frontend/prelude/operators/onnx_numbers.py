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


# ---- n-grams ---------------------------------------------------------------------------------------------------------


# How often each n-gram of the pool is in a row, with up to `skip` elements between two of it; begins: where those of 1, 2, ... are in the pool.
def onnx_tfidf(x: Tensor, pool: List[int], begins: List[int], places: List[int], weights: List[float], mode: str, least: int, most: int, skip: int) -> Tensor:
    rows = torch.to(x if x.dim() > 1 else torch.unsqueeze(x, 0), 4)
    width = 0
    for i in places:
        width = max(width, i + 1)
    all = torch.tensor(pool, dtype=4)
    out = torch.zeros([rows.size(0), width], dtype=6)
    at = 0
    for k in range(len(begins)):
        n = k + 1
        end = begins[k + 1] if n < len(begins) else len(pool)
        count = (end - begins[k]) // n
        if n >= least and n <= most and count > 0:
            grams = torch.reshape(torch.slice(all, 0, begins[k], begins[k] + count * n), [count, n])
            index = torch.tensor(torch.slice(places, at, at + count), dtype=4)
            for s in range(skip + 1 if n > 1 else 1):
                windows = rows.size(1) - (n - 1) * (s + 1)
                if windows > 0:
                    hits = torch.ones([rows.size(0), windows, count], dtype=11)
                    for j in range(n):
                        element = torch.slice(rows, 1, j * (s + 1), j * (s + 1) + windows)
                        hits = torch.logical_and(hits, torch.eq(torch.unsqueeze(element, 2), torch.select(grams, 1, j)))
                    out = torch.index_add(out, 1, index, torch.to(torch.sum(hits, [1]), 6))
        at = at + count
    if mode != "TF":
        by = torch.ones([width], dtype=6)
        if len(weights) > 0:
            by = torch.scatter(torch.zeros([width], dtype=6), 0, torch.tensor(places, dtype=4), torch.tensor(weights, dtype=6))
        out = torch.to(out > 0, 6) * by if mode == "IDF" else out * by
    return out if x.dim() > 1 else torch.squeeze(out, 0)
