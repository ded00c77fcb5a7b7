# SPDX-License-Identifier: Apache-2.0
"""The networks that `make bench-nets` measures, full size, with random weights.

NETWORKS: name -> (function that makes (module, arguments), what it is); those of MORE, which --more measures, are among them. torchvision's where it has them. Weights are those that
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
    def __init__(self, cached=128):
        super().__init__()
        self.cached = cached

    def forward(self, token, past):
        x = self.words(token) + self.positions(torch.tensor([self.cached]))
        return self.through(x, past, None)


class LstmLanguage(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.rnn, self.last = nn.Embedding(10000, 512), nn.LSTM(512, 512, 2, batch_first=True), nn.Linear(512, 10000)

    def forward(self, tokens):
        y, _ = self.rnn(self.words(tokens))
        return self.last(y[:, -1])


def perceptron(rows=64, widths=(784, 1024, 1024, 10)):
    layers = [m for a, b in zip(widths, widths[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]), (torch.randn(rows, widths[0]),)


def blocks(width, heads, layers, length, batch=1):
    return lambda: (nn.Sequential(*[Block(width, heads) for _ in range(layers)]), (torch.randn(batch, length, width),))


class SpeechLarge(nn.Module):
    """As wav2vec 2.0 large, with six of its layers: a layer norm behind each convolution."""

    def __init__(self):
        super().__init__()
        shapes = [(1, 10, 5)] + [(512, 3, 2)] * 4 + [(512, 2, 2)] * 2
        self.convs = nn.ModuleList([nn.Conv1d(c, 512, k, s) for c, k, s in shapes])
        self.norms = nn.ModuleList([nn.LayerNorm(512) for _ in shapes])
        self.norm, self.project = nn.LayerNorm(512), nn.Linear(512, 1024)
        self.position = nn.Conv1d(1024, 1024, 128, padding=64, groups=16)
        self.blocks = nn.ModuleList([Block(1024, 16) for _ in range(6)])

    def forward(self, x):
        x = x.unsqueeze(1)
        for conv, norm in zip(self.convs, self.norms):
            x = F.gelu(norm(conv(x).transpose(1, 2)).transpose(1, 2))
        x = self.project(self.norm(x.transpose(1, 2)))
        x = x + F.gelu(self.position(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x


class Recurrent(nn.Module):
    def __init__(self, kind, width, layers, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(width, width, layers, batch_first=True, **options)

    def forward(self, x):
        return self.rnn(x)[0]


def recurrent(kind, width, layers, batch, length, **options):
    return lambda: (Recurrent(kind, width, layers, **options), (torch.randn(batch, length, width),))


class Video(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.net = getattr(torchvision.models.video, name)(weights=None)

    def forward(self, x):
        return self.net(x)


def video(name):
    return lambda: (settle(Video(name), (1, 3, 8, 112, 112)), (torch.randn(1, 3, 8, 112, 112),))


def gpt(module, length):
    return lambda: (module(), (torch.randint(0, 50257, (1, length)),))


def gpt_decode(cached, batch=1):
    return lambda: (GptDecode(cached), (torch.randint(0, 50257, (batch, 1)), torch.randn(12, 2, batch, 12, cached, 64)))


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
    "gpt_prefill_128": (gpt(GptPrefill, 128), "as GPT-2 small, 128 tokens"),
    "gpt_decode": (gpt_decode(128), "one token, 128 in the cache"),
    "lstm_2x512": (lambda: (LstmLanguage(), (torch.randint(0, 10000, (1, 64)),)), "2 layers of 512, 64 tokens"),
    "mlp_784_b64": (perceptron, "784-1024-1024-10, 64 rows"),
})

MORE = {name: (vision(name), "3x224x224") for name in
        ["alexnet", "vgg11_bn", "vgg19", "resnet34", "resnet101", "wide_resnet50_2", "resnext101_32x8d", "densenet169", "densenet161",
         "mobilenet_v3_large", "mnasnet0_5", "mnasnet1_3", "shufflenet_v2_x0_5", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0", "squeezenet1_0",
         "regnet_y_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf", "regnet_y_8gf", "regnet_x_400mf", "regnet_x_1_6gf", "regnet_x_3_2gf", "regnet_x_8gf",
         "convnext_small", "convnext_base", "swin_s", "swin_b", "maxvit_t", "vit_b_32", "vit_l_32", "efficientnet_b1"]}
MORE.update({name: (vision(name, size), "3x%dx%d" % (size, size)) for name, size in
             [("efficientnet_b2", 288), ("efficientnet_b3", 300), ("efficientnet_b4", 380), ("efficientnet_v2_m", 480)]})
MORE.update({name + "_b4": (vision(name, batch=4), "4x3x224x224") for name in ["regnet_x_800mf", "resnext50_32x4d", "mobilenet_v2", "efficientnet_b0"]})
MORE.update({name + "_520": (segmentation(name, 520), "3x520x520") for name in
             ["deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]})
MORE.update({name: (video(name), "3x8x112x112") for name in ["r3d_18", "mc3_18", "r2plus1d_18"]})
MORE.update({"bert_%d" % n: (bert(n), "12 layers of 768, %d tokens" % n) for n in (8, 64, 512)})
MORE.update({
    "efficientnet_v2_s_224": (vision("efficientnet_v2_s"), "3x224x224"),
    "bert_large_64": (blocks(1024, 16, 12, 64), "12 layers of 1024, 64 tokens"),
    "bert_384_32": (blocks(384, 12, 6, 32), "6 layers of 384, 32 tokens"),
    "bert_384_128_b4": (blocks(384, 6, 6, 128, 4), "6 layers of 384, 4 times 128 tokens"),
    "speech_large": (lambda: (SpeechLarge(), (torch.randn(1, 16000),)), "as wav2vec 2.0 large, 6 layers, 1 s of 16 kHz"),
    "speech_encoder_4s": (lambda: (SpeechEncoder(), (torch.randn(1, 64000),)), "as wav2vec 2.0 base, 4 s of 16 kHz"),
    "gpt_prefill_32": (gpt(GptPrefill, 32), "as GPT-2 small, 32 tokens"),
    "gpt_prefill_512": (gpt(GptPrefill, 512), "as GPT-2 small, 512 tokens"),
    "gpt_decode_512": (gpt_decode(512), "one token, 512 in the cache"),
    "gpt_decode_b4": (gpt_decode(128, 4), "4 times one token, 128 in the cache"),
    "lstm_256": (recurrent("LSTM", 256, 1, 1, 128), "128 steps"),
    "lstm_2x512_b8": (recurrent("LSTM", 512, 2, 8, 64), "8 times 64 steps"),
    "lstm_2x256_both": (recurrent("LSTM", 256, 2, 1, 64, bidirectional=True), "64 steps, both ways"),
    "gru_512": (recurrent("GRU", 512, 1, 1, 64), "64 steps"),
    "mlp_784_b1": (lambda: perceptron(1), "784-1024-1024-10, one row"),
    "mlp_784_b8": (lambda: perceptron(8), "784-1024-1024-10, 8 rows"),
    "mlp_512_b256": (lambda: perceptron(256, (512, 512, 512, 512)), "512-512-512-512, 256 rows"),
})
NETWORKS.update(MORE)
