# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.algorithms.model_averaging: parameters that are averaged now and then."""
