# SPDX-License-Identifier: Apache-2.0
# random.py - random: the numbers that CPython gives after random.seed(n), one by one. The generator is seeded by an array; what is drawn takes of it
# as CPython's methods do. Unseeded, it is seeded with torch's seed.
import bisect
import math

import torch
from _twister import Twister as _Twister

_NV = 4 * math.exp(-0.5) / math.sqrt(2.0)
_LOG4 = math.log(4.0)
_SG = 1.0 + math.log(4.5)


def _float_hash(x):
    """hash(x): x modulo the prime 2**61 - 1."""
    if math.isinf(x):
        return 314159 if x > 0 else -314159
    prime = (1 << 61) - 1
    m, e = math.frexp(x)
    sign = -1 if m < 0 else 1
    m, h = abs(m), 0
    while m:
        h = (h & (1 << 33) - 1) << 28 | h >> 33
        m *= 268435456.0
        e -= 28
        y = int(m)
        m -= y
        h += y
        if h >= prime:
            h -= prime
    e = e % 61 if e >= 0 else 60 - (-1 - e) % 61
    h = ((h & (1 << 61 - e) - 1) << e | h >> 61 - e) * sign
    return -2 if h == -1 else h


class Random(_Twister):
    VERSION = 3

    def __init__(self, x=None):
        self.seed(x)

    def seed(self, a=None, version=2):
        if a is None:
            a = torch.initial_seed()
        elif isinstance(a, (str, bytes)):
            raise NotImplementedError('random.seed() of text is not supported here: give a number')
        elif not isinstance(a, (int, float)):
            raise TypeError('The only supported seed types are: None,\nint, float, str, bytes, and bytearray.')
        a = abs(a) if isinstance(a, int) else _float_hash(a)
        low, high = a & 0xffffffff, a >> 32 & 0xffffffff
        words = [low, high] if high else [low]
        self._start(19650218)
        key, i, j = self._key, 1, 0
        for _ in range(624):
            x = key[i - 1]
            key[i] = (key[i] ^ (x ^ x >> 30) * 1664525) + words[j] + j & 0xffffffff
            i, j = i + 1, (j + 1) % len(words)
            if i == 624:
                key[0], i = key[623], 1
        for _ in range(623):
            x = key[i - 1]
            key[i] = (key[i] ^ (x ^ x >> 30) * 1566083941) - i & 0xffffffff
            i += 1
            if i == 624:
                key[0], i = key[623], 1
        key[0] = 0x80000000
        self.gauss_next = None

    def getstate(self):
        return self.VERSION, tuple(self._key) + (self._at,), self.gauss_next

    def setstate(self, state):
        if state[0] != self.VERSION:
            raise ValueError(f'state with version {state[0]} passed to Random.setstate() of version {self.VERSION}')
        self._key, self._at, self.gauss_next = list(state[1][:624]), state[1][624], state[2]

    def random(self):
        return self._double()

    def getrandbits(self, k):
        if k < 0:
            raise ValueError('number of bits must be non-negative')
        if k > 63:
            raise NotImplementedError('random.getrandbits() of more than 63 bits is not supported here')
        if k == 0:
            return 0
        if k <= 32:
            return self._word() >> 32 - k
        low = self._word()
        return (self._word() >> 64 - k) << 32 | low

    def _randbelow(self, n):
        k = n.bit_length()
        r = self.getrandbits(k)
        while r >= n:
            r = self.getrandbits(k)
        return r

    def randrange(self, start, stop=None, step=1):
        for x in (start, stop, step):
            if isinstance(x, float):
                raise TypeError("'float' object cannot be interpreted as an integer")
        if stop is None:
            if step != 1:
                raise TypeError('Missing a non-None stop argument')
            if start <= 0:
                raise ValueError('empty range for randrange()')
            return self._randbelow(start)
        if step == 0:
            raise ValueError('zero step for randrange()')
        n = (stop - start + step - (1 if step > 0 else -1)) // step
        if n <= 0:
            raise ValueError(f'empty range for randrange() ({start}, {stop}, {stop - start})' if step == 1 else 'empty range for randrange()')
        return start + step * self._randbelow(n)

    def randint(self, a, b):
        return self.randrange(a, b + 1)

    def choice(self, seq):
        if not len(seq):
            raise IndexError('Cannot choose from an empty sequence')
        return seq[self._randbelow(len(seq))]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        n = len(population)
        if cum_weights is None:
            if weights is None:
                return [population[math.floor(self.random() * (n + 0.0))] for _ in range(k)]
            cum_weights, total = [], 0
            for w in weights:
                total += w
                cum_weights.append(total)
        elif weights is not None:
            raise TypeError('Cannot specify both weights and cumulative weights')
        if len(cum_weights) != n:
            raise ValueError('The number of weights does not match the population')
        total = cum_weights[-1] + 0.0
        if total <= 0.0:
            raise ValueError('Total of weights must be greater than zero')
        if not math.isfinite(total):
            raise ValueError('Total of weights must be finite')
        return [population[bisect.bisect(cum_weights, self.random() * total, 0, n - 1)] for _ in range(k)]

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._randbelow(i + 1)
            x[i], x[j] = x[j], x[i]

    def sample(self, population, k, *, counts=None):
        if isinstance(population, (dict, set, frozenset)):
            raise TypeError('Population must be a sequence.  For dicts or sets, use sorted(d).')
        if counts is not None:
            sums, total = [], 0
            for c in counts:
                total += c
                sums.append(total)
            if len(sums) != len(population):
                raise ValueError('The number of counts does not match the population')
            if total <= 0 or min(counts) < 0:
                raise ValueError('Counts must be non-negative')
            return [population[bisect.bisect(sums, s)] for s in self.sample(range(total), k)]
        n = len(population)
        if not 0 <= k <= n:
            raise ValueError('Sample larger than population or is negative')
        size = 21
        if k > 5:
            size += 4 ** math.ceil(math.log(k * 3, 4))
        result = []
        if n <= size:
            pool = list(population)
            for i in range(k):
                j = self._randbelow(n - i)
                result.append(pool[j])
                pool[j] = pool[n - i - 1]
        else:
            taken = set()
            for i in range(k):
                j = self._randbelow(n)
                while j in taken:
                    j = self._randbelow(n)
                taken.add(j)
                result.append(population[j])
        return result

    def uniform(self, a, b):
        return a + (b - a) * self.random()

    def triangular(self, low=0.0, high=1.0, mode=None):
        u = self.random()
        if high == low:
            return low
        c = 0.5 if mode is None else (mode - low) / (high - low)
        if u > c:
            u, c, low, high = 1.0 - u, 1.0 - c, high, low
        return low + (high - low) * math.sqrt(u * c)

    def normalvariate(self, mu=0.0, sigma=1.0):
        while True:
            u1 = self.random()
            u2 = 1.0 - self.random()
            z = _NV * (u1 - 0.5) / u2
            if z * z / 4.0 <= -math.log(u2):
                return mu + z * sigma

    def gauss(self, mu=0.0, sigma=1.0):
        z, self.gauss_next = self.gauss_next, None
        if z is None:
            angle = self.random() * (2.0 * math.pi)
            length = math.sqrt(-2.0 * math.log(1.0 - self.random()))
            z = math.cos(angle) * length
            self.gauss_next = math.sin(angle) * length
        return mu + z * sigma

    def lognormvariate(self, mu=0.0, sigma=1.0):
        return math.exp(self.normalvariate(mu, sigma))

    def expovariate(self, lambd=1.0):
        return -math.log(1.0 - self.random()) / lambd

    def vonmisesvariate(self, mu, kappa):
        if kappa <= 1e-6:
            return 2.0 * math.pi * self.random()
        s = 0.5 / kappa
        r = s + math.sqrt(1.0 + s * s)
        while True:
            z = math.cos(math.pi * self.random())
            d = z / (r + z)
            u = self.random()
            if u < 1.0 - d * d or u <= (1.0 - d) * math.exp(d):
                break
        q = 1.0 / r
        f = (q + z) / (1.0 + q * z)
        angle = math.acos(f)
        return (mu + angle if self.random() > 0.5 else mu - angle) % (2.0 * math.pi)

    def gammavariate(self, alpha, beta):
        if alpha <= 0.0 or beta <= 0.0:
            raise ValueError('gammavariate: alpha and beta must be > 0.0')
        if alpha == 1.0:
            return -math.log(1.0 - self.random()) * beta
        if alpha > 1.0:
            ainv = math.sqrt(2.0 * alpha - 1.0)
            bbb, ccc = alpha - _LOG4, alpha + ainv
            while True:
                u1 = self.random()
                if not 1e-7 < u1 < 0.9999999:
                    continue
                u2 = 1.0 - self.random()
                v = math.log(u1 / (1.0 - u1)) / ainv
                x = alpha * math.exp(v)
                z = u1 * u1 * u2
                r = bbb + ccc * v - x
                if r + _SG - 4.5 * z >= 0.0 or r >= math.log(z):
                    return x * beta
        while True:
            u = self.random()
            b = (math.e + alpha) / math.e
            p = b * u
            x = p ** (1.0 / alpha) if p <= 1.0 else -math.log((b - p) / alpha)
            u1 = self.random()
            if p > 1.0 and u1 <= x ** (alpha - 1.0) or p <= 1.0 and u1 <= math.exp(-x):
                return x * beta

    def betavariate(self, alpha, beta):
        y = self.gammavariate(alpha, 1.0)
        return y / (y + self.gammavariate(beta, 1.0)) if y else 0.0

    def paretovariate(self, alpha):
        return (1.0 - self.random()) ** (-1.0 / alpha)

    def weibullvariate(self, alpha, beta):
        return alpha * (-math.log(1.0 - self.random())) ** (1.0 / beta)


_inst = Random()
seed, random, getrandbits, getstate, setstate = _inst.seed, _inst.random, _inst.getrandbits, _inst.getstate, _inst.setstate
randrange, randint, choice, choices, shuffle, sample = _inst.randrange, _inst.randint, _inst.choice, _inst.choices, _inst.shuffle, _inst.sample
uniform, triangular, normalvariate, gauss, lognormvariate = _inst.uniform, _inst.triangular, _inst.normalvariate, _inst.gauss, _inst.lognormvariate
expovariate, vonmisesvariate, gammavariate, betavariate = _inst.expovariate, _inst.vonmisesvariate, _inst.gammavariate, _inst.betavariate
paretovariate, weibullvariate = _inst.paretovariate, _inst.weibullvariate
