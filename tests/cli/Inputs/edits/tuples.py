from typing import List, NamedTuple, Optional

import torch
from torch import Tensor


class State(NamedTuple):
    mean: Tensor
    count: int
    label: Optional[str] = None


def update(state: State, x: Tensor, weight: Optional[float] = None) -> State:
    if weight is None:
        w = 1.0
    else:
        w = weight
    mean = state.mean + w * (x - state.mean) / (state.count + 1)
    return State(mean, state.count + 1, state.label)


def describe(state: State) -> str:
    label = state.label
    if label is None:
        return "none"
    return label + ": " + str(state.count)


def forward(x: Tensor) -> Tensor:
    state = State(torch.zeros(3), 0, "run")
    for row in x.unbind(0):
        state = update(state, row)
    print(describe(state))
    return state.mean
