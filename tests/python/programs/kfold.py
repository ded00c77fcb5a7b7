"""K-fold cross-validation with SubsetRandomSampler and Subset, early stopping, a confusion matrix, class weights, label smoothing."""
import copy
import collections
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset, Subset, SubsetRandomSampler, WeightedRandomSampler, ConcatDataset, random_split, BatchSampler, SequentialSampler, RandomSampler
import torch.nn.functional as F

torch.manual_seed(42)


class Blobs(Dataset):
    def __init__(self, n, transform=None, target_transform=None):
        centers = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
        self.targets = torch.multinomial(torch.tensor([0.6, 0.3, 0.1]), n, replacement=True)
        self.data = centers[self.targets] + 0.9 * torch.randn(n, 2)
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, i):
        x, y = self.data[i], int(self.targets[i])
        if self.transform:
            x = self.transform(x)
        if self.target_transform:
            y = self.target_transform(y)
        return x, y


class EarlyStopping:
    def __init__(self, patience=3, delta=1e-3):
        self.patience, self.delta, self.best, self.count, self.state = patience, delta, float("inf"), 0, None

    def __call__(self, loss, model):
        if loss < self.best - self.delta:
            self.best, self.count, self.state = loss, 0, copy.deepcopy(model.state_dict())
        else:
            self.count += 1
        return self.count >= self.patience


data = Blobs(150, transform=lambda x: (x - 0.1) / 1.5)
print(data[0], len(data))
perm = torch.randperm(len(data)).tolist()
folds = [perm[i::5] for i in range(5)]
counts = torch.bincount(data.targets, minlength=3)
print("counts", counts, counts.float() / counts.sum())
results = {}
for k, val_ids in enumerate(folds):
    train_ids = [i for j, f in enumerate(folds) if j != k for i in f]
    train_loader = DataLoader(data, batch_size=20, sampler=SubsetRandomSampler(train_ids))
    val_loader = DataLoader(Subset(data, val_ids), batch_size=64)
    net = nn.Sequential(nn.Linear(2, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3))
    opt = optim.RMSprop(net.parameters(), lr=0.01, momentum=0.5, centered=True)
    crit = nn.CrossEntropyLoss(weight=counts.sum() / (3 * counts.float()), label_smoothing=0.05)
    stop = EarlyStopping()
    for epoch in range(12):
        net.train()
        for x, y in train_loader:
            opt.zero_grad(set_to_none=True)
            crit(net(x), y).backward()
            opt.step()
        net.eval()
        total, conf = 0.0, torch.zeros(3, 3, dtype=torch.long)
        with torch.inference_mode():
            for x, y in val_loader:
                out = net(x)
                total += crit(out, y).item() * len(x)
                conf.index_put_((y, out.argmax(-1)), torch.ones(len(y), dtype=torch.long), accumulate=True)
        if stop(total / len(val_ids), net):
            break
    net.load_state_dict(stop.state)
    results[k] = (conf.diag().sum() / conf.sum()).item()
    prec = conf.diag() / conf.sum(0).clamp(min=1)
    rec = conf.diag() / conf.sum(1).clamp(min=1)
    f1 = torch.nan_to_num(2 * prec * rec / (prec + rec))
    print(f"fold {k}: epochs {epoch + 1} best {stop.best:.4f} acc {results[k]:.3f} f1 {[round(v, 3) for v in f1.tolist()]}")
print("mean acc %.3f std %.3f" % (torch.tensor(list(results.values())).mean(), torch.tensor(list(results.values())).std()))
w = 1.0 / counts[data.targets].double()
balanced = DataLoader(data, batch_size=30, sampler=WeightedRandomSampler(w, 60, replacement=True))
c = collections.Counter()
for x, y in balanced:
    c.update(y.tolist())
print(sorted(c.items()))
a, b, rest = random_split(data, [50, 40, 60], generator=torch.Generator().manual_seed(1))
print(len(a), len(b), len(rest), a.indices[:5])
cat = ConcatDataset([a, b])
print(len(cat), cat[55][1], cat.cumulative_sizes)
print(list(BatchSampler(SequentialSampler(range(10)), batch_size=4, drop_last=False)))
print([len(b) for b in BatchSampler(RandomSampler(data, num_samples=23, generator=torch.Generator().manual_seed(3)), 5, True)])
try:
    WeightedRandomSampler(w, -1)
except ValueError as e:
    print("ValueError", e)
try:
    DataLoader(data, batch_size=2, shuffle=True, sampler=SequentialSampler(data))
except ValueError as e:
    print("ValueError", e)
