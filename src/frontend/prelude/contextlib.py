# SPDX-License-Identifier: Apache-2.0
# contextlib.py - what module-level code uses of Python's contextlib.
from functools import wraps as _wraps


class _GeneratorContext:
    """What a generator function makes of `with`: the statement calls _run, and runs its body where the generator yields."""

    def __init__(self, func, args, kwargs):
        self._func = func
        self._args = args
        self._kwargs = kwargs

    def _run(self):
        return self._func(*self._args, **self._kwargs)

    def __enter__(self):
        raise NotImplementedError('a context of contextlib.contextmanager can only be entered by a with statement here')

    __exit__ = __enter__

    def __call__(self, func):
        @_wraps(func)
        def inner(*args, **kwargs):
            with _GeneratorContext(self._func, self._args, self._kwargs):
                return func(*args, **kwargs)
        return inner


def contextmanager(func):
    @_wraps(func)
    def make(*args, **kwargs):
        return _GeneratorContext(func, args, kwargs)
    return make


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


class ExitStack:
    def __init__(self):
        self._exits = []

    def enter_context(self, cm):
        result = cm.__enter__()
        self._exits.append(cm.__exit__)
        return result

    def push(self, exit):
        self._exits.append(exit.__exit__ if hasattr(exit, '__exit__') else exit)
        return exit

    def callback(self, callback, *args, **kwargs):
        self._exits.append(lambda *excinfo: callback(*args, **kwargs))
        return callback

    def close(self):
        self.__exit__(None, None, None)

    def __enter__(self):
        return self

    def __exit__(self, *excinfo):
        taken = False
        while self._exits:
            if self._exits.pop()(*excinfo):
                taken = True
                excinfo = (None, None, None)
        return taken


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
