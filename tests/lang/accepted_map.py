"""map and filter in compiled functions: of tuples, unlike elements too, and of what has as many elements as a run will tell."""
from typing import List

import torch


def twice(x: int) -> int:
    return x * 2


def names(words: List[str], sizes: List[int]) -> List[str]:
    return list(map(lambda w, n: w * n, words, sizes))


def forward():
    x = torch.arange(6).view(1, 6)
    scale = 3
    q, k, v = map(lambda t: t.view(2, 1) * scale, x.chunk(3, dim=1))
    print(int(q.sum()), int(k.sum()), int(v.sum()))  # expect: 3 15 27
    a, b = map(lambda t: (t, 1), (x, "text"))
    print(a[0].dim(), b[0])  # expect: 2 text
    print(list(map(twice, [1, 2, 3])), sum(map(lambda n: n * n, range(4))), tuple(map(twice, (4, 5))))  # expect: [2, 4, 6] 14 (8, 10)
    print(names(["a", "b", "c"], [2, 1]))  # expect: [aa, b]
    for w in map(lambda n: str(n) + "!", [1, 2]):
        print(w)
    # expect: 1!
    # expect: 2!
    print(list(filter(lambda n: n % 2 == 1, [1, 2, 3])), list(filter(None, [0, 1, 2])))  # expect: [1, 3] [1, 2]
# expect: None
