# SPDX-License-Identifier: Apache-2.0
"""Attributions by gradients, by layers, by leaving parts out."""
import torch
from captum.attr import (DeepLift, FeatureAblation, GradientShap, GuidedBackprop, InputXGradient, IntegratedGradients, LayerConductance, LayerGradCam, NoiseTunnel, Occlusion,
                         Saliency, ShapleyValueSampling)

from common import stat

net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
x, zeros = torch.randn(2, 4, requires_grad=True), torch.zeros(2, 4)
found, delta = IntegratedGradients(net).attribute(x, zeros, target=1, return_convergence_delta=True)
stat("IntegratedGradients", found)
print(bool(delta.abs().max() < 0.1))
for kind in (Saliency, InputXGradient, GuidedBackprop, FeatureAblation):
    stat(kind.__name__, kind(net).attribute(x, target=1))
stat("DeepLift", DeepLift(net).attribute(x, zeros, target=1))
stat("LayerConductance", LayerConductance(net, net[0]).attribute(x, zeros, target=1))
stat("Occlusion", Occlusion(net).attribute(x, sliding_window_shapes=(1,), target=0))
for kind, options in ((ShapleyValueSampling, {"n_samples": 5}), (GradientShap, {"baselines": torch.zeros(2, 4), "n_samples": 3})):
    torch.manual_seed(0)
    found = kind(net).attribute(x, target=1, **options)
    print(kind.__name__, tuple(found.shape), bool(found.isfinite().all()))
torch.manual_seed(0)
stat("NoiseTunnel", NoiseTunnel(Saliency(net)).attribute(x, nt_samples=4, target=0))
images = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 2)).eval()
stat("LayerGradCam", LayerGradCam(images, images[0]).attribute(torch.randn(1, 1, 8, 8), target=0))
