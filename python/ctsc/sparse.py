# SPDX-License-Identifier: Apache-2.0
"""sparse.py - torch.sparse: tensors of which only some elements are stored, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.sparse", "ctsc has no sparse tensors; index_add, scatter and dense matrices do the same sums")
