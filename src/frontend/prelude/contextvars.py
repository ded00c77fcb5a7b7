# SPDX-License-Identifier: Apache-2.0
# contextvars.py - variables of the one context that module-level code has.
_absent = []


class Token:
    def __init__(self, var, old_value):
        self.var = var
        self.old_value = old_value


class ContextVar:
    def __init__(self, name, *, default=_absent):
        self.name = name
        self._value = self._default = default

    def get(self, *default):
        if self._value is not _absent:
            return self._value
        if not default:
            raise LookupError(self.name)
        return default[0]

    def set(self, value):
        token = Token(self, self._value)
        self._value = value
        return token

    def reset(self, token):
        self._value = token.old_value
