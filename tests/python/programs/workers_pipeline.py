"""Loaders with workers: worker_init_fn, seeds, persistent workers, collate of dicts and strings, pinned batches, iterable shards, exceptions in workers, samplers by length, prefetching."""
import random
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, get_worker_info, default_collate, ChainDataset, StackDataset, TensorDataset, Subset


class Texts(Dataset):
    def __init__(self, n):
        g = random.Random(0)
        self.items = [{"text": "w" * g.randint(1, 5), "ids": torch.arange(g.randint(2, 7)), "score": g.random(), "tag": ("a", i % 3)} for i in range(n)]

    def __getitem__(self, i):
        if isinstance(i, slice):
            raise TypeError("no slices")
        return self.items[i]

    def __len__(self):
        return len(self.items)

    def __getitems__(self, ids):
        return [self.items[i] for i in ids]


class ByLength(Sampler):
    def __init__(self, data, size):
        self.order = sorted(range(len(data)), key=lambda i: len(data[i]["ids"]))
        self.size = size

    def __iter__(self):
        for i in range(0, len(self.order), self.size):
            yield self.order[i:i + self.size]

    def __len__(self):
        return -(-len(self.order) // self.size)


def collate(batch):
    ids = torch.nn.utils.rnn.pad_sequence([b.pop("ids") if False else b["ids"] for b in batch], batch_first=True, padding_value=-1)
    rest = default_collate([{k: v for k, v in b.items() if k != "ids"} for b in batch])
    return dict(rest, ids=ids)


class Augmented(Dataset):
    def __getitem__(self, i):
        info = get_worker_info()
        return i, 0 if info is None else info.num_workers, torch.initial_seed() != 0

    def __len__(self):
        return 7


class Failing(Dataset):
    def __getitem__(self, i):
        if i == 3:
            raise KeyError("item %d is broken" % i)
        return i

    def __len__(self):
        return 6


class Stream(IterableDataset):
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.lo, self.hi))
        per = -(-(self.hi - self.lo) // info.num_workers)
        a = self.lo + info.id * per
        return iter(range(a, min(a + per, self.hi)))


def init(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
    random.seed(worker_id)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = Texts(10)
    for w in (0, 2):
        loader = DataLoader(data, batch_sampler=ByLength(data, 4), collate_fn=collate, num_workers=w, worker_init_fn=init, persistent_workers=w > 0, prefetch_factor=2 if w else None)
        print(len(loader))
        for epoch in range(2):
            for b in loader:
                print(b["ids"].shape, b["text"], b["score"].dtype, b["tag"], end=" | ")
            print()
    print([x for x in DataLoader(Augmented(), batch_size=3, num_workers=2)])
    for w in (0, 2):
        try:
            for b in DataLoader(Failing(), batch_size=2, num_workers=w):
                print(b, end=" ")
        except KeyError as e:
            print("KeyError", "item 3 is broken" in str(e), "DataLoader worker process" in str(e))
    print([b.tolist() for b in DataLoader(Stream(3, 10), batch_size=2, num_workers=2)], list(DataLoader(Stream(0, 3), batch_size=None)))
    print(list(DataLoader(ChainDataset([Stream(0, 2), Stream(5, 7)]), batch_size=3)), next(iter(DataLoader(StackDataset(x=torch.arange(4), y=torch.arange(4) * 2), batch_size=2))))
    print(default_collate([{"a": 1, "b": [1.0, 2]}, {"a": 2, "b": [3.0, 4]}]), default_collate(["x", "y"]), default_collate([np.float32(1), np.float32(2)]), default_collate([(1, torch.ones(2)), (2, torch.zeros(2))]), default_collate([True, False]))
    it = iter(DataLoader(range(5), batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(3)))
    print(next(it), next(it), next(it), next(it, None))
    g = torch.Generator()
    g.manual_seed(0)
    print([b.tolist() for b in DataLoader(TensorDataset(torch.arange(6)), batch_size=4, shuffle=True, generator=g, collate_fn=lambda b: torch.stack([x[0] for x in b]))])
    print(len(DataLoader(range(10), 3)), len(DataLoader(range(10), 3, drop_last=True)), DataLoader(range(4)).batch_size, list(DataLoader(Subset(range(10), [7, 2]), batch_size=None)), DataLoader(range(3)).dataset)
    for bad in (dict(batch_size=0), dict(num_workers=-1), dict(prefetch_factor=2), dict(persistent_workers=True), dict(timeout=-1), dict(batch_sampler=[[0]], shuffle=True)):
        try:
            DataLoader(range(3), **bad)
            print("fine")
        except ValueError as e:
            print("ValueError", e)
    try:
        default_collate([torch.ones(2), torch.ones(3)])
    except RuntimeError as e:
        print("RuntimeError", e)
    try:
        default_collate([object()])
    except TypeError as e:
        print("TypeError", str(e)[:60])
    try:
        len(DataLoader(Stream(0, 3)))
    except TypeError as e:
        print("TypeError", e)
