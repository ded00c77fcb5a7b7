# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision and timm, with random weights."""
import torch
from torch.export import Dim


def image(n=1, size=64, channels=3):
    return lambda: ((torch.randn(n, channels, size, size),), {})


TORCHVISION = {
    "resnet18": 64, "resnext50_32x4d": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "efficientnet_b0": 64, "densenet121": 64, "squeezenet1_0": 64,
    "shufflenet_v2_x0_5": 64, "googlenet": 64, "mnasnet0_5": 64, "alexnet": 96, "vgg11_bn": 64, "regnet_y_400mf": 64, "convnext_tiny": 64, "swin_t": 64,
    "swin_v2_t": 64, "vit_b_16": 224, "maxvit_t": 224, "inception_v3": 128,
}
TIMM = {
    "efficientnet_b0": 64, "convnext_atto": 64, "vit_tiny_patch16_224": 224, "mixer_s32_224": 224, "levit_128s": 224, "beit_base_patch16_224": 224,
    "deit_tiny_patch16_224": 224, "mobilevit_xxs": 64, "regnetx_002": 64, "hrnet_w18_small": 64, "ghostnet_050": 64, "resnest14d": 64, "pit_ti_224": 224,
    "poolformer_s12": 64, "edgenext_xx_small": 64, "mobilenetv4_conv_small": 64, "crossvit_tiny_240": 240, "coat_lite_tiny": 224, "fastvit_t8": 64,
    "eva02_tiny_patch14_224": 224, "tiny_vit_5m_224": 224, "xcit_nano_12_p16_224": 224, "gmlp_s16_224": 224, "repvgg_a0": 64, "tf_efficientnetv2_b0": 64,
}


def settled(m):
    """Batch norms that have seen something, so that values stay in range."""
    for b in m.modules():
        if isinstance(b, torch.nn.BatchNorm2d):
            b.running_mean.normal_(0, 0.1)
            b.running_var.uniform_(0.5, 1.5)
    return m


def cases():
    out = {}
    try:
        import torchvision
        for name, size in TORCHVISION.items():
            more = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {"init_weights": False} if name == "inception_v3" else {}
            out["torchvision." + name] = dict(module=lambda n=name, k=more: settled(getattr(torchvision.models, n)(weights=None, **k)), args=image(1, size), atol=1e-3)
        out["torchvision.resnet18.dynamic"] = dict(module=lambda: settled(torchvision.models.resnet18(weights=None)), args=image(2), calls=[image(1), image(5)],
                                                   dynamic=({0: Dim("batch", min=1, max=32)},), atol=1e-3)
        out["torchvision.fcn_resnet50"] = dict(module=lambda: settled(torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None)), args=image(1), atol=1e-3)
        out["torchvision.deeplabv3_mobilenet"] = dict(module=lambda: settled(torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None)), args=image(1), atol=1e-3)
        out["torchvision.r3d_18"] = dict(module=lambda: settled(torchvision.models.video.r3d_18(weights=None)), args=lambda: ((torch.randn(1, 3, 4, 32, 32),), {}), atol=1e-3)
    except ImportError as e:
        print("without torchvision: %s" % e)
    try:
        import timm
        for name, size in TIMM.items():
            out["timm." + name] = dict(module=lambda n=name: settled(timm.create_model(n, pretrained=False)), args=image(1, size), atol=1e-3)
    except ImportError as e:
        print("without timm: %s" % e)
    return out
