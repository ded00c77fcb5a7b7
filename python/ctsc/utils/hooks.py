# SPDX-License-Identifier: Apache-2.0
"""hooks.py - torch.utils.hooks: handles that take hooks out again."""
import weakref


class RemovableHandle:
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self._dict, self.id = weakref.ref(hooks_dict), RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self._more = [weakref.ref(d) for d in (extra_dict if isinstance(extra_dict, (list, tuple)) else [] if extra_dict is None else [extra_dict])]

    def remove(self):
        for ref in [self._dict] + self._more:
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()
