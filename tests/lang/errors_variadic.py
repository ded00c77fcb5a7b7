"""Calls that give *args or **kwargs something, and what looks into them: refused, as by PyTorch."""
import torch


def looks(x, **kwargs):  # error: Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults
    return x + kwargs["y"]


def forward(x: torch.Tensor):
    return looks(x, y=1)
