# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn: another name for parts of torch.nn."""
