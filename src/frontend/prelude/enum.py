# SPDX-License-Identifier: Apache-2.0
# enum.py - flags; py_classes.c and py_class.c make the rest.


def _flag(cls, value):
    for member in cls.__members__.values():
        if member.value == value:
            return member
    member = object.__new__(cls)
    member.name = member._name_ = None
    member.value = member._value_ = value
    return member


def _bits(flag, other):
    if isinstance(other, type(flag)):
        return other.value
    return other if isinstance(flag, IntFlag) and isinstance(other, int) else None


class Flag(Enum):
    def __or__(self, other):
        bits = _bits(self, other)
        return NotImplemented if bits is None else _flag(type(self), self.value | bits)

    def __and__(self, other):
        bits = _bits(self, other)
        return NotImplemented if bits is None else _flag(type(self), self.value & bits)

    def __xor__(self, other):
        bits = _bits(self, other)
        return NotImplemented if bits is None else _flag(type(self), self.value ^ bits)

    def __invert__(self):
        every = 0
        for member in type(self).__members__.values():
            every |= member.value
        return _flag(type(self), every & ~self.value)

    def __contains__(self, other):
        return other.value & self.value == other.value

    def __bool__(self):
        return self.value != 0


class IntFlag(Flag):
    __ror__ = Flag.__or__
    __rand__ = Flag.__and__
    __rxor__ = Flag.__xor__
