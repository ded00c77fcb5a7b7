# SPDX-License-Identifier: Apache-2.0
"""Ten multiplications in a row: x to the power of 1024."""
import torch


def forward(x):
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    x = x * x
    return x
