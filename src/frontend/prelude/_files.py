# SPDX-License-Identifier: Apache-2.0
# _files - open(): files of text that constructors read, tables of names and configurations. Nothing is written.


class TextIOWrapper:
    def __init__(self, name, mode, text):
        self.name, self.mode, self.closed = name, mode, False
        self._text, self._at = text, 0

    def _open(self):
        if self.closed:
            raise ValueError('I/O operation on closed file.')

    def read(self, size=-1):
        self._open()
        end = len(self._text) if size is None or size < 0 else min(self._at + size, len(self._text))
        part, self._at = self._text[self._at:end], end
        return part

    def readline(self):
        self._open()
        i = self._text.find('\n', self._at)
        return self.read(i + 1 - self._at if i >= 0 else -1)

    def readlines(self):
        lines = self.read().split('\n')
        last = lines.pop()
        return [line + '\n' for line in lines] + ([last] if last else [])

    def __iter__(self):
        return iter(self.readlines())

    def close(self):
        self.closed = True

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *exc):
        self.close()


def open(file, mode='r', buffering=-1, encoding=None, errors=None, newline=None):
    if mode not in ('r', 'rt', 'tr', 'rU', 'U'):
        raise NotImplementedError("open(): mode '" + mode + "' is not supported while a program is being compiled, files are read as text")
    if encoding is not None and encoding.lower().replace('_', '-') not in ('utf-8', 'utf8', 'ascii', 'us-ascii'):
        raise NotImplementedError("open(): encoding '" + encoding + "' is not supported while a program is being compiled")
    text = _read(str(file)).replace('\r\n', '\n').replace('\r', '\n')
    return TextIOWrapper(file, mode, text)
