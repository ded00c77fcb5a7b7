# SPDX-License-Identifier: Apache-2.0
"""ctsc.data - torch.utils.data: data sets, samplers, and the loader that makes batches of them, in this process or in others."""
from .collate import default_collate, default_convert
from .dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split)
from .loader import DataLoader
from .sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)
from .worker import get_worker_info
