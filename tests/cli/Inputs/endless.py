import torch


def forward():
    few = torch.ones(1000)
    return few.sum() + torch.ones(1).expand(1 << 45).sum()
