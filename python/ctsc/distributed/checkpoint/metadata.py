# SPDX-License-Identifier: Apache-2.0
"""metadata.py - torch.distributed.checkpoint.metadata: what the file .metadata of a checkpoint says, and that file.

It is a pickle of these classes under PyTorch's names: for each tensor its size and the chunks that were saved, and for each chunk and each other object the file, the
offset and the length of what torch.save made of it. Only the classes listed in _KNOWN are made when it is read."""
import dataclasses
import enum
import io
import pathlib
import pickle

from ctsc import _C

_MODULE = "torch.distributed.checkpoint.metadata"


@dataclasses.dataclass
class ChunkStorageMetadata:
    offsets: tuple
    sizes: tuple


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


class TensorProperties:
    def __init__(self, dtype=None, layout=None, requires_grad=False, memory_format=None, pin_memory=False, strides=None):
        self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory, self.strides = dtype, layout, requires_grad, memory_format, pin_memory, strides

    def __getstate__(self):
        return self.dtype, _ByName("torch", "strided"), self.requires_grad, _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT, self.pin_memory, self.strides

    def __setstate__(self, state):
        self.__init__(*(tuple(state) + (None,))[:6])


@dataclasses.dataclass
class TensorStorageMetadata:
    properties: TensorProperties
    size: tuple
    chunks: list


@dataclasses.dataclass
class BytesStorageMetadata:
    pass


@dataclasses.dataclass
class StorageMeta:
    checkpoint_id: object = None
    save_id: str = None
    load_id: str = None
    modules: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Metadata:
    state_dict_metadata: dict
    planner_data: object = None
    storage_data: object = None
    storage_meta: StorageMeta = None
    version: str = None


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    fqn: str
    offset: tuple = None
    index: int = dataclasses.field(hash=False, compare=False, default=None)


@dataclasses.dataclass
class _StorageInfo:
    relative_path: str
    offset: int
    length: int
    transform_descriptors: list = None


# ---- the file ------------------------------------------------------------------------------------------------------------------


class _ByName:
    """A name of PyTorch's that is written, and is nothing here."""

    def __init__(self, module, name):
        self.module, self.name = module, name


def _layout(name):
    return _ByName("torch", name.rpartition(".")[2])


_CLASSES = {c: (_MODULE, c.__name__) for c in (ChunkStorageMetadata, _MEM_FORMAT_ENCODING, TensorProperties, TensorStorageMetadata, BytesStorageMetadata, StorageMeta, Metadata,
                                               MetadataIndex)}
_CLASSES[_StorageInfo] = ("torch.distributed.checkpoint.filesystem", "_StorageInfo")
_KNOWN = {names: c for c, names in _CLASSES.items()}
_KNOWN.update({("torch.serialization", "_get_layout"): _layout, ("pathlib", "PosixPath"): pathlib.PurePosixPath, ("pathlib", "PurePosixPath"): pathlib.PurePosixPath,
               ("pathlib._local", "PosixPath"): pathlib.PurePosixPath, ("collections", "OrderedDict"): dict})


class Sizes(tuple):
    """A torch.Size in the file."""


class _Writer(pickle._Pickler):
    """Python's own, since the names that it writes are not those of the classes here."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _C.dtype):
            return self._name("torch", str(obj).rpartition(".")[2])
        if isinstance(obj, _ByName):
            return self._name(obj.module, obj.name)
        if type(obj) in (Sizes, _MEM_FORMAT_ENCODING): # of a class with one argument
            self._name(*(_CLASSES.get(type(obj)) or ("torch", "Size")))
            super().save((tuple(obj) if type(obj) is Sizes else obj.value,))
            return self.write(pickle.REDUCE)
        return super().save(obj, save_persistent_id)

    def save_global(self, obj, name=None):
        if obj in _CLASSES:
            return self._name(*_CLASSES[obj])
        return super().save_global(obj, name)

    def _name(self, module, name):
        self.write(pickle.GLOBAL + ("%s\n%s\n" % (module, name)).encode())

    dispatch[type] = lambda self, obj: self.save_global(obj)


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if module == "torch" and name == "Size":
            return Sizes
        if module == "torch":
            found = getattr(_C, name, None)
            return found if isinstance(found, _C.dtype) else _ByName(module, name)
        found = _KNOWN.get((module, name))
        if found is None:
            raise pickle.UnpicklingError("a checkpoint's metadata has no %s.%s" % (module, name))
        return found


def write(metadata):
    made = io.BytesIO()
    _Writer(made, 2).dump(metadata)
    return made.getvalue()


def read(data):
    found = _Reader(io.BytesIO(data)).load()
    if not isinstance(found, Metadata):
        raise pickle.UnpicklingError("a checkpoint's metadata is not a %s" % type(found).__name__)
    return found
