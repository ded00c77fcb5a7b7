# SPDX-License-Identifier: Apache-2.0
# Derivatives of pointwise operators. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- arithmetic --------------------------------------------------------------------------------

def add__Tensor__d_self(grad: Tensor) -> Tensor:
    return grad

def add__Tensor__d_other(grad: Tensor, alpha: number) -> Tensor:
    return grad if alpha == 1 else grad * alpha

def add__Scalar__d_self(grad: Tensor) -> Tensor:
    return grad

def sub__Tensor__d_self(grad: Tensor) -> Tensor:
    return grad

def sub__Tensor__d_other(grad: Tensor, alpha: number) -> Tensor:
    return torch.neg(grad) if alpha == 1 else torch.neg(grad * alpha)

def sub__Scalar__d_self(grad: Tensor) -> Tensor:
    return grad

def rsub__Tensor__d_self(grad: Tensor, alpha: number) -> Tensor:
    return torch.neg(grad) if alpha == 1 else torch.neg(grad * alpha)

def rsub__Tensor__d_other(grad: Tensor) -> Tensor:
    return grad

def rsub__Scalar__d_self(grad: Tensor, alpha: number) -> Tensor:
    return torch.neg(grad) if alpha == 1 else torch.neg(grad * alpha)

def mul__Tensor__d_self(grad: Tensor, other: Tensor) -> Tensor:
    return grad * torch.conj(other)

def mul__Tensor__d_other(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(self)

def mul__Scalar__d_self(grad: Tensor, other: number) -> Tensor:
    return grad * torch.conj(torch.scalar_tensor(other, dtype=grad.dtype)) if torch.is_complex(grad) else grad * other

def div__Tensor__d_self(grad: Tensor, other: Tensor) -> Tensor:
    return grad / torch.conj(other)

def div__Tensor__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.neg(grad) * torch.conj(self / other / other)

def div__Scalar__d_self(grad: Tensor, other: number) -> Tensor:
    return grad / torch.conj(torch.scalar_tensor(other, dtype=grad.dtype)) if torch.is_complex(grad) else grad / other

def div__Tensor_mode__d_self(grad: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    return grad / torch.conj(other) if torch.__is__(rounding_mode, None) else torch.zeros_like(grad)

def div__Tensor_mode__d_other(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
    return torch.neg(grad) * torch.conj(self / other / other) if torch.__is__(rounding_mode, None) else torch.zeros_like(grad)

def div__Scalar_mode__d_self(grad: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
    return grad / other if torch.__is__(rounding_mode, None) else torch.zeros_like(grad)

def remainder__Tensor__d_self(grad: Tensor) -> Tensor:
    return grad

def remainder__Tensor__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.neg(grad) * torch.div(self, other, rounding_mode="floor")

def remainder__Scalar__d_self(grad: Tensor) -> Tensor:
    return grad

def remainder__Scalar_Tensor__d_other(grad: Tensor, self: number, other: Tensor) -> Tensor:
    return torch.neg(grad) * torch.div(torch.full_like(other, self), other, rounding_mode="floor")

def fmod__Tensor__d_self(grad: Tensor) -> Tensor:
    return grad

def fmod__Tensor__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.neg(grad) * torch.div(self, other, rounding_mode="trunc")

def fmod__Scalar__d_self(grad: Tensor) -> Tensor:
    return grad

def addcmul__d_self(grad: Tensor) -> Tensor:
    return grad

def addcmul__d_tensor1(grad: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return grad * torch.conj(tensor2 * value)

def addcmul__d_tensor2(grad: Tensor, tensor1: Tensor, value: number) -> Tensor:
    return grad * torch.conj(tensor1 * value)

def addcdiv__d_self(grad: Tensor) -> Tensor:
    return grad

def addcdiv__d_tensor1(grad: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return grad * torch.conj(torch.reciprocal(tensor2) * value)

def addcdiv__d_tensor2(grad: Tensor, tensor1: Tensor, tensor2: Tensor, value: number) -> Tensor:
    return torch.neg(grad) * torch.conj(tensor1 * value / (tensor2 * tensor2))

def lerp__Scalar__d_self(grad: Tensor, weight: number) -> Tensor:
    return grad * torch.conj(torch.scalar_tensor(1 - weight, dtype=grad.dtype)) if torch.is_complex(grad) else grad * (1 - weight)

def lerp__Scalar__d_end(grad: Tensor, weight: number) -> Tensor:
    return grad * torch.conj(torch.scalar_tensor(weight, dtype=grad.dtype)) if torch.is_complex(grad) else grad * weight

def lerp__Tensor__d_self(grad: Tensor, weight: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsub(weight, 1))

def lerp__Tensor__d_end(grad: Tensor, weight: Tensor) -> Tensor:
    return grad * torch.conj(weight)

def lerp__Tensor__d_weight(grad: Tensor, self: Tensor, end: Tensor) -> Tensor:
    return grad * torch.conj(end - self)

def neg__d_self(grad: Tensor) -> Tensor:
    return torch.neg(grad)

def positive__d_self(grad: Tensor) -> Tensor:
    return grad

def deg2rad__d_self(grad: Tensor) -> Tensor:
    return torch.deg2rad(grad)

def rad2deg__d_self(grad: Tensor) -> Tensor:
    return torch.rad2deg(grad)

def reciprocal__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return torch.neg(grad) * torch.conj(result * result)

def square__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(self * 2)

# ---- powers and roots --------------------------------------------------------------------------

def sqrt__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad / (torch.conj(result) * 2)

def rsqrt__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * -0.5 * torch.conj(torch.pow(result, 3))

def pow__Tensor_Scalar__d_self(grad: Tensor, self: Tensor, exponent: number) -> Tensor:
    if exponent == 0:
        return torch.zeros_like(self)
    if exponent == 2:
        return grad * torch.conj(self * 2)
    return grad * torch.conj(torch.pow(self, exponent - 1) * exponent)


def pow__Tensor_Tensor__d_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    slope = torch.conj(exponent * torch.pow(self, exponent - 1))
    return torch.where(torch.eq(exponent, 0), torch.zeros([], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None), grad * slope)


# 0 where the base is 0 and the exponent is not negative: there the logarithm is not a number, and the power a constant.
def _pow_exponent(grad: Tensor, base: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    constant = torch.eq(base, 0)
    if torch.is_complex(exponent):
        constant = torch.logical_and(constant, torch.ge(torch.real(exponent), 0))
    else:
        constant = torch.logical_and(constant, torch.ge(exponent, 0))
    slope = torch.conj(result * torch.log(base))
    return grad * torch.where(constant, torch.zeros([], dtype=slope.dtype, layout=None, device=grad.device, pin_memory=None), slope)


def pow__Tensor_Tensor__d_exponent(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.pointwise._pow_exponent(grad, self, exponent, result)


def pow__Scalar__d_exponent(grad: Tensor, self: number, exponent: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.pointwise._pow_exponent(grad, torch.scalar_tensor(self, dtype=result.dtype), exponent, result)


def float_power__Tensor_Tensor__as(self: Tensor, exponent: Tensor) -> Tensor:
    wide = 10 if torch.is_complex(self) or torch.is_complex(exponent) else 7
    return torch.pow(torch.to(self, wide), torch.to(exponent, wide))


def float_power__Tensor_Scalar__as(self: Tensor, exponent: number) -> Tensor:
    return torch.pow(torch.to(self, 10 if torch.is_complex(self) else 7), exponent)


def float_power__Scalar__as(self: number, exponent: Tensor) -> Tensor:
    return torch.pow(self, torch.to(exponent, 10 if torch.is_complex(exponent) else 7))


def ldexp__Tensor__as(self: Tensor, other: Tensor) -> Tensor:
    return self * torch.pow(2., other)

# ---- exponentials and logarithms ---------------------------------------------------------------

def exp__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(result)

def exp2__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(result) * 0.6931471805599453

def expm1__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (torch.conj(result) + 1)

def log__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / torch.conj(self)

def log2__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (torch.conj(self) * 0.6931471805599453)

def log10__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (torch.conj(self) * 2.302585092994046)

def log1p__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (torch.conj(self) + 1)

def logaddexp__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (torch.exp(other - self) + 1)

def logaddexp__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (torch.exp(self - other) + 1)

def logaddexp2__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (torch.pow(2., other - self) + 1)

def logaddexp2__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (torch.pow(2., self - other) + 1)

def xlogy__Tensor__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.xlogy(grad, other), torch.logical_and(torch.eq(self, 0), torch.le(other, 0)), 0)

def xlogy__Tensor__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * self / other

def xlogy__Scalar_Other__d_self(grad: Tensor, self: Tensor, other: number) -> Tensor:
    return torch.masked_fill(torch.xlogy(grad, other), torch.eq(self, 0), 0) if other <= 0 else torch.xlogy(grad, other)

def xlogy__Scalar_Self__d_other(grad: Tensor, self: number, other: Tensor) -> Tensor:
    return grad * self / other

def special_xlog1py__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.special_xlog1py(grad, other), torch.logical_and(torch.eq(self, 0), torch.le(other, -1)), 0)

def special_xlog1py__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * self / (other + 1)

def special_xlog1py__other_scalar__d_self(grad: Tensor, self: Tensor, other: number) -> Tensor:
    return torch.masked_fill(torch.special_xlog1py(grad, other), torch.eq(self, 0), 0) if other <= -1 else torch.special_xlog1py(grad, other)

def special_xlog1py__self_scalar__d_other(grad: Tensor, self: number, other: Tensor) -> Tensor:
    return grad * self / (other + 1)

def special_entr__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * (torch.neg(torch.log(self)) - 1)

def logit__d_self(grad: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    slope = grad / (self * torch.rsub(self, 1))
    if torch.__isnot__(eps, None):
        low = unchecked_cast(float, eps)
        return torch.masked_fill(slope, torch.logical_or(torch.lt(self, low), torch.gt(self, 1. - low)), 0)
    return torch.masked_fill(slope, torch.logical_or(torch.lt(self, 0), torch.gt(self, 1)), float("nan"))

# ---- trigonometry ------------------------------------------------------------------------------

def sin__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.cos(self))

def cos__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.neg(torch.conj(torch.sin(self)))

def tan__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(result * result + 1)

def asin__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsqrt(torch.rsub(self * self, 1)))

def acos__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.neg(torch.conj(torch.rsqrt(torch.rsub(self * self, 1))))

def atan__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / torch.conj(self * self + 1)

def atan2__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * other * torch.reciprocal(self * self + other * other)

def atan2__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * torch.neg(self) * torch.reciprocal(self * self + other * other)

def sinh__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.cosh(self))

def cosh__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.sinh(self))

def tanh__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsub(result * result, 1))

def asinh__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsqrt(self * self + 1))

def acosh__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsqrt(self * self - 1))

def atanh__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(torch.reciprocal(torch.rsub(self * self, 1)))

def hypot__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (self / result)

def hypot__d_other(grad: Tensor, other: Tensor, result: Tensor) -> Tensor:
    return grad * (other / result)

def sinc__d_self(grad: Tensor, self: Tensor) -> Tensor:
    x = self * 3.141592653589793
    slope = (x * torch.cos(x) - torch.sin(x)) / (x * self)
    return grad * torch.conj(torch.masked_fill(slope, torch.eq(self, 0), 0))

# ---- special functions -------------------------------------------------------------------------

def sigmoid__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(torch.rsub(result, 1) * result)

def erf__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.exp(torch.neg(self * self)) * 1.1283791670955126 * grad

def erfc__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.exp(torch.neg(self * self)) * -1.1283791670955126 * grad

def erfinv__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return torch.exp(result * result) * 0.8862269254527579 * grad

def special_erfcx__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return (self * result * 2. - 1.1283791670955126) * grad

def special_ndtr__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * (torch.exp(self * self * -0.5) * 0.3989422804014327)

def special_ndtri__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (torch.exp(result * result * 0.5) * 2.5066282746310002)

def special_log_ndtr__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad / torch.special_erfcx(self * -0.7071067811865476) * 0.7978845608028654

def _standard_gamma__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * torch._standard_gamma_grad(self, result)

def _sample_dirichlet__d_self(grad: Tensor, self: Tensor) -> Tensor:
    torch.ops.ctsc.fail("derivative for aten::_sample_dirichlet is not implemented")
    return grad

def lgamma__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.digamma(self)

def digamma__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.polygamma(1, self)

def polygamma__d_self(grad: Tensor, n: int, self: Tensor) -> Tensor:
    return grad * torch.polygamma(n + 1, self)

def polygamma___d_self(grad: Tensor, self: Tensor, n: int) -> Tensor:
    return grad * torch.polygamma(n + 1, self)

def igamma__d_self(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'igamma: input' is not implemented.")
    return None

def igammac__d_self(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'igammac: input' is not implemented.")
    return None

def special_zeta__d_self(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'zeta' is not implemented.")
    return None

def special_zeta__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * torch.neg(self) * torch.special_zeta(self + 1, other)

def special_zeta__self_scalar__d_other(grad: Tensor, self: number, other: Tensor) -> Tensor:
    return grad * -float(self) * torch.special_zeta(float(self) + 1, other)

def igamma__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * torch.exp((self - 1) * torch.log(other) - other - torch.lgamma(self))

def igammac__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.neg(grad) * torch.exp((self - 1) * torch.log(other) - other - torch.lgamma(self))

def i0__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.special_i1(self)

def special_i0e__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (torch.special_i1e(self) - torch.sgn(self) * result)

def mvlgamma__d_self(grad: Tensor, self: Tensor, p: int) -> Tensor:
    steps = torch.arange(-0.5 * p + 0.5, 0.5, 0.5, dtype=self.dtype, layout=None, device=self.device, pin_memory=None)
    return grad * torch.sum(torch.digamma(torch.unsqueeze(self, -1) + steps), [-1])


def special_i1__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    tiny = torch.le(torch.abs(self), 1.1920928955078125e-07 if self.dtype != 7 else 2.220446049250313e-16)
    safe = torch.where(tiny, torch.ones_like(self), self)
    return torch.where(tiny, grad * 0.5, grad * (torch.i0(safe) - result / safe))


def special_i1e__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    tiny = torch.le(torch.abs(self), 1.1920928955078125e-07 if self.dtype != 7 else 2.220446049250313e-16)
    safe = torch.where(tiny, torch.ones_like(self), self)
    return torch.where(tiny, grad * 0.5, grad * (torch.special_i0e(safe) - result * (torch.sgn(safe) + torch.reciprocal(safe))))

# ---- absolute values, rounding, choosing -------------------------------------------------------

def abs__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sgn(self)

def frac__d_self(grad: Tensor) -> Tensor:
    return grad

def floor__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def ceil__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def round__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def trunc__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def sign__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def round__decimals__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def nan_to_num__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.isfinite(self)), 0)

def frexp__Tensor__d_self(grad0: Tensor, result1: Tensor) -> Tensor:
    return grad0 / torch.exp2(torch.to(result1, grad0.dtype))

def copysign__Tensor__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * torch.masked_fill(result / self, torch.eq(self, 0), 0)

def copysign__Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def copysign__Scalar__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * torch.masked_fill(result / self, torch.eq(self, 0), 0)

def maximum__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.lt(self, other), 0)

def maximum__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.gt(self, other), 0)

def minimum__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.gt(self, other), 0)

def minimum__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.lt(self, other), 0)

def max__other__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.lt(self, other), 0)

def max__other__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.gt(self, other), 0)

def min__other__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.gt(self, other), 0)

def min__other__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(torch.where(torch.eq(self, other), grad / 2, grad), torch.lt(self, other), 0)

def fmax__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.logical_or(torch.ge(self, other), torch.isnan(other))), 0)

def fmax__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_or(torch.ge(self, other), torch.isnan(other)), 0)

def fmin__d_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.logical_or(torch.le(self, other), torch.isnan(other))), 0)

def fmin__d_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_or(torch.le(self, other), torch.isnan(other)), 0)

def clamp_min__d_self(grad: Tensor, self: Tensor, min: number) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.ge(self, min)), 0)

def clamp_max__d_self(grad: Tensor, self: Tensor, max: number) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.le(self, max)), 0)

def clamp_min__Tensor__d_self(grad: Tensor, self: Tensor, min: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.ge(self, min)), 0)

def clamp_min__Tensor__d_min(grad: Tensor, self: Tensor, min: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.lt(self, min)), 0)

def clamp_max__Tensor__d_self(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.le(self, max)), 0)

def clamp_max__Tensor__d_max(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    return torch.masked_fill(grad, torch.logical_not(torch.gt(self, max)), 0)

def clamp__d_self(grad: Tensor, self: Tensor, min: Optional[number], max: Optional[number]) -> Tensor:
    if torch.__isnot__(min, None):
        grad = torch.masked_fill(grad, torch.logical_not(torch.ge(self, unchecked_cast(number, min))), 0)
    if torch.__isnot__(max, None):
        grad = torch.masked_fill(grad, torch.logical_not(torch.le(self, unchecked_cast(number, max))), 0)
    return grad


def clamp__Tensor__d_self(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    if torch.__isnot__(min, None):
        grad = torch.where(torch.ge(self, unchecked_cast(Tensor, min)), grad, torch.zeros_like(grad))
    if torch.__isnot__(max, None):
        grad = torch.where(torch.le(self, unchecked_cast(Tensor, max)), grad, torch.zeros_like(grad))
    return grad


def clamp__Tensor__d_min(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    low = unchecked_cast(Tensor, min)
    chosen = torch.lt(self, low)
    if torch.__isnot__(max, None):
        chosen = torch.logical_and(chosen, torch.lt(low, unchecked_cast(Tensor, max)))
    return torch.where(chosen, grad, torch.zeros_like(grad))


def clamp__Tensor__d_max(grad: Tensor, self: Tensor, min: Optional[Tensor], max: Optional[Tensor]) -> Tensor:
    high = unchecked_cast(Tensor, max)
    chosen = torch.gt(self, high)
    if torch.__isnot__(min, None):
        chosen = torch.logical_or(chosen, torch.lt(high, unchecked_cast(Tensor, min)))
    return torch.where(chosen, grad, torch.zeros_like(grad))

def where__self__d_self(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, grad, torch.zeros_like(grad))

def where__self__d_other(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, torch.zeros_like(grad), grad)

def where__ScalarOther__d_self(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, grad, torch.zeros_like(grad))

def where__ScalarSelf__d_other(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, torch.zeros_like(grad), grad)

def masked_fill__Scalar__d_self(grad: Tensor, mask: Tensor) -> Tensor:
    return torch.masked_fill(grad, mask, 0)

def masked_fill__Tensor__d_self(grad: Tensor, mask: Tensor) -> Tensor:
    return torch.masked_fill(grad, mask, 0)

def masked_fill__Tensor__d_value(grad: Tensor, mask: Tensor) -> Tensor:
    return torch.sum(torch.where(mask, grad, torch.zeros_like(grad)))

def fill__Tensor__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def fill__Tensor__d_value(grad: Tensor) -> Tensor:
    return torch.sum(grad)

def fill__Scalar__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)

def copy___d_src(grad: Tensor) -> Tensor:
    return grad

def _neg_view__d_self(grad: Tensor) -> Tensor:
    return torch.neg(grad)

def conj__d_self(grad: Tensor) -> Tensor:
    return torch.conj(grad)

def _conj__d_self(grad: Tensor) -> Tensor:
    return torch.conj(grad)

def conj_physical__d_self(grad: Tensor) -> Tensor:
    return torch.conj(grad)

def _conj_physical__d_self(grad: Tensor) -> Tensor:
    return torch.conj(grad)

def resolve_conj__d_self(grad: Tensor) -> Tensor:
    return grad

def resolve_neg__d_self(grad: Tensor) -> Tensor:
    return grad
