# SPDX-License-Identifier: Apache-2.0
"""Calls whose derivatives gradcheck.py checks: writes to tensors and to views of them."""

CALLS = [
    ("v * v", "3", "y = a * 2", "v = y.view([-1])", "y.mul_(2)"),
    ("y * y", "3,2 2", "y = a * 2", "y[1].mul_(b)"),
    ("y * y", "3,2 3", "y = a * 2", "y.t()[0] = b"),
    ("v * v", "3,2 2", "y = a * 2", "v = y[:, 0]", "y[1].mul_(b)"),
    ("y * y", "3c 3", "y = a * 2", "torch.real(y).mul_(b)"),
    ("y * y", "3c 2", "y = a * 2", "torch.imag(y)[1:] = b"),
    ("y * y", "3c 3,2", "y = a * 2", "torch.view_as_real(y).mul_(b)"),
    ("y * y", "3,2 3c", "y = a * 2", "torch.view_as_complex(y).mul_(b)"),
    ("v * v", "3c", "y = a * 2", "v = torch.view_as_real(y)", "y.mul_(y.clone())"),
    ("v * v", "2,3,2 3c", "y = a * 2", "v = torch.view_as_complex(y)", "y[1].mul_(torch.view_as_real(b))"),
]
