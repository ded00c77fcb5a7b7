# SPDX-License-Identifier: Apache-2.0
"""compare_layers.py - the embedded activations, losses, pooling, padding and small layers against PyTorch's own.

The comparison is compare.py's; this file holds the cases of the other half of torch.nn.modules.

Needs PyTorch 1.13 (Debian: python3-torch); without it the test is skipped.
Usage: compare_layers.py [-v] [FILE or CLASS...]
"""
import sys

import compare
import torch

x = torch.rand
torch.manual_seed(0)
PAIR = (x(3, 5), x(3, 5))
LABELS = torch.tensor([1, 0, 4])
SIGN = torch.tensor([1.0, -1.0, 1.0])
IMAGE, LINE, VOLUME = x(2, 4, 8, 8), x(2, 4, 8), x(1, 2, 4, 4, 4)
POOLED = torch.nn.functional.max_pool2d(IMAGE, 2, return_indices=True)

# Each loss as it is and with other arguments.
LOSSES = {
    "L1Loss": PAIR, "MSELoss": PAIR, "SmoothL1Loss": PAIR, "HuberLoss": PAIR, "BCELoss": PAIR, "BCEWithLogitsLoss": PAIR,
    "KLDivLoss": PAIR, "SoftMarginLoss": PAIR, "PoissonNLLLoss": PAIR, "MultiLabelSoftMarginLoss": PAIR,
    "HingeEmbeddingLoss": PAIR, "GaussianNLLLoss": PAIR + (x(3, 5),), "NLLLoss": (x(3, 5), LABELS),
    "CrossEntropyLoss": (x(3, 5), LABELS), "MultiMarginLoss": (x(3, 5), LABELS), "NLLLoss2d": (x(3, 5), LABELS),
    "MultiLabelMarginLoss": (x(3, 5), torch.randint(0, 5, (3, 5))), "CosineEmbeddingLoss": PAIR + (SIGN,),
    "MarginRankingLoss": (x(3), x(3), SIGN), "TripletMarginLoss": PAIR + (x(3, 5),),
    "CTCLoss": (x(6, 2, 5).log_softmax(2), torch.randint(1, 5, (2, 3)), torch.tensor([6, 5]), torch.tensor([3, 2])),
}

# Scripting it compiles the class no_grad, which does not survive compare.py's clearing of the class registry.
UNSCRIPTED = ("GaussianNLLLoss",)


def loss_cases():
    for name, args in LOSSES.items():
        more = (compare.NOSCRIPT,) if name in UNSCRIPTED else ()
        yield (name + "()", args) + more
        for reduction in ("none", "sum", "what"):
            yield (name + "(reduction='%s')" % reduction, args) + more


CASES = {
    "activation": [
        (c, (x(2, 5) - 0.5,))
        for c in "Threshold(0.1, 3) Threshold(0.1, 3., True) ReLU() ReLU(inplace=True) RReLU() RReLU(0.2,0.3,True) "
        "Hardtanh() Hardtanh(-2.,2.,True) Hardtanh(1,0) Hardtanh(min_value=0.,max_value=0.1) ReLU6() ReLU6(True) Sigmoid() "
        "Hardsigmoid() Hardsigmoid(True) Tanh() SiLU() SiLU(True) Mish() Mish(True) Hardswish() Hardswish(True) ELU() ELU(2.,True) "
        "CELU() CELU(2,True) SELU() SELU(True) GELU() GELU('tanh') Hardshrink() Hardshrink(0.1) LeakyReLU() LeakyReLU(0.3,True) "
        "LogSigmoid() Softplus() Softplus(2,1) Softshrink() Softshrink(0.1) PReLU() PReLU(5,0.1) Softsign() "
        "Tanhshrink() Softmin(1) Softmin() Softmax(1) Softmax() LogSoftmax(0) LogSoftmax() Softmax2d()".replace(", ", ",").split()
    ] + [("GLU(1)", (x(2, 6),)), ("GLU()", (x(3, 6),)), ("Softmax2d()", (IMAGE,), (IMAGE[0],))],
    "loss": list(loss_cases()) + [
        ("L1Loss(size_average=False)", PAIR), ("MSELoss(reduce=False)", PAIR),
        ("BCELoss(weight=torch.ones(5))", PAIR), ("BCEWithLogitsLoss(torch.ones(5), pos_weight=torch.ones(5))", PAIR),
        ("KLDivLoss(log_target=True, reduction='batchmean')", PAIR), ("SmoothL1Loss(beta=0.5)", PAIR),
        ("HuberLoss(delta=0.5)", PAIR), ("PoissonNLLLoss(log_input=False, full=True)", PAIR),
        ("GaussianNLLLoss(full=True, eps=0.1)", PAIR + (x(3, 5),), compare.NOSCRIPT),
        ("NLLLoss(weight=torch.ones(5), ignore_index=1)", (x(3, 5), LABELS)),
        ("CrossEntropyLoss(torch.ones(5), ignore_index=1, label_smoothing=0.1)", (x(3, 5), LABELS), PAIR),
        ("MultiMarginLoss(2, 0.5, torch.ones(5))", (x(3, 5), LABELS)), ("MultiMarginLoss(3)", (x(3, 5), LABELS)),
        ("TripletMarginLoss(0.5, p=1, swap=True)", PAIR + (x(3, 5),)),
        ("TripletMarginWithDistanceLoss()", PAIR + (x(3, 5),), compare.NOSCRIPT),
        ("TripletMarginWithDistanceLoss(swap=True, margin=0.2)", PAIR + (x(3, 5),), compare.NOSCRIPT),
        ("CTCLoss(blank=1, zero_infinity=True)", LOSSES["CTCLoss"]),
    ],
    "pooling": [
        ("MaxPool1d(3)", (LINE,)), ("MaxPool1d(3, 2, 1, 2, True, True)", (LINE,)),
        ("MaxPool2d(2)", (IMAGE,)), ("MaxPool2d((3, 2), stride=(2, 1), padding=(0, 1), ceil_mode=True)", (IMAGE,)),
        ("MaxPool2d(2, return_indices=True)", (IMAGE,)), ("MaxPool3d(2)", (VOLUME,)), ("MaxPool3d(3, 1, 1)", (VOLUME,)),
        ("MaxUnpool1d(2)",), ("MaxUnpool2d(2)", POOLED), ("MaxUnpool2d(2, stride=2)", POOLED + ([9, 9],)),
        ("MaxUnpool3d(2)",),
        ("AvgPool1d(3)", (LINE,)), ("AvgPool1d(2, 1, 1, True, False)", (LINE,)),
        ("AvgPool2d(3)", (IMAGE,)), ("AvgPool2d((2, 3), 1, (0, 1), divisor_override=3)", (IMAGE,)),
        ("AvgPool3d(2)", (VOLUME,)), ("AvgPool3d(2, divisor_override=2)", (VOLUME,)),
        ("FractionalMaxPool2d(2, output_size=5)", (IMAGE,)), ("FractionalMaxPool2d((2, 3), output_ratio=0.5)", (IMAGE,)),
        ("FractionalMaxPool2d(2, 3, return_indices=True)", (IMAGE,)),
        ("FractionalMaxPool2d(2, 3, _random_samples=torch.rand(2, 4, 2))", (IMAGE,)),
        ("FractionalMaxPool2d(2)",), ("FractionalMaxPool2d(2, 3, 0.5)",), ("FractionalMaxPool2d(2, output_ratio=1.5)",),
        ("FractionalMaxPool3d(2, output_size=(2, 1, 2))", (VOLUME,)),
        ("FractionalMaxPool3d(2, output_ratio=(0.5, 0.7, 0.8))", (VOLUME,)),
        ("LPPool1d(2, 3)", (LINE,)), ("LPPool1d(1.5, 3, stride=2)", (LINE,)), ("LPPool2d(2, (2, 3), ceil_mode=True)", (IMAGE,)),
        ("AdaptiveMaxPool1d(3)", (LINE,)), ("AdaptiveMaxPool1d(3, True)", (LINE,)),
        ("AdaptiveMaxPool2d([3, 2])", (IMAGE,)), ("AdaptiveMaxPool2d((3, 2), return_indices=True)", (IMAGE,)),
        ("AdaptiveMaxPool2d(1)",), ("AdaptiveMaxPool3d([1, 2, 1])", (VOLUME,)),
        ("AdaptiveAvgPool1d(3)", (LINE,)), ("AdaptiveAvgPool2d((1, 1))", (IMAGE,)), ("AdaptiveAvgPool2d(1)",),
        ("AdaptiveAvgPool2d((None, 3))",), ("AdaptiveAvgPool3d((1, 2, 3))", (VOLUME,)),
    ],
    "padding": [
        ("ConstantPad1d(2, 1.5)", (LINE,)), ("ConstantPad1d((1, 2), 1)", (LINE,)), ("ConstantPad2d((1, 2, 0, 3), 1.5)", (IMAGE,)),
        ("ConstantPad3d(1, 0.5)", (VOLUME,)), ("ZeroPad2d(2)", (IMAGE,)), ("ZeroPad2d((1, 0, 2, 0))", (IMAGE,)),
        ("ReflectionPad1d(2)", (LINE,)), ("ReflectionPad2d((1, 2, 1, 0))", (IMAGE,)), ("ReflectionPad3d(1)", (VOLUME,)),
        ("ReplicationPad1d((2, 1))", (LINE,)), ("ReplicationPad2d(2)", (IMAGE,)), ("ReplicationPad3d(1)", (VOLUME,)),
    ],
    "dropout": [
        ("Dropout()", (IMAGE,)), ("Dropout(0.2, inplace=True)", (IMAGE,)), ("Dropout(1.5)",), ("Dropout(p=1)", (IMAGE,)),
        ("Dropout1d(0.4)", (LINE,), (LINE[0],), (IMAGE,)), ("Dropout2d(0.4)", (IMAGE,), (LINE,)),
        ("Dropout3d(0.4)", (VOLUME,), (IMAGE,)), ("AlphaDropout(0.3)", (LINE,)), ("FeatureAlphaDropout(0.3)", (IMAGE,)),
    ],
    "distance": [
        ("PairwiseDistance()", PAIR), ("PairwiseDistance(1, 1e-3, True)", PAIR), ("CosineSimilarity()", PAIR),
        ("CosineSimilarity(dim=0, eps=1e-2)", PAIR),
    ],
    "upsampling": [
        ("Upsample(scale_factor=2)", (IMAGE,)), ("Upsample(scale_factor=(2, 1.5), mode='bilinear')", (IMAGE,)),
        ("Upsample(5)", (IMAGE,)), ("Upsample((5, 6), mode='bicubic', align_corners=True)", (IMAGE,)),
        ("Upsample(scale_factor=1.7, mode='linear', recompute_scale_factor=True)", (LINE,)),
        ("UpsamplingNearest2d(scale_factor=2)", (IMAGE,)), ("UpsamplingBilinear2d((3, 4))", (IMAGE,)),
    ],
    "pixelshuffle": [("PixelShuffle(2)", (IMAGE,)), ("PixelUnshuffle(2)", (IMAGE,))],
    "channelshuffle": [("ChannelShuffle(2)", (IMAGE,))],
    "flatten": [
        ("Flatten()", (IMAGE,)), ("Flatten(0, 2)", (IMAGE,)), ("Unflatten(1, (2, 2))", (IMAGE,)), ("Unflatten(1, 2)",),
        ("Unflatten(1, (2.0,))",), ("Unflatten('a', (2,))",), ("Unflatten(1.0, (2,))",), ("Unflatten(1, torch.Size([2, 2]))", (IMAGE,)),
    ],
    "fold": [
        ("Unfold(3)", (IMAGE,)), ("Unfold((2, 3), padding=1, stride=(2, 1))", (IMAGE,)),
        ("Fold((8, 8), 3)", (x(2, 36, 36),)), ("Fold(output_size=8, kernel_size=(2, 2), stride=2)", (x(2, 16, 16),)),
    ],
    "adaptive": [
        (c, (x(6, 16), torch.tensor([0, 3, 5, 9, 12, 19])), (x(16), torch.tensor(12)), (x(6, 16), torch.tensor([1])),
         (x(2, 16), torch.tensor([1, 30])), (x(2, 16), torch.tensor([[1]])), compare.NOSCRIPT)
        for c in ("AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])", "AdaptiveLogSoftmaxWithLoss(16, 20, [4], 2.0, True)",
                  "AdaptiveLogSoftmaxWithLoss(16, 20, [4, 2])", "AdaptiveLogSoftmaxWithLoss(16, 20, [0])")
    ],
}

if __name__ == "__main__":
    compare.CASES.clear()
    compare.CASES.update(CASES)
    compare.INIT.clear()
    compare.compare_packing = lambda ours, real: []
    sys.exit(compare.main(sys.argv[1:]))
