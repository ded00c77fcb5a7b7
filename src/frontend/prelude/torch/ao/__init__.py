# SPDX-License-Identifier: Apache-2.0
"""torch.ao: the names of torch.ao.quantization that modules mention."""
