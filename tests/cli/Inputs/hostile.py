# SPDX-License-Identifier: Apache-2.0
"""Tries what only a hostile program does, one thing per line (hostile.c). For sandbox.test."""
from typing import List

import torch


def forward(what: List[str]):
    for w in what:
        print(w + ": " + torch.ops.hostile.attempt(w))
    return 0
