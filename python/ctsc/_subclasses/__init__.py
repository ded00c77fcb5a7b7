# SPDX-License-Identifier: Apache-2.0
"""torch._subclasses: tensors that stand for others of the same sizes."""
from .fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = ["FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "DynamicOutputShapeException", "DataDependentOutputException"]
