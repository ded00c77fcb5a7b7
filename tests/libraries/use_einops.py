# SPDX-License-Identifier: Apache-2.0
"""Functions and layers, and what is trained through them."""
import einops
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce

from common import show, stat

x = torch.randn(2, 3, 8, 8)
stat("rearrange", einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4))
stat("reduce", einops.reduce(x, "b c (h 2) (w 2) -> b c h w", "max"))
stat("repeat", einops.repeat(x, "b c h w -> b c h (w r)", r=2))
stat("einsum", einops.einsum(x, x, "b c h w, b d h w -> b c d"))
packed, shapes = einops.pack([x, x[:, 0]], "b *")
print(packed.shape, [tuple(t.shape) for t in einops.unpack(packed, shapes, "b *")], einops.parse_shape(x, "b c _ w"))
net = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(192, 4), EinMix("b i -> b o", weight_shape="i o", bias_shape="o", i=4, o=3), Reduce("b o -> b", "mean"))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    loss = (net(x) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("train", loss)
