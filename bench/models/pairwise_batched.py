# SPDX-License-Identifier: Apache-2.0
"""Squared distances between all rows of two matrices, with broadcasting."""
import torch


def forward(a, b):
    diff = a[:, None, :] - b[None, :, :]
    diff_squared = diff ** 2
    return torch.sum(diff_squared, dim=2)
