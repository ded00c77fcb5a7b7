# SPDX-License-Identifier: Apache-2.0
"""bias.py - torch.nn.attention.bias: masks of attention to what came before, as matrices of bools."""
import ctsc


def causal_upper_left(*size):
    return ctsc.ones(*size, dtype=ctsc.bool).tril()


def causal_lower_right(*size):
    return ctsc.ones(*size, dtype=ctsc.bool).tril(size[-1] - size[-2])
