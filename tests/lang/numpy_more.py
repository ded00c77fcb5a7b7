"""More of numpy while a program is built: sizes, bits, parts, sets, histograms: what NumPy 2.4 gives."""
import numpy as np


def show(*xs):
    for x in xs:
        a = np.array(x)
        print(tuple(a.shape), [round(float(v), 5) + 0.0 for v in np.ravel(a)])


a = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
i = np.array([4, 1, 3, 1, 4])
z = np.fft.fft(np.array([0.0, 1.0, 2.0]))
print(np.shape(a), np.size(a), np.size(a, 0), np.shape([1, 2]))
show(np.bitwise_and(i, 3), np.bitwise_or(i, 8), np.bitwise_xor(i, 1), np.gcd(i, 6), np.lcm(i, 6))
show(np.real(z), np.imag(z), np.real(np.conj(z)), np.imag(np.conj(z)), np.angle(z), np.imag(a), np.angle(np.array([-1.0, 2.0]), deg=True))
show(np.take_along_axis(a, np.argsort(a, 1), 1))
show(*np.histogram(a, 3), *np.histogram(a, [0.0, 2.0, 7.0]), *np.histogram(a, 2, range=(0, 4), density=True), np.histogram(i, 2)[0])
show(np.intersect1d(i, [1, 4, 9]), np.setdiff1d(i, [1]), np.union1d(i, [9, 0]))
show(np.partition(i, 2)[2], np.resize(i, (2, 4)))
show(np.apply_along_axis(np.sum, 0, a), np.apply_along_axis(np.sort, 1, a), np.apply_along_axis(np.cumsum, 0, a))
print(np.issubdtype(a.dtype, np.floating), np.issubdtype(np.int32, np.integer), np.issubdtype(np.float32, np.integer), np.issubdtype(np.float32, np.number))
# expect: (2, 3) 6 2 (2,)
# expect: (5,) [0.0, 1.0, 3.0, 1.0, 0.0]
# expect: (5,) [12.0, 9.0, 11.0, 9.0, 12.0]
# expect: (5,) [5.0, 0.0, 2.0, 0.0, 5.0]
# expect: (5,) [2.0, 1.0, 3.0, 1.0, 2.0]
# expect: (5,) [12.0, 6.0, 6.0, 6.0, 12.0]
# expect: (3,) [3.0, -1.5, -1.5]
# expect: (3,) [0.0, 0.86603, -0.86603]
# expect: (3,) [3.0, -1.5, -1.5]
# expect: (3,) [0.0, -0.86603, 0.86603]
# expect: (3,) [0.0, 2.61799, -2.61799]
# expect: (2, 3) [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# expect: (2,) [180.0, 0.0]
# expect: (2, 3) [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# expect: (3,) [2.0, 2.0, 2.0]
# expect: (4,) [1.0, 2.66667, 4.33333, 6.0]
# expect: (2,) [1.0, 5.0]
# expect: (3,) [0.0, 2.0, 7.0]
# expect: (2,) [0.125, 0.375]
# expect: (3,) [0.0, 2.0, 4.0]
# expect: (2,) [2.0, 3.0]
# expect: (2,) [1.0, 4.0]
# expect: (2,) [3.0, 4.0]
# expect: (5,) [0.0, 1.0, 3.0, 4.0, 9.0]
# expect: () [3.0]
# expect: (2, 4) [4.0, 1.0, 3.0, 1.0, 4.0, 4.0, 1.0, 3.0]
# expect: (3,) [9.0, 6.0, 6.0]
# expect: (2, 3) [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
# expect: (2, 3) [3.0, 1.0, 2.0, 9.0, 6.0, 6.0]
# expect: True True False True


def forward() -> int:
    return 1
# expect: 1
