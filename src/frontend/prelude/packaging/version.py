# SPDX-License-Identifier: Apache-2.0
# version.py - versions and their order as PEP 440 has them: epochs, releases, pre-, post- and development releases, local labels.
import functools
import re

_PATTERN = re.compile(
    r'v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)(?:[-_.]?(alpha|beta|preview|pre|a|b|c|rc)[-_.]?([0-9]*))?'
    r'(?:-([0-9]+)|[-_.]?(?:post|rev|r)[-_.]?([0-9]*))?(?:[-_.]?dev[-_.]?([0-9]*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$')
_LETTERS = {'alpha': 'a', 'beta': 'b', 'c': 'rc', 'pre': 'rc', 'preview': 'rc'}


class InvalidVersion(ValueError):
    pass


@functools.total_ordering
class Version:
    def __init__(self, version):
        text = version.strip().lower()
        found = _PATTERN.match(text)
        if found is None:
            raise InvalidVersion("Invalid version: '{}'".format(version))
        epoch, release, letter, number, dash, post, dev, local = found.groups()
        self.epoch = int(epoch or 0)
        self.release = tuple([int(part) for part in release.split('.')])
        self.pre = (_LETTERS.get(letter, letter), int(number or 0)) if letter else None
        self.post = int(dash or post or 0) if dash is not None or post is not None else None
        self.dev = int(dev or 0) if dev is not None else None
        self.local = re.sub('[-_]', '.', local) if local else None
        last = len(self.release)
        while last > 1 and self.release[last - 1] == 0:
            last -= 1
        # a development release alone comes before every pre-release
        before = ('', 0) if self.pre is None and self.post is None and self.dev is not None else self.pre or ('z', 0)
        labels = tuple([(1, int(part), '') if part.isdigit() else (0, 0, part) for part in (self.local or '').split('.') if part])
        self._key = (self.epoch, self.release[:last], before, -1 if self.post is None else self.post, float('inf') if self.dev is None else self.dev,
                     (0 if self.local is None else 1, labels))

    @property
    def public(self):
        return str(self).split('+')[0]

    @property
    def base_version(self):
        return ('{}!'.format(self.epoch) if self.epoch else '') + '.'.join([str(part) for part in self.release])

    @property
    def major(self):
        return self.release[0]

    @property
    def minor(self):
        return self.release[1] if len(self.release) > 1 else 0

    @property
    def micro(self):
        return self.release[2] if len(self.release) > 2 else 0

    @property
    def is_prerelease(self):
        return self.pre is not None or self.dev is not None

    @property
    def is_postrelease(self):
        return self.post is not None

    @property
    def is_devrelease(self):
        return self.dev is not None

    def __str__(self):
        text = self.base_version
        if self.pre is not None:
            text += '{}{}'.format(self.pre[0], self.pre[1])
        if self.post is not None:
            text += '.post{}'.format(self.post)
        if self.dev is not None:
            text += '.dev{}'.format(self.dev)
        return text + '+' + self.local if self.local else text

    def __repr__(self):
        return "<Version('{}')>".format(self)

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return self._key == other._key if isinstance(other, Version) else NotImplemented

    def __lt__(self, other):
        return self._key < other._key if isinstance(other, Version) else NotImplemented


def parse(version):
    return Version(version)
