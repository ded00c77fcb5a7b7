# SPDX-License-Identifier: Apache-2.0
"""Networks and features of torchaudio, filters and descriptors of kornia, with random weights."""

import torch
from torch import nn


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


class All(nn.Module):
    def __init__(self, fs):
        super().__init__()
        self.fs = nn.ModuleList(fs)

    def forward(self, *a):
        return tuple(f(*a) for f in self.fs)


T = torch.randn


def a(*sizes):
    return lambda: (tuple(T(*x) for x in sizes), {})


def cases():
    out = {}

    def add(name, make, args, **kw):
        out[name] = dict(module=make, args=args, **kw)

    try:
        import torchaudio as ta

        M = ta.models
        add("ta.wav2letter", lambda: M.Wav2Letter(12, "mfcc", 8), a((1, 8, 60)))
        add("ta.deepspeech", lambda: M.DeepSpeech(8, 32, 12), a((2, 1, 20, 8)))
        add("ta.convtasnet", lambda: M.ConvTasNet(2, 16, 32, 3, 16, 16, 3, 2), a((1, 1, 400)))
        add("ta.hdemucs", lambda: M.HDemucs(["a", "b"], audio_channels=1, channels=8, depth=3, nfft=256), a((1, 1, 4096)), atol=1e-3)
        add("ta.squim", lambda: M.squim_objective_base(), a((1, 4000)), atol=1e-2, rtol=1e-2)
        X = ta.transforms
        add(
            "ta.features",
            lambda: All(
                [
                    X.Spectrogram(64, power=2.0),
                    X.MelSpectrogram(16000, 64, n_mels=10),
                    X.MFCC(16000, 8, melkwargs={"n_fft": 64, "n_mels": 16}),
                    X.LFCC(16000, n_lfcc=8, n_filter=16, speckwargs={"n_fft": 64}),
                    X.Resample(16000, 8000),
                    X.ComputeDeltas(),
                    X.AmplitudeToDB(),
                    X.MuLawEncoding(),
                    X.SpectralCentroid(16000, 64),
                    X.Fade(20, 20),
                    X.Vol(0.5),
                    X.Preemphasis(),
                    X.SlidingWindowCmn(20),
                ]
            ),
            a((1, 640)),
            atol=2e-3,
        )
        add("ta.griffinlim", lambda: X.GriffinLim(32, n_iter=3, rand_init=False), lambda: ((T(1, 17, 12).abs(),), {}), atol=1e-2, rtol=1e-2)
        add(
            "ta.timestretch",
            lambda: Fn(lambda x: X.TimeStretch(n_freq=17, hop_length=8)(x, 1.3).abs()),
            lambda: ((torch.complex(T(1, 17, 12), T(1, 17, 12)),), {}),
            atol=1e-2,
        )
        add(
            "ta.rnnt",
            lambda: M.emformer_rnnt_model(
                input_dim=8,
                encoding_dim=16,
                num_symbols=12,
                segment_length=8,
                right_context_length=4,
                time_reduction_input_dim=8,
                time_reduction_stride=4,
                transformer_num_heads=2,
                transformer_ffn_dim=16,
                transformer_num_layers=1,
                transformer_dropout=0.0,
                transformer_activation="gelu",
                transformer_left_context_length=4,
                transformer_max_memory_size=0,
                transformer_weight_init_scale_strategy="depthwise",
                transformer_tanh_on_mem=False,
                symbol_embedding_dim=8,
                num_lstm_layers=1,
                lstm_layer_norm=True,
                lstm_layer_norm_epsilon=1e-3,
                lstm_dropout=0.0,
            ),
            lambda: ((T(1, 12, 8), torch.tensor([8], dtype=torch.int32), torch.randint(0, 11, (1, 4), dtype=torch.int32), torch.tensor([4], dtype=torch.int32)), {}),
        )
    except ImportError as e:
        print("without torchaudio: %s" % e)
    try:
        import kornia as K

        img = lambda: ((torch.rand(1, 3, 24, 20),), {})
        add(
            "k.color",
            lambda: Fn(
                lambda x: (
                    K.color.rgb_to_grayscale(x),
                    K.color.rgb_to_hsv(x),
                    K.color.hsv_to_rgb(x),
                    K.color.rgb_to_lab(x),
                    K.color.lab_to_rgb(K.color.rgb_to_lab(x)),
                    K.color.rgb_to_ycbcr(x),
                    K.color.rgb_to_yuv(x),
                    K.color.rgb_to_luv(x),
                    K.color.rgb_to_hls(x),
                    K.color.rgb_to_xyz(x),
                    K.color.rgb_to_linear_rgb(x),
                    K.color.sepia(x),
                )
            ),
            img,
            atol=2e-3,
        )
        add(
            "k.filters",
            lambda: Fn(
                lambda x: (
                    K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)),
                    K.filters.box_blur(x, (3, 3)),
                    K.filters.median_blur(x, (3, 3)),
                    K.filters.sobel(x),
                    K.filters.laplacian(x, 3),
                    K.filters.spatial_gradient(x),
                    K.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
                    K.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
                    K.filters.motion_blur(x, 5, 30.0, 0.5),
                    K.filters.blur_pool2d(x, 3),
                    K.filters.max_blur_pool2d(x, 3),
                    K.filters.guided_blur(x, x, 3, 0.1),
                )
            ),
            img,
        )
        add("k.canny", lambda: K.filters.Canny(hysteresis=False), img)
        add(
            "k.geometry",
            lambda: Fn(
                lambda x: (
                    K.geometry.rotate(x, torch.tensor([30.0])),
                    K.geometry.resize(x, (10, 12)),
                    K.geometry.warp_perspective(x, torch.eye(3)[None] + 0.01, (20, 20)),
                    K.geometry.warp_affine(x, torch.tensor([[[0.9, 0.1, 1.0], [0.0, 1.1, 2.0]]]), (16, 16)),
                    K.geometry.hflip(x),
                    K.geometry.pyrdown(x),
                    K.geometry.pyrup(x),
                    K.geometry.translate(x, torch.tensor([[2.0, 3.0]])),
                    K.geometry.scale(x, torch.tensor([[1.2, 0.8]])),
                    K.geometry.shear(x, torch.tensor([[0.1, 0.2]])),
                    K.geometry.elastic_transform2d(x, torch.zeros(1, 2, 24, 20)),
                )
            ),
            img,
        )
        add(
            "k.enhance",
            lambda: Fn(
                lambda x: (
                    K.enhance.adjust_brightness(x, 0.2),
                    K.enhance.adjust_contrast(x, 0.7),
                    K.enhance.adjust_gamma(x, 1.4),
                    K.enhance.adjust_saturation(x, 1.5),
                    K.enhance.adjust_hue(x, 0.3),
                    K.enhance.normalize_min_max(x),
                    K.enhance.sharpness(x, 0.5),
                    K.enhance.solarize(x, 0.5),
                    K.enhance.posterize(x, 3),
                    K.enhance.invert(x),
                    K.enhance.equalize_clahe(x[..., :16, :16], grid_size=(2, 2)),
                )
            ),
            img,
            atol=2e-3,
        )
        add("k.hardnet", lambda: K.feature.HardNet(False), lambda: ((torch.rand(3, 1, 32, 32),), {}))
        add("k.sift", lambda: K.feature.SIFTDescriptor(32), lambda: ((torch.rand(2, 1, 32, 32),), {}), atol=1e-2)
        add("k.tfeat", lambda: K.feature.TFeat(False), lambda: ((torch.rand(2, 1, 32, 32),), {}))
        add("k.hynet", lambda: K.feature.HyNet(False), lambda: ((torch.rand(2, 1, 32, 32),), {}))
        add(
            "k.morphology",
            lambda: Fn(
                lambda x: (
                    K.morphology.dilation(x, torch.ones(3, 3)),
                    K.morphology.erosion(x, torch.ones(3, 3)),
                    K.morphology.gradient(x, torch.ones(3, 3)),
                    K.morphology.top_hat(x, torch.ones(3, 3)),
                )
            ),
            img,
        )
        add(
            "k.losses",
            lambda: Fn(
                lambda x: (
                    K.losses.ssim_loss(x, x * 0.9, 5),
                    K.losses.psnr_loss(x, x * 0.9, 1.0),
                    K.losses.total_variation(x),
                    K.losses.charbonnier_loss(x, x * 0.9),
                    K.losses.inverse_depth_smoothness_loss(x[:, :1], x),
                    K.metrics.ssim(x, x * 0.9, 5),
                )
            ),
            img,
            atol=2e-3,
        )
        add(
            "k.rotations",
            lambda: Fn(
                lambda q: (
                    K.geometry.conversions.quaternion_to_rotation_matrix(q),
                    K.geometry.conversions.quaternion_to_axis_angle(q),
                    K.geometry.conversions.axis_angle_to_rotation_matrix(q[:, :3]),
                    K.geometry.conversions.rotation_matrix_to_quaternion(K.geometry.conversions.quaternion_to_rotation_matrix(q)),
                    K.geometry.conversions.convert_points_to_homogeneous(q),
                    K.geometry.linalg.transform_points(torch.eye(4)[None], q[None, :, :3]),
                )
            ),
            lambda: ((torch.nn.functional.normalize(T(4, 4), dim=1),), {}),
        )
        add("k.mkd", lambda: K.feature.MKDDescriptor(patch_size=32, whitening=None), lambda: ((torch.rand(2, 1, 32, 32),), {}), atol=1e-2)
        add(
            "k.dedode",
            lambda: K.models.tiny_vit.TinyViT(
                img_size=64, embed_dims=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_heads=[1, 2, 3, 4], window_sizes=[2, 2, 2, 2], num_classes=5
            ),
            lambda: ((torch.rand(1, 3, 64, 64),), {}),
        )
    except ImportError as e:
        print("without kornia: %s" % e)
    return out
