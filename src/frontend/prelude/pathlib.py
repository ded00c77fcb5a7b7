# SPDX-License-Identifier: Apache-2.0
# pathlib.py - paths as texts; files are only read.
import os as _os
from posixpath import join as _join


class PurePath:
    def __init__(self, *parts):
        text = _join(*[str(p) for p in parts]) if parts else '.'
        while '//' in text:
            text = text.replace('//', '/')
        self._text = text.rstrip('/') if len(text) > 1 else text

    def __str__(self):
        return self._text

    def __repr__(self):
        return "PosixPath('" + self._text + "')"

    def __fspath__(self):
        return self._text

    def __truediv__(self, other):
        return type(self)(self._text, other)

    def __rtruediv__(self, other):
        return type(self)(other, self._text)

    def __eq__(self, other):
        return isinstance(other, PurePath) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def joinpath(self, *parts):
        return type(self)(self._text, *parts)

    @property
    def name(self):
        return self._text.split('/')[-1]

    @property
    def suffix(self):
        i = self.name.rfind('.')
        return self.name[i:] if i > 0 else ''

    @property
    def stem(self):
        i = self.name.rfind('.')
        return self.name[:i] if i > 0 else self.name

    @property
    def parts(self):
        parts = tuple(p for p in self._text.split('/') if p)
        return ('/',) + parts if self._text.startswith('/') else parts

    @property
    def parent(self):
        i = self._text.rfind('/')
        return type(self)(self._text[:i] if i > 0 else '/' if i == 0 else '.')

    @property
    def parents(self):
        found = []
        at = self
        while str(at.parent) != str(at):
            at = at.parent
            found.append(at)
        return found

    def with_suffix(self, suffix):
        return self.parent / (self.stem + suffix)

    def with_name(self, name):
        return self.parent / name

    def as_posix(self):
        return self._text

    def is_absolute(self):
        return self._text.startswith('/')


class Path(PurePath):
    def resolve(self, strict=False):
        return Path(_os.path.abspath(self._text))

    def absolute(self):
        return self.resolve()

    def expanduser(self):
        return self

    def exists(self):
        return _os.path.exists(self._text)

    def is_file(self):
        return _os.path.isfile(self._text)

    def is_dir(self):
        return _os.path.isdir(self._text)

    def open(self, mode='r', buffering=-1, encoding=None, errors=None, newline=None):
        return open(self._text, mode, buffering, encoding, errors, newline)

    def read_text(self, encoding=None, errors=None):
        return self.open('r', -1, encoding).read()


PosixPath = Path
PurePosixPath = PurePath
