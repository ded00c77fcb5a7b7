# SPDX-License-Identifier: Apache-2.0
# numpy's functions that few modules use while they are built: values as numpy gives them.
import numpy as np


def show(x):
    flat = np.array(x).reshape(-1).tolist() if not isinstance(x, tuple) else list(x)
    print([round(float(v), 5) + 0.0 for v in flat])


show(np.eye(2, 3, 1))
show(np.eye(3, k=-1))
show(np.linspace(0, 1, 3, retstep=True)[1])
show(np.average([1, 2], weights=[1, 3]))
show(np.average([[1., 2], [3, 5]], axis=0, weights=[1, 3]))
show(np.ediff1d([1, 3, 6]))
show(np.around([1.567], 1))
show(np.fmod(-5, 3))
show(np.left_shift([1, 2], 2))
show(np.invert([1, 2]))
show(np.fmax([1, np.nan], 2))
show(np.copysign(1, -2.))
show(np.nextafter(1., 2.) - 1)
show(np.ldexp(1.5, 2))
show(np.frexp(12.)[0])
show(np.modf([1.5, -2.25])[0])
show(np.i0([1.]))
show(np.signbit([-1., 2]))
show(np.isposinf([1., np.inf]))
show(np.isreal([1, 2]))
show(np.unwrap([0., 3., 6.5, 9.9, 13]))
show(np.concat([[1], [2]]))
show(np.permute_dims(np.zeros((2, 3)), (1, 0)).shape)
show(np.rollaxis(np.zeros((2, 3, 4)), 2).shape)
show(np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]]))
show(np.trim_zeros([0, 1, 0, 2, 0]))
show(np.triu_indices_from(np.eye(2))[1])
show(np.broadcast_shapes((2, 1), (3,)))
show(np.choose([0, 1], [[1, 2], [3, 4]]))
show(np.select([np.array([True, False]), np.array([True, True])], [np.array([1, 2]), np.array([3, 4])], 0))
show(np.piecewise(np.array([1., -2, 3]), [np.array([True, False, False]), np.array([False, True, False])], [0.5, lambda v: -v, 9]))
show(np.lexsort(([1, 2, 0], [2, 1, 2])))
show(np.vecdot([1, 2], [3, 4]))
show(np.nanmax([1, np.nan, 3]))
show(np.nanstd([1, 2, np.nan]))
show(np.nanvar([[1, np.nan], [3, 5.]], axis=1))
show(np.nanmedian([1, np.nan, 2, 5]))
show(np.nanpercentile([1, 2, np.nan], 50))
show(np.s_[1:3].stop)
show(np.can_cast(np.int64, np.float32))
show(np.corrcoef([1., 2, 4], [1, 2, 3]))
show(np.linalg.cond(np.array([[2., 0], [0, 4]])))
show(np.linalg.eigvals(np.array([[2., 0], [0, 4]])))
show(np.fft.hfft([1., 2, 3]))
show(np.array([3, 1, 2]).argsort())
show(np.array([[1, 0], [0, 2]]).nonzero()[1])
show(np.array([1.5, 2.4]).round())
show(np.array([1, 2]).repeat(2))
show(np.array([1, 2, 4]).std())
show(np.array([1, 2]).dot(np.array([3, 4])))
show(np.array([[1, 2], [3, 4]]).item(1, 0))
show(np.array([[1, 2], [3, 4]]).trace())
show(np.array([1 + 2j]).conj().imag)
# expect: [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
# expect: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
# expect: [0.5]
# expect: [1.75]
# expect: [2.5, 4.25]
# expect: [2.0, 3.0]
# expect: [1.6]
# expect: [-2.0]
# expect: [4.0, 8.0]
# expect: [-2.0, -3.0]
# expect: [2.0, 2.0]
# expect: [-1.0]
# expect: [0.0]
# expect: [6.0]
# expect: [0.75]
# expect: [0.5, -0.25]
# expect: [1.26607]
# expect: [1.0, 0.0]
# expect: [0.0, 1.0]
# expect: [1.0, 1.0]
# expect: [0.0, 3.0, 0.21681, -2.66637, 0.43363]
# expect: [1.0, 2.0]
# expect: [3.0, 2.0]
# expect: [4.0, 2.0, 3.0]
# expect: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
# expect: [1.0, 0.0, 2.0]
# expect: [0.0, 1.0, 1.0]
# expect: [2.0, 3.0]
# expect: [1.0, 4.0]
# expect: [1.0, 4.0]
# expect: [0.5, 2.0, 9.0]
# expect: [1.0, 2.0, 0.0]
# expect: [11.0]
# expect: [3.0]
# expect: [0.5]
# expect: [0.0, 1.0]
# expect: [2.0]
# expect: [1.5]
# expect: [3.0]
# expect: [0.0]
# expect: [1.0, 0.98198, 0.98198, 1.0]
# expect: [2.0]
# expect: [2.0, 4.0]
# expect: [8.0, -2.0, 0.0, -2.0]
# expect: [1.0, 2.0, 0.0]
# expect: [0.0, 1.0]
# expect: [2.0, 2.0]
# expect: [1.0, 1.0, 2.0, 2.0]
# expect: [1.24722]
# expect: [11.0]
# expect: [3.0]
# expect: [5.0]
# expect: [-2.0]
x = np.zeros((2, 2))
np.put_along_axis(x, np.array([[0], [1]]), 5, 1)
np.copyto(x, 7, where=x == 0)
show(x)
# expect: [5.0, 7.0, 7.0, 5.0]


def forward() -> int:
    return 1
# expect: 1
