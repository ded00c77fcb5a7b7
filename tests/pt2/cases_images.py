# SPDX-License-Identifier: Apache-2.0
"""More networks of torchvision and timm, with random weights, and parts of detectors: those that torch.export takes."""
import torch

from cases_vision import image, settled

TV = {"resnet34": 64, "wide_resnet50_2": 64, "densenet169": 64, "efficientnet_v2_s": 64, "efficientnet_b3": 64, "regnet_x_400mf": 64, "mobilenet_v3_large": 64, "vgg16": 64, "squeezenet1_1": 64,
      "shufflenet_v2_x1_0": 64, "convnext_small": 64, "swin_s": 64, "vit_b_32": 224, "resnet50": 64}
TIMM = {"cait_xxs24_224": 224, "convit_tiny": 224, "convmixer_768_32": 64, "cspresnet50": 64, "davit_tiny": 64, "dla34": 64, "dpn48b": 64, "efficientformer_l1": 224, "efficientformerv2_s0": 224,
        "efficientvit_b0": 64, "efficientvit_m0": 224, "fasternet_t0": 64, "focalnet_tiny_srf": 64, "gcvit_xxtiny": 224, "hardcorenas_a": 64, "hgnet_tiny": 64, "hiera_tiny_224": 224,
        "inception_next_atto": 64, "inception_v4": 128, "maxvit_nano_rw_256": 256, "mvitv2_tiny": 224, "nasnetalarge": 96, "nest_tiny": 224, "nf_regnet_b0": 64, "nfnet_l0": 64, "pnasnet5large": 96, "pvt_v2_b0": 64,
        "repghostnet_050": 64, "repvit_m0_9": 64, "res2net50_26w_4s": 64, "rexnet_100": 64, "selecsls42": 64, "seresnet50": 64, "sequencer2d_s": 224, "skresnet18": 64, "swin_tiny_patch4_window7_224": 224,
        "swinv2_cr_tiny_224": 224, "tnt_s_patch16_224": 224, "tresnet_m": 64, "twins_svt_small": 224, "visformer_tiny": 224, "vit_small_r26_s32_224": 224, "vit_relpos_small_patch16_224": 224, "vitamin_small_224": 224,
        "volo_d1_224": 224, "ese_vovnet19b_dw": 64, "xception41": 96, "mambaout_femto": 64, "starnet_s1": 64, "shvit_s1": 64, "swiftformer_xs": 64, "hrnet_w18_small_v2": 64, "resnetv2_50": 64, "eca_halonext26ts": 256,
        "lambda_resnet26t": 256, "botnet26t_256": 256, "samvit_base_patch16_224": 224, "gernet_s": 64, "legacy_seresnet18": 64, "caformer_s18": 64, "coatnet_nano_rw_224": 224, "mobilenetv5_base": 64, "vit_base_patch16_clip_224": 224,
        "efficientvim_m1": 224, "rdnet_tiny": 64, "csatv2": 64, "naflexvit_base_patch16_gap": 224}
# Results of up to 1700, of which the small ones are differences.
LARGE = {"visformer_tiny": 0.2}


class Boxes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.ops = torchvision.ops

    def forward(self, x, boxes, scores):
        o = self.ops
        return (o.box_iou(boxes, boxes), o.box_area(boxes), o.box_convert(boxes, "xyxy", "cxcywh"), o.clip_boxes_to_image(boxes, (20, 30)), o.roi_align(x, [boxes], (3, 3), 0.5, 2, True), o.roi_pool(x, [boxes], (3, 3), 0.5),
                o.ps_roi_align(x.repeat(1, 3, 1, 1), [boxes], (3, 3), 0.5), o.ps_roi_pool(x.repeat(1, 3, 1, 1), [boxes], (3, 3), 0.5), o.generalized_box_iou(boxes, boxes), o.nms(boxes, scores, 0.4))


class Fpn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.f = torchvision.ops.FeaturePyramidNetwork([4, 8, 16], 8, torchvision.ops.feature_pyramid_network.LastLevelMaxPool())

    def forward(self, a, b, c):
        return self.f({"0": a, "1": b, "2": c})


class Deform(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        self.o = torch.nn.Conv2d(4, 18, 3, padding=1)
        self.d = torchvision.ops.DeformConv2d(4, 6, 3, padding=1)
        self.m = torchvision.ops.SqueezeExcitation(6, 2)
        self.f = torchvision.ops.FrozenBatchNorm2d(6)

    def forward(self, x):
        return self.f(self.m(self.d(x, self.o(x).tanh())))


class Ssd(torch.nn.Module):
    """What of a detector has fixed sizes: backbone, heads, boxes decoded."""

    def __init__(self):
        super().__init__()
        import torchvision
        m = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
        self.backbone, self.head = settled(m.backbone), m.head

    def forward(self, x):
        f = self.backbone(x)
        return self.head(list(f.values()))


class Retina(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        m = torchvision.models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5)
        self.backbone, self.head = m.backbone, m.head

    def forward(self, x):
        return self.head(list(self.backbone(x).values()))


class Rpn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        import torchvision
        m = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5)
        self.backbone, self.head = settled(m.backbone), m.rpn.head

    def forward(self, x):
        return self.head(list(self.backbone(x).values()))


def cases():
    try:
        import timm
        import torchvision
    except ImportError as e:
        print("without torchvision and timm: %s" % e)
        return {}
    out = {}
    for name, size in TV.items():
        out["tv." + name] = dict(module=lambda n=name: settled(getattr(torchvision.models, n)(weights=None)), args=image(1, size), atol=1e-3)
    v = torchvision.models.video
    clip = lambda f=4, s=32: (lambda: ((torch.randn(1, 3, f, s, s),), {}))
    for n, a in {"mc3_18": clip(), "r2plus1d_18": clip(), "s3d": clip(16, 224), "mvit_v1_b": clip(16, 224), "swin3d_t": clip(4, 64)}.items():
        out["tv." + n] = dict(module=lambda n=n: getattr(v, n)(weights=None), args=a, atol=1e-3)
    s = torchvision.models.segmentation
    out["tv.lraspp"] = dict(module=lambda: settled(s.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)), args=image(1), atol=1e-3)
    out["tv.deeplabv3_resnet50"] = dict(module=lambda: settled(s.deeplabv3_resnet50(weights=None, weights_backbone=None, aux_loss=True)), args=image(1), atol=1e-3)
    out["tv.raft_small"] = dict(module=lambda: torchvision.models.optical_flow.raft_small(weights=None), args=lambda: ((torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)), {"num_flow_updates": 2}), atol=1e-2, rtol=1e-2)
    b = lambda: ((torch.randn(1, 3, 16, 20), torch.tensor([[1., 2, 9, 12], [0, 0, 20, 15], [4, 3, 30, 31], [2, 2, 9.5, 13]]), torch.tensor([0.3, 0.9, 0.5, 0.8])), {})
    out["tv.boxes"] = dict(module=Boxes, args=b)
    out["tv.fpn"] = dict(module=Fpn, args=lambda: ((torch.randn(1, 4, 16, 16), torch.randn(1, 8, 8, 8), torch.randn(1, 16, 4, 4)), {}))
    out["tv.deform"] = dict(module=Deform, args=lambda: ((torch.randn(2, 4, 9, 8),), {}))
    out["tv.ssd"] = dict(module=Ssd, args=image(1, 128), atol=1e-3)
    out["tv.retina"] = dict(module=Retina, args=image(1, 64), atol=1e-3)
    out["tv.rpn"] = dict(module=Rpn, args=image(1, 64), atol=1e-3)
    for name, size in TIMM.items():
        out["timm." + name] = dict(module=lambda n=name: settled(timm.create_model(n, pretrained=False)), args=image(1, size), atol=LARGE.get(name, 1e-3))
    return out
