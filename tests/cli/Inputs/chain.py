import torch


def forward(x):
    y = x * x
    y = y * x
    y = y + x
    return torch.tanh(y)
