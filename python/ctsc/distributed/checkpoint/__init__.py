# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint: checkpoints that all ranks write and read together, in PyTorch's format."""
from ..._refused import rest as _rest
from . import filesystem, format_utils, metadata, planner, state_dict, stateful
from .api import AsyncCheckpointerType, CheckpointException, async_save, load, load_state_dict, save, save_state_dict
from .filesystem import FileSystemReader, FileSystemWriter, StorageReader, StorageWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .planner import DefaultLoadPlanner, DefaultSavePlanner, LoadPlanner, SavePlanner

__getattr__ = _rest("torch.distributed.checkpoint")
