# SPDX-License-Identifier: Apache-2.0
# threading.py - what module-level code, which has one thread, uses of Python's threading.


class Lock:
    def acquire(self, blocking=True, timeout=-1):
        return True

    def release(self):
        pass

    def locked(self):
        return False

    def __enter__(self):
        return True

    def __exit__(self, *excinfo):
        pass


class RLock(Lock):
    pass


class local:
    pass
