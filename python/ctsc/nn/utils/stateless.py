# SPDX-License-Identifier: Apache-2.0
"""stateless.py - torch.nn.utils.stateless: func.functional_call by its older name."""


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    from ...func import functional_call as call
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
