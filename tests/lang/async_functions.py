"""Classes and modules with async functions can be used, as libraries of loggers are; the functions can't."""
import os
from collections.abc import AsyncGenerator, AsyncIterable
from typing import AsyncContextManager, TypeVarTuple

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
        print([x async for x in tasks])

    def __iter__(self):
        return iter(())

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        pass

    def log(self, text) -> AsyncGenerator[int, None]:
        return "log: " + text


os.register_at_fork(before=alone)
print(Logger().log("here"), alone.__name__)
print([isinstance(x, t) for x in (Logger(), [1]) for t in (AsyncIterable, AsyncContextManager)])


class Main(nn.Module):
    async def later(self, x: Tensor):
        return x

    def forward(self, x: int = 2) -> int:
        return x + 1
# expect: log: here alone
# expect: [False, True, False, False]
# expect: 3
