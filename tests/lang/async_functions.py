"""Classes and modules with async functions can be used, as libraries of loggers are; the functions can't."""
import os
import torch
from torch import Tensor, nn


async def alone(): return await alone()


class Logger:
    @staticmethod
    async def complete(tasks, more=(1,
                                    2)):
        async with tasks as t:
            async for one in t:
                # nothing is read of this
                yield await one
        return [x async for x in tasks]

    def log(self, text):
        return "log: " + text


os.register_at_fork(before=alone)
print(Logger().log("here"), alone.__name__)


class Main(nn.Module):
    async def later(self, x: Tensor):
        return x

    def forward(self, x: int = 2) -> int:
        return x + 1
# expect: log: here alone
# expect: 3
