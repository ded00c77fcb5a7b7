"""Python that is no part of the language: all of it fails alike."""
import torch


@torch.jit.script
def yields(x):
    yield x  # error: Yield aren't supported


@torch.jit.script
def tries(x):
    try:  # error: try blocks aren't supported
        return x
    except ValueError:
        return x


@torch.jit.script
def makes_a_lambda(x):
    f = lambda y: y  # error: Lambda aren't supported
    return x


def forward(x):
    return x
