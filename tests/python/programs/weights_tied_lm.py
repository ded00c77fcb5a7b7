"""A small GPT with tied weights, parameter groups by name, gradient accumulation, a cosine schedule with warm-up, KV cache, sampling with temperature, top-k and top-p, perplexity."""
import math
from dataclasses import dataclass, asdict
import inspect
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
text = "the quick brown fox jumps over the lazy dog. " * 8
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)


@dataclass
class Config:
    block: int = 16
    vocab: int = len(chars)
    layers: int = 2
    heads: int = 2
    dim: int = 16
    dropout: float = 0.0
    bias: bool = False


class Norm(nn.Module):
    def __init__(self, n, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.qkv, self.out = nn.Linear(c.dim, 3 * c.dim, bias=c.bias), nn.Linear(c.dim, c.dim, bias=c.bias)
        self.flash = hasattr(F, "scaled_dot_product_attention")

    def forward(self, x, cache=None):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.c.heads, C // self.c.heads).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)
            cache.update(k=k, v=v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=self.c.dropout if self.training else 0, is_causal=T > 1)
        return self.out(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.att, self.n2 = Norm(c.dim, c.bias), Attention(c), Norm(c.dim, c.bias)
        self.mlp = nn.ModuleDict(dict(fc=nn.Linear(c.dim, 4 * c.dim, bias=c.bias), act=nn.GELU("tanh"), proj=nn.Linear(4 * c.dim, c.dim, bias=c.bias)))

    def forward(self, x, cache=None):
        x = x + self.att(self.n1(x), cache)
        return x + self.mlp.proj(self.mlp.act(self.mlp.fc(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.tr = nn.ModuleDict(dict(wte=nn.Embedding(c.vocab, c.dim), wpe=nn.Embedding(c.block, c.dim), h=nn.ModuleList([Block(c) for _ in range(c.layers)]), ln=Norm(c.dim, c.bias)))
        self.head = nn.Linear(c.dim, c.vocab, bias=False)
        self.tr.wte.weight = self.head.weight
        self.apply(self._init)
        for n, p in self.named_parameters():
            if n.endswith("out.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * c.layers))

    def _init(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)
            if m.bias is not None:
                torch.nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None, caches=None):
        b, t = idx.size()
        start = caches[0]["k"].size(2) if caches and caches[0] else 0
        x = self.tr.wte(idx) + self.tr.wpe(torch.arange(start, start + t, device=idx.device))
        for i, blk in enumerate(self.tr.h):
            x = blk(x, None if caches is None else caches[i])
        x = self.tr.ln(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def optimizer(self, wd, lr):
        ps = {n: p for n, p in self.named_parameters() if p.requires_grad}
        groups = [{"params": [p for p in ps.values() if p.dim() >= 2], "weight_decay": wd}, {"params": [p for p in ps.values() if p.dim() < 2], "weight_decay": 0.0}]
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters
        print([len(g["params"]) for g in groups], fused)
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.99))

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, top_k=None, top_p=None):
        for _ in range(n):
            cond = idx if idx.size(1) <= self.c.block else idx[:, -self.c.block:]
            logits = self(cond)[0][:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            if top_p is not None:
                s, i = logits.sort(descending=True)
                remove = s.softmax(-1).cumsum(-1) > top_p
                remove[..., 1:] = remove[..., :-1].clone()
                remove[..., 0] = False
                logits = logits.masked_fill(remove.scatter(1, i, remove), float("-inf"))
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


cfg = Config()
print(asdict(cfg))
m = GPT(cfg)
print(sum(p.numel() for p in m.parameters()), m.tr.wte.weight is m.head.weight, len(list(m.parameters())), len(m.state_dict()))
opt = m.optimizer(0.1, 1e-2)


def lr_at(it, warm=3, total=12, lo=1e-3, hi=1e-2):
    return hi * (it + 1) / warm if it < warm else lo + 0.5 * (1 + math.cos(math.pi * (it - warm) / (total - warm))) * (hi - lo)


for it in range(12):
    for g in opt.param_groups:
        g["lr"] = lr_at(it)
    for micro in range(2):
        ix = torch.randint(len(data) - cfg.block, (4,))
        x = torch.stack([data[i:i + cfg.block] for i in ix])
        y = torch.stack([data[i + 1:i + 1 + cfg.block] for i in ix])
        _, loss = m(x, y)
        (loss / 2).backward()
    norm = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    if it % 4 == 3:
        print(it, round(loss.item(), 4), round(norm.item(), 4), round(math.exp(loss.item()), 3))
m.eval()
start = data[:4][None]
for kw in (dict(top_k=3), dict(temperature=0.7, top_p=0.8), dict()):
    print(repr("".join(chars[i] for i in m.generate(start, 20, **kw)[0].tolist())))
caches = [{} for _ in range(cfg.layers)]
with torch.inference_mode():
    full = m(data[:9][None], data[1:10][None])[0]
    m(data[:5][None], caches=caches)
    step = [m(data[i:i + 1][None], caches=caches)[0] for i in range(5, 9)]
print(torch.allclose(full[:, 5:], torch.cat(step, 1), atol=1e-5), caches[0]["k"].shape)
m2 = GPT(cfg)
m2.load_state_dict(m.state_dict())
print(torch.equal(m2(start)[0], m(start)[0]), m2.tr.wte.weight is m2.head.weight)
