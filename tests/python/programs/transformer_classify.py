"""A transformer encoder with padding masks and positional encoding classifies sequences; warm-up by LambdaLR; attention weights; causal masks; torch.nn.Transformer."""
import math
import torch
from torch import nn, Tensor
import torch.nn.functional as F

torch.manual_seed(3)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:x.size(0)]
        return self.dropout(x.contiguous())


class Classifier(nn.Module):
    def __init__(self, vocab, d=16, heads=4, layers=2, classes=3):
        super().__init__()
        self.d = d
        self.embed = nn.Embedding(vocab, d, padding_idx=0)
        self.pos = PositionalEncoding(d)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, heads, 32, 0.1, activation="gelu", norm_first=True), layers, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.head = nn.Linear(d, classes)
        self.init_weights()

    def init_weights(self):
        nn.init.trunc_normal_(self.cls, std=0.02)
        for p in self.parameters():
            if p.dim() > 1 and p is not self.cls:
                nn.init.xavier_uniform_(p)

    def forward(self, tokens):
        mask = tokens == 0
        x = self.pos(self.embed(tokens).transpose(0, 1) * math.sqrt(self.d))
        x = torch.cat([self.cls.expand(-1, x.size(1), -1), x])
        mask = F.pad(mask, (1, 0), value=False)
        return self.head(self.encoder(x, src_key_padding_mask=mask)[0])


def batch(n):
    lens = torch.randint(3, 10, (n,))
    toks = torch.randint(1, 12, (n, 10)) * (torch.arange(10) < lens[:, None])
    return toks, (toks.sum(-1) % 3)


net = Classifier(12)
decay = [p for n, p in net.named_parameters() if p.ndim > 1 and "embed" not in n]
no_decay = [p for n, p in net.named_parameters() if p.ndim <= 1 or "embed" in n]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95))
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5) * 0.5 * (1 + math.cos(math.pi * s / 20)))
print(len(decay), len(no_decay), sum(p.numel() for p in net.parameters() if p.requires_grad))
for step in range(20):
    x, y = batch(16)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 5 == 4:
        print(step, round(loss.item(), 4), ["%.6f" % v for v in sched.get_last_lr()])
net.eval()
with torch.no_grad():
    x, y = batch(4)
    a = net(x)
    b = net(F.pad(x, (0, 5)))
    print(torch.allclose(a, b, atol=1e-5), a)
mha = nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=5, add_bias_kv=True)
q, k, v = torch.randn(2, 4, 8), torch.randn(2, 3, 6), torch.randn(2, 3, 5)
out, w = mha(q, k, v, average_attn_weights=False)
print(out.shape, w.shape, w.sum(-1).flatten()[:3], out[0, 0])
causal = nn.Transformer.generate_square_subsequent_mask(4)
print(causal)
out, w = nn.MultiheadAttention(8, 2, batch_first=True)(q, q, q, attn_mask=causal, is_causal=True)
print(w[0])
model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=16, batch_first=True, dropout=0.0)
src, tgt = torch.rand(2, 5, 8), torch.rand(2, 4, 8)
o = model(src, tgt, tgt_mask=causal, tgt_is_causal=True, src_key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2]))
print(o.shape, o[0, 0], o.sum())
print(F.scaled_dot_product_attention(q[:, None], q[:, None], q[:, None], is_causal=True)[0, 0, 1])
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    print(F.scaled_dot_product_attention(q, q, q, scale=0.3, dropout_p=0.0)[1, 0])
print(net.encoder.layers[0])
try:
    nn.MultiheadAttention(7, 2)
except AssertionError as e:
    print("AssertionError", e)
