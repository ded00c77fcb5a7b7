# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.elastic.multiprocessing: see errors."""
