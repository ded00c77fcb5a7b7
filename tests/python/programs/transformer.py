"""nn.Transformer, its encoder and decoder, MultiheadAttention with masks, a small GPT."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Transformer(d_model=16, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=32, dropout=0.0, batch_first=True)
src, tgt = torch.randn(2, 5, 16), torch.randn(2, 4, 16)
mask = nn.Transformer.generate_square_subsequent_mask(4)
print(mask, model(src, tgt, tgt_mask=mask).shape, sum(p.numel() for p in model.parameters()))
layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, activation="gelu", norm_first=True, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
padding = torch.tensor([[False] * 5, [False, False, True, True, True]])
y = encoder(src, src_key_padding_mask=padding)
print(y.shape, layer, torch.allclose(y[1, :2], encoder(src[1:, :2])[0], atol=1e-5))
attn = nn.MultiheadAttention(16, 4, batch_first=True)
out, weights = attn(src, src, src, need_weights=True)
print(out.shape, weights.shape, weights.sum(-1).allclose(torch.ones(2, 5), atol=1e-5), attn(src, src, src, need_weights=False)[1], attn(src, src, src, average_attn_weights=False)[1].shape)


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads, block):
        super().__init__()
        assert d % heads == 0
        self.heads, self.qkv, self.proj = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        manual = F.softmax(att, dim=-1) @ v
        flash = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        assert torch.allclose(manual, flash, atol=1e-5)
        return self.proj(manual.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, d, heads, block):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(d), CausalSelfAttention(d, heads, block), nn.LayerNorm(d)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(d, 4 * d), c_proj=nn.Linear(4 * d, d), act=nn.GELU()))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        m = self.mlp
        return x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab=10, block=8, d=24, heads=3, layers=2):
        super().__init__()
        self.block = block
        self.transformer = nn.ModuleDict(dict(wte=nn.Embedding(vocab, d), wpe=nn.Embedding(block, d), h=nn.ModuleList([Block(d, heads, block) for _ in range(layers)]), ln_f=nn.LayerNorm(d)))
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, top_k=None):
        for _ in range(n):
            logits, _ = self(idx[:, -self.block:])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


gpt = GPT()
decay = [p for p in gpt.parameters() if p.dim() >= 2]
other = [p for p in gpt.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95))
data = torch.arange(200) % 10
first = None
for i in range(60):
    ix = torch.randint(len(data) - 9, (8,))
    x = torch.stack([data[j:j + 8] for j in ix])
    y = torch.stack([data[j + 1:j + 9] for j in ix])
    _, loss = gpt(x, y)
    first = first or loss.item()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
    opt.step()
print(round(first, 2), loss.item() < 0.5, sum(p.numel() for p in gpt.parameters()))
print(gpt.eval().generate(torch.tensor([[3]]), 6, top_k=1))
