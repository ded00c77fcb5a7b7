# SPDX-License-Identifier: Apache-2.0
"""torch.utils.tensorboard: files of events for TensorBoard, by the package tensorboard (pip install tensorboard), which has to be there."""
from tensorboard.summary.writer.record_writer import RecordWriter # noqa: F401

from .writer import FileWriter, SummaryWriter # noqa: F401
