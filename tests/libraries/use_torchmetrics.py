# SPDX-License-Identifier: Apache-2.0
"""Metrics of classes, numbers and images, and a collection that is updated in steps."""
import torch
import torchmetrics as M

from common import show

p, y = torch.randn(20, 4).softmax(-1), torch.randint(0, 4, (20,))
kind = {"task": "multiclass", "num_classes": 4}
for name in ("Accuracy", "AUROC", "CohenKappa", "MatthewsCorrCoef", "CalibrationError"):
    show(name, getattr(M, name)(**kind)(p, y))
show("F1Score", M.F1Score(average="macro", **kind)(p, y))
print(M.ConfusionMatrix(**kind)(p, y))
show("AveragePrecision", M.AveragePrecision(task="binary")(p[:, 0], (y > 1).long()))
for name in ("MeanSquaredError", "MeanAbsoluteError", "R2Score", "PearsonCorrCoef", "SpearmanCorrCoef"):
    show(name, getattr(M, name)()(p[:, 0], p[:, 1]))
show("ssim", M.image.StructuralSimilarityIndexMeasure()(torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32)))
show("psnr", M.image.PeakSignalNoiseRatio(data_range=1.0)(torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)))
show("perplexity", M.text.Perplexity()(torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))))
together = M.MetricCollection({"accuracy": M.Accuracy(**kind), "precision": M.Precision(average="macro", **kind)})
for _ in range(3):
    together.update(torch.randn(5, 4), torch.randint(0, 4, (5,)))
print({k: round(v.item(), 4) for k, v in together.compute().items()})
together.reset()
