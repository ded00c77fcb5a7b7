# SPDX-License-Identifier: Apache-2.0
"""windows.py - torch.signal.windows: windows of M numbers, symmetric ones (sym), or a period without its last number."""
import math

import ctsc


def _check(name, M, dtype):
    if M < 0:
        raise ValueError("%s requires non-negative window length, got M=%d" % (name, M))
    if dtype is not None and dtype not in (ctsc.float32, ctsc.float64):
        raise ValueError("%s expects float32 or float64 dtypes, got: %s" % (name, dtype))


def _made(name, M, sym, dtype, requires_grad, values, at_least=1):
    """values(k, n): of the numbers k from 0, in a window of n."""
    _check(name, M, dtype)
    dtype = dtype or ctsc.get_default_dtype()
    if M <= 1:
        made = ctsc.ones(M, dtype=dtype)
    else:
        n = M if sym else M + 1
        made = values(ctsc.arange(M, dtype=dtype), n)
    return made.requires_grad_() if requires_grad else made


def _options(f):
    def window(M, *args, sym=True, dtype=None, layout=None, device=None, requires_grad=False, **kwargs):
        made = f(M, *args, sym=sym, dtype=dtype, requires_grad=requires_grad, **kwargs)
        return made if device is None else made.to(device)
    window.__name__, window.__doc__ = f.__name__, f.__doc__
    return window


@_options
def exponential(M, *, center=None, tau=1.0, sym, dtype, requires_grad):
    """exp(-|k - center| / tau)"""
    if tau <= 0:
        raise ValueError("Tau must be positive, got: %s instead." % tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _made("exponential", M, sym, dtype, requires_grad, lambda k, n: ctsc.exp(-(k - ((n - 1) / 2 if center is None else center)).abs() / tau))


@_options
def gaussian(M, *, std=1.0, sym, dtype, requires_grad):
    """exp(-((k - middle) / std) ** 2 / 2)"""
    if std <= 0:
        raise ValueError("Standard deviation must be positive, got: %s instead." % std)
    return _made("gaussian", M, sym, dtype, requires_grad, lambda k, n: ctsc.exp(-(((k - (n - 1) / 2) / (std * math.sqrt(2))) ** 2)))


@_options
def cosine(M, *, sym, dtype, requires_grad):
    """Half a wave of the sine"""
    return _made("cosine", M, sym, dtype, requires_grad, lambda k, n: ctsc.sin((k + 0.5) * (math.pi / n)))


@_options
def kaiser(M, *, beta=12.0, sym, dtype, requires_grad):
    """I0(beta sqrt(1 - x^2)) / I0(beta)"""
    if beta < 0:
        raise ValueError("beta must be non-negative, got: %s instead." % beta)

    def values(k, n):
        x = 2 * k / (n - 1) - 1
        return ctsc.special.i0(beta * ctsc.sqrt((1 - x * x).clamp(min=0))) / ctsc.special.i0(ctsc.tensor(beta, dtype=k.dtype))
    return _made("kaiser", M, sym, dtype, requires_grad, values)


def _cosines(k, n, a):
    return sum((-1) ** i * c * ctsc.cos(k * (2 * math.pi * i / (n - 1))) for i, c in enumerate(a))


@_options
def general_cosine(M, *, a, sym, dtype, requires_grad):
    """a[0] - a[1] cos(x) + a[2] cos(2 x) - ..."""
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _made("general_cosine", M, sym, dtype, requires_grad, lambda k, n: _cosines(k, n, a))


def general_hamming(M, *, alpha=0.54, **options):
    return general_cosine(M, a=[alpha, 1.0 - alpha], **options)


def hamming(M, **options):
    return general_hamming(M, **options)


def hann(M, **options):
    return general_hamming(M, alpha=0.5, **options)


def blackman(M, **options):
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def nuttall(M, **options):
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)


@_options
def bartlett(M, *, sym, dtype, requires_grad):
    """A triangle"""
    return _made("bartlett", M, sym, dtype, requires_grad, lambda k, n: 1 - (2 * k / (n - 1) - 1).abs())
