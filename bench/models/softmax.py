# SPDX-License-Identifier: Apache-2.0
"""Softmax over rows."""
import torch


def forward(x):
    return torch.softmax(x, dim=1)
