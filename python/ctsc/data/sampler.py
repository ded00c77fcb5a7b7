# SPDX-License-Identifier: Apache-2.0
"""sampler.py - the order of examples, drawn as PyTorch's samplers draw it."""
from .. import _C
from .._functions import Generator, as_tensor

_empty, _randperm, _randint, _multinomial = (_C._operator(n) for n in ("empty", "randperm", "randint", "multinomial"))


def draw_seed(generator=None):
    """A seed, of the generator's numbers."""
    return int(_empty([], dtype=_C.int64).random_(generator=generator).item())


class Sampler:
    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError

    def __class_getitem__(cls, kind):
        return cls


class SequentialSampler(Sampler):
    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError("replacement should be a boolean value, but got replacement=%s" % (replacement,))
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError("num_samples should be a positive integer value, but got num_samples=%s" % (num_samples,))
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        generator = self.generator if self.generator is not None else Generator().manual_seed(draw_seed())
        if self.replacement:
            while wanted > 0:
                drawn = _randint(high=n, size=[min(32, wanted)], dtype=_C.int64, generator=generator).tolist()
                yield from drawn
                wanted -= len(drawn)
        else:
            for _ in range(wanted // n if n else 0):
                yield from _randperm(n, generator=generator).tolist()
            yield from _randperm(n, generator=generator).tolist()[:wanted % n if n else 0] # drawn though nothing may be left, as by PyTorch

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in _randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError("num_samples should be a positive integer value, but got num_samples=%s" % (num_samples,))
        if not isinstance(replacement, bool):
            raise ValueError("replacement should be a boolean value, but got replacement=%s" % (replacement,))
        self.weights, self.num_samples, self.replacement, self.generator = as_tensor(weights, dtype=_C.float64), num_samples, replacement, generator

    def __iter__(self):
        yield from iter(_multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError("batch_size should be a positive integer value, but got batch_size=%s" % (batch_size,))
        if not isinstance(drop_last, bool):
            raise ValueError("drop_last should be a boolean value, but got drop_last=%s" % (drop_last,))
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for i in self.sampler:
            batch.append(i)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size
