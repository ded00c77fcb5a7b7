"""Hooks that the front end cannot compile are not left out."""
import torch


class Net(torch.nn.Module):  # error: a forward hook of module 'Net' is not a function but a method: it cannot be compiled. Remove it first, or trace the module
    def __init__(self):
        super().__init__()
        self.register_forward_hook(self.after)

    def after(self, module, args, out):
        return out + 1

    def forward(self, x):
        return x * 2
