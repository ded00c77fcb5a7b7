"""Text that is not Python."""
import torch


def forward(x):
    y = x +  # error: 
    return y
