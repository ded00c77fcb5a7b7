# SPDX-License-Identifier: Apache-2.0
# What the writer of ONNX walks in the place of operators that have no node (frontend/onnx/onnx_out_body.c): element by element, reductions, products.
# onnx_out_NAME__OVERLOAD is that of aten::NAME.OVERLOAD alone, onnx_out_NAME of all its overloads. Where a body calls its own operator, that is the row of
# onnx_out_rows.def. What a body raises is refused. Engines of ONNX compute in the dtype that they are given: floats of 16 bits are widened where PyTorch does.


def _is_float(dtype: int) -> bool:
    return dtype >= 5 and dtype <= 7 or dtype == 15


# the dtype of an operator's result that is a float in any case
def _result(dtype: int) -> int:
    return dtype if __torch__.operators.onnx_out._is_float(dtype) else 6


# what it is computed in
def _wide(self: Tensor) -> Tensor:
    return self if self.dtype == 6 or self.dtype == 7 else torch.to(self, 6)


def _narrow(self: Tensor, dtype: int) -> Tensor:
    return torch.to(self, __torch__.operators.onnx_out._result(dtype))


def _common(self: Tensor, other: Tensor) -> Tuple[Tensor, Tensor, int]:
    dtype = __torch__.operators.onnx_out._result(torch.result_type(self, other))
    wide = 7 if dtype == 7 else 6
    return (torch.to(self, wide), torch.to(other, wide), dtype)


def _wrap(dim: int, ndim: int) -> int:
    return dim + max(ndim, 1) if dim < 0 else dim


# ---- element by element ----------------------------------------------------------------------------------------------


def _log1p(x: Tensor) -> Tensor:
    u = x + 1
    near = torch.where(u == 1, x, torch.log(u) * (x / (u - 1)))
    return torch.where(torch.abs(x) < 0.5, near, torch.log(u))


def onnx_out_log1p(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out._log1p(__torch__.operators.onnx_out._wide(self)), self.dtype)


def onnx_out_expm1(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    u = torch.exp(x)
    near = torch.where(u == 1, x, (u - 1) * (x / torch.log(u)))
    return __torch__.operators.onnx_out._narrow(torch.where(torch.abs(x) < 0.5, near, u - 1), self.dtype)


def onnx_out_log2(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(torch.log(__torch__.operators.onnx_out._wide(self)) * 1.4426950408889634, self.dtype)


def onnx_out_log10(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(torch.log(__torch__.operators.onnx_out._wide(self)) * 0.43429448190325182, self.dtype)


def onnx_out_exp2(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(torch.pow(2.0, __torch__.operators.onnx_out._wide(self)), self.dtype)


def onnx_out_log_sigmoid(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    return __torch__.operators.onnx_out._narrow(torch.clamp_max(x, 0) - __torch__.operators.onnx_out._log1p(torch.exp(torch.neg(torch.abs(x)))), self.dtype)


def onnx_out_trunc(self: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.clone(self)
    return torch.where(self < 0, torch.ceil(self), torch.floor(self))


def onnx_out_ceil(self: Tensor) -> Tensor:
    return torch.ceil(self) if __torch__.operators.onnx_out._is_float(self.dtype) else torch.clone(self)


def onnx_out_floor(self: Tensor) -> Tensor:
    return torch.floor(self) if __torch__.operators.onnx_out._is_float(self.dtype) else torch.clone(self)


def onnx_out_round(self: Tensor) -> Tensor:
    return torch.round(self) if __torch__.operators.onnx_out._is_float(self.dtype) else torch.clone(self)


def onnx_out_round__decimals(self: Tensor, decimals: int) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        if decimals < 0:
            raise RuntimeError("of integers, to negative decimals")
        return torch.clone(self)
    if decimals == 0:
        return torch.round(self)
    x = __torch__.operators.onnx_out._wide(self)
    power = 10.0 ** abs(decimals)
    y = torch.round(x * power) / power if decimals > 0 else torch.round(x / power) * power
    return torch.to(y, self.dtype)


def onnx_out_frac(self: Tensor) -> Tensor:
    return self - torch.trunc(self)


def onnx_out_deg2rad(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out._wide(self) * 0.017453292519943295, self.dtype)


def onnx_out_rad2deg(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out._wide(self) * 57.295779513082323, self.dtype)


# Numerical Recipes (erfcc): of a relative error of 1.2e-7 everywhere
def _erfc(x: Tensor) -> Tensor:
    z = torch.abs(x)
    t = torch.reciprocal(z * 0.5 + 1)
    p = t * 0.17087277 - 0.82215223
    for c in [1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368]:
        p = p * t + c
    tail = t * torch.exp(p * t - 1.26551223 - z * z)
    far = torch.where(x < 0, 2 - tail, tail)
    return torch.where(z < 0.5, 1 - torch.erf(x), far)


def onnx_out_erfc(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out._erfc(__torch__.operators.onnx_out._wide(self)), self.dtype)


def onnx_out_special_ndtr(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out._erfc(__torch__.operators.onnx_out._wide(self) * -0.70710678118654752) * 0.5, self.dtype)


def onnx_out_special_erfcx(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    x = __torch__.operators.onnx_out._wide(self)
    z = torch.abs(x)
    t = torch.reciprocal(z * 0.5 + 1)
    p = t * 0.17087277 - 0.82215223
    for c in [1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368]:
        p = p * t + c
    tail = t * torch.exp(p * t - 1.26551223)
    return __torch__.operators.onnx_out._narrow(torch.where(x < 0, torch.exp(x * x) * 2 - tail, tail), self.dtype)


# Giles, Approximating the erfinv function: single precision
def onnx_out_erfinv(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    x = __torch__.operators.onnx_out._wide(self)
    w = torch.neg(torch.log((1 - x) * (1 + x)))
    a = w - 2.5
    p = a * 2.81022636e-08 + 3.43273939e-07
    for c in [-3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941]:
        p = p * a + c
    b = torch.sqrt(w) - 3
    q = b * -0.000200214257 + 0.000100950558
    for c in [0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682]:
        q = q * b + c
    y = torch.where(w < 5, p, q) * x
    y = torch.where(torch.abs(x) == 1, x * inf, y)
    return __torch__.operators.onnx_out._narrow(y, self.dtype)


# Stirling's series of x + 8, and down again
def _lgamma(x: Tensor) -> Tensor:
    product = x
    for i in range(1, 8):
        product = product * (x + i)
    z = x + 8
    r = torch.reciprocal(z * z)
    series = (((r * -0.00059523809523809524 + 0.00079365079365079365) * r - 0.0027777777777777778) * r + 0.083333333333333333) / z
    return (z - 0.5) * torch.log(z) - z + 0.91893853320467274 + series - torch.log(product)


def onnx_out_lgamma(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    x = __torch__.operators.onnx_out._wide(self)
    up = torch.where(x < 0.5, 1 - x, x)
    y = __torch__.operators.onnx_out._lgamma(torch.clamp(up, None, 1e4))
    y = torch.where(up > 1e4, (up - 0.5) * torch.log(up) - up + 0.91893853320467274, y)
    y = torch.where(torch.eq(up, inf), up, torch.where(torch.logical_or(up == 1, up == 2), torch.zeros_like(up), y))
    turned = 1.1447298858494002 - torch.log(torch.abs(torch.sin((x - torch.floor(x)) * 3.1415926535897932))) - y
    turned = torch.where(x == torch.floor(x), torch.full_like(x, inf), turned)
    return __torch__.operators.onnx_out._narrow(torch.where(x < 0.5, turned, y), self.dtype)


def onnx_out_digamma(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    x = __torch__.operators.onnx_out._wide(self)
    up = torch.where(x < 0.5, 1 - x, x)
    less = torch.zeros_like(up)
    for i in range(8):
        less = less + torch.reciprocal(up + i)
    z = up + 8
    r = torch.reciprocal(z * z)
    y = torch.log(z) - 0.5 / z - (((r * -0.0039682539682539683 + 0.0083333333333333333) * r * -1 + 0.083333333333333333) * r) - less
    part = (x - torch.floor(x)) * 3.1415926535897932
    turned = y - torch.cos(part) / torch.sin(part) * 3.1415926535897932
    turned = torch.where(x == torch.floor(x), torch.full_like(x, nan), turned)
    turned = torch.where(x == 0, torch.reciprocal(x) * -1, turned)
    return __torch__.operators.onnx_out._narrow(torch.where(x < 0.5, turned, y), self.dtype)


def onnx_out_i0(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    z = torch.abs(__torch__.operators.onnx_out._wide(self))
    t = torch.square(z / 3.75)
    near = t * 0.0045813 + 0.0360768
    for c in [0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0]:
        near = near * t + c
    s = torch.reciprocal(torch.clamp_min(z, 1.0) / 3.75)
    far = s * 0.00392377 - 0.01647633
    for c in [0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228]:
        far = far * s + c
    return __torch__.operators.onnx_out._narrow(torch.where(z < 3.75, near, far * torch.exp(z) / torch.sqrt(z)), self.dtype)


def onnx_out_sign(self: Tensor) -> Tensor:
    if self.dtype == 11:
        return torch.clone(self)
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.sign(self)
    return torch.where(torch.isnan(self), torch.zeros_like(self), torch.sign(self))


def onnx_out_sgn(self: Tensor) -> Tensor:
    return torch.sign(self)


def onnx_out_signbit(self: Tensor) -> Tensor:
    if self.dtype == 11:
        return torch.zeros_like(self)
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return self < 0
    return torch.logical_or(self < 0, torch.reciprocal(self) < 0)


def _copysign(self: Tensor, other: Tensor) -> Tensor:
    size = torch.abs(self)
    return torch.where(torch.signbit(other), torch.neg(size), size)


def onnx_out_copysign__Tensor(self: Tensor, other: Tensor) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    return torch.to(__torch__.operators.onnx_out._copysign(a, b), dtype)


def onnx_out_copysign__Scalar(self: Tensor, other: number) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(self, self.dtype)
    return __torch__.operators.onnx_out._copysign(x, torch.full([], other, dtype=x.dtype))


def onnx_out_angle(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(self, self.dtype)
    return torch.where(torch.isnan(x), x, torch.where(x < 0, torch.full_like(x, 3.1415926535897932), torch.zeros_like(x)))


def onnx_out_isreal(self: Tensor) -> Tensor:
    return torch.ones_like(self, dtype=11)


def onnx_out_sinc(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self) * 3.1415926535897932
    return __torch__.operators.onnx_out._narrow(torch.where(x == 0, torch.ones_like(x), torch.sin(x) / x), self.dtype)


def onnx_out_logit(self: Tensor, eps: Optional[float]) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    if eps is not None:
        x = torch.clamp(x, eps, 1.0 - eps)
    return __torch__.operators.onnx_out._narrow(torch.log(x / (1 - x)), self.dtype)


def onnx_out_nan_to_num(self: Tensor, nan: Optional[float], posinf: Optional[float], neginf: Optional[float]) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.clone(self)
    most = 65504.0 if self.dtype == 5 else 1.7976931348623157e308 if self.dtype == 7 else 3.4028234663852886e38 if self.dtype == 6 else 3.3895313892515355e38
    x = torch.where(torch.isnan(self), torch.full([], 0.0 if nan is None else nan, dtype=self.dtype), self)
    x = torch.where(torch.eq(x, inf), torch.full([], most if posinf is None else posinf, dtype=self.dtype), x)
    return torch.where(torch.eq(x, -inf), torch.full([], -most if neginf is None else neginf, dtype=self.dtype), x)


def onnx_out_isfinite(self: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.ones_like(self, dtype=11)
    return torch.logical_not(torch.logical_or(torch.isinf(self), torch.isnan(self)))


def onnx_out_isposinf(self: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.zeros_like(self, dtype=11)
    return torch.eq(self, inf)


def onnx_out_isneginf(self: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.zeros_like(self, dtype=11)
    return torch.eq(self, -inf)


def onnx_out_special_entr(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    y = torch.where(x > 0, torch.neg(x) * torch.log(x), torch.where(x == 0, torch.zeros_like(x), torch.full_like(x, -inf)))
    return __torch__.operators.onnx_out._narrow(torch.where(torch.isnan(x), x, y), self.dtype)


def _xlog(x: Tensor, y: Tensor, log: Tensor) -> Tensor:
    return torch.where(torch.isnan(y), y, torch.where(x == 0, torch.zeros_like(x), x * log))


def onnx_out_xlogy__Tensor(self: Tensor, other: Tensor) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    return torch.to(__torch__.operators.onnx_out._xlog(a, b, torch.log(b)), dtype)


def onnx_out_xlogy__Scalar_Other(self: Tensor, other: number) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(self, self.dtype)
    return torch.xlogy(x, torch.full([], other, dtype=x.dtype))


def onnx_out_xlogy__Scalar_Self(self: number, other: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(other, other.dtype)
    return torch.xlogy(torch.full([], self, dtype=x.dtype), x)


def onnx_out_special_xlog1py(self: Tensor, other: Tensor) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    return torch.to(__torch__.operators.onnx_out._xlog(a, b, __torch__.operators.onnx_out._log1p(b)), dtype)


def onnx_out_special_xlog1py__other_scalar(self: Tensor, other: number) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(self, self.dtype)
    return torch.special_xlog1py(x, torch.full([], other, dtype=x.dtype))


def onnx_out_special_xlog1py__self_scalar(self: number, other: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._narrow(other, other.dtype)
    return torch.special_xlog1py(torch.full([], self, dtype=x.dtype), x)


# a number from 0.5 to 1, and the power of two that it is times of
def _frexp(self: Tensor) -> Tuple[Tensor, Tensor]:
    size = torch.abs(self)
    tiny = size < 1e-30
    z = torch.where(tiny, size * 1.2676506002282294e30, size)  # 2^100
    none = torch.logical_or(z == 0, torch.logical_not(torch.isfinite(z)))
    e = torch.floor(torch.log2(torch.where(none, 1.0, z)))
    m = z / torch.pow(2.0, e) * 0.5
    m, e = torch.where(m < 0.5, m * 2, m), torch.where(m < 0.5, e, e + 1)
    m, e = torch.where(m >= 1, m * 0.5, m), torch.where(m >= 1, e + 1, e)
    m, e = torch.where(none, self, torch.where(self < 0, torch.neg(m), m)), torch.where(tiny, e - 100, e)
    return (m, torch.where(none, torch.zeros_like(e), e))


def onnx_out_frexp__Tensor(self: Tensor) -> Tuple[Tensor, Tensor]:
    m, e = __torch__.operators.onnx_out._frexp(__torch__.operators.onnx_out._wide(self))
    return (torch.to(m, self.dtype), torch.to(e, 3))


def onnx_out_nextafter(self: Tensor, other: Tensor) -> Tensor:
    x, y, dtype = __torch__.operators.onnx_out._common(self, other)
    if dtype != 6 and dtype != 7:
        raise RuntimeError("of floats of 16 bits")
    digits, least, most = 24, -125, 3.4028234663852886e38
    if dtype == 7:
        digits, least, most = 53, -1021, 1.7976931348623157e308
    m, e = __torch__.operators.onnx_out._frexp(x)
    up, zero = y > x, x == 0
    # half a step where a power of two is left towards 0
    down = torch.logical_and(torch.abs(m) == 0.5, up != (x > 0))
    step = torch.pow(2.0, torch.clamp_min(torch.where(zero, float(least), torch.where(down, e - 1, e)), least) - digits)
    z = torch.where(torch.isinf(x), torch.where(x > 0, most, -most), torch.where(up, x + step, x - step))
    z = torch.where(x == y, y, z)
    return torch.where(torch.logical_or(torch.isnan(x), torch.isnan(y)), nan, z)


def onnx_out_mvlgamma(self: Tensor, p: int) -> Tensor:
    x = torch.unsqueeze(__torch__.operators.onnx_out._narrow(self, self.dtype), -1)
    return torch.sum(torch.lgamma(x - torch.arange(p, dtype=x.dtype) * 0.5), [-1]) + p * (p - 1) * 0.28618247146235004


# ---- activations -----------------------------------------------------------------------------------------------------


def onnx_out_relu(self: Tensor) -> Tensor:
    if __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.relu(self)
    return torch.clamp_min(self, 0)


def onnx_out_glu(self: Tensor, dim: int) -> Tensor:
    half = self.size(dim) // 2
    return torch.narrow(self, dim, 0, half) * torch.sigmoid(torch.narrow(self, dim, half, half))


def onnx_out_hardshrink(self: Tensor, lambd: number) -> Tensor:
    return torch.where(torch.logical_and(self >= -lambd, self <= lambd), torch.zeros_like(self), self)


def onnx_out_softshrink(self: Tensor, lambd: number) -> Tensor:
    return torch.where(self > lambd, self - lambd, torch.where(self < -lambd, self + lambd, self * 0))


def onnx_out_threshold(self: Tensor, threshold: number, value: number) -> Tensor:
    return torch.where(self <= threshold, torch.full([], value, dtype=self.dtype), self)


def onnx_out_rrelu(self: Tensor, lower: number, upper: number, training: bool, generator: Optional[Generator]) -> Tensor:
    if training:
        raise RuntimeError("in training mode: call eval() before")
    return torch.leaky_relu(self, (float(lower) + float(upper)) / 2)


def onnx_out_softplus(self: Tensor, beta: number, threshold: number) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    scaled = x * beta
    y = (torch.clamp_min(scaled, 0) + __torch__.operators.onnx_out._log1p(torch.exp(torch.neg(torch.abs(scaled))))) / beta
    if self.dtype == 6 and beta == 1:
        y = torch.softplus(x, 1, 20)
        if threshold >= 15:
            return y
    return torch.to(torch.where(scaled > threshold, x, y), self.dtype)


def onnx_out_elu(self: Tensor, alpha: number, scale: number, input_scale: number) -> Tensor:
    if self.dtype == 6 and scale == 1 and input_scale == 1:
        return torch.elu(self, alpha)
    x = __torch__.operators.onnx_out._wide(self)
    return torch.to(torch.where(x > 0, x, torch.expm1(torch.clamp_max(x, 0) * input_scale) * alpha) * scale, self.dtype)


def onnx_out_celu(self: Tensor, alpha: number) -> Tensor:
    if self.dtype == 6:
        return torch.celu(self, alpha)
    x = __torch__.operators.onnx_out._wide(self)
    return torch.to(torch.where(x > 0, x, torch.expm1(torch.clamp_max(x, 0) / alpha) * alpha), self.dtype)


def onnx_out_selu(self: Tensor) -> Tensor:
    if self.dtype == 6:
        return torch.selu(self)
    return torch.elu(self, 1.6732632423543772, 1.0507009873554805, 1)


def onnx_out_mish(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out._wide(self)
    return torch.to(x * torch.tanh(torch.softplus(x, 1, 20)), self.dtype)


def onnx_out_leaky_relu(self: Tensor, negative_slope: number) -> Tensor:
    if self.dtype == 7:
        return torch.where(self > 0, self, self * negative_slope)
    return torch.leaky_relu(self, negative_slope)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


# c10::div_floor_floating
def _floor_div(a: Tensor, b: Tensor) -> Tensor:
    mod = torch.fmod(a, b)
    q = (a - mod) / b
    q = torch.where(torch.logical_and(mod != 0, torch.ne(b < 0, mod < 0)), q - 1, q)
    down = torch.floor(q)
    down = torch.where(q - down > 0.5, down + 1, down)
    y = torch.where(q == 0, __torch__.operators.onnx_out._copysign(torch.zeros_like(q), a / b), down)
    return torch.where(b == 0, a / b, y)


def onnx_out_div__Tensor_mode(self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    dtype = torch.result_type(self, other)
    if rounding_mode is None or not __torch__.operators.onnx_out._is_float(dtype):
        return torch.div(self, other, rounding_mode=rounding_mode)
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    if rounding_mode == "trunc":
        return torch.to(torch.trunc(a / b), dtype)
    return torch.to(__torch__.operators.onnx_out._floor_div(a, b), dtype)


def onnx_out_div__Scalar_mode(self: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
    dtype = torch.result_type(self, other)
    if rounding_mode is None or not __torch__.operators.onnx_out._is_float(dtype):
        return torch.div(self, other, rounding_mode=rounding_mode)
    a = torch.to(self, dtype)
    return torch.div(a, torch.full([], other, dtype=dtype), rounding_mode=rounding_mode)


def onnx_out_floor_divide(self: Tensor, other: Tensor) -> Tensor:
    return torch.div(self, other, rounding_mode="floor")


def onnx_out_floor_divide__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.div(self, other, rounding_mode="floor")


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    mod = torch.fmod(a, b)
    return torch.where(torch.logical_and(mod != 0, torch.ne(b < 0, mod < 0)), mod + b, mod)


def onnx_out_remainder__Tensor(self: Tensor, other: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(torch.result_type(self, other)):
        return torch.remainder(self, other)
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    return torch.to(__torch__.operators.onnx_out._remainder(a, b), dtype)


def onnx_out_remainder__Scalar(self: Tensor, other: number) -> Tensor:
    dtype = torch.result_type(self, other)
    if not __torch__.operators.onnx_out._is_float(dtype):
        return torch.remainder(self, other)
    return torch.remainder(torch.to(self, dtype), torch.full([], other, dtype=dtype))


def onnx_out_remainder__Scalar_Tensor(self: number, other: Tensor) -> Tensor:
    dtype = torch.result_type(other, self)
    if not __torch__.operators.onnx_out._is_float(dtype):
        return torch.remainder(self, other)
    return torch.remainder(torch.full([], self, dtype=dtype), torch.to(other, dtype))


def onnx_out_fmax(self: Tensor, other: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(torch.result_type(self, other)):
        return torch.maximum(self, other)
    dtype = torch.result_type(self, other)
    a, b = torch.to(self, dtype), torch.to(other, dtype)
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.maximum(a, b)))


def onnx_out_fmin(self: Tensor, other: Tensor) -> Tensor:
    if not __torch__.operators.onnx_out._is_float(torch.result_type(self, other)):
        return torch.minimum(self, other)
    dtype = torch.result_type(self, other)
    a, b = torch.to(self, dtype), torch.to(other, dtype)
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.minimum(a, b)))


def onnx_out_float_power__Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    return torch.pow(torch.to(self, 7), torch.to(exponent, 7))


def onnx_out_float_power__Tensor_Scalar(self: Tensor, exponent: number) -> Tensor:
    return torch.pow(torch.to(self, 7), exponent)


def onnx_out_float_power__Scalar(self: number, exponent: Tensor) -> Tensor:
    return torch.pow(torch.full([], self, dtype=7), torch.to(exponent, 7))


def onnx_out_hypot(self: Tensor, other: Tensor) -> Tensor:
    x, y, dtype = __torch__.operators.onnx_out._common(self, other)
    a, b = torch.abs(x), torch.abs(y)
    most = torch.maximum(a, b)
    r = torch.minimum(a, b) / most
    long = most * torch.sqrt(r * r + 1)
    long = torch.where(most == 0, most, long)
    return torch.to(torch.where(torch.logical_or(torch.eq(a, inf), torch.eq(b, inf)), torch.full_like(long, inf), long), dtype)


def onnx_out_atan2(self: Tensor, other: Tensor) -> Tensor:
    y, x, dtype = __torch__.operators.onnx_out._common(self, other)
    a, b = torch.abs(y), torch.abs(x)
    q = torch.where(a == b, torch.where(a == 0, torch.zeros_like(a * b), torch.ones_like(a * b)), torch.minimum(a, b) / torch.maximum(a, b))
    r = torch.atan(q)
    r = torch.where(a > b, 1.5707963267948966 - r, r)
    r = torch.where(torch.signbit(x), 3.1415926535897932 - r, r)
    return torch.to(torch.where(torch.signbit(y), torch.neg(r), r), dtype)


def onnx_out_logaddexp(self: Tensor, other: Tensor) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    most = torch.maximum(a, b)
    y = most + __torch__.operators.onnx_out._log1p(torch.exp(torch.neg(torch.abs(a - b))))
    return torch.to(torch.where(torch.logical_and(torch.isinf(a), a == b), a + torch.zeros_like(b), y), dtype)


def onnx_out_logaddexp2(self: Tensor, other: Tensor) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(self, other)
    most = torch.maximum(a, b)
    y = most + __torch__.operators.onnx_out._log1p(torch.pow(2.0, torch.neg(torch.abs(a - b)))) * 1.4426950408889634
    return torch.to(torch.where(torch.logical_and(torch.isinf(a), a == b), a + torch.zeros_like(b), y), dtype)


def onnx_out_heaviside(self: Tensor, values: Tensor) -> Tensor:
    return torch.where(self == 0, values, torch.to(self > 0, self.dtype))


def onnx_out_gcd(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    a = torch.abs(torch.to(self, 4)) + torch.zeros_like(torch.to(other, 4))
    b = torch.abs(torch.to(other, 4)) + torch.zeros_like(torch.to(self, 4))
    while bool(torch.any(b != 0)):
        done = b == 0
        rest = torch.fmod(a, torch.where(done, torch.ones_like(b), b))
        a = torch.where(done, a, b)
        b = torch.where(done, b, rest)
    return torch.to(a, dtype)


def onnx_out_lcm(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    a, b = torch.to(self, 4), torch.to(other, 4)
    g = torch.gcd(a, b)
    return torch.to(torch.abs(torch.div(a, torch.where(g == 0, torch.ones_like(g), g), rounding_mode="trunc") * b), dtype)


def onnx_out_ldexp__Tensor(self: Tensor, other: Tensor) -> Tensor:
    return self * torch.pow(2.0, other)


# Integers by squares: engines take the power of floats, which is exact up to 2^53 alone.
def _power(base: Tensor, exponent: Tensor) -> Tensor:
    y = torch.ones_like(base + exponent)
    b, e = base, torch.clamp_min(exponent, 0)
    for i in range(10):
        y = torch.where(torch.remainder(e, 2) == 1, y * b, y)
        b = b * b
        e = torch.div(e, 2, rounding_mode="floor")
    odd = torch.where(torch.remainder(exponent, 2) == 1, base, torch.ones_like(base))
    one = torch.abs(base) == 1
    return torch.where(exponent < 0, torch.where(one, odd, torch.zeros_like(base)), y)


def onnx_out_pow__Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    dtype = torch.result_type(self, exponent)
    if __torch__.operators.onnx_out._is_float(dtype):
        return torch.pow(self, exponent)
    return torch.to(__torch__.operators.onnx_out._power(torch.to(self, 4), torch.to(exponent, 4)), dtype)


def onnx_out_pow__Scalar(self: number, exponent: Tensor) -> Tensor:
    dtype = torch.result_type(exponent, self)
    if __torch__.operators.onnx_out._is_float(dtype):
        return torch.pow(self, exponent)
    return torch.to(__torch__.operators.onnx_out._power(torch.full([], self, dtype=4), torch.to(exponent, 4)), dtype)


def onnx_out_pow__Tensor_Scalar(self: Tensor, exponent: number) -> Tensor:
    dtype = torch.result_type(self, exponent)
    if __torch__.operators.onnx_out._is_float(dtype):
        if exponent == 0.5:  # not Pow: they differ in infinity and -0.0
            return torch.sqrt(self)
        if exponent == -0.5:
            return torch.rsqrt(self)
        return torch.pow(self, exponent)
    x = torch.to(self, 4)
    n = int(exponent)
    if n < 0:
        return torch.pow(self, exponent)
    y = torch.ones_like(x)
    started = False
    while n > 0:
        if n % 2 == 1:
            y = y * x if started else x
            started = True
        n = n // 2
        if n > 0:
            x = x * x
    return torch.to(y, dtype)


# ---- bounds, bits ----------------------------------------------------------------------------------------------------


def onnx_out_clamp__Tensor(self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    x = self
    if min is not None:
        x = torch.maximum(x, min)
    if max is not None:
        x = torch.minimum(x, max)
    return x


def onnx_out_clip__Tensor(self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    return torch.clamp(self, min, max)


def onnx_out_clamp_min__Tensor(self: Tensor, min: Tensor) -> Tensor:
    return torch.maximum(self, min)


def onnx_out_clamp_max__Tensor(self: Tensor, max: Tensor) -> Tensor:
    return torch.minimum(self, max)


def _bits(dtype: int) -> int:
    return 64 if dtype == 4 else 32 if dtype == 3 else 16 if dtype == 2 else 8


# n from 0 to the number of bits; x 2^n wraps around as the bits do
def _shift_left(x: Tensor, n: Tensor, dtype: int) -> Tensor:
    bits = __torch__.operators.onnx_out._bits(dtype)
    ok = torch.logical_and(n >= 0, n < bits)
    most = 62 if bits == 64 else bits
    y = torch.to(x, 4) * torch.to(torch.pow(2.0, torch.to(torch.clamp(n, 0, most), 7)), 4)
    if bits == 64:
        y = torch.where(n == 63, y * 2, y)
    return torch.to(torch.where(ok, y, torch.zeros_like(y)), dtype)


def _shift_right(x: Tensor, n: Tensor, dtype: int) -> Tensor:
    bits = __torch__.operators.onnx_out._bits(dtype)
    least = bits - 1 if dtype != 0 else 8
    m = torch.where(n < 0, torch.full_like(n, least), torch.clamp(n, 0, least))
    y = torch.div(torch.to(x, 4), torch.to(torch.pow(2.0, torch.to(torch.clamp(m, None, 62), 7)), 4), rounding_mode="floor")
    if bits == 64:
        y = torch.where(m == 63, torch.div(y, 2, rounding_mode="floor"), y)
    return torch.to(y, dtype)


def onnx_out___lshift____Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_left_shift(self, other)


def onnx_out___lshift____Scalar(self: Tensor, other: number) -> Tensor:
    return torch.bitwise_left_shift(self, other)


def onnx_out___rshift____Tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_right_shift(self, other)


def onnx_out___rshift____Scalar(self: Tensor, other: number) -> Tensor:
    return torch.bitwise_right_shift(self, other)


def onnx_out_bitwise_left_shift__Tensor(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    if __torch__.operators.onnx_out._is_float(dtype):
        return self * torch.pow(2.0, other)
    return __torch__.operators.onnx_out._shift_left(torch.to(self, dtype), torch.to(other, 4), dtype)


def onnx_out_bitwise_left_shift__Tensor_Scalar(self: Tensor, other: number) -> Tensor:
    dtype = torch.result_type(self, other)
    if __torch__.operators.onnx_out._is_float(dtype):
        return self * (2.0 ** float(other))
    return __torch__.operators.onnx_out._shift_left(torch.to(self, dtype), torch.full([], int(other), dtype=4), dtype)


def onnx_out_bitwise_left_shift__Scalar_Tensor(self: number, other: Tensor) -> Tensor:
    return torch.bitwise_left_shift(torch.full([], self, dtype=torch.result_type(other, self)), other)


def onnx_out_bitwise_right_shift__Tensor(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    if __torch__.operators.onnx_out._is_float(dtype):
        return self / torch.pow(2.0, other)
    return __torch__.operators.onnx_out._shift_right(torch.to(self, dtype), torch.to(other, 4), dtype)


def onnx_out_bitwise_right_shift__Tensor_Scalar(self: Tensor, other: number) -> Tensor:
    dtype = torch.result_type(self, other)
    if __torch__.operators.onnx_out._is_float(dtype):
        return self / (2.0 ** float(other))
    return __torch__.operators.onnx_out._shift_right(torch.to(self, dtype), torch.full([], int(other), dtype=4), dtype)


def onnx_out_bitwise_right_shift__Scalar_Tensor(self: number, other: Tensor) -> Tensor:
    return torch.bitwise_right_shift(torch.full([], self, dtype=torch.result_type(other, self)), other)


# ---- comparisons -----------------------------------------------------------------------------------------------------


def onnx_out_isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    close = self == other
    if __torch__.operators.onnx_out._is_float(self.dtype):
        if equal_nan:
            close = torch.logical_or(close, torch.logical_and(torch.isnan(self), torch.isnan(other)))
    a, b = __torch__.operators.onnx_out._wide(self), __torch__.operators.onnx_out._wide(other)
    actual = torch.abs(a - b)
    return torch.logical_or(close, torch.logical_and(torch.isfinite(actual), actual <= torch.abs(b * rtol) + atol))


def onnx_out_allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(torch.all(torch.isclose(self, other, rtol, atol, equal_nan)))


def onnx_out_equal(self: Tensor, other: Tensor) -> bool:
    if self.size() != other.size():
        return False
    return bool(torch.all(self == other))


def onnx_out_isin__Tensor_Tensor(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    found = torch.any(torch.unsqueeze(elements, -1) == torch.reshape(test_elements, [-1]), -1, False)
    return torch.logical_not(found) if invert else found


def onnx_out_isin__Tensor_Scalar(elements: Tensor, test_element: number, assume_unique: bool, invert: bool) -> Tensor:
    return torch.ne(elements, test_element) if invert else torch.eq(elements, test_element)


def onnx_out_isin__Scalar_Tensor(element: number, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    found = torch.any(torch.eq(test_elements, element))
    return torch.logical_not(found) if invert else found


# ---- reductions ------------------------------------------------------------------------------------------------------


def _all_dims(self: Tensor, dim: Optional[List[int]]) -> List[int]:
    dims: List[int] = []
    if dim is not None:
        for d in dim:
            dims.append(__torch__.operators.onnx_out._wrap(d, self.dim()))
    if len(dims) == 0:
        for i in range(self.dim()):
            dims.append(i)
    return dims


def _vector_norm(self: Tensor, p: float, dims: List[int], keepdim: bool) -> Tensor:
    x = torch.abs(self)
    if self.dim() == 0:
        return torch.to(x != 0, x.dtype) if p == 0.0 else x
    if p == inf:
        return torch.amax(x, dims, keepdim)
    if p == -inf:
        return torch.amin(x, dims, keepdim)
    if p == 0.0:
        return torch.sum(torch.to(x != 0, x.dtype), dims, keepdim)
    if p == 1.0:
        return torch.sum(x, dims, keepdim)
    if p == 2.0:
        return torch.sqrt(torch.sum(x * x, dims, keepdim))
    return torch.pow(torch.sum(torch.pow(x, p), dims, keepdim), 1.0 / p)


def onnx_out_linalg_vector_norm(self: Tensor, ord: number, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    x = self if dtype is None else torch.to(self, dtype)
    y = __torch__.operators.onnx_out._vector_norm(__torch__.operators.onnx_out._wide(x), float(ord), __torch__.operators.onnx_out._all_dims(x, dim), keepdim)
    return torch.to(y, x.dtype)


def onnx_out_norm__Scalar(self: Tensor, p: number) -> Tensor:
    return torch.linalg_vector_norm(self, p, None, False)


def onnx_out_norm__ScalarOpt_dim(self: Tensor, p: Optional[number], dim: List[int], keepdim: bool) -> Tensor:
    return torch.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim)


def onnx_out_norm__ScalarOpt_dim_dtype(self: Tensor, p: Optional[number], dim: List[int], keepdim: bool, dtype: int) -> Tensor:
    return torch.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


def onnx_out_norm__ScalarOpt_dtype(self: Tensor, p: Optional[number], dtype: int) -> Tensor:
    return torch.linalg_vector_norm(self, 2 if p is None else p, None, False, dtype=dtype)


def onnx_out_dist(self: Tensor, other: Tensor, p: number) -> Tensor:
    return torch.linalg_vector_norm(self - other, p, None, False)


# dims a and b after the others
def _behind(ndim: int, a: int, b: int) -> List[int]:
    order: List[int] = []
    for i in range(ndim):
        if i != a and i != b:
            order.append(i)
    return order + [a, b]


def onnx_out_linalg_matrix_norm(self: Tensor, ord: number, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    x = self if dtype is None else torch.to(self, dtype)
    p = float(ord)
    size = torch.abs(x)
    a, b = __torch__.operators.onnx_out._wrap(dim[0], x.dim()), __torch__.operators.onnx_out._wrap(dim[1], x.dim())
    if abs(p) == 1.0:
        sums = torch.sum(size, [a], True)
    elif abs(p) == inf:
        sums = torch.sum(size, [b], True)
    elif abs(p) == 2.0:
        s = torch.linalg_svdvals(torch.permute(x, __torch__.operators.onnx_out._behind(x.dim(), a, b)))
        y = torch.amax(s, [-1]) if p > 0 else torch.amin(s, [-1])
        return torch.unsqueeze(torch.unsqueeze(y, min(a, b)), max(a, b)) if keepdim else y
    else:
        raise RuntimeError("norms of this order")
    y = torch.amax(sums, [a, b], True) if p > 0 else torch.amin(sums, [a, b], True)
    return y if keepdim else torch.sum(y, [a, b])


def onnx_out_linalg_matrix_norm__str_ord(self: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord != "fro":
        x = self if dtype is None else torch.to(self, dtype)
        a, b = __torch__.operators.onnx_out._wrap(dim[0], x.dim()), __torch__.operators.onnx_out._wrap(dim[1], x.dim())
        y = torch.sum(torch.linalg_svdvals(torch.permute(x, __torch__.operators.onnx_out._behind(x.dim(), a, b))), [-1])
        return torch.unsqueeze(torch.unsqueeze(y, min(a, b)), max(a, b)) if keepdim else y
    return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)


def onnx_out_linalg_norm(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if self.dim() == 2:
            return torch.linalg_matrix_norm(self, ord, [-2, -1], keepdim, dtype=dtype)
    elif len(dim) == 2:
        return torch.linalg_matrix_norm(self, ord, dim, keepdim, dtype=dtype)
    return torch.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)


def onnx_out_linalg_norm__ord_str(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    return torch.linalg_matrix_norm(self, ord, [-2, -1] if dim is None else dim, keepdim, dtype=dtype)


def _moments(self: Tensor, dim: Optional[List[int]], correction: number, keepdim: bool) -> Tuple[Tensor, Tensor]:
    x = __torch__.operators.onnx_out._wide(self)
    if self.dim() == 0:
        return (x - x if correction == 0 else x * nan, x)
    dims = __torch__.operators.onnx_out._all_dims(self, dim)
    count = 1
    for d in dims:
        count = count * self.size(d)
    mean = torch.mean(x, dims, True)
    square = torch.sum(torch.square(x - mean), dims, keepdim)
    mean = mean if keepdim else torch.mean(x, dims, False)
    return (square / max(count - correction, 0), mean)


def onnx_out_var(self: Tensor, unbiased: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, None, 1 if unbiased else 0, False)
    return torch.to(v, self.dtype)


def onnx_out_var__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if unbiased else 0, keepdim)
    return torch.to(v, self.dtype)


def onnx_out_var__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if correction is None else correction, keepdim)
    return torch.to(v, self.dtype)


def onnx_out_std(self: Tensor, unbiased: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, None, 1 if unbiased else 0, False)
    return torch.to(torch.sqrt(v), self.dtype)


def onnx_out_std__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if unbiased else 0, keepdim)
    return torch.to(torch.sqrt(v), self.dtype)


def onnx_out_std__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if correction is None else correction, keepdim)
    return torch.to(torch.sqrt(v), self.dtype)


def onnx_out_var_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    v, m = __torch__.operators.onnx_out._moments(self, None, 1 if unbiased else 0, False)
    return (torch.to(v, self.dtype), torch.to(m, self.dtype))


def onnx_out_var_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if unbiased else 0, keepdim)
    return (torch.to(v, self.dtype), torch.to(m, self.dtype))


def onnx_out_var_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    v, m = __torch__.operators.onnx_out._moments(self, dim, 1 if correction is None else correction, keepdim)
    return (torch.to(v, self.dtype), torch.to(m, self.dtype))


def onnx_out_std_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    v, m = torch.var_mean(self, unbiased)
    return (torch.sqrt(v), m)


def onnx_out_std_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    v, m = torch.var_mean(self, dim, unbiased, keepdim)
    return (torch.sqrt(v), m)


def onnx_out_std_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    v, m = torch.var_mean(self, dim, correction=correction, keepdim=keepdim)
    return (torch.sqrt(v), m)


def onnx_out_nansum(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    x = self
    if __torch__.operators.onnx_out._is_float(self.dtype):
        x = torch.where(torch.isnan(self), torch.zeros_like(self), self)
    return torch.sum(x, dim, keepdim, dtype=dtype)


def onnx_out_nanmean(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    x = self if dtype is None else torch.to(self, dtype)
    count = torch.sum(torch.logical_not(torch.isnan(x)), dim, keepdim)
    return torch.nansum(x, dim, keepdim) / torch.to(count, x.dtype)


def onnx_out_count_nonzero(self: Tensor, dim: Optional[int]) -> Tensor:
    found = self != 0
    return torch.sum(found) if dim is None else torch.sum(found, [dim])


def onnx_out_count_nonzero__dim_IntList(self: Tensor, dim: List[int]) -> Tensor:
    return torch.sum(self != 0, dim)


def onnx_out_aminmax(self: Tensor, dim: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    dims: List[int] = []
    if dim is not None:
        dims.append(dim)
    return (torch.amin(self, dims, keepdim), torch.amax(self, dims, keepdim))


def onnx_out_argmax(self: Tensor, dim: Optional[int], keepdim: bool) -> Tensor:
    if dim is None and keepdim:
        ones: List[int] = []
        for i in range(self.dim()):
            ones.append(1)
        return torch.reshape(torch.argmax(self, None, False), ones)
    return torch.argmax(self, dim, keepdim)


def onnx_out_argmin(self: Tensor, dim: Optional[int], keepdim: bool) -> Tensor:
    if dim is None and keepdim:
        ones: List[int] = []
        for i in range(self.dim()):
            ones.append(1)
        return torch.reshape(torch.argmin(self, None, False), ones)
    return torch.argmin(self, dim, keepdim)


# nan anywhere along dim is the result, and its place the index; else the element at `at` of those in order
def _ordered(self: Tensor, at: int, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        return (torch.clone(self), torch.zeros_like(self, dtype=4))
    values, indices = torch.sort(self, dim, False)
    v, i = torch.narrow(values, dim, at, 1), torch.narrow(indices, dim, at, 1)
    if __torch__.operators.onnx_out._is_float(self.dtype):
        bad = torch.to(torch.isnan(self), 4)
        first = torch.argmax(bad, dim, True)
        any = torch.amax(bad, [dim], True) != 0
        v = torch.where(any, torch.full_like(v, nan), v)
        i = torch.where(any, first, i)
    return (v, i) if keepdim else (torch.squeeze(v, dim), torch.squeeze(i, dim))


def onnx_out_median__dim(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    n = 1 if self.dim() == 0 else self.size(dim)
    return __torch__.operators.onnx_out._ordered(self, (n - 1) // 2, dim, keepdim)


def onnx_out_median(self: Tensor) -> Tensor:
    v, i = torch.median(torch.reshape(self, [-1]), 0, False)
    return v


def onnx_out_kthvalue(self: Tensor, k: int, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._ordered(self, k - 1, dim, keepdim)


def onnx_out_nanmedian__dim(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    if not __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.median(self, dim, keepdim)
    bad = torch.isnan(self)
    values, indices = torch.sort(torch.where(bad, torch.full_like(self, inf), self), dim, False)
    count = torch.sum(torch.logical_not(bad), [dim], True)
    at = torch.div(torch.clamp_min(count - 1, 0), 2, rounding_mode="floor")
    v = torch.where(count == 0, torch.full_like(torch.gather(values, dim, at), nan), torch.gather(values, dim, at))
    i = torch.gather(indices, dim, at)
    return (v, i) if keepdim else (torch.squeeze(v, dim), torch.squeeze(i, dim))


def onnx_out_nanmedian(self: Tensor) -> Tensor:
    v, i = torch.nanmedian(torch.reshape(self, [-1]), 0, False)
    return v


# the smallest of the most frequent; its last place
def onnx_out_mode(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        return (torch.clone(self), torch.zeros_like(self, dtype=4))
    x = torch.transpose(self, dim, -1)
    ordered, at = torch.sort(x, -1, False)
    count = torch.sum(torch.to(torch.unsqueeze(ordered, -1) == torch.unsqueeze(ordered, -2), 4), [-1])
    first = torch.argmax(count, -1, True)
    v = torch.gather(ordered, -1, first)
    n = torch.arange(self.size(dim), dtype=4)
    i = torch.amax(torch.where(x == v, n, torch.full_like(n, -1)), [-1], True)
    v, i = torch.transpose(v, dim, -1), torch.transpose(i, dim, -1)
    return (v, i) if keepdim else (torch.squeeze(v, dim), torch.squeeze(i, dim))


# skip: nan is none of them
def _quantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str, skip: bool) -> Tensor:
    d = 0 if dim is None else __torch__.operators.onnx_out._wrap(dim, self.dim())
    x = torch.reshape(self, [-1]) if dim is None or self.dim() == 0 else torch.transpose(self, d, 0)
    none = torch.isnan(x)
    ordered, at = torch.sort(torch.where(none, inf, x) if skip else x, 0, False)
    sizes: List[int] = [-1]
    for i in range(x.dim() - 1):
        sizes.append(1)
    valid = torch.sum(torch.to(torch.logical_not(none), x.dtype), [0], True)
    if skip:
        rank = torch.reshape(q, sizes) * torch.clamp_min(valid - 1, 0)
    else:
        rank = torch.reshape(q, [-1]) * (x.size(0) - 1)
    low = torch.floor(rank)
    if interpolation == "lower":
        rank = low
    elif interpolation == "higher":
        rank = torch.ceil(rank)
    elif interpolation == "nearest":
        rank = torch.round(rank)
    below = torch.floor(rank)
    weight = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
    if skip:
        a = torch.gather(ordered, 0, torch.to(below, 4))
        b = torch.gather(ordered, 0, torch.to(torch.ceil(rank), 4))
        lost, w = valid == 0, weight
    else:
        a = torch.index_select(ordered, 0, torch.to(below, 4))
        b = torch.index_select(ordered, 0, torch.to(torch.ceil(rank), 4))
        lost, w = torch.any(none, 0, True), torch.reshape(weight, sizes)
    y = torch.where(a == b, a, torch.where(w < 0.5, a + (b - a) * w, b - (b - a) * (1 - w)))
    y = torch.where(lost, torch.full([], nan, dtype=x.dtype), y)
    # [q, ...]: dim d of the argument is in front of the rest
    if dim is not None and self.dim() > 0:
        y = torch.transpose(torch.unsqueeze(y, 1), 1, d + 1)
        if not keepdim:
            y = torch.squeeze(y, d + 1)
    elif keepdim:
        ones: List[int] = [-1]
        for i in range(self.dim()):
            ones.append(1)
        y = torch.reshape(y, ones)
    return torch.squeeze(y, 0) if q.dim() == 0 else y


def onnx_out_quantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.operators.onnx_out._quantile(self, q, dim, keepdim, interpolation, False)


def onnx_out_quantile__scalar(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.operators.onnx_out._quantile(self, torch.full([], q, dtype=self.dtype), dim, keepdim, interpolation, False)


def onnx_out_nanquantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.operators.onnx_out._quantile(self, q, dim, keepdim, interpolation, True)


def onnx_out_nanquantile__scalar(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.operators.onnx_out._quantile(self, torch.full([], q, dtype=self.dtype), dim, keepdim, interpolation, True)


def onnx_out_renorm(self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    dims: List[int] = []
    for i in range(self.dim()):
        if i != __torch__.operators.onnx_out._wrap(dim, self.dim()):
            dims.append(i)
    norm = torch.linalg_vector_norm(self, p, dims, True)
    return self * torch.where(norm > maxnorm, torch.reciprocal(norm + 1e-7) * maxnorm, torch.ones_like(norm))


# ---- along a dim -----------------------------------------------------------------------------------------------------


# [..., n, n]: element i as often as there are places, and which of them count for place k: i <= k
def _prefixes(self: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    x = torch.transpose(self, dim, -1)
    n = torch.arange(self.size(dim), dtype=4)
    return (torch.unsqueeze(x, -2), torch.unsqueeze(n, 0) <= torch.unsqueeze(n, 1))


def onnx_out_cumprod(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    to = (4 if not __torch__.operators.onnx_out._is_float(self.dtype) else self.dtype) if dtype is None else dtype
    x = torch.to(self, to)
    if self.dim() == 0:
        return torch.clone(x)
    row, counts = __torch__.operators.onnx_out._prefixes(x, dim)
    return torch.transpose(torch.prod(torch.where(counts, row, torch.ones_like(row)), -1), dim, -1)


def _cumulative(self: Tensor, dim: int, most: bool) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        return (torch.clone(self), torch.zeros_like(self, dtype=4))
    whole = torch.to(self, 4) if self.dtype == 11 else self
    row, counts = __torch__.operators.onnx_out._prefixes(whole, dim)
    rows = torch.where(counts, row, torch.narrow(row, -1, 0, 1))
    v = torch.amax(rows, [-1], True) if most else torch.amin(rows, [-1], True)
    n = torch.arange(self.size(dim), dtype=4)
    same = row == v
    if __torch__.operators.onnx_out._is_float(self.dtype):
        same = torch.logical_or(same, torch.isnan(row))
    i = torch.amax(torch.where(torch.logical_and(counts, same), n, torch.zeros_like(n)), [-1], False)
    return (torch.to(torch.transpose(torch.squeeze(v, -1), dim, -1), self.dtype), torch.transpose(i, dim, -1))


def onnx_out_cummax(self: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._cumulative(self, dim, True)


def onnx_out_cummin(self: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._cumulative(self, dim, False)


def onnx_out_logcumsumexp(self: Tensor, dim: int) -> Tensor:
    if self.dim() == 0:
        return torch.clone(self)
    row, counts = __torch__.operators.onnx_out._prefixes(__torch__.operators.onnx_out._wide(self), dim)
    y = torch.logsumexp(torch.where(counts, row, torch.full([], -inf, dtype=row.dtype)), [-1], False)
    return torch.to(torch.transpose(y, dim, -1), self.dtype)


def onnx_out_cumsum(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    to = (4 if not __torch__.operators.onnx_out._is_float(self.dtype) else self.dtype) if dtype is None else dtype
    x = torch.to(self, to)
    if self.dim() == 0:
        return torch.clone(x)
    if to == 6 or to == 7 or to == 4 or to == 3:
        return torch.cumsum(x, __torch__.operators.onnx_out._wrap(dim, self.dim()))
    wide = 6 if __torch__.operators.onnx_out._is_float(to) else 4
    return torch.to(torch.cumsum(torch.to(x, wide), __torch__.operators.onnx_out._wrap(dim, self.dim())), to)


def onnx_out_softmax__int(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    if self.dim() == 0:
        return torch.reshape(torch.softmax(torch.reshape(self, [1]), 0, dtype=dtype), [])
    return torch.softmax(self, dim, dtype=dtype)


def onnx_out_log_softmax__int(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    if self.dim() == 0:
        return torch.reshape(torch.log_softmax(torch.reshape(self, [1]), 0, dtype=dtype), [])
    return torch.log_softmax(self, dim, dtype=dtype)


def _sorted(self: Tensor, dim: int, descending: bool) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        return (torch.clone(self), torch.zeros_like(self, dtype=4))
    if self.dtype == 11:
        v, i = torch.sort(torch.to(self, 3), dim, descending)
        return (torch.to(v, 11), i)
    return torch.sort(self, dim, descending)


def onnx_out_topk(self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> Tuple[Tensor, Tensor]:
    if self.dim() == 0:
        return (torch.clone(self), torch.zeros_like(self, dtype=4))
    return torch.topk(self, k, dim, largest, sorted)


def onnx_out_sort(self: Tensor, dim: int, descending: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._sorted(self, dim, descending)


def onnx_out_sort__stable(self: Tensor, stable: Optional[bool], dim: int, descending: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._sorted(self, dim, descending)


def onnx_out_argsort(self: Tensor, dim: int, descending: bool) -> Tensor:
    v, i = torch.sort(self, dim, descending)
    return i


def onnx_out_argsort__stable(self: Tensor, stable: bool, dim: int, descending: bool) -> Tensor:
    v, i = torch.sort(self, dim, descending)
    return i


def onnx_out_msort(self: Tensor) -> Tensor:
    v, i = torch.sort(self, 0, False)
    return v


# how many of the bounds, in order, are below
def _places(bounds: Tensor, self: Tensor, right: bool, out_int32: bool) -> Tensor:
    x = torch.unsqueeze(self, -1)
    beyond = bounds > x if right else bounds >= x
    if __torch__.operators.onnx_out._is_float(self.dtype):
        beyond = torch.logical_or(beyond, torch.logical_and(torch.isnan(bounds), torch.logical_not(torch.isnan(x))))
    return torch.to(torch.sum(torch.logical_not(beyond), [-1]), 3 if out_int32 else 4)


def onnx_out_bucketize__Tensor(self: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    return __torch__.operators.onnx_out._places(boundaries, self, right, out_int32)


def onnx_out_searchsorted__Tensor(sorted_sequence: Tensor, self: Tensor, out_int32: bool, right: bool, side: Optional[str], sorter: Optional[Tensor]) -> Tensor:
    bounds = sorted_sequence
    if sorter is not None:
        bounds = torch.gather(bounds, -1, sorter)
    after = right or side is not None and side == "right"
    if bounds.dim() == 1:
        return __torch__.operators.onnx_out._places(bounds, self, after, out_int32)
    return __torch__.operators.onnx_out._places(torch.unsqueeze(bounds, -2), self, after, out_int32)


def onnx_out_bincount(self: Tensor, weights: Optional[Tensor], minlength: int) -> Tensor:
    n = int(torch.max(torch.cat([torch.to(self, 4) + 1, torch.full([1], minlength, dtype=4)])))
    hit = torch.unsqueeze(torch.to(self, 4), 0) == torch.unsqueeze(torch.arange(n, dtype=4), 1)
    if weights is None:
        return torch.sum(hit, [1])
    w = weights if weights.dtype == 6 or weights.dtype == 7 else torch.to(weights, 7)
    return torch.sum(torch.where(hit, torch.to(w, 7), torch.zeros([1], dtype=7)), [1]) if weights.dtype != 6 else torch.sum(torch.where(hit, w, torch.zeros([1])), [1])


# of the elements, where min and max are equal
def _bounds(x: Tensor, min: float, max: float, more: float) -> Tuple[Tensor, Tensor]:
    low, high = torch.full([], min, dtype=x.dtype), torch.full([], max, dtype=x.dtype)
    if min == max and x.numel() > 0:
        low, high = torch.amin(x), torch.amax(x)
    same = low == high
    return (torch.where(same, low - more, low), torch.where(same, high + more, high))


def _histogram(self: Tensor, edges: Tensor, weight: Optional[Tensor], density: bool) -> Tuple[Tensor, Tensor]:
    x = torch.reshape(self, [-1])
    n = edges.size(0) - 1
    place = torch.sum(torch.unsqueeze(edges, 1) <= x, [0]) - 1
    place = torch.where(x == torch.select(edges, 0, -1), n - 1, place)
    hit = torch.to(torch.unsqueeze(torch.arange(n, dtype=4), 1) == place, self.dtype)
    if weight is not None:
        hit = hit * torch.reshape(weight, [-1])
    counts = torch.sum(hit, [1])
    if density:
        counts = counts / torch.sum(counts) / (torch.slice(edges, 0, 1, 9223372036854775807) - torch.slice(edges, 0, 0, -1))
    return (counts, edges)


def onnx_out_histogram__bins_tensor(self: Tensor, bins: Tensor, weight: Optional[Tensor], density: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out._histogram(self, bins, weight, density)


def onnx_out_histogram__bin_ct(self: Tensor, bins: int, range: Optional[List[float]], weight: Optional[Tensor], density: bool) -> Tuple[Tensor, Tensor]:
    ends = [0.0, 0.0] if range is None else range
    if range is None and self.numel() == 0:
        ends = [0.0, 1.0]
    elif range is not None and ends[0] == ends[1]:
        ends = [ends[0] - 0.5, ends[1] + 0.5]
    low, high = __torch__.operators.onnx_out._bounds(torch.reshape(self, [-1]), ends[0], ends[1], 0.5)
    return __torch__.operators.onnx_out._histogram(self, torch.linspace(low, high, bins + 1, dtype=self.dtype), weight, density)


def onnx_out_histc(self: Tensor, bins: int, min: number, max: number) -> Tensor:
    x = __torch__.operators.onnx_out._wide(torch.reshape(self, [-1]))
    low, high = __torch__.operators.onnx_out._bounds(x, float(min), float(max), 1.0)
    inside = torch.logical_and(x >= low, x <= high)
    at = torch.clamp(torch.floor((x - low) / (high - low) * bins), None, bins - 1)
    hit = torch.logical_and(torch.unsqueeze(torch.arange(bins, dtype=x.dtype), 1) == at, inside)
    return torch.to(torch.sum(hit, [1]), self.dtype)


# ---- products --------------------------------------------------------------------------------------------------------


def onnx_out_outer(self: Tensor, vec2: Tensor) -> Tensor:
    return torch.unsqueeze(self, 1) * vec2


def onnx_out_ger(self: Tensor, vec2: Tensor) -> Tensor:
    return torch.unsqueeze(self, 1) * vec2


def onnx_out_inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    return torch.tensordot(self, other, [-1], [-1])


def onnx_out_tensordot(self: Tensor, other: Tensor, dims_self: List[int], dims_other: List[int]) -> Tensor:
    front: List[int] = []
    back: List[int] = []
    sizes: List[int] = []
    shared = 1
    inner: List[int] = []
    for d in dims_self:
        inner.append(__torch__.operators.onnx_out._wrap(d, self.dim()))
    outer: List[int] = []
    for d in dims_other:
        outer.append(__torch__.operators.onnx_out._wrap(d, other.dim()))
    a, b = self, other
    for k in range(len(inner)):
        if a.size(inner[k]) == 1 and b.size(outer[k]) != 1:
            b = torch.sum(b, [outer[k]], True)
        elif b.size(outer[k]) == 1 and a.size(inner[k]) != 1:
            a = torch.sum(a, [inner[k]], True)
        shared = shared * a.size(inner[k])
    rows = 1
    for i in range(a.dim()):
        if i not in inner:
            front.append(i)
            sizes.append(a.size(i))
            rows = rows * a.size(i)
    columns = 1
    for i in range(b.dim()):
        if i not in outer:
            back.append(i)
            sizes.append(b.size(i))
            columns = columns * b.size(i)
    left = torch.reshape(torch.permute(a, front + inner), [rows, shared])
    right = torch.reshape(torch.permute(b, outer + back), [shared, columns])
    return torch.reshape(torch.matmul(left, right), sizes)


def _scaled(self: Tensor, product: Tensor, beta: number, alpha: number) -> Tensor:
    y = product if alpha == 1 else product * alpha
    return y if beta == 0 else y + (self if beta == 1 else self * beta)


def onnx_out_addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: number, alpha: number) -> Tensor:
    return __torch__.operators.onnx_out._scaled(self, torch.sum(torch.bmm(batch1, batch2), [0]), beta, alpha)


def onnx_out_addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: number, alpha: number) -> Tensor:
    return __torch__.operators.onnx_out._scaled(self, torch.mv(mat, vec), beta, alpha)


def onnx_out_addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: number, alpha: number) -> Tensor:
    return __torch__.operators.onnx_out._scaled(self, torch.unsqueeze(vec1, 1) * vec2, beta, alpha)


def onnx_out_linalg_multi_dot(tensors: List[Tensor]) -> Tensor:
    y = tensors[0]
    for i in range(1, len(tensors)):
        y = torch.matmul(y, tensors[i])
    return y


def onnx_out_chain_matmul(matrices: List[Tensor]) -> Tensor:
    return torch.linalg_multi_dot(matrices)


def onnx_out_cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    a, b, dtype = __torch__.operators.onnx_out._common(x1, x2)
    la = torch.clamp_min(torch.linalg_vector_norm(a, 2, [dim], True), eps)
    lb = torch.clamp_min(torch.linalg_vector_norm(b, 2, [dim], True), eps)
    return torch.to(torch.sum((a / la) * (b / lb), [dim]), dtype)


def onnx_out_pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    return torch.linalg_vector_norm(x1 - x2 + eps, p, [-1], keepdim)


def onnx_out_cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int]) -> Tensor:
    return torch.linalg_vector_norm(torch.unsqueeze(x1, -2) - torch.unsqueeze(x2, -3), p, [-1], False)


def onnx_out_logdet(self: Tensor) -> Tensor:
    return torch.log(torch.linalg_det(self))


def onnx_out_trace(self: Tensor) -> Tensor:
    return torch.sum(torch.diagonal(self, 0, 0, 1))


def onnx_out_broadcast_tensors(tensors: List[Tensor]) -> List[Tensor]:
    total = torch.zeros_like(tensors[0], dtype=11)
    for t in tensors:
        total = torch.logical_or(total, torch.zeros_like(t, dtype=11))
    out: List[Tensor] = []
    for t in tensors:
        out.append(torch.expand_as(t, total))
    return out
