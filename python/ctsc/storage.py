# SPDX-License-Identifier: Apache-2.0
"""storage.py - torch.storage: what tensors lie on."""
from ._tensor import Storage as UntypedStorage

TypedStorage = UntypedStorage
