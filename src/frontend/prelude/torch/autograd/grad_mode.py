# SPDX-License-Identifier: Apache-2.0
# grad_mode.py - torch.no_grad and its kin: context managers and decorators, for the evaluator and for compiled code alike.
from typing import Any

import torch


class _DecoratorContextManager:
    def __new__(cls, *args):  # @torch.no_grad is @torch.no_grad()
        self = object.__new__(cls)
        if len(args) > 0 and callable(args[0]):
            self.__init__()
            return self(args[0])
        return self

    def __call__(self, func):
        if isinstance(self, set_grad_enabled):  # only the function's calls are meant
            torch._VF.set_grad_enabled(self.prev)
            mode = self.mode
        else:
            mode = isinstance(self, enable_grad) or (isinstance(self, inference_mode) and not self.mode)
        torch._C._decorate_gradients(func, mode)
        return func


class no_grad(_DecoratorContextManager):
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch._VF.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch._VF.set_grad_enabled(self.prev)


class enable_grad(_DecoratorContextManager):
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch._VF.set_grad_enabled(True)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch._VF.set_grad_enabled(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    def __init__(self, mode: bool) -> None:
        self.prev = torch.is_grad_enabled()
        self.mode = mode
        torch._VF.set_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch._VF.set_grad_enabled(self.prev)


class inference_mode(_DecoratorContextManager):
    def __init__(self, mode: bool = True) -> None:
        self.prev = torch.is_grad_enabled()
        self.mode = mode

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        if self.mode:
            torch._VF.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch._VF.set_grad_enabled(self.prev)
