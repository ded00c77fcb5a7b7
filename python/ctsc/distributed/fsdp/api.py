# SPDX-License-Identifier: Apache-2.0
"""api.py - what fully_shard is told about dtypes and memory."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """param_dtype: of whole parameters and inputs; reduce_dtype: of gradients while they are added; output_dtype: of outputs. None: as it is."""

    param_dtype: object = None
    reduce_dtype: object = None
    output_dtype: object = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class OffloadPolicy:
    pass


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts are in the memory of the host: they always are here."""

    pin_memory: bool = True
