# SPDX-License-Identifier: Apache-2.0
"""dataset.py - data sets: by index (Dataset), one after the other (IterableDataset), and what is made of others."""
import bisect
import itertools
import math

from .. import _C
from .._functions import default_generator, tensor


class Dataset:
    """Has examples: dataset[i], and len(dataset)."""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])

    def __class_getitem__(cls, kind):
        return cls


class IterableDataset(Dataset):
    """Gives examples one after the other. In a worker, get_worker_info() tells which part of them is its own."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors."""

    def __init__(self, *tensors):
        assert all(tensors[0].size(0) == t.size(0) for t in tensors), "Size mismatch between tensors"
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def _rows(self, indices):
        """A batch as default_collate makes it of single rows."""
        rows = tensor(indices, dtype=_C.int64)
        return [t.index_select(0, rows) for t in self.tensors]

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Examples of several data sets side by side: tuples, or (by name) dicts."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes data sets either by position or by name")
        self.datasets = args or kwargs
        sizes = {len(d) for d in (args or kwargs.values())}
        if len(sizes) != 1:
            raise ValueError("Size mismatch between datasets")
        self._length, = sizes

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    def __init__(self, datasets):
        self.datasets = list(datasets)
        assert self.datasets, "datasets should not be an empty iterable"
        assert not any(isinstance(d, IterableDataset) for d in self.datasets), "ConcatDataset does not support IterableDataset"
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for d in self.datasets:
            assert isinstance(d, IterableDataset), "ChainDataset only supports IterableDataset"
            yield from d

    def __len__(self):
        return sum(len(d) for d in self.datasets)


class Subset(Dataset):
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=default_generator):
    """Parts of a data set without common examples, of these lengths, or these shares where they sum up to 1."""
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        shares, lengths = lengths, []
        for i, share in enumerate(shares):
            if share < 0 or share > 1:
                raise ValueError("Fraction at index %d is not between 0 and 1" % i)
            lengths.append(int(math.floor(len(dataset) * share)))
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = _C._operator("randperm")(sum(lengths), generator=generator).tolist()
    return [Subset(dataset, indices[end - n:end]) for end, n in zip(itertools.accumulate(lengths), lengths)]
