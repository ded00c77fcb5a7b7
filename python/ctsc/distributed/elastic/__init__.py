# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.elastic: what programs that torchrun starts import."""
