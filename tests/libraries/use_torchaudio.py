# SPDX-License-Identifier: Apache-2.0
"""Spectra, filters, networks, alignment, a training loop."""
import torch
import torchaudio

from common import show, stat

x = torch.randn(1, 8000)
stat("mel", torchaudio.transforms.MelSpectrogram(16000, n_fft=400, n_mels=40)(x))
stat("mfcc", torchaudio.transforms.MFCC(16000, n_mfcc=13, melkwargs={"n_fft": 400, "n_mels": 40})(x))
stat("resample", torchaudio.functional.resample(x, 16000, 8000))
stat("lowpass", torchaudio.functional.lowpass_biquad(x * 0.1, 16000, 1000.0))
stat("overdrive", torchaudio.functional.overdrive(x * 0.1))
stat("mask", torchaudio.transforms.TimeMasking(5)(torch.randn(1, 10, 20)))
net = torchaudio.models.Wav2Letter(num_classes=10, input_type="mfcc", num_features=13).eval()
stat("wav2letter", net(torch.randn(1, 13, 50)))
net = torchaudio.models.Conformer(input_dim=20, num_heads=4, ffn_dim=32, num_layers=2, depthwise_conv_kernel_size=5).eval()
stat("conformer", net(torch.randn(2, 12, 20), torch.tensor([12, 8]))[0])
scores = torch.randn(1, 20, 5).log_softmax(-1)
labels, values = torchaudio.functional.forced_align(scores, torch.tensor([[1, 2, 2, 3]]), blank=0)
print(labels.tolist(), [(s.token, s.start, s.end) for s in torchaudio.functional.merge_tokens(labels[0], values[0].exp())])

coefficients = torch.tensor([1.0, -0.5, 0.2], requires_grad=True)
torchaudio.functional.lfilter(x[:, :500] * 0.1, coefficients, torch.tensor([0.3, 0.2, 0.1])).pow(2).sum().backward()
stat("d coefficients", coefficients.grad)
net = torch.nn.Sequential(torchaudio.transforms.MFCC(16000, n_mfcc=13, melkwargs={"n_fft": 400, "n_mels": 40}), torch.nn.Flatten(), torch.nn.LazyLinear(3))
waves, y = torch.randn(6, 3200), torch.tensor([0, 1, 2, 0, 1, 2])
net(waves)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(net(waves) / 100, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("train", loss)
