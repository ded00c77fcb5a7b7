# SPDX-License-Identifier: Apache-2.0
# torch_version.py - torch.__version__: text that is compared as a version, so that '1.13.1' >= '1.5'.
from packaging.version import InvalidVersion, Version


class TorchVersion(str):
    def _ordered(self, other, holds):
        """holds(self, other) of the versions, or of the texts where other is none."""
        if isinstance(other, (tuple, list)):
            other = '.'.join([str(part) for part in other])
        try:
            return holds(Version(str(self)), other if isinstance(other, Version) else Version(str(other)))
        except InvalidVersion:
            return holds(str(self), str(other))

    def __lt__(self, other):
        return self._ordered(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._ordered(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._ordered(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._ordered(other, lambda a, b: a >= b)

    def __eq__(self, other):
        return self._ordered(other, lambda a, b: a == b)

    def __ne__(self, other):
        return not self._ordered(other, lambda a, b: a == b)

    def __hash__(self):
        return hash(str(self))


__version__ = TorchVersion('1.13.1')
