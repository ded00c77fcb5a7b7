# SPDX-License-Identifier: Apache-2.0
# flatten.py - several dimensions into one, and one into several.
from typing import List, Tuple, Union

from torch import Tensor

from .module import Module


class Flatten(Module):
    __constants__ = ['start_dim', 'end_dim']
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return 'start_dim={}, end_dim={}'.format(self.start_dim, self.end_dim)


class Unflatten(Module):
    NamedShape = Tuple[Tuple[str, int]]
    __constants__ = ['dim', 'unflattened_size']
    dim: Union[int, str]
    unflattened_size: Union[List[int], Tuple[int, ...], NamedShape]

    def __init__(self, dim, unflattened_size) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._check(unflattened_size, int, 'int')
        elif isinstance(dim, str):
            self._check(unflattened_size, tuple, 'tuple')
        else:
            raise TypeError('invalid argument type for dim parameter')
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _check(self, sizes, element, name):
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(
                'unflattened_size must be a tuple of {}s, but found type {}'.format(name, type(sizes).__name__)
            )
        for idx, size in enumerate(sizes):
            if not isinstance(size, element):
                raise TypeError(
                    'unflattened_size must be tuple of {}s, but found element of type {} at pos {}'.format(
                        name, type(size).__name__, idx
                    )
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return 'dim={}, unflattened_size={}'.format(self.dim, self.unflattened_size)
