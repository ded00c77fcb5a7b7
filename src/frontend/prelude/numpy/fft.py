# SPDX-License-Identifier: Apache-2.0
# numpy.fft - as far as modules use it while they are built.
import torch

from numpy import _floating, _tensor, ndarray


def _transform(f, x, n, axis, norm):
    t = _tensor(x)
    return ndarray(f(t if t.is_complex() else _floating(t).to(torch.float64), n, axis, norm))


def fft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.fft, a, n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.ifft, a, n, axis, norm)


def rfft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.rfft, a, n, axis, norm)


def irfft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.irfft, a, n, axis, norm)


def hfft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.hfft, a, n, axis, norm)


def ihfft(a, n=None, axis=-1, norm=None):
    return _transform(torch.fft.ihfft, a, n, axis, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    return _transform(torch.fft.fft2, a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    return _transform(torch.fft.ifft2, a, s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    return _transform(torch.fft.rfft2, a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    return _transform(torch.fft.irfft2, a, s, axes, norm)


def fftn(a, s=None, axes=None, norm=None):
    return _transform(torch.fft.fftn, a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    return _transform(torch.fft.ifftn, a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    return _transform(torch.fft.rfftn, a, s, axes, norm)


def fftshift(x, axes=None):
    return ndarray(torch.fft.fftshift(_tensor(x), axes))


def ifftshift(x, axes=None):
    return ndarray(torch.fft.ifftshift(_tensor(x), axes))


def fftfreq(n, d=1.0):
    return ndarray(torch.fft.fftfreq(n, d, dtype=torch.float64))


def rfftfreq(n, d=1.0):
    return ndarray(torch.fft.rfftfreq(n, d, dtype=torch.float64))
