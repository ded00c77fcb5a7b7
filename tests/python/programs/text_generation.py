"""A GPT of characters: training, a cache of keys and values, greedy, temperature, top-k, top-p and beam search."""
import math
from dataclasses import dataclass
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
from torch.nn import functional as F

text = "to be, or not to be, that is the question: " * 4
chars = sorted(set(text))
stoi, itos = {c: i for i, c in enumerate(chars)}, dict(enumerate(chars))


@dataclass
class GPTConfig:
    block_size: int = 24
    vocab_size: int = len(chars)
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16
    dropout: float = 0.0
    bias: bool = True


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention")
        self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, config.block_size), persistent=False)

    def forward(self, x, cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=-2), torch.cat((cache[1], v), dim=-2)
        S = k.size(-2)
        if self.flash and cache is None:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, S - T:S, :S] == 0, float("-inf"))
            y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), (k, v)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(config.n_embd), CausalSelfAttention(config), nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(config.n_embd, 4 * config.n_embd), act=nn.GELU(approximate="tanh"), c_proj=nn.Linear(4 * config.n_embd, config.n_embd)))

    def forward(self, x, cache=None):
        a, cache = self.attn(self.ln_1(x), cache)
        x = x + a
        m = self.mlp
        return x + m.c_proj(m.act(m.c_fc(self.ln_2(x)))), cache


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(dict(wte=nn.Embedding(config.vocab_size, config.n_embd), wpe=nn.Embedding(config.block_size, config.n_embd),
                                              h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]), ln_f=nn.LayerNorm(config.n_embd)))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))
        print("number of parameters: %d" % sum(p.numel() for p in self.parameters()))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None, caches: Optional[List] = None):
        past = caches[0][0].size(-2) if caches else 0
        pos = torch.arange(past, past + idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        new = []
        for i, block in enumerate(self.transformer.h):
            x, c = block(x, caches[i] if caches else None)
            new.append(c)
        x = self.transformer.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), new
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizers(self, weight_decay, lr):
        params = {n: p for n, p in self.named_parameters() if p.requires_grad}
        decay, rest = [p for p in params.values() if p.dim() >= 2], [p for p in params.values() if p.dim() < 2]
        print(len(decay), len(rest))
        return torch.optim.AdamW([{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}], lr=lr, betas=(0.9, 0.95), fused=False)

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, top_k=None, top_p=None, cached=True):
        caches = None
        for _ in range(n):
            logits, new = self(idx[:, -1:] if caches else idx, caches=caches)
            caches = new if cached else None
            logits = logits[:, -1, :]
            if temperature == 0:
                nxt = logits.argmax(-1, keepdim=True)
            else:
                logits = logits / temperature
                if top_k is not None:
                    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                    logits[logits < v[:, [-1]]] = -float("Inf")
                if top_p is not None:
                    s, order = torch.sort(logits, descending=True)
                    remove = s.softmax(-1).cumsum(-1) > top_p
                    remove[..., 1:] = remove[..., :-1].clone()
                    remove[..., 0] = 0
                    logits = logits.masked_fill(remove.scatter(1, order, remove), -float("inf"))
                nxt = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


@torch.no_grad()
def beam_search(model, idx, n, width):
    beams = [(idx, 0.0)]
    for _ in range(n):
        found = []
        for seq, score in beams:
            logp = F.log_softmax(model(seq)[0][0, -1], dim=-1)
            values, tokens = logp.topk(width)
            found += [(torch.cat([seq, t.view(1, 1)], 1), score + v.item()) for v, t in zip(values, tokens)]
        beams = sorted(found, key=lambda b: b[1], reverse=True)[:width]
    return beams


torch.manual_seed(1337)
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
model = GPT(GPTConfig())
optimizer = model.configure_optimizers(0.1, 1e-2)
for it in range(30):
    ix = torch.randint(len(data) - 24, (8,))
    x, y = torch.stack([data[i:i + 24] for i in ix]), torch.stack([data[i + 1:i + 25] for i in ix])
    logits, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0 or it == 29:
        print(it, "%.4f" % loss.item(), "%.3f" % norm)
model.eval()
start = data[:5].unsqueeze(0)
decode = lambda t: "".join(itos[i] for i in t.tolist())
print(repr(decode(model.generate(start, 15, temperature=0)[0])))
print(torch.equal(model.generate(start, 15, temperature=0), model.generate(start, 15, temperature=0, cached=False)))
print(model.generate(start, 5, temperature=0.8, top_k=5).shape, model.generate(start.repeat(3, 1), 5, top_p=0.9).shape)
print(["%.3f %r" % (s, decode(t[0])) for t, s in beam_search(model, start, 4, 2)])
