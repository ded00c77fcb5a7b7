import torch
from torch import Tensor


@torch.jit.script
def collatz(n: int) -> int:
    steps = 0
    while True:
        if n == 1:
            break
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def forward(x: Tensor, limit: int = 10) -> Tensor:
    total = 0
    for i in range(1, limit):
        total += collatz(i)
    return x * total
