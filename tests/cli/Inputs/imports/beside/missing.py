import torch
import einops


class Main(torch.nn.Module):
    def forward(self, x):
        return einops.rearrange(x, "a b -> b a")
