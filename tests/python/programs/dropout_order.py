"""Dropout of tensors that are transposed, sliced or expanded: the numbers are drawn as the elements lie in memory, with and without gradients. A transformer that is trained so."""
import torch
import torch.nn.functional as F
from torch import nn

views = [torch.ones(3, 4).t(), torch.ones(2, 3, 4).transpose(0, 1), torch.ones(2, 3, 4, 5).permute(0, 2, 3, 1), torch.ones(4, 6)[:, ::2], torch.ones(1, 4).expand(3, 4),
         torch.ones(3, 1).expand(3, 4), torch.ones(3, 4).t()[1:], torch.ones(2, 3, 4).permute(2, 1, 0)]
functions = {"dropout": lambda x: F.dropout(x, 0.5), "alpha": lambda x: F.alpha_dropout(x, 0.5, training=True), "native": lambda x: torch.native_dropout(x, 0.5, True)[0],
             "features": lambda x: F.feature_alpha_dropout(x, 0.5, training=True)}
for i, v in enumerate(views):
    for name, f in functions.items():
        torch.manual_seed(i)
        print(i, name, f(v).flatten().tolist())
        torch.manual_seed(i)
        x = v.detach().requires_grad_()
        y = f(x)
        y.sum().backward()
        print(y.flatten().tolist(), x.grad.sum())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(20, 16), nn.Parameter(torch.zeros(1, 10, 16))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=bool(i % 2), activation="gelu") for i in range(3))
        self.head = nn.Linear(16, 20)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.table(x) + self.place[:, :x.size(1)]
        for layer in self.layers:
            h = layer(h, src_mask=mask, is_causal=True)
        return self.head(h)


torch.manual_seed(1)
model, x = Model(), torch.randint(0, 20, (4, 10))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x[:, :-1]).transpose(1, 2), x[:, 1:])
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
