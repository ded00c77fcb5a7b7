# SPDX-License-Identifier: Apache-2.0
"""A Trainer with callbacks and checkpoints, a summary, Fabric; pytorch_lightning is the same under its older name."""
import logging
import tempfile
import warnings

import lightning as L
import pytorch_lightning as pl
import torch
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, ModelSummary
from lightning.pytorch.loggers import CSVLogger

from common import show

warnings.simplefilter("ignore")
for name in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


def net_class(package):
    class Net(package.LightningModule):
        def __init__(self, hidden=8):
            super().__init__()
            self.save_hyperparameters()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))

        def forward(self, x):
            return self.layers(x)

        def training_step(self, batch, index):
            loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, index):
            self.log("val", torch.nn.functional.cross_entropy(self(batch[0]), batch[1]))

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), 0.01)
            return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}
    return Net


x = torch.randn(32, 4)
y = (x[:, 0] > 0).long()
rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
quiet = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}
with tempfile.TemporaryDirectory() as folder:
    Net = net_class(L)
    net, best = Net(), ModelCheckpoint(folder, monitor="val")
    trainer = L.Trainer(max_epochs=3, logger=CSVLogger(folder), callbacks=[best, EarlyStopping("val"), LearningRateMonitor()], gradient_clip_val=0.5, accumulate_grad_batches=2,
                        log_every_n_steps=1, default_root_dir=folder, **quiet)
    trainer.fit(net, rows, rows)
    show("fit", trainer.callback_metrics["loss"], trainer.callback_metrics["val"], trainer.global_step)
    again = Net.load_from_checkpoint(best.best_model_path)
    show("loaded", again(x[:1])[0, 0], again.hparams.hidden)
    show("validate", trainer.validate(net, rows, verbose=False)[0]["val"])
    print(len(trainer.predict(net, torch.utils.data.DataLoader(x, batch_size=16))))
    print(L.pytorch.utilities.model_summary.ModelSummary(net))
    net = net_class(pl)()
    trainer = pl.Trainer(max_steps=3, logger=False, enable_checkpointing=False, default_root_dir=folder, **quiet)
    trainer.fit(net, rows)
    show("pytorch_lightning", trainer.callback_metrics["loss"])

fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
net = torch.nn.Linear(4, 1)
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), 0.1))
for _ in range(3):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
    show("fabric", loss)
