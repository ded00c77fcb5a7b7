# SPDX-License-Identifier: Apache-2.0
# queue.py - queues of one thread: where another one would be waited for, nothing will come.


class Empty(Exception):
    pass


class Full(Exception):
    pass


class Queue:
    def __init__(self, maxsize=0):
        self.maxsize, self.queue = maxsize, []

    def qsize(self):
        return len(self.queue)

    def empty(self):
        return not self.queue

    def full(self):
        return 0 < self.maxsize <= len(self.queue)

    def put(self, item, block=True, timeout=None):
        if self.full():
            raise Full
        self.queue.append(item)

    def put_nowait(self, item):
        self.put(item)

    def _next(self):
        return self.queue.pop(0)

    def get(self, block=True, timeout=None):
        if not self.queue:
            raise Empty
        return self._next()

    def get_nowait(self):
        return self.get()


SimpleQueue = Queue


class LifoQueue(Queue):
    def _next(self):
        return self.queue.pop()


class PriorityQueue(Queue):
    def _next(self):
        self.queue.sort()
        return self.queue.pop(0)
