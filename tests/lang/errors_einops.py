"""Patterns that einops refuses, and what is not known while compiling."""
import torch
from einops import pack, rearrange, reduce


def lacking(x: torch.Tensor):
    return rearrange(x, "a b -> a")  # error: ValueError: Identifiers only on one side of expression (should be on both): {'b'} in a b -> a


def unknown(x: torch.Tensor):
    return rearrange(x, "(a b) c -> a b c")  # error: ValueError: Could not infer sizes for {'a', 'b'}: (a b) c -> a b c


def dynamic(x: torch.Tensor, pattern: str):
    return rearrange(x, pattern)  # error: the pattern of this call has to be known while compiling, and a string


def way(x: torch.Tensor):
    return reduce(x, "a b -> a", "median")  # error: ValueError: Unknown reduction median in a b -> a


def starless(x: torch.Tensor):
    return pack([x], "a b")  # error: ValueError: No *-axis in packing pattern, or several: a b


def forward(x: torch.Tensor):
    return starless(x), lacking(x), unknown(x), dynamic(x, "a b -> b a"), way(x)
