# SPDX-License-Identifier: Apache-2.0
"""ctsc.data - torch.utils.data: data sets, samplers, and the loader that makes batches of them, in this process or in others."""
from .collate import default_collate, default_convert
from .dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split)
from .loader import DataLoader
from .sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)
from .worker import get_worker_info


def __getattr__(name):
    if name not in ("distributed", "DistributedSampler"):
        raise AttributeError("module 'ctsc.data' has no attribute '%s'" % name)
    import importlib
    module = importlib.import_module(".distributed", __name__)
    return module if name == "distributed" else module.DistributedSampler
