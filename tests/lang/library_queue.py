"""Queues of one thread, and numpy.einsum."""
import queue

import numpy as np
from torch import nn

q = queue.Queue(maxsize=2)
q.put(1)
q.put("b")
print(q.qsize(), q.full(), q.get(), q.get(), q.empty())
try:
    q.get(timeout=1)
except queue.Empty:
    print("empty")
last = queue.LifoQueue()
last.put(1)
last.put(2)
print(last.get_nowait())
a = np.einsum("m,d->md", np.arange(3), np.array([1.0, 0.5]))
print(a.tolist(), a.dtype == np.float64, np.einsum("ij,jk->ik", np.ones((1, 2), dtype=np.float32), np.ones((2, 1), dtype=np.float32)).tolist())


class Main(nn.Module):
    def forward(self):
        return 0
# expect: 2 True 1 b True
# expect: empty
# expect: 2
# expect: [[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]] True [[2.0]]
# expect: 0
