"""numpy, as modules use it while they are built: sizes, schedules and tables."""
import numpy as np
import torch


def show(x):
    print([round(float(v), 6) for v in np.ravel(np.array(x))])


show(np.linspace(0, 1, 5))
show(np.arange(0, 1, 0.25) * 2 + 1)
show(np.logspace(0, 2, 3))
show(1.0 / 10000 ** (np.arange(0, 8, 2) / 8))
show(np.outer(np.arange(3), [1, 2]))
show(np.concatenate([np.zeros(2), np.ones(1), np.full(2, 7)]))
show(np.sin(np.array([0.0, np.pi / 2])))
print(np.zeros((2, 3)).shape, np.ones((2, 3)).sum(), np.eye(3).sum())
print(np.prod([2, 3, 4]), np.mean([1, 2, 4]) > 2.3, np.argmax([1, 5, 2]), np.max([[1, 7], [3, 2]]))
show(np.cumsum([1, 2, 3]))
show(np.tile([1, 2], 2))
show(np.where(np.array([1, -1]) > 0, 5, 6))
show(np.array([[1, 2], [3, 4]]).sum(axis=0))
show(np.array([[1, 2], [3, 4]]).T)
show(np.array([[1, 2], [3, 4]])[:, 1])
print(torch.from_numpy(np.arange(3)).dtype, torch.tensor(np.array([1.0])).dtype, np.float32(2))
print(torch.from_numpy(np.linspace(0, 1, 3).astype(np.float32)).tolist())
print(torch.linspace(0, 1, 3).numpy().tolist(), int(np.ceil(2.1)), int(np.log2(8)))
a = np.zeros((2, 2))
a[0, 1] = 3
a[1] += 1
show(a)

# expect: [0.0, 0.25, 0.5, 0.75, 1.0]
# expect: [1.0, 1.5, 2.0, 2.5]
# expect: [1.0, 10.0, 100.0]
# expect: [1.0, 0.1, 0.01, 0.001]
# expect: [0.0, 0.0, 1.0, 2.0, 2.0, 4.0]
# expect: [0.0, 0.0, 1.0, 7.0, 7.0]
# expect: [0.0, 1.0]
# expect: (2, 3) 6.0 3.0
# expect: 24 True 1 7
# expect: [1.0, 3.0, 6.0]
# expect: [1.0, 2.0, 1.0, 2.0]
# expect: [5.0, 6.0]
# expect: [4.0, 6.0]
# expect: [1.0, 3.0, 2.0, 4.0]
# expect: [2.0, 4.0]
# expect: torch.int64 torch.float64 2.0
# expect: [0.0, 0.5, 1.0]
# expect: [0.0, 0.5, 1.0] 3 3
# expect: [0.0, 3.0, 1.0, 1.0]


def forward() -> int:
    return 1
# expect: 1
