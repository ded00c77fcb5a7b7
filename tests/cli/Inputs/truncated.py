import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.most = nn.Parameter(torch.empty(20))
        self.few = nn.Parameter(torch.empty(20))
        nn.init.trunc_normal_(self.most, mean=0.5, a=-0.5, b=1.0)
        nn.init.trunc_normal_(self.few, a=1.0, b=3.0)

    def forward(self):
        return self.most[:4], self.few[16:]
