# SPDX-License-Identifier: Apache-2.0
# _jit_internal.py - what code written against torch._jit_internal imports from it.
from typing import Any, Callable, Dict, Final, List, Optional, Tuple, Union

from torch.jit import (Future, _overload, _overload_method, _unwrap_optional, export, ignore, is_scripting, is_tracing, script_if_tracing,
                       unused)

_script_if_tracing = script_if_tracing
BroadcastingList1 = List
BroadcastingList2 = List
BroadcastingList3 = List


# A function with two bodies; a bool argument, known while compiling, chooses the one that runs.
class BooleanDispatch:
    def __init__(self, arg_name, arg_index, default, if_true, if_false, module_name, func_name):
        self.arg_name = arg_name
        self.arg_index = arg_index
        self.default = default
        self.if_true = if_true
        self.if_false = if_false
        self.module_name = module_name
        self.func_name = func_name

    def __call__(self, *args, **kwargs):
        flag = self.default
        if self.arg_name in kwargs:
            flag = kwargs[self.arg_name]
        elif self.arg_index < len(args):
            flag = args[self.arg_index]
        if flag:
            return self.if_true(*args, **kwargs)
        return self.if_false(*args, **kwargs)


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    return BooleanDispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name)


def _copy_to_script_wrapper(fn):
    return fn


def is_ignored_fn(fn):
    return False
