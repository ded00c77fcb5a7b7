"""Makes the files beside it, with torch 2.15 and safetensors 0.8: the weights of net.py as training scripts save them."""
import argparse

import numpy as np
import torch
from net import Net
from safetensors.torch import save_file

torch.manual_seed(3)
net = Net().eval()
weights = net.state_dict()
prefixed = lambda prefix: {prefix + k: v for k, v in weights.items()}
torch.save({"model": weights, "epoch": 3, "args": argparse.Namespace(lr=0.1), "loss": np.float64(3.5), "order": np.arange(3),
            "optimizer": torch.optim.Adam(net.parameters()).state_dict()}, "model.pth")
torch.save({"state_dict": prefixed("module."), "epoch": 3}, "parallel.pth")
torch.save(prefixed("_orig_mod."), "compiled.pth")
torch.save({"state_dict": prefixed("model._orig_mod."), "hyper_parameters": {"a": 1}, "callbacks": {}}, "lightning.ckpt")
torch.save({"epoch": 3, "loss": torch.tensor(0.5), "rng_state": torch.get_rng_state()[:16].clone(), "model_state_dict": weights,
            "optimizer_state_dict": {"state": {0: {"exp_avg": torch.ones(2)}}, "param_groups": [{"lr": 0.1, "params": [0]}]}}, "loop.ckpt")
torch.save({"epoch": 3, "loss": torch.tensor(0.5)}, "loss.ckpt")
torch.save({"rng_state": torch.zeros(16, dtype=torch.uint8), "cuda_rng_state": torch.ones(16, dtype=torch.uint8)}, "random.ckpt")
torch.save({"generator": {"a.weight": torch.ones(1)}, "discriminator": {"a.weight": torch.zeros(1)}, "step": torch.tensor(3)}, "two.ckpt")
torch.save({"fc.weight": weights["fc.weight"], "extra": torch.ones(1)}, "wrong.pth")
torch.save(net, "whole.pth")
save_file(dict(weights), "model.safetensors", metadata={"format": "pt"})
x = torch.arange(6.0).view(2, 3)
torch.save((x,), "inputs.pt")
torch.save(net(x), "expected.pt")
