"""Mixture of experts with top-k routing and load balancing, rotary embeddings, RMSNorm, grouped queries, SwiGLU: a small Llama/Mixtral."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end).float(), freqs))


def apply_rotary_emb(x: Tensor, freqs_cis: Tensor) -> Tensor:
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x_ * freqs_cis[None, :, None, :]).flatten(3).type_as(x)


def rotate_half(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-b, a), dim=-1)


def repeat_kv(x: Tensor, n: int) -> Tensor:
    bs, slen, heads, dim = x.shape
    return x[:, :, :, None, :].expand(bs, slen, heads, n, dim).reshape(bs, slen, heads * n, dim)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.h, self.kv, self.d = heads, kv_heads, dim // heads
        self.wq, self.wk = nn.Linear(dim, heads * self.d, bias=False), nn.Linear(dim, kv_heads * self.d, bias=False)
        self.wv, self.wo = nn.Linear(dim, kv_heads * self.d, bias=False), nn.Linear(heads * self.d, dim, bias=False)

    def forward(self, x, freqs_cis, mask):
        b, s, _ = x.shape
        q, k, v = self.wq(x).view(b, s, self.h, self.d), self.wk(x).view(b, s, self.kv, self.d), self.wv(x).view(b, s, self.kv, self.d)
        q, k = apply_rotary_emb(q, freqs_cis), apply_rotary_emb(k, freqs_cis)
        k, v = repeat_kv(k, self.h // self.kv), repeat_kv(v, self.h // self.kv)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        scores = torch.matmul(q, k.transpose(2, 3)) / self.d ** 0.5 + mask
        out = F.softmax(scores.float(), dim=-1).type_as(q) @ v
        return self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(hidden, dim, bias=False), nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Module):
    def __init__(self, dim, hidden, experts=4, k=2):
        super().__init__()
        self.experts, self.gate, self.k = nn.ModuleList([Expert(dim, hidden) for _ in range(experts)]), nn.Linear(dim, experts, bias=False), k
        self.aux = None

    def forward(self, x):
        shape = x.shape
        x = x.view(-1, shape[-1])
        probs = self.gate(x).softmax(-1, dtype=torch.float)
        weights, chosen = torch.topk(probs, self.k, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            slot, token = torch.where(mask[i])
            if token.numel():
                out.index_add_(0, token, expert(x[token]) * weights[token, slot, None])
        load = mask.float().sum(1).mean(1)
        self.aux = len(self.experts) * (load * probs.mean(0)).sum()
        return out.view(shape)


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.n2, self.attn, self.moe = RMSNorm(dim), nn.RMSNorm(dim, eps=1e-6), Attention(dim, 4, 2), MoE(dim, 16)

    def forward(self, x, f, m):
        h = x + self.attn(self.n1(x), f, m)
        return h + self.moe(self.n2(h))


torch.manual_seed(0)
dim, vocab, seq = 16, 11, 8
embed, layers, head = nn.Embedding(vocab, dim), nn.ModuleList([Layer(dim) for _ in range(2)]), nn.Linear(dim, vocab, bias=False)
freqs = precompute_freqs_cis(dim // 4, seq)
mask = torch.triu(torch.full((seq, seq), float("-inf")), diagonal=1)
print(freqs.dtype, freqs.abs().unique(), mask[1, :3], layers[0])
params = [p for m in (embed, layers, head) for p in m.parameters()]
opt = torch.optim.AdamW(params, lr=1e-2)
tokens = (torch.arange(seq + 1)[None] * torch.tensor([[1], [2], [3]]) + 1) % vocab
for step in range(8):
    h = embed(tokens[:, :-1])
    for layer in layers:
        h = layer(h, freqs, mask)
    loss = F.cross_entropy(head(h).flatten(0, 1), tokens[:, 1:].flatten())
    aux = sum(l.moe.aux for l in layers)
    opt.zero_grad()
    (loss + 0.01 * aux).backward()
    opt.step()
    print(step, "%.4f %.4f" % (loss, aux), sum(p.grad is not None for p in params))
q = torch.randn(1, 3, 2, 4)
cos, sin = freqs[:3].real.repeat(1, 2)[None, :, None], freqs[:3].imag.repeat(1, 2)[None, :, None]
hf = q * cos + rotate_half(q) * sin
print(hf.shape, torch.allclose(hf.norm(dim=-1), q.norm(dim=-1), atol=1e-5), torch.allclose(apply_rotary_emb(q, freqs[:3]).norm(), q.norm()))
bias = torch.arange(4)[None, :] - torch.arange(4)[:, None]
print(-(2.0 ** -torch.arange(1, 3)).view(2, 1, 1) * bias.abs())
with torch.no_grad():
    low = [l.to(torch.bfloat16) for l in layers]
    y = low[0](embed(tokens[:1, :-1]).bfloat16(), freqs, mask.bfloat16())
    print(y.dtype, y.shape, torch.logit(torch.tensor(0.25)), F.scaled_dot_product_attention(q.transpose(1, 2), q.transpose(1, 2)[:, :1], q.transpose(1, 2)[:, :1], enable_gqa=True).shape)
