"""Text that is not Python."""
import torch


def forward(x):
    y = x +  # error: SyntaxError: expected an expression, but found end of line
    return y
