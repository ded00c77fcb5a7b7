"""A vision transformer: patches by unfold and by convolution, class token, MultiheadAttention and TransformerEncoder, attention maps, LayerScale, distillation, activation checkpoints."""
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.init import trunc_normal_
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class PatchEmbed(nn.Module):
    def __init__(self, size=12, patch=4, channels=3, dim=16):
        super().__init__()
        self.num_patches, self.proj = (size // patch) ** 2, nn.Conv2d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class LayerScale(nn.Module):
    def __init__(self, dim, init=0.1, inplace=False):
        super().__init__()
        self.inplace, self.gamma = inplace, nn.Parameter(init * torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class Block(nn.Module):
    def __init__(self, dim, heads, norm_layer=nn.LayerNorm):
        super().__init__()
        self.norm1, self.norm2 = norm_layer(dim), norm_layer(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=0.0, batch_first=True)
        self.ls = LayerScale(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        a, self.weights = self.attn(y, y, y, need_weights=True, average_attn_weights=False)
        x = x + self.ls(a)
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, classes=3, dim=16, depth=2, heads=2, use_checkpoint=False):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.patch_embed = PatchEmbed(dim=dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 1, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, partial(nn.LayerNorm, eps=1e-6)) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        trunc_normal_(self.pos_embed, std=.02)
        trunc_normal_(self.cls_token, std=.02)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, nn.Linear):
            trunc_normal_(m.weight, std=.02)
            if isinstance(m, nn.Linear) and m.bias is not None:
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        b = x.shape[0]
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(b, -1, -1), x), dim=1) + self.pos_embed
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.use_checkpoint and self.training else block(x)
        return self.head(self.norm(x)[:, 0])


torch.manual_seed(0)
x, y = torch.randn(6, 3, 12, 12), torch.tensor([0, 1, 2, 0, 1, 2])
x[y == 1] += 1
x[y == 2] *= 0.3
losses = []
for use in (False, True):
    torch.manual_seed(1)
    model = ViT(use_checkpoint=use)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    torch.manual_seed(2)
    row = []
    for step in range(5):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        row.append(loss.item())
    losses.append(row)
    print(use, ["%.4f" % v for v in row])
print(sum(p.numel() for p in model.parameters()), model.blocks[0].attn)
model.eval()
teacher = model(x)
rollout = torch.eye(10)
for block in model.blocks:
    a = block.weights.mean(1)[0].detach() + torch.eye(10)
    rollout = (a / a.sum(-1, keepdim=True)) @ rollout
print(block.weights.shape, rollout[0, 1:].view(3, 3).sum() < 1.001, rollout.sum(-1))
student = nn.Sequential(nn.Flatten(), nn.Linear(3 * 144, 3))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(3):
    out, T = student(x), 2.0
    soft = F.kl_div(F.log_softmax(out / T, 1), F.log_softmax(teacher.detach() / T, 1), reduction="batchmean", log_target=True) * T * T
    loss = 0.5 * soft + 0.5 * F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.4f" % loss)
patches = F.unfold(x, kernel_size=4, stride=4).transpose(1, 2)
same = patches @ model.patch_embed.proj.weight.flatten(1).T + model.patch_embed.proj.bias
print(torch.allclose(same, model.patch_embed(x), atol=1e-4), x.unfold(2, 4, 4).unfold(3, 4, 4).shape)
grid = model.pos_embed[:, 1:].reshape(1, 3, 3, 16).permute(0, 3, 1, 2)
print(F.interpolate(grid, size=(4, 4), mode="bicubic", align_corners=False, antialias=True).shape)
layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16), enable_nested_tensor=False)
tokens = torch.randn(2, 5, 16)
pad = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
out = encoder(tokens, src_key_padding_mask=pad)
causal = encoder(tokens, mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)
print(out.shape, torch.allclose(encoder(tokens[1:, :3]), out[1:, :3], atol=1e-5), torch.allclose(causal[:, :1], encoder(tokens[:, :1]), atol=1e-5))
seq = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(4)])
v = torch.randn(2, 4, requires_grad=True)
checkpoint_sequential(seq, 2, v, use_reentrant=False).sum().backward()
g = v.grad.clone()
v.grad = None
seq(v).sum().backward()
print(torch.allclose(g, v.grad))
