import torch


class Scale(torch.nn.Module):
    def forward(self, x):
        return 3 * x
