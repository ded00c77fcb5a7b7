# SPDX-License-Identifier: Apache-2.0
# random.py - numpy.random as RandomState has it: the numbers that numpy gives after np.random.seed(n), one by one: they come of the generator
# as numpy's legacy functions take them. Unseeded, it is seeded with torch's seed.
import math

import numpy as np
import torch
from _twister import Twister as _Twister


class RandomState(_Twister):
    def __init__(self, seed=None):
        self.seed(seed)

    def seed(self, seed=None):
        x = int(torch.initial_seed() if seed is None else seed)
        if seed is not None and not 0 <= x < 2 ** 32:
            raise ValueError('Seed must be between 0 and 2**32 - 1')
        self._start(x)
        self._gauss = None

    def _below(self, most):
        """A whole number up to and with `most`: as many bits as that has, until they fit."""
        if most == 0:
            return 0
        mask = (1 << most.bit_length()) - 1
        while True:
            high = self._word() & mask >> 32 if most >= 2 ** 32 else 0
            x = high << 32 | self._word() & mask
            if x <= most:
                return x

    def _normal(self):
        if self._gauss is not None:
            x, self._gauss = self._gauss, None
            return x
        while True:
            x, y = 2.0 * self._double() - 1.0, 2.0 * self._double() - 1.0
            r = x * x + y * y
            if 0.0 < r < 1.0:
                f = math.sqrt(-2.0 * math.log(r) / r)
                self._gauss = f * x
                return f * y

    def _filled(self, size, draw, dtype=np.float64):
        if size is None:
            return np._number(draw())
        shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        return np.array([draw() for _ in range(math.prod(shape))], dtype=dtype).reshape(shape)

    def random_sample(self, size=None):
        return self._filled(size, self._double)

    def random(self, size=None):
        return self.random_sample(size)

    def rand(self, *shape):
        return self.random_sample(shape or None)

    def randn(self, *shape):
        return self._filled(shape or None, self._normal)

    def standard_normal(self, size=None):
        return self._filled(size, self._normal)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._filled(size, lambda: loc + scale * self._normal())

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._filled(size, lambda: low + (high - low) * self._double())

    def randint(self, low, high=None, size=None, dtype=int):
        if high is None:
            low, high = 0, low
        if high <= low:
            raise ValueError('low >= high')
        return self._filled(size, lambda: low + self._below(high - low - 1), np.int64)

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._below(i)
            if isinstance(x, np.ndarray) and x.ndim > 1:
                x[i], x[j] = x[j].copy(), x[i].copy()
            else:
                x[i], x[j] = x[j], x[i]

    def permutation(self, x):
        a = np.arange(x) if isinstance(x, int) else np.array(x)
        if a.ndim > 1:
            order = np.arange(len(a))
            self.shuffle(order)
            return a[order]
        self.shuffle(a)
        return a

    def choice(self, a, size=None, replace=True, p=None):
        items = np.arange(a) if isinstance(a, int) else np.array(a)
        n, count = len(items), 1 if size is None else math.prod(size) if isinstance(size, (tuple, list)) else size
        if p is not None:
            if not replace:
                raise NotImplementedError('numpy.random.choice with p and without replacement')
            sums = [float(s) for s in np.cumsum(np.array(p, dtype=np.float64))]
            picked = []
            for _ in range(count):
                u = self._double()
                picked.append(len([s for s in sums if s / sums[n - 1] <= u]))
        elif replace:
            picked = [self._below(n - 1) for _ in range(count)]
        elif count > n:
            raise ValueError("Cannot take a larger sample than population when 'replace=False'")
        else:
            picked = self.permutation(n)[:count].tolist()
        return items[picked[0]] if size is None else items[np.array(picked)].reshape(size)


_state = RandomState()
seed, random_sample, random, rand, randn = _state.seed, _state.random_sample, _state.random, _state.rand, _state.randn
standard_normal, normal, uniform, randint = _state.standard_normal, _state.normal, _state.uniform, _state.randint
shuffle, permutation, choice = _state.shuffle, _state.permutation, _state.choice
