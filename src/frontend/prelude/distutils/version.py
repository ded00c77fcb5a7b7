# SPDX-License-Identifier: Apache-2.0
# version.py - versions as lists of numbers and words, compared part by part.
import functools
import re

from packaging.version import Version


@functools.total_ordering
class LooseVersion:
    def __init__(self, vstring):
        self.vstring = vstring
        self.version = [int(part) if part.isdigit() else part for part in re.findall(r'\d+|[a-z]+', vstring)]

    def __str__(self):
        return self.vstring

    def __repr__(self):
        return "LooseVersion ('{}')".format(self.vstring)

    def _parts(self, other):
        return type(self)(other).version if isinstance(other, str) else other.version

    def __eq__(self, other):
        return self.version == self._parts(other)

    def __lt__(self, other):
        return self.version < self._parts(other)


class StrictVersion(LooseVersion):
    """Numbers, and perhaps a pre-release after them: 1.0 and 1.0.0 are equal, and 1.0a1 comes before."""

    def __init__(self, vstring):
        self.vstring = vstring
        self.version = Version(vstring)._key
