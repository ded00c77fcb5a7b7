# SPDX-License-Identifier: Apache-2.0
"""safetensors.py - .safetensors files, with the names of safetensors.torch: load_file, save_file, safe_open; and several files by their index."""
import json
import os

from . import _C


class safe_open:
    """An open file; its tensors are read when they are asked for, and lie in the file's mapping."""

    def __init__(self, filename, framework="pt", device="cpu"):
        self._file, self._device = _C._safetensors_open(os.fspath(filename)), device

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file = None

    def keys(self):
        """Names, in the order of the data."""
        return [name for name, dtype, shape in _C._safetensors_rows(self._file)]

    def metadata(self):
        return _C._safetensors_metadata(self._file) or None

    def get_dtype(self, name):
        """As the file has it: "F32", "BF16", "F8_E4M3"."""
        return self._row(name)[1]

    def get_shape(self, name):
        return list(self._row(name)[2])

    def get_tensor(self, name):
        t = _C._safetensors_tensor(self._file, name)
        return t if self._device == "cpu" else t.to(self._device)

    def get_slice(self, name):
        """What is read of a tensor when it is indexed: f.get_slice("w")[4:8]."""
        self._row(name)
        return _Slice(self, name)

    def _row(self, name):
        for row in _C._safetensors_rows(self._file):
            if row[0] == name:
                return row
        raise KeyError("the file has no tensor " + name)


class _Slice:
    def __init__(self, file, name):
        self._file, self._name = file, name

    def get_shape(self):
        return self._file.get_shape(self._name)

    def get_dtype(self):
        return self._file.get_dtype(self._name)

    def __getitem__(self, index):
        return self._file.get_tensor(self._name)[index]


def load_file(filename, device="cpu"):
    """All tensors of a file, by name."""
    with safe_open(filename, device=device) as f:
        return {name: f.get_tensor(name) for name in f.keys()}


def save_file(tensors, filename, metadata=None):
    """Writes tensors by name. One that has several names is written once, and the metadata say OTHER = NAME."""
    _C._safetensors_save(dict(tensors), metadata or {}, os.fspath(filename))


def load_index(filename, names=None, device="cpu"):
    """Tensors by name, of the files that model.safetensors.index.json names; names: those that are wanted, and only the files that have one of them are opened."""
    with open(filename) as f:
        where = json.load(f)["weight_map"]
    names, found = list(where if names is None else names), {}
    lacking = [name for name in names if name not in where]
    if lacking:
        raise KeyError("the index has no tensor " + lacking[0])
    for file in sorted({where[name] for name in names}):
        if os.path.basename(file) != file or file in ("", ".", ".."):
            raise ValueError("the index names %r, which is not a file beside it" % file)
        with safe_open(os.path.join(os.path.dirname(os.fspath(filename)), file), device=device) as f:
            found.update((name, f.get_tensor(name)) for name in names if where[name] == file)
    return {name: found[name] for name in names}
