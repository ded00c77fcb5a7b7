# SPDX-License-Identifier: Apache-2.0
"""distributed.py - torch.utils.data.distributed: a sampler of the part of the data that one of several processes sees."""
import math

from ctsc import _C
from ctsc._functions import Generator
from ctsc.data.sampler import Sampler

_randperm = _C._operator("randperm")


class DistributedSampler(Sampler):
    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        from ctsc import distributed
        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError("Invalid rank %d, rank should be in the interval [0, %d]" % (rank, num_replicas - 1))
        self.dataset, self.num_replicas, self.rank, self.epoch, self.drop_last, self.shuffle, self.seed = dataset, num_replicas, rank, 0, drop_last, shuffle, seed
        n = len(dataset)
        self.num_samples = math.ceil((n - num_replicas) / num_replicas) if drop_last and n % num_replicas else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        n = len(self.dataset)
        indices = _randperm(n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist() if self.shuffle else list(range(n))
        if self.drop_last:
            indices = indices[:self.total_size]
        elif indices:
            indices = (indices * math.ceil(self.total_size / n))[:self.total_size]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Another order for each epoch."""
        self.epoch = epoch
