# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.quantized: torch.nn.quantized."""
from torch.nn.quantized import FloatFunctional
