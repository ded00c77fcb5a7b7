"""Functions of numpy that few modules use while they are built: what NumPy 2.4 gives."""
import numpy as np


def show(x):
    if isinstance(x, (list, tuple)) and not isinstance(x, str):
        for v in x:
            show(v)
        return
    a = np.array(x)
    print(tuple(a.shape), [round(float(v), 5) + 0.0 for v in np.ravel(a)])


a = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
i = np.array([4, 1, 3, 1, 4])
show(np.copy(a)); show(np.empty((2, 0))); show(np.tril_indices(3)); show(np.triu_indices(3, 1)); show(np.argsort(a)); show(np.argsort(i))
show(np.unique(i))
show(np.unique(i, return_inverse=True, return_counts=True)); show(np.kron([1, 2], [1, 10])); show(np.repeat(i, 2))
show(np.repeat(a, [1, 2], axis=0)); show(np.flip(a)); show(np.flip(a, 1))
show(np.pad([1, 2, 3], 2)); show(np.pad(a, ((1, 0), (0, 2)))); show(np.pad([1, 2, 3], (2, 1), mode='edge'))
show(np.pad([1, 2, 3], 2, mode='reflect')); show(np.pad([1, 2, 3], 2, mode='symmetric'))
show(np.pad([1, 2, 3], 2, mode='wrap')); show(np.interp([0.5, 2.5, 9, -1], [0, 1, 2, 3], [0, 10, 20, 40])); show(np.median(a))
show(np.median(a, axis=1)); show(np.nonzero([0, 1, 2]))
show(np.hanning(5)); show(np.hamming(4)); show(np.blackman(4)); show(np.bartlett(5)); show(np.kaiser(4, 8.6))
show(np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1)); show(np.empty_like(a).shape)
show(np.ascontiguousarray(a.T)); show(np.geomspace(1, 1000, 4)); show(np.split(np.arange(6), 3)); show(np.array_split(np.arange(5), 2))
show(np.split(np.arange(6), [2, 3])); show(np.delete(i, 1)); show(np.delete(a, 0, axis=1))
show(np.append(i, 7)); show(np.append(a, a, axis=0)); show(np.broadcast_to([1, 2], (2, 2))); show(np.trace(a))
show(np.nan_to_num(np.array([np.nan, 1.0]))); show(np.sinc([0, 0.5])); show(np.searchsorted([1, 3, 5], [3, 4]))
show(np.searchsorted([1, 3, 5], 3, side='right')); show(np.isin(i, [1, 3])); print(np.allclose(a, a + 1e-9), np.array_equal(i, i))
show(np.column_stack([[1, 2], [3, 4]])); show(np.unravel_index(5, (2, 3)))
print([k for k in np.ndindex(2, 2)]); show(np.float_power(2, 3)); show(np.cross([1, 0, 0], [0, 1, 0])); show(np.bincount([0, 2, 2]))
show(np.percentile(a, 50)); show(np.percentile(a, [25, 75]))
show(np.vectorize(lambda v: v * 2 if v > 2 else 0)(a)); b = np.zeros((3, 3)); np.fill_diagonal(b, 2.0); show(b)
show(np.lib.stride_tricks.sliding_window_view(np.arange(5), 3))
show(np.linalg.inv([[2.0, 0.0], [0.0, 4.0]])); show(np.linalg.norm(a)); show(np.linalg.norm(a, axis=1)); show(np.linalg.norm([3, 4], 1))
show(np.abs(np.linalg.qr(np.eye(2))[0])); show(np.linalg.svd(a)[1]); show(np.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])[0])
show(np.linalg.det([[2.0, 0.0], [0.0, 4.0]])); show(np.abs(np.fft.fft([1.0, 2.0, 3.0, 4.0]))); show(np.fft.fftfreq(4))
show(np.abs(np.fft.rfft([1.0, 2.0, 3.0, 4.0]))); show(np.mgrid[0:2, 0:3]); show(np.ogrid[0:2, 0:3]); show(np.r_[1, 2, 5:8])
show(np.c_[[1, 2], [3, 4]])
show(np.insert([1, 2, 3], 1, 9)); show(np.take(a, [0, 2], axis=1)); show(np.convolve([1, 2, 3], [0, 1, 0.5]))
show(np.convolve([1, 2, 3], [0, 1, 0.5], 'same')); show(np.hypot(3, 4)); show(np.sort(a)); show(np.sort(i)); show(np.indices((2, 2)))
show(np.ptp(a)); show(np.quantile(a, 0.25, axis=0))
show(np.tensordot(a, a, axes=([1], [1]))); show(np.inner([1, 2], [3, 4])); show(np.logical_and([1, 0], [1, 1])); show(np.isnan([np.nan, 1.0]))
show(np.count_nonzero([0, 1, 2])); print(np.finfo(np.float32).eps > 0, np.iinfo(np.int32).max); show(np.polyval([1, 2], 3))
show(np.digitize([0.2, 6.4], [0.0, 1.0, 2.5, 4.0, 10.0])); show(np.gradient([1.0, 2.0, 4.0]))
show(np.diag_indices(2)); show(np.stack([i, i]).shape); show(np.rot90(a)); show(np.fliplr(a)); show(np.dstack([[1, 2], [3, 4]]))
show(np.full_like(a, 7.0)); show(np.tri(2, 3)); show(np.vander([1, 2, 3])); show(np.arcsin([0.0, 1.0])); show(np.expm1(0.5))
show(np.cbrt(27)); show(np.heaviside([-1.0, 0.0, 2.0], 0.5)); show(np.ravel_multi_index((1, 2), (2, 3))); show(np.ix_([0, 1], [2]))
print(np.isscalar(3.0))


# expect: (2, 3) [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]
# expect: (2, 0) []
# expect: (6,) [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]
# expect: (6,) [0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
# expect: (3,) [0.0, 0.0, 1.0]
# expect: (3,) [1.0, 2.0, 2.0]
# expect: (2, 3) [1.0, 2.0, 0.0, 2.0, 1.0, 0.0]
# expect: (5,) [1.0, 3.0, 2.0, 0.0, 4.0]
# expect: (3,) [1.0, 3.0, 4.0]
# expect: (3,) [1.0, 3.0, 4.0]
# expect: (5,) [2.0, 0.0, 1.0, 0.0, 2.0]
# expect: (3,) [2.0, 1.0, 2.0]
# expect: (4,) [1.0, 10.0, 2.0, 20.0]
# expect: (10,) [4.0, 4.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0, 4.0, 4.0]
# expect: (3, 3) [3.0, 1.0, 2.0, 6.0, 5.0, 4.0, 6.0, 5.0, 4.0]
# expect: (2, 3) [4.0, 5.0, 6.0, 2.0, 1.0, 3.0]
# expect: (2, 3) [2.0, 1.0, 3.0, 4.0, 5.0, 6.0]
# expect: (7,) [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0]
# expect: (3, 5) [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 2.0, 0.0, 0.0, 6.0, 5.0, 4.0, 0.0, 0.0]
# expect: (6,) [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
# expect: (7,) [3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
# expect: (7,) [2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0]
# expect: (7,) [2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0]
# expect: (4,) [5.0, 30.0, 40.0, 0.0]
# expect: () [3.5]
# expect: (2,) [2.0, 5.0]
# expect: (2,) [1.0, 2.0]
# expect: (5,) [0.0, 0.5, 1.0, 0.5, 0.0]
# expect: (4,) [0.08, 0.77, 0.77, 0.08]
# expect: (4,) [0.0, 0.63, 0.63, 0.0]
# expect: (5,) [0.0, 0.5, 1.0, 0.5, 0.0]
# expect: (4,) [0.00133, 0.63041, 0.63041, 0.00133]
# expect: (2,) [2.0, 1.0]
# expect: () [2.0]
# expect: () [3.0]
# expect: (3, 2) [3.0, 6.0, 1.0, 5.0, 2.0, 4.0]
# expect: (4,) [1.0, 10.0, 100.0, 1000.0]
# expect: (2,) [0.0, 1.0]
# expect: (2,) [2.0, 3.0]
# expect: (2,) [4.0, 5.0]
# expect: (3,) [0.0, 1.0, 2.0]
# expect: (2,) [3.0, 4.0]
# expect: (2,) [0.0, 1.0]
# expect: (1,) [2.0]
# expect: (3,) [3.0, 4.0, 5.0]
# expect: (4,) [4.0, 3.0, 1.0, 4.0]
# expect: (2, 2) [1.0, 2.0, 5.0, 4.0]
# expect: (6,) [4.0, 1.0, 3.0, 1.0, 4.0, 7.0]
# expect: (4, 3) [3.0, 1.0, 2.0, 6.0, 5.0, 4.0, 3.0, 1.0, 2.0, 6.0, 5.0, 4.0]
# expect: (2, 2) [1.0, 2.0, 1.0, 2.0]
# expect: () [8.0]
# expect: (2,) [0.0, 1.0]
# expect: (2,) [1.0, 0.63662]
# expect: (2,) [1.0, 2.0]
# expect: () [2.0]
# expect: (5,) [0.0, 1.0, 1.0, 1.0, 0.0]
# expect: True True
# expect: (2, 2) [1.0, 3.0, 2.0, 4.0]
# expect: () [1.0]
# expect: () [2.0]
# expect: [(0, 0), (0, 1), (1, 0), (1, 1)]
# expect: () [8.0]
# expect: (3,) [0.0, 0.0, 1.0]
# expect: (3,) [1.0, 0.0, 2.0]
# expect: () [3.5]
# expect: (2,) [2.25, 4.75]
# expect: (2, 3) [6.0, 0.0, 0.0, 12.0, 10.0, 8.0]
# expect: (3, 3) [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]
# expect: (3, 3) [0.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 3.0, 4.0]
# expect: (2, 2) [0.5, 0.0, 0.0, 0.25]
# expect: () [9.53939]
# expect: (2,) [3.74166, 8.77496]
# expect: () [7.0]
# expect: (2, 2) [1.0, 0.0, 0.0, 1.0]
# expect: (2,) [9.47078, 1.14211]
# expect: (2,) [1.0, 3.0]
# expect: () [8.0]
# expect: (4,) [10.0, 2.82843, 2.0, 2.82843]
# expect: (4,) [0.0, 0.25, -0.5, -0.25]
# expect: (3,) [10.0, 2.82843, 2.0]
# expect: (2, 2, 3) [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
# expect: (2, 1) [0.0, 1.0]
# expect: (1, 3) [0.0, 1.0, 2.0]
# expect: (5,) [1.0, 2.0, 5.0, 6.0, 7.0]
# expect: (2, 2) [1.0, 3.0, 2.0, 4.0]
# expect: (4,) [1.0, 9.0, 2.0, 3.0]
# expect: (2, 2) [3.0, 2.0, 6.0, 4.0]
# expect: (5,) [0.0, 1.0, 2.5, 4.0, 1.5]
# expect: (3,) [1.0, 2.5, 4.0]
# expect: () [5.0]
# expect: (2, 3) [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# expect: (5,) [1.0, 1.0, 3.0, 4.0, 4.0]
# expect: (2, 2, 2) [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
# expect: () [5.0]
# expect: (3,) [3.75, 2.0, 2.5]
# expect: (2, 2) [14.0, 31.0, 31.0, 77.0]
# expect: () [11.0]
# expect: (2,) [1.0, 0.0]
# expect: (2,) [1.0, 0.0]
# expect: () [2.0]
# expect: True 2147483647
# expect: () [5.0]
# expect: (2,) [1.0, 4.0]
# expect: (3,) [1.0, 1.5, 2.0]
# expect: (2,) [0.0, 1.0]
# expect: (2,) [0.0, 1.0]
# expect: () [2.0]
# expect: () [5.0]
# expect: (3, 2) [2.0, 4.0, 1.0, 5.0, 3.0, 6.0]
# expect: (2, 3) [2.0, 1.0, 3.0, 4.0, 5.0, 6.0]
# expect: (1, 2, 2) [1.0, 3.0, 2.0, 4.0]
# expect: (2, 3) [7.0, 7.0, 7.0, 7.0, 7.0, 7.0]
# expect: (2, 3) [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
# expect: (3, 3) [1.0, 1.0, 1.0, 4.0, 2.0, 1.0, 9.0, 3.0, 1.0]
# expect: (2,) [0.0, 1.5708]
# expect: () [0.64872]
# expect: () [3.0]
# expect: (3,) [0.0, 0.5, 1.0]
# expect: () [5.0]
# expect: (2, 1) [0.0, 1.0]
# expect: (1, 1) [2.0]
# expect: True


def forward() -> int:
    return 1
# expect: 1
