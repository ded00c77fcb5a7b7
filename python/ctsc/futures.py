# SPDX-License-Identifier: Apache-2.0
"""futures.py - torch.futures: results that come later, or are there already (jit.fork calls at once)."""
import threading

from . import _C


class Future:
    def __init__(self, *, devices=None):
        self._event, self._lock, self._value, self._error, self._then = threading.Event(), threading.Lock(), None, None, []

    def __class_getitem__(cls, item):
        return cls

    @property
    def _ctsc_value_(self):
        """What a script sees of it."""
        return _C._future(self)

    def done(self):
        return self._event.is_set()

    def _finish(self, value, error):
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._event.set()
            waiting, self._then = self._then, []
        for f in waiting:
            f(self)

    def set_result(self, result):
        self._finish(result, None)

    def set_exception(self, result):
        self._finish(None, result)

    def wait(self):
        self._event.wait()
        return self.value()

    _ctsc_wait_ = wait

    def value(self):
        if self._error is not None:
            raise self._error
        return self._value

    def add_done_callback(self, callback):
        with self._lock:
            if not self._event.is_set():
                self._then.append(callback)
                return
        callback(self)

    def then(self, callback):
        made = Future()

        def run(done):
            try:
                made.set_result(callback(done))
            except Exception as e:
                made.set_exception(e)
        self.add_done_callback(run)
        return made


def _of_script(held):
    """A script's future as one of Python's: what a script got from here comes back as it was."""
    owner = _C._future_owner(held)
    if owner is not None:
        return owner
    made = Future()

    def settle():
        try:
            made.set_result(_C._future_result(held))
        except Exception as e:
            made.set_exception(e)
    if _C._future_done(held):
        settle()
    else:
        threading.Thread(target=settle, daemon=True).start()
    return made


def collect_all(futures):
    """A future of the list, when all are done."""
    futures, made, left = list(futures), Future(), [len(futures)]

    def one(_):
        left[0] -= 1
        if not left[0]:
            made.set_result(futures)
    for f in futures:
        f.add_done_callback(one)
    if not futures:
        made.set_result([])
    return made


def wait_all(futures):
    return [f.wait() for f in futures]
