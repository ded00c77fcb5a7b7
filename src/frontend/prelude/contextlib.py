# SPDX-License-Identifier: Apache-2.0
# contextlib.py - what module-level code uses of Python's contextlib; generators, and with them contextmanager, do not run here.


def contextmanager(func):
    return func


class nullcontext:
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result

    def __exit__(self, *excinfo):
        pass


class suppress:
    def __init__(self, *exceptions):
        self._exceptions = exceptions

    def __enter__(self):
        pass

    def __exit__(self, exctype, excinst, exctb):
        return exctype is not None and issubclass(exctype, self._exceptions)


class AbstractContextManager:
    pass


class ContextDecorator:
    def __call__(self, func):
        return func


class _anything:
    """A context of no effect, made with any arguments."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return []

    def __exit__(self, *excinfo):
        pass
