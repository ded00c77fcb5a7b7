"""Dataset, DataLoader with shuffling, collate_fn, samplers, random_split, worker processes."""
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler, Subset, SubsetRandomSampler,
                              TensorDataset, WeightedRandomSampler, get_worker_info, random_split)
from torch.utils.data.dataloader import default_collate


class Squares(Dataset):
    def __init__(self, n, transform=None):
        self.n, self.transform = n, transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        sample = {"x": torch.tensor([float(i), float(i) ** 2]), "y": i, "name": f"item {i}"}
        return self.transform(sample) if self.transform else sample


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, sample):
        sample["x"] = sample["x"] * self.k
        return sample


class Stream(IterableDataset):
    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.start, self.end))
        each = -(-(self.end - self.start) // info.num_workers)
        low = self.start + info.id * each
        return iter(range(low, min(low + each, self.end)))


def pad(batch):
    longest = max(len(b) for b in batch)
    return torch.stack([torch.cat([b, b.new_zeros(longest - len(b))]) for b in batch]), torch.tensor([len(b) for b in batch])


if __name__ == "__main__":
    torch.manual_seed(1)
    for batch in DataLoader(Squares(5, Scale(0.5)), batch_size=2):
        print(batch["x"], batch["y"], batch["name"])
    loader = DataLoader(Squares(10), batch_size=4, shuffle=True, drop_last=True)
    print(len(loader), [b["y"].tolist() for b in loader])
    for workers in (0, 2):
        print(workers, [b["y"].tolist() for b in DataLoader(Squares(7), batch_size=3, num_workers=workers)])
        print(sorted(x for b in DataLoader(Stream(3, 11), batch_size=2, num_workers=workers) for x in b.tolist()))
    lines = [torch.arange(n + 1.) for n in (2, 0, 3)]
    padded, lengths = next(iter(DataLoader(lines, batch_size=3, collate_fn=pad)))
    print(padded, lengths)
    a, b = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(42))
    print(list(a), list(b), len(a), type(a).__name__, a.indices)
    pair = TensorDataset(torch.arange(6).view(3, 2), torch.tensor([0, 1, 0]))
    print(len(pair), pair[1], pair[:2])
    print(list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=False)))
    print(list(WeightedRandomSampler([0.0, 1.0, 0.0], 4)), sorted(RandomSampler(range(4))), sorted(SubsetRandomSampler([3, 5, 7])))
    both = ConcatDataset([pair, pair])
    print(len(both), both[4], len(Subset(both, [0, 5])), both.cumulative_sizes)
    print(default_collate([(1, 2.0, "a"), (3, 4.0, "b")]), default_collate([{"k": [1, 2]}, {"k": [3, 4]}]))
    g = torch.Generator()
    g.manual_seed(7)
    print([b.tolist() for b in DataLoader(torch.arange(6), batch_size=2, shuffle=True, generator=g)])
