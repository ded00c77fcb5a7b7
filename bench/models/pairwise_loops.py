# SPDX-License-Identifier: Apache-2.0
"""Squared distances between all rows of two matrices, as two nested loops."""
import torch


def forward(a, b):
    p = a.shape[0]
    q = b.shape[0]
    squares = torch.zeros((p, q))
    for i in range(p):
        for j in range(q):
            diff = a[i, :] - b[j, :]
            diff_squared = diff ** 2
            squares[i, j] = torch.sum(diff_squared)
    return squares
