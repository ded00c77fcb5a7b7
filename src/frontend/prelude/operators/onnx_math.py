# SPDX-License-Identifier: Apache-2.0
# onnx_math.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): element by element, and reductions.


# ---- element by element ----------------------------------------------------------------------------------------------


def onnx_hard_sigmoid(self: Tensor, alpha: float, beta: float) -> Tensor:
    return torch.clamp(self * alpha + beta, 0.0, 1.0)


def onnx_prelu(self: Tensor, slope: Tensor) -> Tensor:
    return torch.where(self < 0, self * slope, self)


def onnx_selu(self: Tensor, alpha: float, gamma: float) -> Tensor:
    return torch.elu(self, alpha) * gamma


def onnx_shrink(self: Tensor, lambd: float, bias: float) -> Tensor:
    zero = torch.zeros_like(self)
    return torch.where(self < -lambd, self + bias, torch.where(self > lambd, self - bias, zero)).to(self.dtype)


def onnx_softsign(self: Tensor) -> Tensor:
    return self / (torch.abs(self) + 1)


# ONNX says what is so for x > alpha; not a number is not greater.
def onnx_thresholded_relu(self: Tensor, alpha: float) -> Tensor:
    return torch.where(self > alpha, self, torch.zeros_like(self))


def onnx_sign(self: Tensor) -> Tensor:
    if torch.is_floating_point(self):
        return torch.where(torch.isnan(self), self, torch.sign(self))
    if self.dtype == 27 or self.dtype == 28 or self.dtype == 29:
        return torch.to(torch.ne(self, 0), self.dtype)
    return torch.sign(self)


def onnx_is_inf(self: Tensor, negative: int, positive: int) -> Tensor:
    found = torch.isinf(self)
    if negative == 0:
        found = torch.logical_and(found, self > 0)
    if positive == 0:
        found = torch.logical_and(found, self < 0)
    return found


def onnx_div(self: Tensor, other: Tensor) -> Tensor:
    if torch.is_floating_point(self) or torch.is_complex(self):
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def onnx_pow(self: Tensor, exponent: Tensor) -> Tensor:
    if torch.is_floating_point(exponent) and not torch.is_floating_point(self):
        return torch.to(torch.pow(torch.to(self, 7), exponent), self.dtype)
    if torch.is_floating_point(self) and not torch.is_floating_point(exponent):
        return torch.to(torch.pow(torch.to(self, 7), torch.to(exponent, 7)), self.dtype)
    return torch.to(torch.pow(self, torch.to(exponent, self.dtype)), self.dtype)


def onnx_softmax_flat(self: Tensor, axis: int, log: bool) -> Tensor:
    flat = __torch__.operators.onnx_shapes.onnx_flatten(self, axis)
    if log:
        return torch.reshape(torch.log_softmax(flat, 1), self.size())
    return torch.reshape(torch.softmax(flat, 1), self.size())


def onnx_hardmax(self: Tensor, axis: int, flat: bool) -> Tensor:
    if torch.numel(self) == 0:
        return torch.clone(self)
    if flat:
        x = __torch__.operators.onnx_shapes.onnx_flatten(self, axis)
        return torch.reshape(torch.scatter(torch.zeros_like(x), 1, torch.argmax(x, 1, True), 1.0), self.size())
    return torch.scatter(torch.zeros_like(self), axis, torch.argmax(self, axis, True), 1.0)


def onnx_swish(self: Tensor, alpha: float) -> Tensor:
    return self * torch.sigmoid(self * alpha)


# ---- reductions ------------------------------------------------------------------------------------------------------


def onnx_all_dims(self: Tensor, dims: List[int]) -> List[int]:
    if len(dims) > 0:
        return dims
    out = annotate(List[int], [])
    for i in range(self.dim()):
        out.append(i)
    return out


# The reductions that aten's operators do not cover: of integers, of no elements, over no dims (noop), of what is only known when it runs.
def onnx_reduce(self: Tensor, axes: List[int], keepdim: bool, noop: bool, how: str) -> Tensor:
    dims = axes if noop else __torch__.operators.onnx_math.onnx_all_dims(self, axes)
    x = self
    keep = keepdim
    if len(dims) == 0:
        x = torch.unsqueeze(self, -1)
        dims = [-1]
        keep = False
    if how == "max":
        return __torch__.operators.onnx_signals.onnx_amax_empty(x, dims, keep)
    if how == "min":
        return __torch__.operators.onnx_signals.onnx_amin_empty(x, dims, keep)
    if how == "prod":
        return torch.to(__torch__.operators.onnx_math.onnx_prod(x, dims, keep), x.dtype)
    whole = not torch.is_floating_point(x)
    if how == "sum":
        y = torch.sum(x, dims, keep)
    elif how == "l1":
        y = torch.sum(torch.abs(x), dims, keep) if whole else torch.linalg_vector_norm(x, 1.0, dims, keep)
    elif how == "sum_square":
        y = torch.sum(x * x, dims, keep)
    elif how == "l2":
        y = torch.linalg_vector_norm(torch.to(x, 7), 2.0, dims, keep) if whole else torch.linalg_vector_norm(x, 2.0, dims, keep)
    elif how == "mean":
        y = torch.mean(torch.to(x, 7) if whole else x, dims, keep)
        if whole and torch.numel(x) == 0:
            y = torch.zeros_like(y)
    elif how == "log_sum":
        y = torch.sum(x, dims, keep)
        y = torch.log(torch.to(y, 7) if whole else y)
    else:
        y = torch.logsumexp(torch.to(x, 7) if whole else x, dims, keep)
    return torch.to(y, x.dtype)


def onnx_prod(self: Tensor, dims: List[int], keepdim: bool) -> Tensor:
    out = self
    for dim in __torch__.operators.onnx_math.onnx_all_dims(self, dims):
        out = torch.prod(out, dim, True)
    if keepdim:
        return out
    shape = annotate(List[int], [])
    all = __torch__.operators.onnx_math.onnx_all_dims(self, dims)
    for i in range(self.dim()):
        gone = False
        for dim in all:
            if dim == i or dim + self.dim() == i:
                gone = True
        if not gone:
            shape.append(self.size(i))
    return torch.reshape(out, shape)


def onnx_cumsum(self: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    x = self
    if reverse:
        x = torch.flip(x, [axis])
    out = torch.cumsum(x, axis, dtype=self.dtype)
    if exclusive:
        out = out - x
    if reverse:
        out = torch.flip(out, [axis])
    return out


def onnx_cumprod(self: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    x = self
    if reverse:
        x = torch.flip(x, [axis])
    if exclusive:
        x = torch.cat([torch.ones_like(torch.narrow(x, axis, 0, 1 if x.size(axis) > 0 else 0)), torch.slice(x, axis, 0, -1)], axis)
    out = torch.cumprod(x, axis, dtype=self.dtype)
    if reverse:
        out = torch.flip(out, [axis])
    return out


def onnx_arg_last(self: Tensor, axis: int, keepdim: bool, least: bool) -> Tensor:
    back = torch.flip(self, [axis])
    if least:
        return self.size(axis) - 1 - torch.argmin(back, axis, keepdim)
    return self.size(axis) - 1 - torch.argmax(back, axis, keepdim)


# Of equal elements the first ones.
def onnx_topk(self: Tensor, k: int, axis: int, largest: bool) -> Tuple[Tensor, Tensor]:
    values, indices = torch.sort(self, stable=True, dim=axis, descending=largest)
    return (torch.slice(values, axis, 0, k), torch.slice(indices, axis, 0, k))
