# SPDX-License-Identifier: Apache-2.0
# numpy._along - functions of numpy._rare that work along axes: order, counts, quantiles, sums without NaN.
import math

import torch

import numpy as _here
from numpy import _common, _floating, _reduced, _tensor, _wrap, asarray, ndarray, stack


def _sorted(x, axis):
    t = _tensor(x)
    return torch.sort(t.reshape(-1), stable=True, dim=0) if axis is None else torch.sort(t, stable=True, dim=axis)


def sort(x, axis=-1, kind=None):
    return ndarray(_sorted(x, axis)[0])


def argsort(x, axis=-1, kind=None):
    return ndarray(_sorted(x, axis)[1])


def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None):
    if axis is not None or return_index:
        raise NotImplementedError('numpy.unique with axis or return_index is not supported here')
    values, inverse, counts = torch.unique(_tensor(x), sorted=True, return_inverse=True, return_counts=True)
    out = (ndarray(values),) + ((ndarray(inverse),) if return_inverse else ()) + ((ndarray(counts),) if return_counts else ())
    return out[0] if len(out) == 1 else out


def nonzero(x):
    return tuple([ndarray(t) for t in torch.nonzero(_tensor(x), as_tuple=True)])


def flatnonzero(x):
    return nonzero(_tensor(x).reshape(-1))[0]


def argwhere(x):
    return ndarray(torch.nonzero(_tensor(x)))


def count_nonzero(x, axis=None):
    return _wrap((_tensor(x) != 0).sum() if axis is None else (_tensor(x) != 0).sum(axis))


def searchsorted(a, v, side='left'):
    x, y = _common([_tensor(a), _tensor(v)], [False, False])
    return _wrap(torch.searchsorted(x, y, right=side == 'right'))


def digitize(x, bins, right=False):
    return searchsorted(bins, x, 'left' if right else 'right')


def isin(x, values):
    return _wrap(torch.isin(_tensor(x), _tensor(values)))


in1d = isin


def bincount(x, weights=None, minlength=0):
    return ndarray(torch.bincount(_tensor(x).to(torch.int64), None if weights is None else _floating(weights), minlength))


def take(x, index, axis=None):
    i = _tensor(index)
    t = _tensor(x).reshape(-1) if axis is None else _tensor(x)
    a = 0 if axis is None else axis % t.dim()
    return _wrap(t.index_select(a, i.reshape(-1)).reshape(list(t.shape[:a]) + list(i.shape) + list(t.shape[a + 1:])))


def interp(x, xp, fp, left=None, right=None):
    at, values, t = _floating(xp).tolist(), _floating(fp).tolist(), _floating(x)
    out = []
    for v in t.reshape(-1).tolist():
        k = len([a for a in at if a <= v])
        if k == 0:
            out.append(values[0] if left is None else float(left))
        elif k == len(at):
            out.append(values[-1] if right is None or v == at[-1] else float(right))
        else:
            out.append(values[k - 1] + (values[k] - values[k - 1]) / (at[k] - at[k - 1]) * (v - at[k - 1]))
    return _wrap(torch.tensor(out, dtype=torch.float64).reshape(t.shape))


def quantile(x, q, axis=None, keepdims=False):
    t = _floating(x)
    return _wrap(torch.quantile(t, _tensor(q).to(t.dtype), dim=axis, keepdim=keepdims))


def percentile(x, q, axis=None, keepdims=False):
    return quantile(x, _floating(q) / 100.0, axis, keepdims)


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, keepdims)


def ptp(x, axis=None):
    return _reduced(x, lambda t, d, k: t.amax(d, keepdim=k) - t.amin(d, keepdim=k), axis, False)


def nansum(x, axis=None):
    return _reduced(torch.nan_to_num(_tensor(x)), lambda t, d, k: t.sum(d, keepdim=k), axis, False)


def nanmean(x, axis=None):
    return _reduced(_floating(x), lambda t, d, k: torch.nanmean(t, d, k), axis, False)


def gradient(x, spacing=1.0):
    return _wrap(torch.gradient(_floating(x), spacing=float(spacing))[0])


def trapezoid(y, x=None, dx=1.0):
    return _wrap(torch.trapezoid(_floating(y), dx=dx) if x is None else torch.trapezoid(_floating(y), _floating(x)))


trapz = trapezoid


def corrcoef(x, y=None):
    x = x if y is None else stack([x, y])
    return _wrap(torch.corrcoef(_floating(x)))


def cov(x):
    return _wrap(torch.cov(_floating(x)))


def cumulative_sum(x, axis=None):
    return _here.cumsum(x, axis)


def vecdot(a, b):
    return _here.sum(asarray(a) * asarray(b), -1)


def _without_nan(f, fill):
    def of(x, axis=None, keepdims=False):
        t = _floating(x)
        return f(torch.where(torch.isnan(t), fill, t), axis, keepdims)
    return of


nanmax, nanmin, nanprod = _without_nan(_here.max, -math.inf), _without_nan(_here.min, math.inf), _without_nan(_here.prod, 1.0)


def nanvar(x, axis=None, ddof=0, keepdims=False):
    t = _floating(x)
    there = ~torch.isnan(t)
    n = _tensor(_here.sum(there.to(t.dtype), axis, True))
    m = _tensor(_here.sum(torch.where(there, t, 0.0), axis, True)) / n
    squares = _here.sum(torch.where(there, (t - m) ** 2, 0.0), axis, True)
    r = _tensor(squares) / (n - ddof)
    return _wrap(r if keepdims else r.reshape([]) if axis is None else r.squeeze(axis))


def nanstd(x, axis=None, ddof=0, keepdims=False):
    return _here.sqrt(nanvar(x, axis, ddof, keepdims))


def nanquantile(x, q, axis=None, keepdims=False):
    t = _floating(x)
    return _wrap(torch.nanquantile(t, _tensor(q).to(t.dtype), dim=axis, keepdim=keepdims))


def nanpercentile(x, q, axis=None, keepdims=False):
    return nanquantile(x, _tensor(q) / 100, axis, keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, keepdims)
