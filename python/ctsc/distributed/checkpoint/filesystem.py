# SPDX-License-Identifier: Apache-2.0
"""filesystem.py - checkpoints in folders.

Each rank writes a file of its own, and rank 0 the file .metadata when all have: under another name, which becomes its own last. Files of the checkpoint that was in the
folder before are not written to, and are removed after that. So a folder always has a whole checkpoint, whenever a process ends."""
import io
import os

from . import metadata

NAME = ".metadata"


def _flush(path, data):
    with open(path, "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())


class StorageWriter:
    pass


class StorageReader:
    pass


class FileSystemWriter(StorageWriter):
    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1, per_thread_copy_ahead=10_000_000, cache_staged_state_dict=False, overwrite=True, **options):
        self.path, self.overwrite = os.fspath(path), overwrite

    checkpoint_id = property(lambda self: self.path)

    def begin(self, first):
        """By all ranks; first: by the one that makes the folder."""
        if first:
            os.makedirs(self.path, exist_ok=True)
            if not self.overwrite and os.path.exists(os.path.join(self.path, NAME)):
                raise RuntimeError("Checkpoint already exists and self.overwrite=%s." % self.overwrite)

    def file_of(self, rank):
        """A name that the checkpoint of this folder has not."""
        i = 0
        while os.path.exists(os.path.join(self.path, "__%d_%d.distcp" % (rank, i))):
            i += 1
        return "__%d_%d.distcp" % (rank, i)

    def write(self, rank, items):
        """items: [(index, bytes)]. Where they are: [(index, _StorageInfo)]."""
        if not items:
            return []
        name, found, at = self.file_of(rank), [], 0
        with open(os.path.join(self.path, name), "wb") as f:
            for index, data in items:
                f.write(data)
                found.append((index, metadata._StorageInfo(name, at, len(data))))
                at += len(data)
            f.flush()
            os.fsync(f.fileno())
        return found

    def end(self, made):
        temporary = os.path.join(self.path, NAME + ".tmp")
        _flush(temporary, metadata.write(made))
        os.replace(temporary, os.path.join(self.path, NAME))
        used = {info.relative_path for info in made.storage_data.values()}
        for name in os.listdir(self.path):
            if name.endswith(".distcp") and name not in used:
                os.remove(os.path.join(self.path, name))


class FileSystemReader(StorageReader):
    def __init__(self, path, **options):
        self.path, self._files = os.fspath(path), {}

    checkpoint_id = property(lambda self: self.path)

    def read_metadata(self):
        with open(os.path.join(self.path, NAME), "rb") as f:
            return metadata.read(f.read())

    def read(self, info):
        """The bytes of one object."""
        name = info.relative_path
        if os.path.isabs(name) or ".." in name.split(os.sep):
            raise ValueError("a file of a checkpoint is in its folder, not at %s" % name)
        if getattr(info, "transform_descriptors", None):
            raise NotImplementedError("transformed files of checkpoints are not supported: %s" % (info.transform_descriptors,))
        with open(os.path.join(self.path, name), "rb") as f:
            f.seek(info.offset)
            data = f.read(info.length)
        if len(data) != info.length:
            raise ValueError("%s is cut short" % os.path.join(self.path, name))
        return data


def packed(x):
    """What torch.save makes of it."""
    import ctsc
    made = io.BytesIO()
    ctsc.save(x, made)
    return made.getvalue()


def unpacked(data):
    import ctsc
    return ctsc.load(io.BytesIO(data), weights_only=False)
