# SPDX-License-Identifier: Apache-2.0
"""The networks that `make bench-nets` measures, full size, with random weights.

NETWORKS: name -> (function that makes (module, arguments), what it is). torchvision's where it has them. Weights are those that
the constructors draw; batch norms get the statistics of one batch of noise (settle), so that numbers neither vanish nor grow from layer to
layer and a wrong one shows in the result.
"""
import torch
import torchvision.models
from torch import nn
from torch.nn import functional as F


def settle(model, shape):
    """Batch norms: the mean and variance that random images of this shape bring."""
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    model.eval()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
        m.train()
    if norms:
        with torch.no_grad():
            model(torch.randn(2, *shape[1:]))
    return model.eval()


def vision(name, size=224, batch=1, **options):
    def make():
        model = getattr(torchvision.models, name)(weights=None, **options)
        return settle(model, (batch, 3, size, size)), (torch.randn(batch, 3, size, size),)
    return make


class Segmentation(nn.Module):
    """One of torchvision's, with its one result out of the dict."""

    def __init__(self, name):
        super().__init__()
        self.net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=21)

    def forward(self, x):
        return self.net(x)["out"]


def segmentation(name, size):
    return lambda: (settle(Segmentation(name), (1, 3, size, size)), (torch.randn(1, 3, size, size),))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([self.twice(3, 32), self.twice(32, 64), self.twice(64, 128), self.twice(128, 256)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (128, 64, 32)])
        self.after = nn.ModuleList([self.twice(2 * c, c) for c in (128, 64, 32)])
        self.last = nn.Conv2d(32, 2, 1)

    @staticmethod
    def twice(a, b):
        layers = []
        for c in (a, b):
            layers += [nn.Conv2d(c, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x)
            if i < 3:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for up, after, k in zip(self.up, self.after, reversed(kept)):
            x = after(torch.cat([k, up(x)], 1))
        return self.last(x)


def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


class Block(nn.Module):
    """An encoder's layer, norms behind what they normalise (BERT, wav2vec 2.0)."""

    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape[0], x.shape[1], x.shape[2]
        q, k, v = (f(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = self.norm1(x + self.o(attend(q, k, v).transpose(1, 2).reshape(batch, length, width)))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


def bert(length):
    return lambda: (nn.Sequential(*[Block() for _ in range(12)]), (torch.randn(1, length, 768),))


class SpeechEncoder(nn.Module):
    """As wav2vec 2.0 base: seven convolutions over the samples, a convolution for positions, twelve layers."""

    def __init__(self):
        super().__init__()
        shapes = [(1, 10, 5)] + [(512, 3, 2)] * 4 + [(512, 2, 2)] * 2
        self.convs = nn.ModuleList([nn.Conv1d(c, 512, k, s, bias=False) for c, k, s in shapes])
        self.first = nn.GroupNorm(512, 512)
        self.norm, self.project = nn.LayerNorm(512), nn.Linear(512, 768)
        self.position = nn.Conv1d(768, 768, 128, padding=64, groups=16)
        self.norm2 = nn.LayerNorm(768)
        self.blocks = nn.ModuleList([Block() for _ in range(12)])

    def forward(self, x):
        x = x.unsqueeze(1)
        for i, conv in enumerate(self.convs):
            x = conv(x)
            x = F.gelu(self.first(x) if i == 0 else x)
        x = self.project(self.norm(x.transpose(1, 2)))
        x = self.norm2(x + F.gelu(self.position(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        return x


class GptBlock(nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, past, mask):
        """past: keys and values of earlier tokens, [2, batch, heads, length, width of a head], or None. Gives those of x as well."""
        batch, length, width = x.shape[0], x.shape[1], x.shape[2]
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, 2))
        own = torch.stack([k, v])
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        x = x + self.o(attend(q, k, v, mask).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh")), own


class Gpt(nn.Module):
    """As GPT-2 small. The logits of the last token, and the keys and values of the tokens given, for the caller's cache."""

    def __init__(self, words=50257, positions=1024, width=768, layers=12):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(positions, width)
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.blocks = nn.ModuleList([GptBlock(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def through(self, x, past, mask):
        kept = []
        for i, block in enumerate(self.blocks):
            x, own = block(x, None if past is None else past[i], mask)
            kept.append(own)
        return F.linear(self.norm(x[:, -1:]), self.words.weight), torch.stack(kept)


class GptPrefill(Gpt):
    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.words(tokens) + self.positions(torch.arange(length))
        return self.through(x, None, torch.ones(length, length, dtype=torch.bool).triu(1))


class GptDecode(Gpt):
    def forward(self, token, past):
        x = self.words(token) + self.positions(torch.tensor([128]))
        return self.through(x, past, None)


class LstmLanguage(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.rnn, self.last = nn.Embedding(10000, 512), nn.LSTM(512, 512, 2, batch_first=True), nn.Linear(512, 10000)

    def forward(self, tokens):
        y, _ = self.rnn(self.words(tokens))
        return self.last(y[:, -1])


def perceptron():
    layers = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return nn.Sequential(*layers), (torch.randn(64, 784),)


NETWORKS = {name: (vision(name), "3x224x224") for name in
            ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1", "densenet121",
             "shufflenet_v2_x1_0", "convnext_tiny", "swin_t", "vit_b_16", "regnet_y_400mf", "regnet_x_800mf", "resnext50_32x4d", "mnasnet1_0"]}
NETWORKS.update({
    "resnet50_b8": (vision("resnet50", batch=8), "8x3x224x224"),
    "unet_256": (lambda: (settle(UNet(), (1, 3, 256, 256)), (torch.randn(1, 3, 256, 256),)), "3x256x256"),
    "efficientnet_v2_s": (vision("efficientnet_v2_s", 384), "3x384x384"),
    "googlenet": (vision("googlenet", aux_logits=False, init_weights=False), "3x224x224"),
    "inception_v3": (vision("inception_v3", 299, aux_logits=False, init_weights=False), "3x299x299"),
    "deeplabv3_mobilenet_v3_large": (segmentation("deeplabv3_mobilenet_v3_large", 256), "3x256x256"),
    "fcn_resnet50": (segmentation("fcn_resnet50", 256), "3x256x256"),
    "bert_128": (bert(128), "12 layers of 768, 128 tokens"),
    "bert_16": (bert(16), "12 layers of 768, 16 tokens"),
    "speech_encoder": (lambda: (SpeechEncoder(), (torch.randn(1, 16000),)), "as wav2vec 2.0 base, 1 s of 16 kHz"),
    "gpt_prefill_128": (lambda: (GptPrefill(), (torch.randint(0, 50257, (1, 128)),)), "as GPT-2 small, 128 tokens"),
    "gpt_decode": (lambda: (GptDecode(), (torch.randint(0, 50257, (1, 1)), torch.randn(12, 2, 1, 12, 128, 64))), "one token, 128 in the cache"),
    "lstm_2x512": (lambda: (LstmLanguage(), (torch.randint(0, 10000, (1, 64)),)), "2 layers of 512, 64 tokens"),
    "mlp_784_b64": (perceptron, "784-1024-1024-10, 64 rows"),
})
