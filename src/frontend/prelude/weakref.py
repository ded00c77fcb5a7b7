# SPDX-License-Identifier: Apache-2.0
# weakref.py - nothing is freed while a program is being compiled, so weak references are as good as others.
WeakKeyDictionary = WeakValueDictionary = dict
WeakSet = set


def ref(obj, callback=None):
    return lambda: obj


def proxy(obj, callback=None):
    return obj


WeakMethod = ref
