# SPDX-License-Identifier: Apache-2.0
# torch._dynamo - its decorators do nothing here.
from torch.compiler import _identity

disable = _identity
allow_in_graph = _identity
disallow_in_graph = _identity
graph_break = _identity
assume_constant_result = _identity
optimize = _identity


def is_compiling():
    return False


def mark_dynamic(t, index):
    return None


def reset():
    return None
