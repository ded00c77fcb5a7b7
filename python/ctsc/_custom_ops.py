# SPDX-License-Identifier: Apache-2.0
"""_custom_ops.py - an older name of ctsc.library."""
from .library import custom_op, impl, impl_abstract
