"""Python that is not part of the language: all of it fails alike."""
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
def yields_from(x):
    yield from x  # error: YieldFrom aren't supported


@torch.jit.script
def makes_a_set(x):
    s = {a for b in x for a in b}  # error: SetComp aren't supported
    return x


@torch.jit.script
def unpacks(x):
    d = {**x}  # error: Dict expansion (e.g. `{**dict}`) is not supported
    return x


def forward(x):
    return x
