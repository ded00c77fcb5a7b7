# SPDX-License-Identifier: Apache-2.0
"""diffusers: a U-Net trained on noise, a sampler, an autoencoder."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


from diffusers import UNet2DModel, DDPMScheduler, DDIMScheduler, AutoencoderKL
u = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32), down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8)
s = DDPMScheduler(num_train_timesteps=100); opt = torch.optim.AdamW(u.parameters(), 1e-3); x = torch.randn(2, 3, 16, 16)
for i in range(3):
    n = torch.randn_like(x); t = torch.randint(0, 100, (2,)); l = nn.functional.mse_loss(u(s.add_noise(x, n, t), t).sample, n); opt.zero_grad(); l.backward(); opt.step(); p("loss", l.detach())
d = DDIMScheduler(num_train_timesteps=100); d.set_timesteps(4); y = torch.randn(1, 3, 16, 16)
with torch.no_grad():
    for t in d.timesteps: y = d.step(u(y, t).sample, t, y).prev_sample
p("mean", y.mean())
v = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, sample_size=16); p(v(x).sample.mean().detach())
