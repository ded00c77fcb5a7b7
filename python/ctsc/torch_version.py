# SPDX-License-Identifier: Apache-2.0
"""torch_version.py - torch.torch_version: a version that is compared with texts and tuples by its numbers."""
import re


class TorchVersion(str):
    def _numbers(self, other):
        return tuple(int(n) for n in (re.findall(r"\d+", other.partition("+")[0])[:3] if isinstance(other, str) else other))

    def _pair(self, other):
        a, b = self._numbers(self), self._numbers(other)
        return a[:max(len(b), 1)] if not isinstance(other, str) else a, b

    def __lt__(self, other):
        a, b = self._pair(other)
        return a < b

    def __le__(self, other):
        a, b = self._pair(other)
        return a <= b

    def __gt__(self, other):
        a, b = self._pair(other)
        return a > b

    def __ge__(self, other):
        a, b = self._pair(other)
        return a >= b

    def __eq__(self, other):
        a, b = self._pair(other)
        return a == b

    __hash__ = str.__hash__


from .version import __version__ as _version

__version__ = TorchVersion(_version)
