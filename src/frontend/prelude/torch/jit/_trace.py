# SPDX-License-Identifier: Apache-2.0
# _trace.py - what code asks about tracing: nothing is traced here, and a compiled program calls this function as any other.


def is_tracing() -> bool:
    return False
