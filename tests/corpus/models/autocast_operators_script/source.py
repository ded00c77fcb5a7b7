import torch
import torch.nn as nn
import torch.nn.functional as F


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)
        self.up = nn.ConvTranspose1d(3, 4, 3, bias=False)
        self.up2 = nn.ConvTranspose2d(3, 4, 3, bias=False)
        self.prelu = nn.PReLU()
        self.pair = nn.Bilinear(3, 3, 2)
        self.lstm = nn.LSTM(3, 5)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            v = x[0, 0]
            a = self.conv(x)
            e = torch.bmm(x[0], x[0])
            g = torch.addmm(v, v, v)
            lower = a, self.prelu(a), e, torch.baddbmm(x[0], x[0], x[0]), g, torch.mv(v, v[0]), torch.matmul(v, v), self.up(v[:3].unsqueeze(0))
            full = F.group_norm(a, 2), torch.dot(v[0], v[0]), F.mse_loss(e, e * 2), torch.cumsum(e, 0), torch.pow(e, 2), e * e, e - 1, e / 2, \
                torch.tensordot(v, v, dims=1), torch.addcmul(e, e, e), F.softplus(e), F.cosine_similarity(e, e), torch.rsqrt(e.abs() + 1), \
                self.pair(v[:3, :3], v[:3, :3]), F.cross_entropy(g, torch.zeros(6, dtype=torch.long)), torch.logsumexp(e, 0)
            kept = torch.einsum("ij,jk->ik", v[:3, :3], v[:3, :3]), torch.cat([a, a.float()]), torch.stack([e, e]), self.norm(a.float()), \
                self.up2(x), self.lstm(v[:, :3].unsqueeze(0))[0], e.norm(), torch.sum(e, dtype=torch.bfloat16), \
                F.scaled_dot_product_attention(x, x, x), e.mean(), F.max_pool2d(a, 2), F.interpolate(a, scale_factor=2.0), e.half() * e.half()
        return lower, full, kept
